"""Spectral operators as a user meets them: kernel and twin, policies, dictionaries, commands."""

from __future__ import annotations

import json

import numpy as np
import pytest
from protocols.text_dictionary import text_dictionary
from typer.testing import CliRunner

from eigentext.dependency import SpectralTreeOperators
from eigentext.dependency.latent.moments import TreeDictionary, TreeMoments, treebank_dictionary
from eigentext.dependency.latent.observations import Observations, WordForest
from eigentext.dependency.latent.operators import bound_7, examine, negative_rate
from eigentext.errors import DataError, RankError, SettingsError
from eigentext.language.trees.dependency import DependencyTree
from oracle.latent_trees import signed_score

WORDS = [f"w{i}" for i in range(12)]


def random_heads(rng, n):
    order = rng.permutation(n)
    heads = np.zeros(n, int)
    for at in range(1, n):
        heads[order[at]] = order[rng.integers(at)] + 1
    return heads


def random_trees(seed, n_trees=400, longest=7):
    """Two kinds of words; a left child is of its parent's kind, a right child mostly is not."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n_trees):
        n = int(rng.integers(1, longest + 1))
        heads = random_heads(rng, n)
        bare = DependencyTree([""] * n, heads)
        kind = np.zeros(n, int)
        for i in bare._leaves_first[::-1]:
            head = heads[i - 1]
            same = rng.random() < (0.9 if head > i else 0.2)
            kind[i - 1] = rng.integers(2) if not head else kind[head - 1] ^ (not same)
        words = [WORDS[6 * g + int(rng.integers(6))] for g in kind]
        found.append(DependencyTree(words, heads, tags=[f"T{int(w[1:]) % 2}" for w in words]))
    return found


TREES = random_trees(0)


@pytest.fixture(scope="module")
def model():
    return SpectralTreeOperators(2, observations="word", min_count=1).fit(TREES)


@pytest.mark.parametrize("events", ["triples", "instruments"])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("dictionary", ["svd", "cca"])
@pytest.mark.parametrize("observations", ["word", "word+tag"])
def test_the_kernel_equals_its_plain_twin(events, directed, dictionary, observations):
    found = SpectralTreeOperators(
        2,
        observations=observations,
        min_count=1,
        events=events,
        directed=directed,
        dictionary=dictionary,
    ).fit(TREES)
    rng = np.random.default_rng(3)
    for tree in random_trees(5, 25, longest=11):
        heads = np.stack([tree.heads, random_heads(rng, len(tree))])
        signs, logs = found.signed_scores(tree.forms, tree.tags, heads)
        seen = found.observations_.encode(tree.forms, tree.tags)
        for at in (0, 1):
            sign, log = signed_score(found.operators_, seen, heads[at])
            assert sign == signs[at]
            np.testing.assert_allclose(logs[at], log, rtol=1e-9)


def test_scores_of_all_words_sum_to_nearly_one(model):
    """The sum over words is c_inf' D(...) c_1 with every emission replaced by 1."""
    total = 0.0
    for a in WORDS:
        for b in WORDS:
            signs, logs = model.signed_scores([a, b], None, [[2, 0]])
            total += signs[0] * np.exp(logs[0])
    assert total == pytest.approx(1.0, abs=0.1)


def test_policies_for_scores_that_are_not_positive(model):
    signs = np.array([1, -1, 0, 1], np.int8)
    logs = np.array([-3.0, -4.0, -np.inf, -1e9])
    floor = 2 * np.log(1e-8)  # the least score of a word
    model.n_scored_ = model.n_negative_ = 0
    model.negatives = "clip"
    assert model.by_policy(signs, logs, 2).tolist() == [-3.0, floor, floor, floor]
    assert model.negative_rate == 0.5
    model.negatives = "abs"
    assert model.by_policy(signs, logs, 2).tolist() == [-3.0, -4.0, floor, floor]
    model.negatives = "error"
    with pytest.raises(DataError, match="2 of 4 scores"):
        model.by_policy(signs, logs, 2)
    model.negatives = "clip"


def test_negative_scores_do_happen_and_are_counted():
    """Few trees of real shape and more states than they carry."""
    few = random_trees(1, 60)
    found = SpectralTreeOperators(4, observations="word", min_count=1).fit(few)
    rate = negative_rate(found, random_trees(2, 200))
    assert 0.02 < rate < 0.98
    found.log_score(TREES[0])
    assert found.n_scored_ == 1


def test_a_ranked_pair(model):
    """The two kinds alternate to the right: scores know."""
    like = DependencyTree(["w0", "w1", "w7"], [2, 0, 2])
    unlike = DependencyTree(["w0", "w7", "w8"], [2, 0, 2])
    assert model.log_score(like) > model.log_score(unlike)


def test_a_rank_that_is_not_there():
    with pytest.raises(RankError):
        SpectralTreeOperators(40, observations="word", min_count=1).fit(TREES)
    same = [DependencyTree(["a"] * 3, [2, 0, 2], tags=["T"] * 3)] * 5
    with pytest.raises(RankError):
        SpectralTreeOperators(2, observations="word", min_count=1).fit(same)
    chains = [DependencyTree(one.forms[:3], [0, 1, 2]) for one in TREES if len(one) >= 3]
    with pytest.raises(SettingsError, match="left and a right child"):
        SpectralTreeOperators(2, observations="word", min_count=1).fit(chains)
    found = SpectralTreeOperators(2, observations="word", min_count=1, events="instruments").fit(
        chains
    )
    assert np.isfinite(found.log_score(chains[0]))
    assert not found.operators_.E[0].any()  # no left child was ever seen


def test_bad_settings(model):
    for how in ({"n_states": 0}, {"negatives": "hide"}, {"events": "pairs"}):
        with pytest.raises(SettingsError):
            SpectralTreeOperators(**how).fit(TREES)
    with pytest.raises(SettingsError, match="svd or cca"):
        SpectralTreeOperators(2, dictionary="lsa").fit(TREES)
    wrong = TreeDictionary(np.eye(3), "svd")
    with pytest.raises(SettingsError, match="expected"):
        SpectralTreeOperators(3, dictionary=wrong).fit(TREES)
    with pytest.raises(SettingsError, match="share p"):
        TreeDictionary(np.eye(3), "cca")
    with pytest.raises(SettingsError, match="kind"):
        TreeDictionary(np.eye(3), "pca")
    with pytest.raises(DataError, match="finite"):
        TreeDictionary(np.array([[np.nan]]), "svd")
    with pytest.raises(ValueError, match="cycle"):
        model.log_scores(["w0", "w1"], None, [[2, 1]])
    with pytest.raises(DataError, match="no trees"):
        SpectralTreeOperators(2).fit([])


def test_long_sentences_do_not_underflow(model):
    chain = DependencyTree([WORDS[i % 12] for i in range(300)], range(300))
    signs, logs = model.signed_scores(chain.forms, None, chain.heads[None])
    assert np.isfinite(logs[0])
    assert logs[0] < -300
    one = DependencyTree(["w0"], [0])
    assert np.isfinite(model.log_score(one))
    assert signs[0] in (-1, 1)


# ---------------------------------------------------------------- dictionaries


def test_dictionary_of_a_treebank_spans_the_kinds():
    seen = Observations.learn(TREES, "word", min_count=1)
    forest = WordForest.of(TREES, seen)
    for kind in ("svd", "cca"):
        U = treebank_dictionary(forest, seen.sizes[0], 2, kind=kind).U
        of = np.array([int(name[1:]) >= 6 for name in seen.names[0][:-1]])
        second = U[:-1] @ np.linalg.lstsq(U[:-1], np.where(of, 1.0, -1.0), rcond=None)[0]
        assert ((second > 0) == of).mean() > 0.9
    with pytest.raises(SettingsError):
        treebank_dictionary(forest, seen.sizes[0], 0)
    with pytest.raises(SettingsError):
        treebank_dictionary(forest, seen.sizes[0], 2, kind="lsa")


def test_dictionary_from_vectors_looks_words_up():
    seen = Observations.learn(
        [DependencyTree(["Paris", "sleeps", "oddly"], [2, 0, 2], tags=["PROPN", "VERB", "ADV"])],
        min_count=1,
    )
    vectors = np.arange(6.0).reshape(3, 2)
    found = text_dictionary(seen, ["Paris", "sleeps", "<unk>"], vectors)
    rows = {name: found.U[at].tolist() for at, name in enumerate(seen.names[0])}
    assert rows == {
        "paris|PROPN": [0, 1],
        "sleeps|VERB": [2, 3],
        "oddly|ADV": [4, 5],
        "<unk>": [4, 5],
    }
    with pytest.raises(RankError):
        text_dictionary(seen, ["a", "b", "c"], vectors, k=3)
    with pytest.raises(DataError):
        text_dictionary(seen, ["a"], vectors)


def test_rare_words_go_by_their_signatures():
    forms = [["walking"], ["talking"], ["running"], ["baking"], ["the"], ["the"]]
    trees = [DependencyTree(one, [0], tags=["V" if "ing" in one[0] else "D"]) for one in forms]
    seen = Observations.learn(trees, "word|tag", min_count=2)
    name = dict(enumerate(seen.names[0]))
    shown = seen.encode(["THE", "hoping", "hop", "x"], ["D", "V", "V", "NEW"])[0]
    assert [name[x] for x in shown] == ["the|D", "<lower-ing>|V", "<lower>|V", "<unk>"]


# ---------------------------------------------------------------- conditions and commands


def test_conditions_and_bound_7(model):
    moments = model.moments_
    found = examine(moments, largest=2.0)
    np.testing.assert_allclose(found.conditions["Omega"], np.linalg.cond(moments.Omega), rtol=1e-9)
    np.testing.assert_allclose(
        found.conditions["E_L"], np.linalg.cond(model.operators_.E[0]), rtol=1e-6
    )
    smallest = [
        np.linalg.svd(x, compute_uv=False)[-1] / moments.n / 4
        for x in (moments.Sigma_L, moments.Sigma_R, moments.Omega)
    ]
    np.testing.assert_allclose(found.sigma_k, min(smallest), rtol=1e-9)
    assert found.smallest <= np.abs(moments.K).min() / moments.n / 8 * (1 + 1e-9)
    more = examine(moments, largest=2.0, words=32)
    assert more.triples_needed > 2 * found.triples_needed
    assert bound_7(3, 0.0, 0.1, words=1, levels=1) == float("inf")
    # eps^2 / s^2 / ((1 + eps)^(1/s) - 1)^2 tends to (eps / log(1 + eps))^2
    s = 12 * 50 + 2 * 10
    plain = 128 * 9 * s**2 / (0.25 * 0.01 * 0.0001) * np.log(6 / 0.1) * (0.5 / np.log(1.5)) ** 2
    assert bound_7(3, 0.1, 0.1, words=50, levels=10) == pytest.approx(plain, rel=1e-2)
    with pytest.raises(SettingsError):
        bound_7(3, 0.1, 0.1, words=0, levels=1)
    empty = TreeMoments(np.zeros((2, 2, 2)), *np.zeros((3, 2, 2)), np.zeros(2), 0.0, 1.0)
    with pytest.raises(SettingsError, match="both sides"):
        examine(empty)


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    from eigentext.language.formats import conllu

    path = tmp_path_factory.mktemp("trees") / "trees.conllu"
    conllu.write_sentences([conllu.from_dependency_tree(one) for one in TREES], str(path))
    return path


def run(*arguments):
    from eigentext.cli.main import app

    return CliRunner().invoke(app, [*map(str, arguments)])


def test_commands(treebank, tmp_path):
    shown = run("dep", "inspect", treebank, "--n-states", 2, "--observations", "word", "--json")
    figures = json.loads(shown.stdout)
    assert figures["trees"] == len(TREES)
    assert figures["condition_Omega"] > 1
    assert 0 <= figures["negative_scores"] <= 1
    model = tmp_path / "m.latent"
    made = run(
        "dep", "train-latent", treebank, "-o", model, "--n-states", 4, "--n-iter", 2, "--json"
    )
    assert made.exit_code == 0, made.output
    shown = run("dep", "inspect", model, "--top", 3, "--json")
    states = json.loads(shown.stdout)["states"]  # one object, as of every command
    assert len(states) == 4
    assert sum(one["share"] for one in states) == pytest.approx(1.0)
    assert run("dep", "inspect", model, "--state", 1).stdout.count("state ") == 1
    told = run("dep", "score", model, treebank, "--format", "jsonl", "--quiet")
    assert set(json.loads(told.stdout.splitlines()[0])) == {"log_prob", "words"}
    scores = run("dep", "score", model, treebank)
    refused = run("dep", "score", model, treebank, "--parser", model)
    assert isinstance(refused.exception, SettingsError)
    assert "--parser is for a reranker" in str(refused.exception)
    values = [float(line) for line in scores.stdout.split()]
    from eigentext.dependency import LatentTreeModel

    expected = [LatentTreeModel.load(model).log_prob(one) for one in TREES]
    np.testing.assert_allclose(values, expected, atol=1e-5)
