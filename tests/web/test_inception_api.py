"""INCEpTION's routes over HTTP."""

from __future__ import annotations

import importlib.util

import pytest

from helpers.sample_pipeline import pipeline

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("cassis") is None, reason="dkpro-cassis is not installed"
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "sample.pipe"
    pipeline().save(path)
    return str(path)


def test_predict_and_train(connect, model, tmp_path):
    from helpers.cas import LEMMA, answered, request_of

    client = connect(pipes=(model,), inception=str(tmp_path / "models"))
    words = [["The", "dog", "barked", "."]]
    request = request_of(words, LEMMA)
    answer = client.post("/api/inception/lemma/predict", json=request)
    assert answer.status_code == 200
    assert [label for _, label, *_ in answered(request, answer.json())][3] == "."
    labels = ["A", "B", "C", "D"]
    made = [(n, n + 1, label) for n, label in enumerate(labels)]
    training = request_of(
        words * 4,
        LEMMA,
        [(4 * s + a, 4 * s + b, x) for s in range(4) for a, b, x in made],
        key="documents",
    )
    assert client.post("/api/inception/lemma/train", json=training).status_code == 204
    again = client.post("/api/inception/lemma/predict", json=request)
    assert [label for _, label, *_ in answered(request, again.json())] == labels


def test_what_cannot_be_done_is_told(connect, model):
    from helpers.cas import NER, request_of

    client = connect(pipes=(model,))
    request = request_of([["Ada"]], NER)
    answer = client.post("/api/inception/ner/predict", json=request)
    assert answer.status_code == 404
    assert "no model for 'ner'" in answer.text
    answer = client.post("/api/inception/ner/train", json=request)
    assert answer.status_code == 404
    assert "untick" in answer.text
    assert client.post("/api/inception/odd/predict", json=request).status_code == 400
    assert client.post("/api/inception/lemma/predict", content=b"{").status_code == 400
    assert client.post("/api/inception/lemma/predict", json={}).status_code == 400
