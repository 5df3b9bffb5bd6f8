"""Coarse inside and outside, and the Viterbi pass: arrays and scalars only, nothing is checked.

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

from eigentext.constituency.kernels_fine import add_counts


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


@njit(cache=True)
def viterbi_up(
    app_rule,
    app_parent,
    app_left,
    app_right,
    group_ptr,
    group_span,
    span_items,
    word_of_item,
    rules,
    m,
    rule_ptr,
    tensor,
    item_ptr,
    best,
    application,
    scaled,
    top,
):
    """Best log weight of every item and state, bottom-up, and the application that gave it.

    ``scaled`` is exp(best - top of the item): products of three of them cannot overflow.
    """
    for item in range(len(top)):
        if word_of_item[item] >= 0:
            _scale_item(item, item_ptr, best, scaled, top)
    for g in range(len(group_ptr) - 1):
        for p in range(group_ptr[g], group_ptr[g + 1]):
            one, two, a = app_left[p], app_right[p], app_parent[p]
            both = top[one] + top[two]
            if both == -np.inf:
                continue
            r = app_rule[p]
            mb, mc = m[rules[r, 1]], m[rules[r, 2]]
            for x in range(m[rules[r, 0]]):
                found = 0.0
                for y in range(mb):
                    weight = scaled[item_ptr[one] + y]
                    at = rule_ptr[r] + (x * mb + y) * mc
                    for z in range(mc):
                        v = weight * tensor[at + z] * scaled[item_ptr[two] + z]
                        if v > found:
                            found = v
                if found > 0.0:
                    v = math.log(found) + both
                    if v > best[item_ptr[a] + x]:
                        best[item_ptr[a] + x] = v
                        application[item_ptr[a] + x] = p
        s = group_span[g]
        for item in range(span_items[s], span_items[s + 1]):
            _scale_item(item, item_ptr, best, scaled, top)


@njit(cache=True)
def _scale_item(item, item_ptr, best, scaled, top):
    high = -np.inf
    for h in range(item_ptr[item], item_ptr[item + 1]):
        high = max(high, best[h])
    top[item] = high
    if high > -np.inf:
        for h in range(item_ptr[item], item_ptr[item + 1]):
            scaled[h] = math.exp(best[h] - high)


@njit(cache=True)
def viterbi_down(
    app_rule,
    app_left,
    app_right,
    rules,
    m,
    rule_ptr,
    tensor,
    item_ptr,
    application,
    scaled,
    root,
    state,
    chosen,
):
    """Follow the best derivation from the root; ``chosen`` gets the application of each item."""
    pending = np.empty((len(chosen) + 1, 2), np.int64)
    pending[0, 0], pending[0, 1] = root, state
    n_pending = 1
    while n_pending > 0:
        n_pending -= 1
        item, x = pending[n_pending, 0], pending[n_pending, 1]
        p = application[item_ptr[item] + x]
        if p < 0:
            continue
        chosen[item] = p
        one, two, r = app_left[p], app_right[p], app_rule[p]
        mb, mc = m[rules[r, 1]], m[rules[r, 2]]
        found, best_y, best_z = -1.0, 0, 0
        for y in range(mb):
            for z in range(mc):
                v = (
                    scaled[item_ptr[one] + y]
                    * tensor[rule_ptr[r] + (x * mb + y) * mc + z]
                    * scaled[item_ptr[two] + z]
                )
                if v > found:
                    found, best_y, best_z = v, y, z
        pending[n_pending, 0], pending[n_pending, 1] = one, best_y
        pending[n_pending + 1, 0], pending[n_pending + 1, 1] = two, best_z
        n_pending += 2


@njit(cache=True)
def tree_inside(
    label, rule, left, right, rules, m, rule_ptr, tensor, root, label_ptr, node_ptr, inside
):
    """Log weight of one tree in preorder; ``inside`` of the nodes over words is filled in."""
    total = 0.0
    for node in range(len(label) - 1, -1, -1):
        a, r = label[node], rule[node]
        if r >= 0:
            one, two = node_ptr[left[node]], node_ptr[right[node]]
            mb, mc = m[rules[r, 1]], m[rules[r, 2]]
            for x in range(m[a]):
                value = 0.0
                for y in range(mb):
                    at = rule_ptr[r] + (x * mb + y) * mc
                    part = 0.0
                    for z in range(mc):
                        part += tensor[at + z] * inside[two + z]
                    value += part * inside[one + y]
                inside[node_ptr[node] + x] = value
        top = 0.0
        for x in range(m[a]):
            top = max(top, abs(inside[node_ptr[node] + x]))
        if top == 0.0:
            return -np.inf
        total += math.log(top)
        for x in range(m[a]):
            inside[node_ptr[node] + x] /= top
    weight = 0.0
    for x in range(m[label[0]]):
        weight += root[label_ptr[label[0]] + x] * inside[node_ptr[0] + x]
    return total + math.log(weight) if weight > 0.0 else -np.inf


@njit(cache=True)
def chart_counts(
    app_rule,
    app_parent,
    app_left,
    app_right,
    posterior,
    rules,
    m,
    rule_ptr,
    tensor,
    item_span,
    item_ptr,
    inside,
    scale,
    outside,
    weight,
    least,
    counts,
):
    """Add the expected rules with states of one sentence to ``counts``, times ``weight``.

    Applications with a posterior of ``least`` or less count for nothing.
    """
    widest = m.max()
    pair = np.empty(widest * widest, np.float32)
    for p in range(len(app_rule)):
        if posterior[p] <= least:
            continue
        one, two, a = app_left[p], app_right[p], app_parent[p]
        exponent = scale[item_span[one]] + scale[item_span[two]] - scale[item_span[a]]
        r = app_rule[p]
        ma, mb, mc = m[rules[r, 0]], m[rules[r, 1]], m[rules[r, 2]]
        add_counts(
            tensor,
            rule_ptr[r],
            ma,
            mb,
            mc,
            outside[item_ptr[a] : item_ptr[a] + ma],
            inside[item_ptr[one] : item_ptr[one] + mb],
            inside[item_ptr[two] : item_ptr[two] + mc],
            np.float32(math.exp(exponent) * weight),
            pair,
            counts,
        )
