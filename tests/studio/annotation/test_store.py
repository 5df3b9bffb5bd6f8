"""Projects, documents, layers and decisions, on SQLite and on PostgreSQL."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from eigentext.errors import SettingsError
from eigentext.studio.measures.measures import measure, parts_of, rows_of
from eigentext.studio.store.accounts import Accounts
from eigentext.studio.store.problems import ClosedError, ConflictError, MissingError, TakenError
from eigentext.studio.store.records import Change, StoredDocument
from eigentext.studio.store.store import AnnotationStore
from helpers.small_store import CHEAP, SENTENCE, add_document

SENTENCES = [
    {"tokens": [{"text": "It", "start": 0, "end": 2}, {"text": "rains", "start": 3, "end": 8}]},
    {"tokens": [{"text": "We", "start": 9, "end": 11}, {"text": "stay", "start": 12, "end": 16}]},
]
TEXT = "It rains We stay"


def _project(store: AnnotationStore, task: str = "dependency") -> int:
    return store.create_project("one", task).id


def _layer(store: AnnotationStore, task: str = "dependency") -> int:
    document = add_document(store, _project(store, task), "a", SENTENCES, text=TEXT)
    return store.layer(document.id, kind="adjudication").id


# ---- projects


def test_a_project_comes_back_as_it_was_made(store):
    made = store.create_project(
        "Wetter",
        "dependency",
        language="de",
        guidelines="Ein <b>Satz</b>\n\u202eund noch einer",
        settings={"order": "certainty", "k": [1, 2.5, None, True]},
        model="german",
    )
    assert store.project(made.id) == made == store.project_named("Wetter")
    assert made.settings == {"order": "certainty", "k": [1, 2.5, None, True]}
    assert store.projects() == [made]


def test_names_of_projects_are_unique_while_they_are_there(store):
    first = _project(store)
    with pytest.raises(TakenError, match="there is a project 'one' already"):
        _project(store)
    store.delete("project", first, confirm="one")
    second = _project(store)
    with pytest.raises(TakenError, match="another project is called 'one' now"):
        store.restore("project", first)
    store.change_project(second, name="two")
    store.restore("project", first)
    assert [project.name for project in store.projects()] == ["one", "two"]
    with pytest.raises(TakenError):
        store.change_project(second, name="one")


def test_changing_a_project_changes_what_is_given(store):
    number = _project(store)
    before = store.project(number)
    after = store.change_project(number, guidelines="Read aloud.", settings={"x": 1})
    assert after == before._replace(guidelines="Read aloud.", settings={"x": 1})
    assert store.change_project(number) == after


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "is empty"),
        (" \t", "is empty"),
        ("a ", "white space"),
        ("a\nb", r"U\+000A"),
        ("a\0", r"U\+0000"),
        ("a\u202eb", r"U\+202E"),
        ("a\ud800", r"U\+D800"),
        ("a" * 201, "200 are the most"),
    ],
)
def test_bad_names_are_refused(store, name, why):
    with pytest.raises(SettingsError, match=why):
        store.create_project(name, "tags")
    project = store.create_project("good", "tags").id
    with pytest.raises(SettingsError, match=why):
        add_document(store, project, name, SENTENCES)
    assert store.documents(project) == []


def test_what_no_database_holds_is_refused_before_it_gets_there(store):
    with pytest.raises(SettingsError, match="not one of lexical"):
        store.create_project("x", "poetry")
    with pytest.raises(SettingsError, match="cannot be stored"):
        store.create_project("x", "tags", guidelines="\0")
    with pytest.raises(SettingsError, match="no number of JSON"):
        store.create_project("x", "tags", settings={"a": float("inf")})
    with pytest.raises(SettingsError, match="no type of JSON"):
        store.create_project("x", "tags", settings={"a": object()})
    layer = _layer(store)
    for value in ("\ud800", {"\0": 1}, [float("nan")], 10**30):
        with pytest.raises(SettingsError):
            store.decide(layer, Change(0, "a1", value))
    assert store.history(layer) == []
    assert store.layer_numbered(layer).version == 0


@pytest.mark.parametrize("number", [0, -1, 99, 2**63, 10**40])
def test_what_is_not_there_is_missed(store, number):
    for call in (
        store.project,
        store.document,
        store.document_facts,
        store.layer_numbered,
        store.layers,
        store.state,
        store.states,
        store.history,
        store.undo,
        store.redo,
        store.documents,
        store.layers_of,
        store.assignments,
        store.models,
        store.use_model,
        partial(store.restore, "project"),
        partial(store.restore, "document"),
        store.mark_done,
        Accounts(store).user,
        Accounts(store).revoke_token,
    ):
        with pytest.raises(MissingError, match="there is no"):
            call(number)
    with pytest.raises(MissingError):
        store.decide(number, Change(0, "a1", None))
    with pytest.raises(MissingError):
        add_document(store, number, "a", SENTENCES)
    with pytest.raises(MissingError):
        store.layer(number, kind="adjudication")
    document = add_document(store, _project(store), "a", SENTENCES).id
    with pytest.raises(MissingError, match="there is no user"):
        store.layer(document, user=number)
    with pytest.raises(MissingError, match="there is no user"):
        store.assign(document, number)
    for name in ("zzz", "\0", "\ud800"):
        with pytest.raises(MissingError):
            store.project_named(name)
        with pytest.raises(MissingError):
            store.document_named(1, name)
        with pytest.raises(MissingError):
            Accounts(store).user_named(name)


# ---- documents and deletion


def test_a_document_comes_back_as_it_went_in(store):
    text = "كتب 😀 <script>\u202e</script>\r\n" + "x" * 100_000
    sentences = [{"tokens": [{"text": text, "start": 0, "end": len(text)}], "comments": ["# ü"]}]
    facts = add_document(
        store, _project(store), "ملف.txt", sentences, text=text, about={"format": "text"}
    )
    document = store.document(facts.id)
    assert (document.text, document.sentences) == (text, sentences)
    assert (facts.n_words, facts.n_sentences, facts.about) == (1, 1, {"format": "text"})
    assert store.documents(facts.project) == [facts]


def test_several_documents_come_in_all_or_none(store):
    project = _project(store)
    new = [StoredDocument(name, None, SENTENCES, {}) for name in ("a", "b", "a")]
    with pytest.raises(TakenError, match="there is a document 'a' in this project already"):
        store.add_documents(project, new)
    assert store.documents(project) == []
    assert [facts.name for facts in store.add_documents(project, new[:2])] == ["a", "b"]
    with pytest.raises(SettingsError, match="sentence 0 has no tokens"):
        add_document(store, project, "c", [{"words": []}])


def test_deletion_wants_the_name_and_can_be_taken_back_until_purged(store):
    layer = _layer(store)
    store.decide(layer, Change(0, "a1", {"head": 2}))
    (project,) = store.projects()
    (document,) = store.documents(project.id)
    with pytest.raises(SettingsError, match="confirm with its name, not with 'A'"):
        store.delete("document", document.id, confirm="A")
    with pytest.raises(SettingsError, match="is not deleted: delete it first"):
        store.purge("document", document.id, confirm="a")
    store.delete("document", document.id, confirm="a")
    assert store.documents(project.id) == []
    assert [facts.name for facts in store.documents(project.id, deleted=True)] == ["a"]
    assert store.layers_of(project.id) == store.states(project.id) == {}
    for work in (
        lambda: store.decide(layer, Change(0, "a1", None)),
        lambda: store.undo(layer),
        lambda: store.mark_done(layer),
        lambda: store.layer(document.id, kind="adjudication"),
        lambda: store.delete("document", document.id, confirm="a"),
    ):
        with pytest.raises(MissingError, match="was deleted"):
            work()
    store.restore("document", document.id)
    store.restore("document", document.id)
    assert store.state(layer).values == {(0, "a1"): {"head": 2}}

    store.delete("project", project.id, confirm="one")
    with pytest.raises(MissingError, match="the project 'one' was deleted"):
        store.decide(layer, Change(0, "a1", None))
    with pytest.raises(SettingsError, match="confirm"):
        store.purge("project", project.id, confirm="One")
    store.purge("project", project.id, confirm="one")
    for gone in (
        lambda: store.project(project.id),
        lambda: store.document(document.id),
        lambda: store.layer_numbered(layer),
    ):
        with pytest.raises(MissingError):
            gone()
    # the log outlives what it tells of, and a number is never given twice
    assert [entry.action for entry in store.audit()][:2] == ["project.purge", "project.delete"]
    assert _project(store) > project.id


# ---- layers


def test_each_user_has_a_layer_and_adjudication_one(store):
    accounts = Accounts(store)
    ada, ben = (accounts.add_user(name, "annotator").id for name in ("ada", "ben"))
    document = add_document(store, _project(store), "a", SENTENCES).id
    first, second = store.layer(document, user=ada), store.layer(document, user=ben)
    third = store.layer(document, kind="adjudication")
    assert store.layer(document, user=ada) == first
    assert store.layer(document, kind="adjudication") == third
    assert store.layers(document) == [first, second, third]
    for kind, user in (("annotator", None), ("adjudication", ada), ("other", ada)):
        with pytest.raises(SettingsError):
            store.layer(document, kind=kind, user=user)


def test_a_layer_that_many_ask_for_at_a_time_is_one(store):
    document = add_document(store, _project(store), "a", SENTENCES).id
    ada = Accounts(store).add_user("ada", "annotator").id
    found = []
    gate = threading.Barrier(8)

    def ask(kind, user):
        gate.wait()
        found.append(store.layer(document, kind=kind, user=user).id)

    who = [("annotator", ada), ("adjudication", None)] * 4
    threads = [threading.Thread(target=ask, args=one) for one in who]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert set(found) == {layer.id for layer in store.layers(document)}
    assert len(set(found)) == 2


def test_progress_counts_items_and_sentences_that_are_done(store):
    layer = _layer(store)
    (project,) = store.projects()
    store.decide(layer, [Change(0, "a1", {"head": 2}), Change(0, "a2", {"head": 0})])
    store.decide(layer, Change(0, "a1", None))
    store.decide(layer, Change(0, "done", {"analysis": {}}))
    store.decide(layer, Change(1, "a1", {"head": 0}))
    store.undo(layer)
    ((document, (found,)),) = store.layers_of(project.id).items()
    # a1 was taken away again
    assert (found.decided, found.done_sentences) == (1, 1)
    assert found.done is None
    assert found.document == document
    store.redo(layer)
    assert store.layer_numbered(layer)[-2:] == (2, 1)
    assert store.mark_done(layer).done is not None
    assert store.mark_done(layer, False).done is None


def test_documents_are_assigned_and_taken_back(store):
    accounts = Accounts(store)
    ada, ben = (accounts.add_user(name, "annotator").id for name in ("ada", "ben"))
    project = _project(store)
    first, second = (add_document(store, project, name, SENTENCES).id for name in "ab")
    for user in (ben, ada, ada):
        store.assign(first, user)
    store.assign(second, ada)
    assert store.assignments(project) == {first: [ada, ben], second: [ada]}
    assert store.open_to(second, ada)
    assert not store.open_to(second, ben)
    store.unassign(second, ada)
    store.unassign(second, ada)
    assert store.assignments(project) == {first: [ada, ben]}
    assert store.open_to(second, ben)
    actions = [entry.action for entry in store.audit()]
    assert (actions.count("document.assign"), actions.count("document.unassign")) == (3, 1)


# ---- decisions


def test_a_decision_keeps_all_that_is_known_of_it(store):
    layer = _layer(store, "lexical")
    ada = Accounts(store).add_user("ada", "annotator").id
    change = Change(1, "w0", {"label": {"lemma": "نحن"}}, 2, False, 1.25, 3, "sicher?")
    assert store.decide(layer, change, base_version=0, by=ada) == 1
    (stored,) = store.history(layer)
    assert Change(*(getattr(stored, name) for name in Change._fields)) == change
    assert (stored.layer, stored.version, stored.user, stored.undone) == (layer, 1, ada, None)
    assert store.state(layer).decisions == {(1, "w0"): stored}


def test_what_holds_is_the_newest_in_the_order_of_the_text(store):
    layer = _layer(store)
    for sentence, item, value in (
        (1, "a2", 1),
        (0, "a10", 2),
        (0, "a9", 3),
        (1, "a2", None),
        (0, "done", 4),
    ):
        store.decide(layer, Change(sentence, item, value))
    state = store.state(layer)
    assert list(state.values.items()) == [
        ((0, "a9"), 3),
        ((0, "a10"), 2),
        ((0, "done"), 4),
        ((1, "a2"), None),
    ]
    assert {item: value for (number, item), value in state.values.items() if number == 1} == {
        "a2": None
    }
    assert state.version == 5
    assert [one.value for one in store.history(layer, sentence=1) if one.item == "a2"] == [1, None]
    assert store.history(layer, sentence=2**40) == []


def test_undo_takes_back_a_change_and_redo_brings_it_back(store):
    layer = _layer(store)
    store.decide(layer, Change(0, "a1", "x"))
    store.decide(layer, [Change(0, "a1", "y"), Change(0, "a2", "z")])
    store.decide(layer, Change(1, "a1", "w"))
    assert [one.item for one in store.undo(layer)] == ["a1"]
    assert [one.value for one in store.state(layer).last] == ["y", "z"]
    assert [one.value for one in store.undo(layer)] == ["y", "z"]
    assert store.state(layer).values == {(0, "a1"): "x"}
    assert [one.value for one in store.state(layer).redoable] == ["y", "z"]
    assert [one.value for one in store.redo(layer)] == ["y", "z"]
    assert [one.value for one in store.redo(layer)] == ["w"]
    assert store.redo(layer) == ()
    assert store.state(layer).values == {(0, "a1"): "y", (0, "a2"): "z", (1, "a1"): "w"}
    assert store.state(layer).version == 7
    store.undo(layer)
    store.decide(layer, Change(1, "a2", "v"))  # a new decision: nothing to bring back any more
    assert store.redo(layer) == ()
    assert store.state(layer).version == 9
    assert len(store.history(layer)) == 8
    _check_versions(store, layer)


def test_undo_of_nothing_changes_nothing(store):
    layer = _layer(store)
    assert store.undo(layer, base_version=0) == store.redo(layer, base_version=0) == ()
    assert store.state(layer).version == 0


def _check_versions(store: AnnotationStore, layer: int) -> None:
    """Every version is one change: none is missing."""
    history = store.history(layer)
    versions = {one.version for one in history} | {one.undone_version for one in history} - {None}
    assert versions == set(range(1, store.layer_numbered(layer).version + 1))


def test_a_change_of_another_sentence_is_no_conflict(store):
    layer = _layer(store)
    assert store.decide(layer, Change(0, "a1", 1), base_version=0) == 1
    assert store.decide(layer, Change(1, "a1", 2), base_version=0) == 2
    with pytest.raises(ConflictError, match="since version 0: a1 of sentence 1") as caught:
        store.decide(layer, Change(0, "a2", 3), base_version=0)
    assert caught.value.version == 2
    assert [(d.item, d.value) for d in caught.value.changes] == [("a1", 1)]
    assert store.decide(layer, Change(0, "a2", 3), base_version=2) == 3
    assert store.decide(layer, Change(0, "a2", 4)) == 4  # no version: no check
    assert len(store.history(layer)) == 4


def test_in_lexical_projects_words_of_one_sentence_are_apart(store):
    layer = _layer(store, "lexical")
    store.decide(layer, Change(0, "w0", 1), base_version=0)
    assert store.decide(layer, Change(0, "w1", 2), base_version=0) == 2
    with pytest.raises(ConflictError):
        store.decide(layer, Change(0, "w0", 3), base_version=0)


def test_what_was_taken_back_since_is_a_conflict_too(store):
    layer = _layer(store)
    store.decide(layer, Change(0, "a1", 1))
    store.undo(layer)
    with pytest.raises(ConflictError) as caught:
        store.decide(layer, Change(0, "a1", 2), base_version=1)
    assert caught.value.changes[0].undone_version == 2
    with pytest.raises(ConflictError):
        store.undo(layer, base_version=1)
    with pytest.raises(ConflictError):
        store.redo(layer, base_version=1)
    assert store.state(layer).version == 2
    for never in (3, -1, 10**30):
        with pytest.raises(ConflictError, match="is not one of this layer"):
            store.decide(layer, Change(0, "a1", 2), base_version=never)


@pytest.mark.parametrize(
    "change",
    [
        Change(2, "a1", 0),
        Change(-1, "a1", 0),
        Change(10**30, "a1", 0),
        Change(0, "", 0),
        Change(0, "a" * 300, 0),
        Change(0, "a1", 0, rank=-1),
        Change(0, "a1", 0, keys=2**31),
        Change(0, "a1", 0, seconds=-1.0),
        Change(0, "a1", 0, seconds=float("nan")),
        Change(0, "a1", 0, note="\0"),
    ],
)
def test_bad_decisions_are_refused_whole(store, change):
    layer = _layer(store)
    with pytest.raises(SettingsError):
        store.decide(layer, [Change(0, "a5", 1), change])
    assert store.state(layer) == store.state(layer)._replace(decisions={}, last=(), redoable=())
    assert store.layer_numbered(layer).version == 0


def test_a_change_has_each_item_once(store):
    layer = _layer(store)
    with pytest.raises(SettingsError, match="at least one"):
        store.decide(layer, [])
    with pytest.raises(SettingsError, match="two decisions about the same item"):
        store.decide(layer, [Change(0, "a1", 1), Change(0, "a1", 2)])


def test_an_unknown_user_is_refused(store):
    layer = _layer(store)
    with pytest.raises(MissingError, match="a user is not there that is named"):
        store.decide(layer, Change(0, "a1", 1), by=99)
    with pytest.raises(MissingError, match="a user is not there that is named"):
        store.create_project("two", "tags", by=99)
    assert store.history(layer) == []


def test_states_gives_all_layers_of_a_project(store):
    layer = _layer(store)
    store.decide(layer, Change(0, "a1", 1))
    (project,) = store.projects()
    ((_, (state,)),) = store.states(project.id).items()
    assert state == store.state(layer)


# ---- models and the log


def test_one_model_of_a_project_is_in_use(store):
    project = _project(store)
    first = store.add_model(project, "m1.dep", {"las": 0.8}, use=True)
    second = store.add_model(project, "m2.dep", {"las": 0.85})
    assert (first.in_use, second.in_use) == (True, False)
    store.use_model(second.id)
    assert [(m.file, m.in_use) for m in store.models(project)] == [
        ("m1.dep", False),
        ("m2.dep", True),
    ]


def test_the_log_is_read_in_pages(store):
    for number in range(5):
        store.note("test", {"number": number})
    newest = store.audit(limit=2)
    assert [entry.about["number"] for entry in newest] == [4, 3]
    older = store.audit(limit=2, before=newest[-1].id)
    assert [entry.about["number"] for entry in older] == [2, 1]


# ---- layers that are closed


def test_a_layer_is_closed_when_its_annotator_sees_the_adjudication(store):
    ada = Accounts(store, hasher=CHEAP).add_user("ada", "annotator").id
    document = add_document(store, store.create_project("p", "tags").id, "a", [SENTENCE]).id
    mine = store.layer(document, user=ada).id
    assert not store.see_adjudication(document, ada)
    store.decide(mine, Change(0, "t0", {"upos": "NOUN"}), by=ada)
    store.mark_done(mine)
    assert store.see_adjudication(document, ada)  # there is none
    assert not store.layer_numbered(mine).closed
    store.decide(mine, Change(0, "t1", {"upos": "VERB"}), by=ada)  # as ever
    final = store.layer(document, kind="adjudication").id
    store.decide(final, Change(0, "t0", {"upos": "PRON"}))
    assert store.layer_numbered(mine).saw is None
    assert store.see_adjudication(document, ada)
    assert (store.layer_numbered(mine).saw, store.layer_numbered(mine).closed) == (2, True)
    for change in (
        lambda: store.decide(mine, Change(0, "t0", {"upos": "PRON"})),
        lambda: store.undo(mine),
        lambda: store.redo(mine),
        lambda: store.mark_done(mine, False, reopen=False),
    ):
        with pytest.raises(ClosedError, match="an adjudicator can open it again"):
            change()
    assert store.layer_numbered(mine).version == 2
    store.decide(final, Change(0, "t1", {"upos": "PRON"}))  # which nobody closes
    store.mark_done(mine, False)
    assert not store.see_adjudication(document, ada)
    store.decide(mine, Change(0, "t0", {"upos": "PRON"}), by=ada)
    store.undo(mine, by=ada)
    store.undo(mine, by=ada)
    store.mark_done(mine)
    assert store.see_adjudication(document, ada)
    assert store.layer_numbered(mine).saw == 2  # the first time is what counts
    assert [one.action for one in store.audit()].count("adjudication.see") == 1
    # measures hold to what was decided before: NOUN and VERB, neither of which is adjudicated
    found = measure(store.projects()[0], *rows_of(store, 1), users={ada: "ada"})
    assert found["not_blind"] == 2  # a decision, and that another was taken back
    (effort,) = found["effort"]
    assert effort["annotator"] == "ada"
    sides = parts_of("tags", rows_of(store, 1), ["ada"], {ada: "ada"})[0].sides
    assert {word: value for (_, word), value in sides["ada"].values["upos"].items()} == {
        0: "NOUN",
        1: "VERB",
    }


def test_every_connection_to_a_file_waits_for_the_disk(tmp_path):
    """With less a commit that was confirmed can go with the power."""
    store = AnnotationStore(tmp_path / "a.db")

    def pragmas(c):
        names = ("synchronous", "journal_mode", "foreign_keys")
        return [c.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names]

    for transaction in (store.reading, store.writing):
        assert transaction(pragmas) == [2, "wal", 1]  # 2 is FULL
    store.close()  # and so does one that is made anew
    assert store.writing(pragmas) == [2, "wal", 1]
    store.close()
