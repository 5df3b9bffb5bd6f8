"""What a store gives: plain records, one for each kind of row."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = [
    "AuditEntry",
    "Change",
    "Decision",
    "Document",
    "DocumentFacts",
    "Layer",
    "MadeModel",
    "Place",
    "Progress",
    "Project",
    "State",
]

Place = tuple[int, str]
"""A sentence, from 0, and an item in it, such as ``(0, "w3")``."""


class Project(NamedTuple):
    """A project; ``settings`` are the task's own, ``model`` names the one that proposes."""

    id: int
    name: str
    task: str
    language: str
    guidelines: str
    settings: dict[str, Any]
    model: str
    created: str
    deleted: str | None


class DocumentFacts(NamedTuple):
    """A document without its text."""

    id: int
    project: int
    name: str
    n_sentences: int
    n_words: int
    about: dict[str, Any]
    created: str
    deleted: str | None


class Document(NamedTuple):
    """A document; see :mod:`eigentext.studio.store.imports` for what a sentence holds."""

    id: int
    project: int
    name: str
    text: str | None
    sentences: list[dict[str, Any]]
    about: dict[str, Any]
    created: str
    deleted: str | None

    @property
    def n_words(self) -> int:
        """How many tokens there are."""
        return sum(len(sentence["tokens"]) for sentence in self.sentences)


class Layer(NamedTuple):
    """What one annotator (or adjudication, whose ``user`` is None) makes of one document.

    ``saw`` is the version that it had when its annotator first saw the adjudication.
    """

    id: int
    document: int
    kind: str
    user: int | None
    version: int
    created: str
    done: str | None
    saw: int | None = None

    @property
    def closed(self) -> bool:
        """Finished, and then compared with the adjudication: what would follow is not blind."""
        return self.done is not None and self.saw is not None


class Change(NamedTuple):
    """A decision as it is handed in: ``value`` is JSON; None is "none is right", or removed.

    ``rank`` is the place that the value had among the proposals (from 1; None: not listed),
    ``ranked`` says whether they were shown in the model's order.
    """

    sentence: int
    item: str
    value: Any
    rank: int | None = None
    ranked: bool = True
    seconds: float | None = None
    keys: int | None = None
    note: str = ""


class Decision(NamedTuple):
    """A decision as it is stored: never changed, but for being taken back (``undone``)."""

    id: int
    layer: int
    version: int
    sentence: int
    item: str
    value: Any
    rank: int | None
    ranked: bool
    seconds: float | None
    keys: int | None
    note: str
    user: int | None
    at: str
    undone: str | None
    undone_version: int | None
    undone_by: int | None
    redo_of: int | None

    @property
    def place(self) -> Place:
        """The sentence and the item."""
        return self.sentence, self.item


class State(NamedTuple):
    """What holds in a layer, in the order of the text, and how it came.

    ``last`` are the decisions that an undo would take back, ``redoable`` those that a redo would
    bring back; ``without_last`` is what would hold after an undo.
    """

    layer: Layer
    decisions: dict[Place, Decision]
    last: tuple[Decision, ...]
    redoable: tuple[Decision, ...]
    without_last: dict[Place, Decision]

    @classmethod
    def empty(cls, layer: Layer) -> State:
        """What holds where nobody decided anything."""
        return cls(layer, {}, (), (), {})

    @property
    def version(self) -> int:
        """What a client has seen who saw this."""
        return self.layer.version

    @property
    def values(self) -> dict[Place, Any]:
        """The value of every item that was decided."""
        return {place: decision.value for place, decision in self.decisions.items()}

    def of(self, sentence: int) -> dict[str, Any]:
        """The values of one sentence, by item."""
        return {
            item: d.value for (number, item), d in self.decisions.items() if number == sentence
        }


class Progress(NamedTuple):
    """How far a layer is: items decided, and sentences that are marked done."""

    layer: Layer
    decided: int
    sentences_done: int


class MadeModel(NamedTuple):
    """A model that was learned from decisions."""

    id: int
    project: int
    file: str
    made: str
    user: int | None
    scores: dict[str, Any]
    in_use: bool


class AuditEntry(NamedTuple):
    """Who did what, when."""

    id: int
    at: str
    user: int | None
    action: str
    about: dict[str, Any]
