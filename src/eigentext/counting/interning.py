"""A table of distinct words that grows: bytes in, ids out, in order of first appearance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eigentext.base.ragged import pointers

if TYPE_CHECKING:
    from eigentext.base.types import Int32s, Int64s, Numbers, UInt8s, UInt64s
    from eigentext.counting.kernels.interning import TableArrays

PAD = 16  # bytes that the kernels may read beyond the end of a text


def every_byte(buffer: UInt8s) -> UInt64s:
    """The buffer as the 8-byte numbers that begin at each of its bytes (a view)."""
    return np.ndarray((len(buffer) - 8,), np.uint64, buffer.data, 0, (1,))


@dataclass(frozen=True)
class Types:
    """Distinct words: number i is ``blob[offsets[i]:offsets[i + 1]]`` seen counts[i] times."""

    blob: UInt8s  # with PAD bytes more than the words need
    offsets: Int64s
    counts: Int64s

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self.blob.nbytes + self.offsets.nbytes + self.counts.nbytes

    def word(self, number: int) -> bytes:
        """The bytes of one word."""
        return self.blob[self.offsets[number] : self.offsets[number + 1]].tobytes()

    def take(self, order: Int64s) -> Types:
        """The chosen words, in that order."""
        from eigentext.counting.kernels import interning as kernels

        sizes = self.offsets[order + 1] - self.offsets[order]
        blob = np.zeros(int(sizes.sum()) + PAD, dtype=np.uint8)
        offsets = np.zeros(len(order) + 1, dtype=np.int64)
        kernels.gather_types(self.blob, self.offsets, order, 0, blob, offsets)
        return Types(blob, offsets, self.counts[order])

    def decoded(self) -> list[str]:
        """All words as strings."""
        from eigentext.counting.kernels import interning as kernels

        # no word holds a line feed, so one decode and one split give them all
        text = np.full(int(self.offsets[-1]) + len(self), ord("\n"), dtype=np.uint8)
        unused = np.empty(len(self) + 1, dtype=np.int64)
        kernels.gather_types(self.blob, self.offsets, np.arange(len(self)), 1, text, unused)
        return text.tobytes().decode().split("\n")[:-1]

    @classmethod
    def from_words(cls, words: list[bytes]) -> Types:
        """A table of the given words, each with count 0."""
        # bytearray: a read-only array would be a second signature for every kernel
        blob = np.frombuffer(bytearray(b"".join(words) + bytes(PAD)), dtype=np.uint8)
        return cls(blob, pointers(map(len, words)), np.zeros(len(words), dtype=np.int64))


class TypeTable:
    """Words to ids.  ``hash_mask`` weakens the hash, so that tests can force collisions."""

    def __init__(self, capacity: int = 1 << 14, hash_mask: int = 2**64 - 1) -> None:
        bits = max(4, (max(capacity, 1) - 1).bit_length())
        self._hash_mask = np.uint64(hash_mask)
        self._shift = 63 - bits  # twice as many slots as words
        self._slots = np.zeros((2 << bits, 2), dtype=np.uint64)
        self._offsets = np.zeros((1 << bits) + 1, dtype=np.int64)
        self._counts = np.zeros(1 << bits, dtype=np.int64)
        self._first_lines = np.zeros(1 << bits, dtype=np.int64)
        self._arena = np.zeros((8 << bits) + PAD, dtype=np.uint8)
        self.state = np.zeros(7, dtype=np.int64)

    def __len__(self) -> int:
        from eigentext.counting.kernels.interning import N_TYPES

        return int(self.state[N_TYPES])

    @property
    def word_bytes(self) -> int:
        """The length of all words together."""
        return int(self._offsets[len(self)])

    @property
    def types(self) -> Types:
        """A copy of the words and counts, without spare room."""
        n = len(self)
        used = int(self._offsets[n])
        blob = np.zeros(used + PAD, dtype=np.uint8)
        blob[:used] = self._arena[:used]
        return Types(blob, self._offsets[: n + 1].copy(), self._counts[:n].copy())

    @property
    def first_lines(self) -> Int64s:
        """Line number of the first occurrence of each word, counted from 0."""
        return self._first_lines[: len(self)]

    def intern(self, text: UInt8s, begin: int, end: int, out: Int32s) -> int:
        """Ids of the tokens in ``text[begin:end]`` into ``out``; returns how many.

        ``text[end - 1]`` is white space, ``text`` has PAD bytes after ``end``, and ``out`` has
        room for ``end - begin`` ids.
        """
        from eigentext.counting.kernels import interning as kernels

        self.state[kernels.POSITION] = begin
        self.state[kernels.N_OUT] = 0
        raw = kernels.RawBytes(text, every_byte(text))
        while not kernels.intern_text(raw, end, self._arrays(), out, self.state):
            self._grow()
        return int(self.state[kernels.N_OUT])

    def intern_types(self, types: Types, part: int = 0, n_parts: int = 1) -> Int32s:
        """Add words and their counts, give their ids; only those whose hash is of this part."""
        mapping = self._look_up(types, True, part, n_parts)
        chosen = mapping >= 0
        self._counts[mapping[chosen]] += types.counts[chosen]  # the words of a table are distinct
        return mapping

    def find(self, types: Types) -> Int32s:
        """The id of each word, -1 for words that are not in the table."""
        return self._look_up(types, False, 0, 1)

    def _look_up(self, types: Types, add: bool, part: int, n_parts: int) -> Int32s:
        from eigentext.counting.kernels import interning as kernels

        mapping = np.empty(len(types), dtype=np.int32)
        raw = kernels.RawBytes(types.blob, every_byte(types.blob))
        at = 0
        while True:
            at, n_types = kernels.intern_types(
                raw, types.offsets, at, self._arrays(), len(self), add, part, n_parts, mapping
            )
            self.state[kernels.N_TYPES] = n_types
            if at == len(types):
                return mapping
            self._grow()

    def _arrays(self) -> TableArrays:
        from eigentext.counting.kernels.interning import TableArrays

        return TableArrays(
            self._slots,
            self._shift,
            self._hash_mask,
            self._arena,
            every_byte(self._arena),
            self._offsets,
            self._counts,
            self._first_lines,
        )

    def _grow(self) -> None:
        """Make room for twice as many words, or for twice as many bytes, whichever ran out."""
        from eigentext.counting.kernels import interning as kernels

        if len(self) == len(self._counts):
            self._shift -= 1
            slots = np.zeros((2 * len(self._slots), 2), dtype=np.uint64)
            kernels.rehash(self._slots, slots, self._shift, self._hash_mask)
            self._slots = slots
            self._counts = _doubled(self._counts)
            self._first_lines = _doubled(self._first_lines)
            self._offsets = _doubled(self._offsets, extra=-1)
        else:
            self._arena = _doubled(self._arena)


def _doubled(array: Numbers, extra: int = 0) -> Numbers:
    larger = np.zeros(2 * len(array) + extra, dtype=array.dtype)
    larger[: len(array)] = array
    return larger
