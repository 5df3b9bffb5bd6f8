"""Third-order tensors as sums of a few products of three vectors (CP form).

    T[x, y, z]  ~  sum over k of A[x, k] B[y, k] C[z, k]

Alternating least squares: with two of the three matrices fixed, the third is a linear least
squares problem, whose normal equations have the (k, k) matrix (B'B) * (C'C).  Of a tensor without
negative numbers the factors have none either: there one column after the other is solved for, and
what would be negative is 0 (Cichocki and Phan 2009).  No step makes the error larger.

**Start.**  Nothing is drawn: the first product goes through the largest number of the tensor, and
has the three fibres there, the next one goes through the largest number of what is left, and so
on.  A tensor of rank 1 is found by that alone.

All functions take a stack of tensors of one shape, (n, x, y, z), and fit each by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.linalg.ties import TIE

if TYPE_CHECKING:
    import numpy.typing as npt

    from eigentext.base.types import Float64s

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
    found = _start(tensors, rank, signed=signed)
    size = np.einsum("nxyz,nxyz->n", tensors, tensors)
    before = np.full(len(tensors), np.inf)
    error = _error(tensors, found, size)
    for _ in range(n_iter):
        if not np.any(before - error > tol):
            break
        before = error
        found, error = _round(tensors, found, size, signed=signed)
    return found, _error(tensors, found, size)


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
    tensors: Float64s, found: Products, size: Float64s, *, signed: bool
) -> tuple[Products, Float64s]:
    """A, then B, then C anew; the error after that, as far as rounding lets it be seen."""
    A, B, C = found
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
        own = G[:, j, j]
        step = (target[:, :, j] - np.einsum("nxk,nk->nx", X, G[:, :, j])) / np.where(
            own > 0, own, 1.0
        )[:, None]
        X[:, :, j] = np.where(own[:, None] > 0, np.maximum(X[:, :, j] + step, 0.0), X[:, :, j])
    return X


def _error(tensors: Float64s, found: Products, size: Float64s) -> Float64s:
    apart = tensors - found.whole()
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
