"""What can be said of a word by itself: case, shape, beginnings and endings, bits of its cluster.

Each is a *slot*, a name with a text; :func:`slots_of` gives them all.
"""

from __future__ import annotations

import re

__all__ = ["CLUSTER_BITS", "SLOTS", "case_of", "kind_of", "lowered", "outline", "slots_of"]

CLUSTER_BITS = (4, 6, 10, 20)
SLOTS = (
    "word",
    "lower",
    "shape",
    "form",
    "case",
    "kind",
    "pre1",
    "pre2",
    "pre3",
    "pre4",
    "suf1",
    "suf2",
    "suf3",
    "suf4",
    *(f"bits{n}" for n in CLUSTER_BITS),
)
"""The names of all slots; ``form`` is the shape with every run of a class cut to one character."""

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


def _runs(classes: str, most: int) -> str:
    """Runs of the same class cut to so many characters."""
    return re.sub(rf"(.)\1{{{most},}}", lambda run: run[1] * most, classes, flags=re.DOTALL)


def outline(word: str) -> str:
    """The shape of a word with every run of a class cut to one character.

    >>> outline("McCarthy-21")
    'XxXx-d'
    """
    return _runs("".join(map(_class_of, word)), 1)


def slots_of(word: str, bits: str | None = None) -> dict[str, str]:
    """Every slot of a word; ``bits`` is the path of its cluster, None for a word without one.

    >>> slots = slots_of("McCarthy-2", "0110100")
    >>> slots["shape"], slots["form"], slots["case"], slots["suf3"], slots["bits6"]
    ('XxXxxx-d', 'XxXx-d', 'mixed', 'y-0', '011010')
    """
    classes = "".join(map(_class_of, word))
    lower = lowered(word)
    slots = {
        "word": word,
        "lower": lower,
        "shape": _runs(classes, 3),
        "form": _runs(classes, 1),
        "case": case_of(word),
        "kind": kind_of(word),
    }
    for n in (1, 2, 3, 4):
        if len(lower) > n:
            slots[f"pre{n}"], slots[f"suf{n}"] = lower[:n], lower[-n:]
    if bits is not None:
        for n in CLUSTER_BITS:
            slots[f"bits{n}"] = bits[:n]
    return slots
