"""The scaled context matrix of a large corpus, made and kept tile by tile (see ``tiles``).

With P the counts of one distance, or of a whole bag with its weights, entry (v, w) is how often v
stands before w.  The matrix of words and contexts is ``P + P'`` for a bag, and the P and P' of all
positions side by side otherwise.

1. Totals of all rows and columns are those of the P: one reading.
2. The rows are cut into tiles of a bounded number of entries.
3. P' is needed by rows, which are columns of P: each stretch of P is turned, and what belongs to
   the rows of tile t is put behind what is there for t already.  Second reading.
4. Tile by tile ``P + P'`` is put together, its columns are folded, its entries scaled: Omega.
   Third reading.

Nothing but a tile per thread is in memory, and what the :class:`Room` allows.  What making the
tiles, the decomposition, its end, and the writing of the vectors must have in memory at any time
is the least; a bound below it is refused.  Of the rest tiles have what they need first, since each
step reads all of them twice, then the basis; what does not fit is on disk.  Nothing of this
changes a digit of the vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from eigentext.base.cores import cores_in_use, each, row_blocks
from eigentext.base.heap import read_mapped
from eigentext.base.types import Float64s, Int64s, Numbers, Sparse
from eigentext.counting.memory import parse_memory
from eigentext.counting.spill import ArrayStore
from eigentext.errors import SettingsError
from eigentext.linalg.matrices import BLOCK_COLUMNS
from eigentext.linalg.svd import basis_bytes, krylov_block
from eigentext.words.embeddings.tiles import TiledOperator, TileStore

_LIBRARIES = 330_000_000  # resident size of Python with all that is loaded by the end
_WORD_BYTES = 300  # a word: its string, its bytes, its places in tables
_ENTRY_BYTES = 16  # an entry of a tile, by row and by column
_MAKING_BYTES = 60  # an entry of a tile while it is made
_STEP_BLOCKS = 6  # that a step of the decomposition has at once


@dataclass(frozen=True)
class Room:
    """How memory is shared out."""

    tiles: int  # bytes for finished tiles
    turned: int  # and for what is turned
    cores: int  # how many threads make tiles
    basis_on_disk: bool

    @classmethod
    def share_out(
        cls,
        memory: str | int,
        shape: tuple[int, int],
        rank: int,
        *,
        entries: int,
        tile_entries: int,
        held: int = 0,
        cores: int = 1,
    ) -> Room:
        """For a matrix with at most so many entries, of which a tile has ``tile_entries``.

        ``held`` is what the counts have of memory.

        >>> sizes = {"entries": 100_000_000, "tile_entries": 2_000_000}
        >>> Room.share_out("8GB", (200_000, 200_000), 200, **sizes).basis_on_disk
        False
        >>> Room.share_out("2GB", (200_000, 200_000), 200, **sizes).basis_on_disk
        True
        """
        bound = parse_memory(memory)
        tall, number = max(shape), 4  # bytes of a float32
        tile_entries = min(tile_entries, entries)
        tile = _ENTRY_BYTES * tile_entries
        making = _MAKING_BYTES * tile_entries
        steps = number * (_STEP_BLOCKS * krylov_block(rank) * tall + rank * min(shape)) + tile
        end = number * (rank * sum(shape) + 2 * BLOCK_COLUMNS * tall) + tile
        written = 2 * number * rank * shape[0]
        words = _WORD_BYTES * tall + held
        least = words + max(making, steps, end, written)
        # the libraries of a small bound are beyond it, as they are for counting
        work = max(bound - _LIBRARIES, bound // 8)
        if work < least:
            needed = min(least + _LIBRARIES, 8 * least)
            raise SettingsError(
                f"memory {memory} is too small for {shape[0]:,} vectors of {rank} dimensions: "
                f"{-(-needed // 10**7) * 10:,}MB is the least, or fewer words or dimensions"
            )
        cores = max(1, min(cores, (work - words) // max(making, 1)))
        free = work - words - making * cores
        spare = work - words - max(steps, end)
        basis = basis_bytes(shape, rank)
        on_disk = spare < _ENTRY_BYTES * entries + basis
        tiles = min(spare - (0 if on_disk else basis), 2 * free // 3)
        return cls(max(tiles, 0), max(free, 0) // 4, cores, on_disk)


_TILE_ROWS = 8192  # their part of a product stays in the cache
TILE_ENTRIES = 2_000_000  # at most, but for a single row


@dataclass(frozen=True)
class Side:
    """P or P': the weighted sum of some CSR matrices (n, n), as it is or turned."""

    halves: Sequence[Sparse]
    weights: Sequence[float]
    turned: bool = False

    def matrix(self) -> Sparse:
        """All of it; whole numbers stay such where the weight is 1."""
        total = _weighted(self.halves, self.weights)
        return total.T.tocsr() if self.turned else total

    def rows(self, begin: int, end: int) -> Sparse:
        """Rows of P, float32 (``turned`` does not matter)."""
        halves = [_rows_of(half, begin, end) for half in self.halves]
        return _weighted(halves, self.weights).astype(np.float32)


def _weighted(matrices: Sequence[Sparse], weights: Sequence[float]) -> Sparse:
    if len(matrices) == 1 and weights[0] == 1:
        return matrices[0]
    total: Sparse = 0
    for matrix, weight in zip(matrices, weights, strict=True):
        total = total + matrix * np.float32(weight)
    return total.tocsr()


def _rows_of(half: Sparse, begin: int, end: int) -> Sparse:
    """Some rows of a CSR matrix that may be mapped from a file."""
    from scipy.sparse import csr_array

    starts = half.indptr[begin : end + 1]
    first, last = int(starts[0]), int(starts[-1])
    rows = csr_array((end - begin, half.shape[1]), dtype=half.dtype)
    # set one by one: the constructor would look through all columns
    rows.data = read_mapped(half.data, first, last)
    rows.indices = read_mapped(half.indices, first, last)
    rows.indptr = starts - starts[0]
    rows.has_canonical_format = True
    return rows


@dataclass(frozen=True)
class SideTotals:
    """Sums over the rows and over the columns of a matrix P, and the entries that they have."""

    rows: Float64s
    columns: Float64s
    row_entries: Int64s
    column_entries: Int64s

    @classmethod
    def of(cls, side: Side) -> SideTotals:
        """One reading of all the halves."""
        n = side.halves[0].shape[0]
        totals = cls(np.zeros(n), np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int64))
        for half, weight in zip(side.halves, side.weights, strict=True):
            totals.row_entries[:] += np.diff(half.indptr)
            for begin, end in _stretches(np.diff(half.indptr), n):
                rows = _rows_of(half, begin, end)
                totals.rows[begin:end] += np.asarray(rows.sum(axis=1)).ravel() * weight
                totals.columns[:] += np.bincount(rows.indices, rows.data, n) * weight
                totals.column_entries[:] += np.bincount(rows.indices, minlength=n)
        return totals


def _stretches(entries: Numbers, most_rows: int) -> list[tuple[int, int]]:
    """Neighbouring rows with at most a tile's entries together, and at most so many."""
    before = np.append(0, np.cumsum(entries, dtype=np.int64))
    cuts = [0]
    while cuts[-1] < len(entries):
        fits = int(np.searchsorted(before, before[cuts[-1]] + TILE_ENTRIES, side="right")) - 1
        cuts.append(min(max(fits, cuts[-1] + 1), cuts[-1] + most_rows, len(entries)))
    return list(pairwise(cuts))


def tiled_contexts(
    blocks: Sequence[Sequence[Side]],
    entries: Int64s,
    n_columns: int,
    scaled: Callable[[Sparse, slice], Sparse],
    *,
    folder: Path,
    room: Room,
) -> TiledOperator:
    """The matrix whose blocks of columns are sums of sides, scaled.

    ``entries`` bounds those of each row, and tells how many rows there are.
    ``scaled(rows, place)`` gives rows of Omega for rows of the matrix.
    """
    from scipy.sparse import hstack

    sides = [side for block in blocks for side in block]
    stretches = _stretches(entries, _TILE_ROWS)
    cuts = [0, *(end for _, end in stretches)]
    turned = _Turned(cuts, ArrayStore(folder / "turned", room.turned))
    for number, side in enumerate(sides):
        if side.turned:
            turned.add(number, side)
    store = TileStore(folder / "tiles", room.tiles, cuts, n_columns)

    def put(tile: int) -> None:
        begin, end = stretches[tile]
        parts, number = [], 0
        for block in blocks:
            part: Sparse = 0
            for side in block:
                rows = turned.rows(number, tile) if side.turned else side.rows(begin, end)
                part = part + rows
                number += 1
            parts.append(part)
        whole = parts[0] if len(parts) == 1 else hstack(parts, format="csr")
        store.put(tile, scaled(whole.tocsr(), slice(begin, end)))

    each(put, range(len(stretches)))
    return TiledOperator(store)


class _Turned:
    """P' by tiles of its rows."""

    def __init__(self, cuts: list[int], store: ArrayStore) -> None:
        self.cuts, self.store = cuts, store
        self._n = 0

    def add(self, number: int, side: Side) -> None:
        """Turn all of P; its stretches follow one another, so that columns come out sorted."""
        half = side.halves[0]
        self._n = half.shape[0]
        entries = sum(np.diff(half.indptr) for half in side.halves)
        # fewer entries than a tile has: what is turned is held as it was, too
        stretches = _stretches(2 * np.asarray(entries), self._n)

        def columns_of(stretch: tuple[int, int]) -> Sparse:
            return side.rows(*stretch).tocsc()

        for part_of_all in row_blocks(len(stretches), cores_in_use()):
            group = stretches[part_of_all]
            for (begin, _), part in zip(group, each(columns_of, group), strict=True):
                for tile, (first, last) in enumerate(pairwise(self.cuts)):
                    starts = part.indptr[first : last + 1]
                    here = slice(int(starts[0]), int(starts[-1]))
                    if here.start < here.stop:
                        rows = np.repeat(np.arange(last - first, dtype=np.int32), np.diff(starts))
                        columns = part.indices[here].astype(np.int32) + np.int32(begin)
                        self.store.add(f"{number}-{tile}", [rows, columns, part.data[here].copy()])

    def rows(self, number: int, tile: int) -> Sparse:
        """The rows of a tile of P'."""
        from scipy.sparse import coo_array

        shape = (self.cuts[tile + 1] - self.cuts[tile], self._n)
        arrays = self.store.take(f"{number}-{tile}")
        if not arrays:
            arrays = [np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32)]
        rows, columns, values = arrays
        entries = coo_array((values, (rows, columns)), shape=shape)
        entries.has_canonical_format = True  # no pair comes twice
        turned = entries.tocsr()
        turned.has_canonical_format = True  # stretches and their columns came in order
        return turned
