"""The mean of weights by sums of changes, against adding the weights up at every time."""

from __future__ import annotations

import numpy as np
import pytest

from eigentext.base.averaging import Averaged


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_mean_is_that_of_all_times(when):
    """Of the weights before each step, or after it."""
    rng = np.random.default_rng(3)
    learned = Averaged.zeros((2, 3), np.float64)
    counted = []
    for _ in range(20):
        change = rng.normal(size=(2, 3)) * (rng.random((2, 3)) < 0.3)
        if when == "before":
            counted.append(learned.weights.copy())
        learned.sums[:] += len(counted) * change
        learned.weights[:] += change
        if when == "after":
            counted.append(learned.weights.copy())
    np.testing.assert_allclose(learned.mean(20), np.mean(counted, axis=0), atol=1e-12)


def test_rows_that_are_added_or_left_out_change_nothing():
    learned = Averaged.zeros((1, 2))
    learned.weights[0] += [3.0, 1.0]
    learned.sums[0] += [2.0, 0.0]
    larger = learned.doubled()
    assert larger.mean(4).tolist() == [[2.5, 1.0], [0.0, 0.0]]
    assert larger.first(1).mean(4).tolist() == learned.mean(4).tolist()
    assert larger.mean(4).dtype == np.float32


def test_before_any_time_the_mean_is_the_weights():
    assert Averaged.zeros(2).mean(0).tolist() == [0.0, 0.0]


def test_the_last_mean_takes_the_place_of_the_weights() -> None:
    rng = np.random.default_rng(3)
    learned = Averaged(rng.normal(size=7).astype(np.float32), rng.normal(size=7))
    before = learned.mean(5)
    last = learned.mean(5, last=True)
    assert last is learned.weights
    assert np.array_equal(last, before)
