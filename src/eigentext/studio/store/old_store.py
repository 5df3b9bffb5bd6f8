"""Annotations of words as releases before projects kept them, taken over with their history.

A text becomes a document of a lexical project, an annotator a user with a layer in it, a decision
a decision: who, when, what, its rank, and when it was taken back.  The order in which decisions
were made and taken back is found again: an undo took back the newest decision that held, so that
of two rows the one that still holds was made after the other was taken back.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import insert, select

from eigentext.errors import DataError, SettingsError
from eigentext.studio.store.migrating import OLD_KIND
from eigentext.studio.store.problems import StoreVersionError
from eigentext.studio.store.rows import check_name, check_text, log, taken_or
from eigentext.studio.store.schema import decisions, documents, layers, projects, users

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Connection

    from eigentext.studio.store.store import AnnotationStore

__all__ = ["Imported", "import_old"]


class Imported(NamedTuple):
    """What was taken over."""

    project: int
    documents: int
    users: int
    layers: int
    decisions: int
    undone: int


def import_old(
    old: str, store: AnnotationStore, project: str, *, language: str = "", by: int | None = None
) -> Imported:
    """Take a file of old annotations over into a new project; all of it, or nothing."""
    check_name(project, "the name of a project")
    texts, rows = _read(old)

    def work(c: Connection) -> Imported:
        now = store.now()
        if c.execute(
            select(projects.c.id).where(projects.c.name == project, projects.c.deleted.is_(None))
        ).first():
            raise SettingsError(f"there is a project {project!r} already: give a new name")
        number = _insert(
            c,
            projects,
            name=project,
            task="lexical",
            language=language,
            guidelines="",
            settings={},
            model="",
            created=now,
        )
        names = _unique([text["name"] for text in texts])
        new_ids = {
            text["id"]: _insert(c, documents, project=number, **_document(text, name))
            for text, name in zip(texts, names, strict=True)
        }
        people = _users(c, sorted({row["annotator"] for row in rows}), now)
        by_layer: dict[tuple[int, str], list[sqlite3.Row]] = {}
        for row in rows:
            by_layer.setdefault((row["document"], row["annotator"]), []).append(row)
        for (document, annotator), mine in by_layer.items():
            user = people[annotator]
            versions, last = _versions(mine)
            layer = _insert(
                c,
                layers,
                document=new_ids[document],
                kind="annotator",
                user=user,
                version=last,
                created=mine[0]["at"],
            )
            new = [_decision(row, layer, user, *versions[row["id"]]) for row in mine]
            c.execute(insert(decisions), new)
        counts = Imported(
            number,
            len(texts),
            len(people),
            len(by_layer),
            len(rows),
            sum(row["undone"] is not None for row in rows),
        )
        about = {**counts._asdict(), "file": os.path.basename(old), "annotators": people}
        log(c, now, by, "project.import-old", about)
        return counts

    return store.writing(work)


def _read(path: str) -> tuple[list[sqlite3.Row], list[sqlite3.Row]]:
    if not os.path.isfile(path):
        raise DataError(path, None, "no such file")
    try:
        address = f"{Path(path).absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as c:
            c.row_factory = sqlite3.Row
            kind = c.execute("PRAGMA application_id").fetchone()[0]
            version = c.execute("PRAGMA user_version").fetchone()[0]
            if kind != OLD_KIND:
                raise StoreVersionError(f"{path}: not a file of annotations of earlier releases")
            if version != 1:
                raise StoreVersionError(f"{path}: version {version}, expected version 1")
            c.execute("BEGIN")
            texts = c.execute("SELECT * FROM documents ORDER BY id").fetchall()
            return texts, c.execute("SELECT * FROM decisions ORDER BY id").fetchall()
    except sqlite3.Error as error:
        raise DataError(path, None, f"cannot be read: {error}") from error


def _document(text: sqlite3.Row, name: str) -> dict[str, Any]:
    sentences = [
        {"tokens": [{"text": form, "start": start, "end": end} for form, start, end in tokens]}
        for tokens in json.loads(text["tokens"])
    ]
    about: dict[str, Any] = {"format": "old", "elements": json.loads(text["elements"])}
    about["old"] = {"id": text["id"], "name": text["name"]}
    return {
        "name": name,
        "text": None if text["text"] is None else check_text(text["text"], f"text {text['id']}"),
        "sentences": sentences,
        "n_sentences": len(sentences),
        "n_words": text["n_words"],
        "about": about,
        "created": text["created"],
    }


def _unique(names: Sequence[str]) -> list[str]:
    """Names that can be told apart: in old files several texts could have the same.

    >>> _unique(["a", "b", "a", "", "a (2)"])
    ['a', 'b', 'a (2)', 'text', 'a (2) (2)']
    """
    made: list[str] = []
    for name in names:
        base = _shown(name) or "text"
        tries = [base, *(f"{base} ({number})" for number in range(2, len(names) + 2))]
        made.append(next(one for one in tries if one not in made))
    return made


def _shown(name: str) -> str:
    """A name that a user or a document may have."""
    visible = "".join(letter for letter in " ".join(name.split()) if letter.isprintable())
    return visible[:150].strip()


def _users(c: Connection, names: Sequence[str], now: str) -> dict[str, int]:
    """The users of these names, made where there are none, and without a password."""
    made: dict[str, int] = {}
    all_shown = _unique([_shown(name) or "annotator" for name in names])
    for name, shown in zip(names, all_shown, strict=True):
        row = c.execute(select(users.c.id).where(users.c.name == shown)).first()
        if row is not None:
            made[name] = row[0]
            continue
        fields = {"name": shown, "role": "annotator", "active": True, "created": now}
        made[name] = _insert(c, users, **fields, failures=0)
    return made


def _versions(rows: Sequence[sqlite3.Row]) -> tuple[dict[int, tuple[int, int | None]], int]:
    """For each row of a layer the version that made it and that took it back; the last version."""
    made: dict[int, int] = {}
    undone: dict[int, int] = {}
    version = 0
    held: list[sqlite3.Row] = []  # in the order they were made

    def take_back(row: sqlite3.Row) -> None:
        nonlocal version
        version += 1
        undone[row["id"]] = version

    for row in rows:
        while (
            held
            and held[-1]["undone"] is not None
            and (row["undone"] is None or held[-1]["undone"] <= row["at"])
        ):
            take_back(held.pop())
        version += 1
        made[row["id"]] = version
        held.append(row)
    for row in reversed(held):
        if row["undone"] is not None:
            take_back(row)
    return {number: (made[number], undone.get(number)) for number in made}, version


def _decision(
    row: sqlite3.Row, layer: int, user: int, version: int, undone_version: int | None
) -> dict[str, Any]:
    value: dict[str, Any] = {"none": True}
    if row["label"] is not None:
        value = {"label": json.loads(row["label"])}
    value |= {name: row[name] for name in ("vocalised", "gloss") if row[name]}
    return {
        "layer": layer,
        "version": version,
        "sentence": row["sentence"],
        "item": f"w{row['word']}",
        "value": value | {"scored": bool(row["scored"])},
        "rank": row["rank"],
        "ranked": True,
        "note": "",
        "user": user,
        "at": row["at"],
        "undone": row["undone"],
        "undone_version": undone_version,
        "undone_by": None if row["undone"] is None else user,
    }


def _insert(c: Connection, table: Any, **row: Any) -> int:
    from sqlalchemy.exc import IntegrityError

    try:
        return int(c.execute(insert(table).values(row)).inserted_primary_key[0])  # type: ignore[index]
    except IntegrityError as error:
        raise taken_or(error, "another had the same name in the same moment") from error
