"""Quotes, apostrophes, brackets and dashes as typed, and as a model knows them.

A treebank has its own signs: `` `` `` for an opening quote, ``-LRB-`` for a bracket.  A word that
the model does not know is looked up under the other spellings of its signs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

_OPENING, _CLOSING = ("``", "“", '"', "''"), ("''", "”", '"', "``")
_OTHERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("“", "„", "‟", "«", "``"), _OPENING),
    **dict.fromkeys(("”", "»", "''"), _CLOSING),
    "‘": ("`", "'"),
    "’": ("'",),
    "`": ("‘", "'"),
    "'": ("’",),
    "–": ("--", "—", "-"),
    "—": ("--", "–", "-"),
    "--": ("—", "–", "-"),
    "…": ("...",),
    "...": ("…",),
    "(": ("-LRB-",),
    ")": ("-RRB-",),
    "[": ("-LSB-", "-LRB-"),
    "]": ("-RSB-", "-RRB-"),
    "{": ("-LCB-", "-LRB-"),
    "}": ("-RCB-", "-RRB-"),
}
_OTHERS |= {names[0]: (sign,) for sign, names in _OTHERS.items() if sign in "()[]{}"}
_SIGN = re.compile("[\"'’‘`“”„‟«»–—…()\\[\\]{}]|-[LR][RSC]B-|--|\\.\\.\\.")


def familiar_forms(forms: Sequence[str], knows: Callable[[str], bool]) -> tuple[str, ...]:
    """The words, each in a spelling of its signs that is known, if it has one.

    >>> familiar_forms(["“", "I", "can", "’t", '"'], {"``", "I", "'t", "''"}.__contains__)
    ('``', 'I', 'can', "'t", "''")
    >>> familiar_forms(["“"], {"“", '"'}.__contains__)
    ('“',)
    """
    typed = tuple(forms)
    if not _SIGN.search(" ".join(typed)):
        return typed
    spelt = list(typed)
    opens = True  # whether a straight quote would open; it closes what any quote before it opened
    for index, form in enumerate(typed):
        if _SIGN.search(form) and not knows(form):
            spelt[index] = next(filter(knows, _spellings(form, opens=opens)), form)
        if form == '"':
            opens = not opens
        elif _OTHERS.get(form) in (_OPENING, _CLOSING):
            opens = _OTHERS[form] is _CLOSING
    return tuple(spelt)


def _spellings(form: str, *, opens: bool) -> Iterator[str]:
    """Other ways to write the signs of a word."""
    if form == '"':
        yield from _OPENING if opens else _CLOSING
    yield from _OTHERS.get(form, ())
    yield form.replace("’", "'")
    yield form.replace("'", "’")
