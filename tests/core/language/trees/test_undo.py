"""Unary collapse and binarisation: undo(do(tree)) == tree for arbitrary trees and settings."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eigentext.errors import SettingsError
from eigentext.language.formats.ptb import read_trees
from eigentext.language.trees.binarise import (
    binarise,
    collapse,
    expand,
    is_intermediate,
    split_chain,
    unbinarise,
)
from eigentext.language.trees.constituent import Tree
from eigentext.language.trees.heads import HeadRules
from oracle.binarised import binarised_heads

if TYPE_CHECKING:
    from pathlib import Path

# every character with a meaning in composite labels, and whole labels that look made up by us
ODD = st.text(alphabet="aN>\\@^|<-*\n", max_size=4) | st.sampled_from(["@<S|NP", "NP^S", "S>VP"])
PTB = st.sampled_from(
    [
        *["S", "NP", "VP", "PP", "ADJP", "SBAR", "QP", "UCP", "X"],
        *["NN", "NNS", "DT", "VBZ", "IN", "CC", "CD", "JJ", ",", ".", "-LRB-"],
    ]
)


def nested(labels: st.SearchStrategy[str], *, mixed: bool) -> st.SearchStrategy[Any]:
    words = st.just("w") | ODD
    return st.recursive(
        st.tuples(labels, words),
        lambda inner: st.builds(
            lambda label, below: (label, *below),
            labels,
            st.lists(inner | words if mixed else inner, min_size=1, max_size=6),
        ),
        max_leaves=20,
    )


TREES = nested(ODD | PTB, mixed=True).map(Tree.from_nested)
TREEBANK = nested(PTB, mixed=False).map(Tree.from_nested)
SETTINGS = st.fixed_dictionaries(
    {
        "direction": st.sampled_from(["head", "right", "left"]),
        "h": st.sampled_from([0, 1, 2, 3, None]),
        "v": st.integers(1, 3),
        "name_head": st.booleans(),
        "heads": st.sampled_from(
            [None, HeadRules.english(), HeadRules.neutral("right"), HeadRules({})]
        ),
    }
)


def sound(tree: Tree) -> Tree:
    """The same tree, its arrays checked."""
    return Tree(tree.labels, tree.sizes)


def n_children(tree: Tree) -> list[int]:
    return [len(tree.children(node)) for node in range(tree.n_nodes) if tree.sizes[node] > 1]


# -- unary chains ---------------------------------------------------------------------------------


@given(TREES, st.booleans(), st.booleans())
@example(Tree.from_nested(("\\", ("", (">", "w")))), False, True)
def test_collapse_is_undone(tree: Tree, keep_root: bool, preterminals: bool) -> None:
    collapsed = sound(collapse(tree, keep_root=keep_root, preterminals=preterminals))
    assert expand(collapsed) == tree
    assert collapsed.words == tree.words
    for node, size in enumerate(collapsed.sizes.tolist()):
        below = collapsed.children(node)
        if len(below) == 1 and size > 2:  # what is still unary was to be left
            assert (node == 0 and keep_root) or (size == 3 and not preterminals)
    if keep_root:
        assert split_chain(collapsed.labels[0]) == (tree.labels[0],)


@given(TREES)
def test_expand_takes_any_tree(tree: Tree) -> None:
    expanded = sound(expand(tree))
    assert expanded.words == tree.words


@given(st.lists(ODD, min_size=1, max_size=5))
def test_a_chain_is_split_where_it_was_joined(labels: list[str]) -> None:
    chain: Any = "w"
    for label in reversed(labels):
        chain = (label, chain)
    collapsed = collapse(Tree.from_nested(chain))
    assert collapsed.n_nodes == 2
    assert split_chain(collapsed.labels[0]) == tuple(labels)


def test_common_labels_stay_readable() -> None:
    tree = Tree.from_brackets("(TOP (S (VP (VB Go) (NP (ONE+Q home)) (. .))))")
    assert str(collapse(tree)) == "(TOP>S>VP (VB Go) (NP>ONE+Q home) (. .))"
    assert str(collapse(tree, keep_root=True, preterminals=False)) == (
        "(TOP (S>VP (VB Go) (NP (ONE+Q home)) (. .)))"
    )


# -- binarisation ---------------------------------------------------------------------------------


@given(TREES, SETTINGS)
def test_binarise_is_undone(tree: Tree, settings: dict[str, Any]) -> None:
    binary = sound(binarise(tree, **settings))
    assert unbinarise(binary) == tree
    assert binary.words == tree.words
    assert max(n_children(binary)) <= 2


@given(TREES, SETTINGS)
def test_collapsed_first_all_is_binary_and_all_is_undone(
    tree: Tree, settings: dict[str, Any]
) -> None:
    binary = sound(binarise(collapse(tree), **settings))
    assert expand(unbinarise(binary)) == tree
    for node, size in enumerate(binary.sizes.tolist()):
        assert size <= 2 or len(binary.children(node)) == 2


@given(TREES, st.integers(0, 2**32 - 1))
def test_unbinarise_takes_any_tree(tree: Tree, seed: int) -> None:
    """Intermediate labels anywhere: over words, at the root, under foreign parents."""
    marks = ["@", "@<", "@>NP|X", "@<S>VP^S|NP", "@\\", "@|", "@>a\\|b|c"]
    labels = [
        label if size == 1 or seed * (at + 7) % 3 else marks[seed * (at + 1) % len(marks)]
        for at, (label, size) in enumerate(zip(tree.labels, tree.sizes.tolist(), strict=True))
    ]
    plain = sound(unbinarise(Tree(tuple(labels), tree.sizes)))
    assert plain.words == tree.words
    expected = sum(
        not (at and size > 2 and is_intermediate(labels[at]))
        for at, size in enumerate(tree.sizes.tolist())
    )
    assert plain.n_nodes == expected
    sound(expand(plain))
    binarised_heads(Tree(tuple(labels), tree.sizes))


@given(TREES.filter(lambda tree: len(tree.root.children) > 2), SETTINGS)
def test_an_intermediate_root_becomes_its_constituent(
    tree: Tree, settings: dict[str, Any]
) -> None:
    binary = binarise(tree, **settings)
    parts = [child for child in binary.root.children if is_intermediate(child.label)]
    grown = [part for part in parts if not part.is_leaf and not part.is_preterminal]
    assert len(grown) == 1
    plain = unbinarise(grown[0].subtree())
    assert split_chain(plain.labels[0]) == split_chain(tree.labels[0])[-1:]
    assert len(plain.root.children) == len(tree.root.children) - 1


WIDE = "(X (L2 a) (L1 b) (H c) (R1 d) (R2 e))"
BY_H = HeadRules({"X": "< H"})


@pytest.mark.parametrize(
    ("direction", "h", "expected"),
    [
        ("head", 0, "(X (L2 a) (@<X (L1 b) (@>X (@>X (H c) (R1 d)) (R2 e))))"),
        ("head", 1, "(X (L2 a) (@<X|L1 (L1 b) (@>X|R2 (@>X|R1 (H c) (R1 d)) (R2 e))))"),
        ("head", 2, "(X (L2 a) (@<X|L1|R2 (L1 b) (@>X|R2|R1 (@>X|R1|H (H c) (R1 d)) (R2 e))))"),
        (
            "head",
            None,
            "(X (L2 a) (@<X|L1|R2|R1|H (L1 b) (@>X|R2|R1|H (@>X|R1|H (H c) (R1 d)) (R2 e))))",
        ),
        ("right", 1, "(X (L2 a) (@<X|L1 (L1 b) (@<X|H (H c) (@<X|R1 (R1 d) (R2 e)))))"),
        ("left", 1, "(X (@>X|R1 (@>X|H (@>X|L1 (L2 a) (L1 b)) (H c)) (R1 d)) (R2 e))"),
    ],
)
def test_shapes_and_labels(
    direction: Literal["head", "right", "left"], h: int | None, expected: str
) -> None:
    binary = binarise(Tree.from_brackets(WIDE), direction=direction, h=h, heads=BY_H)
    assert str(binary) == expected


def test_parents_in_labels() -> None:
    tree = Tree.from_brackets("(S (NP (DT a) (JJ b) (NN c)) (VP (V d) (NP (NN e))))")
    assert str(binarise(tree, v=2)) == (
        "(S (NP^S (DT a) (@<NP^S|JJ (JJ b) (NN c))) (VP^S (V d) (NP^VP (NN e))))"
    )
    assert "(NP^VP^S (NN e))" in str(binarise(tree, v=3))
    named = binarise(tree, name_head=True)
    assert "(@<NP|NN|JJ (JJ b) (NN c))" in str(named)


def test_composite_labels_are_seen_through() -> None:
    tree = Tree.from_brackets("(TOP (S (VP (VB Go) (NP (NN home)) (. .))))")
    assert str(binarise(collapse(tree))) == ("(TOP>S>VP (@>VP|NP (VB Go) (NP>NN home)) (. .))")


@given(TREEBANK, st.sampled_from([HeadRules.english(), HeadRules.neutral()]))
def test_heads_survive_collapse_and_binarisation(tree: Tree, rules: HeadRules) -> None:
    before = rules.lexical_heads(tree).tolist()
    binary = binarise(tree, heads=rules)
    heads = zip(binary.labels, binarised_heads(binary, rules).tolist(), strict=True)
    sizes = binary.sizes.tolist()
    assert [
        head
        for (label, head), size in zip(heads, sizes, strict=True)
        if size == 1 or not is_intermediate(label)
    ] == before
    both = binarise(collapse(tree), heads=rules)
    found = binarised_heads(both, rules).tolist()
    assert found[0] == before[0]
    for node in range(both.n_nodes):
        start, end = both.spans()[node].tolist()
        assert start <= found[node] < end


@pytest.mark.parametrize(
    "settings", [{"direction": "up"}, {"h": -1}, {"h": 1.5}, {"v": 0}, {"h": float("inf")}]
)
def test_settings_that_make_no_sense(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="must be"):
        binarise(Tree.from_brackets(WIDE), **settings)


# -- size -----------------------------------------------------------------------------------------


def test_deep_chain() -> None:
    depth = 100_000
    tree = Tree.from_brackets("(X " * depth + "w" + ")" * depth)
    assert collapse(tree).n_nodes == 2
    assert expand(collapse(tree)) == tree
    assert unbinarise(binarise(tree, v=2)) == tree


@pytest.mark.parametrize(
    ("direction", "depth"), [("head", 100_000), ("right", 10_000), ("left", 10_000)]
)
def test_deep_ternary_tree(direction: Literal["head", "right", "left"], depth: int) -> None:
    tree = Tree.from_brackets("(X (A a) " * depth + "(B b)" + " (C c))" * depth)
    binary = binarise(collapse(tree), direction=direction)
    assert binary.n_nodes == tree.n_nodes + depth
    assert expand(unbinarise(binary)) == tree
    assert len(binarised_heads(binary)) == binary.n_nodes


@pytest.mark.parametrize("direction", ["head", "right", "left"])
def test_wide_tree(direction: Literal["head", "right", "left"]) -> None:
    width = 20_000
    tree = Tree.from_brackets("(NP" + " (DT the) (NN x)" * width + ")")
    binary = sound(binarise(tree, direction=direction))
    assert binary.height > width
    assert unbinarise(binary) == tree


# -- real trees -----------------------------------------------------------------------------------


@pytest.mark.requires("data")
@pytest.mark.parametrize("treebank", ["craft", "gum", "icepahc"])
def test_treebanks_round_trip(treebank: str, data: Path) -> None:
    rules = HeadRules.neutral() if treebank == "icepahc" else HeadRules.english()
    n_trees = 0
    trees = read_trees(str(data / "constituency" / treebank / "dev.mrg"))
    for tree in islice(trees, 2500):
        binary = binarise(collapse(tree), heads=rules)
        assert expand(unbinarise(binary)) == tree
        n_trees += 1
    assert n_trees > 1000
