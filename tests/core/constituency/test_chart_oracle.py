"""The chart against all trees of a short sentence, listed one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eigentext.constituency.answer import constituent_marginals
from eigentext.constituency.chart.coarse import CoarseGrammar, build_chart
from eigentext.constituency.chart.constraints import Constraints, build_masks
from eigentext.constituency.chart.decode import (
    Chains,
    best_skeleton,
    decoder_scores,
    kbest_forest,
    viterbi_skeleton,
)
from eigentext.constituency.chart.fine import fine_pass
from eigentext.constituency.transform import restore
from eigentext.errors import SettingsError
from oracle import lpcfg_trees

seeds = st.integers(0, 2**32 - 1)
lengths = st.integers(1, 4)
quick = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
WORDS = ("u", "v", "w", "x", "y")
CHAINS = Chains.of(lpcfg_trees.LABELS)
ADDITIVE = ["max-constituents", "max-rule-product", "max-recall"]


def _chart(coarse, params, emissions, constraints=None):
    masks = build_masks(len(emissions), lpcfg_trees.LABELS, constraints)
    return build_chart(coarse, params.lexicon, emissions, beam=0.0, threshold=0.0, masks=masks)


def _named(chart, values):
    """Applications by (rule, start, cut, end)."""
    spans = chart.spans
    found = {}
    for number, value in enumerate(values.tolist()):
        start, cut = spans[chart.item_span[chart.left[number]]].tolist()
        end = int(spans[chart.item_span[chart.right[number]]][1])
        found[int(chart.rule[number]), start, cut, end] = value
    return found


def _named_items(chart, values):
    spans = chart.spans[chart.item_span].tolist()
    labels = chart.item_label.tolist()
    found = zip(labels, spans, values.tolist(), strict=True)
    return {(label, *span): value for label, span, value in found}


def _assert_same(found, expected, *, tolerance):
    assert set(found) <= set(expected)
    for key, value in expected.items():
        assert found.get(key, 0.0) == pytest.approx(value, rel=tolerance, abs=1e-7)


@quick
@given(seeds, lengths)
def test_coarse_posteriors(seed, n):
    coarse, params, emissions = lpcfg_trees.tiny_grammar(seed, n)
    trees = lpcfg_trees.all_trees(coarse, params.lexicon, emissions)
    chart = _chart(coarse, params, emissions)
    if not trees:
        assert chart is None
        return
    weights = [
        lpcfg_trees.coarse_weight(tree, coarse, params.lexicon, emissions) for tree in trees
    ]
    of_application, of_item = lpcfg_trees.posteriors(trees, weights)
    _assert_same(_named(chart, chart.posterior), of_application, tolerance=1e-4)
    items = _named_items(chart, np.ones(len(chart.item_label)))
    assert set(items) == set(of_item)


@quick
@given(seeds, st.integers(3, 5))
def test_coarse_posteriors_of_weights_far_apart(seed, n):
    """The best cut of a span may lead nowhere: others far below it are still looked at."""
    coarse, params, emissions = lpcfg_trees.tiny_grammar(seed, n, n_rules=3, decades=4.0)
    trees = lpcfg_trees.all_trees(coarse, params.lexicon, emissions)
    chart = _chart(coarse, params, emissions)
    if not trees:
        assert chart is None
        return
    weights = [
        lpcfg_trees.coarse_weight(tree, coarse, params.lexicon, emissions) for tree in trees
    ]
    of_application, _ = lpcfg_trees.posteriors(trees, weights)
    _assert_same(_named(chart, chart.posterior), of_application, tolerance=1e-3)


@pytest.mark.parametrize("weight", [1e-3, 1e-12, 1e-20])
def test_the_only_parse_may_be_at_a_cut_of_little_weight(weight):
    """x (y z) weighs 1 but is no S; (x y) z weighs little and is the only S."""
    _, params, (emission, *_) = lpcfg_trees.tiny_grammar(0, 1)
    S, A, T, U, B = 0, 1, 4, 5, 6
    rules = np.array([(S, A, U), (A, T, U), (B, U, U), (B, T, B)])
    coarse = CoarseGrammar(
        rules, np.array([1.0, weight, 1.0, 1.0]), np.eye(7)[S], np.full(7, 1 / 7), np.ones(7)
    )
    tags = params.lexicon.tags.tolist()
    x, y = (
        emission._replace(tags=np.array([tags.index(tag)]), scores=np.ones(1)) for tag in (T, U)
    )
    chart = _chart(coarse, params, [x, y, y])
    assert _named(chart, chart.posterior) == pytest.approx({(0, 0, 2, 3): 1.0, (1, 0, 1, 2): 1.0})


@quick
@given(seeds, lengths)
def test_fine_posteriors_and_sentence_weight(seed, n):
    coarse, params, emissions = lpcfg_trees.tiny_grammar(seed, n, most_states=3)
    trees = lpcfg_trees.all_trees(coarse, params.lexicon, emissions)
    if not trees:
        return
    weights = [lpcfg_trees.state_weights(tree, params, emissions).sum() for tree in trees[:200]]
    if len(trees) > 200:
        return
    found = fine_pass(chart := _chart(coarse, params, emissions), params, emissions)
    of_application, of_item = lpcfg_trees.posteriors(trees, weights)
    _assert_same(_named(chart, found.applications), of_application, tolerance=1e-3)
    _assert_same(_named_items(chart, found.items), of_item, tolerance=1e-3)
    assert found.log_z == pytest.approx(np.log(sum(weights)), rel=1e-4, abs=1e-4)


def _scores(decoder, trees, params, emissions):
    """For every tree what the decoder maximises, by the book."""
    states = [lpcfg_trees.state_weights(tree, params, emissions) for tree in trees]
    if decoder == "viterbi":
        return [float(np.log(weights.max())) for weights in states]
    of_application, of_item = lpcfg_trees.posteriors(trees, [weights.sum() for weights in states])
    if decoder == "max-recall":
        return [sum(of_item[key] for key in tree.items()) for tree in trees]
    by_rules = [
        sum(np.log(of_application[key]) for key in tree.applications())
        if tree.children
        else float(np.log(of_item[tree.items()[0]]))
        for tree in trees
    ]
    if decoder == "max-rule-product":
        return by_rules
    total = sum(weights.sum() for weights in states)
    constituents = [_constituents(tree) for tree in trees]
    share = Counter()
    for weights, own in zip(states, constituents, strict=True):
        share.update(dict.fromkeys(own, weights.sum() / total))
    return [
        sum(share[one] - 0.5 for one in own) + 0.01 * rules
        for own, rules in zip(constituents, by_rules, strict=True)
    ]


def _constituents(tree):
    """(start, end, label, how many of that label are above it) of the tree as users see it."""
    seen, above = [], Counter()
    whole = restore(tree.tree(lpcfg_trees.LABELS, WORDS), None)
    for node, span in enumerate(whole.spans().tolist()):
        if whole.sizes[node] > 1:
            one = (*span, whole.labels[node])
            seen.append((*one, above[one]))
            above[one] += 1
    return seen


def _decoded(decoder, coarse, params, emissions, k, constraints=None):
    """(score, binary tree) as the parser finds them."""
    chart = _chart(coarse, params, emissions, constraints)
    if chart is None:
        return []
    words = WORDS[: len(emissions)]
    if decoder == "viterbi":
        best = viterbi_skeleton(chart, params, emissions)
        found = [] if best is None else [best]
    else:
        scores = decoder_scores(chart, [fine_pass(chart, params, emissions)], decoder, CHAINS)
        found = _best(chart, scores, k)
    return [(score, skeleton.tree(lpcfg_trees.LABELS, words)) for score, skeleton in found]


def _best(chart, scores, k, spliced=None):
    """At most k binary trees, by falling score."""
    if k == 1:
        return [best] if (best := best_skeleton(chart, scores)) else []
    forest = kbest_forest(chart, scores, k, spliced)
    return [(score, forest.skeleton(rank)) for rank, score in enumerate(forest.scores.tolist())]


def _meets(tree, constraints):
    """By the restored tree alone."""
    spans = {}
    for node, (start, end) in enumerate(tree.spans().tolist()):
        if tree.sizes[node] > 1:
            spans.setdefault((start, end), set()).add(tree.labels[node])
    for start, end, *label in constraints.required:
        if (start, end) not in spans or (label and label[0] not in spans[start, end]):
            return False
    for start, end, *label in constraints.forbidden:
        if (start, end) in spans and (not label or label[0] in spans[start, end]):
            return False
    return all(tree.tags[word] == tag for word, tag in (constraints.tags or {}).items())


@st.composite
def constraint_sets(draw, n):
    def span():
        start = draw(st.integers(0, n - 1))
        end = draw(st.integers(start + 1, n))
        label = draw(st.sampled_from([None, "S", "A", "T", "U", "B"]))
        return (start, end) if label is None else (start, end, label)

    required = []
    for _ in range(draw(st.integers(0, 2))):
        one = span()
        if not any(
            a[0] < one[0] < a[1] < one[1] or one[0] < a[0] < one[1] < a[1] for a in required
        ):
            required.append(one)
    forbidden = [span() for _ in range(draw(st.integers(0, 2)))]
    words = draw(st.sets(st.integers(0, n - 1), max_size=1))
    tags = {word: draw(st.sampled_from(["T", "U"])) for word in sorted(words)}
    return Constraints(required, forbidden, tags)


@quick
@given(seeds, lengths, st.sampled_from([*ADDITIVE, "viterbi"]))
def test_every_decoder_finds_the_best_tree(decoder_seed, n, decoder):
    coarse, params, emissions = lpcfg_trees.tiny_grammar(decoder_seed, n)
    trees = lpcfg_trees.all_trees(coarse, params.lexicon, emissions)
    if not 0 < len(trees) <= 120:
        return
    scores = _scores(decoder, trees, params, emissions)
    ((score, tree),) = _decoded(decoder, coarse, params, emissions, 1)
    by_tree = {
        one.tree(lpcfg_trees.LABELS, WORDS[:n]): value
        for one, value in zip(trees, scores, strict=True)
    }
    assert by_tree[tree] == pytest.approx(max(scores), rel=1e-4, abs=1e-4)
    assert score == pytest.approx(max(scores), rel=1e-4, abs=1e-4)


@quick
@given(seeds, lengths, st.sampled_from(ADDITIVE))
def test_k_best_is_the_sorted_list(seed, n, decoder):
    coarse, params, emissions = lpcfg_trees.tiny_grammar(seed, n)
    trees = lpcfg_trees.all_trees(coarse, params.lexicon, emissions)
    if not 0 < len(trees) <= 120:
        return
    scores = _scores(decoder, trees, params, emissions)
    found = _decoded(decoder, coarse, params, emissions, len(trees) + 1)
    by_tree = {
        one.tree(lpcfg_trees.LABELS, WORDS[:n]): value
        for one, value in zip(trees, scores, strict=True)
    }
    assert {tree for _, tree in found} == set(by_tree)
    assert len(found) == len(trees)
    assert [score for score, _ in found] == pytest.approx(
        sorted(scores, reverse=True), rel=1e-3, abs=1e-3
    )
    for score, tree in found:
        assert score == pytest.approx(by_tree[tree], rel=1e-3, abs=1e-3)


@quick
@given(seeds, lengths, st.sampled_from(ADDITIVE))
def test_k_best_without_binarisation_is_the_best_of_every_tree(seed, n, decoder):
    coarse, params, emissions = lpcfg_trees.tiny_grammar(seed, n)
    trees = lpcfg_trees.all_trees(coarse, params.lexicon, emissions)
    if not 0 < len(trees) <= 120:
        return
    best = {}
    for one, score in zip(trees, _scores(decoder, trees, params, emissions), strict=True):
        tree = restore(one.tree(lpcfg_trees.LABELS, WORDS[:n]), None)
        best[tree] = max(score, best.get(tree, -np.inf))
    chart = _chart(coarse, params, emissions)
    scores = decoder_scores(chart, [fine_pass(chart, params, emissions)], decoder, CHAINS)
    spliced = np.array([label.startswith("@") for label in lpcfg_trees.LABELS])
    found = {
        restore(skeleton.tree(lpcfg_trees.LABELS, WORDS[:n]), None): score
        for score, skeleton in _best(chart, scores, len(trees) + 1, spliced)
    }
    assert found.keys() == best.keys()
    for tree, score in found.items():
        assert score == pytest.approx(best[tree], rel=1e-3, abs=1e-3)


@quick
@given(st.data(), seeds, st.integers(2, 4))
@pytest.mark.parametrize("decoder", [*ADDITIVE, "viterbi"])
def test_constraints_are_a_filter(decoder, data, seed, n):
    coarse, params, emissions = lpcfg_trees.tiny_grammar(seed, n)
    constraints = data.draw(constraint_sets(n))
    trees = lpcfg_trees.all_trees(coarse, params.lexicon, emissions)
    words = WORDS[:n]
    kept = [
        tree
        for tree in trees
        if _meets(restore(tree.tree(lpcfg_trees.LABELS, words), None), constraints)
    ]
    if len(trees) > 120:
        return
    try:
        found = _decoded(decoder, coarse, params, emissions, len(trees) + 1, constraints)
    except SettingsError:  # they contradict each other
        assert not kept
        return
    if not kept:
        assert found == []
        return
    # Posteriors are those among the trees that meet the constraints.
    scores = _scores(decoder, kept, params, emissions)
    expected = sorted(scores, reverse=True)[: len(found)]
    assert [score for score, _ in found] == pytest.approx(expected, rel=1e-3, abs=1e-3)
    assert decoder == "viterbi" or len(found) == len(kept)
    for _, tree in found:
        assert _meets(restore(tree, None), constraints)


@quick
@given(st.data(), seeds, st.integers(2, 4))
def test_marginals_are_shares_of_the_trees_that_meet_the_constraints(data, seed, n):
    coarse, params, emissions = lpcfg_trees.tiny_grammar(seed, n)
    constraints = data.draw(constraint_sets(n))
    every = lpcfg_trees.all_trees(coarse, params.lexicon, emissions)
    restored = [restore(tree.tree(lpcfg_trees.LABELS, WORDS[:n]), None) for tree in every]
    kept = [pair for pair in zip(every, restored, strict=True) if _meets(pair[1], constraints)]
    if not kept or len(every) > 120:
        return
    weights = [lpcfg_trees.state_weights(tree, params, emissions).sum() for tree, _ in kept]
    expected: dict[tuple[int, int, str], float] = {}
    for (_, tree), weight in zip(kept, weights, strict=True):
        spans = tree.spans().tolist()
        inner = [node for node in range(tree.n_nodes) if tree.sizes[node] > 1]
        for key in {(*spans[node], tree.labels[node]) for node in inner}:
            expected[key] = expected.get(key, 0.0) + weight / sum(weights)
    chart = _chart(coarse, params, emissions, constraints)
    found = constituent_marginals(chart, [fine_pass(chart, params, emissions)], lpcfg_trees.LABELS)
    _assert_same(found, expected, tolerance=1e-3)


@quick
@given(seeds, st.integers(2, 4))
def test_a_product_of_models_adds_logarithms(seed, n):
    coarse, params, emissions = lpcfg_trees.tiny_grammar(seed, n)
    chart = _chart(coarse, params, emissions)
    if chart is None:
        return
    one = fine_pass(chart, params, emissions)
    alone, _ = decoder_scores(chart, [one], "max-rule-product", CHAINS)
    both, _ = decoder_scores(chart, [one, one], "max-rule-product", CHAINS)
    assert both == pytest.approx(2 * alone, rel=1e-6)
    # constituents are right or wrong as the models say on the mean
    alone, _ = decoder_scores(chart, [one], "max-constituents", CHAINS)
    both, _ = decoder_scores(chart, [one, one], "max-constituents", CHAINS)
    assert both == pytest.approx(alone, rel=1e-6)
