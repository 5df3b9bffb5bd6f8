"""Keys of keys: the one home of all arithmetic that kernels make hashes with.

``mix``       a key with one more part in it; the parts of templates of words are mixed so.  Its
              plain twin is ``base.hashing.mixed``
``hash_more`` the same for numbered templates (``hash1`` to ``hash6``), whose twin over columns is
              ``features.sparse_rows.feature_numbers``; stronger, since their values are small
``mix_pair``  a key of two hashes of the lexical ranker
``slot_of``   the place of a key in a table of 2^(64 - shift) weights

A key of 0 means that there is none where a function says so (``mix_some``).
"""

import numpy as np

from eigentext.base import hashing
from eigentext.base.compiling import njit

_MIXER = np.uint64(hashing.MIXER)
_SPREAD = np.uint64(hashing.SPREAD)
_PAIR = np.uint64(0xBF58476D1CE4E5B9)
_S29, _S31, _S32 = np.uint64(29), np.uint64(31), np.uint64(32)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
EDGE = np.uint64(1)  # beyond the sentence, or beyond the children of a node


@njit(inline="always")
def mix(key, part):
    """A key with one more part: the order of parts counts."""
    key = (key ^ np.uint64(part)) * _MIXER  # an odd factor spreads bits upwards,
    return key ^ (key >> _S29)  # and a shift brings them down again


@njit
def mix_some(key, part):
    """The same, never 0."""
    key = mix(key, part)
    return key if key != _ZERO else _ONE


@njit(inline="always")
def mix_pair(left, right):
    """One key of two hashes, never 0; the order counts."""
    mixed = (left ^ (right * _MIXER + _ONE)) * _PAIR
    mixed ^= mixed >> _S29
    mixed *= _MIXER
    mixed ^= mixed >> _S32
    return mixed | _ONE  # so that 0 can mean none


@njit(inline="always")
def slot_of(key, shift):
    """The upper bits of a key, once all bits have had a say."""
    return np.int64((key * _MIXER) >> shift)


@njit(inline="always")
def slot_of_sum(total, shift):
    """The slot of a sum of keys, in any order."""
    return slot_of(total ^ (total >> _S31), shift)


@njit(inline="always")
def place_of_pair(feature, part, mask):
    """The place of a feature with a part in a table of mask + 1 weights."""
    key = (feature ^ part) * _MIXER
    return (key ^ (key >> _S32)) & mask


@njit(inline="always")
def number_of(key, slots, keys, n):
    """The number of a key among those numbered 0 to n - 1; a new one gets the number n."""
    # ``slots`` is an open-addressing table of a power of two, -1 where it is empty; ``keys`` has
    # the key of each number.
    mask = np.uint64(len(slots) - 1)
    at = key & mask
    while slots[at] >= 0 and keys[slots[at]] != key:  # linear probing: the table is half empty
        at = (at + _ONE) & mask
    if slots[at] < 0:  # a key that was not there yet
        slots[at] = n
        keys[n] = key
    return slots[at]


@njit(inline="always")
def hash_more(state, value):
    """A hash with one more value in it."""
    state = (state ^ (value + _MIXER)) * _SPREAD
    return state ^ (state >> _S29)


@njit(inline="always")
def begin(template):
    """The hash of a template before its first value."""
    return _MIXER * np.uint64(template + 1)


@njit
def hash1(template, a):
    """A feature of one value."""
    return hash_more(begin(template), a)


@njit
def hash2(template, a, b):
    """A feature of two values."""
    return hash_more(hash1(template, a), b)


@njit
def hash3(template, a, b, c):
    """A feature of three values."""
    return hash_more(hash2(template, a, b), c)


@njit
def hash4(template, a, b, c, d):
    """A feature of four values."""
    return hash_more(hash3(template, a, b, c), d)


@njit
def hash5(template, a, b, c, d, e):
    """A feature of five values."""
    return hash_more(hash4(template, a, b, c, d), e)


@njit
def hash6(template, a, b, c, d, e, f):
    """A feature of six values."""
    return hash_more(hash5(template, a, b, c, d, e), f)


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
