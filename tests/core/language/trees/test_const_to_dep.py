"""Dependencies out of constituents: always one projective tree."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.language.formats.ptb import read_trees
from eigentext.language.trees.constituent import Tree
from eigentext.language.trees.heads import HeadRules, to_dependencies

if TYPE_CHECKING:
    from pathlib import Path

LABELS = st.sampled_from(["S", "NP", "VP", "PP", "NN", "VBZ", "IN", "CC", ",", "X", "", "N", "Q"])
NESTED = st.recursive(
    st.tuples(LABELS, st.just("w")),
    lambda inner: st.builds(
        lambda label, below: (label, *below),
        LABELS,
        st.lists(inner | st.just("bare"), min_size=1, max_size=5),
    ),
    max_leaves=25,
)


@given(NESTED, st.sampled_from([None, HeadRules.neutral("left"), HeadRules.neutral("right")]))
def test_one_root_projective_same_words(nested: Any, rules: HeadRules | None) -> None:
    tree = Tree.from_nested(nested)
    dependencies = to_dependencies(tree, rules)
    assert dependencies.single_root
    assert dependencies.is_projective()
    assert dependencies.forms == tree.words
    assert dependencies.tags == tree.tags
    assert dependencies.relations is not None
    for head, _, relation in dependencies.arcs:
        assert (head == 0) == (relation == "root")
    # each constituent is one piece: all but one of its words have their heads inside
    for node, (start, end) in enumerate(tree.spans().tolist()):
        heads = dependencies.heads[start:end] - 1
        assert sum(not start <= head < end for head in heads.tolist()) == 1, node


def test_an_example() -> None:
    tree = Tree.from_brackets(
        "(TOP (S (NP-SBJ (DT the) (NN dog)) (VP (VBZ eats) (NP (NNS cats) (CC and) (NNS mice)))"
        " (. .)))"
    )
    assert to_dependencies(tree).arcs == [
        (2, 1, "DT<NP-SBJ"),
        (3, 2, "NP-SBJ<S"),
        (0, 3, "root"),
        (3, 4, "NP<VP"),
        (4, 5, "CC<NP"),
        (4, 6, "NNS<NP"),
        (3, 7, ".<S"),
    ]


def test_a_deep_tree() -> None:
    depth = 100_000
    tree = Tree.from_brackets("(VP (VB a) " * depth + "(NN b)" + ")" * depth)
    dependencies = to_dependencies(tree)
    assert dependencies.roots == (1,)
    assert dependencies.is_projective()


@pytest.mark.requires("data")
@pytest.mark.parametrize("treebank", ["craft", "gum", "icepahc"])
def test_treebanks(treebank: str, data: Path) -> None:
    rules = HeadRules.neutral() if treebank == "icepahc" else HeadRules.english()
    for tree in islice(read_trees(str(data / "constituency" / treebank / "dev.mrg")), 500):
        dependencies = to_dependencies(tree, rules)
        assert dependencies.single_root
        assert dependencies.is_projective()
