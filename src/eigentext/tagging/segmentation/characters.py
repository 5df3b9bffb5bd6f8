"""Characters in numbers: class, folded letter, and what sticks to what.

Tables over all code points are filled as characters are met, since asking ``unicodedata`` for all
of them would take longer than most texts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from eigentext.base.types import Int64s, UInt8s, UInt32s
from eigentext.tagging.segmentation.kernels import squeeze as kernel
from eigentext.tagging.segmentation.kernels.boundaries import CUT, JOINED
from eigentext.tagging.segmentation.kernels.squeeze import PARAGRAPH_CLASS

# number of each class of characters; 0 is "not looked at yet", 1 the end of a paragraph
CLASSES = {
    "space": kernel.SPACE,
    "Lu": 3, "Lt": 3, "Ll": 4, "Lo": 5, "Lm": 5,
    "Han": 6, "Hiragana": 7, "Katakana": 8, "Hangul": 9, "South-East": 10,
    "Nd": 11, "Nl": 12, "No": 12, "Mn": 13, "Mc": 13, "Me": 13,
    "Ps": 14, "Pe": 15, "Pi": 16, "Pf": 17, "Pd": 18, "Pc": 19, "Po": 20,
    "Sc": 21, "Sm": 22, "Sk": 23, "So": 24, "Cf": 25,
    "Cc": 26, "Cs": 26, "Co": 26, "Cn": 26,
}  # fmt: skip
# scripts without spaces are classes of their own: words end where the script changes
_SCRIPTS = (
    (0x0E00, 0x0EFF, "South-East"),
    (0x1000, 0x109F, "South-East"),
    (0x1100, 0x11FF, "Hangul"),
    (0x1780, 0x17FF, "South-East"),
    (0x3005, 0x3007, "Han"),
    (0x3040, 0x309F, "Hiragana"),
    (0x30A0, 0x30FF, "Katakana"),
    (0x31F0, 0x31FF, "Katakana"),
    (0x3400, 0x4DBF, "Han"),
    (0x4E00, 0x9FFF, "Han"),
    (0xAC00, 0xD7AF, "Hangul"),
    (0xF900, 0xFAFF, "Han"),
    (0xFF66, 0xFF9D, "Katakana"),
    (0x20000, 0x3FFFF, "Han"),
)
# what stands in an address of the web, or of mail; marks behind it belong to the sentence
_ADDRESS = re.compile(
    r"""(?<!\w)(?:(?:https?|ftp)://|www\.)[^\s<>"«»“”]*[^\s<>"«»“”.,;:!?'’()\[\]{}…،。]"""
    r"""|(?<![\w.])[\w.+-]+@\w[\w-]*(?:\.[\w-]*\w)+""",
    re.IGNORECASE,
)
_SIZE = 0x110000
_class_of = np.zeros(_SIZE, np.uint8)
_folded = np.zeros(_SIZE, np.uint32)
_glue = np.zeros(_SIZE, np.uint8)


class Squeezed(NamedTuple):
    """A text without what does not matter: every run of white space is one space."""

    chars: UInt32s  # lower case, every digit a 0; kernel.PARAGRAPH around each paragraph
    classes: UInt8s  # of each character
    glue: UInt8s  # whether a token may not begin there, inside of a grapheme
    at: Int64s  # where each stands in the text


def code_points(text: str) -> UInt32s:
    """The numbers of a text's characters, halves of surrogate pairs included.

    >>> code_points("aé").tolist()
    [97, 233]
    """
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def squeezed(text: str, *, paragraphs: bool = True, line_breaks: bool = False) -> Squeezed:
    """What the stages look at; blank lines end paragraphs, and line breaks may be told apart.

    >>> chars = squeezed("A  9\\n\\nb").chars
    >>> "".join(map(chr, chars)).strip(chr(kernel.PARAGRAPH)).split(chr(kernel.PARAGRAPH))
    ['a 0', '', '', '', '', '', '', '', 'b']
    """
    codes = code_points(text)
    _look_at(codes)
    tables = kernel.Tables(_class_of, _folded, _glue)
    return Squeezed(*kernel.squeeze(codes, tables, paragraphs, line_breaks))


def addresses(text: str) -> list[tuple[int, int]]:
    """Where addresses of the web and of mail stand in a text.

    >>> text = "See www.example.org/a, or ask me@example.org."
    >>> [text[start:end] for start, end in addresses(text)]
    ['www.example.org/a', 'me@example.org']
    """
    lower = text.lower()
    if "://" not in text and "www." not in lower and "@" not in text:
        return []
    return [match.span() for match in _ADDRESS.finditer(text)]


def glued(text: Squeezed, spans: list[tuple[int, int]]) -> Squeezed:
    """The same where no token begins inside of these stretches of the text."""
    if not spans:
        return text
    glue = text.glue.copy()
    for first, last in np.searchsorted(text.at, np.array(spans)).tolist():
        glue[first + 1 : last] = 1
    return text._replace(glue=glue)


def decided_places(
    text: Squeezed, cuts: Mapping[int, str]
) -> tuple[Squeezed, dict[int, int], dict[int, str]]:
    """The text with cuts of a person in its glue; where each is, and those that no glue can hold.

    ``cuts``: before a character of the text, ``none`` or anything else for a token that begins.
    """
    glue = text.glue.copy()
    at: dict[int, int] = {}
    lost: dict[int, str] = {}
    for offset, cut in cuts.items():
        index = int(np.searchsorted(text.at, offset))
        while index < len(text.at) and text.at[index] == offset and text.classes[index] <= 2:
            index += 1  # the marks around paragraphs stand where their text does
        if index >= len(text.at) or text.at[index] != offset:
            lost[offset] = cut
            continue
        at[offset] = index
        glue[index] = JOINED if cut == "none" else CUT
        if cut == "none" and text.classes[index - 1] == PARAGRAPH_CLASS:
            lost[offset] = cut  # over a blank line no token goes on
    return text._replace(glue=glue), at, lost


def _look_at(codes: UInt32s) -> None:
    """Fill the tables for characters that were not met before."""
    for code in np.unique(codes[_class_of[codes] == 0]).tolist():
        char = chr(code)
        category = unicodedata.category(char)
        small = char.lower()[:1]
        _folded[code] = ord("0") if category == "Nd" else ord(small)
        _glue[code] = _sticks(code, category)
        name = "space" if char.isspace() else category
        if name in ("Lo", "Lm", "Nl"):
            name = next((s for low, high, s in _SCRIPTS if low <= code <= high), name)
        _class_of[code] = CLASSES[name]


def _sticks(code: int, category: str) -> int:
    """How a character sticks to its neighbours: the rules of grapheme clusters in Unicode."""
    if category[0] == "M" or code == 0x200C or 0x1F3FB <= code <= 0x1F3FF:
        return kernel.EXTENDS
    if code == 0x200D:
        return kernel.JOINS
    if 0xE0020 <= code <= 0xE007F or 0xFF9E <= code <= 0xFF9F:
        return kernel.EXTENDS
    if 0x1F1E6 <= code <= 0x1F1FF:
        return kernel.FLAG
    if 0x1100 <= code <= 0x115F or 0xA960 <= code <= 0xA97C:
        return kernel.LEADING
    if 0x1160 <= code <= 0x11A7 or 0xD7B0 <= code <= 0xD7C6:
        return kernel.VOWEL
    if 0x11A8 <= code <= 0x11FF or 0xD7CB <= code <= 0xD7FB:
        return kernel.TRAILING
    if 0xAC00 <= code <= 0xD7A3:
        return kernel.SYLLABLE if (code - 0xAC00) % 28 else kernel.OPEN_SYLLABLE
    return kernel.PICTURE if category == "So" else 0
