"""States by CCA and k-means: planted ones are found, labels do not touch each other."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from eigentext.features.spectrum import scaled_rows
from eigentext.features.states import kmeans_states, states_by_label

EITHER = pytest.mark.parametrize("seed_rows", [None, 100])


def _kmeans(seed_rows=None, fit_rows=12_000):
    return partial(kmeans_states, fit_rows=fit_rows, seed_rows=seed_rows)


def _planted(n_nodes, seed=0):
    """Three labels; nodes of label 1 have two hidden kinds that both views tell apart."""
    rng = np.random.default_rng(seed)
    label = rng.integers(3, size=n_nodes)
    kind = rng.integers(2, size=n_nodes)
    told = np.where(label == 1, kind, 0)
    inside, outside = (
        np.stack([20 + told, 100 * side + rng.integers(2, size=n_nodes)], axis=1).astype(np.uint64)
        for side in (1, 2)
    )
    return label, told, inside, outside


def _views(inside, outside):
    return lambda nodes, rng: (scaled_rows(inside[nodes], 1.0), scaled_rows(outside[nodes], 1.0))


def _same_parts(a, b):
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(set(a)) == len(set(b))


@EITHER
@pytest.mark.parametrize("leave_out", [0, 1])
def test_planted_states_are_found(seed_rows, leave_out):
    label, kind, inside, outside = _planted(900)
    found = states_by_label(
        label,
        4,  # the last label has no nodes
        _views(inside, outside),
        _kmeans(seed_rows),
        most_states=2,
        per_state=100,
        seed=3,
        leave_out=leave_out,
    )
    assert found.m.tolist() == [2, 2, 2, 1]
    assert _same_parts(found.state[label == 1], kind[label == 1])
    assert len(found.spectra.at(1)) >= 2
    assert not len(found.spectra.at(3))


def test_a_label_with_few_nodes_has_one_state():
    label, _, inside, outside = _planted(900)
    seen = []

    def views(nodes, rng):
        seen.append(set(label[nodes].tolist()))
        return _views(inside, outside)(nodes, rng)

    many = int((label == 1).sum())
    few = np.flatnonzero((label == 1) | (np.arange(900) < 150))
    label, inside, outside = label[few], inside[few], outside[few]
    found = states_by_label(label, 3, views, _kmeans(), most_states=2, per_state=many // 2, seed=3)
    assert found.m.tolist() == [1, 2, 1]
    assert seen == [{1}]  # nothing is computed for the others
    assert not found.state[label != 1].any()


def test_states_of_a_label_do_not_depend_on_the_other_labels():
    label, _, inside, outside = _planted(900)
    kept = label > 0
    of_all, of_some = (
        states_by_label(
            label[rows],
            3,
            _views(inside[rows], outside[rows]),
            _kmeans(),
            most_states=3,
            per_state=50,
            seed=3,
        )
        for rows in (np.full(900, True), kept)
    )
    assert of_all.state[kept].tolist() == of_some.state.tolist()


def test_auto_asks_the_spectrum():
    label, _, inside, outside = _planted(900)
    found = states_by_label(
        label,
        3,
        _views(inside[:, :1], outside[:, :1]),  # nothing but the kinds: two directions, or one
        _kmeans(),
        most_states=6,
        per_state=10,
        seed=0,
        auto=True,
    )
    assert found.m.tolist() == [1, 2, 1]


@EITHER
def test_rows_beyond_those_that_are_fitted_are_assigned(seed_rows):
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=400)
    X = (np.eye(3)[kind] + 0.01 * rng.standard_normal((400, 3))).astype(np.float32)
    assert _same_parts(_kmeans(seed_rows, fit_rows=150)(X, 3, rng), kind)


@EITHER
def test_nodes_that_are_alike_make_no_noise(seed_rows):
    """Three kinds of nodes but for rounding, eight states: some stay empty, without a warning."""
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(3, 8), 40, axis=0) + 2e-7 * rng.standard_normal((120, 8))
    state = _kmeans(seed_rows)(X.astype(np.float32), 8, rng)  # here warnings are errors
    kinds = [set(state[at : at + 40].tolist()) for at in (0, 40, 80)]
    assert not kinds[0] & kinds[1]
    assert not kinds[1] & kinds[2]


@pytest.mark.parametrize("seed", range(4))
def test_nodes_that_are_alike_to_rounding_share_a_state(seed):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    rows = (np.eye(3)[[2, 0, 2, 2, 0]] @ turn).astype(np.float32)
    rows *= 1 + 1e-7 * rng.standard_normal(rows.shape).astype(np.float32)
    # two kinds of nodes for four states: numbered by appearance, in any basis
    assert _kmeans()(rows, 4, rng).tolist() == [0, 1, 0, 0, 1]
