"""Signatures: what an unknown word still tells by its shape, from fine to coarse.

A model uses the finest that it has counted often enough; the last is always ``<unk>``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container
from typing import Literal, get_args

from eigentext.errors import SettingsError

Language = Literal["english", "generic"]
"""Whose endings the signatures of rare and unknown words look at."""

LANGUAGES: tuple[Language, ...] = get_args(Language)

# longest first; "s" is dealt with apart, because of "ss", "us" and "is"
_ENDINGS = (
    frozenset({"ation"}),
    frozenset({"able", "ible", "less", "ment", "ness", "ship", "tion"}),
    frozenset(
        {"ing", "ion", "est", "ity", "ful", "ive", "ous", "ish", "ism", "ist", "ize", "ise"}
    ),
    frozenset({"ed", "er", "or", "ly", "al", "ic", "an", "ry"}),
    frozenset({"y"}),
)


def _case(word: str, *, first: bool, vocabulary: Container[str]) -> str:
    if word.islower() and (word.isalpha() or word.isascii()):
        return "lower"  # most words; the rest says the same of them
    letters = [character for character in word if character.isalpha()]
    if not letters:
        return "none"
    if not any(c.isupper() or c.istitle() or c.islower() for c in letters):
        return "uncased"
    n_capitals = sum(c.isupper() or c.istitle() for c in letters)
    if n_capitals == 0:
        return "lower"
    if word[0].isupper() or word[0].istitle():
        if n_capitals == len(letters) and len(letters) > 1:
            return "upper"
        if n_capitals > 1:
            return "Mixed"
        if not first:
            return "Capital"
        return "First+" if word.lower() in vocabulary else "First"
    return "mixed"


def _marks(word: str) -> str:
    """Digits, hyphens, and anything that is neither letter nor digit nor those."""
    if word.isalpha():
        return ""
    categories = {unicodedata.category(character) for character in word}
    marks = []
    if any(category in ("Nd", "Nl", "No") for category in categories):
        marks.append("digit")
    if "Pd" in categories:
        marks.append("dash")
    if any(category[0] in "PSC" and category != "Pd" for category in categories):
        marks.append("sign")
    return "-".join(marks)


def _english_ending(word: str) -> str:
    lowered = word.lower()
    if len(word) >= 3 and lowered.endswith("s") and lowered[-2] not in "siu'":
        return "s"
    if len(word) >= 5:
        for length, endings in zip(range(5, 0, -1), _ENDINGS, strict=True):
            if lowered[-length:] in endings:
                return lowered[-length:]
    return ""


def _last_letters(word: str) -> str:
    """Return the last three letters, or fewer when something else comes before."""
    folded = word.casefold()
    if folded[-3:].isalpha():
        return folded[-3:]
    letters: list[str] = []
    for character in reversed(folded):
        if unicodedata.category(character)[0] not in "LM" or len(letters) == 3:
            break
        letters.append(character)
    return "".join(reversed(letters))


def _shape(
    word: str, first: bool, vocabulary: Container[str], language: str
) -> tuple[str, str, str]:
    """The case, the case with the marks, and the longest ending."""
    case, marks = _case(word, first=first, vocabulary=vocabulary), _marks(word)
    if language == "english":
        ending = _english_ending(word)
    elif language == "generic":
        ending = _last_letters(word)
    else:
        raise SettingsError(f"language must be 'english' or 'generic', not {language!r}")
    return case, f"{case}-{marks}" if marks else case, ending


def signatures(
    word: str,
    *,
    first: bool = False,
    vocabulary: Container[str] = (),
    language: Language = "english",
) -> tuple[str, ...]:
    """Return the signatures of a word, from fine to coarse, without repetitions.

    ``first``  is it the first word of its sentence, where a capital says little?
    ``vocabulary``  is a first word one of them when written small?

    >>> signatures("Overthinking", first=True)
    ('<First-ing>', '<First>', '<unk>')
    >>> signatures("re-run3s")
    ('<lower-digit-dash-s>', '<lower-digit-dash>', '<lower>', '<unk>')
    >>> signatures("hestanna", language="generic")
    ('<lower-nna>', '<lower-na>', '<lower-a>', '<lower>', '<unk>')
    >>> [signatures(word)[0] for word in ("1,234.5", "USSR", "Qatari", "كتابها")]
    ['<none-digit-sign>', '<upper>', '<Capital>', '<uncased>']
    """
    case, shape, ending = _shape(word, first, vocabulary, language)
    shorter = range(len(ending) if language == "generic" else min(1, len(ending)))
    levels = [f"<{shape}-{ending[at:]}>" for at in shorter]
    return tuple(dict.fromkeys((*levels, f"<{shape}>", f"<{case}>", "<unk>")))


# ---------------------------------------------------------------- what its letters say


_URL = re.compile(r"(?:https?://|www\.)\S+|\S+\.(?:com|org|net)\b\S*")


def lowered(word: str) -> str:
    """Lower case, every digit a 0.

    >>> lowered("Route-66")
    'route-00'
    """
    lower = word.lower()
    if lower.isalpha():
        return lower
    return "".join("0" if character.isdigit() else character for character in lower)


def _class_of(character: str) -> str:
    if character.isupper() or character.istitle():
        return "X"
    if character.islower():
        return "x"
    if character.isdigit():
        return "d"
    return "c" if character.isalpha() else character


def case_of(word: str) -> str:
    """Which of its letters are capitals: lower, title, upper, single, mixed; or digits, sign.

    >>> [case_of(word) for word in ("cat", "Cat", "CAT", "I", "iPad", "3.", "!")]
    ['lower', 'title', 'upper', 'single', 'mixed', 'digits', 'sign']
    """
    if word.islower() and word.isalpha():  # most words
        return "lower"
    letters = [character for character in word if character.isalpha()]
    n_upper = sum(character.isupper() or character.istitle() for character in letters)
    if not letters:
        return "digits" if any(map(str.isdigit, word)) else "sign"
    if not n_upper:
        return "lower"
    if n_upper == len(letters):
        return "upper" if n_upper > 1 else "single"
    return "title" if n_upper == 1 and _class_of(word[0]) == "X" else "mixed"


def kind_of(word: str) -> str:
    """Signs that tell much of a word: a hash or at before it, a URL, dots, digits, dashes.

    >>> kind_of("#nlp"), kind_of("a.b"), kind_of("well-known")
    ('#', 'dot++', '++dash')
    """
    if word[0] in "@#" and len(word) > 1:
        return word[0]
    if _URL.fullmatch(word):
        return "url"
    marks = ("digit" * any(map(str.isdigit, word)), "dash" * ("-" in word[1:-1]))
    return "+".join(("dot" * ("." in word[:-1]), *marks))


def outline(word: str, most: int = 1) -> str:
    """The class of each character, with runs of the same class cut to ``most`` characters.

    >>> outline("McCarthy-21"), outline("McCarthy-21", 3)
    ('XxXx-d', 'XxXxxx-dd')
    """
    classes = "".join(map(_class_of, word))
    return re.sub(rf"(.)\1{{{most},}}", lambda run: run[1] * most, classes, flags=re.DOTALL)
