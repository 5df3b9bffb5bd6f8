"""Latent tree models of sentences without trees: weighted moments, weight 0, and gold trees."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigentext.dependency import LatentTreeModel
from eigentext.dependency.latent import learn
from eigentext.dependency.latent.moments import (
    InstrumentMoments,
    TreeMoments,
    link_moments,
    neighbour_counts,
)
from eigentext.dependency.latent.observations import Observations, WordForest
from eigentext.dependency.settings import Unlabelled
from eigentext.errors import SettingsError
from eigentext.lab.unlabelled.learn import WEIGHTS, TreeText, parser_of, tree_list
from eigentext.language.formats.conllu import from_dependency_tree, write_sentences
from eigentext.language.trees.dependency import DependencyTree
from helpers.commands import eigentext
from oracle.dependency_trees import projective_trees
from oracle.latent_models import random_trees

TREES = random_trees(3, 40, longest=6)
TIMES = np.random.default_rng(0).integers(0, 4, len(TREES))
HOW: dict[str, Any] = {"n_states": 6, "min_count": 1, "n_iter": 3, "structure": "valence"}


@pytest.fixture(scope="module")
def forests() -> tuple[WordForest, WordForest]:
    """Trees with whole weights, and the same trees as often as they count."""
    seen = Observations.learn(TREES, min_count=1)
    again = [tree for tree, n in zip(TREES, TIMES, strict=True) for _ in range(n)]
    return WordForest.of(TREES, seen, TIMES.astype(float)), WordForest.of(again, seen)


@pytest.mark.parametrize("kind", [TreeMoments, InstrumentMoments])
@pytest.mark.parametrize("directed", [True, False])
def test_a_weight_is_how_often_a_tree_counts(
    forests: tuple[WordForest, WordForest], kind: Any, directed: bool
) -> None:
    U = np.random.default_rng(1).standard_normal((int(forests[0].shown.max()) + 1, 2))
    one, other = (kind.of(forest, U, directed=directed) for forest in forests)
    for field in fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        np.testing.assert_allclose(a, b, atol=1e-9, err_msg=field.name)


def test_neighbours_links_and_counts_are_weighted(forests: tuple[WordForest, WordForest]) -> None:
    size = int(forests[0].shown.max()) + 1
    one, other = (neighbour_counts(forest, size) for forest in forests)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.toarray(), b.toarray())
    U = np.random.default_rng(1).standard_normal((size, 2))
    (sums, whole), (more, both) = (link_moments(forest, U, [size]) for forest in forests)
    np.testing.assert_allclose(sums[0], more[0], atol=1e-9)
    np.testing.assert_allclose(whole, both, atol=1e-9)


def test_em_counts_are_weighted(
    forests: tuple[WordForest, WordForest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learn, "_WORDS_OF_A_BLOCK", 30)  # a block has its own trees' weights
    model = LatentTreeModel(**HOW).fit(TREES)
    found = [learn.expected_counts(model._encode(forest), model.tables_) for forest in forests]
    assert found[0][0] == pytest.approx(found[1][0])
    states = [np.random.default_rng(2).integers(6, size=len(forests[0].heads))]
    states.append(np.concatenate([
        np.tile(states[0][a:b], n)
        for a, b, n in zip(forests[0].ptr[:-1], forests[0].ptr[1:], TIMES, strict=True)
    ]))  # fmt: skip
    known = [
        learn.counts_of_states(model._encode(forest), own, 6)
        for forest, own in zip(forests, states, strict=True)
    ]
    for one, other in ((found[0][1], found[1][1]), known):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)


def test_shares_are_those_of_all_trees() -> None:
    """Four words have 30 projective trees: a list of all of them has the posterior of each."""
    parser = parser_of(TREES, "english")
    tree = next(tree for tree in TREES if len(tree) == 4)
    heads, shares = tree_list(parser, tree.forms, tree.tags or (), 1000)
    every = projective_trees(4)
    logs = parser.log_probs(tree.forms, every, upos=tree.tags)
    wanted = dict(zip(map(tuple, every), np.exp(logs - np.logaddexp.reduce(logs)), strict=True))
    assert len(shares) == len(every)
    for own, share in zip(heads.tolist(), shares, strict=True):
        assert share == pytest.approx(wanted[tuple(own)], abs=1e-12)
    few, most = tree_list(parser, tree.forms, tree.tags or (), 3)
    assert len(few) == 3
    assert most.sum() == pytest.approx(1.0)


def test_no_weight_is_no_text() -> None:
    text = [from_dependency_tree(tree) for tree in random_trees(5, 30)]
    plain = LatentTreeModel(**HOW).fit(TREES)
    other = LatentTreeModel(**HOW).fit(TREES, unlabelled=Unlabelled(text, weight=0.0))
    assert other.to_bytes() == plain.to_bytes()
    used = LatentTreeModel(**HOW).fit(TREES, unlabelled=Unlabelled(text, weight=0.5))
    assert used.to_bytes() != plain.to_bytes()
    assert used.unlabelled_.n_used == 30


def test_gold_trees_of_weight_one_are_trees() -> None:
    """Lists of the one right tree, weight 1: the model of all trees together, to the last bit."""
    more = random_trees(5, 30)
    gold = TreeText(more, np.ones(len(more)), np.arange(len(more)))
    one = LatentTreeModel(**HOW).fit_trees(TREES, gold, 1.0, None)
    assert one.to_bytes() == LatentTreeModel(**HOW).fit([*TREES, *more]).to_bytes()


def test_lists_of_all_trees_never_lower_the_weighted_likelihood() -> None:
    parser = parser_of(TREES, "english")
    text = TreeText.of(parser, [from_dependency_tree(t) for t in random_trees(5, 20)], 4)
    assert text.shares.sum() == pytest.approx(20)
    assert (text.shares[text.first] >= 0.25 - 1e-9).all()
    none = learn.LatentSmoothing(0.0, 0.0, 0.0, 0.0)
    model = LatentTreeModel(**{**HOW, "n_iter": 8, "smoothing": none})
    model.fit_trees(TREES, text, 0.3, None)
    assert np.diff(model.log_likelihoods_).min() > -1e-8


def test_the_weight_is_chosen_by_held_out_trees() -> None:
    text = [from_dependency_tree(tree) for tree in random_trees(5, 12, longest=5)]
    long = from_dependency_tree(DependencyTree(["ant"] * 26, range(26), tags=["A"] * 26))
    model = LatentTreeModel(n_states=3, min_count=1, n_iter=1)
    model.fit(TREES[:15], unlabelled=Unlabelled([*text, long]))
    report = model.unlabelled_
    assert tuple(report.held_out) == WEIGHTS
    assert report.held_out[report.weight] == max(report.held_out.values())
    assert (report.n_used, report.n_left_out) == (12, 1)


def test_settings_that_no_trees_allow_are_told_in_their_own_words() -> None:
    text = [from_dependency_tree(tree) for tree in random_trees(5, 12)]
    with pytest.raises(SettingsError, match=r"^1 states"):
        LatentTreeModel(n_states=1, min_count=1).fit(TREES, unlabelled=Unlabelled(text))


def test_the_command(tmp_path: Path) -> None:
    write_sentences(map(from_dependency_tree, TREES), str(tmp_path / "trees.conllu"))
    write_sentences(map(from_dependency_tree, random_trees(5, 9)), str(tmp_path / "text.conllu"))
    line = "dep train-latent trees.conllu -o m -k 4 --n-iter 1 --min-count 1 --json"
    more = "--unlabelled text.conllu --unlabelled-weight 0.1 --unlabelled-trees best"
    done = eigentext(*line.split(), *more.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b'"unlabelled_used": 9' in done.stdout
    assert np.isfinite(LatentTreeModel.load(tmp_path / "m").log_prob(TREES[0]))
