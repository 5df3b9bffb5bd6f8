"""Binary trees over words in their order, all of them, and their lengths by least squares."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

Span = tuple[int, int]


@cache
def bracketings(start: int, end: int) -> list[frozenset[Span]]:
    """All binary bracketings of the words of a span, as sets of spans of two words or more."""
    if end - start == 1:
        return [frozenset()]
    return [
        frozenset({(start, end)}) | left | right
        for split in range(start + 1, end)
        for left in bracketings(start, split)
        for right in bracketings(split, end)
    ]


def edges_of(spans: frozenset[Span], n: int) -> set[frozenset[int]]:
    """The edges of a bracketing without its root: each as the words on its side without word 0."""
    nodes = {frozenset(range(start, end)) for start, end in spans if end - start < n}
    nodes |= {frozenset({word}) for word in range(n)}
    every = frozenset(range(n))
    return {every - node if 0 in node else node for node in nodes}


def path_matrix(edges: list[frozenset[int]], n: int) -> np.ndarray:
    """(pairs, edges): 1 where the edge lies between the two words."""
    return np.array(
        [[(i in edge) != (j in edge) for edge in edges] for i in range(n) for j in range(i)],
        dtype=float,
    )


def least_squares_length(D: np.ndarray, edges: set[frozenset[int]]) -> float:
    """The sum of the lengths of the edges that fit the distances best."""
    n, some = len(D), list(edges)
    wanted = np.array([D[i, j] for i in range(n) for j in range(i)])
    return float(np.linalg.lstsq(path_matrix(some, n), wanted, rcond=None)[0].sum())


def unrooted(n: int, cut: int | None) -> Iterator[tuple[set[frozenset[int]], frozenset[Span]]]:
    """All trees with a root behind ``cut`` words (None: anywhere), with a bracketing of each."""
    seen = set()
    for spans in bracketings(0, n):
        if cut is not None and cut > 1 and (0, cut) not in spans:
            continue
        if cut is not None and n - cut > 1 and (cut, n) not in spans:
            continue
        edges = edges_of(spans, n)
        if frozenset(edges) not in seen:
            seen.add(frozenset(edges))
            yield edges, spans
