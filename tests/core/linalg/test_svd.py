"""Plant singular values and demand them back, by every route."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.errors import DataError, RankError, RankWarning, SettingsError
from eigentext.linalg.cca import HStack, Product, Scaled
from eigentext.linalg.svd import ConvergenceWarning, truncated_svd
from eigentext.linalg.ties import fix_signs
from oracle.subspaces import subspace_overlap

ROUTES = ["krylov", "arpack", "dense"]


def orthonormal(n, k, seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, k)))[0]


def planted(m, n, values, seed=0):
    """A dense matrix with exactly these singular values, and its factors."""
    k = len(values)
    U, V = orthonormal(m, k, [seed, 1]), orthonormal(n, k, [seed, 2])
    return (U * np.asarray(values)) @ V.T, U, V


def check_triplets(A, result, *, atol):
    """What any SVD has to fulfil, measured without the library."""
    A = A.toarray() if sp.issparse(A) else A
    U, S, Vt = result.U, result.S, result.Vt
    r = len(S)
    assert U.shape == (A.shape[0], r)
    assert Vt.shape == (r, A.shape[1])
    np.testing.assert_allclose(U.T @ U, np.eye(r), rtol=0, atol=atol)
    np.testing.assert_allclose(Vt @ Vt.T, np.eye(r), rtol=0, atol=atol)
    s1 = S[0] if r else 1.0
    np.testing.assert_allclose(A @ Vt.T, U * S, rtol=0, atol=atol * s1)
    np.testing.assert_allclose(A.T @ U, Vt.T * S, rtol=0, atol=atol * s1)
    assert (np.diff(S) <= 0).all()


@pytest.mark.parametrize("method", ROUTES)
@pytest.mark.parametrize("shape", [(120, 300), (300, 120), (150, 150)])
def test_simple_values_come_back(method, shape):
    values = 5.0 * 0.9 ** np.arange(60)
    A, U, _ = planted(*shape, values)
    result = truncated_svd(A, 20, method=method)
    np.testing.assert_allclose(result.S, values[:20], rtol=1e-12)
    check_triplets(A, result, atol=1e-7)
    cosines = np.abs(np.sum(result.U * U[:, :20], axis=0))
    np.testing.assert_allclose(cosines, 1.0, rtol=0, atol=1e-10)
    assert result.report.converged
    assert result.report.method == method


@pytest.mark.parametrize("method", ROUTES)
def test_values_over_six_orders_of_magnitude(method):
    values = np.logspace(0, -5, 30)
    A, _, _ = planted(200, 400, values)
    result = truncated_svd(sp.csr_matrix(A), 30, method=method, tol=1e-7)
    np.testing.assert_allclose(result.S, values, rtol=1e-8)


@pytest.mark.parametrize("method", ROUTES)
def test_float32(method):
    values = 3.0 * 0.93 ** np.arange(80)
    A, U, _ = planted(400, 700, values)
    result = truncated_svd(sp.csr_matrix(A), 25, method=method, dtype=np.float32)
    assert result.U.dtype == result.S.dtype == result.Vt.dtype == np.float32
    np.testing.assert_allclose(result.S, values[:25], rtol=2e-5)
    assert subspace_overlap(U[:, :25], result.U) > 0.99999
    check_triplets(A, result, atol=1e-4)


@pytest.mark.parametrize("method", ROUTES)
def test_tied_values_give_the_subspace(method):
    values = np.array([4.0] * 5 + [2.0] * 7 + [1.0] * 3 + [0.1] * 30)
    A, U, _ = planted(150, 260, values)
    result = truncated_svd(A, 15, method=method)
    np.testing.assert_allclose(result.S, values[:15], rtol=1e-10)
    for group in (slice(0, 5), slice(5, 12), slice(12, 15)):
        assert subspace_overlap(U[:, group], result.U[:, group]) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("decay", [0.98, 0.9])
@pytest.mark.parametrize(("rank", "block"), [(12, 4), (6, 4), (3, 2), (60, 8)])
def test_more_copies_than_the_block_has_columns(decay, rank, block):
    # a Krylov space of a 4-column block holds 4 copies of a value: the hunt finds the others
    values = np.concatenate([[1.0] * 40, 0.8 * decay ** np.arange(960)])
    places = np.random.default_rng(11).permutation(1000)
    A = sp.csr_matrix((values, (places, np.arange(1000))), shape=(1000, 1000))
    result = truncated_svd(A, rank, method="krylov", block=block, tol=1e-3)
    np.testing.assert_allclose(result.S, values[:rank], rtol=1e-4)
    assert result.report.basis_size < 500


def test_identity_is_one_big_tie():
    result = truncated_svd(sp.eye(900, format="csr"), 100, method="krylov")
    np.testing.assert_allclose(result.S, 1.0, rtol=1e-12)


def test_slow_decay_needs_restarts_and_gets_them():
    values = 1.0 / (1 + 0.002 * np.arange(450))
    A, U, _ = planted(450, 500, values)
    result = truncated_svd(A, 6, method="krylov", block=4, tol=1e-6, max_iter=2000)
    assert result.report.restarts > 0
    assert result.report.converged
    np.testing.assert_allclose(result.S, values[:6], rtol=1e-9)
    assert subspace_overlap(U[:, :6], result.U) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("method", ROUTES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rank_deficient(method, dtype):
    A, U, _ = planted(180, 240, np.linspace(2, 1, 12))
    with pytest.raises(RankError, match="Omega has numerical rank 12, but rank 20") as caught:
        truncated_svd(A, 20, method=method, dtype=dtype, symbol="Omega")
    assert (caught.value.rank, caught.value.got) == (20, 12)
    with pytest.warns(RankWarning, match="numerical rank 12"):
        result = truncated_svd(A, 20, method=method, dtype=dtype, on_rank="warn")
    assert result.rank == result.report.numerical_rank == 12
    assert result.report.asked_rank == 20
    np.testing.assert_allclose(result.S, np.linspace(2, 1, 12), rtol=1e-5)
    assert subspace_overlap(U, result.U) == pytest.approx(1, abs=1e-5)
    exact = truncated_svd(A, 12, method=method, dtype=dtype)
    np.testing.assert_allclose(exact.S, result.S, rtol=1e-5)


@pytest.mark.parametrize("method", ROUTES)
def test_empty_rows_and_columns_stay_exactly_empty(method):
    A, _, _ = planted(100, 160, np.linspace(3, 1, 20))
    wide = np.zeros((170, 230))
    rows = np.sort(np.random.default_rng(3).permutation(170)[:100])
    columns = np.sort(np.random.default_rng(4).permutation(230)[:160])
    wide[np.ix_(rows, columns)] = A
    for matrix in (sp.csr_matrix(wide), sp.csr_matrix(wide.T)):
        result = truncated_svd(matrix, 20, method=method)
        np.testing.assert_allclose(result.S, np.linspace(3, 1, 20), rtol=1e-10)
        check_triplets(matrix, result, atol=1e-7)
        empty_rows = np.diff(matrix.indptr) == 0
        empty_columns = np.diff(matrix.tocsc().indptr) == 0
        tolerance = 0 if method == "krylov" else 1e-12
        assert np.abs(result.U[empty_rows]).max() <= tolerance
        assert np.abs(result.Vt[:, empty_columns]).max() <= tolerance


@pytest.mark.parametrize("method", [*ROUTES, "auto"])
@pytest.mark.parametrize("shape", [(1, 50), (50, 1), (1, 1)])
def test_a_single_row_or_column(method, shape):
    A = np.random.default_rng(5).standard_normal(shape)
    result = truncated_svd(A, 1, method=method)
    np.testing.assert_allclose(result.S, [np.linalg.norm(A)], rtol=1e-12)
    check_triplets(A, result, atol=1e-10)


@pytest.mark.parametrize("method", [*ROUTES, "auto"])
@pytest.mark.parametrize("matrix", [np.zeros((30, 40)), sp.csr_matrix((30, 40)), np.zeros((0, 5))])
def test_all_zero(method, matrix):
    with pytest.raises(RankError, match="numerical rank 0, but rank 3"):
        truncated_svd(matrix, 3, method=method)
    with pytest.warns(RankWarning):
        result = truncated_svd(matrix, 3, method=method, on_rank="warn")
    assert result.U.shape == (matrix.shape[0], 0)
    assert result.Vt.shape == (0, matrix.shape[1])
    assert result.report.worst_residual == 0


@pytest.mark.parametrize("method", ROUTES)
def test_rank_above_the_shorter_side(method):
    A = np.random.default_rng(6).standard_normal((5, 60))
    with pytest.raises(RankError, match="rank 5, but rank 9"):
        truncated_svd(A, 9, method=method)
    result = truncated_svd(A, 5, method=method)
    np.testing.assert_allclose(result.S, np.linalg.svd(A, compute_uv=False), rtol=1e-10)


@pytest.mark.parametrize("method", ROUTES)
def test_implicit_product_is_the_product(method):
    rng = np.random.default_rng(7)
    Phi = sp.random(500, 90, density=0.1, random_state=rng, format="csr")
    Psi = sp.random(500, 130, density=0.1, random_state=rng, format="csr")
    explicit = (Phi.T @ Psi).toarray()
    result = truncated_svd(Product(Phi.T, Psi), 15, method=method)
    np.testing.assert_allclose(
        result.S, np.linalg.svd(explicit, compute_uv=False)[:15], rtol=1e-10
    )
    check_triplets(explicit, result, atol=1e-7)


def test_composed_operator():
    rng = np.random.default_rng(8)
    A = sp.random(80, 60, density=0.2, random_state=rng, format="csr")
    B = rng.standard_normal((80, 30))
    rows = rng.uniform(0.5, 2, 80)
    operator = Scaled(HStack([Product(A, A.T), B]), rows=rows)
    dense = A.toarray()
    explicit = rows[:, None] * np.hstack([dense @ dense.T, B])
    result = truncated_svd(operator, 10, method="krylov")
    np.testing.assert_allclose(
        result.S, np.linalg.svd(explicit, compute_uv=False)[:10], rtol=1e-10
    )


@settings(max_examples=40, deadline=None)
@given(
    m=st.integers(1, 60),
    n=st.integers(1, 60),
    density=st.floats(0, 1),
    seed=st.integers(0, 10**6),
    block=st.integers(1, 40),
    data=st.data(),
)
def test_krylov_agrees_with_lapack_on_any_matrix(m, n, density, seed, block, data):
    rng = np.random.default_rng(seed)
    A = sp.random(m, n, density=density, random_state=rng, format="csr")
    A.data = np.round(A.data * 4)  # small integers: ties and rank deficiency are common
    rank = data.draw(st.integers(1, min(m, n)))
    truth = np.linalg.svd(A.toarray(), compute_uv=False)
    numerical = int((truth > 1e-12 * max(truth[0], 1e-300)).sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        result = truncated_svd(A, rank, method="krylov", block=block, on_rank="warn")
    assert result.rank == min(rank, numerical)
    np.testing.assert_allclose(result.S, truth[: result.rank], rtol=1e-8, atol=1e-10)
    check_triplets(A, result, atol=1e-7)
    assert result.report.converged


@pytest.mark.parametrize("method", ROUTES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_answer_every_run(method, dtype):
    A = sp.random(300, 500, density=0.05, random_state=np.random.default_rng(9), format="csr")
    one, two = (truncated_svd(A, 12, method=method, dtype=dtype) for _ in range(2))
    np.testing.assert_array_equal(one.U, two.U)
    np.testing.assert_array_equal(one.S, two.S)
    np.testing.assert_array_equal(one.Vt, two.Vt)


def test_routes_and_seeds_agree_on_vectors_with_their_signs():
    A, _, _ = planted(200, 300, 2.0 * 0.8 ** np.arange(40))
    results = [truncated_svd(A, 8, method=method, seed=s) for method in ROUTES for s in (0, 1)]
    for other in results[1:]:
        np.testing.assert_allclose(other.U, results[0].U, rtol=0, atol=1e-8)
        np.testing.assert_allclose(other.Vt, results[0].Vt, rtol=0, atol=1e-8)


def test_report_tells_the_truth_about_residuals():
    A, _, _ = planted(300, 500, 1.0 / np.arange(1, 250))
    result = truncated_svd(A, 30, method="krylov", tol=1e-3)
    right = np.linalg.norm(A @ result.Vt.T - result.U * result.S, axis=0) / result.S[0]
    left = np.linalg.norm(A.T @ result.U - result.Vt.T * result.S, axis=0) / result.S[0]
    np.testing.assert_allclose(result.report.right_residuals, right, rtol=1e-3, atol=1e-14)
    np.testing.assert_allclose(result.report.left_residuals, left, rtol=1e-3, atol=1e-13)
    assert result.report.worst_residual <= 1e-3
    tall = truncated_svd(A.T, 30, method="krylov", tol=1e-3)
    np.testing.assert_allclose(tall.report.left_residuals, right, rtol=1e-3, atol=1e-14)
    assert "converged, worst residual" in str(result.report)


def test_too_few_iterations_are_not_passed_over_in_silence():
    values = 1.0 / (1 + 0.002 * np.arange(300))
    A, _, _ = planted(300, 400, values)
    with pytest.warns(ConvergenceWarning, match="NOT converged"):
        result = truncated_svd(A, 20, method="krylov", block=8, max_iter=3)
    assert not result.report.converged
    assert result.report.worst_residual > 1e-8


def test_overlap_setting_stops_earlier_and_keeps_its_word():
    values = 1.0 / np.sqrt(np.arange(1, 500))
    A, U, _ = planted(500, 600, values)
    loose = truncated_svd(A, 30, method="krylov", overlap=0.99, block=8)
    tight = truncated_svd(A, 30, method="krylov", block=8)
    assert loose.report.products < tight.report.products
    assert loose.report.converged
    assert subspace_overlap(U[:, :30], loose.U) >= 0.99
    assert subspace_overlap(U[:, :30], tight.U) == pytest.approx(1, abs=1e-9)


def test_signs_are_fixed_by_the_largest_entry():
    U = np.array([[0.1, -0.5, 0.5], [-0.9, 0.5, -0.5 - 1e-15], [0.3, 0.1, 0.5]])
    Vt = np.arange(6.0).reshape(3, 2)
    fixed, turned = fix_signs(U, Vt)
    np.testing.assert_array_equal(fixed, U * [-1, -1, 1])
    np.testing.assert_array_equal(turned, Vt * np.array([-1, -1, 1])[:, None])
    assert fix_signs(np.zeros((3, 0)), np.zeros((0, 2)))[0].shape == (3, 0)


@pytest.mark.parametrize("method", ROUTES)
def test_signs_of_results(method):
    A = np.random.default_rng(10).standard_normal((40, 30))
    U = truncated_svd(A, 6, method=method).U
    assert (U[np.abs(U).argmax(axis=0), np.arange(6)] > 0).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"rank": 0},
        {"rank": 1.5},
        {"rank": True},
        {"method": "magic"},
        {"dtype": np.int64},
        {"on_rank": "pray"},
        {"overlap": 1.0},
        {"tol": 0.0},
        {"seed": -1},
    ],
)
def test_bad_settings(wrong):
    arguments = {"rank": 2, "method": "krylov"} | wrong
    with pytest.raises(SettingsError):
        truncated_svd(np.eye(4), **arguments)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none(bad):
    with pytest.raises(DataError, match="NaN or infinity"):
        truncated_svd(np.array([[1.0, bad]]), 1)
    with pytest.raises(DataError, match="NaN or infinity"):
        truncated_svd(sp.csr_matrix([[1.0, bad]]), 1)


def test_integer_counts_are_taken():
    C = sp.csr_matrix(np.array([[3, 0], [0, 4]], dtype=np.int64))
    np.testing.assert_allclose(truncated_svd(C, 2).S, [4, 3], rtol=1e-12)
