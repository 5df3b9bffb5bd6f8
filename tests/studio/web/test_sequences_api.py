"""``/api/sequences/...``: the answers of library and command line, and clear refusals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest

import eigentext
from eigentext.sequences.inspection import graph_of, graph_of_tags, states_of, tags_of
from helpers.commands import eigentext as command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from starlette.testclient import TestClient

    Connect = Callable[..., TestClient]

TEXT = 'The farmer sold the horse. "It\'s blorfing," said Anna!\n\nHe slept.'


@pytest.fixture(scope="module")
def service(connect: Connect, sequence_models: tuple[str, ...]) -> TestClient:
    return connect(
        models=sequence_models, max_sequence_words=40, max_characters=2_000, max_states=4
    )


@pytest.fixture(scope="module")
def whole(connect: Connect, sequence_models: tuple[str, ...]) -> TestClient:
    return connect(models=sequence_models)


def asked(client: TestClient, job: str, **request: Any) -> Any:
    answer = client.post(f"/api/sequences/{job}", json=request)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: TestClient, status: int, job: str, **request: Any) -> str:
    answer = client.post(f"/api/sequences/{job}", json=request)
    assert answer.status_code == status, answer.text
    return str(answer.json()["error"]["why"])


def test_states_are_those_of_inspect(
    whole: TestClient, sequence_models: tuple[str, ...], tmp_path: Path
) -> None:
    done = command(
        "hmm",
        "inspect",
        sequence_models[0],
        "--top",
        6,
        "--graph",
        "g.svg",
        "--json",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    found = asked(whole, "states", model="chain", top=6, draw=True)
    states = [{k: v for k, v in one.items() if k != "name"} for one in found["states"]]
    assert json.dumps({"states": states}, ensure_ascii=False) == done.stdout.decode().strip()
    assert found["svg"] == (tmp_path / "g.svg").read_text("utf-8").strip()
    model = eigentext.load(sequence_models[0])
    assert [one["state"] for one in states] == [
        view.state for view in states_of(model.parameters_, model.symbols_)
    ]
    assert found["svg"] == graph_of(model.parameters_, model.symbols_, title="5 states")
    assert asked(whole, "states", model="chain")["svg"] is None
    assert (found["n_states"], found["n_symbols"]) == (5, len(model.symbols_))


def test_operators_have_singular_values(
    whole: TestClient, sequence_models: tuple[str, ...], tmp_path: Path
) -> None:
    done = command("hmm", "inspect", sequence_models[1], "--json", cwd=tmp_path)
    found = asked(whole, "states", model="operators", draw=True)
    told = {key: found[key] for key in ("estimator", "singular_values")}
    assert json.dumps(told) == done.stdout.decode().strip()
    assert (found["states"], found["svg"]) == ([], None)


def test_tags_are_those_of_the_library(
    whole: TestClient, sequence_models: tuple[str, ...]
) -> None:
    tagger = eigentext.load(sequence_models[2])
    found = asked(whole, "states", model="tags", top=4, draw=True)
    views = tags_of(tagger, top=4)
    assert [one["name"] for one in found["states"]] == [tagger.tags_[v.state] for v in views]
    for one, view in zip(found["states"], views, strict=True):
        assert one["words"] == [list(pair) for pair in view.words]
        assert one["after"] == [list(pair) for pair in view.after]
    assert found["svg"] == graph_of_tags(tagger, title=f"{len(views)} tags")
    ElementTree.fromstring(found["svg"])


def test_states_of_blocks_are_not_listed(
    whole: TestClient, sequence_models: tuple[str, ...]
) -> None:
    model = eigentext.load(sequence_models[3])
    found = asked(whole, "states", model="blocks", draw=True)
    n_states = model.parameters_.n_states
    assert (found["of"], found["states"], found["svg"]) == ("blocked-hmm", [], None)
    assert (found["n_states"], found["left_out"]) == (n_states, n_states)


@pytest.mark.parametrize("method", ["viterbi", "posterior"])
def test_a_text_by_the_states_of_blocks(
    service: TestClient, sequence_models: tuple[str, ...], method: str
) -> None:
    model = eigentext.load(sequence_models[3])
    sentences = [["The", "farmer", "slept", "."], [], ["Zyx", "the", "dog"]]
    found = asked(service, "text", model="blocks", sentences=sentences, method=method, top=20)
    states = model.predict(sentences, method=method)
    posteriors = model.predict_proba(sentences)
    names = {int(state): name for state, name in found["names"].items()}
    for one, row, tokens in zip(found["sentences"], states, posteriors, strict=True):
        assert [token["state"] for token in one["tokens"]] == row.tolist()
        for token, (numbers, shares) in zip(one["tokens"], tokens, strict=True):
            p = dict(zip(numbers.tolist(), shares.tolist(), strict=True))
            assert token["p"] == pytest.approx(p[token["state"]], abs=1e-6)
            assert {state for state, _ in token["likely"]} <= set(p)
            assert sum(share for _, share in token["likely"]) == pytest.approx(1, abs=1e-4)
            # called by its word, and by its number among the states of the word
            number = token["state"] - min(p) + 1
            assert names[token["state"]] == f"{token['symbol']} {number}"
    surprisals = [[token["surprisal"] for token in one["tokens"]] for one in found["sentences"]]
    assert surprisals == [values.tolist() for values in model.surprisals(sentences)]


def test_few_states_of_many(service: TestClient) -> None:
    found = asked(service, "states", model="chain")
    assert len(found["states"]) == 4
    assert (found["n_states"], found["left_out"]) == (5, 1)


@pytest.mark.parametrize("model", ["chain", "operators"])
def test_surprisals_are_those_of_score(
    service: TestClient, sequence_models: tuple[str, ...], tmp_path: Path, model: str
) -> None:
    file = sequence_models[("chain", "operators").index(model)]
    (tmp_path / "raw.txt").write_text(TEXT, encoding="utf-8")
    line = ("hmm", "score", file, "raw.txt", "--raw", "--surprisals", "--format", "jsonl")
    done = command(*line, "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = asked(service, "text", model=model, text=TEXT)
    lines = [
        {
            "log_prob": one["log_prob"],
            "perplexity": one["perplexity"],
            "tokens": [token["text"] for token in one["tokens"]],
            "surprisals": [token["surprisal"] for token in one["tokens"]],
        }
        for one in found["sentences"]
    ]
    written = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in lines)
    assert written == done.stdout.decode()
    summary = command(
        "hmm", "score", file, "raw.txt", "--raw", "--summary", "--json", cwd=tmp_path
    )
    figures = json.loads(summary.stdout)
    assert found["n_tokens"] == figures["tokens"]
    assert found["perplexity"] == pytest.approx(figures["perplexity"], rel=1e-12)
    assert found["log_prob"] == pytest.approx(figures["log_prob"], rel=1e-12)
    assert found["negative_rate"] == figures.get("negative_rate")


@pytest.mark.parametrize("method", ["viterbi", "posterior"])
def test_states_of_a_text_are_those_of_the_library(
    service: TestClient, sequence_models: tuple[str, ...], method: str
) -> None:
    model = eigentext.load(sequence_models[0])
    sentences = [["The", "farmer", "slept", "."], [], ["Zyx", "the", "dog"]]
    found = asked(service, "text", model="chain", sentences=sentences, method=method, top=5)
    states = model.predict(sentences, method=method)
    posteriors = model.predict_proba(sentences)
    for one, row, p in zip(found["sentences"], states, posteriors, strict=True):
        assert [token["state"] for token in one["tokens"]] == row.tolist()
        for at, token in enumerate(one["tokens"]):
            assert token["p"] == pytest.approx(p[at, token["state"]], abs=1e-6)
            assert dict(map(tuple, token["likely"])) == pytest.approx(
                {s: q for s, q in enumerate(p[at].tolist()) if q >= 1e-6}, abs=1e-6
            )
            ranked = [q for _, q in token["likely"]]
            assert ranked == sorted(ranked, reverse=True)
    tokens = found["sentences"][2]["tokens"]
    assert [token["known"] for token in tokens] == [False, True, True]
    assert tokens[0]["symbol"].startswith("<")
    assert found["sentences"][1] == {
        "tokens": [],
        "log_prob": 0.0,
        "perplexity": None,
        "impossible": False,
    }
    assert found["perplexity"] == pytest.approx(model.perplexity(sentences), rel=1e-12)
    views = {view.state: view for view in states_of(model.parameters_, model.symbols_, top=2)}
    for state, name in found["names"].items():
        assert name == " ".join(word for word, _ in views[int(state)].words)


def test_tags_of_a_text_are_those_of_the_command(
    service: TestClient, sequence_models: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "in.txt").write_text("The farmer slept .\nZyx saw it .\n", encoding="utf-8")
    line = ("hmm", "apply", sequence_models[2], "in.txt", "--marginals", "--quiet")
    done = command(*line, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    sentences = [["The", "farmer", "slept", "."], ["Zyx", "saw", "it", "."]]
    found = asked(service, "text", model="tags", sentences=sentences, top=20)
    for one, text in zip(found["sentences"], done.stdout.decode().splitlines(), strict=True):
        told = json.loads(text)
        assert [found["names"][str(token["state"])] for token in one["tokens"]] == told["tags"]
        assert one["log_prob"] == told["log_prob"]
        for token, shares in zip(one["tokens"], told["marginals"], strict=True):
            assert {found["names"][str(s)]: p for s, p in token["likely"]} == shares
            assert token["surprisal"] is None
        n = len(one["tokens"])
        assert one["perplexity"] == pytest.approx(np.exp(-told["log_prob"] / n), rel=1e-12)


def test_a_text_with_nothing_in_it(service: TestClient) -> None:
    for model in ("chain", "operators", "tags"):
        found = asked(service, "text", model=model, text=" \n ")
        assert found["n_tokens"] == 0
        assert found["perplexity"] is None


def test_an_impossible_text_is_said_to_be_so(connect: Connect, tmp_path: Path) -> None:
    from eigentext.sequences import HMM, Parameters, Symbols

    sure = Parameters([1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]], np.eye(2, 3))
    symbols = Symbols(("a", "b", "<unk>"), [1, 1, 0], unknown="one")
    model = HMM(2, parameters=sure, symbols=symbols, n_iter=1, smoothing=0.0)
    model.fit([["a", "b"]] * 3).save(tmp_path / "sure.hmm")
    client = connect(models=(str(tmp_path / "sure.hmm"),))
    found = asked(client, "text", sentences=[["a", "b"], ["a", "a"]])
    assert [one["impossible"] for one in found["sentences"]] == [False, True]
    assert found["sentences"][1]["tokens"][1]["surprisal"] is None
    assert (found["perplexity"], found["log_prob"]) == (None, None)


@pytest.mark.parametrize(
    ("job", "request_", "status", "why"),
    [
        ("text", {"text": "the " * 41}, 413, "41 words; at most 40"),
        ("text", {"text": "x" * 2001}, 413, "at most 2,000"),
        ("text", {}, 400, "either text or sentences"),
        ("text", {"text": "a", "sentences": [["a"]]}, 400, "not both"),
        ("text", {"sentences": [["a"], [" "]]}, 400, "sentence 2 has an empty token"),
        ("text", {"text": "a", "method": "guess"}, 422, "method"),
        ("text", {"text": "a", "model": "tags", "method": "posterior"}, 422, "has its own"),
        ("text", {"text": "a", "scheme": "klingon"}, 422, "klingon"),
        ("text", {"text": "a", "model": "none-such"}, 422, "no model of sequences is called"),
        ("states", {"top": 0}, 422, "top"),
        ("states", {"colour": "red"}, 422, "colour"),
    ],
)
def test_bad_requests(
    service: TestClient, job: str, request_: dict[str, Any], status: int, why: str
) -> None:
    assert why in refused(service, status, job, **request_)


def test_without_models_it_says_how_to_give_one(client: TestClient) -> None:
    assert "eigentext serve" in refused(client, 404, "text", text="a")
