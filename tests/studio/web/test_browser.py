"""The pages in a real browser: Debian's Chromium, steered by Playwright."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from eigentext.drawing.constituents import arcs_svg, tree_svg
from eigentext.drawing.plots import line_plot
from eigentext.language.trees.constituent import Tree
from eigentext.reports.html import Report

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


def settled(page: Any) -> None:
    """Wait until everything that was asked for is answered and shown."""
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")


def opened(page: Any, address: str) -> None:
    """Open the bench and wait for its first example."""
    page.goto(f"{address}/tools")
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
        choose(page, "Tokens")
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
        choose(page, "Tokens")
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
        page.get_by_role("checkbox", name="Brackets").check()
        expect(page.locator('[data-view="brackets"]').first).to_be_visible()
        page.get_by_role("checkbox", name="Binarised").uncheck()
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
    def test_text_and_choices_are_in_the_address(self, page: Any, address: str) -> None:
        opened(page, address)
        draw(page, DOG)
        page.select_option("#heads", "neutral")
        settled(page)
        choose(page, "Tokens")
        page.select_option("#scheme", "generic")
        settled(page)
        draw(page, "He slept & <dreamt>.")
        page.reload()
        settled(page)
        expect(page.get_by_label("Tokens", exact=True)).to_be_checked()
        expect(page.locator("#input")).to_have_value("He slept & <dreamt>.")
        expect(page.locator("#scheme")).to_have_value("generic")
        expect(page.locator("#status")).to_contain_text("1 sentence,")
        page.go_back()  # to the text that was there before
        settled(page)
        expect(page.get_by_label("Tokens", exact=True)).to_be_checked()
        expect(page.locator("#input")).not_to_have_value("He slept & <dreamt>.")
        for _ in range(2):
            page.go_back()
            settled(page)
        expect(page.locator("#input")).to_have_value(DOG)
        expect(page.locator("#heads")).to_have_value("neutral")
        expect(page.locator("#status")).to_have_text("1 tree, 3 words")
        page.go_back()
        settled(page)
        expect(page.locator("#heads")).to_have_value("english")
        page.go_forward()
        settled(page)
        expect(page.locator("#heads")).to_have_value("neutral")
        assert page.complaints == []

    def test_a_long_text_is_kept_in_the_fragment(self, page: Any, address: str) -> None:
        opened(page, address)
        text = " ".join([DOG] * 40)
        draw(page, text)
        assert "#text=" in page.url
        page.get_by_text("Skip to the results").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#results")).to_be_focused()
        page.reload()
        settled(page)
        expect(page.locator("#input")).to_have_value(text)
        expect(page.locator("#status")).to_contain_text("40 trees")


class TestConverting:
    def test_a_tree_becomes_dependencies_to_take_away(self, page: Any, address: str) -> None:
        opened(page, address)
        choose(page, "Convert")
        draw(page, DOG)
        expect(page.locator("#status")).to_have_text("1 sentence converted")
        expect(page.locator("#results pre")).to_contain_text("barks")
        with page.expect_download() as download:
            page.get_by_role("button", name="Save File").click()
        shown = page.locator("#results pre").inner_text()
        saved = download.value.path().read_text("utf-8")
        assert saved.strip() == shown.strip()
        page.select_option("#target", "tokens")
        settled(page)
        expect(page.locator("#results pre")).to_have_text("the dog barks\n")
        draw(page, "(S (NP")
        expect(page.get_by_role("alert")).to_contain_text("Line 1")


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
