"""Ranked words as JSON Lines, as CoNLL-U, and as vocalised text.

A reading in other letters than those typed says so in JSON (``respelled``) and in MISC
(``Respelled=Yes``); vocalised text has the letters that were typed.  A guess is shown as typed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from eigentext.language.formats.conllu import conllu_rows
from eigentext.lexical.analyzers.arabic_spelling import (
    bare,
    in_typed_letters,
    is_arabic,
    letters_differ,
    plain,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eigentext.lexical.analysis import Analysis, Analyzer
    from eigentext.lexical.ranked import RankedCandidate, RankedWord
    from eigentext.lexical.schemes.labels import LabelScheme

Inflect = Callable[["Analysis", Mapping[str, str]], "Analysis"]


class WithReadings(Protocol):
    """What is asked of a ranker here."""

    @property
    def scheme_(self) -> LabelScheme:
        """Its labels."""

    @property
    def analyzer_(self) -> Analyzer:
        """Where its readings come from."""


def shown_reading(
    word: RankedWord, candidate: RankedCandidate, ranker: WithReadings
) -> Analysis | None:
    """The reading to show; None where no reading of the word leads to the label or near it."""
    scheme = ranker.scheme_
    inflect: Inflect | None = getattr(ranker.analyzer_, "inflect", None)
    if candidate.analyses:
        reading = candidate.analyses[0]
        if reading.is_guess:
            return _as_typed(reading, word)
        if inflect is None:
            return reading
        return inflect(reading, scheme.settled(reading, candidate.label))
    readings = [reading for other in word.candidates for reading in other.analyses]
    if inflect is None or not readings:
        return None

    # the order of candidates differs with the context, the reading must not
    def nearness(r: Analysis) -> tuple[int, int, float, str, str]:
        cost, agreement = (
            int(r.features.get("spelling", "0")),
            scheme.agreement(r, candidate.label),
        )
        return -cost, agreement, r.prior or -99.0, r.vocalised, r.tag

    nearest = max(readings, key=nearness)
    if nearest.is_guess:
        return _as_typed(nearest, word)
    settled = scheme.settled(nearest, candidate.label)
    lemma = scheme.as_mapping(candidate.label).get("lemma", "")
    if lemma != scheme.as_mapping(scheme.project(nearest)[0]).get("lemma"):
        nearest = nearest._replace(gloss="", root="")
        settled["lemma"] = lemma
    return inflect(nearest, settled)


def _as_typed(guess: Analysis, word: RankedWord) -> Analysis:
    """The guess, with the pieces of the word that it takes for affixes, and no vowels."""
    letters = bare(plain(word.form))
    if not is_arabic(letters):
        return guess
    pieces = [(bare(piece), tag) for piece, tag in guess.segments]
    if "".join(piece for piece, _ in pieces) != letters:
        pieces = [(letters, guess.tag)]
    return guess._replace(vocalised=word.form, segments=tuple(pieces))


def as_record(word: RankedWord, ranker: WithReadings, top: int | None = None) -> dict[str, object]:
    """A ranked word as plain data, with its ``top`` candidates or all."""
    shown = []
    for candidate in word.candidates[:top]:
        reading = shown_reading(word, candidate, ranker)
        shown.append(
            {
                "label": ranker.scheme_.as_mapping(candidate.label),
                "probability": round(candidate.probability, 4),
                "source": candidate.source,
                "vocalised": reading.vocalised if reading else "",
                "respelled": reading is not None and letters_differ(word.shown, reading.vocalised),
                "lemma": reading.lemma if reading else candidate.label[0],
                "gloss": reading.gloss if reading else "",
                "root": reading.root if reading else "",
                "segments": [list(piece) for piece in reading.segments] if reading else [],
            }
        )
    return {
        "form": word.shown,
        "guessed": word.guessed,
        "margin": round(word.margin, 4),
        "n_candidates": len(word.candidates),
        "candidates": shown,
    }


def as_json_line(
    number: int, words: Sequence[RankedWord], ranker: WithReadings, top: int | None = None
) -> str:
    """A ranked sentence as one line of JSON."""
    record = {"sentence": number, "words": [as_record(word, ranker, top) for word in words]}
    return json.dumps(record, ensure_ascii=False)


def as_vocalised(words: Sequence[RankedWord], ranker: WithReadings) -> str:
    """The sentence as its best readings are vocalised, in the letters that were typed."""
    shown = []
    for word in words:
        reading = shown_reading(word, word.best, ranker)
        vocalised = (reading.vocalised if reading else "") or word.shown
        shown.append(in_typed_letters(word.shown, vocalised))
    return " ".join(shown)


def as_conllu(number: int, words: Sequence[RankedWord], ranker: WithReadings) -> Iterator[str]:
    """The sentence as CoNLL-U lines: the best label, its probability, vocalisation and gloss."""
    yield f"# sent_id = {number}"
    yield f"# text = {' '.join(word.shown for word in words)}"
    yield from conllu_rows(list(zip(*(conllu_cells(word, ranker) for word in words), strict=True)))
    yield ""


def conllu_cells(
    word: RankedWord, ranker: WithReadings, *, probability: bool = True
) -> tuple[str, ...]:
    """FORM to MISC of a word by its best label."""
    scheme = ranker.scheme_
    values = scheme.as_mapping(word.best.label)
    lemma = values.pop("lemma", "_")
    upos = values.pop("upos", "_")
    xpos = values.pop("pos", "_")
    features = sorted(
        f"{name[:1].upper()}{name[1:]}={_safe(value)}"
        for name, value in values.items()
        if value != scheme.missing
    )
    reading = shown_reading(word, word.best, ranker)
    misc = [f"Prob={word.best.probability:.4f}"] if probability else []
    if reading and reading.vocalised:
        misc.append(f"Vform={_safe(reading.vocalised)}")
        if letters_differ(word.shown, reading.vocalised):
            misc.append("Respelled=Yes")
    if reading and reading.gloss:
        misc.append(f"Gloss={_safe(reading.gloss)}")
    if word.guessed:
        misc.append("Guess=Yes")
    feats = "|".join(features) or "_"
    return word.shown, lemma or "_", upos, xpos, feats, "_", "_", "_", "|".join(misc) or "_"


def _safe(text: str) -> str:
    """Without what separates columns and features."""
    return text.replace("|", "/").replace("\t", " ").replace(" ", "_")
