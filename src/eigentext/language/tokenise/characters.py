"""Classes of characters, as pieces of regular expressions that the tokenisers share.

Python's ``re`` knows the letters and digits of every script but not combining marks or emoji, so
those classes are made here from the Unicode data that Python carries.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

# Web and mail addresses; shared with the other tokenisers.  The tail of an address is trimmed of
# signs that more likely belong to the sentence.  The local part is bounded, so that a long word is
# not scanned again and again in the hope of an '@'.
ADDRESS = r"""
    (?:(?:https?|ftp|HTTPS?)://|www\.|WWW\.)[^\s<>"“”«»]*[^\s<>"“”«».,;:!?'’)\]}…]
  | [\w.+\-]{1,64}+@[\w\-]++(?:\.[\w\-]++)++
"""
# Each character a token of its own: Han, kana, and the signs that repeat or replace them.
IDEOGRAPHS = (
    "\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_PICTURES = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u27bf\u2934\u2935"
    "\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)


def _ranges(points: list[int]) -> str:
    """Sorted code points as the inside of a regular-expression class."""
    parts: list[str] = []
    first = previous = points[0]
    for point in [*points[1:], sys.maxunicode + 2]:
        if point != previous + 1:
            low, high = re.escape(chr(first)), re.escape(chr(previous))
            parts.append(low if first == previous else f"{low}-{high}")
            first = point
        previous = point
    return "".join(parts)


@cache
def combining_marks() -> str:
    """Combining marks (Mn, Mc, Me) and invisible joiners, as the inside of a class."""
    candidates = [*range(0x300, 0x20000), *range(0xE0000, 0xE01F0)]
    points = [p for p in candidates if unicodedata.category(chr(p))[0] == "M"]
    points += [ord(c) for c in "\u00ad\u061c\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"]
    points += [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
    return _ranges(sorted(set(points)))


def emoji_pattern(marks: str) -> str:
    """Flags, keycaps and pictures with their modifiers, joined by ZWJ into one."""
    picture = (
        rf"[{_PICTURES}](?:[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff]|[\U000e0020-\U000e007f])*+"
    )
    return rf"""
        [\U0001f1e6-\U0001f1ff]{{2}}
      | [0-9\#*]\ufe0f?\u20e3
      | {picture}(?:\u200d{picture})*+[{marks}]*+
    """
