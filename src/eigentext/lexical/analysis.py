"""What an analyzer says of one word, and what every analyzer can do.

An answer is never empty for a non-empty word: what is only a guess says so by its ``source``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from eigentext.base.remembering import Remembering

GUESSES = frozenset({"backoff"})
"""The sources of analyses that are guesses: the analyzer does not know the word."""


READINGS_KEPT = 1 << 16
"""How many readings an analyzer remembers unless told: those of some 8,000 words, about 80 MB."""


class Analysis(NamedTuple):
    """One reading of one word.

    ``lemma`` is the analyzer's own lemma id; ``segments`` are the pieces in order, each with its
    tag; ``tag`` is the whole word's; ``prior`` is a base-10 logarithm of how frequent the reading
    is out of context, or None where the analyzer does not know; ``source`` tells where the reading
    comes from: ``analyzer``, ``lexicon``, ``learned``, ``observed``, ``backoff``, or what sort of
    token this is (``digit``, ``punctuation``, ``foreign``).

    >>> word = Analysis("dog", "dogs", (("dog", "NOUN"), ("s", "PLURAL")), "NOUN",
    ...                 {"Number": "Plur"}, "an animal", "", -3.5, "lexicon")
    >>> word.lemma, word.features["Number"], word.is_guess
    ('dog', 'Plur', False)
    """

    lemma: str
    vocalised: str
    segments: tuple[tuple[str, str], ...]
    tag: str
    features: Mapping[str, str]
    gloss: str = ""
    root: str = ""
    prior: float | None = None
    source: str = "analyzer"

    @classmethod
    def whole(
        cls,
        word: str,
        tag: str,
        features: Mapping[str, str] | None = None,
        *,
        lemma: str | None = None,
        source: str = "backoff",
    ) -> Analysis:
        """The word as one piece, its own lemma unless that is known; a guess unless told."""
        lemma = word if lemma is None else lemma
        return cls(lemma, word, ((word, tag),), tag, features or {}, source=source)

    @property
    def is_guess(self) -> bool:
        """Whether the analyzer did not know the word and guessed."""
        return self.source in GUESSES


@runtime_checkable
class Analyzer(Protocol):
    """All that the rest of this folder asks of an analyzer."""

    @property
    def name(self) -> str:
        """Short name, as it stands in settings and model files."""

    def analyse(self, word: str) -> list[Analysis]:
        """All readings of the word as typed; at least one unless the word is empty."""

    def normalise(self, word: str) -> str:
        """The form under which the word is looked up; for matching only."""


def table_of(text: str) -> dict[str, str]:
    """A table that is written as one string.

    >>> table_of("pos:noun gen:m")
    {'pos': 'noun', 'gen': 'm'}
    """
    return dict(pair.split(":", 1) for pair in text.split())


def check_word(word: object) -> str:
    """The word, if it is one: analyzers take one ``str`` at a time.

    >>> check_word(["a", "b"])
    Traceback (most recent call last):
        ...
    TypeError: an analyzer takes one word as a str, not list; call it once for each token
    """
    if not isinstance(word, str):
        raise TypeError(
            f"an analyzer takes one word as a str, not {type(word).__name__}; "
            "call it once for each token"
        )
    return word


def as_record(analysis: Analysis) -> dict[str, object]:
    """The analysis as plain data, for JSON.

    >>> as_record(Analysis.whole("a", "X"))["segments"]
    [['a', 'X']]
    """
    record: dict[str, object] = analysis._asdict()
    record["segments"] = [list(piece) for piece in analysis.segments]
    record["features"] = dict(analysis.features)
    return record


class RememberingAnalyzer:
    """An analyzer that says by ``_read`` what a word can be, and is asked once for each."""

    name: ClassVar[str]

    def __init__(self) -> None:
        self._remembered = Remembering(self._read, READINGS_KEPT, len)

    def analyse(self, word: str) -> list[Analysis]:
        """All readings of the word, likelier ones first where the analyzer knows; none of ""."""
        return list(self._remembered(word)) if check_word(word) else []

    def _read(self, word: str) -> tuple[Analysis, ...]:
        raise NotImplementedError
