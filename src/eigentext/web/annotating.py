"""The annotator's side: stored texts, decisions, what they change, and what comes out.

The flow of a decision: what is stored, and its revision -> a worker looks the decision up in the
ranking made without it (its rank there counts for A1 and A2) and sees what it changes -> the
store, on the disk, unless something else was stored meanwhile -> the answer.  A request that names
the revision that its author has seen is refused when that is not the last one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from eigentext.drawing.markup import elide
from eigentext.errors import DataError, EigentextError, SettingsError
from eigentext.web.annotations import AnnotationStore, StaleError, Tally
from eigentext.web.decided import document_name
from eigentext.web.lexical import check_position
from eigentext.web.limits import NoModelError, TooMuchError
from eigentext.web.schemas_lexical import (
    Choice,
    DecisionAnswer,
    DocumentsAnswer,
    DocumentSummary,
    Progress,
)
from eigentext.web.workers import FewThreads

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eigentext.web.annotations import Decision, Decisions, Position, State, StoredDocument
    from eigentext.web.schemas_lexical import (
        ChangedWord,
        DecideRequest,
        DocumentRequest,
        ExportFormat,
        UndoRequest,
    )
    from eigentext.web.settings import ServiceSettings
    from eigentext.web.workers import WorkerPool

__all__ = ["AnnotationService", "ConflictError", "NotThereError"]

_NAME_LENGTH = 28
_THREADS, _WAITING = 8, 40
_ATTEMPTS = 20  # to store something between the changes of others


class NotThereError(EigentextError):
    """What a request names does not exist."""


class ConflictError(EigentextError):
    """A request that makes sense, but not in the state things are in."""


class AnnotationService:
    """The store of annotations, and the workers whose ranker looks at it."""

    def __init__(self, settings: ServiceSettings, pool: WorkerPool) -> None:
        self.settings = settings
        self._pool = pool
        self._files = FewThreads(_THREADS, _WAITING)
        self._store: AnnotationStore | None = None
        if settings.annotations is not None:
            if settings.lex_model is None:
                raise SettingsError(
                    "--annotations needs --lex-model, a file of `eigentext lex train`"
                )
            self._store = AnnotationStore(settings.annotations)

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

    async def _elements(self) -> tuple[str, ...]:
        elements: tuple[str, ...] = (await self._pool.facts()).elements
        return elements

    # ---- texts

    async def add(self, request: DocumentRequest) -> DocumentSummary:
        """Store a text; those of this request cannot be empty."""
        store, most = self.store, self.settings.max_documents
        tokenised = await self._pool.run("lex/sentences", request, self.settings)
        sentences = [tokens for tokens in tokenised if tokens]
        if not sentences:
            raise DataError("input", None, "found no words; expected some to annotate")
        if await self._files.run(store.count) >= most:
            raise TooMuchError(f"there are {most:,} texts already, the most that are kept")
        words = " ".join(token.text for tokens in sentences for token in tokens[:8])
        name = " ".join(request.name.split()) or elide(words, _NAME_LENGTH)
        number = await self._files.run(
            store.add_document, name, request.text, sentences, await self._elements()
        )
        return next(text for text in (await self.documents()).documents if text.id == number)

    async def documents(self) -> DocumentsAnswer:
        """All texts."""
        stored = await self._files.run(self.store.documents)
        elements = await self._elements()
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
                for number, name, created, n_words, own, annotators in stored
            ]
        )

    async def _document(self, number: int) -> StoredDocument:
        document = await self._files.run(self.store.document, number)
        if document is None:
            raise NotThereError(f"there is no text {number}")
        elements = await self._elements()
        if document.elements != elements:
            raise ConflictError(
                f"text {number} is annotated with the elements {', '.join(document.elements)}; "
                f"the model now served has {', '.join(elements)}"
            )
        return document

    async def _state(self, number: int, annotator: str) -> State:
        return await self._files.run(self.store.state, number, annotator)

    async def open(self, number: int, annotator: str, top: int | None) -> bytes:
        """A text as it stands for an annotator: a `DocumentAnswer`."""
        document = await self._document(number)
        state = await self._state(number, annotator)
        more = {
            "id": number,
            "name": document.name,
            "text": document.text,
            "revision": state.revision,
            "progress": _progress(document, state.tally),
            "decisions": [_choice(decision) for decision in state.decisions.values()],
        }
        answer: bytes = await self._pool.run(
            "lex/open", document.sentences, state.decisions, top, more
        )
        return answer

    # ---- decisions

    async def decide(self, number: int, request: DecideRequest, top: int | None) -> DecisionAnswer:
        """Save a decision, and say what it changed."""
        document = await self._document(number)
        position = request.sentence, request.word
        check_position(document.sentences, *position)
        for _ in range(_ATTEMPTS):
            before = await self._state(number, request.annotator)
            _check_seen(request.revision, before.revision)
            decision, changed = await self._pool.run(
                "lex/decide", document.sentences, before.decisions, request, top
            )
            step = number, request.annotator, decision, before.revision
            try:
                await self._files.run(self.store.decide, *step)
            except StaleError:
                continue
            return await self._changed(document, request.annotator, position, changed)
        raise ConflictError(_CROWDED)

    async def undo(self, number: int, request: UndoRequest, top: int | None) -> DecisionAnswer:
        """Take the last decision back, and say what that changed."""
        document, annotator = await self._document(number), request.annotator
        for _ in range(_ATTEMPTS):
            before = await self._state(number, annotator)
            _check_seen(request.revision, before.revision)
            if before.last is None:
                raise ConflictError(f"{annotator} has decided nothing in text {number}")
            position, after = before.last, before.without_last
            changed = await self._pool.run(
                "lex/changes", document.sentences, before.decisions, after, position, top
            )
            try:
                await self._files.run(self.store.undo, number, annotator, before.revision)
            except StaleError:
                continue
            return await self._changed(document, annotator, position, changed)
        raise ConflictError(_CROWDED)

    async def _changed(
        self, document: StoredDocument, annotator: str, at: Position, changed: list[ChangedWord]
    ) -> DecisionAnswer:
        now = await self._state(document.id, annotator)
        return DecisionAnswer(
            sentence=at[0],
            word=at[1],
            choice=_choice(now.decisions[at]) if at in now.decisions else None,
            revision=now.revision,
            progress=_progress(document, now.tally),
            changed=changed,
        )

    # ---- out

    async def export(self, annotator: str, number: int | None, form: ExportFormat) -> str:
        """The sentences with decisions of an annotator, of one text or of all usable ones."""
        if number is None:
            numbers = [text.id for text in (await self.documents()).documents if text.usable]
        else:
            numbers = [number]
        lines: list[str] = []
        for document_id in numbers:
            document = await self._document(document_id)
            decisions = (await self._state(document_id, annotator)).decisions
            if form == "jsonl":
                lines.extend(_training_lines(document, decisions))
            elif decisions:
                lines += await self._pool.run("lex/conllu", document, decisions, annotator)
        return "".join(f"{line}\n" for line in lines)


_CROWDED = "others are changing this text all the time; nothing was saved: try again"


def _check_seen(seen: int | None, last: int) -> None:
    if seen is not None and seen != last:
        raise ConflictError(
            f"nothing was saved: this was asked at revision {seen} of the annotator's decisions, "
            f"and now they are at revision {last}; open the text again"
        )


def _progress(document: StoredDocument, tally: Tally) -> Progress:
    def percent(n: int) -> float | None:
        return 100.0 * n / tally.scored if tally.scored else None

    return Progress(
        words=sum(map(len, document.sentences)),
        decided=tally.decided,
        scored=tally.scored,
        a1=percent(tally.first),
        a2=percent(tally.among_two),
    )


def _training_lines(document: StoredDocument, decisions: Decisions) -> Iterator[str]:
    """Sentences as ``lex train`` reads them; words without a decision have no label."""
    for s, tokens in enumerate(document.sentences):
        words: list[Mapping[str, object]] = []
        for w, token in enumerate(tokens):
            decision = decisions.get((s, w))
            if decision is None or decision.label is None:
                words.append({"form": token.text, "label": None, "scored": False})
                continue
            words.append(
                {
                    "form": token.text,
                    "label": decision.label,
                    "scored": decision.scored,
                    "vocalised": decision.vocalised,
                    "gloss": decision.gloss,
                }
            )
        if any(word["label"] for word in words):
            yield json.dumps({"doc": document_name(document), "words": words}, ensure_ascii=False)


def _choice(d: Decision) -> Choice:
    return Choice(sentence=d.sentence, word=d.word, label=d.label, rank=d.rank, at=d.at)
