"""Annotation for teams, between the store and the workers.

The flow of a decision: who is asking, and which layer -> a worker checks the values -> the store,
in one transaction, unless the sentence changed since the version that was seen -> a worker
proposes the sentence anew under all decisions -> the answer.  What is answered is on the disk.
"""

from __future__ import annotations

import json
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from eigentext.errors import SettingsError
from eigentext.lexical.schemes.labels import scheme_names
from eigentext.studio.api.proposing import KINDS_OF, Asked, TaskSpec, without_order
from eigentext.studio.api.schemas_annotate import (
    DecidedAnswer,
    DecisionView,
    DocumentAnswer,
    DocumentSummary,
    LayerView,
    MadeModelView,
    ProjectView,
    ProposalView,
    SentenceCertainty,
)
from eigentext.studio.measures.measures import annotators_of, rows_of
from eigentext.studio.service.limits import NoModelError, TooMuchError
from eigentext.studio.service.retraining import Retraining
from eigentext.studio.service.workers import BusyError, DeadlineError, FewThreads, WorkerFault
from eigentext.studio.store.problems import MissingError
from eigentext.studio.store.records import Change, State
from eigentext.studio.tasks import TASKS, task_class
from eigentext.studio.tasks.learning import task_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from eigentext.studio.api.schemas_annotate import (
        DecideRequest,
        ImportRequest,
        ProjectRequest,
        RetrainAnswer,
    )
    from eigentext.studio.measures.measures import Part
    from eigentext.studio.service.identity import Who
    from eigentext.studio.service.settings import ServiceSettings
    from eigentext.studio.service.workers import WorkerPool
    from eigentext.studio.store.accounts import Accounts
    from eigentext.studio.store.records import (
        Decision,
        Document,
        DocumentFacts,
        Layer,
        MadeModel,
        Progress,
        Project,
    )
    from eigentext.studio.store.store import AnnotationStore

__all__ = ["AnnotateService"]

_THREADS, _WAITING = 8, 200
_COMPARED = ("lexical", "tags")  # tasks whose candidates can be shown without the model's order
_SHOWN = 120  # characters of a sentence in lists
_PROPOSED = 20  # sentences, at most, that are proposed anew with the answer to a change
_AT_ONCE = 25  # sentences of which certainty is asked in one job
_MEASURED = 200  # sentences, about, that are measured in one job
_LOOKED_AT = 1_000  # sentences, about, from which the least certain are chosen


class Opened(NamedTuple):
    """A layer of a document, and all that belongs to it."""

    project: Project
    document: Document
    layer: Layer
    state: State
    spec: TaskSpec
    people: Mapping[int, str]

    def asked(self, decisions: Mapping[tuple[int, str], Any] | None = None) -> Asked:
        """What a worker gets; by default with the decisions that hold now."""
        return Asked(
            self.spec,
            self.document.name,
            self.project.language,
            self.document.text,
            self.document.sentences,
            self.state.values if decisions is None else decisions,
        )


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
            self._formats = {task: list(task_class(task).formats) for task in TASKS}

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

    async def call(self, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """What the store answers, asked in a thread."""
        return await self._files.run(partial(function, *given, **named))

    async def call_slowly(self, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """The same for what works with passwords."""
        return await self._passwords.run(partial(function, *given, **named))

    async def work(self, job: str, *given: Any) -> Any:
        """What a worker answers."""
        return await self._pool.run(f"annotate/{job}", *given)

    # ---- projects

    async def project_view(self, project: Project) -> ProjectView:
        """A project as it goes over the wire."""
        known = project._asdict()
        known["settings"] = {k: v for k, v in project.settings.items() if k != "base_treebank"}
        return ProjectView(**known, formats=self._formats[project.task])

    async def create_project(self, request: ProjectRequest, who: Who) -> ProjectView:
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
            by=who.id,
        )
        return await self.project_view(project)

    async def change_project(self, number: int, request: ProjectRequest, who: Who) -> ProjectView:
        """Change what the request gives."""
        project = await self.call(self.store.project, number)
        if request.task is not None and request.task != project.task:
            raise SettingsError("the task of a project cannot be changed: make a new project")
        await self._check_model(request.model, project.task)
        given = request.model_dump(exclude_unset=True, exclude={"task"})
        values = {key: value for key, value in given.items() if value is not None}
        if "settings" in values:
            values["settings"] = checked_settings(values["settings"])
            if "base_treebank" in project.settings:  # a file of the server's: not over HTTP
                values["settings"]["base_treebank"] = project.settings["base_treebank"]
        changed = await self.call(self.store.change_project, number, **values, by=who.id)
        return await self.project_view(changed)

    async def _check_model(self, name: str | None, task: str) -> None:
        if not name:
            return
        facts = await self._pool.facts()
        kinds = KINDS_OF[task]
        fitting = [one.name for one in facts.models if one.kind in kinds]
        if name not in fitting:
            known = ", ".join(fitting) or "none"
            raise SettingsError(
                f"no model {name[:60]!r} that proposes in this task is served; there is {known}"
            )

    # ---- documents

    async def people(self) -> dict[int, str]:
        """The names of all users."""
        return {user.id: user.name for user in await self.call(self.accounts.users)}

    async def documents(self, project: int, who: Who) -> list[DocumentSummary]:
        """The documents of a project, with how far everybody is."""
        await self._there(project)
        facts = await self.call(self.store.documents, project)
        progress = await self.call(self.store.progress, project)
        assigned = await self.call(self.store.assignments, project)
        people = await self.people()
        return [
            _summary(one, progress.get(one.id, ()), assigned.get(one.id, ()), people)
            for one in facts
        ]

    async def document_summary(self, number: int) -> DocumentSummary:
        """One document."""
        facts = await self.call(self.store.document_facts, number)
        progress = await self.call(self.store.progress, facts.project, number)
        assigned = await self.call(self.store.assignments, facts.project)
        people = await self.people()
        return _summary(facts, progress.get(number, ()), assigned.get(number, ()), people)

    async def add_documents(
        self, project: int, request: ImportRequest, who: Who
    ) -> list[DocumentSummary]:
        """Import a text or a treebank."""
        found = await self._there(project)
        most = self.settings.max_characters
        if len(request.text) > most:
            raise TooMuchError(
                f"the text has {len(request.text):,} characters; at most {most:,} are read here: "
                "`eigentext annotate import` takes files of any length"
            )
        new = await self.work("import", request, found.task, found.language)
        made = await self.call(self.store.add_documents, project, new, by=who.id)
        people = await self.people()
        return [_summary(facts, (), (), people) for facts in made]

    async def _there(self, project: int) -> Project:
        found: Project = there(await self.call(self.store.project, project), "project")
        return found

    # ---- layers

    async def open(self, number: int, layer: Layer) -> Opened:
        """A layer of a document with all that belongs to it."""
        found: Opened = await self.call(self._open, number, layer)
        return found

    def _open(self, number: int, layer: Layer) -> Opened:
        document = self.store.document(number)
        project = there(self.store.project(document.project), "project")
        there(document, "document")
        state = self._state(layer)
        spec = task_spec(project, self.store.models(project.id))
        people = {user.id: user.name for user in self.accounts.users()}
        return Opened(project, document, layer, state, spec, people)

    def _state(self, layer: Layer) -> State:
        return self.store.state(layer.id) if layer.id else State.empty(layer)

    async def layer_of(self, number: int, which: str, who: Who) -> Layer:
        """One's own layer, the adjudication, or that of the user with this number.

        It is there to look at: one that nobody began has the number 0 until a change begins it.
        """
        kind = "adjudication" if which == "adjudication" else "annotator"
        user = int(which) if which.isdigit() else {"mine": who.id}.get(which)
        found: Layer = await self.call(self.store.layer_to_see, number, kind=kind, user=user)
        return found

    async def begun(self, layer: Layer) -> Layer:
        """The layer, which is to be changed and so has to be in the store."""
        if layer.id:
            return layer
        found: Layer = await self.call(
            self.store.layer, layer.document, kind=layer.kind, user=layer.user
        )
        return found

    async def document(self, number: int, layer: Layer, *, writable: bool) -> DocumentAnswer:
        """A document as it stands in a layer."""
        opened = await self.open(number, layer)
        return DocumentAnswer(
            document=await self.document_summary(number),
            project=await self.project_view(opened.project),
            text=opened.document.text,
            sentences=opened.document.sentences,
            layer=_layer_view(opened.state, opened.people),
            writable=writable,
            decisions=[_decision(one, opened.people) for one in opened.state.decisions.values()],
            can_undo=bool(opened.state.last),
            can_redo=bool(opened.state.redoable),
        )

    async def proposals(
        self, number: int, layer: Layer, sentences: Sequence[int], k: int
    ) -> list[ProposalView]:
        """What the model says of some sentences."""
        return await self._proposals(await self.open(number, layer), sentences, k)

    async def _proposals(
        self, opened: Opened, sentences: Iterable[int], k: int
    ) -> list[ProposalView]:
        chosen = sorted(set(sentences))
        for one in chosen:
            _check_sentence(opened.document, one)
        hidden = [one for one in chosen if not _ranked(opened, one)]
        found = await self.work("propose", opened.asked(), chosen, k, hidden)
        notes = {(d.sentence, d.item): d.note for d in opened.state.decisions.values() if d.note}
        for proposal in found:
            for item in proposal["items"]:
                item["note"] = notes.get((proposal["sentence"], item["item"]), "")
        return [ProposalView.model_validate(one) for one in found]

    async def decide(
        self, number: int, layer: Layer, request: DecideRequest, who: Who
    ) -> DecidedAnswer:
        """Save decisions that belong together; the answer comes when they are on the disk."""
        opened = await self.open(number, layer)
        given = [(one.sentence, one.item, one.value) for one in request.changes]
        for sentence, _, _ in given:
            _check_sentence(opened.document, sentence)
        values = await self.work("check", opened.asked(), given)
        changes = [
            Change(
                one.sentence,
                one.item,
                value,
                one.rank,
                _ranked(opened, one.sentence),
                one.seconds,
                one.keys,
                one.note,
            )
            for one, value in zip(request.changes, values, strict=True)
        ]
        layer = await self.begun(layer)
        version = await self.call(
            self.store.decide, layer.id, changes, seen=request.seen, by=who.id
        )
        sentences = {one.sentence for one in changes}
        return await self._changed(number, layer, sentences, request.k, version)

    async def undo(
        self, number: int, layer: Layer, seen: int | None, k: int, who: Who, *, redo: bool = False
    ) -> DecidedAnswer:
        """Take the last change back, or bring the one that was taken back again."""
        layer = await self.begun(layer)
        step = self.store.redo if redo else self.store.undo
        changed = await self.call(step, layer.id, seen=seen, by=who.id)
        return await self._changed(number, layer, {one.sentence for one in changed}, k, None)

    async def _changed(
        self, number: int, layer: Layer, sentences: set[int], k: int, version: int | None
    ) -> DecidedAnswer:
        opened = await self.open(number, layer)
        if opened.project.task in ("lexical", "segmentation"):
            # a decision speaks to the sentences around, too; they are asked for one by one
            sentences = sentences | {s + d for s in sentences for d in (-1, 1)}
            sentences &= set(range(len(opened.document.sentences)))
        held = opened.state.decisions.values()
        return DecidedAnswer(
            version=opened.state.version if version is None else version,
            changed=[_decision(one, opened.people) for one in held if one.sentence in sentences],
            proposals=await self._proposals_if_there(opened, sentences, k),
            can_undo=bool(opened.state.last),
            can_redo=bool(opened.state.redoable),
            progress=_layer_view(opened.state, opened.people),
        )

    async def _proposals_if_there(
        self, opened: Opened, sentences: set[int], k: int
    ) -> list[ProposalView]:
        """Proposals after a change; the change is stored, so that a busy worker is no error.

        Those who get none ask for them.
        """
        if len(sentences) > _PROPOSED:
            return []
        try:
            return await self._proposals(opened, sentences, k)
        except (BusyError, DeadlineError, WorkerFault):
            return []

    async def history(self, layer: Layer, sentence: int | None) -> list[DecisionView]:
        """All that was decided in a layer, what was taken back too."""
        if not layer.id:
            return []
        people = await self.people()
        found = await self.call(self.store.history, layer.id, sentence=sentence)
        return [_decision(one, people) for one in found]

    async def layer_view(self, layer: Layer) -> LayerView:
        """How far a layer is."""
        return _layer_view(await self.call(self._state, layer), await self.people())

    async def candidates(
        self, number: int, layer: Layer, sentence: int, item: str, k: int, search: str
    ) -> list[dict[str, Any]]:
        """Values that an item could have."""
        opened = await self.open(number, layer)
        _check_sentence(opened.document, sentence)
        found = await self.work("candidates", opened.asked(), sentence, item, k, search)
        if not _ranked(opened, sentence):
            found = without_order(found, f"{sentence} {item}")
        return list(found)

    async def findings(self, number: int, layer: Layer, sentence: int) -> list[Any]:
        """What the checks have to say of a sentence as it stands."""
        opened = await self.open(number, layer)
        _check_sentence(opened.document, sentence)
        rules = opened.project.settings.get("checks", True)
        return list(await self.work("findings", opened.asked(), sentence, rules))

    # ---- what to look at next

    async def certainty(self, number: int, layer: Layer) -> list[SentenceCertainty]:
        """How sure the model is of each sentence of a document."""
        opened = await self.open(number, layer)
        asked, found = opened.asked(), []
        # a few sentences a job: a long document must not hold a worker until it is stopped
        for first in range(0, len(opened.document.sentences), _AT_ONCE):
            found += await self.work("certainty", asked, first, _AT_ONCE)
        return [
            SentenceCertainty(
                **one,
                document=number,
                text=_beginning(opened.document.sentences[one["sentence"]]),
            )
            for one in found
        ]

    async def queue(self, project: int, who: Who, limit: int) -> list[SentenceCertainty]:
        """Open sentences of all documents that the user is to annotate, the least certain first.

        These are the documents assigned to the user, or to nobody.  Of a large project the first
        documents are looked at, until there are sentences enough to choose from.
        """
        await self._there(project)
        assigned = await self.call(self.store.assignments, project)
        waiting: list[SentenceCertainty] = []
        for facts in await self.call(self.store.documents, project):
            if who.id not in assigned.get(facts.id, [who.id]):
                continue
            if len(waiting) >= _LOOKED_AT:
                break
            layer = await self.layer_of(facts.id, "mine", who)
            waiting += [one for one in await self.certainty(facts.id, layer) if not one.done]
        waiting.sort(key=lambda one: (one.certainty, one.document, one.sentence))
        return waiting[:limit]

    # ---- adjudication

    async def compare(self, number: int, sentence: int) -> tuple[list[dict[str, Any]], list[str]]:
        """What every layer says of a sentence, and the items about which they differ."""
        layers = await self.call(self.store.layers, number)
        opened = [await self.open(number, layer) for layer in layers]
        if not opened:
            return [], []
        _check_sentence(opened[0].document, sentence)
        values = [one.state.of(sentence) for one in opened]
        # a layer that says nothing of the sentence has no voice
        voices = [one for one, said in zip(opened, values, strict=True) if said]
        if not voices:
            return [], []
        people = [k for k, one in enumerate(voices) if one.layer.kind == "annotator"]
        layers_said = [one.state.values for one in voices]
        told, differing = await self.work(
            "compare", voices[0].asked({}), layers_said, people, sentence
        )
        views = [
            {
                "layer": one.layer.id,
                "kind": one.layer.kind,
                "user": one.people.get(one.layer.user or 0),
                "values": one.state.of(sentence),
                "items": items,
                "analysis": analysis,
                "done": "done" in one.state.of(sentence),
            }
            for one, (analysis, items) in zip(voices, told, strict=True)
        ]
        return views, differing

    # ---- out

    async def export(
        self, project: int, layer: str, form: str | None, who: Who, *, unfinished: bool
    ) -> bytes:
        """The finished sentences of all documents in a layer, as lines."""
        await self._there(project)
        lines: list[str] = []
        blind = layer == "adjudication" and who.blind
        for facts in await self.call(self.store.documents, project):
            # annotators see what others found when they have decided themselves
            if blind and not await self.call(self.store.see_adjudication, facts.id, who.number):
                continue
            own = await self.layer_of(facts.id, layer, who)
            opened = await self.open(facts.id, own)
            name = opened.people.get(own.user or 0, "adjudication")
            lines += await self.work("export", opened.asked(), name, form, unfinished)
        # of a large project these are many: nobody else shall wait while they are put together
        text: bytes = await self.call(_joined, lines)
        return text

    # ---- measures

    async def measures(self, project: int) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
        """What the decisions of a project say, and the same as rows of a table.

        Some documents a job, then each pair of annotators: a large project takes its time, but no
        worker is held until it is stopped.
        """
        found = await self._there(project)
        facts = await self.call(self.store.documents, project)
        people = await self.people()
        progress = await self.call(self.store.progress, project)
        layers = [one.layer for some in progress.values() for one in some if one.layer.version]
        everyone = annotators_of(layers, people)
        parts: list[Part] = []
        for numbers in portions([(one.id, one.n_sentences) for one in facts], _MEASURED):
            rows = await self.call(rows_of, self.store, project, numbers)
            parts += await self.work("measure/parts", found.task, rows, everyone, people)
        # who began meanwhile comes next time
        sides = {
            name: [part.sides[name] for part in parts if name in part.sides] for name in everyone
        }
        pairs = [
            await self.work("measure/pair", pair, sides[pair[0]], sides[pair[1]])
            for pair in combinations(everyone, 2)
        ]
        every = await self.work("measure/all", list(sides.values()))
        told: tuple[dict[str, Any], list[tuple[str, str, str]]]
        told = await self.work("measure/whole", found, parts, every, pairs)
        return told

    # ---- models

    async def made_models(self, project: int) -> list[MadeModelView]:
        """The models that were learned from decisions."""
        people = await self.people()
        return [made_view(one, people) for one in await self.call(self.store.models, project)]

    async def made_view(self, made: MadeModel) -> MadeModelView:
        """A model as it goes over the wire."""
        return made_view(made, await self.people())

    async def use_model(self, project: int, model: int, who: Who) -> MadeModelView:
        """Let a model propose from now on."""
        if model not in {one.id for one in await self.call(self.store.models, project)}:
            raise MissingError(f"there is no model {model} of this project")
        used = await self.call(self.store.use_model, model, by=who.id)
        return made_view(used, await self.people())

    async def retrain(self, project: int, layer: str, who: Who) -> RetrainAnswer:
        """Begin to make the next model."""
        found = await self._there(project)
        facts = await self._pool.facts()
        return await self.retraining_of.begin(found, layer, facts.models, who)

    async def retraining(self, project: int) -> RetrainAnswer:
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


def there(found: Any, what: str) -> Any:
    """A project or a document, unless it was deleted."""
    if found.deleted is not None:
        raise MissingError(f"the {what} {found.name!r} was deleted")
    return found


def task_spec(project: Project, made: Sequence[MadeModel]) -> TaskSpec:
    """The task of a project, with the model that proposes in it now."""
    file = next((one.file for one in made if one.in_use), "")
    settings = json.dumps(task_settings(project.settings), sort_keys=True)
    return TaskSpec(project.task, project.model, file, settings)


def checked_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a project; what is not known is refused.

    >>> checked_settings({"labels": ["PER"], "compare": True})
    {'labels': ['PER'], 'compare': True}
    """
    kinds: dict[str, Callable[[Any], bool]] = {
        "labels": lambda v: isinstance(v, list) and all(isinstance(one, str) for one in v),
        "scheme": lambda v: v in scheme_names(),  # a name, never a file of the server's
        "compare": lambda v: isinstance(v, bool),
        "checks": lambda v: isinstance(v, bool),
        "passed": lambda v: isinstance(v, bool),
    }
    for key, value in settings.items():
        if key not in kinds:
            raise SettingsError(
                f"a project has no setting {key[:60]!r}; it has {', '.join(kinds)}"
            )
        if not kinds[key](value):
            raise SettingsError(f"the setting {key} of a project cannot be {str(value)[:60]!r}")
    return dict(settings)


def _ranked(opened: Opened, sentence: int) -> bool:
    """Whether candidates are shown in the model's order: where the two are compared, by chance.

    The same for an annotator and a sentence each time.
    """
    if not opened.project.settings.get("compare") or opened.layer.kind == "adjudication":
        return True
    if opened.project.task not in _COMPARED:
        return True
    from eigentext.studio.measures.effort import arm

    shown = arm(opened.project.id, opened.layer.user, opened.document.id, sentence)
    return shown == "ranked"


def _check_sentence(document: Document, sentence: int) -> None:
    if not 0 <= sentence < len(document.sentences):
        raise SettingsError(
            f"there is no sentence {sentence}: the document has {len(document.sentences)}, from 0"
        )


def _beginning(sentence: Mapping[str, Any]) -> str:
    words = " ".join(token["text"] for token in sentence["tokens"][:40])
    return words if len(words) <= _SHOWN else words[: _SHOWN - 1] + "…"


def _layer_view(state: State, people: Mapping[int, str]) -> LayerView:
    held = [item for (_, item), d in state.decisions.items() if d.value is not None]
    n_done = held.count("done")
    layer = state.layer
    return LayerView(
        layer=layer.id,
        kind=layer.kind,  # type: ignore[arg-type]
        user=people.get(layer.user or 0),
        version=layer.version,
        decided=len(held) - n_done,
        done_sentences=n_done,
        done=layer.done,
        closed=layer.closed,
    )


def _summary(
    facts: DocumentFacts,
    progress: Iterable[Progress],
    assigned: Iterable[int],
    people: Mapping[int, str],
) -> DocumentSummary:
    return DocumentSummary(
        id=facts.id,
        project=facts.project,
        name=facts.name,
        n_sentences=facts.n_sentences,
        n_words=facts.n_words,
        created=facts.created,
        assigned=sorted(people.get(user, "?") for user in assigned),
        layers=[
            LayerView(
                layer=one.layer.id,
                kind=one.layer.kind,  # type: ignore[arg-type]
                user=people.get(one.layer.user or 0),
                version=one.layer.version,
                decided=one.decided,
                done_sentences=one.sentences_done,
                done=one.layer.done,
                closed=one.layer.closed,
            )
            for one in progress
            if one.layer.version  # who has only looked has begun nothing
        ],
    )


def _decision(one: Decision, people: Mapping[int, str]) -> DecisionView:
    return DecisionView(
        id=one.id,
        version=one.version,
        sentence=one.sentence,
        item=one.item,
        value=one.value,
        rank=one.rank,
        ranked=one.ranked,
        seconds=one.seconds,
        keys=one.keys,
        note=one.note,
        by=people.get(one.user or 0),
        at=one.at,
        undone=one.undone,
        undone_by=people.get(one.undone_by or 0),
    )


def made_view(one: MadeModel, people: Mapping[int, str]) -> MadeModelView:
    return MadeModelView(
        id=one.id,
        made=one.made,
        by=people.get(one.user or 0),
        scores={key: value for key, value in one.scores.items() if key != "learned_from"},
        in_use=one.in_use,
    )
