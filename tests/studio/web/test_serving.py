"""``eigentext serve``: what reaches the server, and what the person at the terminal is told."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from typer.testing import CliRunner
from uvicorn.protocols.http.h11_impl import H11Protocol

import eigentext.studio.service
from eigentext.cli.main import app as command
from eigentext.errors import DataError, EigentextError, SettingsError
from eigentext.studio.service.settings import ServiceSettings
from eigentext.studio.service.workers import WorkerPool


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What uvicorn is given, without a server and without workers."""
    seen: dict[str, Any] = {"started": 0}

    def start(_: WorkerPool) -> None:
        seen["started"] += 1

    def run(server: uvicorn.Server) -> None:
        server.started = True
        seen.update(vars(server.config))

    monkeypatch.setattr(uvicorn.Server, "run", run)
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
    eigentext.studio.service.serve(host, 8123, settings=settings, log_level="error")
    assert (seen["host"], seen["port"], seen["log_level"]) == (host, 8123, "error")
    (hosts,) = [
        middleware.kwargs["allowed_hosts"]
        for middleware in seen["app"].user_middleware
        if "allowed_hosts" in middleware.kwargs
    ]
    assert set(hosts) == answers_to
    assert issubclass(seen["http"], H11Protocol)
    assert seen["started"] == 1


@pytest.mark.usefixtures("seen")
def test_workers_that_cannot_start_stop_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = []

    def fail(_: WorkerPool) -> None:
        raise DataError("a.model", None, "is damaged")

    def run(server: uvicorn.Server) -> None:
        while not server.should_exit:
            time.sleep(0.01)
        stopped.append(True)

    monkeypatch.setattr(WorkerPool, "start", fail)
    monkeypatch.setattr(uvicorn.Server, "run", run)
    with pytest.raises(DataError, match="is damaged"):
        eigentext.studio.service.serve()
    assert stopped


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "no such file"),
        (b"hello", "no eigentext model"),
        (b"\xff" * 20, "no eigentext model"),
    ],
)
def test_a_file_that_is_no_model_is_told_before_anything_listens(
    seen: dict[str, Any], tmp_path: Path, content: bytes | None, why: str
) -> None:
    path = tmp_path / "x.model"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(EigentextError, match=why):
        eigentext.studio.service.serve(settings=ServiceSettings(models=(str(path),)))
    assert seen == {"started": 0}


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
    monkeypatch.setattr(eigentext.studio.service, "serve", lambda *_, **how: seen.update(how))
    line = ["serve", "--port", "0", "--workers", "3", "--seconds", "7", "--allow-host", "a.org"]
    done = CliRunner().invoke(command, [*line, "--allow-host", "b.org"])
    assert done.exit_code == 0, done.output
    settings = seen["settings"]
    assert (settings.workers, settings.seconds) == (3, 7)
    assert settings.allowed_hosts == ("a.org", "b.org")


class TestAccounts:
    def test_where_others_can_reach_it_nobody_replaces_models_without_a_token(
        self, seen: dict[str, Any], tmp_path: Path
    ) -> None:
        line = ["serve", "--port", "0", "--inception", str(tmp_path)]
        refused = CliRunner().invoke(command, [*line, "--host", "0.0.0.0"])
        assert isinstance(refused.exception, SettingsError)
        assert "give --annotations STORE" in str(refused.exception)
        assert not seen["started"]
        assert CliRunner().invoke(command, line).exit_code == 0
        assert seen["started"] == 1

    def test_where_others_can_reach_it_somebody_must_be_able_to_log_in(
        self, seen: dict[str, Any], tmp_path: Path
    ) -> None:
        path = str(tmp_path / "team.db")
        line = ["serve", "--host", "0.0.0.0", "--port", "0", "--annotations", path]
        refused = CliRunner().invoke(command, line)
        assert isinstance(refused.exception, SettingsError)
        assert "eigentext annotate user " in str(refused.exception)
        assert path in str(refused.exception)
        open_ = CliRunner().invoke(command, [*line, "--no-accounts"])
        assert isinstance(open_.exception, SettingsError)
        assert seen == {"started": 0}
        added = ["annotate", "user", path, "Ada", "--new", "--role", "admin"]
        assert CliRunner().invoke(command, added, input="correct horse battery\n").exit_code == 0
        done = CliRunner().invoke(command, line)
        assert done.exit_code == 0, done.output
        assert "no password" not in done.stderr
        assert "no encryption" in done.stderr

    @pytest.mark.parametrize(
        ("line", "accounts"), [([], False), (["--no-accounts"], False), (["--accounts"], True)]
    )
    def test_on_this_machine_accounts_are_a_choice(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: list[str], accounts: bool
    ) -> None:
        seen: dict[str, Any] = {}
        monkeypatch.setattr(eigentext.studio.service, "serve", lambda *_, **how: seen.update(how))
        path = str(tmp_path / "team.db")
        added = ["annotate", "user", path, "Ada", "--new", "--role", "admin"]
        CliRunner().invoke(command, ["annotate", "init", path])
        assert CliRunner().invoke(command, added, input="correct horse battery\n").exit_code == 0
        given = ["--annotations", path, "--annotation-models", "models", *line]
        done = CliRunner().invoke(command, ["serve", "--port", "0", *given])
        assert done.exit_code == 0, done.output
        assert seen["settings"].accounts is accounts
        assert seen["settings"].annotation_models == "models"


def test_the_server_itself_has_no_models_and_none_of_what_they_need(tmp_path: Path) -> None:
    """Workers load them; a server that did so would listen later, and hold them in vain."""
    program = """
import sys
from eigentext.studio.service.app import create_app
from eigentext.studio.service.settings import ServiceSettings
create_app(ServiceSettings(annotations=sys.argv[1]))
print(sorted({"scipy", "sklearn", "numba", "matplotlib"} & set(sys.modules)))
"""
    call = [sys.executable, "-c", program, str(tmp_path / "a.db")]
    done = subprocess.run(call, capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"
