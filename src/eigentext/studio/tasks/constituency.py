"""Constituent trees: spans and tags that are decided are constraints, and the rest is parsed anew.

1. Decided spans are required, forbidden ones forbidden, decided tags given to the parser.  A label
   that the grammar does not know is asked for as a span of any label, and then set.
2. What is decided is written into the tree that comes back: there it is, whoever parsed.
3. Where the grammar has no tree with all of it, decided spans are laid over the parse without
   them; without a model, over a flat tree.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eigentext.constituency.chart.constraints import Constraints
from eigentext.constituency.transform import unwrap, user_labels
from eigentext.errors import SettingsError
from eigentext.language.trees.constituent import Tree
from eigentext.studio.tasks.records import (
    Finished,
    ItemCandidate,
    Proposal,
    TaskItem,
    TaskScore,
    WholeAnswer,
)
from eigentext.studio.tasks.task import Task, bad, is_text, ranked, scored
from eigentext.studio.tasks.texts import column_of, conllu_lines

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from eigentext.base.progress import Progress
    from eigentext.base.types import Json
    from eigentext.constituency.answer import Parse
    from eigentext.language import Sentence
    from eigentext.studio.tasks.records import Analysis, Answers
    from eigentext.studio.tasks.task import Examples, SentenceExport, SentenceState

LABELS = tuple(
    """ADJP ADVP CONJP FRAG INTJ LST NAC NP NX PP PRN PRT QP RRC S SBAR SBARQ SINV SQ UCP VP WHADJP
    WHADVP WHNP WHPP X""".split()
)
_NONE = "X"  # the label of what nobody has named
_ANY = "\0"  # asked of the parser: a span of any label
_KBEST = 8  # trees that chains of labels are offered from
_SHOWN = 4
_LONGEST_CHAIN = 20

Span = tuple[int, int]


@dataclass
class SpanTree:
    """A tree as spans: chains of labels, the outermost first, and the tags of words."""

    words: list[str]
    tags: list[str]
    chains: dict[Span, tuple[str, ...]] = field(default_factory=dict)
    wrapper: str | None = None


def brackets_of(tree: Tree) -> SpanTree:
    """The spans of a tree.

    >>> brackets_of(Tree.from_brackets("(TOP (S (NP (UH Hi)) (. .)))")).chains
    {(0, 2): ('S',), (0, 1): ('NP',)}
    """
    bare, wrapper = unwrap(tree)
    chains: dict[Span, tuple[str, ...]] = {}
    spans, leaf, tag = bare.spans().tolist(), bare.is_leaf.tolist(), bare.is_preterminal.tolist()
    for node, label in enumerate(bare.labels):
        if not leaf[node] and not tag[node]:
            start, end = spans[node]
            chains[start, end] = (*chains.get((start, end), ()), label)
    return SpanTree(list(bare.words), list(bare.tags), chains, wrapper)


def tree_of(brackets: SpanTree) -> Tree:
    """The tree with these spans, which do not cross; it gets a top where it has none.

    >>> print(tree_of(SpanTree(["Hi", "."], ["UH", "."], {(0, 1): ("S", "NP")})))
    (X (S (NP (UH Hi))) (. .))
    """
    n = len(brackets.words)
    chains = dict(brackets.chains)
    if (0, n) not in chains and (n > 1 or brackets.wrapper is None) and n:
        chains[0, n] = (_NONE,)
    opens: dict[int, list[tuple[int, str]]] = {}
    for (start, end), labels in sorted(chains.items(), key=lambda pair: (pair[0][0], -pair[0][1])):
        opens.setdefault(start, []).extend((end, label) for label in labels)
    names: list[str] = []
    sizes: list[int] = []
    still_open: list[tuple[int, int]] = []
    if brackets.wrapper is not None:
        names.append(brackets.wrapper)
        sizes.append(0)
        still_open.append((n, 0))
    for at, (tag, word) in enumerate(zip(brackets.tags, brackets.words, strict=True)):
        for end, label in opens.get(at, ()):
            still_open.append((end, len(names)))
            names.append(label)
            sizes.append(0)
        names += [tag, word]
        sizes += [2, 1]
        while still_open and still_open[-1][0] == at + 1:
            _, node = still_open.pop()
            sizes[node] = len(names) - node
    return Tree.unchecked(names, sizes)


@dataclass
class _Decided:
    """What is decided: chains of spans (exactly so, or having a label), what is not, tags."""

    exact: dict[Span, tuple[str, ...]] = field(default_factory=dict)
    having: dict[Span, str] = field(default_factory=dict)
    forbidden: dict[Span, str | None] = field(default_factory=dict)
    tags: dict[int, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.exact or self.having or self.forbidden or self.tags)

    @property
    def spans(self) -> dict[Span, tuple[str, ...]]:
        """All that must be there, in reading order."""
        both = {**{span: (label,) for span, label in self.having.items()}, **self.exact}
        return dict(sorted(both.items(), key=lambda pair: (pair[0][0], -pair[0][1])))


class ConstituencyTask(Task):
    """Items ``s2-5`` and ``t3``; see `eigentext.studio.tasks`."""

    name = "constituency"
    formats = ("ptb", "conllu")
    ITEMS = re.compile(r"s(0|[1-9][0-9]{0,5})-([1-9][0-9]{0,5})|t(0|[1-9][0-9]{0,5})")
    STAGE = "const"
    KINDS = ("lpcfg",)
    SERVED = ("const",)

    def __init__(
        self,
        model: object = None,
        *,
        labels: Sequence[str] = LABELS,
        tags: Sequence[str] = (),
        wrapper: str | None = None,
    ) -> None:
        super().__init__(model, labels=labels)
        self.more_tags = tuple(tags)
        self.wrapper = wrapper if self.model is None else self.model.grammar_.wrapper

    def _check(self, sentence: Sentence, item: str, value: Any) -> Any:
        if item[0] == "t":
            if set(value) != {"tag"} or not _is_label(value["tag"]):
                raise bad(item, 'expected {"tag": ...} with a tag without brackets and spaces')
            return dict(value)
        if value.get("forbid") is True and set(value) <= {"forbid", "label"}:
            if "label" in value and not _is_label(value["label"]):
                raise bad(item, "expected a label without brackets and spaces")
            return dict(value)
        if set(value) == {"label"} and _is_label(value["label"]):
            return dict(value)
        labels = value.get("labels")
        if set(value) == {"labels"} and isinstance(labels, list) and all(map(_is_label, labels)):
            if 0 < len(labels) <= _LONGEST_CHAIN:
                return {"labels": list(labels)}
            raise bad(item, f"expected 1 to {_LONGEST_CHAIN} labels, found {len(labels)}")
        raise bad(item, 'expected {"label": "NP"}, {"labels": ["S", "VP"]} or {"forbid": true}')

    def _check_analysis(self, sentence: Sentence, analysis: object) -> Json:
        text = analysis.get("brackets") if isinstance(analysis, dict) else None
        if not isinstance(text, str) or len(text) > 1_000_000:
            raise bad("done", 'expected {"brackets": "(S ...)"}')
        try:
            tree = Tree.from_brackets(text)
        except ValueError as error:
            raise bad("done", f"brackets: {error}") from error
        if len(tree.words) != len(tree.tags) or not all(tree.tags):
            raise bad("done", "brackets: expected every word under a tag of its own")
        if list(tree.words) != [_word(form) for form in sentence.forms]:
            raise bad("done", "brackets: the words are not those of the sentence")
        return {"brackets": str(tree)}

    def items_of(self, analysis: Analysis) -> list[tuple[str, Any]]:
        """What decisions would make this analysis."""
        brackets = brackets_of(Tree.from_brackets(analysis["brackets"]))
        items = [
            (f"s{start}-{end}", {"labels": list(chain)})
            for (start, end), chain in brackets.chains.items()
        ]
        return items + [(f"t{word}", {"tag": tag}) for word, tag in enumerate(brackets.tags)]

    def comparable(self, value: Mapping[str, object]) -> Hashable:
        """A label is a chain of one."""
        chain = {"labels": [value["label"]]} if "label" in value else {}
        return super().comparable({n: v for n, v in value.items() if n != "label"} | chain)

    def accepted_items(self, analysis: Analysis) -> Iterable[tuple[str, Any]]:
        """Spans and tags, where there is a tree."""
        return self.items_of(analysis) if analysis.get("brackets") else ()

    def add_item(self, answers: Answers, word: tuple[int, int], value: Any, n_words: int) -> None:
        """The tag of a word."""
        cells = json.loads(value)
        if "tag" in cells:
            answers.values.setdefault("tag", {})[word] = cells["tag"]

    def add_finished(self, answers: Answers, sentence: int, analysis: Analysis) -> None:
        """The tree."""
        if analysis.get("brackets"):
            answers.trees[sentence,] = Tree.from_brackets(analysis["brackets"])

    def drawing(
        self, forms: Sequence[str], analysis: Analysis, items: Sequence[TaskItem] = ()
    ) -> str | None:
        """The tree."""
        if not analysis.get("brackets"):
            return None
        from eigentext.drawing.constituents import tree_svg

        tree = Tree.from_brackets(analysis["brackets"])
        return tree_svg(tree, title="Constituent tree", data=True)

    # ------------------------------------------------------------ proposals

    def _decided(self, state: SentenceState) -> _Decided:
        decided = _Decided()
        for item, value in state.decided.items():
            if item[0] == "t":
                decided.tags[int(item[1:])] = value["tag"]
                continue
            start, end = map(int, item[1:].split("-"))
            if value.get("forbid"):
                decided.forbidden[start, end] = value.get("label")
            elif "labels" in value:
                decided.exact[start, end] = tuple(value["labels"])
            else:
                decided.having[start, end] = value["label"]
        return decided

    def _propose(self, state: SentenceState, k: int) -> Proposal:
        sentence = state.sentence
        decided = self._decided(state)
        if not len(sentence):
            return self._proposal(state, (), analysis={"brackets": ""}, source="none")
        notes: list[str] = []
        _drop_crossing(decided, notes)
        marginals: Mapping[tuple[int, int, str], float] = {}
        trees: list[tuple[SpanTree, float]] = []
        if self.model is None:
            brackets, source = self._without_model(sentence)
            trees = [(brackets, 0.0)]
        else:
            source = "model"
            parse = self._parsed(sentence, decided, notes, k=k)
            marginals = parse.marginals
            best_trees = [(parsed.tree, parsed.log_score) for parsed in parse.kbest]
            for tree, score in best_trees or [(parse.tree, parse.log_score)]:
                trees.append((brackets_of(tree), score))
        trees = [(_overlaid(brackets, decided), score) for brackets, score in trees]
        best = trees[0][0]
        items = self._items(best, decided, marginals, named=source != "none")
        return self._proposal(
            state,
            items,
            notes,
            analysis={"brackets": str(tree_of(best))},
            kbest=tuple(
                WholeAnswer({"brackets": str(tree_of(tree))}, score)
                for tree, score in (trees if source == "model" else ())
            ),
            source=source,
        )

    def _items(
        self,
        best: SpanTree,
        decided: _Decided,
        marginals: Mapping[tuple[int, int, str], float],
        *,
        named: bool,
    ) -> list[TaskItem]:
        items: list[tuple[Any, TaskItem]] = []
        for (start, end), chain in best.chains.items():
            is_decided = (start, end) in decided.spans
            if not named and not is_decided:
                continue
            sure = min((marginals.get((start, end, label), 0.0) for label in chain), default=0.0)
            value = {"labels": list(chain)} if len(chain) > 1 else {"label": chain[0]}
            likely = _at(marginals, start, end, best.tags[start])
            items.append(
                (
                    (start, -end),
                    TaskItem(
                        f"s{start}-{end}",
                        value,
                        is_decided,
                        1.0 if is_decided else min(max(sure, 0.0), 1.0),
                        tuple(ranked(({"label": label}, p) for label, p in likely[:_SHOWN])),
                    ),
                )
            )
        for start, end in decided.forbidden:
            label = decided.forbidden[start, end]
            against: Json = {"forbid": True}
            if label is not None:
                against["label"] = label
            items.append(((start, -end), TaskItem(f"s{start}-{end}", against, True, 1.0)))
        for word, tag in enumerate(best.tags):
            is_decided = word in decided.tags
            sure = 1.0 if is_decided else marginals.get((word, word + 1, tag), 0.0)
            shown = {"tag": tag} if named or is_decided else None
            items.append(
                ((word, 0), TaskItem(f"t{word}", shown, is_decided, min(max(sure, 0.0), 1.0)))
            )
        return [item for _, item in sorted(items, key=lambda pair: pair[0])]

    def _without_model(self, sentence: Sentence) -> tuple[SpanTree, str]:
        if sentence.brackets is not None:
            return brackets_of(Tree.from_brackets(sentence.brackets)), "imported"
        tags = column_of(sentence, "xpos") or column_of(sentence, "upos")
        tags = [_NONE if tag == "_" else tag for tag in tags or ["_"] * len(sentence)]
        return SpanTree([_word(form) for form in sentence.forms], tags, {}, self.wrapper), "none"

    def _grammar_symbols(self) -> tuple[set[str], set[str]]:
        """Labels and tags of the grammar."""
        chains = [user_labels(label) for label in self.model.grammar_.labels]
        tags = {chain[-1] for chain in chains if chain}
        return {label for chain in chains for label in chain}, tags

    def _parsed(self, sentence: Sentence, decided: _Decided, notes: list[str], *, k: int) -> Parse:
        """The parse under what is decided, or under as much of it as the grammar can follow."""
        words = [_word(form) for form in sentence.forms]

        def parse(some: Sequence[Constraints]) -> Parse | None:
            constraints = Constraints(
                [span for demand in some for span in demand.required],
                [span for demand in some for span in demand.forbidden],
                {word: tag for demand in some for word, tag in (demand.tags or {}).items()},
            )
            answer: Parse = self.model.parse(
                words, constraints=constraints or None, kbest=k, marginals=True
            )
            return answer if "fallback" not in answer.flags or not some else None

        demands = self._demands(decided, notes)
        try:
            answer = parse(demands)
            if answer is not None:
                return answer
            # a word that was never seen with its tag is the usual reason
            spans = [demand for demand in demands if not demand.tags]
            if len(spans) < len(demands):
                answer = parse(spans)
            if answer is not None:
                notes.append("The grammar has no such tree with your tags: they stand.")
                return answer
            notes.append(
                "The grammar has no tree with all that is decided: it stands, and the rest is "
                "parsed without it."
            )
            answer = parse([])
        except SettingsError as error:
            notes.append(f"The parser cannot follow: {error}. What you decided stands.")
            answer = parse([])
        if answer is None:
            raise SettingsError("the parser has no tree at all")
        return answer

    def _demands(self, decided: _Decided, notes: list[str]) -> list[Constraints]:
        """What is decided as the grammar's labels can say it."""
        labels, tags = self._grammar_symbols() if decided else (set(), set())
        demands = []
        for (start, end), chain in decided.spans.items():
            symbols = [label for label in dict.fromkeys(chain) if label in labels]
            required: list[Any] = [(start, end, label) for label in symbols]
            if not symbols and end - start > 1:
                required = [(start, end)]
            notes += [
                f"The grammar has no label {label!r}: yours stands."
                for label in dict.fromkeys(chain)
                if label not in symbols and label != _ANY
            ]
            demands.append(Constraints(required))
        for (start, end), name in decided.forbidden.items():
            forbidden: list[Any] = []
            if name is not None:
                forbidden += [(start, end, name)] if name in labels else []
            elif end - start > 1:
                forbidden.append((start, end))
            else:  # a word always has its tag
                forbidden += [(start, end, label) for label in sorted(labels - tags)]
            demands.append(Constraints((), forbidden))
        for word, tag in decided.tags.items():
            if tag in tags:
                demands.append(Constraints((), (), {word: tag}))
            else:
                notes.append(
                    f"The grammar has no tag {tag!r}, that of word {word + 1}: it stands."
                )
        return demands

    def _candidates(
        self, state: SentenceState, item: str, numbers: tuple[int, ...]
    ) -> list[ItemCandidate]:
        """Labels of the span (chains of the best trees first), or tags of the word."""
        sentence = state.sentence
        decided = self._decided(state)
        values: list[tuple[Any, float | None]] = []
        _drop_crossing(decided, [])
        if item[0] == "t":
            (word,) = numbers
            decided.tags.pop(word, None)
            if self.model is not None:
                parse = self._parsed(sentence, decided, [], k=1)
                names = sorted(self._grammar_symbols()[1])
                shares = [(parse.marginals.get((word, word + 1, tag), 0.0), tag) for tag in names]
                shares.sort(key=lambda pair: (-pair[0], pair[1]))
                values = [({"tag": tag}, share) for share, tag in shares]
            upos = column_of(sentence, "upos") or []
            values += [({"tag": tag}, None) for tag in (*upos[word : word + 1], *self.more_tags)]
            return ranked(values)
        start, end = numbers
        for table in (decided.exact, decided.having, decided.forbidden):
            table.pop((start, end), None)
        names = list(self.labels)
        if self.model is not None:
            labels, tags = self._grammar_symbols()
            names = sorted(labels - tags) + names
            try:
                values = self._chains_at(sentence, decided, start, end)
            except SettingsError:
                values = []
        values += [({"label": label}, None) for label in names]
        values.append(({"forbid": True}, None))
        return ranked(values)

    def _chains_at(
        self, sentence: Sentence, decided: _Decided, start: int, end: int
    ) -> list[tuple[Any, float | None]]:
        """Chains of labels of the best trees that have this span, then labels by themselves."""
        from dataclasses import replace

        free = self._parsed(sentence, decided, [], k=1).marginals
        demanded = replace(decided, having={**decided.having})
        if end - start > 1:
            demanded.having[start, end] = _ANY
        parse = self._parsed(sentence, demanded, [], k=_KBEST)
        trees = [listed.tree for listed in parse.kbest] or [parse.tree]
        values: list[tuple[Any, float | None]] = []
        for tree in trees:
            chain = brackets_of(tree).chains.get((start, end))
            if chain:
                share = min(free.get((start, end, label), 0.0) for label in chain)
                value = {"labels": list(chain)} if len(chain) > 1 else {"label": chain[0]}
                values.append((value, share))
        tags = self._grammar_symbols()[1]
        single = [
            (label, free.get((start, end, label), p))
            for label, p in _at(parse.marginals, start, end, "")
            if label not in tags
        ]
        values += [({"label": label}, share) for label, share in single]
        values.sort(key=lambda pair: -(pair[1] or 0.0))
        return values

    # ------------------------------------------------------------ what comes out

    def decided_only(self, state: SentenceState) -> Json:
        """A flat tree with what is decided alone."""
        sentence = state.sentence
        decided = self._decided(state)
        _drop_crossing(decided, [])
        words = [_word(form) for form in sentence.forms]
        flat = SpanTree(words, [_NONE] * len(words), {}, self.wrapper)
        return {"brackets": str(tree_of(_overlaid(flat, decided))) if words else ""}

    def _lines(self, export: SentenceExport) -> Iterator[str]:
        brackets = export.analysis["brackets"]
        if export.form == "ptb":
            yield brackets
            return
        tags = list(Tree.from_brackets(brackets).tags) if brackets else []
        comments = [*export.comments, f"# brackets = {brackets}"]
        yield from conllu_lines(export.sentence, {"xpos": tags}, comments)

    def train(
        self, examples: Examples, *, base: str | None = None, progress: Progress | None = None
    ) -> Any:
        """A parser with the settings of the one there is."""
        from eigentext.constituency import LPCFG
        from eigentext.language.formats.ptb import read_trees

        trees = list(read_trees(base)) if base else []
        trees += [Tree.from_brackets(example.analysis["brackets"]) for example in examples]
        settings = {} if self.model is None else self.model.get_params(deep=False)
        return LPCFG(**settings).fit(trees, progress=progress)

    def score(self, model: Any, held_out: Sequence[Finished]) -> TaskScore:
        """F1 of brackets by EVALB's rules."""
        from eigentext.evaluate.parseval import evaluate

        gold = [Tree.from_brackets(example.analysis["brackets"]) for example in held_out]
        result = evaluate(gold, model.predict([tree.words for tree in gold]))
        counts = [(float(m), float(g), float(t)) for m, g, t in result.counts()]
        return scored("bracket F1", counts)


def _is_label(value: Any) -> bool:
    return is_text(value) and not re.search(r"[\s()]", value)


def _word(form: str) -> str:
    """A word as brackets can hold it."""
    from eigentext.language.formats.ptb import escape

    return escape(form) if re.search(r"[\s()]", form) else form


def _at(
    marginals: Mapping[tuple[int, int, str], float], start: int, end: int, tag: str
) -> list[tuple[str, float]]:
    likely = [
        (label, p) for (s, e, label), p in marginals.items() if (s, e) == (start, end) and p > 0
    ]
    if end - start == 1:
        likely = [(label, p) for label, p in likely if label != tag]
    return sorted(likely, key=lambda pair: (-pair[1], pair[0]))


def _crosses(span: Span, other: Span) -> bool:
    (start, end), (later, later_end) = sorted((span, other))
    return start < later < end < later_end


def _drop_crossing(decided: _Decided, notes: list[str]) -> None:
    """Of decided spans that cross, one alone can be in a tree: the first one."""
    kept: list[Span] = []
    for span in decided.spans:
        clash = next((other for other in kept if _crosses(span, other)), None)
        if clash is None:
            kept.append(span)
            continue
        decided.exact.pop(span, None)
        decided.having.pop(span, None)
        notes.append(
            f"Words {span[0] + 1} to {span[1]} and words {clash[0] + 1} to {clash[1]} cross: no "
            "tree has both. The second is not shown until one of them is taken back."
        )


def _overlaid(brackets: SpanTree, decided: _Decided) -> SpanTree:
    """The tree with all that is decided in it."""
    chains = {
        span: chain
        for span, chain in brackets.chains.items()
        if not any(_crosses(span, other) for other in decided.spans)
    }
    for span, label in decided.having.items():
        chain = chains.get(span, ())
        if label not in chain:
            # a span that was asked for by itself has a label of no meaning
            chains[span] = (label,) if len(chain) <= 1 else (label, *chain[1:])
    chains.update(decided.exact)
    for span, forbidden in decided.forbidden.items():
        if span not in chains or span in decided.spans:
            continue
        left = tuple(label for label in chains[span] if forbidden not in (None, label))
        chains[span] = left
        if not left:
            del chains[span]
    tags = list(brackets.tags)
    for word, tag in decided.tags.items():
        tags[word] = tag
    return SpanTree(brackets.words, tags, chains, brackets.wrapper)
