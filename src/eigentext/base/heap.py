"""Memory that is free is given back: what one stage has let go, the next one should not count.

The C library keeps freed memory for later, hundreds of megabytes after arrays of many sizes, and
the process has it all the while.  So a command with a bound has large blocks returned when they
are freed, and gives back between stages what has come together of small ones.  That does something
where the C library is glibc, and nothing elsewhere.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

_MMAP_THRESHOLD = -3  # its name in glibc is M_MMAP_THRESHOLD
_LARGE = 1 << 20


def map_large_blocks() -> None:
    """From here on, every block of a megabyte or more is memory by itself.

    By itself glibc takes blocks of up to 32 MB from its heap, as soon as one so large was freed.

    >>> map_large_blocks()
    """
    _call("mallopt", _MMAP_THRESHOLD, _LARGE)


def give_back() -> None:
    """Return freed memory to the system; takes milliseconds.

    >>> give_back()
    """
    _call("malloc_trim", 0)


def _call(name: str, *numbers: int) -> None:
    try:
        function = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):  # another C library, or Windows
        return
    function(*numbers)


def read_mapped(array: npt.NDArray[Any], begin: int, end: int) -> npt.NDArray[Any]:
    """Items ``begin`` to ``end``; of a mapped file a copy, and its pages are given back.

    Pages of a map count as memory of the process for as long as they are there.
    """
    if not is_mapped(array):
        return array[begin:end]
    part = np.array(array[begin:end])
    if hasattr(mmap, "MADV_DONTNEED"):
        array._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]
    return part


def is_mapped(array: npt.NDArray[Any]) -> bool:
    """Is it a map of a file?  What numpy makes of one may have the class and be in memory."""
    return isinstance(array, np.memmap) and getattr(array, "_mmap", None) is not None
