from __future__ import annotations

import numpy as np
import pytest

from eigentext.errors import DataError, RankError, RankWarning, SettingsError
from eigentext.linalg.conditioning import guarded_inverse_sqrt, guarded_pinv


def planted(m, n, values, seed=0):
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((m, len(values))))[0]
    V = np.linalg.qr(rng.standard_normal((n, len(values))))[0]
    return (U * values) @ V.T, U, V


@pytest.mark.parametrize("shape", [(6, 6), (8, 6), (6, 9)])
def test_full_rank_is_numpys_pinv(shape):
    A = np.random.default_rng(1).standard_normal(shape)
    inverse, report = guarded_pinv(A)
    np.testing.assert_allclose(inverse, np.linalg.pinv(A), rtol=1e-9, atol=1e-12)
    assert report.rank == 6
    assert report.condition == pytest.approx(np.linalg.cond(A), rel=1e-9)


def test_small_directions_are_left_out_and_reported():
    A, U, V = planted(5, 7, np.array([4.0, 2.0, 1e-7]))
    inverse, report = guarded_pinv(A, max_condition=1e6, need_rank=2, symbol="Sigma")
    np.testing.assert_allclose(inverse, (V[:, :2] / [4, 2]) @ U[:, :2].T, rtol=0, atol=1e-9)
    assert (report.rank, len(report.singular_values)) == (2, 5)
    assert report.condition == pytest.approx(2)
    assert report.cutoff == pytest.approx(4e-6)
    kept, _ = guarded_pinv(A, max_condition=1e9, need_rank=3)
    assert np.linalg.norm(kept, 2) == pytest.approx(1e7, rel=1e-6)


def test_the_caller_chooses_what_a_low_rank_means():
    A = planted(4, 4, np.array([1.0, 0.5]))[0]
    with pytest.raises(RankError, match="Sigma has numerical rank 2, but rank 4"):
        guarded_pinv(A, symbol="Sigma")
    with pytest.warns(RankWarning, match="rank 2"):
        guarded_pinv(A, on_rank="warn")
    assert guarded_pinv(A, on_rank="ignore")[1].rank == 2
    assert guarded_pinv(A, need_rank=2)[1].rank == 2


def test_ridge():
    A, _, _ = planted(4, 5, np.array([3.0, 1.0, 0.5, 0.1]))
    expected = A.T @ np.linalg.inv(A @ A.T + 0.2 * np.eye(4))
    np.testing.assert_allclose(guarded_pinv(A, ridge=0.2)[0], expected, rtol=1e-9, atol=1e-12)


def test_zero_matrix():
    inverse, report = guarded_pinv(np.zeros((2, 3)), on_rank="ignore")
    assert inverse.shape == (3, 2)
    assert not inverse.any()
    assert report.rank == 0
    assert report.condition == np.inf


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_inverse_root(ridge):
    B = np.random.default_rng(2).standard_normal((20, 5))
    C = B.T @ B
    W = guarded_inverse_sqrt(C, ridge=ridge)
    np.testing.assert_allclose(W, W.T, rtol=0, atol=1e-12)
    np.testing.assert_allclose(W @ (C + ridge * np.eye(5)) @ W, np.eye(5), rtol=0, atol=1e-9)


def test_inverse_root_of_a_deficient_matrix_is_a_projector_there():
    B = np.random.default_rng(3).standard_normal((3, 6))
    C = B.T @ B
    W = guarded_inverse_sqrt(C)
    np.testing.assert_allclose(W @ C @ W, np.linalg.pinv(B) @ B, rtol=0, atol=1e-8)


def test_bad_input():
    with pytest.raises(DataError, match="not symmetric"):
        guarded_inverse_sqrt(np.array([[1.0, 2.0], [0.0, 1.0]]))
    with pytest.raises(DataError, match="eigenvalue"):
        guarded_inverse_sqrt(np.diag([1.0, -1.0]))
    with pytest.raises(DataError, match="NaN"):
        guarded_pinv(np.array([[np.nan]]))
    with pytest.raises(ValueError, match="1 axes"):
        guarded_pinv(np.ones(3))
    for wrong in ({"max_condition": 1.0}, {"ridge": -1.0}):
        with pytest.raises(SettingsError):
            guarded_pinv(np.eye(2), **wrong)
    with pytest.raises(SettingsError, match="on_rank"):
        guarded_pinv(np.eye(2), on_rank="hope")
