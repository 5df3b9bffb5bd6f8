"""Canonical correlation analysis: directions in which several views of one thing agree.

Large matrices are never formed: :class:`Product` and others multiply blocks of vectors instead.

1. Each view is whitened: ``W_v = (X_v' X_v / n + ridge I)^(-1/2)``.  For one-hot rows that is a
   diagonal of counts, so a vocabulary of any size works; otherwise it is a dense root.
2. Two views, from their moments: SVD of ``W_1 C_12 W_2``, where ``C_12 = X_1' X_2 / n``.
3. Several: MAXVAR (the left singular vectors of ``[X_1 W_1, X_2 W_2, ...]`` are the consensus).
   Views may have weights, and rows may lack a view (Rastogi et al. 2015).
4. ``projections[v] = W_v a_v`` turns a row of view v into its canonical coordinates.

When the views are independent given a hidden state, the projections of a one-hot view span the
posteriors of that state: this is what makes CCA the right scaling for spectral learning.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eigentext.errors import DataError, SettingsError
from eigentext.linalg.backend import CPU
from eigentext.linalg.conditioning import guarded_inverse_sqrt
from eigentext.linalg.matrices import Operator, as_operator
from eigentext.linalg.scaling import inverse_sqrt_totals
from eigentext.linalg.svd import ConvergenceReport, truncated_svd
from eigentext.linalg.ties import single_threaded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from eigentext.base.types import AnyArray, Bools, Float64s, Numbers
    from eigentext.linalg.backend import Backend
    from eigentext.linalg.matrices import MatrixLike

_FULL_COLUMNS = 6000  # a dense root of a larger covariance is not attempted


class Product(Operator):
    """``left @ right`` without forming it, such as ``Phi' Psi`` of two feature matrices.

    >>> import scipy.sparse as sp
    >>> Phi, Psi = sp.eye(3, format="csr"), sp.csr_matrix([[1.0], [2.0], [3.0]])
    >>> Product(Phi.T, Psi).matmat(np.ones((1, 1))).ravel().tolist()
    [1.0, 2.0, 3.0]
    """

    def __init__(self, left: MatrixLike, right: MatrixLike) -> None:
        self.left, self.right = as_operator(left), as_operator(right)
        if self.left.shape[1] != self.right.shape[0]:
            raise ValueError(
                f"a product of shapes {self.left.shape} and {self.right.shape}: "
                "the inner sizes must be equal"
            )
        self.shape = (self.left.shape[0], self.right.shape[1])
        self.dtype = np.result_type(self.left.dtype, self.right.dtype)

    def matmat(self, x: AnyArray) -> AnyArray:
        # from the right, so that only thin blocks are made: the product may be far denser
        return self.left.matmat(self.right.matmat(x))

    def rmatmat(self, x: AnyArray) -> AnyArray:
        return self.right.rmatmat(self.left.rmatmat(x))

    def astype(self, dtype: DTypeLike) -> Operator:
        return Product(self.left.astype(dtype), self.right.astype(dtype))

    def on(self, backend: Backend) -> Operator:
        return Product(self.left.on(backend), self.right.on(backend))

    def row_support(self) -> Bools:
        return self.left.row_support()

    def column_support(self) -> Bools:
        return self.right.column_support()

    def is_finite(self) -> bool:
        return self.left.is_finite() and self.right.is_finite()


class Scaled(Operator):
    """``diag(rows) A diag(columns)``; either diagonal may be left out.

    >>> Scaled(np.ones((2, 2)), rows=np.array([1.0, 2.0])).to_dense().tolist()
    [[1.0, 1.0], [2.0, 2.0]]
    """

    def __init__(
        self, base: MatrixLike, *, rows: Numbers | None = None, columns: Numbers | None = None
    ) -> None:
        self.base = as_operator(base)
        self.shape, self.dtype = self.base.shape, self.base.dtype
        for diagonal, size, side in (
            (rows, self.shape[0], "row"),
            (columns, self.shape[1], "column"),
        ):
            if diagonal is not None and diagonal.shape != (size,):
                raise ValueError(f"{side} scales of shape {diagonal.shape}: expected ({size},)")
        # kept as columns, to be multiplied into blocks of vectors
        self.rows = None if rows is None else rows.astype(self.dtype)[:, None]
        self.columns = None if columns is None else columns.astype(self.dtype)[:, None]

    def matmat(self, x: AnyArray) -> AnyArray:
        y = self.base.matmat(x if self.columns is None else self.columns * x)
        return y if self.rows is None else self.rows * y

    def rmatmat(self, x: AnyArray) -> AnyArray:
        y = self.base.rmatmat(x if self.rows is None else self.rows * x)
        return y if self.columns is None else self.columns * y

    def astype(self, dtype: DTypeLike) -> Operator:
        rows = None if self.rows is None else self.rows[:, 0]
        columns = None if self.columns is None else self.columns[:, 0]
        return Scaled(self.base.astype(dtype), rows=rows, columns=columns)

    def on(self, backend: Backend) -> Operator:
        moved = copy(self)
        moved.base = self.base.on(backend)
        moved.rows = None if self.rows is None else backend.asarray(self.rows)
        moved.columns = None if self.columns is None else backend.asarray(self.columns)
        return moved

    def row_support(self) -> Bools:
        support = self.base.row_support()
        return support if self.rows is None else support & (self.rows[:, 0] != 0)

    def column_support(self) -> Bools:
        support = self.base.column_support()
        return support if self.columns is None else support & (self.columns[:, 0] != 0)

    def is_finite(self) -> bool:
        diagonals = [d for d in (self.rows, self.columns) if d is not None]
        return self.base.is_finite() and all(bool(np.isfinite(d).all()) for d in diagonals)


class HStack(Operator):
    """``[A_1 A_2 ...]``, the parts side by side.

    >>> HStack([np.ones((1, 2)), np.zeros((1, 1))]).to_dense().tolist()
    [[1.0, 1.0, 0.0]]
    """

    def __init__(self, parts: Sequence[MatrixLike]) -> None:
        self.parts = [as_operator(part) for part in parts]
        if len({part.shape[0] for part in self.parts}) != 1:
            raise ValueError(
                f"parts with {[p.shape[0] for p in self.parts]} rows: need one number"
            )
        widths = [part.shape[1] for part in self.parts]
        self.shape = (self.parts[0].shape[0], sum(widths))
        self.dtype = np.result_type(*(part.dtype for part in self.parts))
        self.ends = np.cumsum(widths)
        self.backend: Backend = CPU

    def matmat(self, x: AnyArray) -> AnyArray:
        starts = [0, *self.ends[:-1].tolist()]
        total = None
        for part, start, end in zip(self.parts, starts, self.ends.tolist(), strict=True):
            product = part.matmat(x[start:end])  # [A B] (x; y) = A x + B y
            total = product if total is None else total + product
        return total

    def rmatmat(self, x: AnyArray) -> AnyArray:
        return self.backend.concatenate([part.rmatmat(x) for part in self.parts])

    def astype(self, dtype: DTypeLike) -> Operator:
        return HStack([part.astype(dtype) for part in self.parts])

    def on(self, backend: Backend) -> Operator:
        moved = HStack([part.on(backend) for part in self.parts])
        moved.backend = backend
        return moved

    def row_support(self) -> Bools:
        return np.asarray(np.any([part.row_support() for part in self.parts], axis=0))

    def column_support(self) -> Bools:
        return np.concatenate([part.column_support() for part in self.parts])

    def is_finite(self) -> bool:
        return all(part.is_finite() for part in self.parts)


@dataclass(frozen=True)
class CCAResult:
    """``projections[v]`` (d_v, rank), one per view; ``correlations`` (rank,) descending.

    Coordinates ``X_v projections[v]`` have a mean square of 1 where views agree.

    For two views ``correlations`` are the canonical correlations; for MAXVAR they are the
    eigenvalues of the sum of the views' projectors divided by the number of views (1 = all
    agree), and ``consensus`` is its G (n, rank).
    """

    projections: tuple[Numbers, ...]
    correlations: Float64s
    report: ConvergenceReport
    consensus: Numbers | None = None


def cca_from_moments(
    Cxy: MatrixLike, Cxx: Numbers, Cyy: Numbers, rank: int, *, ridge: float = 0.0, seed: int = 0
) -> CCAResult:
    """CCA from second moments: ``Cxy`` (d_x, d_y); ``Cxx``, ``Cyy`` as diagonals (d,) or (d, d).

    With counts for moments ``ridge`` is the kappa of :func:`eigentext.linalg.scaling.cca_scale`.

    >>> counts, totals = np.diag([4.0, 9.0]), np.array([4.0, 9.0])
    >>> cca_from_moments(counts, totals, totals, 2).correlations.tolist()
    [1.0, 1.0]
    """
    cross = as_operator(Cxy)
    roots = (_Root.of(Cxx, ridge, "Cxx"), _Root.of(Cyy, ridge, "Cyy"))
    for root, size, name in zip(roots, cross.shape, ("Cxx", "Cyy"), strict=True):
        if root.size != size:
            raise ValueError(f"{name} is about {root.size} dimensions, but Cxy is {cross.shape}")
    whitened = roots[1].apply_right(roots[0].apply_right(cross.T).T)
    svd = truncated_svd(whitened, rank, seed=seed, symbol="the correlation matrix")
    projections = (roots[0].times(svd.U), roots[1].times(svd.Vt.T))
    return CCAResult(projections, svd.S.astype(np.float64), svd.report)


def generalised_cca(
    views: Sequence[MatrixLike],
    rank: int,
    *,
    weights: Sequence[float] | None = None,
    present: Sequence[Bools] | None = None,
    ridge: float = 0.0,
    dtype: DTypeLike = np.float64,
    seed: int = 0,
) -> CCAResult:
    """CCA of two or more aligned views, with rows for cases, sparse or dense.

    MAXVAR finds the rank-dimensional consensus G (n, rank) that is nearest to all views,
    ``min sum_v w_v |K_v (G - X_v P_v)|^2`` with ``G' D G = I``, where the diagonal K_v is 1 for
    the rows that ``present[v]`` says have the view, and ``D = sum_v w_v K_v / sum_v w_v``.  With
    all rows present and no ``weights`` that is the usual ``G' G = I``.  A row without any view has
    zeros in G.  ``projections[v]`` are ``sqrt(n) P_v``, so that coordinates have a mean square of
    about 1, as those of :func:`cca` have, whatever n is; ``ridge`` adds ``n ridge |P_v|^2`` to a
    view's part of the sum.

    >>> X = np.eye(3)
    >>> result = generalised_cca([X, X, X], 3)
    >>> result.correlations.round(6).tolist()
    [1.0, 1.0, 1.0]
    >>> np.allclose(result.projections[0], np.sqrt(3) * result.consensus)
    True
    """
    if len(views) < 2:
        raise SettingsError(f"{len(views)} view: CCA needs two or more")
    if present is None:
        prepared = [_View(X, ridge, f"view {i}") for i, X in enumerate(views)]
    else:
        masks = [np.asarray(mask, dtype=bool) for mask in present]
        shapes = [mask.shape for mask in masks]
        if shapes != [(X.shape[0],) for X in views]:
            raise ValueError(f"present has shapes {shapes}: one number for each row of each view")
        rows = [_only(X, mask) for X, mask in zip(views, masks, strict=True)]
        prepared = [_View(X, ridge, f"view {i}") for i, X in enumerate(rows)]
    if len({view.n for view in prepared}) != 1:
        raise ValueError(f"views with {[view.n for view in prepared]} rows: one number is needed")
    shares = _shares(weights, len(views))
    D = np.ones(prepared[0].n)  # (n,) the diagonal of D
    if present is not None:
        D = np.einsum("v,vn->n", shares, np.asarray(masks, dtype=np.float64))
    scale = inverse_sqrt_totals(D, 0.0)  # D^(-1/2); 0 for a row without any view
    # U are the leading eigenvectors of D^(-1/2) (sum of the views' projectors by their shares)
    # D^(-1/2): the left singular vectors of the whitened views side by side
    base = HStack(
        [
            Scaled(view.whitened_t().T, rows=np.sqrt(share) * scale)
            for view, share in zip(prepared, shares.tolist(), strict=True)
        ]
    )
    svd = truncated_svd(base, rank, dtype=dtype, seed=seed, symbol="the stacked views")
    # the right singular vectors, view by view
    blocks = np.split(svd.Vt.T, np.cumsum([view.root.size for view in prepared])[:-1])
    # P_v = (C_v + ridge)^(-1) X_v' G / sqrt(n), and Vt holds sqrt(share) W_v X_v' G / (sqrt(n) s)
    projections = tuple(
        view.root.times(block * (svd.S / np.sqrt(share)))
        for view, block, share in zip(prepared, blocks, shares.tolist(), strict=True)
    )
    correlations = np.square(svd.S.astype(np.float64))  # eigenvalues of D^(-1/2) sum D^(-1/2)
    consensus = svd.U * scale.astype(svd.U.dtype)[:, None]
    return CCAResult(projections, correlations, svd.report, consensus)


def _shares(weights: Sequence[float] | None, n_views: int) -> Float64s:
    """Weights that sum to 1."""
    raw = np.ones(n_views) if weights is None else np.asarray(weights, dtype=np.float64)
    if raw.shape != (n_views,) or not (np.isfinite(raw).all() and (raw > 0).all()):
        raise SettingsError(f"weights {weights!r}: expected {n_views} numbers above 0")
    return np.asarray(raw / raw.sum())


def _only(X: MatrixLike, present: Bools) -> MatrixLike:
    """The view with zeros in the rows that lack it."""
    if not hasattr(X, "tocsr"):
        return np.where(present[:, None], X, 0.0)
    from scipy.sparse import diags_array

    return (diags_array(present.astype(np.float64)) @ X.tocsr()).tocsr()


@dataclass(frozen=True)
class _Root:
    """``(C + ridge I)^(-1/2)``: a diagonal (d,) or a matrix (d, d)."""

    values: Numbers

    @classmethod
    def of(cls, C: Numbers, ridge: float, symbol: str) -> _Root:
        if not ridge >= 0:
            raise SettingsError(f"ridge {ridge!r}: expected a number of at least 0")
        if C.ndim == 1:
            if not (np.isfinite(C).all() and (C >= 0).all()):
                raise DataError(symbol, None, "found a negative or non-finite variance")
            return cls(inverse_sqrt_totals(C, ridge))
        # directions without variance are left out: they carry no correlation
        return cls(guarded_inverse_sqrt(C, ridge=ridge, symbol=symbol))

    @property
    def size(self) -> int:
        return int(self.values.shape[0])

    def times(self, x: Numbers) -> Numbers:
        values = self.values.astype(x.dtype)
        return np.asarray(values[:, None] * x if values.ndim == 1 else values @ x)

    def apply_right(self, base: Operator) -> Operator:
        """``base @ root``."""
        if self.values.ndim == 1:
            return Scaled(base, columns=self.values)
        return Product(base, self.values)


class _View:
    """One view (n, d), and the root that whitens it."""

    def __init__(self, X: MatrixLike, ridge: float, name: str) -> None:
        self.base = as_operator(X).astype(np.float64)
        self.n = self.base.shape[0]
        if self.n == 0:
            raise DataError(name, None, "found no rows: expected at least one")
        with single_threaded():
            self.root = _Root.of(self._covariance(X, name), ridge, name)

    def _covariance(self, X: MatrixLike, name: str) -> Numbers:
        if hasattr(X, "tocsr"):
            rows = X.tocsr().astype(np.float64)
            if np.diff(rows.indptr).max() <= 1:  # one entry a row: X'X is diagonal
                return np.asarray(rows.multiply(rows).sum(axis=0)).ravel() / self.n
        d = self.base.shape[1]
        if d > _FULL_COLUMNS:
            raise SettingsError(
                f"{name} has {d} columns that are not one-hot: at most {_FULL_COLUMNS} can be "
                "whitened exactly; project them first"
            )
        second = X.T @ X
        dense = np.asarray(second.toarray() if hasattr(second, "toarray") else second)
        return dense.astype(np.float64) / self.n  # X' X / n

    def whitened_t(self) -> Operator:
        """``root X' / sqrt(n)``, (d, n)."""
        scaled = Scaled(self.base, rows=np.full(self.n, 1 / np.sqrt(self.n)))
        return self.root.apply_right(scaled).T
