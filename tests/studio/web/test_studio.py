"""``eigentext studio``: from nothing to pages; models that cannot be served are told at once."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

import eigentext.studio.service
from eigentext.recipes.samples import SAMPLES, samples_folder
from eigentext.studio.service.samples import SampleTraining
from helpers.commands import ENVIRONMENT
from helpers.commands import eigentext as command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONG = 1800.0  # every model is trained and every kernel compiled, on whatever machine this is


def ask(address: str, path: str, body: Any = None) -> Any:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    data = None if body is None else json.dumps(body).encode()
    call = urllib.request.Request(address + path, data, {"Content-Type": "application/json"})
    with direct.open(call, timeout=LONG) as answer:
        return json.load(answer)


class Studio:
    """The command in a process of its own."""

    def __init__(self, cache: Path, *arguments: str) -> None:
        line = [sys.executable, "-m", "eigentext.cli", "studio", "--port", "0", "--workers", "1"]
        path = os.pathsep.join(sys.path)
        self.process = subprocess.Popen(
            [*line, *arguments],
            env={**ENVIRONMENT, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def address(self) -> str:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], LONG)
        assert ready, "it never listened"
        first = self.process.stdout.readline()
        assert first.startswith("eigentext studio: http://127.0.0.1:"), first
        return first.split()[-1]

    def ended(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGINT)
        _, told = self.process.communicate(timeout=LONG)
        return self.process.returncode, told


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    return tmp_path_factory.mktemp("cache")  # type: ignore[return-value]


@pytest.mark.long
def test_it_starts_from_nothing_and_the_second_time_trains_nothing(cache: Path) -> None:
    first = Studio(cache)
    try:
        address = first.address()
        while ask(address, "/api/health")["training"]:
            time.sleep(0.2)
        health = ask(address, "/api/health")
        assert health["status"] == "ok"
        kinds = {model["kind"] for model in health["models"]}
        assert kinds == {"pipeline", "const", "dep", "lex", "words", "hmm"}
        assert all(model["licence"] and model["language"] for model in health["models"])
        parsed = ask(address, "/api/parse", {"text": "The dog barks.", "layers": ["dep"]})
        assert [word["form"] for word in parsed["sentences"][0]["dependencies"]["words"]][:3] == [
            "The",
            "dog",
            "barks",
        ]
        read = ask(address, "/api/read", {"text": "كتب الولد رسالة.", "kind": "lex"})
        assert read["sentences"][0]["words"][0]["candidates"][0]["gloss"]
        english = ask(address, "/api/read", {"text": "The dog barks.", "kind": "pipeline"})
        assert english["sentences"][0]["words"][1]["candidates"][0]["lemma"] == "dog"
    finally:
        _, told = first.ended()
    for name in (name for names in SAMPLES.values() for name in names):
        assert name in told
    second = Studio(cache)
    try:
        assert ask(second.address(), "/api/health")["training"] is None
    finally:
        _, told = second.ended()
    assert "training" not in told
    assert "Traceback" not in told


def test_samples_are_kept_by_the_xdg_rule(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert samples_folder().parent == tmp_path / "eigentext"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert samples_folder().parent == tmp_path / ".cache" / "eigentext"


@pytest.mark.parametrize("name", ["studio", "serve"])
def test_a_model_that_cannot_be_served_is_one_line(name: str, tmp_path: Path) -> None:
    (tmp_path / "x.model").write_bytes(b"no model at all")
    flags = ["--model"] if name == "serve" else []
    for model, why in (("x.model", "no eigentext model"), ("none.pipe", "no such file")):
        done = command(name, "--port", 0, *flags, model, cwd=tmp_path)
        assert done.returncode == 2
        (line,) = done.stderr.decode().splitlines()
        assert model in line
        assert why in line


def test_models_of_the_line_reach_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(
        eigentext.studio.service, "serve", lambda *_, settings, **__: seen.append(settings)
    )
    assert command("studio", "--port", 0, "a", "b.pipe", cwd=tmp_path).returncode == 0
    line = ["serve", "--port", 0, "--model", "a", "--model", "b", "--pipe", "c"]
    assert command(*line, cwd=tmp_path).returncode == 0
    assert seen[0].models == ("a", "b.pipe")
    assert (seen[1].models, seen[1].pipes) == (("a", "b"), ("c",))


def test_an_address_that_is_taken_is_told_before_anything_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    def never(*_: Any) -> None:
        raise AssertionError("it trained")

    monkeypatch.setattr(SampleTraining, "begin", never)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = command("studio", "--port", port, cwd=tmp_path)
    assert done.returncode == 2
    assert b"cannot listen" in done.stderr
