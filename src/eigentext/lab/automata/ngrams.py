"""N-grams of symbols that are numbers, smoothed after Kneser and Ney 1995.

With the ``order - 1`` symbols before as context ``h``, ``h'`` without its first symbol, and one
discount D::

    p(x | h) = max(n(h x) - D, 0) / n(h) + D kinds(h) / n(h) p(x | h')

``kinds(h)`` is how many symbols were seen behind ``h``.  Shorter contexts count how many different
symbols stood before ``h x``, not how often it came; below the shortest all symbols are alike.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.base.remembering import Remembered

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eigentext.base.types import Float64s, Int64s

BEFORE = -1  # stands before the first symbol
_DISCOUNT = 0.75
_CELLS = 4_000_000  # numbers of distributions that are remembered


class _Row(NamedTuple):
    """What was seen behind a context, and how often."""

    symbols: Int64s
    counts: Float64s


class KneserNey:
    """Of sequences that end with a symbol of their own; see the module.

    ``grams``   (n, order) different n-grams, in order; ``counts`` (n,) how often each came

    >>> two = KneserNey.counted([(0, 1, 2), (0, 2)], order=2, n_symbols=3)
    >>> two.shares((0,)).round(3).tolist(), round(float(two.shares((1,)).sum()), 9)
    ([0.188, 0.312, 0.5], 1.0)
    """

    def __init__(self, grams: Int64s, counts: Int64s, n_symbols: int) -> None:
        self.grams, self.counts, self.n_symbols = grams, counts, n_symbols
        self.order: int = grams.shape[1]
        of_order = dict(zip(map(tuple, grams.tolist()), counts.tolist(), strict=True))
        self._rows: dict[tuple[int, ...], _Row] = {}
        for _ in range(self.order):
            self._rows.update(_rows_of(of_order))
            of_order = Counter(gram[1:] for gram in of_order)
        self._even = np.full(n_symbols, 1 / n_symbols)
        self._known: Remembered[tuple[int, ...], Float64s] = Remembered(
            max(2, _CELLS // max(n_symbols, 1))
        )

    @classmethod
    def counted(
        cls, sequences: Iterable[Sequence[int]], *, order: int, n_symbols: int
    ) -> KneserNey:
        """Count."""
        grams: Counter[tuple[int, ...]] = Counter()
        for sequence in sequences:
            marked = (BEFORE,) * (order - 1) + tuple(sequence)
            grams.update(marked[at : at + order] for at in range(len(sequence)))
        ranked = sorted(grams)
        return cls(
            np.array(ranked, np.int64).reshape(-1, order),
            np.array([grams[gram] for gram in ranked], np.int64),
            n_symbols,
        )

    def begun(self) -> tuple[int, ...]:
        """The context of the first symbol."""
        return (BEFORE,) * (self.order - 1)

    def after(self, context: tuple[int, ...], x: int) -> tuple[int, ...]:
        """The context behind symbol ``x``."""
        return (*context[1:], x) if context else ()

    def shares(self, context: tuple[int, ...]) -> Float64s:
        """(V,) p(x | context)."""
        while context and context not in self._rows:
            context = context[1:]
        shares = self._known.get(context)
        if shares is not None:
            return shares
        row = self._rows.get(context)
        below = self.shares(context[1:]) if context else self._even
        if row is None:  # nothing was counted
            return below
        n = row.counts.sum()
        p = (_DISCOUNT * len(row.counts) / n) * below
        p[row.symbols] += (row.counts - _DISCOUNT) / n
        return self._known.put(context, p)


def _rows_of(grams: Mapping[tuple[int, ...], int]) -> dict[tuple[int, ...], _Row]:
    behind: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for gram, n in grams.items():
        behind.setdefault(gram[:-1], []).append((gram[-1], n))
    return {
        context: _Row(
            np.array([x for x, _ in those], np.int64), np.array([n for _, n in those], np.float64)
        )
        for context, those in behind.items()
    }
