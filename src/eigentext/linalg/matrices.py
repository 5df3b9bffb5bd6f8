"""One matrix as a linear map: a dense array, or a sparse matrix with a compiled product.

1. :func:`as_operator` wraps what it is given; integers become float64.
2. ``astype`` converts once, before the first product.
3. ``matmat`` (``A X``) and ``rmatmat`` (``A' X``) take and give dense blocks.
"""

from __future__ import annotations

import itertools
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from eigentext.base.cores import each, row_blocks
from eigentext.base.engines import cluster_in_use
from eigentext.linalg.backend import CPU, backend_of

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from eigentext.base.types import AnyArray, Bools, Int64s, Numbers, Sparse, UInt32s
    from eigentext.linalg.backend import Backend, Products

    MatrixLike = AnyArray | Sparse  # or an operator: what :func:`as_operator` takes

# columns of a dense block per pass of the sparse kernel: 64 float32 are four cache lines
BLOCK_COLUMNS = 64
# columns per tile: 8192 rows of 32 float32 fill the level-2 cache of a present-day core, and those
# of some tiles the cache that cores share
_TILE_COLUMNS = 8192
_STRETCH_COLUMNS = 8 * _TILE_COLUMNS
# threads share a product in so many blocks of rows; a row costs as much as some nonzeros
_ROW_BLOCKS = 32
_ROW_WORK = 8
# below this many nonzeros scipy is quick enough and numba need not be loaded
_KERNEL_NONZEROS = 300_000


class Operator:
    """A linear map with a shape and a dtype; subclasses give ``matmat`` and ``rmatmat``."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def matmat(self, x: Numbers) -> Numbers:
        """``A x`` for a block ``x`` of shape (columns of A, any)."""
        raise NotImplementedError

    def rmatmat(self, x: Numbers) -> Numbers:
        """``A' x`` for a block ``x`` of shape (rows of A, any)."""
        raise NotImplementedError

    def gram(self, x: Numbers) -> Numbers:
        """``A A' x`` for a block ``x`` of shape (rows of A, any)."""
        return self.matmat(self.rmatmat(x))

    def cogram(self, x: NDArray[Any]) -> NDArray[Any]:
        """``A' A x`` for a block ``x`` of shape (columns of A, any)."""
        return self.rmatmat(self.matmat(x))

    def astype(self, dtype: DTypeLike) -> Operator:
        """The same map in another precision (itself when nothing changes)."""
        raise NotImplementedError

    def on(self, backend: Backend) -> Operator:
        """The same map for the arrays of a backend (itself for numpy's)."""
        raise NotImplementedError

    def row_support(self) -> Bools:
        """False where a row is known to be empty; True where it may hold something."""
        return np.ones(self.shape[0], dtype=bool)

    def column_support(self) -> Bools:
        """False where a column is known to be empty; True where it may hold something."""
        return np.ones(self.shape[1], dtype=bool)

    def is_finite(self) -> bool:
        """Whether all stored numbers are finite."""
        raise NotImplementedError

    def to_dense(self) -> Numbers:
        """The matrix written out; for small ones and for tests."""
        n_rows, n_columns = self.shape
        if n_rows < n_columns:  # the smaller identity
            return np.ascontiguousarray(self.rmatmat(np.eye(n_rows, dtype=self.dtype)).T)
        return self.matmat(np.eye(n_columns, dtype=self.dtype))

    @property
    def T(self) -> Operator:
        """The transposed map; shares all storage."""
        return _Transposed(self)

    def __matmul__(self, x: Numbers) -> Numbers:
        return self.matmat(x)


class _Transposed(Operator):
    def __init__(self, base: Operator) -> None:
        self.base = base
        self.shape = (base.shape[1], base.shape[0])
        self.dtype = base.dtype

    def matmat(self, x: Numbers) -> Numbers:
        return self.base.rmatmat(x)

    def rmatmat(self, x: Numbers) -> Numbers:
        return self.base.matmat(x)

    def gram(self, x: NDArray[Any]) -> NDArray[Any]:
        return self.base.cogram(x)

    def astype(self, dtype: DTypeLike) -> Operator:
        return _Transposed(self.base.astype(dtype))

    def on(self, backend: Backend) -> Operator:
        return _Transposed(self.base.on(backend))

    def row_support(self) -> Bools:
        return self.base.column_support()

    def column_support(self) -> Bools:
        return self.base.row_support()

    def is_finite(self) -> bool:
        return self.base.is_finite()

    @property
    def T(self) -> Operator:
        return self.base


class DenseOperator(Operator):
    """A dense array as an operator."""

    def __init__(self, array: Numbers) -> None:
        self.array = array
        self.shape = (array.shape[0], array.shape[1])
        self.dtype = array.dtype

    def matmat(self, x: Numbers) -> Numbers:
        return self.array @ x

    def rmatmat(self, x: Numbers) -> Numbers:
        return self.array.T @ x

    def astype(self, dtype: DTypeLike) -> Operator:
        return self if self.dtype == dtype else DenseOperator(self.array.astype(dtype))

    def on(self, backend: Backend) -> Operator:
        if backend is CPU:
            return self
        moved = copy(self)
        moved.array = backend.asarray(self.array)
        return moved

    def row_support(self) -> Bools:
        return np.asarray(self.array.any(axis=1))

    def column_support(self) -> Bools:
        return np.asarray(self.array.any(axis=0))

    def is_finite(self) -> bool:
        return bool(np.isfinite(self.array).all())


class SparseOperator(Operator):
    """A scipy sparse matrix with its transpose, both in CSR: products gather and never scatter.

    Large products go through a compiled kernel on threads: each makes some rows of the result,
    and adds up a row in the order of its columns, whoever makes it.
    """

    def __init__(self, matrix: Sparse, *, transpose: Sparse = None) -> None:
        self.matrix = matrix.tocsr()
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        self.dtype = np.dtype(matrix.dtype)
        # each costs a copy of the matrix: made when it is first used
        self._transpose = transpose
        self._by_row: Rows | None = None
        self._by_column: Rows | None = None

    def _transposed(self) -> Sparse:
        if self._transpose is None:
            self._transpose = self.matrix.T.tocsr()
        return self._transpose

    def _rows(self) -> Rows:
        if self._by_row is None:
            self._by_row = Rows.tiled(self.matrix, self._transposed(), column_tiles(self.matrix))
        return self._by_row

    def _columns(self) -> Rows:
        if self._by_column is None:
            self._by_column = Rows.of(self._transposed())
        return self._by_column

    def _compiled(self, x: Numbers) -> bool:
        return (
            self.matrix.nnz >= _KERNEL_NONZEROS
            and x.ndim == 2
            and x.shape[1] >= 4
            and self.dtype == x.dtype
            and self.dtype.char in "fd"
        )

    def matmat(self, x: Numbers) -> Numbers:
        if not self._compiled(x):
            return cast("Numbers", self.matrix @ x)
        return self._rows().times(x)

    def rmatmat(self, x: Numbers) -> Numbers:
        transpose = self._transposed()
        if not self._compiled(x):
            return cast("Numbers", transpose @ x)
        return self._columns().times(x)

    def gram(self, x: Numbers) -> Numbers:
        """``A A' x``: some columns' part of ``A' x`` is used while it is still in the cache."""
        if not self._compiled(x) or x.shape[1] > BLOCK_COLUMNS:
            return self.matmat(self.rmatmat(x))
        by_row, by_column = self._rows(), self._columns()
        x = _row_order(x)
        y = np.zeros_like(x)
        for stretch in by_row.stretches:
            by_row.add(stretch, by_column.some_rows(stretch.columns, x), y)
        return y

    def astype(self, dtype: DTypeLike) -> Operator:
        if self.dtype == dtype:
            return self
        transpose = None if self._transpose is None else self._transpose.astype(dtype)
        return SparseOperator(self.matrix.astype(dtype), transpose=transpose)

    def on(self, backend: Backend) -> Operator:
        return self if backend is CPU else _OnDevice(self, backend.sparse(self.matrix))

    def row_support(self) -> Bools:
        return np.asarray(np.diff(self.matrix.indptr) > 0)

    def column_support(self) -> Bools:
        support = np.zeros(self.shape[1], dtype=bool)
        support[self.matrix.indices] = True
        return support

    def is_finite(self) -> bool:
        return bool(np.isfinite(self.matrix.data).all())

    def to_dense(self) -> Numbers:
        return cast("Numbers", self.matrix.toarray())

    @property
    def T(self) -> Operator:
        return SparseOperator(self._transposed(), transpose=self.matrix)


class _OnDevice(Operator):
    """A sparse matrix that a backend multiplies."""

    def __init__(self, base: Operator, products: Products) -> None:
        self.shape, self.dtype = base.shape, base.dtype
        self.matmat, self.rmatmat = products  # type: ignore[assignment, method-assign]


class CardOperator(Operator):
    """A sparse matrix of CuPy: it never leaves the card unless it is asked for."""

    def __init__(self, matrix: Sparse, backend: Backend) -> None:
        self.matrix, self.backend = matrix.tocsr(), backend
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))
        self.dtype = np.dtype(matrix.dtype)
        self._moved: Operator | None = None

    def matmat(self, x: Numbers) -> Numbers:
        return self.on(self.backend).matmat(x)

    def rmatmat(self, x: Numbers) -> Numbers:
        return self.on(self.backend).rmatmat(x)

    def astype(self, dtype: DTypeLike) -> Operator:
        if self.dtype == dtype:
            return self
        return CardOperator(self.matrix.astype(dtype), self.backend)

    def on(self, backend: Backend) -> Operator:
        if backend is CPU:
            return SparseOperator(self.matrix.get())
        if self._moved is None:
            self._moved = _OnDevice(self, backend.sparse(self.matrix))
        return self._moved

    def row_support(self) -> Bools:
        return np.asarray(np.diff(self.backend.to_host(self.matrix.indptr)) > 0)

    def column_support(self) -> Bools:
        support = self.backend.zeros((self.shape[1],), np.bool_)
        support[self.matrix.indices] = True
        return self.backend.to_host(support)

    def is_finite(self) -> bool:
        data = self.matrix.data
        return bool((abs(data) < np.inf).all())  # NaN is not smaller either


@dataclass(frozen=True)
class _Stretch:
    """Neighbouring columns, and the tiles that hold them."""

    columns: slice
    tiles: slice


@dataclass(frozen=True)
class Rows:
    """A CSR matrix as the kernel wants it, and its rows in blocks of about the same work.

    Its columns are cut into tiles; ``starts[t, i]`` is where row i begins in tile t.  Some tiles
    make a stretch, whose part of a dense block the cores' common cache can hold; ``indices``
    count columns from the first of their stretch.
    """

    starts: Int64s
    indices: UInt32s
    values: Numbers
    stretches: list[_Stretch]
    blocks: list[slice]

    @classmethod
    def of(cls, matrix: Sparse) -> Rows:
        """One tile: shares the matrix's arrays."""
        starts = matrix.indptr.astype(np.int64, copy=False)
        indices = matrix.indices.astype(np.int32, copy=False).view(np.uint32)
        whole = _Stretch(slice(0, matrix.shape[1]), slice(0, 1))
        return cls(starts[None, :], indices, matrix.data, [whole], even_blocks(starts))

    @classmethod
    def tiled(cls, matrix: Sparse, transpose: Sparse, tiles: list[slice]) -> Rows:
        """A copy in which the entries of a tile of columns are neighbours."""
        n_rows = matrix.shape[0]
        if len(tiles) <= 1:
            return cls.of(matrix)
        stretches = _stretches(tiles)
        starts = np.empty((len(tiles), n_rows + 1), dtype=np.int64)
        indices = np.empty(matrix.nnz, dtype=np.uint32)
        values = np.empty(matrix.nnz, dtype=matrix.dtype)

        def fill(tile: int) -> None:
            first, last = tiles[tile].start, tiles[tile].stop
            start, end = int(transpose.indptr[first]), int(transpose.indptr[last])
            by_column = type(transpose)(
                (
                    transpose.data[start:end],
                    transpose.indices[start:end],
                    transpose.indptr[first : last + 1] - transpose.indptr[first],
                ),
                shape=(last - first, n_rows),
            )
            by_row = by_column.T.tocsr()  # the tile's entries, row after row
            starts[tile] = by_row.indptr
            starts[tile] += start
            indices[start:end] = by_row.indices
            stretch = next(s for s in stretches if s.tiles.start <= tile < s.tiles.stop)
            indices[start:end] += np.uint32(first - stretch.columns.start)
            values[start:end] = by_row.data

        each(fill, range(len(tiles)))
        return cls(starts, indices, values, stretches, even_blocks(matrix.indptr))

    def times(self, x: Numbers) -> Numbers:
        """The product with a dense block, 64 of its columns at a time."""
        n_rows = self.starts.shape[1] - 1
        result = np.zeros((n_rows, x.shape[1]), dtype=x.dtype)
        for columns in row_blocks(x.shape[1], BLOCK_COLUMNS):
            narrow = _row_order(x[:, columns])
            whole = narrow.shape[1] == x.shape[1]
            y = result if whole else np.zeros((n_rows, narrow.shape[1]), dtype=x.dtype)
            for stretch in self.stretches:
                self.add(stretch, narrow[stretch.columns], y)
            if not whole:
                CPU.put(result[:, columns], y)
        return result

    def add(self, stretch: _Stretch, x: Numbers, y: Numbers) -> None:
        """``y += A[:, stretch] x``."""
        from eigentext.linalg.kernels import add_csr_times_block

        starts = self.starts[stretch.tiles]

        def add(rows: slice) -> None:
            add_csr_times_block(starts, self.indices, self.values, x, rows.start, y[rows])

        each(add, self.blocks)

    def some_rows(self, rows: slice, x: Numbers) -> Numbers:
        """``A[rows] x`` of a matrix in one tile."""
        from eigentext.linalg.kernels import add_csr_times_block

        y = np.empty((rows.stop - rows.start, x.shape[1]), dtype=x.dtype)

        def fill(block: slice) -> None:
            part = y[block]
            part[:] = 0
            first = rows.start + block.start
            add_csr_times_block(self.starts, self.indices, self.values, x, first, part)

        each(fill, even_blocks(self.starts[0, rows.start : rows.stop + 1]))
        return y


def column_tiles(matrix: Sparse) -> list[slice]:
    """The columns in tiles: one is worth while that has some entries of each row."""
    n_rows, n_columns = matrix.shape
    most = max(int(matrix.nnz) // (4 * max(n_rows, 1)), 1)  # tiles: four entries a row in each
    return row_blocks(n_columns, int(max(_TILE_COLUMNS, -(-n_columns // most))))


def _stretches(tiles: list[slice]) -> list[_Stretch]:
    """Neighbouring tiles together, as long as they are not too wide."""
    firsts = [0]
    for number, tile in enumerate(tiles):
        if tile.stop - tiles[firsts[-1]].start > _STRETCH_COLUMNS and number > firsts[-1]:
            firsts.append(number)
    return [
        _Stretch(slice(tiles[first].start, tiles[last - 1].stop), slice(first, last))
        for first, last in itertools.pairwise([*firsts, len(tiles)])
    ]


def even_blocks(indptr: NDArray[np.integer[Any]], n_blocks: int = _ROW_BLOCKS) -> list[slice]:
    """Neighbouring rows of about the same work: frequent words have long rows.

    >>> even_blocks(np.array([0, 1000, 1001, 1002]))
    [slice(0, 1, None), slice(1, 3, None)]
    """
    work = indptr.astype(np.int64) + _ROW_WORK * np.arange(indptr.shape[0])  # nonzeros and rows
    goals = np.linspace(work[0], work[-1], n_blocks + 1)  # equal shares of the work
    edges = np.unique(np.searchsorted(work, goals))
    return [slice(int(first), int(end)) for first, end in itertools.pairwise(edges)]


def _row_order(x: Numbers) -> Numbers:
    """The block with each row in one piece; copied where it is not."""
    return x if x.flags.c_contiguous else np.asarray(CPU.row_order(x))


def as_operator(matrix: MatrixLike) -> Operator:
    """Wrap a sparse matrix (of scipy or CuPy) or a dense array; operators pass.

    Integers become float64.

    Inside :func:`~eigentext.base.engines.using_cluster` the workers keep large sparse matrices.

    >>> as_operator(np.ones((2, 3))).shape
    (2, 3)
    """
    if isinstance(matrix, Operator):
        return matrix
    if hasattr(matrix, "tocsr"):
        floating = np.issubdtype(matrix.dtype, np.floating)
        matrix = matrix if floating else matrix.astype(np.float64)
        card, cluster = backend_of(matrix), cluster_in_use()
        if card is not None:
            return CardOperator(matrix, card)
        if cluster is not None:
            from eigentext.linalg.sharded import ShardedOperator

            return ShardedOperator(matrix, cluster)
        return SparseOperator(matrix)
    array = np.asarray(matrix)
    if array.ndim != 2:
        raise ValueError(f"a matrix is meant, but the array has {array.ndim} axes")
    if not np.issubdtype(array.dtype, np.floating):
        array = array.astype(np.float64)
    return DenseOperator(array)
