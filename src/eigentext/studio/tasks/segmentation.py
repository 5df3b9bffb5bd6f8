"""Sentences and words of raw text: cuts that are decided hold, the places between follow.

A unit is a stretch of the document's text, a paragraph as a rule (`texts.paragraphs`): from the
start of its first token to the end of its last.  Offsets are those of the whole text.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from eigentext.errors import DataError
from eigentext.studio.tasks.common import CommonTask, bad, is_text, ranked, searched
from eigentext.studio.tasks.records import (
    Candidate,
    Finished,
    Item,
    Proposal,
    Score,
    Sentence,
    Token,
)
from eigentext.studio.tasks.tags import scored
from eigentext.studio.tasks.texts import conllu_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eigentext.base.progress import Progress
    from eigentext.language.formats import conllu
    from eigentext.studio.tasks.records import Decisions, Document
    from eigentext.tagging.segmentation.model import Place

__all__ = ["SegmentationTask"]

CUTS = ("sentence", "word", "none")
_OFFERED = 0.02  # a place where nothing is cut is offered if a cut is as probable as this

Words = dict[tuple[int, int], tuple[str, ...]]


class SegmentationTask(CommonTask):
    """Items ``b17`` (a place) and ``m4-9`` (a multiword token)."""

    name = "segmentation"
    formats = ("conllu",)
    ITEMS = re.compile(r"b([1-9][0-9]{0,8})|m(0|[1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
    STAGE = "segmenter"
    KINDS = ("segmenter",)

    def unit(self, document: Document, given: Sentence) -> tuple[int, int]:
        """Where the unit stands in the text."""
        if not given.tokens or given.tokens[0].start < 0:
            raise DataError(document.name, None, "segmentation needs the text of the document")
        return given.tokens[0].start, given.tokens[-1].end

    def _place(self, document: Document, given: Sentence, item: str) -> tuple[int, ...]:
        start, end = self.unit(document, given)
        numbers = tuple(int(n) for n in re.findall(r"[0-9]+", item))
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

    def _check(self, document: Document, given: Sentence, item: str, value: Any) -> Any:
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

    def _check_analysis(self, given: Sentence, analysis: Any) -> dict[str, Any]:
        found = analysis.get("sentences") if isinstance(analysis, dict) else None
        if not isinstance(found, list) or not given.tokens:
            raise bad("done", 'expected {"sentences": [{"tokens": [...]}, ...]}')
        start, end = given.tokens[0].start, given.tokens[-1].end
        kept, before = [], start
        for sentence in found:
            tokens = sentence.get("tokens") if isinstance(sentence, dict) else None
            if not isinstance(tokens, list) or not tokens:
                raise bad("done", "expected sentences with tokens")
            made = []
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
                made.append({"start": first, "end": last, "words": list(words)})
            kept.append({"tokens": made})
        return {"sentences": kept}

    def items_of(self, given: Sentence, analysis: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """What decisions would make this analysis: its cuts, and its multiword tokens."""
        items: list[tuple[str, Any]] = []
        first = True
        for sentence in analysis["sentences"]:
            for number, token in enumerate(sentence["tokens"]):
                if not first:
                    cut = "word" if number else "sentence"
                    items.append((f"b{token['start']}", {"cut": cut}))
                first = False
                if token["words"]:
                    name = f"m{token['start']}-{token['end']}"
                    items.append((name, {"words": token["words"]}))
        return items

    def _removal(self, item: str) -> Any:
        return {"cut": "none"} if item[0] == "b" else {"words": []}

    # ------------------------------------------------------------ proposals

    def _wanted(self, decisions: Decisions, sentence: int) -> tuple[dict[int, str], Words]:
        cuts, words = {}, {}
        for item, value in self.decided(decisions, sentence).items():
            if item[0] == "b":
                cuts[int(item[1:])] = value["cut"]
            else:
                start, end = map(int, item[1:].split("-"))
                words[start, end] = tuple(value["words"])
        for start, _ in words:  # such a token is there
            cuts.setdefault(start, "word")
        return dict(sorted(cuts.items())), words

    def _propose(
        self, document: Document, decisions: Decisions, sentence: int, k: int
    ) -> Proposal:
        given = self.sentence(document, sentence)
        start, end = self.unit(document, given)
        asked, words = self._wanted(decisions, sentence)
        cuts = {at: cut for at, cut in asked.items() if start < at < end}
        for first, last in words:
            behind = _next_character(document.text, last, end)
            if behind is not None:
                cuts.setdefault(behind, "word")
            for at in range(first + 1, last):
                if not document.text[at].isspace():
                    cuts.setdefault(at, "none")
        notes: list[str] = []
        sentences, places, source = self._answered(document, given, start, end, cuts)
        sentences = _overlaid(document.text, sentences, cuts, start, end)
        made = []
        for tokens in sentences:
            row = []
            for first, last, own in tokens:
                row.append(
                    {"start": first, "end": last, "words": list(words.get((first, last), own))}
                )
            made.append({"tokens": row})
        analysis = {"sentences": made}
        items = self._items(given, analysis, decisions, sentence, places, source)
        there = {(t["start"], t["end"]) for one in made for t in one["tokens"]}
        for first, last in words:
            if (first, last) not in there:
                piece = document.text[first:last]
                notes.append(f"{piece!r} is no token under the cuts that you decided.")
        return self._proposal(
            sentence,
            items,
            analysis=analysis,
            source=source,
            followed=not notes,
            notes=tuple(notes),
        )

    def _items(
        self,
        given: Sentence,
        analysis: Mapping[str, Any],
        decisions: Decisions,
        sentence: int,
        places: Mapping[int, Place],
        source: str,
    ) -> list[Item]:
        decided = self.decided(decisions, sentence)
        found = dict(self.items_of(given, analysis))
        for at, place in places.items():
            # nothing is cut here, but nearly: it is worth a look
            if f"b{at}" not in found and place.token > _OFFERED:
                found[f"b{at}"] = {"cut": "none"}
        found.update(decided)
        items = []
        for name, value in found.items():
            is_decided = name in decided
            sure = 0.0
            doubt = places.get(int(name[1:])) if name[0] == "b" else None
            if doubt is not None:
                sure = _share(doubt, value["cut"])
            elif source == "model":
                sure = 1.0  # white space, or the words of a token: the model has no doubts to tell
            items.append(Item(name, value, is_decided, 1.0 if is_decided else sure))
        return sorted(items, key=lambda one: (int(re.findall("[0-9]+", one.item)[0]), one.item))

    def _answered(
        self,
        document: Document,
        given: Sentence,
        start: int,
        end: int,
        cuts: Mapping[int, str],
    ) -> tuple[list[list[tuple[int, int, tuple[str, ...]]]], dict[int, Place], str]:
        text = document.text[start:end]
        if self.model is not None:
            answer = self.model.segment_decided(text, {at - start: c for at, c in cuts.items()})
            sentences = [
                [(a + start, b + start, words) for a, b, words in one.tokens]
                for one in answer.sentences
            ]
            return sentences, {at + start: p for at, p in answer.places.items()}, "model"
        if len(given.tokens) > 1:
            ranges = {int(u[0]): u for u in given.columns.get("ranges") or ()}
            tokens: list[tuple[int, int, tuple[str, ...]]] = []
            word = 0
            while word < len(given.tokens):
                token, unit = given.tokens[word], ranges.get(word + 1)
                last = int(unit[1]) if unit else word + 1
                own = tuple(t.text for t in given.tokens[word:last]) if unit else ()
                tokens.append((token.start, given.tokens[last - 1].end, own))
                word = last
            return [tokens], {}, "imported"
        spans = [(m.start() + start, m.end() + start, ()) for m in re.finditer(r"\S+", text)]
        return [spans], {}, "none"  # type: ignore[list-item]

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
        """The three cuts, ranked; or the words of a token, the model's first."""
        given = self.sentence(document, sentence)
        if not self.ITEMS.fullmatch(item):
            raise bad(item, f"{self.name} has no such item")
        numbers = self._place(document, given, item)
        start, end = self.unit(document, given)
        if item[0] == "m":
            made: list[tuple[Any, float | None]] = []
            if self.model is not None:
                piece = document.text[numbers[0] : numbers[1]]
                made.append(({"words": list(self.model.words_of([piece])[0])}, None))
            made.append(({"words": []}, None))
            return list(searched(ranked(made), search))[:k]
        asked, _ = self._wanted(decisions, sentence)
        cuts = {at: cut for at, cut in asked.items() if start < at < end and at != numbers[0]}
        sentences, places, _ = self._answered(document, given, start, end, cuts)
        place = places.get(numbers[0])
        if place is not None:
            shares = sorted(((_share(place, cut), cut) for cut in CUTS), key=lambda p: -p[0])
            made = [({"cut": cut}, share) for share, cut in shares]
        else:
            begins = {token[0]: n for tokens in sentences for n, token in enumerate(tokens)}
            number = begins.get(numbers[0])
            first = "none" if number is None else "word" if number else "sentence"
            made = [({"cut": cut}, None) for cut in (first, *CUTS)]
        return list(searched(ranked(made), search))[:k]

    # ------------------------------------------------------------ what comes out

    def decided_only(
        self, document: Document, decisions: Decisions, sentence: int
    ) -> dict[str, Any]:
        """The unit cut at white space, and as decided."""
        bare = SegmentationTask(None)
        return dict(bare._propose(document, decisions, sentence, 1).analysis)

    def sentences_of(
        self, text: str, analysis: Mapping[str, Any], offset: int = 0
    ) -> Iterator[Sentence]:
        """The sentences of a finished unit, ready for other tasks; ``offset``: of the text."""
        flat = [token for one in analysis["sentences"] for token in one["tokens"]]
        following = {a["start"]: b["start"] for a, b in pairwise(flat)}
        for one in analysis["sentences"]:
            tokens: list[Token] = []
            ranges: list[list[Any]] = []
            misc: list[str] = []
            for token in one["tokens"]:
                start, end = token["start"], token["end"]
                form = re.sub(r"\s+", " ", text[start - offset : end - offset])
                glued = "SpaceAfter=No" if following.get(start) == end else "_"
                words = token["words"] or [form]
                if token["words"]:
                    first = len(tokens) + 1
                    ranges.append([first, first + len(words) - 1, form, glued])
                tokens += [Token(word, start, end) for word in words]
                misc += ["_"] * (len(words) - 1) + ["_" if token["words"] else glued]
            columns: dict[str, Any] = {"misc": misc}
            if ranges:
                columns["ranges"] = ranges
            yield Sentence(tuple(tokens), columns)

    def _lines(
        self,
        document: Document,
        given: Sentence,
        analysis: Mapping[str, Any],
        comments: list[str],
        form: str,
    ) -> Iterator[str]:
        told = [line for line in comments if not re.match(r"# (text|sent_id)\b", line)]
        name = next((c for c in comments if c.startswith("# sent_id")), "# sent_id = 0")
        for number, one in enumerate(self.sentences_of(document.text, analysis), start=1):
            text = re.sub(r"\s+", " ", document.text[one.tokens[0].start : one.tokens[-1].end])
            own = [*told, "# newpar"] if number == 1 else []
            yield from conllu_lines(one, {}, [*own, f"{name}-{number}", f"# text = {text}"])

    def _treebank(self, examples: Iterable[Finished]) -> list[conllu.ConlluBlock]:
        from eigentext.language.formats.conllu import parse_sentence

        made = []
        for one in examples:
            at = one.given.tokens[0].start
            found = self.sentences_of(one.text, one.analysis, at)
            for number, sentence in enumerate(found):
                comments = ["# newpar"] if number == 0 else []
                piece = one.text[sentence.tokens[0].start - at : sentence.tokens[-1].end - at]
                comments.append("# text = " + re.sub(r"\s+", " ", piece))
                made.append(parse_sentence("\n".join(conllu_lines(sentence, {}, comments)) + "\n"))
        return made

    def train(
        self,
        examples: Sequence[Finished],
        *,
        base: str | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """A segmenter with the settings of the one there is."""
        from eigentext.language.formats.conllu import read_sentences
        from eigentext.tagging.segmentation import Segmenter

        treebank = list(read_sentences(base)) if base else []
        treebank += self._treebank(examples)
        settings = {} if self.model is None else self.model.get_params(deep=False)
        return Segmenter(**settings).fit(treebank, progress=progress)

    def score(self, model: Any, held_out: Sequence[Finished]) -> Score:
        """F1 of words (the words of multiword tokens) and of sentences, together."""
        counts = []
        for one in held_out:
            offset = one.given.tokens[0].start
            gold = _spans(
                [
                    [
                        (t["start"] - offset, t["end"] - offset, tuple(t["words"]))
                        for t in s["tokens"]
                    ]
                    for s in one.analysis["sentences"]
                ]
            )
            found = _spans([[tuple(t) for t in s.tokens] for s in model.segment(one.text)])
            counts.append((float(len(gold & found)), float(len(gold)), float(len(found))))
        return scored("F1 of words and sentences", counts)


def _spans(sentences: Iterable[Sequence[Any]]) -> set[tuple[Any, ...]]:
    spans: set[tuple[Any, ...]] = set()
    for tokens in sentences:
        spans.add(("sentence", tokens[0][0], tokens[-1][1]))
        for start, end, words in tokens:
            spans |= {(start, end, number, word) for number, word in enumerate(words or ("",))}
    return spans


def _share(place: Place, cut: str) -> float:
    """The probability of a cut: p(token) p(sentence | token), and so on."""
    sentence = place.sentence or 0.0
    if cut == "none":
        return 1.0 - place.token
    return place.token * (sentence if cut == "sentence" else 1.0 - sentence)


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
    for at, cut in cuts.items():
        if cut == "sentence":
            begins.add(at)
        else:
            begins.discard(at)
    made: list[list[tuple[int, int, tuple[str, ...]]]] = []
    for piece in merged:
        if not made or piece[0] in begins:
            made.append([])
        made[-1].append(piece)
    return made
