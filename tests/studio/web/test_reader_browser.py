"""The reading helper and the annotator in a real browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    """A page that knows where the service is."""
    page.address = address
    return page


def opened(page: Any, name: str) -> None:
    page.goto(f"{page.address}/{name}")
    settled(page)


def read(page: Any, text: str = TEXT) -> None:
    opened(page, "read")
    page.fill("#input", text)
    page.press("#input", "Control+Enter")
    settled(page)
    expect(page.locator(".reading")).to_have_text(text)


def words(page: Any) -> Any:
    return page.locator(".reading .word")


def current(page: Any) -> Any:
    return page.locator('.reading .word[aria-current="true"]')


def fits(page: Any) -> None:
    """The page does not scroll sideways."""
    overflow = "() => document.documentElement.scrollWidth - window.innerWidth"
    assert page.evaluate(overflow) <= 0


class TestReading:
    def test_text_runs_from_right_to_left_as_typed(self, bench: Any) -> None:
        read(bench)
        expect(bench.locator("#status")).to_have_text("1 sentence, 10 words, 2 guessed · arabic")
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
