"""From counts to the matrix that is decomposed: sparse in, sparse out, zeros stay zeros.

Counts are transformed or not, then divided by the square roots of the (smoothed) row and column
totals, which is whitening for one-hot views; or PMI is taken.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from eigentext.base.types import Float64s, Numbers, Sparse
from eigentext.errors import DataError, SettingsError


def cca_scale(
    counts: Sparse,
    row_totals: Numbers | None = None,
    col_totals: Numbers | None = None,
    kappa: float = 0.0,
    *,
    dtype: DTypeLike = np.float64,
) -> Sparse:
    """``Omega[i, j] = counts[i, j] / sqrt((row_totals[i] + kappa) * (col_totals[j] + kappa))``.

    Totals that are left out are the sums of ``counts``.  After a transform of the counts pass the
    transformed totals as well.  A row or column with total and kappa zero stays zero.

    >>> import scipy.sparse as sp
    >>> C = sp.csr_matrix(np.array([[4, 0], [0, 9]], dtype=np.int64))
    >>> cca_scale(C, kappa=0.0).toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    matrix, rows, columns = _checked(counts, row_totals, col_totals)
    if not kappa >= 0:
        raise SettingsError(f"kappa {kappa!r}: expected a number of at least 0")
    left, right = inverse_sqrt_totals(rows, kappa), inverse_sqrt_totals(columns, kappa)
    values = matrix.data * np.repeat(left, np.diff(matrix.indptr)) * right[matrix.indices]  # Omega
    return _with_values(matrix, values.astype(dtype, copy=False))


def inverse_sqrt_totals(totals: Numbers, kappa: float) -> Float64s:
    """``1 / sqrt(totals + kappa)``, and 0 where that would divide by zero.

    >>> inverse_sqrt_totals(np.array([0, 4]), 0.0).tolist()
    [0.0, 0.5]
    """
    smoothed = np.asarray(totals, dtype=np.float64) + kappa
    safe = np.where(smoothed > 0, smoothed, 1.0)
    return np.asarray(np.where(smoothed > 0, 1 / np.sqrt(safe), 0.0))


def sqrt_transform(counts: Sparse) -> Sparse:
    """Square root of each count: steadies the variance of counts that are Poisson-like.

    >>> import scipy.sparse as sp
    >>> sqrt_transform(sp.csr_matrix(np.array([[4, 0]]))).toarray().tolist()
    [[2.0, 0.0]]
    """
    matrix, _, _ = _checked(counts, None, None)
    return _with_values(matrix, np.sqrt(matrix.data))


def log_transform(counts: Sparse) -> Sparse:
    """``log(1 + count)`` of each count.

    >>> import scipy.sparse as sp
    >>> log_transform(sp.csr_matrix(np.array([[0, 1]]))).toarray().round(4).tolist()
    [[0.0, 0.6931]]
    """
    matrix, _, _ = _checked(counts, None, None)
    return _with_values(matrix, np.log1p(matrix.data))


def ppmi(
    counts: Sparse,
    row_totals: Numbers | None = None,
    col_totals: Numbers | None = None,
    *,
    shift: float = 1.0,
) -> Sparse:
    """Shifted positive PMI, ``max(0, log(c_ij N / (r_i c_j)) - log(shift))``, ``N = sum r_i``.

    ``shift`` is the k of negative sampling: 1 is plain PPMI.  Entries that come out zero are
    taken out of the matrix.

    >>> import scipy.sparse as sp
    >>> ppmi(sp.csr_matrix(np.array([[2, 0], [0, 2]]))).toarray().round(4).tolist()
    [[0.6931, 0.0], [0.0, 0.6931]]
    """
    if not shift > 0:
        raise SettingsError(f"shift {shift!r}: expected a positive number")
    matrix, rows, columns = _checked(counts, row_totals, col_totals)
    nonzero = matrix.copy()
    nonzero.eliminate_zeros()
    row_of = np.repeat(np.arange(nonzero.shape[0]), np.diff(nonzero.indptr))  # of each entry
    for totals, ids, side in ((rows, row_of, "row"), (columns, nonzero.indices, "column")):
        if nonzero.nnz and not (totals[ids] > 0).all():
            raise DataError("counts", None, f"a {side} with counts has total 0: expected more")
    # sums of logs, not a log of products: totals of 1e10 each would lose nothing, 1e200 would
    pmi = (
        np.log(nonzero.data)
        + np.log(rows.sum() if nonzero.nnz else 1.0)
        - np.log(rows[row_of])
        - np.log(columns[nonzero.indices])
    )
    result = _with_values(nonzero, np.maximum(pmi - np.log(shift), 0.0))
    result.eliminate_zeros()  # what chance explains is no entry
    return result


def _checked(
    counts: Sparse, row_totals: Numbers | None, col_totals: Numbers | None
) -> tuple[Sparse, Float64s, Float64s]:
    """The counts in CSR as float64 and both totals, or what is wrong with them."""
    if not hasattr(counts, "tocsr"):
        raise TypeError(f"a scipy sparse matrix is meant, not {type(counts).__name__}")
    matrix = counts.tocsr()
    matrix = matrix.astype(np.float64)  # exact below 2**53
    if matrix.nnz and not (np.isfinite(matrix.data).all() and matrix.data.min() >= 0):
        raise DataError("counts", None, "found a negative or non-finite count: expected >= 0")
    both_totals = []
    for totals, axis, side in ((row_totals, 1, "row"), (col_totals, 0, "column")):
        size = matrix.shape[1 - axis]
        sums = matrix.sum(axis=axis) if totals is None else totals
        values = np.asarray(sums, dtype=np.float64)
        values = values.ravel() if totals is None else values
        if values.shape != (size,):
            raise ValueError(f"{side} totals of shape {values.shape}: expected ({size},)")
        if values.size and not (np.isfinite(values).all() and values.min() >= 0):
            raise DataError(f"{side} totals", None, "found a negative or non-finite total")
        both_totals.append(values)
    return matrix, both_totals[0], both_totals[1]


def _with_values(matrix: Sparse, values: Numbers) -> Sparse:
    """The same pattern with other values; the pattern is shared, not copied."""
    return type(matrix)((values, matrix.indices, matrix.indptr), shape=matrix.shape)
