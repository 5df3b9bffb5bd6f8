"""Arc diagrams in a real browser: no two labels overlap, and nothing is cut off."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eigentext.cli.main import run
from eigentext.datasets import load_english
from eigentext.drawing.arcs import arcs_svg
from eigentext.language.formats import conllu
from eigentext.language.trees.constituent import Tree
from eigentext.language.trees.heads import to_dependencies
from eigentext.reports.html import Report

pytestmark = pytest.mark.requires("chromium")

_ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"),
    *("--disable-component-update", "--disable-sync"),
]
_BOXES = """svg => {
  const view = svg.viewBox.baseVal;
  const outside = [...svg.querySelectorAll('text, path')].filter(e => {
    const b = e.getBBox();
    return b.x < -0.5 || b.y < -0.5 || b.x + b.width > view.width + 0.5
      || b.y + b.height > view.height + 0.5;
  }).map(e => e.textContent || e.getAttribute('d'));
  const labels = [...svg.querySelectorAll('text')].map(e => {
    const b = e.getBBox();
    return [e.firstChild.data, b.x, b.y + 0.15 * b.height, b.width, 0.7 * b.height];
  });
  return [outside, labels];
}"""  # a text's box has air above and below its letters


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield browser
        browser.close()


def _random_heads(rng: random.Random, n_words: int) -> list[int]:
    order = rng.sample(range(1, n_words + 1), n_words)
    heads = [0] * n_words
    for place, word in enumerate(order[1:], start=1):
        heads[word - 1] = order[rng.randrange(place)]
    return heads


def _drawings() -> list[str]:
    rng = random.Random(7)
    found = []
    for line in load_english("dev")[:6]:
        tree = to_dependencies(Tree.from_brackets(line))
        found.append(arcs_svg(tree.forms, tree.heads.tolist(), tree.relations, tags=tree.tags))
    alphabet = ["iiii", "MMMWWW", "internationalisation", "漢字漢字", "the", ".", "naïve", "🐎"]
    relations = ["nsubj:pass", "det", "compound:prt", "x", "advcl:relcl"]
    for n_words, width in ((1, None), (6, None), (14, 300.0), (40, 800.0)):
        forms = [rng.choice(alphabet) for _ in range(n_words)]
        labels = [rng.choice(relations) for _ in range(n_words)]
        heads, others = _random_heads(rng, n_words), _random_heads(rng, n_words)
        found.append(arcs_svg(forms, heads, labels, tags=["PROPN"] * n_words, width=width))
        found.append(
            arcs_svg(forms, heads, labels, against=others, against_relations=labels, width=width)
        )
    arabic = "قرأت المعلمة قصة قصيرة في المدرسة الكبيرة اليوم".split()
    found.append(
        arcs_svg(
            arabic,
            [0, 1, 1, 3, 6, 1, 6, 1],
            ["nsubj"] * 8,
            width=260,
            probabilities=[k / 8 for k in range(8)],
        )
    )
    return found


def test_labels_neither_overlap_nor_leave_the_drawing(browser: Any, tmp_path: Path) -> None:
    report = Report("Arcs")
    drawings = _drawings()
    for svg in drawings:
        report.figure(svg)
    report.write(tmp_path / "arcs.html")
    page = browser.new_page()
    page.goto((tmp_path / "arcs.html").as_uri())
    shapes = page.query_selector_all("figure svg")
    assert len(shapes) == len(drawings)
    for shape in shapes:
        outside, labels = shape.evaluate(_BOXES)
        assert outside == []
        for k, (text, x, y, width, height) in enumerate(labels):
            for other, x_2, y_2, width_2, height_2 in labels[k + 1 :]:
                apart = (
                    x + width <= x_2
                    or x_2 + width_2 <= x
                    or y + height <= y_2
                    or y_2 + height_2 <= y
                )
                assert apart, (text, other)
    page.close()


def test_the_page_of_the_command(browser: Any, tmp_path: Path) -> None:
    trees = [to_dependencies(Tree.from_brackets(line)) for line in load_english("dev")[:3]]
    gold = [conllu.from_dependency_tree(tree) for tree in trees]
    others = [one.with_columns(head=list(range(len(one)))) for one in gold]
    conllu.write_sentences(gold, tmp_path / "gold.conllu")
    conllu.write_sentences(others, tmp_path / "chains.conllu")
    page_file = tmp_path / "trees.html"
    assert (
        run(
            [
                "convert",
                str(tmp_path / "gold.conllu"),
                "-o",
                str(page_file),
                "--against",
                str(tmp_path / "chains.conllu"),
            ]
        )
        == 0
    )
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.goto(page_file.as_uri())
    assert page.locator("figure svg").count() == 3
    words = page.locator("figure svg").first.locator(".et-word").all_text_contents()
    assert words == list(gold[0].forms)
    assert page.locator("text.et-legend", has_text="only chains.conllu").count() == 3
    for frame in page.query_selector_all("figure .scroll"):
        assert frame.evaluate("f => f.scrollWidth - f.clientWidth") <= 0  # rows fit the page
    assert complaints == []
    page.close()
