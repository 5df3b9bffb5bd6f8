"""How every file is written: whole or not at all, and over no input of the same command.

1. :func:`atomic_write` opens a locked temporary name beside the target (a path or a URL);
2. the bytes pass a buffer, the packer that the suffix asks for, and a guard that turns failures
   into DataErrors;
3. when the block ends well the temporary file is synced and renamed, else it is removed.

:func:`scratch_folder` is for what is not meant to stay.  What a process that was killed left
behind is removed by the next one: a folder that carries the marker, a file beside the output that
has such a name; it is our user's, and no one holds its lock.  Nothing else is ever removed.

Inside :func:`one_command` :func:`will_write` lists outputs before any work is done, and whoever
opens an input calls :func:`check_input`: an output is refused, whatever it is called, through
links and hard links.  What :func:`was_written` is an input like others.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from eigentext.base.files.archives import packer, suffix_of
from eigentext.base.files.storage import Source, driver_errors, filesystem_of, is_url, reason
from eigentext.errors import DataError, StorageError

_BLOCK = 1 << 20
MARKER = ".eigentext-work"
_PREFIX = "eigentext-"
_FILE = re.compile(r"\.eigentext-[0-9a-f]{16}\.tmp")
_LOCAL = ("file://", "local://", "sqlite:///")
_Identity = tuple[int, int] | str

_outputs: ContextVar[dict[_Identity, str] | None] = ContextVar("_outputs", default=None)


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


@contextlib.contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """A fresh folder, gone at the end of the block: in ``parent``, or where temporary files are.

    >>> with scratch_folder() as folder:
    ...     folder.is_dir()
    True
    >>> folder.exists()
    False
    """
    parent = parent or Path(tempfile.gettempdir())
    _remove_abandoned(parent)
    # named before it is made, so that a signal at any moment finds it to be removed
    folder = parent / f"{_PREFIX}{secrets.token_hex(16)}"
    ours = True
    try:
        try:
            folder.mkdir(mode=0o700)
            lock = open(folder / "marker", "xb")  # noqa: SIM115
        except OSError as error:
            ours = not isinstance(error, FileExistsError)
            why = f"cannot make a temporary folder: {reason(error)}"
            raise StorageError(str(parent), None, why) from error
        with lock:
            take_lock(lock)
            os.rename(folder / "marker", folder / MARKER)  # the marker is never seen unlocked
            yield folder
    finally:
        if ours:
            shutil.rmtree(folder, ignore_errors=True)


def has_marker(folder: Path) -> bool:
    """Whether the marker, a plain file, is in the folder."""
    try:
        return stat.S_ISREG(os.lstat(folder / MARKER).st_mode)
    except OSError:
        return False


def scratch_file(folder: str) -> tuple[str, IO[bytes]]:
    """A fresh file in the folder, open and locked; those that killed processes left are removed.

    >>> with scratch_folder() as folder:
    ...     path, file = scratch_file(str(folder))
    ...     file.close()
    ...     _FILE.fullmatch(os.path.basename(path)) is not None
    True
    """
    _remove_abandoned_files(folder)
    while True:
        path = os.path.join(folder, f".eigentext-{secrets.token_hex(8)}.tmp")
        file = open(path, "xb", buffering=0)  # noqa: SIM115
        take_lock(file, wait=True)
        if os.path.exists(path):
            return path, file
        file.close()  # before it was locked, another process took it for abandoned


def take_lock(file: IO[bytes], *, wait: bool = False) -> bool:
    """Hold the lock until the file is closed or the process dies; False: another one holds it."""
    try:
        import fcntl
    except ImportError:  # no advisory locks on this system
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _remove_abandoned(parent: Path) -> None:
    """Remove the folders that processes left behind when they were killed."""
    for folder in parent.glob(_PREFIX + "*"):
        if _is_ours(folder, stat.S_ISDIR) and has_marker(folder):
            with contextlib.suppress(OSError), open(folder / MARKER, "rb") as lock:
                if take_lock(lock):
                    shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned_files(folder: str) -> None:
    """Remove the files that processes left behind when they were killed."""
    with contextlib.suppress(OSError):
        for path in (Path(folder, name) for name in os.listdir(folder) if _FILE.fullmatch(name)):
            if _is_ours(path, stat.S_ISREG):
                with contextlib.suppress(OSError), open(path, "rb") as lock:
                    if take_lock(lock):
                        path.unlink()


def _is_ours(path: Path, is_kind: Callable[[int], bool]) -> bool:
    """Whether it is our user's, and no link."""
    if not hasattr(os, "getuid"):
        return False  # without locks no one can tell what is abandoned from what is in use
    with contextlib.suppress(OSError):
        about = os.lstat(path)
        return is_kind(about.st_mode) and about.st_uid == os.getuid()
    return False


@contextlib.contextmanager
def one_command() -> Iterator[None]:
    """What is written in the block must not be read in it before.

    >>> with one_command():
    ...     will_write("memory://doc/a.txt")
    ...     check_input("memory://doc/a.txt")
    Traceback (most recent call last):
    eigentext.errors.DataError: memory://doc/a.txt: an input of this command and its output too, \
expected another file to write to
    """
    token = _outputs.set({})
    try:
        yield
    finally:
        _outputs.reset(token)


def will_write(path: Source) -> None:
    """An output, refused where another one is the same file."""
    outputs = _outputs.get()
    shown = os.fspath(path)
    if outputs is None or (identity := _identity(shown)) is None:
        return
    if identity in outputs:
        why = "two outputs of this command are this file, expected one each"
        raise DataError(shown, None, why)
    outputs[identity] = _real(shown)


def check_input(source: Source | int) -> None:
    """Refuse an input, a path or what is open, that this command is to write over."""
    outputs = _outputs.get()
    if outputs and (identity := _identity(source)) in outputs:
        why = "an input of this command and its output too, expected another file to write to"
        shown = outputs[identity] if isinstance(source, int) else str(source)
        raise DataError(shown, None, why)


def was_written(path: Source) -> None:
    """The file is new: the old one's number may be that of any other file from now on."""
    if outputs := _outputs.get():
        real = _real(os.fspath(path))
        for identity in [key for key, output in outputs.items() if output == real]:
            del outputs[identity]


def _real(path: str) -> str:
    for scheme in _LOCAL:
        path = path.removeprefix(scheme)
    return path if is_url(path) else os.path.realpath(path)


def _identity(source: Source | int) -> _Identity | None:
    """What two names of one file have in common; nothing for pipes, devices and ``-``."""
    where = source if isinstance(source, int) else _real(os.fspath(source))
    if source == "-" or (isinstance(where, str) and is_url(where)):
        return None if source == "-" else str(where)
    try:
        about = os.stat(where)
    except FileNotFoundError:
        return str(where)
    except (OSError, ValueError):
        return None  # who opens it says what is wrong
    return (about.st_dev, about.st_ino) if stat.S_ISREG(about.st_mode) else None
