"""The label scheme's settings file: what may stand in it, checked once on reading."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from eigentext.errors import DataError

_STRICT = ConfigDict(frozen=True, extra="forbid")


class Step(BaseModel):
    """One rewriting of a value: what the pattern finds is replaced."""

    model_config = _STRICT

    pattern: str
    replace: str = ""

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from error
        return pattern


class Instead(BaseModel):
    """Another feature to read where earlier elements have these values."""

    model_config = _STRICT

    when: dict[str, str | tuple[str, ...]]
    feature: str


class ElementSettings(BaseModel):
    """Where the value of one label element comes from.

    Exactly one source: ``feature`` (of the analysis; ``@lemma``, ``@tag``, ``@source`` are
    fields), ``tag_part`` (the part of the tag that is one of these values), ``rest`` (features, or
    parts of the tag, that no other element takes), ``join`` (elements of the base scheme, joined
    by dots) or ``char`` (one character of an element of the base scheme).
    """

    model_config = _STRICT

    name: str = Field(min_length=1)
    feature: str | None = None
    tag_part: tuple[str, ...] | None = None
    rest: str | None = Field(default=None, pattern="^(features|tag)$")
    join: tuple[str, ...] | None = None
    char: tuple[str, int] | None = None
    instead: tuple[Instead, ...] = ()
    steps: tuple[Step, ...] = ()
    map: dict[str, str] = Field(default_factory=dict)
    when: dict[str, str | tuple[str, ...]] = Field(default_factory=dict)
    open: dict[str, tuple[str, ...]] = Field(default_factory=dict)


class RuleSettings(BaseModel):
    """What else holds where the conditions do.

    ``set`` gives elements other values, in place or (``also``) in a further label; ``read_as``
    projects the analysis once more with other features or fields (``@lemma``); ``{lemma}`` in a
    field stands for that element's value.
    """

    model_config = _STRICT

    when: dict[str, str | tuple[str, ...]]
    set: dict[str, str] = Field(default_factory=dict)
    also: bool = False
    read_as: dict[str, str] = Field(default_factory=dict)


class SchemeSettings(BaseModel):
    """A whole scheme file.

    ``unlabelled`` gives the values by which gold says that a word was not analysed: such a word
    has no label, and nothing is learned from it.
    """

    model_config = _STRICT

    name: str = Field(min_length=1)
    language: str = ""
    note: str = ""
    missing: str = "-"
    tag_separator: str = ":"
    elements: tuple[ElementSettings, ...] = Field(min_length=1)
    rules: tuple[RuleSettings, ...] = ()
    unlabelled: dict[str, tuple[str, ...]] = Field(default_factory=dict)


def read_settings(text: str, source: str) -> tuple[SchemeSettings, Any]:
    """The settings of a scheme file, and its ``base`` (a name, a whole scheme, or None)."""
    import json

    try:
        declared = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(source, None, f"expected JSON: {error}") from error
    if not isinstance(declared, dict):
        raise DataError(source, None, f"expected a JSON object, found {type(declared).__name__}")
    base = declared.pop("base", None)
    if base is not None and not isinstance(base, str | dict):
        raise DataError(source, None, "base: expected a scheme's name or a scheme")
    try:
        settings = SchemeSettings.model_validate(declared)
    except ValidationError as error:
        first = error.errors()[0]
        location = ".".join(map(str, first["loc"])) or "the scheme"
        raise DataError(source, None, f"{location}: {first['msg']}") from error
    for element in settings.elements:
        sources = (element.feature, element.tag_part, element.rest, element.join, element.char)
        if sum(value is not None for value in sources) != 1:
            why = "expected one of feature, tag_part, rest, join, char"
            raise DataError(source, None, f"element {element.name}: {why}")
        if (element.join or element.char) and base is None:
            why = "join and char factor the labels of a base scheme, and there is none"
            raise DataError(source, None, f"element {element.name}: {why}")
    for number, rule in enumerate(settings.rules, start=1):
        if bool(rule.set) == bool(rule.read_as):
            raise DataError(source, None, f"rule {number}: expected either set or read_as")
    return settings, base
