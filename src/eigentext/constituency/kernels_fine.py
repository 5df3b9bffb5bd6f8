"""Latent-variable loops: smoothed rule tensors, inside and outside over rule applications.

A rule tensor lives flat at ``tensor[rule_ptr[r]:]`` in the axis order (parent, left, right).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True)
def smooth_rules(
    counts,
    rule_ptr,
    rules,
    m,
    label_state_ptr,
    label_state_count,
    rule_count,
    label_count,
    C_rule,
    C_pair,
    C_single,
    out,
):
    """q(r, h2, h3 | a, h1) from (expected) counts, backed off in three steps."""
    for r in range(len(rules)):
        a, b, c = rules[r]
        ma, mb, mc = m[a], m[b], m[c]
        base = rule_ptr[r]
        n_r = rule_count[r]
        # P(h2 | r), P(h3 | r), backed off to the label's own distribution over states
        ph2 = np.zeros(mb)
        ph3 = np.zeros(mc)
        for x in range(ma):
            for y in range(mb):
                for z in range(mc):
                    v = counts[base + (x * mb + y) * mc + z]
                    ph2[y] += v
                    ph3[z] += v
        for y in range(mb):
            ph2[y] = (
                ph2[y] + C_single * label_state_count[label_state_ptr[b] + y] / label_count[b]
            ) / max(n_r + C_single, 1e-30)
        for z in range(mc):
            ph3[z] = (
                ph3[z] + C_single * label_state_count[label_state_ptr[c] + z] / label_count[c]
            ) / max(n_r + C_single, 1e-30)
        p_r = n_r / label_count[a]
        q2 = np.empty(mb)
        q3 = np.empty(mc)
        for x in range(ma):
            n_ax = label_state_count[label_state_ptr[a] + x]
            n_rx = 0.0
            q2[:] = 0.0
            q3[:] = 0.0
            for y in range(mb):
                for z in range(mc):
                    v = counts[base + (x * mb + y) * mc + z]
                    n_rx += v
                    q2[y] += v
                    q3[z] += v
            p_rx = (n_rx + C_rule * p_r) / max(n_ax + C_rule, 1e-30)  # a state may be empty
            for y in range(mb):
                q2[y] = (q2[y] + C_single * ph2[y]) / max(n_rx + C_single, 1e-30)
            for z in range(mc):
                q3[z] = (q3[z] + C_single * ph3[z]) / max(n_rx + C_single, 1e-30)
            lam = 0.0
            if n_rx > 0.0:
                lam = math.sqrt(n_rx) / (C_pair + math.sqrt(n_rx))
            for y in range(mb):
                for z in range(mc):
                    at = base + (x * mb + y) * mc + z
                    e = q2[y] * q3[z] * (1.0 - lam)
                    if n_rx > 0.0:
                        e += lam * counts[at] / n_rx
                    out[at] = p_rx * e


@njit(cache=True, fastmath=True)
def contract_in(tensor, at, ma, mb, mc, left, right, factor, pair, out):
    """out[h1] += factor * sum D[h1, h2, h3] left[h2] right[h3]."""
    for y in range(mb):
        ly = left[y] * factor
        for z in range(mc):
            pair[y * mc + z] = ly * right[z]
    width = mb * mc
    for x in range(ma):
        row = tensor[at + x * width : at + (x + 1) * width]
        total = np.float32(0.0)
        for p in range(width):
            total += row[p] * pair[p]
        out[x] += total


@njit(cache=True, fastmath=True)
def contract_out(tensor, at, ma, mb, mc, outer, left, right, factor, pair, out_left, out_right):
    """Outside to both children; returns the posterior of the application."""
    width = mb * mc
    for p in range(width):
        pair[p] = np.float32(0.0)
    for x in range(ma):
        o = outer[x] * factor
        row = tensor[at + x * width : at + (x + 1) * width]
        for p in range(width):
            pair[p] += o * row[p]
    posterior = np.float32(0.0)
    for y in range(mb):
        total = np.float32(0.0)
        ly = left[y]
        for z in range(mc):
            v = pair[y * mc + z]
            total += v * right[z]
            out_right[z] += v * ly
        out_left[y] += total
        posterior += total * ly
    return posterior


@njit(cache=True, fastmath=True)
def add_counts(tensor, at, ma, mb, mc, outer, left, right, factor, pair, counts):
    """counts[h1, h2, h3] += factor * outer[h1] D[h1, h2, h3] left[h2] right[h3]."""
    width = mb * mc
    for y in range(mb):
        ly = left[y] * factor
        for z in range(mc):
            pair[y * mc + z] = ly * right[z]
    for x in range(ma):
        o = outer[x]
        if o != 0.0:
            row = tensor[at + x * width : at + (x + 1) * width]
            into = counts[at + x * width : at + (x + 1) * width]
            for p in range(width):
                into[p] += o * row[p] * pair[p]


@njit(cache=True)
def fine_inside(
    app_rule,
    app_parent,
    app_left,
    app_right,
    group_ptr,
    rules,
    m,
    rule_ptr,
    tensor,
    item_span,
    item_ptr,
    group_span,
    span_items,
    inside,
    scale,
):
    """Bottom-up over groups of applications with the same parent span."""
    widest = m.max()
    pair = np.empty(widest * widest, np.float32)
    for g in range(len(group_ptr) - 1):
        s = group_span[g]
        ref = -np.inf
        for p in range(group_ptr[g], group_ptr[g + 1]):
            both = scale[item_span[app_left[p]]] + scale[item_span[app_right[p]]]
            if both > ref:
                ref = both
        if ref == -np.inf:
            scale[s] = -np.inf
            continue
        for p in range(group_ptr[g], group_ptr[g + 1]):
            one, two, a = app_left[p], app_right[p], app_parent[p]
            factor = math.exp(scale[item_span[one]] + scale[item_span[two]] - ref)
            if factor < 1e-30:
                continue
            rule = app_rule[p]
            ma, mb, mc = m[rules[rule, 0]], m[rules[rule, 1]], m[rules[rule, 2]]
            contract_in(
                tensor,
                rule_ptr[rule],
                ma,
                mb,
                mc,
                inside[item_ptr[one] : item_ptr[one] + mb],
                inside[item_ptr[two] : item_ptr[two] + mc],
                np.float32(factor),
                pair,
                inside[item_ptr[a] : item_ptr[a] + ma],
            )
        top = 0.0
        first, last = item_ptr[span_items[s]], item_ptr[span_items[s + 1]]
        for h in range(first, last):
            size = abs(inside[h])  # spectral numbers may be negative
            if size > top:
                top = size
        if top > 0.0:
            scale[s] = ref + math.log(top)
            inv = np.float32(1.0 / top)
            for h in range(first, last):
                inside[h] *= inv
        else:
            scale[s] = -np.inf


@njit(cache=True)
def fine_outside(
    app_rule,
    app_parent,
    app_left,
    app_right,
    group_ptr,
    rules,
    m,
    rule_ptr,
    tensor,
    item_span,
    item_ptr,
    group_span,
    inside,
    scale,
    outside,
    posterior,
):
    """Top-down over the same groups; ``posterior`` gets the rule posterior of each application."""
    widest = m.max()
    pair = np.empty(widest * widest, np.float32)
    for g in range(len(group_ptr) - 2, -1, -1):
        s = group_span[g]
        if scale[s] == -np.inf:
            continue
        for p in range(group_ptr[g], group_ptr[g + 1]):
            one, two, a = app_left[p], app_right[p], app_parent[p]
            exponent = scale[item_span[one]] + scale[item_span[two]] - scale[s]
            if exponent < -69.0:
                continue
            rule = app_rule[p]
            ma, mb, mc = m[rules[rule, 0]], m[rules[rule, 1]], m[rules[rule, 2]]
            posterior[p] = contract_out(
                tensor,
                rule_ptr[rule],
                ma,
                mb,
                mc,
                outside[item_ptr[a] : item_ptr[a] + ma],
                inside[item_ptr[one] : item_ptr[one] + mb],
                inside[item_ptr[two] : item_ptr[two] + mc],
                np.float32(math.exp(exponent)),
                pair,
                outside[item_ptr[one] : item_ptr[one] + mb],
                outside[item_ptr[two] : item_ptr[two] + mc],
            )


@njit(cache=True)
def best_by_score(app_parent, app_left, app_right, app_score, item_is_tag, item_score, best_app):
    """Viterbi over applications (bottom-up order) with additive scores."""
    for i in range(len(item_score)):
        if not item_is_tag[i]:
            item_score[i] = -np.inf
        best_app[i] = -1
    for p in range(len(app_parent)):
        v = item_score[app_left[p]] + item_score[app_right[p]] + app_score[p]
        a = app_parent[p]
        if v > item_score[a]:
            item_score[a] = v
            best_app[a] = p


@njit(cache=True)
def expected_counts(
    label,
    rule,
    left,
    right,
    roots,
    n_nodes,
    m,
    node_ptr,
    rules,
    rule_ptr,
    tensor,
    root,
    label_ptr,
    inside,
    log_scale,
    outside,
    counts,
    states,
    root_counts,
    log_likelihood,
):
    """E-step over trees whose shape is known; ``inside`` of preterminals is filled in already.

    Nodes are in preorder, so a backward sweep is bottom-up.  ``outside`` leaves with the posterior
    of each node's states.  A tree to which the model gives no weight is left out (log -inf).
    """
    widest = m.max()
    pair = np.empty(widest * widest, np.float32)
    for t in range(len(roots)):
        first = roots[t]
        last = n_nodes if t + 1 == len(roots) else roots[t + 1]
        total_scale = 0.0
        for node in range(last - 1, first - 1, -1):
            a = label[node]
            own = inside[node_ptr[node] : node_ptr[node] + m[a]]
            if rule[node] >= 0:
                one, two = left[node], right[node]
                for x in range(m[a]):
                    own[x] = np.float32(0.0)
                contract_in(
                    tensor,
                    rule_ptr[rule[node]],
                    m[a],
                    m[label[one]],
                    m[label[two]],
                    inside[node_ptr[one] : node_ptr[one] + m[label[one]]],
                    inside[node_ptr[two] : node_ptr[two] + m[label[two]]],
                    np.float32(1.0),
                    pair,
                    own,
                )
            top = np.float32(0.0)
            for x in range(m[a]):
                if own[x] > top:
                    top = own[x]
            if top > 0.0:
                log_scale[node] = math.log(top)
                total_scale += log_scale[node]
                for x in range(m[a]):
                    own[x] /= top
            else:
                total_scale = -np.inf
        a = label[first]
        z = 0.0
        for x in range(m[a]):
            z += root[label_ptr[a] + x] * inside[node_ptr[first] + x]
        if total_scale == -np.inf or z <= 0.0:
            log_likelihood[t] = -np.inf
            continue
        log_likelihood[t] = total_scale + math.log(z)
        for x in range(m[a]):
            outside[node_ptr[first] + x] = np.float32(root[label_ptr[a] + x] / z)
            root_counts[label_ptr[a] + x] += (
                outside[node_ptr[first] + x] * inside[node_ptr[first] + x]
            )
        for node in range(first, last):
            a = label[node]
            own = outside[node_ptr[node] : node_ptr[node] + m[a]]
            if rule[node] >= 0:
                one, two = left[node], right[node]
                b, c = label[one], label[two]
                in_l = inside[node_ptr[one] : node_ptr[one] + m[b]]
                in_r = inside[node_ptr[two] : node_ptr[two] + m[c]]
                out_l = outside[node_ptr[one] : node_ptr[one] + m[b]]
                out_r = outside[node_ptr[two] : node_ptr[two] + m[c]]
                for y in range(m[b]):
                    out_l[y] = np.float32(0.0)
                for z3 in range(m[c]):
                    out_r[z3] = np.float32(0.0)
                # own inside was divided by its maximum: the same factor keeps posteriors right
                factor = np.float32(math.exp(-log_scale[node]))
                contract_out(
                    tensor,
                    rule_ptr[rule[node]],
                    m[a],
                    m[b],
                    m[c],
                    own,
                    in_l,
                    in_r,
                    factor,
                    pair,
                    out_l,
                    out_r,
                )
                add_counts(
                    tensor,
                    rule_ptr[rule[node]],
                    m[a],
                    m[b],
                    m[c],
                    own,
                    in_l,
                    in_r,
                    factor,
                    pair,
                    counts,
                )
        for node in range(first, last):
            a = label[node]
            for x in range(m[a]):
                p = outside[node_ptr[node] + x] * inside[node_ptr[node] + x]
                outside[node_ptr[node] + x] = p
                states[label_ptr[a] + x] += p
