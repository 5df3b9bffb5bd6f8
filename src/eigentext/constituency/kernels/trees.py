"""Inside, outside and expected counts of a latent-variable PCFG over trees that are known; the
weights of all trees of a forest, in which each derivation is worked out once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Float32s, Float64s, Int64s
from eigentext.constituency.kernels.tensors import (
    add_counts,
    contract_in,
    contract_out,
    pair_scratch,
    rule_in,
    rule_tensor,
    states_of,
)


class TreeSweeps(NamedTuple):
    """Both sweeps over trees: the states of node i stand at ``node_ptr[i] : node_ptr[i + 1]``."""

    node_ptr: Int64s
    inside: Float32s
    outside: Float32s
    log_scale: Float64s  # log of what ``inside`` of each node was divided by


@njit(nogil=True)
def tree_inside(skeleton, tensors, root, label_ptr, node_ptr, inside):
    """Log weight of one tree in preorder; ``inside`` of the nodes over words is filled in."""
    label, rule, left, right = skeleton
    m = tensors.m
    scratch = pair_scratch(tensors).astype(np.float64)
    total = 0.0
    # inside[node][h1] = p(what is below the node | its label, state h1), over its largest state
    #   = sum over h2, h3 of tensor[r][h1, h2, h3] inside[left][h2] inside[right][h3]
    # Preorder backwards is bottom-up.  Time O(m^3) a node, less in low rank.
    for node in range(len(label) - 1, -1, -1):
        a, r = label[node], rule[node]
        if r >= 0:
            of_left = states_of(inside, node_ptr, left[node])
            of_right = states_of(inside, node_ptr, right[node])
            rule_in(tensors, r, of_left, of_right, 1.0, scratch, states_of(inside, node_ptr, node))
        # by size: numbers of the moments estimator may be negative
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


@njit(nogil=True)
def sweep_trees(skeletons, roots, trees, tensors, root, label_ptr, sweeps, log_likelihood):
    """Inside and outside of some trees; ``inside`` of preterminals is filled in already."""
    # ``skeletons`` has the nodes of all trees, which begin at ``roots``; ``trees`` (begin, end)
    # are those to be swept.  A tree to which the model gives no weight has outside 0 (log -inf).
    label = skeletons.label
    node_ptr, inside, outside, _ = sweeps
    pair = pair_scratch(tensors)
    for t in range(trees[0], trees[1]):
        first = roots[t]
        last = len(label) if t + 1 == len(roots) else roots[t + 1]
        # up, then Z = root . inside at the top, then down
        total_scale = _inside_of_tree(first, last, skeletons, tensors, sweeps, pair)
        top = states_of(inside, node_ptr, first)
        of_root = root[label_ptr[label[first]] : label_ptr[label[first] + 1]]
        z = 0.0
        for x in range(len(top)):
            z += of_root[x] * top[x]
        if total_scale == -np.inf or z <= 0.0:
            log_likelihood[t] = -np.inf
            for at in range(node_ptr[first], node_ptr[last]):
                outside[at] = np.float32(0.0)
            continue
        log_likelihood[t] = total_scale + math.log(z)
        for x in range(len(top)):
            outside[node_ptr[first] + x] = np.float32(of_root[x] / z)
        _outside_of_tree(first, last, skeletons, tensors, sweeps, pair)


@njit(nogil=True)
def count_rules(nodes, skeletons, tensors, sweeps, counts):
    """Expected rules with states of swept trees; ``nodes`` stand in the order of their rules."""
    # Threads that are given different rules write to different parts of ``counts``, and whatever
    # the threads, the nodes of one rule are added up in the same order.
    _, rule, left, right = skeletons
    node_ptr, inside, outside, log_scale = sweeps
    rule_ptr = tensors.rule_ptr
    pair = pair_scratch(tensors)
    for node in nodes:
        r = rule[node]
        # posterior of the three states = outside * tensor * both insides, over what the inside of
        # the node was divided by
        above, tensor = states_of(outside, node_ptr, node), rule_tensor(tensors, r)
        of_left = states_of(inside, node_ptr, left[node])
        of_right = states_of(inside, node_ptr, right[node])
        factor = np.float32(math.exp(-log_scale[node]))
        out = counts[rule_ptr[r] : rule_ptr[r + 1]]
        add_counts(tensor, above, of_left, of_right, factor, pair, out)


@njit(nogil=True)
def count_states(skeletons, roots, trees, label_ptr, sweeps, of_states, of_roots):
    """Posteriors of the states of every node of some trees, in place of ``outside``; their sums.

    inside * outside is the posterior of each node's state.
    """
    label = skeletons.label
    node_ptr, inside, outside, _ = sweeps
    for t in range(trees[0], trees[1]):
        first = roots[t]
        last = len(label) if t + 1 == len(roots) else roots[t + 1]
        for node in range(first, last):
            for x in range(node_ptr[node + 1] - node_ptr[node]):
                p = outside[node_ptr[node] + x] * inside[node_ptr[node] + x]
                # outside is not needed any more
                outside[node_ptr[node] + x] = p
                of_states[label_ptr[label[node]] + x] += p
                if node == first:
                    of_roots[label_ptr[label[node]] + x] += p


@njit
def _inside_of_tree(first, last, skeletons, tensors, sweeps, pair):
    """The recurrence of ``tree_inside`` over nodes first..last-1, in single precision."""
    # Returns the sum of the logs of the scales, -inf when a node has no weight.
    _, rule, left, right = skeletons
    node_ptr, inside, _, log_scale = sweeps
    total_scale = 0.0
    for node in range(last - 1, first - 1, -1):
        at_node = states_of(inside, node_ptr, node)
        if rule[node] >= 0:
            at_node[:] = np.float32(0.0)
            tensor = rule_tensor(tensors, rule[node])
            of_left = states_of(inside, node_ptr, left[node])
            of_right = states_of(inside, node_ptr, right[node])
            contract_in(tensor, of_left, of_right, np.float32(1.0), pair, at_node)
        top = np.float32(0.0)
        for x in range(len(at_node)):
            if at_node[x] > top:
                top = at_node[x]
        if top > 0.0:
            log_scale[node] = math.log(top)
            total_scale += log_scale[node]
            for x in range(len(at_node)):
                at_node[x] /= top
        else:
            total_scale = -np.inf
    return total_scale


@njit
def _outside_of_tree(first, last, skeletons, tensors, sweeps, pair):
    """Outside of the nodes below the root: in preorder every parent is before its children."""
    _, rule, left, right = skeletons
    node_ptr, inside, outside, log_scale = sweeps
    for node in range(first, last):
        r = rule[node]
        if r < 0:
            continue
        tensor = rule_tensor(tensors, r)
        above = states_of(outside, node_ptr, node)
        in_left = states_of(inside, node_ptr, left[node])
        in_right = states_of(inside, node_ptr, right[node])
        out_left = states_of(outside, node_ptr, left[node])
        out_right = states_of(outside, node_ptr, right[node])
        out_left[:] = np.float32(0.0)
        out_right[:] = np.float32(0.0)
        # the node's inside was divided by its maximum: the same factor keeps posteriors right
        factor = np.float32(math.exp(-log_scale[node]))
        contract_out(tensor, above, in_left, in_right, factor, pair, out_left, out_right)


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
    """``inside`` of every row, children first, over its largest value; ``scale`` has the logs."""
    # ``position`` (rows,) is where a row stands in ``order``; the rows over words are filled in.
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
            of_left, of_right = states_of(inside, row_ptr, left), states_of(inside, row_ptr, right)
            rule_in(tensors, r, of_left, of_right, 1.0, scratch, states_of(inside, row_ptr, at))
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
