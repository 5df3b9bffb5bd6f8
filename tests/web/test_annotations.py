"""The store of annotations: nothing confirmed is lost, whoever writes at the same time."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from eigentext.corpus.tokenise import Token
from eigentext.errors import SettingsError
from eigentext.web.annotations import AnnotationStore, Decision, StaleError, StoreError
from eigentext.web.workers import BusyError

if TYPE_CHECKING:
    from pathlib import Path

ELEMENTS = ("lemma", "pos")
SENTENCES = [[Token("كتب", 0, 3), Token(".", 3, 4)], [Token("a\u2028b", -1, -1)]]


def some_text(store: AnnotationStore) -> int:
    return store.add_document("name", "كتب.", SENTENCES, ELEMENTS)


class History(RuleBasedStateMachine):
    """Whatever is decided, undone and reopened, the store is what a list of decisions says."""

    @initialize(data=st.data())
    def start(self, data: st.DataObject) -> None:
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.path = f"{self.folder.name}/a.db"
        self.store = AnnotationStore(self.path)
        self.texts = [some_text(self.store), some_text(self.store)]
        self.made: dict[tuple[int, str], list[Decision]] = {}
        self.steps: dict[tuple[int, str], int] = {}

    def teardown(self) -> None:
        self.folder.cleanup()

    where = st.tuples(st.sampled_from([0, 1]), st.sampled_from(["Ada", "أمل ' --", "Ada "]))

    @rule(
        where=where,
        word=st.sampled_from([(0, 0), (0, 1), (1, 0)]),
        label=st.none() | st.fixed_dictionaries(dict.fromkeys(ELEMENTS, st.text(max_size=3))),
        rank=st.none() | st.integers(1, 4),
        scored=st.booleans(),
    )
    def decide(self, where, word, label, rank, scored):  # type: ignore[no-untyped-def]
        key = self.texts[where[0]], where[1]
        made = Decision(*word, label, rank, scored, "و'\"", "gloss;")
        self.steps[key] = self.steps.get(key, 0) + 1
        self.made.setdefault(key, []).append(made)
        assert self.store.decide(*key, made) == self.steps[key]

    @rule(where=where)
    def undo(self, where):  # type: ignore[no-untyped-def]
        key = self.texts[where[0]], where[1]
        undone = self.store.undo(*key)
        if not self.made.get(key):
            assert undone is None
            return
        last = self.made[key].pop()
        self.steps[key] += 1
        assert undone == (last.sentence, last.word)

    @rule()
    def reopen(self) -> None:
        self.store = AnnotationStore(self.path)

    @invariant()
    def same(self) -> None:
        for key, made in self.made.items():
            held = {(d.sentence, d.word): d for d in made}
            state = self.store.state(*key)
            found = state.decisions
            assert {k: d._replace(at="") for k, d in found.items()} == held
            assert list(found) == sorted(found)
            assert state.revision == self.steps[key]
            undone = {(d.sentence, d.word): d for d in made[:-1]}
            assert {k: d._replace(at="") for k, d in state.without_last.items()} == undone
            assert state.last == ((made[-1].sentence, made[-1].word) if made else None)
            scored = [d for d in held.values() if d.scored]
            first = sum(d.rank == 1 for d in scored)
            two = sum(d.rank in (1, 2) for d in scored)
            assert state.tally == (len(held), len(scored), first, two)


TestHistory = History.TestCase
TestHistory.settings = settings(max_examples=12, stateful_step_count=15, deadline=None)


def test_texts_come_back_as_they_were(tmp_path: Path) -> None:
    store = AnnotationStore(tmp_path / "a.db")
    number = some_text(store)
    found = AnnotationStore(tmp_path / "a.db").document(number)
    assert found is not None
    assert (found.name, found.text, found.elements) == ("name", "كتب.", ELEMENTS)
    assert found.sentences == SENTENCES
    assert store.document(number + 1) is None
    store.decide(number, "Ada", Decision(0, 0, None, None, True))
    ((only, name, _, n_words, elements, annotators),) = store.documents()
    assert (only, name, n_words, elements) == (number, "name", 3, ELEMENTS)
    assert annotators == {"Ada": 1}


def test_many_at_once_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # what is lost is asked, not how fast the disk is: nobody gives up waiting
    monkeypatch.setattr("eigentext.web.annotations._WAIT", 300.0)
    path = tmp_path / "a.db"
    number = some_text(AnnotationStore(path))
    stores = [AnnotationStore(path) for _ in range(2)]
    faults: list[BaseException] = []

    together = threading.Barrier(6)

    def work(k: int) -> None:
        try:
            together.wait()
            for turn in range(12):
                store = stores[k % 2]
                store.decide(number, f"person {k % 3}", Decision(0, turn, None, 1, True))
                if turn % 2:
                    assert store.undo(number, f"person {k % 3}") is not None
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    revisions = [stores[0].state(number, f"person {k}").revision for k in range(3)]
    assert revisions == [2 * (12 + 6)] * 3  # two workers a person, six undos each


WRITER = """
import sys
from eigentext.web.annotations import AnnotationStore, Decision
store = AnnotationStore(sys.argv[1])
for word in range(100_000):
    store.decide(1, "Ada", Decision(0, word, {"lemma": "x" * 200, "pos": "N"}, 1, True))
    print(word, flush=True)
"""


@pytest.mark.parametrize("after", [1, 30])
def test_a_killed_writer_has_kept_what_it_confirmed(tmp_path: Path, after: int) -> None:
    path = tmp_path / "a.db"
    some_text(AnnotationStore(path))
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    for _ in range(after):
        writer.stdout.readline()
    writer.kill()
    confirmed = after + len(writer.stdout.read().splitlines())
    writer.stdout.close()
    writer.wait()
    store = AnnotationStore(path)
    kept = store.state(1, "Ada").decisions
    assert confirmed <= len(kept) <= confirmed + 1  # one may be on the disk but not confirmed
    assert all(one.label == {"lemma": "x" * 200, "pos": "N"} for one in kept.values())
    store.decide(1, "Ada", Decision(0, 0, None, None, True))  # and it goes on
    with sqlite3.connect(path) as c:
        assert c.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    c.close()


def test_files_that_are_no_store_are_refused_and_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as c:
        c.execute("CREATE TABLE mine (x)")
    c.close()
    with pytest.raises(SettingsError, match="not one of annotations"):
        AnnotationStore(other)
    text = tmp_path / "notes.txt"
    text.write_text("my notes, " * 200)
    with pytest.raises(StoreError, match="not a database"):
        AnnotationStore(text)
    assert text.read_text() == "my notes, " * 200
    with pytest.raises(StoreError, match="unable to open"):
        AnnotationStore(tmp_path / "no" / "such.db")
    newer = tmp_path / "newer.db"
    AnnotationStore(newer)
    with sqlite3.connect(newer) as c:
        c.execute("PRAGMA user_version = 9")
    c.close()
    with pytest.raises(SettingsError, match="version 9"):
        AnnotationStore(newer)


def test_a_decision_is_synced_to_the_disk_when_it_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels = []

    class Watched(sqlite3.Connection):
        def execute(self, statement: str, *more: object) -> sqlite3.Cursor:  # type: ignore[override]
            if statement == "COMMIT":
                levels.append(super().execute("PRAGMA synchronous").fetchone()[0])
            return super().execute(statement, *more)  # type: ignore[arg-type]

    store = AnnotationStore(tmp_path / "a.db")
    number = some_text(store)
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Watched))
    store.decide(number, "Ada", Decision(0, 0, None, None, True))
    store.undo(number, "Ada")
    extra = 3  # with a journal that is deleted, a lesser level may lose the last commit
    assert levels == [extra, extra]


def test_a_store_that_is_deleted_or_replaced_is_missed_and_not_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "a #1?.db"
    store = AnnotationStore(path)
    number = some_text(store)
    kept = path.read_bytes()
    path.unlink()
    with pytest.raises(StoreError, match="no longer the file of annotations"):
        store.decide(number, "Ada", Decision(0, 0, None, None, True))
    with pytest.raises(StoreError, match="no longer the file of annotations"):
        store.state(number, "Ada")
    assert list(tmp_path.iterdir()) == []
    path.touch()
    with pytest.raises(StoreError, match="no longer the file of annotations"):
        store.documents()
    assert path.read_bytes() == b""
    path.write_bytes(kept)
    assert store.decide(number, "Ada", Decision(0, 0, None, None, True)) == 1


def test_what_was_seen_must_be_the_last_state(tmp_path: Path) -> None:
    store = AnnotationStore(tmp_path / "a.db")
    number = some_text(store)
    one = Decision(0, 0, None, None, True)
    assert store.decide(number, "Ada", one, seen=0) == 1
    for stale in (0, 2):
        with pytest.raises(StaleError):
            store.decide(number, "Ada", one, seen=stale)
        with pytest.raises(StaleError):
            store.undo(number, "Ada", seen=stale)
    assert store.decide(number, "Bob", one, seen=0) == 1  # everybody has revisions of their own
    assert store.undo(number, "Ada", seen=1) == (0, 0)
    assert store.state(number, "Ada").revision == 2


def test_reading_does_not_wait_for_a_writer_and_a_writer_says_who_has_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eigentext.web.annotations._WAIT", 0.0)
    store = AnnotationStore(tmp_path / "a.db")
    number = some_text(store)
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert store.document(number) is not None
    with pytest.raises(BusyError, match="another program has"):
        store.decide(number, "Ada", Decision(0, 0, None, None, True))
    other.close()


def test_a_decision_about_no_text_is_refused(tmp_path: Path) -> None:
    store = AnnotationStore(tmp_path / "a.db")
    with pytest.raises(StoreError, match="FOREIGN KEY"):
        store.decide(5, "Ada", Decision(0, 0, None, None, True))


def test_a_call_is_alone_in_the_file_from_its_first_look(tmp_path: Path) -> None:
    """Else two undos could look at one decision, or give up on each other."""
    store = AnnotationStore(tmp_path / "a.db")
    other = sqlite3.connect(store.path, timeout=0, isolation_level=None)
    with store._transaction(), pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("BEGIN IMMEDIATE")
    other.execute("BEGIN IMMEDIATE")
    other.close()
