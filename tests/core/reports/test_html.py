from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.drawing.constituents import tree_svg
from eigentext.drawing.svg import printable
from eigentext.errors import DataError
from eigentext.language.trees.constituent import Tree
from eigentext.reports.html import Cell, Report

if TYPE_CHECKING:
    from pathlib import Path

_VOID = {"meta", "link", "br", "hr", "img"}


class Page(HTMLParser):
    """Reads a page, checks that tags balance, and keeps the text of cells and paragraphs."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open[-1]][-1] += data


def cells(report: Report) -> list[str]:
    return Page(report.html()).texts["td"]


@given(st.lists(st.text(st.characters(codec=None)), min_size=8, max_size=8))
@settings(max_examples=50, deadline=None)
def test_every_text_comes_out_as_it_went_in(t: list[str]) -> None:
    report = Report(t[0], t[1] or "-").section(t[2]).text(t[3])
    report.table([t[4]], [[t[5]]], caption=t[6] or "-").details(t[7], t[3], verbatim=True)
    page = Page(report.html())

    def same(tag: str, text: str) -> bool:
        plain = printable(text).replace("\r\n", "\n").replace("\r", "\n")
        return any(
            found.replace("\r\n", "\n").replace("\r", "\n") == plain for found in page.texts[tag]
        )

    pairs = [("h1", t[0]), ("title", t[0]), ("h2", t[2]), ("p", t[3]), ("th", t[4]), ("td", t[5])]
    for tag, text in [*pairs, ("summary", t[7]), ("pre", t[3]), ("caption", t[6] or "-")]:
        assert same(tag, text), (tag, text)
    assert {tag for tag, _ in page.tags} <= {
        *("html", "head", "meta", "link", "title", "style", "body", "header", "h1", "p", "main"),
        *("h2", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "details"),
        *("summary", "pre", "footer", "script"),
    }


def test_numbers_are_aligned_and_rounded_alike() -> None:
    rows: list[list[Cell]] = [
        ["a", 1_234_567, 70, True, None],
        ["b", None, 70.25, False, 0.5],
        ["c", -3, float("nan"), True, 1e-9],
    ]
    report = Report("r").table(["name", "n", "F1", "ok", "p"], rows, digits=2)
    assert cells(report) == [
        *("a", "1,234,567", "70.00", "yes", "–"),
        *("b", "–", "70.25", "no", "0.50"),
        *("c", "−3", "–", "yes", "1e−09"),
    ]
    classes = [attrs.get("class") for tag, attrs in Page(report.html()).tags if tag == "th"]
    assert classes == [None, "number", "number", None, "number"]


def test_numpy_scalars_are_numbers() -> None:
    rows = [[np.int64(5), np.float32(0.5), np.bool_(True), np.float64(-np.inf)]]
    report = Report("r").table(["i", "f", "b", "x"], rows)  # type: ignore[list-item]
    assert cells(report) == ["5", "0.500", "yes", "−∞"]
    assert 'data-key="-Infinity"' in report.html()


def test_the_page_is_one_file_that_may_not_use_the_network() -> None:
    svg = tree_svg(Tree.from_brackets("(NP (NN dog))"))
    html = Report("t", "s").section("a").figure(svg, "A <tree>").html()
    page = Page(html)
    meta = {
        attrs.get("http-equiv"): attrs.get("content") for tag, attrs in page.tags if tag == "meta"
    }
    policy = meta["Content-Security-Policy"] or ""
    assert "default-src 'none'" in policy
    (script,) = page.texts["script"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    for tag, attrs in page.tags:
        assert "src" not in attrs
        if tag == "link":
            assert attrs["href"] == "data:,"
    assert set(re.findall(r"https?://[^\"' ]+", html)) == {"http://www.w3.org/2000/svg"}
    assert "A &lt;tree&gt;" in html


def test_contents_appear_with_the_third_section() -> None:
    two = Report("t").section("a").section("b")
    assert "<nav" not in two.html()
    page = Page(two.section("c & d").html())
    targets = [attrs["href"] for tag, attrs in page.tags if tag == "a"]
    anchors = ["#" + (attrs["id"] or "") for tag, attrs in page.tags if tag == "h2"]
    assert targets == anchors
    assert page.texts["a"] == ["a", "b", "c & d"]


def test_same_calls_same_bytes(tmp_path: Path) -> None:
    for name in ("one.html", "two.html"):
        Report("t", "s").text("x").write(tmp_path / name)
    first = (tmp_path / "one.html").read_bytes()
    assert first == (tmp_path / "two.html").read_bytes()
    assert first.decode("utf-8").startswith("<!doctype html>")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere"):
        Report("t").write(tmp_path / "nowhere" / "r.html")


def test_bad_tables_and_figures_are_refused() -> None:
    with pytest.raises(ValueError, match="row 1 has 1 cells, but the header has 2"):
        Report("t").table(["a", "b"], [[1, 2], [3]])
    with pytest.raises(TypeError, match="did you mean a list"):
        Report("t").table("ab", [])
    with pytest.raises(ValueError, match="found 'hello'"):
        Report("t").figure("hello")


def test_an_empty_table_is_a_table() -> None:
    assert Page(Report("t").table(["a"], []).html()).texts["th"] == ["a"]
