"""Where the numbers leave a choice, rounding must not make it.

Another processor changes the last digits.  So do we: every answer here is asked for twice, the
second time with inputs that differ by 1e-14 of themselves, or turned by an orthogonal matrix.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from eigentext.linalg.scaling import cca_scale
from eigentext.linalg.svd import truncated_svd
from eigentext.linalg.ties import (
    canonical_turn,
    clear_of_noise,
    counting_noise,
    number_alike,
    principal_axes,
    tied_stretches,
    unit_rows,
)

SEEDS = range(5)


def jittered(x, seed):
    return x * (1 + 1e-14 * np.random.default_rng(seed).standard_normal(x.shape))


def orthogonal(n, seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]


def blocks(sizes):
    """A block diagonal matrix of ones at length 1: every singular value is 1."""
    parts = [np.full((n, n + 1), 1 / np.sqrt(n * (n + 1))) for n in sizes]
    return sp.block_diag(parts).toarray()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_tied_space_has_one_basis(seed):
    basis = np.linalg.qr(np.random.default_rng(9).standard_normal((7, 3)))[0]
    first = basis @ canonical_turn(basis)
    turned = basis @ orthogonal(3, seed)
    turn = canonical_turn(turned)
    np.testing.assert_allclose(turn.T @ turn, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(turned @ turn, first, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rank", [3, 4])
def test_svd_of_ties_is_the_same_for_any_rounding(rank, seed, dtype):
    # four values of 1: all of them, or three, where the rank cuts through the tie
    A = np.pad(blocks([3, 2, 4, 1]), ((0, 2), (1, 0)))
    Q = orthogonal(A.shape[1], seed)  # another right side: the same left one
    plain, turned = (truncated_svd(X, rank, dtype=dtype) for X in (A, A @ Q))
    off = 1e-4 if dtype is np.float32 else 1e-9
    np.testing.assert_allclose(plain.U, turned.U, atol=off)
    np.testing.assert_allclose(plain.Vt @ Q, turned.Vt, atol=off)
    for found, X in ((plain, A), (turned, A @ Q)):
        np.testing.assert_allclose(found.U.T @ X, found.S[:, None] * found.Vt, atol=off)


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_and_columns_without_entries_are_exactly_zero(seed):
    A = np.random.default_rng(seed).standard_normal((9, 6))
    A[[2, 7]] = 0
    A[:, 3] = 0
    for X in (A, A.T):
        found = truncated_svd(X, 4)
        assert (found.U[~X.any(axis=1)] == 0).all()
        assert (found.Vt[:, ~X.any(axis=0)] == 0).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_principal_axes_of_a_symmetric_cloud(seed):
    cloud = np.vstack([np.eye(4)[:3], -np.eye(4)[:3]]) * 3
    plain = principal_axes(cloud.T @ cloud)
    other = jittered(cloud, seed)
    values, axes = principal_axes(other.T @ other)
    np.testing.assert_allclose(values, plain[0], atol=1e-9)
    assert values[-1] == 0
    np.testing.assert_allclose(axes[:, :3], plain[1][:, :3], atol=1e-9)


def test_stretches_are_no_longer_than_the_tie():
    values = np.array([1.0, 1 - 1e-10, 0.5, 0.5 - 8e-10, 0.5 - 16e-10, 0.0])
    assert tied_stretches(values, 1e-9) == [(0, 2), (2, 4)]
    assert tied_stretches(np.zeros(0), 1e-9) == []


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_of_rounding_has_no_direction(dtype):
    rows = np.array([[3, 4], [1e-2, 0], [0, 0]], dtype=dtype)
    rows[2] = np.finfo(dtype).eps * np.array([1, -1])
    assert unit_rows(rows).dtype == dtype
    np.testing.assert_allclose(unit_rows(rows), [[0.6, 0.8], [1, 0], [0, 0]], atol=1e-6)
    assert unit_rows(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_that_are_alike_get_one_number_in_any_basis(seed):
    rows = jittered(np.eye(3)[[2, 0, 2, 1, 0]] @ orthogonal(3, seed), seed)
    assert number_alike(rows, 4).tolist() == [0, 1, 0, 2, 1]
    assert number_alike(rows, 3) is None
    many = np.repeat(rows[:2], 50, axis=0).astype(np.float32)
    assert number_alike(many, 3).tolist() == [0] * 50 + [1] * 50
    assert number_alike(np.vstack([many, rows[3:4].astype(np.float32)]), 3) is None


@pytest.mark.parametrize("seed", SEEDS)
def test_the_noise_of_counting_bounds_what_chance_adds(seed):
    rng = np.random.default_rng(seed)
    # independent rows and columns: the true matrix has one direction, the rest is chance
    mean = np.outer(rng.gamma(2, 20, 60), rng.gamma(2, 0.05, 90))
    counts = sp.csr_array(rng.poisson(mean))
    totals = np.asarray(counts.sum(axis=1)), np.asarray(counts.sum(axis=0))
    noise = counting_noise(counts, *totals, 10.0)
    values = np.linalg.svd(cca_scale(counts, *totals, 10.0).toarray(), compute_uv=False)
    assert 0.5 * noise < values[1] < 1.1 * noise
    assert values[0] > 2 * noise


def test_only_a_cliff_is_cut():
    assert clear_of_noise(np.array([0.9, 0.8, 0.1]), 0.2) == 2
    assert clear_of_noise(np.array([0.9, 0.8, 0.3, 0.1]), 0.2) == 4, "a gentle slope"
    assert clear_of_noise(np.array([0.9, 0.1]), 0.2) == 2, "frequency alone"
    assert clear_of_noise(np.array([0.9, 0.8]), 0.0) == 2
    assert clear_of_noise(np.zeros(0), 0.2) == 0
