"""From values of operators to distributions: the one policy of all models of operators.

The value ``p_t(x) = b_inf' B_x b_t`` of a symbol can be negative: nothing asks the estimates to be
probabilities.  Values that are not positive are treated as ``negatives`` says, the rest is divided
by its sum over all symbols and mixed with the unigram::

    p(x | x_1 .. x_t) = (1 - w) p+_t(x) / sum_z p+_t(z) + w p_unigram(x)

So every query answers with a distribution, and ``negative_rate_`` tells for how many of the tokens
asked about the operators themselves had no positive value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eigentext.base.types import Float64s, Int32s, Numbers
from eigentext.errors import DataError
from eigentext.linalg.ties import single_threaded
from eigentext.sequences.observations import Encoded
from eigentext.sequences.scoring import ScoresSequences
from eigentext.sequences.settings import Negatives
from eigentext.sequences.spectral.operators import Operators

CELLS = 20_000_000  # numbers of a block of predictions


@dataclass(frozen=True)
class NegativeReport:
    """What the operators had to be corrected for in one query.

    ``n_tokens`` asked about, ``n_negative`` of them with a value of 0 or less; ``mass``: the mean
    over places of the sum of the negative values of all symbols (the positive ones sum to 1 more).

    >>> NegativeReport(200, 5, 0.01).rate
    0.025
    """

    n_tokens: int
    n_negative: int
    mass: float

    @property
    def rate(self) -> float:
        """Share of the tokens."""
        return self.n_negative / self.n_tokens if self.n_tokens else 0.0


class Predicting(ScoresSequences):
    """A model with ``operators_`` over ``symbols_``: what it says of the next symbol."""

    operators_: Operators
    negatives: Negatives
    floor: float
    unigram_weight: Any

    def _take(self, operators: Operators) -> None:
        self.operators_ = operators
        self._rows = operators.rows()
        self._unigram = self.symbols_.unigram()

    def surprisals_encoded(self, data: Encoded) -> Float64s:
        """(N,) for sequences that are numbers already."""
        self.check_fitted()
        states, raw = self._states(data)
        self._judge(raw, data.ids)
        p = np.abs(raw) if self.negatives == "abs" else np.maximum(raw, 0.0)
        mass = 0.0
        at_once = max(1, CELLS // len(self._rows))
        for low in range(0, data.n_tokens, at_once):
            _, total, negative = self._values(states[low : low + at_once])
            p[low : low + at_once] = self._mixed(
                p[low : low + at_once], total, self._unigram[data.ids[low : low + at_once]]
            )
            mass += float(negative.sum())
        self._report(raw, data.ids, mass)
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(p))

    def _next_encoded(self, data: Encoded) -> Float64s:
        """(S, V) distribution of the symbol after each sequence of numbers."""
        # one more symbol at the end of each: its state is what is wanted
        first = data.first + np.arange(len(data.first))
        ids = np.insert(data.ids, data.first[1:], 0).astype(np.int32)  # any symbol
        states, raw = self._states(replace(data, ids=ids, first=first))
        inner = np.ones(len(ids), np.bool_)
        inner[first[1:] - 1] = False
        self._judge(raw[inner], data.ids)
        predicted, negative = self._predict(states[first[1:] - 1])
        self._report(raw[inner], data.ids, float(negative.sum()), n_positions=len(data))
        return predicted

    def _next_of_states(self, states: Float64s) -> Float64s:
        """(n, V) distribution of the symbol after each state."""
        return self._predict(states)[0]

    def _after(self, state: Float64s, x: int) -> Float64s:
        """The state behind symbol ``x``, as the compiled recursion has it."""
        weak, row = float(self._weak()[x]), self._rows[x]
        p = float(row @ state)
        if self.negatives != "abs" and not p > weak:
            state = self.operators_.usual
            p = float(row @ state)
            if not p > weak:
                return state
        elif p == 0:
            return self.operators_.usual
        return np.asarray(self.operators_.matrix(x) @ state / p)

    @property
    def negative_rate_(self) -> float:
        """Share of the tokens of the last query with no positive value (of sequences, for raw)."""
        self.check_fitted()
        if not hasattr(self, "negatives_"):
            raise AttributeError("negative_rate_ is there after a query, such as score(X)")
        return self.negatives_.rate

    def _unigram_share(self) -> float:
        return float(self.unigram_weight)

    def _weak(self) -> Float64s:
        return self._unigram * (self.floor if self.negatives == "clip" else 0.0)

    def _states(self, data: Encoded) -> tuple[Float64s, Float64s]:
        """State before each token (N, k), and the operators' value of the token (N,)."""
        from eigentext.sequences.kernels.operators import OperatorArrays, operator_states

        ops = self.operators_
        states, raw = np.empty((data.n_tokens, ops.k)), np.empty(data.n_tokens)
        y = np.zeros((0, ops.k)) if ops.y is None else ops.y
        operator_states(
            data.ids,
            data.first,
            OperatorArrays(ops.start, ops.usual, self._rows, ops.matrices, y),
            self._weak(),
            self.negatives != "abs",
            states,
            raw,
        )
        return states, raw

    def _values(self, states: Float64s) -> tuple[Numbers, Float64s, Float64s]:
        """What the operators say of all symbols (n, V), corrected; its sum; what was negative."""
        with single_threaded():
            values = states.astype(self._rows.dtype) @ self._rows.T  # (n, V) p_t(x)
            plain = states @ self._rows.sum(axis=0, dtype=np.float64)  # sum over x, signed
            np.maximum(values, 0, out=values)
            positive = (values @ np.ones(values.shape[1], values.dtype)).astype(np.float64)
            if self.negatives == "abs":
                values = np.abs(states.astype(self._rows.dtype) @ self._rows.T)
        negative = np.maximum(positive - plain, 0.0)  # mass below 0
        return values, positive + negative * (self.negatives == "abs"), negative

    def _mixed(self, values: Numbers, total: Float64s, unigram: Float64s) -> Float64s:
        """The share of ``total``, and the unigram; that alone where nothing is positive."""
        good = total > 0
        w = np.where(good, self._unigram_share(), 1.0)  # 1 where the operators say nothing
        return np.asarray(values * ((1 - w) / np.where(good, total, 1.0)) + w * unigram)

    def _predict(self, states: Float64s) -> tuple[Float64s, Float64s]:
        """Distributions (n, V) at these states, and the mass that was negative (n,)."""
        values, total, negative = self._values(states)
        return self._mixed(values.T, total, self._unigram[:, None]).T, negative

    def _judge(self, raw: Float64s, ids: Int32s) -> None:
        bad = np.flatnonzero(~(raw > 0))
        if self.negatives == "error" and len(bad):
            name = self.symbols_.names[ids[bad[0]]]
            why = f"{len(bad)} of {len(raw)} tokens have a value of 0 or less, the first {name!r}"
            raise DataError("sequences", None, why)

    def _report(
        self, raw: Float64s, ids: Int32s, mass: float, n_positions: int | None = None
    ) -> None:
        n_bad = int((~(raw > self._weak()[ids])).sum())
        self.negatives_ = NegativeReport(len(raw), n_bad, mass / max(n_positions or len(raw), 1))
