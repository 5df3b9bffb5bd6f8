"""The page of sequences in a real browser: mouse, keys alone, phone, dark, addresses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

import eigentext
from helpers.accessibility import findings
from helpers.pages import opened, saved, settled, sideways

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.requires("chromium")

SENTENCE = ["The", "farmer", "slept", "."]
TEXT = "The farmer slept."


@pytest.fixture(scope="module")
def address(serve: Callable[..., Any], sequence_models: tuple[str, ...]) -> Iterator[str]:
    with serve(models=sequence_models, max_characters=20_000) as address:
        yield f"{address}/sequences"


def read(page: Any, text: str) -> None:
    page.fill("#input", text)
    page.press("#input", "Control+Enter")
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
    settled(page)


def test_a_text_by_states(page: Any, address: str, sequence_models: tuple[str, ...]) -> None:
    opened(page, address)
    read(page, TEXT)
    model = eigentext.load(sequence_models[0])
    states, posteriors = model.predict([SENTENCE])[0], model.predict_proba([SENTENCE])[0]
    nats = model.surprisals([SENTENCE])[0]
    expected = [
        f"{token}, state {state} · {p[state]:.2f}, surprisal {s:.2f}"
        for token, state, p, s in zip(SENTENCE, states, posteriors, nats, strict=True)
    ]
    assert page.locator(".read li").all_text_contents() == expected
    expect(page.locator("#status")).to_have_text(
        f"1 sentence, 4 words, perplexity {model.perplexity([SENTENCE]):,.2f}"
    )
    assert page.locator(".legend button").count() == len(set(states.tolist()))
    page.locator(".legend button").first.click()
    expect(page.locator(".legend button").first).to_have_attribute("aria-pressed", "true")
    assert 0 < page.locator(".read li.on").count() <= 4
    page.get_by_text("Table of all words").click()
    expect(page.locator("#read tbody tr")).to_have_count(4)
    tsv = saved(page, page.get_by_role("button", name="Save TSV: text.tsv")).decode()
    assert [row.split("\t")[1] for row in tsv.splitlines()] == ["token", *SENTENCE]
    told = json.loads(saved(page, page.get_by_role("button", name="Save JSON: text.json")))
    assert [t["surprisal"] for t in told["sentences"][0]["tokens"]] == nats.tolist()
    assert page.complaints == []


def test_states_and_transitions(page: Any, address: str, sequence_models: tuple[str, ...]) -> None:
    opened(page, address)
    model = eigentext.load(sequence_models[0])
    rows = page.locator("#states tbody tr")
    expect(rows).to_have_count(model.parameters_.n_states)
    assert page.get_by_role("img", name="5 states").count() == 1
    svg = saved(page, page.get_by_role("button", name="Save SVG: transitions-chain.svg"))
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    png = saved(page, page.get_by_role("button", name="Save PNG: transitions-chain.png"))
    assert png[:4] == b"\x89PNG"


def test_other_models(page: Any, address: str) -> None:
    opened(page, f"{address}?text={quote(TEXT)}")
    page.select_option("#model", "operators")
    settled(page)
    expect(page.locator("#states h2")).to_contain_text("Operators of")
    expect(page.locator("#method-field")).to_be_hidden()
    expect(page.locator("#results")).to_have_class("by-surprisal")
    assert ", surprisal " in page.locator(".read li").first.text_content()
    page.select_option("#model", "tags")
    settled(page)
    expect(page.locator("#states h2")).to_contain_text("Tags of")
    first = page.locator(".read li").first.text_content()
    assert first.startswith("The, tag D")
    assert "surprisal" not in first
    page.go_back()
    settled(page)
    expect(page.locator("#states h2")).to_contain_text("Operators of")
    page.go_back()
    settled(page)
    expect(page.locator("#states h2")).to_contain_text("States of")
    expect(page.locator("#input")).to_have_value(TEXT)


def test_a_model_of_blocks(page: Any, address: str) -> None:
    opened(page, f"{address}?text={quote(TEXT)}")
    page.select_option("#model", "blocks")
    settled(page)
    expect(page.locator("#states .note")).to_contain_text("too many to list")
    expect(page.locator("#method-field")).to_be_visible()
    first = page.locator(".read li").first.text_content()
    assert first.startswith("The, state ")
    assert ", surprisal " in first
    expect(page.locator(".legend button").first).to_be_visible()


def test_the_address_keeps_the_question(page: Any, address: str) -> None:
    opened(page, address)
    page.select_option("#method", "posterior")
    page.get_by_text("Surprisal", exact=True).click()
    read(page, "كتب الولد <b>رسالة</b>.")
    assert "method=posterior" in page.url
    page.reload()
    settled(page)
    expect(page.locator("#input")).to_have_value("كتب الولد <b>رسالة</b>.")
    expect(page.locator("#method")).to_have_value("posterior")
    expect(page.get_by_role("radio", name="Surprisal")).to_be_checked()
    expect(page.locator("#results")).to_have_class("by-surprisal")
    assert page.eval_on_selector(".read", "e => getComputedStyle(e).direction") == "rtl"
    assert page.locator("#results .read b b").count() == 0


def test_with_keys_alone(page: Any, address: str) -> None:
    opened(page, address)
    page.focus("#input")
    page.keyboard.press("Control+a")
    page.keyboard.type(TEXT)
    page.keyboard.press("Tab")
    expect(page.locator("#run")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".read li")).to_have_count(4)
    settled(page)
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")  # colours show surprisal
    expect(page.locator("#results")).to_have_class("by-surprisal")
    page.keyboard.press("Tab")
    expect(page.locator(".legend button").first).to_be_focused()
    page.keyboard.press("Space")
    expect(page.locator(".legend button").first).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Space")
    expect(page.locator(".legend button").first).to_have_attribute("aria-pressed", "false")


def test_bad_texts(page: Any, address: str) -> None:
    page.on("dialog", lambda dialog: page.complaints.append(dialog.message))
    opened(page, address)
    read(page, "<script>alert(1)</script> \u202eevil <img src=x onerror=alert(1)>")
    assert page.locator("#results script, #results img").count() == 0
    assert page.complaints == []
    for many, why in ((30_000, "at most 20,000"), (260_000, "1,000,000 bytes")):
        read(page, "💥" * many)
        expect(page.get_by_role("alert")).to_contain_text(why)
        expect(page.locator("#results article")).to_have_count(0)
    read(page, "")
    expect(page.locator("#read")).to_contain_text("There is no word in this text.")
    assert [one for one in page.complaints if "413" not in one] == []


def test_old_results_go_at_once(page: Any, address: str) -> None:
    opened(page, address)
    held: list[Any] = []
    page.route("**/api/sequences/text", lambda route: held.append(route))
    page.click("#run")
    expect(page.locator("#status")).to_have_text("Working …")
    expect(page.locator("#results article")).to_have_count(0)
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    expect(page.locator("#results article")).to_have_count(2)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page: Any, address: str, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    for query in ("", "?colour=surprisal", "?model=operators", "?model=tags"):
        opened(page, address + query)
        assert findings(page) == [], query


def test_on_a_phone(page: Any, address: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    for query in ("", "?model=operators", "?model=tags", f"?text={'x' * 300}"):
        opened(page, address + query)
        assert sideways(page) <= 0, query


def test_without_models_the_page_says_so(serve: Callable[..., Any], page: Any) -> None:
    with serve() as address:
        opened(page, f"{address}/sequences")
        expect(page.locator("#status")).to_contain_text("no model of sequences")
        expect(page.locator("#form")).to_be_hidden()
