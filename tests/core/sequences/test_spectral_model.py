"""SpectralHMM: bad input, the policy for negative values, storage; moments counted by hand."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.errors import DataError, ModelFileError, RankError, SettingsError
from eigentext.sequences import Encoded, Parameters
from eigentext.sequences.spectral.model import SpectralHMM
from eigentext.sequences.spectral.moments import Moments, dictionary, pairs_of
from eigentext.sequences.spectral.operators import Operators, make_operators
from oracle.hmm_moments import exact_moments

TEXT = ["the cat saw a dog", "a dog saw the cat", "the dog ran", "a cat ran home", "cat ran"] * 6
SENTENCES = [line.split() for line in TEXT]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 4), max_size=6), max_size=9))
def test_moments_equal_counting_by_hand(lists):
    data = Encoded.of(lists)
    triples = Counter(t for one in lists for t in zip(one, one[1:], one[2:], strict=False))
    pairs = Counter(t for one in lists for t in itertools.pairwise(one))
    assert {
        (a, b): n
        for a, row in enumerate(pairs_of(data, 5).toarray())
        for b, n in enumerate(row)
        if n
    } == dict(pairs)
    if not triples:
        with pytest.raises(DataError):
            Moments.of(data, 5)
        return
    moments = Moments.of(data, 5)
    rows = zip(moments.left.tolist(), moments.middle.tolist(), moments.right.tolist(), strict=True)
    assert Counter(rows) == triples
    assert (np.diff(moments.middle) >= 0).all()
    by_middle = np.zeros((5, 5))
    for (a, x, _), n in triples.items():
        by_middle[x, a] += n
    np.testing.assert_array_equal(moments.pairs.toarray(), by_middle)
    rows = zip(moments.left.tolist(), moments.middle.tolist(), moments.right.tolist(), strict=True)
    assert Counter(rows) == triples  # the matrix was made from copies


@pytest.mark.parametrize("negatives", ["clip", "abs"])
@pytest.mark.parametrize("estimator", ["cca", "hkz", "fru"])
def test_every_prediction_is_a_distribution(estimator, negatives):
    model = SpectralHMM(3, estimator=estimator, kappa=1, negatives=negatives).fit(SENTENCES)
    asked = [[], ["the"], ["home", "home", "dog"], ["never", "seen"]]
    after = model.next_symbols(asked)
    assert (after > 0).all()
    np.testing.assert_allclose(after.sum(axis=1), 1, rtol=1e-6)
    # surprisals are those of the distributions
    steps = model.next_symbols([["home"][:n] for n in (0, 1)])
    ids = model.symbols_.encode([["home", "dog"]]).ids
    expected = -np.log([steps[0, ids[0]], steps[1, ids[1]]])
    np.testing.assert_allclose(model.surprisals([["home", "dog"]])[0], expected, rtol=1e-5)


def test_sums_of_surprisals():
    model = SpectralHMM(2, kappa=1).fit(SENTENCES)
    parts = model.surprisals(SENTENCES[:5])
    assert [len(one) for one in parts] == [len(one) for one in SENTENCES[:5]]
    logs = model.log_prob(SENTENCES[:5])
    np.testing.assert_allclose(logs, [-one.sum() for one in parts])
    mean = logs.sum() / sum(map(len, SENTENCES[:5]))
    np.testing.assert_allclose(model.score(SENTENCES[:5]), mean)
    np.testing.assert_allclose(model.perplexity(SENTENCES[:5]), np.exp(-mean))
    assert model.log_prob([[]]).tolist() == [0.0]
    assert model.surprisals([]) == []


def negative_model(policy):
    """One dimension, two symbols: values 1.25 and -0.25, which sum to 1."""
    from eigentext.sequences import Symbols

    model = SpectralHMM(1, negatives=policy, unigram_weight=0.0)
    model.symbols_ = Symbols(("a", "<unk>"), np.array([3, 1]))
    one = np.ones(1)
    model._take(Operators(one, one, np.array([[[1.25]], [[-0.25]]]), one))
    return model


def test_the_policy_for_negative_values():
    clip, absolute, strict = (negative_model(one) for one in ("clip", "abs", "error"))
    asked = [["a", "b", "a"]]
    np.testing.assert_allclose(clip.surprisals(asked)[0], [0, np.inf, 0])
    np.testing.assert_allclose(clip.negative_rate_, 1 / 3)
    np.testing.assert_allclose(clip.negatives_.mass, 0.25)
    expected = -np.log(np.array([1.25, 0.25, 1.25]) / 1.5)
    np.testing.assert_allclose(absolute.surprisals(asked)[0], expected)
    np.testing.assert_allclose(absolute.negative_rate_, 1 / 3)
    with pytest.raises(DataError, match="1 of 3 tokens"):
        strict.surprisals(asked)
    np.testing.assert_allclose(clip.next_symbols([["a"]]), [[1, 0]])
    np.testing.assert_allclose(absolute.next_symbols([["a"]]), [[1.25 / 1.5, 0.25 / 1.5]])
    clip.unigram_weight = 0.5
    np.testing.assert_allclose(np.exp(-clip.surprisals([["b"]])[0]), [0.5 * 1.5 / 5])
    signs, logs = clip.raw_probability([["a", "b"], []])
    assert signs.tolist() == [-1, 1]
    np.testing.assert_allclose(np.exp(logs), [1.25 * 0.25, 1])
    assert clip.negative_rate_ == 0.5


def test_no_rate_before_a_query():
    with pytest.raises(AttributeError, match="after a query"):
        _ = SpectralHMM(1).fit(SENTENCES).negative_rate_


# ---------------------------------------------------------------- bad input


def test_rank():
    with pytest.raises(RankError):
        SpectralHMM(9).fit(SENTENCES)
    with pytest.raises(RankError):
        SpectralHMM(2).fit([["a"] * 9])


def test_one_symbol_only():
    model = SpectralHMM(1, unigram_weight=0).fit([["a", "a", "a", "a"]])
    np.testing.assert_allclose(model.perplexity([["a", "a"]]), 1.0, rtol=1e-6)


@pytest.mark.parametrize("lengths", [[0], [1, 1], [2, 0, 1], [2, 2]])
def test_sequences_too_short_for_triples(lengths):
    with pytest.raises(DataError, match=r"triples|no tokens"):
        SpectralHMM(1).fit([["a", "b"][:n] for n in lengths])


def test_short_sequences_beside_long_ones_count_as_beginnings():
    model = SpectralHMM(1, unigram_weight=0).fit([["b"], [], ["a", "b", "a"], ["b", "a"]])
    assert model.operators_.n_symbols == 3
    assert np.isfinite(model.log_prob([["b", "a"], []])).all()


def test_unseen_symbols_have_some_probability():
    model = SpectralHMM(2, kappa=1).fit(SENTENCES)
    assert np.isfinite(model.log_prob([["zebra", "ran", "zebra"]])).all()
    assert model.negative_rate_ > 0  # what was never seen has no operator


def test_a_million_tokens_in_one_sequence():
    rng = np.random.default_rng(0)
    ids = rng.integers(5, size=1_000_000).astype(np.int32)
    ids[1:][ids[:-1] == 0] = 1  # 1 follows 0
    from eigentext.sequences import Symbols

    symbols = Symbols((*"abcd", "<unk>"), np.bincount(ids))
    data = Encoded(ids, np.array([0, len(ids)]))
    model = SpectralHMM(2, kappa=0).fit_encoded(data, symbols)
    found = model.surprisals_encoded(data)
    assert np.isfinite(found).all()
    assert np.exp(found.mean()) < 4.7
    sign, log = model.operators_.signed_probability(ids[:50_000])
    assert sign == 1
    assert np.isfinite(log)


def test_settings_are_checked():
    for bad in ({"negatives": "ignore"}, {"unigram_weight": 2}, {"floor": -1}, {"kappa": -1}):
        with pytest.raises(SettingsError):
            SpectralHMM(1, **bad).fit(SENTENCES)
    for bad in ({"estimator": "em"}, {"dictionary": "pca"}, {"n_states": 0}):
        with pytest.raises(SettingsError):
            SpectralHMM(**{"n_states": 1, **bad}).fit(SENTENCES)
    with pytest.raises(SettingsError, match="at least 3"):
        exact_moments(Parameters.random(1, 2), 2)
    with pytest.raises(ValueError, match="symbol 5"):
        Moments.of(Encoded.of([[5, 1, 2]]), 3)


def test_a_str_is_no_sequence():
    with pytest.raises(SettingsError, match="list"):
        SpectralHMM(1).fit(["the cat ran"])
    with pytest.raises(SettingsError):
        SpectralHMM(1).fit("the cat ran")


# ---------------------------------------------------------------- storage


@pytest.mark.parametrize("estimator", ["cca", "fru"])
def test_saved_and_loaded(tmp_path, estimator):
    model = SpectralHMM(3, estimator=estimator, kappa=3).fit(SENTENCES)
    model.save(tmp_path / "m.eig")
    back = SpectralHMM.load(tmp_path / "m.eig")
    assert back.get_params() == model.get_params()
    np.testing.assert_array_equal(back.log_prob(SENTENCES), model.log_prob(SENTENCES))
    np.testing.assert_array_equal(back.singular_values_, model.singular_values_)


def test_a_damaged_model_is_an_error(tmp_path):
    from eigentext.base import modelfile

    model = SpectralHMM(2, kappa=3).fit(SENTENCES)
    model.save(tmp_path / "m.eig")
    stored = modelfile.load(tmp_path / "m.eig")
    arrays = {**stored.arrays, "matrices": stored.arrays["matrices"][:-1]}
    modelfile.save(
        tmp_path / "bad.eig",
        "spectral-hmm",
        arrays,
        settings=stored.header.settings,
        facts=stored.header.facts,
        format_version=1,
        strings=stored.strings,
    )
    with pytest.raises(ModelFileError, match="'matrices', axis 0"):
        SpectralHMM.load(tmp_path / "bad.eig")


def test_float32_matrices_are_near_the_double_ones(monkeypatch):
    import eigentext.sequences.spectral.operators as module

    moments = exact_moments(Parameters.random(2, 6, seed=1), 6)
    words = dictionary(moments, 2)
    double = make_operators(moments, words)
    monkeypatch.setattr(module, "_DOUBLE", 0)
    single = make_operators(moments, words)
    assert single.matrices.dtype == np.float32
    np.testing.assert_allclose(single.matrices, double.matrices, atol=1e-5)
    np.testing.assert_allclose(single.rows(), double.rows(), atol=1e-5)


def test_after_a_negative_value_the_state_begins_anew():
    from eigentext.sequences import Symbols

    rng = np.random.default_rng(3)
    stop = np.ones(2)
    B = rng.random((2, 2, 2))
    B /= B.sum(axis=(0, 1))  # columns of both together sum to 1: mass is kept
    start, usual = np.array([2.0, -1.0]), np.array([0.3, 0.7])
    B[1] -= [[0.0, 0.0], [0.5, 0.0]]  # makes b_inf' B_1 start negative
    model = SpectralHMM(2, unigram_weight=0.0, floor=0.0)
    model.symbols_ = Symbols(("a", "<unk>"), np.array([3, 1]))
    model._take(Operators(start, stop, B, usual))
    assert stop @ B[1] @ start < 0
    state = B[1] @ usual
    state /= stop @ state
    values = np.maximum(stop @ B @ state, 0)
    np.testing.assert_allclose(model.next_symbols([["b"]])[0], values / values.sum())
