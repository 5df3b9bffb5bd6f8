"""Docs as JSON, one object each, and back.

::

    {"text": "Hi!", "sentences": [{"new_paragraph": true,
      "tokens": [{"start": 0, "end": 2, "form": "Hi", "misc": "_", "words": [1, 1]}, ...],
      "words": [{"id": 1, "form": "Hi", "lemma": "hi", "upos": "INTJ", "head": 0, ...}, ...]}]}

A column that is not known is left out, and so is every field that says nothing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from eigentext.errors import DataError
from eigentext.language.sentence import (
    COLUMNS,
    Alternatives,
    Columns,
    Sentence,
    TreeReading,
    WordReading,
)
from eigentext.language.token import Token

if TYPE_CHECKING:
    from eigentext.base.types import Json
    from eigentext.language.doc import Doc

# of words, and of the sentence
_KEYS = {column.json: column for column in COLUMNS if not column.json.endswith("[]")}
_LISTS = {column.json[:-2]: column for column in COLUMNS if column.json.endswith("[]")}


def as_json(doc: Doc) -> str:
    """One line."""
    return json.dumps(as_dict(doc), ensure_ascii=False, separators=(",", ":"))


def as_dict(doc: Doc) -> Json:
    """In JSON's own types."""
    record: Json = {"text": doc.text}
    if doc.id is not None:
        record["id"] = doc.id
    if doc.start:
        record["start"] = doc.start
    record["sentences"] = [_sentence_as_dict(sentence) for sentence in doc.sentences]
    return record


def _sentence_as_dict(sentence: Sentence) -> Json:
    record: Json = {}
    if sentence.sent_id is not None:
        record["sent_id"] = sentence.sent_id
    if sentence.new_paragraph:
        record["new_paragraph"] = True
    if sentence.comments is not None:
        record["comments"] = list(sentence.comments)
    if sentence.empty_nodes:
        record["empty_nodes"] = [list(node) for node in sentence.empty_nodes]
    record["tokens"] = [
        {"start": a, "end": b, "form": form, "misc": misc, "words": [first, last]}
        for form, a, b, misc, first, last in sentence.tokens
    ]
    columns = sentence.columns
    columns_of = {key: column.of(sentence) for key, column in _KEYS.items()}
    rows = {key: values for key, values in columns_of.items() if values is not None}
    keys = ("id", *rows)
    numbers = range(1, len(columns.forms) + 1)
    record["words"] = [
        dict(zip(keys, row, strict=True)) for row in zip(numbers, *rows.values(), strict=True)
    ]
    if sentence.brackets is not None:
        record["constituency"] = sentence.brackets
    if sentence.alternatives is not None:
        alternatives = sentence.alternatives
        if alternatives.readings is not None:
            record["readings"] = [[r._asdict() for r in word] for word in alternatives.readings]
        if alternatives.trees is not None:
            record["trees"] = [tree._asdict() for tree in alternatives.trees]
    for key, column in _LISTS.items():
        values = column.of(sentence)
        if values is not None:
            record[key] = list(values)
    return record


def from_json(source: str | bytes | Json) -> tuple[str, tuple[Sentence, ...], str | None, int]:
    """The fields of the Doc of a JSON object, or of its text."""
    if isinstance(source, (str, bytes)):
        try:
            source = json.loads(source)
        except ValueError as error:
            raise DataError("<json>", None, f"not JSON: {error}") from None
    try:
        record: Any = source
        sentences = tuple(map(_sentence, record["sentences"]))
        return str(record["text"]), sentences, record.get("id"), int(record.get("start", 0))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        missing = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise DataError("<json>", None, f"not a document of ours: {missing}") from None


def _sentence(record: Any) -> Sentence:
    tokens = [
        Token(t["form"], t["start"], t["end"], t["misc"], *t["words"]) for t in record["tokens"]
    ]
    words = record["words"]
    columns: Json = {
        column.name: [word[key] for word in words]
        for key, column in _KEYS.items()
        if words and key in words[0]
    }
    alternatives = None
    if any(name in record for name in Alternatives._fields):
        readings = record.get("readings")
        trees = record.get("trees")
        alternatives = Alternatives(
            readings and [[WordReading(**r) for r in w] for w in readings],
            trees
            and [
                TreeReading(tuple(t["heads"]), tuple(t["deprels"]), t["score"], t["probability"])
                for t in trees
            ],
            **{column.name: record.get(key) for key, column in _LISTS.items()},
        )
    comments = record.get("comments")
    return Sentence(
        tokens,
        Columns(**columns),
        new_paragraph=bool(record.get("new_paragraph", False)),
        sent_id=record.get("sent_id"),
        comments=None if comments is None else tuple(comments),
        empty_nodes=tuple((int(n), str(line)) for n, line in record.get("empty_nodes", ())),
        brackets=record.get("constituency"),
        alternatives=alternatives,
    )
