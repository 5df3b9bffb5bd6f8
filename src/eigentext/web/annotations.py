"""Texts and what annotators decided about their words, in one SQLite file.

1. A text is stored once, with its tokens and the label elements it is annotated in.
2. A decision is a row that is never changed, but for being taken back: the one that holds for a
   word is the newest of its annotator that was not taken back.
3. Every call is one transaction that is on the disk when the call returns: a server that is killed
   loses nothing it has confirmed.  Each call opens the file anew, so that threads and several
   servers on one file wait for each other and never see half of a change.
4. The file is made once, when the store is: one that is deleted later is missed, not made anew.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from eigentext.corpus.tokenise import Token
from eigentext.errors import EigentextError, SettingsError
from eigentext.web.workers import BusyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "AnnotationStore",
    "Decision",
    "Decisions",
    "Position",
    "StaleError",
    "State",
    "StoreError",
    "StoredDocument",
    "Tally",
]

Position = tuple[int, int]  # sentence, word
"""A sentence and a word in it, both from 0."""

_KIND = 0x45696754  # what SQLite's header calls the application
_VERSION = 1
_WAIT = 5.0  # seconds for the turn of another process
_TABLES = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    created TEXT NOT NULL,
    text TEXT,
    tokens TEXT NOT NULL,
    n_words INTEGER NOT NULL,
    elements TEXT NOT NULL
);
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents (id),
    annotator TEXT NOT NULL,
    sentence INTEGER NOT NULL,
    word INTEGER NOT NULL,
    label TEXT,
    rank INTEGER,
    scored INTEGER NOT NULL,
    vocalised TEXT NOT NULL,
    gloss TEXT NOT NULL,
    at TEXT NOT NULL,
    undone TEXT
);
CREATE INDEX decisions_of ON decisions (document, annotator, sentence, word);
"""
_DECIDED = """
SELECT document, annotator, count(*) FROM (
    SELECT DISTINCT document, annotator, sentence, word FROM decisions WHERE undone IS NULL
) GROUP BY document, annotator ORDER BY annotator
"""


_GONE = (
    "is no longer the file of annotations that it was when the service started: put that back, or "
    "start the service anew"
)


class StoreError(EigentextError):
    """The file of annotations cannot be read or written now."""


class StaleError(EigentextError):
    """Something else was stored since the state that a change was made for."""


class StoredDocument(NamedTuple):
    """A text with its tokens, and the label elements that its decisions have."""

    id: int
    name: str
    created: str
    text: str | None
    sentences: list[list[Token]]
    elements: tuple[str, ...]

    def typed(self, token: Token) -> str:
        """The token as it stands in the text, where there is one and its place is known."""
        return "" if self.text is None or token.start < 0 else self.text[token.start : token.end]


class Decision(NamedTuple):
    """What an annotator chose for a word.

    ``label`` is None when no candidate was right; ``rank`` is the place that the label had in the
    ranking before the decision (from 1), or None when it was not listed; ``scored`` says whether
    the word counts for A1 and A2.
    """

    sentence: int
    word: int
    label: dict[str, str] | None
    rank: int | None
    scored: bool
    vocalised: str = ""
    gloss: str = ""
    at: str = ""


class Tally(NamedTuple):
    """Decisions that hold, and among the scored ones how many were ranked first or second."""

    decided: int
    scored: int
    first: int
    among_two: int


Decisions = dict[Position, Decision]


class State(NamedTuple):
    """What an annotator decided in a text: what holds, in the order of the text, and how it came.

    ``revision`` grows by one with every decision and every undo; ``last`` is the word of the
    decision that an undo would take back, and ``without_last`` is what would hold then.
    """

    decisions: Decisions
    revision: int
    last: Position | None
    without_last: Decisions

    @property
    def tally(self) -> Tally:
        """How often the ranker was right before a decision."""
        scored = [decision.rank for decision in self.decisions.values() if decision.scored]
        two = sum(rank in (1, 2) for rank in scored)
        return Tally(len(self.decisions), len(scored), scored.count(1), two)


class AnnotationStore:
    """The file of texts and decisions.

    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = AnnotationStore(pathlib.Path(folder.name, "a.db"))
    >>> text = store.add_document("one", None, [[Token("كتب", 0, 3)]], ["lemma", "pos"])
    >>> store.decide(text, "Ada", Decision(0, 0, {"lemma": "كَتَب", "pos": "V"}, 1, True))
    1
    >>> store.state(text, "Ada").tally
    Tally(decided=1, scored=1, first=1, among_two=1)
    >>> store.undo(text, "Ada")
    (0, 0)
    >>> store.state(text, "Ada").decisions
    {}
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        with self._transaction(create=True) as c:
            if (
                _kind(c) == 0
                and c.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
            ):
                for statement in _TABLES.split(";\n"):
                    c.execute(statement)
                c.execute(f"PRAGMA application_id = {_KIND}")
                c.execute(f"PRAGMA user_version = {_VERSION}")
            version = c.execute("PRAGMA user_version").fetchone()[0]
            if _kind(c) != _KIND:
                raise SettingsError(f"{self.path}: a database, but not one of annotations")
            if version != _VERSION:
                why = f"written as version {version}, this release reads version {_VERSION}"
                raise SettingsError(f"{self.path}: {why}")

    @contextmanager
    def _transaction(
        self, *, write: bool = True, create: bool = False
    ) -> Iterator[sqlite3.Connection]:
        """One transaction; one that writes is alone in the file, and on the disk at the end."""
        address = f"{Path(self.path).absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        try:
            with closing(
                sqlite3.connect(address, timeout=_WAIT, isolation_level=None, uri=True)
            ) as c:
                c.row_factory = sqlite3.Row
                # EXTRA also syncs the folder: a power cut right after the answer loses nothing
                c.execute("PRAGMA synchronous = EXTRA")
                c.execute("PRAGMA foreign_keys = ON")
                c.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                try:
                    if not create and _kind(c) != _KIND:
                        raise StoreError(f"{self.path} {_GONE}")
                    yield c
                except BaseException:
                    c.execute("ROLLBACK")
                    raise
                c.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._explained(error, create) from error

    def _explained(self, error: sqlite3.Error, create: bool) -> EigentextError:
        code = getattr(error, "sqlite_errorcode", None)
        if code == sqlite3.SQLITE_BUSY:
            return BusyError(
                f"another program has {self.path} to itself for more than {_WAIT:g} seconds; "
                "nothing was saved: try again later"
            )
        if not create and code == sqlite3.SQLITE_CANTOPEN and not os.path.exists(self.path):
            return StoreError(f"{self.path} {_GONE}")
        return StoreError(f"the annotations {self.path}: {error}")

    # ---- texts

    def add_document(
        self,
        name: str,
        text: str | None,
        sentences: Sequence[Sequence[Token]],
        elements: Sequence[str],
    ) -> int:
        """Store a text and give its number."""
        tokens = json.dumps(sentences, ensure_ascii=False)
        row = name, _now(), text, tokens, sum(map(len, sentences)), json.dumps(list(elements))
        with self._transaction() as c:
            inserted = c.execute(
                "INSERT INTO documents (name, created, text, tokens, n_words, elements) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                row,
            )
            return int(inserted.lastrowid or 0)

    def document(self, number: int) -> StoredDocument | None:
        """The text of this number, if there is one."""
        with self._transaction(write=False) as c:
            row = c.execute("SELECT * FROM documents WHERE id = ?", (number,)).fetchone()
        if row is None:
            return None
        return StoredDocument(
            row["id"],
            row["name"],
            row["created"],
            row["text"],
            [[Token(*token) for token in tokens] for tokens in json.loads(row["tokens"])],
            tuple(json.loads(row["elements"])),
        )

    def count(self) -> int:
        """How many texts there are."""
        with self._transaction(write=False) as c:
            return int(c.execute("SELECT count(*) FROM documents").fetchone()[0])

    def documents(self) -> list[tuple[int, str, str, int, tuple[str, ...], dict[str, int]]]:
        """Of every text: number, name, when, words, elements, and decided words by annotator."""
        with self._transaction(write=False) as c:
            texts = c.execute(
                "SELECT id, name, created, n_words, elements FROM documents ORDER BY id"
            ).fetchall()
            counts: dict[int, dict[str, int]] = {}
            for document, annotator, n in c.execute(_DECIDED):
                counts.setdefault(document, {})[annotator] = n
        return [
            (number, name, created, n_words, tuple(json.loads(elements)), counts.get(number, {}))
            for number, name, created, n_words, elements in texts
        ]

    # ---- decisions

    def state(self, document: int, annotator: str) -> State:
        """What the annotator decided in the text."""
        with self._transaction(write=False) as c:
            rows = c.execute(
                "SELECT * FROM decisions WHERE document = ? AND annotator = ? ORDER BY id",
                (document, annotator),
            ).fetchall()
        held = [_decision(row) for row in rows if row["undone"] is None]
        last = (held[-1].sentence, held[-1].word) if held else None
        return State(_holding(held), 2 * len(rows) - len(held), last, _holding(held[:-1]))

    def decide(
        self, document: int, annotator: str, decision: Decision, seen: int | None = None
    ) -> int:
        """Store a decision, if the revision is the one that was seen; give the new revision."""
        label = None if decision.label is None else json.dumps(decision.label, ensure_ascii=False)
        with self._transaction() as c:
            _check(c, document, annotator, seen)
            c.execute(
                "INSERT INTO decisions (document, annotator, sentence, word, label, rank, scored, "
                "vocalised, gloss, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    document,
                    annotator,
                    decision.sentence,
                    decision.word,
                    label,
                    decision.rank,
                    int(decision.scored),
                    decision.vocalised,
                    decision.gloss,
                    _now(),
                ),
            )
            return _revision(c, document, annotator)

    def undo(self, document: int, annotator: str, seen: int | None = None) -> Position | None:
        """Take the newest decision of the annotator in the text back; the word, or None."""
        with self._transaction() as c:
            _check(c, document, annotator, seen)
            row = c.execute(
                "SELECT id, sentence, word FROM decisions WHERE document = ? AND annotator = ? "
                "AND undone IS NULL ORDER BY id DESC LIMIT 1",
                (document, annotator),
            ).fetchone()
            if row is None:
                return None
            c.execute("UPDATE decisions SET undone = ? WHERE id = ?", (_now(), row["id"]))
            return row["sentence"], row["word"]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _kind(c: sqlite3.Connection) -> int:
    return int(c.execute("PRAGMA application_id").fetchone()[0])


def _check(c: sqlite3.Connection, document: int, annotator: str, seen: int | None) -> None:
    if seen is not None and seen != _revision(c, document, annotator):
        raise StaleError(f"text {document}: something else was stored since revision {seen}")


def _revision(c: sqlite3.Connection, document: int, annotator: str) -> int:
    row = c.execute(
        "SELECT count(*) + count(undone) FROM decisions WHERE document = ? AND annotator = ?",
        (document, annotator),
    ).fetchone()
    return int(row[0])


def _holding(decisions: Sequence[Decision]) -> Decisions:
    """Of decisions in the order of time the last about each word, in the order of the text."""
    return dict(sorted({(d.sentence, d.word): d for d in decisions}.items()))


def _decision(row: sqlite3.Row) -> Decision:
    return Decision(
        row["sentence"],
        row["word"],
        None if row["label"] is None else json.loads(row["label"]),
        row["rank"],
        bool(row["scored"]),
        row["vocalised"],
        row["gloss"],
        row["at"],
    )
