"""The data of a recipe: found, checked, downloaded if that was asked for, and cut into parts.

1. Every file that the recipe names is looked for: those of a data set below the data folder, the
   user's own beside the recipe; the sample is written out of the package.
2. Sizes and checksums are held against the catalogue, or against what the recipe says.
3. ``Gathered.paths`` gives the files of ``train``, ``dev`` or ``test``; where a recipe takes only
   some sentences of a file they are written to a temporary one.
4. Words that are typed without their vowel signs get the forms of :func:`as_typed`.

The treebank has the words of syntax with their vowel signs, ``words.jsonl`` (see `lexical`) the
words as they are typed and, in ``vocalised``, the treebank's words that each of them stands for,
with ``+`` between them.  A typed word that stands for one word gives it its form; one that stands
for several becomes a multiword token over them, whose forms lose their marks (``للحظر`` is ``ل``
and ``الحظر``).  Such data does not say where blanks are: there is none before closing punctuation
and behind opening one, as one types."""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import category

from eigentext.base.files.opening import numbered_lines
from eigentext.base.files.writing import scratch_folder
from eigentext.datasets import catalogue
from eigentext.datasets.catalogue import data_folder, problems_of
from eigentext.datasets.sample import write_sample
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats.conllu import ConlluBlock, conllu_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from eigentext.datasets.catalogue import Entry
    from eigentext.recipes.recipe import FilePart, Recipe


@dataclass(frozen=True)
class Gathered:
    """Where the files of a recipe lie, and their checksums, both by the names in the recipe."""

    recipe: Recipe
    places: dict[str, Path]
    sha256: dict[str, str]
    scratch: Path

    def paths(self, parts: tuple[FilePart, ...]) -> list[str]:
        """The files of these parts."""
        return [self._path(part) for part in parts]

    def texts(self) -> list[str]:
        """The files of text without annotation."""
        return [str(self.places[file]) for file in self.recipe.text]

    def _path(self, part: FilePart) -> str:
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


_CLOSING = frozenset(".,;:?!…،؛؟۔")
_NO_SPACE = "SpaceAfter=No"


def as_typed(sentences: Iterable[ConlluBlock], words: str) -> Iterator[ConlluBlock]:
    """The sentences with the forms of the file ``words``, which has them in the same order.

    The file may have other sentences before, between and behind them.
    """
    typed_lines = _read(words)
    for sentence in sentences:
        forms = list(sentence.forms)
        for typed in typed_lines:
            if (units := _units(typed, forms)) is not None:
                yield _typed(sentence, units)
                break
        else:
            why = f"has no typed words for the sentence at line {sentence.first_line} of "
            raise DataError(words, None, f"{why}{sentence.source}")


def _read(path: str) -> Iterator[list[tuple[str, str]]]:
    """Line by line, the words as typed and as the treebank has them."""
    for number, line in numbered_lines(path):
        try:
            record: Any = json.loads(line)
            yield [(word["form"], word["vocalised"]) for word in record["words"]]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            why = f"expected words with form and vocalised: {error}"
            raise DataError(path, number, why) from error


def _units(typed: list[tuple[str, str]], forms: list[str]) -> list[tuple[str, int]] | None:
    """For each typed word its form and the number of words it stands for; None: other words."""
    units, at = [], 0
    for form, vocalised in typed:
        if vocalised == (forms[at] if at < len(forms) else None):
            pieces = [vocalised]
        else:
            pieces = vocalised.split("+")
        if forms[at : at + len(pieces)] != pieces:
            return None
        # a mark that stands alone is typed as it is
        units.append((form or "".join(pieces), len(pieces)))
        at += len(pieces)
    return units if at == len(forms) else None


def _typed(sentence: ConlluBlock, units: list[tuple[str, int]]) -> ConlluBlock:
    rows = sentence.rows
    multiword = []
    at = 0
    for number, (form, size) in enumerate(units):
        after = units[number + 1][0] if number + 1 < len(units) else ""
        misc = _NO_SPACE if _joined(form, after) else "_"
        if size > 1:
            multiword.append((at + 1, at + size, form, misc))
        for row in rows[at : at + size]:
            row[1] = form if size == 1 else _without_marks(row[1])
            row[9] = misc if size == 1 else "_"
        at += size
    _, *columns = zip(*rows, strict=True)
    lines = [*sentence.comments, *conllu_rows(columns, multiword)]
    return ConlluBlock("\n".join(lines) + "\n\n")


def _joined(form: str, after: str) -> bool:
    """Whether no blank stands between two typed words.

    >>> _joined("(", "a"), _joined("a", ")"), _joined("a", "،"), _joined("a", "b")
    (True, True, True, False)
    """
    opens = len(form) == 1 and category(form) in ("Ps", "Pi")
    closes = len(after) == 1 and (category(after) in ("Pe", "Pf") or after in _CLOSING)
    return opens or closes


def _without_marks(form: str) -> str:
    """The letters of a form.

    >>> _without_marks("اَلحَظرِ")
    'الحظر'
    """
    return "".join(letter for letter in form if category(letter) != "Mn") or form
