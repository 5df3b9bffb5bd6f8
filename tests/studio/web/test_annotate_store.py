"""The service and its store: looking writes nothing, a store that is gone is told plainly."""

from __future__ import annotations

import itertools
import json
import logging
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from sqlalchemy import func, select

from eigentext.studio.api import annotate
from eigentext.studio.api.annotate import AnnotateService
from eigentext.studio.measures.measures import measure, rows_of
from eigentext.studio.service.answering import told
from eigentext.studio.store.accounts import Accounts
from eigentext.studio.store.database import Database
from eigentext.studio.store.problems import StoreError
from eigentext.studio.store.records import Change
from eigentext.studio.store.schema import TABLES
from eigentext.studio.store.store import AnnotationStore
from helpers.commands import started
from helpers.postgres import Server
from helpers.small_store import add_document
from helpers.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.testclient import TestClient

    from eigentext.studio.store.store import AnnotationStore as Store

TREES = (
    "1\tDogs\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tbark\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    "1\tCats\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tsleep\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "team.db"


@pytest.fixture
def client(connect: Any, path: Path) -> TestClient:
    made: TestClient = connect(annotations=str(path))
    made.headers["X-Annotator"] = "Ada"
    return made


def document_of(client: TestClient | httpx.Client) -> tuple[int, int]:
    """The numbers of a new project and its document."""
    project = client.post("/api/projects", json={"name": "Trees", "task": "dependency"}).json()
    body = {"name": "text", "format": "conllu", "text": TREES}
    answer = client.post(f"/api/projects/{project['id']}/documents", json=body)
    assert answer.status_code == 200, answer.text
    return int(project["id"]), int(answer.json()["documents"][0]["id"])


def rows(store: Store) -> dict[str, int]:
    """How many rows each table has."""
    count = select(func.count())
    return store.reading(
        lambda c: {
            table.name: c.execute(count.select_from(table)).scalar_one() for table in TABLES
        }
    )


def test_looking_writes_nothing(client: TestClient, path: Path) -> None:
    project, document = document_of(client)
    store = AnnotationStore(path)
    before = rows(store)
    whole, one = f"/api/documents/{document}", f"/api/documents/{document}/sentences/1"
    seen = client.get(whole).json()
    assert (seen["layer"]["layer"], seen["layer"]["version"]) == (0, 0)
    assert seen["writable"]
    assert client.get(whole, params={"layer": "adjudication"}).json()["layer"]["version"] == 0
    assert client.get(one).json()["sentence"] == 1
    for where in (
        f"{one}/candidates?item=a1",
        f"{one}/checks",
        f"{one}/layers",
        f"{whole}/certainty",
        f"{whole}/history",
        f"/api/projects/{project}/queue",
        f"/api/projects/{project}/export",
        f"/api/projects/{project}/export?layer=adjudication",
        f"/api/projects/{project}/measures",
    ):
        assert client.get(where).status_code == 200, where
    # nor does a decision that is refused
    wrong = {"changes": [{"sentence": 0, "item": "a1", "value": {"head": 9}}]}
    assert client.post(f"{whole}/decisions", json=wrong).status_code == 400
    assert rows(store) == before
    right = {"changes": [{"sentence": 0, "item": "a1", "value": {"head": 0}}], "seen": 0}
    assert client.post(f"{whole}/decisions", json=right).json()["version"] == 1
    assert rows(store) == before | {"layers": 1, "decisions": 1}
    assert client.get(whole).json()["layer"]["version"] == 1
    store.close()


@pytest.mark.parametrize("step", ["undo", "redo", "done"])
def test_steps_in_a_layer_that_nobody_began(client: TestClient, step: str) -> None:
    _, document = document_of(client)
    answer = client.post(f"/api/documents/{document}/{step}", json={})
    assert answer.status_code == 200, answer.text
    assert answer.json()["version"] == 0


def test_an_export_is_put_together_beside_the_loop(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, document = document_of(client)
    analysis = {"head": [2, 0], "deprel": ["nsubj", "root"]}
    done = {"sentence": 0, "item": "done", "value": {"analysis": analysis}}
    body = {"changes": [done]}
    assert client.post(f"/api/documents/{document}/decisions", json=body).status_code == 200
    where: list[str] = []
    joined = annotate._joined

    def watched(lines: Any) -> bytes:
        where.append(threading.current_thread().name)
        return joined(lines)

    monkeypatch.setattr(annotate, "_joined", watched)
    answer = client.get(f"/api/projects/{project}/export")
    assert "1\tDogs\t" in answer.text
    assert answer.headers["content-type"].startswith("text/plain")
    assert [name.partition("_")[0] for name in where] == ["files"]


def test_a_name_that_nobody_has_is_locked_like_one_that_somebody_has(
    connect: Any, path: Path
) -> None:
    store = AnnotationStore(path)
    Accounts(store).add_user("ada", "admin", "a long password")
    store.close()
    client = connect(annotations=str(path), accounts=True)
    answers = []
    for name in ("ada", "eve"):
        asked = [
            client.post("/api/session", json={"name": name, "password": "wrong"}) for _ in range(7)
        ]
        answers.append([(one.status_code, one.json()["error"]["why"][:25]) for one in asked])
    assert answers[0] == answers[1]
    assert [status for status, _ in answers[0]] == [401] * 5 + [429] * 2


def test_wrong_passwords_from_elsewhere_keep_nobody_out(serve: Any, path: Path) -> None:
    """And a command on the machine of the store lets an admin in from anywhere."""
    store = AnnotationStore(path)
    Accounts(store).add_user("ada", "admin", "a long password")
    store.close()
    with serve(annotations=str(path), accounts=True) as address:

        def statuses(source: str, password: str, n: int = 1) -> list[int]:
            how = httpx.HTTPTransport(local_address=source)
            with httpx.Client(base_url=address, transport=how, timeout=600) as client:
                login = {"name": "ada", "password": password}
                return [client.post("/api/session", json=login).status_code for _ in range(n)]

        assert statuses("127.0.0.66", "wrong", 6) == [401] * 5 + [429]
        assert statuses("127.0.0.66", "a long password") == [429]
        assert statuses("127.0.0.7", "a long password") == [200]
        line = ("annotate", "user", path, "ada", "--password")
        done = started(*line, cwd=path.parent, given=b"another password\n")
        assert done.returncode == 0, done.stderr
        assert statuses("127.0.0.66", "a long password") == [401]
        assert statuses("127.0.0.66", "another password") == [200]


# ---- a store that is gone


def test_a_store_that_is_gone_is_told_without_its_address(
    client: TestClient, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    document_of(client)
    for file in path.parent.glob("team.db*"):
        file.rename(file.with_name(f"away-{file.name}"))
    for answer in (
        client.get("/api/projects"),
        client.post("/api/projects", json={"name": "x", "task": "tags"}),
    ):
        assert answer.status_code == 503
        assert answer.json()["error"]["why"] == (
            "the store of annotations cannot be reached: try again later"
        )
        assert int(answer.headers["Retry-After"]) > 0
    assert str(path) in caplog.text
    assert client.get("/api/health").status_code == 200


def test_no_password_is_told_or_logged(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("psycopg")
    address = "postgresql://ada:hushhush@/none?host=/nowhere/at/all"
    with pytest.raises(StoreError) as caught:
        Database(address)
    with caplog.at_level(logging.ERROR):
        answer = told(caught.value)
    assert b"cannot be reached" in bytes(answer.body)
    assert b"nowhere" not in bytes(answer.body)
    assert "nowhere" in caplog.text
    assert "hushhush" not in caplog.text + str(caught.value)


def test_what_a_database_says_is_told_without_the_password(path: Path) -> None:
    store = AnnotationStore(path)
    store._secrets = ["hushhush"]  # as if the address of the file had one
    said = str(store._explained(ValueError('no password "hushhush" for ada')))
    assert said.endswith('no password "***" for ada')
    store.close()


@pytest.mark.requires("postgres")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_database_that_is_restarted_while_people_annotate(serve: Any, how: Any) -> None:
    """They are told to come again, and when it is back their next decision is saved.

    The service is not restarted, and all that it acknowledged is there.
    """
    database = Server().start()
    gone, back = threading.Event(), threading.Event()
    statuses: list[int] = []

    def annotate(address: str, name: str, document: int) -> list[str]:
        """Decide until the database has gone, and once when it is back; what was saved."""
        saved = []
        refused = False
        with httpx.Client(base_url=address, timeout=600, trust_env=False) as client:
            client.headers["X-Annotator"] = name
            for k in itertools.count():
                note = f"{name} {k}"
                change = {"sentence": k % 2, "item": "a1", "value": {"head": 0}, "note": note}
                answer = client.post(
                    f"/api/documents/{document}/decisions", json={"changes": [change]}
                )
                statuses.append(answer.status_code)
                if refused or answer.status_code == 200:
                    assert answer.status_code == 200, answer.text
                    saved.append(note)
                    if refused:
                        return saved
                    continue
                assert answer.status_code == 503, answer.text
                assert answer.json()["error"]["why"] == (
                    "the store of annotations cannot be reached: try again later"
                )
                assert int(answer.headers["Retry-After"]) > 0
                refused = True
                gone.set()
                back.wait()
        return saved

    try:
        with (
            serve(annotations=database.new_database()) as address,
            httpx.Client(base_url=address, timeout=600, trust_env=False) as client,
            ThreadPoolExecutor(3) as threads,
        ):
            client.headers["X-Annotator"] = "Ada"
            _, document = document_of(client)
            names = ["Ben", "Eve", "Ida"]
            asked = [threads.submit(annotate, address, name, document) for name in names]
            try:
                until(lambda: len(statuses) >= 9 or any(one.done() for one in asked))
                database.stop(how)
                until(lambda: gone.is_set() or any(one.done() for one in asked))
                assert client.get("/api/health").json()["status"] == "ok"
                assert client.get("/api/projects").status_code == 503
                database.start()
            finally:
                back.set()
            saved = {name: one.result() for name, one in zip(names, asked, strict=True)}
            for name in names:
                head = {"X-Annotator": name}
                told = client.get(f"/api/documents/{document}/history", headers=head).json()
                notes = [one["note"] for one in told["decisions"]]
                assert len(notes) == len(set(notes))
                assert set(saved[name]) <= set(notes)
                assert saved[name]
    finally:
        database.remove()


# ---- a large project


def test_three_hundred_documents_are_measured_a_few_at_a_time(
    client: TestClient, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same as in one go, and no job has more than its share."""
    store = AnnotationStore(path)
    project = store.create_project("Tags", "tags").id
    sentence = {"tokens": [{"text": "x", "start": 0, "end": 1}]}
    accounts = Accounts(store)
    users = [accounts.add_user(name, "annotator").id for name in ("Ada", "Ben")]
    for number in range(300):
        text = add_document(store, project, f"text {number}", [sentence] * 2).id
        for user in users if number % 3 else users[:1]:
            tag = "NOUN" if (number + user) % 5 else "VERB"
            layer = store.layer(text, user=user).id
            changes = [Change(k, "t0", {"upos": tag}, 1, True, 2.0, 1) for k in range(2)]
            store.decide(layer, changes, by=user)
    shares: list[int] = []
    work = AnnotateService.work

    async def watched(self: AnnotateService, job: str, *given: Any) -> Any:
        if job == "measure/parts":
            shares.append(sum(len(document.sentences) for document in given[1][0]))
        return await work(self, job, *given)

    monkeypatch.setattr(AnnotateService, "work", watched)
    answer = client.get(f"/api/projects/{project}/measures")
    assert answer.status_code == 200, answer.text
    found = answer.json()["measures"]
    assert (found["documents"], found["sentences"]) == (300, 600)
    people = {user.id: user.name for user in accounts.users()}
    whole = measure(store.project(project), *rows_of(store, project), users=people)
    assert found == json.loads(json.dumps(whole))
    assert len(found["agreement"]["documents"]) == 200
    assert sum(shares) == 600
    assert max(shares) <= 200
    store.close()
