"""Folders for what is not meant to stay, and how one tells that they are ours.

1. :func:`scratch_folder` makes a temporary folder with a locked marker in it, and removes it at
   the end, whatever happens;
2. what a process that was killed left behind is removed by the next one: a folder in the same
   place that is our user's, carries the marker, and whose lock no one holds.

Nothing without the marker is ever removed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

from eigentext.base.files.storage import reason
from eigentext.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MARKER", "has_marker", "scratch_folder", "take_lock"]

MARKER = ".eigentext-work"
_PREFIX = "eigentext-"


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


def take_lock(file: IO[bytes]) -> bool:
    """Hold the lock until the file is closed or the process dies; False: another one holds it."""
    try:
        import fcntl
    except ImportError:  # no advisory locks on this system
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_abandoned(parent: Path) -> None:
    """Remove the folders that processes left behind when they were killed."""
    if not hasattr(os, "getuid"):
        return  # without locks no one can tell an abandoned folder from one in use
    for folder in parent.glob(_PREFIX + "*"):
        with contextlib.suppress(OSError):
            about = os.lstat(folder)
            if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid():
                continue
            if has_marker(folder):
                with open(folder / MARKER, "rb") as lock:
                    if take_lock(lock):
                        shutil.rmtree(folder, ignore_errors=True)
