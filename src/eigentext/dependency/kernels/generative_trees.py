"""Loops of the generative parser over known trees: log p with the states summed out, E step.

States, sides and parameters as in ``kernels.generative``.  A tree is first planned: for every
decision that made it, what the decision was conditioned on.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True)
def plan_tree(heads, kind, length, order, low, high, arc_q, arc_l, stop_q, stop_l):
    """What each decision of a tree is conditioned on; returns the number of words in ``order``.

    order: leaves before heads; low, high: first and last word below each; arc_q, arc_l (n,): class
    and length class when the word was taken; stop_q, stop_l (n, 2): the same when a side stopped.
    """
    n = len(heads)
    waiting = np.zeros(n + 1, np.int64)
    for d in range(n):
        waiting[heads[d]] += 1
        low[d] = d
        high[d] = d
        for side in range(2):
            stop_q[d, side] = 0
            stop_l[d, side] = 0
    size = 0
    for d in range(n):
        if waiting[d + 1] == 0:
            order[size] = d
            size += 1
    at = 0
    while at < size:
        d = order[at]
        at += 1
        h = heads[d] - 1
        if h >= 0:
            low[h] = min(low[h], low[d])
            high[h] = max(high[h], high[d])
            waiting[h + 1] -= 1
            if waiting[h + 1] == 0:
                order[size] = h
                size += 1
    for d in range(n):  # right children come in rising order, left ones in falling order
        h = heads[d] - 1
        if 0 <= h < d:
            arc_q[d], arc_l[d] = stop_q[h, 1], stop_l[h, 1]
            stop_q[h, 1], stop_l[h, 1] = kind[d], length[high[d] - h]
    for d in range(n - 1, -1, -1):
        h = heads[d] - 1
        if h > d:
            arc_q[d], arc_l[d] = stop_q[h, 0], stop_l[h, 0]
            stop_q[h, 0], stop_l[h, 0] = kind[d], length[h - low[d]]
    return size


@njit(cache=True)
def tree_up(
    heads, emit, first, m, T, go, stop, root, order, arc_q, arc_l, stop_q, stop_l, below, message
):
    """log p(words, tree) with the states summed out; below, message (n, M) are filled.

    below[i, h]: p(everything at and below i | state h), scaled to a largest value of 1;
    message[d, h]: the same of child d seen from state h of its head, scaled likewise.
    """
    n = len(heads)
    log_p, n_roots = 0.0, 0
    for i in range(n):
        for h in range(m[i]):
            s = first[i] + h
            below[i, h] = emit[i, h]
            for side in range(2):
                below[i, h] *= stop[side, stop_q[i, side], stop_l[i, side], s]
    for at in range(n):
        d = order[at]
        h0 = heads[d] - 1
        peak = 0.0
        for g in range(m[d]):
            peak = max(peak, below[d, g])
        if peak <= 0.0:
            return -np.inf
        log_p += math.log(peak)
        for g in range(m[d]):
            below[d, g] /= peak
        if h0 < 0:
            n_roots += 1
            total = 0.0
            for g in range(m[d]):
                total += root[first[d] + g] * below[d, g]
            if total <= 0.0:
                return -np.inf
            log_p += math.log(total)
            continue
        side = 1 if d > h0 else 0
        q = arc_q[d]
        peak = 0.0
        for h in range(m[h0]):
            total = 0.0
            for g in range(m[d]):
                total += T[side, q, first[h0] + h, first[d] + g] * below[d, g]
            message[d, h] = total * go[side, q, arc_l[d], first[h0] + h]
            peak = max(peak, message[d, h])
        if peak <= 0.0:
            return -np.inf
        log_p += math.log(peak)
        largest = 0.0
        for h in range(m[h0]):
            message[d, h] /= peak
            below[h0, h] *= message[d, h]
            largest = max(largest, below[h0, h])
        if 0.0 < largest < 1e-100:  # a head with very many children
            log_p += math.log(largest)
            for h in range(m[h0]):
                below[h0, h] /= largest
    return log_p if n_roots == 1 else -np.inf


@njit(cache=True)
def trees_log_probs(trees, emit, first, m, kind, length, T, go, stop, root, out):
    """out[t] = log p(words, trees[t]) for heads (K, n) over one sentence."""
    n, M = emit.shape
    order, low, high = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    arc_q, arc_l = np.zeros(n, np.int64), np.zeros(n, np.int64)
    stop_q, stop_l = np.zeros((n, 2), np.int64), np.zeros((n, 2), np.int64)
    below, message = np.zeros((n, M)), np.zeros((n, M))
    for t in range(len(trees)):
        size = plan_tree(trees[t], kind, length, order, low, high, arc_q, arc_l, stop_q, stop_l)
        if size < n:
            out[t] = -np.inf
            continue
        out[t] = tree_up(
            trees[t],
            emit,
            first,
            m,
            T,
            go,
            stop,
            root,
            order,
            arc_q,
            arc_l,
            stop_q,
            stop_l,
            below,
            message,
        )


@njit(cache=True)
def corpus_counts(
    ptr,
    heads,
    word,
    tag,
    first_of,
    m_of,
    kind_of,
    length,
    E,
    T,
    go,
    stop,
    root,
    nT,
    n_go,
    n_stop,
    n_root,
    nE,
):
    """One E step over gold trees: expected counts are added up; returns the log likelihood.

    heads, word, tag of all sentences end to end, sentence s at ptr[s]:ptr[s + 1].  E, nE (words of
    all tags, M): p(word | h-th state of its tag).
    """
    M = E.shape[1]
    longest = 0
    for s in range(len(ptr) - 1):
        longest = max(longest, ptr[s + 1] - ptr[s])
    order, low = np.zeros(longest, np.int64), np.zeros(longest, np.int64)
    high = np.zeros(longest, np.int64)
    arc_q, arc_l = np.zeros(longest, np.int64), np.zeros(longest, np.int64)
    stop_q, stop_l = np.zeros((longest, 2), np.int64), np.zeros((longest, 2), np.int64)
    below, message = np.zeros((longest, M)), np.zeros((longest, M))
    post = np.zeros((longest, M))  # p(state | tree), then used from the root down
    xi = np.zeros((M, M))
    likelihood = 0.0
    for s in range(len(ptr) - 1):
        a, b = ptr[s], ptr[s + 1]
        n = b - a
        tree = heads[a:b]
        first, m, kind = first_of[tag[a:b]], m_of[tag[a:b]], kind_of[tag[a:b]]
        size = plan_tree(tree, kind, length, order, low, high, arc_q, arc_l, stop_q, stop_l)
        if size < n:
            continue
        emit = E[word[a:b]]
        log_p = tree_up(
            tree,
            emit,
            first,
            m,
            T,
            go,
            stop,
            root,
            order,
            arc_q,
            arc_l,
            stop_q,
            stop_l,
            below,
            message,
        )
        if log_p == -np.inf:
            continue
        likelihood += log_p
        for at in range(n - 1, -1, -1):
            d = order[at]
            h0 = tree[d] - 1
            if h0 < 0:
                total = 0.0
                for g in range(m[d]):
                    post[d, g] = root[first[d] + g] * below[d, g]
                    total += post[d, g]
                for g in range(m[d]):
                    post[d, g] /= total
                    n_root[first[d] + g] += post[d, g]
            else:
                side = 1 if d > h0 else 0
                q, lc = arc_q[d], arc_l[d]
                for g in range(m[d]):
                    post[d, g] = 0.0
                for h in range(m[h0]):
                    sh = first[h0] + h
                    n_go[side, q, lc, sh] += post[h0, h]
                    norm = 0.0
                    for g in range(m[d]):
                        xi[h, g] = T[side, q, sh, first[d] + g] * below[d, g]
                        norm += xi[h, g]
                    if norm <= 0.0:
                        continue
                    for g in range(m[d]):
                        x = post[h0, h] * xi[h, g] / norm
                        nT[side, q, sh, first[d] + g] += x
                        post[d, g] += x
            for side in range(2):
                for g in range(m[d]):
                    n_stop[side, stop_q[d, side], stop_l[d, side], first[d] + g] += post[d, g]
            for g in range(m[d]):
                nE[word[a + d], g] += post[d, g]
    return likelihood
