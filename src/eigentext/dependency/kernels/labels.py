"""Relations of the arcs of a tree: from the root down, children from left to right.

A template's items are hashed in turn into a place; the weights of all relations for it are the
``n_labels`` numbers from there on.  Items name a word by its role to the arc h -> d: h, d, the
head's head g, the children of h next to d on its left and right a and b, the first and last child
of d i and j, every child of d c, every other child of h s.  Slot ``n_slots`` is the relation that
the word got already, slot ``n_slots + 1`` the distance.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from eigentext.dependency.kernels.features import (
    BEFORE,
    BEHIND,
    COUNTED,
    MIXER,
    NOBODY,
    S29,
    distance_place,
)

EACH_CHILD, EACH_SIBLING = 7, 8


@njit(cache=True)
def family(heads, n):
    """(n + 1, 5): first child, last child, next and previous child of the same head; the order.

    The last column lists the words from the root down.
    """
    found = np.full((n + 1, 5), -1, np.int64)
    for d in range(1, n + 1):
        h = heads[d - 1]
        if found[h, 0] < 0:
            found[h, 0] = d
        else:
            found[d, 3] = found[h, 1]
            found[found[h, 1], 2] = d
        found[h, 1] = d
    done = 0
    found[0, 4] = 0
    ready = 1
    while done < ready:
        child = found[found[done, 4], 0]
        while child > 0:
            found[ready, 4] = child
            ready += 1
            child = found[child, 2]
        done += 1
    return found


@njit(cache=True, inline="always")
def slot_key(keys, first, n, labels, row, slot, offset, h, d):
    """Key of one item; a row of -1 is a word that is not there."""
    n_slots = keys.shape[1]
    if slot == n_slots + 1:
        return COUNTED * np.uint64(distance_place(h, d))
    if row < 0:
        return NOBODY
    if slot == n_slots:
        return COUNTED * np.uint64(labels[row - 1] + 2) if row > 0 else BEFORE
    row += offset
    if row < 0:
        return BEFORE
    if row > n:
        return BEHIND
    return keys[first + row, slot]


@njit(cache=True)
def label_places(keys, first, n, heads, labels, kin, d, spec, seeds, shift, out):
    """Places of the templates of the arc to d; how many."""
    h = heads[d - 1]
    rows = np.empty(9, np.int64)
    rows[0], rows[1] = h, d
    rows[2] = heads[h - 1] if h > 0 else -1
    rows[3], rows[4] = kin[d, 3], kin[d, 2]
    rows[5], rows[6] = kin[d, 0], kin[d, 1]
    side = np.uint64(1 if d > h else 0)
    at = 0
    for t in range(spec.shape[0]):
        x = seeds[t] + side
        each = 0
        for j in range(spec.shape[1]):
            slot = spec[t, j, 1]
            if slot < 0:
                break
            role = spec[t, j, 0]
            if role >= EACH_CHILD:
                each = role
                continue
            key = slot_key(keys, first, n, labels, rows[role], slot, spec[t, j, 2], h, d)
            x = (x ^ key) * MIXER
            x ^= x >> S29
        if each == 0:
            out[at] = np.int64((x * MIXER) >> shift)
            at += 1
            continue
        word = kin[d, 0] if each == EACH_CHILD else kin[h, 0]
        while word > 0:
            if word != d:
                y = x
                for j in range(spec.shape[1]):
                    slot = spec[t, j, 1]
                    if slot < 0:
                        break
                    if spec[t, j, 0] == each:
                        key = slot_key(keys, first, n, labels, word, slot, spec[t, j, 2], h, d)
                        y = (y ^ key) * MIXER
                        y ^= y >> S29
                out[at] = np.int64((y * MIXER) >> shift)
                at += 1
            word = kin[word, 2]
    return at


@njit(cache=True)
def score_labels(places, n_places, weights, scores):
    """Sums of the weights of each relation."""
    scores[:] = 0.0
    for i in range(n_places):
        p = places[i]
        for k in range(len(scores)):
            scores[k] += weights[p + k]


@njit(cache=True)
def label_all(starts, keys, heads, spec, seeds, weights, shift, n_labels, root_label, labels):
    """Relations of all sentences; the root's word gets ``root_label`` if that is not -1, and no
    other word does."""
    scores = np.empty(n_labels, np.float32)
    for number in range(len(starts) - 1):
        first = starts[number]
        n = starts[number + 1] - first - 1
        mine = labels[first + 1 : first + 1 + n]
        mine[:] = -1
        tree = heads[first + 1 : first + 1 + n]
        kin = family(tree, n)
        places = np.empty(spec.shape[0] * (n + 1), np.int64)
        for i in range(1, n + 1):
            d = kin[i, 4]
            if tree[d - 1] == 0 and root_label >= 0:
                mine[d - 1] = root_label
                continue
            many = label_places(keys, first, n, tree, mine, kin, d, spec, seeds, shift, places)
            score_labels(places, many, weights, scores)
            if root_label >= 0:
                scores[root_label] = -np.inf
            mine[d - 1] = np.argmax(scores)


@njit(cache=True)
def label_pass(
    sentences,
    starts,
    keys,
    heads,
    gold,
    spec,
    seeds,
    weights,
    sums,
    shift,
    n_labels,
    root_label,
    margin,
    clip,
    time,
    wrong,
):
    """One pass of training on gold trees: each relation must win by ``margin``; the new time."""
    scores = np.empty(n_labels, np.float32)
    for number in sentences:
        first = starts[number]
        n = starts[number + 1] - first - 1
        mine = np.full(n, -1, np.int32)
        tree = heads[first + 1 : first + 1 + n]
        kin = family(tree, n)
        places = np.empty(spec.shape[0] * (n + 1), np.int64)
        for i in range(1, n + 1):
            d = kin[i, 4]
            right = gold[first + d]
            if tree[d - 1] == 0 and root_label >= 0:
                mine[d - 1] = root_label
                continue
            time += 1
            many = label_places(keys, first, n, tree, mine, kin, d, spec, seeds, shift, places)
            score_labels(places, many, weights, scores)
            if root_label >= 0:
                scores[root_label] = -np.inf
            mine[d - 1] = np.argmax(scores)
            wrong[0] += mine[d - 1] != right
            won = scores[right]
            scores[right] = -np.inf
            rival = np.argmax(scores)
            missing = margin - (won - scores[rival])
            if missing <= 0.0:
                continue
            step = min(clip, missing / (2.0 * many))
            for k in range(many):
                weights[places[k] + right] += step
                sums[places[k] + right] += step * time
                weights[places[k] + rival] -= step
                sums[places[k] + rival] -= step * time
    return time
