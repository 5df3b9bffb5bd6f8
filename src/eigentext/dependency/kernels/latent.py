"""Compiled passes over trees: scores by operators, and upward and downward passes of latent trees.

Trees of one sentence share the words; heads are (trees, n), 1..n, 0 for a root.  ``ids``
(channels, n) say which row of the stacked emission tables each word shows, -1 for nothing.
"""

from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Float64s, Int64s


class Observables(NamedTuple):
    """Spectral operators of dimension k."""

    c_1: Float64s  # (k,)
    c_inf: Float64s  # (k,)
    E_turned: Float64s  # (2, k, k) the E' of each side
    D: Float64s  # (k, k, k)
    rows: Float64s  # (R, k) the y of every observation


class LatentWords(NamedTuple):
    """The words of a sentence, and the states that each can have."""

    ids: Int64s  # (channels, n)
    lo: Int64s  # (n,) the first state
    hi: Int64s  # (n,) one after the last


class TreeShape(NamedTuple):
    """What counts of the tree itself."""

    edges: int  # which classes of edges there are, see :func:`structure`
    starts: Int64s  # (3,) row of the first class of each kind of structure, -1: not shown


@njit
def order_leaves_first(heads, order, n_waiting):
    """Fill ``order`` with the words 0..n-1, dependents before heads; how many were reached."""
    # Fewer than n are reached if there is a cycle.
    n = heads.shape[0]
    n_waiting[:] = 0
    for d in range(n):
        if heads[d] > 0:
            n_waiting[heads[d] - 1] += 1
    used = 0
    for d in range(n):
        if n_waiting[d] == 0:
            order[used] = d
            used += 1
    done = 0
    while done < used:
        head = heads[order[done]] - 1
        done += 1
        if head >= 0:
            n_waiting[head] -= 1
            if n_waiting[head] == 0:
                order[used] = head
                used += 1
    return used


@njit
def _times_d(row, D, v, out):
    """out = row' D(v), where D(v)[i, m] = sum over j of v[j] D[i, j, m]."""
    k = row.shape[0]
    out[:] = 0.0
    for i in range(k):
        for j in range(k):
            weight = row[i] * v[j]  # row_i v_j D[i, j, m], summed over i and j
            for m in range(k):
                out[m] += weight * D[i, j, m]


@njit
def operator_scores(ids, heads, operators, signs, logs):
    """Sign and log |score| of each tree; False where heads make a cycle."""
    # From the leaves up, a row vector for each word, scaled to a largest entry of 1:
    #     r[i]' = c_inf' prod over children j, nearest first, of D(E_side' r[j])
    #                    prod over channels of D(y of what the word shows)
    #     score = prod over roots of r[root]' c_1
    # O(n k^3) for each tree.  A score can be negative or 0, hence the sign.
    c_1, c_inf, D = operators.c_1, operators.c_inf, operators.D
    n_trees, n = heads.shape
    k = c_1.shape[0]
    order, n_waiting = np.empty(n, np.int64), np.empty(n, np.int64)
    r = np.empty((n, k))
    row, new, v = np.empty(k), np.empty(k), np.empty(k)
    for t in range(n_trees):
        if order_leaves_first(heads[t], order, n_waiting) < n:
            return False
        log_scale, sign = 0.0, 1
        for at in range(n):
            i = order[at]
            # the D's commute only at exact moments, so their order is fixed: left children, right
            # children, then what is observed
            row[:] = c_inf
            for side in range(2):
                step = -1 if side == 0 else 1  # nearest first
                j = i + step
                while 0 <= j < n:
                    if heads[t, j] == i + 1:
                        for a in range(k):
                            total = 0.0
                            for b in range(k):
                                total += operators.E_turned[side, a, b] * r[j, b]
                            v[a] = total
                        _times_d(row, D, v, new)
                        row[:] = new
                    j += step
            for c in range(ids.shape[0]):
                if ids[c, i] >= 0:
                    _times_d(row, D, operators.rows[ids[c, i]], new)
                    row[:] = new
            size = np.abs(row).max()
            if not size > 0.0:
                sign = 0
                break
            log_scale += np.log(size)
            for a in range(k):
                r[i, a] = row[a] / size
            if heads[t, i] == 0:
                value = 0.0
                for a in range(k):
                    value += r[i, a] * c_1[a]
                if value == 0.0:
                    sign = 0
                    break
                if value < 0.0:
                    sign = -sign
                log_scale += np.log(np.abs(value))
        signs[t] = sign
        logs[t] = log_scale if sign != 0 else -np.inf
    return True


# Edge classes: what the transition to a child may depend on, besides the parent's state.
UNDIRECTED, DIRECTED, ADJACENT, ORDERED = 0, 1, 2, 3


@njit
def structure(heads, order, edges, classes, shown):
    """Class of the edge above each word of one tree, and what each word shows of the tree."""
    # ``edges``: 0 one class; 1 side (0 left, 1 right); 2 side and whether the words are
    # neighbours; 3 side and whether it is the head's nearest child on it.  ``shown`` (3, n):
    # valence, 4 left + right with each counted up to 3; distance to the head, 0 for a root, else 1
    # to 5 (1, 2, 3-4, 5-8, more) to a head on the left, 6 to 10 on the right; size of the subtree,
    # 0 to 6 (1, 2, 3, 4-5, 6-9, 10-19, more).  ``order``: dependents before heads.
    n = heads.shape[0]
    left, right = np.zeros(n, np.int64), np.zeros(n, np.int64)
    size = np.ones(n, np.int64)
    for d in range(n):  # children on the right come from the nearest to the farthest
        h = heads[d] - 1
        classes[d] = 0
        shown[1, d] = 0
        if h < 0:
            continue
        if d > h:
            right[h] += 1
        if edges != UNDIRECTED:
            classes[d] = 1 if d > h else 0
        if edges == ADJACENT and abs(d - h) > 1:
            classes[d] += 2
        if edges == ORDERED and d > h and right[h] > 1:
            classes[d] += 2
        far = abs(d - h)  # 1, 2, 3-4, 5-8 words away, or more
        bucket = 1 + (far > 1) + (far > 2) + (far > 4) + (far > 8)
        shown[1, d] = bucket if d > h else bucket + 5
    for d in range(n - 1, -1, -1):  # and those on the left from the last to the first
        h = heads[d] - 1
        if h > d:
            left[h] += 1
            if edges == ORDERED and left[h] > 1:
                classes[d] += 2
    for at in range(n):  # dependents before heads: a subtree is whole when its head adds it
        d = order[at]
        if heads[d] > 0:
            size[heads[d] - 1] += size[d]
    for d in range(n):
        shown[0, d] = 4 * min(left[d], 3) + min(right[d], 3)
        s = size[d]
        shown[2, d] = (s > 1) + (s > 2) + (s > 3) + (s > 5) + (s > 9) + (s > 19)


@njit
def forest_structure(heads, ptr, edges, classes, shown):
    """:func:`structure` of every tree of a forest; False where heads make a cycle."""
    for t in range(ptr.shape[0] - 1):
        of_tree = heads[ptr[t] : ptr[t + 1]]
        n = of_tree.shape[0]
        order, n_waiting = np.empty(n, np.int64), np.empty(n, np.int64)
        if order_leaves_first(of_tree, order, n_waiting) < n:
            return False
        structure(
            of_tree, order, edges, classes[ptr[t] : ptr[t + 1]], shown[:, ptr[t] : ptr[t + 1]]
        )
    return True


@njit
def _emissions(ids, rows, at, lo, hi, e):
    """e[h] = product over channels of p(observation | h), for the states lo to hi."""
    for h in range(lo, hi):
        e[h] = 1.0
    for c in range(ids.shape[0]):
        x = ids[c, at]
        if x >= 0:
            for h in range(lo, hi):
                e[h] *= rows[x, h]  # p(what the channel shows | h)


@njit
def _scaled(r, lo, hi):
    """Divide by the largest entry; its log, or -inf where all are 0."""
    size = 0.0
    for h in range(lo, hi):
        size = max(size, r[h])
    if not size > 0.0:
        return -np.inf
    for h in range(lo, hi):
        r[h] /= size
    return np.log(size)


@njit
def _message(r, lo, hi, T, parent_lo, parent_hi, m):
    """m[parent] = sum over child states of T[parent, child] r[child]."""
    for a in range(parent_lo, parent_hi):
        total = 0.0
        for b in range(lo, hi):
            total += T[a, b] * r[b]
        m[a] = total


@njit
def _at_root(r, lo, hi, pi):
    """log of the sum over the root's states of pi[h] r[h]."""
    value = 0.0
    for h in range(lo, hi):
        value += pi[h] * r[h]
    return np.log(value) if value > 0.0 else -np.inf


@njit
def _up(heads, order, lo, hi, classes, tables, r, m):
    """log p of a tree from the leaves up; r (n, k) holds what the words show, m (n, k) is filled.

    ::

        r[i, h] = p(all that i and the words below it show | state h of i), scaled
        m[i, h] = message of i to its head: sum over g of T[class of i's edge, h, g] r[i, g]
    """
    total = 0.0
    for at in range(len(heads)):
        i = order[at]
        total += _scaled(r[i], lo[i], hi[i])
        j = heads[i] - 1
        if j < 0:
            total += _at_root(r[i], lo[i], hi[i], tables.pi)
            continue
        _message(r[i], lo[i], hi[i], tables.T[classes[i]], lo[j], hi[j], m[i])
        for h in range(lo[j], hi[j]):
            r[j, h] *= m[i, h]
        if r[j, lo[j]] < 1e-200:  # many children: keep the product in range
            total += _scaled(r[j], lo[j], hi[j])
    return total


@njit
def tree_log_probs(words, heads, shape, tables, logs):
    """log p of each tree over one sentence; False where heads make a cycle."""
    # ``tables``: ``pi`` (k,), ``T`` (classes, k, k) [parent, child], ``rows`` (R, k).  The
    # recursion is that of :func:`_up`: O(n m^2) for each tree, with m states a word.
    lo, hi, rows = words.lo, words.hi, tables.rows
    n_trees, n = heads.shape
    k = tables.pi.shape[0]
    order, n_waiting = np.empty(n, np.int64), np.empty(n, np.int64)
    classes, shown = np.empty(n, np.int64), np.empty((3, n), np.int64)
    e, r, m = np.empty((n, k)), np.empty((n, k)), np.empty((n, k))
    for i in range(n):  # what the words show is the same in all trees
        _emissions(words.ids, rows, i, lo[i], hi[i], e[i])
    for t in range(n_trees):
        of_tree = heads[t]
        if order_leaves_first(of_tree, order, n_waiting) < n:
            return False
        # what words show of the tree itself differs from tree to tree
        structure(of_tree, order, shape.edges, classes, shown)
        for i in range(n):
            for h in range(lo[i], hi[i]):
                r[i, h] = e[i, h]
            for c in range(3):
                if shape.starts[c] >= 0:
                    for h in range(lo[i], hi[i]):
                        r[i, h] *= rows[shape.starts[c] + shown[c, i], h]
        logs[t] = _up(of_tree, order, lo, hi, classes, tables, r, m)
    return True


@njit(nogil=True)
def posteriors_and_counts(forest, tables, posteriors, counts):
    """Upward and downward passes over a forest: log likelihood, and what EM counts.

    ``forest``      an ``EncodedForest``: trees end to end
    ``tables``      as in :func:`tree_log_probs`; ``counts`` in their shapes are added to
    ``posteriors``  (N, k), filled where it has rows: p(state | all words of the tree)

    Up as in :func:`tree_log_probs`, with the messages kept; then from the root down::

        out[i, h] ~ p(all that the words not below i show, state h of i); pi[h] at the root
        out[i, b] = sum over a of rest[a] T[class, a, b]
        rest[a]   = out[j, a] r[j, a] / message(i, a)     j: the head of i; all but what i told it
        p(h | tree) ~ out[i, h] r[i, h]

    All that is added up counts as often as its tree.  O(N m^2) for N words with m states each.
    NaN where heads make a cycle.
    """
    ids, T = forest.ids, tables.T
    k = tables.pi.shape[0]
    ptr = forest.ptr
    longest = 0
    for t in range(ptr.shape[0] - 1):
        longest = max(longest, ptr[t + 1] - ptr[t])
    order, n_waiting = np.empty(longest, np.int64), np.empty(longest, np.int64)
    r, m, out = np.empty((longest, k)), np.empty((longest, k)), np.empty((longest, k))
    post, rest = np.empty(k), np.empty(k)
    log_likelihood = 0.0
    for t in range(ptr.shape[0] - 1):
        first, end = ptr[t], ptr[t + 1]
        n = end - first
        of_tree = forest.heads[first:end]
        if order_leaves_first(of_tree, order, n_waiting) < n:
            return np.nan
        low, high = forest.lo[first:end], forest.hi[first:end]
        classes = forest.classes[first:end]
        for i in range(n):
            _emissions(ids, tables.rows, first + i, low[i], high[i], r[i])
        # up: the messages are kept, since the way down divides by them
        total = _up(of_tree, order, low, high, classes, tables, r, m)
        times = forest.weights[t]  # how often the tree counts
        log_likelihood += times * total
        if total == -np.inf:  # impossible under the tables: nothing to count
            continue
        # down: heads before dependents
        for at in range(n - 1, -1, -1):
            i = order[at]
            j = of_tree[i] - 1
            if j < 0:
                for h in range(low[i], high[i]):
                    out[i, h] = tables.pi[h]
            else:
                c = classes[i]
                for b in range(low[i], high[i]):
                    out[i, b] = 0.0
                for a in range(low[j], high[j]):
                    rest[a] = out[j, a] * r[j, a] / m[i, a] if m[i, a] > 0.0 else 0.0
                    for b in range(low[i], high[i]):
                        out[i, b] += rest[a] * T[c, a, b]
                # p(a, b | tree) = rest[a] T[a, b] r[b] / size: the expected count of the edge
                size = 0.0
                for b in range(low[i], high[i]):
                    size += out[i, b] * r[i, b]
                for a in range(low[j], high[j]):
                    weight = times * rest[a] / size
                    for b in range(low[i], high[i]):
                        counts.T[c, a, b] += weight * T[c, a, b] * r[i, b]
                for b in range(low[i], high[i]):
                    out[i, b] /= size
            # p(h | tree), counted for the root and for all that the word shows
            size = 0.0
            for h in range(low[i], high[i]):
                post[h] = out[i, h] * r[i, h]
                size += post[h]
            for h in range(low[i], high[i]):
                post[h] /= size
                if j < 0:
                    counts.pi[h] += times * post[h]
                if posteriors.shape[0] > 0:
                    posteriors[first + i, h] = post[h]
            for c in range(ids.shape[0]):
                x = ids[c, first + i]
                if x >= 0:
                    for h in range(low[i], high[i]):
                        counts.rows[x, h] += times * post[h]
    return log_likelihood


@njit(nogil=True)
def move_rows(forest, rows, total):
    """Add the counts ``rows`` (R, k) of some trees to ``total``; they are 0 again afterwards."""
    # Only the cells that these trees can have filled are looked at: the tables are much larger.
    for node in range(forest.ptr[0], forest.ptr[-1]):
        for c in range(forest.ids.shape[0]):
            x = forest.ids[c, node]
            if x >= 0:
                for h in range(forest.lo[node], forest.hi[node]):
                    total[x, h] += rows[x, h]
                    rows[x, h] = 0.0
