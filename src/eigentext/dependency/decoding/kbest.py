"""Arc (and sibling) scores -> the k best trees, each once, best first, exactly.

Projective lists ask the charts of ``best`` lazily for their next best
entries (Huang and Chiang 2005, algorithm 3).  Every projective tree has one derivation there, so
no tree comes twice.  Lists of trees that may cross split the space of trees again and again by one
arc, fixed in one half and banned in the other, where the second best tree of a part lacks that arc
(Camerini, Fratta and Maffioli 1980)::

    loss of the second best = min over arcs b of the best tree, min over arcs f that can replace b,
                              of score(b) - score(f), as both stood when b was chosen

A list ends early if there are no more trees with a finite score.  Scores are sums over the words
of each tree in order, and the list is sorted by them; among equal trees the order is the same on
every run.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from eigentext.dependency.decoding.constraints import checked_sib, constrained, no_tree
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from eigentext.dependency.decoding.constraints import Arc, Heads, Scores

__all__ = ["kbest_nonprojective", "kbest_projective"]


def kbest_projective(
    arc: npt.ArrayLike,
    sib: npt.ArrayLike | None = None,
    *,
    k: int = 50,
    required_arcs: Iterable[Arc] = (),
    forbidden_arcs: Iterable[Arc] = (),
) -> tuple[Heads, Scores]:
    """Heads (K, n) and scores (K,) of the k best projective trees with one root.

    K is k, or the number of trees if there are fewer; ``sib`` as for
    :func:`~eigentext.dependency.decoding.best.eisner`.

    >>> heads, scores = kbest_projective([[0, 0, 2], [0, 0, 1], [0, 0, 0]], k=10)
    >>> heads.tolist(), scores.tolist()
    ([[2, 0], [0, 1]], [2.0, 1.0])
    >>> kbest_projective(np.zeros((4, 4)), np.zeros((4, 4, 4)), k=10)[0].shape  # all there are
    (7, 3)
    """
    from eigentext.dependency.kernels.eisner import siblings_score, tree_score
    from eigentext.dependency.kernels.kbest import kbest_kernel

    scores = constrained(arc, required_arcs, forbidden_arcs, projective=True)
    n = len(scores) - 1
    siblings = np.zeros((1, 1, 1)) if sib is None else checked_sib(sib, n)
    trees = np.empty((_checked_count(k, n), n), np.int32)
    best = trees[: kbest_kernel(scores, siblings, sib is not None, len(trees), trees)]
    if not len(best):
        raise no_tree(scores, projective=True, siblings=sib is not None)
    if sib is None:
        return _sorted(best, [tree_score(scores, tree) for tree in best])
    return _sorted(best, [siblings_score(scores, siblings, tree) for tree in best])


def kbest_nonprojective(
    arc: npt.ArrayLike,
    *,
    k: int = 50,
    required_arcs: Iterable[Arc] = (),
    forbidden_arcs: Iterable[Arc] = (),
) -> tuple[Heads, Scores]:
    """Heads (K, n) and scores (K,) of the k best trees with one root, crossing or not.

    >>> heads, scores = kbest_nonprojective(np.zeros((4, 4)), k=10)
    >>> heads.shape  # three words have 9 trees
    (9, 3)
    """
    from eigentext.dependency.kernels.mst import kbest_mst_kernel, tree_score

    scores = constrained(arc, required_arcs, forbidden_arcs)
    k = _checked_count(k, len(scores) - 1)
    trees = np.empty((k, len(scores) - 1), np.int32)
    n_trees = kbest_mst_kernel(scores, k, trees)
    if not n_trees:
        raise no_tree(scores, projective=False)
    return _sorted(trees[:n_trees], [tree_score(scores, tree) for tree in trees[:n_trees]])


def _checked_count(k: int, n: int) -> int:
    """How many trees there is room to make for: n words have n^(n - 1) trees with one root."""
    count = operator.index(k)
    if count < 1:
        raise SettingsError(f"k is {count}: expected the number of trees wanted, 1 or more")
    return int(min(count, n ** (n - 1)))


def _sorted(trees: Heads, scores: list[float]) -> tuple[Heads, Scores]:
    """Sums in another order than the chart's differ in the last digit: sorted once more."""
    values = np.array(scores, np.float64)
    order = np.argsort(-values, kind="stable")
    return trees[order], values[order]
