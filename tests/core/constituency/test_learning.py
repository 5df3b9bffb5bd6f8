"""Estimators: relative frequencies, EM, determinism, files."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from eigentext.base.cores import using_cores
from eigentext.base.model import NotFittedError
from eigentext.base.settings import declared
from eigentext.constituency import LPCFG
from eigentext.constituency.chart.decode import skeleton_of
from eigentext.constituency.kernels.tensors import smooth_rules
from eigentext.constituency.learn import em, moments
from eigentext.constituency.learn.em import random_start, run_em, word_scores
from eigentext.constituency.lexicon import build_lexicon, index_words
from eigentext.constituency.params import (
    LatentCounts,
    _few_counts,
    count_states,
    estimate,
    few_enough,
    tensor_layout,
)
from eigentext.constituency.settings import LPCFGSettings, Smoothing
from eigentext.constituency.transform import head_rules, prepare_tree, read_treebank
from eigentext.errors import ModelFileError, SettingsError
from eigentext.evaluate.parseval import evaluate
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.trees.constituent import Tree
from helpers.changed_files import changed

PLAIN = {"heads": "neutral", "language": "generic"}
SETTINGS = LPCFGSettings(**PLAIN)


def _pcfg_log_p(tree, trees, settings):
    """log p(tree) from relative frequencies, counted the plain way over strings."""
    rules = head_rules(settings)
    expansions, parents, roots = Counter(), Counter(), Counter()

    def expansions_of(tree):
        binary = prepare_tree(tree, settings, rules)
        for node in range(binary.n_nodes):
            if binary.sizes[node] > 1:
                below = tuple(binary.labels[child] for child in binary.children(node))
                yield binary.labels[node], (*below, binary.sizes[node] == 2)

    for one in trees:
        roots[prepare_tree(one, settings, rules).labels[0]] += 1
        for parent, below in expansions_of(one):
            expansions[parent, below] += 1
            parents[parent] += 1
    top = roots[prepare_tree(tree, settings, rules).labels[0]]
    factors = [top / len(trees)]
    factors += [expansions[key] / parents[key[0]] for key in expansions_of(tree)]
    return float(np.log(factors).sum()) if all(factors) else float("-inf")


@pytest.mark.parametrize("estimator", ["clustering", "em"])
def test_one_state_is_the_pcfg(toy, estimator):
    parser = LPCFG(
        n_states=1,
        estimator=estimator,
        n_iter=1 if estimator == "em" else None,
        smoothing=Smoothing.none(),
        **PLAIN,
    ).fit(toy)
    n_tokens = sum(map(len, toy))
    # p(w) keeps one token in N + 1 for all unknown words
    for tree in toy:
        expected = _pcfg_log_p(tree, toy, SETTINGS) + len(tree) * np.log(n_tokens / (n_tokens + 1))
        assert parser.log_prob(tree) == pytest.approx(expected, rel=1e-6)
    coarse, (params,) = parser.grammar_.coarse, parser.grammar_.params
    assert coarse.rule_p == pytest.approx(params.tensor, rel=1e-6)
    assert coarse.root_p == pytest.approx(params.root, rel=1e-12)


def test_one_state_is_the_pcfg_on_the_sample(english):
    parser = LPCFG(n_states=1, estimator="clustering", smoothing=Smoothing.none()).fit(english)
    n = sum(map(len, english))
    for tree in english[::25]:
        expected = _pcfg_log_p(tree, english, parser) + len(tree) * np.log(n / (n + 1))
        assert parser.log_prob(tree) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("smoothing", [Smoothing(), Smoothing.none()])
def test_what_a_state_may_do_sums_to_one(english, toy, smoothing):
    for trees in (english, toy):
        bank, _ = read_treebank(trees, SETTINGS)
        m = np.clip(np.bincount(bank.label) // 3, 1, 4)
        settings = replace(SETTINGS, smoothing=smoothing, seed=1)
        params = run_em(bank, random_start(bank, m, settings), 2, settings).params
        total = np.zeros(int(m.sum()))
        for (a, b, c), start in zip(bank.rules, params.rule_ptr, strict=False):
            block = params.tensor[start : start + m[a] * m[b] * m[c]].reshape(m[a], -1)
            total[params.label_ptr[a] : params.label_ptr[a + 1]] += block.sum(axis=1)
        lexicon = params.lexicon
        for t, a in enumerate(lexicon.tags):
            total[params.label_ptr[a] : params.label_ptr[a + 1]] += lexicon.emits[
                lexicon.tag_ptr[t] : lexicon.tag_ptr[t + 1]
            ]
        # A state that EM emptied has nothing to share out.
        alive = total > 1e-6
        assert total[alive] == pytest.approx(np.ones(alive.sum()), abs=1e-4)
        assert alive.mean() > 0.9
        assert params.root.sum() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_likelihood_never_falls(english, toy, seed):
    for trees, settings in ((english[:120], LPCFGSettings()), (toy, SETTINGS)):
        bank, _ = read_treebank(trees, settings)
        m = np.clip(np.bincount(bank.label, minlength=len(bank.labels)) // 4, 1, 3)
        plain = replace(settings, smoothing=Smoothing.none(), seed=seed)
        found = run_em(bank, random_start(bank, m, plain), 25, plain).log_likelihoods
        assert np.all(np.isfinite(found))
        assert np.diff(found).min() >= -1e-5 * abs(found[0])  # single precision
        assert found[-1] > found[0] + 0.01 * abs(found[0])


def test_log_likelihood_is_that_of_the_trees(toy):
    bank, _ = read_treebank(toy, SETTINGS)
    m = np.full(len(bank.labels), 2)
    start = random_start(bank, m, replace(SETTINGS, seed=3))
    parser = LPCFG(n_states=2, **PLAIN).fit(toy)
    parser.grammar_ = replace(parser.grammar_, params=(start,))
    (first,) = run_em(bank, start, 1, SETTINGS).log_likelihoods
    of_words = sum(start.lexicon.log_p_word(word) for tree in toy for word in tree.words)
    assert first + of_words == pytest.approx(sum(map(parser.log_prob, toy)), rel=1e-5)


@pytest.mark.parametrize("smoothing", [Smoothing(), Smoothing.none(), Smoothing(k_sig=0.0)])
def test_word_scores_in_one_stroke(english, smoothing):
    bank, _ = read_treebank(english, LPCFGSettings())
    rng = np.random.default_rng(0)
    m = rng.integers(1, 4, len(bank.labels))
    state = rng.integers(0, m[bank.label])
    index = index_words(bank)
    over_words = np.flatnonzero(bank.token >= 0)
    lexicon = build_lexicon(bank, m, state[over_words], smoothing)
    lexicon = estimate(bank, m, count_states(bank, state, m), lexicon, smoothing).lexicon
    expected = []
    for node in over_words:
        token = bank.token[node]
        emission = lexicon.emission(bank.words[token], first=bank.first_in_sentence[token])
        t = np.searchsorted(lexicon.tags, bank.label[node])
        expected.append(emission.states[lexicon.tag_ptr[t] : lexicon.tag_ptr[t + 1]])
    np.testing.assert_allclose(
        word_scores(lexicon, index), np.concatenate(expected), rtol=1e-5, atol=1e-9
    )


def test_hard_states_are_expected_states_of_weight_one(english):
    bank, _ = read_treebank(english, LPCFGSettings())
    m = np.full(len(bank.labels), 2)
    over_words = np.flatnonzero(bank.token >= 0)
    state = np.arange(len(over_words)) % 2
    hard = build_lexicon(bank, m, state)
    soft = build_lexicon(bank, m, np.eye(2)[state].reshape(-1))
    for word in ("the", "horse", "Zyzzyva", "(", "42"):
        for first in (True, False):
            np.testing.assert_allclose(
                hard.emission(word, first=first).states,
                soft.emission(word, first=first).states,
                rtol=1e-6,
            )


def test_em_improves_on_its_start(english):
    short, long = (
        LPCFG(n_states=3, estimator="em", n_iter=n, seed=5).fit(english) for n in (1, 15)
    )
    assert sum(map(long.log_prob, english)) > sum(map(short.log_prob, english))


def test_fifty_iterations_by_default(toy, monkeypatch):
    from eigentext.constituency.learn import models

    asked = []

    def stub(bank, params, iterations, *rest, **more):
        asked.append(iterations)
        return replace(run_em(bank, params, 1, *rest, **more))

    monkeypatch.setattr(models, "run_em", stub)
    LPCFG(estimator="em").fit(toy)
    LPCFG(estimator="em", n_iter=3).fit(toy)
    LPCFG(n_iter=2).fit(toy)
    LPCFG(estimator="clustering").fit(toy)
    LPCFG(n_iter=0).fit(toy)
    LPCFG().fit(toy)  # moments
    assert asked == [50, 3, 2, 1]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"n_models": 2},
        {"estimator": "em", "n_iter": 3},
        {"estimator": "moments"},
        {"estimator": "moments", "n_models": 2, "scheme": "one-per-tree"},
    ],
)
def test_same_file_every_time_and_same_parses_after_loading(english, tmp_path, settings):
    one = LPCFG(n_states=3, **settings).fit(english[:150])
    two = LPCFG(n_states=3, **settings).fit(english[:150])
    one.save(tmp_path / "one.lpcfg")
    two.save(tmp_path / "two.lpcfg")
    assert (tmp_path / "one.lpcfg").read_bytes() == (tmp_path / "two.lpcfg").read_bytes()
    loaded = LPCFG.load(tmp_path / "one.lpcfg")
    assert loaded.get_params() == one.get_params()
    for tree in english[150:170]:
        first = one.parse(tree.words, kbest=3, marginals=True)
        assert loaded.parse(tree.words, kbest=3, marginals=True) == first
        assert loaded.log_prob(tree) == one.log_prob(tree)


@pytest.mark.parametrize(
    "settings",
    [
        {"estimator": "clustering", "n_iter": 2},
        {"estimator": "mixed", "n_models": 2},
        {"estimator": "moments", "plain": True},
    ],
)
def test_the_same_file_with_any_number_of_cores(english, tmp_path, monkeypatch, settings):
    monkeypatch.setattr(em, "_LEAST_WORK", 500)  # so that there are several blocks
    monkeypatch.setattr(moments, "_RULES_AT_ONCE", 7)
    files = []
    for cores in (1, 2, 3):
        with using_cores(cores):
            parser = LPCFG(n_states=3, **settings).fit(english[:120])
        parser.save(tmp_path / "model.lpcfg")
        files.append((tmp_path / "model.lpcfg").read_bytes())
    assert files[0] == files[1] == files[2]


def test_blocks_of_em_hold_every_tree_and_every_node_of_a_rule_once(english, monkeypatch):
    monkeypatch.setattr(em, "_LEAST_WORK", 500)
    bank, _ = read_treebank(english, SETTINGS)
    m = np.full(len(bank.labels), 3)
    trees, nodes = em._shared_out(bank, m)
    assert min(len(trees), len(nodes)) > 10
    assert [t for begin, end in trees for t in range(begin, end)] == list(range(bank.n_trees))
    flat = np.concatenate(nodes)
    assert sorted(flat.tolist()) == np.flatnonzero(bank.rule >= 0).tolist()
    assert (np.diff(bank.rule[flat]) >= 0).all()
    rules = [set(bank.rule[block].tolist()) for block in nodes]
    assert sum(map(len, rules)) == len(set.union(*rules))  # no rule is in two blocks


def test_another_kind_of_file_is_refused(tmp_path):
    (tmp_path / "x.lpcfg").write_bytes(b"not a model")
    with pytest.raises(ModelFileError):
        LPCFG.load(tmp_path / "x.lpcfg")


def test_seeds_differ_and_do_not_depend_on_order(english):
    a, b = (LPCFG(n_states=4, estimator="em", n_iter=2, seed=s).fit(english[:80]) for s in (0, 1))
    assert not np.array_equal(a.grammar_.params[0].tensor, b.grammar_.params[0].tensor)


def test_processes_make_no_difference(parser, english):
    sentences = [list(tree.words) for tree in english[:70]]
    sentences[3] = []
    alone = list(parser.parse_many(sentences, jobs=1, kbest=2))
    both = list(parser.parse_many(sentences, jobs=2, kbest=2))
    assert alone == both
    assert [[] if one is None else list(one.tree.words) for one in both] == sentences
    assert both[3] is None


@pytest.mark.parametrize(
    "settings",
    [
        {"n_states": 0},
        {"n_states": 65},
        {"n_models": 0},
        {"n_iter": -1},
        {"decoder": "best"},
        {"estimator": "luck"},
        {"beam": -1.0},
        {"threshold": 1.0},
        {"per_state": 0},
        {"decoder": "viterbi", "n_models": 2},
        {"decoder": "viterbi", "estimator": "moments"},
        {"estimator": "moments", "n_iter": 3},
        {"estimator": "mixed"},
        {"inside": ()},
        {"outside": ("luck",)},
        {"longest": 1001},
        {"smoothing": None},
    ],
)
def test_settings_without_sense(toy, settings):
    with pytest.raises(SettingsError):
        LPCFG(**settings).fit(toy)


def test_smoothing_is_not_negative():
    with pytest.raises(SettingsError, match="C_pair"):
        Smoothing(C_pair=-1.0)


def test_an_estimator_of_scikit_learn(parser, english):
    again = clone(parser)
    assert again.get_params() == parser.get_params()
    with pytest.raises(NotFittedError):
        again.predict([["a"]])
    trees = [tree for tree in english[:12] if len(tree) > 2]
    found = parser.predict([tree.words for tree in trees])
    assert found == [parser.parse(tree.words).tree for tree in trees]
    with pytest.raises(SettingsError, match="without tokens"):
        parser.predict([["a"], []])
    assert parser.score(trees) == evaluate(trees, found, EvalbSettings.collins()).all.f1 / 100
    assert 0.5 < parser.score(trees) <= 1
    assert LPCFG.from_bytes(parser.to_bytes()).predict([trees[0].words]) == found[:1]


def test_the_file_says_what_was_set(toy, tmp_path):
    header = LPCFG(n_states=2, partial_weight=0.5, **PLAIN).fit(toy).save(tmp_path / "m")
    assert header.settings["n_states"] == 2
    assert header.settings["partial_weight"] == 0.5
    assert header.settings["heads"] == "neutral"
    assert sorted(header.facts) == ["lexicon", "smoothing", "wrapper"]
    assert set(header.settings) == set(declared(LPCFG)) - {"smoothing"}


def test_a_skeleton_is_the_tree_in_numbers(parser, english):
    numbers, labels = parser.grammar_.rule_numbers, parser.grammar_.labels
    for tree in english[:40]:
        binary = prepare_tree(tree, parser, head_rules(parser))
        skeleton = skeleton_of(binary, numbers)
        assert skeleton.tree(labels, binary.words) == binary
        rules = parser.grammar_.coarse.rules[skeleton.rule]
        inner = skeleton.rule >= 0
        children = [skeleton.label, skeleton.label[skeleton.left], skeleton.label[skeleton.right]]
        assert np.array_equal(rules[inner], np.stack(children, axis=1)[inner])


def test_jobs_must_be_positive(parser):
    with pytest.raises(SettingsError):
        list(parser.parse_many([["a"]], jobs=0))


def test_only_our_trees(english):
    with pytest.raises(SettingsError, match="expected a list of trees, whose item 1 is a str"):
        LPCFG().fit([str(english[0])])
    with pytest.raises(SettingsError, match="at least one tree"):
        LPCFG().fit([])
    with pytest.raises(SettingsError, match="alone under its tag"):
        LPCFG().fit([Tree.from_nested(("S", "a", ("B", "b")))])


# -- counts that a file keeps ------------------------------------------------------------------


@pytest.mark.parametrize("least", [0.0, 1e-3, 0.2])
def test_small_counts_are_left_out_and_the_rest_still_adds_up(least):
    rng = np.random.default_rng(4)
    rules, m = np.array([[0, 1, 2], [0, 2, 2], [2, 1, 1]]), np.array([2, 3, 4])
    ptr = tensor_layout(rules, m)
    tensor = rng.exponential(size=int(ptr[-1])) ** 4
    tensor[ptr[1] : ptr[2]] *= 1e-6  # a rule that is hardly there
    # a label's nodes are parents of rules, or stand over words
    states = np.zeros(9)
    for number, (a, b, c) in enumerate(rules.tolist()):
        cells = tensor[ptr[number] : ptr[number + 1]].reshape(m[a], m[b], m[c])
        begin = [0, 2, 5][a]
        states[begin : begin + m[a]] += cells.sum((1, 2))
    words = rng.exponential(size=9)
    states += words
    after = _few_counts(rules, m, LatentCounts(tensor, states, np.ones(9)), least, (1.0, 1.0, 1.0))
    kept = np.zeros(len(tensor))
    kept[after.places] = after.numbers
    assert np.all(np.diff(after.places) > 0)
    for number in range(3):
        old, new = (x[ptr[number] : ptr[number + 1]] for x in (tensor, kept))
        bound = least * min(old.max(), 1.0)
        assert new == pytest.approx(np.where(old > bound, old, 0), rel=1e-6)
        assert new.max() > 0
        assert after.rules[number] == pytest.approx(new.sum())
    # what a state does is done by rules and over words, as before
    left = after.states - words
    for number, (a, b, c) in enumerate(rules.tolist()):
        cells = kept[ptr[number] : ptr[number + 1]].reshape(m[a], m[b], m[c])
        begin = [0, 2, 5][a]
        left[begin : begin + m[a]] -= cells.sum((1, 2))
    assert left == pytest.approx(0, abs=1e-6)
    assert after.labels == pytest.approx(np.add.reduceat(after.states, [0, 2, 5]))


def test_tensors_made_from_few_counts_and_from_all_are_the_same(english):
    model = LPCFG(n_states=4, estimator="clustering", n_iter=1).fit(english[:80])
    (params,) = model.grammar_.params
    known = params.counts
    dense = np.zeros(len(params.tensor))
    dense[known.places] = known.numbers
    tensor = np.empty_like(params.tensor)
    layout = np.ascontiguousarray(params.rules), params.rule_ptr, params.label_ptr
    smooth_rules(layout, (0, len(params.rules)), dense, *known[2:], tensor)
    assert np.array_equal(tensor, params.tensor)
    back = LPCFG.from_bytes(model.to_bytes())
    assert np.array_equal(back.grammar_.params[0].tensor, tensor)
    assert back.to_bytes() == model.to_bytes()
    # after no EM every count is whole; what counts of moments there are, no file needs
    hard = LPCFG(n_states=4, estimator="clustering", n_iter=0).fit(english[:80])
    numbers = hard.grammar_.params[0].counts.numbers
    assert np.array_equal(numbers, np.rint(numbers))
    assert LPCFG(n_states=4).fit(english[:80]).grammar_.params[0].counts is None


def test_a_file_says_rules_in_one_way(english):
    model = LPCFG(n_states=2, estimator="clustering").fit(english[:40])
    n_rules = len(model.grammar_.params[0].rules)
    low = {
        "model0.low.rank": np.full((n_rules, 3), 255, np.uint8),
        "model0.low.values": np.zeros(1, np.float16),
        "model0.low.factor": np.ones(n_rules, np.float32),
    }
    for arrays, why in (
        (low, "in 2 ways"),
        ({"model0.counts.rules": None}, r"counts\.rules'.* some are there, some missing"),
    ):
        with pytest.raises(ModelFileError, match=why):
            LPCFG.from_bytes(changed(model, arrays=arrays))
    assert not few_enough(0, 10**7)
    assert few_enough(10**5, 10**8)


def test_proper_tags_do_nothing_but_stand_over_words(english):
    model = LPCFG(n_states=4, estimator="clustering", n_iter=5).fit(english[:80])
    grammar = model.grammar_
    (params,), labels = grammar.params, grammar.labels
    parents = {labels[a] for a in params.rules[:, 0].tolist()}
    lexicon = params.lexicon
    for t, tag in enumerate(lexicon.tags.tolist()):
        emits = lexicon.emits[lexicon.tag_ptr[t] : lexicon.tag_ptr[t + 1]]
        if labels[tag] not in parents:
            assert emits.tolist() == [1.0] * len(emits)
