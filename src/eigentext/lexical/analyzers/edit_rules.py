"""How a form becomes its lemma: an edit at the front and at the back, found and applied.

A rule cuts letters off the front and the back of a form and puts others in their place; the
longest common substring of form and lemma stays.  Forms with a capital may be lowered first.
"""

from __future__ import annotations

from difflib import Match, SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

_FOLDS = {"tr": str.maketrans("eiuütçkğ", "aıııdcgg")}
_FOLDS["az"] = _FOLDS["tr"]


class EditRule(NamedTuple):
    """Cut ``front`` and ``back`` off, put ``new_front`` and ``new_back`` there.

    >>> EditRule(False, "", "", "lerden", "").apply("evlerden")
    'ev'
    >>> EditRule(False, "", "", "ler", "").apply("ev") is None
    True
    """

    lowered: bool
    front: str
    new_front: str
    back: str
    new_back: str

    def apply(self, form: str, language: str = "") -> str | None:
        """The lemma, or None where the form does not begin and end as the rule asks."""
        if self.lowered:
            form = lower(form, language)
        start, end = len(self.front), len(form) - len(self.back)
        if start > end or not form.startswith(self.front) or not form.endswith(self.back):
            return None
        lemma = self.new_front + form[start:end] + self.new_back
        return lemma or None


def lower(word: str, language: str = "") -> str:
    """Lower case; Turkish and Azeri have two letters i.

    >>> lower("ISI", "tr"), lower("ISI")
    ('ısı', 'isi')
    """
    if language in ("tr", "az"):
        word = word.replace("İ", "i").replace("I", "ı")
    return word.lower()


def folds(language: str) -> bool:
    """Whether letters of this language follow others (vowel harmony)."""
    return language in _FOLDS


def fold(text: str, language: str = "") -> str:
    """Letters that follow others as one of them: what harmony changes is the same then.

    >>> fold("evlerde", "tr") == fold("avlarda", "tr"), fold("evlerde")
    (True, 'evlerde')
    """
    return text.translate(_FOLDS[language]) if language in _FOLDS else text


def shape(word: str) -> str:
    """What sort of token this is: ``a`` letters, ``A`` with a capital, ``0`` a digit, ``.`` none.

    >>> [shape(word) for word in ("ev", "Ankara", "3.", "...")]
    ['a', 'A', '0', '.']
    """
    if any(char.isdigit() for char in word):
        return "0"
    if not any(char.isalpha() for char in word):
        return "."
    return "A" if word[0].isupper() else "a"


def _longest_match(form: str, lemma: str) -> Match:
    return SequenceMatcher(None, form, lemma, autojunk=False).find_longest_match()


@lru_cache(maxsize=65536)
def find_rule(form: str, lemma: str, language: str = "") -> EditRule:
    """The rule that makes this lemma of this form, lowering it only if that keeps more of it.

    >>> find_rule("gidiyor", "git")
    EditRule(lowered=False, front='', new_front='', back='diyor', new_back='t')
    >>> find_rule("Evler", "ev").lowered
    True
    """
    match = _longest_match(form, lemma)
    lowered = lower(form, language)
    match_lowered = _longest_match(lowered, lemma)
    use_lower = match_lowered.size > match.size
    if use_lower:
        form, match = lowered, match_lowered
    start, lemma_start, size = match
    if size == 0:
        return EditRule(use_lower, "", "", form, lemma)
    end, lemma_end = start + size, lemma_start + size
    return EditRule(use_lower, form[:start], lemma[:lemma_start], form[end:], lemma[lemma_end:])
