"""The decoder that looks at constituents: known answers, by the shares of trees in training."""

from __future__ import annotations

import math

import pytest

from eigentext.constituency import LPCFG
from eigentext.language.trees.constituent import Tree

ALONE = {"n_states": 1, "heads": "neutral", "bracket_weight": 0.0}  # the plain PCFG


def _parser(**shares):
    """A parser of trees that stand in training so often."""
    trees = [Tree.from_brackets(text) for text in shares.pop("trees")]
    return LPCFG(**ALONE).fit(
        [tree for tree, n in zip(trees, shares.pop("times"), strict=True) for _ in range(n)]
    )


def test_a_tree_whose_constituents_others_share_goes_before_the_likeliest():
    """The likeliest tree (0.42) is wrong as a whole or right; W stands in all others."""
    likeliest = "(S (A a) (V (B b) (U (C c) (D d))))"
    shares_w = "(S (W (Y (A a) (B b)) (C c)) (D d))"
    parser = _parser(trees=[likeliest, shares_w, shares_w.replace("Y", "Z")], times=[42, 33, 25])
    words = ["a", "b", "c", "d"]
    by_rules = parser.parse(words, decoder="max-rule-product")
    assert str(by_rules.tree) == likeliest
    assert by_rules.log_score == pytest.approx(3 * math.log(0.42), abs=0.02)
    usual = parser.parse(words, kbest=3)
    assert str(usual.tree) == shares_w
    assert usual == parser.parse(words, kbest=3, decoder="max-constituents")
    # S and four tags are sure; W and Y, then V and U, then W and Z
    expected = [0.08 - 0.17, -0.08 - 0.08, 0.08 - 0.25]
    rules = [0.58 * 0.33**2, 0.42**3, 0.58 * 0.25**2]
    assert [one.log_score for one in usual.kbest] == pytest.approx(
        [5 / 2 + gain + 0.01 * math.log(p) for gain, p in zip(expected, rules, strict=True)],
        abs=0.01,
    )


@pytest.mark.parametrize("often", [30, 70])
def test_the_second_of_two_like_labels_must_be_right_itself(often):
    single = "(S (NP (N x) (M y)) (V v))"
    double = "(S (NP (NP (N x) (M y))) (V v))"
    parser = _parser(trees=[single, double], times=[100 - often, often])
    answer = parser.parse(["x", "y", "v"])
    assert str(answer.tree) == (double if often > 50 else single)
    # S, NP and three tags are sure
    second = often / 100 - 0.5 if often > 50 else 0.0
    assert answer.log_score == pytest.approx(5 / 2 + second + 0.01 * 2 * math.log(0.7), abs=0.01)


def test_a_tree_of_one_word_and_constraints():
    from eigentext.constituency.chart.constraints import Constraints

    parser = _parser(trees=["(S (A a))", "(T (B a))"], times=[70, 30])
    assert str(parser.parse(["a"]).tree) == "(S (A a))"
    told = parser.parse(["a"], constraints=Constraints(tags={0: "B"}))
    assert str(told.tree) == "(T (B a))"


def test_the_usual_decoder_is_kept_open_and_another_is_kept():
    parser = _parser(trees=["(S (A a) (B b))"], times=[3])
    assert LPCFG.from_bytes(parser.to_bytes()).decoder is None
    parser.decoder = "max-rule-product"
    back = LPCFG.from_bytes(parser.to_bytes())
    assert back.decoder == "max-rule-product"
    answer = back.parse(["a", "b"])
    assert answer.log_score == pytest.approx(0.0, abs=1e-3)
