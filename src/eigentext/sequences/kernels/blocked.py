"""Compiled passes of a hidden Markov model with blocked emissions.

A word is shown only by the states of its block, so the chain of a sentence has, between two
tokens, a small matrix: states of the one block by states of the other.  All of them stand end to
end in one array ``T``; that of token t begins at ``at[t]``::

    alpha_t[j]  = sum_i alpha_t-1[i] T_t[i, j] O[j, x_t] / scale_t     scale_t = p(x_t | x_1..t-1)
    W_t[j]      = O[j, x_t] beta_t[j] / scale_t                        beta_t-1 = T_t W_t
    p(h_t-1 = i, h_t = j | x) = alpha_t-1[i] T_t[i, j] W_t[j]

Before the first token there is one state, the beginning.  A token costs the product of the sizes
of two blocks, however many states there are in all.  ``E`` holds O by word: ``E[emit[x] : ]`` are
p(x | state) for the states of its block.  Sums over the text are in the order of the text.
"""

from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Float64s, Int32s, Int64s
from eigentext.sequences.kernels.forward_backward import FAST


class BlockedText(NamedTuple):
    """Sequences with the matrix of each token, and what the passes write on; see the module."""

    ids: Int32s
    first: Int64s
    blocks: tuple[Int32s, Int64s, Int64s]
    at: Int64s
    T: Float64s
    E: Float64s
    alpha: Float64s  # (longest + 1, most states of a block)
    scale: Float64s  # (longest,)


@njit(nogil=True)
def find_pairs(ids, first, blocks, pairs, pair):
    """For each token the number of the pair (block before, block), -1 where it was never seen."""
    beginning = blocks.first.shape[0] - 2
    for s in range(first.shape[0] - 1):
        a = beginning
        for t in range(first[s], first[s + 1]):
            b = blocks.of_word[ids[t]]
            low, high = pairs.ptr[a], pairs.ptr[a + 1]
            end = high
            while low < high:
                middle = (low + high) >> 1
                if pairs.block[middle] < b:
                    low = middle + 1  # pairs of a block rise by the second
                else:
                    high = middle
            pair[t] = low if low < end and pairs.block[low] == b else -1
            a = b


@njit(nogil=True)
def gather(ids, first, pair, blocks, pairs, T, lower, at, out):
    """Copy the matrix of every token of some sequences to ``out``, and where it is to ``at``.

    A pair that was never seen has ``leave[i] rows[group[i], j]`` (the record ``lower``).
    """
    beginning = blocks.first.shape[0] - 2
    used = 0
    for s in range(first.shape[0] - 1):
        a = beginning
        for t in range(first[s], first[s + 1]):
            b = blocks.of_word[ids[t]]
            i0, n_a = blocks.first[a], blocks.first[a + 1] - blocks.first[a]
            j0, n_b = blocks.first[b], blocks.first[b + 1] - blocks.first[b]
            at[t] = used
            if pair[t] >= 0:
                o = pairs.at[pair[t]]
                for c in range(n_a * n_b):
                    out[used + c] = T[o + c]
            else:
                for i in range(n_a):
                    leave, g = lower.leave[i0 + i], lower.group[i0 + i]
                    for j in range(n_b):
                        out[used + i * n_b + j] = leave * lower.rows[g, j0 + j]
            used += n_a * n_b
            a = b


@njit(nogil=True, fastmath=FAST)
def _forward(text, begin, end):
    """Fill ``alpha`` (row t - begin + 1 for token t; row 0 is the beginning) and ``scale``; how
    many tokens were impossible.  Those are passed over: all states of the block alike."""
    ids, _, blocks, at, T, E, alpha, scale = text
    alpha[0, 0] = 1
    n_a, n_bad = 1, 0
    for t in range(begin, end):
        x, r = ids[t], t - begin
        b = blocks.of_word[x]
        n_b = blocks.first[b + 1] - blocks.first[b]
        o, e = at[t], blocks.emit[x]
        for j in range(n_b):
            alpha[r + 1, j] = 0
        # alpha_t[j] = sum over i of alpha_t-1[i] T_t[i, j], first without the word
        for i in range(n_a):
            weight = alpha[r, i]
            row = T[o + i * n_b : o + i * n_b + n_b]
            for j in range(n_b):
                alpha[r + 1, j] += weight * row[j]
        total = alpha[r + 1, 0] * E[e]  # scale_t, the probability of the word
        for j in range(1, n_b):
            total += alpha[r + 1, j] * E[e + j]
        if total > 0:
            share = 1 / total
            for j in range(n_b):
                alpha[r + 1, j] *= E[e + j] * share
            scale[r] = total
        else:
            n_bad += 1
            scale[r] = 0
            for j in range(n_b):
                alpha[r + 1, j] = 1 / n_b
        n_a = n_b
    return n_bad


@njit(nogil=True)
def surprisals(text, chosen, out):
    """-log p(x_t | x_1 .. x_t-1) of every token of the chosen sequences."""
    first, scale = text.first, text.scale
    for s in chosen:
        begin, end = first[s], first[s + 1]
        _forward(text, begin, end)
        for t in range(begin, end):
            out[t] = -np.log(scale[t - begin]) if scale[t - begin] > 0 else np.inf


@njit(nogil=True, fastmath=FAST)
def expect(text, chosen, moved, emitted):
    """Add expected counts of the chosen sequences: ``moved`` like ``T``, ``emitted`` like ``E``;
    log p, and how many tokens were impossible."""
    ids, first, blocks, at, T, E, alpha, scale = text
    value, n_bad = 0.0, 0
    most = alpha.shape[1]
    beta, before, W = np.empty(most, T.dtype), np.empty(most, T.dtype), np.empty(most, T.dtype)
    for s in chosen:
        begin, end = first[s], first[s + 1]
        bad = _forward(text, begin, end)
        if bad > 0:
            n_bad += bad
            continue
        for t in range(begin, end):
            value += np.log(scale[t - begin])
        beta[:] = 1
        for t in range(end - 1, begin - 1, -1):
            x, r = ids[t], t - begin
            b = blocks.of_word[x]
            n_b = blocks.first[b + 1] - blocks.first[b]
            n_a = 1
            if t > begin:
                a = blocks.of_word[ids[t - 1]]
                n_a = blocks.first[a + 1] - blocks.first[a]
            o, e = at[t], blocks.emit[x]
            share = 1 / scale[r]
            for j in range(n_b):
                emitted[e + j] += alpha[r + 1, j] * beta[j]  # p(h_t = j | x)
                W[j] = E[e + j] * beta[j] * share
            for i in range(n_a):
                weight = alpha[r, i]
                row = T[o + i * n_b : o + i * n_b + n_b]
                into = moved[o + i * n_b : o + i * n_b + n_b]
                total = row[0] * 0
                for j in range(n_b):
                    ahead = row[j] * W[j]
                    total += ahead
                    into[j] += weight * ahead  # p(h_t-1 = i, h_t = j | x)
                before[i] = total  # beta_t-1 = T_t W_t
            for i in range(n_a):
                beta[i] = before[i]
    return value, n_bad


@njit(nogil=True, fastmath=FAST)
def posteriors(text, out, ptr):
    """p(h_t | x) of every token: the states of its block at ``out[place[t] : ]``."""
    ids, first, blocks, at, T, E, alpha, scale = text
    most = alpha.shape[1]
    beta, before = np.empty(most, T.dtype), np.empty(most, T.dtype)
    for s in range(first.shape[0] - 1):
        begin, end = first[s], first[s + 1]
        _forward(text, begin, end)
        beta[:] = 1
        for t in range(end - 1, begin - 1, -1):
            x, r = ids[t], t - begin
            b = blocks.of_word[x]
            n_b = blocks.first[b + 1] - blocks.first[b]
            total = 0.0
            for j in range(n_b):
                out[ptr[t] + j] = alpha[r + 1, j] * beta[j]
                total += out[ptr[t] + j]
            for j in range(n_b):
                out[ptr[t] + j] /= total
            if t == begin:
                break
            a = blocks.of_word[ids[t - 1]]
            n_a = blocks.first[a + 1] - blocks.first[a]
            for i in range(n_a):
                value = row_sum(T, at[t] + i * n_b, E, blocks.emit[x], beta, n_b, scale[r])
                before[i] = value
            for i in range(n_a):
                beta[i] = before[i]


@njit(nogil=True, fastmath=FAST)
def row_sum(T, o, E, e, beta, n, scale):
    """One number of beta_t-1; an impossible token is passed over."""
    total = T[o] * 0
    if scale > 0:
        for j in range(n):
            total += T[o + j] * E[e + j] * beta[j]
        return total / scale
    for j in range(n):
        total += beta[j]
    return total / n


@njit(nogil=True)
def viterbi(text, best, states):
    """States of the most probable path; of equals the first.  ``best`` (longest + 1, most)."""
    ids, first, blocks, at, T, E, _, _ = text
    longest, most = best.shape
    back = np.zeros((longest, most), np.int32)
    for s in range(first.shape[0] - 1):
        begin, end = first[s], first[s + 1]
        best[0, 0] = 0
        n_a = 1
        for t in range(begin, end):
            x, r = ids[t], t - begin
            b = blocks.of_word[x]
            n_b = blocks.first[b + 1] - blocks.first[b]
            for j in range(n_b):
                top, which = -np.inf, 0  # best[r, i]: log p of the best path to state i
                for i in range(n_a):
                    p = T[at[t] + i * n_b + j]
                    value = best[r, i] + np.log(p) if p > 0 else -np.inf
                    if value > top:
                        top, which = value, i
                p = E[blocks.emit[x] + j]
                best[r + 1, j] = top + np.log(p) if p > 0 else -np.inf
                back[r + 1, j] = which
            n_a = n_b
        if end > begin:
            which = 0
            for j in range(1, n_a):
                if best[end - begin, j] > best[end - begin, which]:
                    which = j
            for t in range(end - 1, begin - 1, -1):
                states[t] = blocks.first[blocks.of_word[ids[t]]] + which
                which = back[t - begin + 1, which]


@njit(nogil=True)
def last_states(text, out):
    """p(h_n | x_1 .. x_n) of each sequence, the states of the last word's block first in a row."""
    first, alpha = text.first, text.alpha
    for s in range(first.shape[0] - 1):
        begin, end = first[s], first[s + 1]
        _forward(text, begin, end)
        for j in range(alpha.shape[1]):
            out[s, j] = alpha[end - begin, j]


@njit(nogil=True)
def lift(blocks, pairs, group, T_coarse, mass, T):
    """Transitions of states that stand for states of a coarse model: T[i, j] is that between their
    groups times ``mass[j]``, the probability of the block in the group of j."""
    for p in range(pairs.block.shape[0]):
        a, b, o = pairs.before[p], pairs.block[p], pairs.at[p]
        for i in range(blocks.first[a], blocks.first[a + 1]):
            for j in range(blocks.first[b], blocks.first[b + 1]):
                T[o] = T_coarse[group[i], group[j]] * mass[j]  # p(h | g) p(b | h)
                o += 1


# ---------------------------------------------------------------- smoothing


@njit(nogil=True)
def add_levels(moved, blocks, pairs, group, levels):
    """Sums of ``moved`` (the record ``levels``), and what discounts take from them.

    A state: its count, how much of its counts lies below 1, and half of what lies from 1 to 3; a
    block: the same of its *kinds*, in how many of its states it has a next state.
    """
    for p in range(pairs.block.shape[0]):
        a, b = pairs.before[p], pairs.block[p]
        i0, n_a = blocks.first[a], blocks.first[a + 1] - blocks.first[a]
        j0, n_b = blocks.first[b], blocks.first[b + 1] - blocks.first[b]
        o, q = pairs.at[p], pairs.next[p]
        for i in range(n_a):
            g = group[i0 + i]
            total, below, between = 0.0, 0.0, 0.0
            for j in range(n_b):
                n = moved[o + i * n_b + j]
                below_one = min(n, 1.0)
                total += n
                below += below_one
                between += min(n, 3.0) - below_one
                levels.of_block[q + j] += below_one if n_a > 1 else n
                levels.of_group[g, j0 + j] += below_one  # m_gj: kinds
            levels.state[0, i0 + i] += total  # n_i
            levels.state[1, i0 + i] += below
            levels.state[2, i0 + i] += between / 2
        for j in range(n_b):
            n = levels.of_block[q + j]
            below_one = min(n, 1.0)
            levels.block[0, a] += n  # m_a
            levels.block[1, a] += below_one
            levels.block[2, a] += (min(n, 3.0) - below_one) / 2
            levels.kinds[j0 + j] += below_one  # in how many blocks


@njit(nogil=True)
def fill(which, moved, blocks, pairs, group, levels, rows, weights, d, T):
    """Smoothed transitions of some of the pairs.

    T[i, j] = (n_ij - D(n_ij)) / n_i + own_i (n_aj - D(n_aj)) / n_a + leave_i rows[group_i, j]

    with D(n) = d min(n, 1) + e (min(n, 3) - min(n, 1)) / 2.  A block of one state has no first
    term.  The record ``weights`` has own_i and leave_i, ``d`` d and e of states and blocks.
    """
    for p in which:
        a, b = pairs.before[p], pairs.block[p]
        i0, n_a = blocks.first[a], blocks.first[a + 1] - blocks.first[a]
        j0, n_b = blocks.first[b], blocks.first[b + 1] - blocks.first[b]
        o, q = pairs.at[p], pairs.next[p]
        n_block = levels.block[0, a]
        for i in range(n_a):
            n_state = levels.state[0, i0 + i]
            w_block, leave, g = weights.block[i0 + i], weights.leave[i0 + i], group[i0 + i]
            for j in range(n_b):
                value = leave * rows[g, j0 + j]  # the group, for the unseen
                if n_block > 0:
                    n = levels.of_block[q + j]
                    below_one = min(n, 1.0)
                    left = n - d[2] * below_one - d[3] * (min(n, 3.0) - below_one) / 2
                    value += w_block * left / n_block  # the block
                if n_a > 1 and n_state > 0:
                    n = moved[o + i * n_b + j]
                    below_one = min(n, 1.0)
                    left = n - d[0] * below_one - d[1] * (min(n, 3.0) - below_one) / 2
                    value += left / n_state  # the state itself
                T[o + i * n_b + j] = value
