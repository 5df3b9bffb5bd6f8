"""The flat tree against the same tree as nested tuples, walked by plain recursion."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.language.trees.constituent import Node, Tree

NAMES = st.text(alphabet="abNP-+.>é", min_size=1, max_size=3)
NESTED = st.recursive(
    st.tuples(NAMES, NAMES),
    lambda inner: st.builds(
        lambda label, below: (label, *below),
        NAMES | st.just(""),
        st.lists(inner | NAMES, min_size=1, max_size=4),
    ),
    max_leaves=15,
)


def walk(nested: Any, start: int = 0, depth: int = 0, parent: int = -1) -> list[dict[str, Any]]:
    """Each node in preorder with all that is to be known of it."""
    if isinstance(nested, str):
        here = {"label": nested, "size": 1, "span": (start, start + 1)}
        return [{**here, "depth": depth, "up": None, "children": 0}]
    below: list[dict[str, Any]] = []
    at = start
    for child in nested[1:]:
        found = walk(child, at, depth + 1)
        found[0]["up"] = len(below) + 1  # distance back to the parent in preorder
        at = found[0]["span"][1]
        below += found
    here = {"label": nested[0], "size": len(below) + 1, "span": (start, at)}
    return [{**here, "depth": depth, "up": None, "children": len(nested) - 1}, *below]


@given(NESTED)
def test_arrays_and_views_match_the_nested_tree(nested: Any) -> None:
    tree, expected = Tree.from_nested(nested), walk(nested)
    parents = [-1 if node["up"] is None else i - node["up"] for i, node in enumerate(expected)]
    leaves = [i for i, node in enumerate(expected) if node["size"] == 1]
    assert tree.labels == tuple(node["label"] for node in expected)
    assert tree.sizes.tolist() == [node["size"] for node in expected]
    assert tree.spans().tolist() == [list(node["span"]) for node in expected]
    assert tree.depths.tolist() == [node["depth"] for node in expected]
    assert tree.height == max(node["depth"] for node in expected)
    assert tree.parents.tolist() == parents
    assert tree.words == tuple(expected[i]["label"] for i in leaves)
    assert tree.tags == tuple(expected[parents[i]]["label"] for i in leaves)
    assert tree.constituents() == [
        (node["label"], *node["span"]) for node in expected if node["size"] > 2
    ]
    assert np.flatnonzero(tree.is_preterminal).tolist() == [
        i for i, n in enumerate(expected) if n["size"] == 2
    ]
    assert (tree.n_nodes, len(tree)) == (len(expected), len(leaves))
    for i, node in enumerate(expected):
        view = Node(tree, i)
        assert (view.label, view.span) == (node["label"], node["span"])
        assert (view.is_leaf, view.is_preterminal) == (node["size"] == 1, node["size"] == 2)
        assert len(view.children) == node["children"]
        assert all(parents[child.index] == i for child in view.children)
        assert view.words == tree.words[slice(*view.span)]


@given(NESTED)
def test_brackets_round_trip(nested: Any) -> None:
    tree = Tree.from_nested(nested)
    assert Tree.from_brackets(str(tree)) == tree
    spread = str(tree).replace("(", " \n(").replace(")", "\t)\r\n").replace(" ", "\f\v ")
    assert Tree.from_brackets(spread) == tree


@given(NESTED, NESTED)
def test_equal_trees_are_the_same_brackets(one: Any, other: Any) -> None:
    first, second = Tree.from_nested(one), Tree.from_nested(other)
    assert (first == second) == (str(first) == str(second))
    again = Tree(first.labels, first.sizes)
    assert again == first
    assert hash(again) == hash(first)


@given(NESTED)
def test_same_shape_other_strings(nested: Any) -> None:
    tree = Tree.from_nested(nested)
    shouted = tree.relabel(lambda label: label + "!")
    assert shouted.words == tree.words
    assert shouted.tags == tuple(tag + "!" for tag in tree.tags)
    assert shouted.relabel(lambda label: label[:-1]) == tree
    assert tree.with_words(["w"] * len(tree)).with_words(tree.words) == tree


@given(NESTED)
def test_subtrees_and_copies(nested: Any) -> None:
    tree = Tree.from_nested(nested)
    assert tree.root.subtree() == tree
    for child in tree.root.children:
        if not child.is_leaf:
            assert str(child.subtree()) in str(tree)
    assert pickle.loads(pickle.dumps(tree)) == tree


def test_a_very_deep_tree() -> None:
    depth = 100_000
    text = "(X " * depth + "w" + ")" * depth
    tree = Tree.from_brackets(text)
    assert tree.height == depth
    assert str(tree) == text
    assert tree.parents[-1] == depth - 1
    assert (tree.words, tree.tags) == (("w",), ("X",))
    nested: Any = "w"
    for _ in range(depth):
        nested = ("X", nested)
    assert Tree.from_nested(nested) == tree
    assert len(repr(tree)) < 200
    while isinstance(nested, tuple):  # let go of it level by level
        nested = nested[1]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "unbalanced"),
        ("(S (NP x)", "1 not closed"),
        ("(S x))", "outside"),
        ("word", "outside"),
        ("(S x) (S y)", "outside"),
        ("(S)", "no children"),
        ("()", "no children"),
        ("(S (NP ) x)", "'NP' has no children"),
    ],
)
def test_brackets_that_are_no_tree(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Tree.from_brackets(text)


@pytest.mark.parametrize(
    "sizes", [[], [1], [2], [3, 2], [3, 0, 1], [3, 3, 1], [4, 2, 2, 1], [2, 1, 1]]
)
def test_sizes_that_are_no_tree(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match=r"root must be|must be at least 1"):
        Tree(tuple("abcd"[: len(sizes)]), np.array(sizes, dtype=np.int32))


def test_sizes_of_the_wrong_kind() -> None:
    with pytest.raises(ValueError, match="2 integers"):
        Tree(("a", "b"), np.array([2.0, 1.0]))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="2 integers"):
        Tree(("a", "b"), np.array([2]))


@pytest.mark.parametrize("nested", [("S",), (), ("S", 3), (("S", "x"), "y"), ("S", ("NP",))])
def test_nested_that_is_no_tree(nested: Any) -> None:
    with pytest.raises(ValueError, match="expected"):
        Tree.from_nested(nested)


def test_a_str_is_no_list() -> None:
    with pytest.raises(TypeError, match="from_brackets"):
        Tree.from_nested("(S x)")
    with pytest.raises(TypeError, match="not of one string"):
        Tree("ab", np.array([2, 1]))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not one str"):
        Tree.from_brackets("(A b)").with_words("b")
    with pytest.raises(ValueError, match="1 words, 2"):
        Tree.from_brackets("(A b)").with_words(["b", "c"])


def test_a_tree_cannot_be_changed() -> None:
    tree = Tree.from_brackets("(A b)")
    with pytest.raises(AttributeError):
        tree.labels = ()  # type: ignore[misc]
    for array in (tree.sizes, tree.parents, tree.depths, tree.is_leaf):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@given(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=5), st.text(max_size=4))
def test_what_is_written_can_be_read_whatever_the_tokens(tokens, label):
    tree = Tree.from_nested((label, *(("(", token) for token in tokens)))
    read = Tree.from_brackets(str(tree))
    assert read.sizes.tolist() == tree.sizes.tolist()
    assert str(read) == str(tree)
    escaped = {"(": "-LRB-", ")": "-RRB-", **dict.fromkeys(" \t\n\r\f\v", "_")}
    expected = ["".join(escaped.get(mark, mark) for mark in token) for token in tokens]
    assert list(read.words) == expected
    assert set(read.tags) == {"-LRB-"}
