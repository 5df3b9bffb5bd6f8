"""Sentences and words of raw text: cuts that are decided hold, the places between follow.

A unit is a stretch of the document's text, a paragraph as a rule (`texts.paragraphs`): from the
start of its first token to the end of its last.  Offsets are those of the whole text.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from eigentext.errors import DataError
from eigentext.studio.tasks.records import Finished, ItemCandidate, Proposal, TaskItem, TaskScore
from eigentext.studio.tasks.task import Task, bad, is_text, numbers_of, ranked, scored
from eigentext.studio.tasks.texts import conllu_lines, paragraphs, sentence_of_spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eigentext.base.progress import Progress
    from eigentext.base.types import Json
    from eigentext.language import Doc, Sentence
    from eigentext.language.formats import conllu
    from eigentext.studio.tasks.records import Analysis, Answers
    from eigentext.studio.tasks.task import Examples, SentenceExport, SentenceState
    from eigentext.tagging.segmentation.model import Place

CUTS = ("sentence", "word", "none")
_OFFERED = 0.02  # a place where nothing is cut is offered if a cut is as probable as this

Words = dict[tuple[int, int], tuple[str, ...]]


class SegmentationTask(Task):
    """Items ``b17`` (a place) and ``m4-9`` (a multiword token)."""

    name = "segmentation"
    ITEMS = re.compile(r"b([1-9][0-9]{0,8})|m(0|[1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
    STAGE = "segmenter"
    KINDS = ("segmenter",)
    SERVED = ("pipeline",)
    NEIGHBOURS = 1

    def unit(self, document: Doc, sentence: Sentence) -> tuple[int, int]:
        """Where the unit stands in the text."""
        if not len(sentence) or sentence.start < 0:
            raise DataError(
                document.id or "<document>", None, "segmentation needs the text of the document"
            )
        return sentence.start, sentence.end

    @classmethod
    def of_text(cls, name: str, text: str, cut: object) -> tuple[Doc, str]:
        """Raw text is left as it is, paragraph by paragraph."""
        return paragraphs(name, text), "paragraphs"

    def _numbers(self, document: Doc, sentence: Sentence, item: str) -> tuple[int, ...]:
        start, end = self.unit(document, sentence)
        numbers = numbers_of(item)
        if item[0] == "b":
            (at,) = numbers
            if not start < at < end:
                raise bad(item, f"expected a place between {start} and {end}, within the text")
            if document.text[at].isspace():
                raise bad(item, "a cut stands before a character that is not white space")
            return numbers
        if not start <= numbers[0] < numbers[1] <= end:
            raise bad(item, f"expected a token between {start} and {end}, within the text")
        piece = document.text[numbers[0] : numbers[1]]
        if piece.strip() != piece:
            raise bad(item, "a token does not begin or end with white space")
        return numbers

    def _check(self, sentence: Sentence, item: str, value: Any) -> Any:
        if item[0] == "b":
            if set(value) != {"cut"} or value["cut"] not in CUTS:
                raise bad(item, f'expected {{"cut": ...}} with one of {", ".join(CUTS)}')
            return dict(value)
        words = value.get("words")
        if set(value) != {"words"} or not isinstance(words, list) or len(words) == 1:
            raise bad(item, 'expected {"words": [...]}: two or more, or none of an ordinary token')
        if not all(is_text(word) for word in words):
            raise bad(item, "expected words without tabs and line ends")
        return {"words": list(words)}

    def _check_analysis(self, sentence: Sentence, analysis: object) -> Json:
        listed = analysis.get("sentences") if isinstance(analysis, dict) else None
        if not isinstance(listed, list) or not len(sentence):
            raise bad("done", 'expected {"sentences": [{"tokens": [...]}, ...]}')
        start, end = sentence.start, sentence.end
        kept, before = [], start
        for record in listed:
            tokens = record.get("tokens") if isinstance(record, dict) else None
            if not isinstance(tokens, list) or not tokens:
                raise bad("done", "expected sentences with tokens")
            kept_tokens = []
            for token in tokens:
                first, last = (
                    (token.get("start"), token.get("end"))
                    if isinstance(token, dict)
                    else (None, None)
                )
                if not isinstance(first, int) or not isinstance(last, int):
                    raise bad("done", "expected tokens with start and end")
                if not before <= first < last <= end:
                    raise bad("done", "expected tokens one behind the other within the text")
                before = last
                words = token.get("words") or []
                if not isinstance(words, list) or not all(is_text(word) for word in words):
                    raise bad("done", "expected words that are texts")
                kept_tokens.append({"start": first, "end": last, "words": list(words)})
            kept.append({"tokens": kept_tokens})
        return {"sentences": kept}

    def items_of(self, analysis: Analysis) -> list[tuple[str, Any]]:
        """What decisions would make this analysis: its cuts, and its multiword tokens."""
        items: list[tuple[str, Any]] = []
        first = True
        for sentence in analysis["sentences"]:
            for number, token in enumerate(sentence["tokens"]):
                if not first:
                    cut = "word" if number else "sentence"
                    items.append((f"b{token['start']}", {"cut": cut}))
                first = False
                if token.get("words"):
                    name = f"m{token['start']}-{token['end']}"
                    items.append((name, {"words": token["words"]}))
        return items

    def accepted_items(self, analysis: Analysis) -> Iterator[tuple[str, Any]]:
        """The cuts."""
        return ((item, value) for item, value in self.items_of(analysis) if item[0] == "b")

    def add_item(self, answers: Answers, word: tuple[int, int], value: Any, n_words: int) -> None:
        """A cut before a character."""
        cells = json.loads(value)
        if "cut" in cells:
            answers.values.setdefault("cut", {})[word] = cells["cut"]

    def add_finished(self, answers: Answers, sentence: int, analysis: Analysis) -> None:
        """Tokens and sentences as spans of the text."""
        units = [unit["tokens"] for unit in analysis.get("sentences", ()) if unit.get("tokens")]
        answers.spans.setdefault("tokens", {})[sentence,] = [
            (token["start"], token["end"]) for tokens in units for token in tokens
        ]
        answers.spans.setdefault("sentences", {})[sentence,] = [
            (tokens[0]["start"], tokens[-1]["end"]) for tokens in units
        ]

    # ------------------------------------------------------------ proposals

    def _propose(self, state: SentenceState, k: int) -> Proposal:
        document, sentence = state.document, state.sentence
        start, end = self.unit(document, sentence)
        decided_cuts, words = _cuts_and_words(state)
        cuts = {at: cut for at, cut in decided_cuts.items() if start < at < end}
        for first, last in words:
            behind = _next_character(document.text, last, end)
            if behind is not None:
                cuts.setdefault(behind, "word")
            for at in range(first + 1, last):
                if not document.text[at].isspace():
                    cuts.setdefault(at, "none")
        notes: list[str] = []
        sentences, places, source = self._answered(document, sentence, start, end, cuts)
        sentences = _overlaid(document.text, sentences, cuts, start, end)
        records = []
        for tokens in sentences:
            row = [
                {"start": first, "end": last, "words": list(words.get((first, last), proposed))}
                for first, last, proposed in tokens
            ]
            records.append({"tokens": row})
        analysis = {"sentences": records}
        items = self._items(state, analysis, places, source)
        spans = {(t["start"], t["end"]) for record in records for t in record["tokens"]}
        for first, last in words:
            if (first, last) not in spans:
                piece = document.text[first:last]
                notes.append(f"{piece!r} is no token under the cuts that you decided.")
        return self._proposal(state, items, notes, analysis=analysis, source=source)

    def _items(
        self, state: SentenceState, analysis: Analysis, places: Mapping[int, Place], source: str
    ) -> list[TaskItem]:
        decided = state.decided
        values = dict(self.items_of(analysis))
        for at, doubt in places.items():
            # nothing is cut here, but nearly: it is worth a look
            if f"b{at}" not in values and doubt.token > _OFFERED:
                values[f"b{at}"] = {"cut": "none"}
        values.update(decided)
        items = []
        for name, value in values.items():
            is_decided = name in decided
            sure = 0.0
            cut_at = places.get(int(name[1:])) if name[0] == "b" else None
            if cut_at is not None:
                sure = _share(cut_at, value["cut"])
            elif source == "model":
                sure = 1.0  # white space, or the words of a token: the model has no doubts to tell
            items.append(TaskItem(name, value, is_decided, 1.0 if is_decided else sure))
        return sorted(items, key=lambda item: (numbers_of(item.item)[0], item.item))

    def _answered(
        self, document: Doc, sentence: Sentence, start: int, end: int, cuts: Mapping[int, str]
    ) -> tuple[list[list[tuple[int, int, tuple[str, ...]]]], dict[int, Place], str]:
        text = document.text[start:end]
        if self.model is not None:
            answer = self.model.segment_decided(text, {at - start: c for at, c in cuts.items()})
            sentences = [
                [(a + start, b + start, words) for a, b, words in part.tokens]
                for part in answer.sentences
            ]
            return sentences, {at + start: p for at, p in answer.places.items()}, "model"
        if len(sentence) > 1:
            tokens: list[tuple[int, int, tuple[str, ...]]] = []
            for token in sentence.tokens:
                words = tuple(sentence.forms[token.first - 1 : token.last])
                tokens.append((token.start, token.end, words if len(words) > 1 else ()))
            return [tokens], {}, "imported"
        spans = [(m.start() + start, m.end() + start, ()) for m in re.finditer(r"\S+", text)]
        return [spans], {}, "none"  # type: ignore[list-item]

    def _candidates(
        self, state: SentenceState, item: str, numbers: tuple[int, ...]
    ) -> list[ItemCandidate]:
        """The three cuts, ranked; or the words of a token, the model's first."""
        document, sentence = state.document, state.sentence
        start, end = self.unit(document, sentence)
        if item[0] == "m":
            values: list[tuple[Any, float | None]] = []
            if self.model is not None:
                piece = document.text[numbers[0] : numbers[1]]
                values.append(({"words": list(self.model.words_of([piece])[0])}, None))
            return ranked([*values, ({"words": []}, None)])
        decided, _ = _cuts_and_words(state)
        cuts = {at: cut for at, cut in decided.items() if start < at < end and at != numbers[0]}
        sentences, places, _ = self._answered(document, sentence, start, end, cuts)
        doubt = places.get(numbers[0])
        if doubt is not None:
            shares = sorted(((_share(doubt, cut), cut) for cut in CUTS), key=lambda p: -p[0])
            return ranked(({"cut": cut}, share) for share, cut in shares)
        begins = {token[0]: n for tokens in sentences for n, token in enumerate(tokens)}
        number = begins.get(numbers[0])
        first = "none" if number is None else "word" if number else "sentence"
        return ranked(({"cut": cut}, None) for cut in (first, *CUTS))

    # ------------------------------------------------------------ what comes out

    def decided_only(self, state: SentenceState) -> Json:
        """The unit cut at white space, and as decided."""
        return dict(SegmentationTask(None)._propose(state, 1).analysis)

    def sentences_of(self, text: str, analysis: Analysis, offset: int = 0) -> Iterator[Sentence]:
        """The sentences of a finished unit, ready for other tasks; ``offset``: of the text."""
        flat = [token for part in analysis["sentences"] for token in part["tokens"]]
        following = {a["start"]: b["start"] for a, b in pairwise(flat)}
        for part in analysis["sentences"]:
            spans = [(token["start"], token["end"], token["words"]) for token in part["tokens"]]
            miscs = ["SpaceAfter=No" if following.get(a) == b else "_" for a, b, _ in spans]
            forms = [_single_blanks(text[a - offset : b - offset]) for a, b, _ in spans]
            yield sentence_of_spans(
                ((form, *span) for form, span in zip(forms, spans, strict=True)), miscs
            )

    def _lines(self, export: SentenceExport) -> Iterator[str]:
        others = [line for line in export.comments if not re.match(r"# (text|sent_id)\b", line)]
        name = next((c for c in export.comments if c.startswith("# sent_id")), "# sent_id = 0")
        for number, sentence in enumerate(
            self.sentences_of(export.document.text, export.analysis), start=1
        ):
            text = _single_blanks(export.document.text[sentence.start : sentence.end])
            before = [*others, "# newpar"] if number == 1 else []
            yield from conllu_lines(
                sentence, {}, [*before, f"{name}-{number}", f"# text = {text}"]
            )

    def _treebank(self, examples: Iterable[Finished]) -> list[conllu.ConlluBlock]:
        from eigentext.language.formats.conllu import parse_sentence

        sentences = []
        for example in examples:
            at = example.sentence.start
            for number, sentence in enumerate(
                self.sentences_of(example.text, example.analysis, at)
            ):
                comments = ["# newpar"] if number == 0 else []
                piece = example.text[sentence.start - at : sentence.end - at]
                comments.append("# text = " + _single_blanks(piece))
                lines = conllu_lines(sentence, {}, comments)
                sentences.append(parse_sentence("\n".join(lines) + "\n"))
        return sentences

    def train(
        self, examples: Examples, *, base: str | None = None, progress: Progress | None = None
    ) -> Any:
        """A segmenter with the settings of the one there is."""
        from eigentext.language.formats.conllu import read_sentences
        from eigentext.tagging.segmentation import Segmenter

        treebank = list(read_sentences(base)) if base else []
        treebank += self._treebank(examples)
        settings = {} if self.model is None else self.model.get_params(deep=False)
        return Segmenter(**settings).fit(treebank, progress=progress)

    def score(self, model: Any, held_out: Sequence[Finished]) -> TaskScore:
        """F1 of words (the words of multiword tokens) and of sentences, together."""
        counts = []
        for example in held_out:
            offset = example.sentence.start
            gold = _spans(
                [
                    [
                        (t["start"] - offset, t["end"] - offset, tuple(t["words"]))
                        for t in s["tokens"]
                    ]
                    for s in example.analysis["sentences"]
                ]
            )
            answer = _spans([[tuple(t) for t in s.tokens] for s in model.segment(example.text)])
            counts.append((float(len(gold & answer)), float(len(gold)), float(len(answer))))
        return scored("F1 of words and sentences", counts)


def _single_blanks(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _cuts_and_words(state: SentenceState) -> tuple[dict[int, str], Words]:
    """The cuts that are decided, and the words of multiword tokens."""
    cuts, words = {}, {}
    for item, value in state.decided.items():
        if item[0] == "b":
            cuts[int(item[1:])] = value["cut"]
        else:
            start, end = map(int, item[1:].split("-"))
            words[start, end] = tuple(value["words"])
    for start, _ in words:  # such a token is there
        cuts.setdefault(start, "word")
    return dict(sorted(cuts.items())), words


def _spans(sentences: Iterable[Sequence[Any]]) -> set[tuple[Any, ...]]:
    spans: set[tuple[Any, ...]] = set()
    for tokens in sentences:
        spans.add(("sentence", tokens[0][0], tokens[-1][1]))
        for start, end, words in tokens:
            spans |= {(start, end, number, word) for number, word in enumerate(words or ("",))}
    return spans


def _share(doubt: Place, cut: str) -> float:
    """The probability of a cut: p(token) p(sentence | token), and so on."""
    sentence = doubt.sentence or 0.0
    if cut == "none":
        return 1.0 - doubt.token
    return doubt.token * (sentence if cut == "sentence" else 1.0 - sentence)


def _next_character(text: str, at: int, end: int) -> int | None:
    while at < end and text[at].isspace():
        at += 1
    return at if at < end else None


def _overlaid(
    text: str,
    sentences: list[list[tuple[int, int, tuple[str, ...]]]],
    cuts: Mapping[int, str],
    start: int,
    end: int,
) -> list[list[tuple[int, int, tuple[str, ...]]]]:
    """The same with all cuts as decided, whoever answered."""
    flat = [token for tokens in sentences for token in tokens]
    begins = {tokens[0][0] for tokens in sentences[1:]}
    pieces: list[tuple[int, int, tuple[str, ...]]] = []
    for first, last, words in flat:
        places = [first, *(at for at in cuts if first < at < last and cuts[at] != "none"), last]
        for a, b in pairwise(places):
            stop = b
            while stop > a and text[stop - 1].isspace():
                stop -= 1
            pieces.append((a, stop, words if (a, b) == (first, last) else ()))
    merged: list[tuple[int, int, tuple[str, ...]]] = []
    for piece in pieces:
        if merged and cuts.get(piece[0]) == "none":
            merged[-1] = (merged[-1][0], piece[1], ())
            begins.discard(piece[0])
        else:
            merged.append(piece)
    for at, kind in cuts.items():
        if kind == "sentence":
            begins.add(at)
        else:
            begins.discard(at)
    cut: list[list[tuple[int, int, tuple[str, ...]]]] = []
    for piece in merged:
        if not cut or piece[0] in begins:
            cut.append([])
        cut[-1].append(piece)
    return cut
