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

from eigentext.base.compiling import njit
from eigentext.tagging.morphology.kernels.chain import (
    best_path,
    candidate_places,
    features_at,
    keep_likely,
    pair_places,
    place,
    runners_up,
    score_pairs,
    score_words,
    shares_of,
    step,
    telling_parts,
)

_SMALL = 0.01  # a gradient below this is left out


@njit
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


@njit
def longest_of(text):
    """Words of the longest sentence."""
    longest = 1
    for s in range(len(text.starts) - 1):
        longest = max(longest, text.starts[s + 1] - text.starts[s])
    return longest


@njit
def train(order, text, gold, slots, lists, tags, weights, squares, width, rate):
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
    kept, counts = np.empty((longest, most), np.int64), np.empty(longest, np.int64)
    places = np.empty(4 + 2 * tags.values.shape[1], np.uint64)
    total = 0.0
    for position in range(len(order)):
        first, last = text.starts[order[position]], text.starts[order[position] + 1]
        length = last - first
        if length == 0:
            continue
        score_words(first, last, text, slots, lists, tags, weights, scores, room)
        keep_likely(first, last, text, lists, gold, width, scores, kept, counts)
        score_pairs(first, last, text, lists, kept, counts, tags, weights, pairs, places)
        shares_of(counts[:length], scores[:length], pairs, single, double, 1.0)
        before_right = 0  # where the gold candidate of the word before stands, -1 for nowhere
        for i in range(length):
            row, n = text.rows[first + i], counts[i]
            candidates, q = lists.tags[row], single[i]
            right = -1
            for c in range(n):
                if kept[i, c] == gold[first + i]:
                    right = c
            was_right, before_right = before_right, right
            if right < 0:
                continue
            total += math.log(max(q[right], 1e-30))
            if n > 1 and q[right] < 1.0 - _SMALL:
                n_features = features_at(first + i, first, last, text.rows, slots, features)
                # what a candidate left out would change is too small to count
                n_parts = telling_parts(candidates, lists.n[row], tags, seen, parts)
                for c in range(n):
                    tag = candidates[kept[i, c]]
                    change = (1.0 if c == right else 0.0) - q[c]
                    if abs(change) > _SMALL:
                        candidate_places(lists.keys[row, kept[i, c]], tag, tags, mask, three)
                        for k in range(3):
                            step(weights.table, squares, three[k], change, rate)
                    for e in range(tags.ptr[tag], tags.ptr[tag + 1]):
                        gradients[tags.parts[e]] += change
                for k in range(n_parts):
                    change = gradients[parts[k]]
                    if abs(change) > _SMALL:
                        key = tags.part_keys[parts[k]]
                        for f in range(n_features):
                            at = place(features[f], key, mask)
                            step(weights.table, squares, at, change, rate)
                for c in range(n):
                    tag = candidates[kept[i, c]]
                    for e in range(tags.ptr[tag], tags.ptr[tag + 1]):
                        gradients[tags.parts[e]] = 0.0
            # the pair with the word before it
            before = 1 if i == 0 else counts[i - 1]
            if before * n == 1 or was_right < 0 or double[i, was_right, right] >= 1.0 - _SMALL:
                continue
            for c in range(before):
                a = n_tags if i == 0 else lists.tags[text.rows[first + i - 1], kept[i - 1, c]]
                for d in range(n):
                    change = (1.0 if c == was_right and d == right else 0.0) - double[i, c, d]
                    if abs(change) > _SMALL:
                        b = candidates[kept[i, d]]
                        n_places = pair_places(a, b, tags, mask, places)
                        for k in range(n_places):
                            step(weights.table, squares, places[k], change, rate)
    return total


@njit
def tag_text(text, slots, lists, tags, weights, width, heat, answers, others, chances):
    """The best tag (words,) of each word, and what :func:`runners_up` says."""
    most = lists.tags.shape[1]
    longest = longest_of(text)
    room = room_for(slots, lists, tags)
    scores = np.empty((longest, most))
    pairs = np.empty((longest, most, most))
    single, double = np.empty((longest, most)), np.empty((0, most, most))
    kept, counts = np.empty((longest, most), np.int64), np.empty(longest, np.int64)
    names = np.empty((longest, most), np.int64)
    path, gold = np.empty(longest, np.int64), np.empty(0, np.int64)
    places = np.empty(4 + 2 * tags.values.shape[1], np.uint64)
    for s in range(len(text.starts) - 1):
        first, last = text.starts[s], text.starts[s + 1]
        length = last - first
        if length == 0:
            continue
        score_words(first, last, text, slots, lists, tags, weights, scores, room)
        keep_likely(first, last, text, lists, gold, width, scores, kept, counts)
        score_pairs(first, last, text, lists, kept, counts, tags, weights, pairs, places)
        own = counts[:length]
        best_path(own, scores, pairs, path)
        for i in range(length):
            for c in range(counts[i]):
                names[i, c] = lists.tags[text.rows[first + i], kept[i, c]]
            answers[first + i] = names[i, path[i]]
        shares_of(own, scores[:length], pairs, single, double, heat)
        found, chance = others[first:last], chances[first:last]
        runners_up(names, own, single, path, tags.upos, found, chance)


@njit
def tag_shares(text, slots, lists, tags, weights, width, heat, shares):
    """The share (words, most) of each candidate; 0 of those that are not kept."""
    most = lists.tags.shape[1]
    longest = longest_of(text)
    room = room_for(slots, lists, tags)
    scores = np.empty((longest, most))
    pairs = np.empty((longest, most, most))
    single, double = np.empty((longest, most)), np.empty((longest, most, most))
    kept, counts = np.empty((longest, most), np.int64), np.empty(longest, np.int64)
    gold = np.empty(0, np.int64)
    places = np.empty(4 + 2 * tags.values.shape[1], np.uint64)
    shares[:] = 0.0
    for s in range(len(text.starts) - 1):
        first, last = text.starts[s], text.starts[s + 1]
        length = last - first
        if length == 0:
            continue
        score_words(first, last, text, slots, lists, tags, weights, scores, room)
        keep_likely(first, last, text, lists, gold, width, scores, kept, counts)
        score_pairs(first, last, text, lists, kept, counts, tags, weights, pairs, places)
        shares_of(counts[:length], scores[:length], pairs, single, double, heat)
        for i in range(length):
            for c in range(counts[i]):
                shares[first + i, kept[i, c]] = single[i, c]
