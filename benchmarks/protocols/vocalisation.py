"""How many words of Arabic are vocalised as in the gold, with their endings and without.

Treebanks and analyzers write the same vowels in different ways: with or without sukun, with or
without the short vowel that a long one implies, the tanwin before or on its alif.
:func:`comparable` takes these ways out; what is left differs only where the word sounds otherwise.
The ending is what stands on the last letter: case and mood of most words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["VocalisationScores", "comparable", "join_pieces", "without_ending"]

_SHORT = "\u064e-\u0650"
_SIGNS = "\u064b-\u0652"
_STEPS = [
    (re.compile(pattern), to)
    for pattern, to in (
        ("ٱ", "ا"),
        ("اً", "ًا"),
        ("ىً", "ًى"),
        ("[\u0652\u0670\u0640]", ""),
        ("([\u064b-\u0650])\u0651", "\u0651\\1"),
        ("\u064e(?=[اىآة])", ""),
        ("\u064f(?=و(?![\u064b-\u0651اىآة]))|\u0650(?=ي(?![\u064b-\u0651اىآة]))", ""),
        ("(?<=[اأ])\u064e|(?<=[اإ])\u0650|(?<=ا)\u064f", ""),
        ("(?<=[ال]ل)\u0650(?=ا)|(?<=لِل)\u0650(?=ا)", ""),
    )
]


def comparable(vocalised: str) -> str:
    """The word as it is compared.

    >>> comparable("مَجْمُوعَةٌ") == comparable("مَجمُوعَةٌ"), comparable("كِتاباً") == comparable("كِتَابًا")
    (True, True)
    >>> comparable("عِلْم") == comparable("عَلَم")
    False
    """
    for pattern, to in _STEPS:
        vocalised = pattern.sub(to, vocalised)
    return vocalised


def without_ending(vocalised: str) -> str:
    """A comparable word without the signs of its last letter.

    >>> without_ending("كِتابُ") == without_ending("كِتابٍ") == "كِتاب"
    True
    """
    return re.sub(f"[{_SIGNS}]+$", "", re.sub("\u064b(?=[اى]$)", "", vocalised))


def join_pieces(pieces: str) -> str:
    """Vocalised pieces with ``+`` between them as one word, as it is written.

    >>> join_pieces("لِ+اَلحَظرِ"), join_pieces("زِيَارَةِ+هِ")
    ('لِلحَظرِ', 'زِيَارَتِهِ')
    """
    word = ""
    for piece in pieces.split("+"):
        if word:
            word = re.sub(f"ة(?=[{_SIGNS}]*$)", "ت", word)
            if re.search(f"ل[{_SHORT}]$", word):
                piece = re.sub(f"^ا[{_SHORT}]?ل", "ل", piece)
        word += piece
    return word


@dataclass
class VocalisationScores:
    """How many words, how many as in the gold, and how many but for the ending.

    >>> scores = VocalisationScores()
    >>> scores.add("كِتابُ", "كِتَابٍ")
    >>> scores.words, scores.right, scores.right_without_ending
    (1, 0, 1)
    """

    words: int = 0
    right: int = 0
    right_without_ending: int = 0

    def add(self, shown: str, gold: str) -> None:
        """One more word, as shown and as in the gold."""
        ours, theirs = comparable(shown), comparable(gold)
        self.words += 1
        self.right += ours == theirs
        self.right_without_ending += without_ending(ours) == without_ending(theirs)

    @property
    def accuracy(self) -> float:
        """Percent of words right with their endings."""
        return 100.0 * self.right / max(self.words, 1)

    @property
    def accuracy_without_endings(self) -> float:
        """Percent of words right but for the ending."""
        return 100.0 * self.right_without_ending / max(self.words, 1)
