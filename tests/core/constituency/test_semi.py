"""EM on sentences without trees: expected counts against all trees, listed one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eigentext.base.cores import using_cores
from eigentext.constituency import LPCFG
from eigentext.constituency.chart.coarse import build_chart
from eigentext.constituency.chart.constraints import Constraints, build_masks
from eigentext.constituency.chart.fine import fine_sweeps
from eigentext.constituency.learn.semi import Expected, FreeText, add_sentence, partial_brackets
from eigentext.constituency.settings import LPCFGSettings, Smoothing
from eigentext.errors import SettingsError
from eigentext.language.trees.constituent import Tree
from oracle import lpcfg_trees

PLAIN = {"heads": "neutral", "language": "generic"}
SETTINGS = LPCFGSettings(**PLAIN)
BINARY = (
    "(S (A (A x) (B y)) (B (A x) (B y)))",
    "(S (A x) (B (B y) (B (A x) (A y))))",
    "(S (A (A y) (A x)) (B y))",
    "(S (B y) (A (A x) (B y)))",
    "(S (A (B y) (A x)) (B (A x) (B y)))",
)


@pytest.fixture(scope="module")
def binary() -> list[Tree]:
    return [Tree.from_brackets(line) for line in BINARY]


def _listed(trees, params, emissions):
    """Expected rules, roots and words with states, summed over all trees and all states."""
    tensor, roots, words = np.zeros(len(params.tensor)), np.zeros(int(params.m.sum())), {}
    total = 0.0
    label_ptr, m = params.label_ptr, params.m
    for tree in trees:
        nodes = list(tree.nodes())
        place = {id(node): at for at, node in enumerate(nodes)}
        for states in product(*(range(m[node.label]) for node in nodes)):
            weight = params.root[label_ptr[tree.label] + states[0]]
            used, over = [], []
            for node, state in zip(nodes, states, strict=True):
                if node.children:
                    _, b, c = params.rules[node.rule]
                    one, two = (states[place[id(child)]] for child in node.children)
                    at = params.rule_ptr[node.rule] + (state * m[b] + one) * m[c] + two
                    weight *= float(params.tensor[at])
                    used.append(at)
                else:
                    t = int(np.searchsorted(params.lexicon.tags, node.label))
                    ts = int(params.lexicon.tag_ptr[t]) + state
                    weight *= float(emissions[node.start].states[ts])
                    over.append((node.start, ts))
            np.add.at(tensor, used, weight)
            roots[label_ptr[tree.label] + states[0]] += weight
            for key in over:
                words[key] = words.get(key, 0.0) + weight
            total += weight
    return tensor / total, roots / total, {key: n / total for key, n in words.items()}


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_expected_counts_are_those_of_all_trees(seed, n):
    coarse, params, emissions = lpcfg_trees.tiny_grammar(seed, n)
    trees = lpcfg_trees.all_trees(coarse, params.lexicon, emissions)
    if not 0 < len(trees) <= 60:
        return
    masks = build_masks(n, lpcfg_trees.LABELS, None)
    chart = build_chart(coarse, params.lexicon, emissions, beam=0.0, threshold=0.0, masks=masks)
    words = [str(i) for i in range(n)]
    found = Expected.none(params)
    swept = fine_sweeps(chart, params, emissions)
    add_sentence(chart, params, swept, words, 3.0, 0.0, found)
    tensor, roots, of_words = _listed(trees, params, emissions)
    np.testing.assert_allclose(found.tensor, 3 * tensor, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(found.roots, 3 * roots, rtol=1e-3, atol=1e-5)
    seen = {}
    for word, ts, weight in found.pairs:
        seen.update({(int(word), int(k)): v for k, v in zip(ts, weight, strict=True)})
    for key, value in of_words.items():
        assert seen[key] == pytest.approx(3 * value, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("states", [1, 2])
def test_a_tree_given_in_full_counts_as_itself(binary, states):
    text = FreeText(partial=[partial_brackets(tree) for tree in binary], least=0.0)
    again = LPCFG(
        n_states=states,
        n_iter=0,
        per_state=2,
        **PLAIN,
        beam=0.0,
        threshold=0.0,
        smoothing=Smoothing.none(),
    ).fit(binary, text=text)
    # Twice the same counts: the parameters are those of one EM iteration on the trees alone.
    alone = LPCFG(
        n_states=states,
        per_state=2,
        n_iter=1,
        **PLAIN,
        beam=0.0,
        threshold=0.0,
        smoothing=Smoothing.none(),
    ).fit(binary)
    assert again.semi_.n_used == len(binary)
    (one,), (two,) = again.grammar_.params, alone.grammar_.params
    np.testing.assert_allclose(one.tensor, two.tensor, atol=1e-5)
    np.testing.assert_allclose(one.root, two.root, atol=1e-5)
    rule_p = [parser.grammar_.coarse.rule_p for parser in (again, alone)]
    np.testing.assert_allclose(*rule_p, atol=1e-5)


@pytest.mark.parametrize("states", [1, 2])
def test_likelihood_never_falls(toy, binary, states):
    trees = [*toy, *binary]
    sentences = ["x y x y".split(), "y x".split(), "x y y y".split(), "y x y x y".split()]
    brackets = partial_brackets(binary[0])[1].required
    known = [
        ("x y x".split(), Constraints(required=[(0, 2)])),
        (binary[0].words, Constraints(required=brackets)),
    ]
    text = FreeText(sentences, known, least=0.0)
    parser = LPCFG(
        n_states=states,
        unlabelled_weight=1.0,
        unlabelled_rounds=12,
        per_state=4,
        **PLAIN,
        beam=0.0,
        threshold=0.0,
        smoothing=Smoothing.none(),
    ).fit(trees, text=text)
    found = parser.semi_.log_likelihoods
    assert parser.semi_.n_used == 6
    assert len(found) == 12
    assert np.all(np.isfinite(found))
    assert np.diff(found).min() >= -1e-4
    assert found[-1] > found[0] + 0.1


def test_no_rule_of_the_treebank_vanishes(english):
    text = FreeText([tree.words for tree in english[40:80]])
    parser = LPCFG(n_states=2, unlabelled_weight=50.0, unlabelled_rounds=3).fit(
        english[:40], text=text
    )
    params = parser.grammar_.params[0]
    of_rule = np.add.reduceat(params.tensor, params.rule_ptr[:-1])
    assert of_rule.min() > 0
    assert parser.grammar_.coarse.rule_p.min() > 0
    assert parser.semi_.n_used > 20


def test_expected_counts_share_out_to_one(english):
    text = FreeText([tree.words for tree in english[40:80]])
    parser = LPCFG(n_states=3, unlabelled_weight=0.5, unlabelled_rounds=2)
    params = parser.fit(english[:40], text=text).grammar_.params[0]
    m, total = params.m, np.zeros(int(params.m.sum()))
    for (a, b, c), start in zip(params.rules, params.rule_ptr, strict=False):
        block = params.tensor[start : start + m[a] * m[b] * m[c]].reshape(m[a], -1)
        total[params.label_ptr[a] : params.label_ptr[a + 1]] += block.sum(axis=1)
    lexicon = params.lexicon
    for t, a in enumerate(lexicon.tags):
        emits = lexicon.emits[lexicon.tag_ptr[t] : lexicon.tag_ptr[t + 1]]
        total[params.label_ptr[a] : params.label_ptr[a + 1]] += emits
    assert total == pytest.approx(np.ones(len(total)), abs=1e-3)
    assert params.root.sum() == pytest.approx(1.0, abs=1e-3)


def test_new_words_become_known_and_files_keep_them(english, tmp_path):
    text = FreeText([["The", "wug", "sold", "the", "horse", "."]] * 3)
    parser = LPCFG(n_states=2, unlabelled_weight=1.0).fit(english, text=text)
    assert parser.grammar_.lexicon.knows("wug")
    plain = LPCFG(n_states=2).fit(english)
    assert not plain.grammar_.lexicon.knows("wug")
    parser.save(tmp_path / "m")
    again = LPCFG.load(tmp_path / "m")
    tokens = "The wug barked at the horse .".split()
    assert again.parse(tokens) == parser.parse(tokens)


def test_the_same_answer_with_any_number_of_cores(english):
    def fitted(cores):
        text = FreeText([tree.words for tree in english[30:60]])
        parser = LPCFG(n_states=2, n_models=2, estimator="clustering", unlabelled_rounds=2)
        with using_cores(cores):
            return parser.fit(english[:30], text=text).to_bytes()

    assert fitted(1) == fitted(2) == fitted(3)


def test_long_and_hopeless_sentences_are_counted(english):
    words = english[0].words
    text = FreeText(
        [words, [*words] * 10, []],
        [(words, Constraints(required=[(0, 2, "NOPE")])), ("a b".split(), Constraints())],
        longest=30,
    )
    found = LPCFG(n_states=1).fit(english, text=text).semi_
    assert (found.n_long, found.n_used + found.n_unparsed) == (1, 3)
    assert found.n_unparsed >= 1


def test_what_brackets_say():
    tree = Tree.from_brackets("(TOP (S (X (DT the) (X cat)) ( (VBD sat) (X (X (RB down))))))")
    tokens, known = partial_brackets(tree)
    assert tokens == "the cat sat down".split()
    assert tuple(known.required) == ((0, 4, "S"), (0, 2), (2, 4))
    assert known.tags == {0: "DT", 2: "VBD", 3: "RB"}


@pytest.mark.parametrize("bad", [{"longest": 0}, {"least": 1.0}])
def test_bad_bounds_of_text(bad):
    with pytest.raises(SettingsError):
        FreeText(**bad)


@pytest.mark.parametrize(
    "bad", [{"unlabelled_weight": -1.0}, {"partial_weight": -1.0}, {"unlabelled_rounds": -1}]
)
def test_bad_settings(toy, bad):
    with pytest.raises(SettingsError, match=next(iter(bad))):
        LPCFG(**bad).fit(toy)


def test_wrong_input(english):
    with pytest.raises(SettingsError, match="list of tokens"):
        LPCFG(n_states=1).fit(english[:5], text=FreeText(["a b"]))
    with pytest.raises(SettingsError, match="moments"):
        LPCFG(n_states=2, estimator="moments").fit(english[:20], text=FreeText([["a"]]))
