"""What a task of annotation is: all that differs between tasks is a method or attribute here.

A new task is a subclass in a module of its own, and a line in `eigentext.studio.tasks.TASKS`.
"""

from __future__ import annotations

import json
import os
import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from eigentext.errors import DataError, SettingsError, shortened
from eigentext.studio.tasks.records import (
    DONE,
    Answers,
    Certainty,
    Finished,
    ItemCandidate,
    Proposal,
    TaskItem,
    TaskScore,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from eigentext.base.progress import Progress
    from eigentext.base.types import Json
    from eigentext.language import Doc, Sentence
    from eigentext.studio.tasks.records import Analysis, AnnotatedDocument, Decisions, Finding

Examples: TypeAlias = "Sequence[Finished]"
MOST_LETTERS = 1000  # of anything typed
_BESIDE = frozenset({"note", "passed"})  # of a value; they decide nothing
_NOT_COMPARED = frozenset({"note", "gloss", "vocalised", "form"})  # of a value, by measures
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]")
_NUMBERS = re.compile(r"[0-9]+")


def bad(what: str, why: str) -> DataError:
    """The error of a decision that makes no sense."""
    return DataError(f"decision {shortened(what, 60)}", None, why)


def is_text(value: object, *, most: int = MOST_LETTERS) -> bool:
    """Whether this is text that fits into one cell of a file.

    >>> is_text("NOUN"), is_text("a\\tb"), is_text(""), is_text(3)
    (True, False, False, False)
    """
    if not isinstance(value, str) or not 0 < len(value) <= most:
        return False
    if _CONTROL.search(value) or value.strip() != value:
        return False
    return not any("\ud800" <= char <= "\udfff" for char in value)


def searched(candidates: Iterable[ItemCandidate], text: str) -> Iterator[ItemCandidate]:
    """Those in whose values, or in what is shown of them, the text occurs; case does not count."""
    words = text.casefold().split()
    for candidate in candidates:
        texts = " ".join(_texts({"value": candidate.value, "shown": candidate.shown})).casefold()
        if all(word in texts for word in words):
            yield candidate


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def ranked(values: Iterable[tuple[Any, float | None]], **shown: object) -> list[ItemCandidate]:
    """Candidates in this order, each value once.

    >>> [candidate.rank for candidate in ranked([("a", 0.5), ("b", 0.25), ("a", 0.1)])]
    [1, 2]
    """
    distinct: list[Any] = []
    candidates = []
    for value, probability in values:
        if value not in distinct:
            distinct.append(value)
            candidates.append(ItemCandidate(value, len(distinct), probability, shown))
    return candidates


def unlike(value: object, other: object) -> bool:
    """Whether two values differ but for notes and for how they came about."""
    if isinstance(value, dict) and isinstance(other, dict):
        bare = [{k: v for k, v in each.items() if k not in _BESIDE} for each in (value, other)]
        return bare[0] != bare[1]
    return bool(value != other)


def scored(name: str, counts: Sequence[tuple[float, float, float]]) -> TaskScore:
    """The score of counts (right, gold, answered) of each sentence."""
    import numpy as np

    from eigentext.evaluate.bootstrap import f1

    if not counts:
        raise DataError("<held-out sentences>", None, "no finished sentences to score on")
    return TaskScore(name, float(f1(np.array(counts).sum(0))), tuple(counts))


def numbers_of(item: str) -> tuple[int, ...]:
    """The numbers in the name of an item.

    >>> numbers_of("s2-5")
    (2, 5)
    """
    return tuple(map(int, _NUMBERS.findall(item)))


class SentenceState(NamedTuple):
    """A sentence of a document under all decisions of a layer."""

    document: Doc
    decisions: Decisions
    number: int

    @property
    def sentence(self) -> Sentence:
        """The sentence itself."""
        return self.document.sentences[self.number]

    @property
    def decided(self) -> Json:
        """What holds in it: item -> value, without what was taken back."""
        return {
            item: value
            for (number, item), value in self.decisions.items()
            if number == self.number and item != DONE and value is not None
        }


class SentenceExport(NamedTuple):
    """A sentence that is to be written, in the format ``form``."""

    document: Doc
    sentence: Sentence
    analysis: Analysis
    comments: list[str]
    form: str


class Task(ABC):
    """What is decided in one kind of annotation; see `eigentext.studio.tasks` for each of them."""

    name: ClassVar[str]
    formats: ClassVar[tuple[str, ...]] = ("conllu",)  # of its export; see `all_formats`
    ITEMS: ClassVar[re.Pattern[str]]  # of the names of items
    STAGE: ClassVar[str] = ""  # the stage of a pipeline that serves as the model
    KINDS: ClassVar[tuple[str, ...]] = ()  # kinds of model files that do
    SERVED: ClassVar[tuple[str, ...]] = ()  # kinds of served models, as they are looked for
    OPTIONS: ClassVar[tuple[str, ...]] = ()  # settings of a project that only some tasks know
    CONDITIONED: ClassVar[bool] = False  # decisions on other sentences go with a proposal
    NEIGHBOURS: ClassVar[int] = 0  # sentences on either side that are proposed anew, too
    WORDS: ClassVar[str] = ""  # the letter of items that are words, where those are decided
    SEPARATE_ITEMS: ClassVar[bool] = False  # a decision is in the way of its own item alone
    CHECKED: ClassVar[bool] = False  # by the rules of Universal Dependencies

    def __init__(self, model: object = None, *, labels: Sequence[str] = ()) -> None:
        self.pipeline: Any = None
        self.labels = tuple(labels)
        self.model = self._loaded(model)

    def _loaded(self, model: Any) -> Any:
        if isinstance(model, str | os.PathLike):
            from eigentext.base.model import load

            model = load(model)
        if model is None:
            return None
        kind = getattr(model, "KIND", type(model).__name__)
        if kind == "pipeline":
            self.pipeline = model
            return model.stages().get(self.STAGE)
        if kind not in self.KINDS:
            allowed = ", ".join(("pipeline", *self.KINDS))
            raise SettingsError(
                f"{self.name} cannot be annotated with a model of the kind {kind!r}: expected "
                f"one of {allowed}"
            )
        return model

    @classmethod
    def beside_learned(cls, served: object) -> Json:
        """Settings that a model learned from decisions needs of the one that it replaces."""
        return {}

    # ------------------------------------------------------------ to be given by each task

    @abstractmethod
    def _propose(self, state: SentenceState, k: int) -> Proposal:
        """A sentence under all decisions, with ``k`` candidates or trees."""

    @abstractmethod
    def _check(self, sentence: Sentence, item: str, value: object) -> Any:
        """A value as it is kept; a bad one is a DataError."""

    @abstractmethod
    def _check_analysis(self, sentence: Sentence, analysis: object) -> Json:
        """A whole analysis as it is kept."""

    @abstractmethod
    def items_of(self, analysis: Analysis) -> list[tuple[str, Any]]:
        """What decisions would make this analysis, in reading order."""

    @abstractmethod
    def _candidates(
        self, state: SentenceState, item: str, numbers: tuple[int, ...]
    ) -> list[ItemCandidate]:
        """Values that the item, with these numbers in its name, could have, ranked."""

    @abstractmethod
    def decided_only(self, state: SentenceState) -> Json:
        """The analysis with what is decided alone: what is open is empty."""

    @abstractmethod
    def _lines(self, export: SentenceExport) -> Iterator[str]:
        """The lines of one sentence in one of ``formats``."""

    @abstractmethod
    def train(
        self, examples: Examples, *, base: str | None = None, progress: Progress | None = None
    ) -> Any:
        """A new model of these examples, and of the training data in the file ``base``."""

    @abstractmethod
    def score(self, model: object, held_out: Sequence[Finished]) -> TaskScore:
        """How well a model answers for finished sentences, no decisions given."""

    # ------------------------------------------------------------ decisions

    def _state(self, document: Doc, decisions: Decisions, sentence: int) -> SentenceState:
        if not isinstance(sentence, int) or not 0 <= sentence < len(document.sentences):
            why = f"no sentence {sentence} among {len(document.sentences)}"
            raise DataError(document.id or "<document>", None, why)
        return SentenceState(document, decisions, sentence)

    def is_done(self, decisions: Decisions, sentence: int) -> bool:
        """Whether the sentence is finished."""
        return decisions.get((sentence, DONE)) is not None

    def check(self, document: Doc, sentence: int, item: str, value: object) -> Any:
        """The value as it is kept; a bad item or value is a DataError that says what is wrong."""
        words = self._state(document, {}, sentence).sentence
        if not isinstance(item, str) or not (item == DONE or self.ITEMS.fullmatch(item)):
            raise bad(str(item), f"{self.name} has no such item")
        if value is None:
            if item != DONE:
                self._numbers(document, words, item)
            return None
        if not isinstance(value, dict):
            raise bad(item, f"expected an object, found {shortened(repr(value), 60)}")
        note = value.get("note")
        if note is not None and not (isinstance(note, str) and len(note) <= 10 * MOST_LETTERS):
            raise bad(item, 'expected a "note" of at most 10,000 letters')
        bare = {name: inner for name, inner in value.items() if name != "note"}
        if item == DONE:
            kept = dict(bare)
            if bare.get("analysis") is not None:
                kept = {"analysis": self._check_analysis(words, bare["analysis"])}
            elif bare:
                raise bad(item, 'expected {"analysis": ...}')
        else:
            self._numbers(document, words, item)
            kept = self._check(words, item, bare)
        return kept if note is None else {**kept, "note": note}

    def _numbers(self, document: Doc, sentence: Sentence, item: str) -> tuple[int, ...]:
        """The numbers in an item's name, if they are within the sentence."""
        numbers = numbers_of(item)
        n = len(sentence)
        if len(numbers) == 1 and not numbers[0] < n:
            raise bad(item, f"the sentence has {n} words, counted from 0")
        if len(numbers) == 2 and not numbers[0] < numbers[1] <= n:
            raise bad(item, f"expected a span within the {n} words of the sentence")
        return numbers

    def differ(self, value: object, other: object) -> bool:
        """Whether two values of an item are different decisions."""
        return unlike(value, other)

    # ------------------------------------------------------------ proposals

    def propose(
        self, document: Doc, decisions: Decisions, sentence: int, *, k: int = 1
    ) -> Proposal:
        """The model's answer under all decisions so far, with at most ``k`` whole answers."""
        state = self._state(document, decisions, sentence)
        if k < 1:
            raise SettingsError(f"k is {k}, expected a whole number of at least 1")
        done = decisions.get((sentence, DONE))
        if done is not None and done.get("analysis") is not None:
            analysis = done["analysis"]
            items = (TaskItem(item, value, True, 1.0) for item, value in self.items_of(analysis))
            return Proposal(self.name, sentence, analysis, tuple(items), 1.0, source="done")
        proposal = self._propose(state, k)
        if done is None:
            return proposal
        items = (
            TaskItem(item.item, item.value, True, 1.0, item.candidates) for item in proposal.items
        )
        return Proposal(self.name, sentence, proposal.analysis, tuple(items), 1.0, source="done")

    def _proposal(
        self,
        state: SentenceState,
        items: Iterable[TaskItem],
        notes: Sequence[str] = (),
        **more: Any,
    ) -> Proposal:
        """A proposal whose certainty is that of its least certain open item.

        It follows the decisions unless there are ``notes``.
        """
        listed = tuple(items)
        least = min((item.certainty for item in listed if not item.decided), default=1.0)
        return Proposal(
            self.name,
            state.number,
            items=listed,
            certainty=least,
            followed=not notes,
            notes=tuple(notes),
            **more,
        )

    def apply(self, document: Doc, decisions: Decisions, sentence: int) -> Json:
        """The whole analysis of a sentence: decisions, and proposals for what is open."""
        return dict(self.propose(document, decisions, sentence).analysis)

    def accepted(self, document: Doc, decisions: Decisions, sentence: int) -> Json:
        """The value of ``done`` that accepts a sentence as it stands now."""
        return {"analysis": self.apply(document, decisions, sentence)}

    def candidates(
        self,
        document: Doc,
        decisions: Decisions,
        sentence: int,
        item: str,
        *,
        k: int = 20,
        search: str = "",
    ) -> list[ItemCandidate]:
        """Values that the item could have, ranked; ``search`` keeps those in which it occurs."""
        state = self._state(document, decisions, sentence)
        if not self.ITEMS.fullmatch(item):
            raise bad(item, f"{self.name} has no such item")
        numbers = self._numbers(document, state.sentence, item)
        return list(searched(self._candidates(state, item, numbers), search))[:k]

    def certainty(
        self, document: Doc, decisions: Decisions, sentences: Iterable[int] | None = None
    ) -> list[Certainty]:
        """How sure the model is of each sentence (or of these), in the order of the text."""
        certainties = []
        for number in range(len(document.sentences)) if sentences is None else sentences:
            proposal = self.propose(document, decisions, number)
            left = [item for item in proposal.items if not item.decided]
            least = min(left, key=lambda item: item.certainty, default=None)
            certainties.append(
                Certainty(
                    number,
                    proposal.certainty,
                    len(left),
                    len(proposal.items) - len(left),
                    self.is_done(decisions, number),
                    least.item if least else None,
                )
            )
        return certainties

    def drawing(
        self, forms: Sequence[str], analysis: Analysis, items: Sequence[TaskItem] = ()
    ) -> str | None:
        """The analysis as SVG, with the certainties of its items; None where there is none."""
        return None

    def findings(
        self,
        document: Doc,
        decisions: Decisions,
        sentence: int,
        *,
        language: str = "",
        rules: bool = True,
    ) -> list[Finding]:
        """What checks have to say: of all ``rules``, or only whether the sentence is a tree."""
        if not self.CHECKED:
            return []
        from eigentext.studio.tasks.checks import check_under

        return check_under(self, document, decisions, sentence, language=language, rules=rules)

    # ------------------------------------------------------------ what measures compare

    def comparable(self, value: Mapping[str, object]) -> Hashable:
        """A value without notes and glosses, in the one form in which values are compared."""
        bare = {name: inner for name, inner in value.items() if name not in _NOT_COMPARED}
        return json.dumps(bare, sort_keys=True, ensure_ascii=False)

    def accepted_items(self, analysis: Analysis) -> Iterable[tuple[str, Any]]:
        """The items of a finished sentence that measures compare."""
        return self.items_of(analysis)

    def compared(self, values: Decisions) -> dict[tuple[int, str], Hashable]:
        """The value of every item that is decided or accepted, as something to be compared.

        A finished sentence says all of its items at once, whatever was decided before.
        """
        accepted = {
            sentence: value["analysis"]
            for (sentence, item), value in values.items()
            if item == DONE and value.get("analysis")
        }
        items = {
            (sentence, item): self.comparable(value)
            for (sentence, item), value in values.items()
            if item != DONE and sentence not in accepted
        }
        for sentence, analysis in accepted.items():
            for item, value in self.accepted_items(analysis):
                items[sentence, item] = self.comparable(value)
        return items

    def answers(self, sentences: Sequence[Mapping[str, Any]], values: Decisions) -> Answers:
        """What a layer says; ``sentences`` are records of a document's, with their tokens.

        Spans and trees are read off finished sentences alone: of another one nobody knows whether
        what is not there is yet to come.
        """
        answers = Answers()
        for (sentence, item), value in self.compared(values).items():
            n_words = len(sentences[sentence]["tokens"])
            self.add_item(answers, (sentence, numbers_of(item)[0]), value, n_words)
        for (sentence, item), value in values.items():
            if item == DONE and value.get("analysis") is not None:
                self.add_finished(answers, sentence, value["analysis"])
        return answers

    def add_item(  # noqa: B027 - most tasks have nothing to tell
        self, answers: Answers, word: tuple[int, int], value: object, n_words: int
    ) -> None:
        """Tell answers what a comparable value says of a word: (sentence, number)."""

    def add_finished(  # noqa: B027
        self, answers: Answers, sentence: int, analysis: Analysis
    ) -> None:
        """Tell answers the spans and trees of a finished sentence."""

    def decided_words(self, values: Iterable[tuple[int, str]], sentence: int) -> set[int]:
        """Words of a sentence with a decision of their own, where words are what is decided."""
        letter = self.WORDS
        return {
            numbers_of(item)[0]
            for number, item in values
            if number == sentence and letter and item.startswith(letter)
        }

    # ------------------------------------------------------------ what comes in and out

    @classmethod
    def of_text(cls, name: str, text: str, cut: Any) -> tuple[Doc, str]:
        """A document of raw text, and how it was cut: by a segmenter, or a scheme by its name."""
        from eigentext.studio.tasks.texts import document_of_text

        how = cut if isinstance(cut, str) else "segmenter"
        return document_of_text(name, text, cut), how

    def finished(self, document: Doc, decisions: Decisions) -> list[Finished]:
        """The sentences that are done, with what was accepted."""
        return [
            Finished(
                document.id or "",
                number,
                sentence,
                self.apply(document, decisions, number),
                _text_of(document, sentence),
            )
            for number, sentence in enumerate(document.sentences)
            if self.is_done(decisions, number)
        ]

    @classmethod
    def all_formats(cls) -> tuple[str, ...]:
        """The formats of its export; the first is taken unless told.

        Two are JSON Lines of every task: ``jsonl``, a line a sentence (some tasks have a form of
        their own), and ``decisions``, a line a decision with all that is stored of it.
        """
        return tuple(dict.fromkeys([*cls.formats, "jsonl", "decisions"]))

    @classmethod
    def check_format(cls, format: str | None) -> str:  # noqa: A002
        """The format, by default the first; one that there is not is an error."""
        if format is not None and format not in cls.all_formats():
            names = ", ".join(cls.all_formats())
            raise SettingsError(f"{cls.name} is not exported as {format!r}: expected {names}")
        return format or cls.formats[0]

    def lines(
        self,
        layer: AnnotatedDocument,
        *,
        format: str | None = None,  # noqa: A002
        unfinished: bool = False,
    ) -> Iterator[str]:
        """Lines (without line ends) of what was decided: the one export of pages and commands.

        Sentences that are not done are left out, unless ``unfinished``: then open cells are empty.
        """
        chosen = self.check_format(format)
        if chosen == "decisions":
            yield from (_json({"document": layer.document.id, **row}) for row in layer.history)
        elif chosen not in self.formats:
            yield from self._json_lines(layer, unfinished=unfinished)
        else:
            yield from self._sentence_lines(layer, chosen, unfinished=unfinished)

    def _sentence_lines(
        self, layer: AnnotatedDocument, form: str, *, unfinished: bool
    ) -> Iterator[str]:
        document, decisions = layer.document, layer.decisions
        begun = False
        for number, sentence in enumerate(document.sentences):
            if self.is_done(decisions, number):
                analysis = self.apply(document, decisions, number)
            elif unfinished:
                analysis = self.decided_only(SentenceState(document, decisions, number))
            else:
                continue
            comments = _comments(document, number, layer.annotator, first=not begun)
            begun = True
            yield from self._lines(SentenceExport(document, sentence, analysis, comments, form))

    def _json_lines(self, layer: AnnotatedDocument, *, unfinished: bool) -> Iterator[str]:
        of_sentence: dict[int, Json] = {}
        for (number, item), value in layer.decisions.items():
            of_sentence.setdefault(number, {})[item] = value
        for number, sentence in enumerate(layer.document.sentences):
            items = of_sentence.get(number, {})
            done = items.get(DONE) is not None
            if done or (unfinished and items):
                yield _json(
                    {
                        "document": layer.document.id,
                        "sentence": number,
                        "tokens": list(sentence.forms),
                        "items": items,
                        "done": done,
                    }
                )


def _json(record: Mapping[str, object]) -> str:
    return json.dumps(record, ensure_ascii=False)


def _comments(document: Doc, number: int, annotator: str, *, first: bool) -> list[str]:
    """Comments of CoNLL-U: those that were imported, or new ones."""
    sentence = document.sentences[number]
    comments = [line for line in sentence.comments or () if not line.startswith("# annotator =")]
    imported, name = " ".join(comments), _one_line(document.id or "")
    if first and "newdoc" not in imported:
        comments.insert(0, f"# newdoc id = {name}")
    if "# sent_id" not in imported:
        comments.append(f"# sent_id = {name.replace(' ', '_')}-{number + 1}")
    if "# text =" not in imported:
        comments.append(f"# text = {_one_line(_text_of(document, sentence))}")
    if annotator:
        comments.append(f"# annotator = {_one_line(annotator)}")
    return comments


def _text_of(document: Doc, sentence: Sentence) -> str:
    if document.text and len(sentence) and sentence.start >= 0:
        return document.text[sentence.start : sentence.end]
    return " ".join(sentence.forms)


def _one_line(text: str) -> str:
    return " ".join(text.split())
