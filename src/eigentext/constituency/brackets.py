"""The bracket model: which spans of a sentence are constituents, before any grammar is asked.

A log-linear model of binary trees without labels.  With s(i, j) the sum of the weights of the
features of a span,

    p(tree | words) = exp(sum over its spans of s(i, j)) / Z(words)

The parser does two things with it (:meth:`BracketModel.judge`): spans with a small marginal are
closed, so that the chart has few cells; and a tree's weight in the grammar is multiplied by
exp(w s(i, j)) for each of its spans, w being ``bracket_weight``.  The model sees the words around
and within a span, which a grammar does not: the two make different mistakes.

Pruning by what begins and ends at a word is of Roark and Hollingshead 2008; features of spans in
place of a rich grammar are of Hall et al. 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eigentext.base.averaging import Averaged
from eigentext.base.cores import each, row_blocks
from eigentext.base.hashing import text_key
from eigentext.base.progress import Progress
from eigentext.base.ragged import pointers
from eigentext.base.remembering import Remembering
from eigentext.base.types import Bools, Float32s, Float64s, Int32s, Int64s, UInt64s
from eigentext.constituency.chart.constraints import Masks, Span, span_number
from eigentext.constituency.lexicon import Lexicon
from eigentext.constituency.treebank import Treebank

Keys = UInt64s


BITS = 22  # the table of weights has 2^22 places; those in use are some 100,000s
_FREQUENT = 3  # a word seen so often stands for itself
_ALSO = 0.1  # share of a word's second tag that is worth knowing
_PASSES = 3
_RATE = 0.1
_START = 0.1  # of AdaGrad's sums of squares
_SEEN = 2  # a feature of fewer spans of the treebank's trees is not learned
_LONGEST = 80  # words of a sentence to learn from
PAD = 2  # keys of nothing before the first word and behind the last
N_BORDER, N_SPAN = 7, 14  # templates of the begin of a span, as many of its end, and of both
_STEPS_OF_A_PASS = 250  # groups of sentences, or more
_MOST_AT_ONCE = 32  # sentences of a group
_SENTENCES_OF_A_BLOCK = 4  # that one thread is handed
_PARTS_OF_THE_TABLE = 4  # that threads change
_MOST_WORDS = 50_000  # of the latest words
_SURELY = 50.0  # added to the score of a span that must be there


class BracketWords(NamedTuple):
    """A sentence in keys, with two places of padding (key 0) on both sides."""

    word: Keys  # word, tag: (n + 4,) keys
    tag: Keys
    marks: Int64s  # (n + 1,) punctuation marks before each border


class SpanScores(NamedTuple):
    """What the model says of a sentence, by numbers of spans."""

    score: Float64s  # (S,) s(i, j)
    marginal: Float64s  # (S,) p(the span is a constituent, or made by binarisation)

    def weigh(self, masks: Masks, weight: float, threshold: float) -> Masks:
        """What a chart is told: spans below the threshold are closed, others weighed."""
        return masks._replace(
            marginal=self.marginal, threshold=threshold, weight=weight * self.score
        )


class _Table(NamedTuple):
    """Weights while they are learned, as the compiled step takes them."""

    weights: Float32s
    sums: Float64s
    squares: Float32s
    learned: Bools


class BracketKeys:
    """From words to keys, by the counts of a lexicon."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self._of_words = Remembering(self._keys, _MOST_WORDS)
        self._of_shapes = Remembering(self._shape_keys, _MOST_WORDS)

    def of_sentence(self, words: Sequence[str], *, folded: bool = False) -> BracketWords:
        """The keys of a sentence; ``folded``: its capitals say nothing."""
        n = len(words)
        keys = [self._of_words((word, i == 0, folded)) for i, word in enumerate(words)]
        word, tag = np.zeros((2, n + 2 * PAD), np.uint64)
        marks = np.zeros(n + 1, np.int64)
        if n:
            of_word, of_tag, mark = zip(*keys, strict=True)
            word[PAD : n + PAD], tag[PAD : n + PAD] = of_word, of_tag
            marks[1:] = np.cumsum(mark)
        return BracketWords(word, tag, marks)

    def _keys(self, key: tuple[str, bool, bool]) -> tuple[int, int, bool]:
        lexicon, (word, first, folded) = self.lexicon, key
        count, shares = lexicon.base_counts(word, first=first, folded=folded)
        if count >= _FREQUENT:
            of_word, of_tag = text_key("word " + word.lower()), _tag_key(shares)
        else:
            of_word, of_tag = self._of_shapes(lexicon.shape(word, first, folded))
        return of_word, of_tag, not any(map(str.isalnum, word))

    def _shape_keys(self, shape: str) -> tuple[int, int]:
        shares = self.lexicon.by_base(self.lexicon.of_shape(shape))
        return text_key("shape " + shape), _tag_key(shares)


def _tag_key(shares: Float64s) -> int:
    """Of the most frequent tag, with the next one where that is frequent too."""
    shares = np.round(shares / shares.sum(), 6)  # expected counts have errors of rounding
    best, *others = np.argsort(-shares, kind="stable")[:2].tolist()
    also = [1 + second for second in others if shares[second] > _ALSO]
    return text_key(f"tag {1 + best} {also[0] if also else 0}")


@dataclass(frozen=True, eq=False)
class BracketModel:
    """Weights of features: those at ``places`` of the table of 2^BITS, all others 0."""

    places: Int32s  # (F,) rising
    values: npt.NDArray[np.float16]  # (F,) float16
    _keys: list[BracketKeys] = field(default_factory=list, init=False, repr=False)

    @cached_property
    def weights(self) -> Float32s:
        """(2^BITS,) the table."""
        table = np.zeros(1 << BITS, np.float32)
        table[self.places] = self.values
        return table

    def judge(
        self,
        words: Sequence[str],
        lexicon: Lexicon,
        *,
        folded: bool = False,
        required: Sequence[Span] = (),
    ) -> SpanScores:
        """Scores of all spans of a sentence, and marginals among the trees with those required."""
        from eigentext.constituency.kernels.brackets import bracket_marginals, bracket_scores

        if not self._keys or self._keys[0].lexicon is not lexicon:
            self._keys[:] = [BracketKeys(lexicon)]
        n = len(words)
        score, inside, marginal = np.empty((3, n * (n + 1) // 2))
        bracket_scores(self._keys[0].of_sentence(words, folded=folded), self.weights, score)
        demanded = score.copy() if required else score
        for start, end, *_ in required:
            demanded[span_number(start, end, n)] += _SURELY
        bracket_marginals(n, demanded, inside, marginal)
        return SpanScores(score, marginal)


class _Sentences(NamedTuple):
    """Sentences to learn from, end to end, as the compiled steps take them."""

    word: Keys  # word, tag, marks: those of :class:`BracketWords`
    tag: Keys
    marks: Int64s
    gold: Bools  # is a span in the tree?
    first: Int64s  # first, spans: (sentences + 1,) words and spans before each sentence
    spans: Int64s

    @classmethod
    def of(cls, sentences: Sequence[tuple[BracketWords, Bools]]) -> _Sentences:
        """From the keys and the gold spans of each sentence."""
        words = [keys for keys, _ in sentences]
        return cls(
            word=np.concatenate([np.empty(0, np.uint64), *(keys.word for keys in words)]),
            tag=np.concatenate([np.empty(0, np.uint64), *(keys.tag for keys in words)]),
            marks=np.concatenate([np.empty(0, np.int64), *(keys.marks for keys in words)]),
            gold=np.concatenate([np.empty(0, np.bool_), *(gold for _, gold in sentences)]),
            first=pointers(len(keys.marks) - 1 for keys in words),
            spans=pointers(len(gold) for _, gold in sentences),
        )

    def room(self, numbers: Int64s) -> _Gradients:
        """For all gradients that these sentences could have; what is not used takes no memory."""
        n_spans = (self.spans[numbers + 1] - self.spans[numbers]).sum()
        n_borders = (self.first[numbers + 1] - self.first[numbers] + 1).sum()
        most = N_SPAN * n_spans + 2 * N_BORDER * n_borders
        return _Gradients(
            np.empty(most, np.int64), np.empty(most, np.float32), np.empty(len(numbers), np.int64)
        )


class _Gradients(NamedTuple):
    """Gradients of a few sentences: (G,) places in the table and numbers; (S,) their ends."""

    places: Int64s
    gradients: Float32s
    ends: Int64s

    def used(self) -> _Gradients:
        """Without the room that was not needed."""
        n = int(self.ends[-1])
        return self._replace(places=self.places[:n].copy(), gradients=self.gradients[:n].copy())


def learn_bracket_model(
    bank: Treebank, lexicon: Lexicon, *, seed: int, progress: Progress | None = None
) -> BracketModel:
    """Learn from the trees of a treebank; the mean of the weights over all steps is kept."""
    # Sentences go in groups: gradients of a group are those of the weights before it, and are
    # taken in the order of the sentences.  So the cores in use share out first the sentences of a
    # group, then the parts of the table.
    from eigentext.constituency.kernels.brackets import count_features

    keys = BracketKeys(lexicon)
    sentences = _Sentences.of(
        [(keys.of_sentence(words), gold) for words, gold in _gold_spans(bank, longest=_LONGEST)]
    )
    n = len(sentences.first) - 1
    counts = np.zeros(1 << BITS, np.int32)
    count_features(sentences, counts)
    learned = Averaged.zeros(1 << BITS)
    table = _Table(
        learned.weights, learned.sums, np.full(1 << BITS, _START, np.float32), counts >= _SEEN
    )
    group = int(np.clip(n // _STEPS_OF_A_PASS, 1, _MOST_AT_ONCE))
    for number in range(_PASSES):
        order = np.random.default_rng([seed, number]).permutation(n)
        for block in row_blocks(n, group):
            time = number * n + block.start
            if progress is not None:
                progress(time, _PASSES * n, "brackets")
            _step(sentences, order[block], table, time)
    mean = learned.mean(_PASSES * n, last=True).astype(np.float16)
    places = np.flatnonzero(mean)
    return BracketModel(places.astype(np.int32), mean[places])


def _step(sentences: _Sentences, numbers: Int64s, table: _Table, time: int) -> None:
    """Learn from the sentences of one group."""
    from eigentext.constituency.kernels.brackets import find_gradients, take_steps

    def gradients(block: slice) -> _Gradients:
        gradient = sentences.room(numbers[block])
        find_gradients(sentences, numbers[block], table.weights, table.learned, gradient)
        return gradient.used()

    blocks = row_blocks(len(numbers), _SENTENCES_OF_A_BLOCK)
    gradients_of_blocks = each(gradients, blocks)

    def steps(part: slice) -> None:
        for block, of_block in zip(blocks, gradients_of_blocks, strict=True):
            take_steps(
                of_block, table, part.start, part.stop, np.float32(_RATE), time + block.start
            )

    each(steps, row_blocks(1 << BITS, (1 << BITS) // _PARTS_OF_THE_TABLE))


def _gold_spans(bank: Treebank, *, longest: int) -> list[tuple[tuple[str, ...], Bools]]:
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
