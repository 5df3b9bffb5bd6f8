"""Recovered parameters: exact on planted models; clusters; EM in small steps."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.errors import DataError, RankError, SettingsError
from eigentext.lab.tensor.recover import likely_pairs
from eigentext.sequences import HMM, Encoded, Parameters
from eigentext.sequences.hmm import em
from eigentext.sequences.hmm.em import baum_welch, deal, stepwise_em
from eigentext.sequences.hmm.inference import log_likelihoods, sample
from eigentext.sequences.spectral.moments import Moments
from eigentext.sequences.spectral.recover import (
    cluster_symbols,
    recover_parameters,
    spectral_start,
)
from oracle.hmm_moments import exact_moments


def planted(seed, k=3, V=9):
    rng = np.random.default_rng(seed)
    O = rng.dirichlet(np.full(V, 0.5), k) * 0.9 + 0.1 / V  # noqa: E741
    T = rng.dirichlet(np.full(k, 0.7), k) * 0.85 + 0.15 / k
    return Parameters(rng.dirichlet(np.ones(k)), T, O)


def disjoint():
    """Three states that show different symbols."""
    O = np.zeros((3, 9))  # noqa: E741
    for i in range(3):
        O[i, 3 * i : 3 * i + 3] = [0.5, 0.3, 0.2]
    T = np.array([[0.1, 0.8, 0.1], [0.1, 0.2, 0.7], [0.6, 0.2, 0.2]])
    return Parameters([0.6, 0.3, 0.1], T, O)


def distance(found, true):
    """Largest difference, under the best order of states."""
    best = np.inf
    for order in permutations(range(true.n_states)):
        o = list(order)
        parts = (
            found.initial[o] - true.initial,
            found.transition[np.ix_(o, o)] - true.transition,
            found.emission[o] - true.emission,
        )
        best = min(best, max(np.abs(one).max() for one in parts))
    return best


@pytest.mark.parametrize("seed", range(8))
def test_diagonalising_exact_moments_gives_the_truth(seed):
    true = planted(seed)
    found = recover_parameters(exact_moments(true, 8), 3, method="diagonalise", seed=seed)
    assert distance(found, true) < 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_the_tensor_of_exact_moments_gives_the_truth(seed):
    true = planted(seed)
    found = recover_parameters(exact_moments(true, 8), 3, method="tensor", seed=seed)
    assert distance(found, true) < 1e-8


def test_the_tensor_of_samples_comes_nearer_than_eigenvectors():
    rng = np.random.default_rng(8)
    k, V = 6, 30
    emission = rng.dirichlet(np.full(V, 0.1), k) * 0.95 + 0.05 / V
    transition = 0.5 * np.roll(np.eye(k), 1, axis=1) + 0.5 * rng.dirichlet(np.ones(k), k)
    true = Parameters(np.full(k, 1 / k), transition, emission)
    moments = Moments.of(sample(true, 2000, 20), V)

    def error(method):
        found = recover_parameters(moments, k, method=method, smoothing=0.01)
        return distance(found, true)

    assert error("tensor") < 0.15
    assert error("tensor") < error("diagonalise")


def test_a_model_begins_with_the_tensor():
    data = sample(disjoint(), 3000, 10)
    names = [[f"w{x}" for x in ids] for ids in np.split(data.ids, data.first[1:-1])]
    model = HMM(3, start="tensor", n_iter=0).fit(names)
    true = -log_likelihoods(disjoint(), data).sum() / data.n_tokens
    assert np.log(model.perplexity(names)) < true + 0.02


def test_pairs_of_states_that_are_likely():
    true = disjoint()
    moments = exact_moments(true, 30)
    states = true.initial
    pooled = np.zeros(3)
    for _ in range(28):
        pooled, states = pooled + states / 28, states @ true.transition
    joint = pooled[:, None] * true.transition
    # symbols tell the state here: any start leads there
    found = likely_pairs(np.full((3, 3), 1 / 9), true.emission, moments, n_iter=2000)
    np.testing.assert_allclose(found, joint, atol=1e-6)


def test_diagonalising_samples_comes_near():
    true = disjoint()
    data = sample(true, 20_000, 10)
    found = recover_parameters(Moments.of(data, 9), 3, method="diagonalise", smoothing=0)
    assert distance(found, true) < 0.1


def test_clusters_of_symbols_are_the_states():
    true = disjoint()
    moments = exact_moments(true, 50)
    labels = cluster_symbols(moments, 3, kappa=0.0)
    assert len(set(labels[:3])) == len(set(labels[3:6])) == len(set(labels[6:])) == 1
    assert len(set(labels)) == 3
    found = recover_parameters(moments, 3, kappa=0.0, smoothing=0)
    # counts of finite sequences are not those of triples; pi and O are near, T is exact
    assert distance(found, true) < 0.02


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["clusters", "diagonalise", "tensor"]))
def test_recovered_parameters_are_valid_on_noise(seed, method):
    rng = np.random.default_rng(seed)
    V, k = int(rng.integers(4, 12)), int(rng.integers(1, 4))
    data = Encoded.of([rng.integers(V, size=rng.integers(0, 9)) for _ in range(60)])
    found = recover_parameters(Moments.of(data, V), k, method=method, seed=seed)
    assert isinstance(found, Parameters)  # which checks itself
    if method == "clusters":
        assert np.isfinite(log_likelihoods(found, data)).all()


def test_a_state_more_than_the_rank_is_an_error():
    data = Encoded.of([[0, 1, 0, 1, 0]] * 5)
    for method in ("clusters", "diagonalise", "tensor"):
        with pytest.raises(RankError):
            recover_parameters(Moments.of(data, 6), 3, method=method)
    one = Encoded.of([[0] * 8])
    assert recover_parameters(Moments.of(one, 1), 1).emission.tolist() == [[1.0]]
    with pytest.raises(RankError):
        recover_parameters(Moments.of(one, 1), 2)


def test_settings_are_checked():
    moments = exact_moments(planted(0), 5)
    with pytest.raises(SettingsError, match="method"):
        recover_parameters(moments, 2, method="guess")
    with pytest.raises(SettingsError, match="smoothing"):
        recover_parameters(moments, 2, smoothing=1.0)
    data = Encoded.of([[0, 1]])
    for bad in ({"passes": -1}, {"parts": 0}, {"smoothing": 1}):
        with pytest.raises(SettingsError):
            stepwise_em(planted(0), data, **bad)


# ---------------------------------------------------------------- EM in small steps


def test_one_part_and_a_whole_step_is_baum_welch(monkeypatch):
    """With delay near 1 the first step replaces everything: one iteration of Baum-Welch."""
    data = sample(planted(1), 40, 12)
    start = planted(2)
    monkeypatch.setattr(em, "_DELAY", 1 + 1e-12)
    ours = stepwise_em(start, data, passes=1, parts=1, precision="double")
    theirs = baum_welch(start, data, n_iter=1)
    for name in ("initial", "transition", "emission"):
        np.testing.assert_allclose(
            getattr(ours.params, name), getattr(theirs.params, name), atol=1e-9
        )
    np.testing.assert_allclose(ours.log_likelihoods, theirs.log_likelihoods, rtol=1e-12)


def test_steps_by_hand():
    """Two parts, with dense arithmetic in place of the running counts' kernel."""
    data, start = sample(planted(3), 30, 6), planted(4)
    share = np.full(3, 1 / 3)
    for _ in range(20):
        share = (share + share @ start.transition) / 2
    running = [start.initial, start.transition * share[:, None], start.emission * share[:, None]]
    now = start
    for j, part in enumerate(deal(data, 2, seed=5)):
        after = baum_welch(now, part, n_iter=1).params
        gamma, pairs = _expected(now, part)
        eta = (j + 3.0) ** -0.6
        new = [
            after.initial,
            after.transition * pairs[:, None] / part.n_tokens,
            after.emission * gamma[:, None] / part.n_tokens,
        ]
        running = [(1 - eta) * old + eta * one for old, one in zip(running, new, strict=True)]
        now = Parameters(*(one / one.sum(axis=-1, keepdims=True) for one in running))
    found = stepwise_em(start, data, passes=1, parts=2, seed=5, precision="double").params
    for name in ("initial", "transition", "emission"):
        np.testing.assert_allclose(getattr(found, name), getattr(now, name), atol=1e-9)


def _expected(model, data):
    """Visits of every state, and those that another token follows."""
    from eigentext.sequences.hmm.inference import smoothed

    gamma = smoothed(model, data)
    last = np.zeros(data.n_tokens, bool)
    last[data.first[1:] - 1] = True
    return gamma.sum(axis=0), gamma[~last].sum(axis=0)


def test_small_steps_beat_as_many_iterations():
    true = disjoint()
    data = sample(true, 3000, 10)
    start = spectral_start(Moments.of(data, 9), 3)
    stepped = stepwise_em(start, data, passes=2, parts=30).params
    plain = baum_welch(start, data, n_iter=2).params
    best = log_likelihoods(true, data).sum()
    assert log_likelihoods(stepped, data).sum() > log_likelihoods(plain, data).sum()
    assert log_likelihoods(stepped, data).sum() > best - 0.02 * data.n_tokens


def test_one_long_sequence_is_learned_in_pieces():
    true = disjoint()
    data = sample(true, 1, 60_000)
    start = spectral_start(Moments.of(data, 9), 3)
    found = stepwise_em(start, data, passes=6, parts=12)
    assert len(found.log_likelihoods) == 6
    best = log_likelihoods(true, data).sum()
    assert log_likelihoods(found.params, data).sum() > best - 0.01 * data.n_tokens
    # the one beginning tells the first state
    shown = found.params.emission[:, data.ids[0]].argmax()
    assert found.params.initial[shown] > 0.7


def test_what_float32_cannot_hold_is_done_in_double():
    start = Parameters([0.5, 0.5], [[0.5, 0.5]] * 2, [[1 - 1e-42, 1e-42], [1 - 2e-42, 2e-42]])
    data = Encoded.of([[0, 1, 0, 0]] * 3)
    single = stepwise_em(start, data, passes=1, parts=1).params
    double = stepwise_em(start, data, passes=1, parts=1, precision="double").params
    np.testing.assert_allclose(single.emission, double.emission, rtol=1e-9)


def test_deal_keeps_every_sequence_once():
    rng = np.random.default_rng(0)
    data = Encoded.of([rng.integers(50, size=n) for n in (3, 0, 7, 1, 0, 4, 9)])
    parts = deal(data, 3, seed=1)
    seen = sorted(tuple(part[at]) for part in parts for at in range(len(part)))
    assert seen == sorted(tuple(data[at]) for at in range(len(data)) if len(data[at]))
    assert len(deal(data, 99)) == 5


def test_impossible_tokens_and_no_tokens_are_errors():
    start = Parameters([1.0], [[1.0]], [[1.0, 0.0]])
    with pytest.raises(DataError, match="probability 0"):
        stepwise_em(start, Encoded.of([[0, 1]]))
    with pytest.raises(DataError, match="no tokens"):
        stepwise_em(start, Encoded.of([[], []]))
    with pytest.raises(DataError, match="no tokens"):
        Moments.of(Encoded.of([[]]), 2)


def test_the_same_seed_gives_the_same_start():
    data = sample(planted(6), 200, 9)
    moments = Moments.of(data, 9)
    one = spectral_start(moments, 3, data=data, seed=3)
    two = spectral_start(moments, 3, data=data, seed=3)
    np.testing.assert_array_equal(one.emission, two.emission)
