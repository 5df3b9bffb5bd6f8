"""Search and sums over chains of tags without states: arrays and scalars only.

A chain has ``start`` weights for the first token's candidates and for each pair of neighbouring
candidates a weight ``pairs[pair_ptr[i] + c * (candidates of i + 1) + d]``; its score of a tag
sequence is the product.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True)
def chain_marginals(cand_ptr, start, pair_ptr, pairs, single):
    """Share of each candidate among all sequences; returns the log of the sum of all scores."""
    n = len(cand_ptr) - 1
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


@njit(cache=True)
def chain_n_best(cand_ptr, start, pair_ptr, pairs, found, scores):
    """The sequences with the highest scores, best first: rows of candidate numbers.

    ``found`` (most, n), ``scores`` (most,) logs; returns how many there are with any weight.
    """
    n = len(cand_ptr) - 1
    most = len(found)
    n_cand = cand_ptr[n]
    score = np.full((n_cand, most), -np.inf)
    came_from = np.full((n_cand, most), -1, np.int32)
    came_rank = np.zeros((n_cand, most), np.int32)
    filled = np.zeros(n_cand, np.int32)
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
                    place = min(filled[d], most - 1)
                    while place > 0 and score[d, place - 1] < value:
                        score[d, place] = score[d, place - 1]
                        came_from[d, place] = came_from[d, place - 1]
                        came_rank[d, place] = came_rank[d, place - 1]
                        place -= 1
                    score[d, place], came_from[d, place], came_rank[d, place] = value, c, rank
                    filled[d] = min(filled[d] + 1, most)
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
            found[answer, i] = c
            c, rank = came_from[c, rank], came_rank[c, rank]
    return most


@njit(cache=True)
def trigram_sums(cand_ptr, cand, score, p, pair_ptr, ahead, behind, single):
    """Posterior of each candidate under a trigram model; returns the log of the sum over all.

    ``p[t1, t2, t3]`` with T for the marks around a sentence; ``score[c]`` fits c to its word.  The
    pair (candidate a of token i - 1, b of token i) stands at ``pair_ptr[i] + a * width + b``;
    before the first token there is one candidate, the mark.
    """
    n, mark = len(cand_ptr) - 1, p.shape[0] - 1
    total = 0.0
    for i in range(n):
        width = cand_ptr[i + 1] - cand_ptr[i]
        n_before = 1 if i == 0 else cand_ptr[i] - cand_ptr[i - 1]
        n_older = 1 if i < 2 else cand_ptr[i - 1] - cand_ptr[i - 2]
        z = 0.0
        for a in range(n_before):
            t2 = mark if i == 0 else cand[cand_ptr[i - 1] + a]
            for b in range(width):
                t3 = cand[cand_ptr[i] + b]
                value = 0.0
                if i == 0:
                    value = p[mark, mark, t3]
                else:
                    for o in range(n_older):
                        t1 = mark if i == 1 else cand[cand_ptr[i - 2] + o]
                        value += ahead[pair_ptr[i - 1] + o * n_before + a] * p[t1, t2, t3]
                value *= score[cand_ptr[i] + b]
                ahead[pair_ptr[i] + a * width + b] = value
                z += value
        if z <= 0.0:
            return -np.inf
        total += math.log(z)
        for place in range(pair_ptr[i], pair_ptr[i + 1]):
            ahead[place] /= z
    for i in range(n - 1, -1, -1):
        width = cand_ptr[i + 1] - cand_ptr[i]
        n_before = 1 if i == 0 else cand_ptr[i] - cand_ptr[i - 1]
        z = 0.0
        for a in range(n_before):
            t1 = mark if i == 0 else cand[cand_ptr[i - 1] + a]
            for b in range(width):
                t2 = cand[cand_ptr[i] + b]
                value = 0.0
                if i + 1 == n:
                    value = p[t1, t2, mark]
                else:
                    after = cand_ptr[i + 2] - cand_ptr[i + 1]
                    for c in range(after):
                        d = cand_ptr[i + 1] + c
                        here = score[d] * behind[pair_ptr[i + 1] + b * after + c]
                        value += p[t1, t2, cand[d]] * here
                behind[pair_ptr[i] + a * width + b] = value
                z += value * ahead[pair_ptr[i] + a * width + b]
        if z <= 0.0:
            return -np.inf
        if i + 1 == n:
            total += math.log(z)
        for c in range(cand_ptr[i], cand_ptr[i + 1]):
            single[c] = 0.0
        for a in range(n_before):
            for b in range(width):
                place = pair_ptr[i] + a * width + b
                behind[place] /= z
                single[cand_ptr[i] + b] += behind[place] * ahead[place]
    return total


@njit(cache=True)
def trigram_best(cand_ptr, cand, score, p, pair_ptr, best, back, path):
    """The best sequence by the same model, candidate numbers in ``path``; returns its log."""
    n, mark = len(cand_ptr) - 1, p.shape[0] - 1
    for i in range(n):
        width = cand_ptr[i + 1] - cand_ptr[i]
        n_before = 1 if i == 0 else cand_ptr[i] - cand_ptr[i - 1]
        n_older = 1 if i < 2 else cand_ptr[i - 1] - cand_ptr[i - 2]
        for a in range(n_before):
            t2 = mark if i == 0 else cand[cand_ptr[i - 1] + a]
            for b in range(width):
                t3 = cand[cand_ptr[i] + b]
                here = pair_ptr[i] + a * width + b
                best[here], back[here] = -np.inf, 0
                if i == 0:
                    best[here] = math.log(p[mark, mark, t3] + 1e-300)
                else:
                    for o in range(n_older):
                        t1 = mark if i == 1 else cand[cand_ptr[i - 2] + o]
                        value = best[pair_ptr[i - 1] + o * n_before + a]
                        value += math.log(p[t1, t2, t3] + 1e-300)
                        if value > best[here]:
                            best[here], back[here] = value, o
                best[here] += math.log(score[cand_ptr[i] + b])
    top, at_a, at_b = -np.inf, 0, 0
    width = cand_ptr[n] - cand_ptr[n - 1]
    n_before = 1 if n == 1 else cand_ptr[n - 1] - cand_ptr[n - 2]
    for a in range(n_before):
        t1 = mark if n == 1 else cand[cand_ptr[n - 2] + a]
        for b in range(width):
            value = best[pair_ptr[n - 1] + a * width + b]
            value += math.log(p[t1, cand[cand_ptr[n - 1] + b], mark] + 1e-300)
            if value > top:
                top, at_a, at_b = value, a, b
    for i in range(n - 1, -1, -1):
        path[i] = cand_ptr[i] + at_b
        width = cand_ptr[i + 1] - cand_ptr[i]
        older = back[pair_ptr[i] + at_a * width + at_b]
        at_b, at_a = at_a, older
    return top
