"""A text as segmentation looks at it, by regular expressions and the names of characters."""

from __future__ import annotations

import re
import unicodedata

from eigentext.tagging.segmentation.characters import CLASSES

MARK = "\n"  # around paragraphs, eight times
REACH = 8
_SCRIPTS = {
    "CJK": "Han", "IDEOGRAPHIC": "Han", "HIRAGANA": "Hiragana", "KATAKANA": "Katakana",
    "HALFWIDTH": "Katakana", "HANGUL": "Hangul", "THAI": "South-East", "LAO": "South-East",
    "MYANMAR": "South-East", "KHMER": "South-East",
}  # fmt: skip
_BREAKS = re.compile("\r\n|[\n\r\x0b\x0c\x85\u2028]")
# extending X, joining J, flag F, Hangul L V T, A (open syllable), B (closed), picture P
_CLUSTER = re.compile(r"(?:FF?|L*(?:AV*T*|BT*|V+T*)|L+|T+|.)[XJ]*(?:(?<=J)P[XJ]*)*", re.DOTALL)


def class_of(char: str) -> int:
    """The number of a character's class: by its category, of some letters by their script."""
    category = unicodedata.category(char)
    if char.isspace():
        return CLASSES["space"]
    if category in ("Lo", "Lm", "Nl"):
        script = unicodedata.name(char).replace("-", " ").split()[0]
        return CLASSES[_SCRIPTS.get(script, category)]
    return CLASSES[category]


def _kind(char: str) -> str:
    name, category = unicodedata.name(char, ""), unicodedata.category(char)
    extending = r"EMOJI MODIFIER|ZERO WIDTH NON-JOINER|TAG |HALFWIDTH KATAKANA .*SOUND MARK$"
    if category[0] == "M" or re.match(extending, name):
        return "X"
    if name == "ZERO WIDTH JOINER":
        return "J"
    if name.startswith("REGIONAL INDICATOR"):
        return "F"
    for word, kind in (("CHOSEONG", "L"), ("JUNGSEONG", "V"), ("JONGSEONG", "T")):
        if name.startswith(f"HANGUL {word}"):
            return kind
    if name.startswith("HANGUL SYLLABLE"):
        return "A" if len(unicodedata.normalize("NFD", char)) == 2 else "B"
    return "P" if category == "So" else "o"


def clusters(piece: str) -> list[int]:
    """Where the graphemes of a text without white space begin."""
    return [match.start() for match in _CLUSTER.finditer("".join(map(_kind, piece)))]


def squeezed(
    text: str, *, paragraphs: bool = True, line_breaks: bool = False
) -> list[tuple[str, int, bool, int]]:
    """(character, class, whether it is inside of a grapheme, offset) of each place."""
    places = [(MARK, 1, False, 0)] * REACH
    for match in re.compile(r"\s+|\S+").finditer(text, int(text.startswith("\ufeff"))):
        piece, at = match[0], match.start()
        if not piece.isspace():
            begin = set(clusters(piece))
            for k, char in enumerate(piece):
                folded = "0" if char.isdecimal() else char.lower()[:1]
                places.append((folded, class_of(char), k not in begin, at + k))
        elif places[-1][1] != 1 and match.end() < len(text):
            breaks = len(_BREAKS.findall(piece)) + 2 * piece.count("\u2029")
            if breaks > 1 and paragraphs:
                places += [(MARK, 1, False, at)] * REACH
            else:
                places.append(("\x0b" if breaks and line_breaks else " ", 2, False, at))
    return places + [(MARK, 1, False, len(text))] * REACH
