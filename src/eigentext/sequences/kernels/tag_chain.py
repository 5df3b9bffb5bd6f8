"""Search and sums over chains of tags without states: arrays and scalars only.

A chain has ``start`` weights for the first token's candidates and for each pair of neighbouring
candidates a weight ``pairs[pair_ptr[i] + c * (candidates of i + 1) + d]``; its score of a tag
sequence is the product.  A cell is a candidate tag of a token; with C candidates a token::

    behind[c] = sum over next candidates d of pairs[c, d] behind[d]       marginals: O(n C^2)
    score[d, r] = r-th best of score[c, s] + log pairs[c, d] over c, s    k best: O(n C^2 k^2)
"""

from __future__ import annotations

import math

import numpy as np

from eigentext.base.compiling import njit


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
