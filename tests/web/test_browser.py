"""The pages in a real browser: Debian's Chromium, steered by Playwright."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from eigentext.drawing.constituents import arcs_svg, tree_svg
from eigentext.drawing.plots import bar_plot, line_plot
from eigentext.reports.html import Report
from eigentext.trees.constituent import Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Serve = Callable[..., Any]

pytestmark = pytest.mark.requires("chromium")

DOG = "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"


@pytest.fixture(scope="module")
def address(serve: Serve) -> Iterator[str]:
    """Where a real server answers."""
    with serve(max_characters=2_000) as address:
        yield address


@pytest.fixture(scope="module")
def parsing_address(serve: Serve, dep_model: str) -> Iterator[str]:
    """The same with a parser."""
    with serve(dep_model=dep_model) as address:
        yield address


def settled(page: Any) -> None:
    """Wait until everything that was asked for is answered and shown."""
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")


def opened(page: Any, address: str) -> None:
    """Open the bench and wait for its first example."""
    page.goto(address)
    settled(page)
    expect(page.locator("#results svg")).to_have_count(3)


def choose(page: Any, mode: str) -> None:
    """Choose a kind of input and wait for its example."""
    page.get_by_text(mode, exact=True).first.click()
    settled(page)


def draw(page: Any, text: str) -> None:
    """Ask about a text and wait for what comes."""
    page.fill("#input", text)
    page.press("#input", "Control+Enter")
    settled(page)


def drawn_words(page: Any, view: str) -> list[str]:
    """The words of a drawing, from left to right as the browser has placed them."""
    return page.eval_on_selector_all(  # type: ignore[no-any-return]
        f'[data-view="{view}"] svg .et-word',
        """words => words.map(w => [w.getBoundingClientRect().x, w.firstChild.data])
                         .sort((a, b) => a[0] - b[0]).map(pair => pair[1])""",
    )


class TestBench:
    def test_the_page_starts_with_an_example(self, page: Any, address: str) -> None:
        opened(page, address)
        expect(page.locator('[data-view="arcs"] svg')).to_have_count(1)
        expect(page.locator("#version")).to_contain_text("eigentext ")
        assert page.complaints == []

    def test_paste_a_tree_and_see_it(self, page: Any, address: str) -> None:
        opened(page, address)
        page.fill("#input", DOG)
        page.click("#run")
        settled(page)
        expect(page.locator("#status")).to_have_text("1 tree, 3 words")
        for view in ("tree", "binarised", "arcs"):
            assert drawn_words(page, view) == ["the", "dog", "barks"]
        expect(page.get_by_role("img", name="Constituent tree")).to_have_count(1)
        assert page.complaints == []

    def test_labels_are_as_wide_as_the_layout_thought(self, page: Any, address: str) -> None:
        opened(page, address)
        draw(page, "(S (NP (NN internationalisation) (NN MMMWWW)) (VP (V 漢字漢字) (V iii)))")
        expect(page.locator("#status")).to_have_text("1 tree, 4 words")
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
        opened(page, address)
        draw(page, f"{DOG}\n(S (NP (NN cat))\n")
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text("Line 2")
        expect(alert).to_contain_text("unbalanced")
        expect(page.locator("#results svg")).to_have_count(0)
        selected = page.evaluate(
            "() => { const t = document.getElementById('input');"
            "return t.value.slice(t.selectionStart, t.selectionEnd) }"
        )
        assert selected == "(S (NP (NN cat))"
        expect(page.locator("#input")).to_have_attribute("aria-invalid", "true")
        page.fill("#input", DOG)  # typing takes the error away, drawing works again
        expect(page.locator("#error")).to_be_hidden()
        page.press("#input", "Control+Enter")
        expect(page.locator("#results svg")).to_have_count(3)

    def test_too_long_a_text_is_told_so(self, page: Any, address: str) -> None:
        opened(page, address)
        page.fill("#input", "x" * 2_001)
        page.click("#run")
        expect(page.get_by_role("alert")).to_contain_text("at most 2,000 are read")

    def test_raw_text_becomes_tokens_with_offsets(self, page: Any, address: str) -> None:
        opened(page, address)
        choose(page, "Raw text")
        page.select_option("#scheme", "generic")
        settled(page)
        draw(page, "😀 Naïve <b>cats</b>.")
        expect(page.locator("#status")).to_contain_text("1 sentence,")
        tokens = page.eval_on_selector_all(
            ".tokens li",
            "all => all.map(li => [li.children[0].innerText, li.children[1].innerText])",
        )
        assert tokens[0] == ["😀", "0–1"]
        assert tokens[1] == ["Naïve", "2–7"]
        assert ["cats", "11–15"] in tokens
        expect(page.locator(".tokens li.changed")).to_have_count(0)
        assert page.complaints == []

    def test_right_to_left(self, page: Any, address: str) -> None:
        opened(page, address)
        draw(page, "(S (V كتب) (N الولد))")
        expect(page.locator("#status")).to_have_text("1 tree, 2 words")
        assert drawn_words(page, "tree") == ["الولد", "كتب"]
        choose(page, "Raw text")
        draw(page, "ذهب الولد.")
        expect(page.locator("#status")).to_contain_text("1 sentence, 3 tokens")
        places = page.eval_on_selector_all(
            ".tokens li", "all => all.map(li => li.getBoundingClientRect().x)"
        )
        assert places == sorted(places, reverse=True)

    def test_keyboard_alone_is_enough(self, page: Any, address: str) -> None:
        opened(page, address)
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
        expect(page.locator(".tokens").first).to_be_visible()

    def test_views_can_be_hidden(self, page: Any, address: str) -> None:
        opened(page, address)
        expect(page.locator('[data-view="brackets"]').first).to_be_hidden()
        page.get_by_label("Brackets", exact=True).check()
        expect(page.locator('[data-view="brackets"]').first).to_be_visible()
        page.get_by_label("Binarised", exact=True).uncheck()
        expect(page.locator('[data-view="binarised"]')).to_be_hidden()

    @pytest.mark.parametrize("width", [320, 768])
    def test_a_narrow_window_does_not_scroll_sideways(
        self, page: Any, address: str, width: int
    ) -> None:
        page.set_viewport_size({"width": width, "height": 700})
        opened(page, address)
        overflow = "() => document.documentElement.scrollWidth - window.innerWidth"
        assert page.evaluate(overflow) <= 0


class TestReloading:
    def test_mode_text_and_choices_are_as_before(self, page: Any, parsing_address: str) -> None:
        opened(page, parsing_address)
        draw(page, DOG)
        choose(page, "Parse")
        page.select_option("#kbest", "3")
        settled(page)
        page.select_option("#scheme", "generic")
        settled(page)
        draw(page, "He slept.")
        page.fill("#input", "The farmer slept.")  # typed, but not asked for
        page.reload()
        settled(page)
        expect(page.get_by_label("Parse", exact=True)).to_be_checked()
        expect(page.locator("#input")).to_have_value("The farmer slept.")
        expect(page.locator("#kbest")).to_have_value("3")
        expect(page.locator("#scheme")).to_have_value("generic")
        expect(page.locator("#status")).to_have_text("1 sentence, 4 words parsed")
        choose(page, "Trees")
        expect(page.locator("#input")).to_have_value(DOG)
        assert page.complaints == []


class TestParsing:
    def test_sentences_get_their_arcs(self, page: Any, parsing_address: str) -> None:
        opened(page, parsing_address)
        choose(page, "Parse")
        expect(page.locator("#status")).to_have_text("2 sentences, 12 words parsed")
        page.fill("#input", "The farmer sold the horse.")
        page.select_option("#kbest", "3")
        settled(page)
        expect(page.locator("#status")).to_have_text("1 sentence, 6 words parsed")
        expect(page.locator('[data-view="arcs"] svg')).to_have_count(3)
        expect(page.locator('[data-view="arcs"]').first.locator(".et-word")).to_have_text(
            ["The", "farmer", "sold", "the", "horse", "."]
        )
        rows = page.locator('[data-view="words"] tbody tr')
        expect(rows).to_have_count(6)
        expect(rows.nth(1).locator("td").nth(3)).to_have_text("3 sold")
        # two of the best tree, twice
        expect(page.locator("text.et-legend")).to_have_count(4)
        overflow = "() => document.documentElement.scrollWidth - window.innerWidth"
        assert page.evaluate(overflow) <= 0
        assert page.complaints == []

    def test_labels_do_not_overlap(self, page: Any, parsing_address: str) -> None:
        opened(page, parsing_address)
        choose(page, "Parse")
        expect(page.locator("#status")).to_contain_text("words parsed")
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
        opened(page, parsing_address)
        page.fill("#input", DOG)
        choose(page, "Parse")
        expect(page.locator("#status")).to_contain_text("words parsed")
        page.fill("#input", "He slept.")
        choose(page, "Raw text")
        expect(page.locator(".tokens").first).to_be_visible()
        choose(page, "Parse")
        expect(page.locator("#status")).to_have_text("1 sentence, 3 words parsed")
        choose(page, "Trees")
        expect(page.locator("#status")).to_have_text("1 tree, 3 words")
        expect(page.locator("#input")).to_have_value(DOG)

    def test_without_a_parser_there_is_no_such_tab(self, page: Any, address: str) -> None:
        opened(page, address)
        expect(page.get_by_text("Parse", exact=True)).to_be_hidden()


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
        expect(page.get_by_role("heading", name="A report")).to_be_visible()
        expect(page.get_by_text("with <everything>")).to_be_visible()
        expect(page.locator("tbody tr")).to_have_count(3)
        expect(page.locator("figure svg")).to_have_count(4)
        expect(page.get_by_text("hidden at first")).to_be_hidden()
        page.get_by_text("More").click()
        expect(page.get_by_text("hidden at first")).to_be_visible()
        assert page.complaints == []

    def test_tables_sort_by_number_and_by_name(self, page: Any, report: Path) -> None:
        page.goto(report.as_uri())
        names = page.locator("tbody td:first-child")
        expect(names).to_have_text(["b", "a", "c"])
        page.get_by_role("button", name="seconds").click()
        expect(names).to_have_text(["a", "b", "c"])
        page.get_by_role("button", name="seconds").click()
        expect(names).to_have_text(["b", "a", "c"])  # what has no value stays last
        page.get_by_role("button", name="name").press("Enter")
        expect(names).to_have_text(["a", "b", "c"])
        expect(page.locator("th:first-child")).to_have_attribute("aria-sort", "ascending")

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
        expect(page.locator("tbody tr")).to_have_count(3)
        expect(page.locator("th button")).to_have_count(0)
        context.close()
