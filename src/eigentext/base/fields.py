"""What a model file of a kind must hold: settings, lists of strings and arrays, field by field.

A file can be wrong and still have a good checksum, and compiled loops trust the numbers that they
index with.  So each kind of model has one :class:`Spec`, and ``modelfile.load`` holds every file
against it before anything is made of the content:

1. settings by type and range (:class:`Whole`, :class:`Real`, :class:`Text`, :class:`Flag`,
   :class:`Auto`, :class:`Listed`, :class:`Named`); settings that the spec does not name are left
   to the model;
2. lists of strings by length (:class:`Strings`);
3. arrays by type, shape and values (:class:`Ints`, :class:`Reals`, :class:`Shares`,
   :class:`Pointers`, :class:`Sparse`); an array that the spec does not name is refused;
4. what no single field can say, by ``holds``.

A shape is made of numbers and of names such as ``words`` or ``words+1``: a name takes its value
from the first field that has it, lists of strings first, and must fit in all others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.layout import extremes
from eigentext.base.values import (
    Auto,
    Flag,
    Listed,
    Named,
    Real,
    Text,
    Value,
    Whole,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "Array",
    "Auto",
    "Bits",
    "Flag",
    "Ints",
    "Listed",
    "Named",
    "Parts",
    "Pointers",
    "Real",
    "Reals",
    "Shares",
    "Sparse",
    "Spec",
    "Strings",
    "Text",
    "Value",
    "Whole",
    "check",
]

Size = int | str
_SIZE = re.compile(r"([a-z_][a-z_0-9.]*)([+-]\d+)?", re.IGNORECASE)


class Sizes(dict[str, int]):
    """Values of the names in shapes."""

    def match(self, path: str, size: Size, length: int) -> None:
        """``length`` is what the name says, or what it says from now on."""
        if isinstance(size, int):
            expected = size
        else:
            name, more = self._parsed(size)
            expected = self.setdefault(name, length - more) + more
        if length != expected or length < 0:
            size_name = "" if isinstance(size, int) else f" ({size})"
            raise ValueError(f"{path} has length {length}, expected {expected}{size_name}")

    def value(self, size: Size) -> int:
        """The value of a name that has one."""
        if isinstance(size, int):
            return size
        name, more = self._parsed(size)
        return self[name] + more

    @staticmethod
    def _parsed(size: str) -> tuple[str, int]:
        parsed = _SIZE.fullmatch(size)
        if parsed is None:
            raise TypeError(f"{size!r} is no size: expected a name, with +1 or so behind it")
        return parsed[1], int(parsed[2] or 0)


# ---------------------------------------------------------------- strings and arrays


@dataclass(frozen=True)
class Strings:
    """A list of ``size`` strings; ``distinct``: no two alike; ``bits``: of 0 and 1 only."""

    size: Size
    distinct: bool = False
    bits: bool = False
    optional: bool = False

    def check(self, path: str, items: Sequence[str], sizes: Sizes) -> None:
        """Raise ValueError for what it cannot be."""
        sizes.match(path, self.size, len(items))
        if self.distinct and len(set(items)) < len(items):
            raise ValueError(f"{path} has the same string twice, expected different ones")
        if self.bits:
            for item in items:
                if set(item) - {"0", "1"}:
                    raise ValueError(f"{path} holds {shown(item)}, expected 0s and 1s")


@dataclass(frozen=True)
class Array:
    """An array of one of these ``types``."""

    shape: Sequence[Size]
    types: Sequence[str] = ()
    optional: bool = field(default=False, kw_only=True)

    def check(self, path: str, array: np.ndarray, sizes: Sizes) -> None:
        """Raise ValueError for what it cannot be."""
        if array.dtype.name not in self.types:
            wanted = " or ".join(self.types)
            raise ValueError(f"{path} has type {array.dtype.name}, expected {wanted}")
        if array.ndim != len(self.shape):
            raise ValueError(f"{path} has {array.ndim} axes, expected {len(self.shape)}")
        for axis, (size, length) in enumerate(zip(self.shape, array.shape, strict=True)):
            sizes.match(path if len(self.shape) == 1 else f"{path}, axis {axis},", size, length)


@dataclass(frozen=True)
class Ints(Array):
    """Integers from ``low`` up to and without ``below``, a size or a number.

    ``rising``: each larger than the one before.
    """

    types: Sequence[str] = ("int64",)
    low: int | None = None
    below: Size | None = None
    rising: bool = False

    def check(self, path: str, array: np.ndarray, sizes: Sizes) -> None:
        """Raise ValueError for what it cannot be."""
        super().check(path, array, sizes)
        if not array.size:
            return
        low, high = (int(number) for number in extremes(array))
        if self.low is not None and low < self.low:
            raise ValueError(f"{path} holds {low}, expected at least {self.low}")
        if self.below is not None and high >= (end := sizes.value(self.below)):
            raise ValueError(f"{path} holds {high}, expected less than {end} ({self.below})")
        if self.rising and bool(np.any(array[1:] <= array[:-1])):
            raise ValueError(f"{path} does not rise")


@dataclass(frozen=True)
class Reals(Array):
    """Finite numbers from ``low`` to ``high``."""

    types: Sequence[str] = ("float64",)
    low: float = -1e100
    high: float = 1e100

    def check(self, path: str, array: np.ndarray, sizes: Sizes) -> None:
        """Raise ValueError for what it cannot be."""
        super().check(path, array, sizes)
        if not array.size:
            return
        low, high = (float(number) for number in extremes(array))  # nan where there is one
        if not (self.low <= low and high <= self.high):
            extreme = low if not self.low <= low else high
            bounds = f"{self.low:g} to {self.high:g}"
            raise ValueError(f"{path} holds {extreme:g}, expected {bounds}")


@dataclass(frozen=True)
class Shares(Reals):
    """Probabilities, with a little room for rounding."""

    low: float = 0.0
    high: float = 1.001


@dataclass(frozen=True)
class Bits(Array):
    """Bytes that a reader of their own looks at."""

    types: Sequence[str] = ("uint8",)


@dataclass(frozen=True)
class Pointers:
    """Where each of ``parts`` begins in something of ``total`` items: 0, rising, ``total``."""

    parts: Size
    total: Size
    types: Sequence[str] = ("int64",)
    optional: bool = False

    def check(self, path: str, array: np.ndarray, sizes: Sizes) -> None:
        """Raise ValueError for what it cannot be."""
        Array(("any",), self.types).check(path, array, Sizes())
        sizes.match(path, self.parts, len(array) - 1)
        if array[0] != 0 or bool(np.any(array[1:] < array[:-1])):
            raise ValueError(f"{path} does not rise from 0")
        sizes.match(f"what {path} points into", self.total, int(array[-1]))


@dataclass(frozen=True)
class _Shape(Array):
    """The shape of a sparse matrix."""

    expected: tuple[Size, Size] = (0, 0)

    def check(self, path: str, array: np.ndarray, sizes: Sizes) -> None:
        """Raise ValueError for what it cannot be."""
        super().check(path, array, sizes)
        for axis, size in enumerate(self.expected):
            sizes.match(f"{path}, axis {axis},", size, int(array[axis]))


@dataclass(frozen=True)
class Sparse:
    """A sparse matrix as ``pack_csr`` stores it; its four arrays are named after it."""

    shape: tuple[Size, Size]
    types: Sequence[str] = ("int64",)
    low: float = -1e100
    high: float = 1e100
    optional: bool = False

    def parts(self, name: str) -> dict[str, Array | Pointers]:
        """Its four arrays; that the columns lie within the matrix, ``unpack_csr`` checks."""
        index, entries = ("int32", "int64"), f"{name}.entries".replace("/", ".").replace("-", "_")
        values = Reals((entries,), self.types, self.low, self.high, optional=self.optional)
        return {
            f"{name}/shape": _Shape((2,), ("int64",), self.shape, optional=self.optional),
            f"{name}/data": values,
            f"{name}/indptr": Pointers(self.shape[0], entries, index, self.optional),
            f"{name}/indices": Ints((entries,), index, 0, self.shape[1], optional=self.optional),
        }


@dataclass(frozen=True)
class Parts:
    """The lists of strings and the arrays of a kind; ``sizes`` that are known beforehand."""

    arrays: Mapping[str, Array | Pointers | Sparse]
    strings: Mapping[str, Strings] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Spec:
    """All of a kind.

    ``settings``  checked first, so that ``parts`` may rely on them
    ``parts``     the same for all files, or made from the settings
    ``holds``     (arrays, strings, settings) -> None, or a ValueError that says what is wrong
    """

    settings: Mapping[str, Value]
    parts: Parts | Callable[[dict[str, Any]], Parts]
    holds: Callable[[Mapping[str, np.ndarray], Mapping[str, list[str]], dict[str, Any]], None] = (
        lambda arrays, strings, settings: None
    )


def check(
    spec: Spec,
    arrays: Mapping[str, np.ndarray],
    strings: Mapping[str, list[str]],
    settings: dict[str, Any],
) -> None:
    """Raise ValueError for content that is not what the spec says.

    >>> ids = Ints(("words",), low=0, below=9)
    >>> spec = Spec({}, Parts({"ids": ids}, {"names": Strings("words")}))
    >>> check(spec, {"ids": np.array([3, 9])}, {"names": ["a", "b"]}, {})
    Traceback (most recent call last):
    ...
    ValueError: array 'ids' holds 9, expected less than 9 (9)
    """
    Named(spec.settings).check("settings", settings)
    parts = spec.parts(settings) if callable(spec.parts) else spec.parts
    sizes = Sizes(parts.sizes)
    _same_names("strings", parts.strings, strings)
    for name, part_strings in parts.strings.items():
        if name in strings:
            part_strings.check(f"strings {name!r}", strings[name], sizes)
    flat: dict[str, Array | Pointers] = {}
    for name, part in parts.arrays.items():
        flat |= part.parts(name) if isinstance(part, Sparse) else {name: part}
    _same_names("array", flat, arrays)
    for name, array in flat.items():
        if name in arrays:
            array.check(f"array {name!r}", arrays[name], sizes)
    spec.holds(arrays, strings, settings)


def _same_names(what: str, expected: Mapping[str, Any], actual: Mapping[str, Any]) -> None:
    missing = [name for name, item in expected.items() if name not in actual and not item.optional]
    if missing:
        raise ValueError(f"{what} {missing[0]!r} is missing")
    more = sorted(actual.keys() - expected.keys())
    if more:
        raise ValueError(f"{what} {more[0]!r} does not belong into such a file")
