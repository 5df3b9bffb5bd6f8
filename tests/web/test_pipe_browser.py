"""The pipeline's part of the page, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.requires("chromium")


@pytest.fixture(scope="module")
def address(serve: Callable[..., Any], pipe_models: tuple[str, str]) -> Iterator[str]:
    with serve(pipes=pipe_models, max_trees=2, max_pipe_characters=500) as address:
        yield address


def settled(page: Any) -> None:
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")


def asked(page: Any, text: str) -> None:
    page.fill("#input", text)
    page.click("#run")
    settled(page)


def test_text_becomes_trees_and_tables(page: Any, address: str) -> None:
    page.goto(address)
    settled(page)
    expect(page.get_by_role("radio", name="Pipeline")).to_be_checked()
    asked(page, "Ana va al mar. El puerto corre.")
    expect(page.locator("#status")).to_have_text("2 sentences, 10 words by spanish-toy")
    expect(page.locator("#results article")).to_have_count(2)
    expect(page.get_by_role("img", name="Dependencies")).to_have_count(2)
    rows = page.locator("#results article").first.locator("tbody tr")
    cells = [row.split("\t") for row in rows.all_inner_texts()]
    assert cells[1][:4] == ["2", "va", "ir", "VERB"]
    assert [row[-2] for row in cells] == [
        "2\u00a0va",
        "root",
        *["5\u00a0mar"] * 2,
        *["2\u00a0va"] * 2,
    ]
    expect(rows.nth(2)).to_have_attribute("title", "typed: al")  # a word of a multiword token
    assert page.locator("th[scope=col]").first.is_visible()
    assert page.complaints == []


def test_another_model_and_what_it_lacks(page: Any, address: str) -> None:
    page.goto(address)
    settled(page)
    page.fill("#input", "Eva corre.")
    page.select_option("#pipe-model", "spanish-short")
    settled(page)
    expect(page.locator("#status")).to_have_text(
        "1 sentence, 3 words by spanish-short \u00b7 0 trees drawn"
    )
    expect(page.locator("#results svg")).to_have_count(0)
    assert "relation" not in page.locator("#results thead").inner_text()
    page.reload()  # the choice and the text are kept
    settled(page)
    expect(page.locator("#pipe-model")).to_have_value("spanish-short")
    expect(page.locator("#input")).to_have_value("Eva corre.")


def test_long_texts(page: Any, address: str) -> None:
    page.goto(address)
    settled(page)
    asked(page, "Eva corre.\n\n" * 3)
    expect(page.locator("#status")).to_contain_text("2 trees drawn")
    expect(page.locator("#results article")).to_have_count(3)
    asked(page, "x" * 501)
    expect(page.get_by_role("alert")).to_contain_text("at most 500")
    asked(page, "")
    expect(page.locator("#results article")).to_have_count(0)
    assert [c for c in page.complaints if "413" not in c] == []


def test_text_is_text(page: Any, address: str) -> None:
    page.goto(address)
    settled(page)
    asked(page, "<img/src=x> va al <b>mar</b>.")
    expect(page.locator("#results img")).to_have_count(0)
    expect(page.locator("#results b")).to_have_count(0)
    assert page.complaints == []


def test_without_pipelines_there_is_no_tab(serve: Callable[..., Any], page: Any) -> None:
    with serve() as address:
        page.goto(address)
        settled(page)
        expect(page.locator("#pipe-mode")).to_be_hidden()
        expect(page.get_by_role("radio", name="Trees")).to_be_checked()
