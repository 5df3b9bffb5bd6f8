"""``/api/words/...``: the answers of library and command line, and clear refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest

import eigentext
from eigentext.drawing.words_map import map_points
from eigentext.drawing.words_tree import cluster_tree_svg
from eigentext.words.browsing import WordBrowser, compared, moved_words
from eigentext.words.embeddings.vectors import WordSpace, load_words
from helpers.commands import eigentext as command
from helpers.studio_models import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.testclient import TestClient

    Connect = Callable[..., TestClient]


@pytest.fixture(scope="module")
def service(connect: Connect, word_models: tuple[str, ...]) -> TestClient:
    return connect(models=word_models, max_neighbours=30, max_map_words=40)


def asked(client: TestClient, job: str, **request: Any) -> Any:
    answer = client.post(f"/api/words/{job}", json=request)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: TestClient, status: int, job: str, **request: Any) -> str:
    answer = client.post(f"/api/words/{job}", json=request)
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert set(error) == {"path", "line", "why"}
    return str(error["why"])


@pytest.mark.parametrize("queries", [["the", "dog"], ["man:woman::the"], ["the:a::dog", "garden"]])
def test_neighbours_are_those_of_the_command(
    service: TestClient, word_models: tuple[str, ...], tmp_path: Path, queries: list[str]
) -> None:
    known = set(load_words(word_models[1])[0])
    queries = [query for query in queries if set(query.replace("::", ":").split(":")) <= known]
    assert queries
    done = command(
        "words", "inspect", word_models[1], *queries, "--top", 7, "--format", "jsonl", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    found = asked(service, "neighbours", model="near", queries=queries, k=7)
    assert found["by"] == "vectors"
    lines = [
        json.dumps({k: one[k] for k in ("query", "neighbours")}, ensure_ascii=False)
        for one in found["answers"]
    ]
    assert "\n".join(lines) + "\n" == done.stdout.decode()


def test_neighbours_are_those_of_the_library(
    service: TestClient, word_models: tuple[str, ...]
) -> None:
    words, vectors = load_words(word_models[2])
    (found,) = asked(service, "neighbours", model="flat", queries=["river"], k=30)["answers"]
    expected = WordSpace(words, vectors).nearest(["river"], 30)[0]
    assert [(one["word"], one["cosine"]) for one in found["neighbours"]] == [
        (word, round(cosine, 4)) for word, cosine in expected
    ]


def test_unknown_words_are_told_as_the_command_tells_them(
    service: TestClient, word_models: tuple[str, ...], tmp_path: Path
) -> None:
    done = command("words", "inspect", word_models[1], "gardenn", cwd=tmp_path)
    assert done.returncode == 2
    near, known = asked(service, "neighbours", model="near", queries=["gardenn", "the"])["answers"]
    assert near["why"] in done.stderr.decode()
    assert near["neighbours"] == []
    assert near["unknown"][0]["word"] == "gardenn"
    assert "garden" in near["unknown"][0]["near"]
    assert known["why"] is None
    assert len(known["neighbours"]) == 10
    look = asked(service, "look", model="groups", word="gardenn")
    assert look["unknown"]["near"][0] == "garden"
    assert look["path"] is None
    both = asked(service, "neighbours", model="near", queries=["qqq:the::zzz"])["answers"][0]
    assert [one["word"] for one in both["unknown"]] == ["qqq", "zzz"]


def test_a_word_its_cluster_and_its_count(
    service: TestClient, word_models: tuple[str, ...]
) -> None:
    clusters = eigentext.load(word_models[0])
    counts = dict(zip(clusters.words_, clusters.counts_.tolist(), strict=True))
    for word in ("dog", *HOSTILE):
        found = asked(service, "look", word=word, top=1000)  # the first model is the default
        assert found["model"] == "groups"
        assert found["path"] == clusters.word_paths()[word]
        assert found["count"] == counts[word]
        same = [w for w, path in clusters.word_paths().items() if path == found["path"]]
        assert sorted(one["word"] for one in found["members"]) == sorted(same)
        assert found["n_members"] == len(same)
        numbers = [one["count"] for one in found["members"]]
        assert numbers == sorted((counts[w] for w in same), reverse=True)
        assert found["rank"] == 1 + sum((-n, w) < (-counts[word], word) for w, n in counts.items())
    few = asked(service, "look", word="dog", top=1)
    assert len(few["members"]) == 1
    vectors = asked(service, "look", model="near", word="dog")
    assert (vectors["path"], vectors["count"], vectors["members"]) == (None, None, [])


def test_every_prefix_adds_up(service: TestClient, word_models: tuple[str, ...]) -> None:
    clusters = eigentext.load(word_models[0])
    paths, counts = (
        clusters.word_paths(),
        dict(zip(clusters.words_, clusters.counts_.tolist(), strict=True)),
    )
    waiting, seen = [""], 0
    while waiting:
        prefix = waiting.pop()
        found = asked(service, "tree", prefix=prefix, depth=1, top=5)
        seen += 1
        below = [word for word in paths if paths[word].startswith(prefix)]
        assert found["prefix"].startswith(prefix)
        assert found["n_words"] == len(below)
        assert found["n_tokens"] == sum(counts[word] for word in below)
        assert found["n_clusters"] == len({paths[word] for word in below})
        most = sorted((counts[word] for word in below), reverse=True)[:5]
        assert [one["count"] for one in found["words"]] == most
        root, *children = found["below"]
        assert root["prefix"] == found["prefix"]
        assert root["leaf"] is (found["n_clusters"] == 1)
        assert sum(one["n_words"] for one in children) in (0, found["n_words"])
        assert all(one["parent"] == found["prefix"] for one in children)
        for up in found["above"]:
            assert found["prefix"].startswith(up)
        waiting += [one["prefix"] for one in children]
    assert seen == 2 * len(clusters.cluster_paths_) - 1


def test_the_tree_is_drawn_as_the_report_draws_it(
    service: TestClient, word_models: tuple[str, ...]
) -> None:
    tree = eigentext.load(word_models[0]).tree()
    found = asked(service, "tree", draw=True, depth=6)
    assert found["svg"] == cluster_tree_svg(tree, ends=30)
    assert len(found["below"]) <= 2**7 - 1
    below = asked(service, "tree", prefix="0", draw=True)
    assert len(ElementTree.fromstring(below["svg"])) > 2
    assert below["svg"] == cluster_tree_svg(tree, ends=30, root=tree.node_at("0") or 0)
    assert [one["prefix"][:1] for one in below["beside"]] == ["1"]
    assert asked(service, "tree")["svg"] is None


def test_the_map_is_that_of_the_report(service: TestClient, word_models: tuple[str, ...]) -> None:
    words, vectors = load_words(word_models[1])
    paths = eigentext.load(word_models[0]).word_paths()
    unit = WordSpace(words, vectors).unit
    expected = map_points(words, unit, n_words=25, paths=paths)
    found = asked(service, "map", model="near", n_words=25, colours="groups")
    assert found["words"] == expected.words
    assert found["groups"] == expected.groups
    np.testing.assert_allclose(found["points"], expected.points, atol=1e-4)
    assert [found["prefixes"][g] for g in found["groups"]] == [
        paths[w][:2] for w in found["words"]
    ]
    plain = asked(service, "map", model="near", n_words=2000, colours="")
    assert plain["groups"] is None
    assert len(plain["words"]) == 40  # the limit: more are left out, and the frequent ones stay
    assert plain["n_words"] == len(words)
    usual = asked(service, "map", model="near", n_words=25)
    assert usual["colours"] in (None, "groups")


def test_two_models_as_in_the_library(service: TestClient, word_models: tuple[str, ...]) -> None:
    browsers = {Path(f).stem: WordBrowser.of(eigentext.load(f)) for f in word_models}
    for one, other in (("near", "flat"), ("groups", "near"), ("groups", "groups")):
        found = asked(service, "compare", model=one, other=other, word="dog", k=5, top=9)
        side = compared(browsers[one], browsers[other], "dog", 5)
        assert found["word"]["both"] == side.both
        assert found["word"]["overlap"] == side.overlap
        assert [each["word"] for each in found["word"]["one"]] == [word for word, _ in side.first]
        moved, mean, n = moved_words(browsers[one], browsers[other], n_words=40, k=5, top=9)
        names = {"first": "one", "second": "other"}
        expected = [{names.get(k, k): v for k, v in each._asdict().items()} for each in moved]
        assert found["moved"] == expected
        assert (found["mean_overlap"], found["n_shared"]) == (mean, n)
        assert [each["overlap"] for each in found["moved"]] == sorted(
            each["overlap"] for each in found["moved"]
        )
    assert found["mean_overlap"] == 1.0
    again = asked(service, "compare", model="near", other="flat", word="nothing-here", k=5, top=9)
    assert again["word"] is None
    assert again["why"].startswith("near and flat: the word 'nothing-here'")
    assert asked(service, "compare", model="near")["other"] == "groups"


def test_a_batch_has_the_bytes_of_single_calls(service: TestClient) -> None:
    requests = [{"model": "near", "queries": ["the"]}, {"model": "near", "queries": ["dog"]}]
    body = "".join(json.dumps(one) + "\n" for one in requests)
    found = service.post("/api/batch/words/neighbours", content=body)
    single = [service.post("/api/words/neighbours", json=one).content for one in requests]
    assert found.content.splitlines() == single


def test_find(service: TestClient) -> None:
    found = asked(service, "find", text="THE", n=5)["words"]
    assert {"The", "the"} <= set(found[:2])
    assert asked(service, "find", text="gard")["words"][0] == "garden"
    assert asked(service, "find", text="zzzz")["words"] == []
    assert asked(service, "find", text="<script")["words"] == [HOSTILE[0]]


@pytest.mark.parametrize(
    ("job", "request_", "status", "why"),
    [
        ("tree", {"model": "near"}, 422, "near has vectors, not clusters"),
        ("tree", {"prefix": "0" * 60}, 422, "no cluster begins with 000"),
        ("tree", {"prefix": "2"}, 422, "prefix"),
        ("map", {"model": "groups"}, 422, "a map needs vectors; near, flat have them"),
        ("map", {"model": "near", "colours": "flat"}, 422, "has no clusters"),
        ("neighbours", {"queries": ["the:a::dog"]}, 422, "analogies need vectors; near, flat"),
        ("neighbours", {"model": "near", "queries": ["the"], "k": 31}, 413, "at most 30"),
        ("neighbours", {"model": "near", "queries": []}, 422, "queries"),
        ("neighbours", {"model": "near", "queries": ["the"], "k": 0}, 422, "k"),
        ("compare", {"model": "near", "k": 99}, 413, "at most 30"),
        ("look", {"word": ""}, 422, "word"),
        ("look", {"word": "x" * 201}, 422, "word"),
        ("look", {"word": "\ud800"}, 422, "surrogate"),
        ("look", {"word": "dog", "model": "none-such"}, 422, "no model of words is called"),
        ("look", {"word": "dog", "depth": 3}, 422, "depth"),
        ("find", {"text": "x", "n": 1000}, 422, "n"),
    ],
)
def test_bad_requests(
    service: TestClient, job: str, request_: dict[str, Any], status: int, why: str
) -> None:
    body = json.dumps(request_)
    answer = service.post(
        f"/api/words/{job}", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == status, answer.text
    assert why in answer.json()["error"]["why"]


def test_without_models_it_says_how_to_give_one(client: TestClient) -> None:
    assert "eigentext serve" in refused(client, 404, "look", word="dog")


def test_answers_of_a_large_model_stay_small(connect: Connect, tmp_path: Path) -> None:
    """50,000 words: what is sent does not grow with the vocabulary."""
    from eigentext.words import CCAEmbedding
    from eigentext.words.embeddings.vectors import Embeddings

    model = CCAEmbedding(2).fit([["a", "b"], ["b", "a"]] * 3)
    rng = np.random.default_rng(0)
    words = tuple(f"w{chr(97 + k % 26)}{k}" for k in range(50_000))
    vectors = rng.standard_normal((len(words), 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    model.embeddings_ = Embeddings(words, vectors, np.ones(8))
    model.save(tmp_path / "large.vec")
    client = connect(models=(str(tmp_path / "large.vec"),))
    for job, request in (
        ("look", {"word": "wa0"}),
        ("look", {"word": "wa0x"}),
        ("neighbours", {"queries": ["wa0"]}),
        ("map", {"n_words": 1_000_000}),
        ("compare", {"word": "wa0"}),
        ("find", {"text": "w"}),
    ):
        answer = client.post(f"/api/words/{job}", json=request)
        assert answer.status_code == 200, answer.text
        assert len(answer.content) < 120_000, job
