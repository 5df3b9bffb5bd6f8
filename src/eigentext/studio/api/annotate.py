"""Annotation for teams, between the store and the workers.

The flow of a decision: who is asking, and which layer -> a worker checks the values -> the store,
in one transaction, unless the sentence changed since the version that was seen -> a worker
proposes the sentence anew under all decisions -> the answer.  What is answered is on the disk.
Nothing on this way grows with the document: workers keep documents, jobs have their keys and the
decisions on the sentences in question.
"""

from __future__ import annotations

import json
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from eigentext.errors import SettingsError
from eigentext.lexical.schemes.labels import scheme_names
from eigentext.studio.api import schemas_annotate as wire
from eigentext.studio.api.proposing import (
    DocumentKey,
    TaskRequest,
    TaskSpec,
    UnknownDocumentError,
    without_order,
)
from eigentext.studio.measures.measures import annotators_of, rows_of, sides_of
from eigentext.studio.service.limits import NoModelError, TooMuchError
from eigentext.studio.service.retraining import Retraining
from eigentext.studio.service.workers import BusyError, DeadlineError, FewThreads, WorkerFault
from eigentext.studio.store.files import annotated
from eigentext.studio.store.problems import MissingError
from eigentext.studio.store.records import Change
from eigentext.studio.store.rows import there
from eigentext.studio.tasks import TASKS, task_class
from eigentext.studio.tasks.learning import SETTINGS, task_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from eigentext.base.types import Json
    from eigentext.studio.measures.measures import DocumentMeasures
    from eigentext.studio.service.identity import Identity
    from eigentext.studio.service.settings import ServiceSettings
    from eigentext.studio.service.workers import WorkerPool
    from eigentext.studio.store.accounts import Accounts
    from eigentext.studio.store.records import (
        Decision,
        DocumentFacts,
        Layer,
        MadeModel,
        OpenLayer,
        Place,
        Project,
    )
    from eigentext.studio.store.store import AnnotationStore

_THREADS, _WAITING = 8, 200
_PROPOSED = 20  # sentences, at most, that are proposed anew with the answer to a change
_AT_ONCE = 25  # sentences of which certainty is asked in one job
_MEASURED = 200  # sentences, about, that are measured in one job
_LOOKED_AT = 1_000  # sentences, about, from which the least certain are chosen


class AnnotateService:
    """The store of annotations, and the workers whose models propose."""

    def __init__(self, settings: ServiceSettings, pool: WorkerPool) -> None:
        self.settings = settings
        self._pool = pool
        self._files = FewThreads(_THREADS, _WAITING)
        self._passwords = FewThreads(2, 20)  # argon2 takes its time, and nobody waits behind it
        self._store: AnnotationStore | None = None
        if settings.annotations is not None:
            from eigentext.studio.store.accounts import Accounts
            from eigentext.studio.store.store import AnnotationStore

            self._store = AnnotationStore(settings.annotations)
            self._accounts = Accounts(self._store)
            self.retraining_of = Retraining(self)
            # imported now: while people wait for the first project, health would wait, too
            scheme_names()
            for task in TASKS:
                task_class(task)

    @property
    def ready(self) -> bool:
        """Whether there is a store."""
        return self._store is not None

    @property
    def store(self) -> AnnotationStore:
        """The store; an error that says how to get one when there is none."""
        if self._store is None:
            raise NoModelError(
                "this service keeps no annotations: start it with "
                "`eigentext studio --annotations FILE`"
            )
        return self._store

    @property
    def accounts(self) -> Accounts:
        """The users of the store."""
        self.store  # noqa: B018 - says what is missing
        return self._accounts

    def close(self) -> None:
        """Give the connections to the store back."""
        if self._store is not None:
            self.retraining_of.close()
            self._store.close()

    async def call(self, function: Callable[..., Any], *args: object, **named: object) -> Any:
        """What the store answers, asked in a thread."""
        return await self._files.run(partial(function, *args, **named))

    async def call_slowly(
        self, function: Callable[..., object], *arguments: object, **named: object
    ) -> Any:
        """The same for what works with passwords."""
        return await self._passwords.run(partial(function, *arguments, **named))

    async def work(self, job: str, *arguments: object) -> Any:
        """What a worker answers."""
        return await self._pool.run(f"annotate/{job}", *arguments)

    # ---- projects

    async def project_view(self, project: Project) -> wire.ProjectView:
        """A project as it goes over the wire."""
        fields = project._asdict()
        fields["settings"] = {k: v for k, v in project.settings.items() if k != "base_treebank"}
        task = task_class(project.task)
        return wire.ProjectView(
            **fields, formats=list(task.all_formats()), options=list(task.OPTIONS)
        )

    async def create_project(
        self, request: wire.ProjectRequest, identity: Identity
    ) -> wire.ProjectView:
        """A new project."""
        if request.name is None or request.task is None:
            raise SettingsError("a new project needs a name and a task")
        await self._check_model(request.model, request.task)
        project = await self.call(
            self.store.create_project,
            request.name,
            request.task,
            language=request.language or "",
            guidelines=request.guidelines or "",
            settings=checked_settings(request.settings or {}),
            model=request.model or "",
            by=identity.id,
        )
        return await self.project_view(project)

    async def change_project(
        self, number: int, request: wire.ProjectRequest, identity: Identity
    ) -> wire.ProjectView:
        """Change what the request gives."""
        project = await self.call(self.store.project, number)
        if request.task is not None and request.task != project.task:
            raise SettingsError("the task of a project cannot be changed: make a new project")
        await self._check_model(request.model, project.task)
        fields = request.model_dump(exclude_unset=True, exclude={"task"})
        values = {key: value for key, value in fields.items() if value is not None}
        if "settings" in values:
            values["settings"] = checked_settings(values["settings"])
            if "base_treebank" in project.settings:  # a file of the server's: not over HTTP
                values["settings"]["base_treebank"] = project.settings["base_treebank"]
        changed = await self.call(self.store.change_project, number, **values, by=identity.id)
        return await self.project_view(changed)

    async def _check_model(self, name: str | None, task: str) -> None:
        if not name:
            return
        facts = await self._pool.facts()
        kinds = task_class(task).SERVED
        fitting = [model.name for model in facts.models if model.kind in kinds]
        if name not in fitting:
            names = ", ".join(fitting) or "none"
            raise SettingsError(
                f"no model {name[:60]!r} that proposes in this task is served; there is {names}"
            )

    # ---- documents

    async def people(self) -> dict[int, str]:
        """The names of all users."""
        names: dict[int, str] = await self.call(self.accounts.names)
        return names

    async def documents(self, project: int, identity: Identity) -> list[wire.DocumentSummary]:
        """The documents of a project, with how far everybody is."""
        await self._there(project)
        facts = await self.call(self.store.documents, project)
        layers = await self.call(self.store.layers_of, project)
        assigned = await self.call(self.store.assignments, project)
        people = await self.people()
        return [
            _summary(document, layers.get(document.id, ()), assigned.get(document.id, ()), people)
            for document in facts
        ]

    async def document_summary(self, number: int) -> wire.DocumentSummary:
        """One document."""
        facts = await self.call(self.store.document_facts, number)
        layers = await self.call(self.store.layers_of, facts.project, number)
        assigned = await self.call(self.store.assignments, facts.project)
        people = await self.people()
        return _summary(facts, layers.get(number, ()), assigned.get(number, ()), people)

    async def add_documents(
        self, project: int, request: wire.ImportRequest, identity: Identity
    ) -> list[wire.DocumentSummary]:
        """Import a text or a treebank."""
        target = await self._there(project)
        most = self.settings.max_characters
        if len(request.text) > most:
            raise TooMuchError(
                f"the text has {len(request.text):,} characters; at most {most:,} are read here: "
                "`eigentext annotate import` takes files of any length"
            )
        new = await self.work("import", request, target.task)
        added = await self.call(self.store.add_documents, project, new, by=identity.id)
        people = await self.people()
        return [_summary(facts, (), (), people) for facts in added]

    async def _there(self, project: int) -> Project:
        stored: Project = await self.call(self.store.project, project)
        return there(stored, "project")

    # ---- layers

    async def open(self, layer: Layer, sentences: Collection[int] | None = None) -> OpenLayer:
        """A layer of a document with what holds in these sentences, or in all."""
        opened: OpenLayer = await self.call(self.store.open_layer, layer, sentences)
        for sentence in sentences or ():
            n = opened.document.n_sentences
            if not 0 <= sentence < n:
                raise SettingsError(
                    f"there is no sentence {sentence}: the document has {n}, from 0"
                )
        return opened

    async def _open_context(self, layer: Layer, sentences: Collection[int]) -> OpenLayer:
        """The same with all decisions that a proposal for these sentences goes by."""
        opened = await self.open(layer, sentences)
        if layer.id and task_class(opened.project.task).CONDITIONED:
            opened = await self.open(opened.layer)
        return opened

    async def ask(self, job: str, opened: OpenLayer, *arguments: object) -> Any:
        """What a worker answers about a layer; one that has not got the document is given it."""
        document, project = opened.document, opened.project
        key = DocumentKey(self.store.name, document.id, document.created)
        spec = task_spec(project, opened.file)
        request = TaskRequest(spec, key, project.language, opened.values)
        try:
            return await self.work(job, request, *arguments)
        except UnknownDocumentError:
            content = await self.call(self.store.document, document.id)
            return await self.work(job, request._replace(content=content), *arguments)

    async def layer_of(self, number: int, which: str, identity: Identity) -> Layer:
        """One's own layer, the adjudication, or that of the user with this number.

        It is there to look at: one that nobody began has the number 0 until a change begins it.
        """
        kind = "adjudication" if which == "adjudication" else "annotator"
        user = int(which) if which.isdigit() else {"mine": identity.id}.get(which)
        layer: Layer = await self.call(self.store.layer_to_see, number, kind=kind, user=user)
        return layer

    async def begun(self, layer: Layer) -> Layer:
        """The layer, which is to be changed and so has to be in the store."""
        if layer.id:
            return layer
        stored: Layer = await self.call(
            self.store.layer, layer.document, kind=layer.kind, user=layer.user
        )
        return stored

    async def document(self, number: int, layer: Layer, *, writable: bool) -> wire.DocumentAnswer:
        """A document as it stands in a layer."""
        opened = await self.open(layer)
        document = await self.call(self.store.document, number)
        can_undo, can_redo = await self._steps(layer)
        return wire.DocumentAnswer(
            document=await self.document_summary(number),
            project=await self.project_view(opened.project),
            text=document.text,
            sentences=document.sentences,
            layer=_layer_view(opened.layer, opened.people),
            writable=writable,
            decisions=[
                _decision(decision, opened.people) for decision in opened.decisions.values()
            ],
            can_undo=can_undo,
            can_redo=can_redo,
        )

    async def _steps(self, layer: Layer) -> tuple[bool, bool]:
        """Whether a change of the layer can be taken back, and one brought back."""
        steps: tuple[bool, bool] = (False, False)
        return await self.call(self.store.steps, layer.id) if layer.id else steps

    async def proposals(
        self, layer: Layer, sentences: Collection[int], k: int
    ) -> list[wire.ProposalView]:
        """What the model says of some sentences."""
        return await self._proposals(await self._open_context(layer, sentences), sentences, k)

    async def _proposals(
        self, opened: OpenLayer, sentences: Iterable[int], k: int
    ) -> list[wire.ProposalView]:
        chosen = sorted(set(sentences))
        hidden = [number for number in chosen if not _ranked(opened, number)]
        proposals = await self.ask("propose", opened, chosen, k, hidden)
        notes = {key: d.note for key, d in opened.decisions.items() if d.note}
        for proposal in proposals:
            for item in proposal["items"]:
                item["note"] = notes.get((proposal["sentence"], item["item"]), "")
        return [wire.ProposalView.model_validate(proposal) for proposal in proposals]

    async def decide(
        self, layer: Layer, request: wire.DecideRequest, identity: Identity
    ) -> wire.DecidedAnswer:
        """Save decisions that belong together; the answer comes when they are on the disk."""
        sentences = {change.sentence for change in request.changes}
        opened = await self.open(layer, sentences)
        values = await self.ask(
            "check",
            opened,
            [(change.sentence, change.item, change.value) for change in request.changes],
        )
        changes = [
            Change(
                **change.model_dump()
                | {"value": value, "ranked": _ranked(opened, change.sentence)}
            )
            for change, value in zip(request.changes, values, strict=True)
        ]
        layer = await self.begun(layer)
        version = await self.call(
            self.store.decide, layer.id, changes, base_version=request.base_version, by=identity.id
        )
        return await self._changed(layer, sentences, request.k, version)

    async def undo(
        self, layer: Layer, request: wire.StepRequest, identity: Identity, *, redo: bool = False
    ) -> wire.DecidedAnswer:
        """Take the last change back, or bring the one that was taken back again."""
        layer = await self.begun(layer)
        step = self.store.redo if redo else self.store.undo
        changed = await self.call(
            step, layer.id, base_version=request.base_version, by=identity.id
        )
        return await self._changed(layer, {decision.sentence for decision in changed}, request.k)

    async def _changed(
        self, layer: Layer, sentences: set[int], k: int, version: int | None = None
    ) -> wire.DecidedAnswer:
        """What holds after a change; a new decision, of this ``version``, can be taken back."""
        opened = await self.open(layer, sentences)
        around = task_class(opened.project.task).NEIGHBOURS
        if around and sentences:
            # a decision speaks to the sentences around, too; they are asked for one by one
            n = opened.document.n_sentences
            near = {s + d for s in sentences for d in range(-around, around + 1)}
            sentences = near & set(range(max(0, min(near)), min(n, max(near) + 1)))
            opened = await self._open_context(layer, sentences)
        steps = await self._steps(layer) if version is None else (True, False)
        held = opened.decisions.values()
        return wire.DecidedAnswer(
            version=opened.layer.version if version is None else version,
            changed=[
                _decision(decision, opened.people)
                for decision in held
                if decision.sentence in sentences
            ],
            proposals=await self._proposals_if_there(opened, sentences, k),
            can_undo=steps[0],
            can_redo=steps[1],
            progress=_layer_view(opened.layer, opened.people),
        )

    async def _proposals_if_there(
        self, opened: OpenLayer, sentences: set[int], k: int
    ) -> list[wire.ProposalView]:
        """Proposals after a change; the change is stored, so that a busy worker is no error.

        Those who get none ask for them.
        """
        if not 0 < len(sentences) <= _PROPOSED:
            return []
        try:
            return await self._proposals(opened, sentences, k)
        except (BusyError, DeadlineError, WorkerFault):
            return []

    async def history(self, layer: Layer, sentence: int | None) -> list[wire.DecisionView]:
        """All that was decided in a layer, what was taken back too."""
        if not layer.id:
            return []
        people = await self.people()
        decisions = await self.call(self.store.history, layer.id, sentence=sentence)
        return [_decision(decision, people) for decision in decisions]

    async def layer_view(self, layer: Layer) -> wire.LayerView:
        """How far a layer is."""
        now = await self.call(self.store.layer_numbered, layer.id)
        return _layer_view(now, await self.people())

    async def candidates(
        self, layer: Layer, sentence: int, item: str, k: int, search: str
    ) -> list[Json]:
        """Values that an item could have."""
        opened = await self._open_context(layer, [sentence])
        candidates = await self.ask("candidates", opened, sentence, item, k, search)
        if not _ranked(opened, sentence):
            candidates = without_order(candidates, f"{sentence} {item}")
        return list(candidates)

    async def findings(self, layer: Layer, sentence: int) -> list[Any]:
        """What the checks have to say of a sentence as it stands."""
        opened = await self._open_context(layer, [sentence])
        rules = opened.project.settings.get("checks", True)
        return list(await self.ask("findings", opened, sentence, rules))

    # ---- what to look at next

    async def certainty(self, layer: Layer) -> list[wire.SentenceCertainty]:
        """How sure the model is of each sentence of a document."""
        opened = await self.open(layer)
        whole = task_class(opened.project.task).CONDITIONED
        n = opened.document.n_sentences
        by_sentence: dict[int, dict[Place, Decision]] = {}
        for key, decision in opened.decisions.items():
            by_sentence.setdefault(key[0], {})[key] = decision
        answers: list[wire.SentenceCertainty] = []
        # a few sentences a job: a long document must not hold a worker until it is stopped
        for first in range(0, n, _AT_ONCE):
            numbers = range(first, min(first + _AT_ONCE, n))
            part = opened
            if not whole:
                some = [by_sentence.get(number, {}) for number in numbers]
                part = opened._replace(decisions={p: d for of in some for p, d in of.items()})
            answers += [
                wire.SentenceCertainty(**row, document=layer.document)
                for row in await self.ask("certainty", part, numbers)
            ]
        return answers

    async def queue(
        self, project: int, identity: Identity, limit: int
    ) -> list[wire.SentenceCertainty]:
        """Open sentences of all documents that the user is to annotate, the least certain first.

        These are the documents assigned to the user, or to nobody.  Of a large project the first
        documents are looked at, until there are sentences enough to choose from.
        """
        await self._there(project)
        assigned = await self.call(self.store.assignments, project)
        waiting: list[wire.SentenceCertainty] = []
        for facts in await self.call(self.store.documents, project):
            if identity.id not in assigned.get(facts.id, [identity.id]):
                continue
            if len(waiting) >= _LOOKED_AT:
                break
            layer = await self.layer_of(facts.id, "mine", identity)
            waiting += [
                certainty for certainty in await self.certainty(layer) if not certainty.done
            ]
        waiting.sort(
            key=lambda certainty: (certainty.certainty, certainty.document, certainty.sentence)
        )
        return waiting[:limit]

    # ---- adjudication

    async def compare(self, number: int, sentence: int) -> tuple[list[Json], list[str]]:
        """What every layer says of a sentence, and the items about which they differ."""
        layers = await self.call(self.store.layers, number)
        opened = [await self._open_context(layer, [sentence]) for layer in layers]
        said = [
            {item: d.value for (at, item), d in layer.decisions.items() if at == sentence}
            for layer in opened
        ]
        # a layer that says nothing of the sentence has no voice
        voices = [(layer, values) for layer, values in zip(opened, said, strict=True) if values]
        if not voices:
            return [], []
        people = [k for k, (layer, _) in enumerate(voices) if layer.layer.kind == "annotator"]
        by_layer = [layer.values for layer, _ in voices]
        asking = voices[0][0]._replace(decisions={})
        analyses, differing = await self.ask("compare", asking, by_layer, people, sentence)
        views = [
            {
                "layer": layer.layer.id,
                "kind": layer.layer.kind,
                "user": layer.people.get(layer.layer.user or 0),
                "values": values,
                "items": items,
                "analysis": analysis,
                "done": "done" in values,
            }
            for (layer, values), (analysis, items) in zip(voices, analyses, strict=True)
        ]
        return views, differing

    # ---- out

    async def export(
        self, project: int, layer: str, form: str, identity: Identity, *, unfinished: bool
    ) -> bytes:
        """The finished sentences of all documents in a layer, as lines."""
        spec = task_spec(await self._there(project))
        lines: list[str] = []
        blind = layer == "adjudication" and identity.blind
        for facts in await self.call(self.store.documents, project):
            # annotators see what others found when they have decided themselves
            if blind and not await self.call(
                self.store.see_adjudication, facts.id, identity.number
            ):
                continue
            exported = await self.layer_of(facts.id, layer, identity)
            content = await self.call(annotated, self.store, exported, form)
            lines += await self.work("export", spec, content, form, unfinished)
        # of a large project these are many: nobody else shall wait while they are put together
        text: bytes = await self.call(_joined, lines)
        return text

    # ---- measures

    async def measures(self, project: int) -> tuple[Json, list[tuple[str, str, str]]]:
        """What the decisions of a project say, and the same as rows of a table.

        Some documents a job, then each pair of annotators: a large project takes its time, but no
        worker is held until it is stopped.
        """
        stored = await self._there(project)
        facts = await self.call(self.store.documents, project)
        people = await self.people()
        by_document = await self.call(self.store.layers_of, project)
        layers = [layer for some in by_document.values() for layer in some if layer.version]
        everyone = annotators_of(layers, people)
        parts: list[DocumentMeasures] = []
        for numbers in portions(
            [(document.id, document.n_sentences) for document in facts], _MEASURED
        ):
            rows = await self.call(rows_of, self.store, project, numbers)
            parts += await self.work("measure/parts", stored.task, rows, everyone, people)
        # who began meanwhile comes next time
        sides = sides_of(parts, everyone)
        pairs = [
            await self.work("measure/pair", pair, sides[pair[0]], sides[pair[1]])
            for pair in combinations(everyone, 2)
        ]
        every = await self.work("measure/all", list(sides.values()))
        figures: tuple[Json, list[tuple[str, str, str]]]
        figures = await self.work("measure/whole", stored, parts, every, pairs)
        return figures

    # ---- models

    async def made_models(self, project: int) -> list[wire.MadeModelView]:
        """The models that were learned from decisions."""
        people = await self.people()
        return [made_view(model, people) for model in await self.call(self.store.models, project)]

    async def made_view(self, model: MadeModel) -> wire.MadeModelView:
        """A model as it goes over the wire."""
        return made_view(model, await self.people())

    async def use_model(self, project: int, model: int, identity: Identity) -> wire.MadeModelView:
        """Let a model propose from now on."""
        if model not in {row.id for row in await self.call(self.store.models, project)}:
            raise MissingError(f"there is no model {model} of this project")
        used = await self.call(self.store.use_model, model, by=identity.id)
        return made_view(used, await self.people())

    async def retrain(self, project: int, layer: str, identity: Identity) -> wire.RetrainAnswer:
        """Begin to make the next model."""
        stored = await self._there(project)
        facts = await self._pool.facts()
        return await self.retraining_of.begin(stored, layer, facts.models, identity)

    async def retraining(self, project: int) -> wire.RetrainAnswer:
        """How far the making of the next model is."""
        await self._there(project)
        return await self.retraining_of.told(project)


def portions(sizes: Iterable[tuple[int, int]], most: int) -> list[list[int]]:
    """Numbers in their order, cut where their sizes would add up to more than ``most``.

    >>> portions([(1, 3), (2, 4), (3, 9), (4, 1)], 8)
    [[1, 2], [3], [4]]
    """
    cut: list[list[int]] = []
    room = 0
    for number, size in sizes:
        if not cut or size > room:
            cut.append([])
            room = most
        cut[-1].append(number)
        room -= size
    return cut


def _joined(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def task_spec(project: Project, file: str = "") -> TaskSpec:
    """The task of a project, with the model that proposes in it now."""
    settings = json.dumps(task_settings(project.settings), sort_keys=True)
    return TaskSpec(project.task, project.model, file, settings)


def checked_settings(settings: Mapping[str, Any]) -> Json:
    """The settings of a project; what is not known is refused.

    >>> checked_settings({"labels": ["PER"], "compare": True})
    {'labels': ['PER'], 'compare': True}
    """
    for key in settings:
        if key not in SETTINGS or key == "base_treebank":  # a file of the server's: not over HTTP
            names = ", ".join(name for name in SETTINGS if name != "base_treebank")
            raise SettingsError(f"a project has no setting {key[:60]!r}; it has {names}")
    task_settings(settings)
    if "scheme" in settings and settings["scheme"] not in scheme_names():  # never a file either
        shown = settings["scheme"][:60]
        raise SettingsError(f"the setting scheme of a project cannot be {shown!r}")
    return dict(settings)


def _ranked(opened: OpenLayer, sentence: int) -> bool:
    """Whether candidates are shown in the model's order: where the two are compared, by chance.

    The same for an annotator and a sentence each time.
    """
    project, layer = opened.project, opened.layer
    if not project.settings.get("compare") or layer.kind == "adjudication":
        return True
    if "compare" not in task_class(project.task).OPTIONS:
        return True
    from eigentext.studio.measures.effort import arm

    return arm(project.id, layer.user, layer.document, sentence) == "ranked"


def _layer_view(layer: Layer, people: Mapping[int, str]) -> wire.LayerView:
    names = {"layer": layer.id, "user": people.get(layer.user or 0), "closed": layer.closed}
    return wire.LayerView.model_validate(layer._asdict() | names)


def _summary(
    facts: DocumentFacts,
    layers: Iterable[Layer],
    assigned: Iterable[int],
    people: Mapping[int, str],
) -> wire.DocumentSummary:
    # who has only looked has begun nothing
    begun = [_layer_view(layer, people) for layer in layers if layer.version]
    names = sorted(people.get(user, "?") for user in assigned)
    more = {"assigned": names, "layers": begun}
    return wire.DocumentSummary.model_validate(facts._asdict() | more)


def _decision(decision: Decision, people: Mapping[int, str]) -> wire.DecisionView:
    by, undone_by = (people.get(user or 0) for user in (decision.user, decision.undone_by))
    return wire.DecisionView.model_validate(
        decision._asdict() | {"by": by, "undone_by": undone_by}
    )


def made_view(model: MadeModel, people: Mapping[int, str]) -> wire.MadeModelView:
    """A model that was made from a project, as the service tells of it."""
    scores = {key: value for key, value in model.scores.items() if key != "learned_from"}
    more = {"by": people.get(model.user or 0), "scores": scores}
    return wire.MadeModelView.model_validate(model._asdict() | more)
