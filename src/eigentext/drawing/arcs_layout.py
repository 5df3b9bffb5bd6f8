"""Where the arcs of a dependency tree go: rows of words, levels above them, ends, gaps.

The flow: arcs -> rows of words, as many as fit into the width -> for each row the pieces of arcs
that run above it (an arc may come from the row before and go on into the next) -> levels, short
pieces first -> ends of the pieces at each word, side by side -> gaps between words, widened until
each label fits between the legs of its piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from eigentext.base.types import Int64s

PORT_GAP = 8.0  # between the ends of arcs at one word
_WORD_GAP = 18.0
_MARGIN_GAP = 16.0  # beside a row whose arcs go on elsewhere
_LABEL_GAP = 10.0  # between a label and the legs of its arc
_EVENING_STEPS = 6


class Arc(NamedTuple):
    """An arc to draw; words count from 0, and a root has head -1."""

    head: int
    dependent: int
    label: str  # what is shown of the ``relation``, and of the other tree's
    kind: str = "both"  # or, where two trees are compared, "first" or "second", which alone has it
    probability: float | None = None
    relation: str = ""


class ArcPiece(NamedTuple):
    """The part of an arc above one row; its ends are words of the row."""

    arc: int
    left: int  # -1 for a piece that comes from the row before
    right: int  # the number of words of the row for one that goes on


@dataclass(frozen=True)
class Row:
    """Words ``first`` to ``last`` (exclusive) side by side, and what runs above them."""

    first: int
    last: int
    centres: list[float]  # middle of each word
    width: float
    pieces: list[ArcPiece]
    levels: list[int]  # of each piece, 0 is the lowest
    legs: list[tuple[float, float]]  # x of the left and right end of each piece
    roots: dict[int, float]  # arc -> x of its arrow

    @property
    def height(self) -> int:
        """Levels in use, the one of roots not counted."""
        return max(self.levels, default=-1) + 1


def lay_out(
    arcs: Sequence[Arc],
    word_widths: Sequence[float],
    label_widths: Sequence[float],
    limit: float | None,
) -> list[Row]:
    """Rows no wider than the limit, where words allow it, and of much the same width."""
    if limit is None:
        return [_row(arcs, word_widths, label_widths, 0, len(word_widths))]
    rows = _filled(arcs, word_widths, label_widths, limit)
    low, high = 0.0, limit  # a tighter limit with as many rows evens them out
    for _ in range(_EVENING_STEPS if len(rows) > 1 else 0):
        middle = (low + high) / 2
        tighter = _filled(arcs, word_widths, label_widths, middle)
        fits = len(tighter) == len(rows) and max(row.width for row in tighter) <= limit
        if fits:
            rows, high = tighter, middle
        else:
            low = middle
    return rows


def _filled(
    arcs: Sequence[Arc], word_widths: Sequence[float], label_widths: Sequence[float], limit: float
) -> list[Row]:
    rows: list[Row] = []
    start = 0
    while start < len(word_widths):
        # words alone need this much: what is laid out cannot be narrower
        reach = np.cumsum(np.asarray(word_widths[start:]) + _WORD_GAP) - _WORD_GAP
        most = max(1, int(np.searchsorted(reach, limit, side="right")))
        row = _row(arcs, word_widths, label_widths, start, start + most)
        while row.width > limit and row.last - start > 1:
            share = limit / row.width
            fewer = min(row.last - start - 1, max(1, int((row.last - start) * (share + 1) / 2)))
            row = _row(arcs, word_widths, label_widths, start, start + fewer)
        rows.append(row)
        start = row.last
    return rows


def _row(
    arcs: Sequence[Arc],
    word_widths: Sequence[float],
    label_widths: Sequence[float],
    first: int,
    last: int,
) -> Row:
    n_words = last - first
    widths = list(word_widths[first:last])
    pieces = _pieces(arcs, first, last)
    levels = _levels(pieces, n_words)
    roots = {
        k: arc.dependent - first
        for k, arc in enumerate(arcs)
        if arc.head < 0 and first <= arc.dependent < last
    }
    ports = _ports(pieces, levels, roots, n_words)
    offsets = [
        {end: (port - (len(ends) - 1) / 2) * PORT_GAP for port, end in enumerate(ends)}
        for ends in ports
    ]
    for word, ends in enumerate(ports):
        widths[word] = max(widths[word], PORT_GAP * len(ends))

    def offset(piece: int, word: int) -> float:
        return offsets[word][piece] if 0 <= word < n_words else 0.0

    # gap g lies before word g; gaps 0 and n_words are the margins of the row
    steps = np.empty(n_words + 1)
    steps[1:-1] = [(a + b) / 2 + _WORD_GAP for a, b in pairwise(widths)]
    steps[0] = widths[0] / 2 + _MARGIN_GAP * any(piece.left < 0 for piece in pieces)
    steps[-1] = widths[-1] / 2 + _MARGIN_GAP * any(piece.right == n_words for piece in pieces)
    for k, piece in enumerate(pieces):  # short ones first
        label = label_widths[piece.arc]
        needed = label + _LABEL_GAP + offset(k, piece.left) - offset(k, piece.right)
        missing = needed - float(steps[piece.left + 1 : piece.right + 1].sum())
        if label and missing > 0:
            steps[piece.left + 1 : piece.right + 1] += missing / (piece.right - piece.left)
    centres = np.cumsum(steps)
    width = float(centres[-1])

    def leg(piece: int, word: int) -> float:
        if word < 0:
            return 0.0
        return width if word == n_words else float(centres[word]) + offsets[word][piece]

    return Row(
        first=first,
        last=last,
        centres=centres[:-1].tolist(),
        width=width,
        pieces=pieces,
        levels=levels,
        legs=[(leg(k, piece.left), leg(k, piece.right)) for k, piece in enumerate(pieces)],
        roots={arc: float(centres[word]) + offsets[word][-1 - arc] for arc, word in roots.items()},
    )


def _pieces(arcs: Sequence[Arc], first: int, last: int) -> list[ArcPiece]:
    """What runs above the row, short pieces first."""
    pieces = []
    for k, arc in enumerate(arcs):
        low, high = min(arc.head, arc.dependent), max(arc.head, arc.dependent)
        if arc.head >= 0 and low < last and high >= first:
            pieces.append(ArcPiece(k, max(low - first, -1), min(high - first, last - first)))
    return sorted(pieces, key=lambda piece: (piece.right - piece.left, piece.left, piece.arc))


def _levels(pieces: Sequence[ArcPiece], n_words: int) -> list[int]:
    """The level of each piece: above all pieces before it that share a gap with it."""
    highest: Int64s = np.zeros(n_words + 1, dtype=np.int64)  # per gap
    levels = []
    for piece in pieces:
        below = highest[piece.left + 1 : piece.right + 1]
        level = int(below.max())
        levels.append(level)
        below[:] = level + 1
    return levels


def _ports(
    pieces: Sequence[ArcPiece], levels: Sequence[int], roots: dict[int, int], n_words: int
) -> list[list[int]]:
    """For each word what ends there from left to right: a piece k as k, a root arc k as -1 - k.

    To the left the lowest piece comes first and to the right it comes last: then a leg never
    crosses a lower piece of the same word.
    """
    leftward: list[list[int]] = [[] for _ in range(n_words)]
    rightward: list[list[int]] = [[] for _ in range(n_words)]
    for k in sorted(range(len(pieces)), key=lambda k: levels[k]):
        if pieces[k].left >= 0:
            rightward[pieces[k].left].append(k)
        if pieces[k].right < n_words:
            leftward[pieces[k].right].append(k)
    from_above: list[list[int]] = [[] for _ in range(n_words)]
    for arc, word in roots.items():
        from_above[word].append(-1 - arc)
    return [
        [*leftward[word], *from_above[word], *reversed(rightward[word])] for word in range(n_words)
    ]
