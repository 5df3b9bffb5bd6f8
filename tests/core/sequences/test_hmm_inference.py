"""Every dynamic program of a hidden Markov model equals enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from eigentext.errors import SettingsError
from eigentext.sequences import Encoded, Parameters
from eigentext.sequences.hmm import batches, inference
from oracle import hmm_paths

LISTS = [[0, 1, 2, 1, 3], [3], [], [2, 2, 0], [1, 0], [0, 0, 0, 0, 0, 1]]


def tables(parameters):
    return parameters.initial, parameters.transition, parameters.emission


@pytest.fixture(scope="module", params=[1, 2, 3])
def case(request):
    return Parameters.random(request.param, 4, seed=request.param), Encoded.of(LISTS)


def test_likelihoods_and_surprisals(case):
    parameters, data = case
    expected = [np.log(hmm_paths.probability(*tables(parameters), xs)) for xs in LISTS]
    assert_allclose(inference.log_likelihoods(parameters, data), expected, rtol=1e-12, atol=1e-14)
    found = inference.surprisals(parameters, data)
    at = 0
    for xs in LISTS:
        parts = [hmm_paths.probability(*tables(parameters), xs[:t]) for t in range(len(xs) + 1)]
        assert_allclose(found[at : at + len(xs)], -np.diff(np.log(parts)), rtol=1e-10, atol=1e-14)
        at += len(xs)


def test_states(case):
    parameters, data = case
    full = [xs for xs in LISTS if xs]
    for ours, theirs in (
        (inference.filtered, hmm_paths.filtered),
        (inference.smoothed, hmm_paths.smoothed),
    ):
        expected = np.concatenate([theirs(*tables(parameters), xs) for xs in full])
        assert_allclose(ours(parameters, data), expected, rtol=1e-10)
    assert_allclose(
        inference.posterior_decode(parameters, data),
        inference.smoothed(parameters, data).argmax(axis=1),
    )


def test_viterbi(case):
    parameters, data = case
    found = inference.viterbi(parameters, data)
    for s, xs in enumerate(LISTS):
        listed = dict(hmm_paths.paths(*tables(parameters), xs))
        path = tuple(found[data.first[s] : data.first[s + 1]].tolist())
        assert listed[path] == pytest.approx(max(listed.values()), rel=1e-12)


def test_next_symbols(case):
    parameters, data = case
    expected = [hmm_paths.next_symbols(*tables(parameters), xs) for xs in LISTS]
    assert_allclose(inference.next_symbols(parameters, data), expected, rtol=1e-10)


@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 4),
    lists=st.lists(st.lists(st.integers(0, 2), max_size=5), max_size=5),
)
def test_with_zeros_in_the_tables(sparse_parameters, seed, k, lists):
    parameters, data = sparse_parameters(k, 3, seed), Encoded.of(lists)
    found = inference.log_likelihoods(parameters, data)
    smooth = inference.smoothed(parameters, data)
    assert_allclose(smooth.sum(axis=1), 1.0)
    for s, xs in enumerate(lists):
        p = hmm_paths.probability(*tables(parameters), xs)
        if p == 0:
            assert found[s] == -np.inf
            continue
        assert found[s] == pytest.approx(np.log(p), rel=1e-10, abs=1e-12)
        if xs:
            rows = smooth[data.first[s] : data.first[s + 1]]
            assert_allclose(rows, hmm_paths.smoothed(*tables(parameters), xs), atol=1e-12)


def test_an_impossible_symbol_is_passed_over():
    chain = Parameters([1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]], [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    data = Encoded.of([[1, 2, 1], [0, 0]])
    assert inference.log_likelihoods(chain, data).tolist() == [-np.inf, np.log(0.5)]
    assert inference.surprisals(chain, data)[1] == np.inf
    assert np.isfinite(inference.surprisals(chain, data)[[0, 2, 3, 4]]).all()
    assert inference.viterbi(chain, data).tolist() == [0, 1, 0, 0, 1]
    assert inference.posterior_decode(chain, data).tolist() == [0, 1, 0, 0, 1]
    first_too = Encoded.of([[2, 0]])
    assert inference.viterbi(chain, first_too).tolist() == [0, 1]
    assert_allclose(inference.smoothed(chain, first_too), [[1, 0], [0, 1]])


def test_what_follows_an_impossible_symbol_tells_of_what_came_before():
    """Symbol 2 is never emitted: it tells nothing, and the states around it are as without it."""
    emission = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]])
    chain = Parameters([0.5, 0.5], [[0.8, 0.2], [0.3, 0.7]], emission)
    xs = [0, 2, 1]
    weights = np.zeros((3, 2))
    for states in itertools.product(range(2), repeat=3):
        weight = chain.initial[states[0]]
        for before, after in itertools.pairwise(states):
            weight *= chain.transition[before, after]
        for x, state in zip(xs, states, strict=True):
            weight *= 1.0 if x == 2 else emission[state, x]
        for place, state in enumerate(states):
            weights[place, state] += weight
    expected = weights / weights.sum(axis=1, keepdims=True)
    assert_allclose(inference.smoothed(chain, Encoded.of([xs])), expected, atol=1e-12)


def test_ties_go_to_the_lower_state():
    same = Parameters([0.5, 0.5], np.full((2, 2), 0.5), np.full((2, 3), 1 / 3))
    data = Encoded.of([[0, 1, 2]])
    assert inference.viterbi(same, data).tolist() == [0, 0, 0]
    assert inference.posterior_decode(same, data).tolist() == [0, 0, 0]


def test_segments_and_batches_change_nothing(monkeypatch):
    parameters = Parameters.random(5, 7, seed=3)
    rng = np.random.default_rng(0)
    lists = [rng.integers(0, 7, n).tolist() for n in (700, 1, 0, 40, 40, 41, 300, 255, 256, 257)]
    data = Encoded.of(lists)
    functions = (
        inference.log_likelihoods,
        inference.surprisals,
        inference.filtered,
        inference.smoothed,
        inference.viterbi,
        inference.posterior_decode,
        inference.next_symbols,
    )
    whole = [function(parameters, data) for function in functions]
    assert batches.Plan.of(data, 5).n_long == 0
    monkeypatch.setattr(batches, "_ROOM", 1)
    monkeypatch.setattr(batches.Plan.of.__func__, "__kwdefaults__", {"room": 1})
    monkeypatch.setattr(inference, "_SEGMENT", 16)
    assert batches.Plan.of(data, 5).n_long == 3
    for function, expected in zip(functions, whole, strict=True):
        assert_allclose(
            function(parameters, data), expected, rtol=1e-10, err_msg=function.__name__
        )
    one_by_one = [inference.log_likelihoods(parameters, Encoded.of([xs]))[0] for xs in lists]
    assert_allclose(one_by_one, whole[0], rtol=1e-12)


def test_a_million_tokens_in_one_sequence():
    parameters = Parameters.random(4, 50, seed=1)
    data = inference.sample(parameters, 1, 1_000_000, seed=2)
    values = inference.surprisals(parameters, data)
    assert np.isfinite(values).all()
    halves = values[:500_000].mean(), values[500_000:].mean()
    assert halves[0] == pytest.approx(halves[1], rel=0.01)
    assert batches.Plan.of(data, 100).n_rows * 100 * 16 <= 64_000_000
    path = inference.viterbi(parameters, data)
    decoded = inference.posterior_decode(parameters, data)
    assert (path == decoded).mean() > 0.8


def test_samples_follow_the_model():
    parameters = Parameters.random(3, 5, seed=4)
    data, states = inference.sample_states(parameters, 20_000, 3, seed=1)
    symbols, states = data.ids.reshape(-1, 3), states.reshape(-1, 3)
    assert_allclose(np.bincount(states[:, 0]) / 20_000, parameters.initial, atol=0.015)
    for i in range(3):
        after = states[:, 1:][states[:, :-1] == i]
        assert_allclose(np.bincount(after) / len(after), parameters.transition[i], atol=0.025)
        shown = symbols[states == i]
        assert_allclose(np.bincount(shown) / len(shown), parameters.emission[i], atol=0.025)
    again = inference.sample(parameters, 20_000, 3, seed=1)
    assert (again.ids == data.ids).all()
    assert (inference.sample(parameters, 20_000, 3, seed=2).ids != data.ids).any()


def test_a_symbol_of_probability_0_is_never_drawn():
    parameters = Parameters([0.0, 1.0, 0.0], np.eye(3), [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert (inference.sample(parameters, 100, 20).ids == 1).all()


def test_odd_calls():
    parameters = Parameters.random(2, 3)
    nothing = Encoded.of([])
    for function in (inference.surprisals, inference.viterbi, inference.posterior_decode):
        assert function(parameters, nothing).shape == (0,)
    assert inference.log_likelihoods(parameters, Encoded.of([[], []])).tolist() == [0, 0]
    assert inference.smoothed(parameters, nothing).shape == (0, 2)
    assert inference.next_symbols(parameters, nothing).shape == (0, 3)
    assert inference.sample(parameters, 0, 5).n_tokens == 0
    assert len(inference.sample(parameters, 5, 0)) == 5
    with pytest.raises(SettingsError, match="symbol 3 in the data, but there are 3 symbols"):
        inference.viterbi(parameters, Encoded.of([[3]]))
    with pytest.raises(SettingsError, match="expected 0 or more"):
        inference.sample(parameters, -1, 5)


def test_few_tokens_of_many_symbols():
    parameters = Parameters.random(3, 200, seed=6)
    lists = [[190, 3, 3], [], [7]]
    few, many = Encoded.of(lists), Encoded.of([*lists, np.arange(200).tolist()])
    for function in (
        inference.surprisals,
        inference.filtered,
        inference.smoothed,
        inference.viterbi,
        inference.posterior_decode,
    ):
        assert_allclose(function(parameters, few), function(parameters, many)[:4])
    found = inference.next_symbols(parameters, few)
    assert_allclose(found, inference.next_symbols(parameters, many)[:3])
    with pytest.raises(SettingsError, match="symbol 200"):
        inference.surprisals(parameters, Encoded.of([[200]]))
