"""The SVG that drawings share: text, lines, and the document around them.

Drawings carry presentation attributes only (no style sheet, no script, no ids), so they obey a
strict content security policy and many of them fit on one page.  Lines and text are in
``currentColor``, thus right on light and on dark paper; a page may restyle the classes
``et-label``, ``et-tag``, ``et-word``, ``et-relation``, ``et-edge``, ``et-arrow``, ``et-value``
(a patch of colour), ``et-valued`` (the label on it), ``et-mark`` (a frame) and ``et-legend``.
Parts that a page lets people choose are groups with ``data-`` attributes (:func:`data_group`).
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from html import escape as _escape_html

FONT_SIZE = 14
HALF_LABEL = 11.0  # from the middle of a label to where its lines start
MARGIN = 12.0
LONGEST_TEXT = 48
_LONGEST_DESCRIPTION = 2000
_TARGET = 'fill="none" pointer-events="all"'  # what cannot be seen and can be pointed at
_FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', sans-serif"
_WEIGHT = {"et-word": "600", "et-label": "500", "et-valued": "500"}
_OPACITY = {"et-tag": "0.65", "et-relation": "0.75"}


def svg_text(
    role: str, x: float, y: float, shown: str, full: str, note: str = "", size: float = FONT_SIZE
) -> str:
    """One label centred at (x, y); its tooltip has what the drawing had to leave out."""
    more = ": ".join(filter(None, [full if full != shown else "", note]))
    tooltip = f"<title>{escape(more)}</title>" if more else ""
    attributes = f'class="{role}" x="{number(x)}" y="{number(y + 0.36 * size)}"'
    if size != FONT_SIZE:
        attributes += f' font-size="{number(size)}"'
    if role in _WEIGHT:
        attributes += f' font-weight="{_WEIGHT[role]}"'
    if role in _OPACITY:
        attributes += f' fill-opacity="{_OPACITY[role]}"'
    if is_right_to_left([shown]):
        attributes += ' direction="rtl"'
    return f"<text {attributes}>{escape(shown)}{tooltip}</text>"


def data_group(role: str, about: Mapping[str, object], parts: Sequence[str]) -> str:
    """Parts of a drawing that belong together, and what they stand for.

    >>> data_group("et-node", {"label": "NP", "start": 0}, [])
    '<g class="et-node" data-label="NP" data-start="0"></g>'
    """
    data = "".join(f' data-{name}="{escape(str(value))}"' for name, value in about.items())
    return f'<g class="{role}"{data}>{"".join(parts)}</g>'


def svg_box(
    role: str, x: float, y: float, width: float, height: float, radius: int, look: str = _TARGET
) -> str:
    """A box that hangs from (x, y), the middle of its upper side; one to point at has no look."""
    return (
        f'<rect class="{role}" x="{number(x - width / 2)}" y="{number(y)}" '
        f'width="{number(width)}" height="{number(height)}" rx="{radius}" {look}/>'
    )


def svg_lines(paths: Sequence[str]) -> str:
    """All lines of a drawing as one path."""
    return (
        f'<path class="et-edge" d="{"".join(paths)}" fill="none" stroke="currentColor" '
        'stroke-opacity="0.4" stroke-width="1.3"/>'
    )


def svg_document(
    width: float,
    height: float,
    *,
    title: str,
    description: str,
    parts: Sequence[str],
    mirrored: bool = False,
) -> str:
    """The whole drawing; the description is what a screen reader can read out."""
    # pages let a drawing that reads from the right be scrolled from the right
    side = ' data-direction="rtl"' if mirrored else ""
    description = elide(description, _LONGEST_DESCRIPTION)
    w, h = number(math.ceil(width)), number(math.ceil(height))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{w}" height="{h}" '
        f'viewBox="0 0 {w} {h}" font-family="{escape(_FONT)}" font-size="{FONT_SIZE}" '
        f'fill="currentColor" text-anchor="middle" direction="ltr"{side}>'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
        f"{''.join(parts)}</svg>"
    )


def shown_text(text: str) -> str:
    """What the drawing shows of a text: printable, and not too long."""
    return elide(printable(text), LONGEST_TEXT)


def number(value: float) -> str:
    """A coordinate with at most two decimals, as short as it can be.

    >>> number(3.0), number(2.504), number(-0.001)
    ('3', '2.5', '0')
    """
    short = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def fit_for_page(svg: str, title: str, *, ink: str) -> str:
    """matplotlib's SVG as a page wants it: the ink follows the page, the ids are its own."""
    svg = svg[svg.index("<svg") :].strip()
    svg = svg.replace(ink, "currentColor")
    svg = svg.replace("'DejaVu Sans'", "system-ui, 'Noto Sans', 'DejaVu Sans', sans-serif")
    svg = re.sub(r"<metadata>.*?</metadata>\s*|<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)  # only what is referred to keeps its id
    prefix = "p" + hashlib.sha256(svg.encode()).hexdigest()[:8]
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", svg)
    opening = svg.index(">") + 1
    head = svg[:opening].replace("<svg ", '<svg role="img" ', 1)
    return f"{head}<title>{escape(title)}</title>{svg[opening:]}"


# ---------------------------------------------------------------- text, made safe and measured


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
