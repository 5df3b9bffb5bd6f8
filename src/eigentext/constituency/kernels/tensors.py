"""Rule tensors: smoothed from counts, and contracted with the vectors of their three labels.

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
