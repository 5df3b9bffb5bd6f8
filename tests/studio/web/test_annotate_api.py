"""Annotation over HTTP: projects, documents, decisions, conflicts; who may do what."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from eigentext.studio.api.schemas_annotate import RetrainAnswer
from eigentext.studio.service import retraining
from eigentext.studio.store.permissions import ACTIONS, allowed

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.testclient import TestClient

TREEBANK = """\
# sent_id = 1
# text = Dogs bark .
1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_
2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_
3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

# sent_id = 2
# text = Cats sleep .
1\tCats\tcat\tNOUN\tNNS\t_\t2\tnsubj\t_\t_
2\tsleep\tsleep\tVERB\tVBP\t_\t0\troot\t_\t_
3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

"""


@pytest.fixture
def local(connect: Any, tmp_path: Path) -> TestClient:
    """A client of a service on this machine: no accounts."""
    client: TestClient = connect(annotations=str(tmp_path / "a.db"))
    client.headers["X-Annotator"] = "Ada"
    return client


def made(client: TestClient, task: str = "dependency", **more: Any) -> int:
    """The number of a new project."""
    answer = client.post("/api/projects", json={"name": task, "task": task, **more})
    assert answer.status_code == 200, answer.text
    return int(answer.json()["id"])


def imported(client: TestClient, project: int, **more: Any) -> int:
    """The number of a new document."""
    body = {"name": "text", "format": "conllu", "text": TREEBANK, **more}
    answer = client.post(f"/api/projects/{project}/documents", json=body)
    assert answer.status_code == 200, answer.text
    return int(answer.json()["documents"][0]["id"])


def decide(client: TestClient, document: int, *changes: Any, **more: Any) -> Any:
    """Decisions, as [sentence, item, value]."""
    listed = [{"sentence": s, "item": i, "value": v} for s, i, v in changes]
    return client.post(f"/api/documents/{document}/decisions", json={"changes": listed, **more})


class TestDecisions:
    def test_a_decision_is_kept_and_the_rest_is_proposed_with_it(self, local: TestClient) -> None:
        document = imported(local, made(local))
        answer = decide(local, document, (0, "a1", {"head": 3, "deprel": "obj"}), seen=0).json()
        assert answer["version"] == 1
        assert answer["proposals"][0]["analysis"]["head"] == [3, 0, 2]
        opened = local.get(f"/api/documents/{document}").json()
        assert [d["value"] for d in opened["decisions"]] == [{"head": 3, "deprel": "obj"}]
        assert opened["decisions"][0]["by"] == "Ada"
        assert opened["layer"]["version"] == 1

    def test_a_stale_page_is_told_what_changed_and_nothing_is_saved(
        self, local: TestClient
    ) -> None:
        document = imported(local, made(local))
        decide(local, document, (0, "a1", {"head": 3}), seen=0)
        stale = decide(local, document, (0, "a3", {"head": 1}), seen=0)
        assert stale.status_code == 409
        body = stale.json()
        assert body["conflict"]["version"] == 1
        assert [c["item"] for c in body["conflict"]["changes"]] == ["a1"]
        # another sentence is saved beside it
        assert decide(local, document, (1, "a3", {"head": 1}), seen=0).json()["version"] == 2

    def test_undo_and_redo(self, local: TestClient) -> None:
        document = imported(local, made(local))
        decide(local, document, (0, "a1", {"head": 3}))
        undone = local.post(f"/api/documents/{document}/undo", json={}).json()
        assert undone["proposals"][0]["analysis"]["head"] == [2, 0, 2]
        assert undone["can_redo"]
        assert not undone["can_undo"]
        redone = local.post(f"/api/documents/{document}/redo", json={}).json()
        assert redone["proposals"][0]["analysis"]["head"] == [3, 0, 2]
        history = local.get(f"/api/documents/{document}/history").json()["decisions"]
        assert [bool(d["undone"]) for d in history] == [True, False]

    def test_a_decision_that_makes_no_sense_is_refused(self, local: TestClient) -> None:
        document = imported(local, made(local))
        for item, value in (("a9", {"head": 1}), ("a1", {"head": 1}), ("w1", {}), ("a1", "x")):
            answer = decide(local, document, (0, item, value))
            assert answer.status_code == 400, (item, value, answer.text)
            assert answer.json()["error"]["why"]
        assert local.get(f"/api/documents/{document}").json()["layer"]["version"] == 0

    def test_annotators_have_layers_of_their_own(self, local: TestClient) -> None:
        document = imported(local, made(local))
        decide(local, document, (0, "a1", {"head": 3}))
        other = local.get(f"/api/documents/{document}", headers={"X-Annotator": "Grace"}).json()
        assert other["decisions"] == []
        assert other["layer"]["user"] == "Grace"

    def test_adjudication_sees_where_layers_differ(self, local: TestClient) -> None:
        document = imported(local, made(local))
        decide(local, document, (0, "a1", {"head": 3}), (0, "a3", {"head": 2}))
        local.headers["X-Annotator"] = "Grace"
        decide(local, document, (0, "a1", {"head": 2}), (0, "a3", {"head": 2}))
        found = local.get(f"/api/documents/{document}/sentences/0/layers").json()
        assert found["differing"] == ["a1"]
        assert sorted(layer["user"] for layer in found["layers"]) == ["Ada", "Grace"]
        answer = decide(local, document, (0, "a1", {"head": 2}), layer="adjudication")
        assert answer.json()["progress"]["kind"] == "adjudication"

    def test_the_export_has_what_is_done(self, local: TestClient) -> None:
        project = made(local)
        document = imported(local, project)
        proposal = local.get(f"/api/documents/{document}/sentences/1").json()
        decide(local, document, (1, "done", {"analysis": proposal["analysis"]}))
        out = local.get(f"/api/projects/{project}/export", params={"format": "conllu"}).text
        assert "Cats" in out
        assert "Dogs" not in out
        assert "# annotator = Ada" in out

    def test_deletion_needs_the_name(self, local: TestClient) -> None:
        project = made(local)
        path = f"/api/projects/{project}"
        assert local.delete(path, params={"confirm": "no"}).status_code == 422
        assert local.delete(path, params={"confirm": "dependency"}).status_code == 204
        assert local.get("/api/projects").json()["projects"] == []
        assert local.post(f"{path}/restore").json()["deleted"] is None


class TestStaleness:
    """What one tab does not know of another."""

    def test_done_and_words_of_a_sentence_are_in_each_others_way(self, local: TestClient) -> None:
        settings = {"scheme": "arabic14"}
        document = imported(local, made(local, "lexical", settings=settings))
        analysis = local.get(f"/api/documents/{document}/sentences/0").json()["analysis"]
        decide(local, document, (0, "w0", {"none": True}), seen=0)
        stale = decide(local, document, (0, "done", {"analysis": analysis}), seen=0)
        assert stale.status_code == 409
        # another word of the sentence is saved beside it
        assert decide(local, document, (0, "w1", {"none": True}), seen=0).status_code == 200
        now = local.get(f"/api/documents/{document}/sentences/0").json()["analysis"]
        assert decide(local, document, (0, "done", {"analysis": now}), seen=2).status_code == 200
        late = decide(local, document, (0, "w2", {"none": True}), seen=2)
        assert late.status_code == 409

    def test_a_sentence_that_is_open_again_is_not_done(self, local: TestClient) -> None:
        project = made(local)
        document = imported(local, project)
        analysis = local.get(f"/api/documents/{document}/sentences/0").json()["analysis"]
        decide(local, document, (0, "done", {"analysis": analysis}))
        path = f"/api/projects/{project}/documents"
        (layer,) = local.get(path).json()["documents"][0]["layers"]
        assert layer["done_sentences"] == 1
        decide(local, document, (0, "done", None))
        (layer,) = local.get(path).json()["documents"][0]["layers"]
        assert layer["done_sentences"] == 0

    def test_who_only_looks_has_begun_nothing(self, local: TestClient) -> None:
        project = made(local)
        document = imported(local, project)
        local.get(f"/api/documents/{document}")
        found = local.get(f"/api/projects/{project}/documents").json()["documents"]
        assert found[0]["layers"] == []
        measures = local.get(f"/api/projects/{project}/measures").json()["measures"]
        assert measures["annotators"] == []

    def test_many_sentences_are_saved_without_proposals(self, local: TestClient) -> None:
        text = TREEBANK * 15
        document = imported(local, made(local), text=text)
        changes = [(k, "a1", {"head": 3}) for k in range(30)]
        answer = decide(local, document, *changes)
        assert answer.status_code == 200
        assert answer.json()["version"] == 1
        assert answer.json()["proposals"] == []
        assert len(local.get(f"/api/documents/{document}").json()["decisions"]) == 30
        certain = local.get(f"/api/documents/{document}/certainty").json()["sentences"]
        assert [one["sentence"] for one in certain] == list(range(30))


@pytest.mark.parametrize(
    ("task", "text", "item", "value"),
    [
        ("tags", TREEBANK, "t0", {"upos": "PROPN"}),
        ("entities", TREEBANK, "e0-1", {"type": "PER"}),
        ("constituency", TREEBANK, "s0-2", {"label": "NP"}),
        ("lexical", TREEBANK, "w0", {"none": True}),
    ],
)
def test_every_task_can_be_annotated_without_a_model(
    local: TestClient, task: str, text: str, item: str, value: Any
) -> None:
    settings = {"scheme": "arabic14"} if task == "lexical" else {}
    document = imported(local, made(local, task, settings=settings), text=text)
    answer = decide(local, document, (0, item, value))
    assert answer.status_code == 200, answer.text
    items = {one["item"]: one for one in answer.json()["proposals"][0]["items"]}
    assert items[item]["decided"]


# ---- models that learn


SENTENCES = [("dogs", "bark"), ("cats", "sleep"), ("birds", "sing"), ("girls", "read")]


def learned(client: TestClient, project: int) -> Any:
    """What came of making the next model."""
    assert client.post(f"/api/projects/{project}/retrain").status_code == 200
    for _ in range(6_000):
        now = client.get(f"/api/projects/{project}/retrain").json()
        if now["state"] != "running":
            return now
        time.sleep(0.1)
    raise AssertionError("it does not end")


def test_a_model_learns_from_accepted_sentences(
    connect: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states: list[RetrainAnswer] = []

    def watched(**fields: Any) -> RetrainAnswer:
        states.append(RetrainAnswer(**fields))
        return states[-1]

    monkeypatch.setattr(retraining, "wire", SimpleNamespace(RetrainAnswer=watched))
    with connect(annotations=str(tmp_path / "a.db")) as client:  # one loop for all requests
        client.headers["X-Annotator"] = "Ada"
        while client.get("/api/health").json()["status"] == "starting":
            time.sleep(0.1)
        project = made(client, "tags")
        lines = [
            f"1\t{a}\t_\t_\t_\t_\t_\t_\t_\t_\n2\t{b}\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
            for a, b in SENTENCES * 3
        ]
        document = imported(client, project, text="".join(lines))
        asked = f"/api/documents/{document}/sentences/11"
        assert learned(client, project)["state"] == "failed"  # nothing is accepted yet
        assert client.get(asked).json()["analysis"]["upos"] == ["_", "_"]
        done = {"analysis": {"upos": ["NOUN", "VERB"]}}
        decide(client, document, *[(s, "done", done) for s in range(10)])
        report = learned(client, project)
        assert report["state"] == "finished", report
        assert report["report"]["kept"]
        assert report["report"]["said"].startswith("The new model is the first model")
        # the page was told how far it is: a model for each of five parts, and the new one
        told = [(one.done, one.total) for one in states if one.total]
        assert told == sorted(told)
        assert {(done, 6) for done in range(7)} == set(told)
        assert "judging 2 of 5" in {one.doing.partition(":")[0] for one in states}
        assert client.get(asked).json()["analysis"]["upos"] == ["NOUN", "VERB"]
        # nothing new to judge by: nothing is made
        assert "no new sentences" in learned(client, project)["why"]
        # what makes no sense is learned by a worse model, which is not used
        for sentence, tags in ((10, ["X", "VERB"]), (11, ["NOUN", "X"])):
            decide(client, document, (sentence, "done", {"analysis": {"upos": tags}}))
        second = learned(client, project)
        assert second["state"] == "finished", second
        models = client.get(f"/api/projects/{project}/models").json()["models"]
        assert len(models) == 2
        assert "learned_from" not in models[0]["scores"]
        kept = second["report"]["kept"]
        assert [model["in_use"] for model in models] == [not kept, kept]
        assert kept == (second["report"]["new"] >= second["report"]["old"])
        chosen = client.post(f"/api/projects/{project}/models/{models[0]['id']}/use").json()
        assert chosen["in_use"]


# ---- accounts


@pytest.fixture(scope="module")
def entered(connect: Any, tmp_path_factory: Any) -> tuple[Path, dict[str, tuple[Any, str]]]:
    """A store with a user of each role, and what each has in the browser after the password."""
    from eigentext.studio.store.accounts import Accounts
    from eigentext.studio.store.schema import ROLES
    from eigentext.studio.store.store import AnnotationStore

    path = tmp_path_factory.mktemp("entered") / "team.db"
    store = AnnotationStore(str(path))
    accounts = Accounts(store)
    client = connect(annotations=str(path), accounts=True)
    sessions = {}
    for role in ROLES:
        accounts.add_user(role, role, f"secret of the {role}")
        answer = client.post(
            "/api/session", json={"name": role, "password": f"secret of the {role}"}
        )
        assert answer.status_code == 200, answer.text
        sessions[role] = dict(client.cookies), answer.json()["csrf"]
        client.cookies.clear()
    store.close()
    return path, sessions


@pytest.fixture
def team(connect: Any, entered: Any, tmp_path: Path) -> dict[str, TestClient]:
    """A service with accounts and a store of its own, and a client for each role."""
    source, sessions = entered
    path = str(tmp_path / "team.db")
    with closing(sqlite3.connect(source)) as before, closing(sqlite3.connect(path)) as copy:
        before.backup(copy)
    nobody = connect(annotations=path, accounts=True)
    clients = {"nobody": nobody}
    for role, (cookies, token) in sessions.items():
        headers = {"X-CSRF-Token": token}
        clients[role] = type(nobody)(nobody.app, cookies=cookies, headers=headers)
    return clients


def test_permissions_of_every_route_and_role(team: dict[str, TestClient]) -> None:
    admin = team["admin"]
    project = made(admin)
    document = imported(admin, project)
    spec = admin.get("/openapi.json").json()
    seen = 0
    for path, methods in spec["paths"].items():
        for method, about in methods.items():
            action = about.get("x-action")
            if action is None or action == "session":
                continue
            # nothing is to be changed: numbers that are not there, bodies that make no sense
            where = path.replace("{sentence}", "0").replace("{model}", "99999")
            own = "/documents/" in path or path.endswith(("queue", "export"))
            where = where.replace("{number}", str(document if "/documents/{" in path else project))
            if method in ("delete",) or path.endswith(
                ("/restore", "/use", "/retrain", "/{number}")
            ):
                where = path.replace("{number}", "99999").replace("{model}", "99999")
                where = where.replace("{sentence}", "0")
            assert getattr(team["nobody"], method)(where).status_code in (401, 422), (path, method)
            for role in ("reader", "annotator", "adjudicator", "admin"):
                expected = allowed(role, action, owner=own or action.split(".")[0] in _OWN)
                status = _status(team[role], method, where, path)
                assert (status != 403) == expected, (path, method, role, status)
                seen += 1
    assert seen >= 4 * 30
    assert set(ACTIONS)  # every action that a route names is one of these


_OWN = {"token", "password"}
_BODIES: dict[str, Any] = {
    "/api/projects": {"name": "p", "task": "tags"},
    "/api/users": {"name": "u", "role": "reader"},
    "/api/users/{number}": {"active": True},
    "/api/tokens": {"name": "t", "scope": "reader"},
    "/api/session/password": {"old": "x" * 12, "new": "y" * 12},
    "/api/projects/{number}": {"name": "q"},
    "/api/projects/{number}/documents": {"name": "d", "text": ""},
    "/api/documents/{number}/assignments": {"user": 99999},
    "/api/documents/{number}/decisions": {
        "changes": [{"sentence": 0, "item": "a1", "value": None}]
    },
}


def _status(client: TestClient, method: str, where: str, path: str) -> int:
    params = {"confirm": "x"} if method == "delete" else {}
    if path.endswith("candidates"):
        params["item"] = "a1"
    body = {} if method in ("get", "delete") else {"json": _BODIES.get(path, {})}
    return int(getattr(client, method)(where, params=params, **body).status_code)


class TestAccounts:
    def test_a_wrong_password_is_refused_and_locks(self, team: dict[str, TestClient]) -> None:
        wrong = {"name": "annotator", "password": "guess"}
        statuses = [team["nobody"].post("/api/session", json=wrong).status_code for _ in range(7)]
        assert statuses[:5] == [401] * 5
        assert statuses[-1] == 429

    def test_a_change_needs_the_token_of_the_page(self, team: dict[str, TestClient]) -> None:
        admin = team["admin"]
        body = {"name": "p", "task": "tags"}
        answer = admin.post("/api/projects", json=body, headers={"X-CSRF-Token": "no"})
        assert answer.status_code == 403
        answer = admin.post("/api/projects", json=body, headers={"Origin": "https://evil.example"})
        assert answer.status_code == 403
        assert admin.post("/api/projects", json=body).status_code == 200

    def test_a_token_may_do_no_more_than_its_scope(self, team: dict[str, TestClient]) -> None:
        admin = team["admin"]
        token = admin.post("/api/tokens", json={"name": "t", "scope": "reader"}).json()
        head = {"Authorization": f"Bearer {token['secret']}"}
        program = team["nobody"]
        assert program.get("/api/projects", headers=head).status_code == 200
        body = {"name": "p", "task": "tags"}
        assert program.post("/api/projects", json=body, headers=head).status_code == 403
        wider = {"name": "w", "scope": "admin"}
        assert program.post("/api/tokens", json=wider, headers=head).status_code == 403
        assert admin.delete(f"/api/tokens/{token['id']}").status_code == 204
        assert program.get("/api/projects", headers=head).status_code == 401

    def test_an_annotator_does_not_see_other_layers(self, team: dict[str, TestClient]) -> None:
        admin, annotator = team["admin"], team["annotator"]
        document = imported(admin, made(admin))
        own = annotator.get(f"/api/documents/{document}").json()
        assert own["writable"]
        other = admin.get("/api/session").json()["user"]["id"]
        seen = annotator.get(f"/api/documents/{document}", params={"layer": str(other)})
        assert seen.status_code == 403
        adjudication = {"layer": "adjudication"}
        path = f"/api/documents/{document}"
        assert annotator.get(path, params=adjudication).status_code == 403
        annotator.post(f"{path}/done", json={})
        assert annotator.get(path, params=adjudication).status_code == 200

    def test_the_cookie_is_for_this_site_and_no_script(self, team: dict[str, TestClient]) -> None:
        answer = team["nobody"].post(
            "/api/session", json={"name": "reader", "password": "secret of the reader"}
        )
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert "secret" not in answer.text
        assert team["nobody"].get("/api/session").json()["user"]["name"] == "reader"
        team["nobody"].headers["X-CSRF-Token"] = answer.json()["csrf"]
        assert team["nobody"].delete("/api/session").status_code == 204
        assert team["nobody"].get("/api/session").json()["user"] is None

    def test_the_adjudication_is_exported_by_those_who_have_decided(
        self, team: dict[str, TestClient]
    ) -> None:
        admin, annotator = team["admin"], team["annotator"]
        project = made(admin)
        document = imported(admin, project)
        decide(admin, document, (0, "a1", {"head": 3}), layer="adjudication")
        asked = {"layer": "adjudication", "unfinished": True}
        path = f"/api/projects/{project}/export"
        assert annotator.get(path, params=asked).text == ""
        annotator.post(f"/api/documents/{document}/done", json={})
        assert "Dogs" in annotator.get(path, params=asked).text

    def test_a_document_assigned_to_others_is_not_ones_own(
        self, team: dict[str, TestClient]
    ) -> None:
        admin, annotator = team["admin"], team["annotator"]
        document = imported(admin, made(admin))
        other = admin.get("/api/session").json()["user"]["id"]
        path = f"/api/documents/{document}/assignments"
        assert admin.post(path, json={"user": other}).status_code == 200
        assert decide(annotator, document, (0, "a1", {"head": 3})).status_code == 403
        mine = annotator.get("/api/session").json()["user"]["id"]
        admin.post(path, json={"user": mine})
        assert decide(annotator, document, (0, "a1", {"head": 3})).status_code == 200

    def test_a_token_makes_no_tokens(self, team: dict[str, TestClient]) -> None:
        token = team["admin"].post("/api/tokens", json={"name": "t", "scope": "reader"}).json()
        head = {"Authorization": f"Bearer {token['secret']}"}
        body = {"name": "again", "scope": "reader", "days": None}
        assert team["nobody"].post("/api/tokens", json=body, headers=head).status_code == 403

    def test_an_origin_that_is_no_address(self, team: dict[str, TestClient]) -> None:
        body = {"name": "p", "task": "tags"}
        answer = team["admin"].post("/api/projects", json=body, headers={"Origin": "http://["})
        assert answer.status_code == 403

    def test_who_has_seen_the_adjudication_decides_no_more(
        self, team: dict[str, TestClient]
    ) -> None:
        admin, annotator, adjudicator = (
            team[who] for who in ("admin", "annotator", "adjudicator")
        )
        document = imported(admin, made(admin))
        path, final = f"/api/documents/{document}", {"layer": "adjudication"}
        mine = annotator.get("/api/session").json()["user"]["id"]
        analysis = {"head": [2, 0, 2], "deprel": ["nsubj", "root", "punct"]}
        done = (0, "done", {"analysis": analysis})

        def finish(done: bool = True, **more: Any) -> int:
            return int(annotator.post(f"{path}/done", json={"done": done, **more}).status_code)

        decide(annotator, document, (0, "a1", {"head": 3}))
        # what nobody has adjudicated yet shows nothing
        assert finish() == 200
        assert annotator.get(path, params=final).status_code == 200
        assert finish(False) == 200
        decide(adjudicator, document, done, **final)
        assert annotator.get(path, params=final).status_code == 403
        assert decide(annotator, document, (0, "a3", {"head": 1})).status_code == 200
        assert finish() == 200
        assert annotator.get(path).json()["writable"]
        assert annotator.get(path, params=final).json()["decisions"]
        own = annotator.get(path).json()
        assert (own["layer"]["closed"], own["writable"]) == (True, False)
        refused = decide(annotator, document, done)
        assert refused.status_code == 403
        assert "an adjudicator can open it again" in refused.json()["error"]["why"]
        for step in ("undo", "redo"):
            assert annotator.post(f"{path}/{step}", json={}).status_code == 403
        assert finish(False) == 403
        assert finish(False, layer=str(mine)) == 403
        assert annotator.get(path).json()["layer"]["version"] == 2
        # opened by somebody else: the adjudication is out of sight until it is finished again
        opened = {"layer": str(mine), "done": False}
        assert adjudicator.post(f"{path}/done", json={**opened, "done": True}).status_code == 403
        assert not adjudicator.post(f"{path}/done", json=opened).json()["closed"]
        assert annotator.get(path, params=final).status_code == 403
        assert decide(annotator, document, done).status_code == 200
        project = annotator.get(path).json()["project"]["id"]
        measures = admin.get(f"/api/projects/{project}/measures").json()["measures"]
        assert measures["not_blind"] == 1
        assert "1 decisions were made or taken back after the adjudication" in str(measures)
        assert finish() == 200
        assert decide(annotator, document, done).status_code == 403
        actions = [one["action"] for one in admin.get("/api/audit").json()["entries"]]
        assert actions.count("adjudication.see") == 1

    def test_an_export_of_the_adjudication_is_a_look_at_it(
        self, team: dict[str, TestClient]
    ) -> None:
        admin, annotator = team["admin"], team["annotator"]
        project = made(admin)
        document = imported(admin, project)
        decide(admin, document, (0, "a1", {"head": 3}), layer="adjudication")
        asked = {"layer": "adjudication", "unfinished": True}
        annotator.post(f"/api/documents/{document}/done", json={})
        assert "Dogs" in annotator.get(f"/api/projects/{project}/export", params=asked).text
        assert decide(annotator, document, (0, "a1", {"head": 3})).status_code == 403

    def test_a_token_for_readers_does_not_show_annotators_the_adjudication(
        self, team: dict[str, TestClient]
    ) -> None:
        admin = team["admin"]
        project = made(admin)
        document = imported(admin, project)
        decide(admin, document, (0, "a1", {"head": 3}), layer="adjudication")
        asked = {"layer": "adjudication", "unfinished": True}
        found = {}
        for who in ("reader", "annotator", "adjudicator"):
            token = team[who].post("/api/tokens", json={"name": "t", "scope": "reader"}).json()
            head = {"Authorization": f"Bearer {token['secret']}"}
            shown = team["nobody"].get(f"/api/documents/{document}", params=asked, headers=head)
            where = f"/api/projects/{project}/export"
            text = team["nobody"].get(where, params=asked, headers=head).text
            found[who] = shown.status_code, "Dogs" in text
        assert found["reader"] == found["adjudicator"] == (200, True)
        assert found["annotator"] == (403, False)

    def test_a_token_is_worth_no_more_than_its_user(self, team: dict[str, TestClient]) -> None:
        admin, nobody = team["admin"], team["nobody"]
        body = {"name": "t", "scope": "adjudicator"}
        token = team["adjudicator"].post("/api/tokens", json=body).json()
        head = {"Authorization": f"Bearer {token['secret']}"}
        user = team["adjudicator"].get("/api/session").json()["user"]["id"]
        assert nobody.get("/api/users", headers=head).status_code == 200
        demoted = admin.patch(f"/api/users/{user}", json={"role": "annotator"})
        assert demoted.status_code == 200
        assert nobody.get("/api/users", headers=head).status_code == 403
        assert nobody.get("/api/projects", headers=head).status_code == 200
        assert nobody.get("/api/session", headers=head).json()["user"]["role"] == "annotator"

    def test_nobody_revokes_the_token_of_somebody_else(self, team: dict[str, TestClient]) -> None:
        token = team["annotator"].post("/api/tokens", json={"name": "t", "scope": "reader"}).json()
        head = {"Authorization": f"Bearer {token['secret']}"}
        for who in ("reader", "adjudicator"):
            answer = team[who].delete(f"/api/tokens/{token['id']}")
            assert answer.status_code == 404
            assert "of yours" in answer.json()["error"]["why"]
            assert team["nobody"].get("/api/projects", headers=head).status_code == 200
        assert team["admin"].delete(f"/api/tokens/{token['id']}").status_code == 204
        assert team["nobody"].get("/api/projects", headers=head).status_code == 401

    @pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
    def test_what_a_page_of_another_site_sends_changes_nothing(
        self, team: dict[str, TestClient], local: TestClient, site: str
    ) -> None:
        """Where browsers send no Origin, too."""
        head = {"Sec-Fetch-Site": site}
        body = {"name": "p", "task": "tags"}
        login = {"name": "reader", "password": "secret of the reader"}
        for client in (team["admin"], local):
            answer = client.post("/api/projects", json=body, headers=head)
            assert answer.status_code == 403
            assert "another site" in answer.json()["error"]["why"]
            assert client.get("/api/projects", headers=head).json() == {"projects": []}
            assert client.post("/api/session", json=login, headers=head).status_code == 403
            assert client.delete("/api/session", headers=head).status_code == 403
        for fine in ("same-origin", "none"):
            body["name"] += "p"
            answer = team["admin"].post(
                "/api/projects", json=body, headers={"Sec-Fetch-Site": fine}
            )
            assert answer.status_code == 200
