"""Third-order tensors in the one axis order of this house: (parent, left, right).

``D[p, l, r]`` holds the rule or moment with ``p`` at the parent, ``l`` at the left child and ``r``
at the right child.  Vectors may come alone, shape (d,), or in batches, shape (n, d); the answer is
alike.  Every contraction is one GEMM over the flattened tensor and one short sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from eigentext.errors import DataError
from eigentext.linalg.determinism import single_threaded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

# rows of a block times the size of the pairs' table: about 64 MB of float64
_PAIR_CELLS = 8_000_000


def contract_children(D: NDArray[Any], left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Up the tree: ``y[p] = sum over l, r of D[p, l, r] left[l] right[r]``.

    >>> D = np.arange(8.0).reshape(2, 2, 2)
    >>> contract_children(D, np.array([1.0, 0.0]), np.array([0.0, 1.0])).tolist()
    [1.0, 5.0]
    """
    p, n_l, n_r = _checked(D)
    L, R, alone = _batch(left, right, n_l, n_r, "left", "right")
    # the columns of pairs run over (l, r) as the rows of the flattened D' do
    pairs = (L[:, :, None] * R[:, None, :]).reshape(L.shape[0], n_l * n_r)
    return _unbatch(pairs @ D.reshape(p, n_l * n_r).T, alone)


def contract_right(D: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """The matrix ``M[p, l] = sum over r of D[p, l, r] right[r]``; (n, p, l) for a batch.

    >>> contract_right(np.ones((1, 2, 3)), np.array([1.0, 2.0, 3.0])).tolist()
    [[6.0, 6.0]]
    """
    p, n_l, n_r = _checked(D)
    R, _, alone = _batch(right, right, n_r, n_r, "right", "right")
    return _unbatch((R @ D.reshape(p * n_l, n_r).T).reshape(R.shape[0], p, n_l), alone)


def change_basis(
    D: NDArray[Any], parent: NDArray[Any], left: NDArray[Any], right: NDArray[Any]
) -> NDArray[Any]:
    """``E[a, b, c] = sum over p, l, r of parent[a, p] left[b, l] right[c, r] D[p, l, r]``.

    >>> D = np.arange(8.0).reshape(2, 2, 2)
    >>> bool(np.all(change_basis(D, np.eye(2), np.eye(2), np.eye(2)) == D))
    True
    """
    shape = _checked(D)
    for matrix, size, name in zip((parent, left, right), shape, _AXES, strict=True):
        if matrix.ndim != 2 or matrix.shape[1] != size:
            raise ValueError(f"{name} matrix of shape {matrix.shape}: expected (any, {size})")
    p, n_l, n_r = shape
    # one axis at a time: O(p l r c), then O(p b l c), then O(a p b c)
    first = (D.reshape(p * n_l, n_r) @ right.T).reshape(p, n_l, -1)
    second = np.matmul(left, first)
    flat = second.reshape(p, -1)
    return cast("NDArray[Any]", (parent @ flat).reshape(parent.shape[0], *second.shape[1:]))


def third_moment(
    parent: Any, left: Any, right: Any, *, weights: NDArray[Any] | None = None
) -> NDArray[np.float64]:
    """``M[p, l, r] = sum over rows t of w_t parent[t, p] left[t, l] right[t, r]``, ``w_t = 1/n``.

    Three aligned matrices, dense or sparse, are walked in blocks of rows; the order of summation
    is fixed.  ``weights`` (n,) replaces ``1/n``.

    >>> third_moment(np.eye(2), np.eye(2), np.eye(2))[0, 0, 0].item()
    0.5
    """
    n = parent.shape[0]
    if left.shape[0] != n or right.shape[0] != n:
        rows = (n, left.shape[0], right.shape[0])
        raise ValueError(f"matrices with {rows} rows: one number is needed")
    if weights is not None and weights.shape != (n,):
        raise ValueError(f"weights of shape {weights.shape}: expected ({n},)")
    if n == 0:
        raise DataError("third moment", None, "found no rows: expected at least one")
    w = np.full(n, 1.0 / n) if weights is None else np.asarray(weights, dtype=np.float64)
    sparse_rows = [m.tocsr() if hasattr(m, "tocsr") else m for m in (parent, left, right)]
    block = max(1, _PAIR_CELLS // max(parent.shape[1] * left.shape[1], right.shape[1], 1))

    def blocks() -> Iterable[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
        for first in range(0, n, block):
            rows = slice(first, first + block)
            p, left_rows, r = (_dense(m[rows]) for m in sparse_rows)
            yield p, left_rows, r * w[rows, None]  # the weight goes into one of the three

    return third_moment_of_blocks(blocks())


def third_moment_of_blocks(
    blocks: Iterable[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]],
) -> NDArray[np.float64]:
    """The plain sum of outer products over a stream of aligned (parent, left, right) blocks.

    >>> stream = [(np.ones((3, 1)), np.ones((3, 2)), np.ones((3, 1)))] * 2
    >>> third_moment_of_blocks(stream).ravel().tolist()
    [6.0, 6.0]
    """
    total: NDArray[np.float64] | None = None
    with single_threaded():
        for parent, left, right in blocks:
            n, p, n_l, n_r = parent.shape[0], parent.shape[1], left.shape[1], right.shape[1]
            if total is None:
                total = np.zeros((p, n_l, n_r))
            # (p l, n) @ (n, r): time O(n p l r), memory n p l for the pairs
            pairs = (parent[:, :, None] * left[:, None, :]).reshape(n, p * n_l)
            total += (pairs.T @ right).reshape(p, n_l, n_r)
    if total is None:
        raise DataError("third moment", None, "found no blocks: expected at least one")
    return total


_AXES = ("parent", "left", "right")


def _dense(rows: Any) -> NDArray[np.float64]:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)


def _checked(D: NDArray[Any]) -> tuple[int, int, int]:
    if D.ndim != 3:
        raise ValueError(f"D has {D.ndim} axes: expected (parent, left, right)")
    return D.shape[0], D.shape[1], D.shape[2]


def _batch(
    a: NDArray[Any], b: NDArray[Any], n_a: int, n_b: int, name_a: str, name_b: str
) -> tuple[NDArray[Any], NDArray[Any], bool]:
    """Both as (n, d), and whether they came as single vectors."""
    if a.ndim != b.ndim or a.ndim not in (1, 2):
        raise ValueError(f"{name_a} has {a.ndim} axes and {name_b} {b.ndim}: expected 1 or 2 both")
    for vectors, size, name in ((a, n_a, name_a), (b, n_b, name_b)):
        if vectors.shape[-1] != size:
            raise ValueError(f"{name} vectors of length {vectors.shape[-1]}: D has {size}")
    if a.ndim == 1:
        return a[None], b[None], True
    if a.shape[0] != b.shape[0]:
        raise ValueError(f"{a.shape[0]} {name_a} vectors and {b.shape[0]} {name_b} vectors")
    return a, b, False


def _unbatch(result: NDArray[Any], alone: bool) -> NDArray[Any]:
    return cast("NDArray[Any]", result[0]) if alone else result
