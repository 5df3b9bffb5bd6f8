"""Targets of the exchange found by the workers of a cluster: the same as :mod:`.exchange` finds.

1. The words are dealt out like cards, in the order of their visits, so that every shard has its
   part of every batch.  A worker keeps the neighbours of the words of its shards: 8 bytes a pair
   and side, sent once.
2. Of the counts of cluster pairs and the labels a worker has a copy as of some batch (16 m^2 + 4 n
   bytes for m clusters of n words).  With every batch comes what has changed since: 20 bytes a
   cell, 8 a label.  When that is a large part of the table, a new copy is sent instead.
3. The workers evaluate their words of the batch and send the targets back, 8 bytes each; the
   words are moved here, one after the other.

A change names all cells that any batch since the copy has changed, not those of the last one
alone.  So it does not matter which batches a worker has seen, and one that takes over for a dead
one needs nothing else.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from eigentext.base.engines import Engine
from eigentext.base.types import Bools, Float64s, Int32s, Int64s, Numbers
from eigentext.words.clusters.exchange import (
    LEAST_GAIN,
    ExchangeState,
    NeighbourLists,
    Neighbours,
    find_targets,
)

_LEAST_WORK = 1 << 18  # words times clusters of a batch that is worth the way there and back
_NEW_COPY = 4  # a new copy is sent when more than 1 / 4 of the cells have changed


class _Change(NamedTuple):
    """What has changed since the copy: labels of words, cells with n and n log n; all totals."""

    number: int
    words: Int32s
    labels: Int32s
    cells: Int32s
    ahead: Float64s
    f_ahead: Float64s
    sizes: Int64s
    left: Float64s
    right: Float64s


class _Copy:
    """Labels and counts of cluster pairs, as a worker keeps them up to date.

    Both ways round, since the kernels want them so; one of them travels.
    """

    def __init__(self, labels: Int32s, ahead: Float64s, f_ahead: Float64s) -> None:
        self._lock = threading.Lock()  # of the threads of one worker
        self._number = -1
        self._labels = labels.astype(np.int64)
        m = ahead.shape[0]
        self._state = ExchangeState(
            np.zeros(m, dtype=np.int64),
            ahead.copy(),
            np.ascontiguousarray(ahead.T),
            f_ahead.copy(),
            np.ascontiguousarray(f_ahead.T),
            np.zeros(m),
            np.zeros(m),
        )

    def __reduce__(self) -> tuple[type, tuple[Numbers, ...]]:
        parts = self._labels.astype(np.int32), self._state.ahead, self._state.f_ahead
        return _Copy, parts

    def changed_by(self, change: _Change) -> tuple[Int64s, ExchangeState]:
        """Labels and counts as of that batch; batches come one after the other."""
        state = self._state
        with self._lock:
            if self._number < change.number:
                m = state.ahead.shape[0]
                row, column = np.divmod(change.cells, m)
                self._labels[change.words] = change.labels
                state.ahead[row, column] = state.back[column, row] = change.ahead
                state.f_ahead[row, column] = state.f_back[column, row] = change.f_ahead
                state.sizes[:] = change.sizes
                state.left[:], state.right[:] = change.left, change.right
                self._number = change.number
        return self._labels, state


class TargetsByWorkers:
    """The best cluster of each word of a batch, found by the workers of an engine."""

    def __init__(self, engine: Engine, order: Int64s, lists: NeighbourLists) -> None:
        self._engine, self._lists = engine, lists
        n_shards = max(min(engine.jobs, order.size), 1)
        self._shard_of = np.full(lists.after.starts.size - 1, -1, dtype=np.int32)
        self._shard_of[order] = np.arange(order.size) % n_shards
        self._shards = [
            engine.share(NeighbourLists(*(_only(side, self._shard_of == k) for side in lists)))
            for k in range(n_shards)
        ]
        self._number = 0
        self._copy: Any = None
        # as of the last batch: labels, n and n log n, and which of them are not as in the copy
        self._known: tuple[Numbers, ...] = ()
        self._other_words = self._other_cells = np.zeros(0, dtype=bool)

    def __call__(self, words: Int64s, labels: Int64s, state: ExchangeState) -> Int64s:
        """The targets, in the order of the words."""
        if words.size * state.sizes.size < _LEAST_WORK:
            return find_targets(words, self._lists, labels, state)
        change = self._engine.share(self._change(labels, state))
        rows_of_shard = [
            np.flatnonzero(self._shard_of[words] == k) for k in range(len(self._shards))
        ]
        tasks = [
            (shard, self._copy, change, words[rows])
            for shard, rows in zip(self._shards, rows_of_shard, strict=True)
        ]
        targets = np.empty(words.size, dtype=np.int64)
        for rows, of_shard in zip(
            rows_of_shard, self._engine.map(_targets_of, tasks), strict=True
        ):
            targets[rows] = of_shard
        return targets

    def _change(self, labels: Int64s, state: ExchangeState) -> _Change:
        """What the workers need for their copy; they get a new one where that is much.

        n log n is compared too: of equal counts it can differ in the last digit.
        """
        m = state.ahead.shape[0]
        if self._known:
            last_labels, ahead, f_ahead = self._known
            self._other_words |= labels != last_labels
            self._other_cells |= ((state.ahead != ahead) | (state.f_ahead != f_ahead)).ravel()
        self._known = labels.astype(np.int32), state.ahead.copy(), state.f_ahead.copy()
        if self._copy is None or self._other_cells.sum() > m * m // _NEW_COPY:
            self._copy = self._engine.share(_Copy(*self._known))
            self._other_words = np.zeros(labels.size, dtype=bool)
            self._other_cells = np.zeros(m * m, dtype=bool)
        words = np.flatnonzero(self._other_words).astype(np.int32)
        cells = np.flatnonzero(self._other_cells).astype(np.int32)
        self._number += 1
        return _Change(
            self._number,
            words,
            labels[words].astype(np.int32),
            cells,
            state.ahead.ravel()[cells],
            state.f_ahead.ravel()[cells],
            state.sizes,
            state.left,
            state.right,
        )


def _only(side: Neighbours, mine: Bools) -> Neighbours:
    """The neighbours of some words; the others have none here."""
    lengths = np.diff(side.starts)
    kept = np.repeat(mine, lengths)
    starts = np.zeros_like(side.starts)
    np.cumsum(np.where(mine, lengths, 0), out=starts[1:])
    return Neighbours(starts, side.words[kept], side.counts[kept])


def _targets_of(task: tuple[NeighbourLists, _Copy, _Change, Int64s]) -> Int64s:
    """What a worker does with its words of a batch."""
    from eigentext.words.kernels import exchange as kernels

    lists, copy, change, words = task
    labels, state = copy.changed_by(change)
    targets = np.empty(words.size, dtype=np.int64)
    kernels.best_clusters(words, lists, labels, state, LEAST_GAIN, targets)
    return targets
