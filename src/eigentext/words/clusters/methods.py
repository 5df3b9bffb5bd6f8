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
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from eigentext.base.fields import Ints, Reals, Strings
from eigentext.base.records import As, OrNull, stored
from eigentext.base.values import Real
from eigentext.counting.memory import parse_memory
from eigentext.errors import DataError, SettingsError
from eigentext.evaluate.clustering import cluster_pairs, information_of_pairs
from eigentext.linalg.determinism import single_threaded
from eigentext.linalg.svd import ConvergenceWarning, basis_bytes
from eigentext.words.clusters.brown import brown
from eigentext.words.clusters.exchange import frequency_start, refine
from eigentext.words.clusters.hierarchy import hierarchy, paths_of_merges
from eigentext.words.clusters.moments import (
    context_counts,
    embed,
    omega,
    omega_noise,
    positions_of,
)
from eigentext.words.clusters.ward import ward

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from eigentext.base.progress import Progress
    from eigentext.base.types import Float64s, Int64s
    from eigentext.counting.counts import Counts
    from eigentext.words.settings import ClusterSettings

# spectral: vectors of this many of the most frequent words, or of 10 m
_CORE_WORDS = 10_000
_OVERLAP = 0.9  # spectral: when the decomposition may stop
_POWER = 0.5  # spectral: exponent of the singular values
# Exchange ends after so many passes, or with one that raises the information by less than this
# share of it; where passes are asked for, with one that hardly moves a word.
_PASSES = 5
_ENOUGH = 2e-3
_SETTLED = 1e-5
# what clustering holds: libraries; a pair of neighbours, once as it was counted and twice for
# exchange; a pair of another distance; a word; a pair of clusters
_MOST = 10**15  # tokens
_LIBRARIES = 350_000_000
_NEIGHBOURS, _OTHERS, _WORD, _CLUSTERS = 32, 12, 300, 32


@dataclass
class Clustering:
    """What clustering gives.

    ``words``, their ``counts`` and ``labels`` (n,), by decreasing count; ``paths[c]`` the bits of
    cluster c; ``pairs`` (m, m) counts of neighbouring clusters; ``information`` in nats, and after
    each exchange pass in ``history``; ``gamma`` row searches per merge of Ward's variant;
    ``seconds`` of CPU by stage.
    """

    words: tuple[str, ...] = stored(Strings("words", distinct=True))
    counts: Int64s = stored(Ints(("words",), low=0, below=_MOST))
    labels: Int64s = stored(Ints(("words",), low=0, below="n_clusters"))
    paths: list[str] = stored(As(Strings("n_clusters", bits=True), list, list))
    pairs: Int64s = stored(Ints(("n_clusters", "n_clusters"), low=0, below=_MOST))
    information: float = stored(Real(), "mutual_information")
    singular_values: Float64s = stored(Reals(("values",)), default_factory=lambda: np.zeros(0))
    gamma: float | None = stored(OrNull(Real(optional=True)), default=None)
    history: list[float] = stored(
        As(Reals(("passes",)), list, np.ndarray.tolist), default_factory=list
    )
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

    >>> from eigentext.counting.counting import count_sentences
    >>> from eigentext.words.settings import ClusterSettings
    >>> text = [s.split() for s in ["a cat ran", "a dog ran", "the cat sat", "the dog sat"]] * 3
    >>> counts = count_sentences(text, contexts="lr1")
    >>> clustering = cluster_counts(counts, ClusterSettings(n_clusters=3))
    >>> cluster_of = dict(zip(clustering.words, clustering.labels.tolist()))
    >>> cluster_of["cat"] == cluster_of["dog"]
    True
    """
    seconds: dict[str, float] = {}
    m = settings.n_clusters
    with single_threaded():
        with timed(seconds, "prepare"):
            words = _by_frequency(counts)
            _check_sizes(words.shape[0], m)
            positions_of(settings.contexts)  # refused before any work
            # rows and columns are the vocabulary's ids: the counts are large, and not copied
            ahead = context_counts(counts, (1,))[0]
            if ahead.nnz == 0:
                raise DataError("counts", None, "no two words stand side by side, expected text")
        clustering = Clustering(
            tuple(counts.words[w] for w in words.tolist()),
            counts.unigrams[words],
            np.zeros(0, dtype=np.int64),
            [],
            np.zeros((m, m), dtype=np.int64),
            0.0,
            seconds=seconds,
        )
        if settings.method == "brown":
            with timed(seconds, "merge"):
                merged = brown(ahead, counts.unigrams, m, words)
            labels, merges = merged.labels, merged.merges
        elif settings.method == "exchange":
            labels, merges = frequency_start(words, m, ahead.shape[0]), None
        else:
            labels, merges = _spectral_start(counts, words, settings, clustering, progress)
        with timed(seconds, "exchange"):
            passes, tol = _passes(settings)
            if passes or (labels[words] < 0).any():
                result = refine(ahead, labels, m, words, passes=passes, tol=tol, progress=progress)
                labels, clustering.history = result.labels, result.information
        with timed(seconds, "hierarchy"):
            clustering.labels = labels[words]
            clustering.pairs = cluster_pairs(ahead, labels, m)
            clustering.information = information_of_pairs(clustering.pairs)
            if merges is not None and settings.hierarchy is None:
                clustering.paths = paths_of_merges(merges, m)
            else:
                clustering.paths = hierarchy(clustering.pairs, settings.hierarchy or "bisect")
    return clustering


def check_memory(
    memory: str | int, counts: Counts | None = None, settings: ClusterSettings | None = None
) -> None:
    """Raise SettingsError where clustering needs more than a bound such as ``2GB``.

    Exchange goes through the neighbours of words in any order: pairs must be in memory.  Before
    there are counts, the bound is held against what any text needs.
    """
    if counts is None or settings is None:
        if parse_memory(memory) < _LIBRARIES:
            why = f"{_LIBRARIES // 10**6}MB is the least, for whatever text"
            raise SettingsError(f"memory {memory} is too small to cluster words: {why}")
        return
    n_words, m = int(np.count_nonzero(counts.unigrams)), settings.n_clusters
    spans = zip(counts.contexts.spans, counts.halves, strict=True)
    pairs = {near: int(half.nnz) for (near, _), half in spans}
    needed = _LIBRARIES + _WORD * n_words + _CLUSTERS * m * m
    needed += sum(n * (_NEIGHBOURS if near == 1 else _OTHERS) for near, n in pairs.items())
    if settings.method == "paper":  # vectors of all words
        needed += basis_bytes((n_words, n_words), m) + 12 * m * n_words
    if parse_memory(memory) < needed:
        raise SettingsError(
            f"memory {memory} is too small to cluster {n_words:,} words with "
            f"{sum(pairs.values()):,} pairs: {-(-needed // 10**7) * 10:,}MB is the least, or a "
            "smaller vocabulary"
        )


def _passes(settings: ClusterSettings) -> tuple[int, float]:
    """Exchange passes at the most, and the share of the information below which they end."""
    if settings.passes is not None:
        return settings.passes, _SETTLED
    return (0, _SETTLED) if settings.method in ("paper", "brown") else (_PASSES, _ENOUGH)


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
    settings: ClusterSettings,
    clustering: Clustering,
    progress: Progress | None,
) -> tuple[Int64s, Int64s | None]:
    """Labels (-1 where there is no vector) and, when all words have one, Ward's merges."""
    seconds, n_words, m = clustering.seconds, words.shape[0], settings.n_clusters
    whole = settings.method == "paper"
    n_core = n_words if whole else min(max(_CORE_WORDS, 10 * m), n_words)
    rank = m if whole else min(m, max(100, 2 * m // 5))
    with timed(seconds, "omega"):
        blocks = context_counts(counts, positions_of(settings.contexts), words[:n_core])
        Omega = omega(blocks, counts.unigrams[words[:n_core]], settings.kappa, dtype=np.float32)
        noise = omega_noise(blocks, counts.unigrams[words[:n_core]], settings.kappa)
    with timed(seconds, "svd"), warnings.catch_warnings():
        if not whole:
            warnings.simplefilter("ignore", ConvergenceWarning)
        vectors = embed(
            Omega,
            rank,
            overlap=None if whole else _OVERLAP,
            power=0.0 if whole else _POWER,
            noise=noise,
            seed=settings.seed,
            progress=progress,
        )
    with timed(seconds, "ward"):
        result = ward(vectors.vectors, m, progress=progress)
    clustering.gamma = result.gamma
    clustering.singular_values = np.asarray(vectors.singular_values, dtype=np.float64)
    labels = np.full(len(counts.words), -1, dtype=np.int64)
    labels[words[:n_core]] = result.labels
    untouched = n_core == n_words and not (settings.passes or not whole)
    return labels, result.merges if untouched else None
