from __future__ import annotations

from typing import Any

import pytest
import uvicorn

import eigentext.web
from eigentext.web.settings import ServiceSettings


@pytest.mark.parametrize(
    ("host", "settings", "answers_to"),
    [
        ("127.0.0.1", None, {"localhost", "127.0.0.1", "[::1]"}),
        ("localhost", None, {"localhost", "127.0.0.1", "[::1]"}),
        ("0.0.0.0", None, {"*"}),
        ("127.0.0.1", ServiceSettings(allowed_hosts=("bench.example",)), {"bench.example"}),
    ],
)
def test_a_loopback_server_answers_to_its_own_names_only(
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    settings: ServiceSettings | None,
    answers_to: set[str],
) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr(uvicorn, "run", lambda app, **how: seen.update(how, app=app))
    eigentext.web.serve(host, 8123, settings=settings, log_level="error")
    assert (seen["host"], seen["port"], seen["log_level"]) == (host, 8123, "error")
    (hosts,) = [
        middleware.kwargs["allowed_hosts"]
        for middleware in seen["app"].user_middleware
        if "allowed_hosts" in middleware.kwargs
    ]
    assert set(hosts) == answers_to
