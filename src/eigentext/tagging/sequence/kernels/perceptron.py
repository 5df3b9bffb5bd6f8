"""Features, training and search of the tagger: arrays and scalars only, nothing is checked.

Features.  A token has one feature per template or none (-1).  Static ones are numbers below F.  A
template with tags has a first cell; the tags decided before pick the cell from there on:
``first + t1`` or ``first + t1 * (T + 1) + t2``, where tag T stands before the sentence.

Weights.  ``row_of`` maps a feature or cell to its row of weights, -1 as long as it was in no
update.  With c the number of tokens seen and Delta_c the update at c, the mean of all weights is

    (1/C) sum_c w_c = w_C - (1/C) sum_c (c - 1) Delta_c

so an update adds Delta to ``weights`` and (c - 1) Delta to ``sums``: cost only where it changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Float32s, Float64s, Int32s, Int64s

_NONE = np.uint64(0)
_ONE = np.uint64(1)


class Text(NamedTuple):
    """Sentences in numbers; sentence s is the tokens ``starts[s] : starts[s + 1]``."""

    starts: Int64s
    features: Int32s  # (tokens, templates) static features, -1 for none
    cells: Int64s  # (tokens, templates with tags) first cells, -1 for none
    kinds: Int64s  # how many tags before, 1 or 2, each of these templates looks at
    vector_of: Int32s  # (tokens,) the row of each token's vector, -1 for none
    vectors: Float32s  # (n, d)


class Weights(NamedTuple):
    """Weights of features and of vectors."""

    row_of: Int32s  # (features and cells,)
    rows: Float32s  # (rows, T)
    dense: Float32s  # (places around a token, T, d)


class Sums(NamedTuple):
    """(c - 1) Delta_c summed, of ``Weights.rows`` and ``Weights.dense``: what averaging needs."""

    rows: Float64s
    dense: Float64s


class Answers(NamedTuple):
    """The n best of each sentence."""

    tags: Int32s  # (n, tokens)
    scores: Float64s  # (n, sentences)
    counts: Int64s  # (sentences,) how many there are


@njit
def fill_table(keys, table_keys, table_values):
    """Put distinct keys into an empty open-addressing table (a power of two, half empty)."""
    mask = np.uint64(len(table_keys) - 1)
    # linear probing from the low bits of the key; half empty, so a few steps at most
    for n in range(len(keys)):
        at = keys[n] & mask
        while table_keys[at] != _NONE:
            at = (at + _ONE) & mask
        table_keys[at] = keys[n]
        table_values[at] = n


@njit
def look_up(keys, table_keys, table_values, out):
    """Number of each key, -1 for those that are not in the table."""
    mask = np.uint64(len(table_keys) - 1)
    for i in range(keys.shape[0]):
        for t in range(keys.shape[1]):
            key = keys[i, t]
            out[i, t] = -1
            if key == _NONE:
                continue
            at = key & mask
            while table_keys[at] != _NONE:
                if table_keys[at] == key:
                    out[i, t] = table_values[at]
                    break
                at = (at + _ONE) & mask


@njit
def static_scores(i, first, last, text, model, scores):
    """Scores of all tags by what does not depend on tags: features, and vectors around."""
    features, vector_of, vectors = text.features, text.vector_of, text.vectors
    row_of, weights, dense = model
    n_tags = weights.shape[1]
    for k in range(n_tags):
        scores[k] = 0.0
    for t in range(features.shape[1]):
        f = features[i, t]
        if f >= 0:
            r = row_of[f]
            if r >= 0:
                for k in range(n_tags):
                    scores[k] += weights[r, k]
    reach = dense.shape[0] // 2
    for o in range(dense.shape[0]):
        at = i + o - reach
        if at >= first and at < last and vector_of[at] >= 0:
            x = vectors[vector_of[at]]
            for k in range(n_tags):
                w = dense[o, k]
                total = np.float32(0.0)
                for d in range(len(x)):
                    total += w[d] * x[d]
                scores[k] += total


@njit
def cell_of(first_cell, kind, t1, t2, n_tags):
    """The cell that the tags before pick."""
    if kind == 1:
        return first_cell + t1
    return first_cell + t1 * (n_tags + 1) + t2  # a cell for each pair of tags before


@njit
def train(order, begin, text, gold, model, sums, margins, counters):
    """One pass over sentences order[begin:]; how far it came, before there may be too few rows."""
    starts, features, cells, kinds, vector_of, vectors = text
    row_of, weights, dense = model
    n_tags = weights.shape[1]
    scores = np.empty(n_tags)
    n_kinds = len(kinds)
    cells_now = np.empty(n_kinds, np.int64)
    reach = dense.shape[0] // 2
    most = features.shape[1] + n_kinds
    for position in range(begin, len(order)):
        s = order[position]
        first, last = starts[s], starts[s + 1]
        if counters[0] + (last - first) * most > weights.shape[0]:
            return position
        t1, t2 = n_tags, n_tags
        for i in range(first, last):
            static_scores(i, first, last, text, model, scores)
            for d in range(n_kinds):
                cells_now[d] = -1
                if cells[i, d] >= 0:
                    cells_now[d] = cell_of(cells[i, d], kinds[d], t1, t2, n_tags)
                    r = row_of[cells_now[d]]  # -1 as long as no update touched it
                    if r >= 0:
                        for k in range(n_tags):
                            scores[k] += weights[r, k]
            want = gold[i]
            best = 0
            rival = -1
            for k in range(n_tags):
                if scores[k] > scores[best]:
                    best = k
                if k != want and (rival < 0 or scores[k] > scores[rival]):
                    rival = k
            if best != want:
                counters[2] += 1
            # The update: the gold tag must win over the best of the others by its margin.
            if rival >= 0 and scores[want] - scores[rival] <= margins[want]:
                before = float(counters[1])  # c - 1
                for t in range(most):
                    static = t < features.shape[1]
                    f = features[i, t] if static else cells_now[t - features.shape[1]]
                    if f < 0:
                        continue
                    r = row_of[f]
                    if r < 0:
                        r = counters[0]
                        row_of[f] = r
                        counters[0] += 1
                    weights[r, want] += 1.0
                    weights[r, rival] -= 1.0
                    sums.rows[r, want] += before  # (c - 1) Delta, for the mean
                    sums.rows[r, rival] -= before
                for o in range(dense.shape[0]):
                    at = i + o - reach
                    if at >= first and at < last and vector_of[at] >= 0:
                        x = vectors[vector_of[at]]
                        for d in range(len(x)):
                            dense[o, want, d] += x[d]
                            dense[o, rival, d] -= x[d]
                            sums.dense[o, want, d] += before * x[d]
                            sums.dense[o, rival, d] -= before * x[d]
            counters[1] += 1
            # It goes on with its own tag, right or wrong: so it will have to when it tags.
            t2, t1 = t1, best
    return len(order)


@njit
def search(text, model, legal, may_end, allowed, width, answers):
    """The n best tag sequences of each sentence by a beam of so many; width 1 is greedy.

    ``legal`` (T + 1, T) which tag may follow which;  ``may_end`` (T,) which may be the last;
    ``allowed`` (tokens, T) which tags each token may have, of no tokens where all may be
    """
    starts, cells, kinds = text.starts, text.cells, text.kinds
    row_of, weights, _ = model
    n_tags = weights.shape[1]
    n_kinds = len(kinds)
    static = np.empty(n_tags)
    scores = np.empty(n_tags)
    longest = 0
    for s in range(len(starts) - 1):
        longest = max(longest, starts[s + 1] - starts[s])
    # Hypothesis h at token n of the sentence: total[h] the score of its tags up to there,
    # tag[n, h] the last of them, back[n, h] the hypothesis at n - 1 that it goes on from.
    # Each is followed by every legal tag, and the ``width`` best stay:
    #   total'[h, k] = total[h] + static[k] + weights of the cells that the two tags before pick
    # Time O(width T (templates with tags + width)) a token.
    tag = np.empty((longest, width), np.int32)
    back = np.empty((longest, width), np.int32)
    total = np.empty(width)
    new_total = np.empty(width)
    for s in range(len(starts) - 1):
        first, last = starts[s], starts[s + 1]
        n_hypotheses = 1
        total[0] = 0.0
        for i in range(first, last):
            n = i - first
            static_scores(i, first, last, text, model, static)
            n_new = 0
            for h in range(n_hypotheses):
                t1 = tag[n - 1, h] if n > 0 else n_tags
                t2 = tag[n - 2, back[n - 1, h]] if n > 1 else n_tags
                for k in range(n_tags):
                    scores[k] = static[k]
                for d in range(n_kinds):
                    if cells[i, d] >= 0:
                        r = row_of[cell_of(cells[i, d], kinds[d], t1, t2, n_tags)]
                        if r >= 0:
                            for k in range(n_tags):
                                scores[k] += weights[r, k]
                for k in range(n_tags):
                    if not legal[t1, k] or (i == last - 1 and not may_end[k]):
                        continue
                    if len(allowed) > 0 and not allowed[i, k]:
                        continue
                    value = total[h] + scores[k]
                    if n_new == width and value <= new_total[n_new - 1]:
                        continue
                    # insertion into the sorted beam; among equals the earlier one stays ahead
                    if n_new < width:
                        n_new += 1
                    at = n_new - 1
                    while at > 0 and new_total[at - 1] < value:
                        new_total[at] = new_total[at - 1]
                        tag[n, at] = tag[n, at - 1]
                        back[n, at] = back[n, at - 1]
                        at -= 1
                    new_total[at] = value
                    tag[n, at] = k
                    back[n, at] = h
            n_hypotheses = n_new
            for h in range(n_hypotheses):
                total[h] = new_total[h]
        n_best = min(answers.tags.shape[0], n_hypotheses) if last > first else 0
        answers.counts[s] = n_best
        for b in range(n_best):
            answers.scores[b, s] = total[b]
            h = b
            for i in range(last - 1, first - 1, -1):
                answers.tags[b, i] = tag[i - first, h]
                h = back[i - first, h]
