from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eigentext.errors import DataError, SettingsError
from eigentext.linalg.scaling import cca_scale, log_transform, ppmi, sqrt_transform

tables = arrays(
    np.int64,
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    elements=st.integers(0, 50) | st.just(0) | st.integers(0, 2**40),
)


@settings(max_examples=80, deadline=None)
@given(tables, st.sampled_from([0.0, 0.5, 200.0]))
def test_cca_scale_by_the_formula(table, kappa):
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    scaled = cca_scale(sp.csr_matrix(table), rows, columns, kappa)
    assert sp.issparse(scaled)
    assert scaled.nnz == np.count_nonzero(table)
    for (i, j), count in np.ndenumerate(table):
        expected = count and count / np.sqrt(float(rows[i] + kappa) * float(columns[j] + kappa))
        assert scaled[i, j] == pytest.approx(expected, rel=1e-12)
    default = cca_scale(sp.csr_matrix(table), kappa=kappa)
    np.testing.assert_array_equal(default.toarray(), scaled.toarray())


@settings(max_examples=80, deadline=None)
@given(tables, st.sampled_from([1.0, 5.0]))
def test_ppmi_by_the_formula(table, shift):
    result = ppmi(sp.csr_matrix(table), shift=shift)
    total = float(table.sum())
    for (i, j), count in np.ndenumerate(table):
        expected = 0.0
        if count:
            ratio = count * total / (float(table[i].sum()) * float(table[:, j].sum()))
            expected = max(0.0, np.log(ratio) - np.log(shift))
        assert result[i, j] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert (result.data > 0).all()


@settings(max_examples=40, deadline=None)
@given(tables)
def test_transforms_keep_zeros_and_the_input(table):
    counts = sp.csr_matrix(table)
    np.testing.assert_allclose(sqrt_transform(counts).toarray(), np.sqrt(table), rtol=1e-15)
    np.testing.assert_allclose(log_transform(counts).toarray(), np.log1p(table), rtol=1e-15)
    np.testing.assert_array_equal(counts.toarray(), table)
    assert counts.dtype == np.int64


def test_first_singular_value_is_one_without_smoothing():
    table = np.random.default_rng(0).integers(0, 9, (20, 30))
    omega = cca_scale(sp.csr_matrix(table)).toarray()
    assert np.linalg.norm(omega, 2) == pytest.approx(1, rel=1e-12)
    assert np.linalg.norm(cca_scale(sp.csr_matrix(table), kappa=5.0).toarray(), 2) < 1


def test_dtype_and_formats():
    counts = sp.coo_matrix(np.array([[1, 2], [0, 3]]))
    assert cca_scale(counts, kappa=1.0, dtype=np.float32).dtype == np.float32
    array = sp.csr_array(np.array([[1, 2], [0, 3]]))
    np.testing.assert_allclose(
        cca_scale(array, kappa=1.0).toarray(), cca_scale(counts, kappa=1.0).toarray(), rtol=1e-15
    )


def test_an_empty_matrix_passes():
    empty = sp.csr_matrix((2, 3), dtype=np.int64)
    for scale in (cca_scale, sqrt_transform, log_transform, ppmi):
        assert scale(empty).shape == (2, 3)
        assert scale(empty).nnz == 0


@pytest.mark.parametrize("scale", [cca_scale, sqrt_transform, log_transform, ppmi])
def test_bad_counts(scale):
    with pytest.raises(DataError, match="negative"):
        scale(sp.csr_matrix(np.array([[-1]])))
    with pytest.raises(DataError, match="non-finite"):
        scale(sp.csr_matrix(np.array([[np.nan]])))
    with pytest.raises(TypeError, match="sparse matrix is meant, not ndarray"):
        scale(np.ones((2, 2)))


def test_bad_totals_and_settings():
    counts = sp.csr_matrix(np.array([[1, 2]]))
    with pytest.raises(ValueError, match="row totals"):
        cca_scale(counts, np.ones(2), np.ones(2))
    with pytest.raises(DataError, match="column totals"):
        cca_scale(counts, np.ones(1), np.array([1, -1]))
    with pytest.raises(DataError, match="total 0"):
        ppmi(counts, np.ones(1), np.array([0, 1]))
    for kappa in (-1.0, np.nan):
        with pytest.raises(SettingsError, match="kappa"):
            cca_scale(counts, kappa=kappa)
    with pytest.raises(SettingsError, match="shift"):
        ppmi(counts, shift=0.0)


def test_ppmi_takes_n_from_the_rows_totals():
    counts = sp.csr_matrix(np.array([[2, 0], [0, 2]]))
    found = ppmi(counts, np.array([4.0, 4.0]), np.array([2.0, 2.0]))
    assert found.toarray().diagonal() == pytest.approx(np.log([2.0, 2.0]))  # 2 * 8 / (4 * 2)
