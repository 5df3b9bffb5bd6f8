"""The part of annotation that workers do: proposals, candidates, certainty, checks, lines out.

The flow of a job: what the project says of its model -> a task, opened once and remembered ->
the document and the decisions of a layer -> what the task says, as JSON.  Documents and decisions
come with each job: a worker knows nothing of the store.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from eigentext.base.remembering import Remembered
from eigentext.studio.measures import measures
from eigentext.studio.service.views import as_file
from eigentext.studio.tasks import Document, Sentence
from eigentext.studio.tasks.learning import open_with

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eigentext.studio.api.schemas_annotate import ImportRequest
    from eigentext.studio.measures.measures import Part
    from eigentext.studio.service.models import Served
    from eigentext.studio.store.records import Decision, Layer, Project
    from eigentext.studio.store.records import Document as StoredDocument
    from eigentext.studio.tasks import Candidate, Proposal
    from eigentext.studio.tasks.common import CommonTask

__all__ = ["KINDS_OF", "Asked", "Proposers", "TaskSpec"]

#: The kinds of models that can propose in each task, in the order in which they are looked for.
KINDS_OF: dict[str, tuple[str, ...]] = {
    "lexical": ("lex",),
    "dependency": ("dep", "pipeline"),
    "constituency": ("const",),
    "tags": ("pipeline", "tagger"),
    "entities": ("tagger",),
    "segmentation": ("pipeline",),
}
_TASKS_KEPT = 8
_WIDTH = 960.0  # of a row of words; longer sentences are broken
_OF_TREES = ("tree", "crossing")  # rules of checks that any tree can be held to
_CANDIDATES_SHOWN = 9  # as many as there are digits to choose one by


class TaskSpec(NamedTuple):
    """Which task, and with which model.

    ``model``     the name of one that is served; empty: none
    ``file``      that of one learned from decisions, which goes first; empty: none
    ``settings``  of the task, as JSON
    """

    task: str
    model: str = ""
    file: str = ""
    settings: str = "{}"


class Asked(NamedTuple):
    """A document and what was decided in it, as they come to a worker."""

    spec: TaskSpec
    name: str
    language: str
    text: str | None
    sentences: Sequence[Mapping[str, Any]]
    decisions: Mapping[tuple[int, str], Any]

    @property
    def document(self) -> Document:
        """The document as tasks know it."""
        return Document(
            self.name,
            tuple(map(Sentence.from_record, self.sentences)),
            self.text or "",
            self.language,
        )


class Proposers:
    """Tasks with their models, opened when they are first asked for."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._tasks: Remembered[TaskSpec, CommonTask] = Remembered(_TASKS_KEPT)

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
            "annotate/measure/parts": measured_parts,
            "annotate/measure/pair": measures.of_pair,
            "annotate/measure/all": measures.of_all,
            "annotate/measure/whole": measured,
        }

    def task(self, spec: TaskSpec) -> CommonTask:
        """The task, with its model."""
        known = self._tasks.get(spec)
        if known is None:
            known = self._tasks.put(spec, self._opened(spec))
        return known

    def _opened(self, spec: TaskSpec) -> CommonTask:
        served: Any = None
        if spec.model:
            served = self._served.named(spec.model, KINDS_OF[spec.task])
        return open_with(spec.task, served, spec.file, json.loads(spec.settings))

    def propose(
        self, asked: Asked, sentences: Sequence[int], k: int, unranked: Sequence[int]
    ) -> list[dict[str, Any]]:
        """Proposals for some sentences; candidates of ``unranked`` ones tell nothing by order."""
        task, document = self.task(asked.spec), asked.document
        return [
            _proposal_view(
                task.propose(document, asked.decisions, number, k=k),
                document.sentences[number].forms,
                ranked=number not in unranked,
            )
            for number in sentences
        ]

    def check(self, asked: Asked, changes: Sequence[tuple[int, str, Any]]) -> list[Any]:
        """The values as they are kept; a bad one is a DataError."""
        task, document = self.task(asked.spec), asked.document
        return [
            None if value is None else task.check(document, sentence, item, value)
            for sentence, item, value in changes
        ]

    def candidates(
        self, asked: Asked, sentence: int, item: str, k: int, search: str
    ) -> list[dict[str, Any]]:
        """Values that an item could have."""
        task = self.task(asked.spec)
        found = task.candidates(
            asked.document, asked.decisions, sentence, item, k=k, search=search
        )
        return [_candidate_view(one) for one in found]

    def certainty(self, asked: Asked, first: int, n: int) -> list[dict[str, Any]]:
        """How sure the model is of so many sentences, from the first on."""
        numbers = range(first, min(first + n, len(asked.sentences)))
        found = self.task(asked.spec).certainty(asked.document, asked.decisions, numbers)
        return [asdict(one) for one in found]

    def findings(self, asked: Asked, sentence: int, rules: bool) -> list[dict[str, Any]]:
        """What the checks have to say of a sentence: UD's rules, or only whether it is a tree."""
        from eigentext.studio.tasks.checks import check_sentence

        if asked.spec.task not in ("dependency", "tags"):
            return []
        task, document = self.task(asked.spec), asked.document
        analysis = task.apply(document, asked.decisions, sentence)
        given = document.sentences[sentence]
        found = check_sentence(given, analysis, language=asked.language, udtools=rules)
        return [asdict(one) for one in found if rules or one.rule in _OF_TREES]

    def compare(
        self,
        asked: Asked,
        layers: Sequence[Mapping[tuple[int, str], Any]],
        voices: Sequence[int],
        sentence: int,
    ) -> tuple[list[tuple[dict[str, Any], dict[str, Any]]], list[str]]:
        """The sentence as each layer has it: its analysis, and that as items.

        Last come the items about which those of number ``voices`` differ.
        """
        task, document = self.task(asked.spec), asked.document
        given = document.sentences[sentence]
        told = []
        for decisions in layers:
            analysis = task.apply(document, decisions, sentence)
            items = {item: value for (at, item), value in decisions.items() if at == sentence}
            if items.pop("done", None) is not None:
                items = dict(task.items_of(given, analysis))
            told.append((analysis, items))
        said = [(told[k][1], layers[k].get((sentence, "done")) is not None) for k in voices]
        return told, differing(said, task.differ)

    def export(
        self, asked: Asked, annotator: str, form: str | None, unfinished: bool
    ) -> list[str]:
        """Lines of what was decided."""
        task = self.task(asked.spec)
        return list(
            task.export(
                asked.document,
                asked.decisions,
                annotator=annotator,
                format=form,
                unfinished=unfinished,
            )
        )

    def import_text(self, request: ImportRequest, task: str, language: str) -> list[Any]:
        """The documents of a text, a treebank or trees in brackets, ready for the store."""
        from eigentext.studio.store.imports import read_documents

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
                language=language,
                name=request.name,
            )


def measured_parts(
    task: str,
    rows: tuple[list[StoredDocument], list[Layer], list[Decision]],
    everyone: Sequence[str],
    people: Mapping[int, str],
) -> list[Part]:
    """Some documents of a project, each measured by itself."""
    return measures.parts_of(task, *rows, everyone=everyone, users=people)


def measured(
    project: Project,
    parts: Sequence[Part],
    every: list[dict[str, Any]],
    pairs: Sequence[dict[str, Any]],
) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
    """The measures of a project, put together, and the same as rows of a table."""
    record = measures.whole_of(project, parts, every, pairs)
    return record, measures.table(record)


def _proposal_view(proposal: Proposal, forms: Sequence[str], *, ranked: bool) -> dict[str, Any]:
    items = []
    for item in proposal.items:
        shown = [_candidate_view(one) for one in item.candidates[:_CANDIDATES_SHOWN]]
        if not ranked and not item.decided:
            shown = without_order(shown, f"{proposal.sentence} {item.item}")
        items.append(
            {
                "item": item.item,
                "value": item.value if ranked or item.decided else None,
                "decided": item.decided,
                "certainty": item.certainty if ranked or item.decided else 0.0,
                "candidates": shown,
            }
        )
    decided = all(item.decided for item in proposal.items)
    return {
        "task": proposal.task,
        "sentence": proposal.sentence,
        "ranked": ranked,
        # what the model would choose is not to be seen where its order is not
        "analysis": dict(proposal.analysis) if ranked or decided else {},
        "items": items,
        "certainty": proposal.certainty,
        "kbest": [
            asdict(tree) | {"svg": drawing(proposal, forms, tree.analysis)}
            for tree in proposal.kbest
        ],
        "source": proposal.source,
        "followed": proposal.followed,
        "notes": list(proposal.notes),
        "svg": drawing(proposal, forms, proposal.analysis),
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
    found = []
    for item in dict.fromkeys(item for items, _ in voices for item in items):
        values = [items.get(item) for items, whole in voices if whole or item in items]
        first = values[0]
        if any((first is None) != (one is None) for one in values[1:]) or (
            first is not None and any(differ(first, one) for one in values[1:])
        ):
            found.append(item)
    return found


def without_order(candidates: list[dict[str, Any]], place: str) -> list[dict[str, Any]]:
    """The candidates in an order that tells nothing, the same each time; no probabilities.

    >>> [c["rank"] for c in without_order([{"rank": 1, "value": "a"}], "0 w0")]
    [1]
    """

    def mixed(candidate: dict[str, Any]) -> bytes:
        value = json.dumps(candidate["value"], sort_keys=True, ensure_ascii=False)
        return sha256(f"{place} {value}".encode()).digest()

    return [one | {"probability": None} for one in sorted(candidates, key=mixed)]


def _candidate_view(candidate: Candidate) -> dict[str, Any]:
    return asdict(candidate)


def drawing(proposal: Proposal, forms: Sequence[str], analysis: Mapping[str, Any]) -> str | None:
    """One of the trees of the proposal as SVG; None where there is none."""
    if proposal.task == "constituency" and analysis.get("brackets"):
        from eigentext.drawing.constituents import tree_svg
        from eigentext.language.trees.constituent import Tree

        tree = Tree.from_brackets(analysis["brackets"])
        return tree_svg(tree, title="Constituent tree", data=True)
    if proposal.task == "dependency" and forms and None not in analysis["head"]:
        from eigentext.drawing.arcs import arcs_svg

        first = analysis is proposal.analysis
        sure = [item.certainty for item in proposal.items] if first else None
        return arcs_svg(
            forms,
            list(analysis["head"]),
            list(analysis["deprel"]),
            title="Dependencies",
            probabilities=sure,
            width=_WIDTH,
            data=True,
        )
    return None
