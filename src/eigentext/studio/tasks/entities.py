"""Entities: spans of words with a type; the rest is proposed given those that are decided.

A decided span is B-X I-X ... in the tagger's search, the word behind it no I-X; a span that is no
entity leaves its words O.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eigentext.studio.tasks.records import Finished, ItemCandidate, Proposal, TaskItem, TaskScore
from eigentext.studio.tasks.tags import list_shares
from eigentext.studio.tasks.task import Task, bad, is_text, ranked, scored
from eigentext.studio.tasks.texts import column_of, conllu_lines, spans_of_tags, tags_of_spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eigentext.base.progress import Progress
    from eigentext.base.types import Json
    from eigentext.language import Sentence
    from eigentext.studio.tasks.records import Analysis, Answers
    from eigentext.studio.tasks.task import Examples, SentenceExport, SentenceState

_MOST_ANSWERS = 16  # tag sequences that certainties come from
_SHOWN = 5


class EntitiesTask(Task):
    """Item ``e2-5`` -> {"type": "PER"}, or {"type": null}: no entity is, or overlaps, here."""

    name = "entities"
    formats = ("columns", "jsonl", "conllu")
    ITEMS = re.compile(r"e(0|[1-9][0-9]{0,5})-([1-9][0-9]{0,5})")
    STAGE = "ner"
    KINDS = ("tagger",)
    SERVED = ("tagger",)

    def _check(self, sentence: Sentence, item: str, value: Any) -> Any:
        if set(value) != {"type"}:
            raise bad(item, 'expected {"type": ...}, or {"type": null} for no entity')
        kind = value["type"]
        if kind is not None and (not is_text(kind) or re.search(r"\s", kind)):
            raise bad(item, f"type is {str(kind)[:60]!r}, expected a name without white space")
        return dict(value)

    def _check_analysis(self, sentence: Sentence, analysis: object) -> Json:
        spans = analysis.get("entities") if isinstance(analysis, dict) else None
        if not isinstance(spans, list):
            raise bad("done", 'expected {"entities": [{"start", "end", "type"}, ...]}')
        n = len(sentence)
        kept = []
        for span in spans:
            if not isinstance(span, dict) or not {"start", "end", "type"} <= set(span):
                raise bad("done", "expected entities with start, end and type")
            start, end, kind = span["start"], span["end"], span["type"]
            if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= n):
                raise bad("done", f"expected entities within the {n} words of the sentence")
            self._check(sentence, f"e{start}-{end}", {"type": kind})
            if kind is not None:
                kept.append({"start": start, "end": end, "type": kind})
        kept.sort(key=lambda span: (span["start"], -span["end"], span["type"]))
        return {"entities": kept, "tags": tags_of_spans(n, kept)}

    def items_of(self, analysis: Analysis) -> list[tuple[str, Any]]:
        """What decisions would make this analysis."""
        return [
            (f"e{entity['start']}-{entity['end']}", {"type": entity["type"]})
            for entity in analysis["entities"]
        ]

    def add_finished(self, answers: Answers, sentence: int, analysis: Analysis) -> None:
        """The entities as spans."""
        answers.spans.setdefault("entities", {})[sentence,] = [
            (entity["type"], entity["start"], entity["end"])
            for entity in analysis.get("entities", ())
        ]

    # ------------------------------------------------------------ proposals

    def _propose(self, state: SentenceState, k: int) -> Proposal:
        sentence = state.sentence
        n = len(sentence)
        decided, none = _spans(state)
        notes: list[str] = []
        shares: dict[tuple[int, int], dict[str, float]] = {}
        source, proposed = "none", []
        if self.model is not None and n:
            source = "model"
            answers = self.model.kbest(
                sentence.forms, _MOST_ANSWERS, allowed=self._allowed(n, decided, none, notes)
            )
            if not answers:
                notes.append("The tagger has no answer under these decisions: they stand alone.")
            else:
                proposed = spans_of_tags(answers[0].tags)
                for answer, share in zip(answers, list_shares(answers), strict=True):
                    for span in spans_of_tags(answer.tags):
                        of_type = shares.setdefault((span["start"], span["end"]), {})
                        of_type[span["type"]] = of_type.get(span["type"], 0.0) + share
        elif sentence.entities is not None:
            source, proposed = "imported", spans_of_tags(sentence.entities)
        spans: list[Json] = [
            {"start": s, "end": e, "type": kind} for (s, e), kind in decided.items()
        ]
        taken = [*decided, *none]
        spans += [
            span
            for span in proposed
            if not any(_overlap((span["start"], span["end"]), other) for other in taken)
        ]
        spans.sort(key=lambda span: (span["start"], -span["end"]))
        notes += _overlaps(decided)
        items = []
        for span in spans:
            bounds = span["start"], span["end"]
            types = sorted(shares.get(bounds, {}).items(), key=lambda pair: (-pair[1], pair[0]))
            is_decided = bounds in decided
            sure = 1.0 if is_decided else dict(types).get(span["type"], 0.0)
            best = ranked(({"type": kind}, share) for kind, share in types[:_SHOWN])
            name = f"e{bounds[0]}-{bounds[1]}"
            items.append(TaskItem(name, {"type": span["type"]}, is_decided, sure, tuple(best)))
        for start, end in none:
            items.append(TaskItem(f"e{start}-{end}", {"type": None}, True, 1.0))
        items.sort(key=lambda item: tuple(map(int, item.item[1:].split("-"))))
        proposal = self._proposal(
            state,
            items,
            notes,
            analysis={"entities": spans, "tags": tags_of_spans(n, spans)},
            source=source,
        )
        if source != "model":
            return proposal
        # an entity that the tagger nearly found is a doubt too, though there is no item for it
        doubts = [
            1.0 - share
            for bounds, of_type in shares.items()
            for share in (sum(of_type.values()),)
            if not any(_overlap(bounds, other) for other in taken)
            and not any((s["start"], s["end"]) == bounds for s in spans)
        ]
        least = min((proposal.certainty, *doubts))
        return replace(proposal, certainty=least)

    def _allowed(
        self,
        n: int,
        decided: Mapping[tuple[int, int], str],
        none: Sequence[tuple[int, int]],
        notes: list[str],
    ) -> dict[int, list[str]]:
        """BIO2 tags that each word may have under the decisions; what clashes is left out."""
        types = {tag[2:] for tag in self.model.tag_set_.inside if tag != "O"}
        inside = [f"I-{kind}" for kind in types]
        outside = ["O", *(f"B-{kind}" for kind in types)]
        allowed: dict[int, list[str]] = {}
        free = 0
        for (start, end), kind in decided.items():
            if start < free:
                continue  # it overlaps one that is kept; `_overlaps` tells
            free = end
            if kind not in types:
                notes.append(
                    f"The tagger does not know the type {kind!r}: your entity stands, and the "
                    "others are proposed without it."
                )
                for word in range(start, end):
                    allowed[word] = ["O"]
            else:
                for word in range(start, end):
                    allowed[word] = [f"{'B' if word == start else 'I'}-{kind}"]
            if end < n and end not in allowed:
                allowed[end] = outside
        for start, end in none:
            for word in range(start, end):
                if not any(s <= word < e for s, e in decided):
                    allowed[word] = ["O"]
            if end < n and end not in allowed:
                allowed[end] = outside
        for word, tags in allowed.items():
            before = allowed.get(word - 1)
            if before == ["O"] and tags and all(tag in inside for tag in tags):
                allowed[word] = ["O"]
        return allowed

    def _candidates(
        self, state: SentenceState, item: str, numbers: tuple[int, ...]
    ) -> list[ItemCandidate]:
        """Types of the span, ranked by the tagger, then all that are known, then no entity."""
        sentence, (start, end) = state.sentence, numbers
        values: list[tuple[Any, float | None]] = []
        kinds: list[str] = []
        if self.model is not None:
            kinds = sorted({tag[2:] for tag in self.model.tag_set_.inside if tag != "O"})
            scores = []
            for kind in kinds:
                allowed = self._allowed(len(sentence), {(start, end): kind}, [], [])
                answers = self.model.kbest(sentence.forms, 1, allowed=allowed)
                if answers:
                    scores.append((answers[0], kind))
            scores.sort(key=lambda pair: (-pair[0].score, pair[1]))
            shares = list_shares([answer for answer, _ in scores])
            values = [
                ({"type": kind}, share) for (_, kind), share in zip(scores, shares, strict=True)
            ]
        values += [({"type": kind}, None) for kind in (*kinds, *self.labels)]
        values.append(({"type": None}, None))
        return ranked(values)

    # ------------------------------------------------------------ what comes out

    def decided_only(self, state: SentenceState) -> Json:
        """The entities that are decided."""
        decided, _ = _spans(state)
        spans = [{"start": s, "end": e, "type": kind} for (s, e), kind in decided.items()]
        return {"entities": spans, "tags": tags_of_spans(len(state.sentence), spans)}

    def _lines(self, export: SentenceExport) -> Iterator[str]:
        if export.form == "jsonl":
            record = {
                "tokens": list(export.sentence.forms),
                "entities": export.analysis["entities"],
            }
            yield json.dumps(record, ensure_ascii=False)
            return
        tags = export.analysis["tags"]
        if export.form == "columns":
            for word, tag in zip(export.sentence.forms, tags, strict=True):
                yield f"{word}\t{tag}"
            yield ""
            return
        misc = column_of(export.sentence, "misc") or ["_"] * len(tags)
        cells = []
        for old, tag in zip(misc, tags, strict=True):
            pieces = [p for p in old.split("|") if p != "_" and not p.startswith("NER=")]
            cells.append("|".join([*pieces, *([f"NER={tag}"] if tag != "O" else [])]) or "_")
        yield from conllu_lines(export.sentence, {"misc": cells}, export.comments)

    def train(
        self, examples: Examples, *, base: str | None = None, progress: Progress | None = None
    ) -> Any:
        """A tagger with the settings of the one there is."""
        from eigentext.tagging.sequence import SequenceTagger
        from eigentext.tagging.sequence.reading import read_tagged

        tokens: list[Sequence[str]] = []
        tags: list[Sequence[str]] = []
        if base:
            read = read_tagged([base], repair=True)
            tokens += read[0]
            tags += read[1]
        tokens += [example.sentence.forms for example in examples]
        tags += [example.analysis["tags"] for example in examples]
        settings = {} if self.model is None else self.model.get_params(deep=False)
        if self.model is not None:
            # chosen once by cross-validation: it need not be chosen again in every round
            settings |= {"entity_margin": self.model.entity_margin_, "beam": self.model.beam_}
        settings["scheme"] = "bio2"
        return SequenceTagger(**settings).fit(tokens, tags, progress=progress)

    def score(self, model: Any, held_out: Sequence[Finished]) -> TaskScore:
        """F1 of entities."""
        answers = model.predict([example.sentence.forms for example in held_out])
        counts = []
        for example, tags in zip(held_out, answers, strict=True):
            gold = {
                (s["start"], s["end"], s["type"]) for s in spans_of_tags(example.analysis["tags"])
            }
            answer = {(s["start"], s["end"], s["type"]) for s in spans_of_tags(tags)}
            counts.append((float(len(gold & answer)), float(len(gold)), float(len(answer))))
        return scored("F1 of entities", counts)


def _spans(state: SentenceState) -> tuple[dict[tuple[int, int], str], list[tuple[int, int]]]:
    """Entities that are decided, and spans that are none."""
    entities, none = {}, []
    for item, value in state.decided.items():
        start, end = map(int, item[1:].split("-"))
        if value["type"] is None:
            none.append((start, end))
        else:
            entities[start, end] = value["type"]
    return dict(sorted(entities.items())), sorted(none)


def _overlap(first: tuple[int, int], other: tuple[int, int]) -> bool:
    return first[0] < other[1] and other[0] < first[1]


def _overlaps(decided: Mapping[tuple[int, int], str]) -> list[str]:
    spans = list(decided)
    return [
        f"The entities of words {a[0] + 1} to {a[1]} and {b[0] + 1} to {b[1]} overlap: a file of "
        "tags can only hold the first of them."
        for at, a in enumerate(spans)
        for b in spans[at + 1 :]
        if _overlap(a, b)
    ]
