"""Sentences without trees for a latent tree model: trees that a parser of the given trees gives.

1. A generative parser of one state a tag learns from the given trees; a sentence then has the k
   best projective trees by the posteriors of their arcs, each with its share of p among them::

       q(t | x) = p(x, t) / sum over the list of p(x, t')

2. Such a tree counts w q(t | x) times wherever the model counts: neighbours for the CCA, states,
   and the expected counts of EM::

       counts = sum over trees of E[counts | tree, words]
              + w sum over sentences, over their lists, of q(t | x) E[counts | t, words]

3. w is chosen by held-out trees: the model of the other trees and the sentences should score the
   drawn tree above the others that the parser of the other trees finds for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.dependency.decoding.decoders import kbest_projective
from eigentext.dependency.generative.parser import GenerativeParser
from eigentext.dependency.long_sentences import MOST_WORDS as MOST_PARSED
from eigentext.dependency.sentence import TaggedSentence
from eigentext.dependency.unlabelled import Unlabelled, UnlabelledReport
from eigentext.lab.unlabelled.generative import chosen_weight, parts_of, usable_text
from eigentext.language.formats.conllu import from_dependency_tree
from eigentext.language.trees.dependency import DependencyTree

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eigentext.base.progress import Progress
    from eigentext.base.types import Float64s, Int64s
    from eigentext.dependency.latent.model import LatentTreeModel
    from eigentext.features.signatures import Language
    from eigentext.language.formats.conllu import ConlluBlock

    Scored = Callable[[Sequence[str], Sequence[str] | None, Int64s], Float64s]

KBEST = 5  # trees of a sentence; the rest of the probability is theirs


class Weighted(NamedTuple):
    """Trees, and how often each counts, (trees,)."""

    trees: list[DependencyTree]
    weights: Float64s


def parser_of(trees: Sequence[DependencyTree], language: Language) -> GenerativeParser:
    """The parser that gives trees: generative, one state a tag, by the tags of the trees."""
    parser = GenerativeParser(n_states=1, tagset="upos", language=language)
    return parser.fit(map(from_dependency_tree, trees))


def tree_list(
    parser: GenerativeParser, forms: Sequence[str], tags: Sequence[str], k: int = KBEST
) -> tuple[Int64s, Float64s]:
    """Heads (K, n) of k trees at most, and q (K,); none where no tree has any probability."""
    sentence = TaggedSentence.of(forms, upos=tags)
    arcs, log_p = parser.marginals(sentence)
    if log_p == -np.inf:
        return np.zeros((0, len(forms)), np.int64), np.zeros(0)
    with np.errstate(divide="ignore"):
        heads, _ = kbest_projective(np.log(arcs), k=k)
    logs = parser.log_probs(sentence, heads)
    shares = np.exp(logs - logs.max())
    return heads.astype(np.int64), shares / shares.sum()


@dataclass(frozen=True, eq=False)
class TreeText:
    """Sentences with lists of trees; ``shares`` of a sentence's trees sum to one.

    The trees of a sentence stand together; ``first`` are the places of the best of each.
    """

    trees: list[DependencyTree]
    shares: Float64s
    first: Int64s

    @classmethod
    def of(cls, parser: GenerativeParser, text: Sequence[ConlluBlock], k: int) -> TreeText:
        """The k best trees of each sentence by a parser."""
        trees: list[DependencyTree] = []
        shares: list[Float64s] = []
        first: list[int] = []
        for sentence in text:
            tags = TaggedSentence.from_conllu(sentence).coarse
            heads, own = tree_list(parser, sentence.forms, tags, k)
            if not len(heads):
                continue
            order = np.argsort(-own, kind="stable")
            first.append(len(trees))
            trees += [DependencyTree(sentence.forms, heads[at], tags=tags) for at in order]
            shares.append(own[order])
        joined = np.concatenate([*shares, np.zeros(0)])
        return cls(trees, joined, np.array(first, np.int64))

    def words(self) -> list[DependencyTree]:
        """One tree of each sentence, to count words in."""
        return [self.trees[at] for at in self.first.tolist()]

    def beside(self, trees: Sequence[DependencyTree], weight: float) -> Weighted:
        """Given trees, which count once, and these, which count ``weight`` times their share."""
        weights = np.concatenate([np.ones(len(trees)), weight * self.shares])
        return Weighted([*trees, *self.trees], weights)


class _Fold(NamedTuple):
    """``others`` trees and the text by their parser; of each held-out tree the wrong ones."""

    others: list[DependencyTree]
    text: TreeText
    wrong: list[tuple[DependencyTree, Int64s]]


def weight_by(
    fitted: Callable[[list[DependencyTree], TreeText, float], Scored],
    trees: Sequence[DependencyTree],
    text: Sequence[ConlluBlock],
    language: Language,
    k: int,
) -> tuple[float, dict[float, float]]:
    """The weight of the best order of held-out trees, and the shares of all, in percent.

    ``fitted`` learns a model from trees and a text, and gives its scores of trees.
    """
    folds = {}
    n_pairs = 0
    for others, fold in parts_of(len(trees)):
        known = [trees[at] for at in others.tolist()]
        parser = parser_of(known, language)
        wrong = []
        for at in fold.tolist():
            tree = trees[at]
            if len(tree) > MOST_PARSED:
                continue
            heads, _ = tree_list(parser, tree.forms, tree.tags or ["_"] * len(tree))
            heads = heads[(heads != tree.heads).any(axis=1)]
            n_pairs += len(heads)
            wrong.append((tree, heads))
        folds[int(fold[0])] = _Fold(known, TreeText.of(parser, text, k), wrong)

    def in_order(weight: float, _: Int64s, fold: Int64s) -> float:
        own = folds[int(fold[0])]
        scores = fitted(own.others, own.text, weight)
        right = 0.0
        for tree, heads in own.wrong:
            if len(heads):
                logs = scores(tree.forms, tree.tags, np.vstack([tree.heads, heads]))
                right += float((logs[0] > logs[1:]).sum() + 0.5 * (logs[0] == logs[1:]).sum())
        return right

    return chosen_weight(in_order, len(trees), max(n_pairs, 1))


def fit_latent(
    model: LatentTreeModel,
    trees: list[DependencyTree],
    unlabelled: Unlabelled,
    progress: Progress | None,
) -> UnlabelledReport:
    """Fit a latent tree model to trees and to sentences without."""
    unlabelled, n_left_out = usable_text(unlabelled)
    text = unlabelled.sentences
    k = 1 if unlabelled.trees == "best" else KBEST
    weight, held_out_scores = unlabelled.weight, dict[float, float]()
    if weight is None:
        model.observe(trees, None)  # what cannot be learned at all is told in its own words
        weight, held_out_scores = weight_by(model.scores_of, trees, text, model.language, k)
    lists = TreeText.of(parser_of(trees, model.language), text, k) if weight else None
    model.fit_trees(trees, lists, weight, progress)
    return UnlabelledReport(weight, len(text), n_left_out, held_out_scores)
