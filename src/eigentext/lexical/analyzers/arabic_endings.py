"""The ending of an Arabic word in a case that its analysis leaves open.

An analyzer gives many words without their ending (``cas`` is ``u``), above all names; a label says
which case it is.  Nominative, genitive, accusative end in u, i, a; indefinite in un, in, an.
Diptotes (names, most plurals of other patterns, elatives) have no -n in the indefinite state, and
a for i; the plural in -at has i for a.  After a long a nothing is heard, after a long i only the
accusative.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from eigentext.lexical.analysis import Analysis, RememberingAnalyzer, check_word
from eigentext.lexical.analyzers.arabic_spelling import (
    DAMMA,
    FATHA,
    KASRA,
    LONG_VOWELS,
    MARKS,
    SHADDA,
    bare,
    join_suffix,
    matching_key,
)

_VOWELS = {"n": DAMMA, "g": KASRA, "a": FATHA}
_WITH_N = {DAMMA: "\u064c", KASRA: "\u064d", FATHA: "\u064b"}
_IMPLIED = {"و": DAMMA, "ي": KASRA}
_BROKEN_IN_AA = re.compile("أ..اء$")  # the plural of members, not that of friends
_CASES = {"n": "NOM", "g": "GEN", "a": "ACC"}


def inflected(reading: Analysis, settled: Mapping[str, str]) -> Analysis:
    """The reading with the ending of the case and state that are wanted (``cas``, ``stt``).

    With ``lemma`` it also gets that lemma's vowels.

    A reading whose letters show its case, such as a dual, stays as it is.

    >>> from eigentext.lexical.analysis import Analysis
    >>> features = {"pos": "noun_prop", "cas": "u", "stt": "i"}
    >>> city = Analysis("بَغْداد_1", "بَغْداد", (("بَغْداد", "NOUN_PROP"),), "NOUN_PROP", features,
    ...                 "Baghdad", "", None, "analyzer")
    >>> inflected(city, {"cas": "g", "stt": "i"}).vocalised == "بَغْداد" + FATHA
    True
    """
    if "lemma" in settled:
        vocalised = with_lemma(reading.vocalised, settled["lemma"])
        reading = reading._replace(lemma=settled["lemma"], vocalised=vocalised)
    case, state = settled.get("cas", ""), settled.get("stt", "")
    if case not in _CASES or not reading.segments:
        return reading
    current = reading.features.get("cas"), reading.features.get("stt")
    before, pronoun = _without_pronoun(reading)
    segments = list(reading.segments[: len(reading.segments) - len(pronoun)])
    case_ending = segments[-1] if segments[-1][1].startswith("CASE_") else None
    proper = reading.features.get("pos") == "noun_prop"
    name_in_a = proper and state == "i" and bare(before).endswith("ة")
    if current == (case, state) and not name_in_a:
        return reading
    if case_ending is not None:
        if not before.endswith(case_ending[0]) or bare(case_ending[0]):
            return reading  # the ending is written in letters
        segments.pop()
        before = before.removesuffix(case_ending[0])
    elif current[0] != "u":
        return reading
    ending = _ending(before, case, state, proper=proper, plural=settled.get("num") == "p")
    if ending:
        segments.append((ending, f"CASE_{'INDEF' if state == 'i' else 'DEF'}_{_CASES[case]}"))
    whole = join_suffix(before, ending)
    for piece, _ in pronoun:
        whole = join_suffix(whole, piece)
    return reading._replace(
        vocalised=whole,
        segments=(*segments, *pronoun),
        tag="+".join(tag for _, tag in (*segments, *pronoun)),
        features={**reading.features, "cas": case, "stt": state},
    )


def _without_pronoun(reading: Analysis) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The vocalised word up to an attached pronoun, and the pronoun's piece."""
    *rest, (piece, tag) = reading.segments
    if rest and "PRON" in tag and piece and reading.vocalised.endswith(piece):
        return reading.vocalised.removesuffix(piece), ((piece, tag),)
    return reading.vocalised, ()


def _ending(word: str, case: str, state: str, *, proper: bool, plural: bool) -> str:
    letters = bare(word)
    vowel = _VOWELS[case]
    if letters[-1:] in ("ا", "ى") or (proper and letters.endswith("و")):
        return ""
    if word.endswith(("ِي", "ي")) and vowel != FATHA and not word.endswith(("ْي", "َي")):
        return ""
    if plural and letters.endswith("ات") and vowel == FATHA:
        vowel = KASRA
    if state != "i":
        return vowel
    triptote = letters.endswith(("ة", "ات", "ء", "أ")) and not proper
    if plural and letters.endswith("اء") and not _BROKEN_IN_AA.search(letters):
        triptote = False
    if not triptote:  # else the analyzer knows its ending
        return DAMMA if case == "n" else FATHA
    return _WITH_N[vowel]


def with_lemma(vocalised: str, lemma: str) -> str:
    """The word with the vowels of this lemma where its letters stand, but for the last letter.

    >>> with_lemma("كَتَّابٌ", "كُتّاب")
    'كُتّابٌ'
    >>> with_lemma("كِتابٌ", "قَلَم")
    'كِتابٌ'
    """
    theirs = _letters(lemma)
    ours = _letters(vocalised)
    shown = [letter for letter, _ in ours]
    letters = [letter for letter, _ in theirs]
    for start in range(len(shown) - len(letters) + 1):
        if letters and shown[start : start + len(letters)] == letters:
            for position, (letter, marks) in enumerate(theirs[:-1], start=start):
                doubled = SHADDA in ours[position][1] and position == start  # after the article
                keep = SHADDA if doubled and SHADDA not in marks else ""
                if not marks.strip(SHADDA) and letter not in LONG_VOWELS:
                    marks += _IMPLIED.get(shown[position + 1], "")  # lemmas leave it out
                ours[position] = letter, keep + marks
            return "".join(letter + marks for letter, marks in ours)
    return vocalised


def _letters(word: str) -> list[tuple[str, str]]:
    """Each letter with its signs."""
    letters: list[tuple[str, str]] = []
    for char in word:
        if char in MARKS and letters:
            letters[-1] = letters[-1][0], letters[-1][1] + char
        else:
            letters.append((char, ""))
    return letters


class ArabicAnalyzer(RememberingAnalyzer):
    """An analyzer of Arabic words."""

    def normalise(self, word: str) -> str:
        """The key under which words are matched."""
        return matching_key(check_word(word))

    def inflect(self, reading: Analysis, settled: Mapping[str, str]) -> Analysis:
        """The reading with the case ending, and the vowels of the lemma, that a label asks for."""
        return inflected(reading, settled)
