"""What CoNLL-U, CoNLL-X and BIO columns share: blocks of lines, each ended by an empty line.

A block's text is kept to the last byte, with its line ends and the empty lines after it, so that
writing the blocks gives the file back.  A line ends at ``\\n`` or ``\\r\\n`` and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeGuard, TypeVar

from eigentext.base.files.opening import (
    LONGEST_LINE,
    NO_TEXT,
    TOO_LONG,
    OnError,
    Source,
    atomic_write,
    is_model,
    not_utf8,
    open_binary,
    raise_or_tell,
)
from eigentext.errors import DataError

MOST_BYTES = 4 * LONGEST_LINE  # of a block

Item = TypeVar("Item")


@dataclass(frozen=True)
class Block:
    """Lines of a file up to and with the empty lines that end them."""

    source: str
    first_line: int
    text: str


def read_blocks(source: Source, *, on_error: OnError | None = None) -> Iterator[Block]:
    """Cut a file at its empty lines; a block that is not UTF-8 is a DataError naming the line.

    So is one with a line longer than ``LONGEST_LINE``, or longer than ``MOST_BYTES`` in all.
    Empty lines at the head of the file belong to the first block.  A damaged archive always
    raises, since what follows is unknown.
    """
    path = os.fspath(source)
    held: list[bytes] = []
    first_line = number = size = 0
    has_content = after_blank = bad = False
    with open_binary(path) as handle:
        try:
            for raw in iter(partial(handle.readline, LONGEST_LINE + 1), b""):
                number += 1
                if number == 1:
                    if is_model(raw):
                        raise DataError(path, 1, NO_TEXT)
                    raw = raw.removeprefix(b"\xef\xbb\xbf")
                if raw == b"\n" or raw == b"\r\n":
                    after_blank = True
                else:
                    if after_blank and has_content:
                        if not bad:
                            yield from _decoded(path, first_line, held, on_error)
                        held, size, has_content, bad = [], 0, False, False
                    after_blank, has_content = False, has_content or bool(raw)
                if not held:
                    first_line = number
                held.append(raw)
                size += len(raw)
                if size > MOST_BYTES or len(raw) > LONGEST_LINE:
                    if not bad:
                        endless = f"more than {MOST_BYTES:,} bytes without an empty line"
                        why = TOO_LONG if len(raw) > LONGEST_LINE else endless
                        raise_or_tell(DataError(path, number, why), on_error)
                    bad, held, size = True, [b""], 0
                    while raw and not raw.endswith(b"\n"):
                        raw = handle.readline(LONGEST_LINE)
        except DataError as error:
            if error.line is None:
                raise DataError(path, number + 1, error.why) from error
            raise
    if has_content and not bad:
        yield from _decoded(path, first_line, held, on_error)


def blocks_of(text: str, source: str = "<text>") -> Iterator[Block]:
    r"""The blocks of a text that is at hand.

    >>> [(block.first_line, block.text) for block in blocks_of("a\nb\n\n\nc")]
    [(1, 'a\nb\n\n\n'), (5, 'c')]
    """
    held: list[str] = []
    first_line = 1
    has_content = after_blank = False
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if line in ("", "\r"):
            after_blank = True
        else:
            if after_blank and has_content:
                yield Block(source, first_line, "\n".join([*held, ""]))
                held, first_line = [], number
            after_blank, has_content = False, True
        held.append(line)
    if has_content:
        yield Block(source, first_line, "\n".join(held))


def _decoded(
    path: str, first_line: int, raw_lines: list[bytes], on_error: OnError | None
) -> Iterator[Block]:
    try:
        text = b"".join(raw_lines).decode("utf-8")
    except UnicodeDecodeError as fault:
        bad_line = first_line + fault.object.count(b"\n", 0, fault.start)
        line_start = fault.object.rfind(b"\n", 0, fault.start) + 1
        why = not_utf8(fault.object[line_start:], fault.start - line_start)
        raise_or_tell(DataError(path, bad_line, why), on_error)
    else:
        yield Block(path, first_line, text)


def read_items(
    source: Source, parse: Callable[[Block], Item], on_error: OnError | None
) -> Iterator[Item]:
    """Parse each block of a file; a bad one is raised, or told to ``on_error`` and left out."""
    for block in read_blocks(source, on_error=on_error):
        try:
            item = parse(block)
        except DataError as error:
            raise_or_tell(error, on_error)
        else:
            yield item


def is_file(items: object) -> TypeGuard[Source]:
    """The name of a file where a list of sentences or trees could be; a text of lines is none."""
    return isinstance(items, os.PathLike) or (isinstance(items, str) and "\n" not in items)


def all_of_file(items: Iterable[Item], path: str) -> Iterator[Item]:
    """The items of a file; none at all are a DataError."""
    empty = True
    for item in items:
        empty = False
        yield item
    if empty:
        raise DataError(path, None, "no sentences in this file")


def write_blocks(texts: Iterable[str], path: Source) -> int:
    """Write blocks to a file, atomically; returns how many.  ``-`` is stdout."""
    n_written = 0
    last = "\n\n"
    with atomic_write(path) as out:
        for text in texts:
            if not last.endswith(("\n\n", "\n\r\n")):
                out.write(b"\n" if last.endswith("\n") else b"\n\n")
            out.write(text.encode("utf-8"))
            last = text
            n_written += 1
    return n_written


def content_lines(text: str) -> list[str]:
    r"""The lines of a block without their ends, and without the empty lines at its end.

    >>> content_lines("a\tb\r\nc\td\r\n\r\n")
    ['a\tb', 'c\td']
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return text.rstrip("\n").split("\n")


def shown(text: str, limit: int = 40) -> str:
    """Quote a piece of the input for an error message, cut to a bearable length.

    >>> shown("abc"), shown("x" * 50, limit=5)
    ("'abc'", "'xxxxx...'")
    """
    return repr(text if len(text) <= limit else text[:limit] + "...")
