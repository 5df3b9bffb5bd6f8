"""The reading to show of a ranked label: vocalised, glossed, and in agreement with the label.

1. A candidate's readings come with the one first that says most of the label itself
   (:mod:`candidates`).
2. What that reading leaves open and the label settles, such as the case, the analyzer adds
   (``inflect``, where it has one).
3. A label that only training knows takes, of the readings nearest to the typed letters, the one
   that agrees with it in most elements, in the label's own case, with the vowels of its lemma.
4. A guess is shown as it was typed: nothing tells of the vowels of a word that is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from eigentext.lexical.analyzers.arabic_spelling import bare, is_arabic, plain

if TYPE_CHECKING:
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
    nearest = max(
        readings,
        key=lambda r: (
            -int(r.features.get("spelling", "0")),
            scheme.agreement(r, candidate.label),
            r.prior or -99.0,
            r.vocalised,
            r.tag,
        ),
    )
    if nearest.is_guess:
        return _as_typed(nearest, word)
    wanted = scheme.settled(nearest, candidate.label)
    lemma = scheme.as_mapping(candidate.label).get("lemma", "")
    if lemma != scheme.as_mapping(scheme.project(nearest)[0]).get("lemma"):
        nearest = nearest._replace(gloss="", root="")
        wanted["lemma"] = lemma
    return inflect(nearest, wanted)


def _as_typed(guess: Analysis, word: RankedWord) -> Analysis:
    """The guess, with the pieces of the word that it takes for affixes, and no vowels."""
    letters = bare(plain(word.form))
    if not is_arabic(letters):
        return guess
    pieces = [(bare(piece), tag) for piece, tag in guess.segments]
    if "".join(piece for piece, _ in pieces) != letters:
        pieces = [(letters, guess.tag)]
    return guess._replace(vocalised=word.form, segments=tuple(pieces))
