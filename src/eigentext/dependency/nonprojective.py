"""Arc scores -> the best tree whose arcs may cross: exact for first order, greedy for second.

First order is Chu-Liu/Edmonds with the condition of one root built in (no large penalty that
could be outweighed): every word takes its best head among the words, a cycle is contracted to one
node, and an arc from the root is used only by the node that nothing else can enter.  O(n^2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigentext.dependency.constraints import constrained, no_tree

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from eigentext.dependency.constraints import Arc, Heads

__all__ = ["chu_liu_edmonds"]


def chu_liu_edmonds(
    arc: npt.ArrayLike,
    *,
    required_arcs: Iterable[Arc] = (),
    forbidden_arcs: Iterable[Arc] = (),
) -> tuple[Heads, float]:
    """Heads (n,) and score of the best tree with one root, projective or not; exact.

    >>> arc = np.zeros((4, 4))
    >>> arc[0, 1] = arc[0, 2] = 5.0  # both would like the root: only one may have it
    >>> heads, score = chu_liu_edmonds(arc)
    >>> int((heads == 0).sum()), score
    (1, 5.0)
    """
    from eigentext.dependency.kernels_decode import mst_kernel

    scores = constrained(arc, required_arcs, forbidden_arcs)
    heads = np.empty(len(scores) - 1, np.int32)
    score = float(mst_kernel(scores, heads))
    if score == -np.inf:
        raise no_tree(scores, projective=False)
    return heads, score
