"""The texts in the records of one shard, as a text of lines for the first pass.

The shard says how it is opened and where it begins; here its records become lines: every text is
followed by a line end, so that no line, and no pair of neighbours, goes over two records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.base.files.opening import not_utf8, open_binary
from eigentext.language.formats import parquet, warc
from eigentext.language.formats.jsonl import BadRecord, text_of
from eigentext.language.formats.records import FIELD, checked
from eigentext.language.formats.text import split_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from eigentext.counting.shards import Shard

LONGEST_WORD = 1 << 20

Numbered = tuple[int, str | BadRecord]


def record_texts(
    shard: Shard, lines: Iterable[tuple[int, bytes]], left_out: Callable[[int, str], None]
) -> Generator[bytes]:
    """Each text with a line end.

    ``lines`` are those of the shard, for JSON Lines, with their numbers from 0; ``left_out`` is
    told the number of each record without text, and why, and raises unless such are skipped.
    """
    for number, record in _records(shard, lines):
        try:
            text = checked(record)
            # in a text as short as a word may be there is no longer one
            words = split_tokens(text.replace("\n", " ")) if len(text) > LONGEST_WORD // 4 else ()
            if any(len(word.encode()) > LONGEST_WORD for word in words):
                raise BadRecord(long_word(LONGEST_WORD))
        except BadRecord as error:
            left_out(number, str(error))
            continue
        yield text.encode() + b"\n"


def _records(shard: Shard, lines: Iterable[tuple[int, bytes]]) -> Iterator[Numbered]:
    """The records with their numbers, from 0 at the start of the shard."""
    field = shard.field or FIELD
    if shard.kind == "parquet":
        yield from enumerate(parquet.texts(shard.source, field, shard.start, shard.stop))
    elif shard.kind == "warc":
        with open_binary(shard.source) as stream:
            for number, text in enumerate(warc.texts(shard.source, stream)):
                if text is not None:
                    yield number, text
    else:
        yield from _of_lines(lines, field)


def _of_lines(lines: Iterable[tuple[int, bytes]], field: str) -> Iterator[Numbered]:
    for number, line in lines:
        text: str | BadRecord | None
        try:
            text = text_of(line.decode(), field)
        except UnicodeDecodeError as error:
            text = BadRecord(not_utf8(line, error.start))
        except BadRecord as error:
            text = error
        if text is not None:
            yield number, text


def long_word(most: int) -> str:
    """Why a word cannot be read.

    >>> long_word(1000)
    'a word of more than 1,000 bytes, the most that is read'
    """
    return f"a word of more than {most:,} bytes, the most that is read"
