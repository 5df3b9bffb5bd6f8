"""The pairs of a word with the clusters around it, for Brown's merges and the exchange."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eigentext.base.compiling import njit


class Side(NamedTuple):
    """One side of a word: ``sums[c]`` pairs with each of its ``clusters``, and 0 with others."""

    sums: Any
    clusters: Any


class WordPairs(NamedTuple):
    """The pairs of a word with the clusters after and before it.

    ``own``              pairs of the word with itself, which are in no side
    ``n_left, n_right``  pairs in which it is the left or the right word, its own included
    """

    own: Any
    after: Any
    before: Any
    n_left: Any
    n_right: Any


@njit
def empty_sides(n_clusters):
    """Room for the two sides of a word."""
    return (
        Side(np.zeros(n_clusters), np.empty(n_clusters, dtype=np.int64)),
        Side(np.zeros(n_clusters), np.empty(n_clusters, dtype=np.int64)),
    )


@njit(error_model="numpy", fastmath={"contract"})
def _gather(neighbours, word, cluster, room):
    """Sum a word's neighbours by their clusters; gives (the side, its own count)."""
    starts, words, counts = neighbours
    sums, clusters = room
    # sums is all zero between words: a zero sum says that the cluster is new to this word
    used = 0
    own = 0.0
    for p in range(starts[word], starts[word + 1]):
        x = words[p]
        if x == word:
            own = counts[p]
            continue
        c = cluster[x]
        if c < 0:
            continue
        if sums[c] == 0.0:
            clusters[used] = c
            used += 1
        sums[c] += counts[p]
    return Side(sums, clusters[:used]), own


@njit(error_model="numpy", fastmath={"contract"})
def pairs_of(word, lists, cluster, room):
    """The pairs of a word; words whose ``cluster`` is negative are not in and do not count.

    The sums stand in ``room`` and must be given back by :func:`clear`.
    """
    after, own = _gather(lists.after, word, cluster, room[0])
    before, _ = _gather(lists.before, word, cluster, room[1])
    n_left = own
    for c in after.clusters:
        n_left += after.sums[c]
    n_right = own
    for c in before.clusters:
        n_right += before.sums[c]
    return WordPairs(own, after, before, n_left, n_right)


@njit
def clear(word):
    """Make the sums of a word zero again, in time of its neighbouring clusters."""
    for c in word.after.clusters:
        word.after.sums[c] = 0.0
    for c in word.before.clusters:
        word.before.sums[c] = 0.0
