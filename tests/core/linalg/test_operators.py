"""Every operator against the matrix it stands for, written out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.linalg import matrices
from eigentext.linalg.cca import HStack, Product, Scaled
from eigentext.linalg.matrices import as_operator


def draw_sparse(m, n, seed, density=0.3):
    return sp.random(m, n, density=density, random_state=np.random.default_rng(seed), format="csr")


def cases():
    rng = np.random.default_rng(0)
    A, B = draw_sparse(7, 5, 1), rng.standard_normal((7, 4))
    a, b = A.toarray(), B
    r, c = (rng.standard_normal(k) for k in (7, 5))
    yield "sparse", as_operator(A), a
    yield "coo", as_operator(A.tocoo()), a
    yield "dense", as_operator(B), b
    yield "product", Product(A.T, B), a.T @ b
    yield "nested product", Product(Product(A.T, B), B.T), a.T @ b @ b.T
    yield "rows", Scaled(A, rows=r), r[:, None] * a
    yield "columns", Scaled(A, columns=c), a * c
    yield "both", Scaled(A, rows=r, columns=c), r[:, None] * a * c
    yield "stack", HStack([A, B, A]), np.hstack([a, b, a])
    yield "stack of one", HStack([A]), a
    yield (
        "all at once",
        Scaled(HStack([Product(A, A.T), B]), rows=r),
        r[:, None] * np.hstack([a @ a.T, b]),
    )


@pytest.mark.parametrize(("operator", "dense"), [pytest.param(o, d, id=n) for n, o, d in cases()])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_operator_is_its_matrix(operator, dense, dtype):
    rng = np.random.default_rng(2)
    rtol = 1e-4 if dtype == np.float32 else 1e-12
    cast = operator.astype(dtype)
    assert cast.dtype == dtype
    for op, matrix in ((cast, dense), (cast.T, dense.T), (cast.T.T, dense)):
        assert op.shape == matrix.shape
        x = rng.standard_normal((matrix.shape[1], 3)).astype(dtype)
        y = rng.standard_normal((matrix.shape[0], 3)).astype(dtype)
        np.testing.assert_allclose(op.matmat(x), matrix @ x, rtol=rtol, atol=rtol)
        np.testing.assert_allclose(op @ x, matrix @ x, rtol=rtol, atol=rtol)
        np.testing.assert_allclose(op.rmatmat(y), matrix.T @ y, rtol=rtol, atol=rtol)
        np.testing.assert_allclose(op.to_dense(), matrix, rtol=rtol, atol=rtol)
        assert op.matmat(x).dtype == dtype
        # support may say True too often, never False where there is something
        assert not matrix[~op.row_support()].any()
        assert not matrix[:, ~op.column_support()].any()
        assert op.is_finite()


def test_support_sees_empty_rows_and_columns():
    A = sp.csr_matrix(np.array([[0, 0, 0], [1, 0, 2], [0, 0, 0]]))
    for operator in (as_operator(A), as_operator(A.toarray()), HStack([A]), Product(A, np.eye(3))):
        assert operator.row_support().tolist() == [False, True, False]
    assert as_operator(A).column_support().tolist() == [True, False, True]
    assert as_operator(A.toarray()).T.row_support().tolist() == [True, False, True]
    assert Scaled(A, rows=np.array([1.0, 0.0, 1.0])).row_support().tolist() == [False] * 3


def test_what_is_not_finite_is_seen_everywhere():
    good, bad = np.eye(2), np.array([[np.nan, 0], [0, 1]])
    broken = np.array([np.inf, 1])
    for operator in (
        as_operator(bad),
        as_operator(sp.csr_matrix(bad)),
        Product(good, bad),
        HStack([good, bad]),
        Scaled(good, rows=broken),
        Scaled(good, columns=broken),
        as_operator(bad).T,
    ):
        assert not operator.is_finite()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=30, deadline=None)
@given(
    m=st.integers(0, 40),
    n=st.integers(1, 40),
    width=st.sampled_from([4, 5, 63, 64, 65, 130]),
    density=st.floats(0, 1),
    seed=st.integers(0, 10**6),
)
def test_compiled_product_is_scipys(dtype, m, n, width, density, seed):
    matrix = draw_sparse(m, n, seed, density).astype(dtype)
    x = np.random.default_rng(seed).standard_normal((n, width)).astype(dtype)
    kept = matrices._KERNEL_NONZEROS
    try:
        matrices._KERNEL_NONZEROS = 0
        ours = as_operator(matrix).matmat(x)
        fortran = as_operator(matrix).matmat(np.asfortranarray(x))
    finally:
        matrices._KERNEL_NONZEROS = kept
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(ours, matrix @ x, rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(ours, fortran)


def test_large_product_takes_the_compiled_road():
    matrix = draw_sparse(2000, 1500, 3, density=0.12)
    assert matrix.nnz > matrices._KERNEL_NONZEROS
    x = np.random.default_rng(4).standard_normal((1500, 70))
    y = np.random.default_rng(5).standard_normal((2000, 70))
    operator = as_operator(matrix)
    np.testing.assert_allclose(operator.matmat(x), matrix @ x, rtol=0, atol=1e-10)
    np.testing.assert_allclose(operator.rmatmat(y), matrix.T @ y, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Product(np.eye(2), np.eye(3)), "inner sizes"),
        (lambda: Scaled(np.eye(2), rows=np.ones(3)), "row scales"),
        (lambda: Scaled(np.eye(2), columns=np.ones(3)), "column scales"),
        (lambda: HStack([np.eye(2), np.eye(3)]), "rows"),
        (lambda: as_operator(np.ones(3)), "1 axes"),
    ],
)
def test_shapes_that_do_not_fit(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_writing_out_a_long_product_takes_the_smaller_identity():
    rng = np.random.default_rng(0)
    wide = as_operator(rng.standard_normal((3, 200_000)))  # its larger identity has 320 GB
    product = Product(as_operator(np.eye(2, 3)), wide)
    np.testing.assert_allclose(product.to_dense(), wide.to_dense()[:2])
    np.testing.assert_allclose(product.T.to_dense(), wide.to_dense()[:2].T)
