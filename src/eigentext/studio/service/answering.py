"""From a request to a worker and back, and what every error looks like on the way out.

Whatever goes wrong is answered in one shape, ``{"error": {"path", "line", "why"}}``; `MEANING`
says what each status means.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, PlainTextResponse, Response

from eigentext.errors import DataError, EigentextError
from eigentext.studio.api.schemas import ErrorAnswer
from eigentext.studio.service.identity import CrossSiteError, UnknownError
from eigentext.studio.service.limits import NoModelError, TooMuchError
from eigentext.studio.service.middleware import SECURITY_HEADERS, fault
from eigentext.studio.service.workers import BusyError, DeadlineError, StartingError
from eigentext.studio.store.accounts import LockedError, LoginError
from eigentext.studio.store.permissions import ForbiddenError
from eigentext.studio.store.problems import (
    ClosedError,
    ConflictError,
    MissingError,
    StoreBusyError,
    StoreError,
    StoreVersionError,
    TakenError,
)

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence

    from fastapi import FastAPI
    from pydantic import BaseModel

    from eigentext.base.types import Json
    from eigentext.studio.service.settings import ServiceSettings
    from eigentext.studio.service.workers import WorkerPool

T = TypeVar("T")

#: What each status of an error means.
MEANING = {
    400: "data that cannot be read, or a host name that is not the service's",
    401: "it is not known who is asking: log in, or give a token",
    403: "not allowed to the one who asks, or sent by a page of another site",
    404: "no such thing, or no model for it: the service was not given what this needs",
    408: "the body did not arrive in time",
    409: "not in the state that things are in",
    413: "more than the service takes",
    422: "a request that makes no sense",
    429: "too many wrong passwords",
    500: "a fault of the service",
    503: "the service is starting, or busy: Retry-After says how many seconds to wait; or its "
    "store of annotations cannot be reached",
    504: "it took longer than a request may, and was stopped",
}
_STATUS: dict[type[EigentextError], int] = {
    UnknownError: 401,
    LoginError: 401,
    LockedError: 429,
    CrossSiteError: 403,
    ForbiddenError: 403,
    ClosedError: 403,
    MissingError: 404,
    NoModelError: 404,
    ConflictError: 409,
    TakenError: 409,
    TooMuchError: 413,
    BusyError: 503,
    StartingError: 503,
    StoreError: 503,
    StoreBusyError: 503,
    StoreVersionError: 503,
    DeadlineError: 504,
}
_log = logging.getLogger(__name__)
_GONE = 499  # what logs of web servers say of clients that did not wait


def status_of(error: EigentextError, *, default: int = 422) -> int:
    """The status that answers an error."""
    return next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), default)


def faults(*more: int) -> dict[int | str, Json]:
    """The errors of a route, for its description: those of all routes, and more."""
    statuses = sorted({400, 404, 408, 413, 422, 500, 503, 504, *more})
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
    shape, answered = shapes
    pool, limits = workers
    jobs_of(app)[job] = shape

    async def work(call: Request, request: object) -> Response:
        return written(await unless_gone(call, pool.run(job, request, limits)))

    work.__annotations__.update(call=Request, request=shape)
    app.post(
        f"/api/{job}",
        name=job.rpartition("/")[2],
        response_model=answered,
        responses=faults(),
        description=description,
    )(work)


def jobs_of(app: FastAPI) -> dict[str, type[BaseModel]]:
    """The jobs of an application by name, and the shapes of their requests."""
    if not hasattr(app.state, "jobs"):
        app.state.jobs = {}
    jobs: dict[str, type[BaseModel]] = app.state.jobs
    return jobs


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
        return told(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        return told_invalid([{**details, "loc": details["loc"][1:]} for details in error.errors()])

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> Response:
        return fault(error.status_code, str(error.detail), headers=error.headers)

    @app.exception_handler(Exception)
    async def unforeseen(_: Request, error: Exception) -> Response:
        # no middleware sees this answer; the server writes the traceback to its log
        answer = told(error)
        answer.headers.update(SECURITY_HEADERS)
        return answer


def told(error: Exception) -> Response:
    """The answer to a request that went wrong so."""
    if isinstance(error, DataError):
        return fault(400, error.why, path=error.path, line=error.line)
    if not isinstance(error, EigentextError):
        return fault(500, "a fault of the service, not of the request; its log tells more")
    if isinstance(error, ConflictError):
        return _conflict(error)
    busy = isinstance(error, BusyError | StoreError)
    headers = {"Retry-After": str(BusyError.retry_after)} if busy else None
    return fault(status_of(error), in_words(error), headers=headers)


def told_plainly(error: EigentextError) -> Response:
    """The same as plain text, for programs that speak another language than ours."""
    headers = {"Retry-After": str(error.retry_after)} if isinstance(error, BusyError) else None
    return PlainTextResponse(f"{error}\n", status_of(error, default=400), headers)


def in_words(error: EigentextError) -> str:
    """What a client is told of an error.

    Where the store lies is nobody's business but the log's, which has no password in it either.

    >>> in_words(StoreBusyError("another program has team.db to itself"))
    'the store of annotations is busy; nothing was saved: try again later'
    """
    if not isinstance(error, StoreError):
        return str(error)
    _log.error("the store of annotations: %s", error)
    if isinstance(error, StoreBusyError):
        return "the store of annotations is busy; nothing was saved: try again later"
    return "the store of annotations cannot be reached: try again later"


def told_invalid(errors: Sequence[Mapping[str, Any]]) -> Response:
    """The answer to a request that does not have the shape of its job: the first of its faults.

    ``loc`` of a fault says where it is within the body.
    """
    first = errors[0]
    if first["type"] == "json_invalid":
        return fault(422, "the body is not valid JSON")
    location = ".".join(str(part) for part in first["loc"]) or "body"
    return fault(422, f"{location}: {first['msg']}")


def _conflict(error: ConflictError) -> Response:
    """What was stored meanwhile goes with the refusal, so that a page can show it."""
    changes = [decision._asdict() for decision in error.changes]
    for change in changes:
        change["by"] = None  # a page that may know names asks for the history
    why = {"path": "request", "line": None, "why": str(error)}
    content = {"error": why, "conflict": {"version": error.version, "changes": changes}}
    return JSONResponse(content, status_code=409)
