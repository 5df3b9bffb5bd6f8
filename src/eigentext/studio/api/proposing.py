"""The part of annotation that workers do: proposals, candidates, certainty, checks, lines out.

The flow of a job: what the project says of its model -> a task, opened once and remembered -> the
document, which stays in the worker under its key -> what the task says under the decisions that
came with the job, as JSON.  A worker knows nothing of the store: of a document that it does not
have it says so (`UnknownDocumentError`), and the job comes again with all of it.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from eigentext.base.remembering import Remembered
from eigentext.errors import EigentextError
from eigentext.studio.measures import measures
from eigentext.studio.service.views import as_file
from eigentext.studio.tasks import open_task, task_class
from eigentext.studio.tasks.learning import open_with

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eigentext.base.types import Json
    from eigentext.language import Doc
    from eigentext.studio.api.schemas_annotate import ImportRequest
    from eigentext.studio.measures.measures import DocumentMeasures
    from eigentext.studio.service.models import Served
    from eigentext.studio.store.records import Project, StoredDocument
    from eigentext.studio.tasks.records import AnnotatedDocument, Proposal
    from eigentext.studio.tasks.task import Task

_TASKS_KEPT = 8
_WORDS_KEPT = 400_000  # of documents
_SHOWN = 120  # characters of a sentence in lists
_CANDIDATES_SHOWN = 9  # as many as there are digits to choose one by


class UnknownDocumentError(EigentextError):
    """A worker has not been given this document yet."""


class TaskSpec(NamedTuple):
    """Which task, and with which model."""

    task: str
    model: str = ""  # the name of one that is served; empty: none
    file: str = ""  # that of one learned from decisions, which goes first; empty: none
    settings: str = "{}"  # of the task, as JSON


class DocumentKey(NamedTuple):
    """A document as it is in a store; a document that was stored stays as it is."""

    store: str
    id: int
    version: str


class TaskRequest(NamedTuple):
    """What comes to a worker with each job: the task, a document by its key, what was decided."""

    spec: TaskSpec
    key: DocumentKey
    language: str
    decisions: Mapping[tuple[int, str], Any]
    content: StoredDocument | None = None  # for a worker that does not have it


class Proposers:
    """Tasks with their models, opened when they are first asked for."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._tasks: Remembered[TaskSpec, Task] = Remembered(_TASKS_KEPT)
        self._documents: Remembered[DocumentKey, Doc] = Remembered(
            _WORDS_KEPT, lambda document: document.n_words
        )

    @property
    def jobs(self) -> dict[str, Callable[..., Any]]:
        """What the server may ask, by name."""
        return {
            "annotate/propose": self.propose,
            "annotate/check": self.check,
            "annotate/candidates": self.candidates,
            "annotate/certainty": self.certainty,
            "annotate/findings": self.findings,
            "annotate/compare": self.compare,
            "annotate/export": self.export,
            "annotate/import": self.import_text,
            "annotate/measure/parts": measures.parts_of,
            "annotate/measure/pair": measures.of_pair,
            "annotate/measure/all": measures.of_all,
            "annotate/measure/whole": measured,
        }

    def task(self, spec: TaskSpec) -> Task:
        """The task, with its model."""
        task = self._tasks.get(spec)
        return self._tasks.put(spec, self._opened(spec)) if task is None else task

    def _opened(self, spec: TaskSpec) -> Task:
        served: Any = None
        if spec.model:
            served = self._served.named(spec.model, task_class(spec.task).SERVED)
        return open_with(spec.task, served, spec.file, json.loads(spec.settings))

    def document(self, request: TaskRequest) -> Doc:
        """The document."""
        document = self._documents.get(request.key)
        if document is None:
            if request.content is None:
                raise UnknownDocumentError
            document = self._documents.put(request.key, request.content.doc)
        return document

    def propose(
        self, request: TaskRequest, sentences: Sequence[int], k: int, unranked: Sequence[int]
    ) -> list[Json]:
        """Proposals for some sentences; candidates of ``unranked`` ones tell nothing by order."""
        task, document = self.task(request.spec), self.document(request)
        return [
            _proposal_view(
                task,
                task.propose(document, request.decisions, number, k=k),
                document.sentences[number].forms,
                ranked=number not in unranked,
            )
            for number in sentences
        ]

    def check(self, request: TaskRequest, changes: Sequence[tuple[int, str, object]]) -> list[Any]:
        """The values as they are kept; a bad one is a DataError."""
        task, document = self.task(request.spec), self.document(request)
        return [
            None if value is None else task.check(document, sentence, item, value)
            for sentence, item, value in changes
        ]

    def candidates(
        self, request: TaskRequest, sentence: int, item: str, k: int, search: str
    ) -> list[Json]:
        """Values that an item could have."""
        task, document = self.task(request.spec), self.document(request)
        values = task.candidates(document, request.decisions, sentence, item, k=k, search=search)
        return [asdict(candidate) for candidate in values]

    def certainty(self, request: TaskRequest, numbers: Sequence[int]) -> list[Json]:
        """How sure the model is of some sentences, and how each begins."""
        task, document = self.task(request.spec), self.document(request)
        return [
            asdict(row) | {"text": _beginning(document.sentences[row.sentence].forms)}
            for row in task.certainty(document, request.decisions, numbers)
        ]

    def findings(self, request: TaskRequest, sentence: int, rules: bool) -> list[Json]:
        """What the checks have to say of a sentence: UD's rules, or only whether it is a tree."""
        task, document = self.task(request.spec), self.document(request)
        findings = task.findings(
            document, request.decisions, sentence, language=request.language, rules=rules
        )
        return [asdict(finding) for finding in findings]

    def compare(
        self,
        request: TaskRequest,
        layers: Sequence[Mapping[tuple[int, str], Any]],
        voices: Sequence[int],
        sentence: int,
    ) -> tuple[list[tuple[Json, Json]], list[str]]:
        """The sentence as each layer has it: its analysis, and that as items.

        Last come the items about which those of number ``voices`` differ.
        """
        task, document = self.task(request.spec), self.document(request)
        views = []
        for decisions in layers:
            analysis = task.apply(document, decisions, sentence)
            items = {item: value for (at, item), value in decisions.items() if at == sentence}
            if items.pop("done", None) is not None:
                items = dict(task.items_of(analysis))
            views.append((analysis, items))
        said = [(views[k][1], task.is_done(layers[k], sentence)) for k in voices]
        return views, differing(said, task.differ)

    def export(
        self, spec: TaskSpec, layer: AnnotatedDocument, form: str, unfinished: bool
    ) -> list[str]:
        """Lines of what was decided: no model has a say in that."""
        task = open_task(spec.task, **json.loads(spec.settings))
        return list(task.lines(layer, format=form, unfinished=unfinished))

    def import_text(self, request: ImportRequest, task: str) -> list[Any]:
        """The documents of a text, a treebank or trees in brackets, ready for the store."""
        from eigentext.studio.store.files import read_documents

        segmenter = None
        if request.pipeline:
            segmenter = self._served.get("pipeline", request.pipeline)
        with as_file(request.text) as path:
            return read_documents(
                str(path),
                kind=request.format,
                scheme=request.scheme,
                segmenter=segmenter,
                task=task,
                name=request.name,
            )


def measured(
    project: Project, parts: Sequence[DocumentMeasures], every: list[Json], pairs: Sequence[Json]
) -> tuple[Json, list[tuple[str, str, str]]]:
    """The measures of a project, put together, and the same as rows of a table."""
    record = measures.whole_of(project, parts, every, pairs)
    return record, measures.table(record)


def _proposal_view(task: Task, proposal: Proposal, forms: Sequence[str], *, ranked: bool) -> Json:
    items = []
    for item in proposal.items:
        shown = [asdict(candidate) for candidate in item.candidates[:_CANDIDATES_SHOWN]]
        if not (ranked or item.decided):
            shown = without_order(shown, f"{proposal.sentence} {item.item}")
        hidden = {} if ranked or item.decided else {"value": None, "certainty": 0.0}
        items.append(vars(item) | hidden | {"candidates": shown})
    decided = all(item.decided for item in proposal.items)
    trees = proposal.kbest
    return vars(proposal) | {
        "ranked": ranked,
        # what the model would choose is not to be seen where its order is not
        "analysis": dict(proposal.analysis) if ranked or decided else {},
        "items": items,
        "kbest": [asdict(tree) | {"svg": task.drawing(forms, tree.analysis)} for tree in trees],
        "svg": task.drawing(forms, proposal.analysis, proposal.items),
    }


def differing(
    voices: Sequence[tuple[Mapping[str, Any], bool]], differ: Callable[[Any, Any], bool]
) -> list[str]:
    """The items of which the voices (items, whether they are all of the sentence) differ.

    >>> from operator import ne
    >>> differing([({"a1": 1, "a2": 0}, True), ({"a1": 2, "a2": 0, "a3": 1}, True)], ne)
    ['a1', 'a3']
    >>> differing([({"a1": 1, "a2": 0}, True), ({"a2": 0}, False)], ne)
    []
    """
    differ_in = []
    for item in dict.fromkeys(item for items, _ in voices for item in items):
        values = [items.get(item) for items, whole in voices if whole or item in items]
        first = values[0]
        if any((first is None) != (value is None) for value in values[1:]) or (
            first is not None and any(differ(first, value) for value in values[1:])
        ):
            differ_in.append(item)
    return differ_in


def without_order(candidates: list[Json], salt: str) -> list[Json]:
    """The candidates in an order that tells nothing, the same each time; no probabilities.

    >>> [c["rank"] for c in without_order([{"rank": 1, "value": "a"}], "0 w0")]
    [1]
    """

    def mixed(candidate: Json) -> bytes:
        value = json.dumps(candidate["value"], sort_keys=True, ensure_ascii=False)
        return sha256(f"{salt} {value}".encode()).digest()

    return [candidate | {"probability": None} for candidate in sorted(candidates, key=mixed)]


def _beginning(forms: Sequence[str]) -> str:
    words = " ".join(forms[:40])
    return words if len(words) <= _SHOWN else words[: _SHOWN - 1] + "…"
