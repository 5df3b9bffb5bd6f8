"""Bigrams and trigrams of words, by interpolated Kneser-Ney smoothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from eigentext.base.types import Float64s, Int64s, Sparse

Ids = Int64s


class KneserNeyBigram:
    """Interpolated Kneser-Ney over ids 0 .. n - 1; id n - 1 also stands for the beginning.

    p(y | x) = max(c(x, y) - d, 0) / c(x) + d kinds(x) / c(x) p_cont(y),  where p_cont mixes the
    number of different words before y with the uniform distribution in the same way.
    """

    def __init__(self, pairs: Sparse) -> None:
        from scipy.sparse import csr_array

        matrix = csr_array(pairs)
        matrix.sum_duplicates()
        self.pairs = matrix
        n = matrix.shape[0]
        data = matrix.data
        ones, twos = int((data == 1).sum()), int((data == 2).sum())
        estimate = ones / (ones + 2 * twos) if ones else 0.5  # Ney, Essen and Kneser 1994
        self.discount = d = min(max(estimate, 0.05), 0.95)
        before = np.bincount(matrix.indices, minlength=n).astype(np.float64)
        kinds = max(float(before.sum()), 1.0)
        lower = np.maximum(before - d, 0.0) / kinds  # discounted kinds of words before
        self.continuation = lower + (1 - lower.sum()) / n
        totals = np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()  # c(x)
        self.totals = totals
        different = np.diff(matrix.indptr).astype(np.float64)  # kinds(x)
        self.backoff = np.where(totals > 0, d * different / np.maximum(totals, 1.0), 1.0)

    def probabilities(self, before: Int64s, words: Int64s) -> Float64s:
        """p(word | word before) for pairs of ids."""
        counts = np.asarray(self.pairs[before, words], dtype=np.float64).ravel()
        discounted = np.maximum(counts - self.discount, 0.0) / np.maximum(self.totals[before], 1.0)
        return np.asarray(discounted + self.backoff[before] * self.continuation[words])

    def row(self, before: int) -> Float64s:
        """p(. | word before); (n,)."""
        values = np.asarray(self.backoff[before] * self.continuation)
        start, stop = self.pairs.indptr[before], self.pairs.indptr[before + 1]
        discounted = np.maximum(self.pairs.data[start:stop] - self.discount, 0.0)
        values[self.pairs.indices[start:stop]] += discounted / max(self.totals[before], 1.0)
        return values


class KneserNeyTrigram:
    """Interpolated modified Kneser-Ney (Chen and Goodman 1999) over words 0 .. n - 1.

    ``before`` (N, 2) holds the two words before each of the ``words`` (N,), the nearer one last;
    id n stands for the beginning of a sentence, twice before its first word::

        p(w | u v) = (c(u v w) - D(c)) / c(u v) + back(u v) p(w | v)
        p(w | v)   = (m(v w) - D(m)) / m(v) + back(v) p(w),   m(v w): different words before v w
        p(w)       = (m(w) - D(m)) / m + back / n,            m(w): different words before w

    Each level has three discounts, for counts of 1, 2 and more, from the counts of counts, and
    back(.) is what they took away.  After the beginning of a sentence m(v w) is c(v w).

    >>> text = np.array([0, 1, 0, 1, 2])
    >>> before = np.array([[3, 3], [3, 0], [0, 1], [1, 0], [0, 1]])
    >>> model = KneserNeyTrigram(before, text, 3)
    >>> float(model.row(0, 1).sum().round(9))
    1.0
    """

    def __init__(self, before: Ids, words: npt.NDArray[np.integer[Any]], n: int) -> None:
        self.n, self._base = n, n + 1
        words = np.asarray(words, np.int64)
        far, near = (np.asarray(before, np.int64)[:, i] for i in (0, 1))
        triples, counts = np.unique(
            (far * self._base + near) * self._base + words, return_counts=True
        )
        self._triples = _Discounted(triples, counts, self._base)
        pairs, kinds = np.unique(triples % self._base**2, return_counts=True)
        starts = near == n  # what is before the beginning is always the same
        first, often = np.unique(near[starts] * self._base + words[starts], return_counts=True)
        kinds[np.searchsorted(pairs, first)] = often
        self._pairs = _Discounted(pairs, kinds, self._base)
        single, different = np.unique(pairs % self._base, return_counts=True)
        alone = _Discounted(single, different, self._base)
        every: Ids = np.arange(n, dtype=np.int64)
        self.unigram = alone.own(every) + alone.backoff(every // self._base) / n

    def probabilities(self, before: Ids, words: npt.NDArray[np.integer[Any]]) -> Float64s:
        """p(word | two words before), for rows of ids."""
        words = np.asarray(words, np.int64)
        far, near = (np.asarray(before, np.int64)[:, i] for i in (0, 1))
        context, pair = far * self._base + near, near * self._base + words
        lower = self._pairs.own(pair) + self._pairs.backoff(near) * self.unigram[words]
        discounted = self._triples.own(context * self._base + words)
        return np.asarray(discounted + self._triples.backoff(context) * lower)

    def row(self, far: int, near: int) -> Float64s:
        """p(. | far near); (n,)."""
        words = np.arange(self.n, dtype=np.int64)
        return self.probabilities(np.tile(np.array([far, near]), (self.n, 1)), words)


class _Discounted:
    """One level: discounted counts over the total of the context, and what the context lost."""

    def __init__(self, keys: Ids, counts: Ids, base: int) -> None:
        # keys (m,) rising, context times base plus word; counts (m,) whole numbers
        discount = _three_discounts(counts)[np.minimum(counts, 3)]
        self._keys = keys
        self._contexts, owner = np.unique(keys // base, return_inverse=True)
        totals = np.bincount(owner, counts.astype(np.float64))  # c(u v)
        self._own = (counts - discount) / totals[owner]  # (c - D(c)) / c(u v)
        self._back = np.bincount(owner, discount) / totals  # what D took

    def own(self, keys: Ids) -> Float64s:
        """What is left of the count, over its total; 0 for what was not seen."""
        return _looked_up(self._keys, self._own, keys, 0.0)

    def backoff(self, contexts: Ids) -> Float64s:
        """The share of the level below; 1 after a context that was not seen."""
        return _looked_up(self._contexts, self._back, contexts, 1.0)


def _looked_up(keys: Ids, values: Float64s, queries: Ids, otherwise: float) -> Float64s:
    at = np.minimum(np.searchsorted(keys, queries), len(keys) - 1)
    return np.asarray(np.where(keys[at] == queries, values[at], otherwise))


def _three_discounts(counts: Ids) -> Float64s:
    """(4,) discounts of counts 0, 1, 2 and more: j - (j + 1) Y n_j+1 / n_j.

    Y is n_1 / (n_1 + 2 n_2).  Kept from 0.05 to j - 0.05; where a text has no count of j or of
    j + 1, half of j.
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6).astype(np.float64)
    share = n[1] / (n[1] + 2 * n[2]) if n[1] else 0.5
    discounts = np.zeros(4)
    for j in (1, 2, 3):
        value = j - (j + 1) * share * n[j + 1] / n[j] if n[j] and n[j + 1] else j / 2
        discounts[j] = min(max(value, 0.05), j - 0.05)
    return discounts
