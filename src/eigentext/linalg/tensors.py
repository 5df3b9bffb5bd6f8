"""Third-order tensors in the one axis order of this house: (parent, left, right).

``D[p, l, r]`` holds the rule or moment with ``p`` at the parent, ``l`` at the left child and ``r``
at the right child.  Vectors may come alone, shape (d,), or in batches, shape (n, d); the answer is
alike.  Every contraction is one GEMM over the flattened tensor and one short sum.

:func:`tensor_power` is the robust power method: ``T = sum_i l_i v_i (x) v_i (x) v_i`` with
orthonormal v_i.  After whitening, the third moment of many latent variable models is such a tensor
(Anandkumar, Ge, Hsu, Kakade and Telgarsky 2014).  Its v_i are the only stable fixed points of

    v <- T(I, v, v) / |T(I, v, v)|        T(I, v, w)[a] = sum over b, c of T[a, b, c] v[b] w[c]

1. One pair (l, v) is found at a time: many starts, all with some steps, the best with more; that
   with the largest ``l = T(v, v, v)`` is kept and taken off (deflation).  Starts are eigenvectors
   of slices ``T(I, I, w)``: in the absence of noise each of them is one of the v_i already.
2. At the end each pair is found once more, in the tensor without all *other* pairs, so that errors
   of the first do not sum up in the last.
3. :class:`TensorPairs` tells what each pair left of the tensor, and what is left in the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eigentext.errors import DataError, RankError, SettingsError
from eigentext.linalg.ties import random_block, single_threaded

if TYPE_CHECKING:
    from eigentext.base.types import Float64s, Numbers
    from eigentext.linalg.matrices import MatrixLike

# rows of a block times the size of the pairs' table: about 64 MB of float64
_PAIR_CELLS = 8_000_000


def contract_children(D: Numbers, left: Numbers, right: Numbers) -> Numbers:
    """Up the tree: ``y[p] = sum over l, r of D[p, l, r] left[l] right[r]``.

    >>> D = np.arange(8.0).reshape(2, 2, 2)
    >>> contract_children(D, np.array([1.0, 0.0]), np.array([0.0, 1.0])).tolist()
    [1.0, 5.0]
    """
    # the columns of pairs run over (l, r) as the rows of the flattened D' do
    pairs = (left[..., :, None] * right[..., None, :]).reshape(*left.shape[:-1], -1)
    return np.asarray(pairs @ D.reshape(len(D), -1).T)


def contract_right(D: Numbers, right: Numbers) -> Numbers:
    """The matrix ``M[p, l] = sum over r of D[p, l, r] right[r]``; (n, p, l) for a batch.

    >>> contract_right(np.ones((1, 2, 3)), np.array([1.0, 2.0, 3.0])).tolist()
    [[6.0, 6.0]]
    """
    p, n_l, n_r = D.shape
    return np.asarray((right @ D.reshape(-1, n_r).T).reshape(*right.shape[:-1], p, n_l))


def change_basis(D: Numbers, parent: Numbers, left: Numbers, right: Numbers) -> Numbers:
    """``E[a, b, c] = sum over p, l, r of parent[a, p] left[b, l] right[c, r] D[p, l, r]``.

    >>> D = np.arange(8.0).reshape(2, 2, 2)
    >>> bool(np.all(change_basis(D, np.eye(2), np.eye(2), np.eye(2)) == D))
    True
    """
    p, n_l, n_r = D.shape
    # one axis at a time: O(p l r c), then O(p b l c), then O(a p b c)
    first = (D.reshape(p * n_l, n_r) @ right.T).reshape(p, n_l, -1)
    second = np.matmul(left, first)
    return np.asarray((parent @ second.reshape(p, -1)).reshape(-1, *second.shape[1:]))


def third_moment(
    parent: MatrixLike, left: MatrixLike, right: MatrixLike, weights: Numbers
) -> Float64s:
    """``M[p, l, r] = sum over rows t of w_t parent[t, p] left[t, l] right[t, r]``.

    Three aligned matrices, dense or sparse, are walked in blocks of rows; the order of summation
    is fixed.

    >>> third_moment(np.eye(2), np.eye(2), np.eye(2), np.full(2, 0.5))[0, 0, 0].item()
    0.5
    """
    (n, p), n_l, n_r = parent.shape, left.shape[1], right.shape[1]
    if not left.shape[0] == right.shape[0] == len(weights) == n:
        rows = (n, left.shape[0], right.shape[0], len(weights))
        raise ValueError(f"matrices and weights with {rows} rows: one number is needed")
    if n == 0:
        raise DataError("third moment", None, "found no rows: expected at least one")
    matrices = [m.tocsr() if hasattr(m, "tocsr") else m for m in (parent, left, right)]
    block = max(1, _PAIR_CELLS // max(p * n_l, n_r, 1))
    total = np.zeros((p, n_l, n_r))
    with single_threaded():
        for first in range(0, n, block):
            P, L, R = (_dense(m[first : first + block]) for m in matrices)
            R = R * weights[first : first + block, None]  # the weight goes into one of the three
            # (p l, n) @ (n, r): time O(n p l r), memory n p l for the pairs
            pairs = (P[:, :, None] * L[:, None, :]).reshape(len(P), p * n_l)
            total += (pairs.T @ R).reshape(p, n_l, n_r)
    return total


def _dense(rows: MatrixLike) -> Float64s:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)


_SLICES = 3  # matrices T(I, I, w) whose eigenvectors are starts
_FIRST_STEPS = 6  # of all starts
_FINALISTS = 4  # starts that go on from there
_SAME = 1e-9  # values nearer than this are one value: the first start is taken
_ZERO = 1e-12  # a tensor this small beside the first is rounding


@dataclass(frozen=True, eq=False)
class TensorPairs:
    """What the tensor was taken apart into, the largest value first."""

    values: Float64s  # (r,) l_i, all positive where T is such a sum
    vectors: Float64s  # (d, r) v_i as columns, of length 1
    # (r,) Frobenius norm of what was left of T after each deflation, as a share of that of T, in
    # the order in which pairs were found
    left: Float64s
    residual: float  # the same in the end, without all pairs: 0 for a tensor that is such a sum


def symmetric_part(T: Numbers) -> Float64s:
    """The mean of T over all six orders of its axes.

    >>> T = np.zeros((2, 2, 2))
    >>> T[0, 0, 1] = 3.0
    >>> symmetric_part(T).tolist()
    [[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]]
    """
    two = T + T.transpose(0, 2, 1)
    return np.asarray((two + two.transpose(1, 0, 2) + two.transpose(1, 2, 0)) / 6, np.float64)


def tensor_power(
    T: Numbers, rank: int | None = None, *, n_iter: int = 60, sweeps: int = 2, seed: int = 0
) -> TensorPairs:
    """The pairs of a symmetric (d, d, d) tensor; ``rank`` of them, or d.

    ``n_iter``  most steps of a start that reached the finals
    ``sweeps``  how often each pair is found again in the tensor without the others

    A tensor with nothing left before ``rank`` pairs were found is a RankError.

    >>> V = np.array([[0.6, 0.8], [-0.8, 0.6]])
    >>> T = np.einsum("i,ai,bi,ci->abc", [3.0, 2.0], V, V, V)
    >>> pairs = tensor_power(T)
    >>> pairs.values.round(9).tolist(), pairs.vectors.round(9).tolist()
    ([3.0, 2.0], [[0.6, 0.8], [-0.8, 0.6]])
    """
    d = T.shape[0]
    if T.shape != (d, d, d):
        raise ValueError(f"a tensor of shape {T.shape}: expected three equal axes")
    r = d if rank is None else rank
    if not 1 <= r <= d:
        raise SettingsError(f"rank {r}: expected 1 to {d}, the size of the tensor")
    with single_threaded():
        rest = symmetric_part(T)
        whole = float(np.linalg.norm(rest))
        values, vectors, left = np.zeros(r), np.zeros((d, r)), np.zeros(r)
        for i in range(r):
            if not np.linalg.norm(rest) > _ZERO * whole:
                raise RankError("the third moment", rank=r, got=i)
            v = _climb(rest, _starts(rest, seed, i), n_iter)
            values[i], vectors[:, i] = _value(rest, v), v
            rest -= _cube(values[i], v)
            left[i] = np.linalg.norm(rest) / whole
        for _ in range(sweeps):
            for i in range(r):
                rest += _cube(values[i], vectors[:, i])
                v = _climb(rest, vectors[:, i][None], n_iter)
                values[i], vectors[:, i] = _value(rest, v), v
                rest -= _cube(values[i], v)
        order = np.argsort(-values, kind="stable")
        residual = float(np.linalg.norm(rest)) / whole
    return TensorPairs(values[order], vectors[:, order], left, residual)


def _starts(T: Float64s, seed: int, stream: int) -> Float64s:
    """(n, d) eigenvectors of some slices T(I, I, w)."""
    d = T.shape[0]
    slices = contract_right(T, random_block(_SLICES, d, seed=seed, stream=stream))
    turned = np.linalg.eigh((slices + slices.transpose(0, 2, 1)) / 2)[1]  # (slices, d, d)
    return np.asarray(turned.transpose(0, 2, 1).reshape(_SLICES * d, d))


def _climb(T: Float64s, starts: Float64s, n_iter: int) -> Float64s:
    """(d,) the fixed point with the largest value that these starts lead to."""
    v = starts
    for _ in range(_FIRST_STEPS):
        v = _step(T, v)
    v = v[np.argsort(-_rounded(_values(T, v)), kind="stable")[:_FINALISTS]]
    for _ in range(n_iter):
        before, v = v, _step(T, v)
        if np.abs(v - before).max() < 1e-14:
            break
    reached = _values(T, v)
    return np.asarray(v[int(np.argmax(reached >= reached.max() * (1 - _SAME)))])


def _step(T: Float64s, v: Float64s) -> Float64s:
    """T(I, v, v) of each row, with length 1; a row that comes to nothing stays as it was."""
    moved = contract_children(T, v, v)
    size = np.linalg.norm(moved, axis=1, keepdims=True)
    return np.asarray(np.where(size > 0, moved / np.where(size > 0, size, 1.0), v))


def _values(T: Float64s, v: Float64s) -> Float64s:
    return np.asarray(np.einsum("ij,ij->i", contract_children(T, v, v), v))


def _value(T: Float64s, v: Float64s) -> float:
    return float(_values(T, v[None])[0])


def _rounded(values: Float64s) -> Float64s:
    """Without the digits that another processor may round differently."""
    return np.round(values / max(float(np.abs(values).max()), 1e-300), 9)


def _cube(value: float, v: Float64s) -> Float64s:
    return np.asarray(value * v[:, None, None] * v[None, :, None] * v[None, None, :])
