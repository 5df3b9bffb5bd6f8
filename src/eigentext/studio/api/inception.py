"""``/api/inception/RECOMMENDER/predict`` and ``/train``: proposals for work in INCEpTION.

The flow, in a worker: the request's CAS -> sentences and what was annotated in them -> the model's
proposals under that -> the CAS back (`eigentext.studio.store.inception`).  The models are those of
the first pipeline.  Models that INCEpTION trains go to a folder (``inception``), one for each
recommender, each written under a temporary name; every worker takes the newest.

Where there are accounts it takes a token, of an annotator for proposals and of an adjudicator for
models.  INCEpTION sends nothing but its URL, so that may have the token in it (`TokenInPath`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi import Request  # noqa: TC002 - FastAPI reads it at run time
from starlette.responses import PlainTextResponse, Response

from eigentext.errors import DataError, EigentextError
from eigentext.studio.service.answering import status_of, unless_gone, written
from eigentext.studio.service.limits import NoModelError, TooMuchError
from eigentext.studio.service.workers import BusyError
from eigentext.studio.store.inception import RECOMMENDERS, examples, predict, task_of
from eigentext.studio.tasks import open_task

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp, Receive, Scope, Send

    from eigentext.studio.service.identity import Authenticator
    from eigentext.studio.service.models import Served
    from eigentext.studio.service.settings import ServiceSettings
    from eigentext.studio.service.workers import WorkerPool
    from eigentext.studio.tasks.task import Task

#: routes that take longer bodies than others
LARGE = tuple(
    f"/api/inception/{name}/{what}" for name in RECOMMENDERS for what in ("predict", "train")
)

_ROUTES, _TOKEN = "/api/inception/", "/api/inception/token/"


class TokenInPath:
    """Takes a token out of a path: nothing further in, and no log, has it there."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        path = scope.get("path", "")
        if scope["type"] == "http" and path.startswith(_TOKEN):
            secret, _, rest = path.removeprefix(_TOKEN).partition("/")
            # in the scope that the server has, too: it writes the path to its log
            scope["path"] = _ROUTES + rest
            scope["raw_path"] = quote(scope["path"]).encode()
            others = [pair for pair in scope["headers"] if pair[0] != b"authorization"]
            said = f"Bearer {secret}".encode("latin-1", "replace")
            scope["headers"] = [*others, (b"authorization", said)]
        await self.app(scope, receive, send)


class Recommenders:
    """The recommenders of a service, in a worker."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._tasks: dict[tuple[str, float], Task] = {}

    def predict(self, recommender: str, body: bytes, limits: ServiceSettings) -> bytes:
        """The answer to ``predict``."""
        request = _read(body, limits)
        task = self._task(recommender, limits)
        return json.dumps(predict(request, task, recommender)).encode()

    def train(self, recommender: str, body: bytes, limits: ServiceSettings) -> bytes:
        """Learn from the documents of ``train``; the answer is empty."""
        folder = limits.inception
        if folder is None:
            raise NoModelError(
                "this service keeps no models of INCEpTION's: start it with `--inception FOLDER`, "
                "or untick 'Trainable' in INCEpTION"
            )
        request = _read(body, limits)
        task_of(recommender)
        sentences = examples(request, recommender)
        if not sentences:
            raise DataError("request", None, "no sentence is annotated throughout")
        model = open_task(task_of(recommender)).train(sentences)
        Path(folder).mkdir(parents=True, exist_ok=True)
        model.save(_path(folder, recommender))
        return b""

    def _task(self, recommender: str, limits: ServiceSettings) -> Task:
        name = task_of(recommender)
        if limits.inception is not None:
            path = _path(limits.inception, recommender)
            if path.exists():
                key = recommender, path.stat().st_mtime
                if key not in self._tasks:
                    self._tasks = {k: v for k, v in self._tasks.items() if k[0] != recommender}
                    self._tasks[key] = open_task(name, path)
                return self._tasks[key]
        pipeline = self._served.get("pipeline")
        task = open_task(name, pipeline)
        if task.model is None:
            raise NoModelError(f"the pipeline of this service has no model for {recommender!r}")
        return task


def _path(folder: str, recommender: str) -> Path:
    return Path(folder) / f"{recommender}.model"


def _read(body: bytes, limits: ServiceSettings) -> Any:
    if len(body) > limits.max_pipe_body_bytes:
        raise TooMuchError(f"at most {limits.max_pipe_body_bytes:,} bytes are read")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise DataError("request", None, f"expected JSON: {error}") from error


def add_inception(
    app: FastAPI, limits: ServiceSettings, pool: WorkerPool, authenticator: Authenticator
) -> None:
    """Add the routes; INCEpTION's remote URL is ``/api/inception/ner`` and the like."""

    async def answered(call: Request, recommender: str, job: str, action: str) -> Response:
        try:
            identity = await authenticator.identify(call)
            identity.require(action)
            body = await call.body()
            answer = await unless_gone(call, pool.run(job, recommender, body, limits))
        except EigentextError as error:
            busy = isinstance(error, BusyError)
            headers = {"Retry-After": str(BusyError.retry_after)} if busy else None
            status = status_of(error, default=400)
            return PlainTextResponse(f"{error}\n", status_code=status, headers=headers)
        return written(answer) if answer else Response(status_code=204)

    @app.post("/api/inception/{recommender}/predict", include_in_schema=False)
    async def inception_predict(call: Request, recommender: str) -> Response:
        """INCEpTION asks for proposals."""
        return await answered(call, recommender, "inception/predict", "model.propose")

    @app.post("/api/inception/{recommender}/train", include_in_schema=False)
    async def inception_train(call: Request, recommender: str) -> Response:
        """INCEpTION sends what was annotated."""
        return await answered(call, recommender, "inception/train", "model.retrain")
