"""``/api/batch``: the bytes of single calls, in order, as they come; and clients that leave."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.studio.service.batch import cut_lines
from eigentext.studio.service.workers import WorkerPool
from helpers.jobs_on_hold import build
from helpers.waiting import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from starlette.testclient import TestClient

LONG = 600.0


def batch(client: TestClient, job: str, *lines: str) -> list[bytes]:
    answer = client.post(f"/api/batch/{job}", content="\n".join(lines).encode())
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/jsonl"
    assert answer.content.endswith(b"\n") or not answer.content
    return answer.content.splitlines()


def one(client: TestClient, job: str, line: str) -> httpx.Response:
    kind = {"Content-Type": "application/json"}
    answer: httpx.Response = client.post(f"/api/{job}", content=line, headers=kind)
    return answer


ODD = [
    '{"text": "Dr. Low can\'t come. Why?"}',
    '{"text": 3}',
    '{"text": "a", "more": 1}',
    "{}",
    "null",
    "[1]",
    '"text"',
    "{not json",
    '{"text": "\\ud800"}',
    '{"text": "a", "scheme": "klingon"}',
    '{"text": "' + "x" * 2001 + '"}',
    '{"text": "<script>alert(1)</script> \u202eabc 😀"}',
]


@pytest.mark.parametrize("job", ["tokenise", "parse", "lex/rank", "pipe", "read"])
def test_a_line_is_answered_as_a_single_call_is(
    job: str, connect: Callable[..., TestClient]
) -> None:
    client = connect(max_characters=2000)
    single = [one(client, job, line) for line in ODD]
    assert {answer.status_code for answer in single} > {422}
    assert batch(client, job, *ODD) == [answer.content for answer in single]


def test_every_job_has_its_batch(client: TestClient) -> None:
    tree = json.dumps({"brackets": "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"})
    (answer,) = batch(client, "trees", tree)
    assert answer == one(client, "trees", tree).content
    text = json.dumps({"text": "a b", "source_format": "tokens", "target_format": "conllu"})
    assert batch(client, "convert", text) == [one(client, "convert", text).content]
    schema = client.get("/openapi.json").json()["paths"]["/api/batch/{job}"]["post"]
    for job in ("trees", "convert", "tokenise", "parse", "pipe", "lex/rank", "read"):
        assert job in schema["description"]


def test_empty_lines_are_passed_over_and_the_order_is_kept(client: TestClient) -> None:
    lines = [json.dumps({"text": f"word{k} " * (1 + k % 7)}) for k in range(60)]
    answers = batch(client, "tokenise", "", *lines, "  ", "\r")
    found = [json.loads(line)["sentences"][0]["tokens"][0]["text"] for line in answers]
    assert found == [f"word{k}" for k in range(60)]
    assert batch(client, "tokenise") == []


def test_unknown_jobs_and_bodies_that_are_too_long(connect: Callable[..., TestClient]) -> None:
    client = connect(max_body_bytes=100, max_batch_bytes=1000)
    answer = client.post("/api/batch/no/such", content=b"{}")
    assert answer.status_code == 404
    assert "tokenise" in answer.json()["error"]["why"]
    long, short = json.dumps({"text": "x" * 200}), json.dumps({"text": "a"})
    first, second, third = map(json.loads, batch(client, "tokenise", short, long, short))
    assert "100 bytes" in second["error"]["why"]
    assert first == third == one(client, "tokenise", short).json()
    *_, last = map(json.loads, batch(client, "tokenise", *[short] * 100))
    assert "1,000 bytes" in last["error"]["why"]


@given(st.lists(st.binary(max_size=12)), st.data())
def test_lines_do_not_depend_on_how_the_body_is_cut(lines: list[bytes], data: Any) -> None:
    body = b"\n".join(lines)
    places = data.draw(st.lists(st.integers(0, len(body)), max_size=6).map(sorted))
    ends = [*places, len(body)]

    async def chunks() -> AsyncIterator[bytes]:
        for start, end in zip([0, *places], ends, strict=True):
            yield body[start:end]

    async def cut() -> list[bytes | None]:
        return [line async for line in cut_lines(chunks(), 8)]

    expected = [line if len(line) <= 8 else None for line in body.split(b"\n")]
    assert asyncio.run(cut()) == [one for one in expected if one is None or one.strip()]


class TestUnderWay:
    """Jobs that last until a file says so, in two workers."""

    @pytest.fixture
    def pool(self, tmp_path: Path) -> Iterator[WorkerPool]:
        pool = WorkerPool(
            partial(build, str(tmp_path)), size=2, waiting=3, patience=LONG, seconds=LONG
        )
        pool.start()
        yield pool
        pool.close()

    @pytest.fixture
    def address(self, pool: WorkerPool, serve: Callable[..., Any]) -> Iterator[str]:
        with serve(pool=pool) as address:
            yield address

    @staticmethod
    def lines(*names: str) -> bytes:
        return b"".join(json.dumps({"text": name}).encode() + b"\n" for name in names)

    def test_answers_come_as_they_are_ready_and_no_more_is_begun_than_workers_do(
        self, address: str, pool: WorkerPool, tmp_path: Path
    ) -> None:
        with (
            httpx.Client(base_url=address, timeout=LONG, trust_env=False) as client,
            client.stream("POST", "/api/batch/parse", content=self.lines(*"abcdef")) as answer,
        ):
            until((tmp_path / "began-b").exists)
            assert not (tmp_path / "began-c").exists()
            assert pool.waiting <= 1  # others have their place in the queue
            assert client.get("/api/health").json()["status"] == "ok"
            came = answer.iter_lines()
            (tmp_path / "end-b").touch()  # not before a
            (tmp_path / "end-a").touch()
            assert next(came) == '{"held": "a held"}'
            assert next(came) == '{"held": "b held"}'
            for name in "cdef":
                (tmp_path / f"end-{name}").touch()
            assert list(came) == [f'{{"held": "{name} held"}}' for name in "cdef"]

    def test_a_long_sentence_holds_up_nobody_else(self, address: str, tmp_path: Path) -> None:
        with (
            httpx.Client(base_url=address, timeout=LONG, trust_env=False) as client,
            ThreadPoolExecutor(1) as threads,
        ):
            long = threads.submit(client.post, "/api/parse", json={"text": "long"})
            until((tmp_path / "began-long").exists)
            for _ in range(5):
                answer = client.post("/api/tokenise", json={"text": "a b"})
                assert answer.json()["n_tokens"] == 2
            assert not long.done()
            (tmp_path / "end-long").touch()
            assert long.result().json() == {"held": "long held"}

    def test_a_full_queue_is_waited_for(
        self, address: str, pool: WorkerPool, tmp_path: Path
    ) -> None:
        with (
            httpx.Client(base_url=address, timeout=LONG, trust_env=False) as client,
            ThreadPoolExecutor(6) as threads,
        ):
            held = []
            for k in range(5):
                held.append(threads.submit(client.post, "/api/parse", json={"text": f"h{k}"}))
                if k < pool.size:
                    until((tmp_path / f"began-h{k}").exists)
            until(lambda: pool.waiting == 3)
            many = threads.submit(
                client.post, "/api/batch/tokenise", content=self.lines("a b", "c")
            )
            time.sleep(0.2)  # whether it has begun or not, it does not give up
            assert not many.done()
            for k in range(5):
                (tmp_path / f"end-h{k}").touch()
            assert [json.loads(one)["n_tokens"] for one in many.result().text.splitlines()] == [
                2,
                1,
            ]
            assert {one.result().status_code for one in held} == {200}

    def test_when_the_client_leaves_nothing_more_is_begun(
        self, address: str, pool: WorkerPool, tmp_path: Path
    ) -> None:
        url = httpx.URL(address)
        body = self.lines(*"abcdef")
        head = b"POST /api/batch/parse HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
        with socket.create_connection((url.host, url.port), timeout=LONG) as line:
            line.sendall(head % len(body) + body)
            until((tmp_path / "began-b").exists)
        with httpx.Client(base_url=address, timeout=LONG, trust_env=False) as client:
            client.get("/api/health")
            for name in "ab":
                (tmp_path / f"end-{name}").touch()
            # a job that is asked for later is done, and none of the batch has come before it
            for _ in range(4):
                assert client.post("/api/tokenise", json={"text": "a"}).status_code == 200
        until(lambda: pool.waiting == 0)
        assert not (tmp_path / "began-f").exists()

    def test_a_body_that_stops_coming_is_not_waited_for(
        self, pool: WorkerPool, serve: Callable[..., Any]
    ) -> None:
        with serve(pool=pool, body_seconds=0.2) as address:
            url = httpx.URL(address)
            head = b"POST /api/batch/tokenise HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n"
            with socket.create_connection((url.host, url.port), timeout=LONG) as line:
                line.sendall(head + self.lines("a b"))
                answer = b""
                while b"0.2 seconds" not in answer:
                    found = line.recv(65536)
                    assert found, answer
                    answer += found
        assert b'"n_tokens":2' in answer
