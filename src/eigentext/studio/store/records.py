"""What a store gives: plain records, one for each kind of row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from eigentext.base.types import Json
from eigentext.errors import DataError
from eigentext.language import Columns, Doc, Sentence, Token
from eigentext.studio.tasks.texts import COLUMN_OF, column_of

Place = tuple[int, str]
"""A sentence, from 0, and an item in it, such as ``(0, "w3")``."""


class Project(NamedTuple):
    """A project; ``settings`` are the task's own, ``model`` names the one that proposes."""

    id: int
    name: str
    task: str
    language: str
    guidelines: str
    settings: Json
    model: str
    created: str
    deleted: str | None


class DocumentFacts(NamedTuple):
    """A document without its text."""

    id: int
    project: int
    name: str
    n_sentences: int
    n_words: int
    about: Json
    created: str
    deleted: str | None


class StoredDocument(NamedTuple):
    """A document; ``sentences`` are the records that `record_of` writes."""

    name: str
    text: str | None
    sentences: list[Json]
    about: Json
    id: int = 0
    project: int = 0
    created: str = ""
    deleted: str | None = None

    @classmethod
    def of(cls, doc: Doc, about: Json) -> StoredDocument:
        """A text that is to be stored."""
        return cls(doc.id or "", doc.text or None, list(map(record_of, doc)), about)

    @property
    def n_words(self) -> int:
        """How many words there are."""
        return sum(len(sentence["tokens"]) for sentence in self.sentences)

    @property
    def doc(self) -> Doc:
        """The text as tasks take it."""
        return Doc(self.text or "", tuple(map(sentence_of, self.sentences)), self.name)


class Layer(NamedTuple):
    """What one annotator (or adjudication, whose ``user`` is None) makes of one document."""

    id: int
    document: int
    kind: str
    user: int | None
    version: int
    created: str
    done: str | None
    saw: int | None = None  # its version when its annotator first saw the adjudication
    decided: int = 0  # items for which a decision holds
    done_sentences: int = 0

    @property
    def closed(self) -> bool:
        """Finished, and then compared with the adjudication: what would follow is not blind."""
        return self.done is not None and self.saw is not None


class Change(NamedTuple):
    """A decision as it is handed in: ``value`` is JSON; None is "none is right", or removed."""

    sentence: int
    item: str
    value: Any
    rank: int | None = None  # of the value among the proposals, from 1; None: not listed
    ranked: bool = True  # they were shown in the model's order
    seconds: float | None = None
    keys: int | None = None
    note: str = ""


class Decision(NamedTuple):
    """A decision as it is stored: never changed, but for being taken back (``undone``)."""

    id: int
    layer: int
    version: int
    sentence: int
    item: str
    value: Any
    rank: int | None
    ranked: bool
    seconds: float | None
    keys: int | None
    note: str
    user: int | None
    at: str
    undone: str | None
    undone_version: int | None
    undone_by: int | None
    redo_of: int | None

    @property
    def place(self) -> Place:
        """The sentence and the item."""
        return self.sentence, self.item


class State(NamedTuple):
    """What holds in a layer, in the order of the text, and how it came."""

    layer: Layer
    decisions: dict[Place, Decision]
    last: tuple[Decision, ...]  # what an undo would take back
    redoable: tuple[Decision, ...]  # what a redo would bring back

    @property
    def version(self) -> int:
        """What a client has seen who saw this."""
        return self.layer.version

    @property
    def values(self) -> dict[Place, Any]:
        """The value of every item that was decided."""
        return {key: decision.value for key, decision in self.decisions.items()}


class OpenLayer(NamedTuple):
    """A layer of a document with what a request about some of its sentences needs."""

    project: Project
    document: DocumentFacts
    layer: Layer
    file: str  # the model learned from decisions that proposes now; empty: none
    people: dict[int, str]  # the names of all users by number
    decisions: dict[Place, Decision]  # what holds in those sentences

    @property
    def values(self) -> dict[Place, Any]:
        """The value of every item that was decided in those sentences."""
        return {key: decision.value for key, decision in self.decisions.items()}


class MadeModel(NamedTuple):
    """A model that was learned from decisions."""

    id: int
    project: int
    file: str
    trained: str
    user: int | None
    scores: Json
    in_use: bool


class AuditEntry(NamedTuple):
    """Who did what, when."""

    id: int
    at: str
    user: int | None
    action: str
    about: Json


# ---- a sentence, and the JSON of it that is stored
#
# ``tokens``    of each word its form, and where its token stands in the text
# ``columns``   of words, by the names of `COLUMN_OF`; ``brackets``, a tree; ``ranges``, multiword
#               tokens as [first word, last word, form, misc]; ``empty``, empty nodes as
#               [number of the word before, line]
# ``comments``  lines of CoNLL-U that begin with ``#``


def record_of(sentence: Sentence) -> Json:
    """A sentence as it is stored.

    >>> record_of(Doc.from_tokens([["a"]]).sentences[0])
    {'tokens': [{'text': 'a', 'start': 0, 'end': 1}], 'columns': {}, 'comments': []}
    """
    columns: Json = {name: column_of(sentence, name) for name in COLUMN_OF}
    columns["brackets"] = sentence.brackets
    columns["ranges"] = [[t.first, t.last, t.form, t.misc] for t in sentence.tokens if t[4] < t[5]]
    columns["empty"] = [list(node) for node in sentence.empty_nodes]
    words = [
        {"text": form, "start": token.start, "end": token.end}
        for token in sentence.tokens
        for form in sentence.forms[token.first - 1 : token.last]
    ]
    filled = {name: value for name, value in columns.items() if value}
    return {"tokens": words, "columns": filled, "comments": list(sentence.comments or ())}


def sentence_of(record: Mapping[str, Any]) -> Sentence:
    """The sentence of a record.

    >>> sentence_of({"tokens": [{"text": "a", "start": 0, "end": 1}]}).tokens
    (Token(form='a', start=0, end=1, misc='_', first=1, last=1),)
    """
    words, columns = record["tokens"], record.get("columns") or {}
    cells = {name: columns[name] for name in COLUMN_OF if columns.get(name)}
    for name, values in cells.items():
        if len(values) != len(words):
            why = f"column {name} has {len(values)} values for {len(words)} words"
            raise DataError("<sentence>", None, why)
    miscs = cells.pop("misc", ["_"] * len(words))
    inside = ["_"] * len(words)  # what words of multiword tokens have in MISC
    units = {unit[0]: unit for unit in columns.get("ranges") or ()}
    tokens: list[Token] = []
    while (first := tokens[-1].last + 1 if tokens else 1) <= len(words):
        word = words[first - 1]
        _, last, form, misc = units.get(first, (first, first, word["text"], miscs[first - 1]))
        if first < last:
            inside[first - 1 : last] = miscs[first - 1 : last]
        start, end = word.get("start", -1), words[last - 1].get("end", -1)
        tokens.append(Token(form, start, end, misc, first, last))
    heads = cells.pop("head", ["_"])
    return Sentence(
        tuple(tokens),
        Columns(
            tuple(word["text"] for word in words),
            **{COLUMN_OF[name].name: tuple(values) for name, values in cells.items()},
            heads=None if "_" in heads else tuple(map(int, heads)),
            misc=None if set(inside) <= {"_"} else inside,
        ),
        comments=tuple(record.get("comments") or ()),
        empty_nodes=tuple((after, line) for after, line in columns.get("empty") or ()),
        brackets=columns.get("brackets"),
    )


def is_sentence(record: object) -> bool:
    """Whether it is the record of a sentence: a dump may hold anything.

    >>> is_sentence({"tokens": [{"text": "a"}]}), is_sentence({"tokens": [{"text": 3}]})
    (True, False)
    """
    if not isinstance(record, dict):
        return False
    tokens, columns = record.get("tokens"), record.get("columns") or {}
    return (
        isinstance(tokens, list)
        and all(map(_is_word, tokens))
        and isinstance(columns, dict)
        and all(_is_column(name, columns[name], len(tokens)) for name in columns)
        and _are(record.get("comments") or [], str)
    )


def _are(values: object, *kinds: type) -> bool:
    return isinstance(values, list) and all(isinstance(value, kinds) for value in values)


def _is_word(word: object) -> bool:
    return (
        isinstance(word, dict)
        and isinstance(word.get("text"), str)
        and all(type(word.get(end, -1)) is int for end in ("start", "end"))
    )


def _is_column(name: str, values: Any, n_words: int) -> bool:
    if name == "brackets":
        return isinstance(values, str)
    if name == "ranges":  # they go on behind one another, within the sentence
        kinds = _are(values, list) and all(
            [*map(type, unit)] == [int, int, str, str] for unit in values
        )
        ends = [end for unit in values for end in unit[:2]] if kinds else []
        return kinds and all(a < b for a, b in zip([0, *ends], [*ends, n_words + 1], strict=True))
    if name == "empty":
        return _are(values, list) and all([*map(type, node)] == [int, str] for node in values)
    heads = _are(values, str) and all(head == "_" or head.isdecimal() for head in values)
    return _are(values, str) and len(values) == n_words and (name != "head" or heads)
