"""One answer where the numbers leave a choice: ties, rounding and the noise of counting.

Another processor rounds differently in the last digits.  That is harmless until a choice hangs on
them, so each such choice is made here by a rule that rounding cannot turn.
Every fit runs inside :func:`single_threaded`, since the threads of a BLAS change the order of its
sums (our own work on fixed row blocks); random blocks come from a seed (:func:`random_block`).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from eigentext.base.cores import each, row_blocks
from eigentext.base.types import Float64s, Int64s, Numbers, Sparse
from eigentext.errors import SettingsError

# Numbers nearer than this, relative to the largest, are one number: float32 and float64.
TIE = {"f": 1e-5, "d": 1e-10}

_ROWS_AT_ONCE = 4096
_NO_ROW = {"f": 1e-6, "d": 1e-12}  # shorter rows, relative to the longest, are rounding
_ALIKE = {"f": 1e-5, "d": 1e-7}  # rows of length 1 that are nearer are the same
_thread = threading.local()


def tied_stretches(values: Numbers, tie: float) -> list[tuple[int, int]]:
    """Stretches [first, end) of two or more descending values within ``tie * values[0]``.

    >>> tied_stretches(np.array([3.0, 2.0, 2.0, 1.0]), 1e-9)
    [(1, 3)]
    """
    stretches = []
    first, n = 0, len(values)
    width = tie * float(values[0]) if n else 0.0
    while first < n:
        end = first + 1
        while end < n and values[first] - values[end] <= width:
            end += 1
        if end - first > 1:
            stretches.append((first, end))
        first = end
    return stretches


def canonical_turn(X: Numbers) -> Float64s:
    """(g, g) orthogonal R for which ``X R`` depends on the space of X's columns alone.

    The longest row of X (of rows as long to rounding the first) becomes the first axis, the row
    that is longest beside it the second, and so on.

    >>> turned = np.array([[0.6, 0.8], [-0.8, 0.6], [0.0, 0.0]])
    >>> (turned @ canonical_turn(turned)).round(9).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """
    rest = np.array(X, dtype=np.float64)
    tie = TIE[np.dtype(X.dtype).char]
    R = np.eye(rest.shape[1])
    for k in range(rest.shape[1]):
        lengths = np.einsum("ij,ij->i", rest, rest)
        row = rest[int(np.argmax(lengths >= lengths.max() * (1 - tie)))]
        for _ in range(2):  # once more, so that R is orthogonal to the last digit
            row = row - R[:, :k] @ (R[:, :k].T @ row)
        R[:, k] = row / np.linalg.norm(row)
        rest -= np.outer(rest @ R[:, k], R[:, k])
    return R


def fix_signs(U: Numbers, Vt: Numbers | None = None) -> tuple[Numbers, Numbers | None]:
    """Make the largest entry (by absolute value) of each column of U positive.

    Entries that differ by rounding only count as tied; of tied entries the first decides.
    ``Vt`` turns along, so that ``U diag(S) Vt`` stays the same.

    >>> fix_signs(np.array([[0.6, 0.8], [-0.8, 0.6]]), np.eye(2))[1].tolist()
    [[-1.0, -0.0], [0.0, 1.0]]
    """
    if not U.size:
        return U, Vt
    signs = np.where(leading_entries(U) < 0, -1, 1).astype(U.dtype)
    return U * signs, None if Vt is None else Vt * signs[:, None]


def leading_entries(X: Numbers) -> Numbers:
    """(k,) of each column the first of the entries that are largest by size, to rounding.

    >>> leading_entries(np.array([[0.6, 0.1], [-0.8, 0.1]])).tolist()
    [-0.8, 0.1]
    """
    blocks = row_blocks(X.shape[0], _ROWS_AT_ONCE)
    tops = np.asarray(each(lambda rows: np.abs(X[rows]).max(axis=0), blocks))
    least = tops.max(axis=0) * (1 - 10 * TIE[X.dtype.char])

    def first(rows: slice) -> Numbers:
        places = (np.abs(X[rows]) >= least).argmax(axis=0)
        return np.asarray(np.take_along_axis(X[rows], places[None, :], axis=0)[0])

    firsts = np.asarray(each(first, blocks))
    owner = (tops >= least).argmax(axis=0)  # the first block that has such an entry
    return np.asarray(firsts[owner, np.arange(X.shape[1])])


def principal_axes(gram: Float64s) -> tuple[Float64s, Float64s]:
    """Eigenvalues of ``X' X`` (or ``X X'``), largest first, and vectors that leave no choice.

    Values that are rounding are zero: the root of 1e-16 would be 1e-8.

    >>> principal_axes(np.diag([1.0, 4.0, 0.0]))[0].tolist()
    [4.0, 1.0, 0.0]
    """
    values, vectors = np.linalg.eigh(gram)
    values, vectors = values[::-1], np.ascontiguousarray(vectors[:, ::-1])
    values = np.where(values > TIE["d"] * values[:1], values, 0.0)
    for first, end in tied_stretches(values[values > 0], TIE["d"]):
        part = vectors[:, first:end]
        vectors[:, first:end] = part @ canonical_turn(part)
    return values, fix_signs(vectors)[0]


def unit_rows(X: Numbers, *, out: Numbers | None = None) -> Numbers:
    """Rows at length 1; a row of nothing but rounding, beside the longest, becomes zeros.

    They are put into ``out``, which may be X, or into an array of their own.

    >>> unit_rows(np.array([[3.0, 4.0], [1e-17, -1e-17]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
    some = lengths > _NO_ROW[np.dtype(X.dtype).char] * lengths.max(initial=0.0)
    divisors = np.where(some, lengths, 1)[:, None]
    result = np.empty(X.shape, np.result_type(X, divisors)) if out is None else out
    for rows in row_blocks(X.shape[0], _ROWS_AT_ONCE):
        result[rows] = np.where(some[rows, None], X[rows], 0) / divisors[rows]
    return result


def number_alike(rows: Numbers, limit: int) -> Int64s | None:
    """(n,) one number for rows that are the same to rounding, by first appearance.

    None when there are ``limit`` different rows or more: then there is enough to choose from.

    >>> number_alike(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1e-9]]), 3).tolist()
    [0, 1, 0]
    >>> number_alike(np.eye(2), 2) is None
    True
    """
    if len(rows) > 2 * limit and number_alike(rows[: 2 * limit], limit) is None:
        return None  # nearly always so, and cheap to see
    numbers = np.full(len(rows), -1, dtype=np.int64)
    rest = np.arange(len(rows))
    for number in range(limit):
        apart = np.abs(rows[rest] - rows[rest[0]]).max(axis=1, initial=0.0)
        same = apart <= _ALIKE[np.dtype(rows.dtype).char]
        numbers[rest[same]] = number
        rest = rest[~same]
        if not rest.size:
            return numbers if number + 1 < limit else None
    return None


def counting_noise(
    counts: Sparse, row_totals: Numbers, col_totals: Numbers, kappa: float
) -> float:
    """A bound on what chance alone adds to the singular values of scaled counts.

    The entries of :func:`~eigentext.linalg.scaling.cca_scale` are counts n over a known number c;
    a count has a variance of about itself, so the noise of the matrix has variances n / c^2, and
    its largest singular value is about the root of the largest row sum of those plus the root of
    the largest column sum (Bandeira and van Handel 2016).

    >>> import scipy.sparse as sp
    >>> counts = sp.csr_array(np.array([[400, 0], [0, 400]]))
    >>> round(counting_noise(counts, np.array([400, 400]), np.array([400, 400]), 0.0), 6)
    0.1
    """
    from eigentext.linalg.scaling import inverse_sqrt_totals

    left, right = inverse_sqrt_totals(row_totals, kappa), inverse_sqrt_totals(col_totals, kappa)
    matrix = counts.tocsr()
    rows = np.asarray(matrix @ np.square(right)) * np.square(left)
    columns = np.asarray(matrix.T @ np.square(left)) * np.square(right)
    return float(np.sqrt(rows.max(initial=0.0)) + np.sqrt(columns.max(initial=0.0)))


def clear_of_noise(values: Numbers, noise: float) -> int:
    """How many of the descending singular values to keep: all, unless there is a cliff.

    Noise moves a singular value by no more than its own size.  A value above twice the noise is
    therefore signal; one below the noise may be nothing.  Where a spectrum goes from the one to
    the other in a single step the rest is left out.  Real text falls gently, and keeps all.  The
    first direction of scaled counts tells frequency alone: where nothing else stands out, nothing
    is left out either.

    >>> clear_of_noise(np.array([0.99, 0.98, 0.19]), 0.21)
    2
    >>> clear_of_noise(np.array([0.99, 0.4, 0.3, 0.19]), 0.21)
    4
    """
    kept = int((values > noise).sum())
    if 1 < kept < len(values) and values[kept - 1] > 2 * noise:
        return kept
    return len(values)


class _Held:
    """The limit of BLAS in this process: how many fits hold it, and what gives it back."""

    lock = threading.Lock()
    holders = 0
    limits: Any = None
    libraries: Any = None
    n_modules = 0


def _libraries() -> Any:
    """The libraries with threads: looking takes milliseconds, and new ones come by imports."""
    from threadpoolctl import ThreadpoolController

    if _Held.n_modules != len(sys.modules):
        _Held.n_modules, _Held.libraries = len(sys.modules), ThreadpoolController()
    return _Held.libraries


@contextmanager
def single_threaded() -> Iterator[None]:
    """Hold BLAS and OpenMP to one thread; the former limits come back when the last fit leaves.

    The limit of BLAS is the process's, so several threads hold it together; that of OpenMP is each
    thread's own.  Inside another one it costs nothing.

    >>> with single_threaded():
    ...     float(np.ones(3) @ np.ones(3))
    3.0
    """
    # scipy has a BLAS of its own, which can be held only once it is there
    import scipy.linalg  # noqa: F401

    if getattr(_thread, "holds", False):
        yield
        return
    with _Held.lock:
        if _Held.holders == 0:
            _Held.limits = _libraries().limit(limits=1, user_api="blas")
        _Held.holders += 1
        libraries = _libraries()
    try:
        with libraries.limit(limits=1, user_api="openmp"):
            _thread.holds = True
            yield
    finally:
        _thread.holds = False
        with _Held.lock:
            _Held.holders -= 1
            if _Held.holders == 0:
                _Held.limits.restore_original_limits()
                _Held.limits = None


def random_block(
    n_rows: int, n_columns: int, *, seed: int, stream: int = 0, dtype: Any = np.float64
) -> Numbers:
    """Standard normal numbers that depend on ``seed`` and ``stream`` alone.

    >>> bool(np.all(random_block(2, 3, seed=1) == random_block(2, 3, seed=1)))
    True
    >>> bool(np.any(random_block(2, 3, seed=1) == random_block(2, 3, seed=1, stream=1)))
    False
    """
    if seed < 0:
        raise SettingsError(f"seed is {seed}, but a seed is a non-negative integer")
    rng = np.random.default_rng([seed, stream])
    return rng.standard_normal((n_rows, n_columns), dtype=np.dtype(dtype).type)
