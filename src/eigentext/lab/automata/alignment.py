"""Which piece of an output belongs to which symbol of its input.

Costs of edits: by rule (:data:`EDITS`) where at least half of the output is input that was
kept; else by what a sample of pairs says (:func:`learned_costs`), with EM for the memoryless
transducer of Ristad and Yianilos 1998, which keeps, replaces, leaves out or inserts one symbol
at a time::

    p(x, y) = sum over alignments of the product of p(edit)        cost(edit) = -log2 p(edit)

So letters of two alphabets find each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

_GRAIN = 8  # costs are multiples of 1/8: sums are exact, so that equal ones are equal
_ROUNDS = 5  # of EM
_MOST_PAIRS = 2000  # that EM looks at
_SHARPNESS = 2.0  # of the start of EM: p(edit) ~ exp(-sharpness cost)
_KEPT = 0.5  # of the output, where both sides are written alike
_RARE = 1e-4  # p(edit) is taken for no less
_VANISHED = 1e-250  # what is less has lost digits
_LONGEST = 100  # symbols of a string that EM looks at: products of more vanish

Edit = tuple[str, str]


class Costs(NamedTuple):
    """Of edits: ``("a", "b")`` replaces, ``("a", "")`` leaves out, ``("", "b")`` inserts.

    An edit that ``learned`` lacks has its cost by rule, with ``more``: of equals 0, of a letter in
    another case little, of what is no character more than leaving out and inserting.
    """

    learned: Mapping[Edit, float]
    more: float = 0.0

    def of(self, a: str, b: str) -> float:
        """The cost of an edit."""
        cost = self.learned.get((a, b))
        if cost is not None:
            return cost
        if a == b:
            return self.more
        if not a or not b:
            return 1.0 + self.more
        if len(a) > 1 or len(b) > 1:
            return 2.5 + 3 * self.more
        return (0.25 if a.lower() == b.lower() else 1.0) + self.more


EDITS = Costs({})


def aligned(
    source: Sequence[str], target: Sequence[str], costs: Costs = EDITS
) -> list[tuple[str, str]]:
    """Each input symbol with its piece of output, by least cost.

    Of equals, symbols are kept or replaced first, then left out, from the beginning, so that what
    changes is at the end in *running* as in *going*; what is inserted belongs to the symbol before
    it.

    >>> aligned("boxes", "box")
    [('b', 'b'), ('o', 'o'), ('x', 'x'), ('e', ''), ('s', '')]
    >>> [piece for _, piece in aligned("running", "run")]
    ['r', 'u', 'n', '', '', '', '']
    """
    n, m = len(source), len(target)
    if not n:
        return []
    left_out, put_in = [costs.of(x, "") for x in source], [costs.of("", y) for y in target]
    changed = [[costs.of(x, y) for y in target] for x in source]
    rest = [[0.0] * (m + 1) for _ in range(n + 1)]  # the cost of what is left from here on
    for j in range(m - 1, -1, -1):
        rest[n][j] = rest[n][j + 1] + put_in[j]
    for i in range(n - 1, -1, -1):
        row, below = rest[i], rest[i + 1]
        row[m] = below[m] + left_out[i]
        for j in range(m - 1, -1, -1):
            row[j] = min(
                below[j + 1] + changed[i][j], below[j] + left_out[i], row[j + 1] + put_in[j]
            )
    pieces = [""] * n
    i, j = 0, 0
    while i < n or j < m:
        cost = rest[i][j]
        if i < n and j < m and cost == rest[i + 1][j + 1] + changed[i][j]:
            pieces[i] += target[j]
            i, j = i + 1, j + 1
        elif i < n and cost == rest[i + 1][j] + left_out[i]:
            i += 1
        else:
            pieces[max(i - 1, 0)] += target[j]
            j += 1
    return list(zip(source, pieces, strict=True))


def costs_of(pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> Costs:
    """By rule where both sides are written alike, else learned.

    >>> costs_of([("walks", "walk"), ("Talked", "talk")]) is EDITS
    True
    """
    sample = _sample(pairs)
    kept = sum(x in (y, y[:1]) for source, target in sample for x, y in aligned(source, target))
    whole = sum(len(target) for _, target in sample)
    return EDITS if kept >= _KEPT * whole else learned_costs(sample)


def _sample(
    pairs: Sequence[tuple[Sequence[str], Sequence[str]]],
) -> Sequence[tuple[Sequence[str], Sequence[str]]]:
    """At even distances."""
    return pairs[:: max(1, -(-len(pairs) // _MOST_PAIRS))]


def learned_costs(pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> Costs:
    """By EM over pairs of strings, or over a sample of them, at even distances.

    >>> latin = learned_costs([("αβ", "ab"), ("βα", "ba"), ("αα", "aa"), ("αβα", "aba")])
    >>> aligned("ββα", "bba", latin)
    [('β', 'b'), ('β', 'b'), ('α', 'a')]
    """
    short = [(x, y) for x, y in pairs if 0 < max(len(x), len(y)) <= _LONGEST]
    if not short:
        return EDITS
    pairs = _sample(short)
    p: dict[Edit, float] = {}
    for _ in range(_ROUNDS):
        counts: dict[Edit, float] = defaultdict(float)
        for source, target in pairs:
            _add_expected(source, target, p, counts)
        if not counts:  # of no pair could anything be told
            return EDITS
        total = sum(counts.values())
        p = {edit: max(n / total, 1e-9) for edit, n in counts.items()}
    costs = {
        edit: round(-np.log2(max(share, _RARE)) * _GRAIN) / _GRAIN for edit, share in p.items()
    }
    return Costs(costs, round(-np.log2(_RARE) * _GRAIN) / _GRAIN)


def _add_expected(
    source: Sequence[str],
    target: Sequence[str],
    p: Mapping[Edit, float],
    counts: dict[Edit, float],
) -> None:
    """Add how often each edit is expected in the alignments of one pair."""
    n, m = len(source), len(target)

    def share(a: str, b: str) -> float:
        return p.get((a, b), 1e-9) if p else float(np.exp(-_SHARPNESS * EDITS.of(a, b)))

    changed = [[share(x, y) for y in target] for x in source]
    left_out, put_in = [share(x, "") for x in source], [share("", y) for y in target]
    ahead = [[0.0] * (m + 1) for _ in range(n + 1)]
    ahead[0][0] = 1.0
    for i in range(n + 1):
        for j in range(m + 1):
            weight = ahead[i][j]
            if i:
                weight += ahead[i - 1][j] * left_out[i - 1]
            if j:
                weight += ahead[i][j - 1] * put_in[j - 1]
            if i and j:
                weight += ahead[i - 1][j - 1] * changed[i - 1][j - 1]
            ahead[i][j] = weight
    whole = ahead[n][m]
    if not whole > _VANISHED:  # one string is too long for the other
        return
    behind = [[0.0] * (m + 1) for _ in range(n + 1)]
    behind[n][m] = 1.0 / whole
    for i in range(n, -1, -1):
        for j in range(m, -1, -1):
            weight = behind[i][j]
            if i < n:
                way = left_out[i] * behind[i + 1][j]
                weight += way
                counts[source[i], ""] += ahead[i][j] * way
            if j < m:
                way = put_in[j] * behind[i][j + 1]
                weight += way
                counts["", target[j]] += ahead[i][j] * way
            if i < n and j < m:
                way = changed[i][j] * behind[i + 1][j + 1]
                weight += way
                counts[source[i], target[j]] += ahead[i][j] * way
            behind[i][j] = weight
