"""The application: routes, limits and pages.

The flow of a request: `TokenInPath` -> `SecurityHeaders` -> `HostNames` -> `BodyLimit` ->
validation -> a job of `jobs`, done by a worker of the pool -> JSON (`answering`).  The server
itself computes nothing, so that health and pages are there whatever the workers do.  There is no
other state than the settings, the models of the workers, and the file of annotations.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from socket import socket

from fastapi import FastAPI

from eigentext import version
from eigentext.errors import SettingsError
from eigentext.language.formats.registry import CONVERTIBLE
from eigentext.language.tokenise.tokens import SCHEMES
from eigentext.studio.api.account_routes import add_accounts
from eigentext.studio.api.annotate import AnnotateService
from eigentext.studio.api.annotate_routes import add_annotation
from eigentext.studio.api.inception import LARGE as INCEPTION
from eigentext.studio.api.inception import TokenInPath, add_inception
from eigentext.studio.api.job_routes import add_jobs
from eigentext.studio.api.schemas import Health, LoadingView, ModelsAnswer, ModelView
from eigentext.studio.api.udpipe import LARGE, add_udpipe
from eigentext.studio.pages.pages import add_pages, pages_missing, pages_there
from eigentext.studio.service import is_loopback
from eigentext.studio.service.answering import answer_errors
from eigentext.studio.service.batch import BATCH, add_batch
from eigentext.studio.service.identity import Authenticator
from eigentext.studio.service.jobs import ServiceFacts, builder
from eigentext.studio.service.limits import InFlight
from eigentext.studio.service.middleware import BodyLimit, HostNames, SecurityHeaders
from eigentext.studio.service.models import survey
from eigentext.studio.service.samples import SampleTraining
from eigentext.studio.service.settings import ServiceSettings
from eigentext.studio.service.workers import WorkerPool

_LIMITS = (
    *("characters", "trees", "words", "tree_words", "ranked_words"),
    *("pipe_characters", "neighbours", "map_words", "sequence_words"),
)
_NOT_STARTED = 3  # the exit code of uvicorn
_SWITCH_SECONDS = 0.0005
_SHUTDOWN_SECONDS = 5  # for requests that are being answered when the server is stopped


def make_pool(settings: ServiceSettings) -> WorkerPool:
    """The workers of a service with these settings; they start when they are needed.

    A model that is not there, or that no page knows, is told here.
    """
    facts = ServiceFacts(survey(settings))  # what the headers of the models say
    if settings.lex_analyzer is not None and not facts.of("lex"):
        raise SettingsError("--lex-analyzer needs --lex-model, a file of `eigentext lex train`")
    return WorkerPool(
        builder(settings, facts),
        expected=facts,
        size=settings.workers,
        waiting=settings.max_waiting,
        patience=settings.seconds,
        seconds=settings.seconds,
    )


def create_app(
    settings: ServiceSettings | None = None,
    *,
    pool: WorkerPool | None = None,
    say: Callable[[str], object] = lambda _: None,
) -> FastAPI:
    """Make the application with its routes, page and limits.

    Without a ``pool`` it has one of its own, which starts and ends with the server; the training
    of sample models does so in any case, and ``say`` is told how far it is.

    >>> "/api/health" in create_app().openapi()["paths"]
    True
    """
    limits = settings or ServiceSettings()
    workers = pool or make_pool(limits)
    samples = SampleTraining(limits, workers, say)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        workers.begin()
        samples.begin()
        yield
        await asyncio.to_thread(samples.close)
        await asyncio.to_thread(annotating.close)
        if pool is None:
            await asyncio.to_thread(workers.close)

    app = FastAPI(
        title="eigentext",
        version=version.VERSION,
        summary="Trees, dependencies and tokens: the functions of the command line over HTTP.",
        docs_url=None,  # FastAPI's pages load their scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    larger = dict.fromkeys((*LARGE, *INCEPTION), limits.max_pipe_body_bytes)
    flight = InFlight(
        max(limits.max_bytes_in_flight, 2 * max(limits.max_body_bytes, limits.max_pipe_body_bytes))
    )
    app.add_middleware(
        BodyLimit,
        max_bytes=limits.max_body_bytes,
        seconds=limits.body_seconds,
        flight=flight,
        larger=larger,
        streamed=BATCH,
    )
    app.add_middleware(HostNames, allowed_hosts=limits.allowed_hosts)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(TokenInPath)
    answer_errors(app)
    annotating = AnnotateService(limits, workers)
    authenticator = Authenticator(
        lambda: annotating.accounts,
        strict=limits.accounts,
        run=annotating.call,
        run_slowly=annotating.call_slowly,
    )
    add_jobs(app, limits, workers)
    add_udpipe(app, limits, workers)
    add_annotation(app, annotating, authenticator)
    add_accounts(app, annotating, authenticator)
    add_inception(app, limits, workers, authenticator)
    _add_health(app, limits, workers, annotating, samples)
    add_batch(app, limits, workers, larger, flight)
    add_pages(
        app,
        lambda: pages_there((*workers.known.models, *samples.coming), annotates=annotating.ready)[
            0
        ],
    )
    return app


def serve(
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    settings: ServiceSettings | None = None,
    log_level: str = "info",
    listening: Callable[[str], object] = lambda _: None,
    say: Callable[[str], object] = lambda _: None,
) -> None:
    """Serve the application until interrupted; ``listening`` is told the address.

    ``say`` is told how far the training of sample models is.

    On a loopback address, unless the settings name hosts, the service answers to the names of this
    machine only, so that a page elsewhere cannot reach it under a name of its own.  It listens
    while the models are being loaded, and tells how far that is; when one cannot be loaded it
    stops.
    """
    from uvicorn import Config, Server

    from eigentext.studio.service.protocol import protocol

    chosen = settings or ServiceSettings()
    if is_loopback(host) and chosen.allowed_hosts == ("*",):
        own_names = tuple(dict.fromkeys(["localhost", "127.0.0.1", "[::1]", host]))
        chosen = chosen.model_copy(update={"allowed_hosts": own_names})
    before = sys.getswitchinterval()
    pool = make_pool(chosen)  # a model that cannot be served is told here, if its header tells
    failed: list[Exception] = []
    try:
        # threads that wait for files and workers share the loop's process: with Python's own 5 ms
        # each of them may hold it up so long, and health is to answer whatever they do
        sys.setswitchinterval(_SWITCH_SECONDS)
        app = create_app(chosen, pool=pool, say=say)
        config = Config(
            app,
            host=host,
            port=port,
            log_level=log_level,
            server_header=False,
            http=protocol(chosen.header_seconds, chosen.max_client_connections),
            ws="none",  # nothing here speaks WebSocket
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )

        class Told(Server):
            async def startup(self, sockets: list[socket] | None = None) -> None:
                await super().startup(sockets)
                # the collector of garbage is to pass over what stays to the end: to go through it
                # takes a tenth of a second, in which no request is answered
                gc.collect()
                gc.freeze()
                if self.started:
                    listening(_address(host, self.servers[0].sockets[0].getsockname()[1]))

        server = Told(config)

        def loaded(error: Exception | None) -> None:
            if error is not None:
                failed.append(error)
                server.should_exit = True

        pool.begin(loaded)
        with suppress(KeyboardInterrupt):
            server.run()
        if failed:
            raise failed[0]
        if not server.started:
            sys.exit(_NOT_STARTED)
    finally:
        sys.setswitchinterval(before)
        gc.unfreeze()
        pool.close()


def _address(host: str, port: int) -> str:
    """Where a browser on this machine finds the service.

    >>> _address("0.0.0.0", 8000), _address("::1", 80)
    ('http://127.0.0.1:8000', 'http://[::1]:80')
    """
    local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - not bound here
    return f"http://[{local}]:{port}" if ":" in local else f"http://{local}:{port}"


def _add_health(
    app: FastAPI,
    limits: ServiceSettings,
    pool: WorkerPool,
    annotating: AnnotateService,
    samples: SampleTraining,
) -> None:
    plots = find_spec("matplotlib") is not None

    @app.get("/api/health")
    async def health() -> Health:
        """Say what this service is and can do; no worker is asked."""
        facts = await _known(pool)
        missing = pages_missing(facts.models)
        there = {
            "plots": plots,
            "parse": "parse" not in missing,
            "pipe": bool(facts.of("pipeline")),
            "lex/rank": bool(facts.of("lex")),
            "annotate": annotating.ready,
        }
        loading = pool.progress if pool.starting else None
        return Health(
            status="failed" if pool.failure else "starting" if pool.starting else "ok",
            loading=None if loading is None else LoadingView(**loading._asdict()),
            why=None if pool.failure is None else str(pool.failure),
            training=samples.progress if samples.progress.done < samples.progress.total else None,
            pages=pages_there((*facts.models, *samples.coming), annotates=annotating.ready),
            missing=missing,
            models=_models(facts),
            version=version.VERSION,
            features=["convert", "tokenise", "trees", *(name for name in there if there[name])],
            schemes=list(SCHEMES),
            formats=list(CONVERTIBLE),
            limits={name: getattr(limits, f"max_{name}") for name in _LIMITS},
            seconds=limits.seconds,
            waiting=pool.waiting,
            language=next((model.language for model in facts.of("lex")), None),
            pipes=[pipe.name for pipe in facts.of("pipeline")],
        )

    @app.get("/api/models")
    async def models() -> ModelsAnswer:
        """List the models of this service, their kinds, languages and licences."""
        return ModelsAnswer(models=_models(await _known(pool)))


async def _known(pool: WorkerPool) -> ServiceFacts:
    """The facts; while workers start in the background, what is expected of them."""
    facts: ServiceFacts = pool.known if pool.starting else await pool.facts()
    return facts


def _models(facts: ServiceFacts) -> list[ModelView]:
    return [ModelView.model_validate(model, from_attributes=True) for model in facts.models]
