"""A real server under load: health and pages answer whatever the workers and the store do."""

from __future__ import annotations

import json
import socket
import sqlite3
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from eigentext.studio.service.workers import WorkerPool
from helpers.jobs_on_hold import build
from helpers.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Serve = Callable[..., Any]

LONG = 600.0
SHAPE = {"path", "line", "why"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("load")


@pytest.fixture(scope="module")
def pool(folder: Path) -> Iterator[WorkerPool]:
    pool = WorkerPool(partial(build, str(folder)), size=1, waiting=2, patience=LONG, seconds=LONG)
    pool.start()
    yield pool
    pool.close()


@pytest.fixture(scope="module")
def address(pool: WorkerPool, serve: Serve) -> Iterator[str]:
    with serve(pool=pool, max_body_bytes=2000) as address:
        yield address


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[httpx.Client]:
    with new_client(address) as client:
        yield client


def new_client(address: str) -> httpx.Client:
    return httpx.Client(base_url=address, timeout=LONG, trust_env=False)


def connection(address: str) -> socket.socket:
    url = httpx.URL(address)
    return socket.create_connection((url.host, url.port), timeout=LONG)


def fault(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert set(answer.json()["error"]) == SHAPE
    assert "content-security-policy" in answer.headers
    return str(answer.json()["error"]["why"])


def held(threads: ThreadPoolExecutor, client: httpx.Client, name: str) -> Future[httpx.Response]:
    """A request that lasts until a file says so."""
    return threads.submit(client.post, "/api/parse", json={"text": name})


def raw(address: str, *parts: bytes) -> httpx.Response:
    """Send bytes that are no whole request; the answer, which must come all the same."""
    with connection(address) as line:
        for part in parts:
            line.sendall(part)
        answer = b""
        while b"}}" not in answer:
            found = line.recv(65536)
            assert found, "the server hung up without an answer"
            answer += found
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *headers = head.decode().split("\r\n")
    pairs = [tuple(header.split(": ", 1)) for header in headers]
    return httpx.Response(int(first.split()[1]), headers=pairs, content=body)  # type: ignore[arg-type]


def test_health_and_pages_answer_while_the_workers_are_busy(
    client: httpx.Client, pool: WorkerPool, folder: Path
) -> None:
    with ThreadPoolExecutor(4) as threads:
        first = held(threads, client, "a")
        until((folder / "began-a").exists)
        others = [held(threads, client, name) for name in "bc"]
        until(lambda: pool.waiting == 2)
        health = client.get("/api/health")
        assert (health.status_code, health.json()["waiting"]) == (200, 2)
        for path in ("/tools", "/static/shell.js", "/openapi.json", "/api/models"):
            assert client.get(path).status_code == 200
        assert client.get("/").status_code == 307
        refused = client.post("/api/tokenise", json={"text": "a b"})
        assert "busy" in fault(refused, 503)
        assert int(refused.headers["retry-after"]) > 0
        assert not first.done()
        for name in "abc":
            (folder / f"end-{name}").touch()
        answers = [one.result() for one in (first, *others)]
    assert [one.json() for one in answers] == [{"held": f"{name} held"} for name in "abc"]
    assert client.post("/api/tokenise", json={"text": "a b"}).json()["n_tokens"] == 2


def test_a_request_past_its_deadline_is_told_so_and_the_next_is_served(
    client: httpx.Client, pool: WorkerPool
) -> None:
    pool.seconds = 0.2
    answer = client.post("/api/parse", json={"text": "for ever"})
    pool.seconds = LONG
    assert "longer than 0.2 seconds" in fault(answer, 504)
    assert client.post("/api/tokenise", json={"text": "a b"}).json()["n_tokens"] == 2


def test_a_client_that_leaves_the_queue_is_not_served(
    client: httpx.Client, address: str, pool: WorkerPool, folder: Path
) -> None:
    body = json.dumps({"text": "left"}).encode()
    head = b"POST /api/parse HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    with ThreadPoolExecutor(1) as threads:
        first = held(threads, client, "d")
        until((folder / "began-d").exists)
        with connection(address) as line:
            line.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            until(lambda: pool.waiting == 1)
        until(lambda: pool.waiting == 0)
        assert not first.done()
        (folder / "end-d").touch()
        assert first.result().status_code == 200
    assert client.post("/api/tokenise", json={"text": "a"}).status_code == 200
    assert not (folder / "began-left").exists()


def test_a_fault_of_ours_has_the_shape_of_all_errors(client: httpx.Client) -> None:
    why = fault(client.post("/api/trees", json={"brackets": "(A a)"}), 500)
    assert "fault of the service" in why
    assert "ZeroDivision" not in why


def test_a_body_in_pieces_is_refused_as_soon_as_it_is_too_long(address: str) -> None:
    head = b"POST /api/trees HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    piece = b"3e9\r\n" + b" " * 1001 + b"\r\n"
    # the rest, even its end, is never sent
    assert "2,000 bytes" in fault(raw(address, head, piece, piece), 413)


def test_a_body_that_does_not_come_is_not_waited_for(pool: WorkerPool, serve: Serve) -> None:
    head = b"POST /api/trees HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
    with serve(pool=pool, body_seconds=0.1) as address:
        answer = raw(address, head, b'{"brackets": ')
    assert "after 0.1 seconds" in fault(answer, 408)
    assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("half", [b"", b"GET /api/hea", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_headers_that_do_not_come_are_not_waited_for(
    half: bytes, pool: WorkerPool, serve: Serve
) -> None:
    with serve(pool=pool, header_seconds=0.1) as address, connection(address) as line:
        line.sendall(half)
        assert line.recv(1 << 16) == b""  # the server hangs up; else this waits for ever


def test_a_locked_store_stops_nobody_else(pool: WorkerPool, folder: Path, serve: Serve) -> None:
    path = folder / "a.db"
    with serve(pool=pool, annotations=str(path)) as address, new_client(address) as client:
        client.headers["X-Annotator"] = "Ada"
        assert client.get("/api/projects").status_code == 200
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with ThreadPoolExecutor(20) as threads:
            bodies = [{"name": f"project {k}", "task": "tags"} for k in range(20)]
            asked = [threads.submit(client.post, "/api/projects", json=body) for body in bodies]
            assert client.get("/api/health").status_code == 200
            assert client.get("/tools").status_code == 200
            assert client.get("/static/tools.js").status_code == 200
            other.execute("ROLLBACK")
            other.close()
            answers = [one.result() for one in asked]
        made = len(client.get("/api/projects").json()["projects"])
    assert made == sum(one.status_code == 200 for one in answers)
    for one in answers:  # who waited too long is told, and nothing was saved
        if one.status_code != 200:
            assert fault(one, 503)
            assert int(one.headers["retry-after"]) > 0
