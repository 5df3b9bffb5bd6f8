"""Arcs in rows, of two trees, with probabilities: what is drawn, and that nothing is lost."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.drawing.arcs import arcs_svg
from eigentext.drawing.arcs_layout import Arc, lay_out
from eigentext.drawing.svg import text_width

_SVG = "{http://www.w3.org/2000/svg}"


@st.composite
def trees(draw: st.DrawFn, n_words: int) -> list[int]:
    """Heads of any tree with one root."""
    order = draw(st.permutations(range(1, n_words + 1)))
    heads = [0] * n_words
    for place, word in enumerate(order[1:], start=1):
        heads[word - 1] = order[draw(st.integers(0, place - 1))]
    return heads


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[str], list[int], list[int]]:
    n_words = draw(st.integers(1, 24))
    forms = draw(
        st.lists(
            st.sampled_from(["a", "word", "internationalisation", "漢字", "كتاب"]),
            min_size=n_words,
            max_size=n_words,
        )
    )
    return forms, draw(trees(n_words)), draw(trees(n_words))


def _boxes(root: ElementTree.Element) -> list[tuple[str, str, float, float, float, float]]:
    """(class, text, left, right, upper, lower) of every label."""
    found = []
    for text in root.iter(_SVG + "text"):
        size = float(text.get("font-size", 14))
        half = text_width(text.text or "", size) / 2
        x, middle = float(text.get("x", 0)), float(text.get("y", 0)) - 0.36 * size
        found.append(
            (
                text.get("class", ""),
                text.text or "",
                x - half,
                x + half,
                middle - size / 2,
                middle + size / 2,
            )
        )
    return found


def _check(svg: str) -> ElementTree.Element:
    root = ElementTree.fromstring(svg)
    _, _, width, height = map(float, root.get("viewBox", "").split())
    boxes = _boxes(root)
    for k, (_, text, left, right, upper, lower) in enumerate(boxes):
        assert left >= -1, text
        assert right <= width + 1, text
        assert upper >= 0, text
        assert lower <= height, text
        for _, other, left_2, right_2, upper_2, lower_2 in boxes[k + 1 :]:
            apart = right <= left_2 or right_2 <= left or lower <= upper_2 or lower_2 <= upper
            assert apart, (text, other)
    for path in root.iter(_SVG + "path"):
        for x, y in re.findall(r"M([\d.]+) ([\d.]+)", path.get("d", "")):
            assert 0 <= float(x) <= width
            assert 0 <= float(y) <= height
    return root


def _words(root: ElementTree.Element) -> list[tuple[float, float, str]]:
    return [
        (float(text.get("y", 0)), float(text.get("x", 0)), text.text or "")
        for text in root.iter(_SVG + "text")
        if text.get("class") == "et-word"
    ]


@given(case=cases(), width=st.sampled_from([60.0, 200.0, 400.0, 900.0]))
@settings(max_examples=80, deadline=None)
def test_rows_hold_every_word_in_order_and_nothing_overlaps(case, width):
    forms, heads, _ = case
    relations = ["nsubj:pass" if k % 3 else "det" for k in range(len(forms))]
    root = _check(arcs_svg(forms, heads, relations, tags=["NOUN"] * len(forms), width=width))
    found = _words(root)
    assert [word for _, _, word in found] == forms
    rightwards = root.get("data-direction") != "rtl"
    for (y, x, _), (y_2, x_2, _) in pairwise(found):
        assert y_2 > y or (y_2 == y and (x_2 > x) == rightwards)
    arrows = [p for p in root.iter(_SVG + "path") if p.get("class") == "et-arrow"]
    assert len(arrows) == len(forms)  # however many rows an arc runs through, one arrow
    shown = {text for role, text, *_ in _boxes(root) if role == "et-relation"}
    assert shown == set(relations)


@given(case=cases())
@settings(max_examples=40, deadline=None)
def test_rows_are_no_wider_than_allowed_where_two_words_fit(case):
    forms, heads, _ = case
    widths = [text_width(form, 14, bold=True) for form in forms]
    arcs = [Arc(head - 1, word, "obj") for word, head in enumerate(heads)]
    labels = [text_width("obj", 11.5)] * len(arcs)
    for limit in (100.0, 300.0):
        rows = lay_out(arcs, widths, labels, limit)
        assert [row.first for row in rows] == [0, *(row.last for row in rows[:-1])]
        assert rows[-1].last == len(forms)
        for row in rows:
            assert row.width <= limit or row.last - row.first == 1


def test_a_row_is_not_left_with_one_word():
    """Breaking 12 equal words where 11 fit gives two rows of six or so."""
    forms = ["word"] * 12
    one = ElementTree.fromstring(arcs_svg(forms, list(range(12))))
    width = float(one.get("width", 0)) - 30
    found = _words(ElementTree.fromstring(arcs_svg(forms, list(range(12)), width=width)))
    rows = [sum(y == other for y, _, _ in found) for other in sorted({y for y, _, _ in found})]
    assert len(rows) == 2
    assert min(rows) >= 5


@given(case=cases(), width=st.sampled_from([None, 300.0]))
@settings(max_examples=60, deadline=None)
def test_two_trees_show_what_only_one_of_them_has(case, width):
    forms, heads, others = case
    relations = ["obj"] * len(forms)
    svg = arcs_svg(
        forms,
        heads,
        relations,
        against=others,
        against_relations=relations,
        names=("gold", "mine"),
        width=width,
    )
    root = _check(svg)
    differing = sum(a != b for a, b in zip(heads, others, strict=True))
    description = root.findtext(_SVG + "desc") or ""
    assert description.count("[only gold]") == description.count("[only mine]") == differing
    arrows = [p for p in root.iter(_SVG + "path") if p.get("class") == "et-arrow"]
    colours = [p.get("fill") for p in arrows]
    assert colours.count("currentColor") == len(forms) - differing
    assert len(arrows) == len(forms) + differing
    dashed = [p for p in root.iter(_SVG + "path") if p.get("stroke-dasharray")]
    assert len(dashed) == 1  # the legend's line is there in any case
    lines = (dashed[0].get("d") or "").count("M")
    assert lines == differing + 1 if width is None else lines >= differing + 1


def test_a_relation_that_differs_shows_both():
    root = _check(
        arcs_svg(
            ["a", "b"],
            [2, 0],
            ["nsubj", "root"],
            against=[2, 0],
            against_relations=["obj", "root"],
        )
    )
    texts = [text for role, text, *_ in _boxes(root) if role == "et-relation"]
    assert sorted(texts) == ["nsubj ≠ obj", "root"]


def test_probable_arcs_are_strong():
    svg = arcs_svg(["a", "b", "c"], [2, 0, 2], ["x", "root", "y"], probabilities=[0.1, 1.0, 0.6])
    root = _check(svg)
    lines = {
        float(path.get("stroke-opacity", 0)): path.get("d", "")
        for path in root.iter(_SVG + "path")
        if path.get("class", "").startswith("et-edge")
    }
    assert sorted(lines) == [0.23, 0.6, 0.9]
    assert "p = 0.1" in svg
    faint = min(lines)
    assert lines[faint].count("M") == 1


def test_legs_do_not_run_through_labels_where_there_is_room():
    """3 -> 1 is below 2's arrow from above: the label steps aside."""
    root = ElementTree.fromstring(
        arcs_svg(["aaaaaaaaaaaa", "b", "cccccccccccc"], [3, 0, 2], ["obj", "root", "x"])
    )
    label = next(b for b in _boxes(root) if b[1] == "obj")
    (arrow,) = [  # from the top down: the only line that begins above the label
        float(x)
        for path in root.iter(_SVG + "path")
        for x, y in re.findall(r"M([\d.]+) ([\d.]+)V", path.get("d", ""))
        if float(y) < label[4]
    ]
    assert not label[2] < arrow < label[3]


def test_the_direction_can_be_told():
    for direction, rightwards in (("auto", True), ("ltr", True), ("rtl", False)):
        found = _words(ElementTree.fromstring(arcs_svg(["a", "b"], [2, 0], direction=direction)))
        assert (found[0][1] < found[1][1]) == rightwards
    arabic = ["كتب", "الولد"]
    found = _words(ElementTree.fromstring(arcs_svg(arabic, [0, 1], direction="ltr")))
    assert found[0][1] < found[1][1]


@pytest.mark.parametrize(
    ("settings_", "why"),
    [
        ({"probabilities": [0.5]}, "probabilities has 1 items"),
        ({"probabilities": [0.5, 1.5]}, "between 0 and 1"),
        ({"probabilities": [0.5, float("nan")]}, "between 0 and 1"),
        ({"against": [0]}, "other heads has 1 items"),
        ({"against": [0, 3]}, "other word 2 has head 3"),
        ({"against": [0, 1], "against_relations": ["x"]}, "other relations has 1"),
        ({"direction": "down"}, "direction 'down'"),
        ({"width": 0}, "width is 0"),
    ],
)
def test_bad_settings_are_refused(settings_, why):
    with pytest.raises(ValueError, match=why):
        arcs_svg(["a", "b"], [0, 1], **settings_)


class TestForPages:
    FORMS = ("dogs", "bark", "loudly")

    def _drawn(self, **more: Any) -> ElementTree.Element:
        return ElementTree.fromstring(
            arcs_svg(self.FORMS, [2, 0, 2], ["nsubj", "root", "advmod"], data=True, **more)
        )

    def test_every_arc_and_word_says_which_it_is(self) -> None:
        drawn = self._drawn()
        arcs = [one for one in drawn.iter() if one.get("class") == "et-arc"]
        names = ("data-head", "data-dependent", "data-relation")
        assert sorted(tuple(one.get(name) for name in names) for one in arcs) == [
            ("0", "2", "root"),
            ("2", "1", "nsubj"),
            ("2", "3", "advmod"),
        ]
        for arc in arcs:  # its line, its arrow and its label are within
            kinds = {one.get("class") for one in arc.iter()}
            assert {"et-hit", "et-edge", "et-arrow", "et-relation"} <= kinds
        places = [one for one in drawn.iter() if one.get("class") == "et-place"]
        assert [one.get("data-word") for one in places] == ["1", "2", "3"]

    def test_an_arc_over_two_rows_is_one_group(self) -> None:
        forms = [f"word{k}" for k in range(12)]
        heads = [0, *[1] * 11]
        svg = arcs_svg(forms, heads, ["x"] * 12, width=300, data=True)
        groups = [
            one for one in ElementTree.fromstring(svg).iter() if one.get("class") == "et-arc"
        ]
        assert len(groups) == 12
        assert max(sum(one.get("class") == "et-edge" for one in each) for each in groups) > 1

    def test_of_the_other_tree_nothing_can_be_chosen(self) -> None:
        drawn = self._drawn(against=[3, 0, 2], against_relations=["nsubj", "root", "obj"])
        arcs = [one for one in drawn.iter() if one.get("class") == "et-arc"]
        chosen = {(one.get("data-head"), one.get("data-relation")) for one in arcs}
        assert chosen == {("0", "root"), ("2", "nsubj"), ("2", "advmod")}

    def test_probabilities_have_a_scale(self) -> None:
        drawn = self._drawn(probabilities=[0.5, 1.0, 0.25], legend="probability")
        assert list(drawn.itertext())[-2:] == ["probability 0", "1"]
        values = {one.get("data-value") for one in drawn.iter() if one.get("class") == "et-arc"}
        assert values == {"0.5", "1", "0.25"}
        assert "probability" not in "".join(self._drawn(legend="probability").itertext())
