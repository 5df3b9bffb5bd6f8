"""Baum-Welch equals enumeration and a plain twin, iteration by iteration."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from eigentext.base.cores import using_cores
from eigentext.errors import DataError, SettingsError
from eigentext.sequences import Encoded, Parameters
from eigentext.sequences.hmm import batches, inference
from eigentext.sequences.hmm.em import baum_welch, stepwise_em
from oracle import hmm_paths


@pytest.fixture(scope="module")
def text():
    """Sequences of very different lengths from a planted model."""
    planted = Parameters.random(4, 30, seed=9)
    rng = np.random.default_rng(1)
    lengths = rng.geometric(0.08, size=150)
    data = inference.sample(planted, len(lengths), int(lengths.max()), seed=3)
    return Encoded.of([data[s][:n].tolist() for s, n in enumerate(lengths)])


def plain(start, data, iterations):
    tables = start.initial, start.transition, start.emission
    lists = [data[s].tolist() for s in range(len(data))]
    values = []
    for _ in range(iterations):
        *tables, value = hmm_paths.em_step(*tables, lists)
        values.append(value)
    return tables, values


def close(parameters, tables, **tolerance):
    for name, table in zip(("initial", "transition", "emission"), tables, strict=True):
        assert_allclose(getattr(parameters, name), table, err_msg=name, **tolerance)


@pytest.mark.parametrize("smoothing", [0.0, 1.5])
def test_one_iteration_equals_enumeration(smoothing):
    start = Parameters.random(3, 4, seed=5)
    tables = start.initial, start.transition, start.emission
    lists = [[0, 1, 2, 3, 1], [2], [3, 3, 0]]
    each = [hmm_paths.expected_counts(*tables, xs) for xs in lists]
    first, moved, shown = (sum(parts) for parts in zip(*each, strict=True))
    unigram = (np.array([2, 2, 2, 3]) + 0.5) / 11
    counts = first + smoothing / 3, moved + smoothing / 3, shown + smoothing * unigram
    expected = [one / one.sum(axis=-1, keepdims=True) for one in counts]
    found = baum_welch(start, Encoded.of(lists), n_iter=1, smoothing=smoothing)
    close(found.params, expected, rtol=1e-10)


@pytest.mark.parametrize("k", [1, 2, 5, 17])
def test_every_iteration_equals_the_plain_one(text, k):
    start = Parameters.random(k, 30, seed=k)
    tables, values = plain(start, text, 5)
    found = baum_welch(start, text, n_iter=5)
    assert_allclose(found.log_likelihoods, values, rtol=1e-8)
    close(found.params, tables, rtol=1e-8, atol=1e-12)


def test_segments_change_nothing(text, monkeypatch):
    joined = Encoded.of([text.ids.tolist(), text.ids[:300].tolist(), [1]])
    start = Parameters.random(3, 30, seed=2)
    tables, values = plain(start, joined, 3)
    monkeypatch.setattr(batches.Plan.of.__func__, "__kwdefaults__", {"room": 1})
    assert batches.Plan.of(joined, 3).n_long == 2
    found = baum_welch(start, joined, n_iter=3)
    assert_allclose(found.log_likelihoods, values, rtol=1e-8)
    close(found.params, tables, rtol=1e-8, atol=1e-12)


def test_single_precision_agrees(text):
    start = Parameters.random(5, 30, seed=2)
    double = baum_welch(start, text, n_iter=10)
    single = baum_welch(start, text, n_iter=10, precision="single")
    assert_allclose(single.log_likelihoods, double.log_likelihoods, rtol=1e-5)
    scores = [
        inference.log_likelihoods(one.params, text).sum() / text.n_tokens
        for one in (double, single)
    ]
    assert np.exp(-scores[0]) == pytest.approx(np.exp(-scores[1]), rel=1e-4)


def test_single_precision_gives_way_where_it_cannot_hold_a_number():
    start = Parameters([1.0, 0.0], [[1 - 1e-60, 1e-60], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]])
    data = Encoded.of([[0, 0, 1, 1, 0]])
    double = baum_welch(start, data, n_iter=2)
    single = baum_welch(start, data, n_iter=2, precision="single")
    assert np.isfinite(double.log_likelihoods).all()
    assert_allclose(single.log_likelihoods, double.log_likelihoods, rtol=1e-5)


def test_the_likelihood_never_falls(text):
    values = baum_welch(Parameters.random(6, 30, seed=1), text, n_iter=40).log_likelihoods
    assert (np.diff(values) > -1e-9).all()


def test_empty_sequences_change_nothing(text):
    lists = [text[s].tolist() for s in range(20)]
    with_gaps = [part for one in lists for part in (one, [])]
    start = Parameters.random(3, 30, seed=1)
    values = [
        baum_welch(start, Encoded.of(x), n_iter=3).log_likelihoods for x in (lists, with_gaps)
    ]
    assert values[0] == values[1]


def test_sequences_of_one_token_leave_the_transitions():
    start = Parameters.random(2, 3, seed=1)
    found = baum_welch(start, Encoded.of([[0], [1], [1]]), n_iter=30).params
    assert_allclose(found.transition, start.transition)
    assert_allclose(found.initial @ found.emission, [1 / 3, 2 / 3, 0], atol=1e-6)


def test_one_symbol_only():
    found = baum_welch(Parameters.random(3, 1), Encoded.of([[0] * 10]), n_iter=3)
    assert found.log_likelihoods == pytest.approx((0.0,) * 3, abs=1e-12)


def test_a_state_without_counts_keeps_its_rows():
    start = Parameters([1.0, 0.0], [[1.0, 0.0], [0.3, 0.7]], [[0.5, 0.5], [0.9, 0.1]])
    found = baum_welch(start, Encoded.of([[0, 1, 1]]), n_iter=2).params
    assert_allclose(found.transition[1], [0.3, 0.7])
    assert_allclose(found.emission, [[1 / 3, 2 / 3], [0.9, 0.1]])


def test_smoothing_gives_every_symbol_some_probability(text):
    start = Parameters.random(3, 40, seed=1)  # symbols 30 .. 39 do not occur
    plain_one = baum_welch(start, text, n_iter=2).params
    smooth = baum_welch(start, text, n_iter=2, smoothing=2.0).params
    assert (plain_one.emission[:, 30:] == 0).all()
    assert (smooth.emission > 0).all()
    assert (smooth.transition > 0).all()
    u = np.bincount(text.ids, minlength=40) + 0.5
    totals = 2.0 * (u / u.sum())[35] / smooth.emission[:, 35]  # tokens of a state, and two more
    once = baum_welch(start, text, n_iter=1, smoothing=2.0).params
    assert totals.sum() == pytest.approx(text.n_tokens + 3 * 2.0)
    again = baum_welch(once, text, n_iter=1, smoothing=2.0).params
    assert_allclose(again.emission, smooth.emission, rtol=1e-8)


def test_it_stops_when_it_gains_little(text):
    start = Parameters.random(3, 30, seed=1)
    heard = []
    found = baum_welch(
        start, text, n_iter=500, tol=1e-4, progress=lambda *told: heard.append(told)
    )
    values = found.log_likelihoods
    assert 3 < len(values) < 500
    gains = np.diff(values) / text.n_tokens
    assert gains[-1] < 1e-4 <= gains[:-1].min()
    assert heard == [(n, 500, "EM") for n in range(1, len(values) + 1)]


def test_no_iterations_is_the_start(text):
    start = Parameters.random(3, 30, seed=1)
    found = baum_welch(start, text, n_iter=0)
    assert found.log_likelihoods == ()
    assert (found.params.emission == start.emission).all()


def test_planted_parameters_are_found_again():
    planted = Parameters([0.7, 0.3], [[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
    data = inference.sample(planted, 2_000, 20, seed=5)
    begin = Parameters([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    found = baum_welch(begin, data, n_iter=150).params
    close(found, (planted.initial, planted.transition, planted.emission), atol=0.05)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"n_iter": -1}, "n_iter -1"),
        ({"n_iter": 1, "smoothing": float("nan")}, "smoothing nan"),
        ({"n_iter": 1, "tol": float("nan")}, "tol nan"),
        ({"n_iter": 1, "smoothing": -1.0}, "smoothing -1.0"),
        ({"n_iter": 1, "precision": "half"}, "precision 'half'"),
    ],
)
def test_bad_settings(settings, why):
    with pytest.raises(SettingsError, match=why):
        baum_welch(Parameters.random(2, 2), Encoded.of([[0, 1]]), **settings)


def test_bad_data():
    with pytest.raises(DataError, match="no tokens"):
        baum_welch(Parameters.random(2, 2), Encoded.of([[], []]), n_iter=1)
    never = Parameters([1.0], [[1.0]], [[1.0, 0.0]])
    with pytest.raises(DataError, match=r"1 token\(s\) probability 0"):
        baum_welch(never, Encoded.of([[0, 1]]), n_iter=1)
    with pytest.raises(SettingsError, match="symbol 5"):
        baum_welch(never, Encoded.of([[5]]), n_iter=1)


def test_hmmlearn_does_the_same(text):
    hmm = pytest.importorskip("hmmlearn.hmm", reason="hmmlearn is not installed")
    start = Parameters.random(5, 30, seed=3)
    theirs = hmm.CategoricalHMM(
        5, n_iter=4, tol=-np.inf, init_params="", implementation="scaling", n_features=30
    )
    theirs.startprob_, theirs.transmat_, theirs.emissionprob_ = (
        np.array(one) for one in (start.initial, start.transition, start.emission)
    )
    theirs.fit(text.ids[:, None].astype(np.int64), text.lengths)
    ours = baum_welch(start, text, n_iter=4)
    assert_allclose(ours.log_likelihoods, list(theirs.monitor_.history), rtol=1e-8)
    tables = theirs.startprob_, theirs.transmat_, theirs.emissionprob_
    close(ours.params, tables, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("precision", ["double", "single"])
def test_the_same_bytes_with_any_number_of_cores(text, monkeypatch, precision):
    monkeypatch.setattr(batches, "_TABLE_COST", 1)
    monkeypatch.setattr(batches, "_FEWEST_IN_A_BLOCK", 64)
    monkeypatch.setattr(batches, "_CACHED", 50)
    monkeypatch.setattr(batches, "_FEWEST_ROWS", 16)  # so that some sequences go alone
    monkeypatch.setattr(batches.Plan.of.__func__, "__kwdefaults__", {"room": 1})
    plan = batches.Plan.of(text, 3)
    assert plan.n_long
    assert len(plan.blocks(64)) > 3
    start, found = Parameters.random(3, 30, seed=1), []
    for cores in (1, 2, 3):
        with using_cores(cores):
            slow = baum_welch(start, text, n_iter=2, smoothing=0.5, precision=precision)
            fast = stepwise_em(start, text, passes=2, parts=2, precision=precision)
            states = inference.smoothed(slow.params, text)
            surprisals = inference.surprisals(start, text)
        tables = (*vars(slow.params).values(), *vars(fast.params).values(), states, surprisals)
        found.append([np.asarray(table).tobytes() for table in tables])
        exact = 1e-10 if precision == "double" else 1e-5
        assert slow.log_likelihoods[0] == pytest.approx(-surprisals.sum(), rel=exact)
    assert found[0] == found[1] == found[2]


def test_blocks_hold_every_batch_once(text):
    plan = batches.Plan.of(text, 3)
    for least in (1, 100, 10**9):
        blocks = plan.blocks(least)
        bounds = [block.bounds.tolist() for block in blocks]
        assert [first for own in bounds for first in own[:-1]] == plan.bounds[:-1].tolist()
        assert bounds[-1][-1] == plan.bounds[-1]
        assert len(blocks) <= batches._MOST_BLOCKS
