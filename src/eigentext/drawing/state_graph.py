"""The states of a Markov chain as a graph: circles on a ring, arrows where they lead.

Numbers in, SVG out, drawn here: it needs no plotting library.  A circle's area is the state's
share, an arrow's width its probability; of each state only the likeliest arrows are drawn, since
all would be a black disc.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from eigentext.base.types import Float64s
from eigentext.drawing.plots import PALETTE
from eigentext.drawing.svg import (
    MARGIN,
    elide,
    escape,
    number,
    printable,
    svg_document,
    text_width,
)

Point = tuple[float, float]


_LONGEST = 22  # letters of a label
_MOST = 60  # states that can be told apart on the ring
_UPRIGHT = 12  # more labels than that stand along the rays
_FONT = 12.0
_BEND = 0.18  # of the length of an arrow, to its side


def state_graph(
    transition: ArrayLike,
    labels: Sequence[str],
    *,
    shares: ArrayLike | None = None,
    arrows: int = 3,
    least: float = 0.05,
    title: str = "",
) -> str:
    """Draw p(next state | state) as SVG.

    ``shares``  of the states; with more than 60 of them the most frequent are drawn
    ``arrows``  so many for each state at most, and none with a probability below ``least``

    >>> drawn = state_graph([[0.1, 0.9], [0.5, 0.5]], ["the a", "cat dog"])
    >>> drawn.startswith("<svg ") and "cat dog" in drawn
    True
    """
    T = np.asarray(transition, np.float64)
    if T.ndim != 2 or T.shape[0] != T.shape[1] or not len(T) or len(labels) != len(T):
        raise ValueError(f"expected k x k probabilities and k labels, found {T.shape}")
    if isinstance(labels, str):
        raise TypeError("labels must be a list of strings, not one str")
    share = np.full(len(T), 1 / len(T)) if shares is None else np.asarray(shares, np.float64)
    shown = np.sort(np.argsort(-share, kind="stable")[:_MOST])
    T, share = T[np.ix_(shown, shown)], share[shown]
    names = [elide(printable(labels[i]), _LONGEST) for i in shown]
    names = [
        name + (f"  ↻{T[i, i]:.2f}" if T[i, i] >= least else "") for i, name in enumerate(names)
    ]
    k = len(T)
    ring = 150.0 + 4.0 * k
    room = MARGIN + 0.2 * ring + max(text_width(name, _FONT) for name in names)
    centre = ring + room
    angles = [math.pi / 2 - 2 * math.pi * i / k for i in range(k)]
    centres = [
        (centre + ring * math.cos(a), centre - ring * math.sin(a)) if k > 1 else (centre, centre)
        for a in angles
    ]
    widest = max(float(share.max()), 1e-300)
    radii = [
        ring * (0.02 + 0.11 * math.sqrt(max(s, 0.0) / widest) / math.sqrt(max(k, 4) / 4))
        for s in share.tolist()
    ]
    parts = list(_arrows(T, centres, radii, arrows, least))
    for i, (x, y) in enumerate(centres):
        parts.append(
            f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radii[i])}" '
            f'fill="{PALETTE[i % len(PALETTE)]}"/>'
        )
        parts.append(_label(names[i], (x, y), radii[i] + 0.04 * ring, angles[i], k))
    if title:
        parts.append(
            f'<text x="{number(MARGIN)}" y="{number(MARGIN + 16)}" text-anchor="start" '
            f'font-size="16">{escape(title)}</text>'
        )
    side = 2 * centre
    description = "; ".join(names)
    return svg_document(
        side, side, title=title or "Graph of states", description=description, parts=parts
    )


def _arrows(
    T: Float64s, centres: Sequence[Point], radii: Sequence[float], most: int, least: float
) -> Iterator[str]:
    """Bent lines from state to state, from the rim of one circle to that of the other."""
    for i, row in enumerate(T):
        for j in np.argsort(-row, kind="stable")[:most].tolist():
            p = float(row[j])
            if p < least or j == i:
                continue
            (ax, ay), (bx, by) = centres[i], centres[j]
            control = (ax + bx) / 2 - _BEND * (by - ay), (ay + by) / 2 + _BEND * (bx - ax)
            head = 6.0 + 6.0 * p
            start = _towards(centres[i], control, radii[i])
            tip = _towards(centres[j], control, radii[j] + 1.0)
            end = _towards(centres[j], control, radii[j] + head)
            colour, strength = PALETTE[i % len(PALETTE)], number(0.3 + 0.6 * p)
            yield (
                f'<path d="M{_at(start)}Q{_at(control)} {_at(end)}" fill="none" '
                f'stroke="{colour}" stroke-opacity="{strength}" '
                f'stroke-width="{number(0.5 + 4.0 * p)}"/>'
            )
            dx, dy = (tip[0] - end[0]) / head, (tip[1] - end[1]) / head
            half = 0.45 * head
            sides = [
                (end[0] - half * dy, end[1] + half * dx),
                (end[0] + half * dy, end[1] - half * dx),
            ]
            yield (
                f'<path d="M{_at(tip)}L{_at(sides[0])}L{_at(sides[1])}Z" fill="{colour}" '
                f'fill-opacity="{strength}"/>'
            )


def _towards(point: Point, other: Point, distance: float) -> Point:
    """The point so far away from one towards the other."""
    dx, dy = other[0] - point[0], other[1] - point[1]
    length = math.hypot(dx, dy) or 1.0
    return point[0] + distance * dx / length, point[1] + distance * dy / length


def _at(point: Point) -> str:
    return f"{number(point[0])} {number(point[1])}"


def _label(name: str, centre: Point, away: float, angle: float, k: int) -> str:
    """Outside the ring; of many states along the ray, and never upside down."""
    along = angle if k > 1 else 0.0
    x, y = centre[0] + away * math.cos(along), centre[1] - away * math.sin(along)
    left = math.cos(along) < -1e-9
    anchor = "end" if left else "start"
    turn = ""
    if k > _UPRIGHT:
        degrees = -math.degrees(along) + (180 if left else 0)
        turn = f' transform="rotate({number(degrees)} {number(x)} {number(y)})"'
    return (
        f'<text x="{number(x)}" y="{number(y)}" dy="0.36em" text-anchor="{anchor}" '
        f'font-size="{number(_FONT)}"{turn}>{escape(name)}</text>'
    )
