"""The settings file of a label scheme, checked on reading, and its rules as functions.

An element's function takes the analysis and the values of the earlier elements; it gives one
value, or several where the analysis leaves the element open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from eigentext.errors import DataError

if TYPE_CHECKING:
    from eigentext.base.types import Json
    from eigentext.lexical.analysis import Analysis

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
    """A whole scheme file."""

    model_config = _STRICT

    name: str = Field(min_length=1)
    language: str = ""
    note: str = ""
    missing: str = "-"
    tag_separator: str = ":"
    elements: tuple[ElementSettings, ...] = Field(min_length=1)
    rules: tuple[RuleSettings, ...] = ()
    unlabelled: dict[str, tuple[str, ...]] = Field(default_factory=dict)


def read_settings(text: str, source: str) -> tuple[SchemeSettings, str | Json | None]:
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


Values = tuple[str, ...]
Compute = Callable[["Analysis", Sequence[Values]], Values]
Condition = Callable[["Analysis", Sequence[str]], bool]
_FIELDS = ("lemma", "tag", "source", "vocalised", "gloss", "root")


def _matcher(patterns: str | tuple[str, ...]) -> Callable[[str], bool]:
    """Whether a value is one of these; ``*`` and ``?`` stand for what they usually do."""
    listed = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    plain = frozenset(pattern for pattern in listed if not re.search(r"[*?\[]", pattern))
    wild = [pattern for pattern in listed if pattern not in plain]
    if not wild:
        return plain.__contains__

    @lru_cache(maxsize=4096)
    def matches(value: str) -> bool:
        return value in plain or any(fnmatchcase(value, pattern) for pattern in wild)

    return matches


def _reader(source: str, absent: str) -> Callable[[Analysis], str]:
    if source.startswith("@") and source[1:] in _FIELDS:
        field = source[1:]
        return lambda analysis: getattr(analysis, field)
    if source.startswith("@"):
        raise KeyError(source)
    return lambda analysis: analysis.features.get(source, absent)


def compile_condition(
    name: str, patterns: str | tuple[str, ...], index_of: Mapping[str, int]
) -> Condition:
    """A condition on a finished label: an element's value, or with ``@`` a feature or a field."""
    matches = _matcher(patterns)
    if name.startswith("@"):
        read = _reader(name if name[1:] in _FIELDS else name[1:], "")
        return lambda analysis, _label: matches(read(analysis))
    index = index_of[name]
    return lambda _analysis, label: matches(label[index])


def _rewriter(element: ElementSettings, missing: str) -> Callable[[str], str]:
    steps = [(re.compile(step.pattern), step.replace) for step in element.steps]
    exact = {k: v for k, v in element.map.items() if not re.search(r"[*?\[]", k)}
    wild = [(k, v) for k, v in element.map.items() if k not in exact]

    @lru_cache(maxsize=1 << 14)
    def rewrite(value: str) -> str:
        for pattern, replacement in steps:
            value = pattern.sub(replacement, value)
        if element.map:
            if value in exact:
                return exact[value]
            for shape, other in wild:
                if fnmatchcase(value, shape):
                    return other
            return missing
        return value or missing

    return rewrite


def compile_element(
    element: ElementSettings,
    index_of: Mapping[str, int],
    missing: str,
    *,
    base: Sequence[str] = (),
    taken: frozenset[str] = frozenset(),
    separator: str = ":",
) -> Compute:
    """The function that gives an element's values for an analysis."""
    rewrite = _rewriter(element, missing)
    read = _source(element, missing, base, taken, separator)
    opened = {value: tuple(values) for value, values in element.open.items()}
    stands = _earlier(element, element.when, index_of)
    instead = [
        (_earlier(element, other.when, index_of), _reader(other.feature, ""))
        for other in element.instead
    ]
    nothing = (missing,)

    @lru_cache(maxsize=1 << 14)
    def values_of(raw: str) -> Values:
        value = rewrite(raw)
        return opened.get(value, (value,))

    def compute(analysis: Analysis, earlier: Sequence[Values]) -> Values:
        if not stands(analysis, earlier):
            return nothing
        for holds, read_other in instead:
            if holds(analysis, earlier):
                return values_of(read_other(analysis))
        return values_of(read(analysis))

    return compute


def _earlier(
    element: ElementSettings, when: Mapping[str, str | tuple[str, ...]], numbers: Mapping[str, int]
) -> Callable[[Analysis, Sequence[Values]], bool]:
    """Whether features, and the values of elements before this one, are as the settings ask."""
    on_features, on_elements = [], []
    for name, patterns in when.items():
        if name.startswith("@"):
            read = _reader(name if name[1:] in _FIELDS else name[1:], "")
            on_features.append((read, _matcher(patterns)))
        elif numbers[name] < numbers[element.name]:
            on_elements.append((numbers[name], _matcher(patterns)))
        else:
            raise KeyError(name)

    def holds(analysis: Analysis, earlier: Sequence[Values]) -> bool:
        return all(matches(earlier[index][0]) for index, matches in on_elements) and all(
            matches(read(analysis)) for read, matches in on_features
        )

    return holds


def _source(
    element: ElementSettings, missing: str, base: Sequence[str], taken: frozenset[str], joint: str
) -> Callable[[Analysis], str]:
    """The function that reads an element's raw value off an analysis."""
    if element.feature is not None:
        return _reader(element.feature, "")
    if element.tag_part is not None:
        parts = frozenset(element.tag_part)

        def part(analysis: Analysis) -> str:
            for piece in analysis.tag.split(joint):
                if piece in parts:
                    return piece
            return ""

        return part
    if element.rest == "tag":
        return lambda analysis: joint.join(
            piece for piece in analysis.tag.split(joint) if piece not in taken
        )
    if element.rest == "features":
        return lambda analysis: "|".join(
            f"{name}={value}"
            for name, value in sorted(analysis.features.items())
            if name not in taken
        )
    if element.join is not None:
        names = element.join
        _check_base(names, base)

        def join(analysis: Analysis) -> str:
            values = [analysis.features[name] for name in names]
            return missing if all(value == missing for value in values) else ".".join(values)

        return join
    name, position = element.char or ("", 0)
    _check_base((name,), base)
    return lambda analysis: analysis.features[name][position : position + 1]


def _check_base(names: Sequence[str], base: Sequence[str]) -> None:
    for name in names:
        if name not in base:
            raise KeyError(name)
