"""The bracket model: which spans of a sentence are constituents, before any grammar is asked.

A log-linear model of binary trees without labels.  With s(i, j) the sum of the weights of the
features of a span,

    p(tree | words) = exp(sum over its spans of s(i, j)) / Z(words)

1. Words become keys (:class:`BracketWords`): a frequent word is itself, a rare one its signature,
   and each has the tag it mostly has, with the next one where that is frequent too.
2. :func:`learn_bracket_model` learns the weights from the binarised trees of the treebank.
3. The parser does two things with it (:meth:`BracketModel.judge`): spans with a small marginal
   are closed, so that the chart has few cells; and a tree's weight in the grammar is multiplied
   by exp(w s(i, j)) for each of its spans, w being ``bracket_weight``.  The model sees the words
   around and within a span, which a grammar does not: the two make different mistakes.

Pruning by what begins and ends at a word is of Roark and Hollingshead 2008; features of spans in
place of a rich grammar are of Hall et al. 2014.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigentext.base.averaging import Averaged
from eigentext.base.hashing import text_key
from eigentext.base.remembering import Remembered
from eigentext.constituency.chart.constraints import SpanWeights

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from eigentext.base.progress import Progress
    from eigentext.constituency.lexicon import Lexicon
    from eigentext.constituency.treebank import Treebank

    Floats = npt.NDArray[np.float64]
    Keys = npt.NDArray[np.uint64]

__all__ = ["BITS", "BracketModel", "Brackets", "WordKeys", "learn_bracket_model"]

BITS = 22  # the table of weights has 2^22 places; those in use are some 100,000s
_FREQUENT = 3  # a word seen so often stands for itself
_ALSO = 0.1  # share of a word's second tag that is worth knowing
_PASSES = 3
_RATE = 0.1
_START = 0.1  # of AdaGrad's sums of squares
_SEEN = 2  # a feature of fewer spans of the treebank's trees is not learned
_LONGEST = 80  # words of a sentence to learn from
_PAD = 2  # as in the kernels
_MOST_WORDS = 50_000  # of the latest words


class BracketWords(NamedTuple):
    """A sentence in keys, with two places of padding (key 0) on both sides.

    ``word, tag``  (n + 4,) keys;  ``marks`` (n + 1,) punctuation marks before each border
    """

    word: Keys
    tag: Keys
    marks: npt.NDArray[np.int64]


class Brackets(NamedTuple):
    """What the model says of a sentence, by numbers of spans.

    ``score``  (S,) s(i, j);  ``marginal`` (S,) p(the span is a constituent, or made by
    binarisation)
    """

    score: Floats
    marginal: Floats

    def weights(self, weight: float, threshold: float) -> SpanWeights:
        """What a chart is told: spans below the threshold are closed, others weighed."""
        return SpanWeights(self.marginal < threshold, weight * self.score)


class _Table(NamedTuple):
    """Weights while they are learned, as the compiled step takes them."""

    weights: npt.NDArray[np.float32]
    sums: Floats
    squares: npt.NDArray[np.float32]
    learned: npt.NDArray[np.bool_]


class WordKeys:
    """From words to keys, by the counts of a lexicon."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self._known: Remembered[tuple[str, bool, bool], tuple[int, int, bool]] = Remembered(
            _MOST_WORDS
        )

    def of_sentence(self, words: Sequence[str], *, folded: bool = False) -> BracketWords:
        """The keys of a sentence; ``folded``: its capitals say nothing."""
        n = len(words)
        keys = [self._of_word(word, i == 0, folded) for i, word in enumerate(words)]
        word, tag = np.zeros((2, n + 2 * _PAD), np.uint64)
        marks = np.zeros(n + 1, np.int64)
        if n:
            of_word, of_tag, mark = zip(*keys, strict=True)
            word[_PAD : n + _PAD], tag[_PAD : n + _PAD] = of_word, of_tag
            marks[1:] = np.cumsum(mark)
        return BracketWords(word, tag, marks)

    def _of_word(self, word: str, first: bool, folded: bool) -> tuple[int, int, bool]:
        key = (word, first, folded)
        known = self._known.get(key)
        if known is None:
            known = self._known.put(key, self._keys(word, first, folded))
        return known

    def _keys(self, word: str, first: bool, folded: bool) -> tuple[int, int, bool]:
        lexicon = self.lexicon
        seen, shares = lexicon.base_counts(word, first=first, folded=folded)
        if seen >= _FREQUENT:
            of_word = text_key("word " + word.lower())
        else:
            shape = lexicon.shape(word, first, folded)
            of_word = text_key("shape " + shape)
            shares = lexicon.by_base(lexicon.of_shape(shape))
        shares = np.round(shares / shares.sum(), 6)  # expected counts have errors of rounding
        best, *others = np.argsort(-shares, kind="stable")[:2].tolist()
        also = [1 + second for second in others if shares[second] > _ALSO]
        of_tag = text_key(f"tag {1 + best} {also[0] if also else 0}")
        return of_word, of_tag, not any(map(str.isalnum, word))


@dataclass(frozen=True, eq=False)
class BracketModel:
    """Weights of features: those at ``places`` of the table of 2^BITS, all others 0.

    ``places``  (F,) rising;  ``values`` (F,) float16
    """

    places: npt.NDArray[np.int32]
    values: npt.NDArray[np.float16]
    _keys: list[WordKeys] = field(default_factory=list, init=False, repr=False)

    @cached_property
    def weights(self) -> npt.NDArray[np.float32]:
        """(2^BITS,) the table."""
        table = np.zeros(1 << BITS, np.float32)
        table[self.places] = self.values
        return table

    def judge(self, words: Sequence[str], lexicon: Lexicon, *, folded: bool = False) -> Brackets:
        """Scores and marginals of all spans of a sentence."""
        from eigentext.constituency.kernels.brackets import bracket_marginals, bracket_scores

        if not self._keys or self._keys[0].lexicon is not lexicon:
            self._keys[:] = [WordKeys(lexicon)]
        n = len(words)
        score, inside, marginal = np.empty((3, n * (n + 1) // 2))
        bracket_scores(self._keys[0].of_sentence(words, folded=folded), self.weights, score)
        bracket_marginals(n, score, inside, marginal)
        return Brackets(score, marginal)


def learn_bracket_model(
    bank: Treebank, lexicon: Lexicon, *, seed: int, progress: Progress | None = None
) -> BracketModel:
    """Learn from the trees of a treebank; the mean of the weights over all steps is kept."""
    from eigentext.constituency.kernels.brackets import count_features, learn_brackets

    keys = WordKeys(lexicon)
    sentences = [
        (keys.of_sentence(words), gold) for words, gold in _gold_spans(bank, longest=_LONGEST)
    ]
    counts = np.zeros(1 << BITS, np.int32)
    for words, gold in sentences:
        count_features(words, gold, counts)
    learned = Averaged.zeros(1 << BITS)
    table = _Table(
        learned.weights,
        learned.sums,
        np.full(1 << BITS, _START, np.float32),
        counts >= _SEEN,
    )
    time = 0
    for number in range(_PASSES):
        order = np.random.default_rng([seed, number]).permutation(len(sentences))
        for at in order.tolist():
            if progress is not None and time % 100 == 0:
                progress(time, _PASSES * len(sentences), "brackets")
            words, gold = sentences[at]
            learn_brackets(words, gold, table, np.float32(_RATE), time)
            time += 1
    mean = learned.mean(time, last=True).astype(np.float16)
    places = np.flatnonzero(mean)
    return BracketModel(places.astype(np.int32), mean[places])


def _gold_spans(bank: Treebank, *, longest: int) -> list[tuple[tuple[str, ...], Any]]:
    """The words of each sentence, and whether each of its spans is in its tree."""
    sentences = []
    bounds = np.append(bank.roots, len(bank.label)).tolist()
    for first, last in pairwise(bounds):
        n, offset = int(bank.length[first]), int(bank.offset[first])
        if not 3 <= n <= longest:  # fewer words have one tree
            continue
        start, end = bank.start[first:last], bank.end[first:last]
        gold = np.zeros(n * (n + 1) // 2, np.bool_)
        gold[start * n - start * (start - 1) // 2 + end - start - 1] = True
        sentences.append((bank.words[offset : offset + n], gold))
    return sentences
