"""The application: routes, limits and errors.

The flow of a request: `SecurityHeaders` -> host names -> `BodyLimit` -> validation -> a function
of `views` -> JSON.  Whatever goes wrong on the way is answered in one shape,
``{"error": {"path", "line", "why"}}``: 400 for data that cannot be read, 413 for too much of it,
404 and 409 for stored texts that are not there or not in that state, 422 for a request that makes
no sense, 503 for one that needs a model or a file that the service was not given.
There is no other state than the settings, their models, and the file of annotations.
"""

from __future__ import annotations

from importlib.resources import as_file, files
from importlib.util import find_spec
from ipaddress import ip_address
from itertools import islice
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

import eigentext
from eigentext.corpus.tokenise import SCHEMES
from eigentext.errors import DataError, EigentextError
from eigentext.formats.convert import FORMATS
from eigentext.web.annotating import AnnotationService, ConflictError, NotThereError
from eigentext.web.annotations import StoreError
from eigentext.web.dependency import DependencyService, NoModelError, TooMuchError
from eigentext.web.lexical import LexicalService
from eigentext.web.lexical_routes import add_lexical
from eigentext.web.middleware import BodyLimit, SecurityHeaders, fault
from eigentext.web.schemas import (
    ConvertAnswer,
    ConvertRequest,
    DependencyAnswer,
    DependencyRequest,
    ErrorAnswer,
    Health,
    TokeniseAnswer,
    TokeniseRequest,
    TreesAnswer,
    TreesRequest,
)
from eigentext.web.settings import ServiceSettings
from eigentext.web.views import INPUT, converted, numbered_trees, tokens_view, tree_view

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["create_app", "serve"]

_FAULTS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer} for status in (400, 413, 422)
}
_STATUS: dict[type[EigentextError], int] = {
    NotThereError: 404,
    ConflictError: 409,
    TooMuchError: 413,
    NoModelError: 503,
    StoreError: 503,
}


def create_app(settings: ServiceSettings | None = None) -> FastAPI:
    """Make the application with its routes, page and limits.

    >>> sorted(create_app().openapi()["paths"])
    ['/api/convert', '/api/dep/parse', '/api/health', '/api/lex/documents', \
'/api/lex/documents/{number}', '/api/lex/documents/{number}/decisions', \
'/api/lex/documents/{number}/undo', '/api/lex/export', '/api/lex/rank', '/api/tokenise', \
'/api/trees']
    """
    limits = settings or ServiceSettings()
    app = FastAPI(
        title="eigentext",
        version=eigentext.__version__,
        summary="Trees, dependencies and tokens: the functions of the command line over HTTP.",
        docs_url=None,  # FastAPI's pages load their scripts from elsewhere
        redoc_url=None,
    )
    app.add_middleware(BodyLimit, max_bytes=limits.max_body_bytes)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(limits.allowed_hosts))
    app.add_middleware(SecurityHeaders)
    _answer_errors(app)
    dependencies = DependencyService(limits)
    lexical = LexicalService(limits)
    annotations = AnnotationService(limits, lexical)
    _add_api(app, limits, dependencies)
    add_lexical(app, lexical, annotations)
    _add_health(app, limits, dependencies, lexical, annotations)
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

    chosen = settings or ServiceSettings()
    if _is_loopback(host) and chosen.allowed_hosts == ("*",):
        own_names = tuple(dict.fromkeys(["localhost", "127.0.0.1", "[::1]", host]))
        chosen = chosen.model_copy(update={"allowed_hosts": own_names})
    uvicorn.run(
        create_app(chosen),
        host=host,
        port=port,
        log_level=log_level,
        server_header=False,
        ws="none",  # nothing here speaks WebSocket
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _add_api(app: FastAPI, limits: ServiceSettings, dependencies: DependencyService) -> None:
    def check_length(text: str) -> None:
        if len(text) > limits.max_characters:
            most = limits.max_characters
            raise TooMuchError(f"the text has {len(text):,} characters; at most {most:,} are read")

    @app.post("/api/convert", responses=_FAULTS)
    def convert(request: ConvertRequest) -> ConvertAnswer:
        """Turn sentences in one format into another."""
        check_length(request.text)
        return converted(
            request.text,
            request.source_format,
            request.target_format,
            head_rules=request.head_rules,
            strip=request.strip,
        )

    @app.post("/api/tokenise", responses=_FAULTS)
    def tokenise(request: TokeniseRequest) -> TokeniseAnswer:
        """Split raw text into sentences and tokens that know where they stood."""
        check_length(request.text)
        return tokens_view(
            request.text,
            request.scheme,
            one_per_line=request.one_per_line,
            escape_brackets=request.escape_brackets,
        )

    @app.post("/api/trees", responses=_FAULTS)
    def trees(request: TreesRequest) -> TreesAnswer:
        """Clean, binarise and draw trees, and turn them into dependencies."""
        check_length(request.brackets)
        found = list(islice(numbered_trees(request.brackets), limits.max_trees + 1))
        if len(found) > limits.max_trees:
            raise TooMuchError(
                f"found more than {limits.max_trees} trees, the most that are drawn"
            )
        if not found:
            raise DataError(INPUT, None, "found no tree; expected brackets such as (NP (NN dog))")
        views = [
            tree_view(
                line,
                tree,
                head_rules=request.head_rules,
                max_drawn_nodes=limits.max_drawn_nodes,
            )
            for line, tree in found
        ]
        return TreesAnswer(trees=views)

    @app.post("/api/dep/parse", responses={**_FAULTS, 503: {"model": ErrorAnswer}})
    def parse(request: DependencyRequest) -> DependencyAnswer:
        """Parse raw text or tokens to dependency trees."""
        return dependencies.answer(request)


def _add_health(
    app: FastAPI,
    limits: ServiceSettings,
    dependencies: DependencyService,
    lexical: LexicalService,
    annotations: AnnotationService,
) -> None:
    @app.get("/api/health")
    def health() -> Health:
        """Say what this service is and can do."""
        features = ["convert", "tokenise", "trees"]
        if find_spec("matplotlib"):
            features.append("plots")
        if dependencies.parser is not None:
            features.append("dep/parse")
        if lexical.ready:
            features.append("lex/rank")
        if annotations.ready:
            features.append("lex/annotate")
        return Health(
            status="ok",
            version=eigentext.__version__,
            features=features,
            schemes=list(SCHEMES),
            formats=list(FORMATS),
            limits={
                "characters": limits.max_characters,
                "trees": limits.max_trees,
                "words": limits.max_words,
                "ranked_words": limits.max_ranked_words,
            },
            language=lexical.ranker.scheme.language if lexical.ready else None,
        )


def _add_pages(app: FastAPI, static: Path) -> None:
    @app.get("/", include_in_schema=False)
    def bench() -> FileResponse:
        """Send the tree bench."""
        return FileResponse(static / "index.html")

    app.mount("/static", StaticFiles(directory=static), name="static")


def _answer_errors(app: FastAPI) -> None:
    """One shape for every error; nothing of what the client sent is echoed but data faults."""

    @app.exception_handler(EigentextError)
    async def ours(_: Request, error: EigentextError) -> Response:
        if isinstance(error, DataError):
            return fault(400, error.why, path=error.path, line=error.line)
        status = _STATUS.get(type(error), 422)
        return fault(status, str(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            return fault(422, "the body is not valid JSON")
        place = ".".join(str(part) for part in first["loc"][1:]) or "body"
        return fault(422, f"{place}: {first['msg']}")

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> Response:
        answer = fault(error.status_code, str(error.detail))
        answer.headers.update(error.headers or {})
        return answer
