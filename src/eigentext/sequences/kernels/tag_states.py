"""Chain sweeps of the taggers: arrays and scalars only, nothing is checked.

At token i the candidates ``cand[cand_ptr[i]:cand_ptr[i + 1]]`` are tags.  Candidate c has an
emission vector ``e[e_ptr[c]:e_ptr[c + 1]]`` over the word states of its tag, and a vector over the
chain states of its tag at ``s_ptr[c]``.  From tag a in state h1 to tag b in state h3:

    A[h1, h3] = keep[a] sum_h2 tensor[at[a, b]][h1, h2, h3] e[h2]
              + (1 - keep[a]) one_a[h1] (mean word_a . e) p_next[b] mean_b[h3]

The second part draws every transition towards the share of the tag; it has rank one, so that pairs
of tags never seen together cost next to nothing.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# Sums may be reordered, so that they run in vectors; nothing else is given up.
_REORDER = {"reassoc", "contract", "nsz"}


@njit(cache=True, fastmath=_REORDER)
def backward(
    cand_ptr,
    cand,
    e_ptr,
    e,
    s_ptr,
    m,
    m_word,
    tensor,
    at,
    end,
    end_at,
    keep,
    one,
    mean_word,
    mean,
    state_ptr,
    word_ptr,
    p_next,
    beta,
):
    """Fill ``beta``, each token's divided by its largest magnitude; returns the log of those."""
    n = len(cand_ptr) - 1
    total = 0.0
    for i in range(n - 1, -1, -1):
        rest = 0.0
        if i + 1 < n:
            for d in range(cand_ptr[i + 1], cand_ptr[i + 2]):
                b = cand[d]
                part = 0.0
                for z in range(m[b]):
                    part += mean[state_ptr[b] + z] * beta[s_ptr[d] + z]
                rest += p_next[b] * part
        else:
            rest = p_next[len(m)]
        top = 0.0
        for c in range(cand_ptr[i], cand_ptr[i + 1]):
            a = cand[c]
            ma, mw = m[a], m_word[a]
            own = beta[s_ptr[c] : s_ptr[c] + ma]
            word = e[e_ptr[c] : e_ptr[c] + mw]
            own[:] = 0.0
            if i + 1 < n:
                for d in range(cand_ptr[i + 1], cand_ptr[i + 2]):
                    b = cand[d]
                    place = at[a, b]
                    if place < 0:
                        continue
                    mb = m[b]
                    behind = beta[s_ptr[d] : s_ptr[d] + mb]
                    for x in range(ma):
                        value = 0.0
                        for y in range(mw):
                            row = tensor[place : place + mb]
                            part = 0.0
                            for z in range(mb):
                                part += row[z] * behind[z]
                            value += part * word[y]
                            place += mb
                        own[x] += value
            elif end_at[a] >= 0:
                place = end_at[a]
                for x in range(ma):
                    for y in range(mw):
                        own[x] += end[place + x * mw + y] * word[y]
            middling = 0.0
            for y in range(mw):
                middling += mean_word[word_ptr[a] + y] * word[y]
            middling *= (1.0 - keep[a]) * rest
            for x in range(ma):
                own[x] = keep[a] * own[x] + middling * one[state_ptr[a] + x]
                top = max(top, abs(own[x]))
        if top == 0.0:
            return -np.inf
        total += math.log(top)
        for place in range(s_ptr[cand_ptr[i]], s_ptr[cand_ptr[i + 1]]):
            beta[place] /= top
    return total


@njit(cache=True)
def start_weight(cand_ptr, cand, s_ptr, m, state_ptr, root, beta):
    """Sum of root times ``beta`` over the first token's candidates: Z up to the log scale."""
    z = 0.0
    for c in range(cand_ptr[0], cand_ptr[1]):
        a = cand[c]
        for x in range(m[a]):
            z += root[state_ptr[a] + x] * beta[s_ptr[c] + x]
    return z


@njit(cache=True, fastmath=_REORDER)
def forward(
    cand_ptr,
    cand,
    e_ptr,
    e,
    s_ptr,
    m,
    m_word,
    tensor,
    at,
    keep,
    one,
    mean_word,
    mean,
    state_ptr,
    word_ptr,
    p_next,
    root,
    beta,
    alpha,
    single,
    pair_ptr,
    pairs,
):
    """Posteriors of candidates (``single``) and of neighbouring pairs, and ``alpha``.

    ``pairs[pair_ptr[i] + c * (candidates of i + 1) + d]``.  Each token's numbers are divided by
    their own sum, so no scale is needed.
    """
    n = len(cand_ptr) - 1
    step = np.empty(m.max())
    for c in range(cand_ptr[0], cand_ptr[1]):
        a = cand[c]
        for x in range(m[a]):
            alpha[s_ptr[c] + x] = root[state_ptr[a] + x]
    for i in range(n):
        z = 0.0
        for c in range(cand_ptr[i], cand_ptr[i + 1]):
            value = 0.0
            for x in range(m[cand[c]]):
                value += alpha[s_ptr[c] + x] * beta[s_ptr[c] + x]
            single[c] = value
            z += value
        if z == 0.0 or not math.isfinite(z):
            return False
        for c in range(cand_ptr[i], cand_ptr[i + 1]):
            single[c] /= z
            for x in range(m[cand[c]]):
                alpha[s_ptr[c] + x] /= z
        if i + 1 == n:
            break
        width = cand_ptr[i + 2] - cand_ptr[i + 1]
        for d in range(cand_ptr[i + 1], cand_ptr[i + 2]):
            b = cand[d]
            mb = m[b]
            behind = beta[s_ptr[d] : s_ptr[d] + mb]
            onward = alpha[s_ptr[d] : s_ptr[d] + mb]
            onward[:] = 0.0
            for c in range(cand_ptr[i], cand_ptr[i + 1]):
                a = cand[c]
                ma, mw = m[a], m_word[a]
                word = e[e_ptr[c] : e_ptr[c] + mw]
                before = alpha[s_ptr[c] : s_ptr[c] + ma]
                step[:mb] = 0.0
                place = at[a, b]
                if place >= 0:
                    for x in range(ma):
                        for y in range(mw):
                            row = tensor[place : place + mb]
                            weight = keep[a] * before[x] * word[y]
                            for z3 in range(mb):
                                step[z3] += weight * row[z3]
                            place += mb
                middling = 0.0
                for y in range(mw):
                    middling += mean_word[word_ptr[a] + y] * word[y]
                level = 0.0
                for x in range(ma):
                    level += one[state_ptr[a] + x] * before[x]
                weight = (1.0 - keep[a]) * middling * level * p_next[b]
                value = 0.0
                for z3 in range(mb):
                    step[z3] += weight * mean[state_ptr[b] + z3]
                    onward[z3] += step[z3]
                    value += step[z3] * behind[z3]
                pairs[pair_ptr[i] + (c - cand_ptr[i]) * width + d - cand_ptr[i + 1]] = value
        z = 0.0
        for p in range(pair_ptr[i], pair_ptr[i + 1]):
            z += pairs[p]
        if z == 0.0:
            return False
        for p in range(pair_ptr[i], pair_ptr[i + 1]):
            pairs[p] /= z
    return True
