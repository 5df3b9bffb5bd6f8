"""Dictionaries: a vector u_x of k numbers for each observation, so that ``G = U'O`` is invertible.

``treebank_dictionary`` gets one by SVD or CCA of each node against its neighbours in the trees;
it has its ``y_x``, the vector with ``G'y_x = O'delta_x`` that puts an observation into an
operator.  With V any basis of range(O)::

    y_x = inv(V'U) V'delta_x        SVD: V = U      CCA: V = P U, P = diag p(x)
                                    any other: V = E[delta_x z'] for a neighbour z
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from eigentext.errors import DataError, RankError, SettingsError
from eigentext.linalg.conditioning import guarded_pinv
from eigentext.linalg.determinism import single_threaded
from eigentext.linalg.svd import truncated_svd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.types import Bools, Float64s
    from eigentext.dependency.latent.observations import WordForest


@dataclass(frozen=True, eq=False)
class TreeDictionary:
    """``U`` (n, k); ``kind`` says what V is; ``p`` (n,) the shares of the observations, for CCA.

    >>> two = TreeDictionary(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), "svd")
    >>> two.y().tolist()
    [[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]]
    """

    U: Float64s
    kind: Literal["svd", "cca", "other"]
    p: Float64s | None = None
    correlations: Float64s | None = None

    def __post_init__(self) -> None:
        if self.U.ndim != 2 or not np.isfinite(self.U).all():
            raise DataError("U", None, "expected a matrix of finite numbers")
        if self.kind not in ("svd", "cca", "other"):
            raise SettingsError(f"kind {self.kind!r}: expected svd, cca or other")
        if self.kind == "cca" and (self.p is None or self.p.shape != (len(self.U),)):
            raise SettingsError("a CCA dictionary needs the share p of each observation")

    @property
    def k(self) -> int:
        """Number of dimensions."""
        return int(self.U.shape[1])

    def y(self) -> Float64s | None:
        """(n, k) y_x for each x; None for kind ``other``: that takes moments of neighbours."""
        if self.kind == "other":
            return None
        # y = V (U'V)^-1, so that U'y is the identity
        V = self.U if self.kind == "svd" else self.U * np.asarray(self.p)[:, None]
        with single_threaded():
            inverse, _ = guarded_pinv(V.T @ self.U, symbol="V'U", max_condition=1e14)
            return np.asarray(V @ inverse.T)


def neighbour_counts(forest: WordForest, size: int) -> Sequence[Float64s]:
    """Sparse (size, size) counts of each node against its parent as left and as right child.

    Entry [x, z] counts the children x of parents z; the transposes are the other two views.
    """
    from scipy.sparse import coo_array

    shown, parents, sides = forest.shown[0], forest.parents, forest.sides
    counts = []
    for side in (0, 1):
        c = np.flatnonzero((sides == side) & (shown >= 0))
        c = c[shown[parents[c]] >= 0]
        cells = (forest.node_weights[c], (shown[c], shown[parents[c]]))
        counts.append(coo_array(cells, shape=(size, size)).tocsr())
    return counts


def treebank_dictionary(
    forest: WordForest,
    size: int,
    k: int,
    *,
    kind: Literal["svd", "cca"] = "cca",
    kappa: float = 0.0,
    seed: int = 0,
) -> TreeDictionary:
    """SVD or CCA of every observation against its direction-marked parent and children.

    ``kappa`` is added to the counts in the scaling of CCA, so that rare observations do not rule.
    The matrix is (size, 4 size): parent when the node is its left child, parent when its right
    child, left children, right children.

    A rank that the trees do not have is a RankError.
    """
    from scipy.sparse import diags_array, hstack

    if k < 1:
        raise SettingsError(f"k {k}: expected at least 1")
    # row x: what stands around the nodes that show x; entries are counts of edges
    left, right = neighbour_counts(forest, size)
    stacked = hstack([left, right, left.T, right.T], format="csr")
    if k > min(stacked.shape):
        raise RankError("the matrix of tree neighbours", rank=k, got=int(min(stacked.shape)))
    symbol = "the matrix of tree neighbours"
    totals = np.asarray(stacked.sum(axis=1)).ravel()
    if kind == "svd":
        # columns become p(x | neighbour), so that a frequent neighbour counts no more than others
        p_given = diags_array(1.0 / np.maximum(np.asarray(stacked.sum(axis=0)).ravel(), 1.0))
        svd = truncated_svd(stacked @ p_given, k, seed=seed, symbol=symbol)
        return TreeDictionary(np.asarray(svd.U, np.float64), "svd", None, svd.S)
    if kind != "cca":
        raise SettingsError(f"kind {kind!r}: expected svd or cca")
    # CCA of one-hot views: the covariances are diagonal, so whitening divides rows and columns by
    # the roots of their totals; what never occurs has no direction and stays 0
    columns = np.asarray(stacked.sum(axis=0)).ravel()
    rows = _inverse_root(totals + kappa, totals > 0)
    scaled = diags_array(rows) @ stacked @ diags_array(_inverse_root(columns + kappa, columns > 0))
    svd = truncated_svd(scaled.tocsr(), k, seed=seed, symbol=symbol)
    weights = (totals + kappa) * (totals > 0)
    n = max(weights.sum(), 1.0)
    return TreeDictionary(rows[:, None] * svd.U * np.sqrt(n), "cca", weights / n, svd.S)


def _inverse_root(totals: Float64s, present: Bools) -> Float64s:
    return np.where(present, 1.0 / np.sqrt(np.where(present, totals, 1.0)), 0.0)
