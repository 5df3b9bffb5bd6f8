"""A store with a little of everything in it.

As a program it writes the golden file of the version of today:
``PYTHONPATH=src:tests python -m helpers.small_store tests/golden/annotations-NNNN.db.xz``.
"""

from __future__ import annotations

import lzma
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from argon2 import PasswordHasher

from eigentext.studio.store.accounts import Accounts
from eigentext.studio.store.records import Change, StoredDocument
from eigentext.studio.store.store import AnnotationStore

CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
SENTENCE = {
    "tokens": [{"text": "It", "start": 0, "end": 2}, {"text": "rains", "start": 3, "end": 8}],
    "comments": ["# text = It rains"],
}


def add_document(store, project, name, sentences, *, text=None, about=None, by=None):
    """A new document of a project."""
    new = StoredDocument(name, text, [dict(sentence) for sentence in sentences], about or {})
    return store.add_documents(project, [new], by=by)[0]


def fill(store: AnnotationStore) -> None:
    accounts = Accounts(store, hasher=CHEAP)
    ada = accounts.add_user("ada", "admin", "a long password").id
    ben = accounts.add_user("ben", "annotator", by=ada).id
    accounts.log_in("ada", "a long password")
    accounts.make_token(ben, "script", expires=datetime(2100, 1, 1, tzinfo=UTC), by=ada)
    words = store.create_project(
        "Words", "lexical", guidelines="Lies <laut>\nكتب 😀", settings={"k": 5}, by=ada
    ).id
    store.create_project("Trees", "dependency", language="en")
    gone = store.create_project("Gone", "tags").id
    store.delete("project", gone, confirm="Gone")
    text = add_document(store, words, "one", [SENTENCE], text="It rains", by=ada).id
    store.assign(text, ben)
    mine = store.layer(text, user=ada).id
    store.decide(mine, Change(0, "w0", {"label": {"lemma": "it"}}, 1, True, 1.5, 1), by=ada)
    store.decide(mine, Change(0, "w1", {"none": True}, note="?"), base_version=1, by=ada)
    store.decide(mine, Change(0, "w1", None), by=ada)
    store.undo(mine, by=ada)
    store.layer(text, kind="adjudication")
    store.mark_done(store.layer(text, user=ben).id, by=ben)
    store.add_model(words, "words.lex", {"accuracy": 0.75}, use=True, by=ada)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        golden = AnnotationStore(Path(folder) / "golden.db")
        fill(golden)
        golden.close()
        Path(sys.argv[1]).write_bytes(lzma.compress((Path(folder) / "golden.db").read_bytes()))
