"""Rule tensors in low rank: small files, little memory, and fewer products for each rule.

Half of all rules were seen once, and their tensors are products of three vectors; those of others
are near to a few of them.  Tucker's form of the tensor of a rule is

    tensor[h1, h2, h3] = sum over k1, k2, k3 of core[k1, k2, k3] A[h1, k1] B[h2, k2] C[h3, k3]

with orthonormal columns in A, B and C: the leading eigenvectors of the tensor's unfoldings times
their transposes (De Lathauwer et al. 2000).  The ranks are the smallest that leave out no more
than a share ``ERROR`` of the tensor's norm.  A tensor for which that saves little stays as it is:
its ranks are 0.  Numbers have half precision, and each rule a factor of its own, so that rules of
any probability are rounded alike.

**Sums of products** have no core (``lab/products/rules.py`` finds them): the tensor of a rule is

    tensor[h1, h2, h3] = sum over k of A[h1, k] B[h2, k] C[h3, k]          K products

and is contracted with the vectors of its children in K (m1 + m2 + m3) steps instead of m1 m2 m3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eigentext.base.cores import each
from eigentext.base.ragged import pointers
from eigentext.base.types import Float32s, Float64s, Int64s
from eigentext.linalg.ties import single_threaded

ERROR = 0.05  # of the norm of each tensor
WORTH = 0.5  # of its numbers is the most that a tensor in low rank may have left
_BATCH = 64  # tensors of one shape that are taken apart at a time


class LowRank(NamedTuple):
    """Tensors of R rules, laid end to end."""

    # (R, 3) ranks of parent, left and right; 0, 0, 0: the tensor itself; K, 0, 0: the sum of K
    # products, which has no core
    rank: Int64s
    # (R + 1,) where the numbers of each rule begin in ``values``: A, B and C, a column after the
    # other, and the core, or the tensor
    ptr: Int64s
    values: npt.NDArray[np.float16] | Float32s
    factor: Float32s  # (R,) what the core, or the tensor, is to be multiplied with

    @property
    def has_products(self) -> bool:
        """Is any rule a sum of products?"""
        return bool(np.any((self.rank[:, 0] > 0) & (self.rank[:, 1] == 0)))


_NONE = np.empty(0, np.float32)
NOT_LOW = LowRank(np.empty((0, 3), np.int64), np.zeros(1, np.int64), _NONE, _NONE)


def n_numbers(shape: Int64s, rank: Int64s) -> Int64s:
    """(R,) how many numbers tensors of these shapes (R, 3) and ranks (R, 3) have.

    >>> n_numbers(np.array([[2, 3, 4]] * 3), np.array([[1, 1, 1], [0, 0, 0], [2, 0, 0]])).tolist()
    [10, 24, 18]
    """
    of_products = shape.sum(axis=1) * rank[:, 0]
    of_tucker = (shape * rank).sum(axis=1) + rank.prod(axis=1)
    low = np.where(rank[:, 1] > 0, of_tucker, of_products)
    numbers: Int64s = np.where(rank[:, 0] > 0, low, shape.prod(axis=1))
    return numbers


def low_rank(tensor: npt.NDArray[np.floating], shape: Int64s, error: float = ERROR) -> LowRank:
    """The tensors, laid end to end in ``tensor``, with these shapes (R, 3)."""
    # The cores in use share out the shapes.
    return each_shape(tensor, shape, lambda stack, shapes: _taken_apart(stack, shapes, error))


def each_shape(
    tensor: npt.NDArray[np.floating],
    shape: Int64s,
    take_apart: Callable[[Float64s, Int64s], tuple[Int64s, list[Float32s]]],
) -> LowRank:
    """Ranks and numbers of all tensors; ``take_apart`` has some of one shape at a time."""
    # What it scales goes last in the numbers of a tensor: the core, C of products, or all of them.
    at = pointers(shape.prod(axis=1))
    parts: list[npt.NDArray[np.float16]] = [np.empty(0, np.float16)] * len(shape)
    rank = np.zeros_like(shape)
    factor = np.ones(len(shape), np.float32)

    def work(rules: Int64s) -> None:
        stack = np.stack([tensor[at[r] : at[r + 1]] for r in rules.tolist()]).astype(float)
        rank[rules], stacks = take_apart(stack, shape[rules[0]])
        for r, part in zip(rules.tolist(), stacks, strict=True):
            before = shape[r, :2].sum() * rank[r, 0] if _is_sum(rank[r]) else shape[r] @ rank[r]
            core = part[int(before) :]
            top = float(np.abs(core).max(initial=0.0))
            if top > 0:
                factor[r] = top
                core /= factor[r]
            parts[r] = part.astype(np.float16)

    with single_threaded():
        each(work, _of_one_shape(shape))
    ptr = pointers(n_numbers(shape, rank))
    flat = np.concatenate(parts) if parts else np.empty(0, np.float16)
    return LowRank(rank, ptr, flat, factor)


def _is_sum(rank: Int64s) -> bool:
    """Are these the ranks of a sum of products?"""
    return bool(rank[0] > 0 and rank[1] == 0)


def _of_one_shape(shape: Int64s) -> Iterator[Int64s]:
    """Numbers of rules whose tensors have the same shape, some at a time."""
    _, group = np.unique(shape, axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    cuts = np.flatnonzero(np.diff(group.ravel()[order])) + 1
    for same in np.split(order, cuts):
        for first in range(0, len(same), _BATCH):
            if len(same):
                yield same[first : first + _BATCH]


def _taken_apart(stack: Float64s, shape: Int64s, error: float) -> tuple[Int64s, list[Float32s]]:
    """Ranks (N, 3) and numbers of tensors (N, numbers) of one shape."""
    x, y, z = shape.tolist()
    whole = stack.reshape(-1, x, y, z)
    allowed = error**2 / 3 * np.einsum("nx,nx->n", stack, stack)  # of each unfolding
    vectors, ranks = [], []
    for axis in (1, 2, 3):
        unfolded = np.moveaxis(whole, axis, 1).reshape(len(whole), shape[axis - 1], -1)
        squares, directions = np.linalg.eigh(unfolded @ unfolded.transpose(0, 2, 1))
        # eigenvalues rise: what the first so many sum to may be left out
        left_out = np.cumsum(np.maximum(squares, 0), axis=1) <= allowed[:, None]
        ranks.append(np.maximum(shape[axis - 1] - left_out.sum(axis=1), 1))
        vectors.append(directions[:, :, ::-1])
    rank = np.stack(ranks, axis=1)
    rank[n_numbers(np.broadcast_to(shape, rank.shape), rank) > WORTH * (x * y * z)] = 0
    parts = []
    for n, (tensor, (a, b, c)) in enumerate(zip(whole, rank.tolist(), strict=True)):
        if not a:
            parts.append(tensor.ravel().astype(np.float32))
            continue
        A, B, C = vectors[0][n][:, :a], vectors[1][n][:, :b], vectors[2][n][:, :c]
        # core[a, b, c] = sum over x, y, z of tensor[x, y, z] A[x, a] B[y, b] C[z, c]
        of_parent = (A.T @ tensor.reshape(x, -1)).reshape(a, y, z)
        core = B.T @ of_parent @ C
        flat = [part.ravel() for part in (A.T, B.T, C.T, core)]
        parts.append(np.concatenate(flat).astype(np.float32))
    return rank, parts


def expanded(parts: LowRank, shape: Int64s) -> Float32s:
    """All tensors laid end to end again.

    >>> shape = np.array([[4, 4, 4]])
    >>> ones = low_rank(np.ones(64), shape)
    >>> ones.rank.tolist(), len(ones.values)
    ([[1, 1, 1]], 13)
    >>> bool(np.allclose(expanded(ones, shape), 1, atol=0.01))
    True
    """
    at = pointers(shape.prod(axis=1))
    tensor = np.empty(int(at[-1]), np.float32)
    for r, (whole, rank) in enumerate(zip(shape.tolist(), parts.rank.tolist(), strict=True)):
        numbers = parts.values[parts.ptr[r] : parts.ptr[r + 1]].astype(np.float32)
        into = tensor[at[r] : at[r + 1]]
        if not rank[0]:
            into[:] = numbers * parts.factor[r]
            continue
        if _is_sum(parts.rank[r]):
            A, B, C = np.split(numbers, np.cumsum(whole[:2]) * rank[0])
            A, B, C = (X.reshape(rank[0], -1) for X in (A, B, C))
            pairs = (A[:, :, None] * B[:, None, :]).reshape(rank[0], -1)
            into[:] = (pairs.T @ C).ravel() * parts.factor[r]
            continue
        cuts = np.cumsum([m * k for m, k in zip(whole, rank, strict=True)])
        A, B, C, core = np.split(numbers, cuts)
        A, B, C = (X.reshape(k, m) for X, m, k in zip((A, B, C), whole, rank, strict=True))
        pair = np.einsum("abc,by,cz->ayz", core.reshape(rank), B, C, optimize=True)
        into[:] = (A.T @ pair.reshape(rank[0], -1)).ravel() * parts.factor[r]
    return tensor
