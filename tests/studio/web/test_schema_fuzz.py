"""Every route of the service, with requests made up from its own description: never a fault.

schemathesis makes the requests; what is looked at is that no answer is a 5xx (all models and the
store are there, so nothing has a reason to be), and that every error has the one shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

schemathesis = pytest.importorskip("schemathesis")

if TYPE_CHECKING:
    from starlette.testclient import TestClient

FEW, MANY = 4, 30
#: lines of requests, which schemathesis cannot write; each line is one of the other routes
LEFT_OUT = {("POST", "/api/batch/{job}")}


@pytest.fixture(scope="module")
def studio(
    connect: Any,
    dep_model: str,
    const_model: str,
    lex_model: str,
    pipe_models: tuple[str, ...],
    word_models: tuple[str, ...],
    sequence_models: tuple[str, ...],
    tmp_path_factory: Any,
) -> TestClient:
    """A client of a service with models of every kind, and a project to play with."""
    store = str(tmp_path_factory.mktemp("fuzz") / "a.db")
    models = (dep_model, const_model, lex_model, *pipe_models, *word_models, *sequence_models)
    client: TestClient = connect(models=models, annotations=store)
    client.headers["X-Annotator"] = "fuzz"
    for task in ("dependency", "tags", "lexical", "constituency", "entities", "segmentation"):
        number = client.post("/api/projects", json={"name": task, "task": task}).json()["id"]
        body = {"name": "text", "text": "Dogs bark. Cats sleep."}
        assert client.post(f"/api/projects/{number}/documents", json=body).status_code == 200
    return client


def fuzz(studio: TestClient, number: int) -> None:
    """So many requests to each route."""
    raw = studio.get("/openapi.json").json()
    schema = schemathesis.openapi.from_dict(raw)
    seen = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if (operation.method.upper(), operation.path) in LEFT_OUT:
            continue

        @given(case=operation.as_strategy())
        @settings(
            max_examples=number,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def ask(case: Any) -> None:
            given_ = case.as_transport_kwargs(base_url="http://testserver")
            headers = {k: v for k, v in dict(given_.pop("headers", {})).items() if v.isascii()}
            given_.pop("cookies", None)
            answer = studio.request(headers=headers, **given_)
            shown = f"{case.method} {answer.request.url}: {answer.status_code} {answer.text[:300]}"
            assert answer.status_code < 500, shown
            if answer.status_code >= 400:
                assert {"path", "line", "why"} <= set(answer.json()["error"]), shown

        ask()
        seen += 1
    assert seen >= 40


def test_no_route_has_a_fault(studio: TestClient) -> None:
    fuzz(studio, FEW)


@pytest.mark.long
def test_no_route_has_a_fault_in_many_requests(studio: TestClient) -> None:
    fuzz(studio, MANY)
