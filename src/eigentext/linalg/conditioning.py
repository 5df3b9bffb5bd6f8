"""Inverses that say how far they can be trusted.

A moment matrix is inverted through its SVD; directions below a cut-off are left out instead of
being blown up, and a :class:`ConditionReport` tells what was cut.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np

from eigentext.base.types import Float64s, Numbers
from eigentext.errors import DataError, RankError, RankWarning, SettingsError
from eigentext.linalg.ties import single_threaded

OnRank = Literal["error", "warn", "ignore"]
_MAX_CONDITION = 1e10


@dataclass(frozen=True)
class ConditionReport:
    """What an inverse did with the spectrum it met.

    ``singular_values`` descending, of the matrix as given; ``cutoff`` is absolute: values at or
    below it were left out; ``rank`` is how many stayed; ``condition`` is the ratio of the largest
    value to the smallest that stayed.
    """

    symbol: str
    singular_values: Float64s
    cutoff: float
    rank: int
    condition: float


def guarded_pinv(
    M: Numbers,
    *,
    max_condition: float = _MAX_CONDITION,
    ridge: float = 0.0,
    need_rank: int | None = None,
    on_rank: OnRank = "error",
    symbol: str = "M",
) -> tuple[Float64s, ConditionReport]:
    """Pseudo-inverse of ``M`` (m, n), shape (n, m), and its report.

    Singular values at or below ``s_1 / max_condition`` are left out; the others invert to
    ``s / (s^2 + ridge)``.  Fewer than ``need_rank`` that stay (all, when None) is a RankError, a
    RankWarning, or nothing but a line in the report, as ``on_rank`` says.

    >>> inverse, report = guarded_pinv(np.diag([2.0, 0.0]), on_rank="ignore")
    >>> inverse.tolist(), report.rank
    ([[0.5, 0.0], [0.0, 0.0]], 1)
    """
    from scipy.linalg import svd

    if on_rank not in ("error", "warn", "ignore"):
        raise SettingsError(f"on_rank {on_rank!r}: expected error, warn or ignore")
    matrix = _checked(M, symbol, max_condition=max_condition, ridge=ridge)
    with single_threaded():
        U, s, Vt = svd(matrix, full_matrices=False)
        largest = float(s[0]) if s.size else 0.0
        cutoff = largest / max_condition  # directions below are left out
        rank = int((s > cutoff).sum()) if largest > 0 else 0  # how many directions stay
        condition = largest / float(s[rank - 1]) if rank else float("inf")
        report = ConditionReport(symbol, s.astype(np.float64), cutoff, rank, condition)
        need_rank = s.shape[0] if need_rank is None else need_rank
        if rank < need_rank and on_rank != "ignore":
            error = RankError(symbol, rank=need_rank, got=rank)
            if on_rank == "error":
                raise error
            warnings.warn(RankWarning(str(error)), stacklevel=2)
        s, U, Vt = s[:rank], U[:, :rank], Vt[:rank]
        # s / (s^2 + ridge) without squaring: a small s would underflow
        inverse = (Vt.T / (s + ridge / s)) @ U.T
    return np.asarray(inverse), report


def guarded_inverse_sqrt(C: Numbers, *, ridge: float = 0.0, symbol: str = "C") -> Float64s:
    """``W`` with ``W (C + ridge I) W = I`` on the kept directions; C symmetric and >= 0.

    The symmetric root: the whitened view stays as near as can be to the view.  Eigenvalues at or
    below 1e-10 of the largest are left out.

    >>> guarded_inverse_sqrt(np.diag([4.0, 1.0])).tolist()
    [[0.5, 0.0], [0.0, 1.0]]
    """
    from scipy.linalg import eigh

    matrix = _checked(C, symbol, max_condition=_MAX_CONDITION, ridge=ridge)
    largest = float(np.abs(matrix).max(initial=0.0))  # the scale by which symmetry is judged
    if matrix.shape[0] != matrix.shape[1] or not np.allclose(
        matrix, matrix.T, rtol=0, atol=1e-8 * largest
    ):
        raise DataError(symbol, None, "found a matrix that is not symmetric: expected symmetric")
    with single_threaded():
        # C + ridge I has C's eigenvectors; the average takes rounding off the two triangles
        values, vectors = eigh((matrix + matrix.T) / 2)
        values, vectors = values[::-1] + ridge, vectors[:, ::-1]
        if values.size and values[-1] < -1e-8 * max(largest, ridge):
            raise DataError(symbol, None, f"found eigenvalue {values[-1]:.1e}: expected >= 0")
        rank = int((values > max(values.max(initial=0.0), 0.0) / _MAX_CONDITION).sum())
        # W = V diag(1 / sqrt(values)) V'
        directions = vectors[:, :rank]
        root = (directions / np.sqrt(values[:rank])) @ directions.T
    return np.asarray(root)


def _checked(M: Numbers, symbol: str, *, max_condition: float, ridge: float) -> Numbers:
    if not max_condition > 1:
        raise SettingsError(f"max_condition {max_condition!r}: expected a number above 1")
    if not ridge >= 0:
        raise SettingsError(f"ridge {ridge!r}: expected a number of at least 0")
    matrix = np.asarray(M, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"{symbol} has {matrix.ndim} axes: expected a matrix")
    if not np.isfinite(matrix).all():
        raise DataError(symbol, None, "found NaN or infinity: expected finite numbers")
    return matrix
