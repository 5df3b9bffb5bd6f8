"""Inside, outside and expected counts of a latent-variable PCFG over trees that are known."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from eigentext.constituency.kernels.tensors import add_counts, contract_in, contract_out


@njit(cache=True)
def tree_inside(skeleton, tensors, root, label_ptr, node_ptr, inside):
    """Log weight of one tree in preorder; ``inside`` of the nodes over words is filled in.

    ``inside[node_ptr[node] + x]`` is p(what is below the node | its label, state x), divided by
    the largest of its states.
    """
    label, rule, left, right = skeleton
    rules, m, rule_ptr, tensor = tensors
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
def expected_counts(
    skeletons,
    roots,
    tensors,
    node_ptr,
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

    ``skeletons`` has the nodes of all trees, which begin at ``roots``.
    Nodes are in preorder, so a backward sweep is bottom-up.  ``outside`` leaves with the posterior
    of each node's states.  A tree to which the model gives no weight is left out (log -inf).
    """
    label, rule, left, right = skeletons
    _, m, rule_ptr, tensor = tensors
    n_nodes = len(label)
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
