"""EM in small steps: parameters move after every part of the text, not after all of it.

1. Sequences are dealt at random (by seed) into ``parts`` of about equal size; one of more than
   5,000 tokens is cut into pieces first, each of which begins like a sequence.
2. The expected counts of one part under the present parameters (by the same passes as those of
   Baum-Welch, its sentences shared out among the cores in use) replace a share of the running
   counts, and the parameters follow at once::

       s <- (1 - eta_j) s + eta_j (counts of part / tokens of part),   eta_j = (j + delay)^-power

3. ``passes`` over the text.  The first running counts are those of the start.  Where something was
   cut, pi is taken at the end from the true beginnings.

One pass in small steps is worth many iterations of Baum-Welch as long as parameters still move a
lot (Liang and Klein 2009; Cappe and Moulines 2009), so that from a spectral start two or three
passes are enough.  The likelihood can fall from pass to pass; what is returned are the parameters
after the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eigentext.base.em import EMResult
from eigentext.errors import DataError, SettingsError
from eigentext.linalg.determinism import single_threaded
from eigentext.sequences.hmm.batches import Counts, Machine, Workspace, check_symbols
from eigentext.sequences.hmm.parameters import Parameters
from eigentext.sequences.observations import Encoded

if TYPE_CHECKING:
    from collections.abc import Callable

    from eigentext.base.types import Float64s
    from eigentext.sequences.settings import Precision

_TOKENS_OF_A_PART = 10_000
_MOST_PARTS = 400
_LONGEST_PIECE = 5_000  # tokens; a sequence of a million should still give many steps
_BEGINNING = 100  # tokens that tell the first state
_SMALLEST_SCALE = 1e-30  # of the running counts, before they are multiplied by it


@dataclass(frozen=True)
class StepSize:
    """Step j replaces the share (j + delay)^-power of the running counts.

    ``power``  from 0.5 to 1: with less, later parts would never settle the counts
    ``delay``  above 1, so that the first step leaves something of the start

    >>> StepSize(power=1.0, delay=4.0).share(0)
    0.25
    """

    power: float = 0.6
    delay: float = 3.0

    def __post_init__(self) -> None:
        if not 0.5 <= self.power <= 1:
            raise SettingsError(f"power {self.power!r}: expected from 0.5 to 1")
        if not self.delay > 1:
            raise SettingsError(f"delay {self.delay!r}: expected more than 1")

    def share(self, j: int) -> float:
        """eta_j."""
        return float((j + self.delay) ** -self.power)


def stepwise_em(
    start: Parameters,
    data: Encoded,
    *,
    passes: int = 2,
    parts: int | None = None,
    step: StepSize | None = None,
    smoothing: float = 0.0,
    precision: Precision = "single",
    seed: int = 0,
    progress: Callable[[int, float, Parameters], None] | None = None,
) -> EMResult[Parameters]:
    """Improve parameters by EM in small steps.

    ``parts``       steps of a pass (default: one for every 10,000 tokens, 400 at most)
    ``step``        how far each step goes (default: ``StepSize()``)
    ``smoothing``   at the end, this share of every emission row is the unigram of the data
    ``progress``    hears of each pass: its number, log likelihood on the way, parameters

    The result's ``log_likelihoods`` are sums over the parts of each pass, every part under the
    parameters of its own moment.

    >>> from eigentext.sequences.observations import Encoded
    >>> data = Encoded.of([[0, 1, 0, 1, 0, 1], [1, 0, 1, 0]] * 20)
    >>> start = Parameters([0.5, 0.5], [[0.4, 0.6], [0.6, 0.4]], [[0.7, 0.3], [0.2, 0.8]])
    >>> learned = stepwise_em(start, data, passes=9, parts=5)
    >>> learned.params.transition.round(1).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    _check(passes, parts, smoothing)
    step = StepSize() if step is None else step
    if not data.n_tokens:
        raise DataError("sequences", None, "no tokens to learn from")
    check_symbols(data, start.n_symbols)
    k, V = start.n_states, start.n_symbols
    count = parts or int(np.clip(data.n_tokens // _TOKENS_OF_A_PART, 1, _MOST_PARTS))
    pieces = _cut(data.without_empty())
    workspace = Workspace()
    dealt = [_Part(part, k, workspace) for part in deal(pieces, count, seed)]
    running = _Running(start, precision)
    counts = np.bincount(data.ids, minlength=V) + 0.5
    unigram: Float64s = np.asarray(counts / counts.sum())
    log_likelihoods: list[float] = []
    n_steps = 0
    for number in range(passes):
        total = 0.0
        with single_threaded():
            for part in dealt:
                value, n_bad, new = running.expect(part)
                if n_bad or not np.isfinite(value):
                    raise DataError("sequences", None, _IMPOSSIBLE.format(n_bad))
                total += value
                running.move(step.share(n_steps), part, new)
                n_steps += 1
        log_likelihoods.append(total)
        if progress is not None:
            progress(number + 1, total, running.parameters(unigram, smoothing))
    parameters = running.parameters(unigram, smoothing)
    if pieces.lengths.max() < data.lengths.max() and passes:
        parameters = _with_beginnings(parameters, data)
    return EMResult(parameters, tuple(log_likelihoods))


_IMPOSSIBLE = (
    "the parameters give {} token(s) probability 0: EM cannot learn from them; start from "
    "parameters without zeros"
)


def deal(data: Encoded, parts: int, seed: int = 0) -> list[Encoded]:
    """Sequences that are not empty, dealt at random into so many parts (fewer if they are few).

    >>> [part.n_tokens for part in deal(Encoded.of([[0, 1], [], [2, 2], [1, 0]]), 3)]
    [2, 2, 2]
    """
    order = np.random.default_rng(seed).permutation(np.flatnonzero(data.lengths))
    return [data.only(some) for some in np.array_split(order, min(parts, len(order)))]


def _cut(data: Encoded) -> Encoded:
    """Sequences longer than a piece in pieces."""
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
    asked = Parameters(even, parameters.transition, parameters.emission)
    initial = smoothed(asked, heads)[heads.first[:-1]].mean(axis=0)
    return Parameters(initial / initial.sum(), parameters.transition, parameters.emission)


def _check(passes: int, parts: int | None, smoothing: float) -> None:
    if passes < 0 or (parts is not None and parts < 1):
        raise SettingsError(f"{passes} passes, {parts} parts: expected 0 and 1 at least")
    if not 0 <= smoothing < 1:
        raise SettingsError(f"smoothing {smoothing!r}: expected from 0 to below 1")


class _Part:
    """One part of the text, with the symbols that occur in it numbered anew.

    ``symbols`` (u,) their numbers in the whole text, rising
    """

    def __init__(self, part: Encoded, n_states: int, workspace: Workspace) -> None:
        self.symbols, ids = np.unique(part.ids, return_inverse=True)
        self.n_sequences, self.n_tokens = len(part), part.n_tokens
        own = Encoded(ids.astype(np.int32), part.first)
        self.machine = Machine(own, n_states, len(self.symbols), workspace=workspace)


class _Running:
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

    def expect(self, part: _Part) -> tuple[float, int, Counts]:
        """Log likelihood, impossible tokens, and the expected counts of a part."""
        live = np.where(self.totals > 0, self.totals, 1.0)
        # a row of a state that died is even, as in _shares
        emission = np.where(
            self.totals > 0, self.emitted[part.symbols] / live, 1 / len(self.emitted)
        )
        value, n_bad, new = self._expect(part, emission, self.precision)
        sound = np.isfinite(value) and all(np.isfinite(table).all() for table in new)
        if self.precision == "single" and (n_bad or not sound):  # float32 cannot hold it
            value, n_bad, new = self._expect(part, emission, "double")
        return value, n_bad, new

    def _expect(
        self, part: _Part, emission: Float64s, precision: Precision
    ) -> tuple[float, int, Counts]:
        new = Counts.zeros(len(self.first), len(part.symbols))
        part.machine.set(_shares(self.first), _shares(self.moved), emission, precision)
        return *part.machine.expect(new), new

    def move(self, eta: float, part: _Part, new: Counts) -> None:
        """Replace the share ``eta`` of the running counts by the new ones."""
        self.first = (1 - eta) * self.first + eta / part.n_sequences * new.initial
        self.moved = (1 - eta) * self.moved + eta / part.n_tokens * new.moved
        self.scale *= 1 - eta
        if self.scale < _SMALLEST_SCALE:
            self.emitted *= self.scale
            self.totals *= self.scale
            self.scale = 1.0
        weight = eta / part.n_tokens / self.scale
        self.emitted[part.symbols] += weight * new.emitted
        self.totals += weight * new.emitted.sum(axis=0)

    def parameters(self, unigram: Float64s, smoothing: float) -> Parameters:
        """As they are now, with some of the unigram in every emission."""
        emission = (1 - smoothing) * _shares(self.emitted.T) + smoothing * unigram
        return Parameters(_shares(self.first), _shares(self.moved), emission)


def _shares(counts: Float64s) -> Float64s:
    """Distributions of rows; a row of a state that died is even."""
    total = counts.sum(axis=-1, keepdims=True)
    good = total > 0
    even = 1 / counts.shape[-1]
    return np.asarray(np.where(good, counts / np.where(good, total, 1.0), even))
