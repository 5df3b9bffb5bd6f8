"""Annotating with a finger, on a phone: taps and drags in every task, light and dark, Arabic."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from helpers.annotate_pages import ARABIC, TREEBANK, begin, enter, no_findings, saved, word
from helpers.pages import sideways

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.requires("chromium"), pytest.mark.long]

TREE = "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"
MIXED = f"{ARABIC}\n\n{ARABIC}"


@pytest.fixture
def phone(browser: Any) -> Iterator[Any]:
    """A page on a small screen that is touched; what it complains about is kept."""
    context = browser.new_context(
        viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    yield page
    assert page.complaints == []
    context.close()


def drag(page: Any, start: Any, end: Any) -> None:
    """Put a finger down on one element, and lift it on another."""
    start.scroll_into_view_if_needed()
    boxes = [one.bounding_box() for one in (start, end)]
    (x, y), (to_x, to_y) = (
        (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes
    )
    finger = page.context.new_cdp_session(page)

    def touch(kind: str, second: float, *points: tuple[float, float]) -> None:
        listed = [{"x": x, "y": y} for x, y in points]
        told = {"type": kind, "touchPoints": listed, "timestamp": begun + second}
        finger.send("Input.dispatchTouchEvent", told)

    begun = time.time()  # slowly: a finger that is flung off stops the tap that comes next
    touch("touchStart", 0, (x, y))
    for step in range(1, 6):
        touch("touchMove", step, (x + (to_x - x) * step / 5, y + (to_y - y) * step / 5))
    touch("touchMove", 6, (to_x, to_y))
    touch("touchEnd", 7)


def test_readings(phone: Any, address: str) -> None:
    enter(phone, address)
    begin(phone, "tapped readings", "lexical", ARABIC, form="text", Language="ar")
    word(phone, 1).tap()
    expect(word(phone, 1)).to_have_attribute("aria-selected", "true")
    phone.locator(".choice").first.tap()
    saved(phone, 1)
    expect(word(phone, 1)).to_have_class(re.compile("decided"))
    phone.get_by_role("button", name="None is right (0)").tap()
    saved(phone, 2)
    phone.get_by_role("button", name="Undo").tap()
    expect(phone.locator("#saved")).to_have_text("Taken back.")
    assert sideways(phone) <= 0


def test_arcs(phone: Any, address: str) -> None:
    enter(phone, address)
    begin(phone, "tapped arcs", "dependency", TREEBANK)
    word(phone, 0).tap()
    phone.get_by_role("button", name=re.compile("Choose its head")).tap()
    word(phone, 2).tap()
    saved(phone, 1)
    expect(word(phone, 0).locator("small")).to_contain_text("← barks")
    # in the drawing: an arc by its menu, a word by a drag onto its head
    phone.locator('.et-arc[data-dependent="1"] .et-relation').tap()
    phone.get_by_role("menuitem", name="Clear what is asked here").tap()
    saved(phone, 2)
    expect(word(phone, 0)).not_to_have_class(re.compile("decided"))
    places = phone.locator(".drawing .et-place")
    drag(phone, places.nth(0), places.nth(2))
    saved(phone, 3)
    expect(word(phone, 0).locator("small")).to_contain_text("← barks")
    phone.get_by_role("button", name="Accept and go on").tap()
    expect(phone.locator(".bench h2")).to_contain_text("Sentence 2")


def test_constituents(phone: Any, address: str) -> None:
    enter(phone, address)
    begin(phone, "tapped spans", "constituency", TREE, form="ptb")
    phone.locator('.et-node[data-label="NP"]').tap()
    phone.get_by_role("menuitem", name="Forbid any constituent here").tap()
    saved(phone, 1)
    expect(phone.locator('.et-node[data-start="0"][data-end="2"]')).to_have_count(0)
    drag(phone, word(phone, 1), word(phone, 2))
    expect(phone.locator(".selection")).to_have_text("dog barks")
    phone.get_by_label("Label of the span").fill("VP")
    phone.get_by_role("button", name="Is a constituent (L)").tap()
    saved(phone, 2)
    expect(phone.locator('.et-node[data-start="1"][data-end="3"]')).to_have_count(1)
    drawn = phone.locator('.drawing .et-node[data-role="word"]')
    drag(phone, drawn.nth(1), drawn.nth(2))
    expect(phone.get_by_role("menu", name="dog barks")).to_be_visible()
    phone.get_by_role("menuitem", name="Clear what is asked here").tap()
    saved(phone, 3)


def test_entities(phone: Any, address: str) -> None:
    enter(phone, address)
    begin(phone, "tapped names", "entities", TREEBANK, **{"Labels to offer": "PER LOC"})
    drag(phone, word(phone, 0), word(phone, 1))
    expect(phone.locator(".selection")).to_have_text("the dog")
    phone.locator(".choice", has_text="LOC").tap()
    saved(phone, 1)
    expect(word(phone, 0).locator("small")).to_have_text("LOC")
    word(phone, 2).tap()
    expect(phone.locator(".selection")).to_have_text("barks")


def test_tags(phone: Any, address: str) -> None:
    enter(phone, address)
    begin(phone, "tapped tags", "tags", TREEBANK)
    word(phone, 1).tap()
    phone.get_by_label("Search in all candidates").fill("intj")
    expect(phone.locator(".choice")).to_have_count(1)
    phone.locator(".choice").tap()
    saved(phone, 1)
    expect(word(phone, 1).locator("small")).to_contain_text("INTJ")


def test_cuts(phone: Any, address: str) -> None:
    enter(phone, address)
    begin(phone, "tapped cuts", "segmentation", "Ja gut.", form="text")
    phone.locator('[data-at="4"]').tap()
    expect(phone.locator('[data-at="4"]')).to_have_attribute("aria-selected", "true")
    phone.get_by_role("button", name="Word begins (W)").tap()
    saved(phone, 1)
    expect(phone.locator('[data-at="4"]')).to_have_class(re.compile("cut-word.*decided"))


@pytest.mark.parametrize(
    ("task", "text", "form"),
    [
        ("lexical", MIXED, "text"),
        ("tags", MIXED, "text"),
        ("dependency", MIXED, "text"),
        ("constituency", MIXED, "text"),
        ("entities", MIXED, "text"),
        ("segmentation", MIXED, "text"),
    ],
)
def test_arabic_on_a_phone_in_the_dark(
    phone: Any, address: str, task: str, text: str, form: str
) -> None:
    phone.emulate_media(color_scheme="dark")
    enter(phone, address)
    begin(phone, f"عربي {task}", task, text, form=form, Language="ar")
    row = phone.locator(".word-row, .cut-row")
    assert row.evaluate("one => getComputedStyle(one).direction") == "rtl"
    first, second = (
        phone.locator(".word-row [data-word], .cut-row [data-at]:enabled").nth(k) for k in (0, 1)
    )
    assert first.bounding_box()["x"] > second.bounding_box()["x"]
    assert sideways(phone) <= 0
    light = "one => getComputedStyle(one).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
    assert max(phone.locator("body").evaluate(light)) < 80  # it is dark
    no_findings(phone)
