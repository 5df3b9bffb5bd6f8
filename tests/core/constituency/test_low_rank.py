"""Rule tensors in low rank: exact where the rank is low, near where it is not, in every kernel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.accel.constituency.engine import grammar_arrays
from eigentext.constituency import LPCFG
from eigentext.constituency.chart.coarse import build_chart
from eigentext.constituency.chart.constraints import build_masks
from eigentext.constituency.chart.decode import viterbi_skeleton
from eigentext.constituency.chart.fine import fine_pass
from eigentext.constituency.low_rank import ERROR, LowRank, expanded, low_rank, n_numbers
from eigentext.errors import ModelFileError
from eigentext.lab.products.rules import in_products
from oracle import lpcfg_trees
from oracle.products import cp_of_slices


def product_tensor(rng, shape, rank):
    """A tensor whose unfoldings have this rank."""
    factors = [rng.standard_normal((m, rank)) for m in shape]
    return np.einsum("xk,yk,zk->xyz", *factors)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), rank=st.integers(1, 2), size=st.integers(6, 12))
def test_low_ranks_are_found_and_lose_only_rounding(seed, rank, size):
    rng = np.random.default_rng(seed)
    shape = np.array([[size, size, size], [size, 5, size]])
    tensors = [product_tensor(rng, s, rank) for s in shape]
    # rules of any probability are rounded alike
    flat = np.concatenate([tensors[0].ravel() * 1e-9, tensors[1].ravel() * 1e3])
    found = low_rank(flat, shape, error=1e-4)
    assert found.rank.max() <= rank
    again = expanded(found, shape)
    for part, tensor in zip(np.split(again, [size**3]), np.split(flat, [size**3]), strict=True):
        assert np.linalg.norm(part - tensor) < 5e-3 * np.linalg.norm(tensor)


def test_what_is_left_out_is_within_the_error():
    rng = np.random.default_rng(4)
    shape = np.array([[16, 16, 16]] * 6)
    flat = np.concatenate(
        [(product_tensor(rng, s, 3) + 0.02 * rng.standard_normal(s)).ravel() for s in shape]
    )
    found = low_rank(flat, shape)
    assert 0 < found.rank.min() <= found.rank.max() < 16
    assert len(found.values) == n_numbers(shape, found.rank).sum() < len(flat) / 2
    again = expanded(found, shape)
    for part, tensor in zip(np.split(again, 6), np.split(flat, 6), strict=True):
        assert np.linalg.norm(part - tensor) < (ERROR + 5e-3) * np.linalg.norm(tensor)


def test_tensors_of_full_rank_and_of_nothing_stay_as_they_are():
    rng = np.random.default_rng(0)
    shape = np.array([[3, 3, 3], [1, 1, 1], [2, 4, 2]])
    flat = np.concatenate([rng.standard_normal(27), [0.25], np.zeros(16)])
    found = low_rank(flat, shape)
    assert found.rank[:2].tolist() == [[0, 0, 0], [0, 0, 0]]
    np.testing.assert_allclose(expanded(found, shape), flat, atol=2e-3)
    assert not expanded(found, shape)[-16:].any()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 4))
def test_the_chart_gives_what_whole_tensors_give(seed, n):
    """Both sweeps with tensors in low rank, whole ones among them, and with the same expanded."""
    coarse, params, emissions = lpcfg_trees.tiny_grammar(seed, n, most_states=8)
    rng = np.random.default_rng(seed)
    shape = params.m[params.rules]
    flat = [
        np.abs(product_tensor(rng, s, 1) if rng.random() < 0.7 else rng.random(s)).ravel()
        for s in shape
    ]
    low = replace(params, tensor=np.concatenate(flat).astype(np.float32)).in_low_rank()
    whole = replace(params, tensor=low.whole_tensor)
    masks = build_masks(n, lpcfg_trees.LABELS, None)
    chart = build_chart(coarse, params.lexicon, emissions, beam=0.0, threshold=0.0, masks=masks)
    if chart is None:
        return
    one, other = fine_pass(chart, low, emissions), fine_pass(chart, whole, emissions)
    np.testing.assert_allclose(one.applications, other.applications, atol=1e-4)
    np.testing.assert_allclose(one.items, other.items, atol=1e-4)
    assert one.log_z == pytest.approx(other.log_z, abs=1e-4)


@pytest.fixture(scope="module")
def default(english):
    return LPCFG(n_states=8).fit(english)


def test_trees_have_the_same_log_prob(default, english):
    (params,) = default.grammar_.params
    assert params.low_rank is not None
    whole = LPCFG.from_bytes(default.to_bytes())
    dense = replace(params, tensor=params.whole_tensor, low_rank=None)
    whole.grammar_ = replace(whole.grammar_, params=(dense,))
    for tree in english[::20]:
        assert default.log_prob(tree) == pytest.approx(whole.log_prob(tree), abs=1e-3)


def test_who_needs_states_has_whole_tensors(english):
    for asked in ({"estimator": "clustering"}, {"n_iter": 1}, {"decoder": "viterbi"}):
        (params,) = LPCFG(n_states=2, **asked).fit(english[:60]).grammar_.params
        assert params.low_rank is None
        assert len(params.tensor)


def test_ranks_beyond_the_states_are_refused(default, tmp_path):
    broken = LPCFG.from_bytes(default.to_bytes())
    (params,) = broken.grammar_.params
    rank = params.low_rank.rank.copy()
    rank[0, 1] = 200
    low = params.low_rank._replace(rank=rank)
    broken.grammar_ = replace(broken.grammar_, params=(replace(params, low_rank=low),))
    broken.save(tmp_path / "broken.lpcfg")
    with pytest.raises(ModelFileError, match=r"low\.rank"):
        LPCFG.load(tmp_path / "broken.lpcfg")


# -- sums of products -------------------------------------------------------------------------


def as_slices(params):
    """The same grammar with every rule as its exact sum of products, at full rank."""
    shape = params.m[params.rules]
    rank, values = [], []
    for r, own in enumerate(shape.tolist()):
        tensor = params.tensor[params.rule_ptr[r] : params.rule_ptr[r + 1]].reshape(1, *own)
        factors = cp_of_slices(tensor)
        rank.append([factors.A.shape[2], 0, 0])
        values += [X[0].T.ravel() for X in factors]
    rank, flat = np.array(rank), np.concatenate(values).astype(np.float32)
    ptr = np.concatenate([[0], np.cumsum(n_numbers(shape, rank))])
    low = LowRank(rank, ptr, flat, np.ones(len(rank), np.float32))
    return replace(params, tensor=np.empty(0, np.float32), low_rank=low)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 4))
def test_products_at_full_rank_give_the_scores_of_all_trees(seed, n):
    """Z and posteriors against every tree with every assignment of states, listed."""
    coarse, params, emissions = lpcfg_trees.tiny_grammar(seed, n, most_states=3, n_rules=6)
    trees = lpcfg_trees.all_trees(coarse, params.lexicon, emissions)
    masks = build_masks(n, lpcfg_trees.LABELS, None)
    chart = build_chart(coarse, params.lexicon, emissions, beam=0.0, threshold=0.0, masks=masks)
    if not trees:
        assert chart is None
        return
    low = as_slices(params)
    np.testing.assert_array_equal(low.whole_tensor, params.tensor)
    weights = [lpcfg_trees.state_weights(tree, params, emissions).sum() for tree in trees]
    of_application, _ = lpcfg_trees.posteriors(trees, weights)
    found, whole = fine_pass(chart, low, emissions), fine_pass(chart, params, emissions)
    assert found.log_z == pytest.approx(np.log(sum(weights)), abs=1e-5)
    assert found.applications.sum() == pytest.approx(sum(of_application.values()), rel=1e-4)
    np.testing.assert_allclose(found.applications, whole.applications, atol=1e-5)
    np.testing.assert_allclose(found.items, whole.items, atol=1e-5)
    one, other = (viterbi_skeleton(chart, model, emissions) for model in (low, params))
    assert one[0] == pytest.approx(other[0], abs=1e-9)


@pytest.mark.parametrize("signed", [False, True])
def test_products_keep_what_the_states_of_the_parent_sum_to(signed):
    rng = np.random.default_rng(3)
    shape = np.array([[9, 8, 10]] * 5 + [[2, 2, 2]])
    tensors = [rng.random(s) ** 4 - 0.1 * signed for s in shape]
    flat = np.concatenate([tensor.ravel() for tensor in tensors])
    found = in_products(flat, shape, 3, signed=signed)
    assert found.rank[:, 0].tolist() == [3] * 5 + [0]
    assert not found.rank[:, 1:].any()
    assert len(found.values) == n_numbers(shape, found.rank).sum()
    again = expanded(found, shape)
    assert signed or again.min() >= 0
    for part, tensor in zip(np.split(again, np.cumsum(shape.prod(axis=1))), tensors, strict=False):
        part = part.reshape(tensor.shape)
        assert np.linalg.norm(part - tensor) < 0.9 * np.linalg.norm(tensor)
        if not signed:
            np.testing.assert_allclose(part.sum((1, 2)), tensor.sum((1, 2)), rtol=5e-3)


@pytest.fixture(scope="module")
def in_pairs(english):
    return LPCFG(n_states=8, estimator="clustering", rank=2).fit(english)


def test_a_parser_of_products_is_saved_and_parses_as_its_whole_tensors_do(in_pairs, english):
    again = LPCFG.from_bytes(in_pairs.to_bytes())
    (params,) = again.grammar_.params
    assert params.low_rank.has_products
    assert params.whole_tensor.min() >= 0
    whole = LPCFG.from_bytes(in_pairs.to_bytes())
    dense = replace(params, tensor=params.whole_tensor, low_rank=None)
    whole.grammar_ = replace(whole.grammar_, params=(dense,))
    for tree in english[::25]:
        assert again.log_prob(tree) == pytest.approx(whole.log_prob(tree), abs=1e-4)
        assert again.parse(tree.words).tree == whole.parse(tree.words).tree
        best = again.parse(tree.words, decoder="viterbi")
        assert best.tree == whole.parse(tree.words, decoder="viterbi").tree


def test_a_rank_that_saves_nothing_leaves_all_as_it_is(english):
    settings = {"n_states": 4, "estimator": "clustering", "bracket_weight": 0.0}
    plain = LPCFG(**settings).fit(english[:150])
    full = LPCFG(**settings, rank=255).fit(english[:150])
    assert not full.grammar_.params[0].low_rank.rank.any()
    for tree in english[150:170]:
        one, other = plain.parse(tree.words), full.parse(tree.words)
        assert one.tree == other.tree
        assert one.log_score == pytest.approx(other.log_score, abs=1e-2)


def test_moments_have_products_of_either_sign_and_the_card_gets_whole_tensors(english):
    parser = LPCFG(n_states=8, rank=4).fit(english[:200])
    (params,) = parser.grammar_.params
    assert params.low_rank.has_products
    assert params.low_rank.values.min() < 0
    arrays = grammar_arrays(parser.grammar_)
    assert not arrays["rank"].any()
    np.testing.assert_array_equal(arrays["low_values"], params.whole_tensor)
