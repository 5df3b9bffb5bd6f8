"""Products of shards are those of the whole matrix to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from eigentext.base.engines import LocalEngine, using_cluster
from eigentext.linalg import matrices, sharded
from eigentext.linalg.cca import Scaled
from eigentext.linalg.matrices import as_operator
from eigentext.linalg.sharded import ShardedOperator
from eigentext.linalg.svd import truncated_svd


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Many tiles and stretches of a small matrix."""
    monkeypatch.setattr(matrices, "_KERNEL_NONZEROS", 0)
    monkeypatch.setattr(matrices, "_TILE_COLUMNS", 150)
    monkeypatch.setattr(matrices, "_STRETCH_COLUMNS", 300)


def text_like(m: int, n: int, nonzeros: int, dtype) -> sp.csr_array:
    """Frequent rows and columns are full, rare ones nearly empty, as in counts of words."""
    rng = np.random.default_rng(0)
    rows = (m * rng.random(nonzeros) ** 2).astype(np.int64)
    columns = (n * rng.random(nonzeros) ** 2).astype(np.int64)
    return sp.csr_array((rng.random(nonzeros), (rows, columns)), shape=(m, n)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("jobs", "entries"), [(1, 1 << 23), (3, 1 << 23), (2, 1000)])
@pytest.mark.parametrize("width", [3, 8, 70])
def test_products_are_those_of_the_whole(dtype, jobs, entries, width, monkeypatch):
    monkeypatch.setattr(sharded, "_SHARD_ENTRIES", entries)
    matrix = text_like(700, 1100, 30_000, dtype)
    whole = as_operator(matrix)
    with using_cluster(LocalEngine(jobs)):
        parts = as_operator(matrix)
    assert isinstance(parts, ShardedOperator)
    random = np.random.default_rng(1)
    x, z = (random.standard_normal((side, width)).astype(dtype) for side in matrix.shape)
    for operator, block in ((lambda A: A.matmat, z), (lambda A: A.rmatmat, x)):
        assert operator(parts)(block).tobytes() == operator(whole)(block).tobytes()
        turned = z if block is x else x
        assert operator(parts.T)(turned).tobytes() == operator(whole.T)(turned).tobytes()
    assert parts.gram(x).tobytes() == whole.gram(x).tobytes()
    single = parts.astype(np.float32), whole.astype(np.float32)
    x = x.astype(np.float32)
    assert single[0].gram(x).tobytes() == single[1].gram(x).tobytes()


@pytest.mark.parametrize("shape", [(900, 1700), (1700, 900)])
def test_decompositions_are_those_of_the_whole(shape):
    counts = text_like(*shape, 60_000, np.float64)

    def decomposed() -> list[bytes]:
        matrix = Scaled(counts, rows=np.linspace(1, 2, shape[0]))
        result = truncated_svd(matrix, 24, method="krylov", dtype=np.float32, block=8)
        return [x.tobytes() for x in (result.U, result.S, result.Vt)]

    here = decomposed()
    with using_cluster(LocalEngine(3)):
        assert decomposed() == here
