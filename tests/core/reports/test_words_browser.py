"""The page about word clusters in a real browser: Debian's Chromium, steered by Playwright."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from eigentext.drawing.words_tree import tree_of_paths
from eigentext.language.formats.brown_paths import PathEntry
from eigentext.reports.words_page import PageVectors, words_report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.requires("chromium"), pytest.mark.long]

_ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"),
    *("--disable-component-update", "--disable-sync"),
]
NASTY = '<img src=x onerror="document.title=1">'
ENTRIES = [
    *(("000", "of", 90), ("000", "for", 20), ("001", "in", 80), ("001", "at", 30)),
    *(("010", "the", 200), ("010", "a", 70), ("011", "10", 5), ("011", "1984", 4)),
    *(("1000", "cat", 12), ("1000", "dog", 11), ("1000", "Cat", 2), ("1001", "مدينة", 9)),
    *(("101", NASTY, 8), ("101", "</script>", 7), ("110", "👩‍🔬", 6), ("110", 'say "hi"', 3)),
    *((f"111{k:05b}", f"name{k}", 2) for k in range(32)),
    *(("11111111", f"rare{k}", 1) for k in range(70)),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    words = ["the", "cat", "dog", "of", "in"]
    vectors = np.array([[1.0, 0, 0], [0, 1, 0.1], [0, 1, 0], [1, 0, 0.5], [1, 0, 0.6]])
    tree = tree_of_paths(PathEntry(*entry) for entry in ENTRIES)
    file: Path = tmp_path_factory.mktemp("words") / "page.html"
    words_report(tree, vectors=PageVectors(words, vectors)).write(file)
    return file.as_uri()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """The page, opened; it must not complain, nor ask for anything else."""
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    page = context.new_page()
    page.set_default_timeout(60_000)  # a busy machine is slow, not wrong
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("request", lambda r: complaints.append(r.url) if r.url[:4] == "http" else None)
    page.goto(address)
    page.wait_for_selector("#wb-tree [role=treeitem]")
    yield page
    assert complaints == []
    assert page.title() == "Word clusters"
    context.close()


def find(page: Any, text: str) -> None:
    page.fill("#wb-search", text)
    page.press("#wb-search", "Enter")


def detail(page: Any) -> str:
    return page.inner_text("#wb-detail")  # type: ignore[no-any-return]


def crumbs(page: Any) -> str:
    return page.text_content(".crumbs").removeprefix("all")  # type: ignore[no-any-return]


def chosen_row(page: Any) -> str:
    return page.inner_text('#wb-tree [aria-selected="true"]')  # type: ignore[no-any-return]


def shown_blocks(page: Any) -> list[str]:
    return page.eval_on_selector_all(  # type: ignore[no-any-return]
        "#wb-picture button", "all => all.map(b => b.getAttribute('aria-label').split(',')[0])"
    )


def test_a_word_shows_its_path_its_cluster_and_its_neighbours(page: Any) -> None:
    find(page, "cat")
    assert page.inner_text("#wb-detail h3") == "cat"
    assert crumbs(page) == "1000"
    text = detail(page)
    assert "seen 12 times, word 1 of its cluster" in text
    chips = page.locator("#wb-detail .chips")
    assert chips.nth(0).locator(".chip bdi").all_inner_texts()[0] == "dog"  # by its vector
    assert chips.nth(1).locator(".chip bdi").all_inner_texts() == ["cat", "dog", "Cat"]
    near = page.locator("#wb-detail .row .to").all_inner_texts()
    assert near == ["1001", "101", "11", "0"]
    assert page.evaluate("() => location.hash") == "#word=cat"
    page.reload()
    assert page.inner_text("#wb-detail h3") == "cat"  # the address brings it back


def test_the_list_offers_words_as_they_are_typed(page: Any) -> None:
    page.fill("#wb-search", "ca")
    offers = page.locator("#wb-list [role=option] bdi")
    assert offers.all_inner_texts() == ["cat", "Cat"]
    page.press("#wb-search", "ArrowDown")
    assert page.get_attribute("#wb-search", "aria-activedescendant") == "wb-offer-1"
    page.press("#wb-search", "Enter")
    assert page.inner_text("#wb-detail h3") == "Cat"
    assert page.locator("#wb-list").is_hidden()
    find(page, "no such word")
    assert "no word like no such word here" in page.text_content("#wb-list")
    page.press("#wb-search", "Escape")
    assert page.locator("#wb-list").is_hidden()
    page.fill("#wb-search", "dog")
    page.locator("#wb-list li").first.click()
    assert page.inner_text("#wb-detail h3") == "dog"


def test_bits_are_prefixes_first_and_words_too(page: Any) -> None:
    page.fill("#wb-search", "10")
    assert page.locator("#wb-list li").all_inner_texts()[:2] == ["prefix\n10", "10\n011"]
    page.press("#wb-search", "Enter")
    assert crumbs(page) == "10"
    assert "3 clusters · 6 words · 49 tokens" in detail(page)
    find(page, "111000")  # no paths part there: the next prefix below, where they do
    assert crumbs(page) == "111000"


def test_a_click_on_a_bit_goes_to_the_prefix(page: Any) -> None:
    find(page, "dog")
    page.locator(".crumbs button").nth(2).click()  # all, 1, 10
    assert crumbs(page) == "10"
    assert page.inner_text("#wb-detail h3") == "Prefix"
    assert page.locator("#wb-detail .row .to").all_inner_texts()[:3] == ["…00", "…01", "…1"]
    page.locator(".row .to").nth(1).click()
    assert crumbs(page) == "1001"
    page.get_by_role("button", name="all", exact=True).click()
    assert page.inner_text("#wb-detail h3") == "All words"


def test_zoom_in_and_out(page: Any) -> None:
    assert shown_blocks(page)[0] == "all words"
    assert page.get_by_role("button", name="Zoom out").is_disabled()
    page.locator('#wb-picture [aria-label^="0,"]').click()
    assert shown_blocks(page)[0] == "0"
    assert all(name.startswith("0") for name in shown_blocks(page))
    first = page.locator("#wb-picture button").first
    box, frame = first.bounding_box(), page.locator("#wb-picture").bounding_box()
    assert abs(box["width"] - frame["width"]) < 2  # what is zoomed into has all the room
    page.get_by_role("button", name="Zoom out").click()
    assert shown_blocks(page)[0] == "all words"
    find(page, "rare3")
    assert "below 1111" in page.inner_text("#wb-at")
    page.get_by_role("button", name="Whole tree").click()
    assert shown_blocks(page)[0] == "all words"
    page.get_by_role("button", name="Zoom in").click()
    assert shown_blocks(page)[0] == "1111111"


def test_widths_follow_what_is_asked_for(page: Any) -> None:
    def width() -> float:
        return page.locator('#wb-picture [aria-label^="0,"]').bounding_box()["width"]  # type: ignore[no-any-return]

    total = page.locator("#wb-picture").bounding_box()["width"]
    page.select_option("#wb-weight", "clusters")
    assert abs(width() / total - 4 / len({bits for bits, _, _ in ENTRIES})) < 0.01
    page.select_option("#wb-weight", "tokens")
    assert abs(width() / total - 499 / sum(count for _, _, count in ENTRIES)) < 0.01


def test_the_tree_folds_by_keyboard(page: Any) -> None:
    page.focus('#wb-tree [tabindex="0"]')
    assert chosen_row(page).startswith("all")
    n_rows = page.locator("#wb-tree [role=treeitem]").count()
    page.keyboard.press("ArrowLeft")
    assert page.locator("#wb-tree [role=treeitem]").count() == 1
    page.keyboard.press("ArrowRight")
    assert page.locator("#wb-tree [role=treeitem]").count() == n_rows
    page.keyboard.press("ArrowDown")
    assert crumbs(page) == "0"
    page.keyboard.press("ArrowLeft")
    assert page.locator("#wb-tree [aria-level='3']").first.inner_text()[0] == "0"
    assert page.get_attribute("#wb-tree [aria-selected=true]", "aria-expanded") == "false"
    page.keyboard.press("End")
    assert crumbs(page).startswith("1")
    page.keyboard.press("Home")
    assert chosen_row(page).startswith("all")
    focused = page.evaluate("() => document.activeElement.getAttribute('role')")
    assert focused == "treeitem"


def test_the_picture_is_usable_by_keyboard(page: Any) -> None:
    def label() -> str:
        return page.evaluate(  # type: ignore[no-any-return]
            "() => document.activeElement.getAttribute('aria-label').split(',')[0]"
        )

    page.focus('#wb-picture [tabindex="0"]')
    page.keyboard.press("ArrowDown")
    assert label() == "0"
    page.keyboard.press("ArrowRight")
    assert label() == "1"
    page.keyboard.press("Enter")
    assert crumbs(page) == "1"
    assert label() == "1"
    assert shown_blocks(page)[0] == "1"
    page.keyboard.press("-")
    assert shown_blocks(page)[0] == "all words"
    assert label() == "1"
    page.keyboard.press("/")
    assert page.evaluate("() => document.activeElement.id") == "wb-search"


@pytest.mark.parametrize("word", [NASTY, "</script>", "👩‍🔬", 'say "hi"', "مدينة"])
def test_odd_words_are_found_and_shown(page: Any, word: str) -> None:
    find(page, word)
    assert page.text_content("#wb-detail h3") == word
    assert page.locator("#wb-detail img, #wb-tree img, #wb-picture img").count() == 0


def test_long_clusters_open_on_demand(page: Any) -> None:
    find(page, "rare0")
    chips = page.locator("#wb-detail .chips .chip")
    assert chips.count() == 50
    page.get_by_role("button", name="show 21 more").click()
    assert chips.count() == 71
    find(page, "rare69")
    assert "rare69" in chips.last.inner_text()  # beyond the fold, yet shown


@pytest.mark.parametrize("width", [320, 768])
def test_a_narrow_window_does_not_scroll_sideways(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    find(page, "rare0")
    overflow = "() => document.documentElement.scrollWidth - window.innerWidth"
    assert page.evaluate(overflow) <= 0


def test_dark_mode_and_no_scripts(browser: Any, address: str) -> None:
    look = "() => getComputedStyle(document.querySelector('#wb-picture button')).backgroundColor"
    colours = set()
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        page.goto(address)
        page.wait_for_selector("#wb-picture button")
        colours.add(page.evaluate(look))
        page.close()
    assert len(colours) == 2
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.locator("#wb-browser").is_hidden()
    assert page.get_by_text("Browsing needs JavaScript").is_visible()
    assert page.locator("figure svg").count() == 2
    context.close()


def test_headings_of_numbers_line_up_with_the_numbers(browser: Any, tmp_path: Path) -> None:
    """The arrow of a sortable heading takes no room: both end at the same place."""
    from eigentext.reports.html import Report

    rows = [(1, 12.5, "a"), (22, 3.25, "b"), (333, 100.0, "c")]
    Report("t").table(("states", "sentences a second", "what"), rows).write(tmp_path / "t.html")
    page = browser.new_page()
    page.goto((tmp_path / "t.html").as_uri())
    edges = page.evaluate(
        """() => [0, 1].map((column) => {
          const right = (node) => {
            const range = document.createRange();
            range.selectNodeContents(node);
            return range.getBoundingClientRect().right;
          };
          const heading = document.querySelectorAll("th button")[column].firstChild;
          const number = document.querySelector("tbody tr").cells[column].firstChild;
          return [right(heading), right(number)];
        })"""
    )
    for heading, number in edges:
        assert abs(heading - number) < 1.0
    page.close()
