"""A sparse matrix that need not fit into memory, as a linear map: tiles of rows, one at a time.

Tiles are kept in both orders (by row and by column, so that products gather and never scatter).
``A x`` puts the parts of the tiles one below the other, ``A' x`` adds them up in their order, and
``A' A x`` does both in one reading.  Rows within a tile are independent, and threads share them;
the cuts hang on the matrix alone, so that neither the number of threads nor the room changes a
digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from eigentext.base.cores import each, row_blocks
from eigentext.base.engines import Engine
from eigentext.base.types import Bools, Float32s, Int64s, Numbers, Sparse, UInt32s
from eigentext.counting.spill import ArrayStore
from eigentext.linalg.backend import CPU, Backend
from eigentext.linalg.matrices import Operator, SparseOperator
from eigentext.linalg.sharded import ShardedOperator

_BLOCK_COLUMNS = 64  # of a dense block per pass of the kernel, as in linalg.matrices
_PARTS = 16  # of a tile, for threads


class TileStore:
    """The tiles of a float32 matrix with ``cuts[-1]`` rows; tile t is ``cuts[t]`` to the next."""

    def __init__(self, folder: Path, room: int, cuts: list[int], n_columns: int) -> None:
        self.cuts = cuts
        self.n_columns = n_columns
        self._arrays = ArrayStore(folder, room)
        self.row_support = np.zeros(cuts[-1], dtype=bool)
        self._columns: list[Bools | None] = [None] * (len(cuts) - 1)
        self._buffer = np.empty(0, dtype=np.uint8)

    def put(self, number: int, rows: Sparse) -> None:
        """Take the rows of a tile: CSR, sorted columns, finite values."""
        columns = rows.T.tocsr()
        arrays = []
        for matrix in (rows, columns):
            ids = matrix.indices.astype(np.int32, copy=False).view(np.uint32)
            starts = matrix.indptr.astype(np.int64, copy=False)
            arrays += [starts, ids, matrix.data.astype(np.float32, copy=False)]
        self._arrays.add(number, arrays)  # by row, then by column
        self.row_support[self.cuts[number] : self.cuts[number + 1]] = np.diff(rows.indptr) > 0
        self._columns[number] = np.diff(columns.indptr) > 0

    def column_support(self) -> Bools:
        """Columns with an entry."""
        support = np.zeros(self.n_columns, dtype=bool)
        for columns in self._columns:
            if columns is not None:
                support |= columns
        return support

    def tiles(self, *, keep: bool = False) -> Iterator[tuple[slice, _Rows, _Rows]]:
        """Each tile: which rows it has, and its entries by row and by column.

        Unless they are kept, those from disk are all read into the same memory.
        """
        if len(self._buffer) < self._arrays.largest_away and not keep:
            self._buffer = np.empty(self._arrays.largest_away, dtype=np.uint8)
        for number in range(len(self.cuts) - 1):
            arrays = self._arrays.get(number, None if keep else self._buffer)
            rows = slice(self.cuts[number], self.cuts[number + 1])
            yield rows, _Rows(*arrays[:3]), _Rows(*arrays[3:])


class _Rows:
    """CSR rows, cut into parts of about the same number of entries."""

    def __init__(self, starts: Int64s, ids: UInt32s, values: Float32s) -> None:
        self.starts, self.ids, self.values = starts, ids, values
        aims = np.arange(1, _PARTS) * (int(starts[-1]) // _PARTS)
        cuts = [0, *np.searchsorted(starts, aims).tolist(), len(starts) - 1]
        self.parts = [(a, b) for a, b in pairwise(cuts) if a < b]

    def add_times(self, x: Float32s, y: Float32s) -> None:
        """``y += rows x``."""
        from eigentext.linalg.kernels import add_csr_times_block

        def add(part: tuple[int, int]) -> None:
            begin, end = part
            add_csr_times_block(self.starts[None], self.ids, self.values, x, begin, y[begin:end])

        each(add, self.parts)


class TiledOperator(Operator):
    """The matrix of a :class:`TileStore`, in float32."""

    def __init__(self, store: TileStore) -> None:
        self.store = store
        self.shape = (store.cuts[-1], store.n_columns)
        self.dtype = np.dtype(np.float32)

    def matmat(self, x: Numbers) -> Numbers:
        """``A x``."""

        def product(block: Numbers) -> Numbers:
            y = np.zeros((self.shape[0], block.shape[1]), dtype=np.float32)  # A x
            for rows, by_row, _ in self.store.tiles():
                by_row.add_times(block, y[rows])
            return y

        return _by_columns(x, self.shape[0], product)

    def rmatmat(self, x: Numbers) -> Numbers:
        """``A' x``."""
        return self._summed(x, self.shape[1], lambda rows, _, block: block[rows])

    def cogram(self, x: Numbers) -> Numbers:
        """``A' A x``, in one reading of the tiles."""

        def part(rows: slice, by_row: _Rows, block: Numbers) -> Numbers:
            product = np.zeros((rows.stop - rows.start, block.shape[1]), dtype=np.float32)
            by_row.add_times(block, product)
            return product

        return self._summed(x, self.shape[1], part)

    def _summed(self, x: Numbers, n_rows: int, part: Callable[..., Numbers]) -> Numbers:
        """The sum of ``A_t' part(x)`` over the tiles A_t."""

        def product(block: Numbers) -> Numbers:
            total = np.zeros((n_rows, block.shape[1]), dtype=np.float32)  # sum over tiles
            for rows, by_row, by_column in self.store.tiles():
                by_column.add_times(part(rows, by_row, block), total)
            return total

        return _by_columns(x, n_rows, product)

    def whole(self) -> Sparse:
        """The matrix in one piece, in memory: CSR."""
        from scipy.sparse import csr_array, vstack

        shape = self.store.n_columns
        parts = [
            csr_array(
                (part.values, part.ids.view(np.int32), part.starts),
                shape=(rows.stop - rows.start, shape),
            )
            for rows, part, _ in self.store.tiles(keep=True)
        ]
        return vstack(parts, format="csr")

    def on_cluster(self, cluster: Engine) -> ShardedOperator:
        """The same map, kept by the workers of a cluster; the products have the same bits.

        A row of A is added up in one go, and one of A' tile by tile.
        """
        tiles = [slice(first, last) for first, last in pairwise(self.store.cuts)]
        return ShardedOperator(self.whole(), cluster, tiles=([], tiles))

    def on(self, backend: Backend) -> Operator:
        """For another device, the matrix in one piece there."""
        return self if backend is CPU else SparseOperator(self.whole()).on(backend)

    def astype(self, dtype: npt.DTypeLike) -> Operator:
        """Itself: tiles are float32."""
        if np.dtype(dtype) != self.dtype:
            raise ValueError(f"tiles are float32, and have no {np.dtype(dtype)}")
        return self

    def row_support(self) -> Bools:
        """Rows with an entry."""
        return self.store.row_support

    def column_support(self) -> Bools:
        """Columns with an entry."""
        return self.store.column_support()

    def is_finite(self) -> bool:
        """True: that was asked of what was put in."""
        return True


def _by_columns(x: Numbers, n_rows: int, product: Callable[[Numbers], Numbers]) -> Numbers:
    """A product with some columns of a block after the other, as the kernel wants them.

    Tiles on disk are read for each of these; all columns at once would take the memory of the
    block and of the product twice.
    """
    parts = row_blocks(x.shape[1], _BLOCK_COLUMNS)
    if len(parts) == 1:
        return product(np.ascontiguousarray(x, dtype=np.float32))
    y = np.empty((n_rows, x.shape[1]), dtype=np.float32)
    for columns in parts:
        CPU.put(y[:, columns], product(np.ascontiguousarray(x[:, columns], dtype=np.float32)))
    return y
