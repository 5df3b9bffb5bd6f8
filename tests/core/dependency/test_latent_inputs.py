"""The latent tree model on odd trees, bad settings, planted states and real trees."""

from __future__ import annotations

import numpy as np
import pytest

from eigentext.base.model import NotFittedError
from eigentext.dependency import LatentTreeModel
from eigentext.dependency.latent import learn
from eigentext.dependency.latent.learn import LatentSmoothing, StateRanges, StateTables
from eigentext.dependency.latent.observations import Observations, WordForest
from eigentext.errors import DataError, SettingsError
from eigentext.language.trees.dependency import DependencyTree
from oracle.latent_models import fitted, random_heads, random_trees

_ONE = fitted(edges="ordered", structure="valence+size")


def test_odd_trees():
    model = _ONE
    one = DependencyTree(["ant"], [0], tags=["A"])
    assert np.isfinite(model.log_prob(one))
    np.testing.assert_allclose(model.posteriors(one).sum(axis=1), 1.0)
    chain = DependencyTree(["ant"] * 300, range(300), tags=["A"] * 300)
    fan = DependencyTree(["ant"] * 600, [0] + [1] * 599, tags=["A"] * 600)
    for tree in (chain, fan):
        value = model.log_prob(tree)
        assert np.isfinite(value)
        assert value < -300
        np.testing.assert_allclose(model.posteriors(tree).sum(axis=1), 1.0)
    roots = DependencyTree(["ant", "bee"], [0, 0], tags=["A", "B"])
    alone = [DependencyTree([w], [0], tags=[t]) for w, t in (("ant", "A"), ("bee", "B"))]
    np.testing.assert_allclose(
        model.log_prob(roots), sum(model.log_prob(tree) for tree in alone), rtol=1e-12
    )
    strange = DependencyTree(["\u00a0", ""], [2, 0], tags=["NEW", "A"])
    assert np.isfinite(model.log_prob(strange))


def test_a_word_with_very_many_children_is_exact():
    """pi' (e o m^5999) by logs: the product is rescaled on the way."""
    model = fitted(n_states=3, split=False)
    n = 6000
    tree = DependencyTree(["ant"] * n, [0] + [1] * (n - 1), tags=["A"] * n)
    params = model.params
    e = params.O[model.observations_.encode(["ant"], ["A"])[0, 0]]
    logs = np.log(params.pi) + np.log(e) + (n - 1) * np.log(params.T_right.T @ e)
    expected = logs.max() + np.log(np.exp(logs - logs.max()).sum())
    np.testing.assert_allclose(model.log_prob(tree), expected, rtol=1e-10)
    np.testing.assert_allclose(model.log_likelihood([tree]), expected, rtol=1e-10)


def test_bad_heads_are_refused():
    forms, tags = ["ant", "bee"], ["A", "B"]
    for heads, why in (
        ([[2, 1]], "cycle"),
        ([[0, 3]], "out of range"),
        ([[0]], "shape"),
        ([[0.0, 1.0]], "integers"),
        ([0, 1], "shape"),
    ):
        with pytest.raises(ValueError, match=why):
            _ONE.log_probs(forms, tags, heads)
    with pytest.raises(SettingsError, match="list of tokens, not the string 'ab'"):
        _ONE.log_probs("ab", tags, [[0, 1]])
    with pytest.raises(DataError, match="without tags"):
        _ONE.log_probs(forms, None, [[0, 1]])


def test_bad_settings_and_data():
    for how in (
        {"n_states": 0},
        {"n_iter": -1},
        {"structure": "depth"},
        {"edges": "sideways"},
        {"start": "cold"},
        {"n_models": 0},
    ):
        with pytest.raises(SettingsError):
            LatentTreeModel(**how).fit([])
    with pytest.raises(SettingsError, match="smoothing"):
        LatentSmoothing(emission=-1.0)
    trees = random_trees(0)
    with pytest.raises(SettingsError, match="observations only"):
        fitted(n_states=100)
    with pytest.raises(SettingsError, match="observations only"):
        fitted(n_states=100, split=False)
    with pytest.raises(SettingsError, match="3 tags"):
        fitted(n_states=2)
    with pytest.raises(SettingsError, match="no tag"):
        fitted(observations="word")
    with pytest.raises(SettingsError, match="expected word"):
        fitted(observations="lemma")
    with pytest.raises(DataError, match="no trees"):
        LatentTreeModel().fit([])
    with pytest.raises(DataError, match="without tags"):
        LatentTreeModel().fit([DependencyTree(["a"], [0])])
    with pytest.raises(SettingsError, match="min_count"):
        Observations.learn(trees, min_count=0)


def test_one_observation_only_needs_one_state():
    tree = DependencyTree(["ant"] * 3, [2, 0, 2], tags=["A"] * 3)
    model = LatentTreeModel(1, min_count=1, n_iter=2, smoothing=LatentSmoothing(0, 0, 0, 0))
    assert model.fit([tree]).log_prob(tree) == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(SettingsError, match="1 observations only"):
        LatentTreeModel(2, min_count=1).fit([tree])


def test_states_are_shared_out_by_frequency():
    trees = random_trees(3)
    seen = Observations.learn(trees, min_count=1)
    per_tag = learn.states_per_tag(WordForest.of(trees, seen), seen.tag_of, 5)
    assert sum(per_tag) == 5
    assert min(per_tag) >= 1
    ranges = StateRanges.by_tag(seen.tag_of, per_tag)
    for x, name in enumerate(seen.names[0][:-1]):
        tag = seen.tags.index(name.rpartition("|")[2])
        assert (ranges.group[ranges.lo[x] : ranges.hi[x]] == tag).all()
        assert ranges.hi[x] - ranges.lo[x] == per_tag[tag]
    assert (ranges.lo[-1], ranges.hi[-1]) == (0, 5)


def test_spectral_start_finds_planted_states():
    """Words of two kinds: whatever is below one kind is of the other."""
    rng = np.random.default_rng(0)
    trees = []
    for _ in range(300):
        heads = random_heads(rng, 6)
        kind = np.zeros(6, int)
        for i in DependencyTree([""] * 6, heads)._leaves_first[::-1]:
            head = heads[i - 1]
            kind[i - 1] = 1 - kind[head - 1] if head else rng.integers(2)
        forms = [f"{'xy'[g]}{rng.integers(5)}" for g in kind]
        trees.append(DependencyTree(forms, heads, tags=["T"] * 6))
    model = LatentTreeModel(2, min_count=1, n_iter=0, split=False).fit(trees)
    O = model.params.O  # noqa: E741
    of = {name: int(O[at].argmax()) for at, name in enumerate(model.observations_.names[0])}
    assert len({of[f"x{i}|T"] for i in range(5)}) == 1
    assert of["x0|T"] != of["y0|T"]


@pytest.mark.requires("data")
def test_real_trees(data):
    from itertools import islice

    from eigentext.language.formats import conllu

    path = str(data / "dependency" / "ewt" / "train.conllu")
    read = islice(conllu.read_sentences(path), 600)
    trees = [conllu.to_dependency_tree(one) for one in read]
    model = LatentTreeModel(30, n_iter=4).fit(trees[:500])
    rng = np.random.default_rng(0)
    wins = []
    for tree in trees[500:]:
        if len(tree) > 3:
            other = random_heads(rng, len(tree))
            gold, wrong = model.log_probs(tree.forms, tree.tags, [tree.heads, other])
            wins.append(gold > wrong)
    assert np.mean(wins) > 0.95
    assert isinstance(model.tables_, StateTables)


def test_an_unfitted_model_says_so(tmp_path):
    model, tree = LatentTreeModel(2), DependencyTree(["ant"], [0], tags=["A"])
    for asked in (
        lambda: model.log_prob(tree),
        lambda: model.posteriors(tree),
        lambda: model.log_likelihood([tree]),
        lambda: model.params,
        lambda: model.sample([0]),
        lambda: model.save(tmp_path / "x.model"),
    ):
        with pytest.raises(NotFittedError, match="LatentTreeModel has learned nothing yet"):
            asked()
