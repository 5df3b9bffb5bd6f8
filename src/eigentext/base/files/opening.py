"""How every file is found, opened, cut into lines, and written.

The flow of the datum:

1. :func:`expand` turns what the user named (paths, globs, URLs, ``-``) into a list of sources;
2. :func:`open_binary` gives the bytes of one source, unpacked when its name ends in .gz, .xz, .zst
   or .bz2;
3. :func:`numbered_lines` cuts them into decoded lines with their numbers;
4. :func:`atomic_write` and :func:`write_lines` take the way back: to a temporary name, then
   renamed, so that a crash leaves either the old file or the new one.

Whatever goes wrong on the way is a :class:`~eigentext.errors.DataError` that names the source and,
where it is known, the line.  Local paths never load fsspec; anything with ``://`` goes through it.
"""

from __future__ import annotations

import contextlib
import glob
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from eigentext.base.files.archives import unpacked
from eigentext.base.files.storage import (
    Source,
    dataset_files,
    driver_errors,
    filesystem_of,
    is_url,
    reason,
)
from eigentext.base.files.writing import atomic_write, check_input, check_writable, write_lines
from eigentext.errors import DataError, StorageError

__all__ = ["Source", "atomic_write", "check_writable", "write_lines"]  # of storage and writing
__all__ += ["LONGEST_LINE", "NO_TEXT", "TOO_LONG", "OnError", "RawChunks", "SkipLog", "expand"]
__all__ += ["is_model", "not_utf8", "numbered_lines", "open_binary", "raise_or_tell"]

OnError = Callable[[DataError], None]

LONGEST_LINE = 1 << 24
TOO_LONG = f"a line of more than {LONGEST_LINE:,} bytes, the most that is read"
NO_TEXT = "a model that eigentext wrote, expected a text file"

_BLOCK = 1 << 20
_BOM = b"\xef\xbb\xbf"


@dataclass
class SkipLog:
    """An ``on_error`` callable that counts the bad items and keeps the first messages.

    >>> log = SkipLog()
    >>> log(DataError("a.conllu", 3, "9 columns, expected 10"))
    >>> log.count, str(log)
    (1, '1 item skipped; the first: a.conllu:3: 9 columns, expected 10')
    """

    keep: int = 20
    count: int = 0
    messages: list[str] = field(default_factory=list)

    def __call__(self, error: DataError) -> None:
        """Count one bad item."""
        self.count += 1
        if len(self.messages) < self.keep:
            self.messages.append(str(error))

    def __str__(self) -> str:
        if not self.count:
            return "nothing skipped"
        items = "1 item" if self.count == 1 else f"{self.count} items"
        return f"{items} skipped" + (f"; the first: {self.messages[0]}" if self.messages else "")


def expand(sources: Iterable[Source]) -> list[str]:
    """The files that paths, globs and URLs stand for, in the order given, each glob sorted.

    A file whose real name contains ``*``, ``?`` or ``[`` is taken as it is.  Folders that a glob
    meets are passed over; ``**`` goes into subfolders.  ``-`` (standard input) stays.  The folder
    of a dataset, ``hf://datasets/...``, stands for its files.

    >>> expand(["-"])
    ['-']
    """
    if isinstance(sources, (str, os.PathLike)):
        raise TypeError(f"expand() takes a list of sources: [{os.fspath(sources)!r}]")
    files: list[str] = []
    for item in sources:
        source = os.fspath(item)
        if source == "-":
            files.append(source)
        elif is_url(source):
            files.extend(_expand_url(source))
        else:
            files.extend(_expand_path(source))
    for file in files:
        check_input(file)
    return files


def _expand_path(path: str) -> list[str]:
    if os.path.isdir(path):
        raise DataError(path, None, f"a folder, expected files, such as {path}/*.txt")
    if os.path.exists(path):
        return [path]
    if not glob.has_magic(path):
        raise DataError(path, None, "no such file")
    matches = sorted(p for p in glob.iglob(path, recursive=True) if not os.path.isdir(p))
    if not matches:
        raise DataError(path, None, "no file matches this pattern")
    return matches


def _expand_url(url: str) -> list[str]:
    links = url.split("::")
    magic = [i for i, link in enumerate(links) if "://" in link and _url_has_magic(link)]
    if not magic:
        return dataset_files(url) if url.startswith("hf://") else [url]
    with driver_errors(url, "cannot list"):
        filesystem, path = filesystem_of(url)
        matches = sorted(filesystem.glob(path, detail=False))
        matches = [match for match in matches if not filesystem.isdir(match)]
    if not matches:
        raise DataError(url, None, "no file matches this pattern")
    protocol = links[magic[0]].split("://")[0]
    expanded = []
    for match in matches:
        links[magic[0]] = match if "://" in match else f"{protocol}://{match}"
        expanded.append("::".join(links))
    return expanded


def _url_has_magic(link: str) -> bool:
    # in a web address '?' starts the query and '[' may begin an IPv6 host
    return ("*" in link) if link.startswith(("http:", "https:")) else glob.has_magic(link)


class RawChunks(io.RawIOBase):
    """An iterator of byte chunks as a raw stream, so that io.BufferedReader can do the rest."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill what can be filled at once; 0 is the end."""
        if not len(buffer):
            return 0
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


@contextlib.contextmanager
def open_binary(source: Source) -> Iterator[io.BufferedReader]:
    """The bytes of a source, unpacked when its name ends in .gz, .xz, .zst or .bz2.

    ``-`` is standard input (never unpacked); anything with ``://`` goes through fsspec.  A missing
    file, a folder, and a truncated or damaged archive are DataErrors, also when they show only in
    the middle of reading.

    >>> with atomic_write("memory://doc/hello.txt.gz") as out:
    ...     _ = out.write(b"hello")
    >>> with open_binary("memory://doc/hello.txt.gz") as stream:
    ...     stream.read()
    b'hello'
    """
    path = os.fspath(source)
    check_input(path)
    with contextlib.ExitStack() as stack:
        if path == "-":
            pull = _stdin_reader()
        elif is_url(path):
            with driver_errors(path, "cannot open"):
                filesystem, inner = filesystem_of(path)
                if filesystem.isdir(inner):
                    raise DataError(path, None, "a folder, expected a file")
                pull = stack.enter_context(filesystem.open(inner, "rb")).read
        else:
            try:
                file = stack.enter_context(open(path, "rb", buffering=0))
            except (OSError, ValueError) as error:
                raise _cannot_open(path, error) from error
            if _is_endless(file.fileno()):
                raise DataError(path, None, "a device, expected a file")
            pull = file.read
        chunks = unpacked(path, _chunks(path, pull))
        yield stack.enter_context(io.BufferedReader(RawChunks(chunks), _BLOCK))


def _is_endless(handle: int) -> bool:
    """Whether this is a device such as a disk or /dev/zero; pipes and terminals have an end."""
    mode = os.fstat(handle).st_mode
    if stat.S_ISCHR(mode):
        null = os.path.exists(os.devnull) and os.path.samestat(
            os.fstat(handle), os.stat(os.devnull)
        )
        return not null and not os.isatty(handle)
    return stat.S_ISBLK(mode)


def _chunks(path: str, pull: Callable[[int], bytes]) -> Iterator[bytes]:
    while True:
        try:
            chunk = pull(_BLOCK)
        except OSError as error:
            raise StorageError(path, None, f"cannot read: {reason(error)}") from error
        except Exception as error:
            if not is_url(path):
                raise
            why = f"cannot read: {type(error).__name__}: {error}"
            raise StorageError(path, None, why) from error
        if not chunk:
            return
        yield chunk


def _stdin_reader() -> Callable[[int], bytes]:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise DataError("-", None, "standard input is not open for bytes")
    with contextlib.suppress(OSError, AttributeError):  # not every stream is a file
        check_input(stream.fileno())
    # read1 gives what has come so far, so that a pipe from a live program flows
    return cast("Callable[[int], bytes]", getattr(stream, "read1", stream.read))


def _cannot_open(path: str, error: OSError | ValueError) -> DataError:
    if isinstance(error, FileNotFoundError):
        return DataError(path, None, "no such file")
    if isinstance(error, IsADirectoryError):
        return DataError(path, None, "a folder, expected a file")
    return DataError(path, None, f"cannot open: {reason(error)}")


def numbered_lines(
    source: Source, *, on_error: OnError | None = None, longest: int = LONGEST_LINE
) -> Iterator[tuple[int, str]]:
    r"""The lines of a UTF-8 text with their numbers from 1, without their line ends.

    Lines end at ``\n`` or ``\r\n`` only: a lone ``\r``, a form feed or U+2028 stays inside its
    line.  A byte-order mark at the start is dropped.  A line that is not UTF-8, or of more bytes
    than ``longest``, is a DataError, or is given to ``on_error`` and left out.  A damaged archive
    always raises, since what follows is unknown; so does a model file, which is no text at all.

    >>> with atomic_write("memory://doc/two.txt") as out:
    ...     _ = out.write(b"one\r\ntwo")
    >>> list(numbered_lines("memory://doc/two.txt"))
    [(1, 'one'), (2, 'two')]
    """
    path = os.fspath(source)
    number = 0
    with open_binary(path) as stream:
        for block in _blocks_of_lines(path, stream, on_error, longest):
            if block is None:
                number += 1
                continue
            try:
                lines = block.decode().replace("\r\n", "\n").split("\n")
            except UnicodeDecodeError:
                yield from _decoded_singly(path, block, number, on_error)
                number += block.count(b"\n") + (not block.endswith(b"\n"))
                continue
            if not lines[-1]:  # the block ends in a line end
                lines.pop()
            yield from enumerate(lines, start=number + 1)
            number += len(lines)


def is_model(start: bytes) -> bool:
    """Does a file that starts so hold a model?  Its length in eight bytes, then a JSON header."""
    return start[8:].startswith(b'{"__metadata__":{"eigentext":')


def not_utf8(line: bytes, at: int) -> str:
    """Why a line cannot be read: its byte ``at``.

    >>> not_utf8(b"caf\\xe9", 3)
    'not UTF-8: byte 0xe9 at position 4 of the line'
    """
    return f"not UTF-8: byte 0x{line[at]:02x} at position {at + 1} of the line"


def raise_or_tell(error: DataError, on_error: OnError | None) -> None:
    """What readers do with a bad item: stop, or tell of it and go on."""
    if on_error is None:
        raise error
    on_error(error)


def _blocks_of_lines(
    path: str, stream: io.BufferedReader, on_error: OnError | None, longest: int
) -> Iterator[bytes | None]:
    """Blocks of whole lines; only the last may lack its line end.  No byte is copied twice.

    None stands for a line that is too long and was left out.
    """
    pending: list[bytes] = []
    held = 0  # bytes of them
    line_ends = 0
    first = True
    in_long_line = False
    while True:
        try:
            # read1 loses nothing when the archive breaks: all before the break has been given out
            block = stream.read1(_BLOCK)
        except DataError as error:
            raise DataError(path, line_ends + 1, error.why) from error
        if first and block:
            while len(block) < len(_BOM) and (more := stream.read1(_BLOCK)):
                block += more
            if is_model(block):
                raise DataError(path, 1, NO_TEXT)
            block = block.removeprefix(_BOM)
            first = False
        elif not block:
            break
        if held + len(block) > longest and not in_long_line:
            end = block.find(b"\n")
            if held + (end if end >= 0 else len(block)) > longest:
                why = f"a line of more than {longest:,} bytes, the most that is read"
                raise_or_tell(DataError(path, line_ends + 1, why), on_error)
                in_long_line = True
        if in_long_line:
            pending, held = [], 0
            end = block.find(b"\n") + 1
            if not end:
                continue
            in_long_line = False
            block = block[end:]
            line_ends += 1
            yield None
        cut = block.rfind(b"\n") + 1
        if cut:
            whole = b"".join((*pending, block[:cut]))
            pending, held = [block[cut:]], len(block) - cut
            line_ends += whole.count(b"\n")
            yield whole
        else:
            pending.append(block)
            held += len(block)
    if rest := b"".join(pending):
        yield rest


def _decoded_singly(
    path: str, block: bytes, number: int, on_error: OnError | None
) -> Iterator[tuple[int, str]]:
    """The slow way through a block that holds bad bytes: each line by itself."""
    lines = block.split(b"\n")
    if not lines[-1]:
        lines.pop()
    last = len(lines) - 1
    ended = block.endswith(b"\n")
    for i, line in enumerate(lines):
        number += 1
        whole_line = line.removesuffix(b"\r") if i < last or ended else line
        try:
            yield number, whole_line.decode()
        except UnicodeDecodeError as error:
            why = not_utf8(whole_line, error.start)
            if number == 1 and line.startswith((b"\xff\xfe", b"\xfe\xff")):
                why += " (this looks like UTF-16; expected UTF-8)"
            raise_or_tell(DataError(path, number, why), on_error)
