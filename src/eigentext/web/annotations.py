"""Texts and what annotators decided about their words, in one SQLite file.

1. A text is stored once, with its tokens and the label elements it is annotated in.
2. A decision is a row that is never changed, but for being taken back: the one that holds for a
   word is the newest of its annotator that was not taken back.
3. Every call is one transaction that is on the disk when the call returns: a server that is killed
   loses nothing it has confirmed.  Each call opens the file anew, so that threads and several
   servers on one file wait for each other and never see half of a change.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from eigentext.corpus.tokenise import Token
from eigentext.errors import EigentextError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["AnnotationStore", "Decision", "StoreError", "StoredDocument", "Tally"]

_KIND = 0x45696754  # what SQLite's header calls the application
_VERSION = 1
_WAIT = 30.0  # seconds for the turn of another process
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
_HOLDS = """
SELECT * FROM decisions WHERE id IN (
    SELECT max(id) FROM decisions WHERE undone IS NULL GROUP BY document, annotator, sentence, word
)
"""


class StoreError(EigentextError):
    """The file of annotations cannot be read or written now."""


class StoredDocument(NamedTuple):
    """A text with its tokens, and the label elements that its decisions have."""

    id: int
    name: str
    created: str
    text: str | None
    sentences: list[list[Token]]
    elements: tuple[str, ...]


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


class AnnotationStore:
    """The file of texts and decisions.

    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = AnnotationStore(pathlib.Path(folder.name, "a.db"))
    >>> text = store.add_document("one", None, [[Token("كتب", 0, 3)]], ["lemma", "pos"])
    >>> store.decide(text, "Ada", Decision(0, 0, {"lemma": "كَتَب", "pos": "V"}, 1, True))
    1
    >>> store.tally("Ada")
    Tally(decided=1, scored=1, first=1, among_two=1)
    >>> store.undo(text, "Ada")
    (0, 0)
    >>> store.decisions(text, "Ada")
    {}
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        with self._transaction() as c:
            kind = c.execute("PRAGMA application_id").fetchone()[0]
            version = c.execute("PRAGMA user_version").fetchone()[0]
            if kind == 0 and c.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                for statement in _TABLES.split(";\n"):
                    c.execute(statement)
                c.execute(f"PRAGMA application_id = {_KIND}")
                c.execute(f"PRAGMA user_version = {_VERSION}")
            elif kind != _KIND:
                raise SettingsError(f"{self.path}: a database, but not one of annotations")
            elif version != _VERSION:
                why = f"written as version {version}, this release reads version {_VERSION}"
                raise SettingsError(f"{self.path}: {why}")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction, alone in the file; it is on the disk when the block ends."""
        try:
            with closing(sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)) as c:
                c.row_factory = sqlite3.Row
                # EXTRA also syncs the folder: a power cut right after the answer loses nothing
                c.execute("PRAGMA synchronous = EXTRA")
                c.execute("PRAGMA foreign_keys = ON")
                c.execute("BEGIN IMMEDIATE")
                try:
                    yield c
                except BaseException:
                    c.execute("ROLLBACK")
                    raise
                c.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreError(f"the annotations {self.path}: {error}") from error

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
            made = c.execute(
                "INSERT INTO documents (name, created, text, tokens, n_words, elements) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                row,
            )
            return int(made.lastrowid or 0)

    def document(self, number: int) -> StoredDocument | None:
        """The text of this number, if there is one."""
        with self._transaction() as c:
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

    def documents(self) -> list[tuple[int, str, str, int, tuple[str, ...], dict[str, int]]]:
        """Of every text: number, name, when, words, elements, and decided words by annotator."""
        with self._transaction() as c:
            texts = c.execute(
                "SELECT id, name, created, n_words, elements FROM documents ORDER BY id"
            ).fetchall()
            counts: dict[int, dict[str, int]] = {}
            for document, annotator, n in c.execute(
                f"SELECT document, annotator, count(*) FROM ({_HOLDS}) "  # noqa: S608
                "GROUP BY document, annotator ORDER BY annotator"
            ):
                counts.setdefault(document, {})[annotator] = n
        return [
            (number, name, created, n_words, tuple(json.loads(elements)), counts.get(number, {}))
            for number, name, created, n_words, elements in texts
        ]

    # ---- decisions

    def decide(self, document: int, annotator: str, made: Decision) -> int:
        """Store a decision; give the revision, which grows with every decision and undo."""
        label = None if made.label is None else json.dumps(made.label, ensure_ascii=False)
        with self._transaction() as c:
            c.execute(
                "INSERT INTO decisions (document, annotator, sentence, word, label, rank, scored, "
                "vocalised, gloss, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (document, annotator, made.sentence, made.word, label, made.rank,
                 int(made.scored), made.vocalised, made.gloss, _now()),
            )  # fmt: skip
            return _revision(c, document, annotator)

    def undo(self, document: int, annotator: str) -> tuple[int, int] | None:
        """Take the newest decision of the annotator in the text back; the word, or None."""
        with self._transaction() as c:
            row = c.execute(
                "SELECT id, sentence, word FROM decisions WHERE document = ? AND annotator = ? "
                "AND undone IS NULL ORDER BY id DESC LIMIT 1",
                (document, annotator),
            ).fetchone()
            if row is None:
                return None
            c.execute("UPDATE decisions SET undone = ? WHERE id = ?", (_now(), row["id"]))
            return row["sentence"], row["word"]

    def decisions(self, document: int, annotator: str) -> dict[tuple[int, int], Decision]:
        """The decisions that hold, by sentence and word, in the order of the text."""
        with self._transaction() as c:
            rows = c.execute(
                f"SELECT * FROM ({_HOLDS}) WHERE document = ? AND annotator = ? "  # noqa: S608
                "ORDER BY sentence, word",
                (document, annotator),
            ).fetchall()
        return {(row["sentence"], row["word"]): _decision(row) for row in rows}

    def revision(self, document: int, annotator: str) -> int:
        """How many decisions and undos of the annotator the text has seen."""
        with self._transaction() as c:
            return _revision(c, document, annotator)

    def tally(self, annotator: str, document: int | None = None) -> Tally:
        """How often the ranker was right before a decision, in a text or in all."""
        with self._transaction() as c:
            row = c.execute(
                "SELECT count(*), coalesce(sum(scored), 0), coalesce(sum(scored AND rank = 1), 0),"  # noqa: S608
                f" coalesce(sum(scored AND rank <= 2), 0) FROM ({_HOLDS}) "
                "WHERE annotator = ? AND (? IS NULL OR document = ?)",
                (annotator, document, document),
            ).fetchone()
        return Tally(*row)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _revision(c: sqlite3.Connection, document: int, annotator: str) -> int:
    row = c.execute(
        "SELECT count(*) + count(undone) FROM decisions WHERE document = ? AND annotator = ?",
        (document, annotator),
    ).fetchone()
    return int(row[0])


def _decision(row: Mapping[str, object] | sqlite3.Row) -> Decision:
    label = row["label"]
    return Decision(
        row["sentence"],  # type: ignore[arg-type]
        row["word"],  # type: ignore[arg-type]
        None if label is None else json.loads(label),  # type: ignore[arg-type]
        row["rank"],  # type: ignore[arg-type]
        bool(row["scored"]),
        str(row["vocalised"]),
        str(row["gloss"]),
        str(row["at"]),
    )
