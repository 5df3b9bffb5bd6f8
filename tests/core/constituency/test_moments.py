"""The moments estimator over treebanks: parts against plain twins, limits against the PCFG."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.constituency import LPCFG
from eigentext.constituency.chart.coarse import CoarseGrammar, build_chart
from eigentext.constituency.chart.constraints import build_masks
from eigentext.constituency.chart.decode import Chains, best_skeleton, decoder_scores
from eigentext.constituency.chart.fine import coarse_pass, fine_pass, settle_negatives
from eigentext.constituency.learn.moments import (
    fit_moments,
    project,
    rule_moment,
    singular_coordinates,
)
from eigentext.constituency.settings import LPCFGSettings, Smoothing
from eigentext.constituency.transform import head_rules, prepare_tree, read_treebank
from eigentext.errors import SettingsError
from eigentext.features.spectrum import FeatureRows, converged_coordinates
from oracle.tensor_form import observable_form, sample_moments

NONE = Smoothing.none()


@pytest.fixture(scope="module")
def bank(english):
    return read_treebank(english, LPCFGSettings())[0]


def chart_of(bank, params, words, *, prune=False):
    emissions = [params.lexicon.emission(word, first=i == 0) for i, word in enumerate(words)]
    chart = build_chart(
        CoarseGrammar.from_treebank(bank),
        params.lexicon,
        emissions,
        beam=1e-4 * prune,
        threshold=1e-4 * prune,
        masks=build_masks(len(words), bank.labels, None),
    )
    return chart, emissions


def sentences(bank, n, longest):
    """Sentences of the treebank, as words."""
    starts = [*np.flatnonzero(bank.first_in_sentence).tolist(), len(bank.words)]
    return [bank.words[i:j] for i, j in pairwise(starts) if 1 < j - i <= longest][:n]


# -- parts ---------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_unsmoothed_rule_moment_is_the_average_in_house_order(seed, n):
    rng = np.random.default_rng(seed)
    Z, Y2, Y3 = (rng.standard_normal((n, m)) for m in (2, 3, 4))
    w = rng.uniform(0.1, 2, n)
    expected = np.einsum("t,tp,tl,tr->plr", w / w.sum(), Z, Y2, Y3)
    np.testing.assert_allclose(rule_moment(Z, Y2, Y3, w, NONE), expected, atol=1e-12)


def test_without_evidence_the_rule_moment_is_a_product_of_means():
    rng = np.random.default_rng(0)
    Z, Y2, Y3 = (np.hstack([np.ones((5, 1)), rng.standard_normal((5, 2))]) for _ in range(3))
    w = np.ones(5)
    huge = 1e300
    D = rule_moment(Z, Y2, Y3, w, Smoothing(C_mean=0, C_pair=huge, C_triple=huge))
    means = [X.mean(axis=0) for X in (Z, Y2, Y3)]
    np.testing.assert_allclose(D, np.einsum("p,l,r->plr", *means), atol=1e-12)
    # with nothing left of the means either, only the constants remain: the PCFG
    D = rule_moment(Z, Y2, Y3, w, Smoothing(C_mean=huge, C_pair=huge, C_triple=huge))
    expected = np.zeros((3, 3, 3))
    expected[0, 0, 0] = 1
    np.testing.assert_allclose(D, expected, atol=1e-12)


def feature_rows(X: np.ndarray) -> FeatureRows:
    """A dense matrix with every column in every row."""
    columns = np.tile(np.arange(X.shape[1], dtype=np.int32), (len(X), 1))
    return FeatureRows(columns, X.astype(np.float32), X.shape[1])


@pytest.mark.parametrize("centre", [False, True])
def test_singular_coordinates_are_those_of_the_dense_omega(centre):
    rng = np.random.default_rng(4)
    Phi, Psi = rng.random((60, 7)) < 0.4, rng.random((60, 5)) < 0.4
    Psi[:, 0] |= Phi[:, 0]
    Psi[:, 1] |= Phi[:, 1]
    Phi, Psi = Phi.astype(float), Psi.astype(float)
    w = rng.uniform(0, 1, 60)
    w[:10] = 0
    p = w / w.sum()
    sparse = [feature_rows(X) for X in (Phi, Psi)]
    Y, Z, s = singular_coordinates(*sparse, w, 3, rng, centre=centre, n_iter=60)
    if centre:
        Phi, Psi = Phi - p @ Phi, Psi - p @ Psi
    U, expected, Vt = np.linalg.svd(Phi.T @ (p[:, None] * Psi))
    np.testing.assert_allclose(s, expected[:3], rtol=1e-4)
    np.testing.assert_allclose((Y * p[:, None]).T @ Z, np.diag(s), atol=1e-5)
    np.testing.assert_allclose(np.abs(Y), np.abs(Phi @ U[:, :3]), atol=2e-3)
    np.testing.assert_allclose(np.abs(Z), np.abs(Psi @ Vt[:3].T), atol=2e-3)


def test_features_without_information_have_no_directions():
    same = feature_rows(np.ones((30, 2)))
    rng = np.random.default_rng(0)
    Y, Z, s = singular_coordinates(same, same, np.ones(30), 4, rng, centre=True)
    assert Y.shape == Z.shape == (30, 0)
    assert len(s) == 0


def test_settings_that_do_not_exist():
    with pytest.raises(SettingsError, match="one-per-tree"):
        LPCFG(scheme="some").check()
    with pytest.raises(SettingsError, match="C_pair"):
        Smoothing(C_pair=-1)


# -- limits --------------------------------------------------------------------------------------


def test_one_state_is_exactly_the_pcfg(bank):
    coarse = CoarseGrammar.from_treebank(bank, Smoothing().k_root)
    params = fit_moments(bank, LPCFGSettings(n_states=1))
    assert (params.m == 1).all()
    np.testing.assert_allclose(params.tensor, coarse.rule_p, rtol=1e-6)
    np.testing.assert_allclose(params.root, coarse.root_p, rtol=1e-12)
    for word in ("the", "horse", "neverseen", "The"):
        found = params.lexicon.emission(word, first=False)
        of_tags = params.lexicon.tag_level.emission(word, first=False)
        np.testing.assert_array_equal(found.tags, of_tags.tags)
        np.testing.assert_allclose(found.states[found.tags], of_tags.states[of_tags.tags])


@pytest.mark.parametrize("m", [2, 5])
def test_an_endless_ridge_is_the_pcfg_with_any_number_of_states(bank, m):
    params = fit_moments(bank, LPCFGSettings(n_states=m, smoothing=Smoothing(ridge=1e12)))
    assert params.m.max() == m
    one = fit_moments(bank, LPCFGSettings(n_states=1))
    for words in sentences(bank, 8, longest=9):
        a, b = (fine_pass(*_args(bank, p, words)) for p in (params, one))
        np.testing.assert_allclose(a.applications, b.applications, atol=1e-4)
        np.testing.assert_allclose(a.log_z, b.log_z, atol=1e-4)


def _args(bank, params, words):
    chart, emissions = chart_of(bank, params, words, prune=True)
    return chart, params, emissions


def test_the_chart_computes_figures_2_and_3(bank):
    """The pruned, scaled, float32 chart against the unpruned form, for the paper as it is."""
    settings_ = LPCFGSettings(n_states=3, plain=True)
    params = fit_moments(bank, settings_)
    weights = np.ones(len(bank.label))
    coordinates = project(bank, settings_, weights)
    number = {word: i for i, word in enumerate(dict.fromkeys(bank.words))}
    of_token = np.array([number[word] for word in bank.words])
    form = observable_form(sample_moments(bank, coordinates, weights, of_token), max_condition=1e8)
    share = np.bincount(of_token) / len(of_token)
    checked = 0
    for words in sentences(bank, 6, longest=6):
        numbers = [number[word] for word in words]
        mu = form.marginals(numbers)
        z = sum(mu[a, 0, len(words)] for a in range(len(bank.labels)) if (a, 0, len(words)) in mu)
        chart, emissions = chart_of(bank, params, words)
        found = fine_pass(chart, params, emissions)
        assert found.sign == np.sign(z)
        log_prob = found.log_z + np.log(share[numbers]).sum()
        np.testing.assert_allclose(log_prob, np.log(abs(z)), atol=1e-2)
        spans = chart.spans
        for item, value in enumerate(found.items.tolist()):
            i, j = spans[chart.item_span[item]].tolist()
            expected = mu[int(chart.item_label[item]), i, j] / z
            np.testing.assert_allclose(value, max(expected, 0.0), atol=2e-2)
            checked += 1
    assert checked > 50


# -- negative numbers ----------------------------------------------------------------------------


def test_negative_posteriors_are_clipped_and_counted(bank):
    params = fit_moments(bank, LPCFGSettings(n_states=1))
    chart, emissions = chart_of(bank, params, sentences(bank, 1, longest=9)[0], prune=True)
    found = fine_pass(chart, params, emissions)
    assert found.negative == 0.0
    assert found.sign == 1
    applications, items = found.applications.copy(), found.items.copy()
    assert settle_negatives(applications, items, chart) == 0.0
    np.testing.assert_array_equal(applications, found.applications)
    applications[0], items[0] = -0.5, -0.1
    assert settle_negatives(applications, items, chart) == pytest.approx(1 / len(applications))
    assert 0 <= applications[0] <= 1e-3
    assert items[0] == 0.0
    # the same one-state grammar: what stands in for a failed model agrees with it
    coarse = coarse_pass(chart)
    np.testing.assert_allclose(coarse.applications, found.applications, atol=1e-2)
    np.testing.assert_allclose(coarse.items, found.items, atol=1e-2)


def test_a_grammar_turned_upside_down_gives_the_same_posteriors(bank):
    """A change of sign of every root number changes Z's sign and nothing else."""
    from dataclasses import replace

    params = fit_moments(bank, LPCFGSettings(n_states=4))
    turned = replace(params, root=-params.root)
    for words in sentences(bank, 5, longest=12):
        chart, emissions = chart_of(bank, params, words, prune=True)
        a, b = fine_pass(chart, params, emissions), fine_pass(chart, turned, emissions)
        assert a.sign == -b.sign
        assert a.log_z == b.log_z
        np.testing.assert_array_equal(a.applications, b.applications)


# -- words ---------------------------------------------------------------------------------------


def test_a_known_words_vector_is_the_mean_of_its_outside_coordinates(bank):
    settings_ = LPCFGSettings(n_states=4, smoothing=Smoothing(k_word=0, k_shape=0))
    params = fit_moments(bank, settings_)
    coordinates = project(bank, settings_, np.ones(len(bank.label)))
    lexicon = params.lexicon
    tag = int(np.argmax(lexicon.m))
    a = int(lexicon.tags[tag])
    c = coordinates[a]
    here = [bank.words[t] for t in bank.token[c.rows].tolist()]
    word = max(set(here), key=here.count)
    mean = c.Z[[w == word for w in here]].mean(axis=0) @ c.inverse
    found = lexicon.emission(word, first=False)
    vector = found.states[lexicon.tag_ptr[tag] : lexicon.tag_ptr[tag + 1]]
    score = lexicon.tag_level.emission(word, first=False).states[tag]
    np.testing.assert_allclose(vector, score * mean, rtol=1e-4, atol=1e-5)


def test_every_word_has_a_finite_emission(bank):
    lexicon = fit_moments(bank, LPCFGSettings(n_states=4)).lexicon
    for word in ("Горизонт", "(", "1999", "the", "THE", "unheard-of", "x" * 300):
        for first in (False, True):
            found = lexicon.emission(word, first=first)
            assert len(found.tags)
            assert np.isfinite(found.states).all()
            only = lexicon.emission_as(word, found.tags[:1], first=first)
            assert only.tags.tolist() == found.tags[:1].tolist()
            other = np.ones(len(found.states), bool)
            other[lexicon.tag_ptr[only.tags[0]] : lexicon.tag_ptr[only.tags[0] + 1]] = False
            assert not only.states[other].any()


# -- the whole -----------------------------------------------------------------------------------


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("scheme", ["all", "one-per-tree", "one-per-tree-weighted"])
def test_every_scheme_parses_and_repeats_itself(bank, scheme, plain):
    settings_ = LPCFGSettings(n_states=4, seed=3, scheme=scheme, plain=plain)
    params, again = fit_moments(bank, settings_), fit_moments(bank, settings_)
    np.testing.assert_array_equal(params.tensor, again.tensor)
    np.testing.assert_array_equal(params.root, again.root)
    assert np.isfinite(params.tensor).all()
    for words in sentences(bank, 5, longest=12):
        chart, emissions = chart_of(bank, params, words, prune=True)
        found = fine_pass(chart, params, emissions) or coarse_pass(chart)
        assert np.isfinite(found.applications).all()
        for decoder in ("max-constituents", "max-rule-product", "max-recall"):
            scores = decoder_scores(chart, [found], decoder, Chains.of(bank.labels))
            score, skeleton = best_skeleton(chart, scores)
            assert np.isfinite(score)
            assert skeleton.tree(bank.labels, words).words == tuple(words)


def test_states_fit_the_treebank_better_than_none(bank, english):
    """On its own training sentences the latent grammar finds more of the gold binary trees."""
    usual = LPCFGSettings()
    gold = [prepare_tree(tree, usual, head_rules(usual)) for tree in english[:60]]
    hits = []
    for m in (1, 6):
        params = fit_moments(bank, LPCFGSettings(n_states=m, per_state=5))
        right = 0
        for tree in gold:
            chart, emissions = chart_of(bank, params, tree.words, prune=True)
            found = fine_pass(chart, params, emissions)
            scores = decoder_scores(chart, [found], "max-rule-product", Chains.of(bank.labels))
            _, best = best_skeleton(chart, scores)
            right += best.tree(bank.labels, tree.words) == tree
        hits.append(right)
    assert hits[1] > hits[0]


def test_plain_coordinates_are_those_of_a_dense_svd():
    """A spectrum that falls slowly: three power iterations would not do."""
    rng = np.random.default_rng(0)
    n, width = 400, 60
    Phi, Psi = (
        FeatureRows(
            rng.integers(0, width, (n, 3)).astype(np.int32), np.ones((n, 3), np.float32), width
        )
        for _ in range(2)
    )
    weights = rng.integers(1, 4, n).astype(float)

    def dense(X):
        full = np.zeros((n, width))
        np.add.at(full, (np.arange(n)[:, None], X.columns), X.values)
        return full

    left, right = dense(Phi), dense(Psi)
    U, s, Vt = np.linalg.svd(left.T @ (right * (weights / weights.sum())[:, None]))
    Y, Z, found = converged_coordinates(Phi, Psi, weights, 8)
    assert found == pytest.approx(s[:8], rel=1e-10)
    sign = np.sign((Y * (left @ U[:, :8])).sum(axis=0))
    assert pytest.approx(left @ U[:, :8] * sign, abs=1e-8) == Y
    assert pytest.approx(right @ Vt[:8].T * sign, abs=1e-8) == Z
    rough, _, power = singular_coordinates(Phi, Psi, weights, 8, rng, centre=False)
    assert np.abs(power - s[:8]).max() > 1e-4  # as it was: the test tells them apart
    assert rough.shape == Y.shape


def test_plain_means_converged(bank):
    """Whatever the seed, ``plain`` is the same: nothing depends on where an iteration began."""
    one, two = (
        fit_moments(bank, LPCFGSettings(n_states=3, seed=seed, plain=True)).tensor
        for seed in (0, 1)
    )
    assert one == pytest.approx(two, rel=1e-4, abs=1e-5)
