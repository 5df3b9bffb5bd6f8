"""The page Parse in a real browser: mouse, keys alone, phone, dark, address, hostile text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import expect

from helpers.accessibility import findings
from helpers.annotate_pages import intercept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Serve = Callable[..., Any]

pytestmark = pytest.mark.requires("chromium")

TEXT = "The teacher saw the boy with the telescope."
PP = '.et-node[data-label="PP"][data-start="5"]'
WHOLE = '.et-node[data-label="NP"][data-start="3"][data-end="8"]'  # the boy with the telescope


@pytest.fixture(scope="module")
def address(serve: Serve, const_model: str, dep_model: str) -> Iterator[str]:
    with serve(models=(const_model, dep_model), max_characters=5_000) as address:
        yield f"{address}/parse"


@pytest.fixture(scope="module")
def spanish(serve: Serve, dep_model: str, pipe_models: tuple[str, str]) -> Iterator[str]:
    with serve(dep_model=dep_model, pipes=pipe_models) as address:
        yield f"{address}/parse"


def settled(page: Any) -> None:
    """Wait until everything that was asked for is answered and shown."""
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
    expect(page.locator('.card[aria-busy="true"]')).to_have_count(0)


def opened(page: Any, address: str, text: str = TEXT, **more: str) -> None:
    page.goto(f"{address}?{urlencode({'text': text, **more})}")
    settled(page)
    expect(page.locator('[data-view="constituents"] svg').first).to_be_visible()


def choose(page: Any, entry: str, value: str | None = None) -> None:
    """Take an entry of the menu that is open."""
    page.get_by_role("menuitem", name=entry).click()
    if value is not None:
        page.locator(".menu select").select_option(value)
        page.locator(".menu").get_by_role("button", name="Apply").click()
    settled(page)


def spans(page: Any) -> set[tuple[int, int, str]]:
    """The constituents that are drawn."""
    found = page.eval_on_selector_all(
        '.et-node:not([data-role="word"])',
        "all => all.map(n => [Number(n.dataset.start), Number(n.dataset.end), n.dataset.label])",
    )
    return {tuple(one) for one in found}


def heads(page: Any) -> dict[int, tuple[int, str]]:
    """The arcs that are drawn."""
    found = page.eval_on_selector_all(
        ".et-arc",
        "all => all.map(a => [Number(a.dataset.dependent), Number(a.dataset.head), "
        "a.dataset.relation])",
    )
    return {dependent: (head, relation) for dependent, head, relation in found}


def chips(page: Any) -> list[str]:
    found = page.eval_on_selector_all(".chips li", "all => all.map(li => li.firstChild.data)")
    return [one.replace("\u2068", "").replace("\u2069", "") for one in found if one]


class TestMouse:
    def test_it_opens_on_a_sentence_that_is_parsed(self, page: Any, address: str) -> None:
        page.goto(address.removesuffix("/parse"))
        settled(page)
        assert page.url.startswith(address)
        expect(page.locator("#shell [aria-current=page]")).to_have_text("Parse")
        expect(page.locator("#status")).to_contain_text("2 sentences, 12 words")
        expect(page.locator(".card")).to_have_count(2)
        for view in ("constituents", "dependencies"):
            expect(page.locator(f'[data-view="{view}"] svg')).to_have_count(2)
        expect(page.get_by_text("posterior 0").first).to_be_visible()
        expect(page.get_by_text("probability 0").first).to_be_visible()
        left, right = (
            page.locator(f'[data-view="{view}"]').first.bounding_box()
            for view in ("constituents", "dependencies")
        )
        assert left["x"] + left["width"] <= right["x"]  # side by side
        assert page.complaints == []

    def test_a_constituent_is_forbidden_and_the_rest_parsed_again(
        self, page: Any, address: str
    ) -> None:
        opened(page, address)
        before = spans(page)
        assert (5, 8, "PP") in before
        page.locator(PP).click()
        choose(page, "Forbid any constituent here")
        after = spans(page)
        assert not [span for span in after if span[:2] == (5, 8)]
        assert chips(page) == ["a constituent over with the telescope forbidden"]
        expect(page.locator("#status")).to_contain_text("1 demand")
        page.get_by_role("button", name="Remove: a constituent").click()
        settled(page)
        assert spans(page) == before
        assert chips(page) == []
        assert page.complaints == []

    def test_a_constituent_gets_another_label(self, page: Any, address: str) -> None:
        opened(page, address)
        page.locator('.et-node[data-label="NP"][data-start="0"]').click()
        choose(page, "Change the label", "ADVP")
        assert (0, 2, "ADVP") in spans(page)
        pinned = page.locator('.et-node.pinned[data-label="ADVP"]')
        assert pinned.get_attribute("aria-label").endswith("The teacher\u2069, required")
        page.locator('.et-node[data-role="tag"][data-start="1"]').click()
        choose(page, "Change the tag", "NNS")
        assert (1, 2, "NNS") in spans(page)
        assert len(chips(page)) == 2
        page.get_by_role("button", name="Remove all").click()
        settled(page)
        assert (0, 2, "NP") in spans(page)

    def test_words_are_dragged_over(self, page: Any, address: str) -> None:
        opened(page, address)
        first, last = (
            page.locator(f'.et-node[data-role="word"][data-start="{k}"]') for k in (3, 7)
        )
        first.scroll_into_view_if_needed()
        for step, word in enumerate((first, last)):
            box = word.bounding_box()
            page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=6)
            if not step:
                page.mouse.down()
        page.mouse.up()
        expect(page.locator("svg[data-chosen]")).to_have_attribute("data-chosen", "3-8")
        choose(page, "Require as", "NP")
        assert (3, 8, "NP") in spans(page)
        assert chips(page) == ["NP over the boy with the telescope required"]
        assert page.complaints == []

    def test_the_k_best_and_what_they_differ_in(self, page: Any, address: str) -> None:
        opened(page, address)
        part = page.locator('[data-view="constituents"]')
        choices = part.get_by_role("radio")
        expect(choices).to_have_count(5)
        expect(part.locator(".kbest label").first).to_contain_text("the best")
        other = part.locator(".kbest label", has_text="the boy with the telescope").first
        expect(other.locator("ins").first).to_contain_text("the boy with the telescope")
        scores = [float(text) for text in part.locator(".score").all_inner_texts()]
        assert scores == sorted(scores, reverse=True)
        other.click()
        expect(part.locator(WHOLE)).to_have_count(1)
        expect(part.get_by_text("not in the best tree")).to_have_count(1)
        assert part.locator(f"{WHOLE} .et-mark").count() == 1
        part.locator(WHOLE).click()
        choose(page, "Require NP here")
        assert (3, 8, "NP") in spans(page)
        expect(part.get_by_role("radio").first).to_be_checked()
        arcs = page.locator('[data-view="dependencies"]')
        arcs.locator(".kbest label").nth(1).click()
        expect(arcs.locator(".et-legend", has_text="only the best tree")).to_have_count(1)
        assert page.complaints == []

    def test_arcs_are_forbidden_renamed_and_moved(self, page: Any, address: str) -> None:
        opened(page, address)
        before = heads(page)
        arc = page.locator('.et-arc[data-dependent="6"] .et-relation')
        arc.click()
        choose(page, "Forbid this arc")
        assert heads(page)[6][0] != before[6][0]
        assert chips(page) == ["saw → with forbidden"]
        page.locator('.et-arc[data-dependent="1"] .et-relation').click()
        choose(page, "Change the relation", "NP<S")
        assert heads(page)[1] == (2, "NP<S")
        # a word is dragged onto its head
        for step, word in enumerate((8, 3)):
            page.locator(f'.et-place[data-word="{word}"]').hover()  # when it is still
            if not step:
                page.mouse.down()
        page.mouse.up()
        settled(page)
        assert heads(page)[8][0] == 3
        assert chips(page)[-1] == "saw → telescope required"
        page.locator('.et-place[data-word="4"]').click()
        choose(page, "Choose its head", "3")
        assert heads(page)[4][0] == 3
        assert page.complaints == []

    def test_what_cannot_be_had_is_told_and_taken_back(self, page: Any, address: str) -> None:
        asked = json.dumps([[0, 0, 0, 3], [0, 0, 2, 5]])
        page.goto(f"{address}?{urlencode({'text': TEXT, 'asked': asked})}")
        settled(page)
        alert = page.get_by_role("alert").filter(has_text="cross")
        expect(alert).to_have_text("required spans (0, 3) and (2, 5) cross")
        expect(page.locator("#results svg")).to_have_count(0)
        assert len(chips(page)) == 2
        page.locator(".chips button").first.click()
        settled(page)
        expect(page.locator("#results svg")).to_have_count(2)
        assert [span for span in spans(page) if span[:2] == (2, 5)]
        page.locator('.et-arc[data-dependent="6"] .et-relation').click()
        choose(page, "Require this arc")
        expect(page.locator(".chips li")).to_have_count(3)  # and one that removes all
        assert [one for one in page.complaints if "422" not in one] == []

    def test_a_pipeline_says_all_it_knows_of_words(self, page: Any, spanish: str) -> None:
        page.goto(
            f"{spanish}?{urlencode({'text': 'Ana va al mar.', 'dep': 'pipeline:spanish-toy'})}"
        )
        settled(page)
        expect(page.locator("#status")).to_have_text(
            "1 sentence, 6 words · dependencies by spanish-toy"
        )
        page.get_by_text("Words", exact=True).click()
        rows = page.locator("#results tbody tr")
        cells = [row.split("\t") for row in rows.all_inner_texts()]
        assert cells[1][:4] == ["2", "va", "ir", "VERB"]
        assert [row[-3] for row in cells][:3] == ["2\u00a0va", "root", "5\u00a0mar"]
        expect(rows.nth(2)).to_have_attribute("title", "typed: al")  # a word of a multiword token
        assert findings(page) == []
        assert page.complaints == []

    def test_layers_and_models_are_chosen(self, page: Any, address: str, spanish: str) -> None:
        opened(page, address)
        page.get_by_label("Dependencies", exact=True).first.uncheck()
        settled(page)
        expect(page.locator('[data-view="dependencies"]')).to_have_count(0)
        assert "only=const" in page.url
        page.get_by_label("Constituents", exact=True).first.click()  # one has to be there
        expect(page.get_by_label("Constituents", exact=True).first).to_be_checked()
        page.goto(spanish)
        settled(page)
        expect(page.locator("#status")).to_contain_text("dependencies by spanish-toy")
        page.get_by_label("Dependencies by").select_option("dep:english")
        page.fill("#input", "He slept.")
        page.press("#input", "Control+Enter")
        settled(page)
        expect(page.locator("#status")).to_contain_text("dependencies by english")
        assert "dep=dep%3Aenglish" in page.url
        page.reload()
        settled(page)
        expect(page.get_by_label("Dependencies by")).to_have_value("dep:english")
        assert len(heads(page)) == 3
        assert page.complaints == []


class TestKeys:
    def test_everything_with_keys_alone(self, page: Any, address: str) -> None:
        opened(page, address)
        page.focus("#input")
        for key in ("Control+a", "Delete"):
            page.keyboard.press(key)
        page.keyboard.type("The farmer saw the boy with the rope.")
        page.keyboard.press("Control+Enter")
        settled(page)
        expect(page.locator("#status")).to_contain_text("1 sentence, 9 words")
        _tab_to(page, ".et-node")
        _key(page, "ArrowDown")  # TOP -> S
        assert _focused(page) == ["S", "0", "9"]
        for key in ("ArrowDown", "ArrowRight"):
            _key(page, key)
        assert _focused(page)[0] == "VP"
        before = spans(page)
        verb = _focused(page)
        _key(page, "Enter")
        expect(page.get_by_role("menuitem").first).to_be_focused()
        _key(page, "Escape")
        assert _focused(page) == verb
        _key(page, "Enter")
        _key(page, "ArrowDown")
        expect(page.get_by_role("menuitem", name="Forbid VP here")).to_be_focused()
        _key(page, "Enter")
        settled(page)
        assert (int(verb[1]), int(verb[2]), "VP") not in spans(page)
        assert len(chips(page)) == 1
        assert _focused(page)[0] is not None  # still in the tree
        _tab_to(page, ".chips button", back=True)
        _key(page, "Enter")
        settled(page)
        assert spans(page) == before

    def test_words_are_selected_with_shift_and_arrows(self, page: Any, address: str) -> None:
        opened(page, address)
        page.locator(".et-node").first.focus()
        _key(page, "End")  # the last word
        for _ in range(5):
            _key(page, "ArrowLeft")
        assert _focused(page) == ["the", "3", "4"]
        for _ in range(4):
            _key(page, "Shift+ArrowRight")
        expect(page.locator("svg[data-chosen]")).to_have_attribute("data-chosen", "3-8")
        _key(page, "Enter")
        _key(page, "Enter")  # Require as
        expect(page.locator(".menu select")).to_be_focused()
        _key(page, "Enter")
        settled(page)
        assert (3, 8, "NP") in spans(page)
        assert _focused(page) == ["NP", "3", "8"]
        _key(page, "c")
        settled(page)
        assert chips(page) == []
        _key(page, "f")  # what stands there now
        settled(page)
        assert "forbidden" in chips(page)[0]

    def test_arcs_and_lists_with_keys(self, page: Any, address: str) -> None:
        opened(page, address)
        page.locator(".et-arc").first.focus()
        _key(page, "Home")
        for _ in range(5):
            _key(page, "ArrowRight")
        before = heads(page)
        assert page.evaluate("document.activeElement.dataset.dependent") == "6"
        _key(page, "f")
        settled(page)
        assert heads(page)[6][0] != before[6][0]
        assert page.evaluate("document.activeElement.dataset.dependent") == "6"
        _key(page, "ArrowDown")
        assert page.evaluate("document.activeElement.dataset.word") == "6"
        _key(page, "ArrowUp")
        _key(page, "Delete")
        settled(page)
        assert heads(page) == before
        radio = page.locator('[data-view="dependencies"]').get_by_role("radio")
        radio.first.focus()
        _key(page, "ArrowDown")
        expect(radio.nth(1)).to_be_checked()
        legend = page.locator('[data-view="dependencies"] .et-legend', has_text="only the best")
        expect(legend).to_have_count(1)
        assert page.complaints == []

    def test_from_right_to_left(self, page: Any, address: str) -> None:
        opened(page, address, "قرأ الطالب الكتاب", scheme="arabic")
        expect(page.locator('svg[data-direction="rtl"]')).to_have_count(2)
        page.locator('.et-node[data-role="word"][data-start="0"]').focus()
        _key(page, "ArrowLeft")  # the next word stands on the left
        assert _focused(page)[1] == "1"
        first, second = (
            page.locator(f'.et-place[data-word="{k}"]').bounding_box()["x"] for k in (1, 2)
        )
        assert first > second
        assert findings(page) == []


def _key(page: Any, key: str) -> None:
    page.keyboard.press(key)


def _focused(page: Any) -> list[str | None]:
    found: list[str | None] = page.evaluate(
        "(d => [d.label ?? null, d.start ?? null, d.end ?? null])(document.activeElement.dataset)"
    )
    return found


def _tab_to(page: Any, selector: str, *, back: bool = False) -> None:
    for _ in range(40):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
    pytest.fail(f"{selector} cannot be reached with Tab")


class TestAddress:
    def test_reload_and_back(self, page: Any, address: str) -> None:
        opened(page, address, k="3")
        before = spans(page)
        expect(page.locator('[data-view="constituents"]').get_by_role("radio")).to_have_count(3)
        page.locator(PP).click()
        choose(page, "Forbid any constituent here")
        changed = spans(page)
        assert changed != before
        page.reload()
        settled(page)
        assert spans(page) == changed
        assert len(chips(page)) == 1
        page.go_back()
        settled(page)
        expect(page.locator(".chips")).to_have_count(0)
        assert spans(page) == before
        page.go_forward()
        settled(page)
        expect(page.locator(".chips li")).to_have_count(1)
        assert spans(page) == changed
        page.fill("#input", "He slept.")
        page.click("#run")
        settled(page)
        assert chips(page) == []  # other words: nothing is asked of them
        assert "asked" not in page.url
        page.go_back()
        settled(page)
        expect(page.locator("#input")).to_have_value(TEXT)
        expect(page.locator(".chips li")).to_have_count(1)
        assert page.complaints == []

    def test_an_address_that_somebody_has_cut_short(self, page: Any, address: str) -> None:
        for asked in ("[[0,0,", "7", '[["a"],[0,9,1,2],null,[0,2,1,2]]', "[[5,0,0,2]]"):
            opened(page, address, asked=asked, k="x", const="nobody")
            expect(page.locator("#results svg")).to_have_count(2)
        assert [one for one in page.complaints if "422" not in one] == []

    def test_old_results_go_at_once(self, page: Any, address: str) -> None:
        opened(page, address)
        held: list[Any] = []
        page.route("**/api/parse", lambda route: held.append(route))
        page.fill("#input", "He slept.")
        page.click("#run")
        expect(page.locator("#status")).to_have_text("Working …")
        expect(page.locator("#results svg")).to_have_count(0)
        expect(page.locator("#results")).to_have_attribute("aria-busy", "true")
        while not held:
            page.wait_for_timeout(10)
        held[0].continue_()
        settled(page)
        expect(page.locator("#status")).to_contain_text("1 sentence, 3 words")
        held.clear()
        page.locator(".et-node").first.focus()
        _key(page, "ArrowDown")
        _key(page, "r")
        expect(page.locator("#status")).to_have_text("Working …")
        expect(page.locator(".both")).not_to_be_visible()
        while not held:
            page.wait_for_timeout(10)
        held[0].continue_()
        settled(page)
        expect(page.locator(".both")).to_be_visible()


class TestSlowAnswers:
    TWO = "The dog saw the cat. The cat saw the dog."

    def test_each_sentence_has_answers_of_its_own(self, page: Any, address: str) -> None:
        opened(page, address, self.TWO)
        held: list[Any] = []

        def hold_the_first(route: Any) -> None:
            if route.request.post_data_json.get("only") == [0]:
                held.append(route)
            else:
                route.continue_()

        intercept(page, "**/api/parse", hold_the_first)
        cards = page.locator("article.card")
        for number in (0, 1):
            cards.nth(number).locator('.et-node[data-label="NP"][data-start="0"]').click()
            page.get_by_role("menuitem", name="Forbid any constituent here").click()
        expect(cards.nth(1)).to_have_attribute("aria-busy", "false")
        held[0].continue_()
        settled(page)
        gone = '.et-node[data-start="0"][data-end="2"]'
        for number in (0, 1):
            expect(cards.nth(number).locator(".chips li")).to_have_count(1)
            expect(cards.nth(number).locator(gone)).to_have_count(0)
        assert page.complaints == []

    def test_the_address_has_the_text_that_was_parsed(self, page: Any, address: str) -> None:
        opened(page, address, "The dog saw the cat.")
        page.fill("#input", "Something that nobody has asked for yet.")
        page.locator('.et-node[data-label="NP"][data-start="0"]').click()
        choose(page, "Forbid any constituent here")
        assert parse_qs(urlsplit(page.url).query)["text"] == ["The dog saw the cat."]
        page.reload()
        settled(page)
        assert len(chips(page)) == 1
        assert not [span for span in spans(page) if span[:2] == (0, 2)]


def saved(page: Any, press: Any, folder: Path) -> tuple[str, bytes]:
    with page.expect_download() as waiting:
        press.click()
    download = waiting.value
    path = folder / download.suggested_filename
    download.save_as(path)
    return download.suggested_filename, path.read_bytes()


def test_everything_can_be_taken_away(page: Any, address: str, tmp_path: Path) -> None:
    text = f"{TEXT} He slept."
    opened(page, address, text)
    body = {"text": text, "kbest": 5, "marginals": True}
    answer = page.request.post(address.replace("/parse", "/api/parse"), data=body).json()
    first, second = answer["sentences"]
    card = page.locator(".card").nth(1)
    constituents, dependencies = (
        card.locator(f'[data-view="{view}"]') for view in ("constituents", "dependencies")
    )
    trees = constituents.get_by_role("button", name="Save Brackets")
    brackets = second["constituents"]["brackets"]
    assert saved(page, trees, tmp_path) == ("tree-2.mrg", f"{brackets}\n".encode())
    arcs = dependencies.get_by_role("button", name="Save CoNLL-U")
    best = second["dependencies"]["kbest"][0]["conllu"]
    assert saved(page, arcs, tmp_path) == ("tree-2.conllu", best.encode())
    constituents.locator(".kbest label").nth(1).click()  # what is shown is what is saved
    other = second["constituents"]["kbest"][1]
    assert saved(page, trees, tmp_path)[1] == f"{other['brackets']}\n".encode()
    drawing = constituents.get_by_role("button", name="Save SVG")
    assert saved(page, drawing, tmp_path) == ("constituents-2.svg", other["svg"].encode())
    for part, name in ((constituents, "constituents-2.png"), (dependencies, "dependencies-2.png")):
        file, content = saved(page, part.get_by_role("button", name="Save PNG"), tmp_path)
        assert file == name
        assert content.startswith(b"\x89PNG\r\n")
        assert len(content) > 2_000
    one = saved(page, card.get_by_role("button", name="Save JSON"), tmp_path)
    assert json.loads(one[1]) == second
    whole = page.locator("#take")
    every = saved(page, whole.get_by_role("button", name="Save JSON"), tmp_path)
    assert json.loads(every[1]) == answer
    both = [sentence["constituents"]["brackets"] for sentence in (first, second)]
    assert saved(page, whole.get_by_role("button", name="Save Brackets"), tmp_path)[1] == (
        "".join(f"{tree}\n" for tree in both).encode()
    )
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    constituents.get_by_role("button", name="Copy brackets").click()
    expect(constituents.get_by_role("button", name="Copy brackets")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == other["brackets"]
    assert page.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page: Any, address: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    opened(page, address, asked=json.dumps([[0, 0, 3, 8, "NP"], [0, 4, 3, 6]]))
    assert len(chips(page)) == 2
    assert findings(page) == []
    page.locator(WHOLE).click()
    assert findings(page) == []
    page.get_by_role("menuitem", name="Change the label").click()
    assert findings(page) == []


def test_on_a_phone(page: Any, address: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    opened(page, address)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    above, below = (
        page.locator(f'[data-view="{view}"]').first.bounding_box()
        for view in ("constituents", "dependencies")
    )
    assert above["y"] + above["height"] <= below["y"]  # one above the other
    page.locator(PP).scroll_into_view_if_needed()
    page.locator(PP).click()
    box = page.locator(".menu").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
    choose(page, "Forbid PP here")
    assert (5, 8, "PP") not in spans(page)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert findings(page) == []
    assert page.complaints == []


def test_hostile_text_is_harmless(page: Any, address: str) -> None:
    text = '<script>alert(1)</script> "><img src=x onerror=alert(2)> \u202eabc\u202c sleeps.'
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog says {dialog.message}"))
    opened(page, address, text)
    assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0
    shown = page.eval_on_selector_all("svg text", "all => all.map(t => t.textContent).join(' ')")
    assert "\u202e" not in shown
    page.locator('.et-node[data-role="word"]').first.click()
    expect(page.locator(".menu")).to_be_visible()
    _key(page, "Escape")
    page.locator(".et-arc .et-relation").first.click()
    choose(page, "Require this arc")
    assert len(chips(page)) == 1
    assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0
    page.evaluate("() => { document.getElementById('input').value = '😀'.repeat(250000) }")
    page.click("#run")
    settled(page)
    expect(page.locator("#error")).to_be_visible()
    expect(page.locator("#results svg")).to_have_count(0)
    assert [one for one in page.complaints if "413" not in one] == []


def test_with_a_finger(browser: Any, address: str) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True)
    page = context.new_page()
    opened(page, address, "The dog saw the cat.")
    page.locator('.et-node[data-label="NP"][data-start="0"]').tap()
    choose(page, "Forbid any constituent here")
    assert not [span for span in spans(page) if span[:2] == (0, 2)]
    page.locator(".chips button").tap()
    settled(page)
    assert (0, 2, "NP") in spans(page)
    page.locator('.et-node[data-role="word"][data-start="2"]').tap()
    page.get_by_role("menuitem", name="Select from here to").tap()
    page.locator(".menu select").select_option("5")
    page.locator(".menu").get_by_role("button", name="Apply").tap()
    choose(page, "Require as", "VP")
    assert (2, 5, "VP") in spans(page)
    assert chips(page) == ["VP over saw the cat required"]
    page.locator('.et-arc[data-dependent="2"] .et-relation').tap()
    choose(page, "Change the head", "5")
    assert heads(page)[2][0] == 5
    context.close()
