"""Text of any size in pieces that can be annotated one by one; put together they are the text.

A piece ends at an empty line, which ends every sentence; a stretch without one that is too long is
cut after a line that ends in a full stop, or else after any line, full stop or white space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from eigentext.base.files.opening import NO_TEXT, OnError, is_model, open_binary, raise_or_tell
from eigentext.errors import DataError
from eigentext.language.formats.records import documents, kind_of

SIZE = 1 << 15  # characters of a piece, unless a paragraph is longer
MOST = 1 << 17  # characters of a paragraph that is not cut
_BLOCK = 1 << 16  # bytes read at a time
_LONG_LINE = 1 << 20  # bytes of a line that are not waited for any longer
_STOPS = ".!?…。！？؟۔।॥"
_EMPTY_LINE = re.compile(r"\n[ \t\r\f\v]*\n\s*")
_CUTS = (
    re.compile(rf"[{_STOPS}]['\"”’»)\]]*[ \t\r]*\n"),
    re.compile(r"\n"),
    re.compile(rf"[{_STOPS}]['\"”’»)\]]*\s"),
    re.compile(r"\s"),
)


class TextPiece(NamedTuple):
    """A stretch of a text: where it begins there, in characters, and what it is."""

    start: int
    text: str
    new_paragraph: bool  # it begins one, and is not the rest of one that was cut
    last: bool  # nothing follows it


def document_pieces(
    path: str,
    *,
    size: int = SIZE,
    most: int = MOST,
    field: str | None = None,
    on_error: OnError | None = None,
) -> Iterator[tuple[int | None, TextPiece]]:
    r"""The pieces of a file of UTF-8, or of the texts in a file of records, with their record.

    Where a record (``formats.records``) begins, ``start`` is 0 again.  Bytes that are not UTF-8
    are a DataError with their line, or are told to ``on_error`` and left out.

    >>> from eigentext.base.files.opening import atomic_write
    >>> with atomic_write("memory://pieces-example.txt") as out:
    ...     _ = out.write(b"One.\n\nTwo.\nThree.")
    >>> [piece.text for _, piece in document_pieces("memory://pieces-example.txt", size=3)]
    ['One.\n\n', 'Two.\nThree.']
    """
    if kind_of(path, field):
        for number, text in documents(path, field, on_error=on_error):
            for piece in cut(iter([text]), size=size, most=most):
                yield number, piece
    else:
        for piece in cut(_decoded(path, on_error), size=size, most=most):
            yield None, piece


def cut(blocks: Iterator[str], *, size: int = SIZE, most: int = MOST) -> Iterator[TextPiece]:
    """Pieces of a text that comes in blocks; how it is blocked makes no difference."""
    held, start = "", 0
    ended, new_paragraph = False, True
    while True:
        while not ended and len(held) <= most + size:
            block = next(blocks, None)
            if block is None:
                ended = True
            else:
                held += block
        at, empty_line = _first_cut(held, size, most)
        if not at or at >= len(held):
            break
        yield TextPiece(start, held[:at], new_paragraph, False)
        new_paragraph = empty_line
        start += at
        held = held[at:]
    if held:
        yield TextPiece(start, held, new_paragraph, True)


def _first_cut(text: str, size: int, most: int) -> tuple[int, bool]:
    """Where the first piece ends, 0: the text is one; and whether an empty line is there."""
    if len(text) <= size:
        return 0, False
    empty_line = _EMPTY_LINE.search(text, size, most + size)
    if empty_line is not None and empty_line.start() <= most:
        return empty_line.end(), True
    if len(text) <= most:
        return 0, False
    earlier = [match.end() for match in _EMPTY_LINE.finditer(text, 0, size + 1)]
    if earlier:
        return earlier[-1], True
    for pattern in _CUTS:
        places = [match.end() for match in pattern.finditer(text, size, most)]
        if places:
            return places[-1], False
    return most, False


def _decoded(path: str, on_error: OnError | None = None) -> Iterator[str]:
    """The text of a file in blocks of whole lines, or of less; a byte-order mark is dropped."""
    line, column = 1, 0  # of the first byte that is not yet decoded
    pending = b""
    first = True
    with open_binary(path) as stream:
        while block := stream.read(_BLOCK):
            if first:
                if is_model(block):
                    raise DataError(path, 1, NO_TEXT)
                block = block.removeprefix(b"\xef\xbb\xbf")
                first = False
            pending += block
            end = pending.rfind(b"\n") + 1 or _last_whole(pending)
            if end:
                whole, pending = pending[:end], pending[end:]
                yield _text(path, whole, line, column, on_error)
                ends = whole.count(b"\n")
                line += ends
                column = 0 if ends else column + len(whole)
        if pending:
            yield _text(path, pending, line, column, on_error)


def _last_whole(held: bytes) -> int:
    """Where the last character begins of a line that is too long to wait for; else 0."""
    if len(held) < _LONG_LINE:
        return 0
    end = len(held) - 1
    while end > len(held) - 4 and held[end] & 0xC0 == 0x80:
        end -= 1
    return end


def _text(path: str, block: bytes, line: int, column: int, on_error: OnError | None) -> str:
    """A block as text, its bad lines left out if that is told."""
    good: list[str] = []
    while True:
        try:
            good.append(block.decode())
            return "".join(good)
        except UnicodeDecodeError as error:
            ends = block.count(b"\n", 0, error.start)
            begin = block.rfind(b"\n", 0, error.start) + 1
            end = block.find(b"\n", error.start) + 1 or len(block)
            at = error.start - begin + (0 if ends else column)
            why = f"not UTF-8: byte 0x{block[error.start]:02x} at position {at + 1} of the line"
            if not ends and line == 1 and block.startswith((b"\xff\xfe", b"\xfe\xff")):
                why += " (this looks like UTF-16; expected UTF-8)"
            raise_or_tell(DataError(path, line + ends, why), on_error)
            good.append(block[:begin].decode())
            block, line, column = block[end:], line + ends + 1, 0
