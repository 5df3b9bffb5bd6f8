"""Raise the mutual information of a clustering by moving single words (Eq. 3 as the objective).

Words are visited by frequency, some at a time.  For each the change of MI is evaluated for all
clusters while the others stay, by several threads or the workers of a Dask cluster; then they move
one after the other, each if that still raises MI.  Words without a cluster are put in.

With f(x) = x log x and pair counts n, N MI = sum f(n(a, b)) - sum f(n(a, .)) - sum f(n(., b))
+ f(N), so that a move changes the rows and columns of two clusters only.  Taking a word costs
O(its neighbours), trying all m clusters O(m times its neighbouring clusters).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from eigentext.base.cores import cores_in_use, each, row_blocks
from eigentext.base.engines import cluster_in_use
from eigentext.base.progress import Progress
from eigentext.base.types import Float64s, Int32s, Int64s, Numbers, Sparse
from eigentext.errors import SettingsError
from eigentext.evaluate.clustering import cluster_pairs, information_of_pairs

# a move must raise N times the mutual information by this much: far above rounding
LEAST_GAIN = 1e-6
# Words whose targets are found against the same counts: a share of the words visited before, so
# that frequent words, which many others hang on, see each other's moves; the first 512 go one by
# one.
_SHARE = 32
_FEWEST_AT_ONCE = 16
_MOST_AT_ONCE = 2048
_TASKS = 4  # for each core, so that none is idle for long


class Neighbours(NamedTuple):
    """Those of word w are ``words[starts[w] : starts[w + 1]]``, each with its count."""

    starts: Int64s
    words: Int32s
    counts: Numbers

    @classmethod
    def of(cls, matrix: Sparse) -> Neighbours:
        """The rows of a CSR matrix of counts; its arrays are shared where they fit."""
        return cls(
            matrix.indptr.astype(np.int64, copy=False),
            matrix.indices.astype(np.int32, copy=False),
            matrix.data,
        )


class NeighbourLists(NamedTuple):
    """Right and left neighbours of every word."""

    after: Neighbours
    before: Neighbours

    @classmethod
    def of(cls, pairs: Sparse) -> NeighbourLists:
        """From (n, n) CSR counts of how often one word stands before another.

        Counts take 4 bytes where they can: a billion words have a hundred million pairs.
        """
        from scipy.sparse import csr_array

        whole = np.issubdtype(pairs.dtype, np.integer)
        small = whole and int(pairs.data.max(initial=0)) <= np.iinfo(np.int32).max
        counts = pairs.data.astype(np.int32 if small else np.float64, copy=False)
        ahead = csr_array((counts, pairs.indices, pairs.indptr), shape=pairs.shape)
        return cls(Neighbours.of(ahead), Neighbours.of(ahead.T.tocsr()))


class ExchangeState(NamedTuple):
    """Counts of cluster pairs, which the kernels keep up to date."""

    sizes: Int64s  # (m,) words of each cluster
    ahead: Float64s  # (m, m) ``ahead[a, b]``: how often a stands before b
    back: Float64s  # its transpose: the loop over all target clusters reads memory in order
    f_ahead: Float64s  # x log x of the same
    f_back: Float64s
    left: Float64s  # (m,) sums of the rows of ``ahead``
    right: Float64s  # and of its columns

    @classmethod
    def of_table(cls, table: Numbers, sizes: Int64s) -> ExchangeState:
        """From counts of cluster pairs."""
        ahead = np.ascontiguousarray(table, dtype=np.float64)
        f_ahead = ahead * np.log(np.where(ahead > 0, ahead, 1.0))
        return cls(
            sizes,
            ahead,
            back=np.ascontiguousarray(ahead.T),
            f_ahead=f_ahead,
            f_back=np.ascontiguousarray(f_ahead.T),
            left=ahead.sum(axis=1),
            right=ahead.sum(axis=0),
        )

    @classmethod
    def of(cls, pairs: Sparse, labels: Int64s, n_clusters: int) -> ExchangeState:
        """From counts of word pairs and labels; words with a negative label are left out."""
        clustered = labels >= 0
        # those left out get a cluster of their own for the sum, which is then dropped
        table = cluster_pairs(pairs, np.where(clustered, labels, n_clusters), n_clusters + 1)
        sizes = np.bincount(labels[clustered], minlength=n_clusters).astype(np.int64)
        return cls.of_table(table[:-1, :-1], sizes)

    @property
    def information(self) -> float:
        """The mutual information of what is in."""
        return information_of_pairs(self.ahead)


@dataclass
class Refinement:
    """``labels`` (n,) and, for each pass, the mutual information after it and the moves in it."""

    labels: Int64s
    information: list[float] = field(default_factory=list)
    moves: list[int] = field(default_factory=list)


def frequency_start(
    order: npt.NDArray[np.intp], n_clusters: int, n_words: int | None = None
) -> Int64s:
    """The m most frequent words in clusters of their own, all others without one (-1).

    ``n_words`` is more than the length of ``order`` where some words are not visited.

    >>> frequency_start(np.array([2, 0, 1]), 2).tolist()
    [1, -1, 0]
    """
    labels = np.full(order.shape[0] if n_words is None else n_words, -1, dtype=np.int64)
    labels[order[:n_clusters]] = np.arange(n_clusters)
    return labels


def refine(
    pairs: Sparse,
    labels: npt.NDArray[np.integer[Any]],
    n_clusters: int,
    order: npt.NDArray[np.intp],
    *,
    passes: int = 5,
    tol: float = 1e-5,
    state: ExchangeState | None = None,
    progress: Progress | None = None,
) -> Refinement:
    """Exchange passes over the words in the given order; mutual information never falls.

    ``pairs`` are (n, n) CSR counts of neighbours.  Words with label -1 are put in first; those
    that are not in ``order`` stay out.  Ends after ``passes`` passes, or when a pass gains less
    than ``tol`` of the mutual information.  No cluster becomes empty.

    >>> from scipy.sparse import csr_array
    >>> pairs = csr_array(np.array([[0, 0, 4, 3], [0, 0, 5, 2], [3, 3, 0, 0], [2, 2, 0, 0]]))
    >>> refine(pairs, np.array([0, 1, 1, 1]), 2, np.arange(4)).labels.tolist()
    [0, 0, 1, 1]
    """
    from eigentext.words.kernels import exchange as kernels

    if passes < 0:
        raise SettingsError(f"{passes} passes: expected 0 or more")
    refined = Refinement(np.array(labels, dtype=np.int64))
    lists = NeighbourLists.of(pairs)
    state = state if state is not None else ExchangeState.of(pairs, refined.labels, n_clusters)
    if (state.sizes == 0).any():
        raise SettingsError("a cluster is empty at the start: expected a word in each")
    order = np.asarray(order, dtype=np.int64)
    waiting = order[refined.labels[order] < 0]
    find = _finder(order, lists)

    def visit(stage: str, visited: Int64s, before: int, total: int) -> float:
        """Visit words, some at a time; the gain."""
        moves, gain, start = 0, 0.0, 0
        rank = order.size - visited.size  # words that are in before the first of these
        while start < visited.size:
            if progress is not None:
                progress(before + start, total, stage)
            at_once = min((rank + start) // _SHARE, _MOST_AT_ONCE)
            words = visited[start : start + (at_once if at_once >= _FEWEST_AT_ONCE else 1)]
            targets = find(words, refined.labels, state)
            moved, gained = kernels.move_words(
                words, targets, lists, refined.labels, state, LEAST_GAIN
            )
            moves, gain, start = moves + int(moved), gain + float(gained), start + words.size
        refined.moves.append(moves)
        return gain

    if waiting.size:
        visit("insertion", waiting, 0, waiting.size)
        refined.information.append(state.information)
    total = max(float(state.ahead.sum()), 1.0)
    for number in range(passes):
        gain = visit("exchange", order, number * order.size, passes * order.size)
        refined.information.append(state.information)
        if gain / total <= tol * refined.information[-1]:
            break
    return refined


def _finder(
    order: Int64s, lists: NeighbourLists
) -> Callable[[Int64s, Int64s, ExchangeState], Int64s]:
    """Who looks for targets: threads of this process, or the workers of a cluster."""
    cluster = cluster_in_use()
    if cluster is None:
        return lambda words, labels, state: find_targets(words, lists, labels, state)
    from eigentext.words.clusters.exchange_workers import TargetsByWorkers

    return TargetsByWorkers(cluster, order, lists)


def find_targets(
    words: Int64s, lists: NeighbourLists, labels: Int64s, state: ExchangeState
) -> Int64s:
    """The best cluster of each word, by as many threads as may be used."""
    from eigentext.words.kernels import exchange as kernels

    targets = np.empty(words.size, dtype=np.int64)

    def find(part: slice) -> None:
        kernels.best_clusters(words[part], lists, labels, state, LEAST_GAIN, targets[part])

    each(find, row_blocks(words.size, -(-words.size // (_TASKS * cores_in_use()))))
    return targets
