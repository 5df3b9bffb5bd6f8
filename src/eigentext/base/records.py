"""Records that a model file holds: a field is declared once, and so checked, packed and unpacked.

A dataclass declares its fields by :func:`stored`, a model what it learns by :func:`learned`; those
of another class, such as the NamedTuple that a compiled loop takes, :class:`Record` is told::

    @dataclass(frozen=True, eq=False)
    class Parameters:
        initial: Float64s = stored(Shares(("states",)))
        emission: Float64s = stored(Shares(("states", "symbols")))

    class HMM(Model, HMMSettings):
        symbols_: Symbols = learned(SYMBOLS)
        parameters_: Parameters = learned(Record(Parameters))

A part has the name of its field, without an underscore at the end; the fields of a record inside
of a record stand beside those of the other, with a ``prefix`` where one is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, field, fields, replace
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from eigentext.base.fields import Bits, Strings
from eigentext.base.registry import class_of
from eigentext.base.values import Packed, Part

Leaves = Iterator[tuple[str, Part]]
Values = Mapping[str, Any]


class Called(NamedTuple):
    """A part whose name in the file is another than that of its field, if that is not None.

    ``of`` is the path to the value, such as ``lexicon_.words``, or a function that finds it; by
    itself it is the attribute with the name of the field.
    """

    name: str | None
    part: Part
    of: str | Callable[[Any], Any] | None = None


def stored(
    part: Part, name: str | None = None, of: str | Callable[[Any], Any] | None = None, **more: Any
) -> Any:
    """A field of a dataclass that a model file holds; ``more`` goes to ``dataclasses.field``."""
    return field(metadata={"stored": Called(name, part, of)}, **more)


def learned(part: Part, name: str | None = None) -> Any:
    """The same of a model: ``fit`` sets it, and not the constructor."""
    return stored(part, name, init=False)


class Record(Part):
    """A record as parts: those that it declares by :func:`stored`, or ``parts``.

    ``optional``: the record or None; its parts are there all or none, but for those that are
    optional by themselves.  What it finds wrong with its parts, a record says in a method
    ``_holds``, by a ValueError.
    """

    nameless = True

    def __init__(
        self,
        make: Callable[..., object],
        /,
        *,
        prefix: str = "",
        optional: bool = False,
        **parts: Part | Called,
    ) -> None:
        declared: Mapping[str, Part | Called] = parts or {
            item.name: item.metadata["stored"]
            for item in fields(make)  # type: ignore[arg-type]
            if "stored" in item.metadata
        }
        self.make, self.optional = make, optional
        self.parts: dict[str, tuple[str, Part]] = {}  # name in the file by attribute
        self._get: dict[str, Callable[[Any], Any]] = {}
        for attribute, declaration in declared.items():
            name, part, of = (
                declaration if isinstance(declaration, Called) else Called(None, declaration)
            )
            stem = "" if part.nameless else attribute.rstrip("_") if name is None else name
            self.parts[attribute] = prefix + stem, part
            self._get[attribute] = of if callable(of) else attrgetter(of or attribute)

    def leaves(self, name: str, values: Values | None) -> Leaves:
        for stem, part in self.parts.values():
            for path, leaf in part.leaves(name + stem, values):
                yield path, replace(leaf, optional=True) if self.optional else leaf  # type: ignore[type-var]

    def pack(self, name: str, value: Any, packed: Packed) -> None:
        """All fields that are not None."""
        for attribute, (stem, part) in self.parts.items():
            item = self._get[attribute](value)
            if item is not None or isinstance(part, OrNull):
                part.pack(name + stem, item, packed)

    def unpack(self, name: str, packed: Packed) -> Any:
        """The record; None if it is optional and not there."""
        if self.optional and not self._is_there(name, packed):
            return None
        record = self.make(**self.fields_of(name, packed))
        if hasattr(record, "_holds"):
            record._holds()
        return record

    def fields_of(self, name: str, packed: Packed) -> dict[str, Any]:
        """The value of each field, by the field's name."""
        return {
            attribute: part.unpack(name + stem, packed)
            for attribute, (stem, part) in self.parts.items()
        }

    def _is_there(self, name: str, packed: Packed) -> bool:
        needed = {
            path: leaf.is_in(path, packed)
            for stem, part in self.parts.values()
            for path, leaf in part.leaves(name + stem, packed.values)
            if not leaf.optional
        }
        if any(needed.values()) and not all(needed.values()):
            raise ValueError(f"of {', '.join(map(repr, needed))} some are there, some missing")
        return any(needed.values())


def Group(*, prefix: str = "", optional: bool = False, **parts: Part | Called) -> Record:
    """A record without a class of its own."""
    return Record(SimpleNamespace, prefix=prefix, optional=optional, **parts)


class Around(Part):
    """What has one part inside."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.optional, self.nameless = part.optional, part.nameless

    def leaves(self, name: str, values: Values | None) -> Leaves:
        return self.part.leaves(name, values)

    def pack(self, name: str, value: Any, packed: Packed) -> None:
        self.part.pack(name, value, packed)

    def unpack(self, name: str, packed: Packed) -> Any:
        return self.part.unpack(name, packed)


class As(Around):
    """A part that the file has as something else: ``pack`` makes it, and ``unpack`` goes back."""

    def __init__(
        self, part: Part, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]
    ) -> None:
        super().__init__(part)
        self._pack, self._unpack = pack, unpack

    def pack(self, name: str, value: Any, packed: Packed) -> None:
        """What it is in the file; None: it is not there."""
        content = self._pack(value)
        if content is not None:
            self.part.pack(name, content, packed)

    def unpack(self, name: str, packed: Packed) -> Any:
        value = self.part.unpack(name, packed)
        return None if value is None else self._unpack(value)


class RecordColumns(Record):
    """A tuple of records, field by field: each part has a list, or an array, of all of them."""

    def pack(self, name: str, value: Any, packed: Packed) -> None:
        columns = {part: [getattr(item, part) for item in value] for part in self.parts}
        super().pack(name, SimpleNamespace(**columns), packed)

    def unpack(self, name: str, packed: Packed) -> Any:
        columns = self.fields_of(name, packed)
        lists = [c.tolist() if isinstance(c, np.ndarray) else c for c in columns.values()]
        return tuple(
            self.make(**dict(zip(columns, row, strict=True))) for row in zip(*lists, strict=True)
        )


class OrNull(Around):
    """A fact that is null in the file where the value is None; others are not there then."""


class FactsOf(As):
    """Facts that are a record in memory, a dataclass or NamedTuple."""

    def __init__(self, make: Callable[..., Any], part: Part) -> None:
        def fields_of(record: Any) -> dict[str, Any]:
            return record._asdict() if hasattr(record, "_asdict") else asdict(record)

        super().__init__(part, fields_of, lambda values: make(**values))


class Numbers(As):
    """An array that is a list of numbers in memory, or what ``make`` makes of it."""

    def __init__(self, part: Part, make: Callable[[list[Any]], Any] = list) -> None:
        super().__init__(part, list, lambda array: make(array.tolist()))


class When(Around):
    """A part of files whose settings and facts say that it is there; None in others."""

    def __init__(self, is_there: Callable[[Values], bool], part: Part) -> None:
        super().__init__(part)
        self._is_there = is_there

    def leaves(self, name: str, values: Values | None) -> Leaves:
        """Those of the part, or none."""
        if values is not None and self._is_there(values):
            yield from self.part.leaves(name, values)

    def unpack(self, name: str, packed: Packed) -> Any:
        return self.part.unpack(name, packed) if self._is_there(packed.values) else None


class Each(Around):
    """A part for every one of several, whose names go into the braces of ``name``.

    The setting or fact ``of``, or a function of these, says which: a number, or a list of a
    header, means so many parts in a tuple, and names from a function parts in a dict.
    """

    def __init__(self, part: Part, of: str | Callable[[Values], Any], name: str) -> None:
        super().__init__(part)
        self.of, self.name, self.nameless = of, name, True

    def _keys(self, values: Values) -> range | Sequence[str]:
        keys = self.of(values) if callable(self.of) else values[self.of]
        if isinstance(keys, int):
            return range(keys)
        return keys if callable(self.of) else range(len(keys))

    def leaves(self, name: str, values: Values | None) -> Leaves:
        """Those of all of them, with their number for ``#``."""
        if values is not None:
            for number, key in enumerate(self._keys(values)):
                stem = name + self.name.format(key)
                yield from self.part.leaves(stem, {**values, "#": number})

    def pack(self, name: str, value: Any, packed: Packed) -> None:
        """One after the other, without those that are None."""
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if item is not None:
                self.part.pack(name + self.name.format(key), item, packed)

    def unpack(self, name: str, packed: Packed) -> Any:
        keys = self._keys(packed.values)
        parts = [self.part.unpack(name + self.name.format(key), packed) for key in keys]
        return tuple(parts) if isinstance(keys, range) else dict(zip(keys, parts, strict=True))


class Inner(Around):
    """A model inside of the model, of this kind."""

    def __init__(self, kind: str, *, optional: bool = False) -> None:
        super().__init__(Bits(optional=optional))
        self.kind = kind

    def pack(self, name: str, value: Any, packed: Packed) -> None:
        self.part.pack(name, np.frombuffer(value.to_bytes(), np.uint8), packed)

    def unpack(self, name: str, packed: Packed) -> Any:
        raw = self.part.unpack(name, packed)
        if raw is None:
            return None
        return class_of(self.kind).from_bytes(raw.tobytes(), name=f"{packed.path}: {name}")


class BitsOfWords(Record):
    """Strings of bits by word, such as the paths of clusters."""

    def __init__(self, name: str) -> None:
        super().__init__(
            dict,
            prefix=f"{name}_",
            words=Strings(f"{name}s", distinct=True),
            bits=Strings(f"{name}s", bits=True),
        )

    def pack(self, name: str, value: dict[str, str], packed: Packed) -> None:
        super().pack(name, SimpleNamespace(words=[*value], bits=[*value.values()]), packed)

    def unpack(self, name: str, packed: Packed) -> dict[str, str]:
        return dict(zip(*self.fields_of(name, packed).values(), strict=True))
