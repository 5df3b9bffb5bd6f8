"""What a parse must and must not contain, as masks over labels for each span.

A required span forbids every span that crosses it, and at its own place every label that was made
by binarisation alone: in a binary tree that is enough for it to be there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eigentext.errors import SettingsError
from eigentext.trees.binarise import is_intermediate
from eigentext.trees.unary import split_chain

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Constraints", "Masks", "build_masks"]

_ALL, _NONE = 0, 1


@dataclass(frozen=True)
class Constraints:
    """Spans are (start, end) or (start, end, label), words counted from 0, ``end`` excluded.

    ``required``   constituents that the tree must have
    ``forbidden``  constituents that it must not have
    ``tags``       word -> part-of-speech tag
    """

    required: Sequence[tuple[int, int] | tuple[int, int, str]] = ()
    forbidden: Sequence[tuple[int, int] | tuple[int, int, str]] = ()
    tags: Mapping[int, str] | None = None

    def __bool__(self) -> bool:
        return bool(self.required or self.forbidden or self.tags)


@dataclass(frozen=True)
class Masks:
    """``of_span`` (S,) which row of ``labels`` (masks, n_labels) holds; row 0 all, row 1 nothing."""

    of_span: npt.NDArray[np.int32]
    labels: npt.NDArray[np.bool_]


def build_masks(n: int, labels: Sequence[str], constraints: Constraints | None) -> Masks:
    """Masks for a sentence of n words."""
    rows = [np.ones(len(labels), bool), np.zeros(len(labels), bool)]
    of_span = np.zeros(n * (n + 1) // 2, np.int32)
    if not constraints:
        return Masks(of_span, np.array(rows))
    chains = [() if is_intermediate(label) else split_chain(label) for label in labels]
    per_span: dict[int, npt.NDArray[np.bool_]] = {}

    def span_number(start: int, end: int) -> int:
        if not 0 <= start < end <= n:
            raise SettingsError(f"span ({start}, {end}) is not within a sentence of {n} words")
        return start * n - (start * (start - 1)) // 2 + (end - start - 1)

    def narrow(start: int, end: int, admitted: Iterable[bool]) -> None:
        number = span_number(start, end)
        per_span[number] = per_span.get(number, rows[_ALL]) & np.fromiter(admitted, bool)

    for start, end, *label in constraints.required:
        narrow(start, end, ((label[0] in c if label else bool(c)) for c in chains))
        for i in range(n):
            for j in range(i + 1, n + 1):
                if i < start < j < end or start < i < end < j:
                    of_span[span_number(i, j)] = _NONE
    for start, end, *label in constraints.forbidden:
        narrow(start, end, ((label[0] not in c if label else not c) for c in chains))
    for word, tag in (constraints.tags or {}).items():
        narrow(word, word + 1, ((bool(c) and c[-1] == tag) for c in chains))
    for number, mask in per_span.items():
        if of_span[number] != _NONE:
            of_span[number] = len(rows)
            rows.append(mask)
    return Masks(of_span, np.array(rows))
