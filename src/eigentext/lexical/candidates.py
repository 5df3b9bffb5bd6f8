"""The labels among which a word's right one is sought: C(t).

C(t) = labels of analyse(t)  ∪  {l : (t, l) seen in the counted training data}   (Eq. 9)

The order is by prior, then by a fixed hash of the label: no order that knows the right answer, and
the same on every machine.
"""

from __future__ import annotations

import sys
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from eigentext.base.remembering import Remembering
from eigentext.lexical.analysis import GUESSES, READINGS_KEPT, Analysis, Analyzer, check_word

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from eigentext.lexical.schemes.labels import Label, LabelScheme

NO_PRIOR = -8.0
"""The log10 prior of a label for which the analyzer gives none."""

SPELLING_PENALTY = 0.5
"""What each letter that differs from what was typed takes from the log10 prior."""


_Leading = tuple[int, int, Analysis]  # how many labels a reading has, which is this, the reading


class LabelChoice(NamedTuple):
    """A label that a word may have, with the readings that lead to it, the most telling first."""

    label: Label
    analyses: tuple[Analysis, ...]
    prior: float  # a base-10 logarithm
    source: str  # of the best reading, or ``observed`` in training alone

    @property
    def is_guess(self) -> bool:
        """Whether only guesses lead to this label."""
        return self.source in GUESSES


def tie_order(label: Label) -> int:
    """A number by which equals are ordered; it depends on the label's values alone.

    >>> tie_order(("a", "b")) == tie_order(("a", "b")) != tie_order(("b", "a"))
    True
    """
    return zlib.crc32("\x1f".join(label).encode("utf-8", "surrogatepass"))


class LabelSource:
    """The candidates of words under an analyzer and a scheme, with what training showed.

    >>> from eigentext.lexical.analyzers import open_analyzer
    >>> from eigentext.lexical.schemes.labels import load_scheme
    >>> source = LabelSource(open_analyzer("sample"), load_scheme("arabic14"))
    >>> sorted({candidate.label[0] for candidate in source("العلم")})
    ['عَلَم', 'عِلم']
    """

    def __init__(
        self,
        analyzer: Analyzer,
        scheme: LabelScheme,
        observed: Mapping[str, Collection[Label]] | None = None,
    ) -> None:
        self.analyzer = analyzer
        self.scheme = scheme
        self.observed = observed if observed is not None else {}
        self._remembered = Remembering(self._from_analyzer, READINGS_KEPT, len)

    def __call__(self, word: str) -> list[LabelChoice]:
        """All candidates of the word, by prior and then by :func:`tie_order`.

        A word that only the training data knows keeps the analyzer's guesses, but after what was
        observed nothing is a guess any more: the observed labels say ``observed``.
        """
        candidates = self._remembered(check_word(word))
        observed = self.observed.get(word)
        if not observed:
            return list(candidates)
        by_label = {candidate.label: candidate for candidate in candidates}
        for label in observed:
            if label not in by_label:
                by_label[label] = LabelChoice(label, (), NO_PRIOR, "observed")
            elif by_label[label].is_guess:
                by_label[label] = by_label[label]._replace(source="observed")
        return _ordered(by_label.values())

    candidates = __call__

    @contextmanager
    def keeping_all(self) -> Iterator[None]:
        """No bound in here: training asks for every word several times."""
        answers = self._remembered.answers
        usual, answers.most = answers.most, sys.maxsize
        try:
            yield
        finally:
            answers.most = usual

    def _from_analyzer(self, word: str) -> tuple[LabelChoice, ...]:
        readings: dict[Label, list[_Leading]] = {}
        for analysis in self.analyzer.analyse(word):
            labels = self.scheme.project(analysis)
            for rank, label in enumerate(labels):
                readings.setdefault(label, []).append((len(labels), rank, analysis))
        return tuple(_ordered(_gathered(label, leading) for label, leading in readings.items()))


def _weight(analysis: Analysis) -> float:
    prior = NO_PRIOR if analysis.prior is None else analysis.prior
    return prior - SPELLING_PENALTY * int(analysis.features.get("spelling", "0"))


def _gathered(label: Label, leading: list[_Leading]) -> LabelChoice:
    """The reading comes first that says most itself: one with few labels leaves little open."""
    if len(leading) == 1:
        only = leading[0][2]
        return LabelChoice(label, (only,), _weight(only), only.source)
    readings = tuple(
        reading
        for _, _, reading in sorted(
            leading, key=lambda item: (item[2].is_guess, item[0], item[1], -_weight(item[2]))
        )
    )
    best = max(readings, key=lambda reading: (not reading.is_guess, _weight(reading)))
    return LabelChoice(label, readings, _weight(best), best.source)


def _ordered(candidates: Iterable[LabelChoice]) -> list[LabelChoice]:
    return sorted(
        candidates,
        key=lambda candidate: (-candidate.prior, tie_order(candidate.label), candidate.label),
    )
