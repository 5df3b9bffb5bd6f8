"""What a store gives: plain records, one for each kind of row."""

from __future__ import annotations

from typing import Any, NamedTuple

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

    ``saw`` is the version that it had when its annotator first saw the adjudication; ``decided``
    and ``done_sentences`` count what holds: items, and sentences that are done.
    """

    id: int
    document: int
    kind: str
    user: int | None
    version: int
    created: str
    done: str | None
    saw: int | None = None
    decided: int = 0
    done_sentences: int = 0

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
    bring back.
    """

    layer: Layer
    decisions: dict[Place, Decision]
    last: tuple[Decision, ...]
    redoable: tuple[Decision, ...]

    @classmethod
    def empty(cls, layer: Layer) -> State:
        """What holds where nobody decided anything."""
        return cls(layer, {}, (), ())

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


class OpenLayer(NamedTuple):
    """A layer of a document with what a request about some of its sentences needs.

    ``file``       the model learned from decisions that proposes now; empty: none
    ``people``     the names of all users by number
    ``decisions``  what holds in those sentences
    """

    project: Project
    document: DocumentFacts
    layer: Layer
    file: str
    people: dict[int, str]
    decisions: dict[Place, Decision]

    @property
    def values(self) -> dict[Place, Any]:
        """The value of every item that was decided in those sentences."""
        return {place: decision.value for place, decision in self.decisions.items()}


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
