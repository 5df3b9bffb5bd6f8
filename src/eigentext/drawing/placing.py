"""Where labels go in a plot, so that none covers another: pixels in, pixels out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


def pushed_apart(heights: ArrayLike, *, distance: float) -> list[float]:
    """The heights, moved as little as a simple sweep can until none are closer than `distance`.

    >>> pushed_apart([0.0, 1.0], distance=3)
    [-1.0, 2.0]
    """
    targets = np.asarray(heights, dtype=np.float64)
    order = np.argsort(targets, kind="stable")
    # blocks of neighbours that touch: [sum of wanted starts, number of members]
    blocks: list[list[float]] = []
    for rank, index in enumerate(order):
        blocks.append([targets[index] - rank * distance, 1])
        while len(blocks) > 1 and (blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]):
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    moved = [0.0] * len(targets)
    rank = 0
    for total, count in blocks:
        for _ in range(int(count)):
            moved[order[rank]] = float(total / count + rank * distance)
            rank += 1
    return moved


def free_places(
    dots: np.ndarray[Any, Any], widths: Sequence[float], height: float, edges: ArrayLike
) -> list[tuple[float, float] | None]:
    """For each dot the left middle of its label, or None where every place is taken."""
    (x_low, y_low), (x_high, y_high) = np.asarray(edges, dtype=np.float64)
    # left, low, right, high of every dot, then of the labels placed so far
    taken = np.empty((2 * len(dots), 4))
    taken[: len(dots)] = np.concatenate([dots - 2, dots + 2], axis=1)
    n_taken = len(dots)
    spots: list[tuple[float, float] | None] = []
    for (x, y), width in zip(dots.tolist(), widths, strict=True):
        spot = None
        for dx, dy in (
            (5, 0),
            (-5 - width, 0),
            (-width / 2, 0.8 * height),
            (-width / 2, -0.8 * height),
        ):
            box = (x + dx - 1, y + dy - height / 2, x + dx + width + 1, y + dy + height / 2)
            if box[0] < x_low or box[2] > x_high or box[1] < y_low or box[3] > y_high:
                continue
            others = taken[:n_taken]
            covers = (
                (others[:, 0] < box[2])
                & (others[:, 2] > box[0])
                & (others[:, 1] < box[3])
                & (others[:, 3] > box[1])
            )
            if not covers.any():
                taken[n_taken] = box
                n_taken += 1
                spot = (x + dx, y + dy)
                break
        spots.append(spot)
    return spots
