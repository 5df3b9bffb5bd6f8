"""Sentences without trees beside a small treebank of dependencies: EM or self-training.

1. An E step of the generative parser adds two sorts of counts: of trees, as always, and w times
   those of sentences without, expected over all projective trees and states (inside-outside), or
   of their best trees alone::

       counts = sum over trees of E[counts | tree, words]
              + w sum over sentences of E[counts | words]

   The M step is that of ``learn``.  With all trees and without smoothing the weighted likelihood
   sum log p(words, tree) + w sum log p(words) never falls.
2. For a latent tree model a sentence has the k best projective trees by the posteriors of the arcs
   of a generative parser of one state a tag, each with its share of p among them::

       q(t | x) = p(x, t) / sum over the list of p(x, t')

   Such a tree counts w q(t | x) times wherever the model counts: neighbours for the CCA, states,
   and the expected counts of EM.
3. w is chosen by the right heads in held-out parts of the trees (:func:`chosen_weight`), for the
   latent tree by how often the drawn tree is scored above others.  0 is among the choices: then
   the sentences are not used at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.base.em import EMResult, iterate
from eigentext.base.folds import held_out
from eigentext.base.ragged import pointers
from eigentext.base.settings import values_of
from eigentext.dependency.decoding.decoders import kbest_projective
from eigentext.dependency.generative.learn import (
    Corpus,
    GenerativeParams,
    TreeCounts,
    TreeSmoothing,
    em_counts,
    length_classes,
    smoothed,
)
from eigentext.dependency.generative.parser import GenerativeParser
from eigentext.dependency.long_sentences import MOST_WORDS as MOST_PARSED
from eigentext.dependency.sentence import TaggedSentence
from eigentext.dependency.settings import Unlabelled, UnlabelledReport
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats.conllu import each_conllu, from_dependency_tree
from eigentext.language.trees.dependency import DependencyTree

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eigentext.base.progress import Progress
    from eigentext.base.types import Float64s, Int64s
    from eigentext.dependency.generative.parser import Numbers
    from eigentext.dependency.latent.model import LatentTreeModel
    from eigentext.features.signatures import Language
    from eigentext.language.formats.conllu import ConlluBlock

    Scored = Callable[[Sequence[str], Sequence[str] | None, Int64s], Float64s]

WEIGHTS: tuple[float, ...] = (0.0, 0.02, 0.1, 0.5)
FOLDS = 3
MOST_WORDS = 25  # longer sentences without trees are passed over: time grows with the cube


def usable_text(unlabelled: Unlabelled) -> tuple[Unlabelled, int]:
    """The same with the sentences that are not too long, and how many are.

    What it cannot be is a SettingsError, and a sentence without tags a DataError.

    >>> from eigentext.language.formats.conllu import make_sentence
    >>> usable_text(Unlabelled([make_sentence(["Hi"])]))
    Traceback (most recent call last):
    ...
    eigentext.errors.DataError: <text>:1: no word of this sentence has a tag, expected UPOS or XPOS
    """
    if unlabelled.weight is not None and not 0 <= unlabelled.weight < float("inf"):
        raise SettingsError(f"weight is {unlabelled.weight}, expected 0 or more")
    if unlabelled.rounds < 0:
        raise SettingsError(f"rounds is {unlabelled.rounds}, expected 0 or more")
    if unlabelled.trees not in ("all", "best"):
        raise SettingsError(f"trees is {unlabelled.trees!r}, expected 'all' or 'best'")
    sentences = [sentence for sentence in each_conllu(unlabelled.sentences) if len(sentence)]
    text = [sentence for sentence in sentences if len(sentence) <= MOST_WORDS]
    if not text:
        rest = f"{len(sentences)} of more words" if sentences else "none at all"
        raise SettingsError(
            f"no sentence of up to {MOST_WORDS} words among those without trees, but {rest}"
        )
    for sentence in text:
        if set(TaggedSentence.from_conllu(sentence).coarse) <= {"_"}:
            why = "no word of this sentence has a tag, expected UPOS or XPOS"
            raise DataError(sentence.source, sentence.first_line, why)
    return replace(unlabelled, sentences=text), len(sentences) - len(text)


class TaggedText(NamedTuple):
    """Sentences end to end; numbers of (word, tag) pairs and of tags as in ``Corpus``."""

    ptr: Int64s
    word: Int64s
    tag: Int64s


def all_trees_counts(
    text: TaggedText, corpus: Corpus, params: GenerativeParams, weight: float, counts: TreeCounts
) -> float:
    """Add expected counts over all trees; ``weight`` times the log likelihood."""
    from eigentext.dependency.kernels.generative_trees import TagStates
    from eigentext.lab.unlabelled.kernels import text_counts

    tags = TagStates(params.first, params.m, corpus.kind_of)
    length = length_classes(int(np.diff(text.ptr).max(initial=1)))
    likelihood = text_counts(
        text.ptr, text.word, text.tag, tags, length, params.E, params.automaton, weight, counts
    )
    return float(likelihood)


def best_trees(text: TaggedText, corpus: Corpus, params: GenerativeParams) -> Corpus:
    """The text with the trees of most expected right arcs."""
    from eigentext.dependency.decoding.decoders import eisner
    from eigentext.dependency.kernels.generative import Words, inside, outside

    automaton = params.automaton
    length = length_classes(int(np.diff(text.ptr).max(initial=1)))
    heads = np.zeros(len(text.word), np.int64)
    for start, end in zip(text.ptr[:-1].tolist(), text.ptr[1:].tolist(), strict=True):
        tag = text.tag[start:end]
        m = params.m[tag]
        emit = np.ascontiguousarray(params.E[text.word[start:end]][:, : m.max()])
        words = Words(emit, params.first[tag], m, corpus.kind_of[tag], length)
        chart, log_z = inside(words, automaton)
        arcs = outside(words, automaton, chart, log_z)[0] if log_z > -np.inf else None
        heads[start:end] = eisner(np.zeros((end - start + 1,) * 2) if arcs is None else arcs)[0]
    none = np.zeros(len(heads), np.int64)
    return corpus._replace(ptr=text.ptr, word=text.word, tag=text.tag, heads=heads, relation=none)


def improve(
    corpus: Corpus,
    text: TaggedText,
    params: GenerativeParams,
    settings: Unlabelled,
    weight: float,
    *,
    smoothing: TreeSmoothing | None = None,
    progress: Progress | None = None,
) -> EMResult[GenerativeParams]:
    """Go on from ``params`` with trees and sentences; the history is the weighted likelihood."""
    smoothing = smoothing or TreeSmoothing()

    def step(params: GenerativeParams) -> tuple[GenerativeParams, float]:
        counts, likelihood = em_counts(corpus, params)
        if settings.trees == "all":
            likelihood += all_trees_counts(text, corpus, params, weight, counts)
        else:
            more, extra = em_counts(best_trees(text, corpus, params), params)
            likelihood += weight * extra
            counts = TreeCounts(*(a + weight * b for a, b in zip(counts, more, strict=True)))
        return smoothed(corpus, params.m, counts, smoothing), likelihood

    return iterate(params, step, n_iter=settings.rounds, progress=progress, stage="text")


def parts_of(n_trees: int) -> list[tuple[Int64s, Int64s]]:
    """The trees that are learned from and those that are held out, by turns."""
    if n_trees < 2:
        raise SettingsError("the weight of sentences without trees is chosen by two trees or more")
    return list(held_out(n_trees, min(FOLDS, n_trees)))


def chosen_weight(
    right: Callable[[float, Int64s, Int64s], float], n_trees: int, n_words: int
) -> tuple[float, dict[float, float]]:
    """The weight of most right heads in held-out trees, the least of equal ones; UAS of all."""
    # ``right(weight, others, fold)`` learns from the other trees and counts right heads in the
    # fold (or what else is to be right, of ``n_words`` in all).
    parts = parts_of(n_trees)
    scores = {
        weight: 100 * sum(right(weight, others, fold) for others, fold in parts) / n_words
        for weight in WEIGHTS
    }
    return max(scores, key=lambda weight: (scores[weight], -weight)), scores


@dataclass(frozen=True)
class TextBeside:
    """Sentences without trees beside the trees of a parser; ``weight`` as in ``Unlabelled``."""

    sentences: list[ConlluBlock]
    settings: Unlabelled
    weight: float

    def _numbered(self, numbers: Numbers) -> TaggedText:
        return TaggedText(pointers(map(len, self.sentences)), *numbers)

    def with_words(self, counts: TreeCounts, corpus: Corpus, numbers: Numbers) -> TreeCounts:
        """Counts in which the words are there, spread over the states of their tags."""
        of_tag = np.zeros((len(corpus.kind_of), counts.E.shape[1]))
        np.add.at(of_tag, corpus.tag_of, counts.E)
        share = of_tag / np.maximum(of_tag.sum(1, keepdims=True), 1e-300)
        said = np.bincount(self._numbered(numbers).word, minlength=len(counts.E)).astype(float)
        return counts._replace(E=counts.E + self.weight * said[:, None] * share[corpus.tag_of])

    def improve(
        self, params: GenerativeParams, corpus: Corpus, numbers: Numbers, progress: Progress | None
    ) -> EMResult[GenerativeParams]:
        """See :func:`improve`."""
        text = self._numbered(numbers)
        return improve(corpus, text, params, self.settings, self.weight, progress=progress)


def fit_generative(
    parser: GenerativeParser,
    trees: list[ConlluBlock],
    unlabelled: Unlabelled,
    progress: Progress | None,
) -> UnlabelledReport:
    """Fit a parser to trees with one root each and to sentences without."""
    unlabelled, n_left_out = usable_text(unlabelled)
    sentences = list(unlabelled.sentences)

    def right_heads(weight: float, others: Int64s, fold: Int64s) -> int:
        text = TextBeside(sentences, unlabelled, weight) if weight else None
        other = type(parser)(**values_of(parser)).fit_trees([trees[k] for k in others], text, None)
        gold = [trees[k] for k in fold.tolist()]
        return sum(
            int((parse.tree.heads == np.array(sentence.heads)).sum())
            for sentence, parse in zip(gold, other.parse_many(gold), strict=True)
            if parse is not None
        )

    weight, held_out_scores = unlabelled.weight, dict[float, float]()
    if weight is None:
        n_words = sum(map(len, trees))
        weight, held_out_scores = chosen_weight(right_heads, len(trees), n_words)
    parser.fit_trees(
        trees, TextBeside(sentences, unlabelled, weight) if weight else None, progress
    )
    return UnlabelledReport(weight, len(sentences), n_left_out, held_out_scores)


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
            heads, q = tree_list(parser, sentence.forms, tags, k)
            if not len(heads):
                continue
            order = np.argsort(-q, kind="stable")
            first.append(len(trees))
            trees += [DependencyTree(sentence.forms, heads[at], tags=tags) for at in order]
            shares.append(q[order])
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
    """The weight of the best order of held-out trees, and the shares of all, in percent."""
    # ``fitted`` learns a model from trees and a text, and gives its scores of trees.
    folds = {}
    n_pairs = 0
    for others, fold in parts_of(len(trees)):
        learned_from = [trees[at] for at in others.tolist()]
        parser = parser_of(learned_from, language)
        wrong = []
        for at in fold.tolist():
            tree = trees[at]
            if len(tree) > MOST_PARSED:
                continue
            heads, _ = tree_list(parser, tree.forms, tree.tags or ["_"] * len(tree))
            heads = heads[(heads != tree.heads).any(axis=1)]
            n_pairs += len(heads)
            wrong.append((tree, heads))
        folds[int(fold[0])] = _Fold(learned_from, TreeText.of(parser, text, k), wrong)

    def in_order(weight: float, _: Int64s, fold: Int64s) -> float:
        of_fold = folds[int(fold[0])]
        scores = fitted(of_fold.others, of_fold.text, weight)
        right = 0.0
        for tree, heads in of_fold.wrong:
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
