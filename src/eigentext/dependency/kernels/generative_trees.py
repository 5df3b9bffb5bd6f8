"""Loops of the generative parser over known trees: log p with the states summed out, E step.

States, sides and parameters as in ``kernels.generative``.  A tree is first planned: for every
decision that made it, what the decision was conditioned on.
"""

import math
from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Int64s
from eigentext.dependency.kernels.generative import Words
from eigentext.dependency.kernels.latent import order_leaves_first


class Plan(NamedTuple):
    """The decisions of one tree; room for the longest sentence."""

    order: Int64s  # words, leaves before heads
    low: Int64s  # first word below each,
    high: Int64s  # and last
    arc_q: Int64s  # (n,) sibling class when the word was taken as a child,
    arc_l: Int64s  # and length class
    stop_q: Int64s  # (n, 2) the same when a side of the word stopped
    stop_l: Int64s


class TagStates(NamedTuple):
    """Of each tag: number of its first state, how many it has, its sibling class."""

    first: Int64s
    m: Int64s
    kind: Int64s


@njit
def empty_plan(n):
    """A plan for sentences of at most n words."""
    return Plan(
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros((n, 2), np.int64),
        np.zeros((n, 2), np.int64),
    )


@njit
def plan_tree(heads, words, plan):
    """Fill the plan of a tree; how many words are in its order: fewer than n if it has a cycle."""
    order, low, high, stop_q, stop_l = plan.order, plan.low, plan.high, plan.stop_q, plan.stop_l
    n = len(heads)
    for d in range(n):
        low[d], high[d] = d, d
        for side in range(2):
            stop_q[d, side] = 0
            stop_l[d, side] = 0
    size = order_leaves_first(heads, order, np.empty(n, np.int64))
    for k in range(size):
        d = order[k]
        h = heads[d] - 1
        if h >= 0:
            low[h], high[h] = min(low[h], low[d]), max(high[h], high[d])
    # Right children come in rising order, left ones in falling order, so stop_q and stop_l hold
    # what the next decision on that side is conditioned on: a child takes it over and renews it.
    for d in range(n):
        h = heads[d] - 1
        if 0 <= h < d:
            plan.arc_q[d], plan.arc_l[d] = stop_q[h, 1], stop_l[h, 1]
            stop_q[h, 1], stop_l[h, 1] = words.kind[d], words.length[high[d] - h]
    for d in range(n - 1, -1, -1):
        h = heads[d] - 1
        if h > d:
            plan.arc_q[d], plan.arc_l[d] = stop_q[h, 0], stop_l[h, 0]
            stop_q[h, 0], stop_l[h, 0] = words.kind[d], words.length[h - low[d]]
    return size


@njit
def tree_up(heads, words, automaton, plan, below, message):
    """log p(words, tree) with the states summed out, leaves to root; O(n M^2)."""
    # Fills (n, M) each, scaled to a largest value of 1, the logs of the scales being added up:
    #     below[i, h]    = p(everything at and below i | state h)
    #                    = p(word i | h) prod over sides of stop(h, ..) prod over children d of
    #                      message[d, h]
    #     message[d, h]  = go(h, ..) sum over g of T[side, q, h, g] below[d, g]     h: of d's head
    emit, first, m, T, go = words.emit, words.first, words.m, automaton.T, automaton.go
    stop_q, stop_l = plan.stop_q, plan.stop_l
    n = len(heads)
    log_p, n_roots = 0.0, 0
    for i in range(n):
        for h in range(m[i]):
            s = first[i] + h
            below[i, h] = emit[i, h]
            for side in range(2):
                # p(both sides stop | h) and p(word i | h)
                below[i, h] *= automaton.stop[side, stop_q[i, side], stop_l[i, side], s]
    for k in range(n):
        d = plan.order[k]
        parent = heads[d] - 1
        # all children of d have come: below[d] is whole
        peak = 0.0
        for g in range(m[d]):
            peak = max(peak, below[d, g])
        if peak <= 0.0:
            return -np.inf
        log_p += math.log(peak)  # what is divided out is kept in log p
        for g in range(m[d]):
            below[d, g] /= peak
        if parent < 0:
            n_roots += 1
            total = 0.0
            for g in range(m[d]):
                total += automaton.root[first[d] + g] * below[d, g]
            if total <= 0.0:
                return -np.inf
            log_p += math.log(total)
            continue
        # the message to the head, which multiplies it into its own
        side = 1 if d > parent else 0
        q = plan.arc_q[d]
        peak = 0.0
        for h in range(m[parent]):
            total = 0.0
            for g in range(m[d]):
                total += T[side, q, first[parent] + h, first[d] + g] * below[d, g]
            # times p(one more child | h)
            message[d, h] = total * go[side, q, plan.arc_l[d], first[parent] + h]
            peak = max(peak, message[d, h])
        if peak <= 0.0:
            return -np.inf
        log_p += math.log(peak)
        largest = 0.0
        for h in range(m[parent]):
            message[d, h] /= peak
            below[parent, h] *= message[d, h]
            largest = max(largest, below[parent, h])
        if 0.0 < largest < 1e-100:  # a head with very many children
            log_p += math.log(largest)
            for h in range(m[parent]):
                below[parent, h] /= largest
    return log_p if n_roots == 1 else -np.inf


@njit
def trees_log_probs(trees, words, automaton):
    """(K,) log p(words, trees[t]) for heads (K, n) over one sentence; -inf for what is no tree."""
    n, M = words.emit.shape
    plan = empty_plan(n)
    below, message = np.zeros((n, M)), np.zeros((n, M))
    logs = np.empty(len(trees))
    for t in range(len(trees)):
        if plan_tree(trees[t], words, plan) < n:
            logs[t] = -np.inf
        else:
            logs[t] = tree_up(trees[t], words, automaton, plan, below, message)
    return logs


@njit
def _count_arc(d, parent, words, T, plan, below, post, counts):
    """Fill post[d] from that of its head, and count the arc's transition and its ``go``."""
    first, m = words.first, words.m
    side = 1 if d > parent else 0
    q, length = plan.arc_q[d], plan.arc_l[d]
    for g in range(m[d]):
        post[d, g] = 0.0
    for h in range(m[parent]):
        sh = first[parent] + h
        counts.go[side, q, length, sh] += post[parent, h]
        norm = 0.0
        for g in range(m[d]):
            norm += T[side, q, sh, first[d] + g] * below[d, g]
        if norm <= 0.0:
            continue
        for g in range(m[d]):
            # expected count of the transition h -> g
            x = post[parent, h] * (T[side, q, sh, first[d] + g] * below[d, g]) / norm
            counts.T[side, q, sh, first[d] + g] += x
            post[d, g] += x


@njit
def corpus_counts(corpus, tags, length, E, automaton, counts):
    """One E step over gold trees: expected counts are added up; returns the log likelihood.

    ``corpus``  trees end to end (a ``Corpus``);  ``tags`` (a :class:`TagStates`)
    ``length``  (longest + 1,) length classes
    ``E``       (words of all tags, M) p(word | h-th state of its tag)
    ``counts``  (a ``Counts``) in the shapes of the parameters

    :func:`tree_up` has what is below each word; from the root down follows, with the state of the
    head known in distribution, ::

        post[d, g]  = p(state g of d | tree and words)
                    = sum over h of post[parent, h] T(g | h) below[d, g] / norm(h)

    and each term of the sum is the expected count of its transition.  O(N M^2) for N words.
    """
    T, M = automaton.T, E.shape[1]
    longest = 0
    for s in range(len(corpus.ptr) - 1):
        longest = max(longest, corpus.ptr[s + 1] - corpus.ptr[s])
    plan = empty_plan(longest)
    below, message = np.zeros((longest, M)), np.zeros((longest, M))
    post = np.zeros((longest, M))
    likelihood = 0.0
    for s in range(len(corpus.ptr) - 1):
        a, b = corpus.ptr[s], corpus.ptr[s + 1]
        heads, word, tag = corpus.heads[a:b], corpus.word[a:b], corpus.tag[a:b]
        words = Words(E[word], tags.first[tag], tags.m[tag], tags.kind[tag], length)
        if plan_tree(heads, words, plan) < b - a:
            continue
        log_p = tree_up(heads, words, automaton, plan, below, message)
        if log_p == -np.inf:
            continue
        likelihood += log_p
        first, m = words.first, words.m
        for k in range(b - a - 1, -1, -1):  # heads before dependents
            d = plan.order[k]
            parent = heads[d] - 1
            if parent < 0:
                total = 0.0
                for g in range(m[d]):
                    post[d, g] = automaton.root[first[d] + g] * below[d, g]
                    total += post[d, g]
                for g in range(m[d]):
                    post[d, g] /= total
                    counts.root[first[d] + g] += post[d, g]
            else:
                _count_arc(d, parent, words, T, plan, below, post, counts)
            # both sides of d stopped, and d said its word
            for side in range(2):
                q, stop_l = plan.stop_q[d, side], plan.stop_l[d, side]
                for g in range(m[d]):
                    counts.stop[side, q, stop_l, first[d] + g] += post[d, g]
            for g in range(m[d]):
                counts.E[word[d], g] += post[d, g]
    return likelihood
