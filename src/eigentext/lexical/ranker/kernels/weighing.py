"""Compiled scores of candidates, and the learning of their weights; arguments are ``records``."""

from __future__ import annotations

import numpy as np

from eigentext.base.compiling import njit
from eigentext.features.kernels.hashing import mix_pair
from eigentext.linear.kernels.steps import adagrad

_ZERO = np.uint64(0)


@njit(nogil=True)
def score(tokens, table, rows, columns, weights, out):
    """Scores ``out`` [R] of all candidates of some tokens.

    First each unit's, since candidates share them; then a row is the sum of its units and of its
    numbers.  A token costs (units x columns), and with pairs (units x features) look-ups.
    """
    atoms, unit_hash = table.atoms, table.unit_hash
    first, row_units, numeric = rows.first, rows.row_units, rows.numeric
    z, bucket = columns.z, columns.bucket
    dense, sparse, bits = weights.dense, weights.sparse, weights.bits
    shift = np.uint64(64 - bits)
    unit_score = np.zeros(4096, np.float64)
    for token in tokens:
        start, end = table.unit_first[token], table.unit_first[token + 1]
        if end - start > len(unit_score):
            unit_score = np.zeros(2 * (end - start), np.float64)
        for u in range(start, end):
            t = table.unit_target[u]
            total = 0.0
            for a in range(dense.shape[1]):
                total += dense[bucket[token, a], a, t] * z[u, a]  # b(a, t, bucket) z_a(u)
            if bits:
                for a in range(atoms.shape[1]):
                    if atoms[token, a] != _ZERO and table.used[a, t]:
                        # w(a, u)
                        total += sparse[mix_pair(atoms[token, a], unit_hash[u]) >> shift]
            unit_score[u - start] = total
        for row in range(first[token], first[token + 1]):
            total = 0.0
            for k in range(numeric.shape[1]):
                total += weights.numeric[k] * numeric[row, k]  # g_k x_k
            for t in range(row_units.shape[1]):
                u = row_units[row, t]
                if u >= 0:
                    total += unit_score[u - start]
            out[row] = total


@njit(nogil=True)
def learn(order, gold_row, table, rows, columns, weights, squares, rate, scores):
    """One pass of AdaGrad over tokens for the conditional softmax; the mean log loss.

    The slope of the loss in the score of a row is its share p(row | token), less 1 for the gold
    row; that of a unit is the sum over its rows.  Each weight w with slope g then goes

        q += g^2,   w -= rate g / sqrt(q),

    where ``squares`` holds the q of all ``weights``.
    """
    atoms, unit_hash = table.atoms, table.unit_hash
    first, row_units, numeric = rows.first, rows.row_units, rows.numeric
    z, bucket = columns.z, columns.bucket
    dense, sparse, bits = weights.dense, weights.sparse, weights.bits
    shift = np.uint64(64 - bits)
    unit_gradient = np.zeros(4096, np.float64)
    single = np.zeros(1, np.int64)
    loss = 0.0
    for token in order:
        begin, stop = first[token], first[token + 1]
        single[0] = token
        score(single, table, rows, columns, weights, scores)
        # softmax over the candidates of the token, less the largest score so that exp is safe
        top = scores[begin]
        for row in range(begin + 1, stop):
            top = max(top, scores[row])
        total = 0.0
        for row in range(begin, stop):
            total += np.exp(scores[row] - top)
        start, end = table.unit_first[token], table.unit_first[token + 1]
        if end - start > len(unit_gradient):
            unit_gradient = np.zeros(2 * (end - start), np.float64)
        unit_gradient[: end - start] = 0.0
        for row in range(begin, stop):
            share = np.exp(scores[row] - top) / total
            if row == gold_row[token]:
                loss -= np.log(max(share, 1e-300))
                share -= 1.0
            for t in range(row_units.shape[1]):
                u = row_units[row, t]
                if u >= 0:
                    unit_gradient[u - start] += share  # a unit's slope is that of all its rows
            for k in range(numeric.shape[1]):
                g = share * numeric[row, k]
                if g != 0.0:
                    adagrad(weights.numeric, squares.numeric, k, -g, rate)
        for u in range(start, end):
            g = unit_gradient[u - start]
            if abs(g) < 1e-4:  # the token is settled: most are, and their updates cost most
                continue
            t = table.unit_target[u]
            for a in range(dense.shape[1]):
                if z[u, a] != 0.0:
                    b = bucket[token, a]
                    d = g * z[u, a]
                    adagrad(dense, squares.dense, (b, a, t), -d, rate)
            if bits:
                for a in range(atoms.shape[1]):
                    if atoms[token, a] != _ZERO and table.used[a, t]:
                        slot = mix_pair(atoms[token, a], unit_hash[u]) >> shift
                        adagrad(sparse, squares.sparse, slot, -g, rate)
    return loss / max(len(order), 1)
