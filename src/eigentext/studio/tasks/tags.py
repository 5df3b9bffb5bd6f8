"""Tags of words: part of speech, features, lemma; the rest is tagged given the decided ones.

A ``MorphTagger`` (or a pipeline's) proposes all columns, a plain
:class:`~eigentext.tagging.sequence.SequenceTagger` one of them (``column``).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from eigentext.errors import SettingsError
from eigentext.studio.tasks.records import Finished, ItemCandidate, Proposal, TaskItem, TaskScore
from eigentext.studio.tasks.task import Task, bad, is_text, ranked, scored
from eigentext.studio.tasks.texts import column_of, conllu_lines, conllu_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eigentext.base.progress import Progress
    from eigentext.base.types import Json
    from eigentext.language import Sentence
    from eigentext.studio.tasks.records import Analysis, Answers
    from eigentext.studio.tasks.task import Examples, SentenceExport, SentenceState

COLUMNS = ("upos", "xpos", "feats", "lemma")
UPOS = tuple(
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()
)
_FEATURE = re.compile(
    r"[A-Z][A-Za-z0-9]*(?:\[[a-z0-9]+\])?=[A-Z0-9][A-Za-z0-9]*(?:,[A-Z0-9][A-Za-z0-9]*)*"
)
_SHOWN = 5  # candidates with each item


def sorted_feats(feats: str) -> str:
    """FEATS in the order that UD asks for: by name, whatever the case.

    >>> sorted_feats("Number=Sing|Case=Nom")
    'Case=Nom|Number=Sing'
    """
    return "|".join(sorted(set(feats.split("|")), key=lambda feature: (feature.lower(), feature)))


class TagsTask(Task):
    """Item ``t3`` -> any of {"upos", "xpos", "feats", "lemma"}."""

    name = "tags"
    ITEMS = re.compile(r"t(0|[1-9][0-9]{0,5})")
    STAGE = "morphology"
    KINDS = ("morph-tagger", "tagger")
    SERVED = ("pipeline", "tagger")
    OPTIONS = ("compare",)
    CHECKED = True
    WORDS = "t"

    def __init__(
        self, model: object = None, *, labels: Sequence[str] = UPOS, column: str = "upos"
    ) -> None:
        if column not in ("upos", "xpos"):
            raise SettingsError(f"column is upos or xpos, not {column!r}")
        super().__init__(model, labels=labels)
        self.column = column

    def _check(self, sentence: Sentence, item: str, value: Any) -> Any:
        unknown = set(value) - set(COLUMNS)
        if unknown or not value:
            columns = ", ".join(COLUMNS)
            raise bad(item, f"expected some of {columns}; found {sorted(unknown) or 'none'}")
        for name, text in value.items():
            spaces = name == "lemma"
            if not is_text(text) or (not spaces and re.search(r"\s", text)):
                raise bad(
                    item, f"{name} is {str(text)[:60]!r}, expected a text without white space"
                )
        kept = dict(value)
        feats = kept.get("feats", "_")
        if feats != "_":
            wrong = [feature for feature in feats.split("|") if not _FEATURE.fullmatch(feature)]
            if wrong:
                raise bad(item, f"feats: {wrong[0][:60]!r}, expected features like Number=Sing")
            kept["feats"] = sorted_feats(feats)
        return kept

    def _check_analysis(self, sentence: Sentence, analysis: object) -> Json:
        if not isinstance(analysis, dict) or not analysis or not set(analysis) <= set(COLUMNS):
            raise bad("done", f"expected columns of {', '.join(COLUMNS)}")
        kept = {}
        for name, values in analysis.items():
            if not isinstance(values, list) or len(values) != len(sentence):
                raise bad("done", f"{name}: expected a list with a value for each word")
            for word, text in enumerate(values):
                if text != "_":
                    self._check(sentence, f"t{word}", {name: text})
            kept[name] = list(values)
        return kept

    def items_of(self, analysis: Analysis) -> list[tuple[str, Any]]:
        """What decisions would make this analysis."""
        names = _filled(analysis)
        n = max((len(column) for column in analysis.values()), default=0)
        return [(f"t{word}", {name: analysis[name][word] for name in names}) for word in range(n)]

    def accepted_items(self, analysis: Analysis) -> Iterator[tuple[str, Any]]:
        """The cells that say something."""
        columns = {name: column for name, column in analysis.items() if isinstance(column, list)}
        for word in range(max(map(len, columns.values()), default=0)):
            cells = {name: column[word] for name, column in columns.items() if word < len(column)}
            yield f"t{word}", {n: cell for n, cell in cells.items() if cell not in (None, "_")}

    def add_item(self, answers: Answers, word: tuple[int, int], value: Any, n_words: int) -> None:
        """The value of each column."""
        for column, cell in json.loads(value).items():
            answers.values.setdefault(column, {})[word] = str(cell)

    def differ(self, value: Any, other: Any) -> bool:
        """Whether two values differ; what is not said is empty."""
        bare = [
            {n: v for n, v in each.items() if v != "_" and n in COLUMNS} for each in (value, other)
        ]
        return bool(bare[0] != bare[1])

    # ------------------------------------------------------------ proposals

    def _propose(self, state: SentenceState, k: int) -> Proposal:
        n = len(state.sentence)
        decided = _cells(state)
        columns, lists, notes, source = self._answered(state.sentence, decided)
        for word, cells in decided.items():
            for name, text in cells.items():
                columns.setdefault(name, ["_"] * n)[word] = text
        items = []
        for word in range(n):
            value = {name: columns[name][word] for name in _filled(columns)}
            if set(value.values()) == {"_"}:
                value = {}
            value |= decided.get(word, {})
            readings = lists[word] if lists else []
            agreeing = (c.probability or 0.0 for c in readings if _agree(c.value, value))
            is_decided = word in decided
            sure = 1.0 if is_decided else next(agreeing, 0.0)
            candidates = tuple(readings[:_SHOWN])
            items.append(TaskItem(f"t{word}", value or None, is_decided, sure, candidates))
        analysis = {name: columns[name] for name in COLUMNS if name in columns}
        return self._proposal(state, items, notes, analysis=analysis, source=source)

    def _answered(
        self, sentence: Sentence, decided: Mapping[int, Mapping[str, str]]
    ) -> tuple[dict[str, list[str]], list[list[ItemCandidate]], list[str], str]:
        """Columns, candidates of each word, notes, and who says so."""
        n = len(sentence)
        if self.model is None or not n:
            imported = {name: column_of(sentence, name) for name in COLUMNS}
            columns = {name: list(values) for name, values in imported.items() if values}
            return columns or {"upos": ["_"] * n}, [], [], "imported" if columns else "none"
        if self.model.KIND == "tagger":
            return (*self._of_sequence_tagger(sentence, decided), "model")
        answer = self.model.tag_decided(sentence.forms, decided, k=12)
        best = answer.best
        columns = {
            "upos": list(best.upos),
            "xpos": list(best.xpos),
            "feats": list(best.feats),
            "lemma": list(best.lemmas),
        }
        columns = {name: values for name, values in columns.items() if set(values) != {"_"}}
        lists = []
        for readings in answer.readings:
            values = []
            for reading in readings:
                row = zip(COLUMNS, reading[:4], strict=True)
                value = {name: text for name, text in row if name in columns}
                values.append((value, reading.probability))
            lists.append(ranked(values))
        notes = [
            f"No word of the training text has the tag of word {word + 1}: your tag stands, and "
            "the other words are tagged without it."
            for word, followed in answer.followed.items()
            if not followed
        ]
        return columns, lists, notes, "model"

    def _of_sequence_tagger(
        self, sentence: Sentence, decided: Mapping[int, Mapping[str, str]]
    ) -> tuple[dict[str, list[str]], list[list[ItemCandidate]], list[str]]:
        tag_set = set(self.model.tag_set_.inside)
        decided_tags = {
            word: values[self.column] for word, values in decided.items() if self.column in values
        }
        notes = [
            f"The tagger does not know {tag!r}, your tag of word {word + 1}: it stands, and the "
            "other words are tagged without it."
            for word, tag in decided_tags.items()
            if tag not in tag_set
        ]
        allowed = {word: [tag] for word, tag in decided_tags.items() if tag in tag_set}
        answers = self.model.kbest(sentence.forms, 16, allowed=allowed)
        shares = list_shares(answers)
        lists = []
        for word in range(len(sentence)):
            of_tag: dict[str, float] = {}
            for answer, share in zip(answers, shares, strict=True):
                of_tag[answer.tags[word]] = of_tag.get(answer.tags[word], 0.0) + share
            best = sorted(of_tag.items(), key=lambda pair: (-pair[1], pair[0]))
            lists.append(ranked(({self.column: tag}, share) for tag, share in best))
        return {self.column: list(answers[0].tags)}, lists, notes

    def _candidates(
        self, state: SentenceState, item: str, numbers: tuple[int, ...]
    ) -> list[ItemCandidate]:
        """Readings of the word by the model, then every tag there is."""
        (word,) = numbers
        decided = _cells(state)
        decided.pop(word, None)  # what else could it be?
        _, lists, _, _ = self._answered(state.sentence, decided)
        values: list[tuple[Any, float | None]] = []
        if lists:
            values = [(c.value, c.probability) for c in lists[word]]
        values += [(value, None) for value in self._all_tags()]
        return ranked(values)

    def _all_tags(self) -> list[dict[str, str]]:
        if self.model is not None and self.model.KIND == "morph-tagger":
            names = [
                name
                for name, values in zip(COLUMNS, self.model.tag_set_.columns, strict=False)
                if set(values) != {"_"}
            ]
            rows = (zip(COLUMNS, row, strict=False) for row in self.model.tag_set_.triples)
            return [{name: text for name, text in row if name in names} for row in rows]
        tags = () if self.model is None else self.model.tag_set_.inside
        return [{self.column: tag} for tag in dict.fromkeys((*tags, *self.labels))]

    # ------------------------------------------------------------ what comes out

    def decided_only(self, state: SentenceState) -> Json:
        """The columns with what is decided alone."""
        columns = {name: ["_"] * len(state.sentence) for name in COLUMNS}
        for word, cells in _cells(state).items():
            for name, cell in cells.items():
                columns[name][word] = cell
        return columns

    def _lines(self, export: SentenceExport) -> Iterator[str]:
        yield from conllu_lines(export.sentence, export.analysis, export.comments)

    def train(
        self, examples: Examples, *, base: str | None = None, progress: Progress | None = None
    ) -> Any:
        """A tagger of the kind there is; by default a MorphTagger."""
        from eigentext.language.formats.conllu import read_sentences

        treebank = list(read_sentences(base)) if base else []
        treebank += [conllu_sentence(example.sentence, _bare(example)) for example in examples]
        if self.model is not None and self.model.KIND == "tagger":
            tokens = [sentence.forms for sentence in treebank]
            tags = [sentence.column(self.column) for sentence in treebank]
            settings = {**self.model.get_params(deep=False), "scheme": "plain"}
            return type(self.model)(**settings).fit(tokens, tags, progress=progress)
        from eigentext.tagging.morphology import MorphTagger

        settings = {} if self.model is None else self.model.get_params(deep=False)
        analyzer = None if self.model is None else self.model.analyzer_name_
        return MorphTagger(**settings).fit(treebank, analyzer=analyzer, progress=progress)

    def score(self, model: Any, held_out: Sequence[Finished]) -> TaskScore:
        """Words with all decided columns right."""
        if model.KIND == "tagger":
            answers = [
                {self.column: tags} for tags in model.predict([e.sentence.forms for e in held_out])
            ]
        else:
            answers = [
                {"upos": m.upos, "xpos": m.xpos, "feats": m.feats, "lemma": m.lemmas}
                for m in model.tag([e.sentence.forms for e in held_out])
            ]
        counts = []
        for example, answer in zip(held_out, answers, strict=True):
            names = [name for name in answer if set(example.analysis.get(name, ("_",))) - {"_"}]
            n = len(example.sentence)
            right = sum(
                all(answer[name][word] == example.analysis[name][word] for name in names)
                for word in range(n)
            )
            counts.append((float(right), float(n), float(n)))
        return scored("all tags right", counts)


def _cells(state: SentenceState) -> dict[int, dict[str, str]]:
    """The cells that are decided, by word."""
    return {
        int(item[1:]): {name: value[name] for name in COLUMNS if name in value}
        for item, value in state.decided.items()
    }


def _filled(columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Columns that say something of some word; in them, ``_`` is a value like any other."""
    return [name for name in COLUMNS if set(columns.get(name, ("_",))) != {"_"}]


def _bare(example: Finished) -> Json:
    """The columns for training: trees are left out, which a tagger does not need."""
    n = len(example.sentence)
    return {**example.analysis, **{name: ["_"] * n for name in ("head", "deprel", "deps")}}


def _agree(reading: Mapping[str, str], value: Mapping[str, str]) -> bool:
    return all(value.get(name, cell) == cell for name, cell in reading.items() if name != "lemma")


def list_shares(answers: Sequence[Any]) -> list[float]:
    """Shares of a tagger's k best that add up to 1, at a heat at which they tell of doubts.

    The scores are sums over some fifty features: as they are, the best one has it all.
    """
    import math

    if not answers:
        return []
    top = answers[0].score
    heat = 10.0
    weights = [math.exp((answer.score - top) / heat) for answer in answers]
    return [weight / sum(weights) for weight in weights]
