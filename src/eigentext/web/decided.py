"""What decisions make of a text: its ranking given them, what one more changes, and CoNLL-U.

All of this needs the ranker, so it is done in a worker; what is stored is the server's business
(`eigentext.web.annotating`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eigentext.web.annotations import Decision
from eigentext.web.lexical import is_scored
from eigentext.web.schemas_lexical import ChangedWord, DocumentAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eigentext.lexical import Label, RankedWord
    from eigentext.web.annotations import Decisions, Position, StoredDocument
    from eigentext.web.lexical import LexicalService, Sentences
    from eigentext.web.schemas_lexical import DecideRequest

__all__ = ["DecidedTexts", "document_name"]


class DecidedTexts:
    """Texts as a ranker sees them, given what was decided."""

    def __init__(self, lexical: LexicalService) -> None:
        self.lexical = lexical

    def open(
        self, sentences: Sentences, decisions: Decisions, top: int | None, more: Mapping[str, Any]
    ) -> bytes:
        """A `DocumentAnswer`: the ranking, and what more there is to tell."""
        labels = self._labels(decisions)
        ranked = self.lexical.rank(sentences, labels)
        language = self.lexical.ranker.scheme_.language
        view = self.lexical.view(sentences, ranked, labels, top=top, language=language)
        return DocumentAnswer(ranked=view, **more).model_dump_json().encode()

    def _labels(self, decisions: Decisions) -> dict[Position, Label]:
        return {
            position: self.lexical.label(decision.label)
            for position, decision in decisions.items()
            if decision.label is not None
        }

    def decide(
        self, sentences: Sentences, before: Decisions, request: DecideRequest, top: int | None
    ) -> tuple[Decision, list[ChangedWord]]:
        """The decision, by its rank in the ranking made without it, and what it changes."""
        position = request.sentence, request.word
        without = {at: decided for at, decided in before.items() if at != position}
        ranked = self.lexical.rank(sentences, self._labels(without))
        decision = self._decision(request, ranked[request.sentence][request.word])
        after = {**without, position: decision}
        return decision, self.changes(sentences, before, after, position, top)

    def _decision(self, request: DecideRequest, word: RankedWord) -> Decision:
        from eigentext.lexical.shown import shown_reading

        scored = is_scored(word.form)
        if request.label is None:
            return Decision(request.sentence, request.word, None, None, scored)
        label = self.lexical.label(request.label)
        values = self.lexical.ranker.scheme_.as_mapping(label)
        for rank, candidate in enumerate(word.candidates, start=1):
            if candidate.label == label:
                reading = shown_reading(word, candidate, self.lexical.ranker)
                shown = (reading.vocalised, reading.gloss) if reading else ("", "")
                return Decision(request.sentence, request.word, values, rank, scored, *shown)
        return Decision(request.sentence, request.word, values, None, scored)

    def changes(
        self,
        sentences: Sentences,
        before: Decisions,
        now: Decisions,
        position: Position,
        top: int | None,
    ) -> list[ChangedWord]:
        """The word that was decided, and those that are ranked otherwise since."""
        decided = self._labels(now)
        old = self.lexical.rank(sentences, self._labels(before))
        new = self.lexical.rank(sentences, decided)
        return [
            ChangedWord(
                sentence=s,
                word=w,
                view=self.lexical.word_view(word, sentences[s][w], (s, w) in decided, top),
            )
            for s, words in enumerate(new)
            for w, word in enumerate(words)
            if (s, w) == position or _differ(word, old[s][w])
        ]

    def conllu(
        self, document: StoredDocument, decisions: Decisions, annotator: str
    ) -> Iterator[str]:
        """The lines of a text: sentences in which something was decided."""
        from eigentext.lexical.analysis import Analysis
        from eigentext.lexical.output import as_conllu
        from eigentext.lexical.ranked import RankedCandidate, RankedWord

        scheme = self.lexical.ranker.scheme_
        empty = (scheme.missing,) * len(scheme.elements)
        begun = False
        for s, tokens in enumerate(document.sentences):
            words, open_ = [], []
            for w, token in enumerate(tokens):
                decision = decisions.get((s, w))
                label = empty
                if decision is None or decision.label is None:
                    open_.append(w)
                    decision = None
                else:
                    label = self.lexical.label(decision.label)
                shown = (decision.vocalised, decision.gloss) if decision else ("", "")
                reading = Analysis("", shown[0], (), "", {}, shown[1], source="gold")
                first = RankedCandidate(label, 1.0, 0.0, (reading,), "gold")
                typed = document.typed(token)
                words.append(RankedWord(token.text, [first], 1.0, False, typed))
            if len(open_) == len(tokens):
                continue
            lines = list(as_conllu(s + 1, words, self.lexical.ranker))
            if not begun:
                yield f"# newdoc id = {document_name(document)}"
                begun = True
            yield f"# annotator = {annotator}"
            yield f"# sent_id = {document.id}-{s + 1}"
            yield lines[1]
            for w, line in enumerate(lines[2:-1]):
                cells = line.split("\t")
                misc = cells[9].partition("|")[2] or "_"  # a decision has no probability
                yield "\t".join([*cells[:2], *["_"] * 8] if w in open_ else [*cells[:9], misc])
            yield ""


def document_name(document: StoredDocument) -> str:
    """How exports call a text."""
    return f"{document.name} ({document.id})"


def _differ(a: RankedWord, b: RankedWord) -> bool:
    return [(c.label, c.probability) for c in a.candidates] != [
        (c.label, c.probability) for c in b.candidates
    ]
