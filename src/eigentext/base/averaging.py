"""The mean of weights over all times of training, without adding them up at each time.

A change Delta that comes after t of the times counted is in the weights from then on, so over C
times in all

    mean of w  =  w - (sum over changes of t Delta) / C

and only weights that change need be touched.  The loops are the learners' own: they change
``weights`` and ``sums``, and say by t whether the weights before or after each step count.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from eigentext.base.types import Float64s

_BLOCK = 1 << 18  # rows


class Averaged(NamedTuple):
    """``weights`` as they are now, and ``sums`` of t Delta over all changes."""

    weights: npt.NDArray[Any]
    sums: Float64s

    @classmethod
    def zeros(cls, shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float32) -> Averaged:
        """Nothing learned; zeros take memory only once they are written to."""
        return cls(np.zeros(shape, dtype), np.zeros(shape))

    def doubled(self) -> Averaged:
        """With room for twice as many rows."""
        return Averaged(*(np.concatenate([part, np.zeros_like(part)]) for part in self))

    def first(self, n: int) -> Averaged:
        """The first rows alone."""
        return Averaged(*(part[:n] for part in self))

    def mean(self, time: int, *, last: bool = False) -> npt.NDArray[Any]:
        """The mean of the weights after so many times; ``last``: in the place of the weights.

        >>> learned = Averaged.zeros(1)
        >>> for time in range(4):  # 0, then three times 2
        ...     if time == 1:
        ...         learned.weights[0] += 2.0
        ...         learned.sums[0] += 2.0 * time
        >>> learned.mean(4).tolist()
        [1.5]
        """
        mean = self.weights if last else np.empty_like(self.weights)
        for at in range(0, len(mean), _BLOCK):  # by blocks, since tables are large
            block = slice(at, at + _BLOCK)
            mean[block] = self.weights[block] - self.sums[block] / max(time, 1)
        return mean
