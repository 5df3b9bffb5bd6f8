r"""WARC: what a crawler wrote.  Its text is in records of type ``conversion``, as WET files have.

Records that describe the crawl (``warcinfo``, ``request``, ``metadata``, ``revisit``) are passed
over.  Pages as they were sent (``response``, ``resource``) are no text, and are faults; so is a
file that ends in the middle of a record, which the library that reads them takes for its end.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

from eigentext.base.files.opening import LONGEST_LINE
from eigentext.errors import DataError
from eigentext.language.formats.jsonl import BadRecord

_LONGEST_HEADER = 1 << 16  # bytes of all header lines of a record
_PAGES = ("response", "resource", "continuation")
_STEP = 1 << 20


def texts(source: str, stream: io.BufferedReader) -> Iterator[str | BadRecord | None]:
    r"""The text of every record; None for a record that is not meant to have any.

    >>> import io
    >>> start = b"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 3\r\n\r\n"
    >>> list(texts("a.wet", io.BufferedReader(io.BytesIO(start + b"Hi!\r\n\r\n"))))
    ['Hi!']
    """
    number = 0
    while _has_more(stream):
        number += 1
        headers = _headers(source, number, stream)
        length = headers.get("content-length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 16):
            raise _fault(source, number, f"Content-Length {length[:40]!r}, expected a number")
        kind = headers.get("warc-type", "").lower()
        is_text = kind == "conversion" and int(length) <= LONGEST_LINE
        content = _content(source, number, stream, int(length), keep=is_text)
        if kind in _PAGES:
            yield BadRecord(
                f"a record of type {kind}, a page as it was sent; expected conversion, "
                "which WET files have"
            )
        elif kind != "conversion":
            yield None
        elif not is_text:
            yield BadRecord(f"a text of more than {LONGEST_LINE:,} bytes, the most that is read")
        else:
            yield _decoded(content)


def _decoded(content: bytes) -> str | BadRecord:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        byte = content[error.start]
        return BadRecord(f"not UTF-8: byte 0x{byte:02x} at position {error.start + 1}")


def _has_more(stream: io.BufferedReader) -> bool:
    """Whether there is another record, after whatever line ends; the file may end in some more."""
    while (start := stream.peek(1)[:1]) in (b"\r", b"\n") and start:
        stream.read(1)
    return bool(start)


def _headers(source: str, number: int, stream: io.BufferedReader) -> dict[str, str]:
    first = stream.readline(_LONGEST_HEADER)
    if not first.startswith(b"WARC/"):
        raise _fault(source, number, f"begins with {first[:40]!r}, expected WARC/1.0 or WARC/1.1")
    headers: dict[str, str] = {}
    room = _LONGEST_HEADER
    while (line := stream.readline(room)).strip():
        room -= len(line)
        if not line.endswith(b"\n"):
            break
        name, colon, value = line.decode("utf-8", "replace").partition(":")
        if colon and not line[:1].isspace():  # a line that goes on with the one before has none
            headers.setdefault(name.strip().lower(), value.strip())
    if not line.endswith(b"\n"):
        raise _fault(source, number, "its headers have no end")
    return headers


def _content(
    source: str, number: int, stream: io.BufferedReader, length: int, *, keep: bool
) -> bytes:
    """The bytes of a record, or nothing of them; then the two line ends."""
    pieces = []
    while length:
        piece = stream.read(min(length, _STEP))
        if not piece:
            raise _fault(source, number, f"the file ends inside it, {length:,} bytes too early")
        length -= len(piece)
        if keep:
            pieces.append(piece)
    end = stream.read(4)
    if end not in (b"\r\n\r\n", b"\r\n", b""):
        raise _fault(source, number, f"{end!r} after its content, expected two line ends")
    return b"".join(pieces)


def _fault(source: str, number: int, why: str) -> DataError:
    return DataError(source, None, f"record {number}: {why}")
