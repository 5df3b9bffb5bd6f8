"""Whole passes over the training sentences, and the decoding of many sentences, in one loop each.

A pass: score all arcs (and siblings) with the present weights, decode, compare with the gold tree,
and move the weights of the parts in which the two differ: by 1 (perceptron), or by as little as
makes the gold tree win by the number of wrong heads, at most ``clip`` (MIRA, one best tree, found
with that number added to the scores).  ``sums`` collects time times change, so that the mean of
the weights with which each sentence was parsed is ``weights - sums / time``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from eigentext.dependency.kernels.eisner import eisner_kernel, eisner_siblings_kernel, mst_kernel
from eigentext.dependency.kernels.features import (
    arc_places,
    arc_scores,
    grand_places,
    grand_scores,
    sibling_places,
    sibling_scores,
)
from eigentext.dependency.kernels.rearrange import rearrange_kernel

MOST_HEADS = 10  # of a word, when pruned


@njit(cache=True)
def prune(arc, gold, margin, keep):
    """Rule out arcs that score ``margin`` less than the best head of their word: -inf in ``arc``.

    Of more than MOST_HEADS the best ones are left, unless the margin is infinite.

    The arcs of the best projective tree stay, so that a tree is left (those of the best tree, if
    none is projective), and those of ``gold`` (n,), if it is not empty.
    """
    n = arc.shape[0] - 1
    heads = np.empty(n, np.int32)
    if eisner_kernel(arc, heads) == -np.inf:  # demands may leave none that is projective
        mst_kernel(arc, heads)
    for d in range(1, n + 1):
        best = -np.inf
        for h in range(n + 1):
            best = max(best, arc[h, d])
        many = 0
        for h in range(n + 1):
            keep[h, d] = arc[h, d] >= best - margin
            many += keep[h, d]
        if many > MOST_HEADS and margin < np.inf:
            keep[:, d] = False
            keep[np.argsort(-arc[:, d])[:MOST_HEADS], d] = True
        keep[heads[d - 1], d] = True
        if len(gold):
            keep[gold[d - 1], d] = True
        for h in range(n + 1):
            if not keep[h, d]:
                arc[h, d] = -np.inf


@njit(cache=True)
def list_governors(keep, counts, governors, index):
    """The heads that each word may have: how many, which, and the number of each."""
    n = len(counts) - 1
    for d in range(1, n + 1):
        for h in range(n + 1):
            if keep[h, d]:
                index[h, d] = counts[d]
                governors[d, counts[d]] = h
                counts[d] += 1


@njit(cache=True)
def grand_kernel(arc, sib, grand, keep, governors, counts, index, heads):
    """Best projective tree with scores of arcs, siblings and grandparents; exact.

    As ``eisner_siblings_kernel``, but every half-tree knows the head of its head: half-trees
    ``complete[i, h, e]`` and ``incomplete[i, h, d]`` are those of h below ``governors[h, i]``, and
    ``between[h, a, b]`` joins the facing halves of neighbouring modifiers a and b of h.
    """
    n = arc.shape[0] - 1
    most = counts.max()
    complete = np.full((most, n + 1, n + 1), -np.inf)
    incomplete = np.full((most, n + 1, n + 1), -np.inf)
    between = np.full((n + 1, n + 1, n + 1), -np.inf)
    last = np.zeros((most, n + 1, n + 1), np.int64)
    split = np.zeros((most, n + 1, n + 1), np.int64)
    middle = np.zeros((n + 1, n + 1, n + 1), np.int64)
    for w in range(1, n + 1):
        complete[:, w, w] = 0.0
    for width in range(1, n):
        for a in range(1, n + 1 - width):
            b = a + width
            for i in range(counts[a]):
                h = governors[a, i]
                j = index[h, b]
                if j < 0 or a <= h <= b or h == 0:
                    continue
                best = -np.inf
                for m in range(a, b):
                    value = complete[i, a, m] + complete[j, b, m + 1]
                    if value > best:
                        best = value
                        middle[h, a, b] = m
                between[h, a, b] = best
            for turn in range(2):
                h, d = (a, b) if turn == 0 else (b, a)
                step = 1 if turn == 0 else -1
                for i in range(counts[h]):
                    g = governors[h, i]
                    if a <= g <= b:
                        continue
                    if keep[h, d]:
                        best = sib[h, h, d] + complete[index[h, d], d, h + step]
                        where = h
                        s = h + step
                        while s != d:
                            if keep[h, s]:
                                value = incomplete[i, h, s] + sib[h, s, d]
                                value += between[h, min(s, d), max(s, d)]
                                if value > best:
                                    best = value
                                    where = s
                            s += step
                        incomplete[i, h, d] = best + arc[h, d] + grand[i, h, d]
                        last[i, h, d] = where
                    best = -np.inf
                    e = h + step
                    while True:
                        if keep[h, e]:
                            value = incomplete[i, h, e] + complete[index[h, e], e, d]
                            if value > best:
                                best = value
                                split[i, h, d] = e
                        if e == d:
                            break
                        e += step
                    complete[i, h, d] = best
    heads[:] = -1
    score = -np.inf
    root = 0
    for r in range(1, n + 1):
        if keep[0, r]:
            i = index[0, r]
            value = arc[0, r] + sib[0, 0, r] + complete[i, r, 1] + complete[i, r, n]
            if value > score:
                score = value
                root = r
    if root == 0:
        return score
    heads[root - 1] = 0
    # kind 0: complete (i, h, e); 1: incomplete (i, h, d); 2: between (h, s, d)
    stack = np.empty((4 * n + 8, 4), np.int64)
    i = index[0, root]
    stack[0] = 0, i, root, 1
    stack[1] = 0, i, root, n
    top = 2
    while top:
        top -= 1
        kind, i, h, e = stack[top]
        if kind == 0:
            if h == e:
                continue
            d = split[i, h, e]
            stack[top] = 1, i, h, d
            stack[top + 1] = 0, index[h, d], d, e
            top += 2
        elif kind == 1:
            heads[e - 1] = h
            s = last[i, h, e]
            if s == h:
                stack[top] = 0, index[h, e], e, (h + 1 if e > h else h - 1)
                top += 1
            else:
                stack[top] = 1, i, h, s
                stack[top + 1] = 2, h, min(s, e), max(s, e)
                top += 2
        else:
            m = middle[i, h, e]
            stack[top] = 0, index[i, h], h, m
            stack[top + 1] = 0, index[i, e], e, m + 1
            top += 2
    return score


@njit(cache=True)
def best_tree(
    keys,
    tags,
    n_tags,
    first,
    n,
    feats,
    weights,
    shift,
    order,
    projective,
    margin,
    charges,
    arc,
    gold,
    heads,
):
    """Heads of the best tree under ``arc`` (already filled) and, for order 2, the siblings.

    Order 2 with arcs that may cross rearranges the best projective tree, once for each of the
    ``charges`` for a crossing arc (infinity: not at all); ``heads`` has a row for each of them.
    """
    if order == 1:
        if projective:
            eisner_kernel(arc, heads[0])
        else:
            mst_kernel(arc, heads[0])
        return
    keep = np.empty((n + 1, n + 1), np.bool_)
    prune(arc, gold, margin, keep)
    sib = np.zeros((n + 1, n + 1, n + 1))
    sibling_scores(keys, tags, first, n, feats, weights, shift, keep, sib)
    grand = np.zeros((0, n + 1, n + 1))
    index = np.full((n + 1, n + 1), -1, np.int64)
    if feats.grand_seeds.shape[1]:
        counts = np.zeros(n + 1, np.int64)
        governors = np.zeros((n + 1, n + 1), np.int64)
        list_governors(keep, counts, governors, index)
        grand = np.zeros((counts.max(), n + 1, n + 1))
        grand_scores(keys, first, n, feats, weights, shift, governors, counts, keep, grand)
        grand_kernel(arc, sib, grand, keep, governors, counts, index, heads[0])
    else:
        eisner_siblings_kernel(arc, sib, heads[0])
    if not projective:
        for k in range(len(charges) - 1, -1, -1):  # the first row is the start of all: last
            heads[k] = heads[0]
            if charges[k] < np.inf:
                rearrange_kernel(arc, sib, grand, index, charges[k], heads[k])


@njit(cache=True)
def inner_sibling(heads, d):
    """The modifier of d's head that comes before d, outward; the head itself for none."""
    h = heads[d - 1]
    step = -1 if d > h else 1
    s = d + step
    while s != h:
        if heads[s - 1] == h:
            return s
        s += step
    return h


@njit(cache=True)
def differing_places(keys, tags, n_tags, first, n, feats, shift, order, mine, other, out):
    """Places of the parts of tree ``mine`` that ``other`` has not; how many."""
    at = 0
    for d in range(1, n + 1):
        h = mine[d - 1]
        if h != other[d - 1]:
            at = arc_places(keys, tags, n_tags, first, n, feats, shift, h, d, out, at)
        if order == 2:
            s = inner_sibling(mine, d)
            if h != other[d - 1] or s != inner_sibling(other, d):
                at = sibling_places(keys, tags, first, n, feats, shift, h, s, d, out, at)
            if h > 0:
                g = mine[h - 1]
                if h != other[d - 1] or g != other[h - 1]:
                    at = grand_places(keys, first, n, feats, shift, g, h, d, out, at)
    return at


@njit(cache=True)
def most_places(n, n_tags, feats):
    """Room that the parts of one tree may need."""
    between = feats.pair_bounds[5] - feats.pair_bounds[3]
    fixed = feats.head_spec.shape[0] + feats.mod_spec.shape[0] + feats.pair_bounds[3]
    return (
        2
        * n
        * (fixed + between * min(n, n_tags) + feats.sib_bounds[4] + feats.grand_seeds.shape[1])
    )


@njit(cache=True)
def train_pass(
    sentences,
    starts,
    keys,
    tags,
    n_tags,
    gold,
    feats,
    weights,
    sums,
    change,
    shift,
    order,
    projective,
    margin,
    mira,
    clip,
    time,
    wrong,
):
    """One pass over ``sentences`` (numbers, in order); returns the new time.

    ``change`` is scratch of the weights' size, all zero before and after; ``wrong[0]`` counts the
    wrong heads met.
    """
    free_of_charge = np.zeros(1)
    for number in sentences:
        time += 1
        first = starts[number]
        n = starts[number + 1] - first - 1
        target = gold[first + 1 : first + 1 + n]
        arc = np.empty((n + 1, n + 1))
        arc_scores(keys, tags, n_tags, first, n, feats, weights, shift, arc)
        if mira:
            for h in range(n + 1):
                for d in range(1, n + 1):
                    if target[d - 1] != h:
                        arc[h, d] += 1.0
        found = np.empty((1, n), np.int32)
        best_tree(
            keys,
            tags,
            n_tags,
            first,
            n,
            feats,
            weights,
            shift,
            order,
            projective,
            margin,
            free_of_charge,
            arc,
            target,
            found,
        )
        heads = found[0]
        loss = 0
        for d in range(n):
            loss += heads[d] != target[d]
        if loss == 0:
            continue
        wrong[0] += loss
        room = most_places(n, n_tags, feats)
        plus = np.empty(room, np.int64)
        minus = np.empty(room, np.int64)
        n_plus = differing_places(
            keys, tags, n_tags, first, n, feats, shift, order, target, heads, plus
        )
        n_minus = differing_places(
            keys, tags, n_tags, first, n, feats, shift, order, heads, target, minus
        )
        step = 1.0
        if mira:
            ahead = 0.0
            for i in range(n_plus):
                change[plus[i]] += 1.0
                ahead += weights[plus[i]]
            for i in range(n_minus):
                change[minus[i]] -= 1.0
                ahead -= weights[minus[i]]
            norm = 0.0  # sum over places of change squared
            for i in range(n_plus):
                norm += change[plus[i]]
            for i in range(n_minus):
                norm -= change[minus[i]]
            for i in range(n_plus):
                change[plus[i]] = 0.0
            for i in range(n_minus):
                change[minus[i]] = 0.0
            if norm <= 0.0 or ahead >= loss:
                continue
            step = min(clip, (loss - ahead) / norm)
        for i in range(n_plus):
            weights[plus[i]] += step
            sums[plus[i]] += step * time
        for i in range(n_minus):
            weights[minus[i]] -= step
            sums[minus[i]] -= step * time
    return time


@njit(cache=True)
def decode_all(
    starts, keys, tags, n_tags, feats, weights, shift, order, projective, margin, charges, heads
):
    """Heads of all sentences, in the columns of their words; a row for each of the charges."""
    for number in range(len(starts) - 1):
        first = starts[number]
        n = starts[number + 1] - first - 1
        arc = np.empty((n + 1, n + 1))
        arc_scores(keys, tags, n_tags, first, n, feats, weights, shift, arc)
        found = np.empty((len(charges), n), np.int32)
        best_tree(
            keys,
            tags,
            n_tags,
            first,
            n,
            feats,
            weights,
            shift,
            order,
            projective,
            margin,
            charges,
            arc,
            found[0, :0],
            found,
        )
        heads[:, first + 1 : first + 1 + n] = found
