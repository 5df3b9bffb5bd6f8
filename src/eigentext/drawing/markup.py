"""Text on its way into SVG and HTML: made safe, measured, and told its direction.

The flow: a word as the data had it -> `printable` (what XML cannot carry is replaced) -> `escape`
(what markup would misread is escaped).  On the side, `text_width` estimates how wide a browser
will draw it and `is_right_to_left` says which way it runs, so that drawings can be laid out
without a browser at hand.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from html import escape as _escape_html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# XML 1.0 has no place for these, not even escaped.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
# Embeddings, overrides and isolates reach beyond the word they stand in and would turn the page.
_DIRECTION_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")

_NARROW = frozenset("iljtfrI.,:;'`|!()[]{}/\\-·’‘“”\" ")
_BROAD = frozenset("mwMW@%—…")


def printable(text: str) -> str:
    """The text with what XML cannot carry (and direction overrides) replaced by U+FFFD.

    >>> printable("a\\x00b")
    'a\ufffdb'
    """
    return _DIRECTION_CONTROLS.sub("\ufffd", _NOT_XML.sub("\ufffd", text))


def escape(text: str) -> str:
    """The text, safe as content or as a quoted attribute of SVG and HTML.

    >>> escape('<b> & "c"')
    '&lt;b&gt; &amp; &quot;c&quot;'
    """
    return _escape_html(printable(text), quote=True)


def elide(text: str, longest: int) -> str:
    """The text, cut to at most `longest` characters with an ellipsis at the end.

    >>> elide("unbelievable", 6)
    'unbel…'
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


@lru_cache(maxsize=4096)
def _em(character: str) -> float:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0.0
    if unicodedata.east_asian_width(character) in {"W", "F"}:
        return 1.0
    if character in _NARROW:
        return 0.36
    if character in _BROAD:
        return 0.92
    if character.isupper():
        return 0.70
    return 0.58


def text_width(text: str, font_size: float = 1.0, *, bold: bool = False) -> float:
    """About how wide a proportional sans-serif font draws the text; errs on the wide side.

    East Asian wide characters take a full em, combining marks and format characters nothing.

    >>> text_width("漢字", 10)
    20.0
    >>> text_width("e\u0301") == text_width("e")
    True
    """
    return font_size * (1.1 if bold else 1.0) * sum(map(_em, text))


def is_right_to_left(texts: Iterable[str]) -> bool:
    """Whether most of the texts that have a direction run from right to left.

    The direction of a text is that of its first letter with one (as in Unicode's bidi rule P2).

    >>> is_right_to_left(["كتاب", "."]), is_right_to_left(["book", "."])
    (True, False)
    """
    balance = 0
    for text in texts:
        for character in text:
            direction = unicodedata.bidirectional(character)
            if direction in {"R", "AL"}:
                balance += 1
                break
            if direction == "L":
                balance -= 1
                break
    return balance > 0
