r"""JSON Lines: an object a line, one of whose fields is text.

Blank lines are passed over, and a byte-order mark at the start of a line (files that were put
together have it in their middle).
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from eigentext.errors import shortened

_KINDS = {bool: "true or false", int: "a number", float: "a number", list: "a list"}
_KINDS |= {dict: "an object", str: "a string"}


class BadRecord(ValueError):
    """Why a record has no text; whoever knows the file and the place says the rest."""


def text_of(line: str, field: str) -> str | None:
    r"""The text of one line, None of a blank one.

    >>> text_of('{"id": 7, "text": "It rains.\\nWe stay."}', "text")
    'It rains.\nWe stay.'
    >>> text_of('{"id": 7, "b": "It rains."}', "text")
    Traceback (most recent call last):
    eigentext.language.formats.jsonl.BadRecord: no field 'text', found: id, b (--field chooses one)
    """
    line = line.removeprefix("\ufeff")
    if not line.strip():
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"expected a JSON object: {error}") from error
    if not isinstance(record, dict):
        raise BadRecord(f"{_kind(record)}, expected a JSON object")
    if field not in record:
        raise BadRecord(f"no field {field!r}, found: {named(record)} (--field chooses one)")
    text = record[field]
    if not isinstance(text, str):
        raise BadRecord(f"{_kind(text)} in the field {field!r}, expected a string")
    return text


def _kind(value: object) -> str:
    return "null" if value is None else _KINDS[type(value)]


def named(fields: Iterable[str]) -> str:
    """The names of fields, for a message."""
    return shortened(", ".join(fields) or "none", 300)
