"""Paired tests against full enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.errors import SettingsError
from eigentext.evaluate.bootstrap import compare, difference, f1, interval, median_interval

FIRST = [(3, 4, 4), (2, 5, 4), (4, 4, 5), (1, 3, 3)]
SECOND = [(2, 4, 3), (2, 5, 5), (3, 4, 4), (2, 3, 3)]


def figure(rows: list[tuple[int, ...]]) -> float:
    matched, gold, test = map(sum, zip(*rows, strict=True))
    return 200 * matched / (gold + test)


def test_bootstrap_agrees_with_all_resamples() -> None:
    delta = figure(FIRST) - figure(SECOND)
    drawn = np.array(
        [
            figure([FIRST[k] for k in places]) - figure([SECOND[k] for k in places])
            for places in product(range(4), repeat=4)
        ]
    )
    exact = np.mean(np.abs(drawn - delta) >= abs(delta) - 1e-9)
    result = compare(FIRST, SECOND, n_samples=40_000, seed=1)
    assert result.difference == pytest.approx(delta, rel=1e-12)
    assert result.p_value == pytest.approx(exact, abs=0.012)
    assert result.low == pytest.approx(np.percentile(drawn, 2.5), abs=1.5)
    assert result.high == pytest.approx(np.percentile(drawn, 97.5), abs=1.5)


def test_permutation_agrees_with_all_swaps() -> None:
    delta = figure(FIRST) - figure(SECOND)
    hits = []
    for swaps in product([False, True], repeat=4):
        one = [b if swap else a for a, b, swap in zip(FIRST, SECOND, swaps, strict=True)]
        other = [a if swap else b for a, b, swap in zip(FIRST, SECOND, swaps, strict=True)]
        hits.append(abs(figure(one) - figure(other)) >= abs(delta) - 1e-9)
    result = compare(FIRST, SECOND, method="permutation", n_samples=40_000, seed=2)
    assert result.p_value == pytest.approx(np.mean(hits), abs=0.012)


def test_equal_systems_do_not_differ() -> None:
    for method in ("bootstrap", "permutation"):
        result = compare(FIRST, FIRST, method=method, n_samples=200)
        assert (result.p_value, result.difference, result.low, result.high) == (1.0, 0.0, 0.0, 0.0)


def test_a_clear_difference_is_found_and_noise_is_not() -> None:
    rng = np.random.default_rng(5)
    whole = np.full(400, 20)
    base = rng.integers(8, 19, size=400)
    noise = base + rng.integers(-1, 2, size=400)
    better = np.minimum(base + 1, 20)
    for method in ("bootstrap", "permutation"):

        def p_of(counts: np.ndarray, method: str = method) -> float:
            one = np.stack([counts, whole, whole], axis=1)
            other = np.stack([base, whole, whole], axis=1)
            return compare(one, other, method=method, n_samples=2000).p_value

        assert p_of(better) < 0.001
        assert p_of(noise) > 0.01


@given(
    counts=st.lists(
        st.tuples(st.integers(0, 5), st.integers(5, 9), st.integers(5, 9)), min_size=2, max_size=12
    ),
    seed=st.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_deterministic_and_antisymmetric(counts: list[tuple[int, int, int]], seed: int) -> None:
    other = counts[::-1]
    there = compare(counts, other, n_samples=300, seed=seed)
    assert there == compare(counts, other, n_samples=300, seed=seed)
    back = compare(other, counts, n_samples=300, seed=seed)
    assert back.difference == pytest.approx(-there.difference, abs=1e-9)
    assert back.p_value == there.p_value
    assert back.low == pytest.approx(-there.high, abs=1e-9)
    assert 0 < there.p_value <= 1
    assert there.low <= there.high


def test_another_figure() -> None:
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    result = compare(rows, rows * [2, 1], figure=lambda total: total[..., 0] / total[..., 1])
    assert result.first == pytest.approx(4 / 6, rel=1e-12)
    assert result.second == pytest.approx(8 / 6, rel=1e-12)


def test_many_sentences_in_batches() -> None:
    rows = np.tile([[3, 4, 5]], (3_000, 1))
    result = compare(rows, rows, n_samples=2_000)
    assert result.first == pytest.approx(200 * 3 / 9, rel=1e-12)
    assert result.low == result.high == 0.0


def test_f1_of_nothing_is_zero() -> None:
    assert f1(np.zeros((2, 3))).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        (FIRST, SECOND[:2], {}, "not the same sentences"),
        ([], [], {}, "one row of counts per sentence"),
        (FIRST, SECOND, {"n_samples": 0}, "out of range"),
        (FIRST, SECOND, {"confidence": 1.0}, "out of range"),
        (FIRST, SECOND, {"method": "magic"}, "method 'magic'"),
        ([(float("nan"), 1, 1)], [(1, 1, 1)], {}, "not finite"),
    ],
)
def test_bad_settings(first: list, second: list, options: dict, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        compare(first, second, **options)


@pytest.mark.parametrize("method", ["bootstrap", "permutation"])
def test_no_sample_is_as_far_off_and_yet_p_is_not_zero(method):
    better, worse = [(9, 10, 10)] * 40, [(1, 10, 10)] * 40
    assert compare(better, worse, method=method, n_samples=99).p_value == 1 / 100


def test_one_figure_agrees_with_all_resamples() -> None:
    drawn = [figure([FIRST[k] for k in places]) for places in product(range(4), repeat=4)]
    found = interval(FIRST, n_samples=40_000, seed=1)
    assert found.value == pytest.approx(figure(FIRST), rel=1e-12)
    assert found.low == pytest.approx(np.percentile(drawn, 2.5), abs=1.5)
    assert found.high == pytest.approx(np.percentile(drawn, 97.5), abs=1.5)


def test_a_difference_of_other_sentences_agrees_with_all_pairs_of_resamples() -> None:
    ours = [figure([FIRST[k] for k in places]) for places in product(range(4), repeat=4)]
    theirs = [figure([SECOND[k] for k in places]) for places in product(range(3), repeat=3)]
    drawn = [one - other for one in ours for other in theirs]
    found = difference(FIRST, SECOND[:3], n_samples=40_000, seed=1)
    assert found.value == pytest.approx(figure(FIRST) - figure(SECOND[:3]), rel=1e-12)
    assert found.low == pytest.approx(np.percentile(drawn, 2.5), abs=1.5)
    assert found.high == pytest.approx(np.percentile(drawn, 97.5), abs=1.5)


@pytest.mark.parametrize("values", [[1.0, 2.0, 4.0, 9.0], [1.0, 2.0, 4.0, 9.0, 11.0], [5.0]])
def test_the_median_agrees_with_all_resamples(values: list[float]) -> None:
    drawn = [np.median(places) for places in product(values, repeat=len(values))]
    for confidence in (0.5, 0.8, 0.95):
        found = median_interval(values, n_samples=40_000, confidence=confidence, seed=3)
        tail = 50 * (1 - confidence)
        assert found.value == np.median(values)
        # the medians are few: where a percentile falls between two, either may be drawn
        near = [np.percentile(drawn, p) for p in (tail - 1, tail + 1)]
        assert near[0] - 1e-9 <= found.low <= near[1] + 1e-9
        near = [np.percentile(drawn, p) for p in (99 - tail, 101 - tail)]
        assert near[0] - 1e-9 <= found.high <= near[1] + 1e-9


def test_draws_that_are_not_defined_are_left_out() -> None:
    def share(counts: np.ndarray) -> np.ndarray:
        whole = counts[..., 1]
        return np.divide(counts[..., 0], whole, out=np.full_like(whole, np.nan), where=whole > 0)

    found = interval([(1, 2), (0, 0), (0, 0)], figure=share, n_samples=200)
    assert (found.value, found.low, found.high) == (0.5, 0.5, 0.5)
    nothing = interval([(0, 0)], figure=share, n_samples=200)
    assert np.isnan([nothing.value, nothing.low, nothing.high]).all()


@pytest.mark.parametrize("wrong", [{"n_samples": 0}, {"confidence": 1.0}])
def test_intervals_of_nothing_are_refused(wrong: dict) -> None:
    for measured in (
        lambda: interval(FIRST, **wrong),
        lambda: difference(FIRST, SECOND, **wrong),
        lambda: median_interval([1.0], **wrong),
        lambda: interval([]),
        lambda: median_interval([]),
    ):
        with pytest.raises(SettingsError):
            measured()
