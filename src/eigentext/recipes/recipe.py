"""What a recipe says: which data, on which terms, and how good the model must be.

A recipe is a small TOML file.  Those of this package lie beside this module; a user's own is named
by its path.

1. ``sources`` names data sets of the catalogue (``eigentext data list``), or describes data of the
   user's own: ``{ name = "mine", licence = "CC0" }``, with ``home``, ``terms`` and ``sha256`` (of
   each file, by its path) where they are known.
2. ``train``, ``dev`` and ``test`` name files: of a data set by their place below the data folder,
   the user's own by their place below the folder of the recipe.  ``sentences = "1-1900"`` takes a
   part of one.
3. ``text`` names plain text without annotation, whose clusters of words are features (of entities:
   tokenised, a sentence a line).
4. ``settings`` are those of the model; ``expected`` are its scores on ``test``, of which none may
   be missed by more than ``tolerance``.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

from eigentext.base.files.opening import open_binary
from eigentext.base.registry import is_name
from eigentext.datasets.catalogue import Entry
from eigentext.datasets.catalogue import find as find_set
from eigentext.errors import DataError, SettingsError

Kind = Literal["pipeline", "constituency", "ner"]

_STRICT = ConfigDict(frozen=True, extra="forbid")
_RANGE = re.compile(r"([1-9]\d*)?-([1-9]\d*)?")
_NON_COMMERCIAL = re.compile(r"\bNC\b|(non-?|not for )commercial", re.IGNORECASE)
_SHA256 = "^[0-9a-f]{64}$"


def _known_set(name: str) -> str:
    try:
        find_set(name)
    except SettingsError as error:
        raise ValueError(str(error)) from error
    return name


def _sentence_range(text: str) -> str:
    numbers = _RANGE.fullmatch(text)
    if numbers is None or text == "-":
        raise ValueError(
            f"expected numbers of sentences such as '1-1900' or '1901-', not {text!r}"
        )
    first, last = numbers.groups()
    if first and last and int(first) > int(last):
        raise ValueError(f"{text!r} has no sentence in it")
    return text


class FilePart(BaseModel):
    """A file, or some sentences of it, counted from 1."""

    model_config = _STRICT

    file: str = Field(min_length=1)
    sentences: Annotated[str, AfterValidator(_sentence_range)] | None = None

    @property
    def bounds(self) -> tuple[int, int | None]:
        """Numbers of the first and the last sentence; None: to the end.

        >>> FilePart(file="a.conllu", sentences="11-20").bounds, FilePart(file="a.conllu").bounds
        ((11, 20), (1, None))
        """
        first, _, last = (self.sentences or "-").partition("-")
        return int(first or 1), int(last) if last else None

    def __str__(self) -> str:
        return self.file if self.sentences is None else f"{self.file}, sentences {self.sentences}"


def _parts(listed: object) -> Any:
    """A file may be named by a bare string, and a single one without a list."""
    items = listed if isinstance(listed, list) else [listed]
    return [{"file": item} if isinstance(item, str) else item for item in items]


_Parts = Annotated[tuple[FilePart, ...], BeforeValidator(_parts)]


class OwnData(BaseModel):
    """Data that is in no catalogue: what it is called, and on which terms it may be used."""

    model_config = _STRICT

    name: str = Field(min_length=1)
    licence: str = Field(min_length=1)
    title: str = ""
    terms: str = ""
    home: str = ""
    sha256: dict[str, Annotated[str, Field(pattern=_SHA256)]] = Field(default_factory=dict)


_Source = Annotated[
    Annotated[str, AfterValidator(_known_set), Tag("set")] | Annotated[OwnData, Tag("own")],
    Discriminator(lambda source: "set" if isinstance(source, str) else "own"),
]


class Ready(BaseModel):
    """A model made by this recipe that can be had ready."""

    model_config = _STRICT

    url: str
    sha256: str = Field(pattern=_SHA256)


class Recipe(BaseModel):
    """How a model is made; see the module."""

    model_config = _STRICT

    name: str
    title: str = Field(min_length=1)
    kind: Kind
    language: str = Field(min_length=1)
    note: str = ""
    sources: tuple[_Source, ...] = Field(min_length=1)
    train: _Parts = Field(min_length=1)
    dev: _Parts = ()
    test: _Parts = Field(min_length=1)
    text: tuple[str, ...] = ()
    typed: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    tolerance: float = Field(default=0.5, ge=0)
    expected: dict[str, float] = Field(default_factory=dict)
    ready: Ready | None = None

    #: the file it was read from; a recipe of this package has none
    path: Path | None = Field(default=None, exclude=True)

    @model_validator(mode="after")
    def _makes_sense(self) -> Recipe:
        if not is_name(self.name):
            raise ValueError(f"name: expected letters, digits, - and _, not {self.name!r}")
        if self.typed and self.kind != "pipeline":
            raise ValueError("typed is for pipelines")
        if self.text and self.kind == "constituency":
            raise ValueError("text is for pipelines and entities")
        in_sets = {file.path for entry in self.sets for file in entry.files}
        for file in self.files:
            if file not in in_sets and not self.own:
                raise ValueError(f"{file} is not a file of {', '.join(e.name for e in self.sets)}")
        for parts in (self.train, self.dev):
            if overlap := _overlap(parts, self.test):
                raise ValueError(f"{overlap} is in test, too")
        return self

    @property
    def sets(self) -> list[Entry]:
        """Its data sets of the catalogue."""
        return [find_set(source) for source in self.sources if isinstance(source, str)]

    @property
    def own(self) -> list[OwnData]:
        """Its data that is in no catalogue."""
        return [source for source in self.sources if isinstance(source, OwnData)]

    @property
    def origins(self) -> list[Entry | OwnData]:
        """All its data."""
        return [*self.sets, *self.own]

    @property
    def files(self) -> list[str]:
        """All files that it needs, each once."""
        parts = (part.file for part in (*self.train, *self.dev, *self.test))
        more = (*self.text, *([self.typed] if self.typed else ()))
        return list(dict.fromkeys([*parts, *more]))

    @property
    def licence(self) -> str:
        """The licences of all its data.

        >>> find_recipe("english").licence
        'CC BY-SA 4.0'
        """
        return "; ".join(dict.fromkeys(each.licence for each in self.origins))

    @property
    def non_commercial(self) -> bool:
        """Whether some of its data is not for commercial use, which binds the model too.

        >>> find_recipe("english").non_commercial, find_recipe("hungarian").non_commercial
        (False, True)
        """
        said = (f"{each.licence} {each.terms}" for each in self.origins)
        return any(_NON_COMMERCIAL.search(text) for text in said)

    @property
    def command(self) -> str:
        """The command that makes it."""
        return f"eigentext model make {self.name if self.path is None else self.path.name}"


def _overlap(parts: tuple[FilePart, ...], others: tuple[FilePart, ...]) -> str:
    """The first part that shares a sentence with another."""
    for part in parts:
        for other in others:
            (first, last), (its_first, its_last) = part.bounds, other.bounds
            before = last is not None and last < its_first
            after = its_last is not None and its_last < first
            if part.file == other.file and not before and not after:
                return str(part)
    return ""


def read_recipe(path: str | os.PathLike[str]) -> Recipe:
    """A recipe of the user's own."""
    with open_binary(path) as stream:
        content = stream.read()
    return _parse(content, os.fspath(path)).model_copy(update={"path": Path(path)})


def _parse(content: bytes, source: str) -> Recipe:
    try:
        stated = tomllib.loads(content.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(source, None, f"expected TOML: {error}") from error
    if "path" in stated:
        raise DataError(source, None, "path: a recipe has no such entry")
    try:
        return Recipe.model_validate(stated)
    except ValidationError as error:
        first = error.errors()[0]
        entry = ".".join(str(step) for step in first["loc"] if step not in ("set", "own"))
        why = first["msg"].removeprefix("Value error, ")
        raise DataError(source, None, f"{entry}: {why}" if entry else why) from error


@cache
def _own_recipes() -> dict[str, Recipe]:
    folder = files("eigentext.recipes")
    by_name = {}
    for file in sorted(folder.iterdir(), key=lambda each: each.name.removesuffix(".toml")):
        if file.name.endswith(".toml"):
            recipe = _parse(file.read_bytes(), file.name)
            if file.name != f"{recipe.name}.toml":
                raise DataError(file.name, None, f"holds the recipe of {recipe.name}")
            by_name[recipe.name] = recipe
    return by_name


def recipes() -> list[Recipe]:
    """The recipes of this package, in order.

    >>> "hungarian" in {recipe.name for recipe in recipes()}
    True
    """
    return list(_own_recipes().values())


def find_recipe(name: str | os.PathLike[str]) -> Recipe:
    """The recipe of this name, or in this file: one that ends in ``.toml`` or has a folder.

    >>> find_recipe("hungarain")
    Traceback (most recent call last):
    ...
    eigentext.errors.SettingsError: no recipe 'hungarain': did you mean hungarian?
    """
    text = os.fspath(name)
    if text.endswith(".toml") or os.sep in text:
        return read_recipe(text)
    by_name = _own_recipes()
    if text in by_name:
        return by_name[text]
    close = difflib.get_close_matches(text, by_name, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(by_name)}"
    raise SettingsError(f"no recipe {text!r}: {hint}")
