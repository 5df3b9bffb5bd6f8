"""Valid parameters of a latent tree model, learned spectrally and then by EM.

1. Every observation is described by a CCA against its direction-marked parent and children
   (dictionaries.py), at unit length, and k-means weighted by frequency puts it into a state.
2. Counts of states, smoothed, give ``pi, T, O``: never negative, each column sums to one.
3. A few EM iterations: upward and downward passes give the expected counts

       n(x, h) = sum over nodes showing x of p(h | tree),   n(h', h) likewise over edges

   and each table is made of counts plus fixed pseudo-counts.  The likelihood (with pseudo-counts:
   the penalised likelihood) never falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eigentext.dependency.dictionaries import treebank_dictionary
from eigentext.errors import SettingsError
from eigentext.linalg.determinism import single_threaded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from eigentext.dependency.observations import Forest, Observations

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

__all__ = [
    "EDGES", "Counts", "EncodedForest", "LatentSmoothing", "Tables", "encode_structure",
    "estimate", "expected_counts", "run_em", "spectral_states",
]  # fmt: skip

EDGES = {"undirected": 0, "directed": 1, "adjacent": 2, "ordered": 3}
_N_CLASSES = (1, 2, 4, 4)


@dataclass(frozen=True)
class LatentSmoothing:
    """Pseudo-counts: ``emission`` per state, spread as the observations' shares (of a tag, where
    states belong to tags); ``transition`` per class and parent state, spread as the states'
    shares; ``root`` likewise; ``valence`` per state.
    """

    emission: float = 1.0
    transition: float = 2.0
    root: float = 2.0
    valence: float = 2.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 <= value < float("inf"):
                raise SettingsError(f"smoothing {name} must be 0 or more, not {value}")


@dataclass(frozen=True, eq=False)
class EncodedForest:
    """A forest as the kernels take it.

    ``ids`` (channels, N) rows of the stacked emission tables, -1 missing; ``classes`` (N,) of
    edges; ``starts`` (channels + 1,) of the tables in the stack, valence last where it is shown.
    """

    ids: Ints
    heads: npt.NDArray[np.int32]
    ptr: Ints
    classes: Ints
    starts: Ints
    n_classes: int

    @property
    def roots(self) -> npt.NDArray[np.bool_]:
        """(N,) is it a root?"""
        return self.heads == 0


@dataclass(frozen=True, eq=False)
class Tables:
    """``pi`` (k,); ``T`` (classes, k, k) [parent, child], rows sum to one; ``rows`` (R, k): the
    emission tables of all channels, one above the other, each channel's columns sum to one.
    """

    pi: Floats
    T: Floats
    rows: Floats


@dataclass(frozen=True, eq=False)
class Counts:
    """(Expected) counts, shaped as :class:`Tables`."""

    pi: Floats
    T: Floats
    rows: Floats

    @classmethod
    def zeros(cls, n_rows: int, n_classes: int, k: int) -> Counts:
        """None so far."""
        return cls(np.zeros(k), np.zeros((n_classes, k, k)), np.zeros((n_rows, k)))


def encode_structure(
    forest: Forest, sizes: Sequence[int], *, edges: str, valence: int
) -> EncodedForest:
    """Numbers for the kernels; ``valence`` 0 shows none, else children are counted up to it."""
    from eigentext.dependency.kernels_latent import structure

    if edges not in EDGES:
        raise SettingsError(f"edges {edges!r}: expected {', '.join(EDGES)}")
    n = len(forest.heads)
    classes, valences = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for t in range(len(forest)):
        own = slice(forest.ptr[t], forest.ptr[t + 1])
        structure(forest.heads[own], EDGES[edges], max(valence, 1), classes[own], valences[own])
    seen = forest.seen.astype(np.int64)
    tables = [*sizes]
    if valence:
        seen = np.concatenate([seen, valences[None]])
        tables.append((valence + 1) ** 2)
    starts = np.cumsum([0, *tables])
    ids = np.where(seen >= 0, seen + starts[:-1, None], -1)
    return EncodedForest(
        np.ascontiguousarray(ids), forest.heads, forest.ptr, classes, starts,
        _N_CLASSES[EDGES[edges]],
    )  # fmt: skip


def spectral_states(
    forest: Forest,
    observations: Observations,
    k: int,
    *,
    rank: int | None = None,
    kappa: float = 5.0,
    seed: int = 0,
) -> Ints:
    """(n,) a state for each observation of the first channel: CCA rows, k-means by frequency."""
    from sklearn.cluster import KMeans

    size = observations.sizes[0]
    seen = forest.seen[0]
    totals = np.bincount(seen[seen >= 0], minlength=size).astype(float)
    present = np.flatnonzero(totals)
    if k > len(present):
        raise SettingsError(f"{k} states, but the trees show {len(present)} observations only")
    if k == 1:
        return np.zeros(size, np.int64)
    rank = min(k if rank is None else rank, len(present) - 1)
    found = treebank_dictionary(forest, size, max(rank, 1), kappa=kappa, seed=seed)
    vectors = found.U * np.asarray(found.correlations)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = vectors / np.where(lengths > 0, lengths, 1.0)
    state = np.zeros(size, np.int64)
    with single_threaded():
        means = KMeans(k, n_init=4, max_iter=100, random_state=seed)
        state[present] = means.fit_predict(vectors[present], sample_weight=totals[present])
    return state


def counts_of_states(encoded: EncodedForest, states: Ints, k: int) -> Counts:
    """Counts when every node has a known state, (N,)."""
    counts = Counts.zeros(int(encoded.starts[-1]), encoded.n_classes, k)
    roots = encoded.roots
    np.add.at(counts.pi, states[roots], 1.0)
    start = np.repeat(encoded.ptr[:-1], np.diff(encoded.ptr))
    parent = start + encoded.heads - 1
    child = np.flatnonzero(~roots)
    np.add.at(counts.T, (encoded.classes[child], states[parent[child]], states[child]), 1.0)
    for ids in encoded.ids:
        ok = ids >= 0
        np.add.at(counts.rows, (ids[ok], states[ok]), 1.0)
    return counts


def estimate(
    counts: Counts, starts: Ints, prior: Tables, smoothing: LatentSmoothing, *, valence: bool
) -> Tables:
    """Counts plus pseudo-counts, normalised; ``prior`` says how the pseudo-counts are spread."""
    pi = counts.pi + smoothing.root * prior.pi
    T = counts.T + smoothing.transition * prior.T
    rows = np.empty_like(counts.rows)
    last = len(starts) - 2
    for at in range(len(starts) - 1):
        own = slice(starts[at], starts[at + 1])
        strength = smoothing.valence if valence and at == last else smoothing.emission
        rows[own] = _columns_to_one(counts.rows[own] + strength * prior.rows[own])
    return Tables(_to_one(pi), _rows_to_one(T), rows)


def _to_one(x: Floats) -> Floats:
    return np.asarray(x / x.sum())


def _rows_to_one(x: Floats) -> Floats:
    total = x.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(total > 0, x / np.where(total > 0, total, 1.0), 1.0 / x.shape[-1]))


def _columns_to_one(x: Floats) -> Floats:
    total = x.sum(axis=0)
    return np.asarray(np.where(total > 0, x / np.where(total > 0, total, 1.0), 1.0 / len(x)))


def spread_of(counts: Counts, starts: Ints) -> Tables:
    """How pseudo-counts are spread: as all states together, per class and per channel."""
    k = len(counts.pi)
    T = _rows_to_one(counts.T.sum(axis=1) + 1e-12)  # (classes, k): shares of child states
    states = _to_one(counts.T.sum(axis=(0, 1)) + counts.pi + 1e-12)
    rows = np.empty_like(counts.rows)
    for at in range(len(starts) - 1):
        own = slice(starts[at], starts[at + 1])
        share = counts.rows[own].sum(axis=1) + 0.1  # what was never seen can still be shown
        rows[own] = (share / share.sum())[:, None]
    return Tables(states, np.repeat(T[:, None, :], k, axis=1), rows)


def expected_counts(encoded: EncodedForest, tables: Tables) -> tuple[float, Counts]:
    """Log likelihood and expected counts."""
    from eigentext.dependency.kernels_latent import posteriors_and_counts

    counts = Counts.zeros(*tables.rows.shape[:1], encoded.n_classes, len(tables.pi))
    value = posteriors_and_counts(
        encoded.ids, encoded.heads, encoded.ptr, encoded.classes, tables.rows, tables.T,
        tables.pi, np.zeros((0, len(tables.pi))), counts.rows, counts.T, counts.pi,
    )  # fmt: skip
    return float(value), counts


def run_em(
    encoded: EncodedForest,
    tables: Tables,
    prior: Tables,
    smoothing: LatentSmoothing,
    iterations: int,
    *,
    valence: bool = False,
    progress: Callable[[int, float], None] | None = None,
) -> tuple[Tables, list[float]]:
    """So many iterations; the log likelihood before each of them."""
    values = []
    for at in range(iterations):
        value, counts = expected_counts(encoded, tables)
        values.append(value)
        tables = estimate(counts, encoded.starts, prior, smoothing, valence=valence)
        if progress is not None:
            progress(at + 1, value)
    return tables, values
