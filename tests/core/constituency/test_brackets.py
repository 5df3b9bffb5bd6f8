"""The bracket model: marginals against all trees, gradients against differences, the chart."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.base.cores import using_cores
from eigentext.base.hashing import mixed
from eigentext.constituency import LPCFG, brackets
from eigentext.constituency.brackets import (
    BITS,
    BracketKeys,
    BracketModel,
    BracketWords,
    _Sentences,
    _Table,
    learn_bracket_model,
)
from eigentext.constituency.chart.coarse import STEPS, build_chart
from eigentext.constituency.chart.constraints import Constraints, build_masks
from eigentext.constituency.chart.fine import fine_pass
from eigentext.constituency.settings import LPCFGSettings
from eigentext.constituency.transform import read_treebank
from eigentext.language.trees.constituent import Tree
from oracle import lpcfg_trees


def span_number(i, j, n):
    return i * n - i * (i - 1) // 2 + j - i - 1


def binary_trees(i, j):
    """Every binary tree over words i to j - 1, as the set of its spans."""
    if j == i + 1:
        return [frozenset({(i, j)})]
    return [
        left | right | {(i, j)}
        for k in range(i + 1, j)
        for left in binary_trees(i, k)
        for right in binary_trees(k, j)
    ]


def enumerated(n, scores):
    """Marginals of all spans and log Z."""
    marginal, total = np.zeros(len(scores)), 0.0
    for tree in binary_trees(0, n):
        weight = math.exp(sum(scores[span_number(i, j, n)] for i, j in tree if j - i > 1))
        total += weight
        for i, j in tree:
            marginal[span_number(i, j, n)] += weight
    return marginal / total, math.log(total)


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 7), seed=st.integers(0, 10**6), spread=st.sampled_from([0.5, 3.0]))
def test_marginals_are_those_of_all_trees(n, seed, spread):
    from eigentext.constituency.kernels.brackets import bracket_marginals

    scores = np.random.default_rng(seed).normal(0, spread, n * (n + 1) // 2)
    inside, marginal = np.empty((2, len(scores)))
    log_z = bracket_marginals(n, scores, inside, marginal)
    expected, expected_z = enumerated(n, scores)
    assert log_z == pytest.approx(expected_z, abs=1e-6)
    assert marginal == pytest.approx(expected, abs=1e-6)


def test_long_sentences_neither_overflow_nor_vanish():
    from eigentext.constituency.kernels.brackets import bracket_marginals

    n = 120
    scores = np.random.default_rng(0).normal(0, 40, n * (n + 1) // 2)
    inside, marginal = np.empty((2, len(scores)))
    assert np.isfinite(bracket_marginals(n, scores, inside, marginal))
    assert np.isfinite(marginal).all()
    words = [span_number(i, i + 1, n) for i in range(n)]
    assert marginal[words] == pytest.approx(np.ones(n), abs=1e-6)
    assert marginal.sum() == pytest.approx(2 * n - 1, abs=1e-4)  # nodes of a binary tree


def _sentence(seed, n):
    rng = np.random.default_rng(seed)
    word, tag = np.zeros((2, n + 4), np.uint64)
    word[2 : n + 2], tag[2 : n + 2] = rng.integers(1, 5, (2, n))
    return BracketWords(word, tag, np.cumsum([0, *rng.integers(0, 2, n)]))


def test_a_feature_is_the_mix_of_its_template_and_values():
    """The compiled mix and its plain twin, for one template of a border and one of a span."""
    from eigentext.constituency.kernels.brackets import bracket_scores

    words = _sentence(3, 4)
    scores = np.empty(10)

    def place(seed, values):
        return mixed(seed, [int(value) for value in values]) >> (64 - BITS)

    weights = np.zeros(1 << BITS, np.float32)
    # the words on both sides of the end of a span of two words or more
    weights[place(203, [words.word[2 + 2], words.word[2 + 3]])] = 1.5
    bracket_scores(words, weights, scores)
    ends = [
        j for j in range(2, 5) if (words.word[j + 1], words.word[j + 2]) == tuple(words.word[4:6])
    ]
    for i in range(4):
        for j in range(i + 2, 5):
            assert scores[span_number(i, j, 4)] == (1.5 if j in ends else 0.0)
    weights[:] = 0
    weights[place(305, [words.word[2], words.word[5]])] = 2.0  # first and last word of the whole
    bracket_scores(words, weights, scores)
    assert scores[span_number(0, 4, 4)] == 2.0


def learn_brackets(words, gold, table, rate, time):
    """One step for one sentence; its log probability before it."""
    from eigentext.constituency.kernels.brackets import find_gradients, take_steps

    sentences, number = _Sentences.of([(words, gold)]), np.zeros(1, np.int64)
    found = sentences.room(number)
    log_p = find_gradients(sentences, number, table.weights, table.learned, found)
    for begin in (0, 1 << (BITS - 1)):
        take_steps(found, table, begin, begin + (1 << (BITS - 1)), rate, time)
    return log_p


def test_the_step_goes_up_the_gradient():
    n = 5
    words = _sentence(1, n)
    tree = binary_trees(0, n)[6]
    gold = np.zeros(n * (n + 1) // 2, bool)
    for i, j in tree:
        gold[span_number(i, j, n)] = True
    start = np.random.default_rng(2).normal(0, 0.5, 1 << BITS).astype(np.float32)

    def table(weights, heavy):
        """With heavy sums of squares a step is the gradient itself, times a constant."""
        return _Table(
            weights,
            np.zeros(len(weights)),
            np.full(len(weights), heavy, np.float32),
            np.ones(len(weights), bool),
        )

    def log_p(weights):
        return learn_brackets(words, gold, table(weights.copy(), 1.0), np.float32(0), 0)

    moved = table(start.copy(), 1e4)
    learn_brackets(words, gold, moved, np.float32(1), 3)
    changed = np.flatnonzero(moved.weights != start)
    assert len(changed) > 20
    gradient = (moved.weights - start) * 100
    for feature in changed[:: len(changed) // 8]:
        up, down = start.copy(), start.copy()
        up[feature] += 0.05
        down[feature] -= 0.05
        slope = (log_p(up) - log_p(down)) / 0.1
        assert gradient[feature] == pytest.approx(slope, abs=0.02)
    assert moved.sums[changed] == pytest.approx(3 * (moved.weights - start)[changed], abs=1e-5)
    # log p itself
    scores = np.empty(len(gold))
    from eigentext.constituency.kernels.brackets import bracket_scores

    bracket_scores(words, start, scores)
    _, log_z = enumerated(n, scores)
    of_tree = sum(scores[span_number(i, j, n)] for i, j in tree if j - i > 1)
    assert log_p(start) == pytest.approx(of_tree - log_z, abs=1e-4)


def test_features_that_are_not_learned_keep_their_weight():
    words = _sentence(1, 4)
    gold = np.zeros(10, bool)
    for i, j in binary_trees(0, 4)[0]:
        gold[span_number(i, j, 4)] = True
    size = 1 << BITS
    table = _Table(
        np.zeros(size, np.float32), np.zeros(size), np.ones(size, np.float32), np.zeros(size, bool)
    )
    learn_brackets(words, gold, table, np.float32(1), 0)
    assert not table.weights.any()


# -- in the chart ---------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 4))
def test_posteriors_with_weights_are_those_of_all_trees(seed, n):
    """A tree counts for its weight in the grammar times that of its brackets."""
    coarse, params, emissions = lpcfg_trees.tiny_grammar(seed, n)
    rng = np.random.default_rng(seed)
    n_spans = n * (n + 1) // 2
    weight = rng.normal(0, 2, n_spans)
    weight[[span_number(i, i + 1, n) for i in range(n)]] = 0.0
    closed = rng.random(n_spans) < 0.2
    closed[[0, n - 1, *(span_number(i, i + 1, n) for i in range(n))]] = False
    masks = build_masks(n, lpcfg_trees.LABELS, None)
    masks = masks._replace(marginal=1.0 - closed, threshold=0.5, weight=weight)
    chart = build_chart(
        coarse, params.lexicon, emissions, beam=0.0, threshold=0.0, masks=masks, steps=STEPS[:1]
    )
    trees = [
        tree
        for tree in lpcfg_trees.all_trees(coarse, params.lexicon, emissions)
        if not any(closed[span_number(i, j, n)] for _, i, j in tree.items())
    ]
    if chart is None:
        assert not trees
        return

    def of_brackets(tree):
        return math.exp(sum(weight[span_number(i, j, n)] for _, i, j in tree.items()))

    found = fine_pass(chart, params, emissions)
    spans = chart.spans[chart.item_span]
    for posterior, weights in (
        (
            chart.posterior,
            [lpcfg_trees.coarse_weight(t, coarse, params.lexicon, emissions) for t in trees],
        ),
        (
            found.applications,
            [lpcfg_trees.state_weights(t, params, emissions).sum() for t in trees],
        ),
    ):
        expected, _ = lpcfg_trees.posteriors(
            trees, [w * of_brackets(t) for t, w in zip(trees, weights, strict=True)]
        )
        keys = [
            (rule, *spans[left].tolist(), spans[right].tolist()[1])
            for rule, left, right in zip(chart.rule.tolist(), chart.left, chart.right, strict=True)
        ]
        assert set(keys) == set(expected)
        assert posterior == pytest.approx([expected[key] for key in keys], abs=1e-4)


def test_closed_spans_are_opened_when_there_is_no_other_tree():
    coarse, params, emissions = lpcfg_trees.tiny_grammar(5, 3)
    masks = build_masks(3, lpcfg_trees.LABELS, None)
    options = {"beam": 1e-4, "threshold": 1e-4}
    for relaxed, marginal in enumerate((1.0, 0.3, 0.02)):
        closed = masks._replace(marginal=np.full(6, marginal), threshold=0.5)
        chart = build_chart(coarse, params.lexicon, emissions, masks=closed, **options)
        assert chart.relaxed == relaxed
    hopeless = masks._replace(marginal=np.zeros(6), threshold=0.5)
    assert build_chart(coarse, params.lexicon, emissions, masks=hopeless, **options) is None


# -- as part of the parser ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def learned(english):
    settings = LPCFGSettings()
    bank, _ = read_treebank(english, settings)
    parser = LPCFG(n_states=1, bracket_weight=0).fit(english)
    lexicon = parser.grammar_.params[0].lexicon.tag_level
    return parser, bank, lexicon, learn_bracket_model(bank, lexicon, seed=0)


def test_spans_of_trees_are_likelier_than_others(learned, english):
    parser, _, lexicon, model = learned
    inside, outside = [], []
    for tree in english[:60]:
        n = len(tree.words)
        if n < 4:
            continue
        marginal = model.judge(parser.grammar_.forms(tree.words), lexicon).marginal
        gold = {(start, end) for _, start, end in tree.constituents() if end - start > 1}
        for i in range(n):
            for j in range(i + 2, n + 1):
                (inside if (i, j) in gold else outside).append(marginal[span_number(i, j, n)])
    assert np.mean(inside) > 0.7
    assert np.mean(outside) < 0.2


def test_the_same_weights_with_any_number_of_cores(learned, monkeypatch):
    _, bank, lexicon, model = learned
    monkeypatch.setattr(brackets, "_SENTENCES_OF_A_BLOCK", 2)
    for steps in (250, 20):
        monkeypatch.setattr(brackets, "_STEPS_OF_A_PASS", steps)
        found = []
        for cores in (1, 2, 3):
            with using_cores(cores):
                again = learn_bracket_model(bank, lexicon, seed=0)
            found.append((again.places.tobytes(), again.values.tobytes()))
        assert found[0] == found[1] == found[2]
        # one sentence at a time where they are few, or many, which is another model
        alone = (model.places.tobytes(), model.values.tobytes())
        assert (found[0] == alone) == (steps == 250)


def test_sentences_end_to_end_are_the_sentences(learned):
    """The compiled count of features is the sum of the counts of each sentence by itself."""
    from eigentext.constituency.kernels.brackets import count_features

    together, apart = np.zeros((2, 1 << BITS), np.int32)
    several = [
        (_sentence(n, n), np.random.default_rng(n).random(n * (n + 1) // 2) < 0.5)
        for n in (3, 7, 4)
    ]
    count_features(_Sentences.of(several), together)
    for one in several:
        count_features(_Sentences.of([one]), apart)
    assert together.sum() > 0
    assert np.array_equal(together, apart)


def test_rare_words_are_known_by_their_signature(learned):
    _, _, lexicon, _ = learned
    keys = BracketKeys(lexicon)
    one = keys.of_sentence(["the", "wolverations", "."])
    other = keys.of_sentence(["the", "hobberations", "."])
    assert np.array_equal(one.word, other.word)
    assert np.array_equal(one.tag, other.tag)
    assert one.marks.tolist() == [0, 0, 0, 1]
    assert keys.of_sentence(["The", "x"]).word[2] == keys.of_sentence(["the", "x"]).word[2]


def test_file_keeps_the_brackets(tmp_path, english):
    parser = LPCFG(n_states=2).fit(english[:80])
    assert parser.grammar_.brackets is not None
    parser.save(tmp_path / "a.lpcfg")
    again = LPCFG.load(tmp_path / "a.lpcfg")
    assert isinstance(again.grammar_.brackets, BracketModel)
    for tree in english[80:100]:
        assert again.parse(tree.words) == parser.parse(tree.words)


def test_weight_0_learns_none_and_changes_nothing(english):
    without = LPCFG(n_states=2, bracket_weight=0).fit(english[:80])
    assert without.grammar_.brackets is None
    both = LPCFG(n_states=2).fit(english[:80])
    both.set_params(bracket_weight=0.0, bracket_threshold=0.0)
    for tree in english[80:95]:
        assert both.parse(tree.words) == without.parse(tree.words)


def test_a_required_constituent_is_never_closed(english):
    parser = LPCFG(n_states=2).fit(english)
    parser.set_params(bracket_threshold=0.49, bracket_weight=5.0)
    words = "The farmer sold the horse .".split()
    answer = parser.parse(words, constraints=Constraints(required=[(1, 3)]))
    assert (1, 3) in {(start, end) for _, start, end in answer.tree.constituents()}


def test_log_prob_is_that_of_the_grammar_alone(english):
    parser = LPCFG(n_states=2).fit(english)
    words = "The farmer sold the horse .".split()
    answer = parser.parse(words)
    assert answer.log_prob == pytest.approx(parser.log_prob(answer.tree), abs=1e-4)
    assert isinstance(answer.tree, Tree)
