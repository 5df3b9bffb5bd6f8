"""The annotator's side: stored texts, decisions, what they change, and what comes out.

The flow of a decision: it is looked up in the ranking made without it (its rank there counts for
A1 and A2) -> the store, on the disk -> the ranking made with it -> the words that changed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from eigentext.errors import DataError, EigentextError
from eigentext.reports.markup import elide
from eigentext.web.annotations import AnnotationStore, Decision, StoredDocument
from eigentext.web.dependency import NoModelError, TooMuchError
from eigentext.web.lexical import LexicalService, check_place, is_scored
from eigentext.web.schemas_lexical import (
    ChangedWord,
    Choice,
    DecisionAnswer,
    DocumentAnswer,
    DocumentsAnswer,
    DocumentSummary,
    Progress,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eigentext.lexical import Label, RankedWord
    from eigentext.web.schemas_lexical import DecideRequest, DocumentRequest, ExportFormat
    from eigentext.web.settings import ServiceSettings

__all__ = ["AnnotationService", "ConflictError", "NotThereError"]

_NAME_LENGTH = 28

Decisions = dict[tuple[int, int], Decision]


class NotThereError(EigentextError):
    """What a request names does not exist."""


class ConflictError(EigentextError):
    """A request that makes sense, but not in the state things are in."""


class AnnotationService:
    """The store of annotations, and the ranker that looks at it."""

    def __init__(self, settings: ServiceSettings, lexical: LexicalService) -> None:
        self.settings = settings
        self.lexical = lexical
        self._store = (
            None if settings.annotations is None else AnnotationStore(settings.annotations)
        )

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
                "`eigentext serve --lex-model FILE --annotations FILE`"
            )
        return self._store

    # ---- texts

    def add(self, request: DocumentRequest) -> DocumentSummary:
        """Store a text; those of this request cannot be empty."""
        store = self.store
        sentences = [tokens for tokens in self.lexical.sentences(request) if tokens]
        if not sentences:
            raise DataError("input", None, "found no words; expected some to annotate")
        if len(store.documents()) >= self.settings.max_documents:
            most = self.settings.max_documents
            raise TooMuchError(f"there are {most:,} texts already, the most that are kept")
        words = " ".join(token.text for tokens in sentences for token in tokens[:8])
        name = " ".join(request.name.split()) or elide(words, _NAME_LENGTH)
        elements = self.lexical.ranker.scheme.elements
        number = store.add_document(name, request.text, sentences, elements)
        return next(one for one in self.documents().documents if one.id == number)

    def documents(self) -> DocumentsAnswer:
        """All texts."""
        elements = self.lexical.ranker.scheme.elements
        return DocumentsAnswer(
            documents=[
                DocumentSummary(
                    id=number,
                    name=name,
                    created=created,
                    n_words=n_words,
                    usable=own == elements,
                    annotators=annotators,
                )
                for number, name, created, n_words, own, annotators in self.store.documents()
            ]
        )

    def _document(self, number: int) -> StoredDocument:
        found = self.store.document(number)
        if found is None:
            raise NotThereError(f"there is no text {number}")
        elements = self.lexical.ranker.scheme.elements
        if found.elements != elements:
            raise ConflictError(
                f"text {number} is annotated with the elements {', '.join(found.elements)}; "
                f"the model now served has {', '.join(elements)}"
            )
        return found

    def open(self, number: int, annotator: str, top: int | None) -> DocumentAnswer:
        """A text as it stands for an annotator."""
        document = self._document(number)
        decisions = self.store.decisions(number, annotator)
        ranked = self._rank(document, decisions)
        view = self.lexical.view(
            document.sentences,
            ranked,
            self._labels(decisions),
            top=top,
            language=self.lexical.ranker.scheme.language,
        )
        return DocumentAnswer(
            id=number,
            name=document.name,
            text=document.text,
            revision=self.store.revision(number, annotator),
            progress=self._progress(document, annotator),
            decisions=[_choice(one) for one in decisions.values()],
            ranked=view,
        )

    def _labels(self, decisions: Decisions) -> dict[tuple[int, int], Label]:
        return {
            place: self.lexical.label(one.label)
            for place, one in decisions.items()
            if one.label is not None
        }

    def _rank(self, document: StoredDocument, decisions: Decisions) -> list[list[RankedWord]]:
        return self.lexical.rank(document.sentences, self._labels(decisions))

    def _progress(self, document: StoredDocument, annotator: str) -> Progress:
        found = self.store.tally(annotator, document.id)

        def percent(n: int) -> float | None:
            return 100.0 * n / found.scored if found.scored else None

        return Progress(
            words=sum(map(len, document.sentences)),
            decided=found.decided,
            scored=found.scored,
            a1=percent(found.first),
            a2=percent(found.among_two),
        )

    # ---- decisions

    def decide(self, number: int, request: DecideRequest, top: int | None) -> DecisionAnswer:
        """Save a decision, then say what it changed."""
        document = self._document(number)
        place = request.sentence, request.word
        check_place(document.sentences, *place)
        before = self.store.decisions(number, request.annotator)
        without = {where: one for where, one in before.items() if where != place}
        word = self._rank(document, without)[request.sentence][request.word]
        made = self._decision(request, word)
        self.store.decide(number, request.annotator, made)
        return self._changes(document, request.annotator, before, place, top)

    def _decision(self, request: DecideRequest, word: RankedWord) -> Decision:
        from eigentext.lexical.output import shown_reading

        scored = is_scored(word.form)
        if request.label is None:
            return Decision(request.sentence, request.word, None, None, scored)
        label = self.lexical.label(request.label)
        values = self.lexical.ranker.scheme.as_mapping(label)
        for rank, candidate in enumerate(word.candidates, start=1):
            if candidate.label == label:
                reading = shown_reading(candidate)
                shown = (reading.vocalised, reading.gloss) if reading else ("", "")
                return Decision(request.sentence, request.word, values, rank, scored, *shown)
        return Decision(request.sentence, request.word, values, None, scored)

    def undo(self, number: int, annotator: str, top: int | None) -> DecisionAnswer:
        """Take the last decision back, then say what that changed."""
        document = self._document(number)
        before = self.store.decisions(number, annotator)
        place = self.store.undo(number, annotator)
        if place is None:
            raise ConflictError(f"{annotator} has decided nothing in text {number}")
        return self._changes(document, annotator, before, place, top)

    def _changes(
        self,
        document: StoredDocument,
        annotator: str,
        before: Decisions,
        place: tuple[int, int],
        top: int | None,
    ) -> DecisionAnswer:
        now = self.store.decisions(document.id, annotator)
        old, new = self._rank(document, before), self._rank(document, now)
        decided = self._labels(now)
        changed = [
            ChangedWord(
                sentence=s,
                word=w,
                view=self.lexical.word_view(
                    word, document.sentences[s][w], (s, w) in decided, top
                ),
            )
            for s, words in enumerate(new)
            for w, word in enumerate(words)
            if (s, w) == place or _differ(word, old[s][w])
        ]
        return DecisionAnswer(
            sentence=place[0],
            word=place[1],
            choice=_choice(now[place]) if place in now else None,
            revision=self.store.revision(document.id, annotator),
            progress=self._progress(document, annotator),
            changed=changed,
        )

    # ---- out

    def export(self, annotator: str, number: int | None, form: ExportFormat) -> str:
        """The sentences with decisions of an annotator, of one text or of all usable ones."""
        if number is not None:
            documents = [self._document(number)]
        else:
            usable = [one.id for one in self.documents().documents if one.usable]
            documents = [self._document(one) for one in usable]
        lines: list[str] = []
        for document in documents:
            decisions = self.store.decisions(document.id, annotator)
            if form == "jsonl":
                lines.extend(_training_lines(document, decisions))
            else:
                lines.extend(self._conllu_lines(document, decisions, annotator))
        return "".join(f"{line}\n" for line in lines)

    def _conllu_lines(
        self, document: StoredDocument, decisions: Decisions, annotator: str
    ) -> Iterator[str]:
        from eigentext.lexical.analysis import Analysis
        from eigentext.lexical.output import as_conllu
        from eigentext.lexical.ranked import RankedCandidate, RankedWord

        scheme = self.lexical.ranker.scheme
        empty = (scheme.missing,) * len(scheme.elements)
        begun = False
        for s, tokens in enumerate(document.sentences):
            words, open_ = [], []
            for w, token in enumerate(tokens):
                one = decisions.get((s, w))
                label = empty
                if one is None or one.label is None:
                    open_.append(w)
                    one = None
                else:
                    label = self.lexical.label(one.label)
                shown = (one.vocalised, one.gloss) if one else ("", "")
                reading = Analysis("", shown[0], (), "", {}, shown[1], "", None, "gold")
                first = RankedCandidate(label, 1.0, 0.0, (reading,), "gold")
                words.append(RankedWord(token.text, [first], 1.0, False))
            if len(open_) == len(tokens):
                continue
            lines = list(as_conllu(s + 1, words, scheme))
            if not begun:
                yield f"# newdoc id = {_document_name(document)}"
                begun = True
            yield f"# annotator = {annotator}"
            yield f"# sent_id = {document.id}-{s + 1}"
            yield lines[1]
            for w, line in enumerate(lines[2:-1]):
                cells = line.split("\t")
                misc = cells[9].partition("|")[2] or "_"  # a decision has no probability
                yield "\t".join([*cells[:2], *["_"] * 8] if w in open_ else [*cells[:9], misc])
            yield ""


def _document_name(document: StoredDocument) -> str:
    return f"{document.name} ({document.id})"


def _training_lines(document: StoredDocument, decisions: Decisions) -> Iterator[str]:
    """Sentences as ``lex train`` reads them; words without a decision have no label."""
    for s, tokens in enumerate(document.sentences):
        words: list[Mapping[str, object]] = []
        for w, token in enumerate(tokens):
            one = decisions.get((s, w))
            if one is None or one.label is None:
                words.append({"form": token.text, "label": None, "scored": False})
                continue
            words.append(
                {
                    "form": token.text,
                    "label": one.label,
                    "scored": one.scored,
                    "vocalised": one.vocalised,
                    "gloss": one.gloss,
                }
            )
        if any(word["label"] for word in words):
            yield json.dumps({"doc": _document_name(document), "words": words}, ensure_ascii=False)


def _choice(one: Decision) -> Choice:
    return Choice(sentence=one.sentence, word=one.word, label=one.label, rank=one.rank, at=one.at)


def _differ(one: RankedWord, other: RankedWord) -> bool:
    return [(c.label, c.probability) for c in one.candidates] != [
        (c.label, c.probability) for c in other.candidates
    ]
