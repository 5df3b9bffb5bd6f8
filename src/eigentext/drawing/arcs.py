"""Dependency trees as arcs above the sentence, in self-contained, accessible SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from eigentext.drawing.arcs_layout import Arc, Row, lay_out
from eigentext.drawing.svg import (
    FONT_SIZE,
    HALF_LABEL,
    MARGIN,
    data_group,
    is_right_to_left,
    number,
    shown_text,
    svg_box,
    svg_document,
    svg_lines,
    svg_text,
    text_width,
)

_SMALL = 11.5
_ARC_BASE = 16.0  # height of the lowest arc
_ARC_STEP = 21.0  # one level above the other, with room for a label
_ARROW = 6.0
_LABEL_RISE = 7.0  # of a label's middle above its arc
_STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the scale of probabilities
_COLOURS = {"first": "#2b84cc", "second": "#d9622b"}  # told apart on light and on dark paper


def arcs_svg(
    forms: Sequence[str],
    heads: Sequence[int],
    relations: Sequence[str] | None = None,
    *,
    tags: Sequence[str] | None = None,
    title: str | None = None,
    probabilities: Sequence[float] | None = None,
    against: Sequence[int] | None = None,
    against_relations: Sequence[str] | None = None,
    names: tuple[str, str] = ("first", "second"),
    direction: Literal["auto", "ltr", "rtl"] = "auto",
    width: float | None = None,
    legend: str = "",
    data: bool = False,
) -> str:
    """Draw a dependency tree as arcs from heads to dependents above the sentence.

    ``heads`` counts words from 1; 0 marks a root, which gets an arrow from above.  An arc runs
    above every arc within its span, so the arcs of a projective tree never cross.

    ``probabilities``  of each word's arc, 0 to 1: unlikely arcs are faint, labels tell the number
    ``against``        heads of another tree: what only one of the two has is coloured, and dashed
                       where it is the other's; ``names`` says in the legend whose tree is whose
    ``direction``      of the sentence; by itself it is that of its script
    ``width``          break the sentence into rows no wider than this, where words allow it
    ``legend``         what the probabilities are: a scale with this name below the words
    ``data``           every arc is a group ``et-arc`` that says which it is (``data-head``,
                       ``data-dependent``, ``data-relation``), every word a group ``et-place``
                       (``data-word``), for a page on which they can be chosen; of another tree's
                       arcs (``against``) none is

    >>> svg = arcs_svg(["dogs", "bark"], [2, 0], ["nsubj", "root"])
    >>> svg.startswith("<svg "), "nsubj" in svg
    (True, True)
    """
    _check_columns(forms, heads, relations, tags)
    _check_columns(forms, heads if against is None else against, against_relations, None, "other ")
    _check_settings(probabilities, len(forms), direction, width)
    words = [shown_text(form) for form in forms]
    under = [shown_text(tag) for tag in tags or [""] * len(words)]
    arcs = _arcs(heads, relations, probabilities)
    if against is not None:
        arcs = _merged(arcs, _arcs(against, against_relations, None))
    label_widths = [text_width(arc.label, _SMALL) for arc in arcs]
    widths = [
        max(text_width(word, FONT_SIZE, bold=True), text_width(tag, _SMALL))
        for word, tag in zip(words, under, strict=True)
    ]
    for arc, needed in zip(arcs, label_widths, strict=True):
        if arc.head < 0:
            widths[arc.dependent] = max(widths[arc.dependent], needed)
    limit = None if width is None else width - 2 * MARGIN
    rows = lay_out(arcs, widths, label_widths, limit)
    mirrored = is_right_to_left(forms) if direction == "auto" else direction == "rtl"

    whose = [] if against is None else [f"only {shown_text(name)}" for name in names]
    legend_widths = [text_width(name, _SMALL) + 34 for name in whose]
    scale = _scale(legend if probabilities is not None else "")
    least_width = max(sum(legend_widths), scale[-1][1] if scale else 0.0)
    full_width = max(least_width, *(row.width for row in rows)) + 2 * MARGIN
    sheet = _Sheet(arcs, forms, full_width, mirrored, names, data)
    top = MARGIN
    for row in rows:
        base = top + _SMALL + _ARC_BASE + (row.height + bool(row.roots)) * _ARC_STEP
        sheet.draw_arcs(row, base)
        word_y = base + HALF_LABEL + 3
        for i in range(row.first, row.last):
            x = sheet.x(row.centres[i - row.first])
            texts = [svg_text("et-word", x, word_y, words[i], forms[i])]
            if under[i]:
                below = word_y + FONT_SIZE + 4
                texts.append(svg_text("et-tag", x, below, under[i], under[i], "", _SMALL))
            if data:
                height = 24.0 + (FONT_SIZE + 4) * (len(texts) - 1)
                target = svg_box("et-hit", x, word_y - 12, max(widths[i] + 6, 24.0), height, 5)
                texts = [data_group("et-place", {"word": i + 1}, [target, *texts])]
            sheet.texts += texts
        top = word_y + (FONT_SIZE + 6 if tags else 0) + HALF_LABEL + MARGIN
    if whose:
        sheet.draw_legend(whose, legend_widths, top + HALF_LABEL)
        top += 2 * HALF_LABEL
    if scale:
        sheet.draw_scale(scale, top + HALF_LABEL)
        top += 2 * HALF_LABEL
    return svg_document(
        full_width,
        top,
        title=title or "Dependency arcs",
        description=_described(arcs, forms, names),
        parts=[*sheet.paths(), *sheet.arrows, *sheet.groups(), *sheet.texts],
        mirrored=mirrored,
    )


def _arcs(
    heads: Sequence[int], relations: Sequence[str] | None, probabilities: Sequence[float] | None
) -> list[Arc]:
    labels = relations or [""] * len(heads)
    chances = probabilities if probabilities is not None else [None] * len(heads)
    return [
        Arc(int(head) - 1, word, shown_text(label), "both", None if p is None else float(p), label)
        for word, (head, label, p) in enumerate(zip(heads, labels, chances, strict=True))
    ]


def _merged(mine: Sequence[Arc], others: Sequence[Arc]) -> list[Arc]:
    """Arcs of two trees: what they share once, with both labels where these differ."""
    arcs = []
    for first, second in zip(mine, others, strict=True):
        if first.head == second.head:
            same = first.label == second.label or not second.label
            label = first.label if same else f"{first.label or '–'} ≠ {second.label}"
            arcs.append(first._replace(label=label))
        else:
            arcs += [first._replace(kind="first"), second._replace(kind="second")]
    return arcs


class _Sheet:
    """What has been drawn so far; lines of one look share a path."""

    def __init__(
        self,
        arcs: Sequence[Arc],
        forms: Sequence[str],
        full_width: float,
        mirrored: bool,
        names: tuple[str, str],
        data: bool = False,
    ) -> None:
        self.arcs, self.forms, self.names = arcs, forms, names
        self.full_width, self.mirrored = full_width, mirrored
        self.data = data
        self.parts: dict[Arc, list[str]] = {}  # of each arc that can be chosen
        self.lines: dict[tuple[str, float | None], list[str]] = {}
        self.arrows: list[str] = []
        self.texts: list[str] = []

    def x(self, column: float) -> float:
        """The x on the sheet of a place in a row."""
        return self.full_width - MARGIN - column if self.mirrored else MARGIN + column

    def draw_arcs(self, row: Row, base: float) -> None:
        """All that runs above one row whose arrows end at ``base``."""
        tops = [base - _ARC_BASE - level * _ARC_STEP for level in row.levels]
        root_top = base - _ARC_BASE - row.height * _ARC_STEP
        legs = [  # x and upper end of every upright line
            *((x, tops[k]) for k, ends in enumerate(row.legs) for x in ends),
            *((x, root_top) for x in row.roots.values()),
        ]
        legs.sort()
        for k, (piece, (left, right)) in enumerate(zip(row.pieces, row.legs, strict=True)):
            arc = self.arcs[piece.arc]
            ends = [  # the piece's own ends, or None where it goes on in another row
                None if piece.left < 0 else base,
                None if piece.right == row.last - row.first else base,
            ]
            leftmost = min(arc.head, arc.dependent) == arc.dependent  # the arrow is on the left
            tip = 0 if leftmost else 1
            if ends[tip] is not None:
                ends[tip] = base - _ARROW
                self._arrow(arc, left if leftmost else right, base)
            self._line(arc, _piece_line(self.x(left), self.x(right), ends, tops[k]))
            half = text_width(arc.label, _SMALL) / 2
            self._label(arc, _free_middle(left, right, half, tops[k], legs), tops[k])
        for root, x in row.roots.items():
            arc = self.arcs[root]
            at = number(self.x(x))
            self._line(arc, f"M{at} {number(root_top)}V{number(base - _ARROW)}")
            self._arrow(arc, x, base)
            self._label(arc, x, root_top)

    def draw_legend(self, names: Sequence[str], widths: Sequence[float], y: float) -> None:
        """A line of each colour with what it stands for."""
        x = MARGIN
        for (kind, colour), name, width in zip(_COLOURS.items(), names, widths, strict=True):
            self._line(Arc(-1, -1, "", kind), f"M{number(x)} {number(y)}h20")
            text = svg_text("et-legend", x + (width + 12) / 2, y, name, name, "", _SMALL)
            self.texts.append(_coloured(text, colour))
            x += width

    def draw_scale(self, scale: Sequence[tuple[str, float]], y: float) -> None:
        """Lines from faint to strong between the two ends of the scale."""
        (name, _), (last, width) = scale
        first = text_width(name, _SMALL)
        self.texts.append(svg_text("et-legend", MARGIN + first / 2, y, name, name, "", _SMALL))
        for k, p in enumerate(_STEPS):
            self._line(
                Arc(-1, -1, "", "scale", p),
                f"M{number(MARGIN + first + 6 + 24 * k)} {number(y)}h20",
            )
        end = text_width(last, _SMALL)
        self.texts.append(
            svg_text("et-legend", MARGIN + width - end / 2, y, last, last, "", _SMALL)
        )

    def groups(self) -> list[str]:
        """The arcs that can be chosen, each with all that is drawn of it."""
        groups = []
        for arc, parts in self.parts.items():
            about: dict[str, object] = {"head": arc.head + 1, "dependent": arc.dependent + 1}
            about["relation"] = arc.relation
            if arc.probability is not None:
                about["value"] = f"{arc.probability:.3g}"
            groups.append(data_group("et-arc", about, parts))
        return groups

    def _chosen(self, arc: Arc) -> list[str] | None:
        """Where the parts of an arc go that can be chosen."""
        if not self.data or arc.kind == "second" or arc.dependent < 0:
            return None
        return self.parts.setdefault(arc, [])

    def paths(self) -> list[str]:
        """The lines; those of the usual look first."""
        usual = self.lines.pop(("both", None), [])
        paths = [svg_lines(usual)] if usual else []
        return paths + [_path(*look, "".join(lines)) for look, lines in self.lines.items()]

    def _line(self, arc: Arc, line: str) -> None:
        opacity = None if arc.probability is None else round(_strength(arc.probability), 2)
        chosen = self._chosen(arc)
        if chosen is None:
            self.lines.setdefault((arc.kind, opacity), []).append(line)
            return
        usual = (arc.kind, opacity) == ("both", None)
        chosen += [
            (
                f'<path class="et-hit" d="{line}" fill="none" stroke="none" stroke-width="14" '
                'pointer-events="stroke"/>'
            ),
            svg_lines([line]) if usual else _path(arc.kind, opacity, line),
        ]

    def _arrow(self, arc: Arc, x: float, base: float) -> None:
        colour = _COLOURS.get(arc.kind, "currentColor")
        opacity = 0.7 if arc.probability is None else _strength(arc.probability)
        chosen = self._chosen(arc)
        (self.arrows if chosen is None else chosen).append(
            f'<path class="et-arrow" d="M{number(self.x(x) - 3.5)} {number(base - _ARROW)}h7'
            f'l-3.5 {number(_ARROW)}z" fill="{colour}" fill-opacity="{number(opacity)}"/>'
        )

    def _label(self, arc: Arc, x: float, top: float) -> None:
        if not arc.label:
            return
        head = self.forms[arc.head] if arc.head >= 0 else "root"
        note = f"{head} → {self.forms[arc.dependent]}"
        if arc.probability is not None:
            note += f", p = {arc.probability:.3g}"
        if arc.kind != "both":
            note += f" (only {self.names[arc.kind == 'second']})"
        text = svg_text(
            "et-relation", self.x(x), top - _LABEL_RISE, arc.label, arc.label, note, _SMALL
        )
        different = arc.kind if arc.kind != "both" else "second" if " ≠ " in arc.label else ""
        text = _coloured(text, _COLOURS[different]) if different else text
        chosen = self._chosen(arc)
        if chosen is None:
            self.texts.append(text)
            return
        width = max(text_width(arc.label, _SMALL), 24.0)
        chosen += [svg_box("et-hit", self.x(x), top - _LABEL_RISE - 9, width, 18, 4), text]


def _path(kind: str, opacity: float | None, line: str) -> str:
    """Lines of one look; what only another tree has is dashed."""
    dashes = ' stroke-dasharray="5 3"' if kind == "second" else ""
    strength = number(0.8 if opacity is None else opacity)
    return (
        f'<path class="et-edge et-{kind}" d="{line}" fill="none" '
        f'stroke="{_COLOURS.get(kind, "currentColor")}" stroke-opacity="{strength}" '
        f'stroke-width="1.6"{dashes}/>'
    )


def _scale(name: str) -> list[tuple[str, float]]:
    if not name:
        return []
    first, last = f"{name} 0", "1"
    width = text_width(first, _SMALL) + 6
    return [(first, width), (last, width + 24 * len(_STEPS) + 2 + text_width(last, _SMALL))]


def _coloured(text: str, colour: str) -> str:
    return text.replace('fill-opacity="0.75"', "").replace("<text ", f'<text fill="{colour}" ', 1)


def _strength(probability: float) -> float:
    """Opacity of an arc: never invisible."""
    return 0.15 + 0.75 * probability


def _piece_line(left: float, right: float, ends: Sequence[float | None], top: float) -> str:
    """Up at one end, across with round corners, down at the other; no leg where it goes on."""
    towards = 1 if right > left else -1
    first, second = ends
    radius = min(10.0, abs(right - left) / 2, *(y - top for y in ends if y is not None))
    near, far = number(left + towards * radius), number(right - towards * radius)
    x, end, y = number(left), number(right), number(top)
    bend = number(top + radius)
    start = f"M{x} {y}" if first is None else f"M{x} {number(first)}V{bend}Q{x} {y} {near} {y}"
    return start + (
        f"H{end}" if second is None else f"H{far}Q{end} {y} {end} {bend}V{number(second)}"
    )


def _free_middle(
    left: float, right: float, half: float, top: float, legs: Sequence[tuple[float, float]]
) -> float:
    """Where a label stands over its arc: the middle, or the place next to it that no leg crosses.

    Arcs of one projective tree have no such legs; those of two trees, or of a tree that is not
    projective, may.
    """
    middle, room = (left + right) / 2, (right - left) / 2 - half - 2
    if room <= 0:
        return middle
    crossing = [x for x, upper in legs if left < x < right and upper < top - 0.1]
    reach = half + 3
    if all(abs(x - middle) > reach for x in crossing):
        return middle
    edges = [x + side * (reach + 0.01) for x in crossing for side in (-1, 1)]
    free = [
        at
        for at in edges
        if abs(at - middle) <= room and all(abs(x - at) > reach for x in crossing)
    ]
    return min(free, key=lambda at: abs(at - middle), default=middle)


def _described(arcs: Sequence[Arc], forms: Sequence[str], names: tuple[str, str]) -> str:
    whose = {"both": "", "first": f" [only {names[0]}]", "second": f" [only {names[1]}]"}
    return "; ".join(
        f"{forms[arc.dependent]} ← {forms[arc.head] if arc.head >= 0 else 'root'}"
        + (f" ({arc.label})" if arc.label else "")
        + whose[arc.kind]
        for arc in arcs[:200]
    )


def _check_settings(
    probabilities: Sequence[float] | None, n_words: int, direction: str, width: float | None
) -> None:
    if probabilities is not None and len(probabilities) != n_words:
        raise ValueError(
            f"probabilities has {len(probabilities)} items, but there are {n_words} words"
        )
    for p in probabilities if probabilities is not None else ():
        if not 0.0 <= p <= 1.0 or math.isnan(p):
            raise ValueError(f"probabilities must lie between 0 and 1, found {p}")
    if direction not in ("auto", "ltr", "rtl"):
        raise ValueError(f"direction {direction!r}, expected 'auto', 'ltr' or 'rtl'")
    if width is not None and not width > 0:
        raise ValueError(f"width is {width}, expected a number above 0")


def _check_columns(
    forms: Sequence[str],
    heads: Sequence[int],
    relations: Sequence[str] | None,
    tags: Sequence[str] | None,
    whose: str = "",
) -> None:
    for name, column in (("forms", forms), ("relations", relations), ("tags", tags)):
        if isinstance(column, str):
            raise TypeError(f"{name} must be a list of strings, not one str; did you mean a list?")
    n_words = len(forms)
    if not n_words:
        raise ValueError("there is no word to draw")
    for name, size in (
        (f"{whose}heads", len(heads)),
        (f"{whose}relations", n_words if relations is None else len(relations)),
        ("tags", n_words if tags is None else len(tags)),
    ):
        if size != n_words:
            raise ValueError(f"{name} has {size} items, but there are {n_words} words")
    for word, head in enumerate(heads, start=1):
        if not 0 <= head <= n_words or head == word:
            raise ValueError(
                f"{whose}word {word} has head {head}: expected 0 to {n_words}, other than itself"
            )
