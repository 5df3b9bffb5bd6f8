"""Arc scores as they come -> checked, with required and forbidden arcs written into them.

1. ``arc`` (n+1, n+1) and ``sib`` (n+1, n+1, n+1) are checked once: shape, no NaN, no +inf.
2. A forbidden arc gets the score ``-inf``; a required arc takes away all other heads of its word,
   and a required arc from the root all other words of the root.  Every decoder, list and sum
   leaves out what is ``-inf``, so nothing else has to know of constraints.
3. Demands that contradict each other, or leave no tree, are an error of the one who made them.
"""

from __future__ import annotations

import operator
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from eigentext.base.types import Bools, Float64s, Int32s

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
    if not scores.max() < np.inf and _has_bad(scores):
        raise ValueError("an arc score is NaN or +inf: expected numbers, or -inf to forbid an arc")
    return scores


def _has_bad(scores: Scores) -> bool:
    meant = scores.copy()
    np.fill_diagonal(meant, 0.0)
    return not meant[:, 1:].max() < np.inf


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
