"""Counts to a word hierarchy: the methods side by side, with the seconds of each stage.

1. Words are put in order of frequency; those that never occur are left out.
2. A start: vectors and Ward (``spectral``, ``paper``), the most frequent words (``exchange``), or
   greedy merges (``brown``).
3. Exchange passes raise the mutual information (not for ``paper`` and ``brown``).
4. A binary tree over the clusters gives every word its path.

``spectral`` takes vectors of the most frequent words only, from a decomposition that stops early:
exchange puts the other words in and repairs what is rough, which was measured to end in a higher
mutual information in less time than vectors of all words.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from eigentext.errors import DataError, SettingsError
from eigentext.evaluate.clustering import cluster_pairs, information_of_pairs
from eigentext.linalg.determinism import single_threaded
from eigentext.linalg.svd import ConvergenceWarning
from eigentext.words.clusters.brown import brown
from eigentext.words.clusters.exchange import NeighbourLists, frequency_start, refine
from eigentext.words.clusters.hierarchy import HIERARCHIES, hierarchy, paths_of_merges
from eigentext.words.clusters.moments import (
    context_counts,
    embed,
    omega,
    omega_noise,
    positions_of,
)
from eigentext.words.clusters.ward import ward

if TYPE_CHECKING:
    import numpy.typing as npt

    from eigentext.corpus.counts import Counts

__all__ = ["METHODS", "ClusterSettings", "Clustering", "cluster_counts", "contexts_to_count"]

METHODS = ("spectral", "paper", "exchange", "brown")

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class ClusterSettings:
    """How to cluster; None takes what the method has as its own.

    ``kappa``   pseudo-count of the scaling (100)
    ``passes``  exchange passes (5 for spectral and exchange, 0 for paper and brown)
    ``tree``    a name of :data:`~eigentext.words.hierarchy.HIERARCHIES` (bisect; paper and brown
                have their own merges)
    ``core``    spectral: so many of the most frequent words get vectors (10,000, or 10 m)
    ``rank``    spectral: dimensions of the vectors (0.4 m, at least 100, at most m)
    ``overlap`` spectral: when the decomposition may stop; 1 goes to convergence
    ``power``   spectral: exponent of the singular values
    """

    n_clusters: int = 200
    method: str = "spectral"
    contexts: str = "lr1"
    kappa: float = 100.0
    passes: int | None = None
    tree: str | None = None
    core: int | None = None
    rank: int | None = None
    overlap: float = 0.9
    power: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise SettingsError(f"method {self.method!r}: expected one of {', '.join(METHODS)}")
        if self.tree is not None and self.tree not in HIERARCHIES:
            known = ", ".join(HIERARCHIES)
            raise SettingsError(f"hierarchy {self.tree!r}: expected one of {known}")
        if self.n_clusters < 1:
            raise SettingsError(f"{self.n_clusters} clusters: expected 1 or more")
        if self.passes is not None and self.passes < 0:
            raise SettingsError(f"{self.passes} passes: expected 0 or more")
        if not self.kappa >= 0:
            raise SettingsError(f"kappa {self.kappa!r}: expected a number of at least 0")


@dataclass
class Clustering:
    """What clustering gives.

    ``words``, their ``counts`` and ``labels`` (n,), by decreasing count; ``paths[c]`` the bits of
    cluster c; ``pairs`` (m, m) counts of neighbouring clusters; ``information`` in nats, and after
    each exchange pass in ``history``; ``gamma`` row searches per merge of Ward's variant;
    ``seconds`` of CPU by stage.
    """

    words: tuple[str, ...]
    counts: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]
    paths: list[str]
    pairs: npt.NDArray[np.int64]
    information: float
    settings: ClusterSettings
    singular_values: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    gamma: float | None = None
    history: list[float] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


def contexts_to_count(contexts: str) -> str:
    """The contexts that have to be counted: those chosen, and +1 for the mutual information.

    >>> contexts_to_count("-2")
    '-2,+1'
    """
    positions = positions_of(contexts)
    more = () if {-1, 1} & set(positions) else (1,)
    return ",".join(f"{p:+d}" for p in (*positions, *more))


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the CPU seconds of a stage."""
    began = time.process_time()
    yield
    seconds[stage] = seconds.get(stage, 0.0) + time.process_time() - began


def cluster_counts(
    counts: Counts, settings: ClusterSettings, *, progress: Progress | None = None
) -> Clustering:
    """Cluster the words of a corpus, ``<unk>`` among them if there are any outside the vocabulary.

    >>> from eigentext.corpus.counting import count
    >>> from eigentext.base.files.opening import atomic_write
    >>> with atomic_write("memory://cluster-example.txt") as out:
    ...     _ = out.write(b"a cat ran\\na dog ran\\nthe cat sat\\nthe dog sat\\n" * 3)
    >>> counts = count(["memory://cluster-example.txt"], contexts="lr1")
    >>> found = cluster_counts(counts, ClusterSettings(n_clusters=3))
    >>> cluster_of = dict(zip(found.words, found.labels.tolist()))
    >>> cluster_of["cat"] == cluster_of["dog"]
    True
    """
    seconds: dict[str, float] = {}
    m = settings.n_clusters
    with single_threaded():
        with timed(seconds, "prepare"):
            words = _by_frequency(counts)
            _check_sizes(words.shape[0], m)
            positions = positions_of(settings.contexts)
            ahead = context_counts(counts, (1,), words)[0]
            ahead.sort_indices()
            if ahead.nnz == 0:
                raise DataError("counts", None, "no two words stand side by side, expected text")
            tokens = counts.unigrams[words]
            order = np.arange(words.shape[0])
        found = Clustering(
            tuple(counts.words[w] for w in words.tolist()),
            tokens,
            np.zeros(0, dtype=np.int64),
            [],
            np.zeros((m, m), dtype=np.int64),
            0.0,
            settings,
            seconds=seconds,
        )
        if settings.method == "brown":
            with timed(seconds, "merge"):
                merged = brown(ahead, tokens, m, order)
            labels, merges = merged.labels, merged.merges
        elif settings.method == "exchange":
            labels, merges = frequency_start(order, m), None
        else:
            labels, merges = _spectral_start(counts, words, positions, found, progress)
        with timed(seconds, "exchange"):
            own = 0 if settings.method in ("paper", "brown") else 5
            passes = own if settings.passes is None else settings.passes
            if passes or (labels < 0).any():
                lists = NeighbourLists.of(ahead)
                result = refine(
                    ahead, labels, m, order, passes=passes, neighbours=lists, progress=progress
                )
                labels, found.history = result.labels, result.information
        with timed(seconds, "hierarchy"):
            found.labels = labels
            found.pairs = cluster_pairs(ahead, labels, m)
            found.information = information_of_pairs(found.pairs)
            if merges is not None and settings.tree is None:
                found.paths = paths_of_merges(merges, m)
            else:
                found.paths = hierarchy(found.pairs, settings.tree or "bisect")
    return found


def _by_frequency(counts: Counts) -> npt.NDArray[np.intp]:
    """Ids of the words that occur, by decreasing count; of equal counts the first."""
    order = np.argsort(-counts.unigrams, kind="stable")
    return order[counts.unigrams[order] > 0]


def _check_sizes(n_words: int, m: int) -> None:
    if n_words < 2:
        raise DataError("counts", None, f"{n_words} different word(s), expected 2 or more")
    if m > n_words:
        raise SettingsError(f"{m} clusters for {n_words} different words: expected at most that")


def _spectral_start(
    counts: Counts,
    words: npt.NDArray[np.intp],
    positions: tuple[int, ...],
    found: Clustering,
    progress: Progress | None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64] | None]:
    """Labels (-1 where there is no vector) and, when all words have one, Ward's merges."""
    settings, seconds, n_words = found.settings, found.seconds, words.shape[0]
    m = settings.n_clusters
    whole = settings.method == "paper"
    core = max(10_000, 10 * m) if settings.core is None else max(settings.core, m)
    n_core = n_words if whole else min(core, n_words)
    rank = m if whole else min(m, settings.rank or max(100, 2 * m // 5))
    with timed(seconds, "omega"):
        blocks = context_counts(counts, positions, words[:n_core])
        Omega = omega(blocks, counts.unigrams[words[:n_core]], settings.kappa, dtype=np.float32)
        noise = omega_noise(blocks, counts.unigrams[words[:n_core]], settings.kappa)
    with timed(seconds, "svd"), warnings.catch_warnings():
        if not whole:
            warnings.simplefilter("ignore", ConvergenceWarning)
        overlap = None if whole or settings.overlap >= 1 else settings.overlap
        power = 0.0 if whole else settings.power
        vectors = embed(
            Omega,
            rank,
            overlap=overlap,
            power=power,
            noise=noise,
            seed=settings.seed,
            progress=progress,
        )
    with timed(seconds, "ward"):
        result = ward(vectors.vectors, m, progress=progress)
    found.gamma = result.gamma
    found.singular_values = np.asarray(vectors.singular_values, dtype=np.float64)
    labels = np.full(n_words, -1, dtype=np.int64)
    labels[:n_core] = result.labels
    untouched = n_core == n_words and not (settings.passes or not whole)
    return labels, result.merges if untouched else None
