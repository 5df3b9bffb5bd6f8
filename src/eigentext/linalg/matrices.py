"""One matrix as a linear map: a dense array, or a sparse matrix with a compiled product.

1. :func:`as_operator` wraps what it is given; integers become float64.
2. ``astype`` converts once, before the first product.
3. ``matmat`` (``A X``) and ``rmatmat`` (``A' X``) take and give dense blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["DenseOperator", "Operator", "SparseOperator", "as_operator"]

# columns of a dense block per pass of the sparse kernel: 64 float32 are four cache lines
_BLOCK_COLUMNS = 64
# below this many nonzeros scipy is quick enough and numba need not be loaded
_KERNEL_NONZEROS = 300_000


class Operator:
    """A linear map with a shape and a dtype; subclasses give ``matmat`` and ``rmatmat``."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def matmat(self, x: NDArray[Any]) -> NDArray[Any]:
        """``A x`` for a block ``x`` of shape (columns of A, any)."""
        raise NotImplementedError

    def rmatmat(self, x: NDArray[Any]) -> NDArray[Any]:
        """``A' x`` for a block ``x`` of shape (rows of A, any)."""
        raise NotImplementedError

    def astype(self, dtype: DTypeLike) -> Operator:
        """The same map in another precision (itself when nothing changes)."""
        raise NotImplementedError

    def row_support(self) -> NDArray[np.bool_]:
        """False where a row is known to be empty; True where it may hold something."""
        return np.ones(self.shape[0], dtype=bool)

    def column_support(self) -> NDArray[np.bool_]:
        """False where a column is known to be empty; True where it may hold something."""
        return np.ones(self.shape[1], dtype=bool)

    def is_finite(self) -> bool:
        """Whether all stored numbers are finite."""
        raise NotImplementedError

    def to_dense(self) -> NDArray[Any]:
        """The matrix written out; for small ones and for tests."""
        return self.matmat(np.eye(self.shape[1], dtype=self.dtype))

    @property
    def T(self) -> Operator:
        """The transposed map; shares all storage."""
        return _Transposed(self)

    def __matmul__(self, x: NDArray[Any]) -> NDArray[Any]:
        return self.matmat(x)


class _Transposed(Operator):
    def __init__(self, base: Operator) -> None:
        self.base = base
        self.shape = (base.shape[1], base.shape[0])
        self.dtype = base.dtype

    def matmat(self, x: NDArray[Any]) -> NDArray[Any]:
        return self.base.rmatmat(x)

    def rmatmat(self, x: NDArray[Any]) -> NDArray[Any]:
        return self.base.matmat(x)

    def astype(self, dtype: DTypeLike) -> Operator:
        return _Transposed(self.base.astype(dtype))

    def row_support(self) -> NDArray[np.bool_]:
        return self.base.column_support()

    def column_support(self) -> NDArray[np.bool_]:
        return self.base.row_support()

    def is_finite(self) -> bool:
        return self.base.is_finite()

    @property
    def T(self) -> Operator:
        return self.base


class DenseOperator(Operator):
    """A dense array as an operator."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.shape = (array.shape[0], array.shape[1])
        self.dtype = array.dtype

    def matmat(self, x: NDArray[Any]) -> NDArray[Any]:
        """``A x`` by one GEMM."""
        return cast("NDArray[Any]", self.array @ x)

    def rmatmat(self, x: NDArray[Any]) -> NDArray[Any]:
        """``A' x`` by one GEMM."""
        return cast("NDArray[Any]", self.array.T @ x)

    def astype(self, dtype: DTypeLike) -> Operator:
        """Converted, or itself."""
        return self if self.dtype == dtype else DenseOperator(self.array.astype(dtype))

    def row_support(self) -> NDArray[np.bool_]:
        """Rows with a nonzero entry."""
        return np.asarray(self.array.any(axis=1))

    def column_support(self) -> NDArray[np.bool_]:
        """Columns with a nonzero entry."""
        return np.asarray(self.array.any(axis=0))

    def is_finite(self) -> bool:
        """Whether all entries are finite."""
        return bool(np.isfinite(self.array).all())


class SparseOperator(Operator):
    """A scipy sparse matrix, kept in CSR together with its transpose in CSR.

    Both products then gather rows of the dense block and never scatter, which is faster and has
    one fixed order of summation.
    """

    def __init__(self, matrix: Any, *, transpose: Any = None) -> None:
        self.matrix = matrix.tocsr()
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        self.dtype = np.dtype(matrix.dtype)
        # the transpose costs a copy of the matrix: made when it is first used
        self._transpose = transpose

    def _transposed(self) -> Any:
        if self._transpose is None:
            self._transpose = self.matrix.T.tocsr()
        return self._transpose

    def matmat(self, x: NDArray[Any]) -> NDArray[Any]:
        """``A x``."""
        return _sparse_times_dense(self.matrix, x)

    def rmatmat(self, x: NDArray[Any]) -> NDArray[Any]:
        """``A' x``, from the stored transpose."""
        return _sparse_times_dense(self._transposed(), x)

    def astype(self, dtype: DTypeLike) -> Operator:
        """Converted, or itself."""
        if self.dtype == dtype:
            return self
        transpose = None if self._transpose is None else self._transpose.astype(dtype)
        return SparseOperator(self.matrix.astype(dtype), transpose=transpose)

    def row_support(self) -> NDArray[np.bool_]:
        """Rows with a stored entry."""
        return np.asarray(np.diff(self.matrix.indptr) > 0)

    def column_support(self) -> NDArray[np.bool_]:
        """Columns with a stored entry."""
        found = np.zeros(self.shape[1], dtype=bool)
        found[self.matrix.indices] = True
        return found

    def is_finite(self) -> bool:
        """Whether all stored entries are finite."""
        return bool(np.isfinite(self.matrix.data).all())

    def to_dense(self) -> NDArray[Any]:
        """The matrix written out."""
        return cast("NDArray[Any]", self.matrix.toarray())


def _sparse_times_dense(matrix: Any, x: NDArray[Any]) -> NDArray[Any]:
    """``matrix @ x``; large products in float32 or float64 go through the compiled kernel."""
    if (
        matrix.nnz < _KERNEL_NONZEROS
        or x.ndim != 2
        or x.shape[1] < 4
        or matrix.dtype != x.dtype
        or matrix.dtype.char not in "fd"
    ):
        return cast("NDArray[Any]", matrix @ x)
    from eigentext.linalg.kernels import csr_times_block

    indptr = matrix.indptr.astype(np.int64, copy=False)
    indices = matrix.indices.astype(np.int32, copy=False).view(np.uint32)
    product = np.empty((matrix.shape[0], x.shape[1]), dtype=x.dtype)
    for first in range(0, x.shape[1], _BLOCK_COLUMNS):
        columns = slice(first, min(first + _BLOCK_COLUMNS, x.shape[1]))
        narrow = np.ascontiguousarray(x[:, columns])
        if narrow.shape[1] == product.shape[1]:
            csr_times_block(indptr, indices, matrix.data, narrow, product)
        else:
            part = np.empty((matrix.shape[0], narrow.shape[1]), dtype=x.dtype)
            csr_times_block(indptr, indices, matrix.data, narrow, part)
            product[:, columns] = part
    return product


def as_operator(matrix: Any) -> Operator:
    """Wrap a scipy sparse matrix or a dense array; operators pass; integers become float64.

    >>> as_operator(np.ones((2, 3))).shape
    (2, 3)
    """
    if isinstance(matrix, Operator):
        return matrix
    if hasattr(matrix, "tocsr"):
        floating = np.issubdtype(matrix.dtype, np.floating)
        return SparseOperator(matrix if floating else matrix.astype(np.float64))
    array = np.asarray(matrix)
    if array.ndim != 2:
        raise ValueError(f"a matrix is meant, but the array has {array.ndim} axes")
    if not np.issubdtype(array.dtype, np.floating):
        array = array.astype(np.float64)
    return DenseOperator(array)
