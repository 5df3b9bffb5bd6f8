"""Compiled passes over trees: scores by operators, and upward and downward passes of latent trees.

Trees of one sentence share the words; heads are (trees, n), 1..n, 0 for a root.
"""

import numpy as np
from numba import njit


@njit(cache=True)
def order_leaves_first(heads, order, n_waiting):
    """Fill ``order`` with the words 0..n-1, dependents before heads; how many were reached."""
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
    at = 0
    while at < used:
        head = heads[order[at]] - 1
        at += 1
        if head >= 0:
            n_waiting[head] -= 1
            if n_waiting[head] == 0:
                order[used] = head
                used += 1
    return used


@njit(cache=True)
def _times_d(row, D, v, out):
    """out = row' D(v)."""
    k = row.shape[0]
    out[:] = 0.0
    for i in range(k):
        for j in range(k):
            weight = row[i] * v[j]
            for m in range(k):
                out[m] += weight * D[i, j, m]


@njit(cache=True)
def operator_scores(ids, heads, c_1, c_inf, E_turned, D, rows, signs, logs):
    """Sign and log |score| of each tree; False where heads make a cycle.

    ``ids`` (channels, n) rows of ``rows``, -1 missing; ``E_turned`` (2, k, k) the E' of each side.
    """
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
            row[:] = c_inf
            for side in range(2):
                step = -1 if side == 0 else 1  # nearest first
                j = i + step
                while 0 <= j < n:
                    if heads[t, j] == i + 1:
                        for a in range(k):
                            total = 0.0
                            for b in range(k):
                                total += E_turned[side, a, b] * r[j, b]
                            v[a] = total
                        _times_d(row, D, v, new)
                        row[:] = new
                    j += step
            for c in range(ids.shape[0]):
                if ids[c, i] >= 0:
                    _times_d(row, D, rows[ids[c, i]], new)
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


@njit(cache=True)
def structure(heads, edges, most, classes, valences):
    """Class of the edge above each word, and the valence class of each word, of one tree.

    ``edges``: 0 one class; 1 side (0 left, 1 right); 2 side and whether the words are neighbours;
    3 side and whether it is the head's nearest child on it.  ``most``: children counted up to
    this number on each side, valence = min(left, most) (most + 1) + min(right, most).
    """
    n = heads.shape[0]
    left, right = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for d in range(n):
        h = heads[d] - 1
        classes[d] = 0
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
    for d in range(n - 1, -1, -1):
        h = heads[d] - 1
        if h > d:
            left[h] += 1
            if edges == ORDERED and left[h] > 1:
                classes[d] += 2
    for d in range(n):
        valences[d] = min(left[d], most) * (most + 1) + min(right[d], most)


@njit(cache=True)
def _emissions(ids, rows, at, e):
    """e[h] = product over channels of p(observation | h)."""
    e[:] = 1.0
    for c in range(ids.shape[0]):
        x = ids[c, at]
        if x >= 0:
            for h in range(e.shape[0]):
                e[h] *= rows[x, h]


@njit(cache=True)
def _scaled(r):
    """Divide by the largest entry; its log, or -inf where all are 0."""
    size = 0.0
    for h in range(r.shape[0]):
        size = max(size, r[h])
    if not size > 0.0:
        return -np.inf
    for h in range(r.shape[0]):
        r[h] /= size
    return np.log(size)


@njit(cache=True)
def _message(r, T, m):
    """m[parent] = sum over child states of T[parent, child] r[child]."""
    k = r.shape[0]
    for a in range(k):
        total = 0.0
        for b in range(k):
            total += T[a, b] * r[b]
        m[a] = total


@njit(cache=True)
def tree_log_probs(ids, heads, edges, most, valence_start, rows, T, pi, logs):
    """log p of each tree over one sentence; False where heads make a cycle.

    ``ids`` (channels, n) rows of ``rows``, -1 missing; ``T`` (classes, k, k) [parent, child];
    ``valence_start`` is the row of the first valence class, or -1.
    """
    n_trees, n = heads.shape
    k = pi.shape[0]
    order, n_waiting = np.empty(n, np.int64), np.empty(n, np.int64)
    classes, valences = np.empty(n, np.int64), np.empty(n, np.int64)
    e, r, m = np.empty((n, k)), np.empty((n, k)), np.empty(k)
    for i in range(n):
        _emissions(ids, rows, i, e[i])
    # most words are leaves in most trees: their messages are kept
    leaf = np.empty((T.shape[0], n, k))
    known = np.zeros((T.shape[0], n), np.bool_)
    leaf_log = np.zeros(n)
    for t in range(n_trees):
        if order_leaves_first(heads[t], order, n_waiting) < n:
            return False
        structure(heads[t], edges, most, classes, valences)
        total = 0.0
        for i in range(n):
            for h in range(k):
                r[i, h] = e[i, h]
            if valence_start >= 0:
                for h in range(k):
                    r[i, h] *= rows[valence_start + valences[i], h]
        for at in range(n):
            i = order[at]
            c = classes[i]
            if heads[t, i] == 0:
                total += _scaled(r[i])
                value = 0.0
                for h in range(k):
                    value += pi[h] * r[i, h]
                total += np.log(value) if value > 0.0 else -np.inf
                continue
            parent = heads[t, i] - 1
            if valences[i] == 0:
                if not known[c, i]:
                    leaf_log[i] = _scaled(r[i])
                    _message(r[i], T[c], leaf[c, i])
                    known[c, i] = True
                total += leaf_log[i]
                for h in range(k):
                    r[parent, h] *= leaf[c, i, h]
            else:
                total += _scaled(r[i])
                _message(r[i], T[c], m)
                for h in range(k):
                    r[parent, h] *= m[h]
            # a long row of children: keep the product in range
            if r[parent, 0] < 1e-200:
                total += _scaled(r[parent])
        logs[t] = total
    return True


@njit(cache=True)
def posteriors_and_counts(
    ids, heads, ptr, classes, rows, T, pi, posteriors, row_counts, T_counts, pi_counts
):
    """Upward and downward passes over a forest: log likelihood, and what EM counts.

    ``ids`` (channels, N); ``classes`` (N,) of edges; ``posteriors`` (N, k) is filled where it has
    rows, p(state | all words of the tree).  Counts are added to.
    """
    k = pi.shape[0]
    longest = 0
    for t in range(ptr.shape[0] - 1):
        longest = max(longest, ptr[t + 1] - ptr[t])
    order, n_waiting = np.empty(longest, np.int64), np.empty(longest, np.int64)
    r, m, out = np.empty((longest, k)), np.empty((longest, k)), np.empty((longest, k))
    e, given = np.empty(k), np.empty(k)
    log_likelihood = 0.0
    for t in range(ptr.shape[0] - 1):
        first = ptr[t]
        n = ptr[t + 1] - first
        own = heads[first : ptr[t + 1]]
        if order_leaves_first(own, order, n_waiting) < n:
            return np.nan
        for i in range(n):
            _emissions(ids, rows, first + i, r[i])
        total = 0.0
        for at in range(n):
            i = order[at]
            total += _scaled(r[i])
            if own[i] == 0:
                value = 0.0
                for h in range(k):
                    value += pi[h] * r[i, h]
                total += np.log(value) if value > 0.0 else -np.inf
                continue
            _message(r[i], T[classes[first + i]], m[i])
            parent = own[i] - 1
            for h in range(k):
                r[parent, h] *= m[i, h]
            if r[parent, 0] < 1e-200:
                total += _scaled(r[parent])
        log_likelihood += total
        if total == -np.inf:
            continue
        for at in range(n - 1, -1, -1):
            i = order[at]
            if own[i] == 0:
                for h in range(k):
                    out[i, h] = pi[h]
            else:
                parent = own[i] - 1
                c = classes[first + i]
                # all that the parent knows but for this child; then p(child state, rest)
                for h in range(k):
                    given[h] = out[parent, h] * r[parent, h] / m[i, h] if m[i, h] > 0.0 else 0.0
                for h in range(k):
                    out[i, h] = 0.0
                for a in range(k):
                    if given[a] > 0.0:
                        for b in range(k):
                            out[i, b] += given[a] * T[c, a, b]
                size = 0.0
                for h in range(k):
                    size += out[i, h] * r[i, h]
                for a in range(k):
                    weight = given[a] / size
                    if weight > 0.0:
                        for b in range(k):
                            T_counts[c, a, b] += weight * T[c, a, b] * r[i, b]
                for h in range(k):
                    out[i, h] /= size
            size = 0.0
            for h in range(k):
                e[h] = out[i, h] * r[i, h]
                size += e[h]
            for h in range(k):
                e[h] /= size
            if own[i] == 0:
                for h in range(k):
                    pi_counts[h] += e[h]
            for c in range(ids.shape[0]):
                x = ids[c, first + i]
                if x >= 0:
                    for h in range(k):
                        row_counts[x, h] += e[h]
            if posteriors.shape[0] > 0:
                for h in range(k):
                    posteriors[first + i, h] = e[h]
    return log_likelihood
