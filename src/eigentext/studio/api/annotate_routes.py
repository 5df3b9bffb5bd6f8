"""Routes of annotation: projects, documents, decisions, adjudication, measures, models.

Every route says by ``x-action`` in its description which action of
`eigentext.studio.store.permissions` it is; a test holds all of them against every role.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import Depends, Path, Query, Request
from starlette.responses import PlainTextResponse

from eigentext.studio.api import schemas_annotate as wire
from eigentext.studio.service.answering import faults, unless_gone
from eigentext.studio.service.identity import Identity
from eigentext.studio.store.permissions import ForbiddenError
from eigentext.studio.store.records import Layer
from eigentext.studio.tasks import task_class

if TYPE_CHECKING:
    from fastapi import FastAPI

    from eigentext.base.types import Json
    from eigentext.studio.api.annotate import AnnotateService
    from eigentext.studio.service.identity import Authenticator
    from eigentext.studio.store.projects import Kind

_MOST = 2**53
Number = Annotated[int, Path(ge=1, le=_MOST)]
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


def described(action: str, *more: int) -> Json:
    """What a route's description says beside its docstring."""
    return {
        "responses": faults(401, 403, 404, 409, *more),
        "openapi_extra": {"x-action": action},
        "tags": ["annotate"],
    }


async def _identity(call: Request) -> Identity:
    identity: Identity = await call.app.state.authenticator.identify(call)
    return identity


IdentityOf = Annotated[Identity, Depends(_identity)]


def allowed(action: str, *more: int, owner: bool = False) -> Json:
    """The same of a route that only those may use whose role allows the action."""

    async def require(identity: IdentityOf) -> None:
        identity.require(action, owner=owner)

    return {**described(action, *more), "dependencies": [Depends(require)]}


async def _layer_to_see(
    call: Request, number: Number, identity: IdentityOf, layer: _LayerName = "mine"
) -> Layer:
    service: AnnotateService = call.app.state.annotating
    await _require_see(service, identity, number, layer)
    return await service.layer_of(number, layer, identity)


_LayerToSee = Annotated[Layer, Depends(_layer_to_see)]


def add_annotation(app: FastAPI, service: AnnotateService, authenticator: Authenticator) -> None:
    """Add the routes."""
    app.state.annotating, app.state.authenticator = service, authenticator
    _add_projects(app, service)
    _add_documents(app, service)
    _add_decisions(app, service)
    _add_models(app, service)


# ---- projects


def _add_projects(app: FastAPI, service: AnnotateService) -> None:
    @app.get("/api/projects", **allowed("project.see"))
    async def projects() -> wire.ProjectsAnswer:
        """List the projects."""
        rows = await service.call(service.store.projects)
        return wire.ProjectsAnswer(projects=[await service.project_view(row) for row in rows])

    @app.post("/api/projects", **allowed("project.create"))
    async def create_project(
        request: wire.ProjectRequest, identity: IdentityOf
    ) -> wire.ProjectView:
        """Make a project: a name, a task, and perhaps language, model, guidelines, settings."""
        return await service.create_project(request, identity)

    @app.get("/api/projects/{number}", **allowed("project.see"))
    async def project(number: Number) -> wire.ProjectView:
        """One project."""
        return await service.project_view(await service.call(service.store.project, number))

    @app.patch("/api/projects/{number}", **described("project.change"))
    async def change_project(
        number: Number, request: wire.ProjectRequest, identity: IdentityOf
    ) -> wire.ProjectView:
        """Change what is given; adjudicators may change the guidelines."""
        only_guidelines = request.model_fields_set == {"guidelines"}
        identity.require("guidelines.change" if only_guidelines else "project.change")
        return await service.change_project(number, request, identity)

    _add_deletion(app, service, "project")

    @app.post("/api/projects/{number}/restore", **allowed("project.delete"))
    async def restore_project(number: Number, identity: IdentityOf) -> wire.ProjectView:
        """Have a deleted project back."""
        await service.call(service.store.restore, "project", number, by=identity.id)
        return await service.project_view(await service.call(service.store.project, number))

    @app.get("/api/projects/{number}/queue", **allowed("layer.see", owner=True))
    async def queue(
        call: Request,
        number: Number,
        identity: IdentityOf,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    ) -> wire.CertaintyAnswer:
        """Sentences that wait for the asker, the least certain first."""
        waiting = unless_gone(call, service.queue(number, _named(identity), limit))
        return wire.CertaintyAnswer(sentences=await waiting)

    @app.get("/api/projects/{number}/measures", **allowed("measures.see"))
    async def measures(call: Request, number: Number) -> wire.MeasuresAnswer:
        """Agreement, accuracy of proposals, time and keys."""
        figures, rows = await unless_gone(call, service.measures(number))
        return wire.MeasuresAnswer(measures=figures, table=rows)

    @app.get(
        "/api/projects/{number}/export",
        response_class=PlainTextResponse,
        **described("layer.export"),
    )
    async def export(
        call: Request,
        number: Number,
        identity: IdentityOf,
        layer: _LayerName = "mine",
        form: Annotated[str | None, Query(alias="format", max_length=20)] = None,
        unfinished: Annotated[bool, Query(description="sentences that are not done, too")] = False,
    ) -> PlainTextResponse:
        """Give what was decided as a file."""
        _require_layer(identity, layer, "export")
        project = await service.call(service.store.project, number)
        chosen = task_class(project.task).check_format(form)
        text = await unless_gone(
            call, service.export(number, layer, chosen, identity, unfinished=unfinished)
        )
        ending = "jsonl" if chosen == "decisions" else chosen
        return PlainTextResponse(
            text,
            media_type="application/jsonl" if ending == "jsonl" else "text/plain",
            headers={"Content-Disposition": f'attachment; filename="annotations.{ending}"'},
        )


def _add_deletion(app: FastAPI, service: AnnotateService, kind: Kind) -> None:
    @app.delete(
        f"/api/{kind}s/{{number}}",
        name=f"delete_{kind}",
        status_code=204,
        response_model=None,
        description=f"Put a {kind} aside; it can be had back until it is purged.",
        **allowed(f"{kind}.delete"),
    )
    async def put_aside(number: Number, confirm: _Confirm, identity: IdentityOf) -> None:
        await service.call(service.store.delete, kind, number, confirm=confirm, by=identity.id)


# ---- documents


def _add_documents(app: FastAPI, service: AnnotateService) -> None:
    @app.get("/api/projects/{number}/documents", **allowed("document.see"))
    async def documents(number: Number, identity: IdentityOf) -> wire.DocumentsAnswer:
        """List the documents of a project, with how far everybody is."""
        return wire.DocumentsAnswer(documents=await service.documents(number, identity))

    @app.post("/api/projects/{number}/documents", **allowed("document.import"))
    async def add_documents(
        call: Request, number: Number, request: wire.ImportRequest, identity: IdentityOf
    ) -> wire.DocumentsAnswer:
        """Import text, CoNLL-U or trees in brackets."""
        added = await unless_gone(call, service.add_documents(number, request, identity))
        return wire.DocumentsAnswer(documents=added)

    @app.get("/api/documents/{number}", **described("layer.see"))
    async def document(
        number: Number, identity: IdentityOf, layer: _LayerName = "mine"
    ) -> wire.DocumentAnswer:
        """Open a document in a layer."""
        await _require_see(service, identity, number, layer)
        opened = await service.layer_of(number, layer, identity)
        return await service.document(number, opened, writable=_writable(identity, layer, opened))

    _add_deletion(app, service, "document")

    @app.post("/api/documents/{number}/restore", **allowed("document.delete"))
    async def restore_document(number: Number, identity: IdentityOf) -> wire.DocumentSummary:
        """Have a deleted document back."""
        await service.call(service.store.restore, "document", number, by=identity.id)
        return await service.document_summary(number)

    @app.post("/api/documents/{number}/assignments", **allowed("document.assign"))
    async def assign(
        number: Number, request: wire.AssignRequest, identity: IdentityOf
    ) -> wire.DocumentSummary:
        """Say who is to annotate a document."""
        step = service.store.assign if request.assigned else service.store.unassign
        await service.call(step, number, request.user, by=identity.id)
        return await service.document_summary(number)


# ---- decisions


def _add_decisions(app: FastAPI, service: AnnotateService) -> None:
    @app.get("/api/documents/{number}/sentences/{sentence}", **described("layer.see"))
    async def proposal(
        call: Request, sentence: _Sentence, layer: _LayerToSee, k: _K = 1
    ) -> wire.ProposalView:
        """Propose a sentence under all decisions so far."""
        views = await unless_gone(call, service.proposals(layer, [sentence], k))
        return views[0]

    @app.get("/api/documents/{number}/sentences/{sentence}/candidates", **described("layer.see"))
    async def candidates(
        call: Request,
        sentence: _Sentence,
        item: Annotated[str, Query(min_length=1, max_length=60)],
        layer: _LayerToSee,
        search: Annotated[str, Query(max_length=200)] = "",
        k: Annotated[int, Query(ge=1, le=200)] = 50,
    ) -> wire.CandidatesAnswer:
        """List values that an item could have; ``search`` looks in the tail."""
        values = service.candidates(layer, sentence, item, k, search)
        return wire.CandidatesAnswer(candidates=await unless_gone(call, values))

    @app.get("/api/documents/{number}/sentences/{sentence}/checks", **described("layer.see"))
    async def checks(call: Request, sentence: _Sentence, layer: _LayerToSee) -> wire.ChecksAnswer:
        """Check a sentence as it stands: one root, no cycle, and udtools' rules for UD."""
        findings = await unless_gone(call, service.findings(layer, sentence))
        return wire.ChecksAnswer(findings=findings)

    @app.get("/api/documents/{number}/sentences/{sentence}/layers", **allowed("measures.see"))
    async def compare(call: Request, number: Number, sentence: _Sentence) -> wire.CompareAnswer:
        """Show what every layer says of a sentence, and where they differ."""
        layers, differing = await unless_gone(call, service.compare(number, sentence))
        return wire.CompareAnswer(sentence=sentence, layers=layers, differing=differing)

    @app.get("/api/documents/{number}/certainty", **described("layer.see"))
    async def certainty(call: Request, layer: _LayerToSee) -> wire.CertaintyAnswer:
        """Say how sure the model is of each sentence."""
        sentences = await unless_gone(call, service.certainty(layer))
        return wire.CertaintyAnswer(sentences=sentences)

    @app.get("/api/documents/{number}/history", **described("layer.see"))
    async def history(
        layer: _LayerToSee, sentence: Annotated[int | None, Query(ge=0, le=_MOST)] = None
    ) -> wire.HistoryAnswer:
        """List all decisions in the order they were made, those taken back too."""
        return wire.HistoryAnswer(decisions=await service.history(layer, sentence))

    @app.post("/api/documents/{number}/decisions", **described("layer.decide"))
    async def decide(
        number: Number, request: wire.DecideRequest, identity: IdentityOf
    ) -> wire.DecidedAnswer:
        """Save decisions; the answer comes when they are on the disk."""
        opened = await _layer_to_change(service, identity, number, request.layer)
        return await service.decide(opened, request, identity)

    @app.post("/api/documents/{number}/undo", **described("layer.decide"))
    async def undo(
        number: Number, request: wire.StepRequest, identity: IdentityOf
    ) -> wire.DecidedAnswer:
        """Take the last change of the layer back."""
        opened = await _layer_to_change(service, identity, number, request.layer)
        return await service.undo(opened, request, identity)

    @app.post("/api/documents/{number}/redo", **described("layer.decide"))
    async def redo(
        number: Number, request: wire.StepRequest, identity: IdentityOf
    ) -> wire.DecidedAnswer:
        """Bring the change back that was taken back last."""
        opened = await _layer_to_change(service, identity, number, request.layer)
        return await service.undo(opened, request, identity, redo=True)

    @app.post("/api/documents/{number}/done", **described("layer.decide"))
    async def done(
        number: Number, request: wire.DoneRequest, identity: IdentityOf
    ) -> wire.LayerView:
        """Say that a document is finished in this layer, or that it is not.

        Adjudicators open closed layers of others again, by the number of the user.
        """
        if request.layer.isdigit():
            identity.require("layer.reopen")
            if request.done:
                raise ForbiddenError("the layer of somebody else can be opened, not finished")
            opened = await service.layer_of(number, request.layer, identity)
        else:
            opened = await _layer_to_change(service, identity, number, request.layer)
        opened = await service.begun(opened)
        reopen = identity.may("layer.reopen")
        step = service.store.mark_done
        await service.call(step, opened.id, request.done, by=identity.id, reopen=reopen)
        return await service.layer_view(opened)


# ---- models


def _add_models(app: FastAPI, service: AnnotateService) -> None:
    @app.get("/api/projects/{number}/models", **allowed("model.see"))
    async def models(number: Number) -> wire.MadeModelsAnswer:
        """List the models that were learned from the decisions of a project."""
        return wire.MadeModelsAnswer(models=await service.made_models(number))

    @app.post("/api/projects/{number}/retrain", **allowed("model.retrain"))
    async def retrain(
        number: Number,
        identity: IdentityOf,
        layer: Annotated[Literal["adjudication", "all"], Query()] = "all",
    ) -> wire.RetrainAnswer:
        """Begin to make the next model from finished sentences; GET tells how far it is."""
        return await service.retrain(number, layer, identity)

    @app.get("/api/projects/{number}/retrain", **allowed("model.see"))
    async def retraining(number: Number) -> wire.RetrainAnswer:
        """Say how far the making of the next model is, and what came of it."""
        return await service.retraining(number)

    @app.post("/api/projects/{number}/models/{model}/use", **allowed("model.retrain"))
    async def use_model(number: Number, model: Number, identity: IdentityOf) -> wire.MadeModelView:
        """Let a model propose from now on."""
        return await service.use_model(number, model, identity)


# ---- who may see and change which layer


def _named(identity: Identity) -> Identity:
    identity.number  # noqa: B018 - asks for a name
    return identity


def _require_layer(identity: Identity, layer: str, what: str) -> None:
    if layer == "adjudication":
        identity.require(f"adjudication.{what}", owner=True)
    else:
        owner = layer == "mine" or layer == str(identity.id)
        identity.require(f"layer.{what}", owner=owner)
        if layer == "mine":
            _named(identity)


async def _require_see(
    service: AnnotateService, identity: Identity, number: int, layer: str
) -> None:
    """An annotator sees the adjudication once their own layer is done, which closes that."""
    if layer != "adjudication":
        _require_layer(identity, layer, "see")
        return
    identity.require("adjudication.see", owner=True)
    if identity.blind and not await service.call(
        service.store.see_adjudication, number, identity.number
    ):
        raise ForbiddenError("annotators see the adjudication when their own layer is finished")


async def _layer_to_change(
    service: AnnotateService, identity: Identity, number: int, layer: str
) -> Layer:
    _named(identity)
    if layer == "adjudication":
        identity.require("adjudication.decide")
    else:
        identity.require("layer.decide", owner=True)
        theirs = await service.call(service.store.open_to, number, identity.number)
        if not theirs and not identity.may("document.assign"):
            raise ForbiddenError("this document is assigned to others")
    return await service.layer_of(number, layer, identity)


def _writable(identity: Identity, layer: str, opened: Layer) -> bool:
    if layer == "adjudication":
        return identity.may("adjudication.decide")
    return (
        opened.user == identity.id
        and identity.may("layer.decide", owner=True)
        and not opened.closed
    )
