"""What a layer says of its sentences, in the shapes that measures compare.

1. :func:`state_of`: decision rows -> what holds, {(sentence, item): value}: the newest value of
   each item that was not undone.
2. :func:`items_of`: a finished sentence (``done``) says all of its items at once; others say what
   was decided of them.  A value is brought into one form: notes and glosses do not count.
3. :func:`answers_of`: items -> values by word, arcs by word, spans, trees.

Spans and trees are read off finished sentences alone: of another one nobody knows whether what is
not there is yet to come.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from eigentext.language.trees.constituent import Tree

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from eigentext.evaluate.agreement import Arc

__all__ = ["Answers", "DecisionRow", "answers_of", "decided_words", "items_of", "state_of"]

Place = tuple[int, str]
DONE = "done"
_BESIDE = frozenset({"note", "gloss", "vocalised", "form"})  # of a value; they decide nothing
_NUMBERS = re.compile(r"[0-9]+")


class DecisionRow(Protocol):
    """A row of the table of decisions, as a store gives it."""

    @property
    def layer(self) -> int: ...  # noqa: D102
    @property
    def sentence(self) -> int: ...  # noqa: D102
    @property
    def item(self) -> str: ...  # noqa: D102
    @property
    def value(self) -> Any: ...  # noqa: D102
    @property
    def rank(self) -> int | None: ...  # noqa: D102
    @property
    def ranked(self) -> bool: ...  # noqa: D102
    @property
    def seconds(self) -> float | None: ...  # noqa: D102
    @property
    def keys(self) -> int | None: ...  # noqa: D102
    @property
    def undone(self) -> object: ...  # noqa: D102


@dataclass
class Answers:
    """What one layer says of one document.

    ``values``  by name (``label``, ``upos``, ...) and (sentence, word)
    ``arcs``    by sentence: (head, relation) of each word, None where nothing was decided
    ``spans``   by name (``entities``, ``tokens``, ``sentences``) and finished sentence
    ``trees``   by finished sentence
    """

    values: dict[str, dict[tuple[int, int], Hashable]] = field(default_factory=dict)
    arcs: dict[int, list[Arc]] = field(default_factory=dict)
    spans: dict[str, dict[int, list[tuple[Any, ...]]]] = field(default_factory=dict)
    trees: dict[int, Tree] = field(default_factory=dict)


def state_of(rows: Iterable[DecisionRow]) -> dict[Place, DecisionRow]:
    """The newest decision of each item, of those that were not undone; rows in their order.

    None as a value takes an item back: it is as if it were not there.
    """
    newest: dict[Place, DecisionRow] = {}
    for row in rows:
        if row.undone is None or row.undone is False:
            newest[row.sentence, row.item] = row
    return {place: row for place, row in newest.items() if row.value is not None}


def items_of(task: str, state: Mapping[Place, Any]) -> dict[Place, Hashable]:
    """The value of every item that is decided or accepted, as something that can be compared.

    >>> state = {(0, "done"): {"analysis": {"head": [2, 0], "deprel": ["det", "root"]}}}
    >>> items_of("dependency", state)
    {(0, 'a1'): (2, 'det'), (0, 'a2'): (0, 'root')}
    >>> items_of("tags", {(0, "t0"): {"upos": "NOUN", "note": "sure?"}})
    {(0, 't0'): '{"upos": "NOUN"}'}
    """
    accepted = {
        sentence: value["analysis"]
        for (sentence, item), value in state.items()
        if item == DONE and value.get("analysis")
    }
    found: dict[Place, Hashable] = {}
    for (sentence, item), value in state.items():
        if item != DONE and sentence not in accepted:
            found[sentence, item] = _comparable(task, value)
    for sentence, analysis in accepted.items():
        for item, value in _accepted_items(task, analysis):
            found[sentence, item] = _comparable(task, value)
    return found


def _accepted_items(task: str, analysis: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if task == "lexical":
        for k, word in enumerate(analysis.get("words", ())):
            yield f"w{k}", {"label": word["label"]} if word.get("label") else {"none": True}
    elif task == "dependency":
        pairs = zip(analysis.get("head", ()), analysis.get("deprel", ()), strict=False)
        for k, (head, deprel) in enumerate(pairs, start=1):
            yield f"a{k}", {"head": head, "deprel": deprel}
    elif task == "tags":
        columns = {name: column for name, column in analysis.items() if isinstance(column, list)}
        for k in range(max(map(len, columns.values()), default=0)):
            cells = {name: column[k] for name, column in columns.items() if k < len(column)}
            yield f"t{k}", {name: cell for name, cell in cells.items() if cell not in (None, "_")}
    elif task == "entities":
        for one in analysis.get("entities", ()):
            yield f"e{one['start']}-{one['end']}", {"type": one["type"]}
    elif task == "constituency" and analysis.get("brackets"):
        from eigentext.constituency.transform import unwrap

        chains: dict[tuple[int, int], list[str]] = {}
        tree, _ = unwrap(Tree.from_brackets(analysis["brackets"]))
        for label, start, end in tree.constituents():
            chains.setdefault((start, end), []).append(label)
        for (start, end), labels in chains.items():
            yield f"s{start}-{end}", {"labels": labels}
        for k, tag in enumerate(tree.tags):
            yield f"t{k}", {"tag": tag}
    elif task == "segmentation":
        cuts = [
            (token["start"], "word" if k else "sentence")
            for sentence in analysis.get("sentences", ())
            for k, token in enumerate(sentence["tokens"])
        ]
        for start, cut in cuts[1:]:  # nobody decides where the first begins
            yield f"b{start}", {"cut": cut}


def _comparable(task: str, value: Mapping[str, Any]) -> Hashable:
    if task == "dependency":
        return value.get("head"), value.get("deprel")
    bare = {name: inner for name, inner in value.items() if name not in _BESIDE}
    if task == "constituency" and "label" in bare:
        bare["labels"] = [bare.pop("label")]
    if task == "lexical" and "label" in bare:
        bare = {"label": bare["label"]}  # a lemma that was typed stands in the label too
    return json.dumps(bare, sort_keys=True, ensure_ascii=False)


def _number(item: str) -> int:
    return int(_NUMBERS.findall(item)[0])


def decided_words(task: str, state: Mapping[Place, Any], sentence: int) -> set[int]:
    """Words of a sentence with a decision of their own, where words are what is decided."""
    letter = {"lexical": "w", "tags": "t"}.get(task)
    return {
        _number(item)
        for number, item in state
        if number == sentence and letter is not None and item.startswith(letter)
    }


def answers_of(
    task: str, sentences: Sequence[Mapping[str, Any]], state: Mapping[Place, Any]
) -> Answers:
    """What the values of a state say; ``sentences`` are a document's, with their tokens."""
    found = Answers()
    items: dict[Place, Any] = dict(items_of(task, state))
    if task == "dependency":
        for (sentence, item), (head, relation) in items.items():
            n = len(sentences[sentence]["tokens"])
            arcs = found.arcs.setdefault(sentence, [None] * n)
            if head is not None and 1 <= _number(item) <= n:
                arcs[_number(item) - 1] = (head, relation or "_")
                if relation is not None:
                    relations = found.values.setdefault("relation", {})
                    relations[sentence, _number(item)] = relation
        return found
    for (sentence, item), value in items.items():
        inner = json.loads(value)
        place = sentence, _number(item)
        if task == "lexical":
            found.values.setdefault("label", {})[place] = value
        elif task == "tags":
            for column, cell in inner.items():
                found.values.setdefault(column, {})[place] = str(cell)
        elif task == "constituency" and "tag" in inner:
            found.values.setdefault("tag", {})[place] = inner["tag"]
        elif task == "segmentation" and "cut" in inner:
            found.values.setdefault("cut", {})[place] = inner["cut"]
    for (sentence, item), value in state.items():
        if item == DONE and value.get("analysis") is not None:
            _read_finished(task, sentence, value["analysis"], found)
    return found


def _read_finished(task: str, sentence: int, analysis: Mapping[str, Any], found: Answers) -> None:
    if task == "entities":
        found.spans.setdefault("entities", {})[sentence] = [
            (one["type"], one["start"], one["end"]) for one in analysis.get("entities", ())
        ]
    elif task == "constituency" and analysis.get("brackets"):
        found.trees[sentence] = Tree.from_brackets(analysis["brackets"])
    elif task == "segmentation":
        cut = [one["tokens"] for one in analysis.get("sentences", ()) if one.get("tokens")]
        found.spans.setdefault("tokens", {})[sentence] = [
            (token["start"], token["end"]) for tokens in cut for token in tokens
        ]
        found.spans.setdefault("sentences", {})[sentence] = [
            (tokens[0]["start"], tokens[-1]["end"]) for tokens in cut
        ]
