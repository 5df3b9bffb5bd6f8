"""One matrix as a linear map: a dense array, or a sparse matrix with a compiled product.

1. :func:`as_operator` wraps what it is given; integers become float64.
2. ``astype`` converts once, before the first product.
3. ``matmat`` (``A X``) and ``rmatmat`` (``A' X``) take and give dense blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike, NDArray

__all__ = ["DenseOperator", "Operator", "SparseOperator", "as_operator"]

# columns of a dense block per pass of the sparse kernel: 64 float32 are four cache lines
_BLOCK_COLUMNS = 64
# columns per tile: 8192 rows of 32 float32 fill the level-2 cache of a present-day core
_TILE_COLUMNS = 8192
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

    def gram(self, x: NDArray[Any]) -> NDArray[Any]:
        """``A A' x`` for a block ``x`` of shape (rows of A, any)."""
        return self.matmat(self.rmatmat(x))

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
        n_rows, n_columns = self.shape
        if n_rows < n_columns:  # the smaller identity
            return np.ascontiguousarray(self.rmatmat(np.eye(n_rows, dtype=self.dtype)).T)
        return self.matmat(np.eye(n_columns, dtype=self.dtype))

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
    """A scipy sparse matrix with its transpose, both in CSR: products gather and never scatter.

    Large products go through a compiled kernel over tiles of columns: in ``A A' x`` the tile's
    part of ``A' x`` is used while it is still in the cache and is never written out whole.
    The order of summation is fixed.
    """

    def __init__(self, matrix: Any, *, transpose: Any = None) -> None:
        self.matrix = matrix.tocsr()
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        self.dtype = np.dtype(matrix.dtype)
        # both cost a copy of the matrix: made when they are first used
        self._transpose = transpose
        self._tiles: list[_Tile] | None = None

    def _transposed(self) -> Any:
        if self._transpose is None:
            self._transpose = self.matrix.T.tocsr()
        return self._transpose

    def _column_tiles(self) -> list[_Tile]:
        if self._tiles is None:
            by_column = self._transposed()
            self._tiles = [
                _Tile.cut(by_column, first, min(first + _TILE_COLUMNS, self.shape[1]))
                for first in range(0, self.shape[1], _TILE_COLUMNS)
            ]
        return self._tiles

    def _compiled(self, x: NDArray[Any]) -> bool:
        return (
            self.matrix.nnz >= _KERNEL_NONZEROS
            and x.ndim == 2
            and x.shape[1] >= 4
            and self.dtype == x.dtype
            and self.dtype.char in "fd"
        )

    def matmat(self, x: NDArray[Any]) -> NDArray[Any]:
        """``A x``."""
        if not self._compiled(x):
            return cast("NDArray[Any]", self.matrix @ x)
        from eigentext.linalg.kernels import add_csr_times_block

        tiles = self._column_tiles()

        def product(narrow: NDArray[Any], y: NDArray[Any]) -> None:
            for tile in tiles:
                add_csr_times_block(*tile.by_row, narrow[tile.columns], y)

        return _in_column_blocks(product, x, self.shape[0])

    def rmatmat(self, x: NDArray[Any]) -> NDArray[Any]:
        """``A' x``, from the stored transpose."""
        transpose = self._transposed()
        if not self._compiled(x):
            return cast("NDArray[Any]", transpose @ x)
        from eigentext.linalg.kernels import add_csr_times_block

        arrays = _kernel_arrays(transpose)

        def product(narrow: NDArray[Any], y: NDArray[Any]) -> None:
            add_csr_times_block(*arrays, narrow, y)

        return _in_column_blocks(product, x, self.shape[1])

    def gram(self, x: NDArray[Any]) -> NDArray[Any]:
        """``A A' x``, tile by tile."""
        if not self._compiled(x):
            return self.matmat(self.rmatmat(x))
        from eigentext.linalg.kernels import add_csr_times_block

        tiles = self._column_tiles()

        def product(narrow: NDArray[Any], y: NDArray[Any]) -> None:
            for tile in tiles:
                part = np.zeros((tile.columns.stop - tile.columns.start, narrow.shape[1]), x.dtype)
                add_csr_times_block(*tile.by_column, narrow, part)
                add_csr_times_block(*tile.by_row, part, y)

        return _in_column_blocks(product, x, self.shape[0])

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
        support = np.zeros(self.shape[1], dtype=bool)
        support[self.matrix.indices] = True
        return support

    def is_finite(self) -> bool:
        """Whether all stored entries are finite."""
        return bool(np.isfinite(self.matrix.data).all())

    def to_dense(self) -> NDArray[Any]:
        """The matrix written out."""
        return cast("NDArray[Any]", self.matrix.toarray())

    @property
    def T(self) -> Operator:
        """The transposed map; shares storage."""
        return SparseOperator(self._transposed(), transpose=self.matrix)


_KernelArrays = tuple["NDArray[Any]", "NDArray[Any]", "NDArray[Any]"]


@dataclass(frozen=True)
class _Tile:
    """Some neighbouring columns: as CSR by row, and by column (a view of the transpose)."""

    columns: slice
    by_row: _KernelArrays
    by_column: _KernelArrays

    @classmethod
    def cut(cls, transpose: Any, first: int, last: int) -> _Tile:
        start, end = transpose.indptr[first], transpose.indptr[last]
        by_column = type(transpose)(
            (
                transpose.data[start:end],
                transpose.indices[start:end],
                transpose.indptr[first : last + 1] - start,
            ),
            shape=(last - first, transpose.shape[1]),
        )
        by_row = by_column.T.tocsr()
        return cls(slice(first, last), _kernel_arrays(by_row), _kernel_arrays(by_column))


def _kernel_arrays(matrix: Any) -> _KernelArrays:
    """Row pointers, unsigned column ids and values of a CSR matrix, as the kernel wants them."""
    indices = matrix.indices.astype(np.int32, copy=False).view(np.uint32)
    return matrix.indptr.astype(np.int64, copy=False), indices, matrix.data


def _in_column_blocks(
    add_product: Callable[[NDArray[Any], NDArray[Any]], None], x: NDArray[Any], n_rows: int
) -> NDArray[Any]:
    """Run a kernel over narrow blocks of x's columns and put the results side by side."""
    if x.shape[1] <= _BLOCK_COLUMNS:
        whole = np.zeros((n_rows, x.shape[1]), dtype=x.dtype)
        add_product(np.ascontiguousarray(x), whole)
        return whole
    result = np.empty((n_rows, x.shape[1]), dtype=x.dtype)
    for first in range(0, x.shape[1], _BLOCK_COLUMNS):
        columns = slice(first, min(first + _BLOCK_COLUMNS, x.shape[1]))
        narrow = np.ascontiguousarray(x[:, columns])
        part = np.zeros((n_rows, narrow.shape[1]), dtype=x.dtype)
        add_product(narrow, part)
        result[:, columns] = part
    return result


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
