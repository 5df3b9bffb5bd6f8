"""Feature rows and their spectrum against dense linear algebra."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigentext.features.spectrum import FeatureRows, omega_svd, scaled_rows

FEATURES = hnp.arrays(
    np.uint64,
    st.tuples(st.integers(1, 30), st.integers(1, 5)),
    elements=st.one_of(st.integers(0, 6), st.integers(2**64 - 3, 2**64 - 1), st.just(2**40)),
)


def dense(rows: FeatureRows) -> np.ndarray:
    out = np.zeros((len(rows.columns), rows.width))
    for i, (columns, values) in enumerate(zip(rows.columns, rows.values, strict=True)):
        np.add.at(out[i], columns, values)
    return out


@settings(deadline=None)
@given(FEATURES, st.sampled_from([0.0, 5.0]))
def test_rows_are_numbered_and_scaled_as_by_sorting(features, kappa):
    rows = scaled_rows(features, kappa)
    different, number, count = np.unique(features, return_inverse=True, return_counts=True)
    assert rows.width == len(different)
    # the same numbers up to their names: the map between the two is one to one
    pairs = set(zip(number.reshape(-1).tolist(), rows.columns.reshape(-1).tolist(), strict=True))
    assert len(pairs) == len(different)
    expected = np.sqrt(len(features) / (count + kappa))[number.reshape(features.shape)]
    np.testing.assert_allclose(rows.values, expected, rtol=1e-6)


@settings(deadline=None)
@given(FEATURES, st.integers(0, 2**32 - 1))
def test_products(features, seed):
    rng = np.random.default_rng(seed)
    X = scaled_rows(features, 1.0)
    Y = scaled_rows(rng.integers(0, 5, (len(features), 3)).astype(np.uint64), 1.0)
    W = rng.standard_normal((Y.width, 4)).astype(np.float32)
    np.testing.assert_allclose(Y.times(W), dense(Y) @ W, rtol=1e-4, atol=1e-5)
    expected = dense(X).T @ (dense(Y) @ W)
    np.testing.assert_allclose(X.transposed_times(Y, W), expected, rtol=1e-4, atol=1e-4)


def test_spectrum_is_that_of_the_dense_matrix():
    rng = np.random.default_rng(3)
    kind = rng.choice(5, size=400, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    noise = rng.integers(100, 103, (2, 400))
    Phi = scaled_rows(np.stack([kind, noise[0]], axis=1).astype(np.uint64), 1.0)
    Psi = scaled_rows(np.stack([kind + 10, noise[1]], axis=1).astype(np.uint64), 1.0)
    omega = dense(Phi).T @ dense(Psi) / 400
    U, s, Vt = np.linalg.svd(omega)
    found = omega_svd(Phi, Psi, 4, np.random.default_rng(0), n_iter=6)
    np.testing.assert_allclose(found.s, s[:4], rtol=1e-3)
    # Coordinates: Y = Phi U and Z = Psi V, column by column, up to one common sign.
    for k in range(4):
        sign = np.sign(found.Y[:, k] @ (dense(Phi) @ U[:, k]))
        scale = np.abs(found.Y[:, k]).max()
        np.testing.assert_allclose(found.Y[:, k], sign * dense(Phi) @ U[:, k], atol=0.03 * scale)
        np.testing.assert_allclose(found.Z[:, k], sign * dense(Psi) @ Vt[k], atol=0.03 * scale)


def test_features_that_are_all_dropped_have_no_directions():
    columns = np.zeros((6, 2), np.int32)
    empty = FeatureRows(columns, np.zeros((6, 2), np.float32), 1)
    found = omega_svd(empty, empty, 3, np.random.default_rng(0))
    assert found.s.shape == (0,)
    assert found.Y.shape == found.Z.shape == (6, 0)
