"""Annotating with keys: each task by keys alone, once for each press, passed over, kept."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from eigentext.tagging.sequence import SequenceTagger
from helpers.annotate_pages import (
    ARABIC,
    TREEBANK,
    Held,
    begin,
    enter,
    history,
    saved,
    settled,
    tab_to,
    word,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.requires("chromium"), pytest.mark.long]

LONGER = """\
1\tthe\t_\tDET\tDT\t_\t2\tdet\t_\t_
2\tdog\t_\tNOUN\tNN\t_\t3\tnsubj\t_\t_
3\tbarks\t_\tVERB\tVBZ\t_\t0\troot\t_\t_
4\tloudly\t_\tADV\tRB\t_\t3\tadvmod\t_\t_

"""
TREE = "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"
LETTER = "She wrote a long letter to her mother ."


@pytest.fixture(scope="module")
def address(
    serve: Any, dep_model: str, const_model: str, lex_model: str, tmp_path_factory: Any
) -> Iterator[str]:
    """A service with a model for each kind of decision but tags and cuts."""
    folder = tmp_path_factory.mktemp("keys")
    names = ["Ada", "Grace", "Rome", "Paris"]
    text = [["Then", one, "met", two, "."] for one in names for two in names]
    tags = [["O", "B-PER", "O", "B-PER", "O"]] * len(text)
    SequenceTagger(epochs=3, entity_margin=0.0, beam=1).fit(text, tags).save(
        folder / "names.tagger"
    )
    models = (dep_model, const_model, lex_model, str(folder / "names.tagger"))
    with serve(models=models, annotations=str(folder / "a.db")) as found:
        yield found


class TestOnce:
    """One press is one decision."""

    def readings(self, page: Any, address: str, name: str) -> None:
        enter(page, address)
        begin(page, name, "lexical", ARABIC, form="text", Language="ar")
        word(page, 0).focus()

    def goes_on(self, page: Any) -> None:
        """One word was decided, the next is at hand: a press decides that."""
        expect(word(page, 0)).to_have_class(re.compile("decided"))
        expect(word(page, 1)).to_be_focused()
        page.keyboard.press("1")
        expect(word(page, 1)).to_have_class(re.compile("decided"))
        expect(word(page, 2)).to_be_focused()
        assert [one["item"] for one in history(page)] == ["w0", "w1"]
        assert page.complaints == []

    def test_a_digit_pressed_twice_before_the_next_word_is_shown(
        self, page: Any, address: str
    ) -> None:
        self.readings(page, address, "pressed twice")
        held = Held(page, "/decisions$")
        page.keyboard.press("1")
        page.keyboard.press("1")
        page.keyboard.press("0")
        expect(page.locator("#saved")).to_have_text("Saving …")
        held.let_go()
        self.goes_on(page)

    def test_a_digit_held_down(self, page: Any, address: str) -> None:
        self.readings(page, address, "held down")
        sent = []
        page.on("request", lambda request: sent.append(request.method))
        page.keyboard.down("1")
        expect(word(page, 1)).to_be_focused()
        page.keyboard.down("1")  # a repetition
        page.keyboard.up("1")
        page.evaluate("() => fetch('/api/health').then((answer) => answer.text())")
        assert sent.count("POST") == 1
        self.goes_on(page)

    def test_a_double_click(self, page: Any, address: str) -> None:
        self.readings(page, address, "clicked twice")
        page.locator(".choice").first.dblclick()
        self.goes_on(page)

    def test_who_moves_on_while_it_is_saved_stays_there(self, page: Any, address: str) -> None:
        self.readings(page, address, "moved on")
        held = Held(page, "/decisions$")
        page.keyboard.press("1")
        page.keyboard.press("End")
        expect(word(page, 3)).to_be_focused()
        held.let_go()
        expect(word(page, 0)).to_have_class(re.compile("decided"))
        expect(word(page, 3)).to_be_focused()

    def test_a_note_that_is_typed_goes_with_the_reading(self, page: Any, address: str) -> None:
        self.readings(page, address, "typed note")
        page.get_by_label("Note on this word").fill("sure?")
        page.locator(".choice").first.click()
        expect(word(page, 1)).to_be_focused()
        assert {one["note"] for one in history(page)} == {"sure?"}

    @pytest.mark.parametrize(
        ("task", "text", "form", "key", "item"),
        [
            ("dependency", TREEBANK, "conllu", "0", "a1"),
            ("constituency", TREE, "ptb", "x", "s0-1"),
            ("entities", TREEBANK, "conllu", "1", "e0-1"),
            ("segmentation", "Ja gut.", "text", "s", "b1"),
        ],
    )
    def test_in_other_tasks(
        self, page: Any, address: str, task: str, text: str, form: str, key: str, item: str
    ) -> None:
        enter(page, address)
        begin(page, f"twice in {task}", task, text, form=form, **{"Labels to offer": "PER"})
        page.locator(".bench [role=option][tabindex='0']").focus()
        held = Held(page, "/decisions$")
        page.keyboard.press(key)
        page.keyboard.press(key)
        expect(page.locator("#saved")).to_have_text("Saving …")
        held.let_go()
        saved(page, 1)
        page.get_by_text("History of this sentence").click()
        expect(page.locator("#history li")).to_have_count(1)
        assert [one["item"] for one in history(page)] == [item]


class TestNextOpen:
    """N goes to the next open item in the order of the text, then to the next sentence."""

    def test_dependencies(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "next arcs", "dependency", TREEBANK)
        word(page, 0).focus()
        for at in (1, 2):
            page.keyboard.press("n")
            expect(word(page, at)).to_be_focused()
        page.keyboard.press("n")
        expect(page.locator(".bench h2")).to_contain_text("Sentence 2")

    def test_constituents(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "next spans", "constituency", f"{TREE}\n{TREE}", form="ptb")
        word(page, 0).focus()
        for words in ("the dog", "the dog barks", "barks"):
            page.keyboard.press("n")
            expect(page.locator(".selection")).to_have_text(words)
        page.keyboard.press("n")
        expect(page.locator(".bench h2")).to_contain_text("Sentence 2")

    def test_entities(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(
            page,
            "next names",
            "entities",
            "Then Ada met Grace.\n\nThen Ada met Rome.",
            form="text",
        )
        word(page, 0).focus()
        for name in ("Ada", "Grace"):
            page.keyboard.press("n")
            expect(page.locator(".selection")).to_have_text(name)
        page.keyboard.press("n")
        expect(page.locator(".bench h2")).to_contain_text("Sentence 2")


class TestPassedOver:
    """Arcs that the cursor goes over on its way to a correction are right, and are marked so."""

    def test_they_bind_and_are_marked(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "passed", "dependency", TREEBANK)
        word(page, 0).focus()
        before = word(page, 0).locator("small").text_content()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("0")
        saved(page, 1)
        expect(word(page, 0)).to_have_class(re.compile("decided.*passed"))
        expect(word(page, 1)).to_have_class(re.compile("decided"))
        expect(word(page, 1)).not_to_have_class(re.compile("passed"))
        assert word(page, 0).locator("small").text_content() == before
        expect(word(page, 0)).to_have_attribute("aria-label", re.compile("passed over"))
        made = {one["item"]: one for one in history(page)}
        assert set(made) == {"a1", "a2"}
        assert made["a1"]["value"]["passed"] is True
        assert "passed" not in made["a2"]["value"]
        assert made["a2"]["keys"] is not None  # what it took belongs to what was decided
        page.get_by_text("History of this sentence").click()
        expect(page.locator("#history")).to_contain_text("passed over as right")
        page.keyboard.press("Control+z")  # both are one step
        expect(page.locator("#saved")).to_have_text("Taken back.")
        for at in (0, 1):
            expect(word(page, at)).not_to_have_class(re.compile("decided"))

    def test_a_click_passes_nothing_over_nor_does_the_way_back(
        self, page: Any, address: str
    ) -> None:
        enter(page, address)
        begin(page, "clicked", "dependency", LONGER)
        word(page, 2).click()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")  # on "dog": what was passed is behind it
        for key in ("h", "ArrowLeft", "Enter"):
            page.keyboard.press(key)
        saved(page, 1)
        assert [one["item"] for one in history(page)] == ["a2"]

    def test_what_goes_against_the_new_arc_does_not_bind(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "against", "dependency", LONGER)
        word(page, 0).focus()
        page.keyboard.press("End")
        page.keyboard.press("0")  # another root: the old one cannot be one any more
        saved(page, 1)
        bound = {one["item"]: one["value"].get("head") for one in history(page)}
        assert bound.pop("a4") == 0
        assert bound
        assert 0 not in bound.values()
        expect(page.locator(".bench")).not_to_contain_text("no tree yet")
        # a circle through a bound arc: that one is let go
        first = min(bound)
        head = bound[first]
        number = int(first[1:])
        word(page, head - 1).click()
        page.keyboard.press("h")
        word(page, number - 1).click()
        saved(page, 2)
        expect(word(page, number - 1)).not_to_have_class(re.compile("passed"))
        expect(page.locator(".bench")).not_to_contain_text("no tree yet")

    def test_the_project_can_do_without(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "nothing passed", "dependency", TREEBANK)
        where = page.url
        page.get_by_role("link", name="nothing passed", exact=True).click()
        page.get_by_role("link", name="Settings", exact=True).click()
        box = page.get_by_label("Arcs passed over are right")
        expect(box).to_be_checked()
        box.uncheck()
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator("#status")).to_have_text("Saved.")
        page.goto(where)
        word(page, 0).focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("0")
        saved(page, 1)
        assert [one["item"] for one in history(page)] == ["a2"]


class TestKept:
    """After a correction of constituents one key brings the rest of the tree back as it was."""

    def test_the_tree_before_with_the_correction_alone(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "kept", "constituency", LETTER, form="text")
        before = constituents(page)
        word(page, 3).focus()
        page.keyboard.press("Home")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("Shift+ArrowRight")
        expect(page.locator(".selection")).to_have_text("long letter")
        page.keyboard.press("l")
        page.keyboard.type("NP")
        page.keyboard.press("Enter")
        saved(page, 1)
        expect(page.locator('.et-node[data-start="3"][data-end="5"]')).to_have_count(1)
        anew = constituents(page)
        assert anew != before | {(3, 5, "NP")}  # the rest was parsed anew, and is another
        page.keyboard.press("k")
        saved(page, 2)
        expect(page.get_by_role("button", name="Take back: the rest is kept")).to_be_visible()
        assert constituents(page) == before | {(3, 5, "NP")}
        notes = {one["item"]: one["note"] for one in history(page)}
        assert notes.pop("s3-5") == ""
        assert set(notes.values()) == {"kept from the tree before"}
        page.keyboard.press("k")  # nothing is left to be kept
        # a span that crosses what was only kept takes its place
        page.keyboard.press("End")
        page.keyboard.press("Shift+ArrowLeft")
        expect(page.locator(".selection")).to_have_text("mother .")
        page.keyboard.press("l")
        page.keyboard.type("X")
        page.keyboard.press("Enter")
        saved(page, 3)
        expect(page.locator('.et-node[data-start="7"][data-end="9"]')).to_have_count(1)
        now = constituents(page)
        assert (6, 8, "NP") not in now
        assert (2, 5, "NP") in now
        page.keyboard.press("Control+z")
        expect(page.locator('.et-node[data-start="7"][data-end="9"]')).to_have_count(0)
        page.get_by_role("button", name="Take back: the rest is kept").click()
        saved(page, 5)
        assert constituents(page) == anew

    def test_plain_undo_takes_the_correction_back_with_the_new_parse(
        self, page: Any, address: str
    ) -> None:
        enter(page, address)
        begin(page, "undone", "constituency", LETTER, form="text")
        before = constituents(page)
        word(page, 3).click()
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("l")
        page.keyboard.type("NP")
        page.keyboard.press("Enter")
        saved(page, 1)
        page.keyboard.press("Control+z")
        expect(page.locator("#saved")).to_have_text("Taken back.")
        assert constituents(page) == before


def constituents(page: Any) -> set[tuple[int, int, str]]:
    """Spans and tags of the tree that is drawn."""
    nodes = page.locator('.drawing .et-node:not([data-role="word"])')
    told = "all => all.map(({dataset: d}) => [Number(d.start), Number(d.end), d.label])"
    return {tuple(one) for one in nodes.evaluate_all(told)}


def by_dependency(page: Any) -> None:
    page.keyboard.press("h")
    page.keyboard.press("End")
    page.keyboard.press("Enter")


def by_constituency(page: Any) -> None:
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("l")
    page.keyboard.type("NP")
    page.keyboard.press("Enter")


def by_digit(page: Any) -> None:
    page.keyboard.press("1")


def by_cut(page: Any) -> None:
    page.keyboard.press("s")


@pytest.mark.parametrize(
    ("task", "text", "form", "decide"),
    [
        ("dependency", TREEBANK, "conllu", by_dependency),
        ("constituency", f"{TREE}\n{TREE}", "ptb", by_constituency),
        ("lexical", f"{ARABIC}\n\n{ARABIC}", "text", by_digit),
        ("tags", TREEBANK, "conllu", by_digit),
        ("entities", TREEBANK, "conllu", by_digit),
        ("segmentation", "Ja gut.\n\nNein danke.", "text", by_cut),
    ],
)
def test_each_task_by_keys_alone(
    page: Any, address: str, task: str, text: str, form: str, decide: Callable[[Any], None]
) -> None:
    page.goto(f"{address}/annotate")
    name = page.get_by_label("Name")
    tab_to(page, name)
    page.keyboard.type("Ada")
    page.keyboard.press("Enter")
    settled(page)
    new = page.get_by_role("form", name="New project")
    tab_to(page, new.get_by_label("Name"))
    page.keyboard.type(f"{task} by keys")
    tab_to(page, new.get_by_label("Task"))
    titles = (
        new.get_by_label("Task").locator("option").evaluate_all("all => all.map((o) => o.value)")
    )
    for _ in range(titles.index(task)):
        page.keyboard.press("ArrowDown")
    expect(new.get_by_label("Task")).to_have_value(task)
    tab_to(page, new.get_by_label("Labels to offer"))
    page.keyboard.type("PER NP")
    page.keyboard.press("Enter")
    importing = page.get_by_role("form", name="Import")
    tab_to(page, importing.get_by_label("Name"))
    page.keyboard.type("text")
    tab_to(page, importing.get_by_label("Format"))
    for _ in range(["text", "conllu", "ptb"].index(form)):
        page.keyboard.press("ArrowDown")
    tab_to(page, importing.get_by_label("Content"))
    page.keyboard.insert_text(text)
    tab_to(page, importing.get_by_role("button", name="Import"))
    page.keyboard.press("Enter")
    link = page.get_by_role("link", name="text", exact=True)
    expect(link).to_be_visible()
    tab_to(page, link)
    page.keyboard.press("Enter")
    expect(page.locator(".bench h2")).to_contain_text("Sentence 1")
    tab_to(page, page.locator(".bench [role=option][tabindex='0']"))
    decide(page)
    saved(page, 1)
    expect(page.locator(".bench .decided, .bench .chips li").first).to_be_visible()
    page.keyboard.press("Control+z")
    expect(page.locator("#saved")).to_have_text("Taken back.")
    page.keyboard.press("Control+Shift+z")
    expect(page.locator("#saved")).to_have_text("Brought back.")
    page.keyboard.press("Enter")
    expect(page.locator(".bench h2")).to_contain_text("Sentence 2")
    expect(page.locator("#progress")).to_contain_text("1 of 2 sentences done")
    page.keyboard.press("PageUp")
    expect(page.locator(".bench h2")).to_contain_text("accepted")
    page.reload()
    expect(page.locator(".bench h2")).to_contain_text("accepted")
    assert page.complaints == []
