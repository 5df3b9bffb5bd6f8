"""Tables of weights as whole numbers: exact sums in half the memory, and small files.

A step of learning is at most ``clip`` long, and most weights of the mean are a few such steps or
next to nothing.  So w becomes the whole number round(w / scale), scale a part of ``clip``, or less
where all weights are small; sums of whole numbers are exact in any order.  In a file the table is
packed by zlib, lower bytes before upper ones: most upper bytes are the same, and runs of zeros
cost next to nothing.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from eigentext.base.types import Int16s, UInt8s

_MOST = (1 << 15) - 1
_BLOCK = 1 << 18


def unit_of(weights: npt.NDArray[Any], most: float) -> float:
    """What 1 is worth: ``most``, or less, so that the largest weight is at least 63.

    >>> unit_of(np.array([0.1, -1.26]), 0.5), unit_of(np.array([0.1, -1.26]), 0.01)
    (0.02, 0.01)
    """
    top = max(float(weights.max(initial=0.0)), -float(weights.min(initial=0.0)))
    return min(most, top / 63) if top > 0 else most


def rounded(weights: npt.NDArray[Any], scale: float) -> Int16s:
    """Weights as whole numbers of this size.

    >>> rounded(np.array([0.5, -1.0, 0.001]), 0.01).tolist()
    [50, -100, 0]
    """
    whole = np.empty(weights.shape, np.int16)
    for at in range(0, len(whole), _BLOCK):  # by blocks, since tables are large
        block = slice(at, at + _BLOCK)
        whole[block] = np.clip(np.rint(weights[block] / scale), -_MOST, _MOST)
    return whole


def packed(weights: Int16s) -> UInt8s:
    """Bytes for a file."""
    pairs = weights.astype("<i2").view(np.uint8).reshape(-1, 2)
    return np.frombuffer(zlib.compress(pairs.T.tobytes(), 9), np.uint8)


def unpacked(raw: UInt8s, size: int) -> Int16s:
    """The other way; ValueError if it is not a table of so many weights.

    >>> unpacked(packed(np.array([3, 0, -1000], np.int16)), 3).tolist()
    [3, 0, -1000]
    """
    reader = zlib.decompressobj()
    weights = np.empty(size, "<i2")
    halves = weights.view(np.uint8).reshape(size, 2)
    rest = raw.tobytes()
    try:
        for column in range(2):  # lower bytes, upper bytes
            half = b""
            if size:  # no more than 0 bytes would mean any number of them
                half, rest = reader.decompress(rest, size), reader.unconsumed_tail
            if len(half) != size:
                raise ValueError(f"packed weights are not {size}")
            halves[:, column] = np.frombuffer(half, np.uint8)
        more = reader.decompress(rest, 1)
    except zlib.error as error:
        raise ValueError(f"weights cannot be unpacked: {error}") from None
    if more or not reader.eof or reader.unused_data:
        raise ValueError(f"packed weights are not {size}")
    return weights.astype(np.int16, copy=False)
