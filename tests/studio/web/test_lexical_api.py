"""``/api/lex/rank``: library, command and service give one ranking; refusals are clear."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from eigentext.cli.main import app as command
from eigentext.errors import EigentextError, SettingsError
from eigentext.language.formats.conll import controls_as_blanks
from eigentext.lexical import LexDocument, LexicalRanker, LexWord

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from starlette.testclient import TestClient

    Connect = Callable[..., TestClient]

TEXT = "كتب الولد رسالة إلى أمه. قرأت الأم الرسالة،\nوكتبت الجواب!\n\nوصل زنمارية 25 كـــتاب abc."


@pytest.fixture(scope="module")
def service(connect: Connect, lex_model: str) -> TestClient:
    return connect(lex_model=lex_model)


@pytest.fixture(scope="module")
def ranker(lex_model: str) -> LexicalRanker:
    return LexicalRanker.load(lex_model)


def ranked(client: TestClient, **request: Any) -> Any:
    answer = client.post("/api/lex/rank", json=request)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: TestClient, status: int, **request: Any) -> str:
    answer = client.post("/api/lex/rank", json=request)
    assert answer.status_code == status, answer.text
    assert set(answer.json()["error"]) == {"path", "line", "why"}
    return str(answer.json()["error"]["why"])


def library(ranker: LexicalRanker, sentences: list[list[str]], fixed: Any = None) -> Any:
    document = LexDocument("d", [[LexWord(form) for form in tokens] for tokens in sentences])
    return next(ranker.rank_documents([document], fixed=fixed))


def agree(ranker: LexicalRanker, found: Any, expected: Any) -> None:
    """Service and library, token by token, every candidate, to the last bit."""
    assert len(found["sentences"]) == len(expected)
    for sentence, words in zip(found["sentences"], expected, strict=True):
        assert [one["form"] for one in sentence["words"]] == [word.form for word in words]
        for one, word in zip(sentence["words"], words, strict=True):
            assert (one["guessed"], one["margin"]) == (word.guessed, word.margin)
            assert one["n_candidates"] == len(word.candidates)
            assert [
                (c["rank"], tuple(c["label"].values()), c["probability"], c["score"], c["source"])
                for c in one["candidates"]
            ] == [
                (rank, c.label, c.probability, c.score, c.source)
                for rank, c in enumerate(word.candidates, start=1)
            ]


def test_library_command_and_service_agree(
    service: TestClient, ranker: LexicalRanker, lex_model: str, tmp_path: Path
) -> None:
    found = ranked(service, text=TEXT)
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    out = tmp_path / "ranked.jsonl"
    call = ["lex", "apply", lex_model, str(tmp_path / "text.txt"), "--raw", "--top", "999"]
    done = CliRunner().invoke(command, [*call, "-o", str(out)])
    assert done.exit_code == 0, done.output
    said = [json.loads(line)["words"] for line in out.read_text("utf-8").splitlines()]
    agree(ranker, found, library(ranker, [[word["form"] for word in words] for words in said]))
    assert len(said) == len(found["sentences"]) == 3
    for sentence, words in zip(found["sentences"], said, strict=True):
        for one, word in zip(sentence["words"], words, strict=True):
            assert one["form"] == word["form"]
            assert one["guessed"] == word["guessed"]
            assert round(one["margin"], 4) == word["margin"]
            assert one["n_candidates"] == word["n_candidates"]
            shown = [
                {
                    "label": c["label"],
                    "probability": round(c["probability"], 4),
                    "source": c["source"],
                    "vocalised": c["vocalised"],
                    "respelled": c["respelled"],
                    "lemma": c["lemma"],
                    "gloss": c["gloss"],
                    "root": c["root"],
                    "segments": [[s["text"], s["tag"]] for s in c["segments"]],
                }
                for c in one["candidates"]
            ]
            assert shown == word["candidates"]
    # words stand where they were typed
    typed = [TEXT[w["start"] : w["end"]] for s in found["sentences"] for w in s["words"]]
    assert typed == [w["form"] for s in found["sentences"] for w in s["words"]]


def test_tokens_and_decisions_go_as_in_the_library(
    service: TestClient, ranker: LexicalRanker
) -> None:
    sentences = [["قرأ", "الكتاب", "."], [], ["كتب", "الولد"]]
    free = ranked(service, sentences=sentences)
    agree(ranker, free, library(ranker, sentences))
    label = free["sentences"][2]["words"][0]["candidates"][-1]["label"]
    fixed = [{"sentence": 2, "word": 0, "label": label}]
    found = ranked(service, sentences=sentences, fixed=fixed)
    agree(ranker, found, library(ranker, sentences, {3: tuple(label.values())}))
    word = found["sentences"][2]["words"][0]
    assert word["decided"]
    assert word["candidates"][0]["label"] == label
    assert word["candidates"][0]["probability"] == 1.0
    assert not found["sentences"][2]["words"][1]["decided"]
    assert found["sentences"][2]["words"][1] != free["sentences"][2]["words"][1]
    assert word["start"] is None
    # a label that the analyzer does not know is taken, too
    fixed = [{"sentence": 0, "word": 1, "label": {"lemma": "x", "pos": "N"}}]
    word = ranked(service, sentences=sentences, fixed=fixed)["sentences"][0]["words"][1]
    assert word["candidates"][0]["source"] == "fixed"
    assert word["candidates"][0]["label"]["lemma"] == "x"


def test_what_a_reader_sees(service: TestClient) -> None:
    found = ranked(service, text="وقرأت كتابها بالبيت زنمارية", top=2)
    assert found["direction"] == "rtl"
    assert found["language"] == "ar"
    assert found["elements"][:2] == ["lemma", "pos"]
    read, book, house, name = found["sentences"][0]["words"]
    assert len(read["candidates"]) == 2 < read["n_candidates"]
    best = book["candidates"][0]
    assert best["gloss"] == "book"
    assert best["root"] == "كتب"
    assert best["morphology"].startswith("noun, singular")
    assert [s["kind"] for s in best["segments"]] == ["stem", "after"]
    assert "".join(p["text"] for p in best["pieces"]) == best["vocalised"]
    kinds = [s["kind"] for s in house["candidates"][0]["segments"]]
    assert kinds == ["before", "before", "stem"]
    assert [s["meaning"] for s in house["candidates"][0]["segments"]][1] == "the"
    assert name["guessed"]
    assert name["candidates"][0]["guess"]
    assert not book["guessed"]
    assert ranked(service, text="hello there")["direction"] == "ltr"
    assert ranked(service, text="")["sentences"] == []


def test_refusals(connect: Connect, lex_model: str) -> None:
    service = connect(lex_model=lex_model, max_ranked_words=5, max_characters=40)
    assert "either text or sentences" in refused(service, 400)
    assert "either text or sentences" in refused(service, 400, text="a", sentences=[["a"]])
    for token in ("", " ", "a b", "a\tb", "a\n"):
        assert "white space" in refused(service, 400, sentences=[["a", token]])
    assert "at most 5" in refused(service, 413, sentences=[["a"] * 3] * 2)
    assert "at most 5" in refused(service, 413, text="a b c d e f")
    assert "at most 40" in refused(service, 413, text="a" * 41)
    assert "klingon" in refused(service, 422, text="a", scheme="klingon")
    assert "top" in refused(service, 422, text="a", top=0)
    assert "colour" in refused(service, 422, text="a", colour=1)
    one = {"sentence": 0, "word": 0, "label": {"pos": "N"}}
    assert "no sentence 1" in refused(service, 400, text="a", fixed=[{**one, "sentence": 1}])
    assert "no word 7" in refused(service, 400, text="a", fixed=[{**one, "word": 7}])
    assert "fixed.0.word" in refused(service, 422, text="a", fixed=[{**one, "word": -1}])
    assert "twice" in refused(service, 400, text="a", fixed=[one, one])
    assert "'hat'" in refused(service, 422, text="a", fixed=[{**one, "label": {"hat": "1"}}])


def test_without_a_model_the_service_says_how_to_get_one(
    client: TestClient, service: TestClient, connect: Connect, tmp_path: Path
) -> None:
    assert "--lex-model" in refused(client, 404, text="كتب")
    assert "lex/rank" not in client.get("/api/health").json()["features"]
    assert client.get("/api/health").json()["language"] is None
    health = service.get("/api/health").json()
    assert "lex/rank" in health["features"]
    assert "annotate" not in health["features"]
    assert health["language"] == "ar"
    with pytest.raises(EigentextError, match=r"none\.ranker"):
        connect(lex_model=str(tmp_path / "none.ranker"))
    with pytest.raises(SettingsError, match="--lex-analyzer needs"):
        connect(lex_analyzer="sample")


def test_every_route_says_what_it_takes_and_gives(client: TestClient) -> None:
    schema = client.get("/openapi.json").json()
    known = schema["components"]["schemas"]
    parts = ("/api/lex/", "/api/projects", "/api/documents/", "/api/users", "/api/tokens")
    routes = {path: ways for path, ways in schema["paths"].items() if path.startswith(parts)}
    assert len(routes) > 20
    for path, ways in routes.items():
        for way, route in ways.items():
            assert route["summary"]
            assert "503" in route["responses"]
            if path.endswith("/export"):
                assert "text/plain" in route["responses"]["200"]["content"]
                continue
            if "204" in route["responses"]:
                continue
            given = route["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
            assert given.rsplit("/", maxsplit=1)[-1] in known
            if way == "post" and "requestBody" in route:
                taken = route["requestBody"]["content"]["application/json"]["schema"]["$ref"]
                assert known[taken.rsplit("/", maxsplit=1)[-1]]["additionalProperties"] is False
    answer = known["RankAnswer"]["properties"]["sentences"]["items"]["$ref"]
    assert answer.endswith("RankedSentence")


ODD = "كتبالولد\u0640\u200d\u200c\u064e\u0651ﻛﷲabц漢🙂1٣.,؟\u202e\u0000\u2028 \n"


@settings(max_examples=60)
@given(st.text(st.sampled_from(ODD), max_size=30))
@example("ك" * 10_000)
@example("ـ" * 300)
@example("\u200d")
@example("\ufeff")
def test_any_text_gets_an_answer_for_every_token(service: TestClient, text: str) -> None:
    found = ranked(service, text=text)
    at = 0
    for word in (word for sentence in found["sentences"] for word in sentence["words"]):
        between = controls_as_blanks(text[at : word["start"]])
        assert not between.strip()  # only white space and control characters are between words
        at = word["end"]
        assert word["candidates"], "every token gets an answer"
        shares = [c["probability"] for c in word["candidates"]]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) == pytest.approx(1, abs=1e-6)
        assert word["margin"] >= 0
        for one in word["candidates"]:
            assert "".join(p["text"] for p in one["pieces"]) == one["vocalised"]


@settings(max_examples=40)
@given(st.lists(st.lists(st.text(st.sampled_from(ODD), max_size=4), max_size=4), max_size=3))
def test_any_tokens_are_ranked_as_they_came_or_refused(
    service: TestClient, sentences: list[list[str]]
) -> None:
    answer = service.post("/api/lex/rank", json={"sentences": sentences})
    if any(not t or set(t) & set(" \n") for tokens in sentences for t in tokens):
        assert answer.status_code == 400
        return
    assert answer.status_code == 200
    forms = [[w["form"] for w in s["words"]] for s in answer.json()["sentences"]]
    assert forms == sentences
