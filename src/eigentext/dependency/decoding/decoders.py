"""Arc (and sibling) scores -> trees: the best, the k best, and the probability of every arc.

Scores are checked; required and forbidden arcs are written into them before, by ``constrained``.
Every tree has exactly one word below the root.  The recursions stand in ``kernels``.  Scores of
lists are sums over the words of each tree in order, and lists are sorted by them.  The marginals
are, by sums over charts or by the matrix-tree theorem with one root (Koo et al. 2007)::

    mu[h, d] = sum over trees t with h -> d of exp(score(t)) / Z = d log Z / d arc[h, d]

Ties go to the choice seen first, so answers are the same on every run.
"""

from __future__ import annotations

import operator

import numpy as np
import numpy.typing as npt

from eigentext.dependency.decoding.constraints import (
    NO_SIBLINGS,
    Heads,
    Scores,
    checked_arc,
    checked_sib,
    no_tree,
)
from eigentext.errors import SettingsError
from eigentext.language.trees.dependency import DependencyTree


def eisner(arc: npt.ArrayLike, sib: npt.ArrayLike | None = None) -> tuple[Heads, float]:
    """Heads (n,) and score of the best projective tree with one root, exact.

    ``arc``  (n+1, n+1): arc[h, d] scores head h (0: root) of word d; -inf forbids
    ``sib``  second order, (n+1, n+1, n+1): sib[h, s, d] scores d as the next modifier of h after
             s, outward on the same side; s == h: d is the first one there

    >>> from eigentext.dependency.decoding.constraints import constrained
    >>> arc = np.zeros((4, 4))
    >>> arc[0, 2] = arc[2, 1] = arc[2, 3] = 1.0
    >>> heads, score = eisner(arc)
    >>> heads.tolist(), score
    ([2, 0, 2], 3.0)
    >>> eisner(constrained(arc, required_arcs=[(3, 2)]))[0].tolist()
    [2, 3, 0]
    >>> sib = np.zeros((4, 4, 4))
    >>> sib[1, 2, 3] = 4.0
    >>> eisner(arc, sib)[0].tolist()
    [0, 1, 1]
    """
    from eigentext.dependency.kernels.eisner import eisner_kernel

    scores = checked_arc(arc)
    heads = np.empty(len(scores) - 1, np.int32)
    siblings = NO_SIBLINGS if sib is None else checked_sib(sib, len(heads))
    score = float(eisner_kernel(scores, siblings, sib is not None, heads))
    if score == -np.inf:
        raise no_tree(scores, projective=True, siblings=sib is not None)
    return heads, score


def chu_liu_edmonds(arc: npt.ArrayLike) -> tuple[Heads, float]:
    """Heads (n,) and score of the best tree with one root, projective or not; exact.

    >>> arc = np.zeros((4, 4))
    >>> arc[0, 1] = arc[0, 2] = 5.0  # both would like the root: only one may have it
    >>> heads, score = chu_liu_edmonds(arc)
    >>> int((heads == 0).sum()), score
    (1, 5.0)
    """
    from eigentext.dependency.kernels.mst import mst_kernel

    scores = checked_arc(arc)
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
) -> tuple[Heads, float]:
    """Heads (n,) and score of a good tree with one root under sibling scores: **approximate**.

    ``heads``   the tree to start from, the best projective one of :func:`eisner` if None
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
    from eigentext.dependency.kernels.eisner import siblings_score
    from eigentext.dependency.kernels.rearrange import rearrange_kernel

    scores = checked_arc(arc)
    n = len(scores) - 1
    siblings = checked_sib(sib, n)
    if heads is None:
        try:
            start, _ = eisner(scores, siblings)
        except SettingsError:  # required arcs may cross
            start, _ = chu_liu_edmonds(scores)
    else:
        tree = DependencyTree(("",) * n, np.asarray(heads))
        if not tree.single_root:
            raise ValueError(f"words {tree.roots} hang from the root: expected exactly one")
        start = tree.heads.copy()
    if siblings_score(scores, siblings, start) == -np.inf:
        raise SettingsError(
            "the tree to start from has the score -inf: expected one in which all arcs and "
            "siblings have a finite score"
        )
    no_grandparents = np.zeros((0, n + 1, n + 1)), np.zeros((n + 1, n + 1), np.int64)
    score = rearrange_kernel(scores, siblings, *no_grandparents, float(charge), start)
    return start, float(score)


def kbest_projective(
    arc: npt.ArrayLike, sib: npt.ArrayLike | None = None, *, k: int = 50
) -> tuple[Heads, Scores]:
    """Heads (K, n) and scores (K,) of the k best projective trees with one root.

    K is k, or the number of trees if there are fewer; ``sib`` as for :func:`eisner`.

    >>> heads, scores = kbest_projective([[0, 0, 2], [0, 0, 1], [0, 0, 0]], k=10)
    >>> heads.tolist(), scores.tolist()
    ([[2, 0], [0, 1]], [2.0, 1.0])
    >>> kbest_projective(np.zeros((4, 4)), np.zeros((4, 4, 4)), k=10)[0].shape  # all there are
    (7, 3)
    """
    from eigentext.dependency.kernels.eisner import siblings_score
    from eigentext.dependency.kernels.kbest import kbest_kernel
    from eigentext.dependency.kernels.mst import tree_score

    scores = checked_arc(arc)
    n = len(scores) - 1
    siblings = NO_SIBLINGS if sib is None else checked_sib(sib, n)
    trees = np.empty((_checked_count(k, n), n), np.int32)
    best = trees[: kbest_kernel(scores, siblings, sib is not None, len(trees), trees)]
    if not len(best):
        raise no_tree(scores, projective=True, siblings=sib is not None)
    if sib is None:
        return _sorted(best, [tree_score(scores, tree) for tree in best])
    return _sorted(best, [siblings_score(scores, siblings, tree) for tree in best])


def kbest_nonprojective(arc: npt.ArrayLike, *, k: int = 50) -> tuple[Heads, Scores]:
    """Heads (K, n) and scores (K,) of the k best trees with one root, crossing or not.

    >>> heads, scores = kbest_nonprojective(np.zeros((4, 4)), k=10)
    >>> heads.shape  # three words have 9 trees
    (9, 3)
    """
    from eigentext.dependency.kernels.mst import kbest_mst_kernel, tree_score

    scores = checked_arc(arc)
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


def projective_marginals(
    arc: npt.ArrayLike, sib: npt.ArrayLike | None = None
) -> tuple[Scores, float]:
    """Arc probabilities (n+1, n+1) over projective trees, and log Z; with sibling scores or none.

    >>> marginals, log_z = projective_marginals(np.zeros((4, 4)))
    >>> bool(np.isclose(log_z, np.log(7))), (marginals[0, 1:] * 7).round(12).tolist()
    (True, [3.0, 1.0, 3.0])
    """
    from eigentext.dependency.kernels.marginals import inside_outside

    scores = checked_arc(arc)
    siblings = NO_SIBLINGS if sib is None else checked_sib(sib, len(scores) - 1)
    marginals = np.empty_like(scores)
    log_z = float(inside_outside(scores, siblings, sib is not None, marginals))
    if log_z == -np.inf:
        raise no_tree(scores, projective=True, siblings=sib is not None)
    return marginals, log_z


def nonprojective_marginals(arc: npt.ArrayLike) -> tuple[Scores, float]:
    """Arc probabilities (n+1, n+1) over all trees with one root, first order, and log Z.

    >>> marginals, log_z = nonprojective_marginals(np.zeros((4, 4)))
    >>> bool(np.isclose(log_z, np.log(9))), (marginals[0, 1:] * 9).round(12).tolist()
    (True, [3.0, 3.0, 3.0])
    """
    from eigentext.dependency.kernels.marginals import matrix_tree

    scores = checked_arc(arc)
    marginals = np.empty_like(scores)
    log_z = float(matrix_tree(scores, marginals))
    if log_z == -np.inf:
        raise no_tree(scores, projective=False)
    return marginals, log_z
