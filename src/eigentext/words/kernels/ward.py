"""Compiled loops of the Ward variant: arrays and scalars in, preallocated arrays out.

The cost of a merge (Eq. 2) is kept for every pair of active clusters and brought up to date by
the recurrence of Lance and Williams.  For words that wait, ``dots[s, t]`` is the inner product of
the centroid in slot s with the t-th of them; it is linear in the centroid, so a merge updates it.
Costs that differ by less than ``tie`` of themselves are equal, and of equal ones the first wins:
their last digits are rounding, which is not the same on every processor.
"""

from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Bools, Float64s, Int64s


class ActiveClusters(NamedTuple):
    """The clusters in slots, of which the free ones are not ``active``."""

    cost: Float64s  # (slots, slots) of merging two, symmetric (Eq. 2)
    active: Bools
    sizes: Float64s  # (slots,) words of each
    squares: Float64s  # (slots,) the squared length of its centroid
    nearest: Int64s  # (slots,) the cluster with the least cost
    bound: Float64s  # and that cost
    tight: Bools  # or else the bound may be too low and the nearest another
    tie: float  # the share of a cost within which costs are equal


@njit(inline="always")
def _cheaper(x, y, tie):
    return x < y - tie * (1.0 + y) if y < np.inf else x < y


@njit
def _tighten(c, clusters):
    """Find the nearest active cluster of c by a scan of its row."""
    row, active, tie = clusters.cost[c], clusters.active, clusters.tie
    least = np.inf
    nearest = -1
    for k in range(row.shape[0]):
        if active[k] and k != c and _cheaper(row[k], least, tie):
            least = row[k]
            nearest = k
    clusters.nearest[c] = nearest
    clusters.bound[c] = least
    clusters.tight[c] = True


@njit
def _merge_cheapest(clusters, dots):
    """Merge the cheapest pair (figure 5, 2b to 2e); gives (kept, freed, cost, tightenings)."""
    cost, active, sizes, squares, nearest, bound, tight, tie = clusters
    n_slots = active.shape[0]
    n_tightened = 0
    # Of every pair, one of its two bounds is never too high: a tight one that is least is the
    # least cost of all.  A merge loosens few, and a row is searched only when its bound comes out
    # on top: O(m) for a merge and for each of its gamma searches, not O(m^2).
    while True:
        best = -1
        for c in range(n_slots):
            if active[c] and (best < 0 or _cheaper(bound[c], bound[best], tie)):
                best = c
        if tight[best]:
            break
        _tighten(best, clusters)
        n_tightened += 1
    other = nearest[best]
    i, j = min(best, other), max(best, other)
    n_i, n_j = sizes[i], sizes[j]
    both = n_i + n_j
    price = cost[i, j]
    active[j] = False
    # Lance and Williams: the cost of the union with k from the three costs among i, j and k
    for k in range(n_slots):
        if active[k] and k != i:
            n_k = sizes[k]
            value = ((n_i + n_k) * cost[i, k] + (n_j + n_k) * cost[j, k] - n_k * price) / (
                both + n_k
            )
            cost[i, k] = value
            cost[k, i] = value
            if nearest[k] == i or nearest[k] == j:
                tight[k] = False
    # |mean|^2 of the union, from the squares of both and their distance
    squares[i] = (n_i * squares[i] + n_j * squares[j] - price) / both
    sizes[i] = both
    for t in range(dots.shape[1]):
        dots[i, t] = (n_i * dots[i, t] + n_j * dots[j, t]) / both
    # a union is no nearer to any cluster than its parts were: a valid bound, to be tightened
    bound[i] = price
    tight[i] = False
    return i, j, price, n_tightened


@njit
def ward_batch(first, lengths, mutual, clusters, dots, slot_label, parents):
    """Take in a batch of words, each followed by one merge; gives the number of tightenings.

    ``lengths`` (t,) are the words' squared lengths, ``mutual`` (t, t) their inner products.
    ``slot_label[s]`` is the node that stands in slot s (a word's own number, at first), and
    ``parents[x]`` the node that x was merged into.
    """
    cost, active, sizes, squares = clusters[:4]
    n_tightened = 0
    for t in range(lengths.shape[0]):
        free = 0
        while active[free]:
            free += 1
        for k in range(active.shape[0]):
            if active[k]:
                n_k = sizes[k]
                # |mean_k - word|^2; rounding may leave it just below zero
                distance = max(squares[k] - 2.0 * dots[k, t] + lengths[t], 0.0)
                value = n_k / (n_k + 1.0) * distance
                cost[free, k] = value
                cost[k, free] = value
        active[free] = True
        sizes[free] = 1.0
        squares[free] = lengths[t]
        slot_label[free] = first + t
        for s in range(dots.shape[1]):
            dots[free, s] = mutual[t, s]
        # The bounds of the others stay: one that is nearest to the new word has the pair in its
        # own row only, and the new word's bound is the one that finds it.
        _tighten(free, clusters)
        i, j, _, count = _merge_cheapest(clusters, dots)
        parents[slot_label[j]] = slot_label[i]
        n_tightened += count
    return n_tightened


@njit
def ward_finish(clusters, merges, prices):
    """Merge the active clusters down to one; row k of ``merges`` is (kept slot, freed slot)."""
    no_words = np.zeros((clusters.active.shape[0], 0))
    n_tightened = 0
    for k in range(merges.shape[0]):
        merges[k, 0], merges[k, 1], prices[k], count = _merge_cheapest(clusters, no_words)
        n_tightened += count
    return n_tightened
