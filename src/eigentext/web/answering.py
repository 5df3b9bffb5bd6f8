"""From a request to a worker and back, and what every error looks like on the way out.

Whatever goes wrong is answered in one shape, ``{"error": {"path", "line", "why"}}``; `MEANING`
says what each status means.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from eigentext.errors import DataError, EigentextError
from eigentext.web.annotating import ConflictError, NotThereError
from eigentext.web.annotations import StoreError
from eigentext.web.limits import NoModelError, TooMuchError
from eigentext.web.middleware import SECURITY_HEADERS, fault
from eigentext.web.schemas import ErrorAnswer
from eigentext.web.workers import BusyError, DeadlineError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from fastapi import FastAPI
    from pydantic import BaseModel

    from eigentext.web.settings import ServiceSettings
    from eigentext.web.workers import WorkerPool

__all__ = [
    "MEANING",
    "add_job",
    "answer_errors",
    "faults",
    "status_of",
    "unless_gone",
    "written",
]

T = TypeVar("T")

#: What each status of an error means.
MEANING = {
    400: "data that cannot be read, or a host name that is not the service's",
    404: "no such text",
    408: "the body did not arrive in time",
    409: "not in the state that things are in",
    413: "more than the service takes",
    422: "a request that makes no sense",
    500: "a fault of the service",
    503: "the service was not given what this needs, or is busy: then Retry-After says how many "
    "seconds to wait",
    504: "it took longer than a request may, and was stopped",
}
_STATUS: dict[type[EigentextError], int] = {
    NotThereError: 404,
    ConflictError: 409,
    TooMuchError: 413,
    BusyError: 503,
    NoModelError: 503,
    StoreError: 503,
    DeadlineError: 504,
}
_GONE = 499  # what logs of web servers say of clients that did not wait


def status_of(error: EigentextError, *, default: int = 422) -> int:
    """The status that answers an error."""
    return _STATUS.get(type(error), default)


def faults(*more: int) -> dict[int | str, dict[str, Any]]:
    """The errors of a route, for its description: those of all routes, and more."""
    statuses = sorted({400, 408, 413, 422, 500, 503, 504, *more})
    return {status: {"model": ErrorAnswer, "description": MEANING[status]} for status in statuses}


def written(content: bytes) -> Response:
    """An answer that is JSON already."""
    return Response(content, media_type="application/json")


def add_job(
    app: FastAPI,
    job: str,
    shapes: tuple[type[BaseModel], type[BaseModel]],
    workers: tuple[WorkerPool, ServiceSettings],
    description: str,
) -> None:
    """Add ``POST /api/JOB``, answered by a worker; ``shapes`` are those of request and answer."""
    asked, answered = shapes
    pool, limits = workers

    async def work(call: Request, request: Any) -> Response:
        return written(await unless_gone(call, pool.run(job, request, limits)))

    work.__annotations__.update(call=Request, request=asked)
    app.post(
        f"/api/{job}",
        name=job.rpartition("/")[2],
        response_model=answered,
        responses=faults(),
        description=description,
    )(work)


async def unless_gone(call: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of the work; when the client leaves, the work is given up."""
    doing = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(call))
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise HTTPException(_GONE, "the client has gone")
        return doing.result()
    finally:
        doing.cancel()
        leaving.cancel()


async def _left(call: Request) -> None:
    while (await call.receive())["type"] != "http.disconnect":
        pass


def answer_errors(app: FastAPI) -> None:
    """One shape for every error; nothing of what the client sent is echoed but data faults."""

    @app.exception_handler(EigentextError)
    async def ours(_: Request, error: EigentextError) -> Response:
        if isinstance(error, DataError):
            return fault(400, error.why, path=error.path, line=error.line)
        headers = {"Retry-After": str(error.retry_after)} if isinstance(error, BusyError) else None
        return fault(status_of(error), str(error), headers=headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            return fault(422, "the body is not valid JSON")
        location = ".".join(str(part) for part in first["loc"][1:]) or "body"
        return fault(422, f"{location}: {first['msg']}")

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> Response:
        return fault(error.status_code, str(error.detail), headers=error.headers)

    @app.exception_handler(Exception)
    async def unforeseen(_: Request, error: Exception) -> Response:
        # no middleware sees this answer; the server writes the traceback to its log
        why = "a fault of the service, not of the request; its log tells more"
        return fault(500, why, headers=SECURITY_HEADERS)
