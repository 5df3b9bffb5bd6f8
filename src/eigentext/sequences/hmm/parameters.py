"""The parameters of a hidden Markov model over symbols, checked once when they are made.

``initial[i] = p(first state i)``, ``transition[i, j] = p(next state j | state i)`` and
``emission[i, x] = p(symbol x | state i)``::

    p(x_1 .. x_n) = sum over h_1 .. h_n of initial[h_1] emission[h_1, x_1]
                    prod over t > 1 of transition[h_t-1, h_t] emission[h_t, x_t]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eigentext.base.fields import Shares
from eigentext.base.records import stored
from eigentext.base.types import Float64s
from eigentext.errors import SettingsError

_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Parameters:
    """Valid parameters: every row is a distribution (to 1e-6).  The arrays are read-only.

    ``initial``     (k,)
    ``transition``  (k, k), row i the distribution of the state after i
    ``emission``    (k, V), row i the distribution of the symbol that i shows

    >>> weather = Parameters([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[1.0, 0.0], [0.3, 0.7]])
    >>> weather.n_states, weather.n_symbols
    (2, 2)
    """

    initial: Float64s = stored(Shares(("n_states",)))
    transition: Float64s = stored(Shares(("n_states", "n_states")))
    emission: Float64s = stored(Shares(("n_states", "symbols")))

    def __post_init__(self) -> None:
        for name, ndim in (("initial", 1), ("transition", 2), ("emission", 2)):
            try:
                array = np.array(getattr(self, name), np.float64, order="C")
            except (TypeError, ValueError) as error:
                raise SettingsError(f"{name}: expected an array of numbers") from error
            if array.ndim != ndim:
                raise SettingsError(f"{name}: expected {ndim} dimensions, found {array.ndim}")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        k = len(self.initial)
        shapes = (("transition", (k, k)), ("emission", (k, self.emission.shape[1])))
        for name, shape in shapes:
            actual = getattr(self, name).shape
            if actual != shape or 0 in shape:
                raise SettingsError(f"{name}: expected shape {shape} without 0, found {actual}")
        for name in ("initial", "transition", "emission"):
            array = getattr(self, name)
            if not np.isfinite(array).all() or bool((array < 0).any()):
                raise SettingsError(f"{name}: expected finite numbers, none below 0")
            off = float(np.abs(array.sum(axis=-1) - 1).max())
            if off > _TOLERANCE:
                raise SettingsError(
                    f"{name}: expected rows that sum to 1, one is off by {off:.2g}"
                )

    @property
    def n_states(self) -> int:
        """Number of hidden states, k."""
        return len(self.initial)

    @property
    def n_symbols(self) -> int:
        """Number of symbols, V."""
        return int(self.emission.shape[1])

    @classmethod
    def random(cls, n_states: int, n_symbols: int, seed: int = 0) -> Parameters:
        """Rows drawn evenly from all distributions.

        >>> Parameters.random(2, 5, seed=1).emission.shape
        (2, 5)
        """
        if n_states < 1 or n_symbols < 1:
            raise SettingsError(
                f"{n_states} states and {n_symbols} symbols: expected at least 1 of each"
            )
        if seed < 0:
            raise SettingsError(f"seed {seed}: expected 0 or more")
        rng = np.random.default_rng(seed)
        shapes = ((1, n_states), (n_states, n_states), (n_states, n_symbols))
        drawn = [rng.exponential(size=shape) for shape in shapes]
        initial, transition, emission = (t / t.sum(axis=1, keepdims=True) for t in drawn)
        return cls(initial[0], transition, emission)


def distributions(counts: Float64s, otherwise: Float64s | None = None) -> Float64s:
    """Rows over their sums; a row without counts is ``otherwise``, or even.

    >>> distributions(np.array([[1.0, 3.0], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """
    totals = counts.sum(axis=-1, keepdims=True)
    good = totals > 0
    shares = counts / np.where(good, totals, 1.0)
    return np.where(good, shares, 1 / counts.shape[-1] if otherwise is None else otherwise)
