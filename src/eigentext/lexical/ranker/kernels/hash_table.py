"""Counts of keys in one open table; arrays and scalars only.

A key is the upper 40 bits of a hash; an entry is a key and, in the lower 24 bits, its count; zero
is an empty slot.  With ten million keys one in 100,000 never counted is taken for another.
"""

from __future__ import annotations

import numpy as np

from eigentext.base.compiling import njit

_S24 = np.uint64(24)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_COUNT = np.uint64(0xFFFFFF)


@njit(inline="always")
def slot_shift(slots):
    """How far a key is shifted down to its slot: slots are in the order of keys."""
    shift = 40
    size = len(slots)
    while size > 1:
        size >>= 1
        shift -= 1
    return np.uint64(shift)


@njit
def add(slots, shift, key, amount):
    """Add to a key's count, which stops at 2^24 - 1; 1 if the key is new."""
    # linear probing; the table is at most three quarters full, so runs are short
    mask = np.uint64(len(slots) - 1)
    slot = key >> shift
    while slots[slot] != _ZERO:
        if slots[slot] >> _S24 == key:
            count = min((slots[slot] & _COUNT) + np.uint64(amount), _COUNT)
            slots[slot] = (key << _S24) | count  # key above, count below
            return 0
        slot = (slot + _ONE) & mask  # the next one: slots stay in the order of keys, nearly
    slots[slot] = (key << _S24) | min(np.uint64(amount), _COUNT)
    return 1


@njit(inline="always")
def probe(slots, slot, entry, key):
    """The count of a key whose first slot holds ``entry``."""
    mask = np.uint64(len(slots) - 1)
    while entry != _ZERO:
        if entry >> _S24 == key:
            return np.int64(entry & _COUNT)
        slot = (slot + _ONE) & mask
        entry = slots[slot]
    return 0


@njit
def get(slots, shift, key):
    """A key's count."""
    slot = key >> shift
    return probe(slots, slot, slots[slot], key)


@njit
def moved(slots, larger):
    """Put every count into a larger table; its first key comes first."""
    shift = slot_shift(larger)
    for slot in range(len(slots)):
        if slots[slot] != _ZERO:
            add(larger, shift, slots[slot] >> _S24, np.int64(slots[slot] & _COUNT))


@njit
def _write(out, at, number):
    """Seven bits a byte, the lowest first; the position after them."""
    while number >= 128:
        out[at] = (number & 127) | 128
        number >>= 7
        at += 1
    out[at] = number
    return at + 1


@njit
def pack(keys, counts, out):
    """Sorted keys as gaps, counts of up to 3 in the same bytes; how many, at most 10 a key."""
    at = 0
    before = np.uint64(0)
    # two bits of the gap's number hold the count less 1; 3 there says that the rest follows
    for i in range(len(keys)):
        gap = np.int64(keys[i] - before)  # keys rise, so gaps are small
        before = keys[i]
        at = _write(out, at, (gap << 2) | min(counts[i], 4) - 1)
        if counts[i] >= 4:
            at = _write(out, at, np.int64(counts[i] - 4))
    return at


@njit
def unpack(packed, slots):
    """What :func:`pack` wrote, as slots; False if it is not all of them and no more."""
    at = 0
    key = np.uint64(0)
    for i in range(len(slots)):
        count = np.int64(0)
        for part in range(2):
            number, shift, more = np.int64(0), 0, True
            while more:
                if at == len(packed) or shift > 49:
                    return False
                number |= np.int64(packed[at] & 127) << shift
                more = packed[at] >= 128
                shift += 7
                at += 1
            if part == 1:
                count += number
                break
            key += np.uint64(number >> 2)  # the gap; its last two bits hold the count less 1
            count = (number & 3) + 1
            if count < 4:
                break
        if key >= np.uint64(1 << 40) or count >= 1 << 24:
            return False
        slots[i] = (key << np.uint64(24)) | np.uint64(count)
    return at == len(packed)
