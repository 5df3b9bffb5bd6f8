"""Features as 64-bit hashes: a template's number, then the keys of what it looks at, in turn."""

from __future__ import annotations

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.hashing import MIXER

_MIXER = np.uint64(MIXER)
_SPREAD = np.uint64(0xFF51AFD7ED558CCD)
_SHIFT = np.uint64(29)
EDGE = np.uint64(1)  # beyond the sentence, or beyond the children of a node


@njit(inline="always")
def mix(state, value):
    """A hash with one more value in it."""
    state = (state ^ (value + _MIXER)) * _SPREAD
    return state ^ (state >> _SHIFT)


@njit(inline="always")
def begin(template):
    """The hash of a template before its first value."""
    return _MIXER * np.uint64(template + 1)


@njit
def hash1(template, a):
    """A feature of one value."""
    return mix(begin(template), a)


@njit
def hash2(template, a, b):
    """A feature of two values."""
    return mix(mix(begin(template), a), b)


@njit
def hash3(template, a, b, c):
    """A feature of three values."""
    return mix(mix(mix(begin(template), a), b), c)


@njit
def hash4(template, a, b, c, d):
    """A feature of four values."""
    return mix(mix(mix(mix(begin(template), a), b), c), d)


@njit
def hash5(template, a, b, c, d, e):
    """A feature of five values."""
    return mix(mix(mix(mix(mix(begin(template), a), b), c), d), e)


@njit
def bucket(n):
    """Lengths 0 to 5 as they are, then 6-7, 8-10, 11-15, 16-20, 21-30, 31 and more."""
    if n <= 5:
        return np.uint64(n)
    if n <= 7:
        return np.uint64(6)
    if n <= 10:
        return np.uint64(7)
    if n <= 15:
        return np.uint64(8)
    if n <= 20:
        return np.uint64(9)
    if n <= 30:
        return np.uint64(10)
    return np.uint64(11)


@njit
def hash6(template, a, b, c, d, e, f):
    """A feature of six values."""
    return mix(hash5(template, a, b, c, d, e), f)
