"""Where unfinished work waits: a folder that belongs to one job.

1. :func:`opened` makes the folder, with a marker in it, or takes one that carries the marker or is
   empty; anything else is someone's own folder and is refused.  It is locked while in use;
2. :func:`stage` gives the place for one kind of intermediate results.  Its key is the
   fingerprint of the settings and of the identity of the input; those of another key are removed;
3. at the end, and when the input turned out bad, what was made is removed, and the folder if we
   made it.  A full disk, a lost cluster or a kill leave all as it is, for the next run to go on.

Without a folder given, a temporary one is used, and nothing can be resumed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from eigentext.base.files.writing import MARKER, has_marker, scratch_folder, take_lock
from eigentext.counting.spill import disk_error
from eigentext.errors import EigentextError, ResourceError, SettingsError, StorageError

_STAGES = ("raw", "segments", "pairs", "result", "spill")
_MADE = b"The folder and all in it were made by eigentext.\n"


@contextlib.contextmanager
def opened(work_dir: str | os.PathLike[str] | None, *, keep: bool = False) -> Iterator[Path]:
    """The folder for this job; with ``keep`` its content stays when the block ends well."""
    if work_dir is None:
        with scratch_folder() as folder:
            yield folder
        return
    folder = Path(work_dir)
    with _locked(folder):
        shutil.rmtree(folder / "spill", ignore_errors=True)
        try:
            yield folder
        except (StorageError, ResourceError):
            raise  # with more disk, or another day, the work can go on
        except EigentextError:
            _remove(folder)  # bad input would fail again
            raise
        if not keep:
            _remove(folder)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Make or take the folder, and hold its marker."""
    created = False
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            created = True
        if not created and not has_marker(folder) and any(folder.iterdir()):
            raise SettingsError(
                f"{folder} is no work folder of eigentext and is left as it is: "
                "rename it, or choose another output or work folder"
            )
        marker = open(folder / MARKER, "a+b")  # noqa: SIM115
    except OSError as error:
        raise disk_error(folder, error) from error
    with marker:
        if not take_lock(marker) or not has_marker(folder):
            raise SettingsError(f"work folder {folder} is in use by another process")
        if created:
            marker.write(_MADE)
            marker.flush()
        yield


def clear(work_dir: str | os.PathLike[str]) -> None:
    """Remove the intermediate results in a work folder of ours, and the folder if we made it."""
    folder = Path(work_dir)
    if has_marker(folder):
        with _locked(folder):
            _remove(folder)


def _remove(folder: Path) -> None:
    """Remove what a stage may have left, then the marker."""
    for name in _STAGES:
        shutil.rmtree(folder / name, ignore_errors=True)
        for record in (f"{name}.key", f"{name}.key.unfinished"):
            (folder / record).unlink(missing_ok=True)
    created = (folder / MARKER).read_bytes() == _MADE
    (folder / MARKER).unlink()
    if created:
        with contextlib.suppress(OSError):  # something of the user's is in it
            folder.rmdir()


def stage(folder: Path, name: str, key: str) -> Path:
    """The place for a stage's results; emptied unless they were made under the same key."""
    stage_folder = folder / name
    try:
        same = (folder / f"{name}.key").read_text(encoding="utf-8") == key
    except (OSError, ValueError):
        same = False
    if not same:
        shutil.rmtree(stage_folder, ignore_errors=True)
        write_record(folder, f"{name}.key", key)
    return stage_folder


def write_record(folder: Path, name: str, record: str) -> None:
    """Write a small file, all or nothing."""
    unfinished = folder / (name + ".unfinished")
    try:
        unfinished.write_text(record, encoding="utf-8")
        os.replace(unfinished, folder / name)
    except OSError as error:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise disk_error(folder, error) from error
