"""Bytes in flight: clients that send much, slowly and to no end, against a server of its own."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from eigentext.studio.service.batch import _Body
from eigentext.studio.service.limits import FREE_BYTES, InFlight, TooMuchError
from eigentext.studio.service.settings import ServiceSettings
from eigentext.studio.service.workers import BusyError
from helpers.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import Message

LONG = 600.0
MEGA = 1_000_000
PROGRAM = """
import sys
from eigentext.studio.service.app import serve
from eigentext.studio.service.settings import ServiceSettings
serve(port=0, settings=ServiceSettings(workers=1, body_seconds=600), log_level="critical",
      listening=lambda address: print(address, flush=True))
"""


class OwnServer:
    """A server in a process of its own, whose memory can be told."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.url = httpx.URL(self.process.stdout.readline().strip())
        with self.client() as client:
            until(lambda: client.get("/api/health").json()["status"] == "ok")
            assert client.post("/api/tokenise", json={"text": "a"}).status_code == 200
        self.before = self.peak()

    def client(self, source: str = "127.0.0.1") -> httpx.Client:
        how = httpx.HTTPTransport(local_address=source)
        return httpx.Client(base_url=self.url, timeout=LONG, transport=how, trust_env=False)

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        where = (self.url.host, int(self.url.port or 0))
        return socket.create_connection(where, LONG, (source, 0))

    def peak(self) -> int:
        """The most memory that it had, in bytes."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if "VmHWM" in line)


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    made = OwnServer()
    with made.process:
        yield made
        made.process.terminate()


def head(path: str, length: int) -> bytes:
    first = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{first}Content-Length: {length}\r\n\r\n".encode()


def flooded(server: OwnServer, path: str, length: int, sources: list[str]) -> bytes:
    """Nearly whole bodies of 80 connections, while others are answered; what the 80 are told."""
    told = b""
    with ExitStack() as stack:
        lines = []
        for k in range(80):
            line = stack.enter_context(server.connect(sources[k % len(sources)]))
            lines.append(line)
            with suppress(OSError):  # those that are refused
                line.sendall(head(path, length + 10) + b"x" * length)
        with server.client() as mine, server.client("127.0.1.1") as other:
            for client in (mine, other):
                answer = client.post("/api/tokenise", json={"text": "It rains."})
                assert answer.status_code == 200
                assert client.get("/api/health").status_code == 200
        for line in lines:
            line.setblocking(False)
            with suppress(OSError):
                told += line.recv(65536)
    return told


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the memory of a process")
@pytest.mark.parametrize("clients", [1, 40])
def test_half_sent_bodies_do_not_fill_the_memory(server: OwnServer, clients: int) -> None:
    sources = [f"127.0.0.{k + 1}" for k in range(clients)]
    told = flooded(server, "/api/pipe", 7_900_000, sources)
    assert server.peak() - server.before < 150 * MEGA  # 620 without a budget
    assert b"503" in told
    # what the budget is for can be sent again
    with server.client() as client:
        body = json.dumps({"text": "x" * 5 * MEGA})
        until(lambda: client.post("/api/pipe", content=body).status_code != 503)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the memory of a process")
@pytest.mark.parametrize("clients", [1, 40])
def test_lines_without_an_end_do_not_fill_the_memory(server: OwnServer, clients: int) -> None:
    sources = [f"127.0.0.{k + 1}" for k in range(clients)]
    told = flooded(server, "/api/batch/pipe", 7_900_000, sources)
    assert server.peak() - server.before < 150 * MEGA
    if clients == 1:
        assert b"at most 4 batches of one client" in told
        assert b"\r\nretry-after: " in told.lower()
    else:
        assert b"too many long requests" in told


@pytest.mark.parametrize(
    ("sent", "least"),
    [
        (b"x", 1.0),  # a line whose end does not come
        (b"\n", 1e6),  # lines in plenty, but of nothing
    ],
)
def test_a_byte_now_and_then_does_not_hold_a_batch(
    serve: Callable[..., Any], sent: bytes, least: float
) -> None:
    with serve(body_seconds=0.5, least_bytes_a_second=least) as address:
        url = httpx.URL(address)
        with socket.create_connection((url.host, url.port), LONG) as line:
            line.sendall(head("/api/batch/tokenise", 10_000))
            line.settimeout(0.02)
            answer = b""
            for _ in range(400):
                with suppress(TimeoutError):
                    answer += line.recv(65536)
                if b"too slowly" in answer:
                    break
                line.sendall(sent)
    assert b"no line of it is waited for longer than 0.5 seconds" in answer


@pytest.mark.parametrize(
    ("sent", "n"),
    [
        (b"123456789\n", 50),  # each line has the time anew
        (b"1234567890", 2),  # 18 seconds
        (b"12345\n", 4),  # 36: 20, and one for each of 18 bytes
    ],
)
def test_how_long_a_batch_is_waited_for(sent: bytes, n: int) -> None:
    """By a clock that goes 9 seconds with every piece of the body."""
    now = 0.0
    pieces = 0

    async def receive() -> Message:
        nonlocal now, pieces
        now += 9.0
        for _ in range(3):  # so that a time that is over is noticed
            await asyncio.sleep(0)
        pieces += 1
        return {"type": "http.request", "body": sent, "more_body": pieces < 50}

    async def arrived() -> int:
        asyncio.get_running_loop().time = lambda: now  # type: ignore[method-assign]
        limits = ServiceSettings(body_seconds=20.0, least_bytes_a_second=1.0)
        with InFlight(1000).request("ada") as held:
            body = _Body(receive, limits, held)
            with suppress(TooMuchError):
                async for _ in body._arriving():
                    pass
        return pieces

    assert asyncio.run(arrived()) == n


def test_a_client_has_so_many_batches_at_a_time(serve: Callable[..., Any]) -> None:
    with serve(max_client_batches=1) as address, ExitStack() as stack:
        url = httpx.URL(address)
        line = stack.enter_context(socket.create_connection((url.host, url.port), LONG))
        line.sendall(head("/api/batch/tokenise", 100))
        assert b"200 OK" in line.recv(65536)
        client = stack.enter_context(httpx.Client(base_url=address, trust_env=False))
        second = client.post("/api/batch/tokenise", content=b'{"text": "a"}')
        assert second.status_code == 503
        assert int(second.headers["Retry-After"]) > 0
        assert "at most 1 batches of one client" in second.json()["error"]["why"]
        line.close()

        def over() -> bool:
            answer = client.post("/api/batch/tokenise", content=b'{"text": "a"}')
            return answer.status_code == 200 and b'"n_tokens":1' in answer.content

        until(over)


def test_what_counts_of_a_request() -> None:
    flight = InFlight(1000)
    with flight.request("ada") as first, flight.request("ben") as second:
        first.hold(FREE_BYTES)
        assert flight.total == 0
        first.hold(FREE_BYTES + 500)
        with pytest.raises(BusyError, match="of yours"):
            first.hold(FREE_BYTES + 501)
        with flight.request("ada") as third, pytest.raises(BusyError, match="of yours"):
            third.hold(FREE_BYTES + 1)
        second.hold(FREE_BYTES + 500)
        with flight.request("eve") as third, pytest.raises(BusyError, match="too many long"):
            third.hold(FREE_BYTES + 1)
        assert flight.total == 1000
        first.hold(FREE_BYTES + 1)
        assert flight.by_client == {"ada": 1, "ben": 500}
    assert (flight.total, dict(flight.by_client)) == (0, {})
    first.hold(FREE_BYTES + 400)  # what goes on when the request is over
    assert flight.total == 0


def test_what_is_held_is_given_back_however_a_batch_ends(
    connect: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    flights: list[InFlight] = []
    make = InFlight.__init__

    def watched(self: InFlight, most: int) -> None:
        make(self, most)
        flights.append(self)

    monkeypatch.setattr(InFlight, "__init__", watched)
    client = connect(max_body_bytes=120_000, max_bytes_in_flight=600_000)
    assert flights.pop().most == 16_000_000  # two of the longest
    longest = {"max_body_bytes": 120_000, "max_pipe_body_bytes": 120_000}
    client = connect(**longest, max_bytes_in_flight=600_000)
    (flight,) = flights
    assert flight.most == 600_000
    long = json.dumps({"text": "x " * 45_000}).encode()
    lines = [long, b"x" * 100_000, b"y" * 130_000, b"", b'{"text": "a"}']
    answer = client.post("/api/batch/tokenise", content=b"\n".join(lines)).content.splitlines()
    assert [b"error" in one for one in answer] == [False, True, True, False], answer[1:]
    assert client.post("/api/tokenise", content=b"x" * 110_000).status_code == 422
    assert client.post("/api/tokenise", content=b"x" * 130_000).status_code == 413
    assert (flight.total, dict(flight.by_client), dict(flight.batches)) == (0, {}, {})
