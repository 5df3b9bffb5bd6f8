"""Rule tensors: smoothed from counts, and contracted with the vectors of their three labels.

A rule tensor lives flat at ``tensor[rule_ptr[r] : rule_ptr[r + 1]]``, in the axis order (parent,
left, right); h1, h2, h3 are the states of the three.  The contractions take that piece alone, and
the numbers of states from the vectors; ``pair`` is scratch of m_left * m_right numbers or more.
"""

from __future__ import annotations

import math

import numpy as np

from eigentext.base.compiling import njit


@njit
def smooth_rule(n_tensor, n_parent, n_left, n_right, shares, strengths, out):
    """Fill in q(r, h2, h3 | a, h1) of one rule from (expected) counts, backed off in three steps.

    ``n_tensor``   (ma mb mc,) counts of the rule with states, laid out as ``out`` is
    ``n_parent, n_left, n_right``  counts of the states of its labels
    ``shares``     counts without states: of the rule, of its parent, left and right label
    ``strengths``  see ``params``
    """
    ma, mb, mc = len(n_parent), len(n_left), len(n_right)
    n_r, n_a, n_b, n_c = shares
    C_rule, C_pair, C_single = strengths
    # P(h2 | r) and P(h3 | r), backed off to the label's own distribution over states
    p2 = np.zeros(mb)
    p3 = np.zeros(mc)
    for x in range(ma):
        for y in range(mb):
            for z in range(mc):
                v = n_tensor[(x * mb + y) * mc + z]
                p2[y] += v
                p3[z] += v
    for y in range(mb):
        p2[y] = (p2[y] + C_single * n_left[y] / n_b) / max(n_r + C_single, 1e-30)
    for z in range(mc):
        p3[z] = (p3[z] + C_single * n_right[z] / n_c) / max(n_r + C_single, 1e-30)
    p_r = n_r / n_a  # p(r | a), which every state of the parent is drawn towards
    q2 = np.empty(mb)
    q3 = np.empty(mc)
    for x in range(ma):
        # P(h2 | r, h1) and P(h3 | r, h1), backed off to the same without h1
        n_rx = 0.0
        q2[:] = 0.0
        q3[:] = 0.0
        for y in range(mb):
            for z in range(mc):
                v = n_tensor[(x * mb + y) * mc + z]
                n_rx += v
                q2[y] += v
                q3[z] += v
        p_rx = (n_rx + C_rule * p_r) / max(n_parent[x] + C_rule, 1e-30)  # a state may be empty
        for y in range(mb):
            q2[y] = (q2[y] + C_single * p2[y]) / max(n_rx + C_single, 1e-30)
        for z in range(mc):
            q3[z] = (q3[z] + C_single * p3[z]) / max(n_rx + C_single, 1e-30)
        # P(h2, h3 | r, h1), backed off to the product of the two
        # lam: how far the pairs themselves are trusted, more the more of them were counted
        lam = 0.0
        if n_rx > 0.0:
            lam = math.sqrt(n_rx) / (C_pair + math.sqrt(n_rx))
        for y in range(mb):
            for z in range(mc):
                at = (x * mb + y) * mc + z
                e = q2[y] * q3[z] * (1.0 - lam)
                if n_rx > 0.0:
                    e += lam * n_tensor[at] / n_rx
                out[at] = p_rx * e


@njit(nogil=True)
def smooth_rules(layout, block, n_tensor, n_state, n_rule, n_label, strengths, out):
    """The tensors of some rules from (expected) counts ``n_tensor``; ``out`` (cells,)."""
    # ``layout``   rules (R, 3), where each begins in ``out``, and the states of each label
    # ``block``    (begin, end) of the rules
    # ``n_state``  (states of all labels,) counts of states; ``n_rule, n_label`` without states
    rules, rule_ptr, label_ptr = layout
    cells = np.empty(np.diff(rule_ptr).max())  # of the largest tensor
    for r in range(block[0], block[1]):
        begin, end = rule_ptr[r], rule_ptr[r + 1]
        a, b, c = rules[r]
        smooth_rule(
            n_tensor[begin:end],
            n_state[label_ptr[a] : label_ptr[a + 1]],
            n_state[label_ptr[b] : label_ptr[b + 1]],
            n_state[label_ptr[c] : label_ptr[c + 1]],
            (n_rule[r], n_label[a], n_label[b], n_label[c]),
            strengths,
            cells,
        )
        for i in range(end - begin):
            out[begin + i] = cells[i]


@njit(nogil=True)
def smooth_few(layout, block, places, numbers, n_state, n_rule, n_label, strengths, out):
    """The same from the counts that are not 0: ``places`` in ``out``, rising, and ``numbers``."""
    rules, rule_ptr, label_ptr = layout
    counts = np.zeros(np.diff(rule_ptr).max())  # of the largest tensor
    one_ptr = np.zeros(2, np.int64)
    at = np.searchsorted(places, rule_ptr[block[0]])
    for r in range(block[0], block[1]):
        begin, end = rule_ptr[r], rule_ptr[r + 1]
        first = at
        while at < len(places) and places[at] < end:
            counts[places[at] - begin] = numbers[at]
            at += 1
        one_ptr[1] = end - begin
        lone = rules[r : r + 1], one_ptr, label_ptr
        shape = np.int64(0), np.int64(1)
        smooth_rules(lone, shape, counts, n_state, n_rule[r:], n_label, strengths, out[begin:end])
        for i in range(first, at):  # all 0 again, for the next rule
            counts[places[i] - begin] = 0.0


@njit
def large_counts(layout, tensor, least, places, numbers, lost, of_rules):
    """Counts above ``least`` times the largest of their rule, or ``least`` where that is above 1.

    ``places, numbers``  get them, in single precision; empty ones: they are only counted
    ``lost``             (states of all labels,) gets what is left out, by the state of the parent
    ``of_rules``         (R,) gets the sums of what is kept
    """
    rules, rule_ptr, label_ptr = layout
    lost[:] = 0.0
    used = 0
    for r in range(len(rules)):
        begin, end = rule_ptr[r], rule_ptr[r + 1]
        # cells of one state of the parent stand together: width = m_left * m_right
        first = label_ptr[rules[r, 0]]
        width = (end - begin) // (label_ptr[rules[r, 0] + 1] - first)
        bound = least * min(tensor[begin:end].max(), 1.0)
        total = 0.0
        for i in range(begin, end):
            kept = 0.0
            if tensor[i] > bound:
                kept = np.float64(np.float32(tensor[i]))
                if len(places):
                    places[used] = i
                    numbers[used] = kept
                used += 1
            total += kept
            lost[first + (i - begin) // width] += tensor[i] - kept
        of_rules[r] = total
    return used


@njit
def states_of(values, ptr, item):
    """The part of ``values`` that belongs to the states of an item (or of a node)."""
    return values[ptr[item] : ptr[item + 1]]


@njit
def rule_tensor(tensors, rule):
    """The flat tensor of a rule."""
    return tensors.tensor[tensors.rule_ptr[rule] : tensors.rule_ptr[rule + 1]]


@njit
def pair_scratch(tensors):
    """Room for every pair of states of two labels, and for a rule in low rank."""
    widest = tensors.m.max()
    return np.empty(widest * (widest + 5), np.float32)


@njit(fastmath=True)
def rule_in(tensors, rule, left, right, factor, scratch, out):
    """What :func:`contract_in` does, with the tensor whole or in low rank."""
    low = tensors.low
    if len(low.rank) == 0:  # no rule is in low rank
        contract_in(rule_tensor(tensors, rule), left, right, factor, scratch, out)
        return
    k1, k2, k3 = low.rank[rule, 0], low.rank[rule, 1], low.rank[rule, 2]
    at = low.ptr[rule]
    factor *= low.factor[rule]
    if k1 == 0:  # low rank would save little: the tensor itself
        whole = low.values[at : low.ptr[rule + 1]]
        contract_in(whole, left, right, factor, scratch, out)
        return
    values = low.values
    at_B = at + len(out) * k1
    if k2 == 0:  # sum over k of A[:, k] (B[:, k] left) (C[:, k] right)
        at_C = at_B + len(left) * k1
        for k in range(k1):
            weight = _product(values, at_B + k * len(left), left)
            weight *= _product(values, at_C + k * len(right), right) * factor
            _expand(values, at + k * len(out), weight, out)
        return
    # Tucker: tensor = core (k1, k2, k3) with A, B, C on its axes, laid out A, B, C, core.  The
    # vectors go into the small space, the core is contracted like a large one, and A leads out.
    at_C = at_B + len(left) * k2
    core = at_C + len(right) * k3
    of_left, of_right = scratch[:k2], scratch[k2 : k2 + k3]
    above, pair = scratch[k2 + k3 : k1 + k2 + k3], scratch[k1 + k2 + k3 :]
    _project(values, at_B, left, of_left)
    _project(values, at_C, right, of_right)
    for a in range(k1):
        above[a] = 0
    contract_in(values[core : low.ptr[rule + 1]], of_left, of_right, factor, pair, above)
    for a in range(k1):
        _expand(values, at + a * len(out), above[a], out)


@njit(fastmath=True)
def rule_out(tensors, rule, outer, left, right, factor, scratch, out_left, out_right):
    """What :func:`contract_out` does, likewise."""
    low = tensors.low
    if len(low.rank) == 0:
        tensor = rule_tensor(tensors, rule)
        return contract_out(tensor, outer, left, right, factor, scratch, out_left, out_right)
    k1, k2, k3 = low.rank[rule, 0], low.rank[rule, 1], low.rank[rule, 2]
    at = low.ptr[rule]
    factor *= low.factor[rule]
    if k1 == 0:
        whole = low.values[at : low.ptr[rule + 1]]
        return contract_out(whole, outer, left, right, factor, scratch, out_left, out_right)
    values = low.values
    at_B = at + len(outer) * k1
    if k2 == 0:  # each of the k products gives to both children what the other two say
        at_C = at_B + len(left) * k1
        posterior = np.float32(0.0)
        for k in range(k1):
            row_B, row_C = at_B + k * len(left), at_C + k * len(right)
            above = _product(values, at + k * len(outer), outer) * factor
            by_left, by_right = _product(values, row_B, left), _product(values, row_C, right)
            _expand(values, row_B, above * by_right, out_left)
            _expand(values, row_C, above * by_left, out_right)
            posterior += above * by_left * by_right
        return posterior
    # Tucker, as above: three vectors in, the core in the small space, two vectors out
    at_C = at_B + len(left) * k2
    core = at_C + len(right) * k3
    of_outer, of_left = scratch[:k1], scratch[k1 : k1 + k2]
    end = k1 + k2 + k3
    of_right, to_left = scratch[k1 + k2 : end], scratch[end : end + k2]
    to_right, pair = scratch[end + k2 : end + k2 + k3], scratch[end + k2 + k3 :]
    _project(values, at, outer, of_outer)
    _project(values, at_B, left, of_left)
    _project(values, at_C, right, of_right)
    for b in range(k2):
        to_left[b] = 0
    for c in range(k3):
        to_right[c] = 0
    whole = values[core : low.ptr[rule + 1]]
    posterior = contract_out(whole, of_outer, of_left, of_right, factor, pair, to_left, to_right)
    for b in range(k2):
        _expand(values, at_B + b * len(left), to_left[b], out_left)
    for c in range(k3):
        _expand(values, at_C + c * len(right), to_right[c], out_right)
    return posterior


@njit(fastmath=True)
def _project(values, at, vector, out):
    """out[a] = the product of the vector and the a-th of the rows that begin at ``at``."""
    for a in range(len(out)):
        out[a] = _product(values, at + a * len(vector), vector)


@njit(fastmath=True)
def _product(values, at, vector):
    """The product of the vector and the row that begins at ``at``."""
    total = vector[0] * 0
    for h in range(len(vector)):
        total += values[at + h] * vector[h]
    return total


@njit(fastmath=True)
def _expand(values, at, weight, out):
    """out += weight times the row that begins at ``at``."""
    for h in range(len(out)):
        out[h] += values[at + h] * weight


@njit(fastmath=True)
def contract_in(tensor, left, right, factor, pair, out):
    """out[h1] += factor * sum over h2, h3 of tensor[h1, h2, h3] left[h2] right[h3]."""
    mb, mc = len(left), len(right)
    width = mb * mc
    # The outer product of left and right first: what remains is a matrix times a vector.
    for y in range(mb):
        ly = left[y] * factor
        for z in range(mc):
            pair[y * mc + z] = ly * right[z]
    for x in range(len(out)):
        row = tensor[x * width : (x + 1) * width]
        total = np.float32(0.0)
        for p in range(width):
            total += row[p] * pair[p]
        out[x] += total


@njit(fastmath=True)
def contract_out(tensor, outer, left, right, factor, pair, out_left, out_right):
    """Outside to both children; returns the posterior of the application."""
    # out_left[h2]  += factor * sum over h1, h3 of outer[h1] tensor[h1, h2, h3] right[h3]
    # out_right[h3] += factor * sum over h1, h2 of outer[h1] tensor[h1, h2, h3] left[h2]
    mb, mc = len(left), len(right)
    width = mb * mc
    # The sum over h1 is the same for both children: pair[h2, h3] holds it.
    for p in range(width):
        pair[p] = np.float32(0.0)
    for x in range(len(outer)):
        o = outer[x] * factor
        row = tensor[x * width : (x + 1) * width]
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


@njit(fastmath=True)
def add_counts(tensor, outer, left, right, factor, pair, counts):
    """counts[h1, h2, h3] += factor * outer[h1] tensor[h1, h2, h3] left[h2] right[h3]."""
    mb, mc = len(left), len(right)
    width = mb * mc
    # the product of both children is the same for every state of the parent
    for y in range(mb):
        ly = left[y] * factor
        for z in range(mc):
            pair[y * mc + z] = ly * right[z]
    for x in range(len(outer)):
        o = outer[x]
        if o != 0.0:
            row = tensor[x * width : (x + 1) * width]
            into = counts[x * width : (x + 1) * width]
            for p in range(width):
                into[p] += o * row[p] * pair[p]
