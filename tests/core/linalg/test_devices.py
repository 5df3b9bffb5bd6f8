"""One code for numpy, torch and CuPy: the answers of another backend are the processor's."""

from __future__ import annotations

import importlib.util
import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from eigentext.accel import devices
from eigentext.accel.devices import TorchBackend
from eigentext.accel.rows import _pieces
from eigentext.base.cores import device_in_use, using_device
from eigentext.errors import RankWarning, SettingsError
from eigentext.linalg.backend import CPU, Backend, backend_for
from eigentext.linalg.cca import HStack, Product, Scaled, generalised_cca
from eigentext.linalg.matrices import as_operator
from eigentext.linalg.svd import truncated_svd
from eigentext.linalg.ties import leading_entries
from oracle.subspaces import subspace_overlap


class Elsewhere(Backend):
    """numpy's arrays as if they were on another device: operators move, results are fetched."""

    name = "elsewhere"


needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed"
)
BACKENDS = [
    pytest.param(lambda: Elsewhere(), id="numpy"),
    pytest.param(lambda: TorchBackend("cpu"), id="torch", marks=needs_torch),
]


def words_by_contexts(m=1200, n=2500, nonzeros=60_000, seed=0):
    """Classes of rows prefer classes of columns; frequent ones are full."""
    rng = np.random.default_rng(seed)
    rows = (m * rng.random(nonzeros) ** 2).astype(np.int64)
    columns = (n // 40 * rng.random(nonzeros) ** 2).astype(np.int64) * 40 + rows % 40
    values = rng.random(nonzeros) * (1 + rows % 40) / 40
    return sp.csr_array((values, (rows, columns)), shape=(m, n))


@pytest.mark.parametrize("make", BACKENDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("settings", [{}, {"overlap": 0.99}])
@pytest.mark.parametrize("tall", [False, True])
def test_the_svd_is_the_processors(make, dtype, settings, tall):
    matrix = words_by_contexts()
    matrix = matrix.T.tocsr() if tall else matrix
    here = truncated_svd(matrix, 30, method="krylov", dtype=dtype, **settings)
    there = truncated_svd(matrix, 30, method="krylov", dtype=dtype, device=make(), **settings)
    for factor in (there.U, there.S, there.Vt):
        assert type(factor) is np.ndarray
        assert factor.dtype == dtype
    np.testing.assert_allclose(there.S, here.S, rtol=1e-4)
    assert subspace_overlap(here.U, there.U) == pytest.approx(1, abs=1e-4)
    assert there.report.converged
    if not settings:  # measured with the real matrix, not with what the backend believes
        rest = matrix @ there.Vt.T - there.U * there.S
        measured = np.linalg.norm(rest, axis=0).max() / there.S[0]
        assert measured <= there.report.tol
        assert measured == pytest.approx(there.report.right_residuals.max(), rel=0.2, abs=1e-6)


@pytest.mark.parametrize("make", BACKENDS)
def test_every_operator_moves(make):
    backend = make()
    rng = np.random.default_rng(0)
    A = sp.random(60, 40, 0.2, format="csr", random_state=0)
    B = sp.random(40, 30, 0.2, format="csr", random_state=1)
    operators = [
        as_operator(A),
        as_operator(A.toarray()),
        Product(A, B),
        Scaled(A, rows=rng.random(60), columns=rng.random(40)),
        Scaled(A, rows=rng.random(60)),
        HStack([A, Product(A, B), A.toarray()]),
    ]
    for plain in [*operators, *(operator.T for operator in operators)]:
        moved = plain.on(backend)
        dense = plain.to_dense()
        x, y = rng.random((plain.shape[1], 5)), rng.random((plain.shape[0], 5))
        there = backend.to_host(moved.matmat(backend.asarray(x)))
        np.testing.assert_allclose(there, dense @ x, atol=1e-12)
        there = backend.to_host(moved.rmatmat(backend.asarray(y)))
        np.testing.assert_allclose(there, dense.T @ y, atol=1e-12)
        there = backend.to_host(moved.gram(backend.asarray(y)))
        np.testing.assert_allclose(there, dense @ (dense.T @ y), atol=1e-11)


@pytest.mark.parametrize("make", BACKENDS)
def test_cca_on_another_device(make, monkeypatch):
    rng = np.random.default_rng(2)
    state = rng.integers(0, 12, 30_000)
    views = []
    for size in (1000, 900, 950):  # beyond the side that is written out
        ids = (state * (size // 12) + rng.integers(0, size // 12, 30_000)) % size
        ids[:size] = np.arange(size)  # no word without a case
        ones = np.ones(30_000)
        views.append(sp.csr_array((ones, (np.arange(30_000), ids)), shape=(30_000, size)))
    here = generalised_cca(views[:2], 8), generalised_cca(views, 8)
    backend = make()
    monkeypatch.setattr(devices, "card", lambda: backend)
    with using_device("cuda"):
        there = generalised_cca(views[:2], 8), generalised_cca(views, 8)
    for one, other in zip(here, there, strict=True):
        assert other.report.method == "krylov"
        np.testing.assert_allclose(other.correlations, one.correlations, atol=1e-6)
        for p, q in zip(one.projections, other.projections, strict=True):
            left, right = np.linalg.qr(p)[0], np.linalg.qr(q)[0]
            assert subspace_overlap(left, right) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("make", BACKENDS)
def test_ties_low_rank_and_nothing_at_all(make):
    backend = make()
    values = np.repeat([3.0, 2.0, 1.0], [40, 3, 5])
    matrix = sp.csr_array((values, (np.arange(48) * 20, np.arange(48) * 7)), shape=(960, 400))
    here = truncated_svd(matrix, 48, method="krylov", block=8)
    there = truncated_svd(matrix, 48, method="krylov", block=8, device=backend)
    np.testing.assert_allclose(there.S, here.S, rtol=1e-10)
    np.testing.assert_allclose(there.U, here.U, atol=1e-6)
    with pytest.warns(RankWarning, match="numerical rank 48"):
        fewer = truncated_svd(matrix, 60, method="krylov", device=backend, on_rank="warn", block=8)
    assert fewer.rank == 48
    with pytest.warns(RankWarning):
        empty = truncated_svd(
            sp.csr_array((5, 9)), 2, method="krylov", device=backend, on_rank="warn"
        )
    assert empty.U.shape == (5, 0)


@pytest.mark.parametrize("make", BACKENDS)
def test_the_small_questions_of_an_svd(make):
    backend = make()
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((500, 4)), rng.standard_normal((500, 4))
    X[[3, 77], 0] = 9.0, -9.0
    there, other = backend.asarray(X), backend.asarray(Y)
    np.testing.assert_array_equal(backend.leading_entries(there), leading_entries(X))
    np.testing.assert_allclose(backend.gram(there), X.T @ X, rtol=1e-12)
    scales = np.array([1.0, -2.0, 0.0, 3.0])
    expected = np.linalg.norm(X - Y * scales, axis=0)
    np.testing.assert_allclose(backend.residual_norms(there, other, scales), expected, rtol=1e-12)
    assert backend.sum_of_squares(there) == pytest.approx((X**2).sum())
    chosen = backend.to_host(backend.columns(there, np.array([2, 0])))
    np.testing.assert_array_equal(chosen, X[:, [2, 0]])
    values, vectors = backend.leading_eigh(backend.asarray(X.T @ X), 2)
    exact, exact_vectors = np.linalg.eigh(X.T @ X)
    np.testing.assert_allclose(values, exact[::-1][:2], rtol=1e-12)
    cosines = np.abs(np.sum(backend.to_host(vectors) * exact_vectors[:, [3, 2]], axis=0))
    np.testing.assert_allclose(cosines, 1, rtol=1e-10)


def test_pieces_cover_every_nonzero_once():
    lengths = np.array([0, 1, 1024, 1025, 5000, 0, 3])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    begins, ends, targets, rows, firsts = _pieces(starts)
    assert (ends - begins).max() <= 1024
    covered = np.concatenate([np.arange(b, e) for b, e in zip(begins, ends, strict=True)])
    np.testing.assert_array_equal(covered, np.arange(starts[-1]))
    # what the kernels do, by the definition
    values = np.random.default_rng(0).random(starts[-1])
    y, parts = np.full(7, np.nan), np.full(firsts[-1], np.nan)
    for begin, end, target in zip(begins, ends, targets, strict=True):
        place, at = (y, target) if target < 7 else (parts, target - 7)
        place[at] = values[begin:end].sum()
    for row, first, last in zip(rows, firsts[:-1], firsts[1:], strict=True):
        y[row] = parts[first:last].sum()
    sums = [values[a:b].sum() for a, b in itertools.pairwise(starts)]
    np.testing.assert_allclose(y, sums)


def test_a_card_that_is_not_there(monkeypatch):
    monkeypatch.setattr(devices, "card", lambda: "CuPy sees none; torch is not installed")
    with pytest.raises(SettingsError, match=r"no graphics card was found: CuPy sees none"):
        backend_for("cuda")
    assert backend_for("auto") is CPU
    assert backend_for() is CPU
    with using_device("auto"):
        assert device_in_use() == "auto"
        assert backend_for() is CPU
    with pytest.raises(SettingsError, match="device is 'gpu', expected cpu, cuda or auto"):
        truncated_svd(np.eye(3), 1, method="krylov", device="gpu")
    with pytest.raises(SettingsError, match="expected cpu, cuda or auto"), using_device("card"):
        pass
