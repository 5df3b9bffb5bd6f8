from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.errors import DataError
from eigentext.linalg import tensors
from eigentext.linalg.tensors import change_basis, contract_children, contract_right, third_moment

sizes = st.tuples(*[st.integers(1, 5)] * 4)


def drawn(size, seed):
    n, p, left, right = size
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((p, left, right))
    return D, *(rng.standard_normal((n, d)) for d in (p, left, right))


@settings(max_examples=50, deadline=None)
@given(sizes, st.integers(0, 1000))
def test_contractions_by_einsum(size, seed):
    D, _, L, R = drawn(size, seed)
    same = {"rtol": 1e-10, "atol": 1e-12}
    cases = [(contract_children, (L, R), "plr,nl,nr->np"), (contract_right, (R,), "plr,nr->npl")]
    for function, vectors, formula in cases:
        expected = np.einsum(formula, D, *vectors)
        np.testing.assert_allclose(function(D, *vectors), expected, **same)
        alone = function(D, *(v[0] for v in vectors))
        np.testing.assert_allclose(alone, expected[0], **same)


@settings(max_examples=30, deadline=None)
@given(sizes, st.integers(0, 1000))
def test_change_of_basis_by_einsum(size, seed):
    D, P, L, R = drawn(size, seed)
    expected = np.einsum("ap,bl,cr,plr->abc", P, L, R, D)
    np.testing.assert_allclose(change_basis(D, P, L, R), expected, rtol=1e-10, atol=1e-12)


def test_a_basis_and_its_inverse_cancel():
    D, *_ = drawn((1, 3, 3, 3), 0)
    rng = np.random.default_rng(1)
    P, L, R, v, w = *(rng.standard_normal((3, 3)) for _ in range(3)), *rng.standard_normal((2, 3))
    turned = change_basis(D, P, np.linalg.inv(L).T, np.linalg.inv(R).T)
    np.testing.assert_allclose(
        contract_children(turned, L @ v, R @ w), P @ contract_children(D, v, w), rtol=1e-8
    )


@settings(max_examples=40, deadline=None)
@given(sizes, st.integers(0, 1000), st.integers(1, 40))
def test_third_moment_by_einsum_in_any_blocks(size, seed, cells):
    _, P, L, R = drawn(size, seed)
    weights = np.random.default_rng(seed).random(len(P))
    kept = tensors._PAIR_CELLS
    try:
        tensors._PAIR_CELLS = cells
        ours = third_moment(sp.csr_matrix(P), L, sp.csc_matrix(R), weights)
    finally:
        tensors._PAIR_CELLS = kept
    expected = np.einsum("t,tp,tl,tr->plr", weights, P, L, R)
    np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-12)


def test_axis_order_is_parent_left_right():
    P, L, R = np.eye(2)[[0]], np.eye(3)[[1]], np.eye(4)[[2]]
    M = third_moment(P, L, R, np.ones(1))
    assert M.shape == (2, 3, 4)
    assert np.argwhere(M).tolist() == [[0, 1, 2]]
    assert contract_children(M, L[0], R[0]).tolist() == P[0].tolist()


def test_what_does_not_fit():
    ones = np.ones((2, 3))
    with pytest.raises(ValueError, match="one number"):
        third_moment(ones, ones, ones[:1], np.ones(2))
    with pytest.raises(ValueError, match="one number"):
        third_moment(ones, ones, ones, np.ones(1))
    with pytest.raises(DataError, match="no rows"):
        third_moment(np.ones((0, 1)), np.ones((0, 1)), np.ones((0, 1)), np.ones(0))
