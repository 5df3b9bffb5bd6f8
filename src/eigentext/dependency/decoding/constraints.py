"""Arc scores as they come -> checked, with required and forbidden arcs written into them.

A forbidden arc gets the score ``-inf``; a required arc takes away all other heads of its word,
and a required arc from the root all other words of the root.  Every decoder, list and sum leaves
out what is ``-inf``, so nothing else has to know of constraints.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from eigentext.base.types import Bools, Float64s, Int32s, Int64s
from eigentext.dependency.graph.labels import LabelModel
from eigentext.errors import SettingsError

NO_SIBLINGS = np.zeros((1, 1, 1))  # of kernels that look at arcs alone
Arc: TypeAlias = tuple[int, int]  # (head, dependent)
Scores: TypeAlias = "Float64s"
Heads: TypeAlias = "Int32s"


def checked_arc(arc: npt.ArrayLike) -> Scores:
    """The arc scores as a float64 matrix in C order (a copy only where one is needed).

    >>> checked_arc([[0, 1], [0, 0]]).shape
    (2, 2)
    >>> checked_arc([[0, 1]])
    Traceback (most recent call last):
    ...
    ValueError: arc scores of shape (1, 2): expected (n + 1, n + 1) for n >= 1 words
    """
    scores = np.ascontiguousarray(arc, np.float64)
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1] or len(scores) < 2:
        raise ValueError(
            f"arc scores of shape {np.shape(arc)}: expected (n + 1, n + 1) for n >= 1 words"
        )
    # column 0 and the diagonal mean nothing and may hold anything
    if not scores.max() < np.inf:
        meant = scores.copy()
        np.fill_diagonal(meant, 0.0)
        if not meant[:, 1:].max() < np.inf:
            raise ValueError("an arc score is NaN or +inf: expected numbers, or -inf to forbid it")
    return scores


def checked_sib(sib: npt.ArrayLike, n: int) -> Scores:
    """The sibling scores for n words as a float64 array in C order.

    >>> checked_sib(np.zeros((3, 3, 3)), 2).dtype
    dtype('float64')
    """
    scores = np.ascontiguousarray(sib, np.float64)
    if scores.shape != (n + 1, n + 1, n + 1):
        raise ValueError(
            f"sibling scores of shape {np.shape(sib)}: "
            f"expected {(n + 1, n + 1, n + 1)} to go with the arc scores"
        )
    if not scores.max() < np.inf and not scores[_meant_siblings(n)].max(initial=0.0) < np.inf:
        raise ValueError("a sibling score is NaN or +inf: expected numbers, or -inf to forbid")
    return scores


def _meant_siblings(n: int) -> Bools:
    """Where sib[h, s, d] means something: d beyond s seen from h, or s == h; the root's s is 0."""
    h, s, d = np.ogrid[: n + 1, : n + 1, : n + 1]
    beyond = ((h < s) & (s < d)) | ((d < s) & (s < h)) | ((s == h) & (d != h))
    return np.asarray(beyond & (d > 0) & ((h > 0) | (s == 0)))


def constrained(
    arc: npt.ArrayLike,
    required_arcs: Iterable[Arc] = (),
    forbidden_arcs: Iterable[Arc] = (),
    *,
    projective: bool = False,
) -> Scores:
    """The arc scores under which only trees with all required and no forbidden arcs are left.

    Arcs are (head, dependent), words numbered from 1, head 0 for the root.  With ``projective``
    it is also an error if only crossing trees are left.

    >>> scores = constrained(np.zeros((3, 3)), required_arcs=[(2, 1)])
    >>> scores[:, 1].tolist()
    [-inf, -inf, 0.0]
    >>> constrained(np.zeros((3, 3)), required_arcs=[(2, 1), (1, 2)])
    Traceback (most recent call last):
    ...
    eigentext.errors.SettingsError: required arcs form a cycle: 1 -> 2 -> 1
    """
    scores = checked_arc(arc)
    n = len(scores) - 1
    required = _pairs(required_arcs, n, "required")
    forbidden = _pairs(forbidden_arcs, n, "forbidden")
    if not required and not forbidden:
        return scores
    _check(required, forbidden, scores, projective)
    scores = scores.copy()
    for head, dependent in forbidden:
        scores[head, dependent] = -np.inf
    for head, dependent in required:
        score = scores[head, dependent]
        scores[:, dependent] = -np.inf
        if head == 0:
            scores[0, :] = -np.inf
        scores[head, dependent] = score
    _feasible(scores, projective)
    return scores


def no_tree(scores: Scores, *, projective: bool, siblings: bool = False) -> SettingsError:
    """The error that tells why no tree is left under these (constrained) arc scores."""
    n = len(scores) - 1
    open_arcs = scores > -np.inf
    np.fill_diagonal(open_arcs, False)
    for word in range(1, n + 1):
        if not open_arcs[:, word].any():
            return SettingsError(f"no tree is left: word {word} has no head with a finite score")
    if not open_arcs[0, 1:].any():
        return SettingsError("no tree is left: no word may hang from the root")
    kind = "projective tree" if projective else "tree"
    why = "all arcs" if not siblings else "all arcs and siblings"
    return SettingsError(f"no {kind} with one root is left in which {why} have a finite score")


def _pairs(arcs: Iterable[Arc], n: int, name: str) -> list[Arc]:
    """The arcs as a list without repetitions, each a pair of integers within the sentence."""
    if isinstance(arcs, str):
        raise TypeError(f"{name} arcs are a list of (head, dependent) pairs, not one str")
    checked: dict[Arc, None] = {}
    for pair in arcs:
        try:
            head, dependent = map(operator.index, pair)
        except (TypeError, ValueError):
            raise TypeError(
                f"{name} arc {pair!r}: expected a pair of integers (head, dependent)"
            ) from None
        if not 1 <= dependent <= n:
            raise SettingsError(
                f"{name} arc ({head}, {dependent}): expected a dependent from 1 to {n}"
            )
        if not 0 <= head <= n:
            raise SettingsError(f"{name} arc ({head}, {dependent}): expected a head from 0 to {n}")
        if head == dependent:
            raise SettingsError(f"{name} arc ({head}, {dependent}) leads from a word to itself")
        checked[head, dependent] = None
    return list(checked)


def _check(required: list[Arc], forbidden: list[Arc], scores: Scores, projective: bool) -> None:
    """Contradictions among the demands."""
    banned = set(forbidden)
    head_of: dict[int, int] = {}
    root: int | None = None
    for head, dependent in required:
        if (head, dependent) in banned:
            raise SettingsError(f"arc ({head}, {dependent}) is both required and forbidden")
        if dependent in head_of:
            raise SettingsError(
                f"required arcs give word {dependent} two heads: {head_of[dependent]} and {head}"
            )
        if head == 0 and root is not None:
            raise SettingsError(f"required arcs give the root two words: {root} and {dependent}")
        if scores[head, dependent] == -np.inf:
            raise SettingsError(f"required arc ({head}, {dependent}) has the score -inf")
        head_of[dependent] = head
        root = dependent if head == 0 else root
    for start in head_of:
        path = [start]
        while path[-1] in head_of:
            path.append(head_of[path[-1]])
            if path[-1] == start:
                shown = " -> ".join(map(str, path))
                raise SettingsError(f"required arcs form a cycle: {shown}")
            if len(path) > len(head_of) + 1:
                break  # it runs into a cycle that does not hold the start; that one is told of
    if projective:
        for first, second in combinations(required, 2):
            (a, b), (c, d) = sorted(first), sorted(second)
            if a < c < b < d or c < a < d < b:
                raise SettingsError(
                    f"required arcs {first} and {second} cross: no projective tree has both"
                )


def _feasible(scores: Scores, projective: bool) -> None:
    """Is there a tree at all?  Asked of the decoder itself, with all open arcs worth the same."""
    from eigentext.dependency.kernels.eisner import eisner_kernel
    from eigentext.dependency.kernels.mst import mst_kernel

    flat = np.where(scores > -np.inf, 0.0, -np.inf)
    heads = np.empty(len(scores) - 1, np.int32)
    if mst_kernel(flat, heads) == -np.inf:
        raise no_tree(scores, projective=False)
    if projective and eisner_kernel(flat, NO_SIBLINGS, False, heads) == -np.inf:
        raise no_tree(scores, projective=True)


# ---------------------------------------------------------------- with relations


AnyArc: TypeAlias = "tuple[int, int] | tuple[int, int, str]"
_NO_ROWS = np.zeros((0, 4), np.int64)


class Demands(NamedTuple):
    """What is asked of the heads, and of the relations.

    The heads of a tree are chosen first and its relations then, so demands are taken apart: arcs
    for the search, and rows of numbers for the classifier of relations.  A relation that an arc
    always has is a demand for the arc itself.
    """

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
