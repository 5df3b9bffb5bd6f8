"""Baum-Welch: expected counts of states under the parameters, parameters from the counts, again.

    T[i, j] ~ sum_t p(h_t = i, h_t+1 = j | x) + smoothing / k
    O[i, x] ~ sum_{t: x_t = x} p(h_t = i | x) + smoothing u(x)         u: add-half unigram
    pi[i]   ~ sum over sequences p(h_1 = i | x) + smoothing / k

1. :func:`baum_welch` runs so many iterations; the log likelihood never falls (without smoothing).
2. Each iteration is one pass of ``kernels.forward_backward`` over blocks of batches, in bounded
   room, by as many threads as there are cores in use; the result is the same for any number.
3. On a graphics card (``using_device``) they are products of large matrices instead (device.py).
4. ``precision="single"`` runs the passes in float32 (1.6 times faster at k = 100, hardly at 10;
   counts and parameters stay float64).  Where float32 cannot hold a probability the iteration is
   done in float64.

A state that nothing is expected of keeps its former rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigentext.base.em import EMResult, iterate
from eigentext.base.registry import part
from eigentext.errors import DataError, SettingsError
from eigentext.linalg.backend import CPU, backend_for
from eigentext.sequences.hmm.batches import Counts, Machine
from eigentext.sequences.hmm.parameters import Parameters

if TYPE_CHECKING:
    from eigentext.base.progress import Progress
    from eigentext.base.types import Float64s
    from eigentext.sequences.observations import Encoded
    from eigentext.sequences.settings import Precision

    Tables = tuple[
        Float64s, Float64s, Float64s
    ]  # initial (k,), transition (k, k), emission (V, k)


def baum_welch(
    start: Parameters,
    data: Encoded,
    *,
    n_iter: int,
    tol: float = 0.0,
    smoothing: float = 0.0,
    precision: Precision = "double",
    progress: Progress | None = None,
) -> EMResult[Parameters]:
    """Improve parameters by EM.

    ``tol``        stop when an iteration gains less than this per token; 0 never stops early
    ``smoothing``  tokens added to every row, spread as the module's docstring says
    ``progress``   hears of each iteration

    >>> from eigentext.sequences.observations import Encoded
    >>> data = Encoded.of([[0, 1, 0, 1, 0, 1], [1, 0, 1, 0]])
    >>> start = Parameters([0.5, 0.5], [[0.4, 0.6], [0.6, 0.4]], [[0.7, 0.3], [0.2, 0.8]])
    >>> found = baum_welch(start, data, n_iter=20)
    >>> found.log_likelihoods[0] < found.log_likelihoods[-1]
    True
    >>> found.params.transition.round(2).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if n_iter < 0:
        raise SettingsError(f"n_iter {n_iter}: expected 0 or more")
    for name, value in (("tol", tol), ("smoothing", smoothing)):
        if not (np.isfinite(value) and value >= 0):
            raise SettingsError(f"{name} {value}: expected a number, 0 or more")
    if precision not in ("double", "single"):
        raise SettingsError(f"precision {precision!r}: expected 'double' or 'single'")
    if not data.n_tokens:
        raise DataError("sequences", None, "no tokens to learn from")
    machine = _machine(data, start.n_states, start.n_symbols)
    spread = _unigram(data, start.n_symbols) * smoothing
    even = smoothing / start.n_states

    def step(tables: Tables) -> tuple[Tables, float]:
        value, counts = _expectation(machine, *tables, precision)
        initial = _rows(counts.initial + even, tables[0], axis=0)
        transition = _rows(counts.moved + even, tables[1], axis=1)
        if smoothing:
            counts.emitted[:] += spread[:, None]
        return (initial, transition, _rows(counts.emitted, tables[2], axis=0)), value

    # emissions are (V, k) all along
    begin = start.initial.copy(), start.transition.copy(), np.ascontiguousarray(start.emission.T)
    total = tol * data.n_tokens
    result = iterate(begin, step, n_iter=n_iter, tol=total, progress=progress)
    initial, transition, emission = result.params
    return EMResult(Parameters(initial, transition, emission.T), result.log_likelihoods)


def _machine(data: Encoded, n_states: int, n_symbols: int) -> Machine:
    """What runs the passes: compiled code, or the card that is in use (``using_device``)."""
    backend = backend_for()
    if backend is CPU:
        return Machine(data, n_states, n_symbols)
    on_card: Machine = part("HMM passes on a card")(data, n_states, n_symbols, backend)
    return on_card


def _expectation(
    machine: Machine,
    initial: Float64s,
    transition: Float64s,
    emission: Float64s,
    precision: Precision,
) -> tuple[float, Counts]:
    """Log likelihood, and expected counts."""
    machine.set(initial, transition, emission, precision)
    counts = Counts.zeros(*emission.shape[::-1])
    value, n_impossible = machine.expect(counts)
    sound = np.isfinite(value) and all(np.isfinite(array).all() for array in counts)
    if precision == "single" and (n_impossible or not sound):
        return _expectation(machine, initial, transition, emission, "double")
    if n_impossible or not sound:
        raise DataError(
            "sequences",
            None,
            f"the parameters give {n_impossible} token(s) probability 0: EM cannot learn from "
            "them; start from parameters without zeros, or with smoothing",
        )
    return value, counts


def _rows(counts: Float64s, former: Float64s, *, axis: int) -> Float64s:
    """Distributions along ``axis``; where there are no counts, the former ones."""
    totals = counts.sum(axis=axis, keepdims=True)
    counts /= np.where(totals > 0, totals, 1)
    return counts if bool((totals > 0).all()) else np.where(totals > 0, counts, former)


def _unigram(data: Encoded, n_symbols: int) -> Float64s:
    counts = np.bincount(data.ids, minlength=n_symbols) + 0.5
    return np.asarray(counts / counts.sum())
