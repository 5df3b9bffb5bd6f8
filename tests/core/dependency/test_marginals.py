"""Marginals and log Z against sums over the list of all trees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigentext.dependency.decoding.constraints import constrained
from eigentext.dependency.decoding.decoders import nonprojective_marginals, projective_marginals
from eigentext.errors import SettingsError
from oracle import dependency_trees

KINDS = ["plain", "tied", "equal", "holes", "large", "small", "mixed"]


def sums(n, arc, sib):
    return [
        (projective_marginals, (arc,), dependency_trees.projective_trees(n), None),
        (projective_marginals, (arc, sib), dependency_trees.projective_trees(n), sib),
        (nonprojective_marginals, (arc,), dependency_trees.all_trees(n), None),
    ]


def check_sums(function, arguments, trees, arc, sib):
    want, want_log_z = dependency_trees.marginals(trees, arc, sib)
    if want is None:
        with pytest.raises(SettingsError, match="is left"):
            function(*arguments)
        return
    got, log_z = function(*arguments)
    finite = np.abs(arc[np.isfinite(arc)]).max()
    slack = 1e-12 * max(1.0, finite)  # one digit of a score of 1e6 is a digit of a logarithm
    assert log_z == pytest.approx(want_log_z, rel=1e-12, abs=slack)
    assert got == pytest.approx(want, abs=10 * slack)
    assert got[:, 1:].sum(axis=0) == pytest.approx(1.0, abs=10 * slack)
    assert got[0].sum() == pytest.approx(1.0, abs=10 * slack)
    assert (got >= 0).all()
    assert (got[:, 0] == 0).all()
    assert (np.diag(got) == 0).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_sums(draw_scores, n, kind):
    for seed in range(10 if n < 5 else 2):
        arc, sib = draw_scores(n, seed, kind)
        for function, arguments, trees, siblings in sums(n, arc, sib):
            check_sums(function, arguments, trees, arc, siblings)


def test_sums_over_six_words(draw_scores):
    arc, sib = draw_scores(6, 0)
    for function, arguments, trees, siblings in sums(6, arc, sib):
        check_sums(function, arguments, trees, arc, siblings)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), n=st.integers(1, 4))
def test_any_scores(data, n):
    values = st.one_of(st.just(-np.inf), st.floats(-1e3, 1e3), st.sampled_from([0.0, 1.0, -1.0]))
    arc = data.draw(hnp.arrays(np.float64, (n + 1, n + 1), elements=values))
    sib = data.draw(
        hnp.arrays(np.float64, (n + 1,) * 3, elements=st.sampled_from([0.0, 1.0, -np.inf, 0.5]))
    )
    for function, arguments, trees, siblings in sums(n, arc, sib):
        check_sums(function, arguments, trees, arc, siblings)


@pytest.mark.parametrize("seed", range(12))
def test_demands(draw_scores, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 5))
    arc, sib = draw_scores(n, seed)
    tree = dependency_trees.projective_trees(n)[rng.integers(7)]
    required = [(tree[1], 2)]
    forbidden = [(h, 1) for h in range(2, n + 1) if h != tree[0]]
    for function, arguments, trees, siblings in sums(n, arc, sib):
        left = [heads for heads in trees if dependency_trees.meets(heads, required, forbidden)]
        check_sums(
            function,
            (constrained(arguments[0], required, forbidden), *arguments[1:]),
            left,
            arc,
            siblings,
        )


def test_a_cycle_that_outweighs_all_else_costs_no_digits():
    # by exp(1000): a determinant by LU would be a difference of equal numbers, or zero
    arc = np.zeros((4, 4))
    arc[1, 2] = arc[2, 1] = 1000.0
    marginals, log_z = nonprojective_marginals(arc)
    # six trees have one of the two arcs: root 1, 1 -> 2, and 3 below 1 or 2; the same with 1 and 2
    # exchanged; root 3, and 3 -> 1 -> 2 or 3 -> 2 -> 1
    assert log_z == pytest.approx(1000.0 + np.log(6), rel=1e-13)
    assert marginals[0, 1:] == pytest.approx([1 / 3] * 3, abs=1e-14)
    assert marginals[1, 2] == pytest.approx(0.5, abs=1e-14)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 30.0])
def test_three_hundred_words(draw_scores, scale):
    arc, _ = draw_scores(300, 0)
    for function in (projective_marginals, nonprojective_marginals):
        marginals, log_z = function(arc * scale)
        assert np.isfinite(log_z)
        assert marginals[:, 1:].sum(axis=0) == pytest.approx(1.0, abs=1e-9)
        assert marginals[0].sum() == pytest.approx(1.0, abs=1e-9)


def test_all_trees_of_a_long_sentence_are_counted():
    n = 60
    _, log_z = nonprojective_marginals(np.zeros((n + 1, n + 1)))
    assert log_z == pytest.approx((n - 1) * np.log(n), rel=1e-13)
