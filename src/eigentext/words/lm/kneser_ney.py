"""Bigrams of words, by interpolated Kneser-Ney smoothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.errors import SettingsError

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["KneserNeyBigram"]


class KneserNeyBigram:
    """Interpolated Kneser-Ney over ids 0 .. n - 1; id n - 1 also stands for the beginning.

    p(y | x) = max(c(x, y) - d, 0) / c(x) + d kinds(x) / c(x) p_cont(y),  where p_cont mixes the
    number of different words before y with the uniform distribution in the same way.
    """

    def __init__(self, pairs: Any, *, discount: float | None = None) -> None:
        from scipy.sparse import csr_array

        matrix = csr_array(pairs)
        matrix.sum_duplicates()
        self.pairs = matrix
        n = matrix.shape[0]
        data = matrix.data
        ones, twos = int((data == 1).sum()), int((data == 2).sum())
        estimate = ones / (ones + 2 * twos) if ones else 0.5
        self.discount = min(max(estimate, 0.05), 0.95) if discount is None else discount
        if not 0 < self.discount < 1:
            raise SettingsError(f"discount {self.discount!r}: expected between 0 and 1")
        d = self.discount
        before = np.bincount(matrix.indices, minlength=n).astype(np.float64)
        kinds = max(float(before.sum()), 1.0)
        lower = np.maximum(before - d, 0.0) / kinds
        self.continuation = lower + (1 - lower.sum()) / n
        totals = np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
        self.totals = totals
        different = np.diff(matrix.indptr).astype(np.float64)
        self.backoff = np.where(totals > 0, d * different / np.maximum(totals, 1.0), 1.0)

    def probabilities(
        self, before: npt.NDArray[np.int64], words: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """p(word | word before) for pairs of ids."""
        seen = np.asarray(self.pairs[before, words], dtype=np.float64).ravel()
        own = np.maximum(seen - self.discount, 0.0) / np.maximum(self.totals[before], 1.0)
        return np.asarray(own + self.backoff[before] * self.continuation[words])

    def row(self, before: int) -> npt.NDArray[np.float64]:
        """p(. | word before); (n,)."""
        values = np.asarray(self.backoff[before] * self.continuation)
        start, stop = self.pairs.indptr[before], self.pairs.indptr[before + 1]
        own = np.maximum(self.pairs.data[start:stop] - self.discount, 0.0)
        values[self.pairs.indices[start:stop]] += own / max(self.totals[before], 1.0)
        return values
