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
_UPPER, _LOWER = 3, 4  # classes of letters


@dataclass
class SentenceStage:
    """What was learned of the ends of sentences.

    ``weights``  as small numbers
    ``cases``    of a word, how often it was seen in small letters (up to 15), and 16 times how
                 often with a capital inside a sentence
    """

    weights: npt.NDArray[np.int8]
    cases: HashedCounts

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
        is_first = np.zeros(len(starts), np.uint8)
        is_first[0] = 1
        is_first[sentence_ends[:-1] + 1] = 1
        cases = _cases(text, starts, ends, is_first)
        tokens = _described(text, starts, ends, cases, is_first)
        lasts = kernel.paragraphs_of(tokens.gaps)
        weights = np.zeros(1 << bits, np.float32)
        squares = np.full(1 << bits, 1.0, np.float32)
        chance = np.random.default_rng(seed)
        for epoch in range(epochs):
            order = chance.permutation(len(sentence_ends))
            kernel.train(tokens, lasts, sentence_ends, order, weights, squares, 64 - bits, _RATE)
            told(epoch + 1)
        return cls(quantised(weights)[0], cases)

    def answer(
        self, text: Squeezed, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """For each token whether a sentence ends with it, and whether a paragraph does."""
        answering = np.full(len(starts), 2, np.uint8)
        tokens = _described(text, starts, ends, self.cases, answering)
        lasts = kernel.paragraphs_of(tokens.gaps)
        shift = 64 - (len(self.weights).bit_length() - 1)
        return kernel.answer(tokens, lasts, self.weights, shift, 0.0), tokens.gaps == 3


def _described(
    text: Squeezed, starts: Any, ends: Any, cases: HashedCounts, is_first: npt.NDArray[np.uint8]
) -> Any:
    return kernel.describe(
        text.chars, text.classes, starts, ends, *cases.table, is_first, LINE_BREAK
    )


def _cases(text: Squeezed, starts: Any, ends: Any, is_first: Any) -> HashedCounts:
    keys = table_kernel.shortened(boundaries.token_keys(text.chars, starts, ends))
    first_class = text.classes[starts]
    distinct, number = np.unique(keys, return_inverse=True)
    low = np.bincount(number[first_class == _LOWER], minlength=len(distinct))
    high = np.bincount(number[(first_class == _UPPER) & (is_first == 0)], minlength=len(distinct))
    values = np.minimum(low, 15) + 16 * np.minimum(high, 15)
    some = values > 0
    return HashedCounts.of(distinct[some], values[some].astype(np.uint8))
