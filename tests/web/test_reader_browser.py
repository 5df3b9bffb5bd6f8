"""The reading helper and the annotator in a real browser."""

from __future__ import annotations

import json
import shutil
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

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
TEXT = "وصلت زنمارية إلى المدينة، وقرأت كتابها في الحديقة."
LETTER = "كتب الولد رسالة إلى أمه."


@pytest.fixture(scope="module")
def address(lex_model: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a real server, in a thread of its own, answers."""
    store = tmp_path_factory.mktemp("store") / "a.db"
    app = create_app(ServiceSettings(lex_model=lex_model, annotations=str(store)))
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    for _ in range(600):
        if server.started or not thread.is_alive():
            break
        time.sleep(0.05)
    assert server.started, "the server did not start"
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
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
def page(browser: Any, address: str) -> Iterator[Any]:
    """The page as it opens; whatever it complains about is kept in `page.complaints`."""
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    page = context.new_page()
    page.set_default_timeout(60_000)  # a busy machine is slow, not wrong
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("console", lambda m: page.complaints.append(m.text) if m.type == "error" else None)
    page.goto(address)
    page.wait_for_selector("#results svg")
    yield page
    context.close()


def read(page: Any, text: str = TEXT) -> None:
    page.get_by_text("Read", exact=True).first.click()
    page.wait_for_selector(".reading .word")
    page.fill("#input", text)
    page.press("#input", "Control+Enter")
    page.locator(".reading").filter(has_text=text.split()[1]).wait_for()


def annotate(page: Any, name: str, text: str = LETTER) -> None:
    page.get_by_text("Annotate", exact=True).click()
    page.locator("#annotator").wait_for()
    page.fill("#annotator", name)
    page.fill("#input", text)
    page.click("#run")
    page.locator(".figures").wait_for()


def words(page: Any) -> list[str]:
    return page.locator(".reading .word").all_inner_texts()  # type: ignore[no-any-return]


def current(page: Any) -> str:
    return page.locator('.reading .word[aria-current="true"]').inner_text()  # type: ignore[no-any-return]


class TestReading:
    def test_text_runs_from_right_to_left_as_typed(self, page: Any) -> None:
        read(page)
        page.get_by_text("1 sentence, 10 words, 2 guessed").wait_for()
        assert page.get_attribute(".reading", "dir") == "rtl"
        assert page.inner_text(".reading").replace("?", "") == TEXT
        places = page.eval_on_selector_all(
            ".reading .word", "all => all.slice(0, 6).map(w => w.getBoundingClientRect().x)"
        )
        assert places == sorted(places, reverse=True)
        assert page.complaints == []

    def test_left_to_right_text_is_shown_so(self, page: Any) -> None:
        read(page, "one two three")
        assert page.get_attribute(".reading", "dir") == "ltr"

    def test_a_click_shows_readings_and_more_the_rest(self, page: Any) -> None:
        read(page, LETTER)
        page.locator(".reading .word").nth(1).click()
        page.locator(".candidate").first.wait_for()
        panel = page.locator("#readings")
        assert "الولد" in panel.locator("h3").inner_text()
        assert panel.locator(".candidate").count() == 3
        first = panel.locator(".candidate").first
        assert first.locator(".gloss").inner_text().startswith("boy")
        assert "noun, with the article, singular" in first.locator(".morphology").inner_text()
        assert "%" in first.locator(".chance").inner_text()
        assert first.locator(".facts").inner_text().split()[:2] == ["Root", "ولد"]
        pieces = first.locator(".vocalised .piece-before").all_inner_texts()
        assert pieces == ["الْ"]
        colours = first.locator(".vocalised span").evaluate_all(
            "all => all.map(one => getComputedStyle(one).color)"
        )
        assert len(set(colours)) == 2
        # without colour: the segments have words
        assert first.locator(".segments small").all_inner_texts() == ["the", "noun"]
        page.locator(".reading .word").nth(0).click()
        more = page.locator("#readings .more")
        left = int(more.inner_text().split()[0])
        more.click()
        assert panel.locator(".candidate").count() == 3 + left
        assert page.evaluate("() => document.activeElement.className") == "candidate"
        assert more.count() == 0

    def test_keyboard_alone_is_enough(self, page: Any) -> None:
        read(page, LETTER)
        page.locator(".reading .word").first.focus()
        page.keyboard.press("ArrowLeft")  # onwards, in this direction
        assert page.locator(".candidate").count() == 0
        page.keyboard.press("Enter")
        assert current(page) == "الولد"
        page.keyboard.press("End")
        assert current(page) == "."
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        assert current(page) == "كتب"
        # one stop for the tabulator, not one for every word
        assert page.locator('.reading .word[tabindex="0"]').count() == 1

    def test_vocalised_and_back(self, page: Any) -> None:
        read(page, LETTER)
        typed = words(page)
        page.get_by_label("Vocalised").check()
        assert words(page)[0] == "كَتَبَ"
        assert page.locator(".reading .word").first.get_attribute("aria-label") == "كتب"
        page.get_by_label("Vocalised").uncheck()
        assert words(page) == typed

    def test_guesses_are_marked_without_colour_too(self, page: Any) -> None:
        read(page)
        guess = page.locator(".reading .word").nth(1)
        assert "guessed" in guess.get_attribute("class")
        assert guess.get_attribute("aria-label") == "زنمارية, guessed"
        assert guess.evaluate("one => getComputedStyle(one, '::after').content").startswith('"?"')
        guess.click()
        page.get_by_text("its readings are guesses").wait_for()

    def test_markup_and_odd_signs_stay_text(self, page: Any) -> None:
        text = "كـــتاب <img src=x onerror=alert(1)> ل\u200dلا \u202eabc " + "ك" * 400
        read(page, text)
        assert page.locator(".reading img").count() == 0
        shown = page.evaluate("() => document.querySelector('.reading').textContent")
        assert shown == text
        for k in range(page.locator(".reading .word").count()):
            page.locator(".reading .word").nth(k).click()
        overflow = "() => document.documentElement.scrollWidth - window.innerWidth"
        assert page.evaluate(overflow) <= 0
        assert page.complaints == []

    @pytest.mark.parametrize("width", [320, 768])
    def test_a_narrow_window_shows_word_and_readings(self, page: Any, width: int) -> None:
        page.set_viewport_size({"width": width, "height": 700})
        read(page)
        page.locator(".reading .word").nth(6).click()
        page.locator(".candidate").first.wait_for()
        overflow = "() => document.documentElement.scrollWidth - window.innerWidth"
        assert page.evaluate(overflow) <= 0
        word = page.locator('.word[aria-current="true"]').bounding_box()
        panel = page.locator("#readings").bounding_box()
        assert word["y"] >= 0
        beside = panel["x"] >= word["x"] + word["width"]
        assert beside or word["y"] + word["height"] <= panel["y"] + 1, (word, panel)

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_contrast(self, browser: Any, address: str, scheme: str) -> None:
        page = browser.new_page(color_scheme=scheme)
        page.goto(address)
        page.wait_for_selector("#results svg")
        read(page, "وبالبيت كتابها زنمارية")
        for k in (0, 1):
            page.locator(".reading .word").nth(k).click()
            pairs = page.eval_on_selector_all(
                "#readings :is(span, small, p, dt, dd, b), .reading .word",
                """all => all.filter(one => one.innerText).map(one => {
                    let ground = one;
                    const bare = (e) => getComputedStyle(e).backgroundColor === 'rgba(0, 0, 0, 0)';
                    while (bare(ground)) ground = ground.parentElement;
                    return [getComputedStyle(one).color, getComputedStyle(ground).backgroundColor]
                })""",
            )
            assert pairs
            for ink, ground in pairs:
                assert contrast(ink, ground) >= 4.5, (ink, ground)
        page.close()


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2 between two opaque colours."""

    def light(colour: str) -> float:
        parts = [int(c) / 255 for c in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    bright, dark = sorted((light(one), light(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


class TestAnnotating:
    def test_keys_choose_save_and_move_on(self, page: Any) -> None:
        annotate(page, "keys")
        assert current(page) == "كتب"
        page.keyboard.press("2")
        page.locator('.reading .word[aria-current="true"]').filter(has_text="الولد").wait_for()
        assert page.inner_text(".figures").startswith("1 / 6 decided · A1 0.0 · A2 100.0")
        arabic = {"key": "١", "bubbles": True}  # as an Arabic keyboard gives it
        page.locator('.reading .word[aria-current="true"]').dispatch_event("keydown", arabic)
        page.locator('.reading .word[aria-current="true"]').filter(has_text="رسالة").wait_for()
        page.keyboard.press("0")
        page.locator('.reading .word[aria-current="true"]').filter(has_text="إلى").wait_for()
        assert page.locator(".reading .word.decided").count() == 3
        assert page.locator(".reading .word.refused").count() == 1
        assert page.inner_text(".figures").startswith("3 / 6 decided · A1 33.3 · A2 66.7")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert current(page) == "الولد"
        assert page.locator(".candidate.chosen").count() == 1
        page.keyboard.press("Control+z")
        page.get_by_text("Taken back").wait_for()
        page.get_by_role("button", name="Undo").click()
        page.locator(".figures").filter(has_text="1 / 6 decided").wait_for()
        # all of it is on the server
        page.reload()
        page.wait_for_selector("#results svg")
        page.get_by_text("Annotate", exact=True).click()
        assert page.input_value("#annotator") == "keys"
        page.locator("#document option").nth(1).wait_for(state="attached")
        number = page.locator("#document option").last.get_attribute("value")
        page.select_option("#document", number)
        page.locator(".figures").filter(has_text="1 / 6 decided").wait_for()
        page.get_by_role("link", name="training data").first.wait_for()
        with page.expect_download() as download:
            page.get_by_role("link", name="training data").first.click()
        path: Path = download.value.path()
        found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        assert found[0]["words"][0]["label"]["pos"] == "V"
        assert page.complaints == []

    def test_keys_are_left_alone_while_one_types(self, page: Any) -> None:
        annotate(page, "typist")
        page.focus("#annotator")
        page.keyboard.type("12")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Control+z")
        page.focus("#document")
        page.keyboard.press("1")
        page.get_by_text("Raw text", exact=True).click()  # and when another mode is on
        page.wait_for_selector(".tokens")
        page.keyboard.press("1")
        page.focus("#input")
        page.keyboard.type("1")
        page.get_by_text("Annotate", exact=True).click()
        page.fill("#annotator", "typist")
        page.locator("#annotator").press("Tab")
        page.locator(".figures").filter(has_text="0 / 6 decided").wait_for()

    def test_what_is_hidden_is_not_chosen_and_the_mouse_can_choose(self, page: Any) -> None:
        page.set_viewport_size({"width": 320, "height": 700})
        annotate(page, "mouse", LETTER + " " + TEXT)
        overflow = "() => document.documentElement.scrollWidth - window.innerWidth"
        assert page.evaluate(overflow) <= 0
        shown = page.locator(".candidate").count()
        assert shown == 3
        page.keyboard.press("4")  # below "more"
        page.get_by_role("button", name="Choose reading 3").click()
        page.locator(".figures").filter(has_text="1 / 16 decided").wait_for()
        assert "A2 0.0" in page.inner_text(".figures")
        number = page.input_value("#document")
        asked = f"{page.url}api/lex/documents/{number}?annotator=mouse"
        kept = page.request.get(asked).json()
        assert [one["rank"] for one in kept["decisions"]] == [3]
        assert kept["revision"] == 1

    def test_a_slow_list_of_texts_does_not_close_what_is_open(self, page: Any) -> None:
        waiting: list[Any] = []

        def delay(route: Any) -> None:
            if route.request.method == "GET" and not waiting:
                waiting.append(route)  # the first list stays on its way
            else:
                route.continue_()

        page.route("**/api/lex/documents", delay)
        annotate(page, "hasty")
        waiting[0].continue_()
        page.keyboard.press("1")
        page.locator(".figures").filter(has_text="1 / 6 decided").wait_for()
        assert page.input_value("#document") != ""

    def test_a_name_is_asked_for(self, page: Any) -> None:
        page.get_by_text("Annotate", exact=True).click()
        page.locator("#annotator").wait_for()
        page.fill("#annotator", "  ")
        page.select_option("#document", "")
        page.click("#run")
        page.get_by_text("Give a name first").wait_for()
        assert page.locator(".figures").count() == 0

    def test_a_choice_that_is_not_saved_says_so(self, page: Any) -> None:
        annotate(page, "unlucky")
        page.route("**/decisions*", lambda route: route.abort())
        page.keyboard.press("1")
        page.get_by_text("Not saved").wait_for()
        assert page.locator(".reading .word.decided").count() == 0
        assert current(page) == "كتب"
        page.unroute("**/decisions*")
        page.keyboard.press("1")
        page.locator(".reading .word.decided").first.wait_for()

    def test_decisions_made_elsewhere_are_taken_in(self, page: Any) -> None:
        annotate(page, "twice")
        number = page.input_value("#document")
        url = f"{page.url}api/lex/documents/{number}/decisions"
        body = {"annotator": "twice", "sentence": 0, "word": 4, "label": {"pos": "N"}}
        assert page.request.post(url, data=body).ok
        page.keyboard.press("1")
        page.locator(".figures").filter(has_text="2 / 6 decided").wait_for()
        assert page.locator(".reading .word.decided").count() == 2
