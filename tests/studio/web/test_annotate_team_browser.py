"""A team at work in browsers: several at once, readers, models that learn, PostgreSQL."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from eigentext.datasets import load_english
from eigentext.language.formats import conllu
from eigentext.language.trees.constituent import Tree
from eigentext.language.trees.heads import to_dependencies
from eigentext.studio.store.accounts import Accounts
from eigentext.studio.store.files import read_documents
from eigentext.studio.store.records import Change
from eigentext.studio.store.store import AnnotationStore
from helpers.annotate_pages import (
    ARABIC,
    TREEBANK,
    Held,
    begin,
    enter,
    history,
    intercept,
    no_findings,
    saved,
    settled,
    word,
)
from helpers.postgres import Server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.requires("chromium"), pytest.mark.long]

PASSWORD = "correct horse battery"
ROLES = {
    "Ada": "annotator",
    "Grace": "annotator",
    "Edith": "adjudicator",
    "Rosa": "reader",
    "Admin": "admin",
}


@pytest.fixture(scope="module")
def team(serve: Any, dep_model: str, tmp_path_factory: Any) -> Iterator[str]:
    """A service with accounts, one of each role, and a document of two sentences."""
    folder = tmp_path_factory.mktemp("team")
    (folder / "text.conllu").write_text(TREEBANK, encoding="utf-8")
    store = AnnotationStore(str(folder / "team.db"))
    for name, role in ROLES.items():
        Accounts(store).add_user(name, role, PASSWORD)
    project = store.create_project("Trees", "dependency", language="en", model="english")
    read = read_documents(
        str(folder / "text.conllu"), kind="conllu", task="dependency", name="text"
    )
    store.add_documents(project.id, read)
    compared = store.create_project("Compared", "dependency", language="en", model="english")
    (document,) = store.add_documents(compared.id, read)
    ada = Accounts(store).user_named("Ada").id
    root = Change(0, "a2", {"head": 0, "deprel": "root"})
    store.decide(store.layer(document.id, kind="adjudication").id, root)
    store.decide(store.layer(document.id, user=ada).id, root)
    store.mark_done(store.layer(document.id, user=ada).id)
    assert store.see_adjudication(document.id, ada)
    store.close()
    settings = {"annotations": str(folder / "team.db"), "accounts": True}
    with serve(models=(dep_model,), **settings) as address:
        yield address


@contextmanager
def logged_in(browser: Any, address: str, name: str) -> Iterator[Any]:
    """A page of a browser of one's own."""
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    page = context.new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(f"{address}/annotate")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("Password").press("Enter")
    expect(page.locator("#who")).to_contain_text(f"{name} ({ROLES[name]})")
    settled(page)
    page.get_by_role("link", name="Trees", exact=True).click()
    expect(page.locator(".views-nav")).to_be_visible()
    yield page
    assert page.complaints == []
    context.close()


class TestAtOnce:
    def test_two_annotators_and_an_adjudicator(self, browser: Any, team: str) -> None:
        with (
            logged_in(browser, team, "Ada") as ada,
            logged_in(browser, team, "Grace") as grace,
            logged_in(browser, team, "Edith") as edith,
        ):
            for page in (ada, grace):
                page.get_by_role("link", name="text", exact=True).click()
            edith.get_by_role("link", name="Adjudicate", exact=True).click()
            for page in (ada, grace, edith):
                expect(page.locator(".bench h2")).to_contain_text("Sentence 1")
            # both decide about the same word in the same moment, each otherwise
            held = [Held(page, "/decisions$") for page in (ada, grace)]
            for page, key in ((ada, "0"), (grace, "h")):
                word(page, 0).click()
                page.keyboard.press(key)
            word(grace, 2).click()
            for page in (ada, grace):
                expect(page.locator("#saved")).to_have_text("Saving …")
            for one in held:
                one.let_go()
            for page in (ada, grace):
                saved(page, 1)
                expect(page.locator("#conflict")).to_be_hidden()
            expect(word(ada, 0).locator("small")).to_contain_text("root")
            expect(word(grace, 0).locator("small")).to_contain_text("← barks")
            for page in (ada, grace):
                page.keyboard.press("Enter")
                expect(page.locator(".bench h2")).to_contain_text("Sentence 2")
            # the adjudicator goes through them while they go on
            edith.keyboard.press("PageDown")
            expect(edith.locator(".bench h2")).to_contain_text("Sentence 2")
            edith.keyboard.press("PageUp")
            expect(edith.locator(".voices")).to_contain_text("Grace (accepted)")
            expect(edith.locator(".voices")).to_contain_text("Ada (accepted)")
            expect(edith.locator("section", has=edith.locator(".voices")).first).to_contain_text(
                "The layers differ"
            )
            adas = Held(ada, "/decisions$")
            ada.keyboard.press("Enter")
            expect(ada.locator("#saved")).to_have_text("Saving …")
            voice = edith.locator(".voice", has_text="Grace")
            voice.get_by_role("button", name="Take this").click()
            expect(edith.locator("#progress")).to_contain_text("1 of 2 sentences done")
            adas.let_go()
            expect(ada.locator("#progress")).to_contain_text("2 of 2 sentences done")
            expect(word(edith, 0).locator("small")).to_contain_text("← barks")
            # nobody else's layer has moved
            assert {one["by"] for one in history(ada)} == {"Ada"}
            assert {one["by"] for one in history(grace)} == {"Grace"}
            assert {one["by"] for one in history(edith, "adjudication")} == {"Edith"}
            expect(grace.locator("#progress")).to_contain_text("1 of 2 sentences done")

    def test_a_reader_sees_the_adjudication_and_changes_nothing(
        self, browser: Any, team: str
    ) -> None:
        with logged_in(browser, team, "Rosa") as page:
            expect(page.get_by_role("link", name="Settings")).to_have_count(0)
            page.get_by_role("link", name="Export", exact=True).click()
            expect(page.get_by_label("Layer")).to_contain_text("the adjudication")
            expect(page.get_by_label("Layer")).not_to_contain_text("my own")
            page.get_by_role("link", name="Documents", exact=True).click()
            page.get_by_role("link", name="text", exact=True).click()
            expect(page.locator(".bench h2")).to_contain_text("Sentence")
            expect(page.locator("#results")).to_contain_text("You can look at this layer")
            expect(page.get_by_role("button", name="Accept and go on")).to_be_disabled()
            before = history(page, "adjudication")
            word(page, 0).click()
            for key in ("0", "1", "Enter", "Control+z"):
                page.keyboard.press(key)
            expect(page.locator("#error")).to_be_hidden()
            assert history(page, "adjudication") == before

    def test_a_layer_that_is_closed_is_opened_again_by_who_adjudicates(
        self, browser: Any, team: str
    ) -> None:
        with logged_in(browser, team, "Ada") as ada, logged_in(browser, team, "Edith") as edith:

            def opened(page: Any, layer: str) -> None:
                page.goto(f"{team}/annotate?document=2&layer={layer}")
                expect(page.locator(".bench h2")).to_contain_text("Sentence")

            finish = "Not finished after all"
            opened(ada, "mine")
            expect(ada.locator("#results")).to_contain_text("This layer is closed")
            for name in (finish, "Accept and go on", "Undo"):
                expect(ada.get_by_role("button", name=name)).to_be_disabled()
            opened(edith, "1")  # Ada's
            expect(edith.get_by_role("button", name="Accept and go on")).to_be_disabled()
            edith.get_by_role("button", name=finish).click()
            expect(edith.locator("#saved")).to_have_text("The document is open again.")
            opened(ada, "mine")
            expect(ada.locator("#results")).not_to_contain_text("This layer is closed")
            for name in ("Document finished", "Accept and go on", "Undo"):
                expect(ada.get_by_role("button", name=name)).to_be_enabled()


@pytest.fixture(scope="module")
def address(serve: Any, dep_model: str, tmp_path_factory: Any) -> Iterator[str]:
    """A service on this machine, with a parser."""
    store = str(tmp_path_factory.mktemp("learning") / "a.db")
    with serve(models=(dep_model,), annotations=store) as address:
        yield address


class TestLearning:
    def accepted(self, page: Any, trees: list[str]) -> None:
        """Accept the trees of the document that is open, as a program would."""
        found = re.search(r"document=(\d+)", page.url)
        assert found is not None
        where = page.url.partition("/annotate")[0]
        opened = page.request.get(f"{where}/api/documents/{found[1]}").json()
        changes = []
        for number, sentence in enumerate(opened["sentences"]):
            columns = sentence["columns"]
            analysis = {"head": [int(one) for one in columns["head"]], "deprel": columns["deprel"]}
            changes.append({"sentence": number, "item": "done", "value": {"analysis": analysis}})
        assert len(changes) == len(trees)
        answer = page.request.post(
            f"{where}/api/documents/{found[1]}/decisions",
            data={"changes": changes},
            headers={"X-Annotator": "Ada"},
        )
        assert answer.status == 200, answer.text()

    def models(self, page: Any, project: str) -> None:
        page.get_by_role("link", name=project, exact=True).click()
        page.get_by_role("link", name="Models", exact=True).click()
        expect(page.get_by_role("button", name="Learn from the decisions")).to_be_enabled()

    def test_too_little_is_told_and_nothing_changes(self, page: Any, address: str) -> None:
        enter(page, address)
        begin(page, "too little", "dependency", TREEBANK)
        self.models(page, "too little")
        page.get_by_role("button", name="Learn from the decisions").click()
        expect(page.locator("#retraining")).to_contain_text("0 finished sentences, expected at")
        expect(page.locator("section[aria-label=Models]")).to_contain_text("No model has learned")
        expect(page.get_by_role("button", name="Learn from the decisions")).to_be_enabled()

    def test_a_better_model_takes_over(self, page: Any, address: str) -> None:
        """A language that the first model has never seen: heads to the right, odd relations."""
        lines = []
        for one in ("ba", "be", "bi", "bo", "bu", "by"):
            words = [f"{one}la", f"{one}ra", f"{one}ga"]
            heads = ((2, "odd"), (3, "other"), (0, "root"))
            lines += [
                f"{k}\t{form}\t_\tX\tX\t_\t{head}\t{relation}\t_\t_"
                for k, (form, (head, relation)) in enumerate(zip(words, heads, strict=True), 1)
            ]
            lines.append("")
        enter(page, address)
        begin(page, "another language", "dependency", "\n".join(lines) + "\n")
        where = page.url
        self.accepted(page, ["ba", "be", "bi", "bo", "bu", "by"])
        self.models(page, "another language")
        asked = re.compile("/retrain$")
        told = {"state": "running", "done": 3, "total": 8, "doing": "learning", "why": ""}

        shown = False

        def running_until_shown(route: Any) -> None:
            if route.request.method == "GET" and not shown:
                route.fulfill(json={**told, "report": {}, "model": None})
            else:
                route.continue_()

        intercept(page, asked, running_until_shown)
        page.get_by_role("button", name="Learn from the decisions").click()
        expect(page.locator("#retraining")).to_have_text("Working: learning …")
        bar = page.get_by_role("progressbar", name="Retraining")
        expect(bar).to_be_visible()
        assert bar.evaluate("one => [one.value, one.max]") == [3, 8]
        shown = True
        # five folds and a first compiling, on a machine that may have others at work
        expect(page.locator("#retraining")).to_contain_text(
            "The new model is better: LAS 100.0", timeout=600_000
        )
        expect(bar).to_be_hidden()
        cells = page.get_by_role("group", name="Models of this project").locator("tbody td")
        row = cells.all_text_contents()
        assert row[1:5] == ["Ada", "6", "6", "LAS"]  # all six take turns in being held out
        assert float(row[5]) < float(row[6]) == 100.0
        assert "held-out sentences" in row[7]
        assert row[8] == "in use"
        no_findings(page)
        page.goto(where)  # it proposes from now on
        page.get_by_role("button", name="Open it again").click()
        expect(word(page, 0).locator("small")).to_have_text("odd ← bara")

    def test_a_worse_model_is_refused_with_the_reason(
        self, page: Any, address: str, tmp_path: Path
    ) -> None:
        trees = [to_dependencies(Tree.from_brackets(one)) for one in load_english("dev")[:6]]
        made = [conllu.from_dependency_tree(tree, tags="xpos") for tree in trees]
        conllu.write_sentences(made, str(tmp_path / "dev.conllu"))
        text = (tmp_path / "dev.conllu").read_text(encoding="utf-8")
        enter(page, address)
        begin(page, "too few", "dependency", text)
        self.accepted(page, list(map(str, trees)))
        self.models(page, "too few")
        page.get_by_role("button", name="Learn from the decisions").click()
        expect(page.locator("#retraining")).to_contain_text("The new model is worse")
        expect(page.locator("#retraining")).to_contain_text("the old model stays")
        use = page.get_by_role("button", name="Use it")
        expect(use).to_be_visible()
        page.reload()  # what came of it is still told
        expect(page.locator("#retraining")).to_contain_text("the old model stays")
        use.click()  # by hand it can be chosen
        group = page.get_by_role("group", name="Models of this project")
        expect(group.locator("b")).to_have_text("in use")


@pytest.mark.requires("postgres")
def test_pages_of_a_service_with_postgresql(
    serve: Any, page: Any, dep_model: str, lex_model: str, tmp_path: Path
) -> None:
    server = Server().start()
    try:
        settings = {
            "annotations": server.new_database(),
            "annotation_models": str(tmp_path / "models"),
        }
        with serve(models=(dep_model, lex_model), **settings) as address:
            page.goto(f"{address}/read")
            page.locator("#input").fill(ARABIC)
            page.locator("#run").click()
            expect(page.locator(".reading .word")).to_have_count(4)
            page.locator(".reading .word").first.click()
            enter(page, address)
            begin(page, "بنك الأشجار", "lexical", ARABIC, form="text", Language="ar")
            word(page, 0).focus()
            page.keyboard.press("1")
            saved(page, 1)
            page.keyboard.press("0")
            saved(page, 2)
            page.keyboard.press("Control+z")
            expect(page.locator("#saved")).to_have_text("Taken back.")
            page.reload()
            expect(word(page, 0)).to_have_class(re.compile("decided"))
            expect(word(page, 1)).not_to_have_class(re.compile("decided"))
            assert [bool(one["undone"]) for one in history(page)] == [False, True]
            page.get_by_role("link", name="Projects", exact=True).click()
            begin(page, "trees", "dependency", TREEBANK)
            page.keyboard.press("Enter")
            expect(page.locator("#progress")).to_contain_text("1 of 2 sentences done")
            page.get_by_role("link", name="trees", exact=True).click()
            page.get_by_role("link", name="Measures", exact=True).click()
            expect(page.get_by_role("region", name="Measures")).to_be_visible()
            assert page.complaints == []
    finally:
        server.remove()
