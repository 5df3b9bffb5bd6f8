"""Counts of strings behind their hashes, as compiled loops look them up and a file keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from eigentext.base.types import Float32s, Int8s, Int64s, UInt32s, UInt64s
from eigentext.tagging.segmentation.kernels import tables as kernel
from eigentext.tagging.settings import SegmenterSettings


class HashedCounts(NamedTuple):
    """Distinct 32-bit keys in order with a small number each, and the table made of them."""

    keys: UInt32s
    values: npt.NDArray[Any]
    table_keys: UInt32s
    table_values: npt.NDArray[Any]

    @classmethod
    def of(cls, keys: UInt32s, values: npt.NDArray[Any]) -> HashedCounts:
        """Of distinct keys that rise."""
        size = 2
        while size < 2 * len(keys):
            size *= 2
        table_keys, table_values = np.zeros(size, np.uint32), np.zeros(size, values.dtype)
        kernel.fill(keys, values, table_keys, table_values)
        return cls(keys, values, table_keys, table_values)

    @property
    def table(self) -> tuple[Any, Any]:
        """What the loops take."""
        return self.table_keys, self.table_values


def shortened(keys: UInt64s) -> UInt32s:
    """Keys as tables keep them: their upper 32 bits, never 0 (``kernels.tables.short``)."""
    return np.maximum((keys >> np.uint64(32)).astype(np.uint32), np.uint32(1))


def quantised(weights: npt.NDArray[Any]) -> tuple[Int8s, float]:
    """Weights as whole numbers from -127 to 127, and what one of these is worth.

    >>> steps, unit = quantised(np.array([0.5, -1.0, 0.001]))
    >>> steps.tolist(), round(unit * 127, 3)
    ([64, -127, 0], 1.0)
    """
    largest = float(np.abs(weights).max(initial=0.0))
    unit = largest / 127 if largest else 1.0
    return np.round(weights / unit).astype(np.int8), unit


def started(
    settings: SegmenterSettings, n: int, bits: int = 0
) -> tuple[Float32s, Float32s, Iterator[Int64s]]:
    """Weights, their squares so far, and the order of n examples in each pass."""
    weights, squares = np.zeros((2, 1 << (bits or settings.bits)), np.float32)
    squares += 1.0
    chance = np.random.default_rng(settings.seed)
    return weights, squares, (chance.permutation(n) for _ in range(settings.epochs))
