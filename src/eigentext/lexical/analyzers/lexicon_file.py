"""A lexicon of the user's own: a table of forms and their readings.

The file is UTF-8, columns separated by tabs, the first line names them: ``form`` and ``lemma`` are
needed; ``tag``, ``vocalised``, ``gloss``, ``root`` and ``prior`` (a base-10 logarithm) may stand
there; ``features`` is a column of ``Name=Value|Name=Value``; any other column is a feature of its
own name (a cell ``_`` or an empty cell says nothing).
"""

from __future__ import annotations

import math
import os

from eigentext.base.files.opening import numbered_lines
from eigentext.errors import DataError
from eigentext.lexical.analysis import Analysis, check_word

_COLUMNS = ("form", "lemma", "tag", "vocalised", "gloss", "root", "prior", "features")


class LexiconAnalyzer:
    """Readings out of a table; words that it lacks are guesses (the form is the lemma).

    Args:
        path: the table
        fold_case: also look a word up in lower case when it is not there as typed
    """

    name = "lexicon"

    def __init__(self, path: str | os.PathLike[str], *, fold_case: bool = True) -> None:
        self._table = read_lexicon(path)
        self._fold_case = fold_case

    def normalise(self, word: str) -> str:
        """The word, or its lower case if only that is in the table."""
        if check_word(word) in self._table or not self._fold_case:
            return word
        return word.lower()

    def analyse(self, word: str) -> list[Analysis]:
        """All readings of the word, in the order of the table."""
        if not check_word(word):
            return []
        readings = self._table.get(word) or self._table.get(self.normalise(word))
        return list(readings or [Analysis.whole(word, "X")])


def read_lexicon(path: str | os.PathLike[str]) -> dict[str, list[Analysis]]:
    """Read the table; every fault names its line."""
    table: dict[str, list[Analysis]] = {}
    names: list[str] = []
    for number, text in numbered_lines(path):
        cells = text.split("\t")
        if not names:
            names = cells
            for needed in ("form", "lemma"):
                if needed not in names:
                    why = f"expected a column {needed!r} in the first line, found {names}"
                    raise DataError(str(path), number, why)
            if len(set(names)) < len(names) or "" in names:
                raise DataError(str(path), number, "expected each column to have its own name")
            continue
        if not text.strip():
            continue
        if len(cells) != len(names):
            why = f"expected {len(names)} columns, found {len(cells)}"
            raise DataError(str(path), number, why)
        row = {k: v for k, v in zip(names, cells, strict=True) if v not in ("", "_")}
        if "form" not in row or "lemma" not in row:
            raise DataError(str(path), number, "expected a form and a lemma")
        reading = _reading(row, str(path), number)
        table.setdefault(row["form"], []).append(reading)
    if not table:
        raise DataError(str(path), None, "expected at least one entry")
    return table


def _reading(row: dict[str, str], path: str, number: int) -> Analysis:
    features = {name: value for name, value in row.items() if name not in _COLUMNS}
    for item in row.get("features", "").split("|"):
        name, equals, value = item.partition("=")
        if item and not (equals and name):
            raise DataError(path, number, f"expected Name=Value, found {item!r}")
        if item:
            features[name] = value
    prior = None
    if "prior" in row:
        try:
            prior = float(row["prior"])
        except ValueError:
            prior = math.nan
        if not math.isfinite(prior):
            raise DataError(path, number, f"expected a number as prior, found {row['prior']!r}")
    form, tag = row["form"], row.get("tag", features.get("upos", "X"))
    texts = row["lemma"], row.get("vocalised", form)
    gloss, root = row.get("gloss", ""), row.get("root", "")
    return Analysis(*texts, ((form, tag),), tag, features, gloss, root, prior, "lexicon")
