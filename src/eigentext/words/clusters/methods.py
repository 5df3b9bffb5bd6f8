"""Counts to a word hierarchy: the methods side by side, with the seconds of each stage.

A start is vectors and Ward (``spectral``, ``paper``), the most frequent words (``exchange``), or
greedy merges (``brown``); exchange passes raise its mutual information (not of ``paper`` and
``brown``), and a binary tree over the clusters gives every word its path.

``spectral`` takes vectors of the most frequent words only, from a decomposition that stops early:
exchange puts the other words in and repairs what is rough, which was measured to end in a higher
mutual information in less time than vectors of all words.

Vectors (figure 4 of Stratos et al., contexts as in its appendix A): the counts of each relative
position side by side are B (n, s n), and the factors N - 1 of the probabilities cancel::

    Omega = diag(u + kappa)^-1/2  B  diag(v + kappa)^-1/2                               (Eq. 1)

By theorem 5.1, at the exact moments of a Brown model U = sqrt(O) Q' with Q orthogonal, so rows
are equal just when their words share a cluster.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from eigentext.base.cores import row_blocks
from eigentext.base.fields import Ints, Reals, Strings
from eigentext.base.progress import Progress
from eigentext.base.records import As, OrNull, stored
from eigentext.base.types import Float64s, Int64s, Numbers, Sparse
from eigentext.base.values import Real
from eigentext.counting.contexts import Contexts, parse_contexts
from eigentext.counting.counts import Counts
from eigentext.counting.memory import parse_memory
from eigentext.errors import DataError, RankWarning, SettingsError
from eigentext.evaluate.clustering import cluster_pairs, information_of_pairs
from eigentext.linalg.scaling import cca_scale
from eigentext.linalg.svd import ConvergenceReport, ConvergenceWarning, basis_bytes, truncated_svd
from eigentext.linalg.ties import clear_of_noise, counting_noise, single_threaded, unit_rows
from eigentext.words.clusters.exchange import frequency_start, refine
from eigentext.words.clusters.hierarchy import hierarchy, paths_of_merges
from eigentext.words.clusters.merging import brown, ward
from eigentext.words.settings import ClusterSettings

_ROWS_AT_ONCE = 8192
_SMALL = 20_000_000  # cells up to which float64 costs next to nothing


@dataclass(frozen=True)
class ContextVectors:
    """Words as their contexts, and the report of the decomposition."""

    vectors: Numbers  # M (n, r), rows of length 1 (or 0 for a word without contexts)
    singular_values: Numbers  # (r,)
    report: ConvergenceReport


def positions_of(contexts: str | Contexts) -> tuple[int, ...]:
    """The relative positions of a context setting; bags have none and are refused.

    >>> positions_of("lr1")
    (-1, 1)
    """
    parsed = parse_contexts(contexts)
    if not parsed.positions:
        raise SettingsError(f"contexts {parsed}: clusters need positions such as lr1 or -2,+1")
    return parsed.positions


def context_counts(
    counts: Counts, positions: tuple[int, ...], words: npt.NDArray[np.intp] | None = None
) -> list[Sparse]:
    """One CSR matrix per position, of all words or of the given ones among themselves.

    Counts of +d serve -d too (transposed), whichever of them was asked for when counting.
    """
    distances = [near for near, far in counts.contexts.spans if near == far]
    by_distance: dict[int, Sparse] = {}
    for distance in sorted({abs(p) for p in positions}):
        if counts.contexts.bag or distance not in distances:
            raise SettingsError(
                f"these counts have contexts {counts.contexts}, but distance {distance} is needed"
            )
        half = counts.half(distance)
        by_distance[distance] = half if words is None else _among(half, words)
    return [by_distance[p] if p > 0 else by_distance[-p].T.tocsr() for p in positions]


def _among(half: Sparse, words: npt.NDArray[np.intp]) -> Sparse:
    """``half[words][:, words]`` with sorted columns, some rows at a time: no copy but the result.

    >>> from scipy.sparse import csr_array
    >>> _among(csr_array(np.array([[1, 2], [3, 4]])), np.array([1, 0])).toarray().tolist()
    [[4, 3], [2, 1]]
    """
    from scipy.sparse import csr_array

    new_id = np.full(half.shape[1], -1, dtype=half.indices.dtype)  # the new id of each word
    new_id[words] = np.arange(len(words), dtype=new_id.dtype)
    room = int((half.indptr[words + 1] - half.indptr[words]).sum())
    columns = np.empty(room, dtype=half.indices.dtype)
    data = np.empty(room, dtype=half.dtype)
    starts = np.zeros(len(words) + 1, dtype=half.indptr.dtype)
    used = 0
    for rows in row_blocks(len(words), _ROWS_AT_ONCE):
        part = half[words[rows]]
        moved = new_id[part.indices]
        kept = moved >= 0
        ends = np.append(0, np.cumsum(kept, dtype=starts.dtype))[part.indptr]
        shape = (len(ends) - 1, len(words))
        part = csr_array((part.data[kept], moved[kept], ends), shape=shape)
        part.sort_indices()
        starts[rows.start + 1 : rows.stop + 1] = ends[1:] + used
        columns[used : used + part.nnz] = part.indices
        data[used : used + part.nnz] = part.data
        used += part.nnz
    return csr_array((data[:used], columns[:used], starts), shape=(len(words), len(words)))


def omega(
    blocks: list[Sparse], totals: Numbers, kappa: float, *, dtype: npt.DTypeLike = np.float64
) -> Sparse:
    """``diag(u + kappa)^-1/2 [B_1 .. B_s] diag(v + kappa)^-1/2``; u are the words' totals.

    >>> from scipy.sparse import csr_array
    >>> pairs = csr_array(np.array([[0, 4], [4, 0]]))
    >>> omega([pairs], np.array([4, 4]), 0.0).toarray().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    from scipy.sparse import hstack

    return cca_scale(hstack(blocks, format="csr"), row_totals=totals, kappa=kappa, dtype=dtype)


def embed(
    Omega: Sparse,
    rank: int,
    *,
    overlap: float | None = None,
    power: float = 0.0,
    noise: float = 0.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> ContextVectors:
    """The ``rank`` leading left singular vectors, times S^``power``, with rows of length 1.

    The paper's M has power 0.  With an ``overlap`` below 1 the decomposition stops early.  Of a
    spectrum that drops from well above the ``noise`` to below it (see
    :func:`~eigentext.linalg.ties.clear_of_noise`) the rest is left out, with a RankWarning.

    >>> embed(np.diag([2.0, 1.0]), 2).vectors.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    dtype = np.float64 if Omega.shape[0] * Omega.shape[1] <= _SMALL else np.float32
    svd = truncated_svd(
        Omega, rank, dtype=dtype, overlap=overlap, seed=seed, symbol="Omega", progress=progress
    )
    n_clear = clear_of_noise(svd.S, noise)
    if n_clear < svd.rank:
        warnings.warn(
            f"only {n_clear} of {svd.rank} directions stand out from the noise of counting: "
            "the others are left out",
            RankWarning,
            stacklevel=2,
        )
    vectors = unit_rows(svd.U[:, :n_clear] * (svd.S[:n_clear] ** power).astype(svd.U.dtype))
    if not np.isfinite(vectors).all():
        raise DataError("Omega", None, "word vectors are not finite")
    return ContextVectors(vectors, svd.S[:n_clear], svd.report)


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
class WordClustering:
    """What clustering gives, of words by decreasing count."""

    words: tuple[str, ...] = stored(Strings("words", distinct=True))
    counts: Int64s = stored(Ints(("words",), low=0, below=_MOST))
    labels: Int64s = stored(Ints(("words",), low=0, below="n_clusters"))  # cluster of each word
    paths: list[str] = stored(As(Strings("n_clusters", bits=True), list, list))  # their bits
    pairs: Int64s = stored(Ints(("n_clusters", "n_clusters"), low=0, below=_MOST))  # neighbours
    information: float = stored(Real(), "mutual_information")  # in nats
    singular_values: Float64s = stored(Reals(("values",)), default_factory=lambda: np.zeros(0))
    gamma: float | None = stored(OrNull(Real(optional=True)), default=None)  # searches per merge
    history: list[float] = stored(  # information after each exchange pass
        As(Reals(("passes",)), list, np.ndarray.tolist), default_factory=list
    )
    seconds: dict[str, float] = field(default_factory=dict)  # of CPU by stage


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
) -> WordClustering:
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
            words = np.argsort(-counts.unigrams, kind="stable")  # of equal counts the first
            words = words[counts.unigrams[words] > 0]
            n = len(words)
            if n < 2:
                raise DataError("counts", None, f"{n} different word(s), expected 2 or more")
            if m > n:
                raise SettingsError(f"{m} clusters for {n} different words: expected at most that")
            positions_of(settings.contexts)  # refused before any work
            # rows and columns are the vocabulary's ids: the counts are large, and not copied
            ahead = context_counts(counts, (1,))[0]
            if ahead.nnz == 0:
                raise DataError("counts", None, "no two words stand side by side, expected text")
        clustering = WordClustering(
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
            # passes at the most, and the share of the information below which they end
            passes, tol = settings.passes, _SETTLED
            if passes is None and settings.method in ("paper", "brown"):
                passes = 0
            elif passes is None:
                passes, tol = _PASSES, _ENOUGH
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


def _spectral_start(
    counts: Counts,
    words: npt.NDArray[np.intp],
    settings: ClusterSettings,
    clustering: WordClustering,
    progress: Progress | None,
) -> tuple[Int64s, Int64s | None]:
    """Labels (-1 where there is no vector) and, when all words have one, Ward's merges."""
    from scipy.sparse import hstack

    seconds, n_words, m = clustering.seconds, words.shape[0], settings.n_clusters
    whole = settings.method == "paper"
    n_core = n_words if whole else min(max(_CORE_WORDS, 10 * m), n_words)
    rank = m if whole else min(m, max(100, 2 * m // 5))
    with timed(seconds, "omega"):
        blocks = context_counts(counts, positions_of(settings.contexts), words[:n_core])
        totals = counts.unigrams[words[:n_core]]
        Omega = omega(blocks, totals, settings.kappa, dtype=np.float32)
        columns = np.concatenate([np.asarray(block.sum(axis=0)).ravel() for block in blocks])
        # what chance adds to the singular values of Omega, at the most
        noise = counting_noise(hstack(blocks, format="csr"), totals, columns, settings.kappa)
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
