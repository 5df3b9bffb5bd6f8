"""Raise the mutual information of a clustering by moving single words (Eq. 3 as the objective).

1. :class:`NeighbourLists` holds every word's right and left neighbours with their counts.
2. :class:`ExchangeState` holds the counts of cluster pairs, both ways round, for a start.
3. :func:`refine` visits the words by frequency: each is taken out of its cluster, the change of
   MI is evaluated for all clusters, and it goes to the best.  Words without a cluster are put in.

With f(x) = x log x and pair counts n, N MI = sum f(n(a, b)) - sum f(n(a, .)) - sum f(n(., b))
+ f(N), so that a move changes the rows and columns of two clusters only.  Taking a word costs
O(its neighbours), trying all m clusters O(m times its neighbouring clusters).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.errors import SettingsError
from eigentext.evaluate.clustering import cluster_pairs, information_of_pairs

if TYPE_CHECKING:
    import numpy.typing as npt

    from eigentext.base.progress import Progress

__all__ = ["ExchangeState", "NeighbourLists", "Refinement", "frequency_start", "refine"]

# a move must raise N times the mutual information by this much: far above rounding
_LEAST_GAIN = 1e-6
_AT_ONCE = 5000  # words between two reports of progress


@dataclass(frozen=True)
class NeighbourLists:
    """Right and left neighbours of every word: CSR parts, counts as float64 (exact)."""

    after: tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
    before: tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]

    @classmethod
    def of(cls, pairs: Any) -> NeighbourLists:
        """From (n, n) CSR counts of how often one word stands before another."""
        return cls(_parts(pairs), _parts(pairs.T.tocsr()))


def _parts(matrix: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    return (
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data.astype(np.float64),
    )


class ExchangeState:
    """Counts of cluster pairs ``ahead[a, b]``, transposed, and their x log x; kept by kernels."""

    def __init__(self, ahead: npt.NDArray[Any], sizes: npt.NDArray[np.int64]) -> None:
        self.ahead = np.ascontiguousarray(ahead, dtype=np.float64)
        self.back = np.ascontiguousarray(self.ahead.T)
        self.f_ahead = self.ahead * np.log(np.where(self.ahead > 0, self.ahead, 1.0))
        self.f_back = np.ascontiguousarray(self.f_ahead.T)
        self.left = self.ahead.sum(axis=1)
        self.right = self.ahead.sum(axis=0)
        self.sizes = sizes

    @classmethod
    def of(cls, pairs: Any, labels: npt.NDArray[np.int64], n_clusters: int) -> ExchangeState:
        """From counts of word pairs and labels; words with a negative label are left out."""
        known = labels >= 0
        # those left out get a cluster of their own for the sum, which is then dropped
        table = cluster_pairs(pairs, np.where(known, labels, n_clusters), n_clusters + 1)
        sizes = np.bincount(labels[known], minlength=n_clusters).astype(np.int64)
        return cls(table[:-1, :-1], sizes)

    @property
    def information(self) -> float:
        """The mutual information of what is in."""
        return information_of_pairs(self.ahead)

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """What the kernels work on, in their order."""
        return (
            self.sizes,
            self.ahead,
            self.back,
            self.f_ahead,
            self.f_back,
            self.left,
            self.right,
        )


@dataclass
class Refinement:
    """``labels`` (n,) and, for each pass, the mutual information after it and the moves in it."""

    labels: npt.NDArray[np.int64]
    information: list[float] = field(default_factory=list)
    moves: list[int] = field(default_factory=list)


def frequency_start(order: npt.NDArray[np.intp], n_clusters: int) -> npt.NDArray[np.int64]:
    """The m most frequent words in clusters of their own, all others without one (-1).

    >>> frequency_start(np.array([2, 0, 1]), 2).tolist()
    [1, -1, 0]
    """
    labels = np.full(order.shape[0], -1, dtype=np.int64)
    labels[order[:n_clusters]] = np.arange(n_clusters)
    return labels


def refine(
    pairs: Any,
    labels: npt.NDArray[np.integer[Any]],
    n_clusters: int,
    order: npt.NDArray[np.intp],
    *,
    passes: int = 5,
    tol: float = 1e-5,
    neighbours: NeighbourLists | None = None,
    state: ExchangeState | None = None,
    progress: Progress | None = None,
) -> Refinement:
    """Exchange passes over the words in the given order; mutual information never falls.

    ``pairs`` are (n, n) CSR counts of neighbours.  Words with label -1 are put in first.  Ends
    after ``passes`` passes, or when a pass gains less than ``tol`` nats.  No cluster becomes
    empty.

    >>> from scipy.sparse import csr_array
    >>> pairs = csr_array(np.array([[0, 0, 4, 3], [0, 0, 5, 2], [3, 3, 0, 0], [2, 2, 0, 0]]))
    >>> refine(pairs, np.array([0, 1, 1, 1]), 2, np.arange(4)).labels.tolist()
    [0, 0, 1, 1]
    """
    from eigentext.words.kernels import exchange as kernels

    if passes < 0:
        raise SettingsError(f"{passes} passes: expected 0 or more")
    found = Refinement(np.array(labels, dtype=np.int64))
    lists = neighbours if neighbours is not None else NeighbourLists.of(pairs)
    state = state if state is not None else ExchangeState.of(pairs, found.labels, n_clusters)
    if (state.sizes == 0).any():
        raise SettingsError("a cluster is empty at the start: expected a word in each")
    order = np.asarray(order, dtype=np.int64)
    fixed = (*lists.after, *lists.before, found.labels, *state.arrays(), _LEAST_GAIN)
    waiting = order[found.labels[order] < 0]

    def one_pass(stage: str, visited: npt.NDArray[np.int64], before: int, total: int) -> float:
        """Visit words, some at a time, so that progress can be told; the gain."""
        moves, gain = 0, 0.0
        for start in range(0, visited.size, _AT_ONCE):
            if progress is not None:
                progress(before + start, total, stage)
            some = kernels.exchange_pass(visited[start : start + _AT_ONCE], *fixed)
            moves, gain = moves + int(some[0]), gain + float(some[1])
        found.moves.append(moves)
        return gain

    if waiting.size:
        one_pass("insertion", waiting, 0, waiting.size)
        found.information.append(state.information)
    total = max(float(state.ahead.sum()), 1.0)
    for number in range(passes):
        gain = one_pass("exchange", order, number * order.size, passes * order.size)
        found.information.append(state.information)
        if gain / total < tol:
            break
    return found
