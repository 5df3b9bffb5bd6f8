"""Second stage: which tokens end a sentence.

The same kind of linear model as that of tokens (``tokens.py``), over the places behind tokens.  It
sees the tokens around, how often the next one is written with a small letter or with a capital
inside of sentences of the treebank, and the sentence so far (``kernels/sentence_ends.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.segmentation.kernels import boundaries
from eigentext.segmentation.kernels import sentence_ends as kernel
from eigentext.segmentation.kernels import tables as table_kernel
from eigentext.segmentation.kernels.squeeze import LINE_BREAK
from eigentext.segmentation.tables import HashedCounts, quantised

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from eigentext.segmentation.characters import Squeezed

__all__ = ["SentenceStage"]

_RATE = 0.2
_UPPER, _LOWER, _LAST_LETTER = 3, 4, 10  # classes of letters


@dataclass
class SentenceStage:
    """What was learned of the ends of sentences.

    ``weights``  as small numbers
    ``habits``   of a word: written small or with a capital, at which places of a sentence
    """

    weights: npt.NDArray[np.int8]
    habits: HashedCounts

    @classmethod
    def learn(
        cls,
        text: Squeezed,
        starts: npt.NDArray[np.int64],
        ends: npt.NDArray[np.int64],
        sentence_ends: npt.NDArray[np.int64],
        *,
        epochs: int,
        bits: int,
        seed: int,
        told: Callable[[int], None],
    ) -> SentenceStage:
        """Learn from tokens, of which ``sentence_ends`` are the last ones of sentences."""
        habits, of_tokens = _habits(text, starts, ends, sentence_ends)
        tokens = _described(text, starts, ends, of_tokens)
        lasts = kernel.paragraphs_of(tokens.gaps)
        weights = np.zeros(1 << bits, np.float32)
        squares = np.full(1 << bits, 1.0, np.float32)
        chance = np.random.default_rng(seed)
        for epoch in range(epochs):
            order = chance.permutation(len(sentence_ends))
            kernel.train(tokens, lasts, sentence_ends, order, weights, squares, 64 - bits, _RATE)
            told(epoch + 1)
        return cls(quantised(weights)[0], habits)

    def answer(
        self, text: Squeezed, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """For each token whether a sentence ends with it, and whether a paragraph does."""
        habits = kernel.habits_of(text.chars, starts, ends, *self.habits.table)
        tokens = _described(text, starts, ends, habits)
        lasts = kernel.paragraphs_of(tokens.gaps)
        shift = 64 - (len(self.weights).bit_length() - 1)
        return kernel.answer(tokens, lasts, self.weights, shift, 0.0), tokens.gaps == 3


def _described(text: Squeezed, starts: Any, ends: Any, habits: Any) -> Any:
    return kernel.describe(text.chars, text.classes, starts, ends, habits, LINE_BREAK)


def _habits(
    text: Squeezed,
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    sentence_ends: npt.NDArray[np.int64],
) -> tuple[HashedCounts, npt.NDArray[np.uint16]]:
    """Habits of every word, and for each token those of its word elsewhere, without this token."""
    keys = table_kernel.shortened(boundaries.token_keys(text.chars, starts, ends))
    kinds = text.classes[starts]
    is_first = np.zeros(len(starts), bool)
    is_first[np.append(0, sentence_ends[:-1] + 1)] = True
    is_word = (kinds >= _UPPER) & (kinds <= _LAST_LETTER)
    # the last word of a sentence: the last token with a letter in front
    sentence_of = np.cumsum(is_first) - 1
    last = np.full(len(sentence_ends), -1)
    np.maximum.at(last, sentence_of[is_word], np.flatnonzero(is_word))
    is_final = np.zeros(len(starts), bool)
    is_final[last[last >= 0]] = True
    is_low, is_high = kinds == _LOWER, (kinds == _UPPER) & ~is_first
    marks = np.stack([is_low, is_high, is_first, is_final, np.ones(len(starts), bool)])
    distinct, number = np.unique(keys, return_inverse=True)
    counts = np.stack([np.bincount(number[one], minlength=len(distinct)) for one in marks])
    return HashedCounts.of(distinct, _codes(counts)), _codes(counts[:, number] - marks)


def _codes(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.uint16]:
    """Small numbers for counts (written small, capital inside, first, final, all) of words."""
    low, high, first, final, every = counts
    steps = np.array([1, 2, 4, 8])
    case = np.digitize(low, steps) + 5 * _share(high, low + high)
    begin = np.digitize(first, steps) + 5 * _share(first, first + high)
    end = np.digitize(every, np.array([1, 2, 4, 16])) + 5 * np.where(
        every > 0, np.digitize(final / np.maximum(every, 1), [0.001, 0.05, 0.2, 0.5]), 0
    )
    return np.asarray(case + 32 * begin + 1024 * end, np.uint16)


def _share(part: npt.NDArray[np.int64], whole: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.digitize(part / np.maximum(whole, 1), [0.001, 0.3, 0.7, 0.999])
