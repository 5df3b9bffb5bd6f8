"""Sums over tags and their hidden states, and over chains of tags without states.

A cell is a candidate tag of a token in one of its chain states.  From tag a in state h1 to tag b
of the next token in state h3, over the states h2 of the word between them:

    A[h1, h3] = keep[a] sum_h2 tensor[at[a, b]][h1, h2, h3] e[h2]
              + (1 - keep[a]) one_a[h1] (mean word_a . e) p_next[b] mean_b[h3]

The second part draws every transition towards the share of the tag; it has rank one, so that pairs
of tags never seen together cost next to nothing.  With C candidates a token and m states a tag a
sweep costs O(n C^2 m^3) at most: one tensor for each pair of tags that was seen.

A chain without states has ``start`` weights for the first token's candidates and for each pair of
neighbours a weight ``pairs[pair_ptr[i] + c * (candidates of i + 1) + d]``; its score of a tag
sequence is the product::

    behind[c] = sum over next candidates d of pairs[c, d] behind[d]       marginals: O(n C^2)
    score[d, r] = r-th best of score[c, s] + log pairs[c, d] over c, s    k best: O(n C^2 k^2)
"""

import math
from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Int64s, Numbers

# Sums may be reordered, so that they run in vectors; nothing else is given up.
_REORDER = {"reassoc", "contract", "nsz"}


class Cells(NamedTuple):
    """The candidates of a sentence of n tokens."""

    cand_ptr: Int64s
    cand: Int64s  # tags; those of token i are ``cand[cand_ptr[i] : cand_ptr[i + 1]]``
    e_ptr: Int64s
    e: Numbers  # emission of candidate c over the word states of its tag, from ``e_ptr[c]`` on
    s_ptr: Int64s  # where the chain states of candidate c begin in ``alpha`` and ``beta``


@njit(fastmath=_REORDER)
def backward(cells, model, beta):
    """Fill ``beta``, each token's divided by its largest magnitude; returns the log of those.

    ``beta[s_ptr[c] + h]``: sum over all that may follow candidate c in chain state h, its own word
    included; beta_i = A_i beta_i+1, from the last token to the first.
    """
    cand_ptr, cand, e_ptr, e, s_ptr = cells
    m, m_word, tensor, at, end, end_at = model[:6]
    keep, any_state, mean, mean_word, _, p_next, state_ptr, word_ptr = model[6:]
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
            now = beta[s_ptr[c] : s_ptr[c] + ma]
            word = e[e_ptr[c] : e_ptr[c] + mw]
            now[:] = 0.0
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
                        now[x] += value
            elif end_at[a] >= 0:
                entry = end_at[a]
                for x in range(ma):
                    for y in range(mw):
                        now[x] += end[entry + x * mw + y] * word[y]
            middling = 0.0  # what the word weighs in the mean state of the tag
            for y in range(mw):
                middling += mean_word[word_ptr[a] + y] * word[y]
            middling *= (1.0 - keep[a]) * rest
            for x in range(ma):
                now[x] = keep[a] * now[x] + middling * any_state[state_ptr[a] + x]
                top = max(top, abs(now[x]))
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
    m, m_word, tensor, at = model[:4]
    keep, any_state, mean, mean_word, root, p_next, state_ptr, word_ptr = model[6:]
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


@njit
def chain_marginals(cand_ptr, start, pair_ptr, pairs, single):
    """Share of each candidate among all sequences; returns the log of the sum of all scores."""
    n = len(cand_ptr) - 1
    # behind[c]: the sum of all ways from candidate c to the end, over the largest of its token
    behind = np.ones(len(single))
    total = 0.0
    for i in range(n - 2, -1, -1):
        width = cand_ptr[i + 2] - cand_ptr[i + 1]
        top = 0.0
        for c in range(cand_ptr[i], cand_ptr[i + 1]):
            row = pair_ptr[i] + (c - cand_ptr[i]) * width
            value = 0.0
            for d in range(width):
                value += pairs[row + d] * behind[cand_ptr[i + 1] + d]
            behind[c] = value
            top = max(top, value)
        if top == 0.0:
            return -np.inf
        total += math.log(top)
        for c in range(cand_ptr[i], cand_ptr[i + 1]):
            behind[c] /= top
    # before[c]: the same from the beginning to c, divided so that before . behind is 1
    before = np.empty(len(single))
    for c in range(cand_ptr[0], cand_ptr[1]):
        before[c] = start[c]
    for i in range(n):
        z = 0.0
        for c in range(cand_ptr[i], cand_ptr[i + 1]):
            z += before[c] * behind[c]
        if z <= 0.0:
            return -np.inf
        if i == 0:
            total += math.log(z)
        for c in range(cand_ptr[i], cand_ptr[i + 1]):
            before[c] /= z
            single[c] = before[c] * behind[c]
        if i + 1 < n:
            width = cand_ptr[i + 2] - cand_ptr[i + 1]
            for d in range(width):
                value = 0.0
                for c in range(cand_ptr[i], cand_ptr[i + 1]):
                    value += before[c] * pairs[pair_ptr[i] + (c - cand_ptr[i]) * width + d]
                before[cand_ptr[i + 1] + d] = value
    return total


@njit
def chain_kbest(cand_ptr, start, pair_ptr, pairs, paths, scores):
    """The sequences with the highest scores, best first: rows of candidate numbers.

    ``paths`` (most, n), ``scores`` (most,) logs; returns how many there are with any weight.
    """
    n = len(cand_ptr) - 1
    most = len(paths)
    n_cand = cand_ptr[n]
    score = np.full((n_cand, most), -np.inf)
    came_from = np.full((n_cand, most), -1, np.int32)
    came_rank = np.zeros((n_cand, most), np.int32)
    filled = np.zeros(n_cand, np.int32)
    # score[c, r]: the r-th best log score of a path that ends in candidate c, with the candidate
    # and the rank that it came from; ``filled`` of them, in falling order
    for c in range(cand_ptr[0], cand_ptr[1]):
        if start[c] > 0.0:
            score[c, 0] = math.log(start[c])
            filled[c] = 1
    for i in range(n - 1):
        width = cand_ptr[i + 2] - cand_ptr[i + 1]
        for d in range(cand_ptr[i + 1], cand_ptr[i + 2]):
            for c in range(cand_ptr[i], cand_ptr[i + 1]):
                weight = pairs[pair_ptr[i] + (c - cand_ptr[i]) * width + d - cand_ptr[i + 1]]
                if weight <= 0.0:
                    continue
                log_weight = math.log(weight)
                for rank in range(filled[c]):
                    value = score[c, rank] + log_weight
                    if filled[d] == most and value <= score[d, most - 1]:
                        break
                    # insertion into the sorted list; among equals the earlier stays ahead
                    slot = min(filled[d], most - 1)
                    while slot > 0 and score[d, slot - 1] < value:
                        score[d, slot] = score[d, slot - 1]
                        came_from[d, slot] = came_from[d, slot - 1]
                        came_rank[d, slot] = came_rank[d, slot - 1]
                        slot -= 1
                    score[d, slot], came_from[d, slot], came_rank[d, slot] = value, c, rank
                    filled[d] = min(filled[d] + 1, most)
    # the lists of the last token's candidates, merged, and each path followed back
    taken = np.zeros(n_cand, np.int32)
    for answer in range(most):
        best = -1
        for c in range(cand_ptr[n - 1], cand_ptr[n]):
            if taken[c] < filled[c] and (
                best < 0 or score[c, taken[c]] > score[best, taken[best]]
            ):
                best = c
        if best < 0:
            return answer
        scores[answer] = score[best, taken[best]]
        c, rank = best, taken[best]
        taken[best] += 1
        for i in range(n - 1, -1, -1):
            paths[answer, i] = c
            c, rank = came_from[c, rank], came_rank[c, rank]
    return most
