"""What is asked of models of words, against plain counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.drawing.words_tree import tree_of_paths
from eigentext.errors import SettingsError
from eigentext.language.formats.brown_paths import PathEntry
from eigentext.words import ClassBigram
from eigentext.words.browsing import WordBrowser, compared, moved_words
from eigentext.words.embeddings.vectors import WordSpace

TEXT = [s.split() for s in ["a cat ran", "a dog ran", "the cat sat", "the dog sat"]] * 3


def space(seed: int, words: str = "abcdefghij") -> WordBrowser:
    vectors = np.random.default_rng(seed).standard_normal((len(words), 4))
    return WordBrowser(words, space=WordSpace(words, vectors))


@st.composite
def trees(draw: st.DrawFn) -> list[PathEntry]:
    """Words in the leaves of a random binary tree."""
    leaves = [""]
    for _ in range(draw(st.integers(0, 12))):
        cut = leaves.pop(draw(st.integers(0, len(leaves) - 1)))
        leaves += [cut + "0", cut + "1"]
    counts = draw(st.lists(st.integers(0, 9), min_size=len(leaves), max_size=3 * len(leaves)))
    return [PathEntry(leaves[k % len(leaves)], f"w{k}", n) for k, n in enumerate(counts)]


@given(trees(), st.text("01", max_size=8))
def test_prefixes_against_counting(entries: list[PathEntry], prefix: str) -> None:
    tree = tree_of_paths(entries)
    below = [entry for entry in entries if entry.bits.startswith(prefix)]
    at = tree.node_at(prefix)
    if not below:
        assert at is None
        return
    assert at is not None
    node = tree.nodes[at]
    paths = {entry.bits for entry in below}
    assert tree.sizes(node) == (len(paths), len(below), sum(entry.count or 0 for entry in below))
    assert tree.prefix(node).startswith(prefix)
    assert all(path.startswith(tree.prefix(node)) for path in paths)
    children = tree.children.get(at, [])
    assert (len(paths) == 1) == (not children)
    if children:
        parts = [tree.sizes(tree.nodes[child]) for child in children]
        assert tuple(map(sum, zip(*parts, strict=True))) == tree.sizes(node)


def test_a_space_says_which_words_are_missing() -> None:
    words = [f"w{k}" for k in range(50)]
    vectors = np.random.default_rng(0).standard_normal((50, 6))
    assert WordSpace(words, vectors).missing("w1:x::x") == ["x"]


@given(st.integers(0, 500), st.integers(0, 500), st.integers(1, 12))
def test_moved_words_against_the_definition(first: int, second: int, k: int) -> None:
    one, other = space(first), space(second, "jihgfedcbaxyz")
    moved, mean, n = moved_words(one, other, k=k, top=100)
    assert n == len(moved) == 10
    shared = set("abcdefghij")
    for each in moved:
        # all neighbours, nearest first, without those that one model alone knows
        near = [
            [w for w, _ in model.neighbours(each.word, 99) if w in shared][:k]
            for model in (one, other)
        ]
        both = set(near[0]) & set(near[1])
        assert each.overlap == len(both) / min(k, 9)
        assert each.first == [w for w in near[0] if w not in both]
        assert each.second == [w for w in near[1] if w not in both]
    overlaps = [each.overlap for each in moved]
    assert overlaps == sorted(overlaps)
    assert mean == pytest.approx(sum(overlaps) / 10)
    if first == second and one.words == other.words:
        assert mean == 1.0


def test_a_model_beside_itself_has_not_moved() -> None:
    one = space(3)
    moved, mean, _ = moved_words(one, one)
    assert mean == 1.0
    assert moved[0].first == moved[0].second == []
    same = compared(one, one, "c", 4)
    assert (same.overlap, same.both, same.missing) == (1.0, [w for w, _ in same.first], [])


def test_words_that_one_model_lacks() -> None:
    one, other = space(1), space(2, "abcxyz")
    found = compared(one, other, "a", 9)
    assert set(found.missing) == set("defghij") | set("xyz")
    with pytest.raises(SettingsError, match="'j' is not in the vocabulary"):
        compared(one, other, "j")
    with pytest.raises(SettingsError, match="no word in common"):
        moved_words(one, space(1, "XYZ"))


def test_classes_of_a_language_model_are_a_tree() -> None:
    clusters = {"a": "00", "the": "00", "cat": "01", "dog": "01", "ran": "1"}
    browser = WordBrowser.of(ClassBigram(clusters).fit(TEXT))
    found = browser.look("cat")
    assert (found.path, found.count, found.n_members) == ("01", 6, 2)
    assert browser.neighbours("cat") == [("dog", None)]
    with pytest.raises(SettingsError, match="no bits"):
        WordBrowser.of(ClassBigram({"a": "x", "the": "y"}).fit(TEXT))
    with pytest.raises(SettingsError, match="no model of words"):
        WordBrowser.of(object())


def test_find() -> None:
    browser = WordBrowser(["The", "other", "the", "then", "bathe", "ether"])
    assert browser.find("the") == ["the", "The", "then", "other", "bathe", "ether"]
    assert browser.find("the", 2) == ["the", "The"]
    assert browser.find("x") == []


def test_overlap_is_of_the_longer_list() -> None:
    tree = tree_of_paths([PathEntry("0", "a", 3), PathEntry("0", "b", 2), PathEntry("1", "c", 1)])
    groups = WordBrowser("abc", counts=[3, 2, 1], tree=tree)
    near = WordBrowser("abc", space=WordSpace("abc", np.eye(3)))
    assert [word for word, _ in groups.neighbours("a")] == ["b"]
    assert compared(groups, near, "a").overlap == compared(near, groups, "a").overlap == 0.5
    assert compared(groups, groups, "c").overlap == 1.0  # alone in its cluster in both
