"""Cleaning: what goes, what stays, and a plain recursive twin."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.language.trees.clean import base_label, clean, strip_traces, with_root
from eigentext.language.trees.constituent import Tree

LABELS = st.sampled_from(
    ["NP", "NP-SBJ-1", "S=2", "-NONE-", "-LRB-", "--", "-", "", "TOP", "ADVP|PRT", "X-", "A--B"]
)
NESTED = st.recursive(
    st.tuples(LABELS, st.sampled_from(["*T*-1", "w", "0"])),
    lambda inner: st.builds(
        lambda label, below: (label, *below), LABELS, st.lists(inner, min_size=1, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("label", "base"),
    [
        *[("NP-SBJ", "NP"), ("NP-SBJ-1", "NP"), ("NP=2", "NP"), ("NP-SBJ=2", "NP"), ("NP", "NP")],
        *[("-LRB-", "-LRB-"), ("-NONE-", "-NONE-"), ("-", "-"), ("--", "--"), ("=", "=")],
        *[("ADVP|PRT", "ADVP|PRT"), ("PRP$", "PRP$"), ("", ""), (":", ":"), ("NP-", "NP")],
        *[("ONE+Q-N", "ONE+Q"), ("``", "``"), ("A--B", "A"), ("NP-\nX", "NP")],
    ],
)
def test_base_label(label: str, base: str) -> None:
    assert base_label(label) == base


@given(st.text(alphabet="NP-=|1", max_size=6))
def test_base_label_once_is_enough(label: str) -> None:
    assert base_label(base_label(label)) == base_label(label)


def plain(nested: Any) -> Any:
    """Traces and phrases' function tags off, by recursion; None when nothing is left."""
    label, *below = nested
    kept = []
    for child in below:
        if not isinstance(child, str):
            child = plain(child)
        elif label == "-NONE-":
            child = None
        if child is not None:
            kept.append(child)
    if not kept:
        return None
    is_tag = len(kept) == 1 and isinstance(kept[0], str)
    return (label if is_tag else base_label(label), *kept)


@given(NESTED)
def test_clean_is_the_recursive_twin(nested: Any) -> None:
    expected = plain(nested)
    cleaned = clean(Tree.from_nested(nested))
    assert cleaned == (None if expected is None else Tree.from_nested(expected))


@given(NESTED)
def test_options_off_change_nothing(nested: Any) -> None:
    tree = Tree.from_nested(nested)
    assert clean(tree, traces=False, functions=False) == tree


@given(NESTED)
def test_one_root_and_the_same_words(nested: Any) -> None:
    tree = Tree.from_nested(nested)
    rooted = with_root(tree)
    assert rooted.labels[0] == "TOP"
    assert rooted.words == tree.words
    assert with_root(rooted) == rooted
    below = rooted.root.children
    assert len(below) > 1 or below[0].is_preterminal or below[0].label not in ("", "TOP")
    Tree(rooted.labels, rooted.sizes)  # the arrays are sound


@given(NESTED)
def test_no_label_over_itself_alone(nested: Any) -> None:
    merged = clean(Tree.from_nested(nested), traces=False, repeats=True)
    assert merged is not None
    for node, size in enumerate(merged.sizes.tolist()):
        if size > 2 and merged.sizes[node + 1] == size - 1:
            assert merged.labels[node] != merged.labels[node + 1]
    assert merged.words == Tree.from_nested(nested).words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("( (S (NP x)))", "(TOP (S (NP x)))"),
        ("(ROOT (S1 (S (NP x))))", "(TOP (S (NP x)))"),
        ("(S (NP x))", "(TOP (S (NP x)))"),
        ("( (S (NP x)) (. .))", "(TOP (S (NP x)) (. .))"),
        ("(NP x)", "(TOP (NP x))"),
        ("(S (TOP (NP x)))", "(TOP (S (TOP (NP x))))"),
    ],
)
def test_roots(text: str, expected: str) -> None:
    assert str(with_root(Tree.from_brackets(text))) == expected


def test_tags_keep_their_suffixes_unless_asked() -> None:
    tree = Tree.from_brackets("(IP-MAT (NP-SBJ (N-N hestur)) (VBDI kom))")
    assert str(clean(tree)) == "(IP (NP (N-N hestur)) (VBDI kom))"
    assert str(clean(tree, tag_functions=True)) == "(IP (NP (N hestur)) (VBDI kom))"
    partial = Tree.from_brackets("(X (NP-SBJ the (N-N dog)) barks)")
    assert str(clean(partial)) == "(X (NP the (N-N dog)) barks)"


def test_traces_of_other_treebanks_and_nothing_left() -> None:
    tree = Tree.from_brackets("(S (NP (TRACE t)) (VP (V x)))")
    assert str(strip_traces(tree, {"TRACE"})) == "(S (VP (V x)))"
    assert strip_traces(Tree.from_brackets("(S (NP (-NONE- *)))")) is None
    assert clean(Tree.from_brackets("(S (NP (-NONE- *)))"), root="TOP") is None


def test_deep_trees() -> None:
    depth = 100_000
    text = "(X-1 " * depth + "(-NONE- *) (Y w)" + ")" * depth
    cleaned = clean(Tree.from_brackets(text), repeats=True, root="TOP")
    assert str(cleaned) == "(TOP (X (Y w)))"
