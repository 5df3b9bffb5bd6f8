from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.drawing.plots import PALETTE, free_places, line_plot, pushed_apart, scatter_words
from eigentext.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable

_SVG = "{http://www.w3.org/2000/svg}"
ODD = ["plain", "a $x$ b", "<b>&", "كتاب", "漢字", "\x00", "x" * 90, "50%_^"]


def lines() -> str:
    return line_plot(
        {"ours": ([1, 2, 4], [0.5, 0.7, 0.9]), "theirs": ([1, 2, 4], [0.4, 0.6, 0.88])},
        title="F1",
        x_label="rank",
        y_label="score",
        log_x=True,
    ).svg()


def word_map() -> str:
    points = np.random.default_rng(0).normal(size=(8, 2))
    return scatter_words(ODD, points, groups=[0, 1, 2, 3, 4, 5, 6, 7], title="map").svg()


ALL = pytest.mark.parametrize("draw", [lines, word_map])


def texts(svg: str) -> list[str]:
    return [t.text or "" for t in ElementTree.fromstring(svg).iter(_SVG + "text")]


@ALL
def test_same_numbers_same_bytes_and_nothing_of_the_day(draw: Callable[[], str]) -> None:
    svg = draw()
    assert svg == draw()
    for unwanted in ("<metadata", "matplotlib", "<?xml", "<!DOCTYPE", "#010203"):
        assert unwanted not in svg


@ALL
def test_a_plot_is_well_formed_and_loads_nothing(draw: Callable[[], str]) -> None:
    root = ElementTree.fromstring(draw())
    assert root.tag == _SVG + "svg"
    assert root.get("role") == "img"
    assert root.findtext(_SVG + "title")
    links = [
        value
        for node in root.iter()
        for name, value in node.attrib.items()
        if name.endswith(("href", "src"))
    ]
    assert all(link.startswith("#") for link in links)
    ids = {node.get("id") for node in root.iter() if node.get("id")}
    assert {link[1:] for link in links} <= ids
    used = set(re.findall(r"url\(#([^)]+)\)", ElementTree.tostring(root).decode()))
    assert used <= ids


def test_plots_share_a_page_without_sharing_ids() -> None:
    twins = [
        line_plot({name: ([1, 2], [1, 2])}).svg() for name in ("one", "two")
    ]  # same clip, same dots
    ids = [re.findall(r'\bid="([^"]+)"', svg) for svg in [*twins, lines(), word_map()]]
    assert all(ids)
    flat = [name for names in ids for name in names]
    assert len(set(flat)) == len(flat)


def test_ink_follows_the_page_and_series_are_named_beside_their_lines() -> None:
    svg = lines()
    assert "currentColor" in svg
    assert {"ours", "theirs", "F1", "rank", "score"} <= set(texts(svg))
    assert PALETTE[0] in svg
    assert PALETTE[1] in svg


def test_text_is_taken_literally() -> None:
    shown = texts(word_map())
    assert "a $x$ b" in shown
    assert "<b>&" in shown
    assert "كتاب" in shown
    assert "漢字" in shown
    assert "\ufffd" in shown


def test_gaps_and_single_points_are_no_problem() -> None:
    svg = line_plot({"gap": ([1, 2, 3], [1, np.nan, 2]), "none": ([1], [np.nan])}, log_y=True)
    assert "gap" in texts(svg.svg())
    assert scatter_words(["one"], [[0.0, 0.0]]).svg()


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: line_plot({}), "no series"),
        (lambda: line_plot({"a": ([1, 2], [1])}), "2 x values and 1 y"),
        (lambda: line_plot({"a": ([[1]], [[1]])}), "one-dimensional"),
        (lambda: scatter_words(["a"], [[1, 2, 3]]), "shape"),
        (lambda: scatter_words(["a"], [[1, 2]], groups=[1, 2]), "2 groups for 1 words"),
        (lambda: scatter_words(["a"], [[1, np.inf]]), "finite"),
    ],
)
def test_numbers_that_cannot_be_drawn_are_refused(call: Callable[[], str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        call()


def test_a_str_is_not_a_list_of_words() -> None:
    with pytest.raises(TypeError, match="did you mean a list"):
        scatter_words("ab", [[1, 2], [3, 4]])


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install matplotlib .*\.\[plot\]"):
        lines()


def test_no_global_figures_and_a_lazy_import() -> None:
    program = (
        "import sys, eigentext.drawing.plots as p; assert 'matplotlib' not in sys.modules;"
        "p.scatter_words(['a'], [[0, 0]]).svg(); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@given(st.lists(st.floats(-100, 100), max_size=12), st.floats(1, 20))
@settings(deadline=None)
def test_pushed_apart(heights: list[float], distance: float) -> None:
    moved = pushed_apart(heights, distance=distance)
    order = np.argsort(heights, kind="stable")
    gaps = np.diff(np.array(moved)[order]) if heights else np.array([])
    assert (gaps > distance - 1e-6).all()
    if (np.diff(np.sort(heights)) > distance + 1e-6).all():  # nothing to do, nothing done
        assert moved == pytest.approx(heights, abs=1e-9)
    assert sum(moved) == pytest.approx(sum(heights), abs=1e-6)


@given(st.lists(st.tuples(st.floats(0, 300), st.floats(0, 200), st.floats(5, 80)), max_size=25))
@settings(deadline=None)
def test_labels_cover_neither_labels_nor_dots(spots: list[tuple[float, float, float]]) -> None:
    dots = np.array([(x, y) for x, y, _ in spots]).reshape(-1, 2)
    widths = [width for _, _, width in spots]
    places = free_places(dots, widths, 10.0, [(0, 0), (300, 200)])
    boxes = [
        (x, y - 5, x + width, y + 5)
        for place, width in zip(places, widths, strict=True)
        if place is not None
        for x, y in [place]
    ]
    for i, a in enumerate(boxes):
        assert a[0] >= 0
        assert a[2] <= 300
        for b in boxes[i + 1 :]:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        for x, y in dots:
            assert not (a[0] < x < a[2] and a[1] < y < a[3])
