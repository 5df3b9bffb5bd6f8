"""Weights as bytes: a quarter of the room, and nearer to the processor."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from eigentext.base.types import Int8s

_STEPS = 127  # of a byte on either side of 0
_CUT = 1e-5  # share of weights that may be brought nearer to 0


class ByteWeights(NamedTuple):
    """``table`` (2 ** bits,) int8, times ``scale``."""

    table: Int8s
    scale: float

    @classmethod
    def rounded(cls, weights: npt.NDArray[np.floating]) -> ByteWeights:
        """The nearest bytes; the few largest weights are cut.

        >>> ByteWeights.rounded(np.array([0.0, -1.27, 0.5])).table.tolist()
        [0, -127, 50]
        """
        sizes = np.abs(weights[weights != 0])
        top = float(np.quantile(sizes, 1 - _CUT, method="higher")) if len(sizes) else 1.0
        scale = max(top, 1e-30) / _STEPS
        table = np.clip(np.rint(weights / scale), -_STEPS, _STEPS)
        return cls(table.astype(np.int8), scale)
