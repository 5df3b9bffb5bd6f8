"""Loops of the generative parser over sentences without trees: expected counts over all trees.

States, sides, cells and exponents as in ``kernels.generative``.  Inside times outside of a cell is
its posterior, and each term of the sums that filled it has its share: that is the expected count
of the decision which the term stands for.
"""

from __future__ import annotations

import numpy as np

from eigentext.base.compiling import njit
from eigentext.dependency.kernels.generative import Words, _half, _power, inside, outside


@njit
def _count_link(words, automaton, chart, out, i, j, weight, counts):
    """Head i takes child j: transitions and ``go``, see ``_link``; O(|j - i| Q M^2)."""
    first, m, go, T = words.first, words.m, automaton.go, automaton.T
    Q = T.shape[1]
    side = 1 if j > i else 0
    step = 2 * side - 1
    mi, mj, si, sj = m[i], m[j], first[i], first[j]
    posterior = 0.0
    for h in range(mi):
        for g in range(mj):
            posterior += out.linked[i, j, h, g] * chart.linked[i, j, h, g]
    if posterior < 1e-14:
        return
    for r in range(i, j, step):
        exponent = chart.growing_exp[i, r] + chart.growing_exp[j, r + step]
        factor = weight * _power(exponent - chart.linked_exp[i, j])
        if factor == 0.0:
            continue
        inner = _half(chart, 1 - side, j, r + step)
        length = words.length[abs(r - i)]
        for q in range(0 if r == i else 1, 1 if r == i else Q):
            for h in range(mi):
                if r > i or r < i:
                    x = factor * chart.growing[i, r, q, h]
                else:  # the first child on this side: the half is the word itself
                    x = factor * words.emit[i, h] if side == 1 else factor
                if x == 0.0:
                    continue
                x *= go[side, q, length, si + h]
                total = 0.0
                for g in range(mj):
                    share = x * out.linked[i, j, h, g] * T[side, q, si + h, sj + g] * inner[g]
                    counts.T[side, q, si + h, sj + g] += share
                    total += share
                counts.go[side, q, length, si + h] += total


@njit
def _count_stops(words, automaton, chart, out, i, weight, word, counts):
    """Both sides of word i stop, after any number of words; so its states, and its emission."""
    n, si = len(words.m), words.first[i]
    for h in range(words.m[i]):
        said = 0.0
        for side in range(2):
            share = weight * out.alone[side, i, h] * chart.alone[side, i, h]
            counts.stop[side, 0, 0, si + h] += share
            said += share * side
        for end in range(n):
            if end == i:
                continue
            side = 1 if end > i else 0
            length = words.length[abs(end - i)]
            for q in range(1, chart.growing.shape[2]):
                stop = automaton.stop[side, q, length, si + h]
                share = weight * out.closed[i, end, h] * chart.growing[i, end, q, h] * stop
                counts.stop[side, q, length, si + h] += share
                said += share * side
        counts.E[word, h] += said  # every word stops once on its right


@njit
def sentence_counts(words, ids, automaton, weight, counts):
    """Add the expected counts of one sentence, times ``weight``; log p(words)."""
    # ``ids``  (n,) numbers of (word, tag) pairs, rows of ``counts.E``.  O(n^3 Q M^2) time.
    n = len(words.m)
    chart, log_z = inside(words, automaton)
    if log_z == -np.inf:
        return log_z
    _, out = outside(words, automaton, chart, log_z)
    shift = np.floor(log_z / np.log(2.0))
    rest = np.exp(log_z - shift * np.log(2.0))
    for i in range(n):
        exponent = chart.growing_exp[i, 0] + chart.growing_exp[i, n - 1] - int(shift)
        factor = weight * _power(exponent) / rest
        left, right = _half(chart, 0, i, 0), _half(chart, 1, i, n - 1)
        for h in range(words.m[i]):
            s = words.first[i] + h
            counts.root[s] += factor * automaton.root[s] * left[h] * right[h]
        _count_stops(words, automaton, chart, out, i, weight, ids[i], counts)
        for j in range(n):
            if j != i:
                _count_link(words, automaton, chart, out, i, j, weight, counts)
    return log_z


@njit
def text_counts(ptr, word, tag, tags, length, E, automaton, weight, counts):
    """Counts of all sentences of a text end to end; their log likelihood, times ``weight``."""
    # ``tags`` (a ``TagStates``), ``length``, ``E`` and ``counts`` as in ``corpus_counts``.  A
    # sentence that no tree can make is passed over.
    likelihood = 0.0
    for s in range(len(ptr) - 1):
        ids, its = word[ptr[s] : ptr[s + 1]], tag[ptr[s] : ptr[s + 1]]
        m = tags.m[its]
        emit = np.ascontiguousarray(E[ids][:, : m.max()])
        words = Words(emit, tags.first[its], m, tags.kind[its], length)
        log_z = sentence_counts(words, ids, automaton, weight, counts)
        if log_z > -np.inf:
            likelihood += weight * log_z
    return likelihood
