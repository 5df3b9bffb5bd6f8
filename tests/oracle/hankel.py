"""Hankel blocks of known automata, and all strings."""

from __future__ import annotations

from itertools import product

import numpy as np

from eigentext.lab.automata.hankel import BEGIN, END, Automaton, Basis, Hankel, Piece


def exact_hankel(automaton: Automaton, basis: Basis) -> Hankel:
    """The expectations of a known automaton, for tests."""
    A = np.swapaxes(automaton.matrices, 1, 2)
    rest = np.linalg.inv(np.eye(automaton.k) - A.sum(axis=0).T)
    places = float(automaton.total @ rest @ automaton.start)

    def left(piece: Piece) -> np.ndarray:
        row = automaton.usual * places
        for x in piece:
            row = automaton.start if x == BEGIN else row @ A[x]
        return row

    def right(piece: Piece) -> np.ndarray:
        column = automaton.total
        for x in reversed(piece):
            column = automaton.stop if x == END else A[x] @ column
        return column

    F = np.array([left(piece) for piece in basis.beginnings])
    G = np.array([right(piece) for piece in basis.endings]).T
    return Hankel(
        F @ G,
        [F @ A_x @ G for A_x in A],
        left((BEGIN,)) @ G,
        F @ right((END,)),
        left(()) @ G,
        F @ right(()),
        1.0,
    )


def all_pieces(n_symbols: int, longest: int) -> list[Piece]:
    """Every string of up to ``longest`` symbols.

    >>> all_pieces(2, 1)
    [(), (0,), (1,)]
    """
    return [piece for n in range(longest + 1) for piece in product(range(n_symbols), repeat=n)]


def known_automaton(start, stop, matrices) -> Automaton:
    """Of given parameters; the weights of all strings together must be finite."""
    b, c, B = (np.asarray(values, np.float64) for values in (start, stop, matrices))
    rest = np.linalg.inv(np.eye(len(b)) - B.sum(axis=0))
    places, total = rest @ b, rest.T @ c
    return Automaton(b, c, total, places / float(total @ places), B)
