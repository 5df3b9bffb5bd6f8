"""What tasks take and give beside texts (`eigentext.language.Doc`): decisions and proposals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from eigentext.evaluate.agreement import Arc
    from eigentext.language import Doc, Sentence
    from eigentext.language.trees.constituent import Tree
    from eigentext.studio.store.records import Decision

DONE = "done"  # the item that says that a sentence is finished
Decisions: TypeAlias = "Mapping[tuple[int, str], Any]"
AnswerKey = tuple[int, ...]
Analysis: TypeAlias = "Mapping[str, Any]"
"""The whole answer of a sentence; its keys are the task's, see `eigentext.studio.tasks`."""


@dataclass(frozen=True)
class AnnotatedDocument:
    """A document and what one layer says of it: what an export is made of."""

    document: Doc
    decisions: Decisions
    annotator: str = ""  # whose layer it is; empty: the adjudication
    history: Sequence[Mapping[str, Any]] = ()  # all decisions, for the format ``decisions``


@dataclass(frozen=True)
class ItemCandidate:
    """One value that an item could have, ``rank`` from 1 on."""

    value: Any
    rank: int
    probability: float | None = None  # None where no model speaks
    shown: Mapping[str, Any] = field(default_factory=dict)  # beside it: gloss, plain words, ...


@dataclass(frozen=True)
class TaskItem:
    """One thing to decide, or decided, in a sentence."""

    item: str  # its name within the sentence, such as ``a3``
    value: Any  # as decided, or as proposed; None: nothing is proposed
    decided: bool
    certainty: float  # the probability of the value; 1 if decided, 0 without a model
    candidates: tuple[ItemCandidate, ...] = ()  # the best few; `Task.candidates` has all


@dataclass(frozen=True)
class WholeAnswer:
    """A whole answer among the k best; ``score`` is the model's, higher is better."""

    analysis: Analysis
    score: float
    probability: float | None = None


@dataclass(frozen=True)
class Proposal:
    """What a model says of a sentence under all decisions so far.

    ``analysis``   the whole answer, decisions included; its keys are the task's
    ``items``      all that can be decided in it, in reading order
    ``certainty``  of the sentence: that of its least certain open item; 1 when none is open
    ``kbest``      other whole answers under the same decisions, best first (the best included);
                   empty where the task has none
    ``source``     ``model``, ``imported`` (what came with the text), ``none`` (no model, nothing
                   imported), or ``done`` (the sentence is finished)
    ``followed``   whether the proposal is the model's under all decisions; if not, decisions stand
                   as given, and ``notes`` says why
    ``notes``      sentences in plain English for the annotator
    """

    task: str
    sentence: int
    analysis: Analysis
    items: tuple[TaskItem, ...]
    certainty: float
    kbest: tuple[WholeAnswer, ...] = ()
    source: str = "model"
    followed: bool = True
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Certainty:
    """How sure the model is of what is still open in a sentence."""

    sentence: int
    certainty: float
    n_open: int
    n_decided: int
    done: bool
    least: str | None  # the open item that it is least sure of; None: nothing is open


@dataclass(frozen=True)
class Finding:
    """What a check has to say of a sentence; ``words`` are numbers from 0 on."""

    level: Literal["error", "hint"]
    words: tuple[int, ...]
    message: str
    source: str = "eigentext"  # or "udtools"
    rule: str = ""


@dataclass(frozen=True)
class Finished:
    """A sentence that is done: what a model learns from and is scored on."""

    document: str
    number: int
    sentence: Sentence
    analysis: Analysis
    text: str = ""  # from its first token to its last, where there is a text


@dataclass(frozen=True)
class TaskScore:
    """How well a model does on finished sentences."""

    name: str  # of the figure: LAS, F1, A1, ...
    figure: float  # from 0 to 100: F1 of the sums of ``counts``
    counts: tuple[tuple[float, float, float], ...]  # (right, gold, answered) of each sentence


@dataclass
class Answers:
    """What one layer says of one document.

    Keys are (sentence, word) and (sentence,); where documents are put together, the number of the
    document stands before that.
    """

    values: dict[str, dict[AnswerKey, Hashable]] = field(default_factory=dict)  # by name, word
    #: (head, relation) of each word of a sentence, None where nothing was decided
    arcs: dict[AnswerKey, list[Arc]] = field(default_factory=dict)
    #: by name (``entities``, ``tokens``, ``sentences``) and finished sentence
    spans: dict[str, dict[AnswerKey, list[tuple[Any, ...]]]] = field(default_factory=dict)
    trees: dict[AnswerKey, Tree] = field(default_factory=dict)  # by finished sentence


def newest(rows: Iterable[Decision]) -> dict[tuple[int, str], Decision]:
    """The newest decision of each item, of those that were not undone; rows in their order.

    None as a value takes an item back: it is as if it were not there.
    """
    latest: dict[tuple[int, str], Decision] = {}
    for row in rows:
        if row.undone is None:
            latest[row.sentence, row.item] = row
    return {key: row for key, row in latest.items() if row.value is not None}
