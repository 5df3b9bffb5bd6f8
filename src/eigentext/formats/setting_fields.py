"""Settings of a model file by type and range: the part of ``fields`` that looks at the header."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Auto", "Flag", "Listed", "Named", "Real", "Setting", "Text", "Whole", "shown"]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One setting; ``optional``: None, or no such setting at all, will do."""

    optional: bool = False

    def check(self, place: str, value: Any) -> None:
        """Raise ValueError for what it cannot be."""
        raise NotImplementedError


@dataclass(frozen=True)
class Whole(Setting):
    """A whole number from ``low`` to ``high``."""

    low: int = -(2**62)
    high: int = 2**62

    def check(self, place: str, value: Any) -> None:
        """Raise ValueError for what it cannot be."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"{place} is {shown(value)}, expected a whole number")
        if not self.low <= value <= self.high:
            bounds = f"{self.low} to {self.high}"
            raise ValueError(f"{place} is {shown(value)}, expected {bounds}")


@dataclass(frozen=True)
class Real(Setting):
    """A finite number from ``low`` to ``high``."""

    low: float = -math.inf
    high: float = math.inf

    def check(self, place: str, value: Any) -> None:
        """Raise ValueError for what it cannot be."""
        sound = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not sound or abs(value) > 1e300 or not self.low <= value <= self.high:
            bounds = "" if self == Real() else f" from {self.low:g} to {self.high:g}"
            raise ValueError(f"{place} is {shown(value)}, expected a number{bounds}")


@dataclass(frozen=True)
class Text(Setting):
    """A string, one of ``choices`` where there are any."""

    choices: Sequence[str] = ()

    def check(self, place: str, value: Any) -> None:
        """Raise ValueError for what it cannot be."""
        if not isinstance(value, str) or (self.choices and value not in self.choices):
            wanted = " or ".join(map(repr, self.choices)) or "text"
            raise ValueError(f"{place} is {shown(value)}, expected {wanted}")


@dataclass(frozen=True)
class Flag(Setting):
    """True or false."""

    def check(self, place: str, value: Any) -> None:
        """Raise ValueError for what it cannot be."""
        if not isinstance(value, bool):
            raise ValueError(f"{place} is {shown(value)}, expected true or false")


@dataclass(frozen=True)
class Auto(Setting):
    """``auto``, or what ``other`` says."""

    other: Setting

    def check(self, place: str, value: Any) -> None:
        """Raise ValueError for what it cannot be."""
        if value != "auto":
            self.other.check(place, value)


@dataclass(frozen=True)
class Listed(Setting):
    """A list of at most ``most`` items, all alike."""

    item: Setting
    most: int = 100_000

    def check(self, place: str, value: Any) -> None:
        """Raise ValueError for what it cannot be."""
        if not isinstance(value, list) or len(value) > self.most:
            raise ValueError(f"{place} is {shown(value)}, expected a list")
        for number, one in enumerate(value):
            self.item.check(f"{place}[{number}]", one)


@dataclass(frozen=True)
class Named(Setting):
    """Settings of their own by name; ``closed``: no others than these."""

    fields: Mapping[str, Setting]
    closed: bool = False

    def check(self, place: str, value: Any) -> None:
        """Raise ValueError for what it cannot be."""
        if not isinstance(value, dict):
            raise ValueError(f"{place} is {shown(value)}, expected settings by name")
        for name, one in self.fields.items():
            if value.get(name) is not None:
                one.check(f"{place}.{name}", value[name])
            elif not one.optional:
                raise ValueError(f"{place}.{name} is missing")
        more = sorted(value.keys() - self.fields.keys())
        if self.closed and more:
            raise ValueError(f"{place}.{more[0]} is not known here")


def shown(value: Any) -> str:
    """The value, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
