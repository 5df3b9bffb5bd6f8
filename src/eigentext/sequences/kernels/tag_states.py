"""Sums over tags and their hidden states: arrays and scalars only, nothing is checked.

A cell is a candidate tag of a token in one of its chain states.  From tag a in state h1 to tag b
of the next token in state h3, over the states h2 of the word between them:

    A[h1, h3] = keep[a] sum_h2 tensor[at[a, b]][h1, h2, h3] e[h2]
              + (1 - keep[a]) one_a[h1] (mean word_a . e) p_next[b] mean_b[h3]

The second part draws every transition towards the share of the tag; it has rank one, so that pairs
of tags never seen together cost next to nothing.  With C candidates a token and m states a tag a
sweep costs O(n C^2 m^3) at most: one tensor for each pair of tags that was seen.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from eigentext.base.compiling import njit

# Sums may be reordered, so that they run in vectors; nothing else is given up.
_REORDER = {"reassoc", "contract", "nsz"}


class Cells(NamedTuple):
    """The candidates of a sentence of n tokens.

    ``cand``  tags; those of token i are ``cand[cand_ptr[i] : cand_ptr[i + 1]]``
    ``e``     emission of candidate c over the word states of its tag, from ``e_ptr[c]`` on
    ``s_ptr`` where the chain states of candidate c begin in ``alpha`` and ``beta``
    """

    cand_ptr: Any
    cand: Any
    e_ptr: Any
    e: Any
    s_ptr: Any


class Transitions(NamedTuple):
    """One model; T tags, those of tag t from ``state_ptr[t]`` and ``word_ptr[t]`` on.

    ``m, m_word``             (T,) chain states and word states
    ``tensor, at``            tensors (m_a, m_word_a, m_b) end to end, and where each begins, or -1
    ``end, end_at``           the same (m_a, m_word_a) for the end of a sentence
    ``keep, p_next``          (T,) weight of the tensor; (T + 1,) shares of tags and of the end
    ``one, mean, mean_word``  "any state" as a column, and as rows of chain and word states
    ``root``                  weights of the first token's chain states
    """

    m: Any
    m_word: Any
    tensor: Any
    at: Any
    end: Any
    end_at: Any
    keep: Any
    one: Any
    mean: Any
    mean_word: Any
    root: Any
    p_next: Any
    state_ptr: Any
    word_ptr: Any


@njit(fastmath=_REORDER)
def backward(cells, model, beta):
    """Fill ``beta``, each token's divided by its largest magnitude; returns the log of those.

    ``beta[s_ptr[c] + h]``: sum over all that may follow candidate c in chain state h, its own word
    included; beta_i = A_i beta_i+1, from the last token to the first.
    """
    cand_ptr, cand, e_ptr, e, s_ptr = cells
    m, m_word, tensor, at, end, end_at = (
        model.m,
        model.m_word,
        model.tensor,
        model.at,
        model.end,
        model.end_at,
    )
    keep, any_state, mean, mean_word, p_next = (
        model.keep,
        model.one,
        model.mean,
        model.mean_word,
        model.p_next,
    )
    state_ptr, word_ptr = model.state_ptr, model.word_ptr
    n = len(cand_ptr) - 1
    total = 0.0
    for i in range(n - 1, -1, -1):
        # the rank-one part does not depend on c but through one factor: its sum over the next
        # candidates is taken once, rest = sum over d of p_next[d] (mean_d . beta[d])
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
            # own[h1] = sum over d, h2, h3 of tensor[a, b][h1, h2, h3] word[h2] beta[d][h3]
            if i + 1 < n:
                for d in range(cand_ptr[i + 1], cand_ptr[i + 2]):
                    b = cand[d]
                    entry = at[a, b]
                    if entry < 0:
                        continue
                    mb = m[b]
                    behind = beta[s_ptr[d] : s_ptr[d] + mb]
                    for x in range(ma):
                        value = 0.0
                        for y in range(mw):
                            row = tensor[entry : entry + mb]
                            part = 0.0
                            for z in range(mb):
                                part += row[z] * behind[z]
                            value += part * word[y]
                            entry += mb
                        own[x] += value
            elif end_at[a] >= 0:
                entry = end_at[a]
                for x in range(ma):
                    for y in range(mw):
                        own[x] += end[entry + x * mw + y] * word[y]
            middling = 0.0  # what the word weighs in the mean state of the tag
            for y in range(mw):
                middling += mean_word[word_ptr[a] + y] * word[y]
            middling *= (1.0 - keep[a]) * rest
            for x in range(ma):
                own[x] = keep[a] * own[x] + middling * any_state[state_ptr[a] + x]
                top = max(top, abs(own[x]))
        if top == 0.0:
            return -np.inf
        total += math.log(top)
        for s in range(s_ptr[cand_ptr[i]], s_ptr[cand_ptr[i + 1]]):
            beta[s] /= top
    return total


@njit
def start_weight(cells, model, beta):
    """Sum of root times ``beta`` over the first token's candidates: Z up to the log scale."""
    cand_ptr, cand, s_ptr = cells.cand_ptr, cells.cand, cells.s_ptr
    m, root, state_ptr = model.m, model.root, model.state_ptr
    z = 0.0
    for c in range(cand_ptr[0], cand_ptr[1]):
        a = cand[c]
        for x in range(m[a]):
            z += root[state_ptr[a] + x] * beta[s_ptr[c] + x]
    return z


@njit(fastmath=_REORDER)
def forward(cells, model, beta, alpha, single, pair_ptr, pairs):
    """Marginals of candidates (``single``) and of neighbouring pairs, and ``alpha``.

    ``alpha[s_ptr[c] + h]``: sum over all that may come before candidate c in chain state h, so
    that alpha beta / Z is the marginal of the cell.
    ``pairs[pair_ptr[i] + c * (candidates of i + 1) + d]``.  Each token's numbers are divided by
    their own sum, so no scale is needed.
    """
    cand_ptr, cand, e_ptr, e, s_ptr = cells
    m, m_word, tensor, at, root = model.m, model.m_word, model.tensor, model.at, model.root
    keep, any_state, mean, mean_word, p_next = (
        model.keep,
        model.one,
        model.mean,
        model.mean_word,
        model.p_next,
    )
    state_ptr, word_ptr = model.state_ptr, model.word_ptr
    n = len(cand_ptr) - 1
    step = np.empty(m.max())
    for c in range(cand_ptr[0], cand_ptr[1]):
        a = cand[c]
        for x in range(m[a]):
            alpha[s_ptr[c] + x] = root[state_ptr[a] + x]
    for i in range(n):
        # alpha . beta summed over a token's cells is Z, at every token up to that token's scale
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
            # step[h3] = sum over h1 of alpha[c][h1] A[h1, h3] from one candidate c; the sum over c
            # is alpha of the next token, and step . beta the weight of the pair (c, d)
            for c in range(cand_ptr[i], cand_ptr[i + 1]):
                a = cand[c]
                ma, mw = m[a], m_word[a]
                word = e[e_ptr[c] : e_ptr[c] + mw]
                before = alpha[s_ptr[c] : s_ptr[c] + ma]
                step[:mb] = 0.0
                entry = at[a, b]
                if entry >= 0:
                    for x in range(ma):
                        for y in range(mw):
                            row = tensor[entry : entry + mb]
                            weight = keep[a] * before[x] * word[y]
                            for z3 in range(mb):
                                step[z3] += weight * row[z3]
                            entry += mb
                middling = 0.0
                for y in range(mw):
                    middling += mean_word[word_ptr[a] + y] * word[y]
                level = 0.0
                for x in range(ma):
                    level += any_state[state_ptr[a] + x] * before[x]
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
