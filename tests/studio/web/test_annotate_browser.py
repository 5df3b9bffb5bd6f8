"""Annotating in a real browser: mouse, keyboard alone, reload, two people, trees, phone, dark."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from helpers.annotate_pages import (
    ARABIC,
    TREEBANK,
    Held,
    begin,
    enter,
    intercept,
    no_findings,
    saved,
    settled,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.requires("chromium")


def answered(page: Any, held: Held) -> None:
    """What was held back is answered, and the page has had its turn."""
    with page.expect_response(held.path):
        held.let_go()
    page.evaluate("() => fetch('/api/health').then((answer) => answer.text())")


@pytest.mark.long
class TestDependencies:
    def test_a_head_by_mouse_and_the_rest_is_parsed_anew(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "dep by mouse", "dependency", TREEBANK)
        page.locator('[data-word="0"]').first.click()
        page.get_by_role("button", name=re.compile("Choose its head")).click()
        page.locator('.word-row [data-word="2"]').click()
        saved(page, 1)
        expect(page.locator('.word-row [data-word="0"] small')).to_contain_text("← barks")
        expect(page.locator('.word-row [data-word="0"]')).to_have_class(re.compile("decided"))
        page.reload()
        expect(page.locator('.word-row [data-word="0"] small')).to_contain_text("← barks")
        assert page.complaints == []

    def test_keys_alone(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "dep by keys", "dependency", TREEBANK)
        page.locator('.word-row [data-word="0"]').focus()
        page.keyboard.press("Home")
        page.keyboard.press("h")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        saved(page, 1)
        expect(page.locator('.word-row [data-word="0"] small')).to_contain_text("← barks")
        page.keyboard.press("r")
        page.keyboard.type("advmod")
        page.keyboard.press("Enter")
        saved(page, 2)
        expect(page.locator('.word-row [data-word="0"] small')).to_contain_text("advmod")
        page.keyboard.press("Control+z")
        expect(page.locator("#saved")).to_have_text("Taken back.")
        expect(page.locator('.word-row [data-word="0"] small')).not_to_contain_text("advmod")
        page.keyboard.press("Enter")  # accept, and go on
        expect(page.locator(".bench h2")).to_contain_text("Sentence 2")
        expect(page.locator("#progress")).to_contain_text("1 of 2 sentences done")
        page.keyboard.press("PageUp")
        expect(page.locator(".bench h2")).to_contain_text("Sentence 1")
        page.go_back()
        expect(page.locator(".bench h2")).to_contain_text("Sentence 2")

    def test_a_drag_in_the_drawing(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "dep by drag", "dependency", TREEBANK)
        words = page.locator(".drawing .et-place")
        words.nth(0).hover()
        page.mouse.down()
        words.nth(2).hover()
        page.mouse.up()
        saved(page, 1)
        expect(page.locator('.word-row [data-word="0"] small')).to_contain_text("← barks")

    def test_an_arc_of_the_drawing_by_its_menu(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "dep by menu", "dependency", TREEBANK)
        page.locator('.et-arc[data-dependent="1"]').focus()
        page.keyboard.press("Enter")
        page.get_by_role("menuitem", name=re.compile("Change the head")).focus()
        page.keyboard.press("Enter")
        page.locator(".menu select").select_option("3")
        page.keyboard.press("Enter")
        saved(page, 1)
        expect(page.locator('.word-row [data-word="0"] small')).to_contain_text("← barks")
        expect(page.locator('.et-arc[data-dependent="1"]')).to_be_focused()
        page.keyboard.press("c")
        saved(page, 2)
        expect(page.locator('.word-row [data-word="0"]')).not_to_have_class(re.compile("decided"))


class TestConstituents:
    def test_a_span_is_required_and_forbidden(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(
            page,
            "const",
            "constituency",
            "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))",
            form="ptb",
        )
        expect(page.locator(".drawing svg")).to_be_visible()
        page.locator('.word-row [data-word="0"]').focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Shift+ArrowRight")
        expect(page.locator(".selection")).to_have_text("dog barks")
        page.keyboard.press("l")
        page.keyboard.type("VP")
        page.keyboard.press("Enter")
        saved(page, 1)
        expect(
            page.locator('.et-node[data-start="1"][data-end="3"][data-label="VP"]')
        ).to_have_count(1)
        page.get_by_role("button", name="Take back: dog barks: VP").click()
        saved(page, 2)
        page.locator('.et-node[data-label="NP"]').click()
        page.get_by_role("menuitem", name="Forbid any constituent here").click()
        saved(page, 3)
        expect(page.locator('.et-node[data-start="0"][data-end="2"]')).to_have_count(0)
        page.keyboard.press("Control+z")
        expect(page.locator('.et-node[data-label="NP"]')).to_have_count(1)

    def test_a_click_in_the_row_takes_the_focus_out_of_the_drawing(
        self, page: Any, address: str
    ) -> None:
        enter(page, address)
        begin(
            page, "row", "constituency", "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))", form="ptb"
        )
        page.locator('.et-node[data-label="NP"]').focus()
        expect(page.locator(".selection")).to_have_text("the dog")
        page.locator('.word-row [data-word="2"]').click()
        expect(page.locator(".selection")).to_have_text("barks")
        expect(page.locator('.word-row [data-word="2"]')).to_be_focused()

    def test_another_of_the_best_trees_is_one_key_away(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(
            page, "best", "constituency", "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))", form="ptb"
        )
        first = page.locator(".drawing").inner_text()
        page.keyboard.press("b")
        expect(page.locator(".kbest [aria-pressed=true]")).to_contain_text("2")
        second = page.locator(".drawing").inner_text()
        assert second != first
        page.keyboard.press("Enter")  # what is shown is accepted
        expect(page.locator("#progress")).to_contain_text("1 of 1 sentence done")
        assert page.locator(".drawing").inner_text() == second
        page.get_by_role("button", name="Open it again").click()
        expect(page.locator("#progress")).to_contain_text("0 of 1 sentence done")
        assert page.locator(".drawing").inner_text() == second


class TestReadings:
    def test_digits_choose_and_words_are_from_right_to_left(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "readings", "lexical", ARABIC, form="text", Language="ar")
        row = page.locator(".word-row")
        assert row.evaluate("e => getComputedStyle(e).direction") == "rtl"
        page.locator('.word-row [data-word="0"]').focus()
        page.keyboard.press("1")
        saved(page, 1)
        expect(page.locator('.word-row [data-word="0"]')).to_have_class(re.compile("decided"))
        page.keyboard.press("0")
        saved(page, 2)
        expect(page.locator('.word-row [data-word="1"] small')).to_have_text("none is right")
        page.get_by_text("History of this sentence").click()
        expect(page.locator("#history li")).to_have_count(2)
        no_findings(page)

    def test_a_note_stays_with_another_reading(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "notes", "lexical", ARABIC, form="text", Language="ar")
        page.locator('.word-row [data-word="0"]').click()
        note = page.get_by_label("Note on this word")
        note.fill("sure?")
        note.press("Enter")
        saved(page, 1)
        for version, key in enumerate("10", start=2):
            page.locator('.word-row [data-word="0"]').click()
            page.keyboard.press(key)
            saved(page, version)
            page.locator('.word-row [data-word="0"]').click()
            expect(note).to_have_value("sure?")


class TestEntities:
    def test_spans_by_keys(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "names", "entities", TREEBANK, **{"Labels to offer": "PER LOC"})
        page.locator('.word-row [data-word="0"]').focus()
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("1")
        saved(page, 1)
        expect(page.locator('.word-row [data-word="0"] small')).to_have_text("PER")
        expect(page.locator(".entities-found li")).to_have_count(1)


class TestTags:
    def test_tags_of_ones_own(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "tags", "tags", TREEBANK)
        page.locator('.word-row [data-word="1"]').click()
        page.get_by_text("Tags of my own").click()
        page.get_by_label("UPOS").fill("PROPN")
        page.get_by_label("LEMMA").fill("Dog")
        page.get_by_role("button", name="Save these tags").click()
        saved(page, 1)
        expect(page.locator('.word-row [data-word="1"] small')).to_have_text("PROPN Dog")
        expect(page.locator('.word-row [data-word="1"]')).to_have_class(re.compile("decided"))

    def test_a_tag_is_found_by_search(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "tags by search", "tags", TREEBANK)
        page.locator('.word-row [data-word="1"]').click()
        page.keyboard.press("/")
        page.keyboard.type("intj")
        expect(page.locator(".choices li")).to_have_count(1)
        page.keyboard.press("Enter")
        saved(page, 1)
        expect(page.locator('.word-row [data-word="1"] small')).to_contain_text("INTJ")


class TestSegmentation:
    def test_cuts_by_keys(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "cuts", "segmentation", "Ja gut.", form="text")
        page.locator('[data-at="1"]').focus()
        page.keyboard.press("End")
        page.keyboard.press("Home")
        for _ in range(2):  # by "a" and "g": none stands before white space
            page.keyboard.press("ArrowRight")
        page.keyboard.press("w")  # a word begins inside "gut"
        saved(page, 1)
        expect(page.locator('[data-at="4"]')).to_have_class(re.compile("cut-word.*decided"))
        page.keyboard.press("x")
        saved(page, 2)
        expect(page.locator('[data-at="4"]')).to_have_class(re.compile("cut-none.*decided"))
        page.keyboard.press("Control+z")
        expect(page.locator("#saved")).to_have_text("Taken back.")
        expect(page.locator('[data-at="4"]')).to_have_class(re.compile("cut-word"))

    def test_only_places_that_can_be_cut_are_offered(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "places", "segmentation", "Ja gut.\n\nNein.", form="text")
        places = page.locator("[data-at]:enabled")
        found = places.evaluate_all("all => all.map((one) => Number(one.dataset.at))")
        assert found == [1, 3, 4, 5, 6]  # neither the beginning, nor white space, nor outside
        expect(page.locator('[data-at="1"]')).to_have_attribute("aria-selected", "true")
        page.keyboard.press("ArrowLeft")
        expect(page.locator('[data-at="1"]')).to_be_focused()
        page.keyboard.press("s")
        saved(page, 1)
        page.keyboard.press("End")
        expect(page.locator('[data-at="6"]')).to_be_focused()


@pytest.mark.long
class TestSlowAnswers:
    def test_nothing_is_decided_before_the_sentence_is_there(
        self, page: Any, address: str
    ) -> None:
        enter(page, address)
        begin(page, "slow sentence", "dependency", TREEBANK)
        held = Held(page, "/sentences/1[?]")
        page.keyboard.press("PageDown")
        expect(page.locator(".bench")).to_be_empty()
        for key in ("Enter", "0", "1", "h", "n", "b"):
            page.keyboard.press(key)
        held.let_go()
        expect(page.locator(".bench h2")).to_contain_text("Sentence 2")
        page.reload()
        expect(page.locator("#progress")).to_have_text("0 of 2 sentences done, 0 decisions")
        assert page.complaints == []

    def test_nothing_is_decided_where_the_sentence_does_not_come(
        self, page: Any, address: str
    ) -> None:
        enter(page, address)
        begin(page, "no sentence", "dependency", TREEBANK)
        path = re.compile("/sentences/1[?]")
        why = {"error": {"line": None, "why": "Too busy."}}
        intercept(page, path, lambda route: route.fulfill(status=503, json=why))
        page.keyboard.press("PageDown")
        expect(page.locator("#error")).to_have_text("Too busy.")
        page.keyboard.press("Enter")
        page.keyboard.press("0")
        page.unroute(path)
        page.locator('[data-sentence="1"]').click()
        expect(page.locator(".bench h2")).to_contain_text("Sentence 2")
        page.reload()
        expect(page.locator("#progress")).to_have_text("0 of 2 sentences done, 0 decisions")

    def test_enter_pressed_twice_accepts_once(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "twice", "dependency", TREEBANK + TREEBANK)
        held = Held(page, "/decisions$")
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        expect(page.locator("#saved")).to_have_text("Saving …")
        held.let_go()
        expect(page.locator(".bench h2")).to_contain_text("Sentence 2")
        expect(page.locator("#progress")).to_contain_text("1 of 4 sentences done")
        page.locator('.word-row [data-word="0"]').click()
        page.keyboard.press("0")
        saved(page, 2)  # nothing else was saved before
        expect(page.locator(".bench h2")).to_contain_text("Sentence 2")

    def test_enter_held_down_accepts_once(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "held", "dependency", TREEBANK + TREEBANK)
        page.keyboard.down("Enter")
        expect(page.locator(".bench h2")).to_contain_text("Sentence 2")
        page.keyboard.down("Enter")  # the key is still down: this one is a repetition
        page.keyboard.up("Enter")
        page.locator('.word-row [data-word="0"]').click()
        page.keyboard.press("0")
        saved(page, 2)  # nothing else was saved before
        expect(page.locator(".bench h2")).to_contain_text("Sentence 2")

    def test_what_was_just_decided_is_accepted(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "at once", "dependency", TREEBANK)
        page.locator('.word-row [data-word="0"]').click()
        held = Held(page, "/decisions$")
        page.keyboard.press("0")
        expect(page.locator("#saved")).to_have_text("Saving …")
        page.keyboard.press("Enter")
        held.let_go()
        expect(page.locator(".bench h2")).to_contain_text("Sentence 2")
        page.keyboard.press("PageUp")
        expect(page.locator(".bench h2")).to_contain_text("accepted")
        expect(page.locator('.word-row [data-word="0"] small')).to_contain_text("root")

    def test_an_answer_after_leaving_is_no_error(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "left", "dependency", TREEBANK)
        where = page.url
        page.locator('.word-row [data-word="0"]').click()
        held = Held(page, "/decisions$")
        page.keyboard.press("0")
        expect(page.locator("#saved")).to_have_text("Saving …")
        page.get_by_role("link", name="left", exact=True).click()
        expect(page.locator(".views-nav")).to_be_visible()
        with page.expect_response(held.path):
            held.let_go()
        page.get_by_role("link", name="Guidelines", exact=True).click()
        expect(page.locator(".views-nav [aria-current]")).to_have_text("Guidelines")
        settled(page)
        assert page.complaints == []
        page.goto(where)
        expect(page.locator('.word-row [data-word="0"]')).to_have_class(re.compile("decided"))

    def test_a_decision_saved_without_proposals_is_shown(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "busy", "dependency", TREEBANK)

        def without(route: Any) -> None:
            answer = route.fetch()
            route.fulfill(response=answer, json={**answer.json(), "proposals": []})

        intercept(page, re.compile("/decisions$"), without)
        page.locator('.word-row [data-word="0"]').click()
        page.keyboard.press("0")
        expect(page.locator('.word-row [data-word="0"]')).to_have_class(re.compile("decided"))
        expect(page.locator('.word-row [data-word="0"]')).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator(".bench h2")).to_contain_text("Sentence 2")
        expect(page.locator("#progress")).to_contain_text("1 of 2 sentences done")

    def test_a_view_that_comes_late_is_not_shown(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "late view", "dependency", TREEBANK)
        page.get_by_role("link", name="late view", exact=True).click()
        held = Held(page, "/measures$")
        with page.expect_request(held.path):
            page.get_by_role("link", name="Measures", exact=True).click()
        page.get_by_role("link", name="Projects", exact=True).click()
        expect(page.get_by_role("form", name="New project")).to_be_visible()
        answered(page, held)
        expect(page.get_by_role("form", name="New project")).to_be_visible()
        expect(page.locator(".views-nav")).to_have_count(0)
        users = Held(page, "/api/users$")
        page.reload()
        page.get_by_role("link", name="late view", exact=True).click()
        expect(page.locator("#trail")).to_contain_text("late view")
        page.get_by_role("link", name="Projects", exact=True).click()
        expect(page.get_by_role("form", name="New project")).to_be_visible()
        answered(page, users)
        expect(page.get_by_role("region", name="People")).to_have_count(1)
        expect(page.locator(".views-nav")).to_have_count(0)
        assert page.complaints == []

    def test_a_reload_while_it_is_saved(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "reloaded", "dependency", TREEBANK)
        page.keyboard.press("PageDown")
        expect(page.locator(".bench h2")).to_contain_text("Sentence 2")
        stored = []

        def without_answer(route: Any) -> None:
            stored.append(route.fetch().status)  # it is saved, and the page does not hear of it

        intercept(page, re.compile("/decisions$"), without_answer)
        page.locator('.word-row [data-word="1"]').click()
        with page.expect_request(re.compile("/decisions$")):
            page.keyboard.press("0")
        expect(page.locator("#saved")).to_have_text("Saving …")
        page.unroute(re.compile("/decisions$"))
        page.reload()
        expect(page.locator(".bench h2")).to_contain_text("Sentence 2")
        assert stored == [200]
        expect(page.locator('.word-row [data-word="1"]')).to_have_class(re.compile("decided"))
        page.locator('.word-row [data-word="1"]').click()
        page.keyboard.press("r")
        page.keyboard.type("advm")  # typed, not saved
        page.reload()
        expect(page.locator('.word-row [data-word="1"] small')).to_contain_text("root")
        page.keyboard.press("Enter")
        expect(page.locator(".bench h2")).to_contain_text("Sentence 1")
        expect(page.locator("#progress")).to_contain_text("1 of 2 sentences done")
        assert page.complaints == []


@pytest.mark.long
class TestOffered:
    """Relations and labels to choose from are those of the project."""

    def test_each_project_has_its_own(self, page: Any, address: str) -> None:
        enter(page, address)
        for name, label in (("first labels", "aaa"), ("second labels", "bbb")):
            begin(page, name, "dependency", TREEBANK, **{"Labels to offer": label})
            offered = page.locator("#relations option")
            expect(page.locator("#relations")).to_contain_text(label)
            found = offered.evaluate_all("all => all.map((one) => one.value)")
            assert set(found) & {"aaa", "bbb"} == {label}
            page.get_by_role("link", name="Projects", exact=True).click()
            expect(page.get_by_role("form", name="New project")).to_be_visible()

    def test_an_empty_list_is_asked_for_once(self, page: Any, address: str) -> None:
        enter(page, address)
        asked = []

        def empty(route: Any) -> None:
            asked.append(route.request.url)
            route.fulfill(json={"candidates": []})

        intercept(page, re.compile("/candidates[?]"), empty)
        begin(page, "no labels", "dependency", TREEBANK)
        page.locator('.word-row [data-word="0"]').focus()
        for _ in range(2):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("PageDown")
        expect(page.locator(".bench h2")).to_contain_text("Sentence 2")
        assert len(asked) == 1


@pytest.mark.long
class TestPeople:
    def test_a_second_tab_of_another_browser_is_shown_the_conflict(
        self, browser: Any, page: Any, address: str
    ) -> None:
        enter(page, address)
        begin(page, "conflict", "dependency", TREEBANK)
        context = browser.new_context()
        other = context.new_page()
        enter(other, address)
        other.goto(page.url)
        expect(other.locator(".bench h2")).to_contain_text("Sentence 1")
        for side in (page, other):
            side.locator('.word-row [data-word="0"]').click()
        page.keyboard.press("0")
        saved(page, 1)
        other.keyboard.press("0")
        expect(other.locator("#conflict")).to_contain_text("Nothing was saved.")
        other.get_by_role("button", name="Show the newest").click()
        expect(other.locator('.word-row [data-word="0"] small')).to_contain_text("root")
        context.close()

    def test_another_tab_does_not_take_away_what_is_typed(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "tabs", "dependency", TREEBANK)
        other = page.context.new_page()
        other.goto(page.url)
        other.locator('.word-row [data-word="0"]').click()
        other.keyboard.press("r")
        other.keyboard.type("advm")
        page.locator('.word-row [data-word="1"]').click()
        page.keyboard.press("0")
        saved(page, 1)
        expect(other.locator("#saved")).to_contain_text("Another tab has changed this document")
        expect(other.locator(".tail")).to_have_value("advm")
        other.keyboard.press("Escape")
        expect(other.locator('.word-row [data-word="1"]')).to_have_class(re.compile("decided"))
        expect(other.locator('.word-row [data-word="0"]')).not_to_have_class(re.compile("decided"))
        other.close()

    def test_two_annotators_and_an_adjudicator(
        self, browser: Any, page: Any, address: str
    ) -> None:
        enter(page, address)
        begin(page, "team", "dependency", TREEBANK)
        where = page.url
        page.locator('.word-row [data-word="0"]').click()
        page.keyboard.press("0")
        saved(page, 1)
        context = browser.new_context()
        grace = context.new_page()
        enter(grace, address, "Grace")
        grace.goto(where)
        expect(grace.locator(".bench h2")).to_contain_text("Sentence 1")
        expect(grace.locator('.word-row [data-word="0"]')).not_to_have_class(re.compile("decided"))
        grace.keyboard.press("Enter")
        expect(grace.locator(".bench h2")).to_contain_text("Sentence 2")
        context.close()
        page.goto(f"{where}&layer=adjudication")
        expect(page.locator(".voice")).to_have_count(2)
        page.locator(".voice", has_text="Grace").get_by_role("button", name="Take this").click()
        saved(page, 1)
        expect(page.locator("#progress")).to_contain_text("1 of 2 sentences done")


@pytest.mark.long
class TestEverywhere:
    def test_a_link_with_a_key_held_opens_a_tab(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "links", "tags", TREEBANK)
        for name in ("links", "Projects"):  # of the trail
            here = page.url
            with page.context.expect_page() as opening:
                page.get_by_role("link", name=name, exact=True).click(modifiers=["ControlOrMeta"])
            other = opening.value
            expect(other.locator("#trail [aria-current]")).to_have_text(name)
            other.close()
            assert page.url == here
        page.get_by_role("link", name="links", exact=True).click()
        for name in ("Guidelines", "text"):  # a view, a document
            here = page.url
            with page.context.expect_page() as opening:
                page.get_by_role("link", name=name, exact=True).click(modifiers=["ControlOrMeta"])
            opening.value.close()
            assert page.url == here

    def test_a_phone(self, browser: Any, address: str) -> None:
        context = browser.new_context(viewport={"width": 360, "height": 740})
        page = context.new_page()
        enter(page, address)
        begin(page, "phone", "dependency", TREEBANK)
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 360
        context.close()

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_axe_finds_nothing(self, browser: Any, address: str, scheme: str) -> None:
        context = browser.new_context(color_scheme=scheme)
        page = context.new_page()
        page.goto(f"{address}/annotate")
        page.get_by_label("Name").wait_for()
        no_findings(page)
        enter(page, address)
        no_findings(page)
        begin(page, f"axe {scheme}", "dependency", TREEBANK)
        no_findings(page)
        page.goto(page.url.partition("?")[0])
        page.get_by_role("link", name=f"axe {scheme}").click()
        for view in ("Documents", "Guidelines", "Measures", "Models", "Export", "Settings"):
            page.get_by_role("link", name=view, exact=True).click()
            expect(page.locator(".views-nav [aria-current]")).to_have_text(view)
            settled(page)
            no_findings(page)
        context.close()

    def test_hostile_text_is_text(self, page: Any, address: str) -> None:
        enter(page, address)
        hostile = '<script>document.title="gone"</script>\u202e <img src=x onerror=alert(1)>'
        begin(page, "hostile <b>", "tags", hostile, form="text")
        expect(page.locator(".word-row")).to_contain_text("script")
        assert page.title() == "Annotate · eigentext"
        assert page.locator(".word-row img, .word-row script").count() == 0

    def test_settings_keep_a_model_that_is_not_served(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "absent model", "dependency", TREEBANK)
        page.get_by_role("link", name="absent model", exact=True).click()
        expect(page.locator(".views-nav")).to_be_visible()
        project = re.search(r"project=(\d+)", page.url)
        assert project is not None
        api = f"{address}/api/projects/{project[1]}"
        model = page.request.get(api).json()["model"]
        assert model

        def without(route: Any) -> None:
            answer = route.fetch()
            route.fulfill(response=answer, json={**answer.json(), "models": []})

        page.route("**/api/health", without)
        page.goto(f"{page.url}&view=settings")
        settings = page.get_by_role("form", name="Settings")
        expect(settings.get_by_label("Model that proposes")).to_have_value(model)
        settings.get_by_label("Labels to offer").fill("nsubj")
        settings.get_by_role("button", name="Save").click()
        expect(page.locator("#status")).to_have_text("Saved.")
        stored = page.request.get(api).json()
        assert (stored["model"], stored["settings"]["labels"]) == (model, ["nsubj"])

    def test_deletion_asks_for_the_name(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "to be deleted", "tags", TREEBANK)
        page.get_by_role("link", name="to be deleted").click()
        page.get_by_role("button", name="Delete …").click()
        page.locator("dialog input").fill("text")
        page.locator("dialog").get_by_role("button", name="Delete").click()
        expect(page.locator("#results")).to_contain_text("There is no document yet.")


def test_accounts_need_a_password(serve: Any, page: Any, tmp_path: Path) -> None:
    from eigentext.studio.store.accounts import Accounts
    from eigentext.studio.store.store import AnnotationStore

    path = str(tmp_path / "team.db")
    store = AnnotationStore(path)
    Accounts(store).add_user("Ada", "admin", "correct horse battery")
    store.close()
    with serve(annotations=path, accounts=True) as address:
        page.goto(f"{address}/annotate")
        page.get_by_label("Name").fill("Ada")
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        expect(page.locator("#error")).to_contain_text("do not belong together")
        page.get_by_label("Password").fill("correct horse battery")
        page.get_by_role("button", name="Log in").click()
        expect(page.locator("#who")).to_contain_text("Ada (admin)")
        settled(page)
        no_findings(page)
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_label("Password")).to_be_visible()
