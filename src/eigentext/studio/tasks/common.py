"""What all tasks do alike: look a decision over, what is done, what is open, what comes next."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from eigentext.errors import DataError, SettingsError, shortened
from eigentext.studio.tasks.records import (
    DONE,
    Candidate,
    Certainty,
    Finished,
    Item,
    Proposal,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eigentext.base.progress import Progress
    from eigentext.studio.tasks.records import Decisions, Document, Score, Sentence

__all__ = ["CommonTask", "bad", "is_text", "ranked", "searched", "unlike"]

MOST_LETTERS = 1000  # of anything typed
_BESIDE = frozenset({"note", "passed"})  # of a value; they decide nothing
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]")


def bad(what: str, why: str) -> DataError:
    """The error of a decision that makes no sense."""
    return DataError(f"decision {shortened(what, 60)}", None, why)


def is_text(value: Any, *, most: int = MOST_LETTERS) -> bool:
    """Whether this is text that fits into one cell of a file.

    >>> is_text("NOUN"), is_text("a\\tb"), is_text(""), is_text(3)
    (True, False, False, False)
    """
    if not isinstance(value, str) or not 0 < len(value) <= most:
        return False
    if _CONTROL.search(value) or value.strip() != value:
        return False
    return not any("\ud800" <= char <= "\udfff" for char in value)


def searched(candidates: Iterable[Candidate], text: str) -> Iterator[Candidate]:
    """Those in whose values, or in what is shown of them, the text occurs; case does not count."""
    wanted = text.casefold().split()
    for candidate in candidates:
        told = " ".join(_texts({"value": candidate.value, "shown": candidate.shown})).casefold()
        if all(word in told for word in wanted):
            yield candidate


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def ranked(values: Iterable[tuple[Any, float | None]], **shown: Any) -> list[Candidate]:
    """Candidates in this order, each value once.

    >>> [candidate.rank for candidate in ranked([("a", 0.5), ("b", 0.25), ("a", 0.1)])]
    [1, 2]
    """
    known: list[Any] = []
    candidates = []
    for value, probability in values:
        if value not in known:
            known.append(value)
            candidates.append(Candidate(value, len(known), probability, shown))
    return candidates


def unlike(value: Any, other: Any) -> bool:
    """Whether two values differ but for notes and for how they came about."""
    if isinstance(value, dict) and isinstance(other, dict):
        bare = [{k: v for k, v in one.items() if k not in _BESIDE} for one in (value, other)]
        return bare[0] != bare[1]
    return bool(value != other)


class CommonTask(ABC):
    """What tasks inherit; see `eigentext.studio.tasks` for what each decides.

    ``ITEMS``   a pattern of the names of items
    ``STAGE``   the stage of a pipeline that serves as the model
    ``KINDS``   kinds of models that do
    """

    name: ClassVar[str]
    formats: ClassVar[tuple[str, ...]] = ("conllu",)
    ITEMS: ClassVar[re.Pattern[str]]
    STAGE: ClassVar[str] = ""
    KINDS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, model: Any = None, *, labels: Sequence[str] = ()) -> None:
        self.pipeline: Any = None
        self.labels = tuple(labels)
        self.model = self._opened(model)

    def _opened(self, model: Any) -> Any:
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
            known = ", ".join(("pipeline", *self.KINDS))
            raise SettingsError(
                f"{self.name} cannot be annotated with a model of the kind {kind!r}: expected "
                f"one of {known}"
            )
        return model

    # ------------------------------------------------------------ to be given by each task

    @abstractmethod
    def _propose(
        self, document: Document, decisions: Decisions, sentence: int, k: int
    ) -> Proposal:
        """Sentence ``sentence`` under all decisions, with ``k`` candidates or trees."""

    @abstractmethod
    def _check(self, document: Document, given: Sentence, item: str, value: Any) -> Any:
        """A value as it is kept; a bad one is a DataError."""

    @abstractmethod
    def _check_analysis(self, given: Sentence, analysis: Any) -> dict[str, Any]:
        """A whole analysis as it is kept."""

    @abstractmethod
    def items_of(self, given: Sentence, analysis: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """What decisions would make this analysis, in reading order."""

    @abstractmethod
    def candidates(
        self,
        document: Document,
        decisions: Decisions,
        sentence: int,
        item: str,
        *,
        k: int = 20,
        search: str = "",
    ) -> list[Candidate]:
        """Values that the item could have, ranked; ``search`` keeps those in which it occurs."""

    @abstractmethod
    def train(
        self,
        examples: Sequence[Finished],
        *,
        base: str | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """A new model of these examples, and of the training data in the file ``base``."""

    @abstractmethod
    def score(self, model: Any, held_out: Sequence[Finished]) -> Score:
        """How well a model answers for finished sentences, no decisions given."""

    @abstractmethod
    def _lines(
        self,
        document: Document,
        given: Sentence,
        analysis: Mapping[str, Any],
        comments: list[str],
        form: str,
    ) -> Iterator[str]:
        """The lines of one sentence in one of ``formats``."""

    # ------------------------------------------------------------ decisions

    def sentence(self, document: Document, sentence: int) -> Sentence:
        """The sentence of this number."""
        if not isinstance(sentence, int) or not 0 <= sentence < len(document.sentences):
            why = f"no sentence {sentence} among {len(document.sentences)}"
            raise DataError(document.name or "<document>", None, why)
        return document.sentences[sentence]

    def decided(self, decisions: Decisions, sentence: int) -> dict[str, Any]:
        """What holds in a sentence: item -> value, without what was taken back."""
        return {
            item: value
            for (number, item), value in decisions.items()
            if number == sentence and item != DONE and value is not None
        }

    def is_done(self, decisions: Decisions, sentence: int) -> bool:
        """Whether the sentence is finished."""
        return decisions.get((sentence, DONE)) is not None

    def check(self, document: Document, sentence: int, item: str, value: Any) -> Any:
        """The value as it is kept; a bad item or value is a DataError that says what is wrong."""
        given = self.sentence(document, sentence)
        if not isinstance(item, str) or not (item == DONE or self.ITEMS.fullmatch(item)):
            raise bad(str(item), f"{self.name} has no such item")
        if value is None:
            if item != DONE:
                self._place(document, given, item)
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
                kept = {"analysis": self._check_analysis(given, bare["analysis"])}
            elif bare:
                raise bad(item, 'expected {"analysis": ...}')
        else:
            self._place(document, given, item)
            kept = self._check(document, given, item, bare)
        return kept if note is None else {**kept, "note": note}

    def _place(self, document: Document, given: Sentence, item: str) -> tuple[int, ...]:
        """The numbers in an item's name, if they are within the sentence."""
        numbers = tuple(int(n) for n in re.findall(r"[0-9]+", item))
        n = len(given.tokens)
        if len(numbers) == 1 and not numbers[0] < n:
            raise bad(item, f"the sentence has {n} words, counted from 0")
        if len(numbers) == 2 and not numbers[0] < numbers[1] <= n:
            raise bad(item, f"expected a span within the {n} words of the sentence")
        return numbers

    def corrections(
        self, given: Sentence, analysis: Mapping[str, Any], gold: Mapping[str, Any]
    ) -> list[tuple[str, Any]]:
        """The decisions that would turn one analysis into another, in reading order.

        What is there and should not be comes last: it often goes by itself.
        """
        now, wanted = (dict(self.items_of(given, one)) for one in (analysis, gold))
        changes = {
            item: value
            for item, value in wanted.items()
            if item not in now or self.differ(now[item], value)
        }
        extra = {item: self._removal(item) for item in now if item not in wanted}
        return [
            (item, part[item])
            for part in (changes, extra)
            for item in sorted(part, key=_reading_order)
        ]

    def differ(self, one: Any, other: Any) -> bool:
        """Whether two values of an item are different decisions."""
        return unlike(one, other)

    def _removal(self, item: str) -> Any:
        """The decision that an item should not be there."""
        raise NotImplementedError

    # ------------------------------------------------------------ proposals

    def propose(
        self, document: Document, decisions: Decisions, sentence: int, *, k: int = 1
    ) -> Proposal:
        """The model's answer under all decisions so far, with at most ``k`` whole answers."""
        given = self.sentence(document, sentence)
        if k < 1:
            raise SettingsError(f"k is {k}, expected a whole number of at least 1")
        done = decisions.get((sentence, DONE))
        if done is not None and done.get("analysis") is not None:
            items = (Item(item, value, True, 1.0) for item, value in self._done_items(given, done))
            return Proposal(
                self.name, sentence, done["analysis"], tuple(items), 1.0, source="done"
            )
        proposal = self._propose(document, decisions, sentence, k)
        if done is None:
            return proposal
        items = (Item(one.item, one.value, True, 1.0, one.candidates) for one in proposal.items)
        return Proposal(self.name, sentence, proposal.analysis, tuple(items), 1.0, source="done")

    def _done_items(self, given: Sentence, done: Mapping[str, Any]) -> list[tuple[str, Any]]:
        return self.items_of(given, done["analysis"])

    def _proposal(self, sentence: int, items: Iterable[Item], **more: Any) -> Proposal:
        """A proposal whose certainty is that of its least certain open item."""
        made = tuple(items)
        least = min((one.certainty for one in made if not one.decided), default=1.0)
        return Proposal(self.name, sentence, items=made, certainty=least, **more)

    def apply(self, document: Document, decisions: Decisions, sentence: int) -> dict[str, Any]:
        """The whole analysis of a sentence: decisions, and proposals for what is open."""
        return dict(self.propose(document, decisions, sentence).analysis)

    def accepted(self, document: Document, decisions: Decisions, sentence: int) -> dict[str, Any]:
        """The value of ``done`` that accepts a sentence as it stands now."""
        return {"analysis": self.apply(document, decisions, sentence)}

    def certainty(
        self, document: Document, decisions: Decisions, sentences: Iterable[int] | None = None
    ) -> list[Certainty]:
        """How sure the model is of each sentence (or of these), in the order of the text."""
        found = []
        for number in range(len(document.sentences)) if sentences is None else sentences:
            proposal = self.propose(document, decisions, number)
            left = [one for one in proposal.items if not one.decided]
            least = min(left, key=lambda one: one.certainty, default=None)
            found.append(
                Certainty(
                    number,
                    proposal.certainty,
                    len(left),
                    len(proposal.items) - len(left),
                    self.is_done(decisions, number),
                    least.item if least else None,
                )
            )
        return found

    def least_certain(self, document: Document, decisions: Decisions) -> list[int]:
        """Sentences that are not done, the least certain first; equals as in the text."""
        left = [one for one in self.certainty(document, decisions) if not one.done]
        return [one.sentence for one in sorted(left, key=lambda one: one.certainty)]

    def next_undecided(
        self, document: Document, decisions: Decisions, after: tuple[int, str] | None = None
    ) -> tuple[int, str] | None:
        """The first open item behind another in the text, then from the beginning; None: none."""
        n = len(document.sentences)
        begin = after[0] if after else 0
        for turn in range(n + 1):
            number = (begin + turn) % n if n else 0
            if number >= n or self.is_done(decisions, number):
                continue
            items = self.propose(document, decisions, number).items
            names = [one.item for one in items]
            behind = 0
            if turn == 0 and after and after[1] in names:
                behind = names.index(after[1]) + 1
            for one in items[behind:]:
                if not one.decided:
                    return number, one.item
        return None

    # ------------------------------------------------------------ what comes out

    def finished(self, document: Document, decisions: Decisions) -> list[Finished]:
        """The sentences that are done, with what was accepted."""
        return [
            Finished(
                document.name,
                number,
                given,
                self.apply(document, decisions, number),
                self._text(document, given),
            )
            for number, given in enumerate(document.sentences)
            if self.is_done(decisions, number)
        ]

    def decided_only(
        self, document: Document, decisions: Decisions, sentence: int
    ) -> dict[str, Any]:
        """The analysis with what is decided alone: what is open is empty."""
        raise NotImplementedError

    def export(
        self,
        document: Document,
        decisions: Decisions,
        *,
        annotator: str = "",
        format: str | None = None,  # noqa: A002
        unfinished: bool = False,
    ) -> Iterator[str]:
        """Lines (without line ends) of what was decided.

        ``format`` is one of ``formats``, by default the first.  Sentences that are not done are
        left out, unless ``unfinished``: then open cells are empty.
        """
        chosen = format or self.formats[0]
        if chosen not in self.formats:
            known = ", ".join(self.formats)
            raise SettingsError(f"{self.name} is not exported as {chosen!r}: expected {known}")
        begun = False
        for number, given in enumerate(document.sentences):
            if self.is_done(decisions, number):
                analysis = self.apply(document, decisions, number)
            elif unfinished:
                analysis = self.decided_only(document, decisions, number)
            else:
                continue
            comments = self._comments(document, number, given, annotator, first=not begun)
            begun = True
            yield from self._lines(document, given, analysis, comments, chosen)

    def _comments(
        self, document: Document, number: int, given: Sentence, annotator: str, *, first: bool
    ) -> list[str]:
        """Comments of CoNLL-U: those that were imported, or new ones."""
        comments = [line for line in given.comments if not line.startswith("# annotator =")]
        told = " ".join(comments)
        if first and "newdoc" not in told:
            comments.insert(0, f"# newdoc id = {_one_line(document.name)}")
        if "# sent_id" not in told:
            comments.append(
                f"# sent_id = {_one_line(document.name).replace(' ', '_')}-{number + 1}"
            )
        if "# text =" not in told:
            comments.append(f"# text = {_one_line(self._text(document, given))}")
        if annotator:
            comments.append(f"# annotator = {_one_line(annotator)}")
        return comments

    @staticmethod
    def _text(document: Document, given: Sentence) -> str:
        tokens = given.tokens
        if document.text and tokens and tokens[0].start >= 0:
            return document.text[tokens[0].start : tokens[-1].end]
        return " ".join(given.forms)


def _reading_order(item: str) -> tuple[int, int, str]:
    first, *rest = map(int, re.findall(r"[0-9]+", item))
    return first, -rest[0] if rest else 0, item


def _one_line(text: str) -> str:
    return " ".join(text.split())
