"""Folders and files that are not meant to stay, and how one tells that they are ours.

1. :func:`scratch_folder` makes a temporary folder with a locked marker in it, and removes it at
   the end, whatever happens;
2. :func:`scratch_file` makes a locked file beside an output, to be renamed or removed;
3. what a process that was killed left behind is removed by the next one: a folder in the same
   place that carries the marker, a file beside the output that has such a name; it is our user's,
   and no one holds its lock.

Nothing without the marker or the name is ever removed.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

from eigentext.base.files.storage import reason
from eigentext.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MARKER = ".eigentext-work"
_PREFIX = "eigentext-"
_FILE = re.compile(r"\.eigentext-[0-9a-f]{16}\.tmp")


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
