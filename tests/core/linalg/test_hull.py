"""Corners and weights of corners, against what they are defined by."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.linalg.hull import convex_weights, corners, simplex_weights


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), m=st.integers(2, 5))
def test_corners_are_found_and_all_else_is_between_them(seed, m):
    rng = np.random.default_rng(seed)
    true = rng.standard_normal((m, m + 1))
    weights = np.vstack([rng.dirichlet(np.ones(m), 20), np.eye(m)])
    order = rng.permutation(len(weights))
    points = (weights @ true)[order]
    found = corners(points, m)
    assert {int(order[at]) for at in found} == set(range(20, 20 + m))
    again = convex_weights(points, points[found])
    np.testing.assert_allclose(again @ points[found], points, atol=1e-7)
    assert again.min() >= 0
    np.testing.assert_allclose(again.sum(axis=1), 1, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 5))
def test_the_nearest_point_of_a_hull_meets_the_conditions_of_optimality(seed, k, dims):
    rng = np.random.default_rng(seed)
    these, points = rng.standard_normal((k, dims)), 2 * rng.standard_normal((7, dims))
    q = simplex_weights(points, these)
    assert (q >= 0).all()
    np.testing.assert_allclose(q.sum(axis=1), 1)
    # at the nearest point no corner lies further towards the point: (p - a_j)'(p - v) <= 0
    nearest = q @ these
    slopes = np.einsum("nd,nkd->nk", nearest - points, nearest[:, None] - these)
    assert (slopes <= 1e-9).all()


@pytest.mark.parametrize("seed", range(5))
def test_both_ways_find_the_same_nearest_point(seed):
    rng = np.random.default_rng(seed)
    these, points = rng.standard_normal((4, 5)), 2 * rng.standard_normal((30, 5))
    exact = simplex_weights(points, these)
    np.testing.assert_allclose(convex_weights(points, these, 2000), exact, atol=1e-6)


def test_mass_says_which_of_two_points_is_the_corner():
    line = np.array([[0.0], [1.0], [-1.0], [0.9]])
    assert corners(line, 1, mass=np.array([1.0, 1.0, 1.0, 9.0])).tolist() == [3]
    assert corners(line, 2).tolist() == [2, 1]  # of the mean 0.225 the farthest, then of that
    assert len(corners(line, 3)) == 2  # a line has two ends


def test_what_has_no_mass_is_no_corner():
    points = np.array([[0.0, 5.0], [0.0, 0.0], [1.0, 0.0]])
    mass = np.array([0.0, 1.0, 1.0])
    assert sorted(corners(points, 3, centre=np.array([0.5, 0.0]), mass=mass).tolist()) == [1, 2]


def test_rounding_is_no_distance():
    flat = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 1e-7]])
    assert len(corners(flat, 3)) == 3
    assert len(corners(flat, 3, nothing=1e-5)) == 2
