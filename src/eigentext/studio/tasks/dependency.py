"""Dependency trees: arcs that are decided are required, and the rest is parsed anew.

1. Decided heads are required arcs of the parser's search; decided relations are kept as they are.
2. Where no projective tree has all of them, arcs may cross; where no tree has (a cycle, two
   roots), decided arcs stand as given and the others are those of the parse without them.
3. Without a model, heads are what was imported, or unset.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigentext.base.types import Json
from eigentext.dependency.long_sentences import MOST_WORDS
from eigentext.errors import SettingsError
from eigentext.studio.tasks.records import (
    Finished,
    ItemCandidate,
    Proposal,
    TaskItem,
    TaskScore,
    WholeAnswer,
)
from eigentext.studio.tasks.task import Task, bad, is_text, ranked, scored
from eigentext.studio.tasks.texts import column_of, conllu_lines, conllu_sentence

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from eigentext.base.progress import Progress
    from eigentext.dependency import DependencyParser
    from eigentext.dependency.sentence import TaggedSentence
    from eigentext.language import Doc, Sentence
    from eigentext.studio.tasks.records import Analysis, Answers
    from eigentext.studio.tasks.task import Examples, SentenceExport, SentenceState

RELATIONS = tuple(
    """acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse
    dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis
    punct reparandum root vocative xcomp""".split()
)
_SHOWN, _HEADS = 4, 6  # candidates with each item; heads that are tried for one
_LEAST = 1e-4  # probability of a head that is offered
_RERANKED = 20  # trees that a reranker chooses from
_WIDTH = 960.0  # of a row of words in drawings; longer sentences are broken
_HEAT = 50.0  # of margins between relations, in units of the parser's rounded weights

Arcs = dict[int, Json]  # word, from 1 on -> head, deprel


class _Answer(NamedTuple):
    heads: list[int | None]
    relations: list[str]
    marginals: npt.NDArray[np.float64] | None
    sure: list[float]  # of relations
    kbest: list[tuple[list[int], list[str], float]]
    notes: list[str]
    source: str


class DependencyTask(Task):
    """Item ``a3`` -> {"head": 2, "deprel": "nsubj"}, words from 1 on; either may be left out.

    With ``"passed": true`` nobody chose the arc: an annotator passed over it to another.
    """

    name = "dependency"
    ITEMS = re.compile(r"a([1-9][0-9]{0,5})")
    STAGE = "parser"
    KINDS = ("graph-parser",)
    SERVED = ("dep", "pipeline")
    OPTIONS = ("passed",)
    CHECKED = True

    def __init__(
        self, model: Any = None, *, labels: Sequence[str] = RELATIONS, tagger: Any = None
    ) -> None:
        super().__init__(model, labels=labels)
        self.tagger = tagger
        self.reranker: Any = None
        if self.pipeline is not None:
            self.tagger = self.tagger or self.pipeline.morphology_
            self.reranker = self.pipeline.reranker_

    @property
    def parser(self) -> DependencyParser | None:
        """The model."""
        parser: DependencyParser | None = self.model
        return parser

    @classmethod
    def beside_learned(cls, served: Any) -> Json:
        """A parser that was learned has no tagger of its own; that of the pipeline stays."""
        is_pipeline = getattr(served, "KIND", "") == "pipeline"
        return {"tagger": served.morphology_} if is_pipeline else {}

    def _numbers(self, document: Doc, sentence: Sentence, item: str) -> tuple[int, ...]:
        word, n = int(item[1:]), len(sentence)
        if not 1 <= word <= n:
            raise bad(item, f"the sentence has {n} words, counted from 1")
        return (word,)

    def _check(self, sentence: Sentence, item: str, value: Any) -> Any:
        word, n = int(item[1:]), len(sentence)
        if not set(value) & {"head", "deprel"} or not set(value) <= {"head", "deprel", "passed"}:
            raise bad(item, 'expected {"head": ..., "deprel": ...}, or one of them')
        head = value.get("head", 0)
        if isinstance(head, bool) or not isinstance(head, int) or not 0 <= head <= n:
            raise bad(item, f"head is {str(head)[:60]!r}, expected a number from 0 to {n}")
        if head == word:
            raise bad(item, "a word cannot be its own head")
        if value.get("passed", True) is not True:
            raise bad(item, '"passed" is true or not there')
        relation = value.get("deprel", "dep")
        if not is_text(relation) or re.search(r"\s", relation) or "|" in relation:
            raise bad(item, f"deprel is {str(relation)[:60]!r}, expected a relation")
        return {name: value[name] for name in ("head", "deprel", "passed") if name in value}

    def _check_analysis(self, sentence: Sentence, analysis: object) -> Json:
        n = len(sentence)
        if not isinstance(analysis, dict) or not {"head", "deprel"} <= set(analysis):
            raise bad("done", 'expected {"head": [...], "deprel": [...]}')
        heads, relations = analysis["head"], analysis["deprel"]
        for name, values in (("head", heads), ("deprel", relations)):
            if not isinstance(values, list) or len(values) != n:
                raise bad("done", f"{name}: expected a list with a value for each word")
        for word, (head, relation) in enumerate(zip(heads, relations, strict=True), start=1):
            if head is None:
                raise bad("done", f"word {word} has no head")
            value = {"head": head, "deprel": relation}
            self._check(sentence, f"a{word}", value)
        fault = tree_fault(heads)
        if fault:
            raise bad("done", fault)
        return {"head": list(heads), "deprel": list(relations)}

    def items_of(self, analysis: Analysis) -> list[tuple[str, Any]]:
        """What decisions would make this analysis."""
        pairs = zip(analysis["head"], analysis["deprel"], strict=True)
        return [
            (f"a{word}", {"head": head, "deprel": relation})
            for word, (head, relation) in enumerate(pairs, start=1)
        ]

    # ------------------------------------------------------------ proposals

    def _propose(self, state: SentenceState, k: int) -> Proposal:
        arcs = _arcs(state)
        answer = self._answered(state.sentence, arcs, k)
        heads, relations = _overlaid(answer.heads, answer.relations, arcs)
        notes = list(answer.notes)
        if all(head is not None for head in heads):
            fault = tree_fault([head or 0 for head in heads])
            if fault:
                notes.append(f"This is no tree yet: {fault}.")
        items = []
        for word, (head, relation) in enumerate(zip(heads, relations, strict=True), start=1):
            candidates: list[ItemCandidate] = []
            sure = 0.0
            if answer.marginals is not None and head is not None:
                column = answer.marginals[:, word]
                sure = float(column[head]) * answer.sure[word - 1]
                others = [h for h in np.argsort(-column, kind="stable").tolist() if h != word]
                candidates = ranked(
                    ({"head": h} if h != head else {"head": h, "deprel": relation}, p)
                    for h in others[:_SHOWN]
                    if (p := float(column[h])) > _LEAST
                )
            cells = {"head": head, "deprel": relation}
            value = {name: cell for name, cell in cells.items() if cell not in (None, "_")}
            value |= {"passed": True} if arcs.get(word, {}).get("passed") else {}
            is_decided = word in arcs
            sure = 1.0 if is_decided else min(max(sure, 0.0), 1.0)
            items.append(TaskItem(f"a{word}", value or None, is_decided, sure, tuple(candidates)))
        trees = []
        for tree_heads, names, score in answer.kbest[:k]:
            shown_heads, shown = _overlaid(list(tree_heads), names, arcs)
            trees.append(WholeAnswer({"head": shown_heads, "deprel": shown}, score))
        return self._proposal(
            state,
            items,
            notes,
            analysis={"head": heads, "deprel": relations},
            kbest=tuple(trees),
            source=answer.source,
        )

    def drawing(
        self, forms: Sequence[str], analysis: Analysis, items: Sequence[TaskItem] = ()
    ) -> str | None:
        """The arcs of a whole tree."""
        if not forms or None in analysis["head"]:
            return None
        from eigentext.drawing.arcs import arcs_svg

        return arcs_svg(
            forms,
            list(analysis["head"]),
            list(analysis["deprel"]),
            title="Dependencies",
            probabilities=[item.certainty for item in items] or None,
            width=_WIDTH,
            data=True,
        )

    def _answered(self, sentence: Sentence, decided: Arcs, k: int) -> _Answer:
        n = len(sentence)
        parser = self.parser
        notes: list[str] = []
        tagged = None
        if parser is not None and n:
            try:
                tagged = self.tagged(sentence)
            except SettingsError:
                notes.append(
                    "The parser needs tags and there are none: import the text with UPOS, or "
                    "serve a pipeline."
                )
        if parser is None or tagged is None:
            return _unparsed(sentence, notes)
        required = [(arc["head"], word) for word, arc in decided.items() if "head" in arc]
        arcs = required
        try:
            if self.reranker is None:
                parses = parser.kbest(tagged, k=k, required_arcs=arcs)
            else:
                parses = parser.kbest(tagged, k=max(k, _RERANKED), required_arcs=arcs)
                parses = self.reranker.choose(tagged, parses)
        except SettingsError as error:
            notes.append(f"The parser cannot follow: {error}. Your arcs stand.")
            crossing = self._crossing(parser, tagged, required)
            if crossing is not None:
                notes[-1] = "Your arcs cross, which this parser never lets arcs do. They stand."
                heads, relations, marginals = crossing
                sure = self._relation_shares(parser, tagged, heads)
                return _Answer([*heads], relations, marginals, sure, [], notes, "model")
            arcs = []
            parses = [parser.parse(tagged)]
        best = parses[0].tree
        heads = best.heads.tolist()
        shares: npt.NDArray[np.float64] | None = None
        if n <= MOST_WORDS:
            shares = parser.marginals(tagged, required_arcs=arcs)
        lists = [
            (parse.tree.heads.tolist(), list(parse.tree.relations or ()), float(parse.score))
            for parse in parses
        ]
        sure = self._relation_shares(parser, tagged, heads)
        return _Answer([*heads], list(best.relations or ()), shares, sure, lists, notes, "model")

    def tagged(self, sentence: Sentence) -> TaggedSentence:
        """The words with the tags that the parser goes by: imported, the pipeline's, its own."""
        from eigentext.dependency.sentence import TaggedSentence

        parser = self.parser
        if parser is None:
            raise SettingsError("there is no parser")
        columns = {name: column_of(sentence, name) for name in ("upos", "xpos", "feats", "lemma")}
        tags: Json = {
            "lemmas" if name == "lemma" else name: values
            for name, values in columns.items()
            if values and set(values) != {"_"}
        }
        if "upos" in tags or "xpos" in tags:
            return TaggedSentence.of(sentence.forms, **tags)
        if self.tagger is not None:
            (tagging,) = self.tagger.tag([sentence.forms])
            tags = {name: getattr(tagging, name) for name in ("upos", "xpos", "feats", "lemmas")}
            others = tagging.others if set(tagging.others) != {"_"} else ()
            return TaggedSentence.of(sentence.forms, **tags)._replace(others=others)
        return parser.tagged(sentence.forms)

    def _crossing(
        self, parser: DependencyParser, tagged: TaggedSentence, required: list[tuple[int, int]]
    ) -> tuple[list[int], list[str], npt.NDArray[np.float64]] | None:
        """The best tree with these arcs if arcs may cross; None where there is none."""
        from eigentext.dependency.decoding.constraints import constrained
        from eigentext.dependency.decoding.decoders import chu_liu_edmonds, nonprojective_marginals

        try:
            arc = constrained(parser.scores(tagged)[0], required)
            heads, _ = chu_liu_edmonds(arc)
            marginals, _ = nonprojective_marginals(arc)
        except SettingsError:
            return None
        relations = ["_"] * len(heads)
        if parser.relations_ is not None:
            keys = parser.encoder_.batch([tagged]).keys
            labels = parser.relations_.label_list(keys, heads[None]).relations
            relations = [parser.relations_.relations[r] for r in labels[0].tolist()]
        return heads.tolist(), relations, marginals

    def _relation_shares(
        self, parser: DependencyParser, tagged: TaggedSentence, heads: list[int]
    ) -> list[float]:
        """How sure the relation of each word is, roughly, by its margin over the next best."""
        if parser.relations_ is None or len(heads) > MOST_WORDS:
            return [1.0] * len(heads)
        keys = parser.encoder_.batch([tagged]).keys
        labels = parser.relations_.label_list(keys, np.array([heads], np.int32))
        margins = labels.margins[0].tolist()
        return [1.0 if not m else 1.0 / (1.0 + math.exp(-min(m / _HEAT, 30.0))) for m in margins]

    def _relations_at(
        self, parser: DependencyParser, tagged: TaggedSentence, heads: list[int], word: int
    ) -> list[tuple[str, float]]:
        """The relations of a word under these heads, best first, with rough shares."""
        if parser.relations_ is None:
            return []
        names = parser.relations_.relations
        keys = parser.encoder_.batch([tagged]).keys
        best = parser.relations_.label_list(keys, np.array([heads], np.int32)).relations
        labels = np.repeat(best, len(names), axis=0)
        labels[:, word - 1] = np.arange(len(names))
        trees = np.repeat(np.array([heads], np.int32), len(names), axis=0)
        margins = parser.relations_.label_list(keys, trees, labels).margins[:, word - 1]
        below = np.minimum(margins, 0) / _HEAT
        shares = np.exp(below) / np.exp(below).sum()
        order = np.argsort(-shares, kind="stable").tolist()
        return [(names[number], float(shares[number])) for number in order]

    def _candidates(
        self, state: SentenceState, item: str, numbers: tuple[int, ...]
    ) -> list[ItemCandidate]:
        """Heads with the relation each would have, then other relations of the best head."""
        sentence, (word,) = state.sentence, numbers
        arcs = _arcs(state)
        present = arcs.pop(word, {})
        answer = self._answered(sentence, arcs, 1)
        values: list[tuple[Any, float | None]] = []
        best = answer.heads[word - 1]
        if answer.marginals is not None and best is not None:
            parser, tagged = self.parser, self.tagged(sentence)
            column = answer.marginals[:, word]
            likely = [h for h in np.argsort(-column, kind="stable").tolist() if h != word]
            for head in [h for h in likely[:_HEADS] if column[h] > _LEAST]:
                tried = self._answered(sentence, {**arcs, word: {"head": head}}, 1)
                heads = [h or 0 for h in tried.heads]
                values.append(
                    ({"head": head, "deprel": tried.relations[word - 1]}, float(column[head]))
                )
                if head == present.get("head", likely[0]) and parser is not None:
                    share = float(column[head])
                    values += [
                        ({"head": head, "deprel": name}, share * p)
                        for name, p in self._relations_at(parser, tagged, heads, word)
                    ]
        values.sort(key=lambda pair: -(pair[1] or 0.0))
        head = present.get("head", best)
        rest = [
            {**({} if head is None else {"head": head}), "deprel": name}
            for name in dict.fromkeys((*self._parser_relations(), *self.labels))
        ]
        values += [(value, None) for value in rest]
        values += [({"head": h}, None) for h in range(len(sentence) + 1) if h != word]
        candidates = []
        for candidate in ranked(values):
            head = candidate.value.get("head")
            form = "" if head is None else "root" if head == 0 else sentence.forms[head - 1]
            candidates.append(
                ItemCandidate(
                    candidate.value, candidate.rank, candidate.probability, {"head_form": form}
                )
            )
        return candidates

    def _parser_relations(self) -> tuple[str, ...]:
        parser = self.parser
        return () if parser is None or parser.relations_ is None else parser.relations_.relations

    # ------------------------------------------------------------ what comes out

    def decided_only(self, state: SentenceState) -> Json:
        """Heads and relations that are decided."""
        n = len(state.sentence)
        heads, relations = _overlaid([None] * n, ["_"] * n, _arcs(state))
        return {"head": heads, "deprel": relations}

    def _lines(self, export: SentenceExport) -> Iterator[str]:
        columns = {name: export.analysis[name] for name in ("head", "deprel")}
        yield from conllu_lines(export.sentence, columns, export.comments)

    def comparable(self, value: Mapping[str, object]) -> Hashable:
        """Head and relation."""
        return value.get("head"), value.get("deprel")

    def add_item(self, answers: Answers, word: tuple[int, int], value: Any, n_words: int) -> None:
        """The arc of a word, and its relation."""
        (sentence, number), (head, relation) = word, value
        arcs = answers.arcs.setdefault((sentence,), [None] * n_words)
        if head is not None and 1 <= number <= n_words:
            arcs[number - 1] = (head, relation or "_")
            if relation is not None:
                answers.values.setdefault("relation", {})[word] = relation

    def train(
        self, examples: Examples, *, base: str | None = None, progress: Progress | None = None
    ) -> Any:
        """A parser with the settings of the one there is; a small one where there is none."""
        from eigentext.dependency import DependencyParser
        from eigentext.language.formats.conllu import read_sentences

        treebank = list(read_sentences(base)) if base else []
        treebank += [conllu_sentence(example.sentence, example.analysis) for example in examples]
        settings: Json = {}
        if self.parser is not None:
            settings = self.parser.get_params(deep=False)
        elif not any(set(sentence.column("upos")) - {"_"} for sentence in treebank):
            settings["tags"] = "gold"  # there are none: it goes by the words
        return DependencyParser(**settings).fit(treebank, progress=progress)

    def score(self, model: object, held_out: Sequence[Finished]) -> TaskScore:
        """LAS: words with the right head and relation."""
        other = DependencyTask(model, tagger=self.tagger)
        parser = other.parser
        if parser is None:
            raise SettingsError("there is no parser to score")
        heads, relations = parser.trees([other.tagged(example.sentence) for example in held_out])
        counts = []
        for example, parsed, names in zip(held_out, heads, relations, strict=True):
            gold = zip(example.analysis["head"], example.analysis["deprel"], strict=True)
            right = sum(a == b for a, b in zip(gold, zip(parsed, names, strict=True), strict=True))
            counts.append((float(right), float(len(parsed)), float(len(parsed))))
        return scored("LAS", counts)


def _arcs(state: SentenceState) -> Arcs:
    return {int(item[1:]): value for item, value in sorted(state.decided.items())}


def _unparsed(sentence: Sentence, notes: list[str]) -> _Answer:
    n, columns = len(sentence), sentence.columns
    source = "none" if columns.heads is None else "imported"
    names = list(columns.deprels or ["_"] * n)
    heads: list[int | None] = [None] * n if columns.heads is None else [*columns.heads]
    return _Answer(heads, names, None, [0.0] * n, [], notes, source)


def _overlaid(
    heads: Sequence[int | None], relations: Sequence[str], decided: Arcs
) -> tuple[list[int | None], list[str]]:
    """The same with what is decided."""
    new_heads, names = list(heads), list(relations)
    for word, arc in decided.items():
        if "head" in arc and arc["head"] != new_heads[word - 1]:
            new_heads[word - 1] = arc["head"]
            if "deprel" not in arc:
                names[word - 1] = "root" if arc["head"] == 0 else "_"
        if "deprel" in arc:
            names[word - 1] = arc["deprel"]
    return new_heads, names


def tree_fault(heads: Sequence[int]) -> str | None:
    """Why these heads make no tree with one root; None if they do.

    >>> tree_fault([2, 0]) is None, tree_fault([2, 1]), tree_fault([0, 0])
    (True, 'no word is the root', 'words 1 and 2 are both roots')
    """
    roots = [word for word, head in enumerate(heads, start=1) if head == 0]
    if not roots:
        return "no word is the root"
    if len(roots) > 1:
        return f"words {roots[0]} and {roots[1]} are both roots"
    for start in range(1, len(heads) + 1):
        word, steps = start, 0
        while word and steps <= len(heads):
            word, steps = heads[word - 1], steps + 1
        if word:
            return f"word {start} hangs in a circle"
    return None
