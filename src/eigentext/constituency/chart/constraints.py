"""What a parse must and must not contain, as masks over labels for each span.

A required span forbids every span that crosses it, and at its own place every label that was made
by binarisation alone: in a binary tree that is enough for it to be there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from eigentext.base.types import Bools, Float64s, Int32s
from eigentext.constituency.transform import user_labels
from eigentext.errors import SettingsError

_ALL, _NONE = 0, 1

Span: TypeAlias = "tuple[int, int] | tuple[int, int, str]"


@dataclass(frozen=True)
class Constraints:
    """Spans are (start, end) or (start, end, label), words counted from 0, ``end`` excluded.

    ``required``   constituents that the tree must have; without a label: of any label
    ``forbidden``  constituents that it must not have; without a label: of no label
    ``tags``       word -> part-of-speech tag

    >>> bool(Constraints()), bool(Constraints(required=[(0, 2, "NP")]))
    (False, True)
    """

    required: Sequence[Span] = ()
    forbidden: Sequence[Span] = ()
    tags: Mapping[int, str] | None = None

    def __bool__(self) -> bool:
        return bool(self.required or self.forbidden or self.tags)

    def labels_of_all(self, n: int) -> list[str]:
        """The labels of required constituents that span a sentence of n words."""
        return [
            label
            for start, end, *labels in self.required
            for label in labels
            if (start, end) == (0, n)
        ]

    def part(self, start: int, end: int) -> Constraints:
        """The spans within the words ``start`` to ``end``, as of a sentence of its own."""

        def within(spans: Sequence[Span]) -> list[Any]:
            return [(i - start, j - start, *a) for i, j, *a in spans if start <= i and j <= end]

        return Constraints(within(self.required), within(self.forbidden))


class Masks(NamedTuple):
    """What each span of a sentence may be."""

    of_span: Int32s  # (S,) which row of ``labels`` (masks, n_labels) holds; row 0 all, row 1 none
    labels: Bools
    # (S,) spans with less than ``threshold`` are closed: left out, unless there is no tree without
    # them
    marginal: Float64s
    threshold: float
    weight: Float64s  # (S,) log of what a tree is multiplied with for its bracket over the span

    def opened(self, share: float = 0.0) -> Masks:
        """The same with no span closed, or those below this share of the threshold."""
        return self._replace(threshold=self.threshold * share)

    def part(self, n: int, start: int, end: int) -> Masks:
        """Those of the words ``start`` to ``end`` of all n, as of a sentence of its own."""
        first, last = np.triu_indices(n)
        here = (first >= start) & (last < end)
        return self._replace(
            of_span=self.of_span[here], marginal=self.marginal[here], weight=self.weight[here]
        )


def span_number(start: Any, end: Any, n: int) -> Any:
    """Number of the span of words start .. end - 1 of n, row by row; of arrays of them too."""
    return start * n - (start * (start - 1)) // 2 + (end - start - 1)


def build_masks(
    n: int, labels: Sequence[str], constraints: Constraints | None, wrapper: str | None = None
) -> Masks:
    """Masks for a sentence of n words; ``wrapper`` is the label that every tree gets on top."""
    rows = [np.ones(len(labels), bool), np.zeros(len(labels), bool)]
    of_span = np.zeros(n * (n + 1) // 2, np.int32)  # any label over any span
    unweighed = np.ones(len(of_span)), 0.0, np.zeros(len(of_span))
    if not constraints:
        return Masks(of_span, np.array(rows), *unweighed)
    chains = [user_labels(label) for label in labels]  # of nodes made by binarisation: ()
    _check(n, chains, constraints, wrapper)
    per_span: dict[int, Bools] = {}  # (labels,) what is left of a span's labels

    def narrow(start: int, end: int, admitted: Iterable[bool]) -> None:
        number = span_number(start, end, n)
        per_span[number] = per_span.get(number, rows[_ALL]) & np.fromiter(admitted, bool)

    for start, end, *label in constraints.required:
        if (start, end, *label) == (0, n, wrapper):
            continue  # it will be there
        narrow(start, end, ((label[0] in c if label else bool(c)) for c in chains))
        for i in range(n):
            for j in range(i + 1, n + 1):
                if _cross((i, j), (start, end)):  # no tree has both
                    of_span[span_number(i, j, n)] = _NONE
    for start, end, *label in constraints.forbidden:
        narrow(start, end, ((label[0] not in c if label else not c) for c in chains))
    for word, tag in (constraints.tags or {}).items():
        narrow(word, word + 1, ((bool(c) and c[-1] == tag) for c in chains))
    for number, mask in per_span.items():
        if of_span[number] != _NONE:
            of_span[number] = len(rows)
            rows.append(mask)
    return Masks(of_span, np.array(rows), *unweighed)


def _cross(first: tuple[int, int], second: tuple[int, int]) -> bool:
    (start, end), (later, later_end) = sorted((first, second))
    return start < later < end < later_end


def _check(
    n: int, chains: Sequence[tuple[str, ...]], constraints: Constraints, wrapper: str | None
) -> None:
    """Constraints that no tree of this grammar can meet are an error of the one who made them."""
    names = {label for chain in chains for label in chain} | {wrapper}
    for start, end, *label in (*constraints.required, *constraints.forbidden):
        if not 0 <= start < end <= n:
            raise SettingsError(f"span ({start}, {end}) is not within a sentence of {n} words")
        if label and label[0] not in names:
            raise SettingsError(f"the grammar has no label {label[0]!r}")
    for first, second in combinations(constraints.required, 2):
        if _cross((first[0], first[1]), (second[0], second[1])):
            raise SettingsError(f"required spans {tuple(first)} and {tuple(second)} cross")
    required = {tuple(span) for span in constraints.required}
    for span in map(tuple, constraints.forbidden):
        _check_forbidden(span, n, required, constraints.tags or {}, wrapper)
    tags = {chain[-1] for chain in chains if chain}
    for word, tag in (constraints.tags or {}).items():
        if not 0 <= word < n:
            raise SettingsError(f"word {word} is not within a sentence of {n} words")
        if tag not in tags:
            raise SettingsError(f"the grammar has no tag {tag!r}")


def _check_forbidden(
    span: tuple[Any, ...],
    n: int,
    required: set[tuple[Any, ...]],
    tags: Mapping[int, str],
    wrapper: str | None,
) -> None:
    """A forbidden span that no tree can be without, or that is asked for as well."""
    start, end, *label = span
    for other in required:
        if other[:2] == (start, end) and (not label or other == span):
            raise SettingsError(f"span {other} is required, and {span} is forbidden")
    if (start, end, *label) == (0, n, wrapper):
        raise SettingsError(f"span {span} is forbidden, but every tree has {wrapper} on top")
    if not label and (start, end) == (0, n):
        raise SettingsError(f"span {span} is forbidden, but every tree spans the whole sentence")
    if not label and end == start + 1:
        raise SettingsError(f"span {span} is forbidden, but every word has a tag")
    if end == start + 1 and label and tags.get(start) == label[0]:
        raise SettingsError(f"word {start} has to have the tag {label[0]!r}, which is forbidden")
