"""Scores of tag sequences, the best one, and the share of each tag: arrays and scalars only.

A cell is a candidate tag of a word.  With f the features of a word's surroundings, p the parts of
a tag (its part of speech, its features one by one, the whole), and g what two neighbouring tags
have in common, all hashed into one table of weights w:

    score(t_1 .. t_n) = sum_i  sum_{f, p of t_i} w[f, p] + v log share(t_i)
                      + sum_i  sum_{g of t_i-1, t_i} w[g]

A part that all candidates of a word have is left out: it decides nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.features.kernels.hashing import mix_some, place_of_pair
from eigentext.features.kernels.templates import template_key

if TYPE_CHECKING:
    from eigentext.base.types import Float32s, Float64s, Int8s, Int64s, UInt64s
    from eigentext.features.kernels.templates import WordFeatures
    from eigentext.tagging.morphology.kernels.words import Lists


class Text(NamedTuple):
    """Sentences in numbers; sentence s is the words ``starts[s] : starts[s + 1]``."""

    starts: Int64s
    rows: Int64s  # (words,) of each word in ``Lists`` and among the attributes of words


class Tags(NamedTuple):
    """What tags are made of; number T stands before the sentence."""

    ptr: Int64s  # parts of tag t: parts[ptr[t] : ptr[t + 1]]
    parts: Int64s
    part_keys: UInt64s  # by part
    keys: UInt64s  # (T + 1,) of the whole tag
    upos: UInt64s  # (T + 1,) of its part of speech
    values: UInt64s  # (T + 1, names) of the value of each feature, 0 for none


class Weights(NamedTuple):
    """A table of weights by hash."""

    table: Float32s | Int8s  # (2 ** bits,) in units of scale
    scale: np.float32
    prior: float  # the weight v of the log shares


class Chain(NamedTuple):
    """What the candidates of words are scored by."""

    features: WordFeatures
    lists: Lists  # of candidates
    tags: Tags
    weights: Weights
    width: float  # candidates that score so much less than the best of their word are left out


class Room(NamedTuple):
    """To work in: n words of the longest sentence, c candidates of the longest list."""

    scores: Float64s  # (n, c) of candidates by their surroundings
    kept: Int64s  # (n, c) which candidates are left for the chain
    counts: Int64s  # (n,) how many
    pairs: Float64s  # (n, c, c) scores of each candidate after each one of the word before
    single: Float64s  # (n, c) shares of candidates
    double: Float64s  # (n, c, c) of pairs, if these are asked for
    features: UInt64s  # keys of the templates of one word
    parts: Int64s  # numbers of its telling parts
    times: Int64s  # zeros by part
    sums: Float32s  # zeros by part
    three: UInt64s  # weights of a candidate by itself
    places: UInt64s  # weights of a pair of tags


@njit
def room_for(text, chain, of_pairs):
    """A :class:`Room`; ``of_pairs``: with shares of pairs."""
    longest, widest = 1, 0
    for s in range(len(text.starts) - 1):
        longest = max(longest, text.starts[s + 1] - text.starts[s])
    tags, most = chain.tags, chain.lists.tags.shape[1]
    for t in range(len(tags.ptr) - 1):
        widest = max(widest, tags.ptr[t + 1] - tags.ptr[t])
    return Room(
        np.empty((longest, most)),
        np.empty((longest, most), np.int64),
        np.empty(longest, np.int64),
        np.empty((longest, most, most)),
        np.empty((longest, most)),
        np.empty((longest if of_pairs else 0, most, most)),
        np.empty(len(chain.features.seeds), np.uint64),
        np.empty(widest * most, np.int64),
        np.zeros(len(tags.part_keys), np.int64),
        np.zeros(len(tags.part_keys), np.float32),
        np.empty(3, np.uint64),
        np.empty(4 + 2 * tags.values.shape[1], np.uint64),
    )


@njit
def features_at(i, first, last, rows, features, out):
    """Keys of the templates that a word's surroundings fill; returns how many."""
    n = 0
    for t in range(len(features.seeds)):
        key = template_key(t, i, first, last, rows, features)
        if key != 0:
            out[n] = key
            n += 1
    return n


@njit
def telling_parts(candidates, n, tags, times, out):
    """Parts that some of the candidates have and others do not; ``times`` (parts,) is zeros."""
    for c in range(n):
        for e in range(tags.ptr[candidates[c]], tags.ptr[candidates[c] + 1]):
            times[tags.parts[e]] += 1  # how many candidates have the part
    n_parts = 0
    for c in range(n):
        for e in range(tags.ptr[candidates[c]], tags.ptr[candidates[c] + 1]):
            part = tags.parts[e]
            if 0 < times[part] < n:
                out[n_parts] = part
                n_parts += 1
            times[part] = 0  # zeros again, for the next word
    return n_parts


@njit
def pair_places(a, b, tags, mask, out):
    """Weights of what two neighbouring tags have in common; returns how many."""
    upos_a, upos_b, tag_a, tag_b = tags.upos[a], tags.upos[b], tags.keys[a], tags.keys[b]
    both = mix_some(mix_some(np.uint64(11), upos_a), upos_b)
    out[0] = place_of_pair(both, np.uint64(0), mask)  # the two parts of speech
    # the two whole tags, and each with the other's upos
    out[1] = place_of_pair(mix_some(np.uint64(12), tag_a), tag_b, mask)
    out[2] = place_of_pair(mix_some(np.uint64(13), tag_a), upos_b, mask)
    out[3] = place_of_pair(mix_some(np.uint64(14), upos_a), tag_b, mask)
    n = 4
    for name in range(tags.values.shape[1]):
        value = tags.values[b, name]
        if value == 0:
            continue
        before = tags.values[a, name]
        out[n] = place_of_pair(mix_some(both, before), value, mask)
        # agreement whatever the values are: 0 none before, 1 the same, 2 another
        same = np.uint64(0 if before == 0 else 1 if before == value else 2)
        out[n + 1] = place_of_pair(
            mix_some(both, np.uint64(name)), mix_some(np.uint64(15), same), mask
        )
        n += 2
    return n


@njit
def candidate_places(key, tag, tags, mask, out):
    """Weights of what is known of a candidate by itself."""
    # what is known of the candidate: alone, by upos, by tag
    out[0] = place_of_pair(key, np.uint64(1), mask)
    out[1] = place_of_pair(key, tags.upos[tag], mask)
    out[2] = place_of_pair(key, tags.keys[tag], mask)


@njit
def score_words(first, last, text, chain, room):
    """Fill ``room.scores`` of the candidates of a sentence by their surroundings."""
    lists, tags, weights, sums = chain.lists, chain.tags, chain.weights, room.sums
    mask = np.uint64(len(weights.table) - 1)
    for i in range(first, last):
        row = text.rows[i]
        n, candidates, scores = lists.n[row], lists.tags[row], room.scores[i - first]
        scores[0] = 0.0
        if n == 1:
            continue
        n_features = features_at(i, first, last, text.rows, chain.features, room.features)
        n_parts = telling_parts(candidates, n, tags, room.times, room.parts)
        # sum over f of w[f, p], once for each part p that some candidates have
        for k in range(n_parts):
            key = tags.part_keys[room.parts[k]]
            total = np.float32(0.0)
            for f in range(n_features):
                total += weights.table[place_of_pair(room.features[f], key, mask)]
            sums[room.parts[k]] = total * weights.scale
        for c in range(n):
            candidate_places(lists.keys[row, c], candidates[c], tags, mask, room.three)
            total = np.float32(0.0)
            for k in range(3):
                total += weights.table[room.three[k]]
            # v log share(t) + sum over the three w
            scores[c] = weights.prior * lists.shares[row, c] + total * weights.scale
            for e in range(tags.ptr[candidates[c]], tags.ptr[candidates[c] + 1]):
                scores[c] += sums[tags.parts[e]]  # and what its telling parts add up to
        for k in range(n_parts):
            sums[room.parts[k]] = 0.0


@njit
def keep_likely(first, last, text, chain, gold, room):
    """Keep in ``room`` the candidates at most ``width`` below their word's best, and ``gold``."""
    for i in range(first, last):
        scores, names = room.scores[i - first], room.kept[i - first]
        n = chain.lists.n[text.rows[i]]
        top = scores[0]
        for c in range(1, n):
            top = max(top, scores[c])
        left = 0
        for c in range(n):
            if scores[c] >= top - chain.width or (len(gold) > 0 and gold[i] == c):
                names[left] = c
                scores[left] = scores[c]
                left += 1
        room.counts[i - first] = left


@njit
def score_pairs(first, last, text, chain, room):
    """Fill ``room.pairs`` of each candidate after each candidate of the word before."""
    lists, tags, weights = chain.lists, chain.tags, chain.weights
    kept, counts = room.kept, room.counts
    mask = np.uint64(len(weights.table) - 1)
    n_tags = len(tags.keys) - 1  # stands before the sentence
    for i in range(last - first):
        row = text.rows[first + i]
        before = 1 if i == 0 else counts[i - 1]
        if before == 1 and counts[i] == 1:
            room.pairs[i, 0, 0] = 0.0
            continue
        for c in range(before):
            a = n_tags if i == 0 else lists.tags[text.rows[first + i - 1], kept[i - 1, c]]
            for d in range(counts[i]):
                b = lists.tags[row, kept[i, d]]
                n_places = pair_places(a, b, tags, mask, room.places)
                total = np.float32(0.0)
                for k in range(n_places):
                    total += weights.table[room.places[k]]
                room.pairs[i, c, d] = total * weights.scale


@njit
def score_sentence(first, last, text, chain, gold, room):
    """All scores of a sentence, for those candidates that are left."""
    score_words(first, last, text, chain, room)
    keep_likely(first, last, text, chain, gold, room)
    score_pairs(first, last, text, chain, room)


@njit
def best_path(counts, scores, pairs, path):
    """The best candidates (words,) of a sentence; among equals those that stand first."""
    length = len(counts)
    best = np.empty((length, scores.shape[1]))
    back = np.empty((length, scores.shape[1]), np.int64)
    for i in range(length):
        before = 1 if i == 0 else counts[i - 1]
        for d in range(counts[i]):
            top, where = -np.inf, 0
            for c in range(before):
                # best path to c, and on to d
                value = pairs[i, c, d] + (best[i - 1, c] if i > 0 else 0.0)
                if value > top:
                    top, where = value, c
            best[i, d] = top + scores[i, d]  # w of the pair and of the word itself
            back[i, d] = where
    at = 0
    for d in range(1, counts[length - 1]):
        if best[length - 1, d] > best[length - 1, at]:
            at = d
    for i in range(length - 1, -1, -1):
        path[i] = at
        at = back[i, at]


@njit
def shares_of(counts, scores, pairs, single, double, heat):
    """Share of each candidate (words, most), and of each pair with the word before.

    p(t) is proportional to exp(score / heat).  ahead[i, c]: log of the sum of all ways to
    candidate c;  behind[i, c]: of all ways from it to the end.  ``double`` of no words is left.
    """
    length, most = scores.shape[0], scores.shape[1]
    ahead, behind = np.empty((length, most)), np.zeros((length, most))
    for i in range(length):
        before = 1 if i == 0 else counts[i - 1]
        for d in range(counts[i]):
            top = -np.inf
            for c in range(before):
                top = max(top, pairs[i, c, d] / heat + (ahead[i - 1, c] if i > 0 else 0.0))
            total = 0.0
            for c in range(before):
                value = pairs[i, c, d] / heat + (ahead[i - 1, c] if i > 0 else 0.0)
                total += math.exp(value - top)
            # log-sum, the largest term taken out
            ahead[i, d] = top + math.log(total) + scores[i, d] / heat
    for i in range(length - 2, -1, -1):
        for c in range(counts[i]):
            top = -np.inf
            for d in range(counts[i + 1]):
                # from c to d and on to the end
                value = (pairs[i + 1, c, d] + scores[i + 1, d]) / heat + behind[i + 1, d]
                top = max(top, value)
            total = 0.0
            for d in range(counts[i + 1]):
                value = (pairs[i + 1, c, d] + scores[i + 1, d]) / heat + behind[i + 1, d]
                total += math.exp(value - top)
            behind[i, c] = top + math.log(total)
    top = -np.inf
    for d in range(counts[length - 1]):
        top = max(top, ahead[length - 1, d])
    total = 0.0
    for d in range(counts[length - 1]):
        total += math.exp(ahead[length - 1, d] - top)
    whole = top + math.log(total)  # log of the sum over all sequences
    for i in range(length):
        before = 1 if i == 0 else counts[i - 1]
        for d in range(counts[i]):
            # all ways through the candidate, over all ways
            single[i, d] = math.exp(ahead[i, d] + behind[i, d] - whole)
            for c in range(before if len(double) else 0):
                value = (pairs[i, c, d] + scores[i, d]) / heat + behind[i, d] - whole
                double[i, c, d] = math.exp(value + (ahead[i - 1, c] if i > 0 else 0.0))
    return whole


@njit
def runners_up(names, counts, single, path, upos, others, chances):
    """For each word of a sentence the most probable part of speech that is not the best path's.

    ``names`` (words, most): the tag of each candidate; ``single`` their shares; ``upos``: a key
    of each tag's part of speech, whose probability is the sum over its tags.  ``others`` (words,)
    gets a tag with it, -1 for none; ``chances`` (words, 2) what the best path's and it have.
    """
    for i in range(len(counts)):
        best = upos[names[i, path[i]]]
        others[i] = -1
        chances[i, 1] = 0.0
        if counts[i] == 1:
            chances[i, 0] = 1.0
            continue
        for c in range(counts[i]):
            key = upos[names[i, c]]
            total = 0.0
            for e in range(counts[i]):
                if upos[names[i, e]] == key:  # p(upos) is the sum over its tags
                    total += single[i, e]
            if key == best:
                chances[i, 0] = total
            elif total > chances[i, 1]:
                chances[i, 1] = total
                others[i] = names[i, c]
