"""Compiled loops over bytes and ids.  Arrays and scalars only; nothing is validated here.

1. ``intern_text``   bytes -> ids of word types (a hash table of exact byte strings), counted
2. ``intern_types``  types of one table -> ids in another: merging tables, or looking up
3. ``translate``     ids of one table -> ids of another
4. ``count_ids``, ``fill_buckets``, ``sum_buckets``, ``buckets_to_rows``
                     ids -> one sorted CSR matrix of pair counts, by a dense accumulator per column
5. ``merge_rows``    two sorted CSR row blocks -> their sum

The hash table is open addressing over ``slots[:, 2]``: column 0 is the key, column 1 is
``length << 32 | id + 1`` (0 = empty).  A word of up to 7 bytes *is* its key, so equality of key
and length is equality of words; for longer words the key is a hash and the bytes are compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from eigentext.base import hashing

# Places in the state vector of intern_text.
POSITION, N_OUT, N_TYPES, LINE, IN_LINE, N_TOKENS, N_SENTENCES = range(7)

_HIGH = np.uint64(0x8080808080808080)
_BELOW_33 = np.uint64(0x2121212121212121)
_MULTIPLIER = np.uint64(hashing.MIXER)
_LOW_32 = np.uint64(0xFFFFFFFF)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)


def _type_trailing_zeros(typing_context: Any, value: Any) -> Any:
    """Count trailing zero bits of a uint64 (one machine instruction)."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir  # type: ignore[import-untyped]

        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), codegen


_trailing_zeros: Any = intrinsic(_type_trailing_zeros)


@njit(cache=True, nogil=True, inline="always")
def _is_white(byte: int) -> bool:
    return byte == 32 or (byte >= 9 and byte <= 13)


@njit(cache=True, nogil=True, inline="always")
def _mix(value: Any, word: Any) -> Any:
    value = (value ^ word) * _MULTIPLIER
    return value ^ (value >> np.uint64(29))


@njit(cache=True, nogil=True)
def _same_bytes(words_a: Any, start_a: int, words_b: Any, start_b: int, length: Any) -> bool:
    """Compare two byte strings, eight bytes at a time (both arrays can be read 8 bytes beyond)."""
    full = length & ~7
    for at in range(0, full, 8):
        if words_a[start_a + at] != words_b[start_b + at]:
            return False
    tail = length - full
    if tail == 0:
        return True
    mask = (_ONE << np.uint64(8 * tail)) - _ONE
    return bool((words_a[start_a + full] & mask) == (words_b[start_b + full] & mask))


@njit(cache=True, nogil=True)
def _hash_long(words: Any, start: int, length: Any) -> Any:
    """Hash of a word of eight bytes or more; must agree with the loop in intern_text."""
    value = _ZERO
    full = length & ~7
    for at in range(0, full, 8):
        value = _mix(value, words[start + at])
    tail = length - full
    if tail > 0:
        value = _mix(value, words[start + full] & ((_ONE << np.uint64(8 * tail)) - _ONE))
    return value


@njit(cache=True, nogil=True)
def intern_text(
    text: Any,
    words: Any,
    end: int,
    slots: Any,
    shift: int,
    hash_mask: Any,
    arena: Any,
    arena_words: Any,
    offsets: Any,
    counts: Any,
    first_lines: Any,
    out: Any,
    state: Any,
) -> bool:
    """Turn ``text[state[POSITION]:end]`` into ids; False when the table must grow first.

    ``words`` is ``text`` seen as unaligned uint64 at every byte; the text must end in white space
    at ``end - 1``.  A sentence end is -1 in ``out``; blank lines only count as lines.
    """
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
        found = (word - _BELOW_33) & ~word & _HIGH
        plain = True
        if found != _ZERO:
            bits = _trailing_zeros(found) & ~np.uint64(7)
            separator = (word >> bits) & np.uint64(255)
            length: Any = np.int64(bits >> np.uint64(3))
            key = word & ((_ONE << bits) - _ONE)
            plain = _is_white(separator)
        else:
            key = _ZERO
            while True:
                key = _mix(key, word)
                position += 8
                word = words[position]
                found = (word - _BELOW_33) & ~word & _HIGH
                if found != _ZERO:
                    break
            bits = _trailing_zeros(found) & ~np.uint64(7)
            separator = (word >> bits) & np.uint64(255)
            length = position - start + np.int64(bits >> np.uint64(3))
            if bits != _ZERO:
                key = _mix(key, word & ((_ONE << bits) - _ONE))
            plain = _is_white(separator)
        if not plain:  # a control character inside a word: go byte by byte
            length = 0
            while not _is_white(text[start + length]):
                length += 1
            separator = np.uint64(text[start + length])
            if length < 8:
                key = words[start] & ((_ONE << np.uint64(8 * length)) - _ONE)
            else:
                key = _hash_long(words, start, length)
        if length > 0:
            if length >= 8:
                key &= hash_mask
            slot = np.int64(((key * _MULTIPLIER) & hash_mask) >> shift_bits)
            size = np.uint64(length) << np.uint64(32)
            while True:
                tag = slots[slot, 1]
                if tag == _ZERO:
                    used = offsets[n_types]
                    if n_types == counts.shape[0] or used + length + 8 > arena.shape[0]:
                        done = False
                        break
                    identity = n_types
                    for at in range(length):
                        arena[used + at] = text[start + at]
                    offsets[n_types + 1] = used + length
                    first_lines[n_types] = line
                    counts[n_types] = 0
                    slots[slot, 0] = key
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
            counts[identity] += 1
            out[n_out] = identity
            n_out += 1
            n_tokens += 1
            in_line = 1
        position = start + length + 1
        if separator == 10:
            line += 1
            if in_line == 1:
                out[n_out] = -1
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


@njit(cache=True, nogil=True)
def intern_types(
    blob: Any,
    words: Any,
    type_offsets: Any,
    first: int,
    part: int,
    n_parts: int,
    slots: Any,
    shift: int,
    hash_mask: Any,
    arena: Any,
    arena_words: Any,
    offsets: Any,
    n_types: int,
    add: bool,
    mapping: Any,
) -> tuple[int, int]:
    """Look up the types of ``blob`` from number ``first`` on; returns (how far, table size).

    ``mapping[i]`` becomes the id in the table, or -1 when the type is not there and ``add`` is
    false, or when its hash belongs to another of the ``n_parts`` parts.
    """
    shift_bits = np.uint64(shift)
    last_slot = slots.shape[0] - 1
    n_given = type_offsets.shape[0] - 1
    for number in range(first, n_given):
        start = type_offsets[number]
        length = type_offsets[number + 1] - start
        if length < 8:
            key = words[start] & ((_ONE << np.uint64(8 * length)) - _ONE)
        else:
            key = _hash_long(words, start, length) & hash_mask
        spread = (key * _MULTIPLIER) & hash_mask
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
                    arena[used + at] = blob[start + at]
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
    return n_given, n_types


@njit(cache=True, nogil=True)
def rehash(old: Any, new: Any, shift: int, hash_mask: Any) -> None:
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


@njit(cache=True, nogil=True)
def gather_types(
    blob: Any, offsets: Any, order: Any, gap: int, out: Any, out_offsets: Any
) -> None:
    """Copy the chosen types one after the other, with a gap of some bytes after each."""
    used = 0
    for i in range(order.shape[0]):
        start = offsets[order[i]]
        length = offsets[order[i] + 1] - start
        for at in range(length):
            out[used + at] = blob[start + at]
        used += length + gap
        out_offsets[i + 1] = used


@njit(cache=True, nogil=True)
def prefixes(blob: Any, offsets: Any, chosen: Any, skip: int, out: Any) -> None:
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


@njit(cache=True, nogil=True)
def translate(ids: Any, mapping: Any, out: Any) -> None:
    """``out[i] = mapping[ids[i]]``; the sentence end -1 stays."""
    for i in range(ids.shape[0]):
        out[i] = -1 if ids[i] < 0 else mapping[ids[i]]


@njit(cache=True, nogil=True)
def count_ids(ids: Any, begin: int, end: int, sizes: Any) -> None:
    """How often each id occurs from ``begin`` to ``end``: added to ``sizes``."""
    for i in range(begin, end):
        if ids[i] >= 0:
            sizes[ids[i]] += 1


@njit(cache=True, nogil=True)
def fill_buckets(
    ids: Any, begin: int, end: int, nearest: int, farthest: int, ends: Any, bucket: Any
) -> None:
    """Put the left word of each pair into the bucket of its right word.

    A pair is (ids[i - d], ids[i]) with begin <= i < end, nearest <= d <= farthest, and no sentence
    end between them.  ``ends[c]`` is where bucket c begins; it moves to where the bucket ends.
    """
    for i in range(begin, end):
        if ids[i] >= 0:
            for distance in range(1, min(farthest, i) + 1):
                left = ids[i - distance]
                if left < 0:
                    break
                if distance >= nearest:
                    at = ends[ids[i]]
                    bucket[at] = left
                    ends[ids[i]] = at + 1


@njit(cache=True, nogil=True)
def sum_buckets(bucket: Any, starts: Any, ends: Any, dense: Any, sums: Any, row_sizes: Any) -> int:
    """Reduce each bucket to its distinct rows, in place, with how often each occurs in ``sums``.

    The buckets are closed up: afterwards ``ends[c]`` is where column c ends, and column c + 1
    begins.  ``row_sizes[r + 1]`` is the number of distinct columns of row r.  ``dense`` is all
    zero before and after.
    """
    used = 0
    for column in range(starts.shape[0]):
        begin = used
        for at in range(starts[column], ends[column]):
            row = bucket[at]
            bucket[used] = row  # used <= at, so nothing unread is overwritten
            used += dense[row] == 0
            dense[row] += 1
        for at in range(begin, used):
            row = bucket[at]
            sums[at] = dense[row]
            dense[row] = 0
            row_sizes[row + 1] += 1
        ends[column] = used
    return used


@njit(cache=True, nogil=True)
def buckets_to_rows(rows: Any, sums: Any, ends: Any, cursor: Any, indices: Any, data: Any) -> None:
    """Transpose columns of (row, sum) into rows whose columns come out in ascending order."""
    begin = 0
    for column in range(ends.shape[0]):
        for at in range(begin, ends[column]):
            place = cursor[rows[at]]
            indices[place] = column
            data[place] = sums[at]
            cursor[rows[at]] = place + 1
        begin = ends[column]


@njit(cache=True, nogil=True)
def merge_rows(
    starts_a: Any,
    columns_a: Any,
    data_a: Any,
    starts_b: Any,
    columns_b: Any,
    data_b: Any,
    starts: Any,
    columns: Any,
    data: Any,
) -> int:
    """Sum of two blocks of sorted CSR rows; returns the number of entries written."""
    used = 0
    starts[0] = 0
    for row in range(starts_a.shape[0] - 1):
        a = starts_a[row] - starts_a[0]
        b = starts_b[row] - starts_b[0]
        end_a = starts_a[row + 1] - starts_a[0]
        end_b = starts_b[row + 1] - starts_b[0]
        while a < end_a or b < end_b:
            from_a = b == end_b or (a < end_a and columns_a[a] <= columns_b[b])
            from_b = a == end_a or (b < end_b and columns_b[b] <= columns_a[a])
            columns[used] = columns_a[a] if from_a else columns_b[b]
            value = np.int64(0)
            if from_a:
                value += data_a[a]
                a += 1
            if from_b:
                value += data_b[b]
                b += 1
            data[used] = value
            used += 1
        starts[row + 1] = used
    return used
