"""Routes of UDPipe's service: ``/models`` and ``/process``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import JSONResponse, PlainTextResponse, Response

from eigentext.errors import EigentextError
from eigentext.studio.api.pipes import STAGES
from eigentext.studio.api.udpipe import Process, fields_of
from eigentext.studio.service.answering import status_of, unless_gone, written
from eigentext.studio.service.workers import BusyError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from eigentext.studio.service.settings import ServiceSettings
    from eigentext.studio.service.workers import WorkerPool

#: the routes of pipelines that take longer bodies than others
LARGE = ("/api/pipe", "/process")


def add_udpipe(app: FastAPI, limits: ServiceSettings, pool: WorkerPool) -> None:
    """Add the routes."""

    @app.api_route("/models", methods=["GET", "POST"], include_in_schema=False)
    async def models() -> Response:
        """UDPipe's list of models."""
        listed = {
            pipe.name: [STAGES[stage] for stage in pipe.can if stage in STAGES]
            for pipe in pool.known.of("pipeline")
        }
        return JSONResponse({"models": listed, "default_model": next(iter(listed), "")})

    @app.api_route("/process", methods=["GET", "POST"], include_in_schema=False)
    async def process(call: Request) -> Response:
        """UDPipe's way to annotate."""
        try:
            fields = fields_of(
                call.scope["query_string"], call.headers.get("Content-Type", ""), await call.body()
            )
            request = Process.of(fields)
            return written(await unless_gone(call, pool.run("udpipe", request, limits)))
        except EigentextError as error:
            busy = isinstance(error, BusyError)
            headers = {"Retry-After": str(BusyError.retry_after)} if busy else None
            status = status_of(error, default=400)
            return PlainTextResponse(f"{error}\n", status_code=status, headers=headers)
