"""How every file is written: whole or not at all.

1. :func:`atomic_write` opens a temporary name beside the target (a path or an fsspec URL);
2. the bytes pass a buffer, the packer that the suffix asks for, and a guard that turns failures
   into DataErrors;
3. when the block ends well the temporary file is synced and renamed, else it is removed.

:mod:`eigentext.base.files.opening` gives these names out, so that readers and writers have one
door.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import shutil
import stat
import sys
from typing import IO, TYPE_CHECKING, Any, BinaryIO, cast

from eigentext.base.files.archives import packer, suffix_of
from eigentext.base.files.outputs import was_written
from eigentext.base.files.scratch import scratch_file
from eigentext.base.files.storage import Source, driver_errors, filesystem_of, is_url, reason
from eigentext.errors import DataError, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_BLOCK = 1 << 20


class _GuardedWriter(io.RawIOBase):
    """A raw stream whose failures are DataErrors and which swallows all once it was given up.

    Compressors and buffers write once more when they are closed; after a failure that must neither
    raise a second error nor write anything.
    """

    def __init__(self, path: str, push: Callable[[Any], Any]) -> None:
        self._path = path
        self._push = push
        self.given_up = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self.given_up:
            return len(data)
        try:
            written = self._push(data)
        except BrokenPipeError:
            self.given_up = True
            raise  # the reader of our output went away: the command line ends quietly
        except OSError as error:
            self.given_up = True
            raise _cannot_write(self._path, error) from error
        return len(data) if written is None else int(written)


def _cannot_write(path: str, error: OSError) -> DataError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(path, None, f"disk full: cannot write ({reason(error)})")
    if isinstance(error, FileNotFoundError):
        folder = os.path.dirname(path) or "."
        return DataError(path, None, f"no such folder: {folder}")
    if isinstance(error, IsADirectoryError):
        return DataError(path, None, "a folder, expected a file name to write to")
    return StorageError(path, None, f"cannot write: {reason(error)}")


@contextlib.contextmanager
def atomic_write(path: Source, *, packed: bool = True) -> Iterator[BinaryIO]:
    """A stream whose bytes become the file only when the block ends well.

    Packed when the name ends in .gz, .xz, .zst or .bz2 (same bytes in, same file out), unless
    ``packed`` is false: the bytes are so already.  They go to a temporary name in the same folder,
    are synced, and renamed; an exception or Ctrl-C removes them and leaves an old file as it was.
    ``-`` is standard output; it, pipes and devices are written to directly.

    >>> with atomic_write("memory://doc/a.txt") as out:
    ...     _ = out.write(b"whole or not at all")
    """
    target = os.fspath(path)
    if target == "-":
        way = _to_stdout()
    elif is_url(target):
        way = _to_url(target)
    else:
        way = _to_path(target)
    with way as guard:
        packing = packer(suffix_of(target) if packed else "", cast("BinaryIO", guard))
        # closing goes outermost first, and each layer flushes into the next
        with io.BufferedWriter(packing, _BLOCK) as out:
            try:
                yield out
            except BaseException:
                # what went to standard output before the failure is not taken back
                guard.given_up |= target != "-"
                raise


@contextlib.contextmanager
def _to_stdout() -> Iterator[_GuardedWriter]:
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        raise DataError("-", None, "standard output is not open for bytes")
    sys.stdout.flush()
    yield _GuardedWriter("-", stream.write)
    try:
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _cannot_write("-", error) from error


@contextlib.contextmanager
def _to_path(target: str) -> Iterator[_GuardedWriter]:
    try:
        real = os.path.realpath(target)  # a link stays a link: what it points to is replaced
        mode = os.stat(target).st_mode if os.path.exists(target) else None
        if not target or target.endswith(("/", os.sep)) or (mode and stat.S_ISDIR(mode)):
            raise IsADirectoryError(errno.EISDIR, "is a folder")
        if mode is not None and not stat.S_ISREG(mode):
            # a device or a pipe must not be replaced by a file; /dev/fd/63 leads to no real path
            temporary: str | None = None
            handle: IO[bytes] = open(target, "wb", buffering=0)  # noqa: SIM115
        else:
            temporary, handle = scratch_file(os.path.dirname(real))
    except (OSError, ValueError) as error:
        as_os = error if isinstance(error, OSError) else OSError(str(error))
        raise _cannot_write(target, as_os) from error
    try:
        with handle:
            yield _GuardedWriter(target, handle.write)
            if temporary is not None:
                _finish(target, lambda: os.fsync(handle.fileno()))
                if os.name == "nt":  # where what is open cannot be renamed
                    handle.close()
                if mode is not None:
                    shutil.copymode(real, temporary)
                # still locked: no other process may take it for abandoned
                _finish(target, lambda: os.replace(temporary, real))
                was_written(real)
    except BaseException:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise
    if temporary is not None:
        _sync_folder(os.path.dirname(real))


def _finish(target: str, step: Callable[[], None]) -> None:
    try:
        step()
    except OSError as error:
        raise _cannot_write(target, error) from error


def _sync_folder(folder: str) -> None:
    """The rename itself reaches the disk; systems that cannot sync a folder are left alone."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def _to_url(url: str) -> Iterator[_GuardedWriter]:
    with driver_errors(url, "cannot write"):
        filesystem, inner = filesystem_of(url)
        if filesystem.isdir(inner):
            raise DataError(url, None, "a folder, expected a file name to write to")
    if url.startswith(("file://", "local://")):
        with _to_path(inner) as guard:
            yield guard
        return
    temporary = f"{inner}.eigentext-{secrets.token_hex(8)}.tmp"
    handle = None
    try:
        with driver_errors(url, "cannot write"):
            handle = filesystem.open(temporary, "wb")
        yield _GuardedWriter(url, handle.write)
        with driver_errors(url, "cannot write"):
            handle.close()  # an object store keeps the bytes only from here on
            filesystem.mv(temporary, inner)
            was_written(url)
    except BaseException:
        with contextlib.suppress(Exception):
            if handle is not None:
                (getattr(handle, "discard", None) or handle.close)()
        with contextlib.suppress(Exception):
            filesystem.rm(temporary)
        raise


def check_writable(*paths: Source | None) -> None:
    """Fail now, before long work, where :func:`atomic_write` would only fail at its end.

    Looks at the folder of each path; None and ``-`` pass.

    >>> check_writable("result.txt", "-", None)
    >>> check_writable("no/such/folder/result.txt")
    Traceback (most recent call last):
    eigentext.errors.DataError: no/such/folder/result.txt: no such folder: no/such/folder
    """
    for path in paths:
        target = "-" if path is None else os.fspath(path)
        inner = target
        if target != "-" and is_url(target):
            with driver_errors(target, "cannot write"):
                filesystem, inner = filesystem_of(target)
                if filesystem.isdir(inner):
                    raise DataError(target, None, "a folder, expected a file name to write to")
            if not target.startswith(("file://", "local://")):
                continue
        if target != "-":
            _finish(target, lambda inner=inner: _check_folder(inner))  # type: ignore[misc]


def _check_folder(path: str) -> None:
    real = os.path.realpath(path)
    folder = os.path.dirname(real)
    if not path or path.endswith(("/", os.sep)) or os.path.isdir(real):
        raise IsADirectoryError(errno.EISDIR, "is a folder")
    if os.path.exists(path) and not os.path.isfile(path):
        return  # a device or a pipe is written to directly
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "no such folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def write_lines(path: Source, lines: Iterable[str]) -> int:
    r"""Write lines as UTF-8, each with ``\n``, by :func:`atomic_write`; gives their number.

    >>> write_lines("memory://doc/lines.txt", ["one", "two"])
    2
    """
    if isinstance(lines, str):
        raise TypeError("write_lines() takes a list of lines, not one string: [line]")
    target = os.fspath(path)
    number = 0
    with atomic_write(target) as out:
        for number, line in enumerate(lines, start=1):
            if "\n" in line:
                raise DataError(target, number, f"a line end inside a line: {line[:60]!r}")
            try:
                out.write(line.encode() + b"\n")
            except UnicodeEncodeError as error:
                why = f"a lone surrogate, which UTF-8 cannot hold: {line[:60]!r}"
                raise DataError(target, number, why) from error
    return number
