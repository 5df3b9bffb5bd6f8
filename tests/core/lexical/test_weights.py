"""The paper's ways to weights, and the compiled learner, against what must come out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from eigentext.errors import SettingsError
from eigentext.features.kernels.hashing import mix_pair
from eigentext.lexical.crossval import evaluate_ranker
from eigentext.lexical.ranker.counts import LikeDocuments, Statistics, columns, noise
from eigentext.lexical.ranker.kernels import weighing
from eigentext.lexical.ranker.model import LexicalRanker
from eigentext.lexical.ranker.records import RankWeights
from eigentext.lexical.ranker.softmax import PassInputs, probabilities, scores
from eigentext.lexical.ranker.weights import METHODS, design, fit_weights
from oracle.ranker_columns import ratios_of_counts


@pytest.fixture(scope="module")
def inputs(language):
    _, encoded = language.encoded(language.documents(6))
    chance = np.random.default_rng(0)
    n, units = len(encoded.words), len(encoded.unit_hash)
    atoms = chance.integers(1, 9, (n, 3)).astype(np.uint64)
    used = np.ones((3, encoded.row_hash.shape[1]), np.bool_)
    z = chance.normal(size=(units, 4)).astype(np.float32)
    bucket = chance.integers(0, 4, (n, 4)).astype(np.int8)
    return PassInputs(encoded, atoms, used, z, bucket)


def random_weights(inputs, bits=6):
    chance = np.random.default_rng(1)
    e = inputs.encoded
    weights = RankWeights.full(0.0, 4, e.row_hash.shape[1], e.numeric.shape[1], bits)
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
            key = int(mix_pair(inputs.atoms[word, a], e.unit_hash[unit]))
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
        moved = RankWeights(dense, weights.numeric, weights.sparse, weights.bits)
        return -np.log(probabilities(e.first, scores(inputs, moved))[e.gold_row[word[0]]])

    slope = np.zeros_like(before)
    for place in np.ndindex(before.shape):
        if place[0] == 0:
            up, down = before.copy(), before.copy()
            up[place] += 1e-5
            down[place] -= 1e-5
            slope[place] = (loss(up) - loss(down)) / 2e-5
    stepped = RankWeights(
        before.copy(), weights.numeric.copy(), weights.sparse.copy(), weights.bits
    )
    squares = RankWeights.full(1.0, 4, e.row_hash.shape[1], e.numeric.shape[1], weights.bits)
    scratch = np.zeros(len(e.row_hash))
    weighing.learn(word, e.gold_row, *inputs.records, stepped, squares, 1e-6, scratch)
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


def test_james_stein_weights_are_the_formula(inputs):
    """w = (1 - E[Var z] / E[z^2])+ on z as it is: no column is divided by its spread."""
    words = inputs.encoded.learnable
    x, _, _ = design(inputs, words)
    chance = np.full_like(inputs.z, 0.25)
    chance[:, 1] = 9.0  # more noise than there is of z
    found = fit_weights(replace(inputs, noise=chance), words, "james-stein").dense
    counted = design(replace(inputs, z=np.ones_like(inputs.z)), words)[0]
    for place in range(x.shape[1]):
        column, target = divmod(place, inputs.encoded.row_units.shape[1])
        if not counted[:, place].any():
            continue
        variance = chance[0, column] * counted[:, place].mean()
        expected = max(0.0, 1 - variance / (x[:, place] ** 2).mean())
        assert found[:, column, target] == pytest.approx(expected, abs=1e-6)
    assert not found[:, 1].any()
    assert found[:, 0].max() > 0.5


def some_statistics(encoded, together, alone, base):
    units, n = len(encoded.unit_hash), len(encoded.words)
    return Statistics(
        np.full((units, 1), together, np.int32),
        np.full((n, 1), alone, np.int32),
        np.full(units, base, np.int32),
        np.full(n, 1000, np.int64),
    )


@pytest.mark.parametrize("transform", ["count", "variance", "ratio"])
def test_the_noise_is_the_slope_of_the_transform_times_poissons_variance(inputs, transform):
    """Var(z) = (dz/dc)^2 c, the slope taken by moving the count."""
    e = inputs.encoded
    count, alone, base = 400, 600, 300

    def z(together=count, own=base):
        given = some_statistics(e, together, alone, own)
        if transform == "ratio":
            return ratios_of_counts(given, e)[0]
        return columns(given, e, transform)

    found = noise(some_statistics(e, count, alone, base), e, transform=transform)
    slope = (z(count + 4)[:, 0] - z(count - 4)[:, 0]) / 8
    assert found[:, 0] == pytest.approx(slope**2 * count, rel=1e-2)
    slope = (z(own=base + 4)[:, 1] - z(own=base - 4)[:, 1]) / 8
    assert found[:, 1] == pytest.approx(slope**2 * base, rel=1e-2)


def test_known_noise(inputs):
    """Of 1,000 words 100 have the feature, 9 of them with the value: z = 0.1, Var(z) = 1/900."""
    e = inputs.encoded
    given = some_statistics(e, 9, 100, 50)
    assert columns(given, e, "variance")[:, 0] == pytest.approx(0.1, rel=1e-5)
    assert noise(given, e, transform="variance")[:, 0] == pytest.approx(1 / 900, rel=1e-5)


def test_the_noise_of_document_counts_is_theirs_too(language):
    """With the other documents' weights s and counts n, Var(z) = sum s^2 n / (sum s n + k p)^2."""
    _, encoded = language.encoded(language.documents(4))
    counts, words = LikeDocuments(), []
    for document in range(4):
        there = np.flatnonzero(encoded.document_of == document)
        words.append([encoded.words[place] for place in there])
        counts.add(words[-1], encoded.gold_hash[there[encoded.scored[there]]])
    counts.finish()
    log_share = np.full(len(encoded.unit_hash), np.log(0.2), np.float32)
    made = np.zeros(len(encoded.unit_hash), np.float32)
    counts.column(encoded, log_share, range(4), noise=made)
    alike = (counts.matrix @ counts.matrix.T).toarray()
    np.fill_diagonal(alike, 0.0)
    known = np.flatnonzero(made)
    assert len(known) > 10
    for unit in known[:: len(known) // 10].tolist():
        word = int(np.searchsorted(encoded.unit_first, unit, side="right")) - 1
        place = int(np.searchsorted(counts.values, encoded.unit_hash[unit]))
        here = slice(counts.first[place], counts.first[place + 1])
        s = alike[encoded.document_of[word], counts.documents[here]]
        n = counts.counts[here]
        assert made[unit] == pytest.approx((s**2 @ n) / (s @ n + 0.2) ** 2, rel=1e-4)
