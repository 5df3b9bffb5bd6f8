"""What all pages have in common, in a real browser: header, address, colours, widths, loading."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from eigentext.studio.service.jobs import ServiceFacts
from eigentext.studio.service.workers import WorkerPool
from helpers.accessibility import findings
from helpers.jobs_on_hold import MODELS, build
from helpers.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Serve = Callable[..., Any]

pytestmark = [pytest.mark.requires("chromium"), pytest.mark.long]

HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(1)> \u202eabc\u2066 كتب 😀"
PAGES = ["read", "annotate", "tools", "docs"]


@pytest.fixture(scope="module")
def address(
    serve: Serve,
    lex_model: str,
    pipe_models: tuple[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """A service with a ranker and two pipelines, one of which knows no trees."""
    store = tmp_path_factory.mktemp("store") / "a.db"
    with serve(models=(*pipe_models, lex_model), annotations=str(store)) as address:
        yield address


def settled(page: Any) -> None:
    """Wait until everything that was asked for is answered and shown."""
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")


def opened(page: Any, address: str, name: str) -> None:
    page.goto(f"{address}/{name}")
    settled(page)


def fits(page: Any) -> bool:
    overflow = "() => document.documentElement.scrollWidth - window.innerWidth"
    return int(page.evaluate(overflow)) <= 0


class TestEveryPage:
    @pytest.mark.parametrize("name", PAGES)
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_axe_finds_nothing(self, page: Any, address: str, name: str, scheme: str) -> None:
        page.emulate_media(color_scheme=scheme)
        opened(page, address, name)
        if name == "read":
            page.locator(".reading .word").first.click()
        if name == "docs":
            for kind in ("Try", "Answers of"):
                page.get_by_text(f"{kind} POST /api/tokenise").click()
        page.locator("#shell summary").click()
        assert findings(page) == []
        assert page.complaints == []

    @pytest.mark.parametrize("name", PAGES)
    def test_a_phone_does_not_scroll_sideways(self, page: Any, address: str, name: str) -> None:
        page.set_viewport_size({"width": 360, "height": 700})
        opened(page, address, name)
        assert fits(page)
        page.locator("#shell summary").click()
        expect(page.locator(".models li").last).to_be_visible()
        assert fits(page)

    def test_the_header_leads_everywhere_by_keyboard(self, page: Any, address: str) -> None:
        opened(page, address, "tools")
        names = page.locator("#shell nav a").all_inner_texts()
        assert [name for name in names if name not in ("Parse", "Words", "Sequences")] == [
            "Read",
            "Annotate",
            "Tools",
            "API",
        ]
        expect(page.locator("#shell [aria-current=page]")).to_have_text("Tools")
        page.get_by_role("link", name="Read").focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**/read*")
        settled(page)
        expect(page.locator("#shell [aria-current=page]")).to_have_text("Read")
        page.go_back()
        settled(page)
        expect(page.locator("h1")).to_have_text("Tools")

    def test_the_front_leads_to_a_page_with_its_models(self, page: Any, address: str) -> None:
        page.goto(address)
        settled(page)
        assert not page.url.removeprefix(address).startswith(("/tools", "/docs", "/annotate"))
        expect(page.locator("#shell [aria-current=page]")).to_have_count(1)

    def test_a_service_that_is_gone_is_told_so(self, page: Any, address: str) -> None:
        page.route("**/api/health", lambda route: route.abort())
        page.goto(f"{address}/tools")
        expect(page.get_by_role("alert")).to_contain_text("does not answer")


class TestBeforeTheModelsAreThere:
    @pytest.mark.parametrize(
        ("name", "text"),
        [("read", "Ana va al mar."), ("parse", "Ana va al mar."), ("tools", "(S (NN dogs))")],
    )
    def test_what_is_typed_stays_and_is_asked(
        self, page: Any, address: str, name: str, text: str
    ) -> None:
        waiting: list[Any] = []
        page.route("**/api/health", lambda route: waiting.append(route))
        page.goto(f"{address}/{name}")
        until(lambda: (page.wait_for_timeout(1), waiting)[1])
        page.fill("#input", text)
        page.press("#input", "Control+Enter")
        page.click("#run")
        assert page.url == f"{address}/{name}"  # nothing was sent
        waiting[0].continue_()
        expect(page.locator("#status")).to_contain_text(re.compile("^1 (sentence|tree)"))
        expect(page.locator("#input")).to_have_value(text)
        page.fill("#input", f"{text} {text}")  # and now the form is free
        page.click("#run")
        page.wait_for_url(re.compile("text=.*(mar|dogs).*(mar|dogs)"))
        settled(page)
        assert page.complaints == []


class TestReading:
    def test_a_pipeline_reads_too(self, page: Any, address: str) -> None:
        opened(page, address, "read")
        page.select_option("#model", "pipeline:spanish-toy")
        settled(page)
        page.fill("#input", "Ana va al mar.")
        page.click("#run")
        settled(page)
        expect(page.locator("#status")).to_have_text("1 sentence, 5 words · spanish-toy")
        expect(page.locator(".toggle")).to_be_hidden()  # nothing is vocalised here
        words = page.locator(".reading .word")
        expect(words).to_have_text(["Ana", "va", "al", "mar", "."])
        words.nth(1).click()
        first = page.locator(".candidate").first
        expect(first.locator(".morphology")).to_contain_text("verb")
        expect(first.locator(".facts dd")).to_have_text("ir")
        words.nth(2).click()  # one token, two words
        expect(first.locator(".segments b")).to_have_text(["a", "el"])
        expect(page.get_by_role("option", name="spanish-short")).to_have_count(1)
        assert page.complaints == []

    def test_the_address_keeps_text_and_model(self, page: Any, address: str) -> None:
        opened(page, address, "read")
        page.fill("#input", "كتب الولد رسالة.")
        page.press("#input", "Control+Enter")
        settled(page)
        page.select_option("#model", "pipeline:spanish-toy")
        settled(page)
        expect(page.locator("#input")).to_have_value("كتب الولد رسالة.")
        expect(page.locator("#status")).to_contain_text("· spanish-toy")
        page.reload()
        settled(page)
        expect(page.locator("#model")).to_have_value("pipeline:spanish-toy")
        expect(page.locator("#input")).to_have_value("كتب الولد رسالة.")
        page.go_back()
        settled(page)
        expect(page.locator("#status")).to_contain_text("· arabic")
        expect(page.locator(".reading")).to_have_attribute("dir", "rtl")
        page.go_forward()
        settled(page)
        expect(page.locator("#status")).to_contain_text("· spanish-toy")

    def test_what_is_read_can_be_taken_away(self, page: Any, address: str) -> None:
        opened(page, address, "read")
        page.select_option("#model", "lex:arabic")
        page.fill("#input", "كتب الولد رسالة.")
        page.click("#run")
        settled(page)
        taken = {}
        for title in ("Text", "CoNLL-U", "JSON"):
            with page.expect_download() as download:
                page.get_by_role("button", name=f"Save {title}").click()
            taken[title] = download.value.path().read_text("utf-8")
        assert taken["Text"].startswith("كَتَبَ")
        assert taken["CoNLL-U"].splitlines()[2].split("\t")[1] == "كتب"
        assert '"kind": "lex"' in taken["JSON"]

    def test_hostile_texts_stay_text(self, page: Any, address: str) -> None:
        opened(page, address, "read")
        for model in ("lex:arabic", "pipeline:spanish-toy"):
            page.select_option("#model", model)
            page.fill("#input", HOSTILE)
            page.click("#run")
            settled(page)
            for k in range(page.locator(".reading .word").count()):
                page.locator(".reading .word").nth(k).click()
            expect(page.locator("#results :is(img, script)")).to_have_count(0)
            shown = page.evaluate("() => document.querySelector('.reading').textContent")
            assert shown == HOSTILE
            assert fits(page)
        page.evaluate("() => { document.getElementById('input').value = '😀'.repeat(250000) }")
        page.click("#run")
        expect(page.get_by_role("alert")).to_contain_text("the most that is read")
        expect(page.locator("#results")).to_be_empty()
        assert [one for one in page.complaints if "413" not in one] == []


class TestReference:
    def test_routes_shapes_and_a_call(self, page: Any, address: str) -> None:
        opened(page, address, "docs")
        expect(page.locator("#status")).to_contain_text("routes,")
        described = page.request.get(f"{address}/openapi.json").json()
        routes = [
            f"{method.upper()}{path}"
            for path, ways in described["paths"].items()
            for method in ways
        ]
        shown = page.locator("article.route > h3:has(.method)").all_text_contents()
        assert sorted(shown) == sorted(routes)
        for name in described["components"]["schemas"]:
            expect(page.locator(f"#shape-{name}")).to_have_count(1)
        summary = page.get_by_text("Try POST /api/tokenise")
        summary.focus()
        page.keyboard.press("Enter")
        card = page.locator("article", has=summary)
        card.locator("textarea").fill('{"text": "<b>a</b> b"}')
        card.get_by_role("button", name="Send").focus()
        page.keyboard.press("Enter")
        expect(card.locator("form .status")).to_contain_text("200")
        expect(card.locator("form pre")).to_contain_text('"n_tokens"')
        expect(card.locator("form pre b")).to_have_count(0)
        card.locator("textarea").fill('{"text": 1}')
        card.get_by_role("button", name="Send").click()
        expect(card.locator("form .status")).to_contain_text("422")
        assert [one for one in page.complaints if "422" not in one] == []

    def test_a_batch_can_be_tried(self, page: Any, address: str) -> None:
        opened(page, address, "docs")
        page.get_by_text("Try POST /api/batch/{job}").click()
        card = page.locator("article", has=page.get_by_text("Try POST /api/batch/{job}"))
        card.get_by_label("job (path)").fill("parse")
        card.get_by_role("button", name="Send").click()
        expect(card.locator("form pre")).to_contain_text('"n_sentences":1')


def test_pages_say_how_far_the_loading_is(page: Any, serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "slow").touch()
    pool = WorkerPool(
        partial(build, str(tmp_path)),
        size=1,
        waiting=2,
        patience=600,
        seconds=600,
        expected=ServiceFacts(MODELS),
    )
    pool.begin()
    with serve(pool=pool) as address:
        page.goto(f"{address}/tools?mode=text&text=a+b")
        expect(page.locator("#loading")).to_contain_text("Loading models: 1 of 3 (some) …")
        expect(page.locator("#loading progress")).to_have_attribute("max", "3")
        assert page.request.get(f"{address}/api/health").json()["status"] == "starting"
        refused = page.request.post(f"{address}/api/tokenise", data={"text": "a"})
        assert refused.status == 503
        assert int(refused.headers["retry-after"]) > 0
        assert "starting" in refused.json()["error"]["why"]
        assert findings(page) == []
        (tmp_path / "slow").unlink()
        expect(page.locator("#status")).to_contain_text("2 tokens")
        expect(page.locator("#loading")).to_have_count(0)
        assert page.complaints == []
    pool.close()


def test_pages_say_when_the_models_could_not_be_loaded(
    page: Any, serve: Serve, tmp_path: Path
) -> None:
    (tmp_path / "broken").touch()
    pool = WorkerPool(
        partial(build, str(tmp_path)),
        size=1,
        waiting=2,
        patience=600,
        seconds=600,
        expected=ServiceFacts(MODELS),
    )
    pool.begin()
    with serve(pool=pool) as address:
        page.goto(f"{address}/tools")
        expect(page.locator("#loading")).to_contain_text("is broken")
    pool.close()
