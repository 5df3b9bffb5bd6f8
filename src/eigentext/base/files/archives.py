"""Packing and unpacking by suffix: .gz, .xz, .zst, .bz2.

1. :func:`unpacked` turns the chunks of a packed file into chunks of its content;
2. :func:`packer` wraps a stream so that what is written comes out packed, always the same bytes.

One loop serves the four formats, because the libraries' own file objects do not see the same
faults: zstandard's stream reader takes a cut frame for the end, and lzma and bz2 drop whatever
follows the first member when it does not begin like a second one.
"""

from __future__ import annotations

import io
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from eigentext.errors import DataError

SUFFIXES = (".gz", ".xz", ".zst", ".bz2")

_STEP = 1 << 12  # bytes fed at once: zlib and zstandard have no bound on what one step gives back
_MOST = 1 << 20  # bytes asked for at once from lzma and bz2, which do
_LZMA_MEMORY = 1 << 30
_ZSTD_LEVEL = 6


def suffix_of(source: str) -> str:
    """The packing suffix of a path or URL, lower case, or ``""``.

    >>> suffix_of("a.txt.GZ"), suffix_of("https://host/a.xz?key=1"), suffix_of("a.txt")
    ('.gz', '.xz', '')
    """
    name = _name(source)
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")


def bare_name(source: str) -> str:
    """The name of a path or URL in lower case, without packing suffix: its ending tells a format.

    >>> bare_name("data/A.jsonl.zst"), bare_name("https://host/a.parquet?key=1")
    ('a.jsonl', 'a.parquet')
    """
    return _name(source).removesuffix(suffix_of(source)).rpartition("/")[2]


def _name(source: str) -> str:
    name = source
    if "://" in source:
        link = next(link for link in source.split("::") if "://" in link)
        name = link.split("?")[0].split("#")[0]
    return name.lower()


def unpacked(source: str, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The content of a packed file; chunks of a plain one go through as they are.

    Several members in a row are one content (as ``cat a.gz b.gz`` makes them), zero bytes after a
    member are padding, and anything else there is a DataError.

    >>> list(unpacked("plain.txt", iter([b"abc"])))
    [b'abc']
    """
    suffix = suffix_of(source)
    if not suffix:
        return chunks
    new_decoder, errors = _decoder(suffix)
    return _members(source, suffix, _in_steps(chunks), new_decoder, errors)


def _in_steps(chunks: Iterator[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        for start in range(0, len(chunk), _STEP):
            yield chunk[start : start + _STEP]


def _decoder(suffix: str) -> tuple[Callable[[], Any], tuple[type[Exception], ...]]:
    """How to begin a member, and what its decoder raises on damage."""
    if suffix == ".gz":
        return lambda: zlib.decompressobj(wbits=31), (zlib.error,)
    if suffix == ".xz":
        import lzma

        def new_xz() -> lzma.LZMADecompressor:
            return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_LZMA_MEMORY)

        return new_xz, (lzma.LZMAError, EOFError)
    if suffix == ".bz2":
        import bz2

        return bz2.BZ2Decompressor, (OSError, EOFError, ValueError)
    new_zst, error = _zstd_decoder()
    return new_zst, (error,)


def _members(
    source: str,
    suffix: str,
    steps: Iterator[bytes],
    new_decoder: Callable[[], Any],
    errors: tuple[type[Exception], ...],
) -> Iterator[bytes]:
    kind = suffix[1:]
    bounded = suffix in (".xz", ".bz2")
    data = next(steps, b"")
    if not data:
        raise DataError(source, None, f"an empty file, expected a {kind} archive")
    while data:
        decoder = new_decoder()
        while not decoder.eof:
            if not data and (not bounded or decoder.needs_input):
                data = next(steps, b"")
                if not data:
                    raise DataError(source, None, f"truncated {kind} archive: its end is missing")
            try:
                content = decoder.decompress(data, _MOST) if bounded else decoder.decompress(data)
            except errors as error:
                # each library puts other words before what is wrong
                why = str(error).rpartition(": ")[2] if suffix == ".zst" else error
                raise DataError(source, None, f"damaged {kind} archive: {why}") from error
            data = b""
            if content:
                yield content
        data = decoder.unused_data.lstrip(b"\0")
        while not data and (step := next(steps, b"")):
            data = step.lstrip(b"\0")


def packer(suffix: str, out: BinaryIO) -> io.BufferedIOBase | BinaryIO:
    """A stream that packs what is written and passes it on to ``out`` (which it does not close).

    The settings are fixed and no time stamp is written, so the same content gives the same bytes.
    """
    if suffix == ".gz":
        import gzip

        return gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=out, mtime=0)
    if suffix == ".xz":
        import lzma

        return lzma.LZMAFile(out, "wb", check=lzma.CHECK_CRC64)
    if suffix == ".bz2":
        import bz2

        return bz2.BZ2File(out, "wb")
    if suffix == ".zst":
        return _zstd_writer(out)
    return out


# Zstandard, of the standard library from Python 3.14 on and of `zstandard` below it: the same C
# library, and which of them is used is known here alone.


def _zstd_decoder() -> tuple[Callable[[], Any], type[Exception]]:
    """How to begin a frame, and what its decoder raises on damage.

    A decoder has ``decompress``, ``eof`` and ``unused_data``.
    """
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.ZstdDecompressor, zstd.ZstdError
    import zstandard

    return lambda: zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError


def _zstd_writer(out: BinaryIO) -> io.BufferedIOBase | BinaryIO:
    """A stream that packs what is written, with a sum to check it; ``out`` is not closed."""
    if sys.version_info >= (3, 14):
        from compression import zstd

        parameter = zstd.CompressionParameter
        options = {parameter.compression_level: _ZSTD_LEVEL, parameter.checksum_flag: 1}
        packed_file = zstd.ZstdFile(out, "wb", options=options)
        packed_file.write(b"")  # begins the frame: without one, no content would be no archive
        return packed_file
    import zstandard

    packed = zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True)
    return packed.stream_writer(out, closefd=False)
