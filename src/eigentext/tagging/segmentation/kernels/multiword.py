"""Which split of a token, or none: a choice among candidates by a linear model."""

from __future__ import annotations

from math import exp

import numpy as np

from eigentext.base.compiling import njit
from eigentext.features.kernels.hashing import mix
from eigentext.linear.kernels.steps import adagrad

_NONE = np.uint64(0)
MOST_OWN = 8  # features of a candidate by its counts


@njit
def with_sides(base, sides, forms):
    """Base features and those of the neighbours; the latter joined with a form that is known."""
    n, width, more = len(base), base.shape[1], sides.shape[1]
    out = np.zeros((n, width + more + 2), np.uint64)
    for i in range(n):
        for f in range(width):
            out[i, f] = mix(np.uint64(f), base[i, f]) if base[i, f] != _NONE else _NONE
        for f in range(more):
            key = mix(np.uint64(100 + f), sides[i, f])  # what stands beside the token
            out[i, width + f] = mix(key, forms[i])
            if forms[i] != _NONE and f < 2:
                out[i, width + more + f] = key
    return out


@njit
def own_keys(counts, key, out):
    """Features of a candidate by its counts; how many."""
    kind, stem, form, length, lemma = counts
    if kind == 0:  # of a known form, which needs no counts
        return 0
    if length == 0:  # to keep the token
        out[0] = mix(np.uint64(207), form)
        out[1] = mix(mix(np.uint64(208), form), stem)
        out[2] = mix(np.uint64(209), lemma)
        return 3
    rule = mix(key, stem)
    out[0] = mix(np.uint64(201), rule)
    out[1] = mix(mix(np.uint64(202), rule), form)
    out[2] = mix(mix(mix(np.uint64(203), kind), stem), form)
    out[3] = mix(mix(np.uint64(204), key), length)
    out[4] = mix(mix(mix(np.uint64(205), kind), stem), length)
    out[5] = mix(mix(np.uint64(206), rule), length)
    out[6] = mix(mix(np.uint64(210), key), lemma)
    out[7] = mix(mix(mix(np.uint64(211), kind), stem), lemma)
    return MOST_OWN


@njit
def scores_of(base, keys, counts, first, last, weights, shift, scores):
    """Scores of the candidates first..last of a token."""
    more = np.empty(MOST_OWN, np.uint64)
    for c in range(first, last):
        score = 0.0
        for f in range(len(base)):
            if base[f] != _NONE:
                score += weights[mix(base[f], keys[c]) >> shift]
        for f in range(own_keys(counts[c], keys[c], more)):
            score += weights[more[f] >> shift]
        scores[c - first] = score


@njit
def train(base, starts, keys, counts, gold, order, weights, squares, shift, rate):
    """One pass of AdaGrad on -log p(gold), p = softmax of the scores; the sum of the losses."""
    most = 1
    for token in range(len(starts) - 1):
        most = max(most, starts[token + 1] - starts[token])
    scores = np.empty(most)
    more = np.empty(MOST_OWN, np.uint64)
    loss = 0.0
    for o in range(len(order)):
        token = order[o]
        first, last = starts[token], starts[token + 1]
        scores_of(base[token], keys, counts, first, last, weights, shift, scores)
        highest = scores[0]
        for c in range(1, last - first):
            highest = max(highest, scores[c])
        total = 0.0
        for c in range(last - first):
            scores[c] = exp(scores[c] - highest)  # softmax over the candidates of the token
            total += scores[c]
        loss -= np.log(max(scores[gold[token]] / total, 1e-30))
        for c in range(first, last):
            # p(c) - [c is right]
            slope = scores[c - first] / total - (1.0 if c - first == gold[token] else 0.0)
            if abs(slope) < 0.002:
                continue
            for f in range(base.shape[1]):
                if base[token, f] != _NONE:
                    at = mix(base[token, f], keys[c]) >> shift
                    adagrad(weights, squares, at, -slope, rate)
            for f in range(own_keys(counts[c], keys[c], more)):
                adagrad(weights, squares, more[f] >> shift, -slope, rate)
    return loss


@njit
def choose(base, starts, keys, counts, weights, shift):
    """The best candidate of each token, the first of equals."""
    most = 1
    for token in range(len(starts) - 1):
        most = max(most, starts[token + 1] - starts[token])
    scores = np.empty(most)
    chosen = np.empty(len(starts) - 1, np.int64)
    for token in range(len(chosen)):
        first, last = starts[token], starts[token + 1]
        scores_of(base[token], keys, counts, first, last, weights, shift, scores)
        best = 0
        for c in range(1, last - first):
            if scores[c] > scores[best]:
                best = c
        chosen[token] = best
    return chosen
