"""EM for hidden Markov models: Baum-Welch over the whole text, or in small steps.

Baum-Welch takes the expected counts of states under the parameters, parameters from the counts,
and again; with u the add-half unigram::

    T[i, j] ~ sum_t p(h_t = i, h_t+1 = j | x) + smoothing / k
    O[i, x] ~ sum_{t: x_t = x} p(h_t = i | x) + smoothing u(x)
    pi[i]   ~ sum over sequences p(h_1 = i | x) + smoothing / k

1. :func:`baum_welch`: the log likelihood never falls (without smoothing).  A state that nothing is
   expected of keeps its former rows.
2. ``precision="single"`` runs the passes in float32 (1.6 times faster at k = 100, hardly at 10;
   counts and parameters stay float64).  Where float32 cannot hold a probability the iteration is
   done in float64.
3. :func:`stepwise_em` moves parameters after every part of the text: the expected counts of part
   j replace a share of the running counts, and the parameters follow at once::

       s <- (1 - eta_j) s + eta_j (counts of part / tokens of part),   eta_j = (j + delay)^-power

   One pass in small steps is worth many iterations as long as parameters still move a lot (Liang
   and Klein 2009; Cappe and Moulines 2009): from a spectral start two or three are enough.  The
   likelihood can fall from pass to pass; what is returned are the parameters after the last.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eigentext.base.em import EMResult, iterate
from eigentext.base.progress import Progress
from eigentext.base.registry import part
from eigentext.base.types import Float64s
from eigentext.errors import DataError, SettingsError
from eigentext.linalg.backend import CPU, backend_for
from eigentext.linalg.ties import single_threaded
from eigentext.sequences.hmm.batches import Machine, StateCounts, Workspace, check_symbols
from eigentext.sequences.hmm.parameters import Parameters, distributions
from eigentext.sequences.observations import Encoded
from eigentext.sequences.settings import Precision

# initial (k,), transition (k, k), emission (V, k)
Tables = tuple[Float64s, Float64s, Float64s]


_POWER, _DELAY = 0.6, 3.0  # of a small step; a power of less than 0.5 would never settle
_TOKENS_OF_A_PART = 10_000
_MOST_PARTS = 400
_LONGEST_PIECE = 5_000  # tokens; a sequence of a million should still give many steps
_BEGINNING = 100  # tokens that tell the first state
_SMALLEST_SCALE = 1e-30  # of the running counts, before they are multiplied by it


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

    >>> data = Encoded.of([[0, 1, 0, 1, 0, 1], [1, 0, 1, 0]])
    >>> start = Parameters([0.5, 0.5], [[0.4, 0.6], [0.6, 0.4]], [[0.7, 0.3], [0.2, 0.8]])
    >>> learned = baum_welch(start, data, n_iter=20)
    >>> learned.log_likelihoods[0] < learned.log_likelihoods[-1]
    True
    >>> learned.params.transition.round(2).tolist()
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
        value, counts = _expected(machine, tables, precision)
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


def _expected(machine: Machine, tables: Tables, precision: Precision) -> tuple[float, StateCounts]:
    """Log likelihood, and expected counts; in float64 where float32 cannot hold them."""
    machine.set(*tables, precision)
    counts = StateCounts.zeros(*tables[2].shape[::-1])
    value, n_impossible = machine.expect(counts)
    if n_impossible or not all(np.isfinite(array).all() for array in (value, *counts)):
        if precision == "single":
            return _expected(machine, tables, "double")
        why = (
            f"the parameters give {n_impossible} token(s) probability 0: EM cannot learn from "
            "them; start from parameters without zeros, or with smoothing"
        )
        raise DataError("sequences", None, why)
    return value, counts


def _rows(counts: Float64s, former: Float64s, *, axis: int) -> Float64s:
    """Distributions along ``axis``; where there are no counts, the former ones."""
    totals = counts.sum(axis=axis, keepdims=True)
    counts /= np.where(totals > 0, totals, 1)
    return counts if bool((totals > 0).all()) else np.where(totals > 0, counts, former)


def _unigram(data: Encoded, n_symbols: int) -> Float64s:
    counts = np.bincount(data.ids, minlength=n_symbols) + 0.5
    return np.asarray(counts / counts.sum())


# ---------------------------------------------------------------- small steps


def stepwise_em(
    start: Parameters,
    data: Encoded,
    *,
    passes: int = 2,
    parts: int | None = None,
    smoothing: float = 0.0,
    precision: Precision = "single",
    seed: int = 0,
    progress: Callable[[int, float, Parameters], None] | None = None,
) -> EMResult[Parameters]:
    """Improve parameters by EM in small steps.

    ``parts``       steps of a pass (default: one for every 10,000 tokens, 400 at most); sequences
                    are dealt out to them at random, those of more than 5,000 tokens in pieces
    ``smoothing``   at the end, this share of every emission row is the unigram of the data
    ``progress``    hears of each pass: its number, log likelihood on the way, parameters

    The result's ``log_likelihoods`` are sums over the parts of each pass, every part under the
    parameters of its own moment.  Where something was cut, pi is taken from the true beginnings.

    >>> data = Encoded.of([[0, 1, 0, 1, 0, 1], [1, 0, 1, 0]] * 20)
    >>> start = Parameters([0.5, 0.5], [[0.4, 0.6], [0.6, 0.4]], [[0.7, 0.3], [0.2, 0.8]])
    >>> learned = stepwise_em(start, data, passes=9, parts=5)
    >>> learned.params.transition.round(1).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if passes < 0 or (parts is not None and parts < 1):
        raise SettingsError(f"{passes} passes, {parts} parts: expected 0 and 1 at least")
    if not 0 <= smoothing < 1:
        raise SettingsError(f"smoothing {smoothing!r}: expected from 0 to below 1")
    if not data.n_tokens:
        raise DataError("sequences", None, "no tokens to learn from")
    check_symbols(data, start.n_symbols)
    count = parts or int(np.clip(data.n_tokens // _TOKENS_OF_A_PART, 1, _MOST_PARTS))
    pieces = _cut(data.without_empty())
    workspace = Workspace()
    dealt = [_Part(piece, start.n_states, workspace) for piece in deal(pieces, count, seed)]
    running = _RunningCounts(start, precision)
    unigram = _unigram(data, start.n_symbols)
    log_likelihoods: list[float] = []
    for number in range(passes):
        total = 0.0
        with single_threaded():
            for j, text in enumerate(dealt, start=number * len(dealt)):
                total += running.step(text, float((j + _DELAY) ** -_POWER))
        log_likelihoods.append(total)
        if progress is not None:
            progress(number + 1, total, running.parameters(unigram, smoothing))
    parameters = running.parameters(unigram, smoothing)
    if pieces.lengths.max() < data.lengths.max() and passes:
        parameters = _with_beginnings(parameters, data)
    return EMResult(parameters, tuple(log_likelihoods))


def deal(data: Encoded, parts: int, seed: int = 0) -> list[Encoded]:
    """Sequences that are not empty, dealt at random into so many parts (fewer if they are few).

    >>> [part.n_tokens for part in deal(Encoded.of([[0, 1], [], [2, 2], [1, 0]]), 3)]
    [2, 2, 2]
    """
    order = np.random.default_rng(seed).permutation(np.flatnonzero(data.lengths))
    return [data.only(some) for some in np.array_split(order, min(parts, len(order)))]


def _cut(data: Encoded) -> Encoded:
    """Sequences longer than a piece in pieces, each of which begins like a sequence."""
    if not bool((data.lengths > _LONGEST_PIECE).any()):
        return data
    inner = [
        np.arange(begin, end, _LONGEST_PIECE)
        for begin, end in zip(data.first[:-1].tolist(), data.first[1:].tolist(), strict=True)
    ]
    return Encoded(data.ids, np.unique(np.concatenate([data.first, *inner])).astype(np.int64))


def _with_beginnings(parameters: Parameters, data: Encoded) -> Parameters:
    """The same with the expected first states of the sequences for pi."""
    from eigentext.sequences.hmm.inference import smoothed

    heads = Encoded.of(
        [data[at][:_BEGINNING].tolist() for at in range(len(data)) if len(data[at])]
    )
    even = np.full(parameters.n_states, 1 / parameters.n_states)  # that of pieces says nothing
    unbiased = Parameters(even, parameters.transition, parameters.emission)
    initial = smoothed(unbiased, heads)[heads.first[:-1]].mean(axis=0)
    return Parameters(initial / initial.sum(), parameters.transition, parameters.emission)


class _Part:
    """One part of the text, with the symbols that occur in it numbered anew."""

    def __init__(self, text: Encoded, n_states: int, workspace: Workspace) -> None:
        # (u,) their numbers in the whole text, rising
        self.symbols, ids = np.unique(text.ids, return_inverse=True)
        self.n_sequences, self.n_tokens = len(text), text.n_tokens
        renumbered = Encoded(ids.astype(np.int32), text.first)
        self.machine = Machine(renumbered, n_states, len(self.symbols), workspace=workspace)


class _RunningCounts:
    """Running counts, and the parameters that follow from them.

    A step touches the rows of the symbols that its part has: ``emitted`` (V, k) are the counts
    over ``scale``, a number that becomes smaller where all counts should; ``totals`` (k,) are its
    column sums.
    """

    def __init__(self, start: Parameters, precision: Precision) -> None:
        k = start.n_states
        self.precision = precision
        share = np.full(k, 1 / k)  # states as often as the chain visits them
        for _ in range(20):
            share = (share + share @ start.transition) / 2
        self.first, self.moved = start.initial.copy(), start.transition * share[:, None]
        self.emitted = np.ascontiguousarray(start.emission.T) * share
        self.totals = self.emitted.sum(axis=0)
        self.scale = 1.0

    def step(self, text: _Part, eta: float) -> float:
        """Replace the share ``eta`` of the counts by those of a part; its log likelihood."""
        live = np.where(self.totals > 0, self.totals, 1.0)
        # a row of a state that died is even, as in distributions()
        emission = np.where(
            self.totals > 0, self.emitted[text.symbols] / live, 1 / len(self.emitted)
        )
        tables = distributions(self.first), distributions(self.moved), emission
        value, new = _expected(text.machine, tables, self.precision)
        self.first = (1 - eta) * self.first + eta / text.n_sequences * new.initial
        self.moved = (1 - eta) * self.moved + eta / text.n_tokens * new.moved
        self.scale *= 1 - eta
        if self.scale < _SMALLEST_SCALE:
            self.emitted *= self.scale
            self.totals *= self.scale
            self.scale = 1.0
        weight = eta / text.n_tokens / self.scale
        self.emitted[text.symbols] += weight * new.emitted
        self.totals += weight * new.emitted.sum(axis=0)
        return value

    def parameters(self, unigram: Float64s, smoothing: float) -> Parameters:
        """As they are now, with some of the unigram in every emission."""
        emission = (1 - smoothing) * distributions(self.emitted.T) + smoothing * unigram
        return Parameters(distributions(self.first), distributions(self.moved), emission)
