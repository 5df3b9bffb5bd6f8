"""Sample models that are trained while the studio works: who needs one is told, then has it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from eigentext.base.modelfile import save
from eigentext.recipes import samples as recipes
from eigentext.studio.service import samples
from eigentext.studio.service.app import make_pool
from eigentext.studio.service.models import PAGES
from eigentext.studio.service.settings import ServiceSettings
from helpers.accessibility import findings
from helpers.commands import ENVIRONMENT
from helpers.samples_on_hold import build, let
from helpers.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator


DOG = {"text": "The dog barks."}


class Answers:
    """What a service answers; errors too."""

    def __init__(self, address: str) -> None:
        self.address = address

    def __call__(self, path: str, body: Any = None) -> tuple[int, Any, Any]:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        call = urllib.request.Request(
            self.address + path, data, {"Content-Type": "application/json"}
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            answer = opener.open(call, timeout=600)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            text = answer.read().decode()
            kind = answer.headers["Content-Type"]
            return answer.status, json.loads(text) if kind.endswith("json") else text, answer

    def training(self) -> Any:
        return self("/api/health")[1]["training"]


@pytest.fixture
def studio(serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A service whose sample models, those of these names, come when files in tmp_path say so."""

    @contextmanager
    def serving(*names: str, **more: Any) -> Iterator[Answers]:
        monkeypatch.setattr(samples, "MAKERS", partial(build, str(tmp_path)))
        files = tuple(str(tmp_path / "cache" / name) for name in names)
        settings = ServiceSettings(samples=files, workers=1, seconds=600, **more)
        pool = make_pool(settings)
        with serve(pool=pool, **settings.model_dump(exclude_unset=True)) as address:
            yield Answers(address)
        pool.close()

    return serving


def test_who_needs_a_model_is_told_and_then_has_it(
    studio: Any, tmp_path: Path, dep_model: str
) -> None:
    with studio("english.dep", "english.pipe") as ask:
        until((tmp_path / "began-english.dep").exists)
        names = ["english.dep", "english.pipe"]
        assert ask.training() == {"done": 5, "total": 7, "names": names, "failed": {}}
        health = ask("/api/health")[1]
        assert health["status"] == "ok"
        assert health["models"] == []
        assert set(health["missing"]) == {"parse", "read", "words", "sequences"}
        assert [page for page in health["pages"] if page in health["missing"]] == ["parse", "read"]
        status, answer, how = ask("/api/parse", DOG)
        assert (status, how.headers["Retry-After"]) == (503, "5")
        why = "the sample model english.dep is being trained; try again in 5 seconds"
        assert answer["error"]["why"] == why
        status, answer, _ = ask("/api/batch/parse", b'{"text": "a"}\n')
        assert json.loads(answer)["error"]["why"] == why
        for path, body in (
            ("/api/read", DOG),
            ("/api/pipe", DOG),
            ("/process?tokenizer=&data=a", None),
        ):
            status, answer, how = ask(path, body)
            assert (status, how.headers["Retry-After"]) == (503, "5")
            assert "english.pipe is being trained" in str(answer)
        status, answer, _ = ask("/api/words/look", {"word": "a"})  # none is to come
        assert status == 404
        assert "start it with" in answer["error"]["why"]
        assert ask("/api/tokenise", DOG)[0] == 200
        let(dep_model, tmp_path, "english.dep")
        until(lambda: ask.training()["names"] == ["english.pipe"])
        assert "parse" not in ask("/api/health")[1]["missing"]
        status, answer, _ = ask("/api/parse", DOG)
        assert (status, answer["dep"]) == (200, "english")


def test_what_cannot_be_trained_is_told_and_the_rest_goes_on(
    studio: Any, tmp_path: Path, const_model: str, caplog: pytest.LogCaptureFixture
) -> None:
    with studio("english.dep", "english.lpcfg", "arabic.ranker", "python.hmm") as ask:
        for name in ("full-english.dep", "die-python.hmm"):
            (tmp_path / name).touch()
        (tmp_path / "arabic.ranker").write_bytes(b"no model at all")
        let(const_model, tmp_path, "english.lpcfg")
        until(lambda: not ask.training()["names"])
        progress = ask.training()
        assert (progress["done"], progress["total"]) == (4, 7)
        whys = progress["failed"]
        assert whys.keys() == {"english.dep", "arabic.ranker", "python.hmm"}
        assert "disk full" in whys["english.dep"]
        assert "exit code 9" in whys["python.hmm"]
        assert "no eigentext model" in whys["arabic.ranker"]
        assert str(tmp_path) not in str(whys)
        status, answer, _ = ask("/api/sequences/states", {})
        assert status == 404
        assert "python.hmm could not be trained: a worker died" in answer["error"]["why"]
        assert ask("/api/parse", DOG)[1]["const"] == "english"
    assert all(f"{name}: could not be trained" in caplog.text for name in whys)


class TestPages:
    def test_a_page_waits_for_its_model_and_takes_those_that_come_later(
        self, page: Any, studio: Any, tmp_path: Path, dep_model: str, const_model: str
    ) -> None:
        with studio("english.dep", "english.lpcfg") as ask:
            page.goto(f"{ask.address}/")
            assert page.url.endswith("/parse")
            waiting = page.locator("#loading")
            expect(waiting).to_contain_text("training sample models, 5 of 7")
            expect(page.locator("#training")).to_have_text("training sample models, 5 of 7")
            assert findings(page) == []
            page.locator("#input").fill("A cat sleeps.")
            let(dep_model, tmp_path, "english.dep")
            expect(page.locator("#status")).to_contain_text("dependencies by english")
            expect(page.locator("p.sentence")).to_have_text("A cat sleeps.")
            expect(waiting).to_have_count(0)
            expect(page.locator("#training")).to_have_text("training sample models, 6 of 7")
            expect(page.locator("#layers")).to_be_hidden()
            page.locator(".models summary").click()
            let(const_model, tmp_path, "english.lpcfg")
            expect(page.locator(".models li")).to_have_count(2)
            expect(page.locator(".models li").first).to_be_visible()  # it stays open
            expect(page.locator("#training")).to_have_text("")
            expect(page.locator("#layers")).to_be_visible()
            page.locator("#run").click()
            expect(page.locator("#status")).to_contain_text("constituents by english")
            assert page.complaints == []

    def test_a_page_whose_model_failed_says_so(
        self, page: Any, studio: Any, tmp_path: Path
    ) -> None:
        with studio("python.hmm") as ask:
            page.goto(f"{ask.address}/sequences")
            expect(page.locator("#loading")).to_contain_text("6 of 7")
            (tmp_path / "full-python.hmm").touch()
            expect(page.locator("#status")).to_contain_text("python.hmm could not be trained")
            expect(page.locator("#status")).to_contain_text("disk full")
            expect(page.locator("#training")).to_have_text("6 of 7 sample models, 1 failed")
            assert page.complaints == []

    @pytest.mark.parametrize("name", PAGES)
    def test_without_any_model_every_page_says_a_plain_sentence(
        self, page: Any, studio: Any, name: str
    ) -> None:
        with studio() as ask:
            sent: list[str] = []
            page.on("request", lambda call: sent.append(call.method))
            page.goto(f"{ask.address}/{name}")
            expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
            if PAGES[name]:
                expect(page.locator("#status")).to_contain_text("this service has no")
                expect(page.locator("#status code").last).to_have_text("eigentext studio")
                expect(page.locator("#form")).to_be_hidden()
                assert "POST" not in sent
            elif name == "annotate":
                expect(page.locator("#results")).to_contain_text("eigentext studio --annotations")
            assert "should have" not in page.inner_text("body")
            assert findings(page) == []
            assert page.complaints == []

    def test_nor_with_a_pipeline_that_has_no_parser(
        self, page: Any, studio: Any, pipe_models: tuple[str, str]
    ) -> None:
        with studio(models=pipe_models[1:]) as ask:
            page.goto(f"{ask.address}/parse")
            expect(page.locator("#status")).to_contain_text("this service has no")
            assert ask("/api/health")[1]["pages"][0] == "read"


PROGRAM = """
import sys
from functools import partial
from eigentext.cli.main import main
from eigentext.studio.service import samples
from helpers.samples_on_hold import build
samples.MAKERS = partial(build, sys.argv.pop(1))
main()
"""


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`eigentext studio` from nothing, whose models come when tmp_path says so."""
    line = [sys.executable, "-c", PROGRAM, str(tmp_path), "studio", "--port", "0"]
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [*line, "--workers", "1"],
        env={**ENVIRONMENT, **cache},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


def processes_of(parent: int) -> list[int]:
    lists = Path(f"/proc/{parent}/task").glob("*/children")
    return [int(number) for each in lists for number in each.read_text().split()]


def runs(process: int) -> bool:
    """Whether it is there and no zombie whose new parent does not look."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGINT, 0), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_the_address_is_there_at_once_and_the_training_ends_with_the_server(
    process: subprocess.Popen[str], tmp_path: Path, number: int, code: int
) -> None:
    assert process.stdout is not None
    address = process.stdout.readline().split()[-1]
    ask = Answers(address)
    assert ask.training()["done"] == 0
    assert len(ask.training()["names"]) == 7
    assert ask("/parse")[0] == ask("/docs")[0] == ask("/openapi.json")[0] == 200
    until(lambda: list(tmp_path.glob("began-*")))
    children = processes_of(process.pid)
    assert len(children) >= 2  # a worker, and who trains
    process.send_signal(number)
    _, told = process.communicate(timeout=600)
    assert process.returncode == code
    assert "Traceback" not in told
    assert "training sample models, once" in told
    until(lambda: not any(map(runs, children)))
    assert [file for file in (tmp_path / "cache").rglob("*") if file.is_file()] == []


def test_what_two_studios_need_is_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on, made = threading.Event(), threading.Event(), []

    def make(folder: Path) -> None:
        made.append(threading.get_ident())
        began.set()
        go_on.wait()
        for name in ("a", "b"):
            save(folder / name, "hmm", {}, settings={}, format_version=1)

    monkeypatch.setattr(recipes, "SAMPLES", {make: {"a": "hmm", "b": "hmm"}})
    files = [tmp_path / "deep" / "samples" / name for name in ("a", "b")]
    both = [threading.Thread(target=recipes.make_samples, args=(files,)) for _ in range(2)]
    both[0].start()
    assert began.wait(600)
    both[1].start()
    both[1].join(0.2)
    assert both[1].is_alive()  # it waits
    go_on.set()
    for thread in both:
        thread.join()
    assert len(made) == 1
    files[1].write_bytes(b"cut")
    recipes.make_samples(files[1:])
    assert len(made) == 2
    assert all(map(recipes.is_ready, files))
