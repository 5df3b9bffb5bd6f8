"""``/api/pipe``: the same document as the library's, within limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from eigentext.errors import EigentextError
from eigentext.language import Doc
from eigentext.studio.service.models import survey
from eigentext.studio.service.settings import ServiceSettings
from helpers.toy_treebank import toy_pipeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.testclient import TestClient

TEXT = "Ana va al mar. El puerto corre."


@pytest.fixture(scope="module")
def service(connect: Callable[..., TestClient], pipe_models: tuple[str, str]) -> TestClient:
    return connect(
        pipes=pipe_models, max_pipe_characters=300, max_trees=2, max_words=6, max_tree_words=40
    )


def asked(client: TestClient, status: int = 200, **request: Any) -> Any:
    answer = client.post("/api/pipe", json=request)
    assert answer.status_code == status, answer.text
    return answer.json() if status == 200 else answer.json()["error"]["why"]


def test_the_document_is_the_librarys(service: TestClient) -> None:
    answer = asked(service, text=TEXT)
    assert answer["model"] == "spanish-toy"
    assert answer["document"] == toy_pipeline()(TEXT).to_dict()
    assert answer["drawings"] == []
    assert Doc.from_json(answer["document"]).to_conllu() == toy_pipeline()(TEXT).to_conllu()


def test_drawings_come_when_wanted_and_as_far_as_they_may(service: TestClient) -> None:
    long = "Ana va al mar del parque."
    drawings = asked(service, text=f"El puerto corre.\n\n{long}\n\nEva corre.", draw=True)[
        "drawings"
    ]
    assert len(drawings) == 2  # the third is one too many
    assert "puerto" in ElementTree.fromstring(drawings[0]).itertext()
    assert drawings[1] is None  # too long
    assert asked(service, text="Eva corre.", draw=True, model="spanish-short")["drawings"] == [
        None
    ]


def test_readings_trees_and_probabilities(service: TestClient) -> None:
    (sentence,) = asked(service, text="Ana va al mar.", top=3, probabilities=True)["document"][
        "sentences"
    ]
    assert len(sentence["readings"]) == len(sentence["words"]) == 6
    assert len(sentence["trees"]) == 3
    assert all(0 <= p <= 1.000001 for p in sentence["arcs_p"])
    why = asked(service, 413, text=TEXT, top=5)
    assert "10 words times 5 readings are 50; at most 40" in why


def test_sentences_and_tokens_may_be_given(service: TestClient) -> None:
    by_line = asked(service, text="Ana va\nal mar", given="sentences")["document"]["sentences"]
    assert [len(sentence["words"]) for sentence in by_line] == [2, 3]
    (tokens,) = asked(service, text="Ana va mar.", given="tokens")["document"]["sentences"]
    assert [word["form"] for word in tokens["words"]] == ["Ana", "va", "mar."]


@pytest.mark.parametrize(
    ("status", "request_", "why"),
    [
        (413, {"text": "x" * 301}, "301 characters; at most 300"),
        (422, {"text": "x", "model": "klingon"}, "does not exist"),
        (422, {"text": "x", "given": "tags"}, "given"),
        (422, {"text": "x", "top": -1}, "top"),
        (422, {"text": "x", "more": 1}, "more"),
        (422, {}, "text"),
        (422, {"text": "\ud800"}, "surrogate"),
    ],
)
def test_refusals(status: int, request_: dict[str, Any], why: str, service: TestClient) -> None:
    import json

    body = json.dumps(request_).encode()
    answer = service.post("/api/pipe", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status
    assert why in answer.json()["error"]["why"]


def test_health_names_the_pipelines(service: TestClient, client: TestClient) -> None:
    health = service.get("/api/health").json()
    assert health["pipes"] == ["spanish-toy", "spanish-short"]
    assert {"pipe", "parse"} <= set(health["features"])  # a pipeline has a parser, too
    assert client.get("/api/health").json()["pipes"] == []
    answer = client.post("/api/pipe", json={"text": "x"})
    assert answer.status_code == 404
    assert "--pipe" in answer.json()["error"]["why"]


def test_empty_text(service: TestClient) -> None:
    assert asked(service, text="", draw=True)["document"]["sentences"] == []


def test_longer_bodies_are_for_pipelines_alone(
    connect: Callable[..., TestClient], pipe_models: tuple[str, str]
) -> None:
    client = connect(pipes=pipe_models, max_body_bytes=100, max_pipe_body_bytes=1000)
    text = "Eva corre. " * 30
    assert client.post("/api/pipe", json={"text": text}).status_code == 200
    assert client.post("/api/tokenise", json={"text": text}).status_code == 413
    assert client.post("/api/pipe", json={"text": text * 3}).status_code == 413


def test_models_that_will_not_do(
    pipe_models: tuple[str, str], dep_model: str, tmp_path: Path
) -> None:
    same = tmp_path / "spanish-toy.pipe"
    same.write_bytes(Path(pipe_models[1]).read_bytes())
    with pytest.raises(EigentextError, match=r"two models are called spanish-toy\.pipe"):
        survey(ServiceSettings(pipes=(pipe_models[0], str(same))))
    with pytest.raises(EigentextError, match="holds a dependency parser"):
        survey(ServiceSettings(pipes=(dep_model,)))
    with pytest.raises(EigentextError, match="no such file"):
        survey(ServiceSettings(pipes=("no/such.pipe",)))


def test_names_of_installed_models_do(
    pipe_models: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from eigentext.recipes import get_ready

    monkeypatch.setenv("EIGENTEXT_MODELS", str(tmp_path))
    get_ready(pipe_models[0], name="toy")
    assert [facts.name for facts in survey(ServiceSettings(pipes=("toy",)))] == ["toy"]
