"""A weighted automaton: what it says of whole strings, of beginnings and of parts of strings.

With states as columns, as in ``spectral/operators.py``::

    f(x_1 .. x_n)      = stop'  B_xn ... B_x1 start        the weight of the string
    f(x_1 .. x_n ...)  = total' B_xn ... B_x1 start        of all strings that begin so

where ``total' = stop' (I + B + B^2 + ...)`` and ``B`` is the sum of all ``B_x``.  Weights are real
numbers and can be negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eigentext.sequences.spectral.operators import Operators

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from eigentext.base.types import Float64s


@dataclass(frozen=True, eq=False)
class Automaton:
    """A weighted automaton in a basis of its own.

    ``start``     (k,) the state before the first symbol
    ``stop``      (k,) weight of ending in a state
    ``total``     (k,) weight of all that may follow a state, the end included
    ``usual``     (k,) the mean state over all places of all strings
    ``matrices``  (V, k, k) B_x

    >>> coin = Automaton.known([1.0], [0.5], [[[0.25]], [[0.25]]])
    >>> coin.weight([0, 1]), coin.prefix_weight([0, 1])
    (0.03125, 0.0625)
    """

    start: Float64s
    stop: Float64s
    total: Float64s
    usual: Float64s
    matrices: Float64s

    @classmethod
    def known(
        cls, start: npt.ArrayLike, stop: npt.ArrayLike, matrices: npt.ArrayLike
    ) -> Automaton:
        """Of given parameters; the weights of all strings together must be finite."""
        b, c, B = (np.asarray(one, np.float64) for one in (start, stop, matrices))
        rest = np.linalg.inv(np.eye(len(b)) - B.sum(axis=0))
        places = rest @ b
        total = rest.T @ c
        return cls(b, c, total, places / float(total @ places), B)

    @property
    def k(self) -> int:
        """Number of dimensions."""
        return len(self.start)

    def truncated(self, k: int) -> Automaton:
        """The leading ``k`` directions: what learning with rank ``k`` gives.

        >>> Automaton.known(np.ones(3), np.ones(3), 0.1 * np.ones((2, 3, 3))).truncated(1).k
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
        """Operators over the symbols and an end symbol, whose number is ``end``.

        ``total`` is their ``b_inf``: a sequence is what begins so, and a string is a sequence that
        ends with the end symbol.  So ``b_inf' B_end = stop'``.
        """
        B_end = np.outer(self.total, self.stop) / float(self.total @ self.total)
        matrices = np.insert(self.matrices, end, B_end, axis=0)
        return Operators(self.start, self.total, matrices, self.usual)

    @classmethod
    def without_end(cls, operators: Operators, end: int) -> Automaton:
        """The automaton that :meth:`with_end` was made of."""
        stop = operators.stop @ operators.matrices[end]
        matrices = np.delete(operators.matrices, end, axis=0)
        return cls(operators.start, np.asarray(stop), operators.stop, operators.usual, matrices)
