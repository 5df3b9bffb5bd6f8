"""Head rules: facts of English, the neutral fallback, rules of one's own, and head words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.errors import SettingsError
from eigentext.language.trees.constituent import Tree
from eigentext.language.trees.heads import ENGLISH, HeadRules

ENGLISH_RULES = HeadRules.english()
LABELS = st.sampled_from(
    [
        *sorted(set(ENGLISH) - {"*"}),
        "NN",
        "NNS",
        "DT",
        "VBZ",
        "CC",
        ",",
        ".",
        "-LRB-",
        "Q",
        "",
        "$",
    ]
)


@pytest.mark.parametrize(
    ("label", "children", "head"),
    [
        ("S", "NP-SBJ VP .", 1),
        ("S", "PP , NP VP .", 3),
        ("VP", "MD RB VP", 0),
        ("VP", "VBD NP PP", 0),
        ("VP", "ADVP VBZ NP", 1),
        ("NP", "DT JJ NN", 2),
        ("NP", "DT NN NN", 2),
        ("NP", "NP PP", 0),
        ("NP", "NP , SBAR ,", 0),
        ("NP", "NP CC NP", 0),
        ("NP", "NN , CC NN", 0),
        ("NP", "NNP CC NNP NNS", 3),
        ("NP", "NP POS", 1),
        ("NP", "QP NNS", 1),
        ("NP", "DT JJ", 1),
        ("NML", "NN NN", 1),
        ("PP", "IN NP", 0),
        ("PP", "ADVP IN NP", 1),
        ("SBAR", "WHNP S", 0),
        ("SBARQ", "WHNP SQ .", 1),
        ("SQ", "MD NP VP .", 0),
        ("SINV", "ADVP VBZ NP .", 1),
        ("ADJP", "RB JJ PP", 1),
        ("ADVP", "RB RB", 1),
        ("WHNP", "WDT NN", 0),
        ("WHPP", "IN WHNP", 0),
        ("PRN", "-LRB- NP -RRB-", 1),
        ("UCP", "NP CC ADJP", 0),
        ("INTJ", "UH ,", 0),
        ("FRAG", "NP .", 0),
        ("X", ", .", 1),
        ("TOP", "S .", 0),
        ("HEADING", "LST NP", 1),
        ("CAPTION", "NP :", 0),
        ("MADE-UP", "DT ANY .", 0),
        ("FOO", ", BAR", 1),
    ],
)
def test_english(label: str, children: str, head: int) -> None:
    assert ENGLISH_RULES.head_child(label, children.split()) == head


@pytest.mark.parametrize(
    ("direction", "label", "children", "head"),
    [
        ("left", "NP", "D N PP", 1),
        ("left", "NP", "D NP N", 2),
        ("left", "NP", "ADJP NP CONJP", 1),
        ("left", "NP", "D NPR", 1),
        ("left", "IP", "CONJ IP .", 1),
        ("left", "IP", "NP VBDI", 0),
        ("right", "IP", "NP VBDI .", 1),
        ("left", "PP", "RP P NP", 1),
        ("left", "", ", X", 1),
        ("right", "Z", ", ,", 1),
        ("left", "P", "A B", 0),
    ],
)
def test_neutral(direction: Any, label: str, children: str, head: int) -> None:
    assert HeadRules.neutral(direction).head_child(label, children.split()) == head


@given(LABELS, st.lists(LABELS, min_size=1, max_size=7))
def test_there_is_always_a_head_and_it_is_no_punctuation_in_company(
    label: str, children: list[str]
) -> None:
    for rules in (ENGLISH_RULES, HeadRules.neutral("left"), HeadRules.neutral("right")):
        head = rules.head_child(label, children)
        assert 0 <= head < len(children)
        assert rules.head_child(label, tuple(children)) == head  # from memory
        rest = [child for child in children if child not in (",", ".", "-LRB-", "")]
        if rest:
            assert children[head] in rest


def test_rules_of_ones_own() -> None:
    rules = HeadRules({"X": "> {A B} < C D", "*": ">"}, coordinators=["and"])
    assert rules.head_child("X", ["A", "B", "E"]) == 1
    assert rules.head_child("X", ["E", "D", "C", "C"]) == 2
    assert rules.head_child("X", ["E", "F"]) == 0
    assert rules.head_child("Y", ["E", "F"]) == 1
    assert rules.head_child("X", ["E", "A", "and", "B"]) == 1
    assert rules.head_child("X-FN=1", ["B-2", "A-3"]) == 1


@pytest.mark.parametrize("rule", ["", "A B", "> {A", "> A }", "{A} <", "> {}", "< {A {B}}"])
def test_rules_that_cannot_be_read(rule: str) -> None:
    with pytest.raises(SettingsError, match="'X'"):
        HeadRules({"X": rule})


def test_wrong_types_are_told() -> None:
    with pytest.raises(TypeError, match="not one str"):
        ENGLISH_RULES.head_child("NP", "NN")
    with pytest.raises(TypeError, match="not one str"):
        HeadRules({}, coordinators="CC")
    with pytest.raises(ValueError, match="no children"):
        ENGLISH_RULES.head_child("NP", [])
    with pytest.raises(SettingsError, match="direction"):
        HeadRules.neutral("up")  # type: ignore[arg-type]


def heads_by_recursion(tree: Tree, node: int, rules: HeadRules) -> int:
    below = tree.children(node)
    if not below:
        return int(tree.spans()[node, 0])
    chosen = rules.head_child(tree.labels[node], [tree.labels[child] for child in below])
    return heads_by_recursion(tree, below[chosen], rules)


NESTED = st.recursive(
    st.tuples(LABELS, st.just("w")),
    lambda inner: st.builds(
        lambda label, below: (label, *below), LABELS, st.lists(inner, min_size=1, max_size=4)
    ),
    max_leaves=12,
)


@given(NESTED)
def test_head_words(nested: Any) -> None:
    tree = Tree.from_nested(nested)
    found = ENGLISH_RULES.lexical_heads(tree).tolist()
    assert found == [heads_by_recursion(tree, i, ENGLISH_RULES) for i in range(tree.n_nodes)]


def test_head_words_of_a_deep_tree() -> None:
    depth = 100_000
    tree = Tree.from_brackets("(VP (VB a) " * depth + "(NN b)" + ")" * depth)
    assert ENGLISH_RULES.lexical_heads(tree)[0] == 0
