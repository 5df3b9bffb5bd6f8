"""Sums of products: tensors of known rank come back, and no step makes a fit worse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.lab.products.rules import Products, cp_fit
from oracle.products import cp_of_slices


def of_rank(rng, shape, rank, *, signed, n=1):
    draw = rng.standard_normal if signed else rng.random
    return Products(*(draw((n, m, rank)) for m in shape))


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_tensor_of_known_rank_comes_back(signed, rank):
    rng = np.random.default_rng([rank, signed])
    true = of_rank(rng, (8, 7, 9), rank, signed=signed, n=4)
    found, error = cp_fit(true.whole(), rank, signed=signed, n_iter=5000, tol=1e-12)
    assert error.max() < 1e-6
    assert signed or min(X.min() for X in found) >= 0
    # the products themselves are unique: each true one is among those found
    for n in range(4):
        apart = [
            min(
                np.abs(product(true, n, j) - product(found, n, k)).max()
                / product(true, n, j).max()
                for k in range(rank)
            )
            for j in range(rank)
        ]
        assert max(apart) < 1e-4


def product(found, n, k):
    return np.einsum("x,y,z->xyz", *(np.asarray(X)[n, :, k] for X in found))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), signed=st.booleans())
def test_more_steps_are_never_worse_and_a_stack_is_fitted_one_by_one(seed, signed):
    rng = np.random.default_rng(seed)
    tensors = rng.standard_normal((3, 4, 3, 5)) if signed else rng.random((3, 4, 3, 5))
    errors = [cp_fit(tensors, 2, signed=signed, n_iter=n, tol=-1.0)[1] for n in (1, 5, 25)]
    assert np.all(errors[1] <= errors[0] + 1e-9)
    assert np.all(errors[2] <= errors[1] + 1e-9)
    alone = cp_fit(tensors[1:2], 2, signed=signed, n_iter=25, tol=-1.0)[1]
    np.testing.assert_allclose(alone, errors[2][1:2], rtol=1e-6)


def test_nothing_and_ties_are_no_trouble():
    found, error = cp_fit(np.zeros((2, 3, 3, 3)), 2, signed=False)
    assert not found.whole().any()
    assert not error.any()
    ones = np.zeros((1, 2, 2, 2))
    ones[0, 0, 0, 0] = ones[0, 1, 1, 1] = 1.0
    np.testing.assert_allclose(cp_fit(ones, 2, signed=False)[0].whole(), ones, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), shape=st.tuples(*[st.integers(1, 5)] * 3))
def test_slices_are_exact(seed, shape):
    tensors = np.random.default_rng(seed).standard_normal((2, *shape))
    np.testing.assert_array_equal(cp_of_slices(tensors).whole(), tensors)
