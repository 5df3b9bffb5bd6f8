"""Annotating over HTTP: decisions, what they change, A1/A2, undo, export, a killed server."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from eigentext.cli.main import app as command
from eigentext.formats.conllu import read_sentences
from eigentext.lexical import LexicalRanker, read_words_jsonl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from starlette.testclient import TestClient

    Connect = Callable[..., TestClient]

TEXT = "كتب الولد رسالة إلى أمه. قرأ الطالب الكتاب."
DECISIONS = "/api/lex/documents/1/decisions"


@pytest.fixture
def service(connect: Connect, lex_model: str, tmp_path: Path) -> TestClient:
    client = connect(lex_model=lex_model, annotations=str(tmp_path / "a.db"), max_documents=40)
    made = client.post("/api/lex/documents", json={"text": TEXT})
    assert made.status_code == 200, made.text
    assert made.json()["id"] == 1
    return client


def opened(client: TestClient, annotator: str = "Ada", number: int = 1) -> Any:
    answer = client.get(f"/api/lex/documents/{number}", params={"annotator": annotator})
    assert answer.status_code == 200, answer.text
    return answer.json()


def word_of(document: Any, sentence: int, word: int) -> Any:
    return document["ranked"]["sentences"][sentence]["words"][word]


def decide(client: TestClient, sentence: int, word: int, label: Any, who: str = "Ada") -> Any:
    body = {"annotator": who, "sentence": sentence, "word": word, "label": label}
    answer = client.post(DECISIONS, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert set(answer.json()["error"]) == {"path", "line", "why"}
    return str(answer.json()["error"]["why"])


def test_a_decision_is_kept_and_ranks_the_rest_anew(
    service: TestClient, connect: Connect, lex_model: str, tmp_path: Path
) -> None:
    before = opened(service)
    assert before["revision"] == 0
    assert before["progress"] == {"words": 10, "decided": 0, "scored": 0, "a1": None, "a2": None}
    second = word_of(before, 0, 0)["candidates"][1]["label"]
    answer = decide(service, 0, 0, second)
    assert answer["choice"]["rank"] == 2
    assert answer["revision"] == 1
    assert answer["progress"] == {"words": 10, "decided": 1, "scored": 1, "a1": 0, "a2": 100}
    # what changed is what the ranker says with this decision, and the rest is as it was
    ranker = LexicalRanker.load(lex_model)
    forms = [[w["form"] for w in s["words"]] for s in before["ranked"]["sentences"]]
    expected = ranker.rank(forms[0], fixed={0: tuple(second.values())}, document=forms[1:])
    after = opened(service)
    for place, word in enumerate(expected):
        shown = word_of(after, 0, place)["candidates"]
        assert [tuple(c["label"].values()) for c in shown] == [c.label for c in word.candidates]
        assert [c["probability"] for c in shown] == [c.probability for c in word.candidates]
    changed = {(one["sentence"], one["word"]): one["view"] for one in answer["changed"]}
    assert (0, 0) in changed
    assert len(changed) > 1, "a decision must reach its neighbours"
    for s, sentence in enumerate(after["ranked"]["sentences"]):
        for w, view in enumerate(sentence["words"]):
            assert view == changed.get((s, w), word_of(before, s, w))
    # another server on the same file knows it
    again = connect(lex_model=lex_model, annotations=str(tmp_path / "a.db"))
    assert opened(again) == after
    assert opened(again, "Bob")["progress"]["decided"] == 0


def test_running_figures_go_by_the_ranking_before_the_decision(service: TestClient) -> None:
    first = word_of(opened(service), 0, 1)["candidates"]
    assert decide(service, 0, 1, first[2]["label"])["choice"]["rank"] == 3
    assert opened(service)["progress"]["a2"] == 0
    # changing one's mind: the ranking without one's own decision counts, and only the last choice
    answer = decide(service, 0, 1, first[0]["label"])
    assert answer["choice"]["rank"] == 1
    assert answer["progress"] == {"words": 10, "decided": 1, "scored": 1, "a1": 100, "a2": 100}
    # punctuation is kept but does not count
    stop = word_of(opened(service), 0, 5)
    assert stop["form"] == "."
    answer = decide(service, 0, 5, stop["candidates"][0]["label"])
    assert (answer["progress"]["decided"], answer["progress"]["scored"]) == (2, 1)
    # nothing fits, or a label of one's own: neither was ranked
    answer = decide(service, 0, 2, None)
    assert answer["choice"]["label"] is None
    assert answer["progress"]["a1"] == 50
    assert not word_of(opened(service), 0, 2)["decided"]
    answer = decide(service, 0, 3, {"lemma": "x", "pos": "N"})
    assert answer["choice"]["rank"] is None
    assert answer["choice"]["label"]["pron"] == "-"


def test_undo_goes_back_step_by_step(service: TestClient) -> None:
    candidates = word_of(opened(service), 0, 0)["candidates"]
    start = opened(service)
    decide(service, 0, 0, candidates[0]["label"])
    once = opened(service)
    decide(service, 0, 0, candidates[1]["label"])
    decide(service, 1, 0, None)
    for_bob = decide(service, 0, 1, None, "Bob")
    assert for_bob["revision"] == 1
    undo = "/api/lex/documents/1/undo"
    answer = service.post(undo, json={"annotator": "Ada"}).json()
    assert (answer["sentence"], answer["word"], answer["choice"]) == (1, 0, None)
    answer = service.post(undo, json={"annotator": "Ada"}).json()
    assert answer["choice"]["label"] == candidates[0]["label"]  # the older one holds again
    assert opened(service)["ranked"] == once["ranked"]
    service.post(undo, json={"annotator": "Ada"})
    assert opened(service)["ranked"] == start["ranked"]
    assert "nothing" in refused(service.post(undo, json={"annotator": "Ada"}), 409)
    assert opened(service, "Bob")["progress"]["decided"] == 1


def test_exports_are_read_by_the_tools(
    service: TestClient, tmp_path: Path, lex_model: str
) -> None:
    service.post("/api/lex/documents", json={"text": "كتب المعلم الدرس.", "name": "a\n b"})
    for number in (1, 2):
        document = opened(service, number=number)
        for s, sentence in enumerate(document["ranked"]["sentences"]):
            for w, word in enumerate(sentence["words"]):
                if (s, w) == (0, 2):
                    continue  # one word stays open
                body = {"annotator": "Ada", "sentence": s, "word": w}
                body["label"] = word["candidates"][0]["label"]
                service.post(f"/api/lex/documents/{number}/decisions", json=body)
    export = service.get("/api/lex/export", params={"annotator": "Ada"})
    assert export.headers["content-disposition"] == 'attachment; filename="words.jsonl"'
    (tmp_path / "words.jsonl").write_text(export.text, "utf-8")
    documents = read_words_jsonl(tmp_path / "words.jsonl")
    assert [document.id for document in documents][1] == "a b (2)"
    first = documents[0].sentences[0]
    assert [word.form for word in first] == ["كتب", "الولد", "رسالة", "إلى", "أمه", "."]
    assert [word.label is None for word in first] == [False, False, True, False, False, False]
    assert [word.scored for word in first] == [True, True, False, True, True, False]
    model = str(tmp_path / "new.ranker")
    call = ["lex", "train", str(tmp_path / "words.jsonl"), "-o", model, "--bits", "0"]
    done = CliRunner().invoke(command, [*call, "--passes", "1", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["words"] == 14
    assert LexicalRanker.load(model).rank(["كتب"])[0].best.label == first[0].label

    asked = {"annotator": "Ada", "format": "conllu", "document": "1"}
    (tmp_path / "a.conllu").write_text(service.get("/api/lex/export", params=asked).text, "utf-8")
    sentences = list(read_sentences(tmp_path / "a.conllu"))
    assert len(sentences) == 2
    tokens = sentences[0].tokens
    assert [token.form for token in tokens] == [word.form for word in first]
    assert tokens[0].lemma == first[0].label[0]
    assert tokens[0].xpos == "V"
    assert "Vform=كَتَبَ" in tokens[0].misc
    assert (tokens[2].lemma, tokens[2].xpos, tokens[2].misc) == ("_", "_", "_")
    assert sentences[0].metadata["annotator"] == "Ada"
    assert service.get("/api/lex/export", params={"annotator": "Nobody"}).text == ""

    # a treebank has what was typed, though the ranker goes by another quote
    service.post("/api/lex/documents", json={"text": '"كتب"', "scheme": "ptb"})
    body = {"annotator": "Bob", "sentence": 0, "word": 1, "label": {"pos": "V"}}
    assert service.post("/api/lex/documents/3/decisions", json=body).status_code == 200
    asked = {"annotator": "Bob", "format": "conllu", "document": "3"}
    lines = service.get("/api/lex/export", params=asked).text.splitlines()
    assert [line.split("\t")[1] for line in lines if line[:1].isdigit()] == ['"', "كتب", '"']


def test_refusals(service: TestClient, client: TestClient, connect: Connect) -> None:
    get, post = service.get, service.post
    assert "no text 7" in refused(get("/api/lex/documents/7?annotator=Ada"), 404)
    assert "annotator" in refused(get("/api/lex/documents/1"), 422)
    for name in ("", "  ", "x" * 81, "a\nb", "a\x00b"):
        answer = get("/api/lex/documents/1", params={"annotator": name})
        assert "annotator" in refused(answer, 422)
    refused(get("/api/lex/documents/x?annotator=Ada"), 422)
    refused(get("/api/lex/documents/99999999999999999999?annotator=Ada"), 422)
    body = {"annotator": "Ada", "sentence": 0, "word": 0, "label": None}
    assert "no word 60" in refused(post(DECISIONS, json={**body, "word": 60}), 400)
    assert "'hat'" in refused(post(DECISIONS, json={**body, "label": {"hat": "x"}}), 422)
    assert "label" in refused(
        post(DECISIONS, json={"annotator": "A", "sentence": 0, "word": 0}), 422
    )
    assert opened(service)["revision"] == 0, "what is refused is not kept"
    assert "no words" in refused(post("/api/lex/documents", json={"text": " \n"}), 400)
    assert "format" in refused(get("/api/lex/export?annotator=A&format=xls"), 422)
    assert "--annotations" in refused(client.post("/api/lex/documents", json={"text": "a"}), 503)
    # a form of another site can send plain text only, and that is no decision
    plain = post(DECISIONS, content=json.dumps(body), headers={"Content-Type": "text/plain"})
    refused(plain, 422)
    assert opened(service)["revision"] == 0


def test_a_stale_page_is_told_and_changes_nothing(service: TestClient) -> None:
    body = {"annotator": "Ada", "sentence": 0, "word": 0, "label": None, "revision": 0}
    assert service.post(DECISIONS, json=body).json()["revision"] == 1
    why = refused(service.post(DECISIONS, json={**body, "word": 1}), 409)
    assert "asked at revision 0" in why
    assert "at revision 1" in why
    undo = "/api/lex/documents/1/undo"
    refused(service.post(undo, json={"annotator": "Ada", "revision": 0}), 409)
    assert [c["word"] for c in opened(service)["decisions"]] == [0]
    assert service.post(DECISIONS, json={**body, "word": 1, "revision": 1}).status_code == 200
    answer = service.post(undo, json={"annotator": "Ada", "revision": 2}).json()
    assert (answer["word"], answer["revision"]) == (1, 3)
    assert "revision" in refused(service.post(undo, json={"annotator": "A", "revision": -1}), 422)


def test_decisions_at_the_same_time_are_all_kept(service: TestClient) -> None:
    words = range(6)
    with ThreadPoolExecutor(6) as threads:
        asked = [threads.submit(decide, service, 0, word, None) for word in words]
        revisions = [one.result()["revision"] for one in asked]
    assert max(revisions) == 6
    assert [c["word"] for c in opened(service)["decisions"]] == list(words)


def test_a_store_that_is_deleted_is_missed(service: TestClient, tmp_path: Path) -> None:
    (tmp_path / "a.db").unlink()
    for answer in (
        service.get("/api/lex/documents"),
        service.post("/api/lex/documents", json={"text": TEXT}),
    ):
        assert "no longer the file" in refused(answer, 503)
    assert not (tmp_path / "a.db").exists()


def test_texts_have_a_limit_and_a_list(connect: Connect, lex_model: str, tmp_path: Path) -> None:
    service = connect(lex_model=lex_model, annotations=str(tmp_path / "a.db"), max_documents=1)
    made = service.post("/api/lex/documents", json={"sentences": [["كتب", "."], []]}).json()
    assert (made["name"], made["n_words"], made["usable"]) == ("كتب .", 2, True)
    why = refused(service.post("/api/lex/documents", json={"text": "كتب"}), 413)
    assert "1 texts already" in why
    decide(service, 0, 0, None)
    (one,) = service.get("/api/lex/documents").json()["documents"]
    assert one["annotators"] == {"Ada": 1}
    assert "lex/annotate" in service.get("/api/health").json()["features"]


def test_labels_of_another_scheme_are_not_mixed(
    service: TestClient, connect: Connect, tmp_path: Path
) -> None:
    from eigentext.lexical import Document, Word, load_scheme

    scheme = load_scheme("arabic16")
    values = {"lemma": "كَتَب", "pos": "V", "asp": "p"}
    text = [Document(str(k), [[Word("كتب", scheme.from_mapping(values))]]) for k in range(3)]
    LexicalRanker(scheme=scheme, bits=0, passes=1).fit(text).save(tmp_path / "16.ranker")
    other = connect(lex_model=str(tmp_path / "16.ranker"), annotations=str(tmp_path / "a.db"))
    assert [one["usable"] for one in other.get("/api/lex/documents").json()["documents"]] == [
        False
    ]
    assert "the model now served has" in refused(
        other.get("/api/lex/documents/1?annotator=Ada"), 409
    )
    # its own labels go out and come back, too
    other.post("/api/lex/documents", json={"text": "كتب"})
    label = opened(other, number=2)["ranked"]["sentences"][0]["words"][0]["candidates"][0]["label"]
    body = {"annotator": "Ada", "sentence": 0, "word": 0, "label": label}
    assert other.post("/api/lex/documents/2/decisions", json=body).json()["choice"]["rank"] == 1
    out = tmp_path / "16.jsonl"
    out.write_text(other.get("/api/lex/export?annotator=Ada").text, "utf-8")
    (document,) = read_words_jsonl(out, scheme)
    assert next(document.words()).label == tuple(label.values())


NAMES = st.text(max_size=5) | st.sampled_from(["Ada", "أمل", "a'; DROP TABLE decisions", "x" * 81])
PLACES = st.integers(-1, 3) | st.just(2**70)
LABELS = st.none() | st.dictionaries(st.sampled_from(["lemma", "pos", "x", "\ud800"]), st.text())
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=4), parts),
    max_leaves=5,
)
DECISION = st.fixed_dictionaries(
    {"annotator": NAMES | ODD, "sentence": PLACES, "word": PLACES, "label": LABELS | ODD}
)
REQUEST = st.fixed_dictionaries(
    {}, optional={"text": st.text(max_size=9) | ODD, "sentences": ODD, "name": NAMES | ODD}
)
UNDO = st.fixed_dictionaries({"annotator": NAMES})


@pytest.fixture(scope="module")
def open_house(
    connect: Connect, lex_model: str, tmp_path_factory: pytest.TempPathFactory
) -> TestClient:
    store = tmp_path_factory.mktemp("house") / "a.db"
    client = connect(lex_model=lex_model, annotations=str(store), max_documents=30)
    client.post("/api/lex/documents", json={"text": TEXT})
    return client


@settings(max_examples=80)
@given(
    st.one_of(
        st.tuples(st.just(DECISIONS), DECISION),
        st.tuples(st.just("/api/lex/documents"), REQUEST),
        st.tuples(st.just("/api/lex/documents/1/undo"), UNDO),
    )
)
def test_no_request_is_a_fault_of_ours(open_house: TestClient, asked: tuple[str, Any]) -> None:
    path, body = asked
    headers = {"Content-Type": "application/json"}
    answer = open_house.post(path, content=json.dumps(body).encode(), headers=headers)
    assert answer.status_code in (200, 400, 409, 413, 422), answer.text
    if answer.status_code != 200:
        assert set(answer.json()["error"]) == {"path", "line", "why"}
    elif path == DECISIONS:
        who = body["annotator"].strip()
        asked_back = open_house.get("/api/lex/documents/1", params={"annotator": who}).json()
        kept = {(c["sentence"], c["word"]): c["label"] for c in asked_back["decisions"]}
        label = kept[body["sentence"], body["word"]]
        assert (label is None) == (body["label"] is None)
        assert label is None or label.items() >= body["label"].items()


def test_a_killed_server_has_kept_every_answer(lex_model: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    call = [sys.executable, "-m", "eigentext.cli", "serve", "--port", str(port), "--quiet"]
    call += ["--workers", "1", "--lex-model", lex_model, "--annotations", str(tmp_path / "a.db")]
    address = f"http://127.0.0.1:{port}"

    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ask(path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        with direct.open(urllib.request.Request(address + path, data, headers)) as answer:
            assert answer.status == 200
            return json.load(answer)

    def start() -> subprocess.Popen[bytes]:
        server = subprocess.Popen(call)
        for _ in range(1200):
            try:
                ask("/api/health")
                return server
            except urllib.error.URLError:
                assert server.poll() is None, "the server did not start"
                time.sleep(0.05)
        server.kill()
        raise AssertionError("the server does not answer")

    server = start()
    try:
        ask("/api/lex/documents", {"text": TEXT})
        for word in range(6):
            body = {"annotator": "Ada", "sentence": 0, "word": word, "label": {"pos": "N"}}
            ask(DECISIONS, body)
        server.kill()
        server.wait()
        server = start()
        found = ask("/api/lex/documents/1?annotator=Ada")
        assert [(c["sentence"], c["word"]) for c in found["decisions"]] == [
            (0, word) for word in range(6)
        ]
        assert found["revision"] == 6
    finally:
        server.kill()
        server.wait()
