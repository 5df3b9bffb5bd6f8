"""Routes of annotation: projects, documents, decisions, adjudication, measures, models.

Every route says by ``x-action`` in its description which action of
`eigentext.studio.store.permissions` it is; a test holds all of them against every role.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Path, Query, Request
from starlette.responses import PlainTextResponse

from eigentext.studio.api.schemas_annotate import (
    AssignRequest,
    CandidatesAnswer,
    CertaintyAnswer,
    ChecksAnswer,
    CompareAnswer,
    DecidedAnswer,
    DecideRequest,
    DocumentAnswer,
    DocumentsAnswer,
    DocumentSummary,
    DoneRequest,
    HistoryAnswer,
    ImportRequest,
    LayerView,
    MadeModelView,
    MeasuresAnswer,
    ModelsAnswer,
    ProjectRequest,
    ProjectsAnswer,
    ProjectView,
    ProposalView,
    QueueAnswer,
    RetrainAnswer,
    StepRequest,
)
from eigentext.studio.service.answering import faults, unless_gone
from eigentext.studio.store.permissions import ForbiddenError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from eigentext.studio.api.annotate import AnnotateService
    from eigentext.studio.service.identity import Identity, Who
    from eigentext.studio.store.records import Layer

__all__ = ["add_annotation", "described"]

_MOST = 2**53
_Number = Annotated[int, Path(ge=1, le=_MOST)]
_Sentence = Annotated[int, Path(ge=0, le=_MOST)]
_LayerName = Annotated[
    str,
    Query(
        alias="layer",
        pattern=r"^(mine|adjudication|[1-9][0-9]{0,15})$",
        description="mine, adjudication, or the number of a user",
    ),
]
_K = Annotated[int, Query(ge=1, le=50, description="so many whole trees")]
_Confirm = Annotated[str, Query(max_length=400, description="its name, to be sure")]
_MIME = {"conllu": "text/plain", "ptb": "text/plain", "jsonl": "application/jsonl"}


def described(action: str, *more: int) -> dict[str, Any]:
    """What a route's description says beside its docstring."""
    return {
        "responses": faults(401, 403, 404, 409, *more),
        "openapi_extra": {"x-action": action},
        "tags": ["annotate"],
    }


def add_annotation(app: FastAPI, service: AnnotateService, identity: Identity) -> None:
    """Add the routes."""
    who_is = identity.who
    _add_projects(app, service, who_is)
    _add_documents(app, service, who_is)
    _add_decisions(app, service, who_is)
    _add_models(app, service, who_is)


# ---- projects


def _add_projects(app: FastAPI, service: AnnotateService, who_is: Any) -> None:
    @app.get("/api/projects", **described("project.see"))
    async def projects(call: Request) -> ProjectsAnswer:
        """List the projects."""
        who = await who_is(call)
        who.require("project.see")
        found = await service.call(service.store.projects)
        return ProjectsAnswer(projects=[await service.project_view(one) for one in found])

    @app.post("/api/projects", **described("project.create"))
    async def create_project(call: Request, request: ProjectRequest) -> ProjectView:
        """Make a project: a name, a task, and perhaps language, model, guidelines, settings."""
        who = await who_is(call)
        who.require("project.create")
        return await service.create_project(request, who)

    @app.get("/api/projects/{number}", **described("project.see"))
    async def project(call: Request, number: _Number) -> ProjectView:
        """One project."""
        who = await who_is(call)
        who.require("project.see")
        return await service.project_view(await service.call(service.store.project, number))

    @app.patch("/api/projects/{number}", **described("project.change"))
    async def change_project(
        call: Request, number: _Number, request: ProjectRequest
    ) -> ProjectView:
        """Change what is given; adjudicators may change the guidelines."""
        who = await who_is(call)
        only_guidelines = request.model_fields_set == {"guidelines"}
        who.require("guidelines.change" if only_guidelines else "project.change")
        return await service.change_project(number, request, who)

    @app.delete(
        "/api/projects/{number}",
        status_code=204,
        response_model=None,
        **described("project.delete"),
    )
    async def delete_project(call: Request, number: _Number, confirm: _Confirm) -> None:
        """Put a project aside; it can be had back until it is purged."""
        who = await who_is(call)
        who.require("project.delete")
        await service.call(service.store.delete_project, number, confirm=confirm, by=who.id)

    @app.post("/api/projects/{number}/restore", **described("project.delete"))
    async def restore_project(call: Request, number: _Number) -> ProjectView:
        """Have a deleted project back."""
        who = await who_is(call)
        who.require("project.delete")
        await service.call(service.store.restore_project, number, by=who.id)
        return await service.project_view(await service.call(service.store.project, number))

    @app.get("/api/projects/{number}/queue", **described("layer.see"))
    async def queue(
        call: Request,
        number: _Number,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    ) -> QueueAnswer:
        """Sentences that wait for the asker, the least certain first."""
        who = await who_is(call)
        who.require("layer.see", own=True)
        waiting = unless_gone(call, service.queue(number, _named(who), limit))
        return QueueAnswer(sentences=await waiting)

    @app.get("/api/projects/{number}/measures", **described("measures.see"))
    async def measures(call: Request, number: _Number) -> MeasuresAnswer:
        """Agreement, accuracy of proposals, time and keys."""
        who = await who_is(call)
        who.require("measures.see")
        found, rows = await unless_gone(call, service.measures(number))
        return MeasuresAnswer(measures=found, table=rows)

    @app.get(
        "/api/projects/{number}/export",
        response_class=PlainTextResponse,
        **described("layer.export"),
    )
    async def export(
        call: Request,
        number: _Number,
        layer: _LayerName = "mine",
        form: Annotated[str | None, Query(alias="format", max_length=20)] = None,
        unfinished: Annotated[bool, Query(description="sentences that are not done, too")] = False,
    ) -> PlainTextResponse:
        """Give what was decided as a file."""
        who = await who_is(call)
        _require_layer(who, layer, "export")
        project = await service.project_view(await service.call(service.store.project, number))
        chosen = form or project.formats[0]
        text = await unless_gone(
            call, service.export(number, layer, chosen, who, unfinished=unfinished)
        )
        return PlainTextResponse(
            text,
            media_type=_MIME.get(chosen, "text/plain"),
            headers={"Content-Disposition": f'attachment; filename="annotations.{chosen}"'},
        )


# ---- documents


def _add_documents(app: FastAPI, service: AnnotateService, who_is: Any) -> None:
    @app.get("/api/projects/{number}/documents", **described("document.see"))
    async def documents(call: Request, number: _Number) -> DocumentsAnswer:
        """List the documents of a project, with how far everybody is."""
        who = await who_is(call)
        who.require("document.see")
        return DocumentsAnswer(documents=await service.documents(number, who))

    @app.post("/api/projects/{number}/documents", **described("document.import"))
    async def add_documents(
        call: Request, number: _Number, request: ImportRequest
    ) -> DocumentsAnswer:
        """Import text, CoNLL-U or trees in brackets."""
        who = await who_is(call)
        who.require("document.import")
        made = await unless_gone(call, service.add_documents(number, request, who))
        return DocumentsAnswer(documents=made)

    @app.get("/api/documents/{number}", **described("layer.see"))
    async def document(
        call: Request, number: _Number, layer: _LayerName = "mine"
    ) -> DocumentAnswer:
        """Open a document in a layer."""
        who = await who_is(call)
        await _require_see(service, who, number, layer)
        opened = await service.layer_of(number, layer, who)
        return await service.document(number, opened, writable=_writable(who, layer, opened))

    @app.delete(
        "/api/documents/{number}",
        status_code=204,
        response_model=None,
        **described("document.delete"),
    )
    async def delete_document(call: Request, number: _Number, confirm: _Confirm) -> None:
        """Put a document aside; it can be had back until it is purged."""
        who = await who_is(call)
        who.require("document.delete")
        await service.call(service.store.delete_document, number, confirm=confirm, by=who.id)

    @app.post("/api/documents/{number}/restore", **described("document.delete"))
    async def restore_document(call: Request, number: _Number) -> DocumentSummary:
        """Have a deleted document back."""
        who = await who_is(call)
        who.require("document.delete")
        await service.call(service.store.restore_document, number, by=who.id)
        return await service.document_summary(number)

    @app.post("/api/documents/{number}/assignments", **described("document.assign"))
    async def assign(call: Request, number: _Number, request: AssignRequest) -> DocumentSummary:
        """Say who is to annotate a document."""
        who = await who_is(call)
        who.require("document.assign")
        step = service.store.assign if request.assigned else service.store.unassign
        await service.call(step, number, request.user, by=who.id)
        return await service.document_summary(number)


# ---- decisions


def _add_decisions(app: FastAPI, service: AnnotateService, who_is: Any) -> None:
    @app.get("/api/documents/{number}/sentences/{sentence}", **described("layer.see"))
    async def proposal(
        call: Request,
        number: _Number,
        sentence: _Sentence,
        layer: _LayerName = "mine",
        k: _K = 1,
    ) -> ProposalView:
        """Propose a sentence under all decisions so far."""
        who = await who_is(call)
        await _require_see(service, who, number, layer)
        opened = await service.layer_of(number, layer, who)
        found = await unless_gone(call, service.proposals(number, opened, [sentence], k))
        return found[0]

    @app.get("/api/documents/{number}/sentences/{sentence}/candidates", **described("layer.see"))
    async def candidates(
        call: Request,
        number: _Number,
        sentence: _Sentence,
        item: Annotated[str, Query(min_length=1, max_length=60)],
        layer: _LayerName = "mine",
        search: Annotated[str, Query(max_length=200)] = "",
        k: Annotated[int, Query(ge=1, le=200)] = 50,
    ) -> CandidatesAnswer:
        """List values that an item could have; ``search`` looks in the tail."""
        who = await who_is(call)
        await _require_see(service, who, number, layer)
        opened = await service.layer_of(number, layer, who)
        found = service.candidates(number, opened, sentence, item, k, search)
        return CandidatesAnswer(candidates=await unless_gone(call, found))

    @app.get("/api/documents/{number}/sentences/{sentence}/checks", **described("layer.see"))
    async def checks(
        call: Request, number: _Number, sentence: _Sentence, layer: _LayerName = "mine"
    ) -> ChecksAnswer:
        """Check a sentence as it stands: one root, no cycle, and udtools' rules for UD."""
        who = await who_is(call)
        await _require_see(service, who, number, layer)
        opened = await service.layer_of(number, layer, who)
        found = await unless_gone(call, service.findings(number, opened, sentence))
        return ChecksAnswer(findings=found)

    @app.get("/api/documents/{number}/sentences/{sentence}/layers", **described("measures.see"))
    async def compare(call: Request, number: _Number, sentence: _Sentence) -> CompareAnswer:
        """Show what every layer says of a sentence, and where they differ."""
        who = await who_is(call)
        who.require("measures.see")
        layers, differing = await unless_gone(call, service.compare(number, sentence))
        return CompareAnswer(sentence=sentence, layers=layers, differing=differing)

    @app.get("/api/documents/{number}/certainty", **described("layer.see"))
    async def certainty(
        call: Request, number: _Number, layer: _LayerName = "mine"
    ) -> CertaintyAnswer:
        """Say how sure the model is of each sentence."""
        who = await who_is(call)
        await _require_see(service, who, number, layer)
        opened = await service.layer_of(number, layer, who)
        found = await unless_gone(call, service.certainty(number, opened))
        return CertaintyAnswer(sentences=found)

    @app.get("/api/documents/{number}/history", **described("layer.see"))
    async def history(
        call: Request,
        number: _Number,
        layer: _LayerName = "mine",
        sentence: Annotated[int | None, Query(ge=0, le=_MOST)] = None,
    ) -> HistoryAnswer:
        """List all decisions in the order they were made, those taken back too."""
        who = await who_is(call)
        await _require_see(service, who, number, layer)
        opened = await service.layer_of(number, layer, who)
        return HistoryAnswer(decisions=await service.history(opened, sentence))

    @app.post("/api/documents/{number}/decisions", **described("layer.decide"))
    async def decide(call: Request, number: _Number, request: DecideRequest) -> DecidedAnswer:
        """Save decisions; the answer comes when they are on the disk."""
        who = await who_is(call)
        opened = await _layer_to_change(service, who, number, request.layer)
        return await service.decide(number, opened, request, who)

    @app.post("/api/documents/{number}/undo", **described("layer.decide"))
    async def undo(call: Request, number: _Number, request: StepRequest) -> DecidedAnswer:
        """Take the last change of the layer back."""
        who = await who_is(call)
        opened = await _layer_to_change(service, who, number, request.layer)
        return await service.undo(number, opened, request.seen, request.k, who)

    @app.post("/api/documents/{number}/redo", **described("layer.decide"))
    async def redo(call: Request, number: _Number, request: StepRequest) -> DecidedAnswer:
        """Bring the change back that was taken back last."""
        who = await who_is(call)
        opened = await _layer_to_change(service, who, number, request.layer)
        return await service.undo(number, opened, request.seen, request.k, who, redo=True)

    @app.post("/api/documents/{number}/done", **described("layer.decide"))
    async def done(call: Request, number: _Number, request: DoneRequest) -> LayerView:
        """Say that a document is finished in this layer, or that it is not.

        Adjudicators open closed layers of others again, by the number of the user.
        """
        who = await who_is(call)
        if request.layer.isdigit():
            who.require("layer.reopen")
            if request.done:
                raise ForbiddenError("the layer of somebody else can be opened, not finished")
            opened = await service.layer_of(number, request.layer, who)
        else:
            opened = await _layer_to_change(service, who, number, request.layer)
        opened = await service.begun(opened)
        reopen = who.may("layer.reopen")
        step = service.store.mark_done
        await service.call(step, opened.id, request.done, by=who.id, reopen=reopen)
        return await service.layer_view(opened)


# ---- models


def _add_models(app: FastAPI, service: AnnotateService, who_is: Any) -> None:
    @app.get("/api/projects/{number}/models", **described("model.see"))
    async def models(call: Request, number: _Number) -> ModelsAnswer:
        """List the models that were learned from the decisions of a project."""
        who = await who_is(call)
        who.require("model.see")
        return ModelsAnswer(models=await service.made_models(number))

    @app.post("/api/projects/{number}/retrain", **described("model.retrain"))
    async def retrain(
        call: Request,
        number: _Number,
        layer: Annotated[Literal["adjudication", "all"], Query()] = "all",
    ) -> RetrainAnswer:
        """Begin to make the next model from finished sentences; GET tells how far it is."""
        who = await who_is(call)
        who.require("model.retrain")
        return await service.retrain(number, layer, who)

    @app.get("/api/projects/{number}/retrain", **described("model.see"))
    async def retraining(call: Request, number: _Number) -> RetrainAnswer:
        """Say how far the making of the next model is, and what came of it."""
        who = await who_is(call)
        who.require("model.see")
        return await service.retraining(number)

    @app.post("/api/projects/{number}/models/{model}/use", **described("model.retrain"))
    async def use_model(call: Request, number: _Number, model: _Number) -> MadeModelView:
        """Let a model propose from now on."""
        who = await who_is(call)
        who.require("model.retrain")
        return await service.use_model(number, model, who)


# ---- who may see and change which layer


def _named(who: Who) -> Who:
    who.number  # noqa: B018 - asks for a name
    return who


def _require_layer(who: Who, layer: str, what: str) -> None:
    if layer == "adjudication":
        who.require(f"adjudication.{what}", own=True)
    else:
        own = layer == "mine" or layer == str(who.id)
        who.require(f"layer.{what}", own=own)
        if layer == "mine":
            _named(who)


async def _require_see(service: AnnotateService, who: Who, number: int, layer: str) -> None:
    """An annotator sees the adjudication once their own layer is done, which closes that."""
    if layer != "adjudication":
        _require_layer(who, layer, "see")
        return
    who.require("adjudication.see", own=True)
    if who.blind and not await service.call(service.store.see_adjudication, number, who.number):
        raise ForbiddenError("annotators see the adjudication when their own layer is finished")


async def _layer_to_change(service: AnnotateService, who: Who, number: int, layer: str) -> Layer:
    _named(who)
    if layer == "adjudication":
        who.require("adjudication.decide")
    else:
        who.require("layer.decide", own=True)
        theirs = await service.call(service.store.open_to, number, who.number)
        if not theirs and not who.may("document.assign"):
            raise ForbiddenError("this document is assigned to others")
    return await service.layer_of(number, layer, who)


def _writable(who: Who, layer: str, opened: Layer) -> bool:
    if layer == "adjudication":
        return who.may("adjudication.decide")
    return opened.user == who.id and who.may("layer.decide", own=True) and not opened.closed
