"""What the letters of a word say: its case, its outline, and signs of what it is."""

from __future__ import annotations

import re

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
