"""First stage: the tokens of a text.

A token ends at place j with probability

    p(j) = 1 / (1 + exp(-sum over features f of j of w_f))

with hashed features of the characters around j, of what stands between two white spaces, of the
token that has begun, and of a dictionary of the training tokens (``kernels/boundaries.py``).
The weights are learned by AdaGrad, one place after the other.  Where no token of the treebank has
a space inside, all white space ends a token.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eigentext.base.types import Float64s, Int8s, Int64s, UInt64s
from eigentext.tagging.segmentation.characters import Squeezed
from eigentext.tagging.segmentation.kernels import boundaries as kernel
from eigentext.tagging.segmentation.kernels.squeeze import SPACE
from eigentext.tagging.segmentation.tables import HashedCounts, quantised, shortened, started
from eigentext.tagging.settings import SegmenterSettings

_RATE = 0.2


@dataclass
class TokenStage:
    """What was learned of tokens."""

    weights: Int8s  # as small numbers; their unit does not matter, only the sign of a sum is asked
    vocabulary: HashedCounts  # the tokens of the training text
    spaces: bool  # whether tokens may have spaces inside

    @classmethod
    def learn(
        cls,
        text: Squeezed,
        starts: Int64s,
        ends: Int64s,
        settings: SegmenterSettings,
        progress: Callable[[int], None],
    ) -> TokenStage:
        """Learn from tokens ``starts`` to ``ends`` of a squeezed text."""
        n_spaces = np.append(0, np.cumsum(text.classes == SPACE))  # before each place
        spaces = bool(np.any(n_spaces[ends] > n_spaces[starts]))
        vocabulary = _counted(kernel.token_keys(text.chars, starts, ends))
        ended = np.zeros(len(text.chars), np.int64)  # where the token ends that begins here
        ended[starts] = ends
        token_starts = np.zeros(len(text.chars), np.int64)
        token_starts[starts] = starts
        np.maximum.accumulate(token_starts, out=token_starts)  # of the token that a place is in
        table = kernel.Known(*vocabulary.table)
        prepared = _prepared(text, table, ended, spaces)
        weights, squares, orders = started(settings, len(prepared.starts))
        shift = 64 - settings.bits
        for epoch, order in enumerate(orders, start=1):
            kernel.train(
                prepared, table, token_starts, order, weights, squares, shift, _RATE, spaces
            )
            progress(epoch)
        return cls(quantised(weights)[0], vocabulary, spaces)

    def answer(self, text: Squeezed, odds: Float64s | None = None) -> tuple[Int64s, Int64s]:
        """Where tokens start and end; ``odds`` (places,) gets scores, above 0 where one begins."""
        table = kernel.Known(*self.vocabulary.table)
        prepared = _prepared(text, table, np.zeros(len(text.chars), np.int64), self.spaces)
        shift = 64 - (len(self.weights).bit_length() - 1)  # the upper bits of a key are its place
        scores = np.empty(0) if odds is None else odds
        starts, ends = kernel.answer(prepared, table, self.weights, shift, self.spaces, scores)
        return starts, ends


def _counted(keys: UInt64s) -> HashedCounts:
    distinct, counts = np.unique(shortened(keys), return_counts=True)
    return HashedCounts.of(distinct, np.minimum(counts, 255).astype(np.uint8))


def _prepared(text: Squeezed, table: kernel.Known, ended: Int64s, spaces: bool) -> kernel.Text:
    longest = kernel.longest_known(text.chars, text.classes, ended, table, spaces)
    starts, ends, hashes = kernel.chunks_of(text.chars, text.classes)
    return kernel.Text(text.chars, text.classes, text.glue, starts, ends, hashes, longest, ended)
