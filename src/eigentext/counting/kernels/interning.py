"""Compiled loops over bytes: words to ids.  Nothing is validated here.

1. ``intern_text``   bytes -> ids of word types (a hash table of exact byte strings), counted
2. ``intern_types``  types of one table -> ids in another: merging tables, or looking up
3. ``translate``     ids of one table -> ids of another

The hash table is open addressing over ``slots[:, 2]``: column 0 is the key, column 1 is
``length << 32 | id + 1`` (0 = empty).  A word of up to 7 bytes *is* its key, so equality of key
and length is equality of words; for longer words the key is a hash and the bytes are compared.
"""

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from eigentext.base import hashing
from eigentext.base.compiling import njit
from eigentext.base.types import Int64s, UInt8s, UInt64s

# What stands where in the state vector of intern_text.
POSITION, N_OUT, N_TYPES, LINE, IN_LINE, N_TOKENS, N_SENTENCES = range(7)

_HIGH = np.uint64(0x8080808080808080)
_BELOW_33 = np.uint64(0x2121212121212121)
_MULTIPLIER = np.uint64(hashing.MIXER)
_LOW_32 = np.uint64(0xFFFFFFFF)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)


class RawBytes(NamedTuple):
    """Bytes, and the same as the (unaligned) uint64 that begins at each of them."""

    raw: UInt8s
    words: UInt64s


class TableArrays(NamedTuple):
    """The arrays of a word table; see the module and ``TypeTable``."""

    slots: UInt64s  # (slots, 2)
    shift: int  # a key spread over all bits, shifted, is its slot
    hash_mask: np.uint64
    arena: UInt8s  # the bytes of all words end to end
    arena_words: UInt64s  # and as in :class:`RawBytes`
    offsets: Int64s  # word i is ``arena[offsets[i] : offsets[i + 1]]``
    counts: Int64s  # tokens of each word
    first_lines: Int64s  # the line where it came first


@intrinsic
def _trailing_zeros(typing_context, value):
    """Count trailing zero bits of a uint64 (one machine instruction)."""

    def codegen(context, builder, signature, arguments):
        from llvmlite import ir  # type: ignore[import-untyped]

        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), codegen


@njit(nogil=True, inline="always")
def _is_white(byte):
    return byte == 32 or (byte >= 9 and byte <= 13)


@njit(nogil=True, inline="always")
def _mix(value, word):
    value = (value ^ word) * _MULTIPLIER
    return value ^ (value >> np.uint64(29))


@njit(nogil=True)
def _same_bytes(words_a, start_a, words_b, start_b, length):
    """Compare two byte strings, eight bytes at a time (both arrays can be read 8 bytes beyond)."""
    full = length & ~7
    for at in range(0, full, 8):
        if words_a[start_a + at] != words_b[start_b + at]:
            return False
    tail = length - full
    if tail == 0:
        return True
    mask = (_ONE << np.uint64(8 * tail)) - _ONE
    return (words_a[start_a + full] & mask) == (words_b[start_b + full] & mask)


@njit(nogil=True)
def _hash_long(words, start, length):
    """Hash of a word of eight bytes or more; must agree with the loop in intern_text."""
    value = _ZERO
    full = length & ~7
    for at in range(0, full, 8):
        value = _mix(value, words[start + at])
    tail = length - full
    if tail > 0:
        value = _mix(value, words[start + full] & ((_ONE << np.uint64(8 * tail)) - _ONE))
    return value


@njit(nogil=True)
def intern_text(text, end, table, out, state):
    """Turn bytes ``state[POSITION]`` to ``end`` into ids; False when the table must grow first.

    The text must end in white space at ``end - 1``.  A sentence end is -1 in ``out``; blank lines
    only count as lines.
    """
    raw, words = text
    slots, shift, hash_mask, arena, arena_words, offsets, counts, first_lines = table
    position = state[POSITION]
    n_out = state[N_OUT]
    n_types = state[N_TYPES]
    line = state[LINE]
    in_line = state[IN_LINE]
    n_tokens = state[N_TOKENS]
    n_sentences = state[N_SENTENCES]
    shift_bits = np.uint64(shift)
    last_slot = slots.shape[0] - 1
    done = True
    while position < end:
        start = position
        word = words[position]
        # The high bit of each byte below 33, of which the lowest is exact: eight bytes at a time.
        low = (word - _BELOW_33) & ~word & _HIGH
        plain = True
        if low != _ZERO:
            bits = _trailing_zeros(low) & ~np.uint64(7)
            separator = (word >> bits) & np.uint64(255)  # the byte that ends the word
            length = np.int64(bits >> np.uint64(3))
            key = word & ((_ONE << bits) - _ONE)  # the word itself
            plain = _is_white(separator)
        else:  # eight bytes or more: the key is a hash of all of them
            key = _ZERO
            while True:
                key = _mix(key, word)
                position += 8
                word = words[position]
                low = (word - _BELOW_33) & ~word & _HIGH
                if low != _ZERO:
                    break
            bits = _trailing_zeros(low) & ~np.uint64(7)
            separator = (word >> bits) & np.uint64(255)
            length = position - start + np.int64(bits >> np.uint64(3))
            if bits != _ZERO:
                key = _mix(key, word & ((_ONE << bits) - _ONE))
            plain = _is_white(separator)
        if not plain:  # a control character inside a word: go byte by byte
            length = 0
            while not _is_white(raw[start + length]):
                length += 1
            separator = np.uint64(raw[start + length])
            if length < 8:
                key = words[start] & ((_ONE << np.uint64(8 * length)) - _ONE)
            else:
                key = _hash_long(words, start, length)
        if length > 0:
            if length >= 8:
                key &= hash_mask
            slot = np.int64(((key * _MULTIPLIER) & hash_mask) >> shift_bits)
            size = np.uint64(length) << np.uint64(32)  # compared with the key: length << 32
            # linear probing, to the word itself or to an empty slot, where it is added
            while True:
                tag = slots[slot, 1]
                if tag == _ZERO:
                    used = offsets[n_types]  # where the next word is put
                    if n_types == counts.shape[0] or used + length + 8 > arena.shape[0]:
                        done = False
                        break
                    identity = n_types
                    for at in range(length):
                        arena[used + at] = raw[start + at]
                    offsets[n_types + 1] = used + length
                    first_lines[n_types] = line
                    counts[n_types] = 0
                    slots[slot, 0] = key  # a new type
                    slots[slot, 1] = size | np.uint64(identity + 1)
                    n_types += 1
                    break
                if slots[slot, 0] == key and (tag & ~_LOW_32) == size:
                    identity = np.int64(tag & _LOW_32) - 1
                    if length < 8 or _same_bytes(
                        words, start, arena_words, offsets[identity], length
                    ):
                        break
                slot = (slot + 1) & last_slot
            if not done:
                position = start
                break
            counts[identity] += 1  # a token of this type
            out[n_out] = identity
            n_out += 1
            n_tokens += 1
            in_line = 1
        position = start + length + 1
        if separator == 10:
            line += 1
            if in_line == 1:
                out[n_out] = -1  # the sentence ends
                n_out += 1
                n_sentences += 1
                in_line = 0
    state[POSITION] = position
    state[N_OUT] = n_out
    state[N_TYPES] = n_types
    state[LINE] = line
    state[IN_LINE] = in_line
    state[N_TOKENS] = n_tokens
    state[N_SENTENCES] = n_sentences
    return done


@njit(nogil=True)
def intern_types(types, type_offsets, first, table, n_types, add, part, n_parts, mapping):
    """Look up types from number ``first`` on; returns (how far, table size).

    Type i is ``types.raw[type_offsets[i] : type_offsets[i + 1]]``.  ``mapping[i]`` becomes its id
    in the table, or -1 when the type is not there and ``add`` is false, or when its hash belongs
    to another of the ``n_parts`` parts.
    """
    raw, words = types
    slots, shift, hash_mask, arena, arena_words, offsets, _, _ = table
    shift_bits = np.uint64(shift)
    last_slot = slots.shape[0] - 1
    n_looked_up = type_offsets.shape[0] - 1
    for number in range(first, n_looked_up):
        start = type_offsets[number]
        length = type_offsets[number + 1] - start
        if length < 8:
            key = words[start] & ((_ONE << np.uint64(8 * length)) - _ONE)
        else:
            key = _hash_long(words, start, length) & hash_mask
        spread = (key * _MULTIPLIER) & hash_mask  # all bits depend on all bytes
        # another half of the hash than the slots: a part fills its table evenly
        if (
            n_parts > 1
            and np.int64((spread ^ (spread >> np.uint64(32))) & _LOW_32) % n_parts != part
        ):
            mapping[number] = -1
            continue
        slot = np.int64(spread >> shift_bits)
        size = np.uint64(length) << np.uint64(32)
        while True:
            tag = slots[slot, 1]
            if tag == _ZERO:
                if not add:
                    mapping[number] = -1
                    break
                used = offsets[n_types]
                if n_types == offsets.shape[0] - 1 or used + length + 8 > arena.shape[0]:
                    return number, n_types
                for at in range(length):
                    arena[used + at] = raw[start + at]
                offsets[n_types + 1] = used + length
                slots[slot, 0] = key
                slots[slot, 1] = size | np.uint64(n_types + 1)
                mapping[number] = n_types
                n_types += 1
                break
            if slots[slot, 0] == key and (tag & ~_LOW_32) == size:
                identity = np.int64(tag & _LOW_32) - 1
                if length < 8 or _same_bytes(words, start, arena_words, offsets[identity], length):
                    mapping[number] = identity
                    break
            slot = (slot + 1) & last_slot
    return n_looked_up, n_types


@njit(nogil=True)
def rehash(old, new, shift, hash_mask):
    """Move all entries of one slot array to a larger one (their keys are kept with them)."""
    shift_bits = np.uint64(shift)
    last_slot = new.shape[0] - 1
    for i in range(old.shape[0]):
        if old[i, 1] != _ZERO:
            slot = np.int64(((old[i, 0] * _MULTIPLIER) & hash_mask) >> shift_bits)
            while new[slot, 1] != _ZERO:
                slot = (slot + 1) & last_slot
            new[slot, 0] = old[i, 0]
            new[slot, 1] = old[i, 1]


@njit(nogil=True)
def gather_types(blob, offsets, order, gap, out, out_offsets):
    """Copy the chosen types one after the other, with a gap of some bytes after each."""
    used = 0
    for i in range(order.shape[0]):
        start = offsets[order[i]]
        length = offsets[order[i] + 1] - start
        for at in range(length):
            out[used + at] = blob[start + at]
        used += length + gap
        out_offsets[i + 1] = used


@njit(nogil=True)
def prefixes(blob, offsets, chosen, skip, out):
    """Bytes ``skip`` to ``skip + 8`` of the chosen types as big-endian numbers, zero-padded."""
    for i in range(chosen.shape[0]):
        value = _ZERO
        start = offsets[chosen[i]] + skip
        end = min(start + 8, offsets[chosen[i] + 1])
        for at in range(start, start + 8):
            value <<= np.uint64(8)
            if at < end:
                value |= np.uint64(blob[at])
        out[i] = value


@njit(nogil=True)
def translate(ids, mapping, out):
    """``out[i] = mapping[ids[i]]``; the sentence end -1 stays."""
    for i in range(ids.shape[0]):
        out[i] = -1 if ids[i] < 0 else mapping[ids[i]]
