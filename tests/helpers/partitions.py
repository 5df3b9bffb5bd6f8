"""Hashed features, judged by what they tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def check_partitions(found: Mapping[Any, Sequence[tuple[int, Any]]]) -> None:
    """Of every feature, keys are equal where the things are that it should be made of."""
    for name, pairs in found.items():
        key_of: dict[Any, int] = {}
        thing_of: dict[int, Any] = {}
        for key, thing in pairs:
            assert key_of.setdefault(thing, key) == key, f"{name}: {thing} has two keys"
            assert thing_of.setdefault(key, thing) == thing, f"{name}: {thing} has another's key"


def pair(one: object, other: object) -> object:
    """Two keys of which one is mixed into the other: neither their order is told, nor equals."""
    return frozenset((one, other)) if one != other else None
