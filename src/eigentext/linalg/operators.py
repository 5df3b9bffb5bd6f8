"""Matrices that are never written out: all that an SVD needs is ``A X`` and ``A' X``.

``astype`` converts the whole tree of parts once, before the first product.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from eigentext.linalg.backend import CPU
from eigentext.linalg.matrices import Operator, as_operator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from eigentext.base.types import AnyArray, Bools, Numbers
    from eigentext.linalg.backend import Backend
    from eigentext.linalg.matrices import MatrixLike


class Product(Operator):
    """``left @ right`` without forming it, such as ``Phi' Psi`` of two feature matrices.

    >>> import scipy.sparse as sp
    >>> Phi, Psi = sp.eye(3, format="csr"), sp.csr_matrix([[1.0], [2.0], [3.0]])
    >>> Product(Phi.T, Psi).matmat(np.ones((1, 1))).ravel().tolist()
    [1.0, 2.0, 3.0]
    """

    def __init__(self, left: MatrixLike, right: MatrixLike) -> None:
        self.left, self.right = as_operator(left), as_operator(right)
        if self.left.shape[1] != self.right.shape[0]:
            raise ValueError(
                f"a product of shapes {self.left.shape} and {self.right.shape}: "
                "the inner sizes must be equal"
            )
        self.shape = (self.left.shape[0], self.right.shape[1])
        self.dtype = np.result_type(self.left.dtype, self.right.dtype)

    def matmat(self, x: AnyArray) -> AnyArray:
        # from the right, so that only thin blocks are made: the product may be far denser
        return self.left.matmat(self.right.matmat(x))

    def rmatmat(self, x: AnyArray) -> AnyArray:
        return self.right.rmatmat(self.left.rmatmat(x))

    def astype(self, dtype: DTypeLike) -> Operator:
        return Product(self.left.astype(dtype), self.right.astype(dtype))

    def on(self, backend: Backend) -> Operator:
        return Product(self.left.on(backend), self.right.on(backend))

    def row_support(self) -> Bools:
        return self.left.row_support()

    def column_support(self) -> Bools:
        return self.right.column_support()

    def is_finite(self) -> bool:
        return self.left.is_finite() and self.right.is_finite()


class Scaled(Operator):
    """``diag(rows) A diag(columns)``; either diagonal may be left out.

    >>> Scaled(np.ones((2, 2)), rows=np.array([1.0, 2.0])).to_dense().tolist()
    [[1.0, 1.0], [2.0, 2.0]]
    """

    def __init__(
        self, base: MatrixLike, *, rows: Numbers | None = None, columns: Numbers | None = None
    ) -> None:
        self.base = as_operator(base)
        self.shape, self.dtype = self.base.shape, self.base.dtype
        for diagonal, size, side in (
            (rows, self.shape[0], "row"),
            (columns, self.shape[1], "column"),
        ):
            if diagonal is not None and diagonal.shape != (size,):
                raise ValueError(f"{side} scales of shape {diagonal.shape}: expected ({size},)")
        # kept as columns, to be multiplied into blocks of vectors
        self.rows = None if rows is None else rows.astype(self.dtype)[:, None]
        self.columns = None if columns is None else columns.astype(self.dtype)[:, None]

    def matmat(self, x: AnyArray) -> AnyArray:
        y = self.base.matmat(x if self.columns is None else self.columns * x)
        return y if self.rows is None else self.rows * y

    def rmatmat(self, x: AnyArray) -> AnyArray:
        y = self.base.rmatmat(x if self.rows is None else self.rows * x)
        return y if self.columns is None else self.columns * y

    def astype(self, dtype: DTypeLike) -> Operator:
        rows = None if self.rows is None else self.rows[:, 0]
        columns = None if self.columns is None else self.columns[:, 0]
        return Scaled(self.base.astype(dtype), rows=rows, columns=columns)

    def on(self, backend: Backend) -> Operator:
        moved = copy(self)
        moved.base = self.base.on(backend)
        moved.rows = None if self.rows is None else backend.asarray(self.rows)
        moved.columns = None if self.columns is None else backend.asarray(self.columns)
        return moved

    def row_support(self) -> Bools:
        support = self.base.row_support()
        return support if self.rows is None else support & (self.rows[:, 0] != 0)

    def column_support(self) -> Bools:
        support = self.base.column_support()
        return support if self.columns is None else support & (self.columns[:, 0] != 0)

    def is_finite(self) -> bool:
        diagonals = [d for d in (self.rows, self.columns) if d is not None]
        return self.base.is_finite() and all(bool(np.isfinite(d).all()) for d in diagonals)


class HStack(Operator):
    """``[A_1 A_2 ...]``, the parts side by side.

    >>> HStack([np.ones((1, 2)), np.zeros((1, 1))]).to_dense().tolist()
    [[1.0, 1.0, 0.0]]
    """

    def __init__(self, parts: Sequence[MatrixLike]) -> None:
        self.parts = [as_operator(part) for part in parts]
        if len({part.shape[0] for part in self.parts}) != 1:
            raise ValueError(
                f"parts with {[p.shape[0] for p in self.parts]} rows: need one number"
            )
        widths = [part.shape[1] for part in self.parts]
        self.shape = (self.parts[0].shape[0], sum(widths))
        self.dtype = np.result_type(*(part.dtype for part in self.parts))
        self.ends = np.cumsum(widths)
        self.backend: Backend = CPU

    def matmat(self, x: AnyArray) -> AnyArray:
        starts = [0, *self.ends[:-1].tolist()]
        total = None
        for part, start, end in zip(self.parts, starts, self.ends.tolist(), strict=True):
            product = part.matmat(x[start:end])  # [A B] (x; y) = A x + B y
            total = product if total is None else total + product
        return total

    def rmatmat(self, x: AnyArray) -> AnyArray:
        return self.backend.concatenate([part.rmatmat(x) for part in self.parts])

    def astype(self, dtype: DTypeLike) -> Operator:
        return HStack([part.astype(dtype) for part in self.parts])

    def on(self, backend: Backend) -> Operator:
        moved = HStack([part.on(backend) for part in self.parts])
        moved.backend = backend
        return moved

    def row_support(self) -> Bools:
        return np.asarray(np.any([part.row_support() for part in self.parts], axis=0))

    def column_support(self) -> Bools:
        return np.concatenate([part.column_support() for part in self.parts])

    def is_finite(self) -> bool:
        return all(part.is_finite() for part in self.parts)
