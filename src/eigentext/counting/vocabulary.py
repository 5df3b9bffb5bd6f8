"""Words and their ids: the id is the rank by count (largest first), then by UTF-8 bytes.

One last id is for ``<unk>``, which stands for every word that is not in the vocabulary (and for a
literal ``<unk>`` in the text).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eigentext.base.engines import Engine, LocalEngine
from eigentext.base.ragged import pointers
from eigentext.base.types import Bools, Int32s, Int64s, UInt64s
from eigentext.counting.interning import PAD, Types, TypeTable
from eigentext.errors import SettingsError

UNKNOWN = "<unk>"
_UNKNOWN_NUMBER = int.from_bytes(UNKNOWN.encode().ljust(8, b"\0"), "big")  # as in _prefixes
_WHITE = frozenset(" \t\n\r\v\f")


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words with ids 0, 1, ...; the last id is ``<unk>``.

    >>> vocabulary = Vocabulary.from_words(["the", "cat"])
    >>> vocabulary.words, vocabulary.unknown_id, len(vocabulary)
    (('the', 'cat', '<unk>'), 2, 3)
    >>> vocabulary.encode(["the", "dog", "cat"]).tolist()
    [0, 2, 1]
    """

    types: Types  # all words but <unk>, in the order of their ids

    @classmethod
    def from_words(cls, words: Iterable[str]) -> Vocabulary:
        """A vocabulary in the given order; ``<unk>`` is added, or moved to the end."""
        if isinstance(words, str):
            raise TypeError("a vocabulary is a list of words, not one str: use [word] or split()")
        listed = [word for word in words if word != UNKNOWN]
        if len(set(listed)) < len(listed):
            raise SettingsError("vocabulary: a word occurs twice")
        for word in listed:
            if not word or not _WHITE.isdisjoint(word):
                raise SettingsError(f"vocabulary: {word!r} can never be a token of the text")
        try:
            encoded = [word.encode() for word in listed]
        except UnicodeEncodeError as error:
            raise SettingsError(f"vocabulary: {error.object!r} is not valid Unicode") from error
        return cls(Types.from_words(encoded))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words in the order of their ids, ``<unk>`` last."""
        return (*self.types.decoded(), UNKNOWN)

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of each word."""
        return {word: number for number, word in enumerate(self.words)}

    @property
    def unknown_id(self) -> int:
        """The id of ``<unk>``: the last one."""
        return len(self.types)

    def __len__(self) -> int:
        return len(self.types) + 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        mine, theirs = self.types, other.types
        return (
            np.array_equal(mine.offsets, theirs.offsets)
            and mine.blob[: mine.offsets[-1]].tobytes()
            == theirs.blob[: theirs.offsets[-1]].tobytes()
        )

    def __hash__(self) -> int:
        return hash(self.types.blob[: self.types.offsets[-1]].tobytes())

    def encode(self, tokens: Sequence[str]) -> Int32s:
        """The ids of a sentence's tokens."""
        if isinstance(tokens, str):
            raise TypeError("encode() takes a list of tokens, not one str: use text.split()")
        unknown = self.unknown_id
        ids = self.ids
        return np.array([ids.get(token, unknown) for token in tokens], dtype=np.int32)

    @cached_property
    def table(self) -> TypeTable:
        """The words as a table, for looking up the types of a segment."""
        table = TypeTable(capacity=len(self.types))
        table.intern_types(self.types)
        return table

    def mapping(self, types: Types) -> Int32s:
        """The id of each type, that of ``<unk>`` for types outside the vocabulary."""
        ids = self.table.find(types)
        ids[ids < 0] = self.unknown_id
        return ids


def merge_types(
    tables: Sequence[Callable[[], Types]],
    total_bytes: int,
    table_bytes: int,
    choose: Callable[[Types], tuple[Int64s, int]],
    engine: Engine | None = None,
) -> tuple[Types, int, list[Int32s] | None]:
    """Add up word tables and keep the words that ``choose`` keeps; also of how many.

    Words are shared out by their hash, one part for each worker of an ``engine`` that shares our
    memory.  With more words than fit into ``table_bytes`` there are more parts, and the tables are
    gone through several times; otherwise the third result is the place of each word of each table
    among those kept (their number for words that are not).
    """
    if len(tables) == 1:
        types = tables[0]()
        order, n_types = choose(types)
        return types.take(order), n_types, [_ranks(order, len(types))]
    here = engine if engine is not None and engine.shares_memory else LocalEngine()
    rounds = max(1, -(-total_bytes // table_bytes))
    if rounds == 1:
        return _merged_at_once([load() for load in tables], choose, here)
    n_parts = rounds * here.jobs

    def best_of(part: int) -> tuple[Types, int]:
        merged = TypeTable()
        for load in tables:
            merged.intern_types(load(), part, n_parts)
        types = merged.types
        order, n_here = choose(types)
        return types.take(order), n_here

    selected = Types.from_words([])
    n_types = 0
    for best, n_here in here.map(best_of, range(n_parts)):
        n_types += n_here
        joined = _joined([selected, best])
        selected = joined.take(choose(joined)[0])
    return selected, n_types, None


def _merged_at_once(
    tables: Sequence[Types], choose: Callable[[Types], tuple[Int64s, int]], engine: Engine
) -> tuple[Types, int, list[Int32s]]:
    """All parts of the words in memory together."""
    from eigentext.counting.kernels.interning import translate

    n_parts = engine.jobs
    room = sum(map(len, tables)) // n_parts

    def merged(part: int) -> tuple[Types, list[Int32s]]:
        table = TypeTable(room)
        mappings = [table.intern_types(types, part, n_parts) for types in tables]
        return table.types, mappings

    parts = list(engine.map(merged, range(n_parts)))
    types = _joined([of_part for of_part, _ in parts])
    order, n_types = choose(types)
    cuts = pointers(len(of_part) for of_part, _ in parts)
    ranks = np.split(_ranks(order, len(types)), cuts[1:-1])

    def places(number: int) -> Int32s:
        """Of one table: a word has its place in one part, and -1 in the others."""
        ranks_of_words = np.empty(len(tables[number]), dtype=np.int32)
        translate(parts[0][1][number], ranks[0], ranks_of_words)
        for (_, mappings), places_of_part in zip(parts[1:], ranks[1:], strict=True):
            more = np.empty_like(ranks_of_words)
            translate(mappings[number], places_of_part, more)
            np.maximum(ranks_of_words, more, out=ranks_of_words)
        return ranks_of_words

    return types.take(order), n_types, list(engine.map(places, range(len(tables))))


def _ranks(order: Int64s, n_types: int) -> Int32s:
    ranks = np.full(n_types, len(order), dtype=np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return ranks


def _joined(tables: Sequence[Types]) -> Types:
    """The words of several tables, one table behind the other."""
    used = pointers(int(types.offsets[-1]) for types in tables)
    blobs = [types.blob[: types.offsets[-1]] for types in tables]
    offsets = [types.offsets[1:] + base for types, base in zip(tables, used, strict=False)]
    return Types(
        np.concatenate([*blobs, np.zeros(PAD, dtype=np.uint8)]),
        np.concatenate([used[:1], *offsets]),
        np.concatenate([types.counts for types in tables]),
    )


def select(types: Types, vocab_size: int | None = None, min_count: int = 1) -> tuple[Int64s, int]:
    """The most frequent words: by count, largest first, words of one count by their bytes.

    Gives the numbers of at most ``vocab_size`` words, each seen ``min_count`` times; and among how
    many words they were chosen.  ``<unk>`` is never one.

    >>> seen = Types.from_words([b"b", b"a", b"<unk>"])
    >>> order, among = select(seen, min_count=0)
    >>> [seen.word(i) for i in order], among
    ([b'a', b'b'], 2)
    """
    is_word = np.ones(len(types), dtype=np.bool_)
    as_long = np.flatnonzero(np.diff(types.offsets) == len(UNKNOWN))
    is_word[as_long[_prefixes(types, as_long, 0) == _UNKNOWN_NUMBER]] = False
    chosen = np.flatnonzero(is_word & (types.counts >= min_count))
    if vocab_size is not None and vocab_size < len(chosen):
        counts = types.counts[chosen]
        least = np.partition(counts, len(counts) - vocab_size)[len(counts) - vocab_size]
        chosen = chosen[counts >= least]  # all that tie for the last place; cut below
    return _sorted(types, chosen)[:vocab_size], int(is_word.sum())


def _sorted(types: Types, chosen: Int64s) -> Int64s:
    """The chosen types by falling count, then by bytes.

    Sixteen bytes are compared as two numbers; the few that still tie are compared as bytes.
    """
    first = _prefixes(types, chosen, 0)
    falling = -types.counts[chosen]
    order = np.argsort(first)
    order = order[np.argsort(falling[order], kind="stable")]  # twice as fast as lexsort
    same = (falling[order][1:] == falling[order][:-1]) & (first[order][1:] == first[order][:-1])
    positions, groups = _tied(same)
    if len(positions):
        tied = order[positions]
        second = _prefixes(types, chosen[tied], 8)
        by_second = np.lexsort((second, groups))
        order[positions] = tied[by_second]
        second = second[by_second]
        still = (groups[1:] == groups[:-1]) & (second[1:] == second[:-1])
        again, subgroups = _tied(still)
        for group in np.split(again, np.flatnonzero(np.diff(subgroups)) + 1):
            if len(group):
                members = order[positions[group]]
                words = [types.word(int(chosen[member])) for member in members]
                order[positions[group]] = members[sorted(range(len(words)), key=words.__getitem__)]
    return chosen[order]


def _tied(same_as_next: Bools) -> tuple[Int64s, Int64s]:
    """The places that belong to a group of equals, and the number of the group of each."""
    padded = np.concatenate([[False], same_as_next, [False]])
    positions = np.flatnonzero(padded[1:] | padded[:-1])
    groups = np.cumsum(~padded[:-1])[positions]
    return positions, groups


def _prefixes(types: Types, chosen: Int64s, skip: int) -> UInt64s:
    from eigentext.counting.kernels import interning as kernels

    out = np.empty(len(chosen), dtype=np.uint64)
    kernels.prefixes(types.blob, types.offsets, chosen, skip, out)
    return out
