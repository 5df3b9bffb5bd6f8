"""The states of a Markov chain as a graph: circles on a ring, arrows where they lead.

Numbers in, SVG or PNG out.  A circle's area is the state's share, an arrow's width its
probability; of each state only the likeliest arrows are drawn, since all would be a black disc.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.reports.markup import elide, printable
from eigentext.reports.plots import PALETTE, _png, _svg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

__all__ = ["state_graph"]

_LONGEST = 22  # letters of a label
_MOST = 60  # states that can be told apart on the ring


def state_graph(
    transition: ArrayLike,
    labels: Sequence[str],
    *,
    shares: ArrayLike | None = None,
    arrows: int = 3,
    least: float = 0.05,
    title: str = "",
    as_png: bool = False,
) -> bytes:
    """Draw p(next state | state): SVG in UTF-8, or PNG.

    ``shares``  of the states; with more than 60 of them the most frequent are drawn
    ``arrows``  so many for each state at most, and none with a probability below ``least``

    >>> drawn = state_graph([[0.1, 0.9], [0.5, 0.5]], ["the a", "cat dog"])
    >>> drawn.startswith(b"<svg ") and b"cat dog" in drawn
    True
    """
    T = np.asarray(transition, np.float64)
    if T.ndim != 2 or T.shape[0] != T.shape[1] or not len(T) or len(labels) != len(T):
        raise ValueError(f"expected k x k probabilities and k labels, found {T.shape}")
    if isinstance(labels, str):
        raise TypeError("labels must be a list of strings, not one str")
    share = np.full(len(T), 1 / len(T)) if shares is None else np.asarray(shares, np.float64)
    kept = np.sort(np.argsort(-share, kind="stable")[:_MOST])
    names = [elide(printable(labels[i]), _LONGEST) for i in kept]
    draw = _drawing(T[np.ix_(kept, kept)], names, share[kept], arrows, least, title)
    side = 7.0 + 0.05 * len(kept)
    if as_png:
        return _png(draw, (side, side))
    return _svg(draw, (side, side), title or "Graph of states").encode()


def _drawing(
    T: np.ndarray[Any, np.dtype[np.float64]],
    names: Sequence[str],
    share: np.ndarray[Any, np.dtype[np.float64]],
    arrows: int,
    least: float,
    title: str,
) -> Callable[[Any], None]:
    """What fills a figure with the graph."""
    k = len(T)
    angles = np.pi / 2 - 2 * np.pi * np.arange(k) / k
    places = np.stack([np.cos(angles), np.sin(angles)], axis=1) if k > 1 else np.zeros((1, 2))
    radius = 0.02 + 0.11 * np.sqrt(share / max(float(share.max()), 1e-300)) / np.sqrt(
        max(k, 4) / 4
    )

    def draw(figure: Any) -> None:
        from matplotlib.patches import Circle, FancyArrowPatch

        axes = figure.add_axes((0.0, 0.0, 1.0, 0.95))
        axes.set_axis_off()
        axes.set(xlim=(-1.75, 1.75), ylim=(-1.6, 1.6), aspect="equal")
        for i in range(k):
            colour = PALETTE[i % len(PALETTE)]
            for j in np.argsort(-T[i], kind="stable")[:arrows].tolist():
                if T[i, j] < least or j == i:
                    continue
                axes.add_patch(
                    FancyArrowPatch(
                        tuple(places[i]), tuple(places[j]),
                        connectionstyle="arc3,rad=0.18", arrowstyle="-|>",
                        mutation_scale=7 + 6 * T[i, j], linewidth=0.4 + 3.0 * T[i, j],
                        color=colour, alpha=0.3 + 0.6 * T[i, j],
                        shrinkA=0.5 * _points(radius[i], figure),
                        shrinkB=_points(radius[j], figure),
                    )
                )  # fmt: skip
        for i in range(k):
            colour = PALETTE[i % len(PALETTE)]
            axes.add_patch(Circle(tuple(places[i]), radius[i], color=colour, linewidth=0))
            out = places[i] * (1 + radius[i] + 0.04) if k > 1 else np.array([radius[i] + 0.05, 0])
            left = out[0] < -1e-9
            stays = f"  ↻{T[i, i]:.2f}" if T[i, i] >= least else ""
            axes.text(
                *out, f"{names[i]}{stays}", ha="right" if left else "left", va="center",
                rotation=np.degrees(angles[i]) + (180 if left else 0) if k > 12 else 0,
                rotation_mode="anchor", fontsize=9, parse_math=False,
            )  # fmt: skip
        if title:
            figure.text(0.01, 0.97, printable(title), va="center", fontsize=12, parse_math=False)

    return draw


def _points(length: float, figure: Any) -> float:
    """A length of the drawing in points."""
    return float(length * figure.get_size_inches()[0] * 72 / 3.5)
