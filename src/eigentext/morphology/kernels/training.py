"""Training of the weights and tagging with them: arrays and scalars only, nothing is checked.

With q the shares of candidates and of pairs by the weights of now, the log probability of the gold
tags has the gradient

    d/dw[f, p] = [p in gold tag] - sum over candidates with p of q(candidate)
    d/dw[g]    = [g of the gold pair] - sum over pairs with g of q(pair)

and every weight takes a step g / sqrt(its squares so far) (AdaGrad, Duchi et al. 2011).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from eigentext.morphology.kernels.chain import (
    best_path,
    candidate_places,
    features_at,
    pair_places,
    place,
    score_pairs,
    score_words,
    shares_of,
    step,
    telling_parts,
)

_SMALL = 0.01  # a gradient below this is left out


@njit(cache=True)
def room_for(slots, lists, tags):
    """Arrays to work in: features, seen parts, telling parts, sums by part, three places."""
    n_parts = len(tags.part_keys)
    widest = 0
    for t in range(len(tags.ptr) - 1):
        widest = max(widest, tags.ptr[t + 1] - tags.ptr[t])
    return (
        np.empty(slots.parts.shape[0], np.uint64),
        np.zeros(n_parts, np.int64),
        np.empty(widest * lists.tags.shape[1], np.int64),
        np.zeros(n_parts, np.float32),
        np.empty(3, np.uint64),
    )


@njit(cache=True)
def longest_of(text):
    """Words of the longest sentence."""
    longest = 1
    for s in range(len(text.starts) - 1):
        longest = max(longest, text.starts[s + 1] - text.starts[s])
    return longest


@njit(cache=True)
def train(order, text, gold, slots, lists, tags, weights, squares, rate):
    """One pass over sentences ``order``; returns the log probability of the gold tags.

    ``gold`` (words,): which candidate of its word is right, -1 where none is.
    """
    mask = np.uint64(len(weights.table) - 1)
    n_tags = len(tags.keys) - 1
    most = lists.tags.shape[1]
    longest = longest_of(text)
    room = room_for(slots, lists, tags)
    features, seen, parts, gradients, three = room
    scores = np.empty((longest, most))
    pairs = np.empty((longest, most, most))
    single, double = np.empty((longest, most)), np.empty((longest, most, most))
    counts = np.empty(longest, np.int64)
    places = np.empty(4 + 2 * tags.values.shape[1], np.uint64)
    total = 0.0
    for position in range(len(order)):
        first, last = text.starts[order[position]], text.starts[order[position] + 1]
        length = last - first
        if length == 0:
            continue
        for i in range(first, last):
            counts[i - first] = lists.n[text.rows[i]]
        score_words(first, last, text, slots, lists, tags, weights, scores, room)
        score_pairs(first, last, text, lists, tags, weights, pairs, places)
        shares_of(counts[:length], scores[:length], pairs, single, double, 1.0)
        for i in range(first, last):
            row, n, right = text.rows[i], counts[i - first], gold[i]
            if right < 0:
                continue
            q = single[i - first]
            total += math.log(max(q[right], 1e-30))
            if n > 1 and q[right] < 1.0 - _SMALL:
                candidates = lists.tags[row]
                n_features = features_at(i, first, last, text.rows, slots, features)
                n_parts = telling_parts(candidates, n, tags, seen, parts)
                for c in range(n):
                    change = (1.0 if c == right else 0.0) - q[c]
                    if abs(change) > _SMALL:
                        candidate_places(lists.keys[row, c], candidates[c], tags, mask, three)
                        for k in range(3):
                            step(weights.table, squares, three[k], change, rate)
                    for e in range(tags.ptr[candidates[c]], tags.ptr[candidates[c] + 1]):
                        gradients[tags.parts[e]] += change
                for k in range(n_parts):
                    change = gradients[parts[k]]
                    if abs(change) > _SMALL:
                        key = tags.part_keys[parts[k]]
                        for f in range(n_features):
                            at = place(features[f], key, mask)
                            step(weights.table, squares, at, change, rate)
                for c in range(n):
                    for e in range(tags.ptr[candidates[c]], tags.ptr[candidates[c] + 1]):
                        gradients[tags.parts[e]] = 0.0
            # the pair with the word before it
            before = 1 if i == first else counts[i - first - 1]
            right_before = 0 if i == first else gold[i - 1]
            if before * n == 1 or right_before < 0:
                continue
            if double[i - first, right_before, right] >= 1.0 - _SMALL:
                continue
            for c in range(before):
                a = n_tags if i == first else lists.tags[text.rows[i - 1], c]
                for d in range(n):
                    change = -double[i - first, c, d]
                    if c == right_before and d == right:
                        change += 1.0
                    if abs(change) > _SMALL:
                        n_places = pair_places(a, lists.tags[row, d], tags, mask, places)
                        for k in range(n_places):
                            step(weights.table, squares, places[k], change, rate)
    return total


@njit(cache=True)
def tag_text(text, slots, lists, tags, weights, answers):
    """The best tag (words,) of each word."""
    most = lists.tags.shape[1]
    longest = longest_of(text)
    room = room_for(slots, lists, tags)
    scores = np.empty((longest, most))
    pairs = np.empty((longest, most, most))
    counts, path = np.empty(longest, np.int64), np.empty(longest, np.int64)
    places = np.empty(4 + 2 * tags.values.shape[1], np.uint64)
    for s in range(len(text.starts) - 1):
        first, last = text.starts[s], text.starts[s + 1]
        length = last - first
        if length == 0:
            continue
        for i in range(first, last):
            counts[i - first] = lists.n[text.rows[i]]
        score_words(first, last, text, slots, lists, tags, weights, scores, room)
        score_pairs(first, last, text, lists, tags, weights, pairs, places)
        best_path(counts[:length], scores, pairs, path)
        for i in range(first, last):
            answers[i] = lists.tags[text.rows[i], path[i - first]]


@njit(cache=True)
def tag_shares(text, slots, lists, tags, weights, heat, shares):
    """The share (words, most) of each candidate."""
    most = lists.tags.shape[1]
    longest = longest_of(text)
    room = room_for(slots, lists, tags)
    scores = np.empty((longest, most))
    pairs = np.empty((longest, most, most))
    double = np.empty((longest, most, most))
    counts = np.empty(longest, np.int64)
    places = np.empty(4 + 2 * tags.values.shape[1], np.uint64)
    for s in range(len(text.starts) - 1):
        first, last = text.starts[s], text.starts[s + 1]
        length = last - first
        if length == 0:
            continue
        for i in range(first, last):
            counts[i - first] = lists.n[text.rows[i]]
        score_words(first, last, text, slots, lists, tags, weights, scores, room)
        score_pairs(first, last, text, lists, tags, weights, pairs, places)
        shares_of(counts[:length], scores[:length], pairs, shares[first:last], double, heat)
