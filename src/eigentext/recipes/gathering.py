"""The data of a recipe: found, checked, downloaded if that was asked for, and cut into parts.

1. Every file that the recipe names is looked for: those of a data set below the data folder, the
   user's own beside the recipe; the sample is written out of the package.
2. Sizes and checksums are held against the catalogue, or against what the recipe says.
3. ``Gathered.paths`` gives the files of ``train``, ``dev`` or ``test``; where a recipe takes only
   some sentences of a file they are written to a temporary one.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from eigentext.base.files.scratch import scratch_folder
from eigentext.datasets import catalogue
from eigentext.datasets.catalogue import data_folder, problems_of
from eigentext.datasets.sample import write_sample
from eigentext.errors import DataError, SettingsError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from eigentext.datasets.catalogue import Entry
    from eigentext.language.formats.conllu import ConlluBlock
    from eigentext.recipes.recipe import Part, Recipe


@dataclass(frozen=True)
class Gathered:
    """Where the files of a recipe lie, and their checksums, both by the names in the recipe."""

    recipe: Recipe
    places: dict[str, Path]
    sha256: dict[str, str]
    scratch: Path

    def paths(self, parts: tuple[Part, ...]) -> list[str]:
        """The files of these parts."""
        return [self._path(part) for part in parts]

    def texts(self) -> list[str]:
        """The files of text without annotation."""
        return [str(self.places[file]) for file in self.recipe.text]

    def _path(self, part: Part) -> str:
        file = self.places[part.file]
        if part.sentences is None and not self.recipe.typed:
            return str(file)
        if self.recipe.kind != "pipeline":
            why = "sentences: only CoNLL-U files of pipelines are cut into parts"
            raise SettingsError(f"recipe {self.recipe.name}: {why}")
        from eigentext.language.formats.conllu import read_sentences, write_sentences

        first, last = part.bounds
        sentences: Iterator[ConlluBlock] = islice(read_sentences(str(file)), first - 1, last)
        if self.recipe.typed:
            from eigentext.recipes.typed_words import as_typed

            sentences = as_typed(sentences, str(self.places[self.recipe.typed]))
        name = f"{part.sentences or 'all'}-{len(list(self.scratch.iterdir()))}.conllu"
        cut = self.scratch / name
        if not write_sentences(sentences, str(cut)):
            raise DataError(str(file), None, f"has no sentences {part.sentences}")
        return str(cut)


@contextmanager
def gathered(
    recipe: Recipe,
    data: str | os.PathLike[str] | None = None,
    *,
    download: bool = False,
    opener: catalogue.Opener | None = None,
) -> Iterator[Gathered]:
    """The data of a recipe, as long as the block lasts.

    ``data`` is the data folder; else the one that ``EIGENTEXT_DATA`` names.
    """
    with scratch_folder() as scratch:
        parts = Path(scratch, "parts")
        parts.mkdir()
        places: dict[str, Path] = {}
        sums: dict[str, str] = {}
        for entry in recipe.sets:
            folder = _folder(recipe, entry, data, Path(scratch), download, opener)
            for file in entry.files:
                if file.path in recipe.files:
                    places[file.path], sums[file.path] = folder / file.path, file.sha256
        home = recipe.path.parent if recipe.path else Path()
        stated = {path: digest for source in recipe.own for path, digest in source.sha256.items()}
        for name in recipe.files:
            if name not in places:
                places[name], sums[name] = home / name, _digest(home / name, stated.get(name))
        yield Gathered(recipe, places, sums, parts)


def _folder(
    recipe: Recipe,
    entry: Entry,
    data: str | os.PathLike[str] | None,
    scratch: Path,
    download: bool,
    opener: catalogue.Opener | None,
) -> Path:
    """The data folder in which the files of the set are right, as far as the recipe needs them."""
    if entry.kind == "sample":
        write_sample(scratch)
        return scratch
    folder = data_folder(data)
    if folder is None:
        raise SettingsError("no data folder: give --data FOLDER, or set EIGENTEXT_DATA")
    needed = [file for file in entry.files if file.path in recipe.files]
    problems = problems_of(needed, folder)
    if problems and download:
        catalogue.get(entry.name, folder, opener=opener)
        problems = problems_of(needed, folder)
        shared = data_folder()
        if problems and shared is not None:  # a right copy was there, and nothing was fetched
            folder, problems = shared, problems_of(needed, shared)
    if not problems:
        return folder
    path, kind, why = problems[0]
    if kind == "missing":
        loadable = all(file.url for file in entry.files)  # they come together
        way = f"--download fetches {entry.title} ({entry.bytes / 1e6:.1f} MB, {entry.licence})"
        why = f"not there: {way if loadable else entry.manual or 'see ' + entry.home}"
    raise DataError(str(path), None, why)


def _digest(path: Path, expected: str | None) -> str:
    """The checksum of a file, which is the expected one where there is one."""
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        why = "no such file" if missing else f"cannot be read: {error.strerror}"
        raise DataError(str(path), None, why) from error
    if expected is not None and digest != expected:
        raise DataError(str(path), None, f"has sha256 {digest}, the recipe says {expected}")
    return digest
