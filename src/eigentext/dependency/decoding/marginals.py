"""Arc (and sibling) scores -> the probability of every arc, and log Z.

A tree t has the probability exp(score(t)) / Z, where Z sums over all trees with one root; the
marginal of an arc is the sum over the trees that have it::

    mu[h, d] = sum over trees t with h -> d of exp(score(t)) / Z = d log Z / d arc[h, d]

1. Projective trees: the charts of ``best`` with log-sums for maxima
   (inside), then backwards through the same sums (outside).
2. All trees: the matrix-tree theorem with one root (Koo et al. 2007), Z being a determinant; it is
   taken by an elimination without subtractions, on logarithms, so that neither large scores nor
   near-ties between cycles cost digits.

Columns 1..n sum to one, and so does row 0, since one word hangs from the root.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigentext.dependency.decoding.constraints import checked_sib, constrained, no_tree

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from eigentext.dependency.decoding.constraints import Arc, Scores

__all__ = ["nonprojective_marginals", "projective_marginals"]


def projective_marginals(
    arc: npt.ArrayLike,
    sib: npt.ArrayLike | None = None,
    *,
    required_arcs: Iterable[Arc] = (),
    forbidden_arcs: Iterable[Arc] = (),
) -> tuple[Scores, float]:
    """Arc probabilities (n+1, n+1) over projective trees, and log Z; with sibling scores or none.

    >>> marginals, log_z = projective_marginals(np.zeros((4, 4)))
    >>> bool(np.isclose(log_z, np.log(7))), (marginals[0, 1:] * 7).round(12).tolist()
    (True, [3.0, 1.0, 3.0])
    """
    from eigentext.dependency.kernels.marginals import inside_outside

    scores = constrained(arc, required_arcs, forbidden_arcs, projective=True)
    siblings = np.zeros((1, 1, 1)) if sib is None else checked_sib(sib, len(scores) - 1)
    marginals = np.empty_like(scores)
    log_z = float(inside_outside(scores, siblings, sib is not None, marginals))
    if log_z == -np.inf:
        raise no_tree(scores, projective=True, siblings=sib is not None)
    return marginals, log_z


def nonprojective_marginals(
    arc: npt.ArrayLike,
    *,
    required_arcs: Iterable[Arc] = (),
    forbidden_arcs: Iterable[Arc] = (),
) -> tuple[Scores, float]:
    """Arc probabilities (n+1, n+1) over all trees with one root, first order, and log Z.

    >>> marginals, log_z = nonprojective_marginals(np.zeros((4, 4)))
    >>> bool(np.isclose(log_z, np.log(9))), (marginals[0, 1:] * 9).round(12).tolist()
    (True, [3.0, 3.0, 3.0])
    """
    from eigentext.dependency.kernels.marginals import matrix_tree

    scores = constrained(arc, required_arcs, forbidden_arcs)
    marginals = np.empty_like(scores)
    log_z = float(matrix_tree(scores, marginals))
    if log_z == -np.inf:
        raise no_tree(scores, projective=False)
    return marginals, log_z
