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
from eigentext.features.kernels.hashing import place_of_pair
from eigentext.linear.kernels.steps import adagrad
from eigentext.tagging.morphology.kernels.chain import (
    best_path,
    candidate_places,
    features_at,
    pair_places,
    room_for,
    runners_up,
    score_sentence,
    shares_of,
    telling_parts,
)

_SMALL = 0.01  # a gradient below this is left out


@njit
def train(order, text, gold, chain, squares, rate):
    """One pass over sentences ``order``; the log probability of ``gold`` candidates (-1: none)."""
    lists, tags, weights = chain.lists, chain.tags, chain.weights
    mask = np.uint64(len(weights.table) - 1)
    n_tags = len(tags.keys) - 1
    room = room_for(text, chain, True)
    kept, counts, double, gradients = room.kept, room.counts, room.double, room.sums
    total = 0.0
    for position in range(len(order)):
        first, last = text.starts[order[position]], text.starts[order[position] + 1]
        length = last - first
        if length == 0:
            continue
        score_sentence(first, last, text, chain, gold, room)
        shares_of(counts[:length], room.scores[:length], room.pairs, room.single, double, 1.0)
        before_right = 0  # where the gold candidate of the word before stands, -1 for nowhere
        for i in range(length):
            row, n = text.rows[first + i], counts[i]
            candidates, q = lists.tags[row], room.single[i]
            right = -1
            for c in range(n):
                if kept[i, c] == gold[first + i]:
                    right = c
            # of the word before, and for the next one
            was_right, before_right = before_right, right
            if right < 0:
                continue
            total += math.log(max(q[right], 1e-30))
            if n > 1 and q[right] < 1.0 - _SMALL:
                n_features = features_at(
                    first + i, first, last, text.rows, chain.features, room.features
                )
                # what a candidate left out would change is too small to count
                n_parts = telling_parts(candidates, lists.n[row], tags, room.times, room.parts)
                for c in range(n):
                    tag = candidates[kept[i, c]]
                    change = (1.0 if c == right else 0.0) - q[c]  # [gold] - q
                    if abs(change) > _SMALL:
                        key = lists.keys[row, kept[i, c]]
                        candidate_places(key, tag, tags, mask, room.three)
                        for k in range(3):
                            adagrad(weights.table, squares, room.three[k], change, rate)
                    for e in range(tags.ptr[tag], tags.ptr[tag + 1]):
                        # summed by part: many tags have the same
                        gradients[tags.parts[e]] += change
                for k in range(n_parts):
                    change = gradients[room.parts[k]]
                    if abs(change) > _SMALL:
                        key = tags.part_keys[room.parts[k]]
                        for f in range(n_features):
                            at = place_of_pair(room.features[f], key, mask)
                            adagrad(weights.table, squares, at, change, rate)
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
                    # [gold pair] - q(pair)
                    change = (1.0 if c == was_right and d == right else 0.0) - double[i, c, d]
                    if abs(change) > _SMALL:
                        b = candidates[kept[i, d]]
                        n_places = pair_places(a, b, tags, mask, room.places)
                        for k in range(n_places):
                            adagrad(weights.table, squares, room.places[k], change, rate)
    return total


@njit
def score_and_share(s, text, chain, heat, room):
    """Score sentence s and fill ``room.single``; where its words begin and end."""
    first, last = text.starts[s], text.starts[s + 1]
    if first < last:
        score_sentence(first, last, text, chain, np.empty(0, np.int64), room)
        length = last - first
        n, scores = room.counts[:length], room.scores[:length]
        shares_of(n, scores, room.pairs, room.single, room.double, heat)
    return first, last


@njit
def tag_text(text, chain, heat, best, others, chances):
    """The ``best`` tag (words,) of each word, and what :func:`runners_up` says."""
    room = room_for(text, chain, False)
    kept, lists = room.kept, chain.lists
    names, path = np.empty(kept.shape, np.int64), np.empty(len(room.counts), np.int64)
    for s in range(len(text.starts) - 1):
        first, last = score_and_share(s, text, chain, heat, room)
        if first == last:
            continue
        n = room.counts[: last - first]
        best_path(n, room.scores, room.pairs, path)
        for i in range(last - first):
            for c in range(n[i]):  # the tag of each candidate that is left
                names[i, c] = lists.tags[text.rows[first + i], kept[i, c]]
            best[first + i] = names[i, path[i]]
        seconds, chance = others[first:last], chances[first:last]
        runners_up(names, n, room.single, path, chain.tags.upos, seconds, chance)


@njit
def tag_shares(text, chain, heat, shares):
    """The share (words, most) of each candidate; 0 of those that are not kept."""
    room = room_for(text, chain, False)
    shares[:] = 0.0
    for s in range(len(text.starts) - 1):
        first, last = score_and_share(s, text, chain, heat, room)
        for i in range(last - first):
            for c in range(room.counts[i]):
                shares[first + i, room.kept[i, c]] = room.single[i, c]
