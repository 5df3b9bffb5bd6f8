"""``POST /api/batch/JOB``: many requests in one, a line of JSON each; as many lines come back.

The flow: the body, as it arrives -> lines -> the same check and the same worker as of a single
call -> the same bytes, in the order of the lines, sent as soon as they are there.

1. As many lines are under way as there are workers, and no more is read meanwhile: however long
   the body is, it neither fills the queue nor the memory.  Where others fill the queue it waits.
2. What is wrong with one line is told in its place, in the shape of all errors; the rest goes on.
3. When the client leaves nothing more is begun; what was begun is finished.
4. A line has to be whole after the time that the body of a single call has, a client has so many
   batches at a time, and what is held of it counts as bytes in flight.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, TypeAlias

from fastapi import Path, Request
from pydantic import TypeAdapter, ValidationError
from starlette.responses import Response

from eigentext.errors import EigentextError
from eigentext.studio.service.answering import faults, jobs_of, told, told_invalid
from eigentext.studio.service.limits import TooMuchError
from eigentext.studio.service.middleware import client_of
from eigentext.studio.service.workers import BusyError, StartingError
from eigentext.studio.store.problems import MissingError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from fastapi import FastAPI
    from starlette.types import Receive, Scope, Send

    from eigentext.studio.service.limits import InFlight, RequestBytes
    from eigentext.studio.service.settings import ServiceSettings
    from eigentext.studio.service.workers import WorkerPool

_Answered: TypeAlias = "asyncio.Queue[asyncio.Future[bytes] | None]"

#: Where the paths of these routes begin: their bodies are read by themselves.
BATCH = "/api/batch/"

_KIND = "application/jsonl"
_LINES = {"type": "string"}
_AHEAD = 50_000  # bytes that are received before there is work on them
_PAUSE = 0.05  # seconds between attempts while others fill the queue


def add_batch(
    app: FastAPI,
    limits: ServiceSettings,
    pool: WorkerPool,
    larger: Mapping[str, int],
    flight: InFlight,
) -> None:
    """Add the route for the jobs that the application has; ``larger``: limits of some paths."""
    names = ", ".join(jobs_of(app))

    @app.post(
        BATCH + "{job:path}",
        name="batch",
        responses=faults(404)
        | {200: {"content": {_KIND: {"schema": _LINES}}, "description": "the answers"}},
        response_class=Response,
        openapi_extra={"requestBody": {"required": True, "content": {_KIND: {"schema": _LINES}}}},
        description="Many requests in one: a line of JSON for each, as a single call has it. As "
        "many lines come back, in the same order, each as soon as it is there: what the single "
        "call answers, or its error. Empty lines are passed over. At most "
        f"{limits.max_batch_bytes:,} bytes. Jobs: {names}.",
    )
    async def batch(
        call: Request, job: str = Path(max_length=60, description="such as `words/find`")
    ) -> Response:
        shapes = jobs_of(app)
        if job not in shapes:
            raise MissingError(f"no such job: {job[:60]!r}; there are {names}")
        if pool.starting:
            await pool.run(job)  # says how far it is
        most = larger.get(f"/api/{job}", limits.max_body_bytes)
        return _Answers(job, TypeAdapter(shapes[job]), pool, limits, most, flight)


class _Answers(Response):
    """The answer to a batch: it reads the body by itself while it is being sent."""

    media_type = _KIND

    def __init__(
        self,
        job: str,
        shape: TypeAdapter[Any],
        pool: WorkerPool,
        limits: ServiceSettings,
        most: int,
        flight: InFlight,
    ) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._job, self._shape, self._pool = job, shape, pool
        self._limits, self._most, self._flight = limits, most, flight

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        client, under_way = client_of(scope), self._flight.batches
        if under_way[client] >= self._limits.max_client_batches:
            why = f"at most {self._limits.max_client_batches} batches of one client at a time"
            await told(BusyError(why))(scope, receive, send)
            return
        under_way[client] += 1
        try:
            with self._flight.request(client) as held:
                await self._serve(_Body(receive, self._limits, held), send)
        finally:
            under_way[client] -= 1
            if not under_way[client]:
                del under_way[client]

    async def _serve(self, body: _Body, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        under_way = asyncio.Semaphore(self._pool.size)
        answers: _Answered = asyncio.Queue()
        receiving = asyncio.ensure_future(body.receive_all())
        working = asyncio.ensure_future(self._work(body, under_way, answers))
        sending = asyncio.ensure_future(self._send(send, under_way, answers))
        try:
            # receiving ends when the client leaves, sending when all is sent
            await asyncio.wait({receiving, sending}, return_when=asyncio.FIRST_COMPLETED)
            for task in (receiving, sending):
                if task.done():
                    task.result()
        finally:
            for task in (receiving, working, sending):
                task.cancel()
            while not answers.empty():
                if (answer := answers.get_nowait()) is not None:
                    answer.cancel()

    async def _work(self, body: _Body, under_way: asyncio.Semaphore, answers: _Answered) -> None:
        """Begin the work on one line after the other."""
        try:
            async for line in cut_lines(body.chunks(), self._most, body.keep):
                await under_way.acquire()
                answers.put_nowait(asyncio.ensure_future(self._answer(line, body)))
        except (TooMuchError, BusyError) as error:
            answers.put_nowait(asyncio.ensure_future(_said(told(error).body)))
        finally:
            answers.put_nowait(None)

    async def _answer(self, line: bytes | None, body: _Body) -> bytes:
        """What a single call with this line would be answered."""
        if line is None:
            why = f"the request is longer than {self._most:,} bytes, the most that is read"
            return bytes(told(TooMuchError(why)).body)
        try:
            body.work_on(len(line))
            return await self._worked(line)
        except BusyError as error:
            return bytes(told(error).body)
        finally:
            body.work_on(-len(line))

    async def _worked(self, line: bytes) -> bytes:
        try:
            request = self._request(line)
        except ValidationError as error:
            return bytes(told_invalid(error.errors()).body)
        while True:
            try:
                answer: bytes = await self._pool.run(self._job, request, self._limits)
                return answer
            except Exception as error:
                busy = isinstance(error, BusyError) and not isinstance(error, StartingError)
                if not busy or self._pool.closed:
                    return bytes(told(error).body)
            await asyncio.sleep(_PAUSE)

    def _request(self, line: bytes) -> Any:
        """The request of a line, checked as the body of a single call is."""
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValidationError.from_exception_data(
                self._job,
                [{"type": "json_invalid", "loc": ("body",), "input": "", "ctx": {"error": "x"}}],
            ) from error
        return self._shape.validate_python(content, from_attributes=True)

    async def _send(self, send: Send, under_way: asyncio.Semaphore, answers: _Answered) -> None:
        while (answer := await answers.get()) is not None:
            body = await answer + b"\n"
            await send({"type": "http.response.body", "body": body, "more_body": True})
            under_way.release()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class _Body:
    """A body that arrives while it is worked on, within the limits of size and time.

    It is received a little ahead of the work, so that a client that leaves is noticed.
    """

    def __init__(self, receive: Receive, limits: ServiceSettings, held: RequestBytes) -> None:
        self._receive = receive
        self._limits = limits
        self._there: asyncio.Queue[bytes | EigentextError | None] = asyncio.Queue()
        self._count = held
        self._held = 0  # bytes that wait for the work
        self._line = 0  # of a line whose end is not there
        self._work = 0  # of those that are worked on
        self._room = asyncio.Event()

    async def receive_all(self) -> None:
        """Receive what there is, then wait until the client leaves."""
        try:
            async for chunk in self._arriving():
                self._there.put_nowait(chunk)
                self._held += len(chunk)
                self._counted()
                while self._held > _AHEAD:
                    self._room.clear()
                    await self._room.wait()
        except ConnectionResetError:
            return
        except (TooMuchError, BusyError) as error:
            self._there.put_nowait(error)
        self._there.put_nowait(None)
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _arriving(self) -> AsyncIterator[bytes]:
        total, more, limits = 0, True, self._limits
        clock = asyncio.get_running_loop().time
        seconds = limits.body_seconds
        of_line = of_all = 0.0  # seconds that the client was waited for
        while more:
            left = min(seconds - of_line, seconds + total / limits.least_bytes_a_second - of_all)
            began = clock()
            try:
                async with asyncio.timeout(left):
                    message = await self._receive()
            except TimeoutError:
                why = "the request comes too slowly: no line of it is waited for longer than "
                raise TooMuchError(f"{why}{seconds:g} seconds") from None
            passed = clock() - began
            of_all += passed
            of_line = 0.0 if b"\n" in message.get("body", b"") else of_line + passed
            if message["type"] != "http.request":
                raise ConnectionResetError
            total += len(message.get("body", b""))
            if total > limits.max_batch_bytes:
                why = f"the request is longer than {limits.max_batch_bytes:,} bytes"
                raise TooMuchError(f"{why}: no more is read")
            yield message.get("body", b"")
            more = message.get("more_body", False)

    async def chunks(self) -> AsyncIterator[bytes]:
        """What was received, as it comes."""
        while (chunk := await self._there.get()) is not None:
            if isinstance(chunk, EigentextError):
                raise chunk
            self._held -= len(chunk)
            self._room.set()
            yield chunk

    def keep(self, n: int) -> None:
        """So much of a line is kept until its end comes."""
        self._line = n
        self._counted()

    def work_on(self, n: int) -> None:
        """So much more is worked on, or less."""
        self._work += n
        self._counted()

    def _counted(self) -> None:
        self._count.hold(self._held + self._line + self._work)


async def _said(content: bytes | memoryview) -> bytes:
    return bytes(content)


async def cut_lines(
    chunks: AsyncIterator[bytes], most: int, keep: Callable[[int], object] = lambda _: None
) -> AsyncIterator[bytes | None]:
    """The lines that are not empty, without their ends; None for one of more than ``most`` bytes.

    What is too long is not kept; ``keep`` is told how much is.
    """
    line, too_long = bytearray(), False
    async for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            line += piece
            keep(0)
            if too_long or len(line) > most:
                yield None
            elif line.strip():
                yield bytes(line)
            line, too_long = bytearray(), False
        line += rest
        if len(line) > most:
            line, too_long = bytearray(), True
        keep(len(line))
    if too_long:
        yield None
    elif line.strip():
        yield bytes(line)
