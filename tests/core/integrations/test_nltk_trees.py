"""NLTK's trees in and out."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.constituency import LPCFG
from eigentext.constituency.answer import Parse
from eigentext.errors import MissingExtraError, SettingsError
from eigentext.integrations.nltk_trees import from_nltk, to_nltk
from eigentext.language.trees.constituent import Tree

nltk = pytest.importorskip("nltk")

leaves = st.tuples(st.sampled_from(["NN", "DT", ""]), st.sampled_from(["dog", "(", "a b"]))
nested = st.recursive(
    leaves,
    lambda below: (
        st.tuples(st.sampled_from(["S", "NP", ""]), below, below)
        | st.tuples(st.sampled_from(["S", "VP"]), below)
    ),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(nested)
def test_round_trip(found):
    tree = Tree.from_nested(found)
    other = to_nltk(tree)
    assert other.leaves() == list(tree.words)
    assert from_nltk(other) == tree


def test_same_brackets():
    text = "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"
    assert from_nltk(nltk.Tree.fromstring(text)) == Tree.from_brackets(text)
    shown = to_nltk(Tree.from_brackets(text)).pformat(margin=10_000)
    assert shown == text


def test_a_parse_goes_out_by_its_tree():
    tree = Tree.from_brackets("(S (UH Oh))")
    assert to_nltk(Parse(tree, 0.0)) == nltk.Tree.fromstring("(S (UH Oh))")


def test_deep_trees():
    tree = nltk.Tree("A", ["x"])
    for _ in range(5000):
        tree = nltk.Tree("B", [tree])
    assert from_nltk(tree).height == 5001
    assert to_nltk(from_nltk(tree)).label() == "B"


def test_fit_says_where_to_go():
    tree = nltk.Tree.fromstring("(S (NN dogs) (VB bark))")
    with pytest.raises(SettingsError, match=r"integrations\.nltk_trees"):
        LPCFG().fit([tree])
    parser = LPCFG().fit(map(from_nltk, [tree]))
    assert to_nltk(parser.parse(["dogs", "bark"])) == tree


def test_other_things_are_refused():
    with pytest.raises(TypeError):
        from_nltk("(S x)")
    with pytest.raises(TypeError, match="int in it"):
        from_nltk(nltk.Tree("S", [3]))
    with pytest.raises(ValueError, match="no children"):
        from_nltk(nltk.Tree("S", []))


def test_without_nltk(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk", None)
    with pytest.raises(MissingExtraError, match="nltk"):
        to_nltk(Tree.from_brackets("(S x)"))
