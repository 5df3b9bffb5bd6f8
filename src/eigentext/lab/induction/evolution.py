"""From distances of words to brackets: the shortest tree that keeps the words in their order.

1. :func:`shortest_tree` finds, among all binary trees without a root whose edges cut off
   stretches of words, that of least total length, where the lengths of edges are fitted to the
   distances by least squares (minimum evolution, Rzhetsky and Nei 1993).  If the distances are
   those of a tree with positive lengths, it is that tree.
2. Distances know no root.  One that keeps the words in their order lies between the first word
   and the last; :func:`brackets` puts it where it is told, or half-way between these two.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from eigentext.base.types import Float64s

_TIE = 1e-9  # lengths that differ by less than this share of the distances are equal


class Brackets(NamedTuple):
    """Spans of more than one word, the whole sentence first, and the length of the tree."""

    spans: list[tuple[int, int]]
    length: float


def brackets(D: npt.ArrayLike, cut: int | None = None) -> Brackets:
    """The shortest tree for distances D, (n, n), with the root behind the first ``cut`` words.

    Without ``cut`` the root is half-way between the first word and the last.

    >>> D = [[0, 2, 4, 5], [2, 0, 4, 5], [4, 4, 0, 3], [5, 5, 3, 0]]
    >>> brackets(D).spans
    [(0, 4), (0, 2), (2, 4)]
    """
    from eigentext.lab.induction.kernels import shortest_tree

    distances = np.ascontiguousarray(D, dtype=np.float64)
    n = len(distances)
    if distances.shape != (n, n) or not np.isfinite(distances).all():
        raise ValueError(f"distances have the shape {distances.shape}, expected (n, n), finite")
    if cut is not None and not 0 < cut < max(n, 2):
        raise ValueError(f"cut is {cut}, expected 1 to {n - 1}")
    if n < 3:
        return Brackets([(0, n)] if n > 1 else [], float(distances.sum() / 2))
    tolerance = _TIE * max(float(np.abs(distances).max()), 1e-300)
    nodes, length = shortest_tree(distances, cut or 0, tolerance)
    # nodes [0, end) are those on the way from the first word to the last: the root cuts that way
    ends = sorted(end for start, _, end in nodes.tolist() if start == 0)
    cuts = [1, *ends]
    if cut is None:
        cut = _middle(distances, cuts)
    spans = {(0, n), *((start, end) for start, _, end in nodes.tolist() if start > 0)}
    spans |= {(0, end) for end in ends if end <= cut}
    spans |= {(end, n) for end in cuts if cut <= end < n - 1}
    return Brackets(sorted(spans, key=lambda span: (span[0], -span[1])), float(length))


def _middle(D: Float64s, cuts: list[int]) -> int:
    """The cut half-way between the first word and the last.

    The words between two cuts hang from one node of the way, which is nearer to the last word
    if they are.
    """
    ahead = D[0] - D[-1]
    for start, end in pairwise(cuts):
        if float(ahead[start:end].mean()) > _TIE * float(np.abs(D).max()):
            return start
    return cuts[-1]
