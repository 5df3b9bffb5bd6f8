"""Weights from lists of trees: gradients by differences, known answers, what learning finds."""

from __future__ import annotations

import numpy as np
import pytest

from eigentext.linear import lists as learn
from eigentext.linear.lists import (
    LearningList,
    ListFeatures,
    ListWeights,
    learn_weights,
    list_scores,
    objective,
    places,
    to_instances,
)

TARGETS = ("risk", "best")


def _random_list(rng, k=4, n_groups=6, n_features=9, n_dense=2):
    """A list of k trees with random groups; two of them are worth the same."""
    of_tree = [np.flatnonzero(rng.random(n_groups) < 0.5) for _ in range(k)]
    of_group = [rng.integers(0, n_features, rng.integers(1, 4)) for _ in range(n_groups)]
    features = ListFeatures(
        np.cumsum([0, *map(len, of_tree)]),
        np.concatenate(of_tree).astype(np.int32),
        np.cumsum([0, *map(len, of_group)]),
        np.concatenate(of_group).astype(np.uint64),
    )
    gains = rng.integers(0, 4, k).astype(float)
    return LearningList(features, rng.normal(size=(k, n_dense)), gains)


def _plain_scores(item, dense, weight_of):
    """The score of each tree, one feature after the other."""
    found = item.features
    totals = []
    for tree in range(len(item.gains)):
        total = float(item.dense[tree] @ dense)
        for group in found.groups[found.node_ptr[tree] : found.node_ptr[tree + 1]].tolist():
            begin, end = found.feature_ptr[group], found.feature_ptr[group + 1]
            total += sum(weight_of.get(key, 0.0) for key in found.features[begin:end].tolist())
        totals.append(total)
    return np.array(totals)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fixed", [False, True])
def test_the_gradient_is_that_of_finite_differences(target, fixed):
    rng = np.random.default_rng(3)
    instances, gains, keys = to_instances([_random_list(rng) for _ in range(7)], 1)
    dense = np.array([0.7, -0.2]) if fixed else None
    loss = objective(instances, gains, len(keys), 0.3, target, dense)
    at = rng.normal(size=len(keys) + (0 if fixed else 2))
    _, gradient = loss(at)
    step = 1e-5
    for number in range(len(at)):
        there = np.eye(len(at))[number] * step
        slope = (loss(at + there)[0] - loss(at - there)[0]) / (2 * step)
        assert gradient[number] == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_the_loss_is_what_the_docstring_says(target):
    rng = np.random.default_rng(5)
    item = _random_list(rng)
    instances, gains, keys = to_instances([item], 1)
    at = rng.normal(size=2 + len(keys))
    value, _ = objective(instances, gains, len(keys), 0.0, target)(at)
    scores = _plain_scores(item, at[:2], dict(zip(keys.tolist(), at[2:].tolist(), strict=True)))
    p = np.exp(scores) / np.exp(scores).sum()
    best = item.gains == item.gains.max()
    expected = -float(p @ item.gains) if target == "risk" else -float(np.log(p[best].sum()))
    assert value == pytest.approx(expected)


def test_scores_far_apart_do_no_harm():
    item = _random_list(np.random.default_rng(6))
    item = item._replace(gains=np.array([0.0, 0.0, 1.0, 0.0]))
    instances, gains, keys = to_instances([item], 1)
    at = np.zeros(2 + len(keys))
    at[0] = 1e5  # the best tree has a probability of 0
    value, gradient = objective(instances, gains, len(keys), 0.0, "best")(at)
    first = item.dense[:, 0]
    assert value == pytest.approx(1e5 * (first.max() - first[2]))
    assert np.isfinite(gradient).all()


def test_scores_are_sums_of_weights():
    rng = np.random.default_rng(8)
    item = _random_list(rng)
    keys = np.array([1, 4, 6], np.uint64)
    weights = ListWeights(keys, np.array([0.5, -2.0, 3.0], np.float32), np.array([0.25, 2.0]))
    expected = _plain_scores(item, weights.dense, {1: 0.5, 4: -2.0, 6: 3.0})
    assert list_scores(item.features, item.dense, weights) == pytest.approx(expected)
    assert places(keys, np.array([6, 5, 1], np.uint64)).tolist() == [2, -1, 0]


def _telling(better_first, rare):
    """Feature 7 is in the better of two trees, 8 in the other, 9 in either; the column errs."""
    order = [0, 1] if better_first else [1, 0]
    features = [np.array([[7, 9], [8, rare]][tree], np.uint64) for tree in order]
    return LearningList(
        ListFeatures(
            np.array([0, 1, 2]),
            np.array([0, 1], np.int32),
            np.array([0, 2, 4]),
            np.concatenate(features),
        ),
        np.array([[0.0], [-0.5]]),
        np.array([[10.0, 5.0][tree] for tree in order]),
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fixed", [False, True])
def test_learning_finds_the_feature_that_tells(target, fixed):
    lists = [_telling(number % 2 == 0, 100 + number) for number in range(40)]
    found = learn_weights(lists, [1.0], target=target, fixed=fixed, l2=1.0, least=5)
    assert found.keys.tolist() == [7, 8, 9]  # each rare one is in one list only
    assert found.values[0] > 0.3
    assert found.values[1] < -0.3
    assert (found.dense.tolist() == [1.0]) == fixed
    for one in lists[:2]:
        scores = list_scores(one.features, one.dense, found)
        assert scores.argmax() == one.gains.argmax()


def test_learning_finds_the_column_that_tells():
    rng = np.random.default_rng(2)
    nothing = ListFeatures(*(np.zeros(n, np.int64) for n in (4, 0, 1, 0)))
    lists = []
    for _ in range(60):
        gains = rng.permutation(3).astype(float)
        knows, guesses = 100.0 * (gains + rng.normal(size=3)), rng.normal(size=3)
        lists.append(LearningList(nothing, np.stack([guesses, knows], axis=1), gains))
    found = learn_weights(lists, [1.0, 0.0], target="best")
    assert 0.005 < found.dense[1] < 0.05  # gains differ by 1, the column by 100
    assert abs(found.dense[0]) < 0.5


def test_blocks_of_lists_are_joined(monkeypatch):
    rng = np.random.default_rng(9)
    lists = [_random_list(rng, n_features=40) for _ in range(20)]
    whole = to_instances(lists, 3)
    monkeypatch.setattr(learn, "_BLOCK", 3)
    parts = to_instances(lists, 3)
    assert whole is not None
    assert parts is not None
    assert 0 < len(whole[2]) < 40
    for one, other in zip((*whole[0], *whole[1:]), (*parts[0], *parts[1:]), strict=True):
        assert np.array_equal(one, other)


def test_nothing_to_learn_from():
    found = learn_weights([], [2.0])
    assert found.keys.tolist() == []
    assert found.dense.tolist() == [2.0]
    alone = _telling(True, 3)
    one = alone._replace(dense=alone.dense[:1], gains=alone.gains[:1])  # a list of one tree
    assert learn_weights([one], [2.0], least=1).dense.tolist() == [2.0]
