"""Inside and outside of the plain PCFG, which prunes.

Scaling.  The inside values of a span are kept divided by ``exp(scale[span])``, so their maximum
is 1, and the outside values multiplied by ``exp(scale[span]) / Z``: then inside * outside is a
posterior, and every product carries one factor ``exp(scale_left + scale_right - scale_parent)``.
No sentence is too long for that.

Order.  Spans are visited by their end j, then by their start i downwards, so that only the cells
that end at j need a dense row (label -> value); all cells keep a short list of labels.  Memory is
the number of entries plus n dense rows, not the square of n times the labels.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True, inline="always")
def span_id(i, j, n):
    """Number of the span of words i..j-1 of an n-word sentence, row by row."""
    return i * n - (i * (i - 1)) // 2 + (j - i - 1)


@njit(cache=True)
def coarse_inside(
    n,
    n_labels,
    left_ptr,
    left_right,
    left_parent,
    left_p,
    tag_ptr,
    tag_label,
    tag_score,
    mask_of,
    masks,
    prior,
    beam,
    scale,
    list_ptr,
    list_label,
    list_value,
):
    """Inside lists of all cells with a beam in each; returns entries used, or -1 if full."""
    acc = np.zeros(n_labels)
    touched = np.empty(n_labels, np.int32)
    dense = np.zeros((n + 1, n_labels), np.float32)  # row k: cell (k, j) of the current j
    capacity = len(list_label)
    used = 0
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            s = span_id(i, j, n)
            n_touched = 0
            ref = -np.inf
            mask = masks[mask_of[s]]
            list_ptr[s, 0] = used
            list_ptr[s, 1] = used
            scale[s] = -np.inf
            if mask_of[s] == 1:  # mask 1 admits nothing
                continue
            if j == i + 1:
                ref = 0.0
                for t in range(tag_ptr[i], tag_ptr[i + 1]):
                    a = tag_label[t]
                    if acc[a] == 0.0:
                        touched[n_touched] = a
                        n_touched += 1
                    acc[a] += tag_score[t]
            else:
                for k in range(i + 1, j):
                    both = scale[span_id(i, k, n)] + scale[span_id(k, j, n)]
                    if both > ref:
                        ref = both
                if ref == -np.inf:
                    continue
                for k in range(i + 1, j):
                    sl = span_id(i, k, n)
                    exponent = scale[sl] + scale[span_id(k, j, n)] - ref
                    if exponent < -60.0:
                        continue
                    factor = math.exp(exponent)
                    right = dense[k]
                    for e in range(list_ptr[sl, 0], list_ptr[sl, 1]):
                        b = list_label[e]
                        value = list_value[e] * factor
                        for r in range(left_ptr[b], left_ptr[b + 1]):
                            other = right[left_right[r]]
                            if other > 0.0:
                                a = left_parent[r]
                                if acc[a] == 0.0:
                                    touched[n_touched] = a
                                    n_touched += 1
                                acc[a] += value * other * left_p[r]
            best, top = 0.0, 0.0
            for t in range(n_touched):
                a = touched[t]
                if mask[a]:
                    if acc[a] * prior[a] > best:
                        best = acc[a] * prior[a]
                    if acc[a] > top:
                        top = acc[a]
            if used + n_touched > capacity:
                return -1
            for t in range(n_touched):
                a = touched[t]
                # divided before it is stored: single precision ends at 1e-38
                if mask[a] and acc[a] > 0.0 and acc[a] * prior[a] >= beam * best:
                    list_label[used] = a
                    list_value[used] = acc[a] / top
                    dense[i, a] = list_value[used]
                    used += 1
                acc[a] = 0.0
            list_ptr[s, 1] = used
            if top > 0.0:
                scale[s] = ref + math.log(top)
        for k in range(j):
            s = span_id(k, j, n)
            for e in range(list_ptr[s, 0], list_ptr[s, 1]):
                dense[k, list_label[e]] = 0.0
    return used


@njit(cache=True)
def coarse_outside(
    n,
    n_labels,
    left_ptr,
    left_right,
    left_parent,
    left_p,
    left_rule,
    root_p,
    scale,
    list_ptr,
    list_label,
    list_value,
    threshold,
    outside,
    app_rule,
    app_place,
    app_posterior,
):
    """Outside values of all entries, and the rule applications above the threshold, top-down.

    Returns (number of applications, or -1 if there is no room; Z relative to the root's scale).
    """
    capacity = len(app_rule)
    root = span_id(0, n, n)
    z = 0.0
    for e in range(list_ptr[root, 0], list_ptr[root, 1]):
        z += list_value[e] * root_p[list_label[e]]
    if z <= 0.0:
        return 0, 0.0
    for e in range(list_ptr[root, 0], list_ptr[root, 1]):
        outside[e] = root_p[list_label[e]] / z
    place = np.full((n + 1, n_labels), -1, np.int32)  # row k: entries of cell (k, j)
    parent_out = np.zeros(n_labels)
    n_apps = 0
    for j in range(n, 0, -1):
        for k in range(j):
            s = span_id(k, j, n)
            for e in range(list_ptr[s, 0], list_ptr[s, 1]):
                place[k, list_label[e]] = e
        for i in range(j - 1):
            s = span_id(i, j, n)
            alive = False
            for e in range(list_ptr[s, 0], list_ptr[s, 1]):
                if list_value[e] * outside[e] > threshold:
                    parent_out[list_label[e]] = outside[e]
                    alive = True
            if not alive:
                continue
            for k in range(i + 1, j):
                sl = span_id(i, k, n)
                exponent = scale[sl] + scale[span_id(k, j, n)] - scale[s]
                if exponent < -60.0:
                    continue
                factor = math.exp(exponent)
                row = place[k]
                for e in range(list_ptr[sl, 0], list_ptr[sl, 1]):
                    b = list_label[e]
                    value = list_value[e]
                    for r in range(left_ptr[b], left_ptr[b + 1]):
                        out = parent_out[left_parent[r]]
                        if out > 0.0:
                            f = row[left_right[r]]
                            if f >= 0:
                                weight = out * left_p[r] * factor
                                other = list_value[f]
                                outside[e] += weight * other
                                outside[f] += weight * value
                                posterior = weight * value * other
                                if posterior > threshold:
                                    if n_apps == capacity:
                                        return -1, z
                                    app_rule[n_apps] = left_rule[r]
                                    app_place[n_apps, 0] = i
                                    app_place[n_apps, 1] = k
                                    app_place[n_apps, 2] = j
                                    app_posterior[n_apps] = posterior
                                    n_apps += 1
            for e in range(list_ptr[s, 0], list_ptr[s, 1]):
                parent_out[list_label[e]] = 0.0
        for k in range(j):
            s = span_id(k, j, n)
            for e in range(list_ptr[s, 0], list_ptr[s, 1]):
                place[k, list_label[e]] = -1
    return n_apps, z
