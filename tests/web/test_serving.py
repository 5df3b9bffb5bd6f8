"""``eigentext serve``: what reaches the server, and what the person at the terminal is told."""

from __future__ import annotations

from typing import Any

import pytest
import uvicorn
from typer.testing import CliRunner
from uvicorn.protocols.http.h11_impl import H11Protocol

import eigentext.web
from eigentext.cli.main import app as command
from eigentext.errors import DataError
from eigentext.web.settings import ServiceSettings
from eigentext.web.workers import WorkerPool


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What uvicorn is given, without a server and without workers."""
    seen: dict[str, Any] = {"started": 0}

    def start(_: WorkerPool) -> None:
        seen["started"] += 1

    monkeypatch.setattr(uvicorn, "run", lambda app, **how: seen.update(how, app=app))
    monkeypatch.setattr(WorkerPool, "start", start)
    return seen


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
    seen: dict[str, Any], host: str, settings: ServiceSettings | None, answers_to: set[str]
) -> None:
    eigentext.web.serve(host, 8123, settings=settings, log_level="error")
    assert (seen["host"], seen["port"], seen["log_level"]) == (host, 8123, "error")
    (hosts,) = [
        middleware.kwargs["allowed_hosts"]
        for middleware in seen["app"].user_middleware
        if "allowed_hosts" in middleware.kwargs
    ]
    assert set(hosts) == answers_to
    assert issubclass(seen["http"], H11Protocol)
    assert seen["started"] == 1


def test_workers_that_cannot_start_stop_the_server_before_it_listens(
    seen: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: WorkerPool) -> None:
        raise DataError("no.model", None, "no such file")

    monkeypatch.setattr(WorkerPool, "start", fail)
    with pytest.raises(DataError, match="no such file"):
        eigentext.web.serve()
    assert "app" not in seen


@pytest.mark.parametrize(
    ("line", "warned"),
    [
        (["--host", "0.0.0.0"], True),
        (["--host", "0.0.0.0", "--quiet"], True),
        (["--host", "127.0.0.1"], False),
        (["--host", "localhost"], False),
    ],
)
def test_an_open_address_is_warned_of(seen: dict[str, Any], line: list[str], warned: bool) -> None:
    done = CliRunner().invoke(command, ["serve", "--port", "0", *line])
    assert done.exit_code == 0, done.output
    assert seen["host"] == line[1]
    assert ("no password" in done.stderr) is warned


def test_options_reach_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr(eigentext.web, "serve", lambda *_, **how: seen.update(how))
    line = ["serve", "--port", "0", "--workers", "3", "--seconds", "7", "--allow-host", "a.org"]
    done = CliRunner().invoke(command, [*line, "--allow-host", "b.org"])
    assert done.exit_code == 0, done.output
    settings = seen["settings"]
    assert (settings.workers, settings.seconds) == (3, 7)
    assert settings.allowed_hosts == ("a.org", "b.org")
