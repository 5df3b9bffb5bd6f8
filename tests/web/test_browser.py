"""The pages in a real browser: Debian's Chromium, steered by Playwright."""

from __future__ import annotations

import shutil
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from eigentext.reports.drawing import arcs_svg, tree_svg
from eigentext.reports.html import Report
from eigentext.reports.plots import bar_plot, line_plot
from eigentext.trees.constituent import Tree
from eigentext.web.app import create_app
from eigentext.web.settings import ServiceSettings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.requires("chromium")

_ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"),
    *("--disable-component-update", "--disable-sync"),
]
DOG = "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where a real server, in a thread of its own, answers."""
    yield from served(ServiceSettings(max_characters=2_000))


@pytest.fixture(scope="module")
def parsing_address(dep_model: str) -> Iterator[str]:
    """The same with a parser."""
    yield from served(ServiceSettings(dep_model=dep_model))


def served(settings: ServiceSettings) -> Iterator[str]:
    """Serve an application until the test is done with it."""
    app = create_app(settings)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    for _ in range(600):
        if server.started or not thread.is_alive():
            break
        time.sleep(0.05)
    assert server.started, "the server did not start"
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(timeout=20)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A fresh page; whatever it complains about is kept in `page.complaints`."""
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    page = context.new_page()
    page.set_default_timeout(60_000)  # a busy machine is slow, not wrong
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("console", lambda m: page.complaints.append(m.text) if m.type == "error" else None)
    yield page
    context.close()


def drawn_words(page: Any, view: str) -> list[str]:
    """The words of a drawing, from left to right as the browser has placed them."""
    return page.eval_on_selector_all(  # type: ignore[no-any-return]
        f'[data-view="{view}"] svg .et-word',
        """words => words.map(w => [w.getBoundingClientRect().x, w.firstChild.data])
                         .sort((a, b) => a[0] - b[0]).map(pair => pair[1])""",
    )


class TestBench:
    def test_the_page_starts_with_an_example(self, page: Any, address: str) -> None:
        page.goto(address)
        page.wait_for_selector('[data-view="arcs"] svg')
        assert page.locator("#results svg").count() == 3
        assert page.locator("#version").inner_text().startswith("eigentext ")
        assert page.complaints == []

    def test_paste_a_tree_and_see_it(self, page: Any, address: str) -> None:
        page.goto(address)
        page.wait_for_selector("#results svg")
        page.fill("#input", DOG)
        page.click("#run")
        page.get_by_text("1 tree, 3 words").wait_for()
        for view in ("tree", "binarised", "arcs"):
            assert drawn_words(page, view) == ["the", "dog", "barks"]
        assert page.get_by_role("img", name="Constituent tree").count() == 1
        assert page.complaints == []

    def test_labels_are_as_wide_as_the_layout_thought(self, page: Any, address: str) -> None:
        page.goto(address)
        page.wait_for_selector("#results svg")
        page.fill(
            "#input", "(S (NP (NN internationalisation) (NN MMMWWW)) (VP (V 漢字漢字) (V iii)))"
        )
        page.keyboard.press("Control+Enter")
        page.get_by_text("1 tree, 4 words").wait_for()
        boxes = page.eval_on_selector_all(
            '[data-view="tree"] svg text',
            "all => all.map(t => { const b = t.getBBox(); return [b.x, b.y, b.width, b.height] })",
        )
        for i, (x, y, width, height) in enumerate(boxes):
            for x2, y2, width2, height2 in boxes[i + 1 :]:
                apart = (
                    x + width <= x2 or x2 + width2 <= x or y + height <= y2 or y2 + height2 <= y
                )
                assert apart, boxes

    def test_a_bad_tree_shows_its_line_in_place(self, page: Any, address: str) -> None:
        page.goto(address)
        page.wait_for_selector("#results svg")
        page.fill("#input", f"{DOG}\n(S (NP (NN cat))\n")
        page.press("#input", "Control+Enter")
        alert = page.get_by_role("alert")
        alert.wait_for()
        assert "Line 2" in alert.inner_text()
        assert "unbalanced" in alert.inner_text()
        assert page.locator("#results svg").count() == 0
        selected = page.evaluate(
            "() => { const t = document.getElementById('input');"
            "return t.value.slice(t.selectionStart, t.selectionEnd) }"
        )
        assert selected == "(S (NP (NN cat))"
        assert page.get_attribute("#input", "aria-invalid") == "true"
        page.fill("#input", DOG)  # typing takes the error away, drawing works again
        assert alert.count() == 0 or not alert.is_visible()
        page.press("#input", "Control+Enter")
        page.wait_for_selector("#results svg")

    def test_too_long_a_text_is_told_so(self, page: Any, address: str) -> None:
        page.goto(address)
        page.wait_for_selector("#results svg")
        page.fill("#input", "x" * 2_001)
        page.click("#run")
        page.get_by_text("at most 2,000 are read").wait_for()

    def test_raw_text_becomes_tokens_with_offsets(self, page: Any, address: str) -> None:
        page.goto(address)
        page.wait_for_selector("#results svg")
        page.get_by_text("Raw text", exact=True).click()
        page.wait_for_selector(".tokens")
        page.select_option("#scheme", "generic")
        page.fill("#input", "😀 Naïve <b>cats</b>.")
        page.click("#run")
        page.get_by_text("1 sentence,").wait_for()
        tokens = page.eval_on_selector_all(
            ".tokens li",
            "all => all.map(li => [li.children[0].innerText, li.children[1].innerText])",
        )
        assert tokens[0] == ["😀", "0–1"]
        assert tokens[1] == ["Naïve", "2–7"]
        assert ["cats", "11–15"] in tokens
        assert page.locator(".tokens li.changed").count() == 0
        assert page.complaints == []

    def test_right_to_left(self, page: Any, address: str) -> None:
        page.goto(address)
        page.wait_for_selector("#results svg")
        page.fill("#input", "(S (V كتب) (N الولد))")
        page.click("#run")
        page.get_by_text("1 tree, 2 words").wait_for()
        assert drawn_words(page, "tree") == ["الولد", "كتب"]
        page.get_by_text("Raw text", exact=True).click()
        page.wait_for_selector(".tokens")
        page.fill("#input", "ذهب الولد.")
        page.click("#run")
        page.get_by_text("1 sentence, 3 tokens").wait_for()
        places = page.eval_on_selector_all(
            ".tokens li", "all => all.map(li => li.getBoundingClientRect().x)"
        )
        assert places == sorted(places, reverse=True)

    def test_keyboard_alone_is_enough(self, page: Any, address: str) -> None:
        page.goto(address)
        page.wait_for_selector("#results svg")
        seen = []
        for _ in range(14):
            page.keyboard.press("Tab")
            seen.append(
                page.evaluate("() => document.activeElement.id || document.activeElement.name")
            )
        for name in ("mode", "heads", "example", "input", "run", "view"):
            assert name in seen
        page.focus('input[name="mode"][value="trees"]')
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(".tokens")

    def test_views_can_be_hidden(self, page: Any, address: str) -> None:
        page.goto(address)
        page.wait_for_selector("#results svg")
        assert not page.locator('[data-view="brackets"]').first.is_visible()
        page.get_by_label("Brackets", exact=True).check()
        assert page.locator('[data-view="brackets"]').first.is_visible()
        page.get_by_label("Binarised", exact=True).uncheck()
        assert not page.locator('[data-view="binarised"]').is_visible()

    @pytest.mark.parametrize("width", [320, 768])
    def test_a_narrow_window_does_not_scroll_sideways(
        self, page: Any, address: str, width: int
    ) -> None:
        page.set_viewport_size({"width": width, "height": 700})
        page.goto(address)
        page.wait_for_selector("#results svg")
        overflow = "() => document.documentElement.scrollWidth - window.innerWidth"
        assert page.evaluate(overflow) <= 0


class TestParsing:
    def test_sentences_get_their_arcs(self, page: Any, parsing_address: str) -> None:
        page.goto(parsing_address)
        page.wait_for_selector("#results svg")
        page.get_by_text("Parse", exact=True).click()
        page.get_by_text("2 sentences, 12 words parsed").wait_for()  # the first example
        page.fill("#input", "The farmer sold the horse.")
        page.select_option("#kbest", "3")
        page.get_by_text("1 sentence, 6 words parsed").wait_for()
        assert page.locator('[data-view="arcs"] svg').count() == 3
        first = page.locator('[data-view="arcs"]').first
        words = first.locator(".et-word").all_text_contents()
        assert words == ["The", "farmer", "sold", "the", "horse", "."]
        assert page.locator('[data-view="words"] tbody tr').count() == 6
        head = page.locator('[data-view="words"] tbody tr').nth(1).locator("td").nth(3)
        assert head.inner_text() == "3 sold"
        assert page.locator("text.et-legend").count() == 4  # two of the best tree, twice
        overflow = "() => document.documentElement.scrollWidth - window.innerWidth"
        assert page.evaluate(overflow) <= 0
        assert page.complaints == []

    def test_labels_do_not_overlap(self, page: Any, parsing_address: str) -> None:
        page.goto(parsing_address)
        page.wait_for_selector("#results svg")
        page.get_by_text("Parse", exact=True).click()
        page.get_by_text("words parsed").wait_for()
        for shape in page.query_selector_all("#results svg"):
            boxes = shape.evaluate(
                "svg => [...svg.querySelectorAll('text')].map(t => { const b = t.getBBox();"
                "return [b.x, b.y + 0.15 * b.height, b.width, 0.7 * b.height] })"
            )
            for i, (x, y, width, height) in enumerate(boxes):
                for x2, y2, width2, height2 in boxes[i + 1 :]:
                    beside = x + width <= x2 or x2 + width2 <= x
                    assert beside or y + height <= y2 or y2 + height2 <= y, boxes

    def test_each_kind_of_input_keeps_its_text(self, page: Any, parsing_address: str) -> None:
        page.goto(parsing_address)
        page.wait_for_selector("#results svg")
        page.fill("#input", DOG)
        page.get_by_text("Parse", exact=True).click()
        page.get_by_text("words parsed").wait_for()
        page.fill("#input", "He slept.")
        page.get_by_text("Raw text", exact=True).click()
        page.wait_for_selector(".tokens")
        page.get_by_text("Parse", exact=True).click()
        page.get_by_text("1 sentence, 3 words parsed").wait_for()
        page.get_by_text("Trees", exact=True).first.click()
        page.get_by_text("1 tree, 3 words").wait_for()
        assert page.input_value("#input") == DOG

    def test_without_a_parser_there_is_no_such_tab(self, page: Any, address: str) -> None:
        page.goto(address)
        page.wait_for_selector("#results svg")
        assert not page.get_by_text("Parse", exact=True).is_visible()


class TestReport:
    @pytest.fixture
    def report(self, tmp_path: Path) -> Path:
        tree = Tree.from_brackets(DOG)
        report = Report("A report", "with <everything>")
        report.section("Tables").table(
            ["name", "seconds"], [["b", 10.5], ["a", 9.0], ["c", None]], caption="Times"
        )
        report.section("Figures").figure(tree_svg(tree), "A tree")
        report.figure(arcs_svg(tree.words, [2, 3, 0]), "Arcs")
        report.figure(line_plot({"ours": ([1, 2], [3, 4])}), "Lines")
        report.figure(bar_plot(["x"], [1.0]), "Bars")
        report.section("Rest").details("More", "hidden at first", verbatim=True)
        report.write(tmp_path / "report.html")
        return tmp_path / "report.html"

    def test_it_opens_from_a_file_and_complains_about_nothing(
        self, page: Any, report: Path
    ) -> None:
        page.goto(report.as_uri())
        assert page.get_by_role("heading", name="A report").is_visible()
        assert page.get_by_text("with <everything>").is_visible()
        assert page.locator("tbody tr").count() == 3
        assert page.locator("figure svg").count() == 4
        assert not page.get_by_text("hidden at first").is_visible()
        page.get_by_text("More").click()
        assert page.get_by_text("hidden at first").is_visible()
        assert page.complaints == []

    def test_tables_sort_by_number_and_by_name(self, page: Any, report: Path) -> None:
        page.goto(report.as_uri())

        def names() -> list[str]:
            return page.locator("tbody td:first-child").all_inner_texts()  # type: ignore[no-any-return]

        assert names() == ["b", "a", "c"]
        page.get_by_role("button", name="seconds").click()
        assert names() == ["a", "b", "c"]
        page.get_by_role("button", name="seconds").click()
        assert names() == ["b", "a", "c"]  # what has no value stays last
        page.get_by_role("button", name="name").press("Enter")
        assert names() == ["a", "b", "c"]
        assert page.get_attribute("th:first-child", "aria-sort") == "ascending"

    def test_dark_mode_is_dark(self, browser: Any, report: Path) -> None:
        colours = {}
        for scheme in ("light", "dark"):
            page = browser.new_page(color_scheme=scheme)
            page.goto(report.as_uri())
            colours[scheme] = page.evaluate(
                "() => [getComputedStyle(document.body).backgroundColor,"
                "getComputedStyle(document.querySelector('svg text.et-word')).fill]"
            )
            page.close()
        assert colours["light"][0] == "rgb(255, 255, 255)"
        assert colours["dark"][0] != colours["light"][0]
        assert colours["dark"][1] != colours["light"][1]

    def test_without_scripts_it_reads_the_same(self, browser: Any, report: Path) -> None:
        context = browser.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto(report.as_uri())
        assert page.locator("tbody tr").count() == 3
        assert page.locator("th button").count() == 0
        context.close()
