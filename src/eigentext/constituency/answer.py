"""What the parser answers: the best tree and its scores, the k best, and marginals.

There is always a tree: without the required tags, or of pieces put together, where the grammar
has none.  Sentences too long for one chart, whose time grows with the cube, are parsed so too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from eigentext.constituency.chart.coarse import Chart
from eigentext.constituency.chart.constraints import Constraints, Masks
from eigentext.constituency.chart.fine import FinePass
from eigentext.constituency.forms import capitals_tell
from eigentext.constituency.grammar import Grammar
from eigentext.constituency.lexicon import Emission
from eigentext.constituency.params import LatentParams
from eigentext.constituency.transform import unwrap, user_labels, with_wrapper
from eigentext.language.trees.constituent import Tree

_STAND_IN = 1e-3  # weight of a word's own tags beside one that is required


class SentenceToParse(NamedTuple):
    """A sentence to be parsed: tokens, their forms in the treebank, and all that is known."""

    tokens: Sequence[str]
    words: Sequence[str]
    emissions: Sequence[Sequence[Emission]]  # of each model, of each word
    masks: Masks
    constraints: Constraints

    def part(self, start: int, end: int) -> SentenceToParse:
        """Some of the words as a sentence of their own."""
        return SentenceToParse(
            self.tokens[start:end],
            self.words[start:end],
            [of_model[start:end] for of_model in self.emissions],
            self.masks.part(len(self.words), start, end),
            self.constraints.part(start, end),
        )


class RankedTree(NamedTuple):
    """One of the k best: the decoder's score, the tree, and log p(tree) under the model."""

    log_score: float
    tree: Tree
    log_prob: float


@dataclass(frozen=True)
class Parse:
    """The answer for one sentence.

    ``tree``       the best tree; its words are the tokens as they were given
    ``log_score``  what the decoder maximised: half of the right constituents less the wrong ones
                   that are expected, and a hundredth of the next (max-constituents), log of the
                   product of rule posteriors (max-rule-product), the sum of posteriors
                   (max-recall), or log of the weight of the best derivation, p(w) left out
                   (viterbi); with a reranker still that of the decoder, though the trees come in
                   the reranker's order
    ``log_prob``   log p(tree, words) under the model; the mean of p over the models of an
                   ensemble; under the plain PCFG where they have none (``negative``, ``coarse``);
                   of a tree put together (``fallback``, ``split``) the sum of those of its pieces
    ``kbest``      the k best different trees, the best first
    ``marginals``  (start, end, label) -> probability of that constituent
    ``flags``      ``relaxed`` pruning had to be loosened, ``coarse`` the models give no tree any
                   weight: the plain PCFG's, ``fallback`` the grammar has no such tree: pieces of
                   it, with the label that most trees have over them, or with tags that stood in
                   for those required, ``unknown`` a word was never seen in training, ``negative``
                   the models' score of the tree is not above zero, as those of the moments
                   estimator may be, so that ``log_prob`` is the plain PCFG's, ``split`` the
                   sentence is too long and was parsed in pieces, which were put together likewise
    """

    tree: Tree
    log_score: float
    log_prob: float = float("-inf")
    kbest: tuple[RankedTree, ...] = ()
    marginals: dict[tuple[int, int, str], float] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()

    def _repr_svg_(self) -> str:
        """The tree as a notebook shows it."""
        from eigentext.drawing.constituents import tree_svg

        return tree_svg(self.tree)


def constituent_marginals(
    chart: Chart, passes: Sequence[FinePass], labels: Sequence[str]
) -> dict[tuple[int, int, str], float]:
    """(start, end, label) -> marginal, the mean over the models; a chain counts for all of it."""
    posterior = np.mean([p.items for p in passes], axis=0)
    spans = chart.spans[chart.item_span].tolist()
    posteriors: dict[tuple[int, int, str], float] = {}
    for number, (start, end), value in zip(
        chart.item_label.tolist(), spans, posterior.tolist(), strict=True
    ):
        for name in dict.fromkeys(user_labels(labels[number])):
            key = (start, end, name)
            posteriors[key] = posteriors.get(key, 0.0) + value
    return posteriors


def single_word(request: SentenceToParse, grammar: Grammar) -> Parse:
    """A word under its likeliest tag, where the grammar has no such tree."""
    lexicon, (emission,) = grammar.lexicon, request.emissions[0]
    share = emission.scores * lexicon.p_tag[emission.tags]
    label = lexicon.tags[emission.tags]
    admitted = request.masks.labels[request.masks.of_span[0]][label]
    best = int(np.argmax(np.where(admitted, 1.0 + share, share)))
    chain = user_labels(grammar.labels[label[best]])
    demanded = [label for label in request.constraints.labels_of_all(1) if label not in chain]
    labels = [*demanded, *chain, request.tokens[0]]
    tree = Tree.unchecked(labels, range(len(labels), 0, -1))
    log_prob = float(np.log(share[best])) + lexicon.log_p_word(request.words[0])
    return Parse(with_wrapper(tree, grammar.wrapper), 0.0, log_prob)


def word_emissions(
    params: Sequence[LatentParams],
    labels: Sequence[str],
    words: Sequence[str],
    constraints: Constraints | None,
    *,
    stand_ins: bool = False,  # beside a tag that is required a word may also have its own tags
) -> list[list[Emission]]:
    """What each word may be, for each model."""
    folded = not capitals_tell(words, params[0].lexicon.tag_level.seen)
    emissions = [
        [model.lexicon.emission(word, first=i == 0, folded=folded) for i, word in enumerate(words)]
        for model in params
    ]
    tags = (constraints.tags if constraints else None) or {}
    for model, of_model in zip(params, emissions, strict=True) if tags else ():
        lexicon = model.lexicon
        tag_of = np.array([user_labels(labels[label])[-1] for label in lexicon.tags.tolist()])
        for i, tag in tags.items():
            admitted = np.flatnonzero(tag_of == tag)
            if not 0 <= i < len(words) or not len(admitted):
                continue  # build_masks will complain
            required = lexicon.emission_as(words[i], admitted, first=i == 0, folded=folded)
            of_model[i] = _either(required, of_model[i]) if stand_ins else required
    return emissions


def _either(likely: Emission, other: Emission) -> Emission:
    """Of the word as the first says, or as the second, which is far less likely."""
    tags = np.union1d(likely.tags, other.tags)
    scores = np.zeros(len(tags))
    scores[np.searchsorted(tags, likely.tags)] = likely.scores
    scores[np.searchsorted(tags, other.tags)] += _STAND_IN * other.scores
    states = (likely.states + _STAND_IN * other.states).astype(np.float32)
    return Emission(tags, scores, states)


def retagged(tree: Tree, tags: Mapping[int, str]) -> Tree:
    """The same tree with these tags over these words.

    >>> print(retagged(Tree.from_brackets("(S (A a) (B b))"), {1: "C"}))
    (S (A a) (C b))
    """
    labels, leaves = list(tree.labels), np.flatnonzero(tree.is_leaf).tolist()
    for word, tag in tags.items():
        labels[leaves[word] - 1] = tag  # in preorder a word comes right behind its tag
    return Tree.unchecked(labels, tree.sizes)


_STOPS = frozenset((".", "!", "?", "…", "...", "؟", "۔", "。", "！", "？", "।"))
_PAUSES = frozenset((",", ";", ":", "--", "-", "–", "—", "،", "؛", "、", "，", "；", "："))


def pieces(tokens: Sequence[str], longest: int) -> list[tuple[int, int]]:
    """(start, end) of the pieces, none of them longer than ``longest``.

    >>> pieces("a b . c , d e f g".split(), 4)
    [(0, 3), (3, 5), (5, 9)]
    """
    spans = []
    start, pause = 0, 0  # where the piece began, and behind its last pause
    for position, token in enumerate(tokens, start=1):
        if token in _PAUSES:
            pause = position
        if token in _STOPS or position == len(tokens):
            spans.append((start, position))
            start = pause = position
        elif position - start == longest:
            end = pause if pause > start else position
            spans.append((start, end))
            start = end
    return spans


def put_together(
    parses: Sequence[Parse], starts: Sequence[int], above: Sequence[str], wrapper: str | None
) -> Parse:
    """One answer from those of the pieces, with their flags; ``above`` is the chain over them."""
    trees = [unwrap(parse.tree)[0] for parse in parses]
    labels = [*above, *(label for tree in trees for label in tree.labels)]
    sizes = [
        *range(len(labels), len(labels) - len(above), -1),
        *(size for tree in trees for size in tree.sizes.tolist()),
    ]
    marginals = {
        (begin + start, begin + end, label): p
        for parse, begin in zip(parses, starts, strict=True)
        for (start, end, label), p in parse.marginals.items()
    }
    return Parse(
        with_wrapper(Tree.unchecked(labels, sizes), wrapper),
        sum(parse.log_score for parse in parses),
        sum(parse.log_prob for parse in parses),
        marginals=marginals,
        flags=frozenset().union(*(parse.flags for parse in parses)),
    )
