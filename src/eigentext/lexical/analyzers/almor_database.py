"""Read a morphological database of the ALMOR kind: prefixes, stems, suffixes and what may meet.

The file is UTF-8 text in sections, each opened by a line such as ``###STEMS###``:
``DEFINES`` (``DEFINE feature feature:value ...``; ``*open*``: any value); ``DEFAULTS``
(``DEFAULT pos:value feature:value ...``); ``ORDER``, of features as they are shown;
``STEMBACKOFF`` (name, category ...), stems of unknown words; ``PREFIXES``, ``SUFFIXES`` and
``STEMS``: letters as matched, category and features, separated by tabs; ``TABLE AB``, ``BC`` and
``AC``: pairs of categories of prefix (A), stem (B) and suffix (C) that may stand together.

The many features of a stem are taken apart (and a fault in them reported, with its line) when the
stem is first used.  Values that a DEFINE does not list are let through: published files have some.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from eigentext.base.files.opening import numbered_lines
from eigentext.errors import DataError

# Segmentations for other tools and sounds: never looked at here, and most of the file.
_NOT_KEPT = frozenset("caphi catib6 ud d1seg d2seg d3seg atbseg d1tok d2tok d3tok atbtok".split())
_SECTION = re.compile(r"###(.+)###\Z")
_PAIR_TABLES = ("TABLE AB", "TABLE BC", "TABLE AC")
_NEEDED = ("DEFAULTS", "PREFIXES", "SUFFIXES", "STEMS", *_PAIR_TABLES)
_KNOWN = frozenset((*_NEEDED, "DEFINES", "ORDER", "STEMBACKOFF"))

Features = dict[str, str]


@dataclass(frozen=True, slots=True)
class Affix:
    """A prefix or a suffix: its letters as matched, its category, its features."""

    form: str
    category: str
    features: Features


@dataclass(slots=True)
class Stem:
    """A stem; ``raw`` is the unparsed third column, ``line`` its place in the file."""

    form: str
    category: str
    raw: str
    line: int


@dataclass
class AlmorDatabase:
    """The tables of one file, by letters and by category."""

    path: str
    defaults: dict[str, Features] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    backoff: dict[str, tuple[str, ...]] = field(default_factory=dict)
    prefixes: dict[str, list[Affix]] = field(default_factory=dict)
    suffixes: dict[str, list[Affix]] = field(default_factory=dict)
    stems: dict[str, list[Stem]] = field(default_factory=dict)
    stem_after: dict[str, set[str]] = field(default_factory=dict)  # prefix category -> stem's
    suffix_after: dict[str, set[str]] = field(default_factory=dict)  # stem category -> suffix's
    around: set[tuple[str, str]] = field(default_factory=set)  # prefix and suffix categories

    def stem_features(self, stem: Stem) -> Features:
        """The features of a stem, over the defaults of its part of speech."""
        features = self._features(stem.raw, stem.line)
        if "pos" not in features or "diac" not in features:
            why = "expected a stem with pos: and diac: features"
            raise DataError(self.path, stem.line, why)
        return {**self.defaults.get(features["pos"], {}), **features}

    def _features(self, text: str, line: int) -> Features:
        features: Features = {}
        for item in text.split(" "):
            name, colon, value = item.partition(":")
            if not item or name in _NOT_KEPT:
                continue
            if not colon or not name:
                raise DataError(self.path, line, f"expected feature:value, found {item!r}")
            features[name] = value
        return features


def read_database(path: str | os.PathLike[str]) -> AlmorDatabase:
    """Read a database file (it may be compressed); every fault names its line."""
    database = AlmorDatabase(str(path))
    section, sections = "", set()
    for number, text in numbered_lines(path):
        if text.startswith("###"):
            heading = _SECTION.match(text)
            section = heading[1] if heading else ""
            if section not in _KNOWN:
                expected = ", ".join(sorted(_KNOWN))
                raise DataError(database.path, number, f"unknown section {text!r}: {expected}")
            sections.add(section)
        elif section in ("STEMS", "PREFIXES", "SUFFIXES"):
            _read_entry(database, section, text, number)
        elif section in _PAIR_TABLES:
            _read_pair(database, section, text, number)
        elif text.strip():
            if not section:
                why = f"expected a section such as ###DEFINES###, found {text[:40]!r}"
                raise DataError(database.path, number, why)
            _read_setting(database, section, text, number)
    missing = [name for name in _NEEDED if name not in sections]
    if missing:
        raise DataError(database.path, None, f"expected a section ###{missing[0]}###")
    if not database.stems:
        raise DataError(database.path, None, "expected at least one stem")
    return database


def _read_entry(database: AlmorDatabase, section: str, text: str, number: int) -> None:
    columns = text.split("\t")
    if len(columns) != 3:
        if not text.strip():
            return
        why = f"expected letters, category and features in 3 columns, found {len(columns)}"
        raise DataError(database.path, number, why)
    form, category, features = columns
    if not category or " " in category:
        raise DataError(database.path, number, f"expected a category, found {category!r}")
    if features and features.count(":") <= features.rstrip(" ").count(" "):
        why = f"expected feature:value pairs, found {features[:60]!r}"
        raise DataError(database.path, number, why)
    if section == "STEMS":
        if not form or not features:
            raise DataError(database.path, number, "expected a stem with letters and features")
        database.stems.setdefault(form, []).append(Stem(form, category, features, number))
        return
    affix = Affix(form, category, database._features(features, number))
    table = database.prefixes if section == "PREFIXES" else database.suffixes
    table.setdefault(form, []).append(affix)


def _read_pair(database: AlmorDatabase, section: str, text: str, number: int) -> None:
    pair = text.split()
    if len(pair) != 2:
        if pair:
            raise DataError(database.path, number, f"expected two categories, found {text!r}")
        return
    first, second = pair
    if section == "TABLE AB":
        database.stem_after.setdefault(first, set()).add(second)
    elif section == "TABLE BC":
        database.suffix_after.setdefault(first, set()).add(second)
    else:
        database.around.add((first, second))


def _read_setting(database: AlmorDatabase, section: str, text: str, number: int) -> None:
    keyword, *values = text.split()
    if keyword != {"DEFINES": "DEFINE", "DEFAULTS": "DEFAULT"}.get(section, section) or not values:
        raise DataError(
            database.path, number, f"expected a line of {section}, found {text[:40]!r}"
        )
    if section == "ORDER":
        database.order = tuple(values)
    elif section == "STEMBACKOFF":
        database.backoff[values[0]] = tuple(values[1:])
    elif section == "DEFAULTS":  # which values DEFINES lists is not looked at
        name, _, pos = values[0].partition(":")
        if name != "pos" or not pos:
            raise DataError(
                database.path, number, f"expected DEFAULT pos:..., found {values[0]!r}"
            )
        features = database._features(" ".join(values[1:]), number)
        database.defaults[pos] = {name: v for name, v in features.items() if v != "*"}
