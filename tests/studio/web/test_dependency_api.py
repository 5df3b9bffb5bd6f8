"""``/api/parse`` of dependencies: the same answers as the library, and clear refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from eigentext.cli.main import app as command
from eigentext.dependency import DependencyParser
from eigentext.errors import EigentextError
from eigentext.language.formats.conllu import read_sentences
from eigentext.studio.service.models import Served, survey
from eigentext.studio.service.settings import ServiceSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from starlette.testclient import TestClient

    Connect = Callable[..., TestClient]

TOKENS = ["The", "farmer", "sold", "the", "horse", "."]


@pytest.fixture(scope="module")
def service(connect: Connect, dep_model: str) -> TestClient:
    return connect(
        dep_model=dep_model, max_words=30, max_tree_words=200, max_trees=4, max_characters=500
    )


def parsed(client: TestClient, **request: Any) -> Any:
    answer = client.post("/api/parse", json={**request, "layers": ["dep"]})
    assert answer.status_code == 200, answer.text
    return [
        {"tokens": [token["text"] for token in sentence["tokens"]], **sentence["dependencies"]}
        for sentence in answer.json()["sentences"]
    ]


def refused(client: TestClient, status: int, **request: Any) -> str:
    answer = client.post("/api/parse", json={**request, "layers": ["dep"]})
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert set(error) == {"path", "line", "why"}
    return str(error["why"])


def test_the_library_and_the_service_agree(service: TestClient, dep_model: str) -> None:
    parser = DependencyParser.load(dep_model)
    (sentence,) = parsed(service, sentences=[TOKENS], kbest=4, marginals=True)
    best = parser.parse(TOKENS)
    assert sentence["tokens"] == TOKENS
    words = sentence["words"]
    assert [word["head"] for word in words] == best.tree.heads.tolist()
    assert [word["relation"] for word in words] == list(best.tree.relations or ())
    assert [word["id"] for word in words] == list(range(1, 7))
    assert [word["xpos"] for word in words] == ["DT", "NN", "VBD", "DT", "NN", "."]
    assert sentence["score"] == pytest.approx(best.score, rel=1e-9)
    (single,) = parsed(service, sentences=[TOKENS])
    assert (single["approximate"], single["score"]) == (False, sentence["score"])
    chances = parser.marginals(TOKENS)
    for word in words:
        assert word["probability"] == pytest.approx(chances[word["head"], word["id"]], abs=1e-6)
    expected = parser.kbest(TOKENS, k=4)
    assert [one["heads"] for one in sentence["kbest"]] == [
        one.tree.heads.tolist() for one in expected
    ]
    scores = [one["score"] for one in sentence["kbest"]]
    assert scores == sorted(scores, reverse=True)
    assert [one["rank"] for one in sentence["kbest"]] == [1, 2, 3, 4]
    for svg in (sentence["svg"], *(one["svg"] for one in sentence["kbest"])):
        assert "farmer" in ElementTree.fromstring(svg).itertext()
    assert "only the best tree" in sentence["kbest"][1]["svg"]


def test_raw_text_is_tokenised(service: TestClient) -> None:
    found = parsed(service, text="The farmer can't sleep. He sold it!", scheme="ptb")
    assert [one["tokens"] for one in found] == [
        ["The", "farmer", "ca", "n't", "sleep", "."],
        ["He", "sold", "it", "!"],
    ]
    assert all(one["kbest"] == [] and one["words"][0]["probability"] is None for one in found)
    assert parsed(service, text="") == []


def test_raw_text_is_parsed_as_the_command_line_does(
    service: TestClient, dep_model: str, tmp_path: Path
) -> None:
    text = 'He said "no". The farmer\nslept\n\nHe sold it'
    (tmp_path / "text.txt").write_text(text)
    line = ["dep", "apply", dep_model, str(tmp_path / "text.txt"), "--from", "raw"]
    done = CliRunner().invoke(command, [*line, "-o", str(tmp_path / "out.conllu")])
    assert done.exit_code == 0, done.output
    said = [
        [(token.form, token.head, token.deprel) for token in sentence.words]
        for sentence in read_sentences(tmp_path / "out.conllu")
    ]
    found = [
        [(word["form"], word["head"], word["relation"]) for word in one["words"]]
        for one in parsed(service, text=text)
    ]
    assert found == said
    assert found[0][2][0] == '"'


def test_one_word_and_odd_words(service: TestClient) -> None:
    for tokens in (["Yes"], ["<b>", "&", "كتاب"], ["🐎"] * 30):
        (sentence,) = parsed(service, sentences=[tokens], kbest=3, marginals=True)
        assert sentence["tokens"] == tokens
        assert sum(word["head"] == 0 for word in sentence["words"]) == 1
        assert "<b>" not in sentence["svg"]


def test_refusals(service: TestClient) -> None:
    assert "either text or sentences" in refused(service, 400)
    assert "either text or sentences" in refused(service, 400, text="a", sentences=[["a"]])
    assert "that is empty" in refused(service, 400, sentences=[["a"], []])
    assert "that is empty" in refused(service, 400, sentences=[["a", " "]])
    assert "at most 30" in refused(service, 413, sentences=[["a"] * 31])
    assert "at most 4" in refused(service, 413, sentences=[["a"]] * 5)
    many = refused(service, 413, sentences=[["a"] * 20] * 3, kbest=4)
    assert "60 words times 4 trees are 240; at most 200" in many
    assert parsed(service, sentences=[["a"] * 20] * 2, kbest=5)
    assert "at most 500" in refused(service, 413, text="a" * 501)
    assert "kbest" in refused(service, 422, sentences=[["a"]], kbest=0)
    assert "kbest" in refused(service, 422, sentences=[["a"]], kbest=51)
    assert "klingon" in refused(service, 422, text="a", scheme="klingon")
    assert "colour" in refused(service, 422, text="a", colour=1)


def test_without_a_model_the_service_says_how_to_get_one(
    client: TestClient, service: TestClient
) -> None:
    assert "--dep-model" in refused(client, 404, text="He slept.")
    assert "parse" not in client.get("/api/health").json()["features"]
    health = service.get("/api/health").json()
    assert "parse" in health["features"]
    assert health["limits"]["words"] == 30
    assert health["limits"]["tree_words"] == 200
    route = service.get("/openapi.json").json()["paths"]["/api/parse"]["post"]
    assert "200 words times `kbest`" in route["description"]
    assert {"408", "413", "503", "504"} <= set(route["responses"])


def test_a_worker_has_everything_compiled_before_the_first_request(
    dep_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = set()

    def watch(name: str) -> None:
        own = getattr(DependencyParser, name)

        def watched(*given: Any, **more: Any) -> Any:
            done.add(name)
            return own(*given, **more)

        monkeypatch.setattr(DependencyParser, name, watched)

    for name in ("parse", "kbest", "marginals"):
        watch(name)
    Served(survey(ServiceSettings(dep_model=dep_model)))
    assert done == {"parse", "kbest", "marginals"}


def test_a_bad_model_is_told_when_the_service_starts(connect: Connect, tmp_path: Path) -> None:
    (tmp_path / "bad.dep").write_bytes(b"hello")
    with pytest.raises(EigentextError, match=r"bad\.dep"):
        connect(dep_model=str(tmp_path / "bad.dep"))
