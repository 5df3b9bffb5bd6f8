"""Is one system better than another, or was it luck?  Paired tests over sentences.

Flow of the datum: for every sentence and system the counts a figure is made of (matched, gold,
test) -> many resampled sets of sentences -> the difference of the figures on each -> a p value and
a confidence interval.  The figure of a set is computed from its added counts, as the real one is:

    F1 = 2 matched / (gold + test)          (for accuracies gold = test = number of words)

- ``bootstrap``: sentences are drawn with replacement, the same for both systems.  With delta the
  observed and delta* a resampled difference, p = P(|delta* - delta| >= |delta|).
- ``permutation`` (approximate randomisation): each sentence's two counts are swapped with
  probability 1/2; p = P(|delta*| >= |delta|).

Both p values are two-sided and count the observed set as one of the draws, (1 + hits) / (1 +
n), so they are never 0. The interval is the percentile bootstrap's for delta, whatever the
test. The same seed gives the same answer.

A figure may be nan where it is not defined: such draws are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from eigentext.base.types import Float64s
from eigentext.errors import SettingsError

Counts = Float64s
Figure = Callable[[Counts], Counts]
_CELLS_AT_ONCE = 1 << 22  # random numbers held at a time: 32 MB


@dataclass(frozen=True)
class Comparison:
    """Two systems compared, in percent; ``difference`` = first - second."""

    first: float
    second: float
    difference: float
    p_value: float
    low: float
    high: float
    confidence: float
    n_samples: int
    method: str
    seed: int


@dataclass(frozen=True)
class Interval:
    """A figure and its interval; all nan where the figure is not defined."""

    value: float
    low: float
    high: float
    confidence: float
    n_samples: int
    seed: int


def f1(counts: Counts) -> Counts:
    """F1 in percent of added counts (..., 3) = matched, gold, test; 0 where there is nothing.

    >>> float(f1(np.array([3.0, 4.0, 6.0])))
    60.0
    """
    whole = counts[..., 1] + counts[..., 2]
    return np.divide(200.0 * counts[..., 0], whole, out=np.zeros_like(whole), where=whole > 0)


def _checked(counts: Sequence[Sequence[float]] | Counts, name: str) -> Counts:
    array = np.asarray(counts, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] == 0:
        raise SettingsError(
            f"{name} has shape {array.shape}, expected one row of counts per sentence"
        )
    if not np.isfinite(array).all():
        raise SettingsError(f"{name} has counts that are not finite numbers")
    return array


def compare(
    first: Sequence[Sequence[float]] | Counts,
    second: Sequence[Sequence[float]] | Counts,
    *,
    figure: Figure = f1,
    method: Literal["bootstrap", "permutation"] = "bootstrap",
    n_samples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare two systems that answered for the same sentences.

    ``first`` and ``second`` have a row of counts per sentence, in the same order; ``figure`` maps
    added counts (..., n_counts) to figures (...).

    >>> better, worse = [(9, 10, 10)] * 40, [(8, 10, 10)] * 39 + [(9, 10, 10)]
    >>> result = compare(better, worse, n_samples=1000)
    >>> round(result.difference, 2), result.p_value < 0.01
    (9.75, True)
    """
    ours, theirs = _checked(first, "first"), _checked(second, "second")
    if ours.shape != theirs.shape:
        raise SettingsError(f"shapes {ours.shape} and {theirs.shape}: not the same sentences")
    _check_draws(n_samples, confidence)
    if method not in ("bootstrap", "permutation"):
        raise SettingsError(f"method {method!r}, expected 'bootstrap' or 'permutation'")
    score, rival = float(figure(ours.sum(0))), float(figure(theirs.sum(0)))
    delta = score - rival
    rng = np.random.default_rng(seed)
    sets = _multiplicities(ours.shape, n_samples, rng)  # drawn with replacement
    drawn = np.concatenate([figure(times @ ours) - figure(times @ theirs) for times in sets])
    tolerance = 1e-9  # the same sum in another order may differ in the last bits
    if method == "bootstrap":
        hits = np.abs(drawn - delta) >= abs(delta) - tolerance
    else:
        hits = np.abs(_permuted(ours, theirs, figure, n_samples, rng)) >= abs(delta) - tolerance
    low, high = _ends(drawn, confidence)
    p_value = (1 + int(hits.sum())) / (1 + n_samples)
    return Comparison(score, rival, delta, p_value, low, high, confidence, n_samples, method, seed)


def interval(
    counts: Sequence[Sequence[float]] | Counts,
    *,
    figure: Figure = f1,
    n_samples: int = 2_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """A figure of added counts, a row per sentence, with the interval of resampled sentences.

    >>> found = interval([(9, 10, 10)] * 30 + [(7, 10, 10)] * 30, n_samples=500)
    >>> round(found.value, 1), 77 < found.low < 80 < found.high < 83
    (80.0, True)
    """
    rows = _checked(counts, "counts")
    _check_draws(n_samples, confidence)
    value = float(figure(rows.sum(0)))
    drawn = _drawn(rows, figure, n_samples, np.random.default_rng(seed))
    return Interval(value, *_ends(drawn, confidence, value), confidence, n_samples, seed)


def difference(
    first: Sequence[Sequence[float]] | Counts,
    second: Sequence[Sequence[float]] | Counts,
    *,
    figure: Figure = f1,
    n_samples: int = 2_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The figure of some sentences less that of others; each set is resampled by itself.

    >>> found = difference([(9, 10, 10)] * 40, [(8, 10, 10)] * 30, n_samples=500)
    >>> round(found.value, 1), round(found.low, 1), round(found.high, 1)
    (10.0, 10.0, 10.0)
    """
    ours, theirs = _checked(first, "first"), _checked(second, "second")
    _check_draws(n_samples, confidence)
    value = float(figure(ours.sum(0))) - float(figure(theirs.sum(0)))
    rng = np.random.default_rng(seed)
    drawn = _drawn(ours, figure, n_samples, rng) - _drawn(theirs, figure, n_samples, rng)
    return Interval(value, *_ends(drawn, confidence, value), confidence, n_samples, seed)


def median_interval(
    values: Sequence[float] | Counts,
    *,
    n_samples: int = 2_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The median of one number per sentence, with the interval of resampled sentences.

    >>> found = median_interval([1.0, 2.0, 3.0, 4.0, 100.0])
    >>> found.value, found.low >= 1.0, found.high <= 100.0
    (3.0, True, True)
    """
    numbers = _checked(np.asarray(values, np.float64)[:, None], "values")[:, 0]
    _check_draws(n_samples, confidence)
    rising, n = np.sort(numbers), len(numbers)
    drawn = []
    for times in _multiplicities((n, 1), n_samples, np.random.default_rng(seed)):
        places = times.cumsum(1)
        # the two in the middle of n numbers in order, which are one where n is odd
        middle = [(places < rank).sum(1) for rank in ((n + 1) // 2, n // 2 + 1)]
        drawn.append((rising[middle[0]] + rising[middle[1]]) / 2)
    ends = _ends(np.concatenate(drawn), confidence)
    return Interval(float(np.median(numbers)), *ends, confidence, n_samples, seed)


def _check_draws(n_samples: int, confidence: float) -> None:
    if n_samples < 1 or not 0 < confidence < 1:
        raise SettingsError(f"n_samples={n_samples}, confidence={confidence}: out of range")


def _ends(drawn: Counts, confidence: float, value: float = 0.0) -> tuple[float, float]:
    """Percentiles of the draws that are defined; nan if the figure itself is not."""
    drawn = drawn[~np.isnan(drawn)]
    if not len(drawn) or np.isnan(value):
        return float("nan"), float("nan")
    tail = 50.0 * (1.0 - confidence)
    low, high = np.percentile(drawn, [tail, 100.0 - tail]).tolist()
    return low, high


def _batches(n_samples: int, n_sentences: int) -> list[int]:
    size = max(1, _CELLS_AT_ONCE // n_sentences)
    full, rest = divmod(n_samples, size)
    return [size] * full + ([rest] if rest else [])


def _drawn(rows: Counts, figure: Figure, n_samples: int, rng: np.random.Generator) -> Counts:
    """(n_samples,): the figure on sets of sentences drawn with replacement."""
    sets = _multiplicities(rows.shape, n_samples, rng)
    return np.concatenate([figure(times @ rows) for times in sets])


def _multiplicities(
    shape: tuple[int, ...], n_samples: int, rng: np.random.Generator
) -> Iterator[Counts]:
    """How often each of n sentences is in each set, (size, n) at a time; ``shape`` (n, counts)."""
    n_sentences = shape[0]
    chances = np.full(n_sentences, 1.0 / n_sentences)
    for size in _batches(n_samples, max(shape)):
        yield rng.multinomial(n_sentences, chances, size=size).astype(np.float64)


def _permuted(
    ours: Counts, theirs: Counts, figure: Figure, n_samples: int, rng: np.random.Generator
) -> Counts:
    """(n_samples,): the difference after swapping each sentence's answers with chance 1/2."""
    change = theirs - ours
    total, rival = ours.sum(0), theirs.sum(0)
    differences = []
    for size in _batches(n_samples, len(ours)):
        swapped = rng.integers(0, 2, size=(size, len(ours))).astype(np.float64) @ change
        differences.append(figure(total + swapped) - figure(rival - swapped))
    return np.concatenate(differences)
