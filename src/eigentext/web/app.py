"""The application: routes, limits and pages.

The flow of a request: `SecurityHeaders` -> `HostNames` -> `BodyLimit` -> validation -> a job of
`jobs`, done by a worker of the pool -> JSON (`answering`).  The server itself computes nothing, so
that health and pages are there whatever the workers do.  There is no other state than the
settings, the models of the workers, and the file of annotations.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from importlib.resources import as_file, files
from importlib.util import find_spec
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.responses import FileResponse
from starlette.staticfiles import StaticFiles

import eigentext
from eigentext.corpus.tokenise import SCHEMES
from eigentext.errors import SettingsError
from eigentext.formats.convert import FORMATS
from eigentext.web import is_loopback
from eigentext.web.annotating import AnnotationService
from eigentext.web.answering import add_job, answer_errors
from eigentext.web.jobs import builder
from eigentext.web.lexical_routes import add_lexical
from eigentext.web.middleware import BodyLimit, HostNames, SecurityHeaders
from eigentext.web.pipe_routes import LARGE, add_pipes
from eigentext.web.schemas import (
    ConvertAnswer,
    ConvertRequest,
    DependencyAnswer,
    DependencyRequest,
    Health,
    TokeniseAnswer,
    TokeniseRequest,
    TreesAnswer,
    TreesRequest,
)
from eigentext.web.settings import ServiceSettings
from eigentext.web.workers import WorkerPool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

__all__ = ["create_app", "make_pool", "serve"]

_SHUTDOWN_SECONDS = 5  # for requests that are being answered when the server is stopped


def make_pool(settings: ServiceSettings) -> WorkerPool:
    """The workers of a service with these settings; they start when they are needed."""
    if settings.lex_analyzer is not None and settings.lex_model is None:
        raise SettingsError("--lex-analyzer needs --lex-model, a file of `eigentext lex train`")
    return WorkerPool(
        builder(settings),
        size=settings.workers,
        waiting=settings.max_waiting,
        patience=settings.seconds,
        seconds=settings.seconds,
    )


def create_app(
    settings: ServiceSettings | None = None, *, pool: WorkerPool | None = None
) -> FastAPI:
    """Make the application with its routes, page and limits.

    Without a ``pool`` it has one of its own, which starts and ends with the server.

    >>> sorted(create_app().openapi()["paths"])
    ['/api/convert', '/api/dep/parse', '/api/health', '/api/lex/documents', \
'/api/lex/documents/{number}', '/api/lex/documents/{number}/decisions', \
'/api/lex/documents/{number}/undo', '/api/lex/export', '/api/lex/rank', '/api/pipe', \
'/api/tokenise', '/api/trees']
    """
    limits = settings or ServiceSettings()
    workers = pool or make_pool(limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await workers.facts()
        yield
        if pool is None:
            await asyncio.to_thread(workers.close)

    app = FastAPI(
        title="eigentext",
        version=eigentext.__version__,
        summary="Trees, dependencies and tokens: the functions of the command line over HTTP.",
        docs_url=None,  # FastAPI's pages load their scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.add_middleware(
        BodyLimit,
        max_bytes=limits.max_body_bytes,
        seconds=limits.body_seconds,
        larger=dict.fromkeys(LARGE, limits.max_pipe_body_bytes),
    )
    app.add_middleware(HostNames, allowed_hosts=limits.allowed_hosts)
    app.add_middleware(SecurityHeaders)
    answer_errors(app)
    annotations = AnnotationService(limits, workers)
    _add_api(app, limits, workers)
    add_pipes(app, limits, workers)
    add_lexical(app, limits, workers, annotations)
    _add_health(app, limits, workers, annotations)
    with as_file(files("eigentext.web") / "static") as static:
        _add_pages(app, static)
    return app


def serve(
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    settings: ServiceSettings | None = None,
    log_level: str = "info",
) -> None:
    """Serve the application until interrupted.

    On a loopback address, unless the settings name hosts, the service answers to the names of this
    machine only, so that a page elsewhere cannot reach it under a name of its own.
    """
    import uvicorn

    from eigentext.web.protocol import protocol

    chosen = settings or ServiceSettings()
    if is_loopback(host) and chosen.allowed_hosts == ("*",):
        own_names = tuple(dict.fromkeys(["localhost", "127.0.0.1", "[::1]", host]))
        chosen = chosen.model_copy(update={"allowed_hosts": own_names})
    pool = make_pool(chosen)
    try:
        app = create_app(chosen, pool=pool)
        pool.start()  # a model that cannot be loaded is told here, before anything listens
        uvicorn.run(
            app,
            host=host,
            port=port,
            log_level=log_level,
            server_header=False,
            http=protocol(chosen.header_seconds),
            ws="none",  # nothing here speaks WebSocket
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
    finally:
        pool.close()


def _add_api(app: FastAPI, limits: ServiceSettings, pool: WorkerPool) -> None:
    characters = f"At most {limits.max_characters:,} characters."
    add_job(
        app,
        "convert",
        (ConvertRequest, ConvertAnswer),
        (pool, limits),
        f"Turn sentences in one format into another. {characters}",
    )
    add_job(
        app,
        "tokenise",
        (TokeniseRequest, TokeniseAnswer),
        (pool, limits),
        "Split raw text into sentences and tokens that know where they stood. " + characters,
    )
    add_job(
        app,
        "trees",
        (TreesRequest, TreesAnswer),
        (pool, limits),
        "Clean, binarise and draw trees, and turn them into dependencies. "
        f"{characters} At most {limits.max_trees:,} trees.",
    )
    add_job(
        app,
        "dep/parse",
        (DependencyRequest, DependencyAnswer),
        (pool, limits),
        f"Parse raw text or tokens to dependency trees. {characters} "
        f"At most {limits.max_trees:,} sentences, each of at most {limits.max_words:,} words, and "
        f"at most {limits.max_tree_words:,} words times `kbest`.",
    )


def _add_health(
    app: FastAPI, limits: ServiceSettings, pool: WorkerPool, annotations: AnnotationService
) -> None:
    plots = find_spec("matplotlib") is not None

    @app.get("/api/health")
    async def health() -> Health:
        """Say what this service is and can do; no worker is asked."""
        facts = await pool.facts()
        there = {
            "plots": plots,
            "dep/parse": facts.parses,
            "pipe": bool(facts.pipes),
            "lex/rank": facts.language is not None,
            "lex/annotate": annotations.ready,
        }
        return Health(
            status="ok",
            version=eigentext.__version__,
            features=["convert", "tokenise", "trees", *(name for name in there if there[name])],
            schemes=list(SCHEMES),
            formats=list(FORMATS),
            limits={
                "characters": limits.max_characters,
                "trees": limits.max_trees,
                "words": limits.max_words,
                "tree_words": limits.max_tree_words,
                "ranked_words": limits.max_ranked_words,
                "pipe_characters": limits.max_pipe_characters,
            },
            seconds=limits.seconds,
            waiting=pool.waiting,
            language=facts.language,
            pipes=[pipe.name for pipe in facts.pipes],
        )


def _add_pages(app: FastAPI, static: Path) -> None:
    @app.get("/", include_in_schema=False)
    async def bench() -> FileResponse:
        """Send the tree bench."""
        return FileResponse(static / "index.html")

    app.mount("/static", StaticFiles(directory=static), name="static")
