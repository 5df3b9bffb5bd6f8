"""The truncated SVD on several threads: the same bytes as on one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from eigentext.base.cores import using_cores
from eigentext.linalg import backend as backend_module
from eigentext.linalg import matrices
from eigentext.linalg.backend import CPU, tall_blocks
from eigentext.linalg.cca import Scaled
from eigentext.linalg.matrices import as_operator
from eigentext.linalg.svd import truncated_svd
from eigentext.linalg.ties import leading_entries


def text_like(m: int, n: int, nonzeros: int, seed: int = 0) -> sp.csr_array:
    """Frequent rows and columns are full, rare ones nearly empty, as in counts of words."""
    rng = np.random.default_rng(seed)
    rows = (m * rng.random(nonzeros) ** 2).astype(np.int64)
    columns = (n * rng.random(nonzeros) ** 2).astype(np.int64)
    return sp.csr_array((rng.random(nonzeros), (rows, columns)), shape=(m, n))


@pytest.fixture
def small_blocks(monkeypatch):
    """Many blocks, tiles and stretches of a small matrix."""
    monkeypatch.setattr(matrices, "_KERNEL_NONZEROS", 0)
    monkeypatch.setattr(matrices, "_TILE_COLUMNS", 150)
    monkeypatch.setattr(matrices, "_STRETCH_COLUMNS", 300)
    monkeypatch.setattr(backend_module, "_GRAM_ROWS", 64)
    monkeypatch.setattr(backend_module, "_BLOCK_ROWS", 64)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(900, 1700), (1700, 900)])
@pytest.mark.usefixtures("small_blocks")
def test_the_same_bytes_on_one_two_and_three_cores(dtype, shape):
    matrix = Scaled(text_like(*shape, 60_000), rows=np.linspace(1, 2, shape[0]))
    results = []
    for cores in (1, 2, 3):
        with using_cores(cores):
            result = truncated_svd(matrix, 24, method="krylov", dtype=dtype, block=8)
        results.append([x.tobytes() for x in (result.U, result.S, result.Vt)])
        results[-1].append(result.report.right_residuals.tobytes())
    assert results[0] == results[1] == results[2]
    exact = np.linalg.svd(matrix.to_dense(), compute_uv=False)[:24]
    np.testing.assert_allclose(result.S, exact, rtol=1e-4)


@pytest.mark.parametrize("width", [3, 8, 64, 70])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.usefixtures("small_blocks")
def test_products_over_tiles_and_stretches_are_scipys(width, dtype):
    matrix = text_like(700, 1100, 30_000).astype(dtype)
    operator = as_operator(matrix)
    assert len(operator._rows().stretches) == 4
    x = np.random.default_rng(1).standard_normal((700, width)).astype(dtype)
    tolerance = 1e-4 if dtype == np.float32 else 1e-11
    with using_cores(2):
        z = operator.rmatmat(x)
        y, fused = operator.matmat(z), operator.gram(x)
    np.testing.assert_allclose(z, matrix.T @ x, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(y, matrix @ z, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(fused, y, rtol=tolerance, atol=tolerance)


def test_blocks_of_rows_have_about_the_same_work():
    matrix = text_like(5000, 300, 100_000)
    blocks = matrices.even_blocks(matrix.indptr)
    covered = np.concatenate([np.arange(5000)[block] for block in blocks])
    np.testing.assert_array_equal(covered, np.arange(5000))
    work = [
        matrix.indptr[b.stop] - matrix.indptr[b.start] + 8 * (b.stop - b.start) for b in blocks
    ]
    assert max(work) < 1.5 * np.mean(work)


@pytest.mark.usefixtures("small_blocks")
def test_products_of_tall_blocks_by_their_definition():
    rng = np.random.default_rng(0)
    X, Y, h = rng.random((1000, 5)), rng.random((1000, 3)), rng.random((5, 3))
    assert len(tall_blocks(1000, least=64)) == 16
    with using_cores(3):
        np.testing.assert_allclose(CPU.inner(X, Y), X.T @ Y, rtol=1e-13)
        np.testing.assert_allclose(CPU.times(X, h), X @ h, rtol=1e-13)
        np.testing.assert_allclose(CPU.subtract(Y.copy(), X, h), Y - X @ h, atol=1e-13)
        np.testing.assert_allclose(CPU.gram(X), X.T @ X, rtol=1e-13)
        norms = np.linalg.norm(Y - X[:, :3] * h[0], axis=0)
        np.testing.assert_allclose(CPU.residual_norms(Y, X[:, :3], h[0]), norms, rtol=1e-13)
    np.testing.assert_array_equal(CPU.columns(X, np.array([3, 1])), X[:, [3, 1]])
    np.testing.assert_array_equal(CPU.scale_columns(X.copy(), h[:, 0]), X * h[:, 0])


def test_the_leading_entry_is_the_first_of_the_largest_in_any_block():
    X = np.zeros((20_000, 3))
    X[[3_000, 15_000], 0] = -2.0, 2.0 * (1 + 1e-12)  # tied to rounding: the first decides
    X[[3, 19_999], 1] = 1.0, -1.5
    X[5, 2] = -1e-3
    with using_cores(2):
        assert leading_entries(X).tolist() == [-2.0, -1.5, -1e-3]
