"""``/api/read``: the readings of the ranker, or of the pipeline, as the library gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eigentext.language import WordReading
from eigentext.reports.morphology import in_plain_words
from eigentext.studio.api.reading import _readings
from eigentext.studio.api.schemas_words import ReadAnswer
from helpers.toy_treebank import toy_pipeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.testclient import TestClient

ARABIC = "كتب الولد رسالة إلى أمه. قرأت الأم الرسالة."
TEXT = "Ana va al mar. El puerto corre."


@pytest.fixture(scope="module")
def service(
    connect: Callable[..., TestClient], lex_model: str, pipe_models: tuple[str, str]
) -> TestClient:
    return connect(models=(*pipe_models, lex_model), max_ranked_words=40)


def asked(client: TestClient, status: int = 200, **request: Any) -> Any:
    answer = client.post("/api/read", json=request)
    assert answer.status_code == status, answer.text
    if status == 200:
        ReadAnswer.model_validate(answer.json())  # answers are written unchecked
    return answer.json() if status == 200 else answer.json()["error"]["why"]


def test_a_ranker_reads_as_it_ranks(service: TestClient, lex_model: str) -> None:
    from eigentext.lexical import LexicalRanker
    from eigentext.lexical.output import as_conllu

    answer = asked(service, text=ARABIC, top=3)  # a ranker goes before a pipeline
    ranked = service.post("/api/lex/rank", json={"text": ARABIC, "top": 3}).json()
    assert (answer.pop("model"), answer.pop("kind")) == ("arabic", "lex")
    conllu = answer.pop("conllu")
    assert answer == ranked
    ranker = LexicalRanker.load(lex_model)
    first = [word["form"] for word in ranked["sentences"][0]["words"]]
    by_library = list(as_conllu(1, ranker.rank(first), ranker))
    assert conllu.splitlines()[: len(by_library)] == by_library


def test_a_pipeline_reads_as_the_library_does(service: TestClient) -> None:
    answer = asked(service, text=TEXT, kind="pipeline", top=3)
    assert (answer["model"], answer["language"], answer["direction"]) == (
        "spanish-toy",
        "es",
        "ltr",
    )
    doc = toy_pipeline()(TEXT, top=3)
    for sentence, view in zip(doc.sentences, answer["sentences"], strict=True):
        assert sentence.alternatives is not None
        assert sentence.alternatives.readings is not None
        for token, word in zip(sentence.tokens, view["words"], strict=True):
            assert TEXT[word["start"] : word["end"]] == word["form"] == token.form
            if token.first == token.last:
                readings = sentence.alternatives.readings[token.first - 1]
                assert [
                    (one["label"]["upos"], one["lemma"], one["probability"])
                    for one in word["candidates"]
                ] == [(one.upos, one.lemma, one.probability) for one in readings]
    contracted = answer["sentences"][0]["words"][2]
    assert contracted["form"] == "al"
    assert [one["text"] for one in contracted["candidates"][0]["segments"]] == ["a", "el"]
    assert "determiner" in contracted["candidates"][0]["morphology"]
    assert answer["conllu"].startswith("# newdoc")


def test_readings_of_a_token_of_several_words_are_their_likeliest_combinations() -> None:
    def reading(upos: str, probability: float) -> WordReading:
        return WordReading(upos, "_", "_", "x", probability)

    words = [[reading("A", 0.7), reading("B", 0.3)], [reading("C", 0.6), reading("D", 0.4)]]
    found = _readings(words)
    assert ["".join(one.upos for one in some.words) for some in found] == ["AC", "AD", "BC", "BD"]
    assert [round(some.probability, 6) for some in found] == [0.42, 0.28, 0.18, 0.12]


def test_features_of_universal_dependencies_in_plain_words() -> None:
    values = {"upos": "ADJ", "Degree": "Cmp", "Definite": "Def", "Poss": "Yes"}
    assert in_plain_words(values, "_") == "adjective, comparative, definite, possessive"


def test_what_cannot_be_read(
    service: TestClient, client: TestClient, connect: Callable[..., TestClient]
) -> None:
    assert "no ranker of readings" in asked(client, 404, text="a")
    assert "at most 40" in asked(service, 413, text="uno " * 41, kind="pipeline")
    assert "at most 40" in asked(service, 413, text="كتب " * 41, kind="lex")
    assert "is called 'klingon'" in asked(service, 422, text="a", kind="lex", model="klingon")
    asked(service, 422, text="a", kind="dep")
    asked(service, 422, text="a", top=0)
    assert asked(service, text="", kind="pipeline")["sentences"] == []
    assert asked(service, text="", kind="lex")["sentences"] == []
