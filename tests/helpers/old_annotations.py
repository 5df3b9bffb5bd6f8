"""Files of annotations as releases before projects wrote them: their tables, and their calls."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from eigentext.language.tokenise.tokens import Token

_TABLES = """
PRAGMA application_id = 0x45696754;
PRAGMA user_version = 1;
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
"""


class Decision(NamedTuple):
    sentence: int
    word: int
    label: dict[str, str] | None
    rank: int | None
    scored: bool
    vocalised: str = ""
    gloss: str = ""


class OldStore:
    def __init__(self, path: Path) -> None:
        self.path = path
        new = not path.exists()
        with self._open() as c:
            if new:
                c.executescript(_TABLES)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as c:
            yield c

    def add_document(
        self, name: str, text: str | None, sentences: list[list[Token]], elements: Sequence[str]
    ) -> int:
        row = name, _now(), text, json.dumps(sentences), sum(map(len, sentences))
        with self._open() as c:
            done = c.execute(
                "INSERT INTO documents (name, created, text, tokens, n_words, elements) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (*row, json.dumps(list(elements))),
            )
            return done.lastrowid or 0

    def decide(self, document: int, annotator: str, decision: Decision) -> None:
        label = None if decision.label is None else json.dumps(decision.label, ensure_ascii=False)
        row = decision._replace(label=label, scored=int(decision.scored))
        with self._open() as c:
            c.execute(
                "INSERT INTO decisions (document, annotator, sentence, word, label, rank, scored, "
                "vocalised, gloss, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (document, annotator, *row, _now()),
            )

    def undo(self, document: int, annotator: str) -> None:
        with self._open() as c:
            c.execute(
                "UPDATE decisions SET undone = ? WHERE id = (SELECT max(id) FROM decisions "
                "WHERE document = ? AND annotator = ? AND undone IS NULL)",
                (_now(), document, annotator),
            )

    def revision(self, document: int, annotator: str) -> int:
        with self._open() as c:
            return c.execute(
                "SELECT count(*) + count(undone) FROM decisions "
                "WHERE document = ? AND annotator = ?",
                (document, annotator),
            ).fetchone()[0]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
