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
