"""The HMM class: learning, starts, queries, storage, and odd input."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from eigentext.base import modelfile
from eigentext.base.model import NotFittedError
from eigentext.errors import DataError, EigentextError, ModelFileError, RankError, SettingsError
from eigentext.sequences import HMM, Encoded, Parameters, Symbols
from eigentext.sequences.hmm import inference
from eigentext.sequences.inspection import kneser_ney_surprisals, shares, spectrum_of, states_of

TEXT = [line.split() for line in ("the cat sat", "a dog ran", "the dog sat", "a cat ran")] * 20


@pytest.fixture(scope="module")
def planted():
    """Text of a planted model with three clear states, and the model."""
    k, per_state = 3, 6
    T = np.array([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.7, 0.2, 0.1]])
    O = np.full((k, k * per_state), 0.004)  # noqa: E741
    rng = np.random.default_rng(0)
    for i in range(k):
        O[i, i * per_state : (i + 1) * per_state] += rng.dirichlet(np.full(per_state, 3.0))
    parameters = Parameters([0.6, 0.3, 0.1], T, O / O.sum(axis=1, keepdims=True))
    data = inference.sample(parameters, 400, 25, seed=1)
    names = [f"w{x:02d}" for x in range(k * per_state)]
    return parameters, [[names[x] for x in data[s].tolist()] for s in range(len(data))]


@pytest.fixture(scope="module")
def model():
    return HMM(3, start="random", n_iter=15, min_count=1, seed=1).fit(TEXT)


def test_queries_are_those_of_inference(model):
    X = [["the", "cat", "ran"], [], ["dog"], ["the", "zebra"]]
    data = model.symbols_.encode(X)
    p = model.parameters_
    assert_allclose(model.log_prob(X), inference.log_likelihoods(p, data))
    assert model.score(X) == pytest.approx(model.log_prob(X).sum() / 6)
    assert model.perplexity(X) == pytest.approx(np.exp(-model.score(X)))
    for mine, theirs in (
        (model.surprisals, inference.surprisals),
        (model.predict, inference.viterbi),
        (lambda x: model.predict(x, method="posterior"), inference.posterior_decode),
        (model.predict_proba, inference.smoothed),
        (model.filter, inference.filtered),
    ):
        found = mine(X)
        assert [len(one) for one in found] == [3, 0, 1, 2]
        assert_allclose(np.concatenate(found), theirs(p, data))
        assert mine([]) == []
    assert_allclose(model.next_symbols(X).sum(axis=1), 1)
    assert_allclose(model.surprisals_encoded(data), inference.surprisals(p, data))
    drawn = model.sample(4, 6, seed=3)
    assert [len(one) for one in drawn] == [6] * 4
    assert drawn == model.sample(4, 6, seed=3)


def test_the_history_rises_and_the_best_start_is_kept(planted):
    _, X = planted
    model = HMM(3, start="random", n_starts=4, n_iter=8, smoothing=0.0).fit(X[:100])
    assert len(model.history_) == 8
    assert (np.diff(model.history_) > -1e-12).all()
    assert [one.seed for one in model.starts_] == [0, 1, 2, 3]
    finals = [one.final for one in model.starts_]
    assert model.score(X[:100]) == pytest.approx(max(finals))
    assert model.spread_["best"] == max(finals)
    assert model.spread_["worst"] == min(finals) < max(finals)
    best = int(np.argmax(finals))
    alone = HMM(3, start="random", n_iter=8, smoothing=0.0, seed=best).fit(X[:100])
    assert_allclose(alone.parameters_.emission, model.parameters_.emission)
    assert model.history_ == alone.history_


@pytest.mark.parametrize("start", ["spectral", "recovered"])
def test_a_start_from_moments_finds_the_planted_model(planted, start):
    truth, X = planted
    symbols = Symbols.fit(X)
    order = [int(name[1:]) if name != "<unk>" else -1 for name in symbols.names]
    best = inference.log_likelihoods(
        truth, Encoded.of([[order[x] for x in symbols.encode([one]).ids] for one in X])
    ).sum()
    model = HMM(3, start=start, n_iter=20, symbols=symbols).fit(X)
    assert model.log_prob(X).sum() > best - 60  # 54 parameters are fitted
    states = model.predict(X)
    assert len(set(np.concatenate(states).tolist())) == 3


def test_zero_iterations_keep_the_start(planted):
    _, X = planted
    model = HMM(3, start="recovered", n_iter=0).fit(X)
    assert model.history_ == ()
    assert np.isfinite(model.score([["w01", "never-seen"]]))


def test_given_parameters(model):
    again = HMM(3, parameters=model.parameters_, symbols=model.symbols_, n_iter=0).fit(TEXT)
    assert_allclose(again.parameters_.emission, model.parameters_.emission)
    with pytest.raises(SettingsError, match="parameters have 3 states, but n_states is 4"):
        HMM(4, parameters=model.parameters_).fit(TEXT)
    with pytest.raises(SettingsError, match="symbols, but here are"):
        HMM(3, parameters=model.parameters_).fit([["a", "b"]])


def test_it_comes_back_from_disk(model, tmp_path):
    path = tmp_path / "m.hmm"
    several = HMM(2, start="random", n_starts=2, n_iter=3).fit(TEXT)
    given = HMM(3, parameters=model.parameters_, symbols=model.symbols_, n_iter=1).fit(TEXT)
    for one in (model, several, given):
        one.save(path, data={"name": "cats"})
        back = HMM.load(path)
        assert back.symbols_.names == one.symbols_.names
        assert back.history_ == one.history_
        assert back.starts_ == one.starts_
        assert back.score(TEXT) == one.score(TEXT)
        assert modelfile.read_header(path).data == {"name": "cats"}
        again = tmp_path / "again.hmm"
        back.save(again, data={"name": "cats"})
        assert again.read_bytes() == path.read_bytes()


def test_a_model_whose_parts_do_not_fit_is_refused(model, tmp_path):
    path = tmp_path / "m.hmm"
    model.save(path)
    stored = modelfile.load(path)
    for change in (
        {"emission": stored.arrays["emission"][:, 1:]},
        {"initial": stored.arrays["initial"] * 2},
        {"counts": stored.arrays["counts"][1:]},
        {"final": np.zeros(7)},
    ):
        modelfile.save(
            path,
            "hmm",
            {**stored.arrays, **change},
            settings=stored.header.settings,
            facts=stored.header.facts,
            format_version=1,
            strings=stored.strings,
        )
        with pytest.raises(ModelFileError, match=r"not a sound model|parts do not fit"):
            HMM.load(path)
    modelfile.save(path, "lpcfg", {}, settings={}, format_version=1)
    with pytest.raises(
        ModelFileError, match="needs a hidden Markov model made by `eigentext hmm train`"
    ):
        HMM.load(path)


def test_scikit_learn_manners(model):
    assert clone(HMM(7, smoothing=0.5)).get_params()["n_states"] == 7
    with pytest.raises(NotFittedError):
        HMM(2).score(TEXT)
    with pytest.raises(NotFittedError):
        HMM(2).sample()


def test_hmmlearn_says_the_same(model):
    pytest.importorskip("hmmlearn", reason="hmmlearn is not installed")
    theirs = model.to_hmmlearn()
    data = model.symbols_.encode(TEXT)
    value = theirs.score(data.ids[:, None].astype(np.int64), data.lengths)
    assert value == pytest.approx(model.log_prob(TEXT).sum(), rel=1e-9)


def test_without_hmmlearn_it_says_so(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "hmmlearn.hmm", None)
    with pytest.raises(EigentextError, match="pip install hmmlearn"):
        model.to_hmmlearn()


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"n_states": 0}, "n_states is 0, expected a whole number from 1 to 1e"),
        ({"n_states": 2.5}, "n_states is 2.5, expected a whole number"),
        ({"n_states": float("nan")}, "n_states is nan"),
        ({"n_states": True}, "n_states is True"),
        ({"n_iter": -1}, "n_iter is -1, expected a whole number of at least 0"),
        ({"n_iter": float("nan")}, "n_iter is nan"),
        ({"n_starts": 0}, "n_starts is 0"),
        ({"n_starts": 2, "start": "spectral"}, "n_starts is 2: several are for a random start"),
        ({"start": "lucky"}, "start is 'lucky', expected 'spectral', 'recovered', 'tensor' or"),
        ({"smoothing": float("nan")}, "smoothing is nan"),
        ({"smoothing": float("inf")}, "smoothing is inf"),
        ({"tol": -1}, "tol is -1, expected a number of at least 0"),
        ({"precision": "half"}, "precision is 'half'"),
        ({"seed": -1}, "seed is -1"),
        ({"vocab_size": float("nan")}, "vocab_size is nan"),
    ],
)
def test_bad_settings(settings, why):
    with pytest.raises(SettingsError, match=why):
        HMM(**settings).fit(TEXT)
    with pytest.raises(SettingsError, match="method 'best'"):
        HMM(2, start="random", n_iter=1).fit(TEXT).predict(TEXT, method="best")


@pytest.mark.parametrize("X", [[], [[]], [[], []], iter([])])
def test_nothing_to_learn_from(X):
    with pytest.raises(DataError, match="no tokens"):
        HMM(2).fit(X)


def test_nothing_to_score(model):
    with pytest.raises(DataError, match="no tokens to score"):
        model.score([[]])


@pytest.mark.parametrize("X", ["to be", ["to be"], [["a"], "b"], 3])
def test_strings_are_no_sequences(X, model):
    for use in (HMM(2).fit, model.score, model.predict):
        with pytest.raises(SettingsError, match="list"):
            use(X)


@pytest.mark.parametrize("start", ["random", "spectral", "recovered"])
@pytest.mark.parametrize(
    "X", [[["a"]], [["a", "a", "a"]], [["a"], ["b"], []], [["a", "b"]], [["a"] * 50, []]]
)
def test_tiny_data(start, X):
    """Length 0 and 1, one symbol only, k above the rank: an answer, or an error that says so."""
    try:
        model = HMM(3, start=start, n_iter=3, min_count=1).fit(X)
    except (RankError, DataError) as error:
        assert start != "random"
        assert "numerical rank" in str(error) or "need at least 3" in str(error)  # noqa: PT017
        return
    assert np.isfinite(model.score([["a", "unheard-of"]]))
    assert_allclose(model.next_symbols([["a"], []]).sum(axis=1), 1)


def test_more_states_than_symbols():
    model = HMM(12, start="random", n_iter=5).fit(TEXT)
    assert model.parameters_.n_states == 12
    assert model.perplexity(TEXT) < 9
    with pytest.raises(RankError, match="rank"):
        HMM(40, start="spectral").fit(TEXT)


def test_a_million_tokens_in_one_sequence():
    rng = np.random.default_rng(0)
    names = np.array([f"w{x}" for x in range(50)])
    sequence = names[rng.integers(0, 50, 1_000_000)].tolist()
    model = HMM(2, start="random", n_iter=1, precision="single").fit([sequence])
    assert model.perplexity([sequence]) == pytest.approx(50, rel=0.03)
    assert len(model.predict([sequence])[0]) == 1_000_000


def test_inspection(planted):
    truth, X = planted
    model = HMM(3, start="recovered", n_iter=10).fit(X)
    views = states_of(model.parameters_, model.symbols_, top=6)
    assert sorted(one.state for one in views) == [0, 1, 2]
    assert [one.share for one in views] == sorted((one.share for one in views), reverse=True)
    blocks = [{(int(word[1:])) // 6 for word, _ in one.words[:4]} for one in views]
    assert sorted(map(tuple, blocks)) == [(0,), (1,), (2,)]
    for one in views:
        assert sum(p for _, p in one.after) == pytest.approx(1)
    assert shares(truth).sum() == pytest.approx(1)
    symbols = model.symbols_
    data = symbols.encode(X)
    found = spectrum_of(data, len(symbols), most=8, kappa=0.0)
    assert found.suggested == 3
    assert found.values[2] > found.shuffled[1] > found.values[3] * 0.9
    with pytest.raises(DataError, match="no two tokens in a row"):
        spectrum_of(Encoded.of([[0], [1]]), 2)


def test_kneser_ney_is_a_distribution():
    train = Encoded.of([[0, 1, 2, 0, 1], [2, 2], [1]])
    for before in ([], [0], [2]):
        rows = [kneser_ney_surprisals(train, Encoded.of([[*before, x]]), 4)[-1] for x in range(4)]
        assert 0.8 < np.exp(-np.array(rows)).sum() <= 1  # the rest is for the beginning's symbol
    assert kneser_ney_surprisals(train, Encoded.of([[], [0], []]), 4).shape == (1,)
