"""The robust tensor power method: ``T = sum_i l_i v_i (x) v_i (x) v_i`` with orthonormal v_i.

After whitening, the third moment of many latent variable models is such a tensor (Anandkumar, Ge,
Hsu, Kakade and Telgarsky 2014).  Its v_i are the only stable fixed points of

    v <- T(I, v, v) / |T(I, v, v)|        T(I, v, w)[a] = sum over b, c of T[a, b, c] v[b] w[c]

1. :func:`tensor_power` finds one pair (l, v) at a time: many starts, all with some steps, the best
   with more; the pair with the largest ``l = T(v, v, v)`` is kept and taken off (deflation).
   Starts are eigenvectors of slices ``T(I, I, w)`` for fixed w: in the absence of noise each of
   them is one of the v_i already.
2. At the end each pair is found once more, in the tensor without all *other* pairs, so that errors
   of the first do not sum up in the last.
3. :class:`TensorPairs` tells what each pair left of the tensor, and what is left in the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.errors import RankError, SettingsError
from eigentext.linalg.determinism import random_block, single_threaded
from eigentext.linalg.tensors import contract_children, contract_right

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SLICES = 3  # matrices T(I, I, w) whose eigenvectors are starts
_FIRST_STEPS = 6  # of all starts
_FINALISTS = 4  # starts that go on from there
_SAME = 1e-9  # values nearer than this are one value: the first start is taken
_ZERO = 1e-12  # a tensor this small beside the first is rounding


@dataclass(frozen=True, eq=False)
class TensorPairs:
    """What the tensor was taken apart into, the largest value first.

    ``values``     (r,) l_i, all positive where T is such a sum
    ``vectors``    (d, r) v_i as columns, of length 1
    ``left``       (r,) Frobenius norm of what was left of T after each deflation, as a share of
                   that of T, in the order in which pairs were found
    ``residual``   the same in the end, without all pairs: 0 for a tensor that is such a sum
    """

    values: Floats
    vectors: Floats
    left: Floats
    residual: float


def symmetric_part(T: NDArray[Any]) -> Floats:
    """The mean of T over all six orders of its axes.

    >>> T = np.zeros((2, 2, 2))
    >>> T[0, 0, 1] = 3.0
    >>> symmetric_part(T).tolist()
    [[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]]
    """
    two = T + T.transpose(0, 2, 1)
    return np.asarray((two + two.transpose(1, 0, 2) + two.transpose(1, 2, 0)) / 6, np.float64)


def tensor_power(
    T: NDArray[Any], rank: int | None = None, *, n_iter: int = 60, sweeps: int = 2, seed: int = 0
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
                raise RankError("the third moment", asked=r, got=i)
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


def _starts(T: Floats, seed: int, stream: int) -> Floats:
    """(n, d) eigenvectors of some slices T(I, I, w)."""
    d = T.shape[0]
    slices = contract_right(T, random_block(_SLICES, d, seed=seed, stream=stream))
    turned = np.linalg.eigh((slices + slices.transpose(0, 2, 1)) / 2)[1]  # (slices, d, d)
    return np.asarray(turned.transpose(0, 2, 1).reshape(_SLICES * d, d))


def _climb(T: Floats, starts: Floats, n_iter: int) -> Floats:
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


def _step(T: Floats, v: Floats) -> Floats:
    """T(I, v, v) of each row, with length 1; a row that comes to nothing stays as it was."""
    moved = contract_children(T, v, v)
    size = np.linalg.norm(moved, axis=1, keepdims=True)
    return np.asarray(np.where(size > 0, moved / np.where(size > 0, size, 1.0), v))


def _values(T: Floats, v: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", contract_children(T, v, v), v))


def _value(T: Floats, v: Floats) -> float:
    return float(_values(T, v[None])[0])


def _rounded(values: Floats) -> Floats:
    """Without the digits that another processor may round differently."""
    return np.round(values / max(float(np.abs(values).max()), 1e-300), 9)


def _cube(value: float, v: Floats) -> Floats:
    return np.asarray(value * v[:, None, None] * v[None, :, None] * v[None, None, :])
