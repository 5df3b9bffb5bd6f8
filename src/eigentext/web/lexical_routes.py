"""Routes of readings and annotations: ``/api/lex/...``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import Path, Query, Request
from starlette.responses import PlainTextResponse, Response

from eigentext.web.answering import add_job, faults, unless_gone, written
from eigentext.web.schemas_lexical import (
    Annotator,
    DecideRequest,
    DecisionAnswer,
    DocumentAnswer,
    DocumentRequest,
    DocumentsAnswer,
    DocumentSummary,
    ExportFormat,
    LexicalRequest,
    RankAnswer,
    UndoRequest,
)

if TYPE_CHECKING:
    from fastapi import FastAPI

    from eigentext.web.annotating import AnnotationService
    from eigentext.web.settings import ServiceSettings
    from eigentext.web.workers import WorkerPool

__all__ = ["add_lexical"]

_MOST = 2**53  # the largest whole number that JavaScript is sure of
_Number = Annotated[int, Path(ge=1, le=_MOST, description="number of the text")]
_Name = Annotated[Annotator, Query(description="who annotates")]
_Top = Annotated[int | None, Query(ge=1, description="list so many candidates; or all")]
_FILES: dict[ExportFormat, tuple[str, str]] = {
    "conllu": ("annotations.conllu", "text/plain"),
    "jsonl": ("words.jsonl", "application/jsonl"),
}


def add_lexical(
    app: FastAPI, limits: ServiceSettings, pool: WorkerPool, annotations: AnnotationService
) -> None:
    """Add the routes."""
    words = f"At most {limits.max_characters:,} characters and {limits.max_ranked_words:,} words."

    add_job(
        app,
        "lex/rank",
        (LexicalRequest, RankAnswer),
        (pool, limits),
        f"Rank every reading of every word, exactly as `eigentext lex rank` does. {words}",
    )

    @app.get("/api/lex/documents", responses=faults())
    async def documents() -> DocumentsAnswer:
        """List the texts that are annotated here."""
        return await annotations.documents()

    @app.post(
        "/api/lex/documents",
        responses=faults(),
        description=f"Store a text to annotate. {words} At most {limits.max_documents:,} texts.",
    )
    async def add_document(call: Request, request: DocumentRequest) -> DocumentSummary:
        return await unless_gone(call, annotations.add(request))

    @app.get(
        "/api/lex/documents/{number}", response_model=DocumentAnswer, responses=faults(404, 409)
    )
    async def open_document(
        call: Request, number: _Number, annotator: _Name, top: _Top = None
    ) -> Response:
        """Rank a stored text by what this annotator decided."""
        return written(await unless_gone(call, annotations.open(number, annotator, top)))

    @app.post("/api/lex/documents/{number}/decisions", responses=faults(404, 409))
    async def decide(
        call: Request, number: _Number, request: DecideRequest, top: _Top = None
    ) -> DecisionAnswer:
        """Save a decision; the answer comes when it is on the disk."""
        return await unless_gone(call, annotations.decide(number, request, top))

    @app.post("/api/lex/documents/{number}/undo", responses=faults(404, 409))
    async def undo(
        call: Request, number: _Number, request: UndoRequest, top: _Top = None
    ) -> DecisionAnswer:
        """Take the annotator's last decision in this text back; 409 when there is none."""
        return await unless_gone(call, annotations.undo(number, request, top))

    @app.get("/api/lex/export", responses=faults(404, 409), response_class=PlainTextResponse)
    async def export(
        call: Request,
        annotator: _Name,
        format_: Annotated[ExportFormat, Query(alias="format")] = "jsonl",
        document: Annotated[int | None, Query(ge=1, le=_MOST, description="or all")] = None,
    ) -> PlainTextResponse:
        """Give an annotator's decisions as CoNLL-U, or as words that `lex train` reads."""
        name, kind = _FILES[format_]
        return PlainTextResponse(
            await unless_gone(call, annotations.export(annotator, document, format_)),
            media_type=kind,
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )
