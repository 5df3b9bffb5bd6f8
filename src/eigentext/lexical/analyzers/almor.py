"""The Arabic analyzer over an ALMOR database that the user supplies (``data get almor``).

A typed word loses what only serves display; its key folds letters that writers mix up.  Each
reading of the key is marked with how far its letters are from what was typed (feature
``spelling``); those that the typed vowel signs forbid are dropped.  A word that the database does
not know gets back-off readings: a proper name or any open class, inside all affixes that fit, in
the letters that were typed.  Numbers, signs and words of other scripts are their own lemma.
"""

from __future__ import annotations

import os
import unicodedata
from functools import partial

from eigentext.errors import SettingsError
from eigentext.lexical.analysis import Analysis, table_of
from eigentext.lexical.analyzers.almor_database import read_database
from eigentext.lexical.analyzers.almor_engine import AlmorEngine
from eigentext.lexical.analyzers.arabic_endings import ArabicAnalyzer
from eigentext.lexical.analyzers.arabic_spelling import (
    CONTRADICTION,
    MARKS,
    bare,
    is_arabic,
    marks_agree,
    matching_key,
    plain,
    spelling_cost,
)

_BACKOFFS = ("all", "proper", "none")
_SPELLINGS = ("tolerant", "careful", "strict")
_LONGEST = 60  # letters of a word that is still looked up; nothing longer is one


class AlmorAnalyzer(ArabicAnalyzer):
    """Readings of Arabic words.

    Args:
        path: the database file
        backoff: how an unknown word is read: ``all`` (a name or any open class), ``proper``
            (a name), ``none`` (its letters only)
        spelling: readings whose letters differ from what was typed are kept (``tolerant``), kept
            if the typed letters only leave something out, such as a hamza (``careful``), or
            dropped (``strict``); where no reading agrees, the nearest are kept
    """

    name = "almor"

    def __init__(
        self, path: str | os.PathLike[str], *, backoff: str = "all", spelling: str = "careful"
    ) -> None:
        super().__init__()
        if backoff not in _BACKOFFS:
            raise SettingsError(f"backoff is one of {', '.join(_BACKOFFS)}, not {backoff!r}")
        if spelling not in _SPELLINGS:
            raise SettingsError(f"spelling is one of {', '.join(_SPELLINGS)}, not {spelling!r}")
        database = read_database(path)
        self._path, self._backoff, self._spelling = database.path, backoff, spelling
        self._engine = AlmorEngine(database)

    def __reduce__(self) -> tuple[object, ...]:
        settings = {"backoff": self._backoff, "spelling": self._spelling}
        return partial(AlmorAnalyzer, **settings), (self._path,)

    def _read(self, word: str) -> tuple[Analysis, ...]:
        """Readings of the word as typed, best spelling first, then by prior."""
        shown = plain(word)
        if not is_arabic(shown):
            return (_outsider(word, shown),)
        letters, key = bare(shown), matching_key(shown)
        readings: list[Analysis] = []
        if len(key) <= _LONGEST:
            readings = _checked(self._engine.readings(key), letters)
            if any(char in MARKS for char in shown):
                readings = _allowed_by_marks(readings, shown)
            readings = _near_enough(readings, self._spelling)
            if not readings and self._backoff != "none":
                which = "ALL" if self._backoff == "all" else "PROP"
                guesses = _checked(self._engine.guesses(key, letters, which), letters)
                readings = _near_enough(guesses, "strict")  # nothing tells of other letters
        if not readings:
            readings = [_bare_guess(word, letters or shown)]
        return tuple(sorted(readings, key=_rank))


def _checked(readings: list[Analysis], typed: str) -> list[Analysis]:
    """Each reading once, marked with the distance of its letters from the typed ones."""
    identities: set[tuple[object, ...]] = set()
    distinct = []
    for reading in readings:
        features = reading.features
        identity = (reading.lemma, reading.vocalised, reading.tag, *features.values())
        if identity in identities:
            continue
        identities.add(identity)
        features["spelling"] = str(spelling_cost(typed, bare(reading.vocalised)))  # type: ignore[index]
        distinct.append(reading)
    return distinct


def _near_enough(readings: list[Analysis], spelling: str) -> list[Analysis]:
    """Readings whose letters are near enough to the typed ones."""
    if spelling == "tolerant" or not readings:
        return readings
    costs = [int(reading.features["spelling"]) for reading in readings]
    limit = min(costs)
    if spelling == "careful":
        limit = max(limit, CONTRADICTION - 1)
    return [reading for reading, cost in zip(readings, costs, strict=True) if cost <= limit]


def _allowed_by_marks(readings: list[Analysis], typed: str) -> list[Analysis]:
    """Readings that the typed vowel signs allow; all, and marked, when they allow none."""
    allowed = [reading for reading in readings if marks_agree(typed, reading.vocalised)]
    if allowed:
        return allowed
    for reading in readings:
        reading.features["signs"] = "ignored"  # type: ignore[index]
    return readings


def _rank(r: Analysis) -> tuple[int, float, str, str, str]:
    return int(r.features["spelling"]), -(r.prior or 0.0), r.lemma, r.tag, r.vocalised


def _outsider(word: str, shown: str) -> Analysis:
    """A number, a sign, a word of another script: its own lemma."""
    if any(unicodedata.category(char)[0] == "L" for char in shown):
        kind, pos, tag = "foreign", "latin", "LATIN"
    elif any(unicodedata.category(char)[0] == "N" for char in shown):
        kind, pos, tag = "digit", "digit", "DIGIT"
    else:
        kind, pos, tag = "punctuation", "punc", "PUNC"
    features = {"pos": pos, "spelling": "0"}
    return Analysis.whole(word, tag, features, source=kind)


def unknown_word(word: str) -> Analysis:
    """The reading of a word of which nothing is known: a name, or not Arabic at all."""
    shown = plain(word)
    if not is_arabic(shown):
        return _outsider(word, shown)
    return _bare_guess(word, bare(shown))


def _bare_guess(word: str, letters: str) -> Analysis:
    features = table_of(
        "pos:noun_prop gen:m num:s stt:i cas:u prc0:0 prc1:0 prc2:0 enc0:0 spelling:0"
    )
    return Analysis.whole(word, "NOUN_PROP", features, lemma=letters)
