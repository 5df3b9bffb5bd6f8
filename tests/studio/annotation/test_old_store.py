"""Annotations of earlier releases: nothing is lost when they are taken over."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from eigentext.errors import DataError, SettingsError
from eigentext.language.tokenise.tokens import Token
from eigentext.studio.store.accounts import Accounts
from eigentext.studio.store.old_store import import_old
from eigentext.studio.store.problems import StoreVersionError
from eigentext.studio.store.store import AnnotationStore
from helpers.old_annotations import Decision, OldStore

LABEL = {"lemma": "كَتَب", "pos": "V"}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Two texts of one name, two annotators, decisions made, taken back and made again."""
    path = tmp_path / "old.db"
    made = OldStore(path)
    words = [[Token("كتب", 0, 3), Token("😀", 4, 5)], [Token("x", -1, -1)]]
    first = made.add_document("text", "كتب 😀", words, ["lemma", "pos"])
    second = made.add_document("text", None, [[Token("y", -1, -1)]], ["lemma"])
    for sentence, word, label in ((0, 0, LABEL), (0, 1, None), (1, 0, LABEL)):
        made.decide(first, "Ada L.", Decision(sentence, word, label, 1, True, "v", "g"))
    made.undo(first, "Ada L.")
    made.undo(first, "Ada L.")
    made.decide(first, "Ada L.", Decision(0, 1, LABEL, None, False))
    made.undo(first, "Ada L.")
    made.decide(first, " ben\u202e", Decision(0, 0, None, 2, True))
    made.decide(second, "Ada L.", Decision(0, 0, {"lemma": "y"}, 1, True))
    return path


def test_all_of_it_comes_over(old, store):
    before = old.read_bytes()
    told = import_old(str(old), store, "Arabic", language="ar")
    assert told[1:] == (2, 2, 3, 6, 3)
    assert old.read_bytes() == before
    project = store.project_named("Arabic")
    assert (project.task, project.language) == ("lexical", "ar")
    facts = store.documents(project.id)
    assert [one.name for one in facts] == ["text", "text (2)"]
    first = store.document(facts[0].id)
    assert first.text == "كتب 😀"
    assert first.sentences[0]["tokens"][1] == {"text": "😀", "start": 4, "end": 5}
    assert first.about["elements"] == ["lemma", "pos"]
    accounts = Accounts(store)
    assert [user.name for user in accounts.users()] == ["Ada L.", "ben"]
    ada = accounts.user_named("Ada L.").id
    layer = store.layer(first.id, user=ada).id
    history = store.history(layer)
    with closing(sqlite3.connect(old)) as c:
        c.row_factory = sqlite3.Row
        rows = c.execute(
            "SELECT * FROM decisions WHERE document = 1 AND annotator = 'Ada L.' ORDER BY id"
        ).fetchall()
    for row, new in zip(rows, history, strict=True):
        assert (new.sentence, new.item) == (row["sentence"], f"w{row['word']}")
        assert (new.rank, new.at, new.undone, new.user) == (
            row["rank"],
            row["at"],
            row["undone"],
            ada,
        )
        assert new.value["scored"] == bool(row["scored"])
        assert (new.value.get("vocalised", ""), new.value.get("gloss", "")) == (
            row["vocalised"],
            row["gloss"],
        )
    # three made, two taken back, one more made and taken back
    assert [(one.version, one.undone_version) for one in history] == [
        (1, None),
        (2, 5),
        (3, 4),
        (6, 7),
    ]
    state = store.state(layer)
    assert state.version == OldStore(old).revision(1, "Ada L.") == 7
    assert state.values == {
        (0, "w0"): {"label": LABEL, "vocalised": "v", "gloss": "g", "scored": True}
    }
    ben = store.layer(first.id, user=accounts.user_named("ben").id).id
    assert store.state(ben).values == {(0, "w0"): {"none": True, "scored": True}}


def test_users_who_are_there_keep_their_place(old, store):
    ada = Accounts(store).add_user("Ada L.", "adjudicator").id
    import_old(str(old), store, "Arabic")
    assert Accounts(store).user_named("Ada L.").id == ada
    with pytest.raises(SettingsError, match="there is a project 'Arabic' already"):
        import_old(str(old), store, "Arabic")
    assert len(store.projects()) == 1


def test_what_is_no_old_file_is_refused(store, tmp_path):
    with pytest.raises(DataError, match="no such file"):
        import_old(str(tmp_path / "none"), store, "x")
    (tmp_path / "text").write_text("It rains." * 100)
    with pytest.raises(DataError, match="cannot be read"):
        import_old(str(tmp_path / "text"), store, "x")
    AnnotationStore(tmp_path / "new.db").close()
    with pytest.raises(StoreVersionError, match="not a file of annotations of earlier releases"):
        import_old(str(tmp_path / "new.db"), store, "x")
    assert store.projects() == []


def test_an_old_file_in_place_of_a_store_says_what_to_do(tmp_path):
    OldStore(tmp_path / "old.db")
    with pytest.raises(StoreVersionError, match="eigentext annotate import-old"):
        AnnotationStore(tmp_path / "old.db")
