"""Arc scores -> the best tree whose arcs may cross: exact for first order, greedy for second.

First order is Chu-Liu/Edmonds with the condition of one root built in (no large penalty that
could be outweighed): every word takes its best head among the words, a cycle is contracted to one
node, and an arc from the root is used only by the node that nothing else can enter.  O(n^2).

Second order has no exact algorithm that is not exponential (McDonald and Pereira 2006).  From the
best projective tree, the one change of a head that raises the score most is made again and again.
What comes out is never worse than that tree, and it is approximate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigentext.dependency.decoding.constraints import checked_sib, constrained, no_tree
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from eigentext.dependency.decoding.constraints import Arc, Heads

__all__ = ["chu_liu_edmonds", "rearrange"]


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
    from eigentext.dependency.kernels.eisner import mst_kernel

    scores = constrained(arc, required_arcs, forbidden_arcs)
    heads = np.empty(len(scores) - 1, np.int32)
    score = float(mst_kernel(scores, heads))
    if score == -np.inf:
        raise no_tree(scores, projective=False)
    return heads, score


def rearrange(
    arc: npt.ArrayLike,
    sib: npt.ArrayLike,
    heads: npt.ArrayLike | None = None,
    *,
    charge: float = 0.0,
    required_arcs: Iterable[Arc] = (),
    forbidden_arcs: Iterable[Arc] = (),
) -> tuple[Heads, float]:
    """Heads (n,) and score of a good tree with one root under sibling scores: **approximate**.

    ``heads``   the tree to start from, the best projective one of
                :func:`~eigentext.dependency.decoding.best.eisner` if None
    ``charge``  taken off the score of a tree for each crossing arc, one that spans a word which is
                not below its head

    A change gives a word another head, or the root another word (the old one then hangs below
    the new one).  The best change is made until none raises the score.

    >>> arc, sib = np.zeros((5, 5)), np.zeros((5, 5, 5))
    >>> arc[0, 1] = arc[1, 3] = arc[1, 2] = arc[2, 4] = 1.0  # 1 -> 3 and 2 -> 4 cross
    >>> heads, score = rearrange(arc, sib)
    >>> heads.tolist(), score
    ([0, 1, 1, 2], 4.0)
    """
    from eigentext.dependency.decoding.best import eisner
    from eigentext.dependency.kernels.eisner import siblings_score
    from eigentext.dependency.kernels.rearrange import rearrange_kernel

    scores = constrained(arc, required_arcs, forbidden_arcs)
    n = len(scores) - 1
    siblings = checked_sib(sib, n)
    if heads is None:
        try:
            start, _ = eisner(scores, siblings)
        except SettingsError:  # required arcs may cross
            start, _ = chu_liu_edmonds(scores)
    else:
        start = _checked_heads(heads, n)
    if siblings_score(scores, siblings, start) == -np.inf:
        raise SettingsError(
            "the tree to start from has the score -inf: expected one in which all arcs and "
            "siblings have a finite score"
        )
    no_grandparents = np.zeros((0, n + 1, n + 1)), np.zeros((n + 1, n + 1), np.int64)
    score = rearrange_kernel(scores, siblings, *no_grandparents, float(charge), start)
    return start, float(score)


def _checked_heads(heads: npt.ArrayLike, n: int) -> Heads:
    """A copy of the heads, if they are those of a tree with one root."""
    from eigentext.language.trees.dependency import DependencyTree

    tree = DependencyTree(("",) * n, np.asarray(heads))
    if not tree.single_root:
        raise ValueError(f"words {tree.roots} hang from the root: expected exactly one")
    return tree.heads.copy()
