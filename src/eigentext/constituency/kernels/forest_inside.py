"""The weights of all trees of a forest under a model: each derivation is worked out once."""

from __future__ import annotations

import math

import numpy as np

from eigentext.base.compiling import njit
from eigentext.constituency.kernels.tensors import pair_scratch, rule_in, states_of


@njit(nogil=True)
def bottom_up(roots, table, order):
    """The rows that the roots are made of, children first; how many there are."""
    _, _, row_app, row_left, row_right, _, _, _, _ = table
    # Depth first: a row is done when both its children are.  Trees share rows, each is done once.
    done = np.zeros(len(row_app), np.bool_)
    # a row waits above its two children at the most once for each side
    pending = np.empty(2 * len(row_app) + 2, np.int64)
    n = 0
    for root in roots:
        pending[0], n_pending = root, 1
        while n_pending > 0:
            row = pending[n_pending - 1]
            if done[row]:
                n_pending -= 1
            elif row_app[row] >= 0 and not done[row_left[row]]:
                pending[n_pending] = row_left[row]
                n_pending += 1
            elif row_app[row] >= 0 and not done[row_right[row]]:
                pending[n_pending] = row_right[row]
                n_pending += 1
            else:
                done[row] = True
                order[n] = row
                n += 1
                n_pending -= 1
    return n


@njit(nogil=True)
def inside_rows(order, table, app_rule, label, tensors, position, row_ptr, inside, scale):
    """``inside`` of every row, children first, over its largest value; ``scale`` has the logs.

    ``position`` (rows,) is where a row stands in ``order``; the rows over words are filled in.
    """
    _, _, row_app, row_left, row_right, _, _, _, _ = table
    m = tensors.m
    scratch = pair_scratch(tensors).astype(np.float64)
    # inside[row][h1] = sum over h2, h3 of tensor[r][h1, h2, h3] inside[left][h2] inside[right][h3]
    for at in range(len(order)):
        row = order[at]
        app = row_app[row]
        n_states = m[label[at]]
        total = 0.0
        if app >= 0:
            r = app_rule[app]
            left, right = position[row_left[row]], position[row_right[row]]
            total = scale[left] + scale[right]
            rule_in(
                tensors,
                r,
                states_of(inside, row_ptr, left),
                states_of(inside, row_ptr, right),
                1.0,
                scratch,
                states_of(inside, row_ptr, at),
            )
        # by size: signed numbers of the moments estimator may be negative
        top = 0.0
        for x in range(n_states):
            top = max(top, abs(inside[row_ptr[at] + x]))
        if top == 0.0:
            scale[at] = -np.inf
            continue
        scale[at] = total + math.log(top)
        for x in range(n_states):
            inside[row_ptr[at] + x] /= top
