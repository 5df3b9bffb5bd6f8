"""Rule tensors as sums of products of three vectors (Cohen and Collins 2012): their CP form.

    T[h1, h2, h3]  ~  sum over k of A[h1, k] B[h2, k] C[h3, k]          K products

Alternating least squares: with two of the three matrices fixed, the third is a linear least
squares problem, whose normal equations have the (k, k) matrix (B'B) * (C'C).  Of a tensor without
negative numbers the factors have none either: there one column after the other is solved for, and
what would be negative is 0 (Cichocki and Phan 2009).  No step makes the error larger.

**Start.**  Nothing is drawn: the first product goes through the largest number of the tensor, and
has the three fibres there, the next one goes through the largest number of what is left, and so
on.  A tensor of rank 1 is found by that alone.

**Rules.**  Of probabilities A is scaled so that what the rule has in each state of its parent
stays what it was: the rules of a state still sum to one.

Stacks are of tensors of one shape, (n, x, y, z), and each is fitted by itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eigentext.base.types import Float32s, Float64s, Int64s
from eigentext.constituency.low_rank import ERROR, WORTH, LowRank, each_shape
from eigentext.linalg.ties import TIE

_RIDGE = 1e-13  # of the trace of (B'B) * (C'C): two products that are alike do no harm


class Products(NamedTuple):
    """A (n, x, k), B (n, y, k) and C (n, z, k)."""

    A: Float64s
    B: Float64s
    C: Float64s

    def whole(self) -> Float64s:
        """(n, x, y, z) the tensors that they are the form of."""
        pairs = _pairs(self.A, self.B)
        n, x, y, z = len(self.A), *(X.shape[1] for X in self)
        return (pairs @ self.C.transpose(0, 2, 1)).reshape(n, x, y, z)

    def of(self, kept: npt.NDArray[np.intp]) -> Products:
        """Those of some of the tensors."""
        return Products(self.A[kept], self.B[kept], self.C[kept])


def cp_fit(
    tensors: Float64s, rank: int, *, signed: bool, n_iter: int = 50, tol: float = 1e-4
) -> tuple[Products, Float64s]:
    """Products of this rank, and the error of each, a share of the tensor's norm.

    ``signed``  whether numbers of the factors may be negative
    ``tol``     a stack is done when no error of it falls by more in a step

    >>> ones = np.ones((1, 2, 3, 2))
    >>> found, error = cp_fit(ones, 1, signed=False)
    >>> bool(np.allclose(found.whole(), ones)), bool(error[0] < 1e-6)
    (True, True)
    """
    products = _start(tensors, rank, signed=signed)
    size = np.einsum("nxyz,nxyz->n", tensors, tensors)
    before = np.full(len(tensors), np.inf)
    error = _error(tensors, products, size)
    for _ in range(n_iter):
        if not np.any(before - error > tol):
            break
        before = error
        products, error = _round(tensors, products, size, signed=signed)
    return products, _error(tensors, products, size)


def _start(tensors: Float64s, rank: int, *, signed: bool) -> Products:
    """Products through the largest numbers, one after the other."""
    n, x, y, z = tensors.shape
    each = np.arange(n)
    left = tensors.copy()
    A, B, C = (np.zeros((n, m, rank)) for m in (x, y, z))
    for k in range(rank):
        size = np.abs(left).reshape(n, -1)
        top = size.max(axis=1, keepdims=True)
        # the first of the largest, to rounding: another processor takes the same
        cell = (size >= top * (1 - 10 * TIE["d"])).argmax(axis=1)
        at_x, at_y, at_z = np.unravel_index(cell, (x, y, z))
        of = left if signed else tensors  # of what is left, clipped fibres would be mostly 0
        by = np.where(top > 0, of[each, at_x, at_y, at_z][:, None], 1.0)
        share = left[each, at_x, at_y, at_z][:, None] / by
        a, b, c = of[each, :, at_y, at_z], of[each, at_x, :, at_z], of[each, at_x, at_y, :]
        a, b, c = a * share, b / by, c / by
        A[:, :, k], B[:, :, k], C[:, :, k] = a, b, c
        left -= np.einsum("nx,ny,nz->nxyz", a, b, c)
        if not signed:
            np.maximum(left, 0.0, out=left)
    return Products(A, B, C)


def _round(
    tensors: Float64s, products: Products, size: Float64s, *, signed: bool
) -> tuple[Products, Float64s]:
    """A, then B, then C anew; the error after that, as far as rounding lets it be seen."""
    A, B, C = products
    n, x, y, z = tensors.shape
    flat = tensors.reshape(n, x * y, z)
    with_C = (flat @ C).reshape(n, x, y, -1)  # sum over z, for A and for B
    A = _solved(A, np.einsum("nxyk,nyk->nxk", with_C, B), _gram(B) * _gram(C), signed=signed)
    B = _solved(B, np.einsum("nxyk,nxk->nyk", with_C, A), _gram(A) * _gram(C), signed=signed)
    A, B = _unit_columns(A), _unit_columns(B)
    target = flat.transpose(0, 2, 1) @ _pairs(A, B)
    G = _gram(A) * _gram(B)
    C = _solved(C, target, G, signed=signed)
    square = size - 2 * np.einsum("nzk,nzk->n", target, C) + np.einsum("nkl,nkl->n", G, _gram(C))
    relative = np.maximum(square, 0.0) / np.where(size > 0, size, 1.0)
    return Products(A, B, C), np.sqrt(relative)


def _solved(X: Float64s, target: Float64s, G: Float64s, *, signed: bool) -> Float64s:
    """The X for which X G is the target, or nearest to it among those without negative numbers."""
    k = G.shape[1]
    if signed:
        trace = np.einsum("nkk->n", G)
        ridge = _RIDGE * np.where(trace > 0, trace, 1.0)[:, None, None] * np.eye(k)
        return np.asarray(np.linalg.solve(G + ridge, target.transpose(0, 2, 1))).transpose(0, 2, 1)
    X = X.copy()
    for j in range(k):
        size = G[:, j, j]
        step = (target[:, :, j] - np.einsum("nxk,nk->nx", X, G[:, :, j])) / np.where(
            size > 0, size, 1.0
        )[:, None]
        X[:, :, j] = np.where(size[:, None] > 0, np.maximum(X[:, :, j] + step, 0.0), X[:, :, j])
    return X


def _error(tensors: Float64s, products: Products, size: Float64s) -> Float64s:
    apart = tensors - products.whole()
    square = np.einsum("nxyz,nxyz->n", apart, apart)
    return np.asarray(np.sqrt(square / np.where(size > 0, size, 1.0)))


def _gram(X: Float64s) -> Float64s:
    return X.transpose(0, 2, 1) @ X


def _pairs(A: Float64s, B: Float64s) -> Float64s:
    """(n, x y, k) the products of the columns of A and B."""
    pairs = A[:, :, None, :] * B[:, None, :, :]
    return pairs.reshape(len(A), -1, A.shape[2])


def _unit_columns(X: Float64s) -> Float64s:
    length = np.sqrt(np.einsum("nxk,nxk->nk", X, X))[:, None, :]
    return X / np.where(length > 0, length, 1.0)


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
        tensor, shape, lambda stack, sizes: _fitted(stack, sizes, rank, signed, error, worth)
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
        products, apart = cp_fit(whole[left], K, signed=signed)
        done = (apart <= error) | (most == K)
        kept = products.of(np.flatnonzero(done))
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


def _with_shares(products: Products, whole: Float64s) -> Products:
    """The same with sums over the children that are those of the tensors, for each parent state.

    A state that no product has gets all of them alike.
    """
    A, B, C = products
    weight = (B.sum(axis=1) * C.sum(axis=1))[:, None, :]  # (n, 1, K)
    right, shares = whole.sum(axis=(2, 3)), (A * weight).sum(axis=2)
    none = (shares <= 0) & (right > 0)
    A = np.where(none[:, :, None], 1.0, A)
    shares = np.where(none, weight.sum(axis=2), shares)
    return Products(A * (right / np.where(shares > 0, shares, 1.0))[:, :, None], B, C)


def _scaled(products: Products) -> Products:
    """The same with 1 as the largest number of each column of A and B."""
    A, B, C = products
    top_A, top_B = (np.abs(X).max(axis=1, keepdims=True) for X in (A, B))
    top_A, top_B = (np.where(top > 0, top, 1.0) for top in (top_A, top_B))
    return Products(A / top_A, B / top_B, C * (top_A * top_B))
