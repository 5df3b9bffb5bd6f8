"""A basis in a file: the decomposition has the same bits, and a lost file is told."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from eigentext.base.cores import using_cores
from eigentext.errors import StorageError
from eigentext.linalg import backend as backend_module
from eigentext.linalg.backend import CPU, ColumnFile, tall_blocks
from eigentext.linalg.svd import basis_bytes, truncated_svd


@pytest.fixture(scope="module")
def matrix():
    # no structure: its singular values fall slowly, and the basis is restarted
    rng = np.random.default_rng(0)
    places = rng.integers(1500, size=60_000), rng.integers(2100, size=60_000)
    values = rng.random(60_000, dtype=np.float32)
    return sp.csr_array((values, places), shape=(1500, 2100))


@pytest.mark.parametrize("overlap", [None, 0.9], ids=["tol", "overlap"])
@pytest.mark.parametrize("turned", [False, True], ids=["wide", "tall"])
def test_a_basis_in_a_file_changes_no_bit(matrix, overlap, turned, tmp_path, monkeypatch):
    monkeypatch.setattr(backend_module, "_BLOCK_ROWS", 100)
    A = matrix.T.tocsr() if turned else matrix
    chosen = {"method": "krylov", "dtype": np.float32, "overlap": overlap}
    here = truncated_svd(A, 12, **chosen)
    assert here.report.restarts or overlap is not None  # a restart writes the basis anew
    for cores in (1, 3):
        with using_cores(cores):
            away = truncated_svd(A, 12, folder=tmp_path, **chosen)
            left = truncated_svd(A, 12, folder=tmp_path, sides="left", **chosen)
        for one, other in zip((here.U, here.S, here.Vt), (away.U, away.S, away.Vt), strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(here.U, left.U)
        np.testing.assert_array_equal(here.S, left.S)
        assert left.Vt.shape == (12, 0)
        np.testing.assert_array_equal(here.report.right_residuals, left.report.right_residuals)
    files = list(tmp_path.iterdir())
    assert max(file.stat().st_size for file in files) == basis_bytes(A.shape, 12)


@pytest.mark.parametrize("method", ["dense", "arpack"])
def test_one_side_of_the_other_routes(matrix, method):
    both, left = (
        truncated_svd(matrix[:300, :200], 5, method=method, sides=sides)
        for sides in ("both", "left")
    )
    np.testing.assert_array_equal(both.U, left.U)
    assert left.Vt.shape == (5, 0)


def test_columns_of_blocks(tmp_path):
    x = np.random.default_rng(0).standard_normal((5000, 7))
    file = ColumnFile.empty(tmp_path, 5000, 9, np.float64)
    CPU.put(file[:, 1:8], x)
    CPU.put(file[:, 3:5], x[:, :2])
    x[:, 2:4] = x[:, :2].copy()
    assert file[:, 1:8].shape == (5000, 7)
    assert file[:, 1:8][:, 2:][:, :1].shape == (5000, 1)
    np.testing.assert_array_equal(CPU.row_order(file[:, 1:8][:, 2:]), x[:, 2:])
    for rows in tall_blocks(5000):
        assert file[:, 1:8][rows].flags.f_contiguous  # as those of an array in column order


def test_a_file_that_is_lost_is_told(tmp_path):
    file = ColumnFile.empty(tmp_path, 10, 2, np.float32)
    next(tmp_path.iterdir()).unlink()
    with pytest.raises(StorageError, match="cannot read intermediate results"):
        file[0:10]
    with pytest.raises(StorageError, match="cannot write intermediate results"):
        file[0:10] = np.zeros((10, 2))
    with pytest.raises(StorageError, match="cannot write intermediate results"):
        ColumnFile.empty(Path(tmp_path / "none"), 10, 2, np.float32)


def test_every_blas_is_held_from_the_first_fit_on():
    # numpy and scipy have one each, and that of scipy used to be loaded inside
    code = """
from eigentext.linalg.ties import single_threaded
with single_threaded():
    import numpy, scipy.linalg
    from threadpoolctl import threadpool_info
    print({pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"})
"""
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={"OPENBLAS_NUM_THREADS": "3", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "{1}\n"
