"""What a ranker answers: words with their candidates, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from eigentext.lexical.analysis import Analysis
    from eigentext.lexical.schemes.labels import Label

_SHOWN = 10  # candidates in a notebook


class RankedCandidate(NamedTuple):
    """One label of a word, how probable it is in context, and the readings that lead to it."""

    label: Label
    probability: float
    score: float
    analyses: tuple[Analysis, ...]
    source: str


class RankedWord(NamedTuple):
    """A word with its candidates, best first.

    ``margin`` is how much more probable the first is than the second; ``guessed`` says that the
    analyzer did not know the word, nor did training.  ``typed`` is the word as it stands in the
    text, where a tokeniser normalised ``form``.
    """

    form: str
    candidates: list[RankedCandidate]
    margin: float
    guessed: bool
    typed: str = ""

    @property
    def shown(self) -> str:
        """The word to write out."""
        return self.typed or self.form

    @property
    def best(self) -> RankedCandidate:
        """The first candidate."""
        return self.candidates[0]

    def _repr_html_(self) -> str:
        """The candidates as a notebook shows them: label, probability, gloss."""
        from html import escape

        rows = []
        for candidate in self.candidates[:_SHOWN]:
            label = " ".join(value for value in candidate.label if value)
            gloss = candidate.analyses[0].gloss if candidate.analyses else ""
            cells = (label, f"{candidate.probability:.2f}", gloss)
            rows.append("".join(f"<td>{escape(cell)}</td>" for cell in cells))
        table = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><caption>{escape(self.shown)}</caption>{table}</table>"


def with_decision(ranked: list[RankedCandidate], decided: Label) -> list[RankedCandidate]:
    """What a person decided is certain and first."""
    chosen = [c for c in ranked if c.label == decided]
    first = chosen[0] if chosen else RankedCandidate(decided, 1.0, 0.0, (), "fixed")
    rest = [c._replace(probability=0.0) for c in ranked if c.label != decided]
    return [first._replace(probability=1.0), *rest]
