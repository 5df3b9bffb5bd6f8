"""Text of any size in pieces that can be annotated one by one.

A piece ends at an empty line, which ends every sentence; a stretch without one that is too long
is cut after a line that ends in a full stop, or else after any line, any full stop with white
space behind it, any white space.  Where it is cut depends on the text alone, and no character is
lost: the pieces put together are the text.
"""

from __future__ import annotations

import codecs
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from eigentext.base.files.opening import NO_TEXT, is_model, not_utf8, open_binary
from eigentext.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eigentext.base.files.opening import Source

__all__ = ["Piece", "text_pieces"]

SIZE = 1 << 15  # characters of a piece, unless a paragraph is longer
MOST = 1 << 17  # characters of a paragraph that is not cut
_BLOCK = 1 << 16  # bytes read at a time
_STOPS = ".!?…。！？؟۔।॥"
_EMPTY_LINE = re.compile(r"\n[ \t\r\f\v]*\n\s*")
_CUTS = (
    re.compile(rf"[{_STOPS}]['\"”’»)\]]*[ \t\r]*\n"),
    re.compile(r"\n"),
    re.compile(rf"[{_STOPS}]['\"”’»)\]]*\s"),
    re.compile(r"\s"),
)


class Piece(NamedTuple):
    """A stretch of a text: where it begins there, in characters, and what it is.

    ``new_paragraph``  it begins one, and is not the rest of one that was cut
    ``last``           nothing follows it
    """

    start: int
    text: str
    new_paragraph: bool
    last: bool


def text_pieces(source: Source, *, size: int = SIZE, most: int = MOST) -> Iterator[Piece]:
    r"""The pieces of a file of UTF-8; bytes that are none are a DataError with their line.

    >>> from eigentext.base.files.opening import atomic_write
    >>> with atomic_write("memory://pieces-example.txt") as out:
    ...     _ = out.write(b"One.\n\nTwo.\nThree.")
    >>> [piece.text for piece in text_pieces("memory://pieces-example.txt", size=3)]
    ['One.\n\n', 'Two.\nThree.']
    """
    return cut(_decoded(os.fspath(source)), size=size, most=most)


def cut(blocks: Iterator[str], *, size: int = SIZE, most: int = MOST) -> Iterator[Piece]:
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
        at, empty_line = _place(held, size, most)
        if not at or at >= len(held):
            break
        yield Piece(start, held[:at], new_paragraph, False)
        new_paragraph = empty_line
        start += at
        held = held[at:]
    if held:
        yield Piece(start, held, new_paragraph, True)


def _place(text: str, size: int, most: int) -> tuple[int, bool]:
    """Where the first piece ends, 0: the text is one; and whether an empty line is there.

    It looks no further than ``most + size`` characters.
    """
    if len(text) <= size:
        return 0, False
    found = _EMPTY_LINE.search(text, size, most + size)
    if found is not None and found.start() <= most:
        return found.end(), True
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


def _decoded(path: str) -> Iterator[str]:
    """The text of a file, block by block; a byte-order mark is dropped."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    tail = b""  # the last line, as far as it has been read, for messages
    with open_binary(path) as stream:
        first = True
        while True:
            block = stream.read(_BLOCK)
            if first:
                if is_model(block):
                    raise DataError(path, 1, NO_TEXT)
                block = block.removeprefix(b"\xef\xbb\xbf")
                first = False
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                whole = tail + block
                known = len(whole) - len(error.object) + error.start
                line += whole.count(b"\n", 0, known)
                begin = whole.rfind(b"\n", 0, known) + 1
                why = not_utf8(whole[begin : known + 1], known - begin)
                raise DataError(path, line, why) from None
            if text:
                yield text
            if not block:
                return
            line += (tail + block).count(b"\n")
            at = block.rfind(b"\n") + 1
            tail = (block if at else tail + block)[at:][-_BLOCK:]
