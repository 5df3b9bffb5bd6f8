"""Rows of different lengths in one array: row i of ``values`` is ``values[ptr[i]:ptr[i + 1]]``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from eigentext.base.types import Int64s


def pointers(lengths: Iterable[int] | npt.NDArray[Any]) -> Int64s:
    """Where each row begins, and after the last one where it ends.

    >>> pointers([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    if not isinstance(lengths, np.ndarray):
        lengths = np.fromiter(lengths, np.int64)
    ptr = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=ptr[1:])
    return ptr
