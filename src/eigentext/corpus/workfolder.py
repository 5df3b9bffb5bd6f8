"""Where unfinished work waits: a folder that belongs to one job.

1. :func:`opened` locks the folder, compares the manifest it finds (package version, settings, and
   name, size and time of each file) with that of the job, and empties the folder when they differ;
2. segments and runs are written there under names that tell which part of the job they are;
3. :func:`clear` removes what belongs to us, and the folder if nothing else is in it.

Without a folder given, a temporary one is used and removed at the end, and nothing can be resumed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from eigentext.corpus.spill import disk_error
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["MANIFEST", "clear", "opened", "same_stage"]

MANIFEST = "manifest.json"
_LOCK = "lock"
_OURS = ("segments", "pairs", "result", "spill")


@contextlib.contextmanager
def opened(work_dir: str | os.PathLike[str] | None, manifest: Mapping[str, Any]) -> Iterator[Path]:
    """The folder for this job, locked while it is in use."""
    if work_dir is None:
        with tempfile.TemporaryDirectory(prefix="eigentext-") as name:
            yield Path(name)
        return
    folder = Path(work_dir)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = open(folder / _LOCK, "a+b")  # noqa: SIM115
    except OSError as error:
        raise disk_error(folder, error) from error
    with lock:
        _take(lock, folder)
        wanted = json.dumps(dict(manifest), sort_keys=True)
        if not same_stage(folder, MANIFEST, wanted):
            _empty(folder)
            write_stage(folder, MANIFEST, wanted)
        shutil.rmtree(folder / "spill", ignore_errors=True)
        yield folder


def _take(lock: IO[bytes], folder: Path) -> None:
    """Hold the lock until the file is closed or the process dies."""
    try:
        import fcntl
    except ImportError:  # no advisory locks on this system
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise SettingsError(f"work folder {folder} is in use by another process") from error


def same_stage(folder: Path, name: str, wanted: str) -> bool:
    """Whether the record of a stage is there and says the same."""
    try:
        return (folder / name).read_text(encoding="utf-8") == wanted
    except (OSError, ValueError):
        return False


def write_stage(folder: Path, name: str, record: str) -> None:
    """Write the record of a stage, all or nothing."""
    unfinished = folder / (name + ".unfinished")
    try:
        unfinished.write_text(record, encoding="utf-8")
        os.replace(unfinished, folder / name)
    except OSError as error:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise disk_error(folder, error) from error


def _empty(folder: Path) -> None:
    for name in _OURS:
        shutil.rmtree(folder / name, ignore_errors=True)
    for file in folder.glob("*.json"):
        if file.name in (MANIFEST, "pairs.json"):
            file.unlink(missing_ok=True)


def clear(work_dir: str | os.PathLike[str]) -> None:
    """Remove the intermediate results in a work folder, and the folder when it is then empty."""
    folder = Path(work_dir)
    _empty(folder)
    (folder / _LOCK).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # something of the user's is in it
        folder.rmdir()
