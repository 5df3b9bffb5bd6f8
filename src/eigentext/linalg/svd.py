"""Truncated SVD ``A ~ U diag(S) Vt`` of sparse, dense and implicit matrices.

A route (block Krylov, ARPACK, dense LAPACK) gives an orthonormal ``U`` on the shorter side of A;
``W = A' U`` and the small SVD of W's triangular factor follow, so that singular values do not
suffer from the squares in ``A A'``.  The answer is unique (see ``ties``).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from eigentext.errors import DataError, RankError, RankWarning, SettingsError
from eigentext.linalg.backend import CPU, backend_for
from eigentext.linalg.matrices import CardOperator, Operator, as_operator
from eigentext.linalg.ties import (
    TIE,
    canonical_turn,
    random_block,
    single_threaded,
    tied_stretches,
)

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray

    from eigentext.base.progress import Progress
    from eigentext.base.types import AnyArray, Bools, Float64s, Numbers
    from eigentext.linalg.backend import Backend
    from eigentext.linalg.krylov import KrylovSettings
    from eigentext.linalg.matrices import MatrixLike

Method = Literal["auto", "krylov", "arpack", "dense"]

_DENSE_SIDE = 800  # up to this shorter side, "auto" writes the matrix out
_DENSE_CELLS = 20_000_000
_DEFAULT_TOL = {"f": 1e-4, "d": 1e-8}
_RANK_TOL = {"f": 1e-5, "d": 1e-12}


class ConvergenceWarning(UserWarning):
    """The iteration ended before the residuals (or the overlap) asked for were reached."""


@dataclass(frozen=True)
class ConvergenceReport:
    """What the numbers are worth.

    ``right_residuals[i] = |A v_i - s_i u_i| / s_1`` and
    ``left_residuals[i] = |A' u_i - s_i v_i| / s_1``.  The larger of them is measured with the
    finished triplets (when only an ``overlap`` was asked for it is taken from the Lanczos
    relation); the other is rounding, since the triplets are made that way;
    ``products`` counts the vectors that were multiplied by ``A`` and ``A'`` (a pair is one);
    ``overlap`` is the estimated mean squared cosine between the left subspace and the true one.
    """

    method: str
    converged: bool
    right_residuals: Float64s
    left_residuals: Float64s
    iterations: int
    products: int
    restarts: int
    basis_size: int
    tol: float
    overlap: float
    asked_rank: int
    numerical_rank: int

    @property
    def worst_residual(self) -> float:
        """The largest of all residuals (0 when there are none)."""
        both = np.concatenate([self.right_residuals, self.left_residuals])
        return float(both.max(initial=0.0))

    def __str__(self) -> str:
        verdict = "converged" if self.converged else "NOT converged"
        return (
            f"{self.method}: {verdict}, worst residual {self.worst_residual:.1e} of s_1 "
            f"(tol {self.tol:.0e}), {self.iterations} iterations, {self.products} products, "
            f"rank {self.numerical_rank} of {self.asked_rank}"
        )


@dataclass(frozen=True)
class SVDResult:
    """``A ~ U diag(S) Vt``: U (m, r), S (r,) descending, Vt (r, n), and the report."""

    U: Numbers
    S: Numbers
    Vt: Numbers
    report: ConvergenceReport

    @property
    def rank(self) -> int:
        """How many triplets there are."""
        return int(self.S.shape[0])


def truncated_svd(
    A: MatrixLike,
    rank: int,
    *,
    method: Method = "auto",
    dtype: DTypeLike = np.float64,
    tol: float | None = None,
    overlap: float | None = None,
    max_iter: int | None = None,
    block: int | None = None,
    seed: int = 0,
    on_rank: Literal["error", "warn"] = "error",
    rank_tol: float | None = None,
    symbol: str = "A",
    progress: Progress | None = None,
    device: str | Backend | None = None,
    to_host: bool = True,
    sides: Literal["both", "left"] = "both",
    folder: Path | None = None,
) -> SVDResult:
    """The ``rank`` leading singular triplets of a sparse matrix, an array or an operator.

    ``tol`` bounds the residuals relative to the largest singular value (1e-4 in float32, 1e-8 in
    float64).  ``overlap`` (such as 0.99) stops the Krylov route earlier, when the left subspace
    is estimated to be that near the true one; then ``tol`` is not demanded.  ``max_iter`` bounds
    the number of products with ``A A'`` in units of ``rank`` (50).  float32 halves time and
    memory, but cannot resolve singular values below about a thousandth of the largest.

    A numerical rank (singular values above ``rank_tol * s_1``) below ``rank`` raises
    :class:`~eigentext.errors.RankError`; with ``on_rank="warn"`` the smaller rank is returned
    with a :class:`~eigentext.errors.RankWarning`.  ``symbol`` names the matrix in messages.
    ``progress`` is told the directions searched so far, and how many that may be.

    ``device`` is ``cpu``, ``cuda`` (a graphics card, by CuPy or torch) or ``auto`` (the card where
    there is one); None is what :func:`~eigentext.base.cores.using_device` says.  Only the Krylov
    route goes to the card.  A matrix of CuPy stays on its card.  The factors come back as arrays
    of numpy, or with ``to_host=False`` stay where they were made.

    Where memory is short, ``sides="left"`` leaves the right vectors out (Vt has no columns), and
    with a ``folder`` the basis of the Krylov route, of :func:`basis_bytes`, is in a file there.
    Neither changes a bit of the rest.

    >>> result = truncated_svd(np.diag([3.0, 2.0, 1.0]), 2)
    >>> result.S.round(6).tolist(), result.report.converged
    ([3.0, 2.0], True)
    """
    operator = as_operator(A)
    kind = np.dtype(dtype)
    if kind.char not in _DEFAULT_TOL:
        raise SettingsError(f"dtype {kind} is not supported: float32 or float64")
    if method not in ("auto", "krylov", "arpack", "dense"):
        raise SettingsError(f"method {method!r}: expected auto, krylov, arpack or dense")
    if on_rank not in ("error", "warn"):
        raise SettingsError(f"on_rank {on_rank!r}: expected error or warn")
    if isinstance(rank, bool) or int(rank) != rank or rank < 1:
        raise SettingsError(f"rank {rank!r}: expected an integer of at least 1")
    if overlap is not None and not 0 < overlap < 1:
        raise SettingsError(f"overlap {overlap!r}: expected a number between 0 and 1")
    tol = _DEFAULT_TOL[kind.char] if tol is None else tol
    if tol <= 0:
        raise SettingsError(f"tol {tol!r}: expected a positive number")
    if not operator.is_finite():
        raise DataError(symbol, None, "found NaN or infinity: expected finite numbers")
    operator = operator.astype(kind)
    rank_tol = _RANK_TOL[kind.char] if rank_tol is None else rank_tol
    shorter = min(operator.shape)
    reachable = min(rank, int(operator.row_support().sum()), int(operator.column_support().sum()))
    turned = operator.shape[0] > operator.shape[1]  # the iteration lives on the shorter side
    wide = operator.T if turned else operator
    if method == "auto":
        small = shorter <= _DENSE_SIDE and operator.shape[0] * operator.shape[1] <= _DENSE_CELLS
        method = "dense" if small else "krylov"
    if method == "arpack" and reachable >= shorter:
        method = "dense"  # ARPACK finds all but one at the most
    backend = CPU
    if method == "krylov":
        backend = operator.backend if isinstance(operator, CardOperator) else backend_for(device)
    support = wide.row_support()
    wide = wide.on(backend)
    with single_threaded():
        route: _Route
        # a matrix that is not zero maps a random vector to zero with probability 0
        probe = random_block(wide.shape[1], 1, seed=seed, stream=0, dtype=wide.dtype)
        if reachable == 0 or not bool(wide.matmat(backend.asarray(probe)).any()):
            nothing = backend.asarray(np.zeros((shorter, 0), dtype=kind))
            route = _Route(method, nothing, True, 0, 0, 0, 0, 1.0)
        elif method == "dense":
            route = _dense(wide, reachable)
        elif method == "arpack":
            route = _arpack(wide, reachable, tol=tol, max_iter=max_iter, seed=seed)
        else:
            settings = _krylov_settings(
                wide.shape, reachable, tol, overlap, max_iter, block, seed, folder
            )
            route = _krylov(wide, support, reachable, settings, progress, backend)
        kept_sides = {"both": "both", "left": "right" if turned else "left"}[sides]
        U, S, V, residuals = _finish(wide, route, backend, rank_tol=rank_tol, sides=kept_sides)
        route = replace(route, U=None)
    got = S.shape[0]  # the numerical rank
    if got < rank:
        if on_rank == "error":
            raise RankError(symbol, rank=rank, got=got)
        warnings.warn(RankWarning(str(RankError(symbol, rank=rank, got=got))), stacklevel=2)
    if turned:
        U, V = V, U
    for first, end in tied_stretches(S, TIE[kind.char]):
        turn = canonical_turn(backend.to_host(U[:, first:end])).astype(kind)
        for side in (U, V):
            if side.shape[0]:
                side[:, first:end] = side[:, first:end] @ backend.asarray(turn)
    if got:
        signs = np.where(backend.leading_entries(U) < 0, -1, 1)
        backend.scale_columns(U, signs)
        backend.scale_columns(V, signs)
    if sides == "left":
        V = V[:0]
    if to_host:
        U, V = backend.to_host(U), backend.to_host(V)
    right, left = residuals[::-1] if turned else residuals
    worst = float(max(residuals[0].max(initial=0.0), residuals[1].max(initial=0.0)))
    settled = overlap is not None and route.method == "krylov" and route.converged
    report = ConvergenceReport(
        method=route.method,
        converged=bool(worst <= tol or settled),
        right_residuals=right,
        left_residuals=left,
        iterations=route.iterations,
        products=route.products,
        restarts=route.restarts,
        basis_size=route.basis_size,
        tol=tol,
        overlap=route.overlap,
        asked_rank=rank,
        numerical_rank=got,
    )
    if not report.converged:
        warnings.warn(ConvergenceWarning(f"SVD of {symbol}: {report}"), stacklevel=2)
    return SVDResult(U, S, V.T, report)


@dataclass(frozen=True)
class _Route:
    """A basis of the left subspace, on the shorter side, and how it was found."""

    method: str
    U: AnyArray
    converged: bool
    iterations: int
    products: int
    restarts: int
    basis_size: int
    overlap: float
    residuals: Float64s | None = None  # |A A' u - s^2 u| where that is good enough


def basis_bytes(shape: tuple[int, int], rank: int, dtype: DTypeLike = np.float32) -> int:
    """What the basis of the Krylov route takes when it is at its largest."""
    from eigentext.linalg.krylov import basis_columns

    settings = _krylov_settings(shape, min(rank, *shape), 1.0, None, None, None, 0, None)
    columns = min(basis_columns(settings.max_basis, settings.block), *shape)
    return min(shape) * columns * np.dtype(dtype).itemsize


def _krylov_settings(
    shape: tuple[int, int],
    rank: int,
    tol: float,
    overlap: float | None,
    max_iter: int | None,
    block: int | None,
    seed: int,
    folder: Path | None,
) -> KrylovSettings:
    from eigentext.linalg.krylov import KrylovSettings

    block = min(krylov_block(rank) if block is None else block, *shape)
    return KrylovSettings(
        tol=tol / 2,  # half of it is left for the rounding of what follows
        overlap=overlap,
        block=block,
        max_products=(50 if max_iter is None else max_iter) * max(rank, block),
        max_basis=max(4 * rank, 2 * rank + 10 * block),
        seed=seed,
        folder=folder,
    )


def krylov_block(rank: int) -> int:
    """Vectors multiplied at a time: narrow blocks need fewer products, wide ones gather memory
    better.
    """
    return 64 if rank >= 400 else 32


def _krylov(
    A: Operator,
    support: Bools,
    rank: int,
    settings: KrylovSettings,
    progress: Progress | None,
    backend: Backend,
) -> _Route:
    from eigentext.linalg.krylov import leading_eigenvectors

    ritz = leading_eigenvectors(
        A.gram, support, rank, settings, dtype=A.dtype, backend=backend, progress=progress
    )
    return _Route(
        "krylov",
        ritz.vectors,
        ritz.converged,
        ritz.steps,
        ritz.products,
        ritz.restarts,
        ritz.basis_size,
        ritz.overlap,
        # far from convergence the Lanczos relation gives them as exactly as a product would
        None if settings.overlap is None else ritz.residuals,
    )


def _arpack(A: Operator, rank: int, *, tol: float, max_iter: int | None, seed: int) -> _Route:
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, svds

    count = 0

    def forward(x: Numbers) -> Numbers:
        nonlocal count
        block = x.reshape(A.shape[1], -1)
        count += block.shape[1]
        return A.matmat(block).reshape(A.shape[0], *x.shape[1:])

    def backward(x: Numbers) -> Numbers:
        return A.rmatmat(x.reshape(A.shape[0], -1)).reshape(A.shape[1], *x.shape[1:])

    linear = LinearOperator(
        A.shape, matvec=forward, rmatvec=backward, matmat=forward, rmatmat=backward, dtype=A.dtype
    )
    start = random_block(A.shape[0], 1, seed=seed, stream=1, dtype=A.dtype)[:, 0]
    start[~A.row_support()] = 0
    try:
        # tol=0 is machine precision: this route is the oracle
        U, s, _ = svds(linear, k=rank, v0=start, tol=0, maxiter=max_iter, solver="arpack")
        converged = True
    except ArpackNoConvergence as partial:
        U, s, converged = partial.eigenvectors, partial.eigenvalues, False
    return _Route(
        "arpack", U[:, np.argsort(-s)], converged, count, count, 0, rank, float(converged)
    )


def _dense(A: Operator, rank: int) -> _Route:
    from scipy.linalg import svd

    # rows without entries are left out: LAPACK would give them a little rounding
    rows = np.flatnonzero(A.row_support())
    left, s, _ = svd(
        A.to_dense()[rows], full_matrices=False, check_finite=False, lapack_driver="gesdd"
    )
    for first, end in tied_stretches(s, TIE[A.dtype.char]):
        if first < rank < end:  # the rank cuts through a tie: which part is kept must be fixed
            left[:, first:end] = left[:, first:end] @ canonical_turn(left[:, first:end])
    U = np.zeros((A.shape[0], rank), dtype=A.dtype)
    U[rows] = left[:, :rank]  # exactly 0 elsewhere
    return _Route("dense", U, True, 1, 0, 0, A.shape[0], 1.0)


def _finish(
    A: Operator, route: _Route, backend: Backend, *, rank_tol: float, sides: str
) -> tuple[AnyArray, Numbers, AnyArray, tuple[Float64s, Float64s]]:
    """Rayleigh-Ritz: the singular triplets of ``U U' A``, and their residuals in ``A``."""
    # The route's U is written over.  A side that is not wanted has no rows.
    U = route.U
    # W = A' U has the singular values of U U' A.  They are taken from W'W with its columns scaled
    # to length 1: the squares then cost digits of the angles between columns only, and the
    # columns are nearly orthogonal.
    W = A.rmatmat(U)  # (n, r)
    g = backend.gram(W)
    lengths = np.sqrt(np.diagonal(g))
    alive = np.flatnonzero(lengths > rank_tol * lengths.max(initial=0.0))
    W, U, g = backend.columns(W, alive), backend.columns(U, alive), g[np.ix_(alive, alive)]
    S, turn, chosen = _rotation(g, A.dtype, backend)
    n_above = int((rank_tol * S.max(initial=0.0) < S).sum())  # the others are rounding
    S, turn = S[:n_above], turn[:, :n_above]  # W turn = V diag(S)
    dtype = A.dtype
    residuals = route.residuals
    if residuals is not None and residuals.shape != S.shape:
        residuals = None
    U, V = backend.columns(U, chosen), backend.columns(W, chosen)
    del W
    if residuals is not None and sides == "right":
        U = backend.zeros((0, n_above), dtype)
    else:
        U = backend.turned(U, backend.asarray(turn, dtype))
    if residuals is not None and sides == "left":
        V = backend.zeros((0, n_above), dtype)
    else:
        V = backend.turned(V, backend.asarray(turn / backend.asarray(S), dtype))
    s1 = S.max(initial=np.finfo(np.float64).tiny)
    if residuals is not None:
        right = residuals / (S * s1)
    else:
        right = backend.residual_norms(A.matmat(V), U, S) / s1
    # A' u = W turn = V diag(S): nothing but rounding is left
    left = np.finfo(dtype).eps * S / s1
    return U, S.astype(dtype), V, (right, left)


def _rotation(
    g: Float64s, dtype: np.dtype[Any], backend: Backend
) -> tuple[Float64s, AnyArray, NDArray[np.intp]]:
    """Singular values and right vectors of a W with ``g = W' W``, and the columns they are about.

    The entries of g are as exact as W beside the lengths of their two columns, and eigenvalues
    of such a matrix are exact beside themselves, but for what is lost beside the largest of them:
    1e-16, which in float32 is nothing.  In float64 the SVD of W's triangular factor is taken.
    """
    from scipy.linalg import svd

    if dtype == np.float32:
        squares, turn = backend.leading_eigh(backend.asarray(g), g.shape[0])
        return np.sqrt(np.maximum(squares, 0)), turn, np.arange(g.shape[0])
    lengths = np.sqrt(np.diagonal(g))
    factor, chosen = _triangular(g / np.outer(lengths, lengths))
    _, S, turn_t = svd(factor * lengths[chosen], check_finite=False)
    return S, backend.asarray(turn_t.T), chosen


def _triangular(correlation: Float64s) -> tuple[Float64s, NDArray[np.intp]]:
    """Upper triangular R with ``R' R = correlation``, and the columns it is about."""
    from scipy.linalg import LinAlgError, cholesky

    try:
        return cholesky(correlation, check_finite=False), np.arange(correlation.shape[0])
    except LinAlgError:
        # columns that depend on earlier ones, to rounding: pivoting finds them
        from scipy.linalg.lapack import dpstrf

        _, pivots, rank, _ = dpstrf(correlation, lower=0)
        chosen = np.sort(pivots[:rank] - 1)
        return cholesky(correlation[np.ix_(chosen, chosen)], check_finite=False), chosen
