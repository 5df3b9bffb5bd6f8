"""The page of words in a real browser: mouse, keys alone, phone, dark, addresses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

import eigentext
from eigentext.words.embeddings.vectors import WordSpace, load_words
from helpers.accessibility import findings
from helpers.pages import opened, saved, settled, sideways
from helpers.studio_models import HOSTILE
from helpers.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.requires("chromium")

VIEWS = {
    "word": "view=word&word=dog",
    "tree": "view=tree",
    "analogy": "view=analogy&model=near&a=the&b=dog&c=a",
    "map": "view=map&model=near&seek=dog",
    "compare": "view=compare&model=near&other=flat&word=dog",
    "unknown": "view=word&word=gardenn",
}


@pytest.fixture(scope="module")
def address(serve: Callable[..., Any], word_models: tuple[str, ...]) -> Iterator[str]:
    with serve(models=word_models) as address:
        yield f"{address}/words"


def words_of(page: Any, where: str) -> list[str]:
    return [text.split("\n")[0] for text in page.locator(where).all_inner_texts()]


def test_the_tree_with_the_mouse(page: Any, address: str, word_models: tuple[str, ...]) -> None:
    opened(page, address)
    expect(page.get_by_role("radio", name="Clusters")).to_be_checked()
    tree = eigentext.load(word_models[0]).tree()
    expect(page.locator("h2").first).to_contain_text(f"{len(tree.bits)} clusters")
    page.locator("#blocks button[data-prefix='1']").click()
    settled(page)
    expect(page.locator("h2").first).to_contain_text("Prefix 1")
    assert "prefix=1" in page.url
    expect(page.locator("#prefix")).to_have_value("1")
    node = tree.nodes[tree.node_at("1") or 0]
    chips = page.locator("[data-view=words] .chips bdi").all_inner_texts()
    assert chips == tree.examples(node, 60)
    page.locator("#blocks button").first.click()  # the top one goes up
    settled(page)
    expect(page.locator("h2").first).to_contain_text("All words")
    page.go_back()
    settled(page)
    expect(page.locator("h2").first).to_contain_text("Prefix 1")
    page.reload()
    settled(page)
    expect(page.locator("h2").first).to_contain_text("Prefix 1")
    page.select_option("#weight", "tokens")
    expect(page.locator("#blocks button").first).to_be_visible()
    svg = ElementTree.fromstring(saved(page, page.get_by_role("button", name="Save SVG")))
    assert svg.tag.endswith("svg")
    assert saved(page, page.get_by_role("button", name="Save PNG"))[:4] == b"\x89PNG"
    assert page.complaints == []


def test_the_tree_with_keys_alone(page: Any, address: str) -> None:
    opened(page, address)
    page.locator("#blocks button").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#blocks button:focus")).to_have_attribute("data-prefix", "1")
    page.keyboard.press("Enter")
    expect(page.locator("h2").first).to_contain_text("Prefix 1")
    settled(page)
    expect(page.locator("#blocks button:focus")).to_have_attribute("data-prefix", "1")
    page.keyboard.press("Escape")
    expect(page.locator("h2").first).to_contain_text("All words")
    settled(page)
    page.focus("#prefix")
    page.keyboard.type("01")
    page.keyboard.press("Enter")
    expect(page.locator("h2").first).to_contain_text("Prefix 01")
    settled(page)
    page.fill("#prefix", "0" * 50)
    page.press("#prefix", "Enter")
    settled(page)
    expect(page.get_by_role("alert")).to_contain_text("no cluster begins with")
    expect(page.locator("#results article")).to_have_count(0)


def test_look_a_word_up(page: Any, address: str, word_models: tuple[str, ...]) -> None:
    opened(page, f"{address}?view=word&model=near")
    expect(page.locator("#status")).to_contain_text("Type a word")
    page.focus("#word")
    page.keyboard.type("garde")
    expect(page.locator("#found option").first).to_have_attribute("value", "garden")
    page.keyboard.type("n")
    page.keyboard.press("Enter")
    expect(page.locator("h2.big")).to_have_text("garden")
    settled(page)
    words, vectors = load_words(word_models[1])
    expected = WordSpace(words, vectors).nearest(["garden"], 10)[0]
    rows = page.locator("[data-view=neighbours] tbody tr").all_inner_texts()
    assert [row.split() for row in rows] == [[w, f"{c:.4f}"] for w, c in expected]
    path = eigentext.load(word_models[0]).word_paths()["garden"]
    expect(page.locator("dd").filter(has_text=path).first).to_have_text(path)
    tsv = saved(page, page.get_by_role("button", name="Save TSV: neighbours.tsv")).decode()
    assert tsv.splitlines()[1:] == [f"garden\t{w}\t{c:.4f}" for w, c in expected]
    page.locator("[data-view=neighbours] a").first.click()
    expect(page.locator("h2.big")).to_have_text(expected[0][0])
    page.go_back()
    expect(page.locator("h2.big")).to_have_text("garden")
    settled(page)
    page.locator(".crumbs a").last.click()  # to its place in the tree of the model with clusters
    expect(page.locator("h2").first).to_contain_text(f"Prefix {path}")
    expect(page.locator("#model")).to_have_value("groups")
    settled(page)
    page.select_option("#model", "near")
    settled(page)
    expect(page.get_by_role("alert")).to_contain_text("near has vectors, not clusters")


def test_unknown_words_are_said_plainly(page: Any, address: str) -> None:
    opened(page, f"{address}?view=word&word=gardenn")
    expect(page.locator(".unknown")).to_contain_text("does not know this word")
    expect(page.locator("#status")).to_contain_text("'gardenn' is not in the vocabulary")
    page.get_by_role("link", name="garden").click()
    expect(page.locator("h2.big")).to_have_text("garden")
    opened(page, f"{address}?view=analogy&model=near&a=qqq&b=the&c=dog")
    expect(page.locator(".unknown")).to_contain_text("qqq")
    opened(page, f"{address}?view=compare&model=near&other=flat&word=qqq")
    expect(page.locator(".unknown")).to_contain_text("near and flat")


def test_analogies(page: Any, address: str, word_models: tuple[str, ...]) -> None:
    opened(page, f"{address}?view=analogy&model=near")
    for field, word in (("#a", "the"), ("#b", "dog"), ("#c", "a")):
        page.fill(field, word)
    page.keyboard.press("Enter")
    words, vectors = load_words(word_models[1])
    best = WordSpace(words, vectors).nearest(["the:dog::a"], 1)[0][0][0]
    expect(page.locator("#results h2")).to_have_text(f"the is to dog as a is to {best}")
    page.reload()
    expect(page.locator("#results h2")).to_have_text(f"the is to dog as a is to {best}")
    page.select_option("#model", "groups")
    settled(page)
    expect(page.get_by_role("alert")).to_contain_text("analogies need vectors; near, flat have")


def at(page: Any, word: int) -> float:
    """How far from the left the dot of a word is."""
    dot = f"document.querySelector(\"#plane path[data-word='{word}']\")"
    return float(page.evaluate(f"{dot}.getBoundingClientRect().x"))


def zoomed_in(page: Any) -> None:
    """Wait until some words are out of view; a page may not evaluate text, so from here."""
    until(lambda: page.locator("#plane path").count() < 200)


def test_the_map_with_the_mouse(page: Any, address: str) -> None:
    opened(page, f"{address}?view=map&model=near&n=200")
    expect(page.locator("#plane path")).to_have_count(200)
    assert page.locator(".key li").count() in (2, 3, 4)
    page.get_by_role("button", name="Zoom in").click()
    zoomed_in(page)
    page.get_by_role("button", name="Whole map").click()
    expect(page.locator("#plane path")).to_have_count(200)
    box = page.locator("#plane").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before = at(page, 0)
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 60, middle[1] + 20, steps=4)
    page.mouse.up()
    until(lambda: abs(at(page, 0) - before - 60) < 2)
    page.focus("#plane")

    def wheel_zooms() -> bool:  # again, since a turn that comes while the page draws may be lost
        page.mouse.wheel(0, -400)
        return int(page.locator("#plane path").count()) < 200

    until(wheel_zooms)
    page.locator("#plane text").last.click()
    expect(page.locator("#about a")).to_have_text("look it up")
    svg = saved(page, page.get_by_role("button", name="Save SVG: map.svg"))
    assert ElementTree.fromstring(svg).attrib["role"] == "img"
    assert saved(page, page.get_by_role("button", name="Save PNG: map.png"))[:4] == b"\x89PNG"
    told = json.loads(saved(page, page.get_by_role("button", name="Save JSON: map.json")))
    assert len(told["words"]) == 200
    assert page.complaints == []


def test_the_map_with_keys_alone(page: Any, address: str) -> None:
    opened(page, f"{address}?view=map&model=near&n=200")
    expect(page.locator("#plane path")).to_have_count(200)
    page.focus("#plane")
    for key in ("+", "+", "+", "ArrowLeft", "ArrowDown"):
        page.keyboard.press(key)
    zoomed_in(page)
    page.keyboard.press("n")
    expect(page.locator("#about a")).to_have_text("look it up")
    first = page.locator("#about bdi").inner_text()
    page.keyboard.press("n")
    expect(page.locator("#about bdi")).not_to_have_text(first)
    page.keyboard.press("p")
    expect(page.locator("#about bdi")).to_have_text(first)
    page.keyboard.press("0")
    expect(page.locator("#plane path")).to_have_count(200)
    page.keyboard.press("/")
    expect(page.locator("#seek")).to_be_focused()
    page.keyboard.type("farmer")
    expect(page.locator("#about bdi")).to_have_text("farmer")
    expect(page.locator("#plane text[font-weight='700']")).to_contain_text("farmer")
    assert "seek=farmer" in page.url
    page.keyboard.type("zzz")
    expect(page.locator("#about")).to_contain_text("No word on this map begins with")
    page.locator("#in-view button").first.press("Enter")
    expect(page.locator("#about a")).to_have_text("look it up")
    opened(page, f"{address}?view=map&model=near&seek=farmer")
    expect(page.locator("#about bdi")).to_have_text("farmer")


def test_a_view_takes_a_model_that_has_what_it_needs(page: Any, address: str) -> None:
    opened(page, address)  # the first model has clusters
    chosen = page.locator("#model")
    first = chosen.input_value()
    for view, needs in (("Map", "vectors"), ("Clusters", "clusters"), ("Analogy", "vectors")):
        page.get_by_text(view, exact=True).click()
        settled(page)
        expect(page.locator("[role=alert]:visible")).to_have_count(0)
        assert (chosen.input_value() == first) == (needs == "clusters")


def test_two_models(page: Any, address: str) -> None:
    opened(page, f"{address}?view=compare&model=near&other=flat")
    expect(page.locator("[data-view=moved] tbody tr")).to_have_count(30)
    page.fill("#word", "dog")
    page.press("#word", "Enter")
    expect(page.locator(".sides ol")).to_have_count(2)
    settled(page)
    assert page.locator(".sides li").count() == 20
    expect(page.locator(".sides li").first).to_contain_text("here only")
    link = page.locator(".sides a").first.get_attribute("href")
    assert link.startswith("/words?view=compare&model=near&other=flat&word=")  # for another tab
    page.select_option("#other", "near")
    settled(page)
    expect(page.locator(".sides li").first).to_contain_text("in both")
    expect(page.locator("[data-view=sides] h3").first).to_contain_text("overlap of 100 %")
    expect(page.locator(".note").first).to_contain_text("one model beside itself")
    page.locator("[data-view=moved] tbody a").first.click()
    settled(page)
    assert "word=" in page.url


def test_hostile_words_are_harmless(page: Any, address: str) -> None:
    page.on("dialog", lambda dialog: page.complaints.append(dialog.message))
    for word in HOSTILE:
        opened(page, f"{address}?view=word&word={quote(word)}")
        expect(page.locator("h2.big")).to_have_text(word)
        assert page.locator("#results b, #results script").count() == 0
    page.fill("#word", "<img src=x onerror=alert(1)>")
    page.press("#word", "Enter")
    settled(page)
    expect(page.locator(".unknown h2")).to_have_text("<img src=x onerror=alert(1)>")
    opened(page, f"{address}?view=map&model=near&n=2000")
    expect(page.locator("#plane")).to_be_visible()
    assert page.locator("#results script").count() == 0
    assert page.complaints == []


def test_old_results_go_at_once(page: Any, address: str) -> None:
    opened(page, f"{address}?view=word&word=dog")
    held: list[Any] = []
    page.route("**/api/words/look", lambda route: held.append(route))
    page.fill("#word", "garden")
    page.press("#word", "Enter")
    expect(page.locator("#status")).to_have_text("Working …")
    expect(page.locator("#results article")).to_have_count(0)
    expect(page.locator("#results")).to_have_attribute("aria-busy", "true")
    while len(held) < 2:  # one for each model that is asked
        page.wait_for_timeout(20)
    for route in held:
        route.continue_()
    expect(page.locator("h2.big")).to_have_text("garden")
    page.unroute("**/api/words/look")
    page.route("**/api/words/look", lambda route: route.abort())
    page.fill("#word", "dog")
    page.press("#word", "Enter")
    expect(page.get_by_role("alert")).to_contain_text("does not answer")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page: Any, address: str, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    for name, query in VIEWS.items():
        opened(page, f"{address}?{query}")
        assert findings(page) == [], name


def test_on_a_phone(page: Any, address: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    for name, query in VIEWS.items():
        opened(page, f"{address}?{query}")
        assert sideways(page) <= 0, name
    opened(page, f"{address}?view=word&word={quote(HOSTILE[5])}")
    assert sideways(page) <= 0


def test_without_models_the_page_says_so(serve: Callable[..., Any], page: Any) -> None:
    with serve() as address:
        opened(page, f"{address}/words")
        expect(page.locator("#status")).to_contain_text("no model of words")
        expect(page.locator("#form")).to_be_hidden()
