"""Which split of a token, or none: a choice among candidates by a linear model.

A token has ``base`` features (of its form and its neighbours); each is joined with the key of a
candidate's rule.  A candidate has ``own`` features besides, which are joined with nothing.
"""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
from numba import njit

from eigentext.segmentation.kernels.tables import mix

_NONE = np.uint64(0)


@njit(cache=True)
def scores_of(base, keys, own, first, last, weights, shift, scores):
    """Scores of the candidates first..last of a token."""
    for c in range(first, last):
        score = 0.0
        for f in range(len(base)):
            if base[f] != _NONE:
                score += weights[mix(base[f], keys[c]) >> shift]
        for f in range(own.shape[1]):
            if own[c, f] != _NONE:
                score += weights[own[c, f] >> shift]
        scores[c - first] = score


@njit(cache=True)
def train(base, starts, keys, own, gold, order, weights, squares, shift, rate):
    """One pass of AdaGrad on -log p(gold), p = softmax of the scores; the sum of the losses."""
    most = 1
    for token in range(len(starts) - 1):
        most = max(most, starts[token + 1] - starts[token])
    scores = np.empty(most)
    loss = 0.0
    for o in range(len(order)):
        token = order[o]
        first, last = starts[token], starts[token + 1]
        scores_of(base[token], keys, own, first, last, weights, shift, scores)
        highest = scores[0]
        for c in range(1, last - first):
            highest = max(highest, scores[c])
        total = 0.0
        for c in range(last - first):
            scores[c] = exp(scores[c] - highest)
            total += scores[c]
        loss -= np.log(max(scores[gold[token]] / total, 1e-30))
        for c in range(first, last):
            slope = scores[c - first] / total - (1.0 if c - first == gold[token] else 0.0)
            if abs(slope) < 0.002:
                continue
            for f in range(base.shape[1]):
                if base[token, f] != _NONE:
                    at = mix(base[token, f], keys[c]) >> shift
                    squares[at] += slope * slope
                    weights[at] -= rate * slope / sqrt(squares[at])
            for f in range(own.shape[1]):
                if own[c, f] != _NONE:
                    at = own[c, f] >> shift
                    squares[at] += slope * slope
                    weights[at] -= rate * slope / sqrt(squares[at])
    return loss


@njit(cache=True)
def choose(base, starts, keys, own, weights, shift):
    """The best candidate of each token, the first of equals."""
    most = 1
    for token in range(len(starts) - 1):
        most = max(most, starts[token + 1] - starts[token])
    scores = np.empty(most)
    chosen = np.empty(len(starts) - 1, np.int64)
    for token in range(len(chosen)):
        first, last = starts[token], starts[token + 1]
        scores_of(base[token], keys, own, first, last, weights, shift, scores)
        best = 0
        for c in range(1, last - first):
            if scores[c] > scores[best]:
                best = c
        chosen[token] = best
    return chosen
