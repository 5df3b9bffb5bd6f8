"""What a model file of a kind must hold: settings, lists of strings and arrays, field by field.

A file can be wrong and still have a good checksum, and compiled loops trust the numbers that they
index with.  So each kind of model has its :class:`Contents`, and ``modelfile.load`` holds every
file against them before anything is made of it.  Settings that are not named are left to the
model; an array that is not named is refused.

A shape is made of numbers and of names such as ``words`` or ``words+1``.  A name is that of a fact
that is a whole number, or of such a setting in ``Contents.settings``; any other takes its value
from the first field that has it, lists of strings first, and must fit in all others.  None is any
length, and a function makes the size of settings and facts.  Inside of an ``Each`` (``records``)
``#`` in a name is the number of the part, so that each has a size of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.layout import extremes, pack_csr, unpack_csr
from eigentext.base.values import (
    Auto,
    Flag,
    Listed,
    Named,
    Packed,
    Part,
    Real,
    Text,
    Value,
    Whole,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scipy.sparse import csr_array

__all__ = ["Auto", "Flag", "Listed", "Named", "Real", "Text", "Value", "Whole"]  # of values
__all__ += ["Array", "Bits", "Ints", "Pointers", "Reals", "Shares", "Sparse"]  # arrays
__all__ += ["Contents", "Sized", "Strings"]

Size = int | str | None | Callable[[Mapping[str, Any]], int | str]
_SIZED = ("size", "shape", "below", "parts", "total")  # what is a size, in parts that have it
_SIZE = re.compile(r"([a-z_][a-z_0-9.]*)([+-]\d+)?", re.IGNORECASE)


class Sizes(dict[str, int]):
    """Values of the names in shapes."""

    def match(self, path: str, size: Size, length: int) -> None:
        """``length`` is what the name says, or what it says from now on."""
        if size is None:
            return
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
    def _parsed(size: Size) -> tuple[str, int]:
        parsed = _SIZE.fullmatch(str(size))
        if parsed is None:
            raise TypeError(f"{size!r} is no size: expected a name, with +1 or so behind it")
        return parsed[1], int(parsed[2] or 0)


# ---------------------------------------------------------------- strings and arrays


class Sized(Part):
    """A part with sizes among what it is made of."""

    def leaves(self, name: str, values: Mapping[str, object] | None) -> Iterator[tuple[str, Part]]:
        """Itself, with sizes that are made of ``values``, and with the number of the part."""
        yield name, self if values is None else self.sized(values)

    def sized(self, values: Mapping[str, object]) -> Any:
        """The same with no size left that is a function, or has ``#``."""

        def known(size: object) -> Any:
            if isinstance(size, tuple):
                return tuple(map(known, size))
            if isinstance(size, str):
                return size.replace("#", str(values.get("#", "")))
            return size(values) if callable(size) else size

        names = {item.name for item in fields(self)}  # type: ignore[arg-type]
        sizes = {name: known(getattr(self, name)) for name in _SIZED if name in names}
        return replace(self, **sizes)  # type: ignore[type-var]


@dataclass(frozen=True)
class Strings(Sized):
    """A list of ``size`` strings; ``distinct``: no two alike; ``bits``: of 0 and 1 only."""

    size: Size
    distinct: bool = False
    bits: bool = False
    optional: bool = False

    def check(self, path: str, items: Sequence[str], sizes: Sizes) -> None:
        sizes.match(path, self.size, len(items))
        if self.distinct and len(set(items)) < len(items):
            raise ValueError(f"{path} has the same string twice, expected different ones")
        if self.bits:
            for item in items:
                if set(item) - {"0", "1"}:
                    raise ValueError(f"{path} holds {shown(item)}, expected 0s and 1s")

    def pack(self, name: str, value: Any, packed: Packed) -> None:
        packed.strings[name] = value

    def is_in(self, name: str, packed: Packed) -> bool:
        return name in packed.strings

    def unpack(self, name: str, packed: Packed) -> tuple[str, ...] | None:
        return tuple(packed.strings[name]) if name in packed.strings else None


class _InArrays(Sized):
    """What is stored as one array; without axes, or of a list, it comes from plain numbers."""

    types: Sequence[str]
    shape: tuple[Size, ...] = (None,)
    held: str | None

    def pack(self, name: str, value: Any, packed: Packed) -> None:
        """As it is, or of the first type that keeps every number, or else of the last."""
        array = value if isinstance(value, np.ndarray) else np.array(value, self.types[0])
        if self.held is not None:
            for kind in self.types:
                narrow = array.astype(kind)
                if np.array_equal(narrow, array):
                    break
            array = narrow
        packed.arrays[name] = array

    def is_in(self, name: str, packed: Packed) -> bool:
        return name in packed.arrays

    def unpack(self, name: str, packed: Packed) -> Any:
        """The array, or the number if it has no axes."""
        array = packed.arrays.get(name)
        if array is None:
            return None
        if not self.shape:
            return array.item()
        return array if self.held is None else array.astype(self.held)


@dataclass(frozen=True)
class Array(_InArrays):
    """An array of one of these ``types``; ``held``: its type in memory, where that is another."""

    shape: tuple[Size, ...] = (None,)
    types: Sequence[str] = ()
    optional: bool = field(default=False, kw_only=True)
    held: str | None = field(default=None, kw_only=True)

    def check(self, path: str, array: np.ndarray, sizes: Sizes) -> None:
        if array.dtype.name not in self.types:
            types = " or ".join(self.types)
            raise ValueError(f"{path} has type {array.dtype.name}, expected {types}")
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

    shape: tuple[Size, ...] = (None,)
    types: Sequence[str] = ("uint8",)


@dataclass(frozen=True)
class Pointers(_InArrays):
    """Where each of ``parts`` begins in something of ``total`` items: 0, rising, ``total``."""

    parts: Size
    total: Size
    types: Sequence[str] = ("int64",)
    optional: bool = False
    held: str | None = field(default=None, kw_only=True)

    def check(self, path: str, array: np.ndarray, sizes: Sizes) -> None:
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
        super().check(path, array, sizes)
        for axis, size in enumerate(self.expected):
            sizes.match(f"{path}, axis {axis},", size, int(array[axis]))


@dataclass(frozen=True)
class Sparse(Sized):
    """A sparse matrix as ``pack_csr`` stores it; its four arrays are named after it."""

    shape: tuple[Size, Size]
    types: Sequence[str] = ("int64",)
    low: float = -1e100
    high: float = 1e100
    optional: bool = False

    def leaves(self, name: str, values: Mapping[str, object] | None) -> Iterator[tuple[str, Part]]:
        """Its four arrays; that the columns lie within the matrix, ``unpack_csr`` checks."""
        index, entries = ("int32", "int64"), f"{name}.entries".replace("/", ".").replace("-", "_")
        rows, columns = self.shape if values is None else self.sized(values).shape
        numbers = Reals((entries,), self.types, self.low, self.high, optional=self.optional)
        yield f"{name}/shape", _Shape((2,), ("int64",), (rows, columns), optional=self.optional)
        yield f"{name}/data", numbers
        yield f"{name}/indptr", Pointers(rows, entries, index, self.optional)
        yield f"{name}/indices", Ints((entries,), index, 0, columns, optional=self.optional)

    def pack(self, name: str, value: Any, packed: Packed) -> None:
        packed.arrays.update(pack_csr(name, value))

    def unpack(self, name: str, packed: Packed) -> csr_array | None:
        """The matrix of the four arrays."""
        if f"{name}/data" not in packed.arrays:
            return None
        return unpack_csr(name, packed.arrays, path=packed.path)


@dataclass(frozen=True)
class Contents:
    """All that a file of a kind must hold; its names may depend on these ``settings``."""

    parts: Part
    settings: Named = field(default_factory=lambda: Named({}))

    def check(self, packed: Packed) -> None:
        """Raise ValueError for a file that is not so.

        >>> from eigentext.base.records import Group
        >>> ids = Ints(("words",), low=0, below=9)
        >>> contents = Contents(Group(ids=ids, names=Strings("words")))
        >>> contents.check(Packed({"ids": np.array([3, 9])}, {"names": ["a", "b"]}))
        Traceback (most recent call last):
        ...
        ValueError: array 'ids' holds 9, expected less than 9 (9)
        """
        values = packed.values
        # facts before the rest, which may depend on them
        fixed = self.parts.leaves("", None)
        facts = {name: leaf for name, leaf in fixed if isinstance(leaf, Value)}
        declared = {**self.settings.fields, **facts}
        Named(declared).check("settings", values)
        leaves = list(self.parts.leaves("", values))
        sizes = Sizes({name: values[name] for name in declared if type(values.get(name)) is int})
        kinds: tuple[tuple[str, type, Mapping[str, Any]], ...] = (
            ("strings", Strings, packed.strings),
            ("array", _InArrays, packed.arrays),
        )
        for what, kind, content in kinds:
            named: dict[str, Any] = {name: leaf for name, leaf in leaves if isinstance(leaf, kind)}
            missing = [name for name in named if name not in content and not named[name].optional]
            if missing:
                raise ValueError(f"{what} {missing[0]!r} is missing")
            if more := sorted(content.keys() - named.keys()):
                raise ValueError(f"{what} {more[0]!r} does not belong into such a file")
            for name, leaf in named.items():
                if name in content:
                    leaf.check(f"{what} {name!r}", content[name], sizes)
