"""The paper's ways to weights, and the compiled learner, against what must come out."""

from __future__ import annotations

import numpy as np
import pytest

from eigentext.errors import SettingsError
from eigentext.lexical import kernels
from eigentext.lexical.crossval import evaluate_ranker
from eigentext.lexical.ranker import LexicalRanker
from eigentext.lexical.softmax import Inputs, Weights, probabilities, scores
from eigentext.lexical.weights import METHODS, design, fit_weights


@pytest.fixture(scope="module")
def inputs(language):
    _, encoded = language.encoded(language.documents(6))
    chance = np.random.default_rng(0)
    n, units = len(encoded.words), len(encoded.unit_hash)
    atoms = chance.integers(1, 9, (n, 3)).astype(np.uint64)
    used = np.ones((3, encoded.row_hash.shape[1]), np.bool_)
    z = chance.normal(size=(units, 4)).astype(np.float32)
    bucket = chance.integers(0, 4, (n, 4)).astype(np.int8)
    return Inputs(encoded, atoms, used, z, bucket)


def random_weights(inputs, bits=6):
    chance = np.random.default_rng(1)
    e = inputs.encoded
    weights = Weights.zero(4, e.row_hash.shape[1], e.numeric.shape[1], bits)
    weights.dense[:] = chance.normal(size=weights.dense.shape)
    weights.numeric[:] = chance.normal(size=weights.numeric.shape)
    weights.sparse[:] = chance.normal(size=weights.sparse.shape)
    return weights


def score_by_hand(inputs, weights, word, row):
    e = inputs.encoded
    total = float(weights.numeric @ e.numeric[row])
    for t, unit in enumerate(e.row_units[row]):
        if unit < 0:
            continue
        for a in range(inputs.z.shape[1]):
            total += weights.dense[inputs.bucket[word, a], a, t] * inputs.z[unit, a]
        for a in range(inputs.atoms.shape[1]):
            key = int(kernels.mix(inputs.atoms[word, a], e.unit_hash[unit]))
            total += weights.sparse[key >> (64 - weights.bits)]
    return total


def test_scores_are_the_sum_of_the_equation(inputs):
    weights = random_weights(inputs)
    found = scores(inputs, weights)
    e = inputs.encoded
    for word in range(0, len(e.words), 7):
        for row in range(e.first[word], e.first[word + 1]):
            assert found[row] == pytest.approx(score_by_hand(inputs, weights, word, row), abs=1e-5)


def test_a_step_follows_the_slope_of_the_loss(inputs):
    """From zero weights one step of AdaGrad moves every weight against its numeric gradient."""
    e = inputs.encoded
    word = e.learnable[:1]
    weights = random_weights(inputs)
    before = weights.dense.copy()

    def loss(dense):
        moved = Weights(dense, weights.numeric, weights.sparse, weights.bits)
        return -np.log(probabilities(e.first, scores(inputs, moved))[e.gold_row[word[0]]])

    slope = np.zeros_like(before)
    for place in np.ndindex(before.shape):
        if place[0] == 0:
            up, down = before.copy(), before.copy()
            up[place] += 1e-5
            down[place] -= 1e-5
            slope[place] = (loss(up) - loss(down)) / 2e-5
    stepped = Weights(before.copy(), weights.numeric.copy(), weights.sparse.copy(), weights.bits)
    sums = np.ones_like(before)
    kernels.learn(
        word, e.gold_row, inputs.atoms, e.unit_first, e.unit_hash, e.unit_target, inputs.used,
        e.first, e.row_units, e.numeric, inputs.z, inputs.bucket, stepped.dense, sums,
        stepped.numeric, np.ones_like(stepped.numeric), stepped.sparse,
        np.ones_like(stepped.sparse), stepped.bits, 1e-6, 0.0, 0.0, np.zeros(len(e.row_hash)),
    )  # fmt: skip
    moved = (stepped.dense - before)[0]
    there = np.abs(slope[0]) > 1e-3
    assert there.any()
    assert (np.sign(moved[there]) == -np.sign(slope[0][there])).all()


def test_the_design_holds_each_candidates_columns(inputs):
    e = inputs.encoded
    x, right, first = design(inputs, e.learnable)
    assert right.sum() == len(e.learnable)
    word = 2
    row = int(e.first[e.learnable[word]])
    cells = x[first[word]].reshape(4, -1)
    for t, unit in enumerate(e.row_units[row]):
        expected = inputs.z[unit] if unit >= 0 else np.zeros(4)
        assert np.allclose(cells[:, t], expected, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns(method, language):
    made = LexicalRanker(
        analyzer=language.analyzer(),
        scheme=language.scheme,
        templates=("form@0", "form@-1"),
        transform="count",
        passes=1,
        bits=0,
        weights=method,
    ).fit(language.documents(15))
    chance_level = 100 * 3 / 5  # two unambiguous words, three with three candidates
    assert evaluate_ranker(made, language.documents(4, seed=1)).scores.full.a1 > chance_level


def test_an_unknown_method_is_told(inputs):
    with pytest.raises(SettingsError, match="james-stein"):
        fit_weights(inputs, inputs.encoded.learnable, "magic")
