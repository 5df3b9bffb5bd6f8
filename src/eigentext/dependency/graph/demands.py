"""Arcs that a tree must and must not have, with their relations where these are asked for too.

The heads of a tree are chosen first and its relations then, so demands are taken apart: pairs
(head, dependent) for the search (``decoding.constraints``), and rows of numbers for the classifier
of relations (``labels``).  A relation that an arc always has is a demand for the arc itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eigentext.base.types import Int64s
    from eigentext.dependency.graph.labels import LabelModel

AnyArc: TypeAlias = "tuple[int, int] | tuple[int, int, str]"
_NO_ROWS = np.zeros((0, 4), np.int64)


class Demands(NamedTuple):
    """What is asked of the heads, and of the relations."""

    required: list[tuple[int, int]]  # (head, dependent)
    forbidden: list[tuple[int, int]]
    relations: Int64s = _NO_ROWS  # (m, 4) head, dependent, relation, 1: the arc must have it, or 0

    @property
    def any(self) -> bool:
        """Is anything asked for?"""
        return bool(self.required or self.forbidden or len(self.relations))

    @classmethod
    def of(
        cls, required: Iterable[AnyArc], forbidden: Iterable[AnyArc], labels: LabelModel | None
    ) -> Demands:
        """From arcs (head, dependent) and (head, dependent, relation); ``labels``: the relations.

        >>> Demands.of([(2, 1)], [(0, 1)], None).required
        [(2, 1)]
        """
        musts, nots = _taken_apart(required, "required"), _taken_apart(forbidden, "forbidden")
        pairs = list(dict.fromkeys((head, word) for head, word, _ in musts))
        banned = [(head, word) for head, word, name in nots if name is None]
        rows: dict[tuple[int, int], dict[int, int]] = {}
        for arcs, must in ((nots, 0), (musts, 1)):
            for head, word, name in arcs:
                if name is None:
                    continue
                number = _number_of(name, labels)
                of_arc = rows.setdefault((head, word), {})
                if must:
                    _check_required(head, word, number, of_arc, labels)
                of_arc[number] = must
        for (head, word), of_arc in rows.items():
            if not _left(head, of_arc, labels):
                banned.append((head, word))
        return cls(
            pairs,
            list(dict.fromkeys(banned)),
            np.array(
                [
                    (head, word, number, must)
                    for (head, word), of_arc in rows.items()
                    for number, must in of_arc.items()
                ],
                np.int64,
            ).reshape(-1, 4),
        )


def _taken_apart(arcs: Iterable[AnyArc], name: str) -> list[tuple[int, int, str | None]]:
    """Head, dependent, and relation or None."""
    if isinstance(arcs, str):
        raise TypeError(f"{name} arcs are a list of (head, dependent) pairs, not one str")
    parted: list[tuple[int, int, str | None]] = []
    for arc in arcs:
        parts: Any = arc
        if isinstance(arc, str) or not hasattr(arc, "__len__") or len(arc) not in (2, 3):
            raise TypeError(
                f"{name} arc {arc!r}: expected (head, dependent) or (head, dependent, relation)"
            )
        parted.append((parts[0], parts[1], parts[2] if len(parts) == 3 else None))
    return parted


def _number_of(name: str, labels: LabelModel | None) -> int:
    if labels is None:
        raise SettingsError(f"this parser has no relations, so none can be {name!r}")
    if name not in labels.relations:
        raise SettingsError(f"the parser has no relation {name!r}")
    return labels.relations.index(name)


def _check_required(
    head: int, word: int, number: int, of_arc: dict[int, int], labels: LabelModel | None
) -> None:
    """May the arc have this relation at all, and is no other asked for?"""
    assert labels is not None  # noqa: S101 - for the type checker: it has the relation
    name = labels.relations[number]
    if of_arc.get(number) == 0:
        raise SettingsError(f"arc ({head}, {word}, {name!r}) is both required and forbidden")
    others = [other for other, must in of_arc.items() if must and other != number]
    if others:
        other = labels.relations[others[0]]
        raise SettingsError(
            f"required arcs give word {word} two relations: {other!r} and {name!r}"
        )
    if labels.root >= 0 and (head == 0) != (number == labels.root):
        top = labels.relations[labels.root]
        raise SettingsError(
            f"required arc ({head}, {word}, {name!r}): the word below the root is {top!r}, and "
            "no other word is"
        )


def _left(head: int, of_arc: dict[int, int], labels: LabelModel | None) -> bool:
    """Is there a relation that the arc may have?"""
    assert labels is not None  # noqa: S101 - for the type checker: some relation is asked for
    if labels.root >= 0 and head == 0:
        return of_arc.get(labels.root) != 0
    return any(
        of_arc.get(number) != 0 for number in range(len(labels.relations)) if number != labels.root
    )
