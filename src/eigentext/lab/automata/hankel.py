"""Weighted automata, and the Hankel blocks of strings that determine them.

An automaton gives weights, real numbers that can be negative, to whole strings and to all strings
that begin alike; with states as columns, as in ``spectral/operators.py``::

    f(x_1 .. x_n)      = stop'  B_xn ... B_x1 start
    f(x_1 .. x_n ...)  = total' B_xn ... B_x1 start         total' = stop' (I + B + B^2 + ...)

where ``B`` is the sum of all ``B_x``.

1. A *basis* is a set of beginnings ``p`` and one of endings ``s``: the most frequent pieces of
   strings.  A piece with the mark ``^`` before it stands at the beginning of the string, one with
   ``$`` behind it at the end; without marks it stands anywhere.
2. The *Hankel block* ``H[p, s]`` is the expected number of times that ``ps`` occurs in a string,
   so with both marks ``f(ps)`` itself (Hsu, Kakade, Zhang 2009; Balle, Quattoni, Carreras 2011),
   without marks the expectation of a substring (Luque et al. 2012).  ``H_x[p, s]`` is that of
   ``p x s``.  All of them have one rank, that of the automaton::

       H[ p, s ] = usual' A_p A_s total      H[^p, s ] = start' A_p A_s total
       H[ p, s$] = usual' A_p A_s stop       H[^p, s$] = start' A_p A_s stop

   (``usual'`` is ``start' (I - A)^-1`` here, ``A_x`` the transpose of ``B_x``.)
3. An SVD ``D_p H D_s = U S V'``, cut at rank k, gives the operators (``D``: see ``scaling``)::

       A_x = (D_p H D_s V)^+ D_p H_x D_s V = S^-1 U' D_p H_x D_s V

4. The row of ``^`` alone gives ``start``, the column of ``$`` alone gives ``stop``.

The directions are in the order of their singular values, so an automaton of a smaller rank is the
leading part of one of a larger rank.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eigentext.base.types import Float64s
from eigentext.errors import RankWarning
from eigentext.linalg.svd import truncated_svd
from eigentext.linalg.ties import single_threaded
from eigentext.sequences.settings import HankelScaling, Statistic
from eigentext.sequences.spectral.operators import Operators


@dataclass(frozen=True, eq=False)
class Automaton:
    """A weighted automaton in a basis of its own.

    >>> half, one = np.array([0.5]), np.ones(1)
    >>> coin = Automaton(one, half, one, one, np.full((2, 1, 1), 0.25))
    >>> coin.weight([0, 1]), coin.prefix_weight([0, 1])
    (0.03125, 0.0625)
    """

    start: Float64s  # (k,) the state before the first symbol
    stop: Float64s  # (k,) weight of ending in a state
    total: Float64s  # (k,) weight of all that may follow a state, the end included
    usual: Float64s  # (k,) the mean state over all places of all strings
    matrices: Float64s  # (V, k, k) B_x

    @property
    def k(self) -> int:
        """Number of dimensions."""
        return len(self.start)

    def truncated(self, k: int) -> Automaton:
        """The leading ``k`` directions: what learning with rank ``k`` gives.

        >>> Automaton(*np.ones((4, 3)), np.ones((2, 3, 3))).truncated(1).k
        1
        """
        return Automaton(
            self.start[:k],
            self.stop[:k],
            self.total[:k],
            self.usual[:k],
            np.ascontiguousarray(self.matrices[:, :k, :k]),
        )

    def state(self, ids: Sequence[int]) -> Float64s:
        """``B_xn ... B_x1 start``."""
        state = self.start
        for x in ids:
            state = self.matrices[x] @ state
        return state

    def weight(self, ids: Sequence[int]) -> float:
        """Of the string."""
        return float(self.stop @ self.state(ids))

    def prefix_weight(self, ids: Sequence[int]) -> float:
        """Of all strings that begin so, this one included."""
        return float(self.total @ self.state(ids))

    def with_end(self, end: int) -> Operators:
        """Operators over the symbols and an end symbol, whose number is ``end``."""
        # ``total`` is their ``b_inf``: a sequence is what begins so, and a string is a sequence
        # that ends with the end symbol.  So ``b_inf' B_end = stop'``.
        B_end = np.outer(self.total, self.stop) / float(self.total @ self.total)
        matrices = np.insert(self.matrices, end, B_end, axis=0)
        return Operators(self.start, self.total, matrices, self.usual)

    @classmethod
    def without_end(cls, operators: Operators, end: int) -> Automaton:
        """The automaton that :meth:`with_end` was made of."""
        stop = operators.stop @ operators.matrices[end]
        matrices = np.delete(operators.matrices, end, axis=0)
        return cls(operators.start, np.asarray(stop), operators.stop, operators.usual, matrices)


BEGIN, END = -1, -2  # marks, beside the numbers of symbols
_SINGULAR = 1e-10  # directions below this share of the largest are rounding

Piece = tuple[int, ...]
Strings = dict[Piece, float]


def strings_of(sequences: Iterable[Sequence[int]]) -> Strings:
    """How often each string comes, in order.

    >>> strings_of([[1, 2], [0], [1, 2]])
    {(0,): 1.0, (1, 2): 2.0}
    """
    counts = Counter(tuple(int(x) for x in sequence) for sequence in sequences)
    return {string: float(counts[string]) for string in sorted(counts)}


class Basis(NamedTuple):
    """Beginnings and endings, with their numbers."""

    beginnings: dict[Piece, int]
    endings: dict[Piece, int]

    @classmethod
    def of(cls, beginnings: Iterable[Piece], endings: Iterable[Piece]) -> Basis:
        """Number them in this order."""
        return cls(
            {piece: at for at, piece in enumerate(beginnings)},
            {piece: at for at, piece in enumerate(endings)},
        )

    @classmethod
    def frequent(
        cls, strings: Mapping[Piece, float], size: int, longest: int, statistic: Statistic = "both"
    ) -> Basis:
        """The ``size`` most frequent of each, of up to ``longest`` symbols and marks.

        >>> Basis.frequent({(7, 7): 1.0}, 3, 1).beginnings
        {(): 0, (7,): 1, (-1,): 2}
        """
        before: Counter[Piece] = Counter()
        after: Counter[Piece] = Counter()
        for string, n in strings.items():
            marked = (BEGIN, *string, END)
            for at in range(1, len(marked)):
                for piece in _ends(marked, at, longest):
                    before[piece] += n  # type: ignore[assignment]
                for piece in _starts(marked, at, longest):
                    after[piece] += n  # type: ignore[assignment]
        admitted = {
            "both": (lambda piece: True, lambda piece: True),
            "strings": (lambda p: p[:1] == (BEGIN,), lambda s: s[-1:] == (END,)),
            "substrings": (lambda p: BEGIN not in p, lambda s: END not in s),
        }[statistic]

        def most(counts: Counter[Piece], admits: Callable[[Piece], bool]) -> list[Piece]:
            def rank(piece: Piece) -> tuple[float, int, list[int]]:
                return -counts[piece], len(piece), [-x for x in piece]

            return sorted(filter(admits, counts), key=rank)[:size]

        return cls.of(*map(most, (before, after), admitted))


def _ends(marked: Piece, at: int, longest: int) -> list[Piece]:
    """Pieces that end before ``place``, the empty one first."""
    return [marked[at - n : at] for n in range(min(longest, at) + 1)]


def _starts(marked: Piece, at: int, longest: int) -> list[Piece]:
    """Pieces that start at ``place``, the empty one first."""
    return [marked[at : at + n] for n in range(min(longest, len(marked) - at) + 1)]


@dataclass(frozen=True, eq=False)
class Hankel:
    """Hankel blocks over a basis of P beginnings and S endings, in counts or expectations.

    >>> two = Hankel.counted({(0,): 1.0}, Basis.of([(), (BEGIN,)], [(), (END,)]), 1)
    >>> two.block.tolist(), two.by_symbol[0].toarray().tolist()
    ([[2.0, 1.0], [1.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]])
    """

    block: Float64s  # (P, S) H
    by_symbol: Sequence[Any]  # V of them, H_x, dense or sparse
    first: Float64s  # (S,) the row of ``^``
    last: Float64s  # (P,) the column of ``$``
    places: Float64s  # (S,) the row of the empty beginning
    total: Float64s  # (P,) of the empty ending
    n: float  # how many strings; 1 for expectations

    @classmethod
    def counted(cls, strings: Mapping[Piece, float], basis: Basis, n_symbols: int) -> Hankel:
        """Count in strings, each with a weight."""
        from scipy.sparse import csr_array

        longest = max(map(len, (*basis.beginnings, *basis.endings)), default=0)
        rows: tuple[list[int], list[int]] = ([], [])
        columns: tuple[list[int], list[int]] = ([], [])
        symbol: list[int] = []
        weight: list[float] = []
        first: list[int] = []
        last: list[int] = []
        for string, n in strings.items():
            marked = (BEGIN, *string, END)
            first.append(len(symbol))
            for at in range(1, len(marked)):
                here = len(symbol)
                for side, (numbers, pieces) in enumerate(
                    (
                        (basis.beginnings, _ends(marked, at, longest)),
                        (basis.endings, _starts(marked, at, longest)),
                    )
                ):
                    for piece in pieces:
                        number = numbers.get(piece)
                        if number is not None:
                            rows[side].append(here)
                            columns[side].append(number)
                symbol.append(marked[at])
                weight.append(n)
            last.append(len(symbol) - 1)
        N, (P, S) = len(symbol), map(len, basis)
        left = csr_array((np.ones(len(rows[0])), (rows[0], columns[0])), shape=(N, P))
        right = csr_array((np.ones(len(rows[1])), (rows[1], columns[1])), shape=(N, S))
        weights = np.asarray(weight, np.float64)
        left = left.multiply(weights[:, None]).tocsr()  # every place counts as often as its string
        which = np.asarray(symbol)
        blocks = []
        for x in range(n_symbols):
            here_ = np.flatnonzero(which == x)
            blocks.append((left[here_].T @ right[here_ + 1]).tocsr())
        at_first, at_last = np.asarray(first, np.int64), np.asarray(last, np.int64)
        return cls(
            (left.T @ right).toarray(),
            blocks,
            right[at_first].T @ weights[at_first],
            np.asarray(left[at_last].sum(axis=0)).ravel(),
            right.T @ weights,
            np.asarray(left.sum(axis=0)).ravel(),
            float(sum(strings.values())),
        )


def spectral_automaton(
    hankel: Hankel, rank: int, *, scaling: HankelScaling = "cca", kappa: float = 0.0
) -> Automaton:
    """The automaton of a Hankel block; of smaller rank, where the block has not so much.

    ``scaling``  ``cca``: ``D_p = diag(count of p + kappa)^-1/2``, ``D_s`` alike; ``none``: 1

    >>> strings = {(): 4, (0,): 2, (0, 0): 1}
    >>> learned = spectral_automaton(Hankel.counted(strings, Basis.of([()], [()]), 1), 1)
    >>> learned.k
    1
    """
    D_p, D_s = np.ones(len(hankel.total)), np.ones(len(hankel.places))
    if scaling == "cca":
        D_p = 1 / np.sqrt(np.maximum(hankel.total, 1e-300) + kappa)
        D_s = 1 / np.sqrt(np.maximum(hankel.places, 1e-300) + kappa)
    with single_threaded(), warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        svd = truncated_svd(
            D_p[:, None] * hankel.block * D_s,
            min(rank, *hankel.block.shape),
            method="dense",
            on_rank="warn",
            rank_tol=_SINGULAR,
            symbol="H",
        )
        left = D_p[:, None] * svd.U / svd.S  # (P, k): left' H right = I
        right = D_s[:, None] * svd.Vt.T  # (S, k)
        total, places = left.T @ hankel.total, hankel.places @ right
        return Automaton(
            hankel.first @ right / hankel.n,
            left.T @ hankel.last,
            total,
            places / float(total @ places),
            np.array([right.T @ (H_x.T @ left) for H_x in hankel.by_symbol]),
        )
