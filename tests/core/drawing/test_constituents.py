from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.drawing.arcs import arcs_svg
from eigentext.drawing.constituents import tree_svg
from eigentext.drawing.svg import printable, text_width
from eigentext.language.trees.constituent import Tree

_SVG = "{http://www.w3.org/2000/svg}"
words = st.one_of(
    st.text(min_size=1, max_size=6),
    st.sampled_from(["the", "internationalisation", "漢字", "كتاب", "<b>&\"'", "\x00", "x" * 70]),
)
nested = st.recursive(
    st.tuples(words, words),
    lambda children: st.builds(
        lambda label, below: (label, *below), words, st.lists(children, min_size=1, max_size=5)
    ),
    max_leaves=12,
)
trees = nested.map(Tree.from_nested)


@dataclass
class Label:
    """A label as drawn, with the box that its estimated width gives it."""

    text: str
    role: str
    x: float
    y: float
    size: float

    @cached_property
    def half(self) -> float:
        return text_width(self.text, self.size) / 2


def drawn(svg: str) -> tuple[ElementTree.Element, list[Label]]:
    root = ElementTree.fromstring(svg)
    assert root.tag == _SVG + "svg"
    labels = []
    for text in root.iter(_SVG + "text"):
        size = float(text.get("font-size", 14))
        y = float(text.get("y", 0)) - 0.36 * size
        labels.append(
            Label(text.text or "", text.get("class", ""), float(text.get("x", 0)), y, size)
        )
    return root, labels


def numbers(path: str) -> list[float]:
    return [float(x) for x in re.findall(r"-?[\d.]+", path)]


def inside(root: ElementTree.Element, labels: list[Label]) -> None:
    _, _, width, height = map(float, root.get("viewBox", "").split())
    for label in labels:
        assert label.half - 1 <= label.x <= width - label.half + 1
        assert 0 < label.y < height


class TestTree:
    @given(trees)
    @settings(max_examples=40, deadline=None)
    def test_nothing_overlaps_and_nothing_is_lost(self, tree: Tree) -> None:
        root, labels = drawn(tree_svg(tree))
        assert len(labels) == tree.n_nodes
        inside(root, labels)
        for label, text in zip(labels, tree.labels, strict=True):
            shown = printable(text).replace("\r", "\n")
            assert label.text == shown or label.text == shown[:47] + "…"
        for i, one in enumerate(labels):
            for other in labels[i + 1 :]:
                apart = abs(one.x - other.x) - one.half - other.half
                assert abs(one.y - other.y) > 14 or apart > 3

    @given(trees)
    @settings(max_examples=40, deadline=None)
    def test_lines_touch_no_label_but_their_ends(self, tree: Tree) -> None:
        root, labels = drawn(tree_svg(tree))
        path = root.find(_SVG + "path")
        assert path is not None
        edges = path.get("d", "").split("M")[1:]
        assert len(edges) == tree.n_nodes - 1
        boxes = np.array([(label.x, label.y, label.half) for label in labels])[:, :, None]
        for edge in edges:
            x, y = np.array(_points(edge)).T
            hit = (abs(boxes[:, 0] - x) < boxes[:, 2]) & (abs(boxes[:, 1] - y) < 9)
            assert not hit.any(), (edge, np.argwhere(hit))

    @given(trees)
    @settings(max_examples=40, deadline=None)
    def test_words_stand_on_one_line_in_order(self, tree: Tree) -> None:
        _, labels = drawn(tree_svg(tree))
        leaves = [labels[i] for i in range(tree.n_nodes) if tree.sizes[i] == 1]
        assert len({round(leaf.y, 1) for leaf in leaves}) == 1
        places = [leaf.x for leaf in leaves]
        assert places in (sorted(places), sorted(places, reverse=True))
        for i, size in enumerate(tree.sizes.tolist()):
            if size > 1:
                below = [labels[child] for child in tree.children(i)]
                middle = (below[0].x + below[-1].x) / 2
                assert labels[i].x == pytest.approx(middle, abs=0.02)
                assert labels[i].y < min(child.y for child in below)

    def test_right_to_left_sentences_run_from_the_right(self) -> None:
        tree = Tree.from_brackets("(S (V كتب) (N الولد) (N رسالة))")
        root, labels = drawn(tree_svg(tree))
        assert root.get("data-direction") == "rtl"
        assert labels[2].x > labels[4].x > labels[6].x
        _, plain = drawn(tree_svg(Tree.from_brackets("(S (V a) (N b) (N c))")))
        assert plain[2].x < plain[4].x < plain[6].x

    def test_values_colour_their_nodes(self) -> None:
        tree = Tree.from_brackets("(NP (DT the) (NN dog))")
        svg = tree_svg(tree, colours=[0.0, 1.0, math.nan, 0.5, math.nan])
        rects = list(ElementTree.fromstring(svg).iter(_SVG + "rect"))
        strength = [float(rect.get("fill-opacity", 0)) for rect in rects]
        assert len(strength) == 3
        assert strength[0] < strength[2] < strength[1]

    @pytest.mark.parametrize("colours", [[0.5], [0, 0, 0, 0, 2.0], [-0.1, 0, 0, 0, 0]])
    def test_bad_values_are_refused(self, colours: list[float]) -> None:
        with pytest.raises(ValueError, match="colours"):
            tree_svg(Tree.from_brackets("(NP (DT the) (NN dog))"), colours=colours)

    def test_a_very_deep_tree_and_a_very_wide_one(self) -> None:
        deep = Tree.unchecked([*["X"] * 20_000, "w"], range(20_001, 0, -1))
        assert tree_svg(deep).count("<text ") == 20_001
        wide = Tree.unchecked(["S", *["w"] * 5_000], [5_001, *[1] * 5_000])
        assert tree_svg(wide).count("<text ") == 5_001

    def test_a_reader_that_cannot_see_gets_the_tree_in_words(self) -> None:
        root, _ = drawn(tree_svg(Tree.from_brackets("(NP (NN dog))"), title="A <small> tree"))
        assert root.get("role") == "img"
        assert root.findtext(_SVG + "title") == "A <small> tree"
        assert root.findtext(_SVG + "desc") == "(NP (NN dog))"

    def test_a_strict_content_policy_is_obeyed(self) -> None:
        svg = tree_svg(Tree.from_brackets("(NP (NN dog))"), colours=[0.1, 0.2, 0.3])
        for forbidden in ("<style", " style=", "<script", " id=", "href", "url("):
            assert forbidden not in svg


def _points(edge: str) -> list[tuple[float, float]]:
    """Points along one edge: `x yVy`, or `x yCx y x y x y` with an optional `Vy`."""
    if "C" not in edge:
        x, start, end = numbers(edge)
        return [(x, y) for y in np.linspace(start, end, 30)]
    x0, y0, x1, y1, x2, y2, x3, y3, *rest = numbers(edge)
    t = np.linspace(0, 1, 30)
    weights = np.stack([(1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3], axis=1)
    curve = weights @ np.array([(x0, y0), (x1, y1), (x2, y2), (x3, y3)])
    drop = [(x3, y) for y in np.linspace(y3, rest[0], 30)] if rest else []
    return [*map(tuple, curve), *drop]


@st.composite
def projective_heads(draw: st.DrawFn) -> list[int]:
    """Heads of a projective tree: split each stretch of words at its head, and go on inside."""
    n = draw(st.integers(1, 14))
    heads = [0] * n
    pending = [(0, n, 0)]
    while pending:
        start, end, head = pending.pop()
        if start == end:
            continue
        root = draw(st.integers(start, end - 1))
        heads[root] = head
        for low, high in ((start, root), (root + 1, end)):
            cut = draw(st.integers(low, high))
            pending += [(low, cut, root + 1), (cut, high, root + 1)]
    return heads


@st.composite
def any_heads(draw: st.DrawFn) -> list[int]:
    n = draw(st.integers(1, 12))
    return [
        draw(st.integers(0, n).filter(lambda head, word=word: head != word))  # type: ignore[misc]
        for word in range(1, n + 1)
    ]


def arcs_of(root: ElementTree.Element) -> list[tuple[float, float, float, float]]:
    """(start, tip, base, peak) of each arc; a root arrow has start == tip."""
    path = root.find(_SVG + "path")
    assert path is not None
    arcs = []
    for line in path.get("d", "").split("M")[1:]:
        values = numbers(line)
        if "Q" in line:  # x base V . Q x peak near peak H far Q tip peak tip . V .
            arcs.append((values[0], values[8], values[1], values[4]))
        else:
            arcs.append((values[0], values[0], values[2], values[1]))
    return arcs


class TestArcs:
    @given(projective_heads(), st.data())
    @settings(max_examples=40, deadline=None)
    def test_arcs_of_a_projective_tree_never_cross(self, heads: list[int], data: Any) -> None:
        forms = [data.draw(words) for _ in heads]
        relations = [data.draw(st.sampled_from(["", "x", "nsubj:pass"])) for _ in heads]
        root, labels = drawn(arcs_svg(forms, heads, relations))
        inside(root, [label for label in labels if label.role == "et-word"])
        arcs = arcs_of(root)
        assert len(arcs) == len(heads)
        for i, (start, tip, _, peak) in enumerate(arcs):
            low, high = sorted((start, tip))
            for j, (start_2, tip_2, _, peak_2) in enumerate(arcs):
                if i == j:
                    continue
                for leg in (start_2, tip_2):  # does a leg of the other go through this one's roof?
                    assert not (low < leg < high and peak_2 < peak), (heads, i, j)
                low_2, high_2 = sorted((start_2, tip_2))
                same_height = peak == peak_2 and i < j and start != tip and start_2 != tip_2
                assert not (same_height and low < high_2 and low_2 < high)

    @given(any_heads())
    @settings(max_examples=40, deadline=None)
    def test_any_heads_are_drawn_and_no_two_ends_meet(self, heads: list[int]) -> None:
        forms = [f"w{i}" for i in range(len(heads))]
        root, labels = drawn(arcs_svg(forms, heads, ["rel"] * len(heads), tags=forms))
        inside(root, labels)
        ends = [x for start, tip, _, _ in arcs_of(root) for x in {start, tip}]
        assert len({round(x, 1) for x in ends}) == len(ends)
        assert [label.text for label in labels if label.role == "et-word"] == forms

    @given(projective_heads())
    @settings(max_examples=40, deadline=None)
    def test_relations_fit_their_arcs(self, heads: list[int]) -> None:
        forms = ["w"] * len(heads)
        root, labels = drawn(arcs_svg(forms, heads, ["a-long-relation"] * len(heads)))
        names = [label for label in labels if label.role == "et-relation"]
        for (start, tip, _, _), name in zip(arcs_of(root), names, strict=True):
            if start != tip:
                assert abs(start - tip) > 2 * name.half
        for i, one in enumerate(names):
            for other in names[i + 1 :]:
                apart = abs(one.x - other.x) - one.half - other.half
                assert abs(one.y - other.y) > 10 or apart > 0

    def test_direction_and_description(self) -> None:
        root, labels = drawn(arcs_svg(["كتب", "الولد"], [0, 1], ["root", "nsubj"]))
        places = [label.x for label in labels if label.role == "et-word"]
        assert places[0] > places[1]
        assert root.findtext(_SVG + "desc") == "كتب ← root (root); الولد ← كتب (nsubj)"

    def test_numpy_heads_and_a_long_sentence(self) -> None:
        heads = np.arange(600, dtype=np.int32)
        assert arcs_svg(["w"] * 600, heads.tolist()).count("<text ") == 600

    @pytest.mark.parametrize(
        ("forms", "heads", "relations", "why"),
        [
            (["a", "b"], [0], None, "heads has 1 items"),
            (["a", "b"], [0, 3], None, "word 2 has head 3"),
            (["a", "b"], [0, 2], None, "word 2 has head 2"),
            (["a", "b"], [0, -1], None, "word 2 has head -1"),
            (["a", "b"], [0, 1], ["root"], "relations has 1 items"),
            ([], [], None, "no word"),
        ],
    )
    def test_bad_columns_are_refused(
        self, forms: list[str], heads: list[int], relations: list[str] | None, why: str
    ) -> None:
        with pytest.raises(ValueError, match=why):
            arcs_svg(forms, heads, relations)

    def test_a_str_is_not_a_list_of_words(self) -> None:
        with pytest.raises(TypeError, match="did you mean a list"):
            arcs_svg("ab", [0, 1])


class TestForPages:
    TREE = Tree.from_brackets("(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks))))")

    def test_every_node_says_which_it_is(self) -> None:
        drawn = ElementTree.fromstring(tree_svg(self.TREE, data=True))
        nodes = [one for one in drawn.iter() if one.get("class") == "et-node"]
        said = [
            (
                one.get("data-role"),
                one.get("data-start"),
                one.get("data-end"),
                one.get("data-label"),
            )
            for one in nodes
        ]
        assert said == [
            ("label", "0", "3", "TOP"),
            ("label", "0", "3", "S"),
            ("label", "0", "2", "NP"),
            ("tag", "0", "1", "DT"),
            ("word", "0", "1", "the"),
            ("tag", "1", "2", "NN"),
            ("word", "1", "2", "dog"),
            ("label", "2", "3", "VP"),
            ("tag", "2", "3", "VBZ"),
            ("word", "2", "3", "barks"),
        ]
        plain = ElementTree.fromstring(tree_svg(self.TREE))
        assert not [one for one in plain.iter() if one.get("class") == "et-node"]
        assert list(drawn.itertext()) == list(plain.itertext())

    def test_hostile_labels_stay_attributes(self) -> None:
        label = '"><script>alert(1)</script>'
        drawn = ElementTree.fromstring(tree_svg(Tree.from_nested((label, ("T", "a"))), data=True))
        assert not [one for one in drawn.iter() if "script" in one.tag]
        assert (
            next(one.get("data-label") for one in drawn.iter() if one.get("data-start")) == label
        )

    def test_values_have_a_scale_and_marks_a_reason(self) -> None:
        values = [float("nan"), *[0.5] * 9]
        svg = tree_svg(self.TREE, colours=values, legend="posterior", marked=[2], marked_as="new")
        drawn = ElementTree.fromstring(svg)
        texts = list(drawn.itertext())
        assert texts[-3:] == ["posterior 0", "1", "new"]
        kinds = [one.get("class") for one in drawn.iter()]
        assert kinds.count("et-mark") == 2  # the node's, and the legend's
        assert kinds.count("et-value") == 9 + 5
        # without values there is nothing to explain
        bare = tree_svg(self.TREE, legend="posterior", marked_as="new")
        assert bare == tree_svg(self.TREE)

    def test_the_legend_is_below_the_words_and_within_the_sheet(self) -> None:
        one = Tree.from_brackets("(X (N a))")
        svg = tree_svg(one, colours=[1.0] * 3, legend="posterior", marked=[0], marked_as="m" * 30)
        drawn = ElementTree.fromstring(svg)
        texts = [item for item in drawn.iter() if item.tag.endswith("text")]
        words = [float(item.get("y", 0)) for item in texts if item.get("class") == "et-word"]
        below = [item for item in texts if item.get("class") == "et-legend"]
        assert len(below) == 3
        for item in below:
            assert float(item.get("y", 0)) > max(words) + 14
            assert 0 < float(item.get("x", 0)) < float(drawn.get("width", 0))
