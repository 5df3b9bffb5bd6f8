"""What analyzers have in common: they remember the readings of the latest words."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from eigentext.base.remembering import Remembering
from eigentext.lexical.analysis import READINGS_KEPT, Analysis, check_word
from eigentext.lexical.analyzers.arabic_endings import inflected
from eigentext.lexical.analyzers.arabic_spelling import matching_key

if TYPE_CHECKING:
    from collections.abc import Mapping


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


class ArabicAnalyzer(RememberingAnalyzer):
    """An analyzer of Arabic words."""

    def normalise(self, word: str) -> str:
        """The key under which words are matched."""
        return matching_key(check_word(word))

    def inflect(self, reading: Analysis, settled: Mapping[str, str]) -> Analysis:
        """The reading with the case ending, and the vowels of the lemma, that a label asks for."""
        return inflected(reading, settled)
