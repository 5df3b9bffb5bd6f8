r"""Brown ``paths`` files: bits TAB word TAB count, as Liang's wcluster writes them.

The bits are the path from the root of the merge tree; a prefix of them names a coarser cluster.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from eigentext.base.files.opening import (
    OnError,
    Source,
    numbered_lines,
    raise_or_tell,
    write_lines,
)
from eigentext.errors import DataError

_BITS = re.compile("[01]*")
_COUNT = re.compile("[0-9]{1,18}")  # fits int64


@dataclass(frozen=True, slots=True)
class PathEntry:
    """One word's cluster: the bits of the path, the word, and how often it was seen."""

    bits: str  # empty when there is only one cluster
    word: str
    count: int | None


def read_paths(source: Source, *, on_error: OnError | None = None) -> Iterator[PathEntry]:
    r"""The entries of a paths file, in its order; the third column may be missing.

    >>> _ = write_lines("memory://doc/paths", ["0010\tcat\t12", "0011\tdog"])
    >>> for entry in read_paths("memory://doc/paths"):
    ...     print(entry)
    PathEntry(bits='0010', word='cat', count=12)
    PathEntry(bits='0011', word='dog', count=None)
    """
    path = os.fspath(source)
    for number, line in numbered_lines(path, on_error=on_error):
        why = ""
        bits, *rest = line.split("\t")
        if len(rest) not in (1, 2):
            why = f"{len(rest) + 1} columns, expected 2 or 3: bits TAB word TAB count"
        elif not _BITS.fullmatch(bits):
            why = f"bits {bits[:40]!r}, expected only 0 and 1"
        elif not rest[0]:
            why = "an empty word"
        elif len(rest) == 2 and not _COUNT.fullmatch(rest[1]):
            why = f"count {rest[1][:40]!r}, expected a whole number of up to 18 digits"
        if not why:
            yield PathEntry(bits, rest[0], int(rest[1]) if len(rest) == 2 else None)
        else:
            raise_or_tell(DataError(path, number, why), on_error)


def write_paths(entries: Iterable[PathEntry], path: Source) -> int:
    """Write entries in the order given, with their counts, and give their number.

    >>> write_paths([PathEntry("0", "cat", 2), PathEntry("1", "dog", 1)], "memory://doc/p")
    2
    """
    return write_lines(path, _formatted(entries, os.fspath(path)))


def _formatted(entries: Iterable[PathEntry], path: str) -> Iterator[str]:
    for number, entry in enumerate(entries, start=1):
        bits, word, count = entry.bits, entry.word, entry.count
        if not _BITS.fullmatch(bits):
            raise DataError(path, number, f"bits {bits[:40]!r}, expected only 0 and 1")
        if not word or re.search(r"[\t\n]", word):
            why = f"word {word[:40]!r}, expected one without tabs and line ends"
            raise DataError(path, number, why)
        if count is None or not 0 <= count < 10**18:
            raise DataError(path, number, f"count {count!r} of {word[:40]!r}, expected one >= 0")
        yield f"{bits}\t{word}\t{count}"
