"""The tree of clusters: its nodes against a list of all prefixes, its drawing as XML."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.base.files.opening import SkipLog
from eigentext.drawing.svg import printable
from eigentext.drawing.words_tree import ClusterTree, cluster_tree_svg, read_tree, tree_of_paths
from eigentext.errors import DataError
from eigentext.language.formats.brown_paths import PathEntry

SVG = "{http://www.w3.org/2000/svg}"
paths = st.text("01", max_size=9)
words = st.text(
    st.characters(codec="utf-8", exclude_characters="\t\n"), min_size=1, max_size=9
) | st.sampled_from(
    ["<script>", "</text>", "&amp;", '"', "שלום", "مرحبا", "👩‍🔬", "\u202eabc", "]]>"]
)
entries = st.lists(
    st.builds(PathEntry, paths, words, st.integers(0, 10**17) | st.none()), min_size=1, max_size=40
)


def branching(bits: set[str]) -> set[str]:
    """The prefixes below which at least two things lie: other bits, or the path itself."""
    every = {path[:n] for path in bits for n in range(len(path) + 1)}
    return {
        prefix
        for prefix in every
        if sum((prefix in bits, prefix + "0" in every, prefix + "1" in every)) > 1
    }


@given(st.sets(paths, min_size=1, max_size=60))
def test_nodes_are_where_paths_part(bits: set[str]) -> None:
    tree = tree_of_paths(PathEntry(path, f"w{path}", 1) for path in bits)
    assert list(tree.bits) == sorted(bits)
    inner = [node for node in tree.nodes if node.end - node.first > 1]
    leaves = [node for node in tree.nodes if node.end - node.first == 1]
    assert {tree.prefix(node) for node in inner} == branching(bits)
    assert len(inner) == len(branching(bits))
    assert [tree.prefix(node) for node in leaves] == sorted(bits)
    assert tree.nodes[0].parent == -1
    for k, node in enumerate(tree.nodes):
        below = {path for path in bits if path.startswith(tree.prefix(node))}
        if node in inner:
            assert set(tree.bits[node.first : node.end]) == below
        if k:
            parent = tree.nodes[node.parent]
            assert node.parent < k
            assert parent.first <= node.first < node.end <= parent.end
            assert tree.prefix(node).startswith(tree.prefix(parent))


@given(entries, st.integers(1, 6))
def test_examples_are_the_most_frequent_words(found: list[PathEntry], k: int) -> None:
    tree = tree_of_paths(found)
    assert tree.n_words == len(found)
    assert tree.n_tokens == sum(entry.count or 0 for entry in found)
    for node in tree.nodes:
        below = [count for c in range(node.first, node.end) for count in tree.counts[c]]
        shown = tree.examples(node, k)
        count_of: dict[str, list[int]] = {}
        for c in range(node.first, node.end):
            for word, count in zip(tree.words[c], tree.counts[c], strict=True):
                count_of.setdefault(word, []).append(count)
        assert len(shown) == min(k, len(below))
        best = sorted(below, reverse=True)[:k]
        assert all(best[i] in count_of[word] for i, word in enumerate(shown))


def test_words_of_equal_count_stay_in_order_and_unknown_counts_are_no_counts() -> None:
    tree = tree_of_paths([PathEntry("0", w, 1) for w in "cab"] + [PathEntry("0", "d", 2)])
    assert tree.words == (("d", "c", "a", "b"),)
    assert tree.counted
    bare = tree_of_paths([PathEntry("0", "a", None), PathEntry("1", "b", None)])
    assert not bare.counted
    assert bare.examples(bare.nodes[0], 1) == ["a"]
    assert bare.paths() == {"a": "0", "b": "1"}


def texts(svg: str) -> list[tuple[str, str]]:
    """Class and text of every label."""
    root = ElementTree.fromstring(svg)
    return [(t.get("class", ""), t.text or "") for t in root.iter(f"{SVG}text")]


@given(entries, st.integers(1, 12))
@settings(max_examples=60)
def test_the_drawing_is_xml_and_shows_words_as_they_are(found: list[PathEntry], ends: int) -> None:
    tree = tree_of_paths(found)
    labels = texts(cluster_tree_svg(tree, ends=ends))
    rows = [text for role, text in labels if role == "et-word"]
    assert 1 <= len(rows) <= max(ends, 1)
    known = {printable(entry.word) for entry in found}
    # what the data bring of isolates is replaced, so these are ours
    shown = [word for row in rows for word in re.findall("\u2068(.*?)\u2069", row, re.DOTALL)]
    assert {w.replace("\r", "\n") for w in shown} <= {w.replace("\r", "\n") for w in known}


def test_bits_on_the_branches_and_words_at_the_ends() -> None:
    found = [("00", "of", 9), ("01", "in", 8), ("1", "cat", 5), ("1", "dog", 6)]
    tree = tree_of_paths(PathEntry(*one) for one in found)
    svg = cluster_tree_svg(tree)
    plain = [(role, re.sub("[\u2068\u2069]", "", text)) for role, text in texts(svg)]
    assert [text for role, text in plain if role == "et-word"] == ["of", "in", "dog · cat"]
    assert sorted(text for role, text in plain if role == "et-tag") == ["0", "0", "1", "1"]
    folded = texts(cluster_tree_svg(tree, ends=2))
    assert [text for _, text in folded if "clusters" in text] == ["2 clusters"]


def test_a_tree_that_is_all_depth() -> None:
    tree = tree_of_paths(PathEntry("1" * k + "0", f"w{k}", k) for k in range(1000))
    assert len(tree.nodes) == 2 * 1000 - 1
    assert len(texts(cluster_tree_svg(tree, ends=50))) > 50


def read(tmp_path, content: bytes, **more) -> ClusterTree:
    (tmp_path / "paths").write_bytes(content)
    return read_tree(str(tmp_path / "paths"), **more)


def test_files_that_are_not_paths(tmp_path) -> None:
    with pytest.raises(DataError, match=r"paths: no words, expected bits TAB word TAB count"):
        read(tmp_path, b"")
    with pytest.raises(DataError, match=r"paths:2: bits '0a', expected only 0 and 1"):
        read(tmp_path, b"0\tcat\t1\n0a\tdog\t2\n")
    log = SkipLog()
    tree = read(tmp_path, b"0\tcat\t1\n0a\tdog\t2\n1\tcow\n", on_error=log)
    assert log.count == 1
    assert tree.words == (("cat",), ("cow",))
    with pytest.raises(ValueError, match="at least one word"):
        tree_of_paths([])
