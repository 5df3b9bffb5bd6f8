"""The reading helper and the annotator in a real browser."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Serve = Callable[..., Any]

pytestmark = pytest.mark.requires("chromium")

TEXT = "وصلت زنمارية إلى المدينة، وقرأت كتابها في الحديقة."
LETTER = "كتب الولد رسالة إلى أمه."


@pytest.fixture(scope="module")
def address(
    serve: Serve, lex_model: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Where a real server answers."""
    store = tmp_path_factory.mktemp("store") / "a.db"
    with serve(lex_model=lex_model, annotations=str(store)) as address:
        yield address


def settled(page: Any) -> None:
    """Wait until everything that was asked for is answered and shown."""
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")


@pytest.fixture
def bench(page: Any, address: str) -> Any:
    """The page as it opens."""
    page.goto(address)
    settled(page)
    return page


def choose(page: Any, mode: str) -> None:
    page.get_by_text(mode, exact=True).first.click()
    settled(page)


def read(page: Any, text: str = TEXT) -> None:
    choose(page, "Read")
    page.fill("#input", text)
    page.press("#input", "Control+Enter")
    settled(page)
    expect(page.locator(".reading")).to_have_text(text)


def annotate(page: Any, name: str, text: str = LETTER) -> None:
    choose(page, "Annotate")
    page.fill("#annotator", name)
    page.fill("#input", text)
    page.click("#run")
    settled(page)
    expect(page.locator(".figures")).to_be_visible()


def words(page: Any) -> Any:
    return page.locator(".reading .word")


def current(page: Any) -> Any:
    return page.locator('.reading .word[aria-current="true"]')


def figures(page: Any, start: str) -> None:
    """Wait until the progress is as told."""
    expect(page.locator(".figures")).to_contain_text(start)


def fits(page: Any) -> None:
    """The page does not scroll sideways."""
    overflow = "() => document.documentElement.scrollWidth - window.innerWidth"
    assert page.evaluate(overflow) <= 0


class TestReading:
    def test_text_runs_from_right_to_left_as_typed(self, bench: Any) -> None:
        read(bench)
        expect(bench.locator("#status")).to_have_text("1 sentence, 10 words, 2 guessed")
        expect(bench.locator(".reading")).to_have_attribute("dir", "rtl")
        places = bench.eval_on_selector_all(
            ".reading .word", "all => all.slice(0, 6).map(w => w.getBoundingClientRect().x)"
        )
        assert places == sorted(places, reverse=True)
        assert bench.complaints == []

    def test_left_to_right_text_is_shown_so(self, bench: Any) -> None:
        read(bench, "one two three")
        expect(bench.locator(".reading")).to_have_attribute("dir", "ltr")

    def test_a_click_shows_readings_and_more_the_rest(self, bench: Any) -> None:
        read(bench, LETTER)
        words(bench).nth(1).click()
        panel = bench.locator("#readings")
        expect(panel.locator("h3")).to_contain_text("الولد")
        expect(panel.locator(".candidate")).to_have_count(3)
        first = panel.locator(".candidate").first
        expect(first.locator(".gloss")).to_contain_text("boy")
        expect(first.locator(".morphology")).to_contain_text("noun, with the article, singular")
        expect(first.locator(".chance")).to_contain_text("%")
        expect(first.locator(".facts dt").first).to_have_text("Root")
        expect(first.locator(".facts dd").first).to_have_text("ولد")
        expect(first.locator(".vocalised .piece-before")).to_have_text(["الْ"])
        colours = first.locator(".vocalised span").evaluate_all(
            "all => all.map(one => getComputedStyle(one).color)"
        )
        assert len(set(colours)) == 2
        # without colour: the segments have words
        expect(first.locator(".segments small")).to_have_text(["the", "noun"])
        words(bench).nth(0).click()
        expect(panel.locator("h3")).to_contain_text("كتب")
        more = panel.locator(".more")
        left = int(more.inner_text().split()[0])
        more.click()
        expect(panel.locator(".candidate")).to_have_count(3 + left)
        expect(panel.locator(".candidate").nth(3)).to_be_focused()
        expect(more).to_have_count(0)

    def test_keyboard_alone_is_enough(self, bench: Any) -> None:
        read(bench, LETTER)
        words(bench).first.focus()
        bench.keyboard.press("ArrowLeft")  # onwards, in this direction
        expect(words(bench).nth(1)).to_be_focused()
        expect(bench.locator(".candidate")).to_have_count(0)
        bench.keyboard.press("Enter")
        expect(current(bench)).to_have_text("الولد")
        bench.keyboard.press("End")
        expect(current(bench)).to_have_text(".")
        bench.keyboard.press("Home")
        bench.keyboard.press("ArrowRight")
        expect(current(bench)).to_have_text("كتب")
        # one stop for the tabulator, not one for every word
        expect(bench.locator('.reading .word[tabindex="0"]')).to_have_count(1)

    def test_vocalised_and_back(self, bench: Any) -> None:
        read(bench, LETTER)
        typed = ["كتب", "الولد", "رسالة", "إلى", "أمه", "."]
        expect(words(bench)).to_have_text(typed)
        bench.get_by_label("Vocalised").check()
        expect(words(bench).first).to_have_text("كَتَبَ")
        expect(words(bench).first).to_have_attribute("aria-label", "كتب")
        bench.get_by_label("Vocalised").uncheck()
        expect(words(bench)).to_have_text(typed)

    def test_guesses_are_marked_without_colour_too(self, bench: Any) -> None:
        read(bench)
        guess = words(bench).nth(1)
        expect(guess).to_have_class(re.compile(r"\bguessed\b"))
        expect(guess).to_have_attribute("aria-label", "زنمارية, guessed")
        assert guess.evaluate("one => getComputedStyle(one, '::after').content").startswith('"?"')
        guess.click()
        expect(bench.locator("#readings")).to_contain_text("its readings are guesses")

    def test_markup_and_odd_signs_stay_text(self, bench: Any) -> None:
        text = "كـــتاب <img src=x onerror=alert(1)> ل\u200dلا \u202eabc " + "ك" * 400
        read(bench, text)
        expect(bench.locator(".reading img")).to_have_count(0)
        shown = bench.evaluate("() => document.querySelector('.reading').textContent")
        assert shown == text
        for k in range(words(bench).count()):
            words(bench).nth(k).click()
            expect(words(bench).nth(k)).to_have_attribute("aria-current", "true")
        fits(bench)
        assert bench.complaints == []

    @pytest.mark.parametrize("width", [320, 768])
    def test_a_narrow_window_shows_word_and_readings(self, bench: Any, width: int) -> None:
        bench.set_viewport_size({"width": width, "height": 700})
        read(bench)
        words(bench).nth(6).click()
        expect(bench.locator(".candidate").first).to_be_visible()
        fits(bench)
        word = current(bench).bounding_box()
        panel = bench.locator("#readings").bounding_box()
        assert word["y"] >= 0
        beside = panel["x"] >= word["x"] + word["width"]
        assert beside or word["y"] + word["height"] <= panel["y"] + 1, (word, panel)

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_contrast(self, bench: Any, scheme: str) -> None:
        bench.emulate_media(color_scheme=scheme)
        read(bench, "وبالبيت كتابها زنمارية")
        for k in (0, 1):
            words(bench).nth(k).click()
            expect(words(bench).nth(k)).to_have_attribute("aria-current", "true")
            pairs = bench.eval_on_selector_all(
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


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2 between two opaque colours."""

    def light(colour: str) -> float:
        parts = [int(c) / 255 for c in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    bright, dark = sorted((light(one), light(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


class TestAnnotating:
    def test_keys_choose_save_and_move_on(self, bench: Any) -> None:
        annotate(bench, "keys")
        expect(current(bench)).to_have_text("كتب")
        bench.keyboard.press("2")
        expect(current(bench)).to_have_text("الولد")
        figures(bench, "1 / 6 decided · A1 0.0 · A2 100.0")
        arabic = {"key": "١", "bubbles": True}  # as an Arabic keyboard gives it
        current(bench).dispatch_event("keydown", arabic)
        expect(current(bench)).to_have_text("رسالة")
        bench.keyboard.press("0")
        expect(current(bench)).to_have_text("إلى")
        expect(bench.locator(".reading .word.decided")).to_have_count(3)
        expect(bench.locator(".reading .word.refused")).to_have_count(1)
        figures(bench, "3 / 6 decided · A1 33.3 · A2 66.7")
        bench.keyboard.press("ArrowRight")
        bench.keyboard.press("ArrowRight")
        expect(current(bench)).to_have_text("الولد")
        expect(bench.locator(".candidate.chosen")).to_have_count(1)
        bench.keyboard.press("Control+z")
        expect(bench.locator("#status")).to_contain_text("Taken back")
        settled(bench)
        bench.get_by_role("button", name="Undo").click()
        figures(bench, "1 / 6 decided")
        settled(bench)
        # all of it is on the server, and the page opens where it was
        bench.reload()
        settled(bench)
        expect(bench.get_by_label("Annotate", exact=True)).to_be_checked()
        expect(bench.locator("#annotator")).to_have_value("keys")
        figures(bench, "1 / 6 decided")
        with bench.expect_download() as download:
            bench.get_by_role("link", name="training data").first.click()
        path: Path = download.value.path()
        found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        assert found[0]["words"][0]["label"]["pos"] == "V"
        assert bench.complaints == []

    def test_keys_are_left_alone_while_one_types(self, bench: Any) -> None:
        annotate(bench, "typist")
        bench.focus("#annotator")
        bench.keyboard.type("12")
        bench.keyboard.press("ArrowLeft")
        bench.keyboard.press("Control+z")
        own = bench.input_value("#document")
        bench.focus("#document")
        bench.keyboard.press("1")  # goes to the text whose name begins so, perhaps another test's
        bench.select_option("#document", own)
        settled(bench)
        choose(bench, "Raw text")  # and when another mode is on
        expect(bench.locator(".tokens").first).to_be_visible()
        bench.keyboard.press("1")
        bench.focus("#input")
        bench.keyboard.type("1")
        choose(bench, "Annotate")
        bench.fill("#annotator", "typist")
        bench.locator("#annotator").press("Tab")
        settled(bench)
        figures(bench, "0 / 6 decided")

    def test_what_is_hidden_is_not_chosen_and_the_mouse_can_choose(self, bench: Any) -> None:
        bench.set_viewport_size({"width": 320, "height": 700})
        annotate(bench, "mouse", LETTER + " " + TEXT)
        fits(bench)
        expect(bench.locator(".candidate")).to_have_count(3)
        bench.keyboard.press("4")  # below "more"
        bench.get_by_role("button", name="Choose reading 3").click()
        figures(bench, "1 / 16 decided")
        figures(bench, "A2 0.0")
        settled(bench)
        number = bench.input_value("#document")
        asked = f"{bench.url}api/lex/documents/{number}?annotator=mouse"
        kept = bench.request.get(asked).json()
        assert [one["rank"] for one in kept["decisions"]] == [3]
        assert kept["revision"] == 1

    def test_a_slow_list_of_texts_does_not_close_what_is_open(self, bench: Any) -> None:
        waiting: list[Any] = []

        def delay(route: Any) -> None:
            if route.request.method == "GET" and not waiting:
                waiting.append(route)  # the first list stays on its way
            else:
                route.continue_()

        bench.route("**/api/lex/documents", delay)
        bench.get_by_text("Annotate", exact=True).click()
        bench.fill("#annotator", "hasty")
        bench.fill("#input", LETTER)
        bench.click("#run")
        figures(bench, "0 / 6 decided")
        waiting[0].continue_()
        settled(bench)
        bench.keyboard.press("1")
        figures(bench, "1 / 6 decided")
        expect(bench.locator("#document")).not_to_have_value("")

    def test_a_name_is_asked_for_and_then_the_first_click_starts(self, bench: Any) -> None:
        choose(bench, "Annotate")
        bench.fill("#annotator", "  ")
        bench.select_option("#document", "")
        bench.fill("#input", LETTER)
        bench.click("#run")
        expect(bench.get_by_role("alert")).to_contain_text("Give a name first")
        expect(bench.locator("#annotator")).to_be_focused()
        expect(bench.locator(".figures")).to_have_count(0)
        bench.keyboard.type("named")
        bench.click("#run")
        figures(bench, "0 / 6 decided")
        expect(bench.locator("#error")).to_be_hidden()

    def test_a_choice_that_is_not_saved_says_so(self, bench: Any) -> None:
        annotate(bench, "unlucky")
        bench.context.set_offline(True)
        bench.keyboard.press("1")
        expect(bench.get_by_role("alert")).to_contain_text("Not saved")
        expect(bench.locator(".reading .word.decided")).to_have_count(0)
        expect(current(bench)).to_have_text("كتب")
        bench.context.set_offline(False)
        settled(bench)
        bench.keyboard.press("1")
        expect(bench.locator(".reading .word.decided")).to_have_count(1)
        expect(bench.locator("#error")).to_be_hidden()


class TestTwoWindows:
    @pytest.fixture
    def other(self, bench: Any) -> Any:
        """A second tab of the same browser."""
        other = bench.context.new_page()
        other.goto(bench.url)
        settled(other)
        return other

    def test_another_tab_is_told_of_texts_and_decisions(self, bench: Any, other: Any) -> None:
        choose(other, "Annotate")
        annotate(bench, "tabs")
        number = bench.input_value("#document")
        # the text is in the list over there without a reload, and so is every decision
        expect(other.locator(f'#document option[value="{number}"]')).to_have_count(1)
        other.fill("#annotator", "tabs")
        other.select_option("#document", number)
        figures(other, "0 / 6 decided")
        settled(other)
        other.locator(".reading .word").nth(4).click()
        bench.keyboard.press("1")
        figures(bench, "1 / 6 decided")
        figures(other, "1 / 6 decided")
        expect(other.locator("#status")).to_contain_text("Changed in another window")
        expect(current(other)).to_have_text("أمه")  # what one was looking at stays
        expect(other.locator(".reading .word.decided")).to_have_count(1)
        settled(other)
        other.keyboard.press("1")
        figures(other, "2 / 6 decided")
        figures(bench, "2 / 6 decided")
        bench.get_by_role("button", name="Undo").click()
        figures(other, "1 / 6 decided")
        figures(bench, "1 / 6 decided")

    def decide_elsewhere(self, page: Any, name: str, word: int) -> None:
        """Decide without a word to the page, as from another machine."""
        number = page.input_value("#document")
        url = f"{page.url}api/lex/documents/{number}/decisions"
        body = {"annotator": name, "sentence": 0, "word": word, "label": {"pos": "N"}}
        assert page.request.post(url, data=body).ok

    def test_decisions_made_elsewhere_are_taken_in(self, bench: Any) -> None:
        annotate(bench, "twice")
        self.decide_elsewhere(bench, "twice", 4)
        bench.keyboard.press("1")
        figures(bench, "2 / 6 decided")
        expect(bench.locator(".reading .word.decided")).to_have_count(2)
        expect(bench.locator("#error")).to_be_hidden()

    def test_a_decision_that_was_not_seen_is_not_changed(self, bench: Any) -> None:
        annotate(bench, "stale")
        self.decide_elsewhere(bench, "stale", 0)
        bench.keyboard.press("1")
        expect(bench.get_by_role("alert")).to_contain_text("decided in another window")
        figures(bench, "1 / 6 decided")
        settled(bench)
        self.decide_elsewhere(bench, "stale", 1)
        bench.keyboard.press("Control+z")
        expect(bench.get_by_role("alert")).to_contain_text("Not taken back")
        figures(bench, "2 / 6 decided")
        settled(bench)
        bench.keyboard.press("Control+z")  # now it is seen
        figures(bench, "1 / 6 decided")
        expect(bench.locator(".reading .word.decided")).to_have_count(1)
