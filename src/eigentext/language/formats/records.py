"""Texts out of files of records: JSON Lines, Parquet, WARC.

A record is a document: it may have several lines, which are lines of text as those of a text file
are, and where it ends a line ends, a paragraph and a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator

from eigentext.base.files.opening import (
    LONGEST_LINE,
    OnError,
    numbered_lines,
    open_binary,
    raise_or_tell,
)
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats import parquet, warc
from eigentext.language.formats.jsonl import BadRecord, text_of
from eigentext.language.formats.registry import format_of, names_of

FIELD = "text"  # the field or column, unless told

_KINDS = names_of("records")
_PLACES = {"parquet": "row", "warc": "record"}


def kind_of(source: str, field: str | None = None) -> str:
    """``jsonl``, ``parquet``, ``warc`` by a file's name, ``""`` for text; with a field ``jsonl``.

    >>> kind_of("a.jsonl.zst"), kind_of("a.warc.wet.gz"), kind_of("a.txt"), kind_of("-", "text")
    ('jsonl', 'warc', '', 'jsonl')
    """
    kind = format_of(source, _KINDS, "")
    if kind == "warc" and field is not None:
        raise SettingsError(f"a field is for JSON Lines and Parquet: {source} has none")
    return kind or ("jsonl" if field is not None else "")


def documents(
    source: str, field: str | None = None, *, on_error: OnError | None = None
) -> Iterator[tuple[int, str]]:
    r"""The number and the text of each record, from 1.

    A record without text is a DataError, or is given to ``on_error`` and left out; a file that is
    damaged always raises, since what follows is unknown.

    >>> from eigentext.base.files.opening import write_lines
    >>> _ = write_lines("memory://doc/a.jsonl", ['{"text": "It rains."}', '{"text": "a\\nb"}'])
    >>> list(documents("memory://doc/a.jsonl"))
    [(1, 'It rains.'), (2, 'a\nb')]
    """
    kind = kind_of(source, field)
    for number, text in _numbered(source, kind, field or FIELD, on_error):
        try:
            yield number, checked(text)
        except BadRecord as error:
            raise_or_tell(fault(source, kind, number, str(error)), on_error)


def _numbered(
    source: str, kind: str, field: str, on_error: OnError | None
) -> Iterator[tuple[int, str | BadRecord]]:
    if kind == "parquet":
        yield from enumerate(parquet.texts(source, field), start=1)
    elif kind == "warc":
        with open_binary(source) as stream:
            for number, text in enumerate(warc.texts(source, stream), start=1):
                if text is not None:
                    yield number, text
    else:
        for number, line in numbered_lines(source, on_error=on_error):
            try:
                text = text_of(line, field)
            except BadRecord as error:
                text = error
            if text is not None:
                yield number, text


def checked(text: str | BadRecord) -> str:
    """The text without a byte-order mark, if it is one that can be read."""
    if isinstance(text, BadRecord):
        raise text
    text = text.removeprefix("\ufeff")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        why = f"a lone surrogate, which UTF-8 cannot hold: {error.object[error.start :][:20]!r}"
        raise BadRecord(why) from error
    if size > LONGEST_LINE:
        raise BadRecord(f"a text of more than {LONGEST_LINE:,} bytes, the most that is read")
    return text


def fault(source: str, kind: str, number: int, why: str) -> DataError:
    """The error of one record.

    >>> str(fault("a.jsonl", "jsonl", 7, "no text")), str(fault("a.parquet", "parquet", 7, "nil"))
    ('a.jsonl:7: no text', 'a.parquet: row 7: nil')
    """
    if kind in _PLACES:
        return DataError(source, None, f"{_PLACES[kind]} {number}: {why}")
    return DataError(source, number, why)
