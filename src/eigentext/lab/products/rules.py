"""Rule tensors as sums of products (Cohen and Collins 2012), by the CP form of cp.py.

    tensor[h1, h2, h3] = sum over k of A[h1, k] B[h2, k] C[h3, k]          K products

Of probabilities A, B and C have no negative number, and A is scaled so that what the rule has in
each state of its parent stays what it was: the rules of a state still sum to one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigentext.constituency.low_rank import ERROR, WORTH, LowRank, each_shape
from eigentext.lab.products.cp import Products, cp_fit

if TYPE_CHECKING:
    import numpy.typing as npt

    from eigentext.base.types import Float32s, Float64s, Int64s


def in_products(
    tensor: npt.NDArray[np.floating],
    shape: Int64s,
    rank: int,
    *,
    signed: bool,
    error: float = ERROR,
    worth: float = WORTH,
) -> LowRank:
    """The tensors as sums of at most ``rank`` products; see the head of this file.

    ``signed``  whether the tensors are scores, which may be negative, or probabilities
    ``error``   fewer products are used where they leave out no more than this share of the norm
    ``worth``   a tensor stays whole where ``rank`` products have more than this share of its
                numbers; so it does not hang on how well they fit

    >>> shape = np.array([[4, 4, 4]])
    >>> ones = in_products(np.ones(64), shape, 2, signed=False)
    >>> ones.rank.tolist(), len(ones.values)
    ([[1, 0, 0]], 12)
    """
    return each_shape(
        tensor, shape, lambda stack, own: _fitted(stack, own, rank, signed, error, worth)
    )


def _fitted(
    stack: Float64s, shape: Int64s, most: int, signed: bool, error: float, worth: float
) -> tuple[Int64s, list[Float32s]]:
    """Ranks (N, 3) and numbers of tensors (N, numbers) of one shape, as sums of products."""
    rank = np.zeros((len(stack), 3), np.int64)
    parts = [numbers.astype(np.float32) for numbers in stack]
    if most * shape.sum() > worth * shape.prod():
        return rank, parts
    whole = stack.reshape(-1, *shape.tolist())
    left = np.arange(len(stack))
    for K in _ranks(most):
        found, apart = cp_fit(whole[left], K, signed=signed)
        done = (apart <= error) | (most == K)
        kept = found.of(np.flatnonzero(done))
        if not signed:
            kept = _with_shares(kept, whole[left[done]])
        for n, A, B, C in zip(left[done].tolist(), *_scaled(kept), strict=True):
            rank[n, 0] = K
            parts[n] = np.concatenate([X.T.ravel() for X in (A, B, C)]).astype(np.float32)
        left = left[~done]
        if not len(left):
            break
    return rank, parts


def _ranks(most: int) -> list[int]:
    """Ranks to try.

    >>> _ranks(6), _ranks(1)
    ([1, 2, 4, 6], [1])
    """
    return [*(2**i for i in range(most.bit_length()) if 2**i < most), most]


def _with_shares(found: Products, whole: Float64s) -> Products:
    """The same with sums over the children that are those of the tensors, for each parent state.

    A state that no product has gets all of them alike.
    """
    A, B, C = found
    weight = (B.sum(axis=1) * C.sum(axis=1))[:, None, :]  # (n, 1, K)
    right, own = whole.sum(axis=(2, 3)), (A * weight).sum(axis=2)
    none = (own <= 0) & (right > 0)
    A = np.where(none[:, :, None], 1.0, A)
    own = np.where(none, weight.sum(axis=2), own)
    return Products(A * (right / np.where(own > 0, own, 1.0))[:, :, None], B, C)


def _scaled(found: Products) -> Products:
    """The same with 1 as the largest number of each column of A and B."""
    A, B, C = found
    top_A, top_B = (np.abs(X).max(axis=1, keepdims=True) for X in (A, B))
    top_A, top_B = (np.where(top > 0, top, 1.0) for top in (top_A, top_B))
    return Products(A / top_A, B / top_B, C * (top_A * top_B))
