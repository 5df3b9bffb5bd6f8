"""What a setting may be: types with bounds, for settings of models and for parts of files.

A :class:`Part` of a model file is declared once, by :func:`~eigentext.base.records.stored`, and
says what the file must hold, how a value gets there and how it comes back.  Those that JSON holds
are here, the other parts of one value in ``fields`` (arrays, strings), those made of others in
``records``.

>>> Whole(1).check("n_states", 0)
Traceback (most recent call last):
...
ValueError: n_states is 0, expected a whole number of at least 1
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np


@dataclass(frozen=True)
class Packed:
    """The content of a model file, by name."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    strings: dict[str, Sequence[str]] = field(default_factory=dict)  # lists
    facts: dict[str, Any] = field(default_factory=dict)  # what else was learned: JSON
    settings: Mapping[str, Any] = field(default_factory=dict)  # what the model was made with
    path: str = "<model>"  # where the parts were read, for messages

    @property
    def values(self) -> dict[str, Any]:
        """Settings and facts: what is in the header."""
        return {**self.settings, **self.facts}


class Part:
    """Something that a model file holds."""

    optional: bool = False  # a file may be without it
    nameless: bool = False  # its parts have names of their own, whatever that of the field is

    def leaves(self, name: str, values: Mapping[str, object] | None) -> Iterator[tuple[str, Part]]:
        """What is stored under which name in a file with these settings and facts.

        Where these are None, whatever depends on them is left out.
        """
        yield name, self

    def pack(self, name: str, value: Any, packed: Packed) -> None:
        """Put the value, which is not None, among the parts of a file."""
        raise NotImplementedError

    def is_in(self, name: str, packed: Packed) -> bool:
        """Does the file hold it?  Asked of leaves alone."""
        raise NotImplementedError

    def unpack(self, name: str, packed: Packed) -> Any:
        """The value that :meth:`pack` put there; None where there is none."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Value(Part):
    """Of any type; ``optional``: None, or no such value at all, will do."""

    optional: bool = False

    def check(self, path: str, value: object) -> None:
        """Raise ValueError for what it cannot be."""
        raise NotImplementedError

    def __str__(self) -> str:
        """The type as a docstring says it; nothing where only its annotation can say."""
        return ""

    def pack(self, name: str, value: Any, packed: Packed) -> None:
        packed.facts[name] = value

    def is_in(self, name: str, packed: Packed) -> bool:
        return name in packed.facts

    def unpack(self, name: str, packed: Packed) -> Any:
        """The fact; a list becomes a tuple."""
        value = packed.facts.get(name)
        return tuple(value) if isinstance(value, list) else value


@dataclass(frozen=True)
class Anything(Value):
    """What only the model itself can check: a mapping, a callable, a record of its own."""

    def check(self, path: str, value: object) -> None:
        """Nothing is refused here."""


@dataclass(frozen=True)
class Whole(Value):
    """A whole number from ``low`` to ``high``."""

    low: int = -(2**62)
    high: int = 2**62

    def check(self, path: str, value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"{path} is {shown(value)}, expected a whole number")
        if not self.low <= value <= self.high:
            bounds = _bounds(self.low, self.high, Whole())
            raise ValueError(f"{path} is {shown(value)}, expected a whole number{bounds}")

    def __str__(self) -> str:
        return f"int{_bounds(self.low, self.high, Whole())}"


@dataclass(frozen=True)
class Real(Value):
    """A finite number from ``low`` to ``high``; ``open``: neither of these two."""

    low: float = -math.inf
    high: float = math.inf
    open: bool = False

    def check(self, path: str, value: Any) -> None:
        sound = isinstance(value, (int, float)) and not isinstance(value, bool)
        within = sound and (
            self.low < value < self.high if self.open else self.low <= value <= self.high
        )
        if not within or abs(value) > 1e300:
            bounds = _bounds(self.low, self.high, Real(), open_ended=self.open)
            raise ValueError(f"{path} is {shown(value)}, expected a number{bounds}")

    def __str__(self) -> str:
        return f"float{_bounds(self.low, self.high, Real(), open_ended=self.open)}"


@dataclass(frozen=True)
class Text(Value):
    """A string, one of ``choices`` where there are any."""

    choices: Sequence[str] = ()

    def check(self, path: str, value: object) -> None:
        if not isinstance(value, str) or (self.choices and value not in self.choices):
            *most, last = map(repr, self.choices or ["text"])
            choices = f"{', '.join(most)} or {last}" if most else last.strip("'")
            raise ValueError(f"{path} is {shown(value)}, expected {choices}")

    def __str__(self) -> str:
        return f"{{{', '.join(map(repr, self.choices))}}}" if self.choices else "str"


@dataclass(frozen=True)
class Flag(Value):
    """True or false."""

    def check(self, path: str, value: object) -> None:
        if not isinstance(value, bool):
            raise ValueError(f"{path} is {shown(value)}, expected true or false")

    def __str__(self) -> str:
        return "bool"


@dataclass(frozen=True)
class Auto(Value):
    """``auto``, or what ``other`` says."""

    other: Value

    def check(self, path: str, value: object) -> None:
        if value == "auto":
            return
        try:
            self.other.check(path, value)
        except ValueError as error:
            raise ValueError(f"{error}, or 'auto'") from None

    def __str__(self) -> str:
        return f"{self.other} or 'auto'"


@dataclass(frozen=True)
class Listed(Value):
    """A list of at most ``most`` items, all alike."""

    item: Value
    most: int = 100_000

    def check(self, path: str, value: object) -> None:
        if not isinstance(value, list) or len(value) > self.most:
            raise ValueError(f"{path} is {shown(value)}, expected a list")
        for number, item in enumerate(value):
            self.item.check(f"{path}[{number}]", item)

    def __str__(self) -> str:
        return f"list of {self.item}"


@dataclass(frozen=True)
class Named(Value):
    """Settings of their own by name; ``closed``: no others than these."""

    fields: Mapping[str, Value]
    closed: bool = False

    def check(self, path: str, value: object) -> None:
        if not isinstance(value, dict):
            raise ValueError(f"{path} is {shown(value)}, expected settings by name")
        for name, item in self.fields.items():
            if value.get(name) is not None:
                item.check(f"{path}.{name}", value[name])
            elif not item.optional:
                raise ValueError(f"{path}.{name} is missing")
        more = sorted(value.keys() - self.fields.keys())
        if self.closed and more:
            raise ValueError(f"{path}.{more[0]} is not known here")

    def __str__(self) -> str:
        return "dict"


def _bounds(low: float, high: float, free: Any, *, open_ended: bool = False) -> str:
    """The bounds in words; those of ``free`` are none."""
    if low == free.low and high == free.high:
        return ""
    if high == free.high:
        return f" above {low:g}" if open_ended else f" of at least {low:g}"
    if low == free.low:
        return f" below {high:g}" if open_ended else f" of at most {high:g}"
    return f" between {low:g} and {high:g}" if open_ended else f" from {low:g} to {high:g}"


def shown(value: object) -> str:
    """The value, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
