"""Clusters by merges: words come in by frequency, and m + 1 clusters are active at most.

When all words are in, the m clusters that are left are merged down to one: the hierarchy.

* :func:`ward` (figure 5 of Stratos et al.) merges word vectors by Ward's method::

      d(c, c') = |c| |c'| / (|c| + |c'|) |mean_c - mean_c'|^2                            (Eq. 2)

  The costs of the m most frequent words are one GEMM, distances of all others to the centroids
  come from batched GEMMs, and the cheapest merge is found through lazy lower bounds.

* :func:`brown` (figure 1) merges the pair whose union takes least from the likelihood.  Only pairs
  of words that are in are counted, and n(c) are the tokens of cluster c in the whole text, as p1
  and p2 are in figure 7.  All losses are kept up to date by O(1) work per pair, as there; pairs
  that a merge leaves as they were (both clusters never beside the smaller part) are skipped, which
  makes a merge O(m times neighbouring clusters) where figure 7 is O(m^2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eigentext.base.progress import Progress
from eigentext.base.types import Bools, Float64s, Int64s, Numbers, Sparse
from eigentext.errors import SettingsError
from eigentext.linalg.ties import TIE, single_threaded

_BATCH = 512  # words per GEMM


@dataclass(frozen=True)
class MergedClusters:
    """Clusters and how they are joined; the union of two keeps the first one's number."""

    labels: Int64s  # (n,) clusters 0 .. m - 1, numbered by their first word
    merges: Int64s  # (m - 1, 2) the clusters joined on the way to the root
    costs: Float64s  # (m - 1,) of those merges
    gamma: float | None = None  # of Ward's the mean number of row searches per merge


def ward(vectors: Numbers, n_clusters: int, *, progress: Progress | None = None) -> MergedClusters:
    """Cluster vectors, given by decreasing frequency, with ``n_clusters`` + 1 active clusters.

    >>> points = np.array([[0.0, 1], [1, 0], [0.1, 1], [1, 0.1], [0, 0.9]])
    >>> merged = ward(points, 2)
    >>> merged.labels.tolist(), merged.merges.tolist()
    ([0, 1, 0, 1, 0], [[0, 1]])
    """
    n_words = vectors.shape[0]
    m = n_clusters
    if not 1 <= m <= n_words:
        raise SettingsError(f"{m} clusters of {n_words} words: expected 1 to {n_words}")
    from eigentext.words.kernels import ward as kernels

    points = np.ascontiguousarray(vectors)
    lengths = np.einsum("ij,ij->i", points, points, dtype=np.float64)
    slots = m + 1
    cost = np.zeros((slots, slots))
    active = np.ones(slots, dtype=np.bool_)
    active[m] = False
    sizes, squares = np.ones(slots), np.zeros(slots)
    squares[:m] = lengths[:m]
    slot_label = np.arange(slots, dtype=np.int64)
    parents = np.full(n_words, -1, dtype=np.int64)
    sums = np.zeros((slots, points.shape[1]))  # centroid times size, for the next GEMM
    with single_threaded():
        gram = (points[:m] @ points[:m].T).astype(np.float64)
        apart = lengths[:m, None] + lengths[None, :m] - 2 * gram  # |v|^2 + |w|^2 - 2 v.w
        cost[:m, :m] = np.maximum(apart, 0.0) / 2  # Eq. 2 for single words: half the distance
        ranks = cost + np.where(np.eye(slots, dtype=bool), np.inf, 0.0)
        tie = TIE[points.dtype.char]
        bound = ranks[:, :m].min(axis=1) if m > 1 else np.full(slots, np.inf)
        near = bound + tie * (1 + bound)
        nearest = (ranks[:, :m] <= near[:, None]).argmax(axis=1) if m > 1 else np.full(slots, -1)
        tight = np.ones(slots, dtype=np.bool_)
        searches = 0
        sums[:m] = points[:m]
        clusters = kernels.ActiveClusters(cost, active, sizes, squares, nearest, bound, tight, tie)
        for start in range(m, n_words, _BATCH):
            if progress is not None:
                progress(start, n_words, "ward")
            batch = points[start : start + _BATCH]
            centroids = (sums / sizes[:, None]).astype(points.dtype)
            dots = np.ascontiguousarray((centroids @ batch.T).astype(np.float64))  # (slots, batch)
            mutual = np.ascontiguousarray((batch @ batch.T).astype(np.float64))  # (batch, batch)
            stop = start + batch.shape[0]
            searches += kernels.ward_batch(
                start, lengths[start:stop], mutual, clusters, dots, slot_label, parents
            )
            sums = _sums_by_slot(points, stop, parents, slot_label, active)
        labels, order = _labels(parents, slot_label, active)
        merges = np.zeros((m - 1, 2), dtype=np.int64)
        costs = np.zeros(m - 1)
        searches += kernels.ward_finish(clusters, merges, costs)
    # slots are numbered anew, by the first word that is in them
    return MergedClusters(labels, order[merges], costs, searches / max(n_words - 1, 1))


def _roots(parents: Int64s, stop: int) -> Int64s:
    """The node at the top of each of the first ``stop`` words, by pointer jumping."""
    roots = np.where(parents[:stop] < 0, np.arange(stop), parents[:stop])
    while not np.array_equal(above := roots[roots], roots):
        roots = above
    return roots


def _sums_by_slot(
    points: Numbers, stop: int, parents: Int64s, slot_label: Int64s, active: Bools
) -> Float64s:
    """The sum of the vectors in each slot, from the words themselves: no drift."""
    from scipy.sparse import csr_array

    slot_of = np.full(stop, -1, dtype=np.int64)
    slots = np.flatnonzero(active)
    slot_of[slot_label[slots]] = slots
    member = slot_of[_roots(parents, stop)]
    shape = (active.shape[0], stop)
    ones = np.ones(stop, dtype=points.dtype)
    chosen = csr_array((ones, (member, np.arange(stop))), shape=shape)
    return np.asarray(chosen @ points[:stop], dtype=np.float64)


def _labels(parents: Int64s, slot_label: Int64s, active: Bools) -> tuple[Int64s, Int64s]:
    """Each word's cluster, numbered by first appearance, and the number of each slot."""
    roots = _roots(parents, parents.shape[0])
    tops, first = np.unique(roots, return_index=True)
    number = np.empty(tops.shape[0], dtype=np.int64)
    number[np.argsort(first, kind="stable")] = np.arange(tops.shape[0])
    order = np.full(active.shape[0], -1, dtype=np.int64)
    for slot in np.flatnonzero(active):
        order[slot] = number[np.searchsorted(tops, slot_label[slot])]
    return number[np.searchsorted(tops, roots)], order


def brown(
    pairs: Sparse, tokens: Numbers, n_clusters: int, order: npt.NDArray[np.intp]
) -> MergedClusters:
    """Cluster words by their (n, n) CSR pair counts and token counts, in the given order.

    >>> from scipy.sparse import csr_array
    >>> pairs = csr_array(np.array([[0, 0, 4, 3], [0, 0, 5, 2], [3, 3, 0, 0], [2, 2, 0, 0]]))
    >>> brown(pairs, np.array([7, 7, 9, 5]), 2, np.arange(4)).labels.tolist()
    [0, 0, 1, 1]
    """
    from eigentext.words.clusters.exchange import NeighbourLists
    from eigentext.words.kernels import brown as kernels

    n_words = pairs.shape[0]
    if not 1 <= n_clusters <= n_words:
        raise SettingsError(f"{n_clusters} clusters of {n_words} words: expected 1 to {n_words}")
    slot_of = np.full(n_words, -1, dtype=np.int64)
    merges = np.zeros((n_clusters - 1, 2), dtype=np.int64)
    losses = np.zeros(n_clusters - 1)
    kernels.brown(
        np.asarray(order, dtype=np.int64),
        n_clusters,
        np.maximum(tokens, 1).astype(np.float64),
        NeighbourLists.of(pairs),
        slot_of,
        merges,
        losses,
    )
    slots, first = np.unique(slot_of[order], return_index=True)
    number = np.zeros(n_clusters + 1, dtype=np.int64)
    number[slots[np.argsort(first, kind="stable")]] = np.arange(n_clusters)
    return MergedClusters(number[slot_of], number[merges], losses)
