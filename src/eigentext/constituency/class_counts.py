"""What the class of a word says of its base tag (``features.word_classes`` has the classes).

1. :class:`ClassCounts` counts base tags B under the classes of the treebank's words, a word seen
   c times with weight sqrt(c).
2. The signature's distribution is multiplied by what the class adds (``lexicon`` does the rest):

       P(ts | sig, class)  ~  P(ts | sig) prod_k (P(B | class_k) / P(B)) ^ (strength / K)

   for K ways to class the word (K = 2 with paths and vectors).  P(B | class) is drawn towards P(B)
   with the weight of two words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eigentext.base.types import Float64s, Int64s
from eigentext.features.word_classes import WordClasses

_DRAWN = 2.0  # words' weight of P(B) in P(B | class)


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """How often each base tag stands over words of each class."""

    classes: WordClasses
    counts: Float64s  # (sum of sizes, bases) the ways below each other
    strength: float = 0.7

    @classmethod
    def count(
        cls, classes: WordClasses, of_word: Int64s, base: Int64s, weight: Float64s, n_base: int
    ) -> ClassCounts:
        """From the classes (P, K), the base tag (P,) and the weight (P,) of every occurrence."""
        n_rows = sum(classes.sizes)
        counts = np.zeros(n_rows * n_base)
        for start, column in zip(_starts(classes.sizes), of_word.T, strict=True):
            counts += np.bincount(
                (start + column) * n_base + base, weight, minlength=n_rows * n_base
            )
        return cls(classes, counts.reshape(n_rows, n_base))

    @cached_property
    def _log_ratio(self) -> Float64s:
        """(sum of sizes, bases) log P(B | class) / P(B), times the strength of one way."""
        log_ratio = np.empty_like(self.counts)
        for start, size in zip(_starts(self.classes.sizes), self.classes.sizes, strict=True):
            part = self.counts[start : start + size]
            prior = part.sum(axis=0) + 1e-3
            prior /= prior.sum()
            p_given_class = (part + _DRAWN * prior) / (part.sum(axis=1, keepdims=True) + _DRAWN)
            log_ratio[start : start + size] = np.log(p_given_class / prior)
        return log_ratio * (self.strength / len(self.classes.sizes))

    def factors(self, numbers: Int64s) -> Float64s:
        """(n, bases) what the classes (n, K) of words multiply their base tags with."""
        rows = numbers + _starts(self.classes.sizes)
        return np.asarray(np.exp(self._log_ratio[rows].sum(axis=1)))

    def shares(self, numbers: Int64s, p_base: Float64s) -> Float64s:
        """(n, bases) the same, brought to where P(B | sig), (n, bases), still sums to one."""
        factors = self.factors(numbers)
        factors /= (p_base * factors).sum(axis=1, keepdims=True)
        return factors


def _starts(sizes: Sequence[int]) -> Int64s:
    """(K,) where each way's rows begin."""
    return np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)
