"""Tags of words: part of speech, features, lemma; the rest is tagged given the decided ones.

A ``MorphTagger`` (or a pipeline's) proposes all columns, a plain
:class:`~eigentext.tagging.sequence.SequenceTagger` one of them (``column``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from eigentext.errors import DataError, SettingsError
from eigentext.studio.tasks.common import CommonTask, bad, is_text, ranked, searched
from eigentext.studio.tasks.records import Candidate, Finished, Item, Proposal, Score
from eigentext.studio.tasks.texts import column_of, conllu_lines, conllu_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eigentext.base.progress import Progress
    from eigentext.studio.tasks.records import Decisions, Document, Sentence

__all__ = ["COLUMNS", "UPOS", "TagsTask"]

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
    return "|".join(sorted(set(feats.split("|")), key=lambda one: (one.lower(), one)))


class TagsTask(CommonTask):
    """Item ``t3`` -> any of {"upos", "xpos", "feats", "lemma"}."""

    name = "tags"
    ITEMS = re.compile(r"t(0|[1-9][0-9]{0,5})")
    STAGE = "morphology"
    KINDS = ("morph-tagger", "tagger")

    def __init__(
        self, model: Any = None, *, labels: Sequence[str] = UPOS, column: str = "upos"
    ) -> None:
        if column not in ("upos", "xpos"):
            raise SettingsError(f"column is upos or xpos, not {column!r}")
        super().__init__(model, labels=labels)
        self.column = column

    def _check(self, document: Document, given: Sentence, item: str, value: Any) -> Any:
        unknown = set(value) - set(COLUMNS)
        if unknown or not value:
            known = ", ".join(COLUMNS)
            raise bad(item, f"expected some of {known}; found {sorted(unknown) or 'none'}")
        for name, text in value.items():
            spaces = name == "lemma"
            if not is_text(text) or (not spaces and re.search(r"\s", text)):
                raise bad(
                    item, f"{name} is {str(text)[:60]!r}, expected a text without white space"
                )
        kept = dict(value)
        feats = kept.get("feats", "_")
        if feats != "_":
            wrong = [one for one in feats.split("|") if not _FEATURE.fullmatch(one)]
            if wrong:
                raise bad(item, f"feats: {wrong[0][:60]!r}, expected features like Number=Sing")
            kept["feats"] = sorted_feats(feats)
        return kept

    def _check_analysis(self, given: Sentence, analysis: Any) -> dict[str, Any]:
        if not isinstance(analysis, dict) or not analysis or not set(analysis) <= set(COLUMNS):
            raise bad("done", f"expected columns of {', '.join(COLUMNS)}")
        kept = {}
        for name, values in analysis.items():
            if not isinstance(values, list) or len(values) != len(given.tokens):
                raise bad("done", f"{name}: expected a list with a value for each word")
            for word, text in enumerate(values):
                if text != "_":
                    self._check(None, given, f"t{word}", {name: text})  # type: ignore[arg-type]
            kept[name] = list(values)
        return kept

    def items_of(self, given: Sentence, analysis: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """What decisions would make this analysis."""
        told = _told(analysis)
        return [
            (f"t{word}", {name: analysis[name][word] for name in told})
            for word in range(len(given.tokens))
        ]

    def differ(self, one: Any, other: Any) -> bool:
        """Whether two values differ; what is not said is empty."""
        bare = [
            {n: v for n, v in value.items() if v != "_" and n in COLUMNS} for value in (one, other)
        ]
        return bool(bare[0] != bare[1])

    # ------------------------------------------------------------ proposals

    def _wanted(self, decisions: Decisions, sentence: int) -> dict[int, dict[str, str]]:
        return {
            int(item[1:]): {name: value[name] for name in COLUMNS if name in value}
            for item, value in self.decided(decisions, sentence).items()
        }

    def _propose(
        self, document: Document, decisions: Decisions, sentence: int, k: int
    ) -> Proposal:
        given = self.sentence(document, sentence)
        decided = self._wanted(decisions, sentence)
        columns, lists, notes, source = self._answered(given, decided)
        for word, values in decided.items():
            for name, text in values.items():
                columns.setdefault(name, ["_"] * len(given.tokens))[word] = text
        items = []
        for word in range(len(given.tokens)):
            value = {name: columns[name][word] for name in _told(columns)}
            if set(value.values()) == {"_"}:
                value = {}
            value |= decided.get(word, {})
            readings = lists[word] if lists else []
            agreeing = (c.probability or 0.0 for c in readings if _agree(c.value, value))
            is_decided = word in decided
            sure = 1.0 if is_decided else next(agreeing, 0.0)
            own = tuple(readings[:_SHOWN])
            items.append(Item(f"t{word}", value or None, is_decided, sure, own))
        analysis = {name: columns[name] for name in COLUMNS if name in columns}
        return self._proposal(
            sentence,
            items,
            analysis=analysis,
            source=source,
            followed=not notes,
            notes=tuple(notes),
        )

    def _answered(
        self, given: Sentence, decided: Mapping[int, Mapping[str, str]]
    ) -> tuple[dict[str, list[str]], list[list[Candidate]], list[str], str]:
        """Columns, candidates of each word, notes, and who says so."""
        n = len(given.tokens)
        if self.model is None or not n:
            found = {name: column_of(given, name) for name in COLUMNS}
            columns = {name: list(values) for name, values in found.items() if values}
            return columns or {"upos": ["_"] * n}, [], [], "imported" if columns else "none"
        if self.model.KIND == "tagger":
            return (*self._of_sequence_tagger(given, decided), "model")
        answer = self.model.tag_decided(given.forms, decided, k=12)
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
        self, given: Sentence, decided: Mapping[int, Mapping[str, str]]
    ) -> tuple[dict[str, list[str]], list[list[Candidate]], list[str]]:
        known = set(self.model.tag_set_.inside)
        wanted = {
            word: values[self.column] for word, values in decided.items() if self.column in values
        }
        notes = [
            f"The tagger does not know {tag!r}, your tag of word {word + 1}: it stands, and the "
            "other words are tagged without it."
            for word, tag in wanted.items()
            if tag not in known
        ]
        allowed = {word: [tag] for word, tag in wanted.items() if tag in known}
        answers = self.model.kbest(given.forms, 16, allowed=allowed)
        shares = list_shares(answers)
        lists = []
        for word in range(len(given.tokens)):
            of_tag: dict[str, float] = {}
            for answer, share in zip(answers, shares, strict=True):
                of_tag[answer.tags[word]] = of_tag.get(answer.tags[word], 0.0) + share
            best = sorted(of_tag.items(), key=lambda pair: (-pair[1], pair[0]))
            lists.append(ranked(({self.column: tag}, share) for tag, share in best))
        return {self.column: list(answers[0].tags)}, lists, notes

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
        """Readings of the word by the model, then every tag there is."""
        given = self.sentence(document, sentence)
        if not self.ITEMS.fullmatch(item):
            raise bad(item, f"{self.name} has no such item")
        (word,) = self._place(document, given, item)
        decided = self._wanted(decisions, sentence)
        decided.pop(word, None)  # what else could it be?
        _, lists, _, _ = self._answered(given, decided)
        known: list[tuple[Any, float | None]] = []
        if lists:
            known = [(c.value, c.probability) for c in lists[word]]
        known += [(value, None) for value in self._all_tags()]
        return list(searched(ranked(known), search))[:k]

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

    def decided_only(
        self, document: Document, decisions: Decisions, sentence: int
    ) -> dict[str, Any]:
        """The columns with what is decided alone."""
        n = len(self.sentence(document, sentence).tokens)
        columns = {name: ["_"] * n for name in COLUMNS}
        for word, values in self._wanted(decisions, sentence).items():
            for name, value in values.items():
                columns[name][word] = value
        return columns

    def _lines(
        self,
        document: Document,
        given: Sentence,
        analysis: Mapping[str, Any],
        comments: list[str],
        form: str,
    ) -> Iterator[str]:
        yield from conllu_lines(given, analysis, comments)

    def train(
        self,
        examples: Sequence[Finished],
        *,
        base: str | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """A tagger of the kind there is; by default a MorphTagger."""
        from eigentext.language.formats.conllu import read_sentences

        treebank = list(read_sentences(base)) if base else []
        treebank += [conllu_sentence(one.given, _bare(one)) for one in examples]
        if self.model is not None and self.model.KIND == "tagger":
            tokens = [sentence.forms for sentence in treebank]
            tags = [sentence.column(self.column) for sentence in treebank]
            settings = {**self.model.get_params(deep=False), "scheme": "plain"}
            return type(self.model)(**settings).fit(tokens, tags, progress=progress)
        from eigentext.tagging.morphology import MorphTagger

        settings = {} if self.model is None else self.model.get_params(deep=False)
        analyzer = None if self.model is None else self.model.analyzer_name_
        return MorphTagger(**settings).fit(treebank, analyzer=analyzer, progress=progress)

    def score(self, model: Any, held_out: Sequence[Finished]) -> Score:
        """Words with all decided columns right."""
        if model.KIND == "tagger":
            answers = [
                {self.column: tags} for tags in model.predict([e.given.forms for e in held_out])
            ]
        else:
            answers = [
                {"upos": m.upos, "xpos": m.xpos, "feats": m.feats, "lemma": m.lemmas}
                for m in model.tag([e.given.forms for e in held_out])
            ]
        counts = []
        for example, answer in zip(held_out, answers, strict=True):
            told = [name for name in answer if set(example.analysis.get(name, ("_",))) - {"_"}]
            n = len(example.given.tokens)
            right = sum(
                all(answer[name][word] == example.analysis[name][word] for name in told)
                for word in range(n)
            )
            counts.append((float(right), float(n), float(n)))
        return scored("all tags right", counts)


def _told(columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Columns that say something of some word; in them, ``_`` is a value like any other."""
    return [name for name in COLUMNS if set(columns.get(name, ("_",))) != {"_"}]


def _bare(example: Finished) -> dict[str, Any]:
    """The columns for training: trees are left out, which a tagger does not need."""
    n = len(example.given.tokens)
    return {**example.analysis, **{name: ["_"] * n for name in ("head", "deprel", "deps")}}


def _agree(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return all(other.get(name, value) == value for name, value in one.items() if name != "lemma")


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


def scored(name: str, counts: Sequence[tuple[float, float, float]]) -> Score:
    """The score of counts (right, gold, answered) of each sentence."""
    import numpy as np

    from eigentext.evaluate.bootstrap import f1

    if not counts:
        raise DataError("<held-out sentences>", None, "no finished sentences to score on")
    return Score(name, float(f1(np.array(counts).sum(0))), tuple(counts))
