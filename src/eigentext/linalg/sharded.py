"""A sparse matrix that the workers of a cluster keep, and products with it.

1. The rows of A, and the rows of A', are cut into shards of about the same work, which are sent
   once: 8 bytes an entry in float32, so 16 for both.
2. A product sends a dense block to the workers, 64 of its columns at a time; each shard gives its
   rows of the result, and they are put one below the other.

A row is added up in the order of its columns, whoever does it (:class:`.matrices.Rows`), so the
result is that of one machine to the last bit, whatever the number of shards and workers.  A
product with ``A A'`` moves four blocks between here and the cluster, and two to every worker.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from eigentext.base.cores import row_blocks
from eigentext.base.engines import Engine
from eigentext.base.types import Numbers, Sparse
from eigentext.linalg.matrices import (
    BLOCK_COLUMNS,
    Operator,
    Rows,
    SparseOperator,
    column_tiles,
    even_blocks,
)

_SHARD_ENTRIES = 1 << 23  # at most, but for a row that has more: 64 MB in float32


class ShardedOperator(SparseOperator):
    """A sparse matrix whose products are made by the workers; small ones are made here.

    >>> from eigentext.base.engines import LocalEngine
    >>> from scipy.sparse import csr_array
    >>> operator = ShardedOperator(csr_array(np.diag([1.0, 2.0, 3.0])), LocalEngine(2))
    >>> operator.matmat(np.ones((3, 1))).ravel().tolist()
    [1.0, 2.0, 3.0]
    """

    def __init__(
        self,
        matrix: Sparse,
        cluster: Engine,
        *,
        transpose: Sparse = None,
        tiles: tuple[list[slice], list[slice]] | None = None,
    ) -> None:
        super().__init__(matrix, transpose=transpose)
        self.cluster = cluster
        # in which a row of A and one of A' are added up; unless told as in SparseOperator
        self._told = tiles
        self._tiles = (column_tiles(self.matrix), []) if tiles is None else tiles
        # sent when they are first used
        self._row_shards: _Shards | None = None
        self._column_shards: _Shards | None = None

    def matmat(self, x: Numbers) -> Numbers:
        if not self._compiled(x):
            return super().matmat(x)
        if self._row_shards is None:
            self._row_shards = _Shards(self.cluster, self.matrix, self._tiles[0])
        return self._row_shards.times(x)

    def rmatmat(self, x: Numbers) -> Numbers:
        if not self._compiled(x):
            return super().rmatmat(x)
        if self._column_shards is None:
            self._column_shards = _Shards(self.cluster, self._transposed(), self._tiles[1])
        return self._column_shards.times(x)

    gram = Operator.gram  # in two rounds

    def astype(self, dtype: DTypeLike) -> Operator:
        if self.dtype == dtype:
            return self
        transpose = None if self._transpose is None else self._transpose.astype(dtype)
        matrix = self.matrix.astype(dtype)
        return ShardedOperator(matrix, self.cluster, transpose=transpose, tiles=self._told)

    @property
    def T(self) -> Operator:
        tiles = None if self._told is None else self._told[::-1]
        turned = self._transposed()
        return ShardedOperator(turned, self.cluster, transpose=self.matrix, tiles=tiles)


class _Shards:
    """The rows of a CSR matrix, kept by workers, their columns in tiles."""

    def __init__(self, cluster: Engine, matrix: Sparse, tiles: list[slice]) -> None:
        self.cluster, self.n_rows = cluster, int(matrix.shape[0])
        n_shards = max(cluster.jobs, -(-matrix.nnz // _SHARD_ENTRIES))
        self.shards = [
            cluster.share((matrix[rows], tiles), _prepared)
            for rows in even_blocks(matrix.indptr, n_shards)
        ]

    def times(self, x: Numbers) -> Numbers:
        """The product with a dense block."""
        product = np.empty((self.n_rows, x.shape[1]), dtype=x.dtype)
        for columns in row_blocks(x.shape[1], BLOCK_COLUMNS):
            block = self.cluster.share(np.ascontiguousarray(x[:, columns]))
            first = 0
            for part in self.cluster.map(_times, [(shard, block) for shard in self.shards]):
                product[first : first + part.shape[0], columns] = part
                first += part.shape[0]  # shards come in the order of their rows
        return product


def _prepared(shard: tuple[Sparse, list[slice]]) -> Rows:
    """What a worker keeps."""
    matrix, tiles = shard
    return Rows.tiled(matrix, matrix.T.tocsr(), tiles) if len(tiles) > 1 else Rows.of(matrix)


def _times(task: tuple[Rows, Numbers]) -> Numbers:
    rows, x = task
    return rows.times(x)
