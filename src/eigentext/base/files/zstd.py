"""Zstandard, of the standard library from Python 3.14 on and of ``zstandard`` below it.

Both are the same C library; which of them is used is known here alone.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import io
    from collections.abc import Callable

_LEVEL = 6


def decoder() -> tuple[Callable[[], Any], type[Exception]]:
    """How to begin a frame, and what its decoder raises on damage.

    A decoder has ``decompress``, ``eof`` and ``unused_data``.
    """
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.ZstdDecompressor, zstd.ZstdError
    import zstandard

    return lambda: zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError


def writer(out: BinaryIO) -> io.BufferedIOBase | BinaryIO:
    """A stream that packs what is written, with a sum to check it; ``out`` is not closed."""
    if sys.version_info >= (3, 14):
        from compression import zstd

        parameter = zstd.CompressionParameter
        options = {parameter.compression_level: _LEVEL, parameter.checksum_flag: 1}
        packed_file = zstd.ZstdFile(out, "wb", options=options)
        packed_file.write(b"")  # begins the frame: without one, no content would be no archive
        return packed_file
    import zstandard

    packed = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    return packed.stream_writer(out, closefd=False)


def reason(error: Exception) -> str:
    """What is wrong, without the words that each library puts before it.

    >>> reason(ValueError("zstd decompressor error: Unknown frame descriptor"))
    'Unknown frame descriptor'
    """
    return str(error).rpartition(": ")[2]


def compress(raw: bytes) -> bytes:
    """One frame with this content.

    >>> decompress(compress(b"word"))
    b'word'
    """
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.compress(raw, _LEVEL)
    import zstandard

    return zstandard.ZstdCompressor(level=_LEVEL).compress(raw)


def decompress(packed: bytes) -> bytes:
    """The content of one frame."""
    new, _ = decoder()
    content: bytes = new().decompress(packed)
    return content
