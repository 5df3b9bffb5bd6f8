"""Observable operators of hidden Markov models: exact moments, and errors of samples."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from eigentext.sequences import Encoded, Parameters, Symbols
from eigentext.sequences.spectral.model import SpectralHMM
from eigentext.sequences.spectral.moments import Moments, dictionary
from eigentext.sequences.spectral.operators import make_operators
from oracle.hmm_moments import exact_moments

KINDS = ["svd", "cca"]
ESTIMATORS = ["hkz", "cca", "fru"]


def planted(seed, k=3, V=8, *, start="far"):
    """A model with well separated states; the first state is far from the stationary one."""
    rng = np.random.default_rng(seed)
    O = rng.dirichlet(np.full(V, 0.4), k) * 0.95 + 0.05 / V  # noqa: E741
    T = rng.dirichlet(np.full(k, 0.6), k) * 0.9 + 0.1 / k
    pi = rng.dirichlet(np.full(k, 0.5))
    if start == "one":
        pi = np.eye(k)[0]
    if start == "stationary":
        pi = np.linalg.matrix_power(T, 200)[0]
    return Parameters(pi, T, O)


def by_listing(model, ids):
    """The sum over all paths of states."""
    total = 0.0
    for path in product(range(model.n_states), repeat=len(ids)):
        p = model.initial[path[0]] * model.emission[path[0], ids[0]]
        for (a, b), x in zip(pairwise(path), ids[1:], strict=True):
            p *= model.transition[a, b] * model.emission[b, x]
        total += p
    return total


def by_passing(model, ids):
    state = model.initial
    for x in ids:
        state = (state * model.emission[:, x]) @ model.transition
    return state.sum()


def sample(model, n, length, rng):
    """(n, length) symbols, by inverting cumulated distributions."""
    T, O = model.transition.cumsum(1), model.emission.cumsum(1)  # noqa: E741
    state = (rng.random((n, 1)) > model.initial.cumsum()[:-1]).sum(1)
    out = np.empty((n, length), np.int32)
    for t in range(length):
        out[:, t] = (rng.random((n, 1)) > O[state][:, :-1]).sum(1)
        state = (rng.random((n, 1)) > T[state][:, :-1]).sum(1)
    return out


def test_the_oracles_agree():
    model = planted(0)
    ids = [0, 5, 2, 7, 1]
    np.testing.assert_allclose(by_passing(model, ids), by_listing(model, ids), rtol=1e-12)


@pytest.mark.parametrize("kappa", [0.0, 0.3])
@pytest.mark.parametrize("start", ["far", "one", "stationary"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_exact_moments_give_true_probabilities(estimator, kind, start, kappa):
    for seed in range(4):
        model = planted(seed, start=start)
        moments = exact_moments(model, 6)
        operators = make_operators(moments, dictionary(moments, 3, kind, kappa=kappa), estimator)
        rng = np.random.default_rng(seed)
        for length in (1, 2, 3, 5, 12):
            ids = rng.integers(8, size=length)
            sign, log = operators.signed_probability(ids)
            assert sign == 1
            np.testing.assert_allclose(np.exp(log), by_passing(model, ids), rtol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_operators_are_the_parameters_in_another_basis(estimator, kind):
    model = planted(5)
    moments = exact_moments(model, 9)
    words = dictionary(moments, 3, kind)
    operators = make_operators(moments, words, estimator)
    G = words.U.T @ model.emission.T
    np.testing.assert_allclose(operators.stop @ G, np.ones(3), atol=1e-9)
    np.testing.assert_allclose(operators.start, G @ model.initial, atol=1e-9)
    for x in range(8):
        true = G @ model.transition.T @ np.diag(model.emission[:, x]) @ np.linalg.inv(G)
        np.testing.assert_allclose(operators.matrix(x), true, atol=1e-9)
    np.testing.assert_allclose(G.T @ words.dual().T, model.emission, atol=1e-9)


def test_all_sequences_of_a_length_sum_to_one():
    model = planted(3, V=4)
    moments = exact_moments(model, 4)
    operators = make_operators(moments, dictionary(moments, 3), "cca")
    total = 0.0
    for ids in product(range(4), repeat=4):
        sign, log = operators.signed_probability(ids)
        total += sign * np.exp(log)
    np.testing.assert_allclose(total, 1.0, rtol=1e-9)


@pytest.mark.parametrize("negatives", ["clip", "abs", "error"])
def test_the_queries_are_exact_too(negatives):
    model = planted(1)
    names = (*tuple("abcdefg"), "<unk>")
    symbols = Symbols(names, np.full(8, 5))
    hmm = SpectralHMM(3, kappa=0, negatives=negatives, floor=0, unigram_weight=0)
    hmm.fit_moments(exact_moments(model, 7), symbols)
    texts = [list("abcab"), [], list("g"), list("fedcbaabcdefg")]
    expected = [by_passing(model, symbols.encode([one]).ids) for one in texts]
    np.testing.assert_allclose(np.exp(hmm.log_prob(texts)), expected, rtol=1e-8)
    assert hmm.negative_rate_ == 0
    state = model.initial
    for x in symbols.encode([texts[0]]).ids:
        state = (state * model.emission[:, x]) @ model.transition
    after = state @ model.emission / state.sum()
    np.testing.assert_allclose(hmm.next_symbols(texts)[0], after, rtol=1e-8)


def test_moments_of_samples_tend_to_the_exact_ones():
    model, rng = planted(2, V=5), np.random.default_rng(0)
    n, length = 60_000, 5
    ids = sample(model, n, length, rng).ravel()
    seen = Moments.of(Encoded(ids, np.arange(n + 1) * length), 5)
    exact = exact_moments(model, length)
    counted = np.bincount(
        (seen.middle.astype(int) * 5 + seen.left) * 5 + seen.right, minlength=125
    )
    np.testing.assert_allclose(counted / counted.sum(), exact.weights, atol=5e-3)
    np.testing.assert_allclose(seen.first, exact.first, atol=8e-3)
    np.testing.assert_allclose(
        seen.pairs.toarray() / seen.n_triples, exact.pairs.toarray(), atol=6e-3
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_error_falls_with_the_root_of_the_sample(estimator, kind):
    model, rng = planted(4, k=2, V=5), np.random.default_rng(11)
    asked = [rng.integers(5, size=3) for _ in range(12)]
    true = np.array([by_passing(model, one) for one in asked])
    sizes, errors = [300, 1200, 4800, 19_200], []
    for n in sizes:
        found = []
        for _ in range(8):
            ids = sample(model, n, 4, rng).ravel()
            moments = Moments.of(Encoded(ids, np.arange(n + 1) * 4), 5)
            operators = make_operators(moments, dictionary(moments, 2, kind), estimator)
            signed = [operators.signed_probability(one) for one in asked]
            values = np.array([sign * np.exp(log) for sign, log in signed])
            found.append(np.median(np.abs(values - true) / true))
        errors.append(np.median(found))
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert -0.65 < slope < -0.35, (slope, errors)
