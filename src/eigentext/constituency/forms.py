"""From the user's tokens to the words that training knows: brackets, quotes, dashes and slashes
as the treebank writes them, and headlines without capitals, which say nothing there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eigentext.language.tokenise.typed_forms import familiar_forms

_ESCAPES = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
_ALL_BRACKETS = str.maketrans(_ESCAPES)
_ROUND_BRACKETS = str.maketrans({"(": "-LRB-", ")": "-RRB-"})
_SLASH = str.maketrans({"/": "\\/", "*": "\\*"})
_QUOTES = frozenset(("``", "''", '"', "`", "'", "“", "”", "„", "‟", "«", "»", "‘", "’"))
_SLIPS = 5  # a quote seen no more often than this is a slip where the treebank has another
_SHORT = 3  # letters of a word that may be written small in a title


def treebank_forms(tokens: Sequence[str], count_of: Callable[[str], float]) -> list[str]:
    """For each token the word of the treebank; ``count_of`` a word is its number in training.

    A token that is known as it is stays so, and so does one unknown in every form.  A quote that
    is hardly known becomes the one that the treebank uses in its place.

    >>> treebank_forms(["``", "No", "''", "("], {'"': 90, "``": 1, "-LRB-": 3}.get)
    ['"', 'No', '"', '-LRB-']
    """

    def in_treebank(form: str) -> bool:
        return bool(count_of(form))

    def usual(form: str) -> bool:
        return (count_of(form) or 0) > (_SLIPS if form in _QUOTES else 0)

    return [
        _bracketed(form, in_treebank)
        for form in familiar_forms(familiar_forms(tokens, usual), in_treebank)
    ]


def _bracketed(token: str, is_word: Callable[[str], bool]) -> str:
    """The ways of treebanks to write brackets, slashes and asterisks inside a token."""
    if is_word(token):
        return token
    for table in (_ROUND_BRACKETS, _ALL_BRACKETS, _SLASH):
        written = token.translate(table)
        if is_word(written):
            return written
    plain = token
    for bracket, written in _ESCAPES.items():
        plain = plain.replace(written, bracket)
    return plain if is_word(plain) else token


def capitals_tell(words: Sequence[str], count_of: Callable[[str], float]) -> bool:
    """Is a capital the sign of a name here, as in running text?  In headlines it is not.

    It is not where every word has one, some short ones apart, and most of those behind the first
    are words that training has more often without.

    >>> counts = {"the": 90, "The": 30, "new": 9, "York": 4, "mayor": 3, "of": 50, "sings": 1}
    >>> def tells(text): return capitals_tell(text.split(), lambda word: counts.get(word, 0))
    >>> tells("The Mayor Sings"), tells("THE MAYOR OF YORK SINGS"), tells("Ann met the Mayor")
    (False, False, True)
    """
    cased = [word for word in words if word.lower() != word.upper()]
    if any(word[0].islower() and len(word) > _SHORT for word in cased):
        return True
    if all(word.isupper() for word in cased) and any(len(word) > 1 for word in cased):
        judged = [word for word in cased if len(word) > 1]
    else:
        judged = [word for word in cased[1:] if not word[0].islower()]
    if sum(word[0].islower() for word in cased) >= len(judged):
        return True
    usually_small = [(count_of(word.lower()) or 0) > (count_of(word) or 0) for word in judged]
    return not 2 * sum(usually_small) > len(judged)


def spellings(word: str, *, folded: bool) -> list[str]:
    """The word and, where its capitals say nothing, its other spellings.

    >>> spellings("MAYOR", folded=True), spellings("Mayor", folded=True)
    (['MAYOR', 'mayor', 'Mayor'], ['Mayor', 'mayor'])
    """
    if not folded:
        return [word]
    small = word.lower()
    others = [small, small[:1].upper() + small[1:]] if word.isupper() else [small]
    return list(dict.fromkeys((word, *others)))
