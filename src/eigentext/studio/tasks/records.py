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
    """A document and what one layer says of it: what an export is made of.

    ``annotator``  whose layer it is; empty: the adjudication
    ``history``    rows of all decisions, those taken back too; for the format ``decisions`` alone
    """

    document: Doc
    decisions: Decisions
    annotator: str = ""
    history: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class ItemCandidate:
    """One value that an item could have, ``rank`` from 1 on.

    ``probability``  None where no model speaks
    ``shown``        what a page shows of it beside the value: gloss, plain words, ...
    """

    value: Any
    rank: int
    probability: float | None = None
    shown: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TaskItem:
    """One thing to decide, or decided, in a sentence.

    ``item``       its name within the sentence, such as ``a3``
    ``value``      as decided, or as proposed; None: nothing is proposed
    ``certainty``  from 0 to 1: the probability of the value; 1 if decided, 0 without a model
    ``candidates`` the best few values; `Task.candidates` has all
    """

    item: str
    value: Any
    decided: bool
    certainty: float
    candidates: tuple[ItemCandidate, ...] = ()


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
    """How well a model does on finished sentences.

    ``name``    the figure's name: LAS, F1, A1, ...
    ``figure``  from 0 to 100: F1 of the sums of ``counts``
    ``counts``  (right, gold, answered) of each sentence, for `eigentext.evaluate.bootstrap`
    """

    name: str
    figure: float
    counts: tuple[tuple[float, float, float], ...]


@dataclass
class Answers:
    """What one layer says of one document.

    Keys are (sentence, word) and (sentence,); where documents are put together, the number of the
    document stands before that.

    ``values``  by name (``label``, ``upos``, ...) and word
    ``arcs``    by sentence: (head, relation) of each word, None where nothing was decided
    ``spans``   by name (``entities``, ``tokens``, ``sentences``) and finished sentence
    ``trees``   by finished sentence
    """

    values: dict[str, dict[AnswerKey, Hashable]] = field(default_factory=dict)
    arcs: dict[AnswerKey, list[Arc]] = field(default_factory=dict)
    spans: dict[str, dict[AnswerKey, list[tuple[Any, ...]]]] = field(default_factory=dict)
    trees: dict[AnswerKey, Tree] = field(default_factory=dict)


def newest(rows: Iterable[Decision]) -> dict[tuple[int, str], Decision]:
    """The newest decision of each item, of those that were not undone; rows in their order.

    None as a value takes an item back: it is as if it were not there.
    """
    latest: dict[tuple[int, str], Decision] = {}
    for row in rows:
        if row.undone is None:
            latest[row.sentence, row.item] = row
    return {key: row for key, row in latest.items() if row.value is not None}
