"""Readings of words: ranked in context, and ranked anew as words are decided.

Decided labels are ``fixed`` for the ranker: the words around are ranked given them.  A reading of
one's own (a label typed by hand, with lemma, vocalisation, gloss) counts like any other; "none is
right" decides the word and tells its neighbours nothing.
"""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from eigentext.base.remembering import Remembered
from eigentext.errors import DataError, SettingsError
from eigentext.language import Doc
from eigentext.studio.tasks.records import Finished, ItemCandidate, Proposal, TaskItem, TaskScore
from eigentext.studio.tasks.task import Task, bad, is_text, scored
from eigentext.studio.tasks.texts import column_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from eigentext.base.progress import Progress
    from eigentext.base.types import Json
    from eigentext.language import Sentence
    from eigentext.lexical import Label, LexicalRanker, RankedWord
    from eigentext.lexical.schemes.labels import LabelScheme
    from eigentext.studio.tasks.records import Analysis, Answers, Decisions
    from eigentext.studio.tasks.task import Examples, SentenceExport, SentenceState

_TYPED = ("lemma", "gloss", "vocalised")
_SHOWN = 9  # candidates with each item: as many as there are number keys
_WORDS_KEPT = 8_000


class RememberedRanking:
    """The rankings of a ranker, the latest of which are remembered."""

    def __init__(self, ranker: LexicalRanker) -> None:
        self._ranker = ranker
        self._remembered: Remembered[object, list[list[RankedWord]]] = Remembered(
            _WORDS_KEPT, lambda ranked: sum(map(len, ranked))
        )

    def rank(
        self, forms: tuple[tuple[str, ...], ...], fixed: Mapping[tuple[int, int], Label]
    ) -> list[list[RankedWord]]:
        """Sentences ranked as one document, given the labels of words by sentence and number."""
        from eigentext.lexical import LexDocument, LexWord

        key = forms, tuple(sorted(fixed.items()))
        latest = self._remembered.get(key)
        if latest is not None:
            return latest
        starts = [0, *accumulate(map(len, forms))]
        document = LexDocument("text", [[LexWord(form) for form in words] for words in forms])
        by_place = {starts[s] + w: label for (s, w), label in fixed.items()}
        (ranked,) = self._ranker.rank_documents([document], fixed=by_place)
        return self._remembered.put(key, ranked)


class LexicalTask(Task):
    """Item ``w3`` -> {"label": {...}} or {"none": true}; lemma, gloss, vocalised by hand."""

    name = "lexical"
    formats = ("jsonl", "conllu")
    ITEMS = re.compile(r"w(0|[1-9][0-9]{0,5})")
    KINDS = ("lexical",)
    SERVED = ("lex",)
    OPTIONS = ("compare",)
    CONDITIONED = True
    NEIGHBOURS = 1
    WORDS = "w"
    SEPARATE_ITEMS = True

    def __init__(
        self,
        model: object = None,
        *,
        labels: Sequence[str] = (),
        scheme: str = "arabic14",
        analyzer: str | None = None,
    ) -> None:
        super().__init__(model, labels=labels)
        from eigentext.lexical.schemes.labels import load_scheme

        self.scheme: LabelScheme = (
            load_scheme(scheme) if self.model is None else self.model.scheme_
        )
        self._analyzer = analyzer
        self._ranking = RememberedRanking(self.model)

    def _check(self, sentence: Sentence, item: str, value: Any) -> Any:
        if value.get("none") is True:
            if set(value) != {"none"}:
                raise bad(item, '{"none": true} stands alone')
            return {"none": True}
        if not set(value) <= {"label", *_TYPED} or not isinstance(value.get("label"), dict):
            raise bad(item, 'expected {"label": {...}}, or {"none": true}')
        for name, text in value["label"].items():
            if name not in self.scheme.elements:
                elements = ", ".join(self.scheme.elements)
                raise bad(item, f"labels have no element {str(name)[:60]!r}; they have {elements}")
            if text != "" and not is_text(text):
                raise bad(item, f"{name} is {str(text)[:60]!r}, expected a text")
        for name in _TYPED:
            if name in value and value[name] != "" and not is_text(value[name]):
                raise bad(item, f"{name} is {str(value[name])[:60]!r}, expected a text")
        kept = {"label": self.scheme.as_mapping(self.label(value))}
        kept |= {name: value[name] for name in _TYPED if value.get(name)}
        return kept

    def label(self, value: Mapping[str, Any]) -> Label:
        """The label of a value; elements that are not named are missing."""
        values = dict(value["label"])
        if value.get("lemma") and "lemma" in self.scheme.elements:
            values.setdefault("lemma", value["lemma"])
        return tuple(values.get(name, self.scheme.missing) for name in self.scheme.elements)

    def _check_analysis(self, sentence: Sentence, analysis: object) -> Json:
        words = analysis.get("words") if isinstance(analysis, dict) else None
        if not isinstance(words, list) or len(words) != len(sentence):
            raise bad("done", 'expected {"words": [...]} with an entry for each word')
        kept = []
        for number, (word, form) in enumerate(zip(words, sentence.forms, strict=True)):
            if not isinstance(word, dict):
                raise bad("done", f"word {number}: expected an object")
            bare = {name: word[name] for name in ("label", *_TYPED) if word.get(name) is not None}
            value = {"none": True} if "label" not in bare else bare
            checked = self._check(sentence, f"w{number}", value)
            kept.append({"form": form, **_as_word(checked)})
        return {"words": kept}

    def items_of(self, analysis: Analysis) -> list[tuple[str, Any]]:
        """What decisions would make this analysis."""
        items: list[tuple[str, Any]] = []
        for number, word in enumerate(analysis.get("words", ())):
            if not word.get("label"):
                items.append((f"w{number}", {"none": True}))
            else:
                typed = {name: word[name] for name in _TYPED if word.get(name)}
                items.append((f"w{number}", {"label": word["label"], **typed}))
        return items

    def differ(self, value: Any, other: Any) -> bool:
        """Whether two values have different labels; what is shown of them does not count."""
        return bool(value.get("label") != other.get("label"))

    def comparable(self, value: Mapping[str, object]) -> Hashable:
        """The label; a lemma that was typed stands in it, too."""
        return super().comparable({"label": value["label"]} if "label" in value else value)

    def add_item(self, answers: Answers, word: tuple[int, int], value: Any, n_words: int) -> None:
        """The label of a word."""
        answers.values.setdefault("label", {})[word] = value

    # ------------------------------------------------------------ proposals

    def _fixed(self, document: Doc, decisions: Decisions) -> dict[tuple[int, int], Label]:
        """Labels that hold, those of finished sentences included."""
        fixed = {}
        for (number, item), value in decisions.items():
            if value is None or not 0 <= number < len(document.sentences):
                continue
            n = len(document.sentences[number])
            pairs = [(item, value)]
            if item == "done":
                analysis = value.get("analysis")
                pairs = self.items_of(analysis) if analysis else []
            elif decisions.get((number, "done"), {}):
                continue  # the finished sentence says it all
            for name, answer in pairs:
                if answer.get("label") is not None and int(name[1:]) < n:
                    fixed[number, int(name[1:])] = self.label(answer)
        return fixed

    def rank(self, document: Doc, decisions: Decisions) -> list[list[RankedWord]]:
        """All words of a text ranked under the decisions; the latest rankings are remembered."""
        forms = tuple(tuple(sentence.forms) for sentence in document.sentences)
        return self._ranking.rank(forms, self._fixed(document, decisions))

    def _propose(self, state: SentenceState, k: int) -> Proposal:
        decided = state.decided
        source = "none" if self.model is None else "model"
        ranked = None
        if self.model is not None:
            ranked = self.rank(state.document, state.decisions)[state.number]
        items, words = [], []
        for number, form in enumerate(state.sentence.forms):
            readings: tuple[ItemCandidate, ...] = ()
            value: Any = None
            sure = 0.0
            if ranked is not None:
                readings = tuple(self._shown(ranked[number], _SHOWN))
                value, sure = _value(readings[0]), readings[0].probability or 0.0
            elif self._analyzer is not None:
                readings = tuple(self._unranked(form)[:_SHOWN])
            else:
                value = self._imported(state.sentence, number)
                source = "imported" if value is not None else source
            name = f"w{number}"
            if name in decided:
                # as it was decided; what is shown of a known reading comes with it
                chosen = decided[name]
                shown = next((_value(c) for c in readings if c.value == _bare(chosen)), {})
                value = chosen if chosen.get("none") else {**shown, **chosen}
            is_decided = name in decided
            sure = 1.0 if is_decided else float(sure)
            items.append(TaskItem(name, value, is_decided, sure, readings))
            words.append({"form": form, **_as_word(value)})
        return self._proposal(state, items, analysis={"words": words}, source=source)

    def _imported(self, sentence: Sentence, number: int) -> Any:
        from eigentext.language.formats.conllu import parse_pairs

        columns = [column_of(sentence, name) for name in ("lemma", "upos", "xpos", "feats")]
        if not any(columns):
            return None
        lemma, upos, xpos, feats = ("_" if cells is None else cells[number] for cells in columns)
        features = {**parse_pairs(feats), "upos": upos}
        label = self.scheme.gold(
            sentence.forms[number], "" if lemma == "_" else lemma, xpos, features
        )
        return {"label": self.scheme.as_mapping(label)}

    def _shown(self, word: RankedWord, most: int | None = None) -> list[ItemCandidate]:
        from eigentext.lexical.output import shown_reading

        readings = []
        for rank, candidate in enumerate(word.candidates[:most], start=1):
            reading = shown_reading(word, candidate, self.model)
            values = self.scheme.as_mapping(candidate.label)
            shown = {
                "lemma": reading.lemma if reading else values.get("lemma", ""),
                "vocalised": reading.vocalised if reading else "",
                "gloss": reading.gloss if reading else "",
                "source": candidate.source,
            }
            readings.append(ItemCandidate({"label": values}, rank, candidate.probability, shown))
        return readings

    def _unranked(self, form: str) -> list[ItemCandidate]:
        """The analyzer's readings in its own order."""
        from eigentext.lexical.analyzers import open_analyzer

        if self._analyzer is None:
            return []
        analyzer = open_analyzer(self._analyzer)
        readings: dict[Label, Any] = {}
        for reading in analyzer.analyse(form):
            for label in self.scheme.project(reading):
                readings.setdefault(label, reading)
        names = ("lemma", "vocalised", "gloss", "source")
        return [
            ItemCandidate(
                {"label": self.scheme.as_mapping(label)},
                rank,
                None,
                {name: getattr(reading, name) for name in names},
            )
            for rank, (label, reading) in enumerate(readings.items(), start=1)
        ]

    def _candidates(
        self, state: SentenceState, item: str, numbers: tuple[int, ...]
    ) -> list[ItemCandidate]:
        """All readings of the word, ranked as if it were open; a search finds the rare ones."""
        (word,) = numbers
        if self.model is None:
            return self._unranked(state.sentence.forms[word])
        decisions = state.decisions.items()
        others = {at: value for at, value in decisions if at != (state.number, item)}
        return self._shown(self.rank(state.document, others)[state.number][word])

    # ------------------------------------------------------------ what comes out

    def decided_only(self, state: SentenceState) -> Json:
        """The words, with labels where they are decided."""
        decided = state.decided
        words = [
            {"form": form, **_as_word(decided.get(f"w{number}"))}
            for number, form in enumerate(state.sentence.forms)
        ]
        return {"words": words}

    def _lines(self, export: SentenceExport) -> Iterator[str]:
        if export.form == "jsonl":
            words = [
                {
                    "form": word["form"],
                    "label": word.get("label"),
                    "scored": word.get("label") is not None and _has_letter(word["form"]),
                    "vocalised": word.get("vocalised", ""),
                    "gloss": word.get("gloss", ""),
                }
                for word in export.analysis["words"]
            ]
            record = {"doc": export.document.id, "words": words}
            yield json.dumps(record, ensure_ascii=False)
            return
        yield from self._conllu(export.analysis, export.comments)

    def _conllu(self, analysis: Analysis, comments: list[str]) -> Iterator[str]:
        from eigentext.language.formats.conllu import conllu_rows
        from eigentext.lexical.analysis import Analysis
        from eigentext.lexical.output import conllu_cells
        from eigentext.lexical.ranked import RankedCandidate, RankedWord

        ranker: Any = _Decided(self.scheme.missing)
        rows = []
        for word in analysis["words"]:
            if word.get("label") is None:
                rows.append((word["form"], *"_" * 8))
                continue
            texts = (word.get("lemma", ""), word.get("vocalised", ""), word.get("gloss", ""))
            reading = Analysis(texts[0], texts[1], (), "", {}, texts[2], source="gold")
            label: Any = tuple(word["label"].items())
            first = RankedCandidate(label, 1.0, 0.0, (reading,), "gold")
            decided = RankedWord(word["form"], [first], 1.0, False)
            rows.append(conllu_cells(decided, ranker, probability=False))  # a decision has none
        yield from comments
        yield from conllu_rows(list(zip(*rows, strict=True)))
        yield ""

    def train(
        self, examples: Examples, *, base: str | None = None, progress: Progress | None = None
    ) -> Any:
        """A ranker with the settings of the one there is, or with the analyzer of the task."""
        from eigentext.lexical import LexicalRanker
        from eigentext.lexical.documents import read_conllu_documents, read_words_jsonl

        documents = []
        if base:
            is_conllu = ".conllu" in str(base)
            read = read_conllu_documents if is_conllu else read_words_jsonl
            documents = list(read(base, self.scheme))
        documents += self._documents(examples, {document.id for document in documents})
        settings: Json = {"scheme": self.scheme}
        if self.model is not None:
            settings = {**self.model.get_params(deep=False), **settings}
        elif self._analyzer is not None:
            settings["analyzer"] = self._analyzer
        else:
            raise SettingsError(
                "a ranker needs an analyzer: give the task one, such as analyzer='sample' or a "
                "lexicon file"
            )
        return LexicalRanker(**settings).fit(documents, progress=progress)

    def _documents(self, examples: Sequence[Finished], taken: set[str]) -> list[Any]:
        from eigentext.lexical import LexDocument as Words
        from eigentext.lexical import LexWord

        gathered: dict[str, list[list[Any]]] = {}
        for example in examples:
            words = [
                LexWord(
                    word["form"],
                    None if word.get("label") is None else self.label(word),
                    word.get("label") is not None and _has_letter(word["form"]),
                )
                for word in example.analysis["words"]
            ]
            gathered.setdefault(example.document, []).append(words)
        documents = []
        for name, sentences in gathered.items():
            free = name
            while free in taken:
                free += "+"
            taken.add(free)
            documents.append(Words(free, sentences))
        return documents

    def score(self, model: object, held_out: Sequence[Finished]) -> TaskScore:
        """A1: words with a letter whose label is ranked first."""
        other = LexicalTask(model)
        by_document: dict[str, list[Finished]] = {}
        for example in held_out:
            by_document.setdefault(example.document, []).append(example)
        count_of: dict[tuple[str, int], tuple[float, float, float]] = {}
        for name, group in by_document.items():
            text = Doc("", tuple(example.sentence for example in group), name)
            for example, words in zip(group, other.rank(text, {}), strict=True):
                gold = example.analysis["words"]
                labelled = [
                    (ranked, self.label(word))
                    for ranked, word in zip(words, gold, strict=True)
                    if word.get("label") is not None and _has_letter(word["form"])
                ]
                right = sum(ranked.best.label == label for ranked, label in labelled)
                n = float(len(labelled))
                count_of[name, example.number] = float(right), n, n
        counts = [count_of[example.document, example.number] for example in held_out]
        if not sum(count[1] for count in counts):
            raise DataError("<held-out sentences>", None, "no words with labels to score")
        return scored("A1", counts)


class _Decided(NamedTuple):
    """What was decided, in the place of a ranker: labels are their own values by element.

    So an export is the same with every model and with none.
    """

    missing: str
    analyzer_: None = None

    @property
    def scheme_(self) -> _Decided:
        return self

    def as_mapping(self, label: tuple[tuple[str, str], ...]) -> dict[str, str]:
        return dict(label)


def _has_letter(form: str) -> bool:
    return any(char.isalpha() for char in form)


def _bare(value: Mapping[str, object]) -> Json:
    return {"label": value["label"]} if "label" in value else dict(value)


def _value(candidate: ItemCandidate) -> Json:
    """A candidate as a decision for it would be, with what is shown of it."""
    shown = {name: candidate.shown.get(name) for name in _TYPED}
    return {**candidate.value, **{name: text for name, text in shown.items() if text}}


def _as_word(value: Any) -> Json:
    if value is None or value.get("none"):
        return {"label": None}
    return {name: value[name] for name in ("label", *_TYPED) if name in value}
