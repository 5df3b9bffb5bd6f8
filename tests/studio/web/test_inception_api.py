"""INCEpTION's routes over HTTP."""

from __future__ import annotations

import importlib.util
import logging

import httpx
import pytest

from eigentext.studio.store.accounts import Accounts
from eigentext.studio.store.store import AnnotationStore
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


@pytest.fixture
def tokens(tmp_path):
    """A store with accounts, and a token of each role by name."""
    store = AnnotationStore(tmp_path / "team.db")
    accounts = Accounts(store)
    accounts.add_user("ada", "admin", "a long password")
    made = {
        role: accounts.make_token(accounts.add_user(role, role).id, "INCEpTION", scope=role).secret
        for role in ("reader", "annotator", "adjudicator")
    }
    store.close()
    return made


def test_with_accounts_a_token_is_needed(connect, model, tmp_path, tokens):
    from helpers.cas import LEMMA, request_of

    folder = tmp_path / "models"
    store = str(tmp_path / "team.db")
    client = connect(pipes=(model,), inception=str(folder), annotations=store, accounts=True)
    words = [["The", "dog", "barked", "."]]
    request = request_of(words, LEMMA)
    label = [(n, n + 1, "A") for n in range(4)]
    training = request_of(words, LEMMA, label, key="documents")

    def statuses(where="/api/inception/", headers=None):
        return [
            client.post(f"{where}lemma/{what}", json=body, headers=headers).status_code
            for what, body in (("predict", request), ("train", training))
        ]

    assert statuses() == [401, 401]
    assert statuses("/api/inception/token/eig_wrong/") == [401, 401]
    assert statuses("/api/inception/token//") == [401, 401]
    assert not folder.exists()
    expected = {"reader": [403, 403], "annotator": [200, 403], "adjudicator": [200, 204]}
    for role, secret in tokens.items():
        assert statuses(f"/api/inception/token/{secret}/") == expected[role], role
        assert folder.exists() == (role == "adjudicator")
        assert statuses(headers={"Authorization": f"Bearer {secret}"}) == expected[role], role
    # the body of a path with a token may be as long as that of one without
    padded = {**request, "more": "x" * 1_500_000}
    where = f"/api/inception/token/{tokens['annotator']}/lemma/predict"
    assert client.post(where, json=padded).status_code == 200
    foreign = {"Origin": "https://evil.example"}
    assert client.post(where, json=request, headers=foreign).status_code == 403


def test_a_token_in_a_path_is_in_no_log(serve, model, tmp_path, tokens, caplog):
    secret = tokens["annotator"]
    with (
        serve(pipes=(model,), annotations=str(tmp_path / "team.db"), accounts=True) as address,
        caplog.at_level(logging.INFO, "uvicorn.access"),
    ):
        logging.getLogger("uvicorn.access").addHandler(caplog.handler)
        url = f"{address}/api/inception/token/{secret}/nothing/predict"
        with httpx.Client(trust_env=False) as client:
            assert client.post(url, json={}).status_code == 400
    assert "/api/inception/nothing/predict" in caplog.text
    logging.getLogger("uvicorn.access").removeHandler(caplog.handler)
    assert secret not in caplog.text
