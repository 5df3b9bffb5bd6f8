"""Dependency trees as arcs above the sentence, in self-contained, accessible SVG.

The flow: heads -> levels, short arcs first -> gaps between words, widened until each label fits
its arc -> arcs, labels and arrow heads.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from eigentext.reports.markup import is_right_to_left, text_width
from eigentext.reports.svg import (
    FONT_SIZE,
    HALF_LABEL,
    MARGIN,
    number,
    shown_text,
    svg_document,
    svg_lines,
    svg_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["arcs_svg"]

Arc = tuple[int, int, int]  # length, left end, dependent; words count from 0

_SMALL = 11.5
_ARC_BASE = 16.0  # height of the lowest arc
_ARC_STEP = 21.0  # one level above the other, with room for a label
_ARROW = 6.0
_PORT_GAP = 8.0  # between the ends of arcs at one word
_WORD_GAP = 18.0


def arcs_svg(
    forms: Sequence[str],
    heads: Sequence[int],
    relations: Sequence[str] | None = None,
    *,
    tags: Sequence[str] | None = None,
    title: str | None = None,
) -> str:
    """Draw a dependency tree as arcs from heads to dependents above the sentence.

    `heads` counts words from 1; 0 marks a root, which gets an arrow from above.  An arc runs above
    every arc within its span, so the arcs of a projective tree never cross.

    >>> svg = arcs_svg(["dogs", "bark"], [2, 0], ["nsubj", "root"])
    >>> svg.startswith("<svg "), "nsubj" in svg
    (True, True)
    """
    _check_columns(forms, heads, relations, tags)
    n_words = len(forms)
    words = [shown_text(form) for form in forms]
    names = [shown_text(name) for name in relations or [""] * n_words]
    under = [shown_text(tag) for tag in tags or [""] * n_words]
    mirrored = is_right_to_left(forms)

    arcs = sorted(
        (abs(head - word), min(head, word) - 1, word - 1)
        for word, head in enumerate(heads, start=1)
        if head
    )  # short arcs first
    levels = _arc_levels(arcs, n_words)
    ports = _arc_ports(arcs, levels, n_words)
    widths = [
        max(
            text_width(words[i], FONT_SIZE, bold=True),
            text_width(under[i], _SMALL),
            _PORT_GAP * len(ports[i]),
            text_width(names[i], _SMALL) if heads[i] == 0 else 0.0,
        )
        for i in range(n_words)
    ]
    label_widths = [text_width(name, _SMALL) for name in names]
    centres, width = _word_columns(widths, arcs, label_widths)

    top_level = max(levels.values(), default=0)
    full_width = width + 2 * MARGIN
    base = MARGIN + _SMALL + _ARC_BASE + (top_level + 1) * _ARC_STEP
    word_y = base + HALF_LABEL + 3
    full_height = word_y + (FONT_SIZE + 6 if tags else 0) + HALF_LABEL + MARGIN

    def place(column: float) -> float:
        return full_width - MARGIN - column if mirrored else MARGIN + column

    def port(word: int, dependent: int) -> float:
        order = ports[word].index(dependent)
        return place(centres[word] + (order - (len(ports[word]) - 1) / 2) * _PORT_GAP)

    lines: list[str] = []
    arrows: list[str] = []
    texts: list[str] = []
    for word, head in enumerate(heads):
        if head == 0:
            tip, top = port(word, word), base - _ARC_BASE - (top_level + 1) * _ARC_STEP
            lines.append(f"M{number(tip)} {number(top)}V{number(base - _ARROW)}")
            at, label_y = tip, top - 7
        else:
            start, tip = port(head - 1, word), port(word, word)
            peak = base - _ARC_BASE - levels[word] * _ARC_STEP
            lines.append(_arc_line(start, tip, base, peak))
            at, label_y = (start + tip) / 2, peak - 7
        arrows.append(_arrow_head(tip, base))
        if names[word]:
            note = f"{forms[head - 1]} → {forms[word]}" if head else f"root → {forms[word]}"
            texts.append(
                svg_text("et-relation", at, label_y, names[word], names[word], note, _SMALL)
            )
    for i in range(n_words):
        texts.append(svg_text("et-word", place(centres[i]), word_y, words[i], forms[i]))
        if under[i]:
            below = word_y + FONT_SIZE + 4
            texts.append(
                svg_text("et-tag", place(centres[i]), below, under[i], under[i], "", _SMALL)
            )

    described = "; ".join(
        f"{forms[i]} ← {forms[heads[i] - 1] if heads[i] else 'root'}"
        + (f" ({names[i]})" if names[i] else "")
        for i in range(min(n_words, 200))
    )
    return svg_document(
        full_width,
        full_height,
        title=title or "Dependency arcs",
        description=described,
        parts=[svg_lines(lines), *arrows, *texts],
        mirrored=mirrored,
    )


def _arc_levels(arcs: Sequence[Arc], n_words: int) -> dict[int, int]:
    """For each dependent the level of its arc: above all arcs that share a gap with it so far."""
    highest = np.zeros(max(n_words - 1, 1), dtype=np.int64)  # per gap between words
    levels: dict[int, int] = {}
    for length, left, dependent in arcs:
        below = highest[left : left + length]
        levels[dependent] = int(below.max())
        below[:] = levels[dependent] + 1
    return levels


def _arc_ports(arcs: Sequence[Arc], levels: dict[int, int], n_words: int) -> list[list[int]]:
    """For each word its arcs from left to right, each named by its dependent (a root by itself).

    To the left the lowest arc comes first and to the right it comes last: then an arc's leg never
    crosses a lower arc of the same word.
    """
    leftward: list[list[int]] = [[] for _ in range(n_words)]
    rightward: list[list[int]] = [[] for _ in range(n_words)]
    for length, left, dependent in sorted(arcs, key=lambda arc: levels[arc[2]]):
        rightward[left].append(dependent)
        leftward[left + length].append(dependent)
    roots = set(range(n_words)).difference(dependent for _, _, dependent in arcs)
    return [
        [*leftward[word], *([word] if word in roots else []), *reversed(rightward[word])]
        for word in range(n_words)
    ]


def _word_columns(
    widths: Sequence[float],
    arcs: Sequence[Arc],
    label_widths: Sequence[float],
) -> tuple[list[float], float]:
    """The middle of each word, and the width of the whole."""
    steps = np.array([(a + b) / 2 + _WORD_GAP for a, b in pairwise(widths)])
    for length, left, dependent in arcs:
        # ends of arcs may sit off the middle of their words: leave room for half a word each
        slack = (widths[left] + widths[left + length]) / 2 if length == 1 else 0.0
        needed = label_widths[dependent] + min(slack, 24.0) + 14
        missing = needed - float(steps[left : left + length].sum())
        if missing > 0:
            steps[left : left + length] += missing / length
    centres = widths[0] / 2 + np.concatenate([[0.0], np.cumsum(steps)])
    return centres.tolist(), float(centres[-1] + widths[-1] / 2)


def _arc_line(start: float, tip: float, base: float, peak: float) -> str:
    """Up from the head, across with round corners, and down to the dependent."""
    radius = min(10.0, abs(tip - start) / 2, base - _ARROW - peak)
    towards = 1 if tip > start else -1
    near, far = number(start + towards * radius), number(tip - towards * radius)
    return (
        f"M{number(start)} {number(base)}V{number(peak + radius)}"
        f"Q{number(start)} {number(peak)} {near} {number(peak)}H{far}"
        f"Q{number(tip)} {number(peak)} {number(tip)} {number(peak + radius)}"
        f"V{number(base - _ARROW)}"
    )


def _arrow_head(x: float, base: float) -> str:
    return (
        f'<path class="et-arrow" d="M{number(x - 3.5)} {number(base - _ARROW)}h7'
        f'l-3.5 {number(_ARROW)}z" fill="currentColor" fill-opacity="0.7"/>'
    )


def _check_columns(
    forms: Sequence[str],
    heads: Sequence[int],
    relations: Sequence[str] | None,
    tags: Sequence[str] | None,
) -> None:
    for name, column in (("forms", forms), ("relations", relations), ("tags", tags)):
        if isinstance(column, str):
            raise TypeError(f"{name} must be a list of strings, not one str; did you mean a list?")
    n_words = len(forms)
    if not n_words:
        raise ValueError("there is no word to draw")
    for name, size in (
        ("heads", len(heads)),
        ("relations", n_words if relations is None else len(relations)),
        ("tags", n_words if tags is None else len(tags)),
    ):
        if size != n_words:
            raise ValueError(f"{name} has {size} items, but there are {n_words} words")
    for word, head in enumerate(heads, start=1):
        if not 0 <= head <= n_words or head == word:
            raise ValueError(
                f"word {word} has head {head}: expected 0 to {n_words}, other than itself"
            )
