"""Routes of readings and annotations: ``/api/lex/...``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Path, Query
from starlette.responses import PlainTextResponse, Response

from eigentext.web.schemas import ErrorAnswer
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
    from pydantic import BaseModel

    from eigentext.web.annotating import AnnotationService
    from eigentext.web.lexical import LexicalService

__all__ = ["add_lexical"]

_MOST = 2**53  # the largest whole number that JavaScript is sure of
_Number = Annotated[int, Path(ge=1, le=_MOST, description="number of the text")]
_Name = Annotated[Annotator, Query(description="who annotates")]
_Top = Annotated[int | None, Query(ge=1, description="list so many candidates; or all")]
_FILES: dict[ExportFormat, tuple[str, str]] = {
    "conllu": ("annotations.conllu", "text/plain"),
    "jsonl": ("words.jsonl", "application/jsonl"),
}


def _faults(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": ErrorAnswer} for status in statuses}


def _written(answer: BaseModel) -> Response:
    """A long answer, written at once: FastAPI would check all of it anew."""
    return Response(answer.model_dump_json(), media_type="application/json")


def add_lexical(app: FastAPI, lexical: LexicalService, annotations: AnnotationService) -> None:
    """Add the routes."""

    @app.post("/api/lex/rank", response_model=RankAnswer, responses=_faults(400, 413, 422, 503))
    def rank(request: LexicalRequest) -> Response:
        """Rank every reading of every word, exactly as `eigentext lex rank` does."""
        return _written(lexical.answer(request))

    @app.get("/api/lex/documents", responses=_faults(503))
    def documents() -> DocumentsAnswer:
        """List the texts that are annotated here."""
        return annotations.documents()

    @app.post("/api/lex/documents", responses=_faults(400, 413, 422, 503))
    def add_document(request: DocumentRequest) -> DocumentSummary:
        """Store a text to annotate."""
        return annotations.add(request)

    @app.get(
        "/api/lex/documents/{number}",
        response_model=DocumentAnswer,
        responses=_faults(404, 409, 422, 503),
    )
    def open_document(number: _Number, annotator: _Name, top: _Top = None) -> Response:
        """Rank a stored text by what this annotator decided."""
        return _written(annotations.open(number, annotator, top))

    @app.post(
        "/api/lex/documents/{number}/decisions", responses=_faults(400, 404, 409, 413, 422, 503)
    )
    def decide(number: _Number, request: DecideRequest, top: _Top = None) -> DecisionAnswer:
        """Save a decision; the answer comes when it is on the disk."""
        return annotations.decide(number, request, top)

    @app.post("/api/lex/documents/{number}/undo", responses=_faults(404, 409, 413, 422, 503))
    def undo(number: _Number, request: UndoRequest, top: _Top = None) -> DecisionAnswer:
        """Take the annotator's last decision in this text back; 409 when there is none."""
        return annotations.undo(number, request.annotator, top)

    @app.get(
        "/api/lex/export", responses=_faults(404, 409, 422, 503), response_class=PlainTextResponse
    )
    def export(
        annotator: _Name,
        format_: Annotated[ExportFormat, Query(alias="format")] = "jsonl",
        document: Annotated[int | None, Query(ge=1, le=_MOST, description="or all")] = None,
    ) -> PlainTextResponse:
        """Give an annotator's decisions as CoNLL-U, or as words that `lex train` reads."""
        name, kind = _FILES[format_]
        return PlainTextResponse(
            annotations.export(annotator, document, format_),
            media_type=kind,
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )
