"""Inside, outside and expected counts of a latent-variable PCFG over rule applications."""

from __future__ import annotations

import math

import numpy as np

from eigentext.base.compiling import njit
from eigentext.constituency.kernels.tensors import (
    add_counts,
    pair_scratch,
    rule_in,
    rule_out,
    rule_tensor,
    states_of,
)

_FAINT = -69.0  # exp of it is 1e-30: nothing beside the others in single precision


@njit(nogil=True)
def fine_inside(applications, tensors, item_span, item_ptr, span_items, weight, inside, scale):
    """Bottom-up over groups of applications with the same parent span."""
    # ``inside`` and ``scale`` of the items over words are filled in; see :class:`Sweeps`.
    app_rule, app_parent, app_left, app_right, group_ptr, group_span = applications
    pair = pair_scratch(tensors)
    # inside[item][h1] = p(words of the item's span | its label, state h1)
    #   = sum over the applications under it of
    #     tensor[r][h1, h2, h3] inside[left][h2] inside[right][h3]
    # Time O(m^3) for an application with m states a label, O(m k + k^3) where its tensor has rank
    # k; memory one number an item and state.
    for g in range(len(group_ptr) - 1):
        s = group_span[g]
        # All items of a span share a scale, so that their sums need no factors of their own; the
        # heaviest application sets the unit while they are summed.
        ref = -np.inf
        for p in range(group_ptr[g], group_ptr[g + 1]):
            both = scale[item_span[app_left[p]]] + scale[item_span[app_right[p]]]
            if both > ref:
                ref = both
        if ref == -np.inf:
            scale[s] = -np.inf
            continue
        for p in range(group_ptr[g], group_ptr[g + 1]):
            left, right = app_left[p], app_right[p]
            factor = math.exp(scale[item_span[left]] + scale[item_span[right]] - ref)
            if factor < 1e-30:
                continue
            of_left, of_right = (
                states_of(inside, item_ptr, left),
                states_of(inside, item_ptr, right),
            )
            out = states_of(inside, item_ptr, app_parent[p])
            rule_in(tensors, app_rule[p], of_left, of_right, np.float32(factor), pair, out)
        top = 0.0
        first, last = item_ptr[span_items[s]], item_ptr[span_items[s + 1]]
        for h in range(first, last):
            size = abs(inside[h])  # spectral numbers may be negative
            if size > top:
                top = size
        if top > 0.0:
            scale[s] = ref + math.log(top) + weight[s]
            inv = np.float32(1.0 / top)
            for h in range(first, last):
                inside[h] *= inv
        else:
            scale[s] = -np.inf


@njit(nogil=True)
def fine_outside(
    applications, tensors, item_span, item_ptr, weight, inside, scale, outside, posterior
):
    """Top-down over the same groups; ``posterior`` gets the rule posterior of each application."""
    # ``outside`` of the roots is filled in; see :class:`Sweeps`.
    app_rule, app_parent, app_left, app_right, group_ptr, group_span = applications
    pair = pair_scratch(tensors)
    # outside[item][h] = p(all words but those of its span, its label, state h) / Z, times
    # exp(scale) of its span.  An application adds to both of its children:
    #   outside[left][h2]  += sum over h1, h3 of outside[parent][h1] tensor[h1, h2, h3]
    #                                            inside[right][h3]
    # Groups backwards: whatever is above an item is finished when its own group comes.
    for g in range(len(group_ptr) - 2, -1, -1):
        s = group_span[g]
        if scale[s] == -np.inf:
            continue
        for p in range(group_ptr[g], group_ptr[g + 1]):
            left, right = app_left[p], app_right[p]
            exponent = scale[item_span[left]] + scale[item_span[right]] + weight[s] - scale[s]
            if exponent < _FAINT:
                continue
            above = states_of(outside, item_ptr, app_parent[p])
            of_left, of_right = (
                states_of(inside, item_ptr, left),
                states_of(inside, item_ptr, right),
            )
            to_left, to_right = (
                states_of(outside, item_ptr, left),
                states_of(outside, item_ptr, right),
            )
            factor = np.float32(
                math.exp(exponent)
            )  # from the scales of both children to the parent's
            posterior[p] = rule_out(
                tensors, app_rule[p], above, of_left, of_right, factor, pair, to_left, to_right
            )


@njit(nogil=True)
def chart_counts(applications, tensors, item_span, sweeps, weight, least, counts):
    """Add the expected rules with states of one sentence to ``counts``, times ``weight``."""
    # Applications with a posterior of ``least`` or less count for nothing.
    app_rule, app_parent, app_left, app_right, _, _ = applications
    item_ptr, inside, scale = sweeps.item_ptr, sweeps.inside, sweeps.scale
    rule_ptr = tensors.rule_ptr
    pair = pair_scratch(tensors)
    for p in range(len(app_rule)):
        if sweeps.applications[p] <= least:
            continue
        left, right, parent, r = app_left[p], app_right[p], app_parent[p], app_rule[p]
        exponent = scale[item_span[left]] + scale[item_span[right]] - scale[item_span[parent]]
        above, tensor = states_of(sweeps.outside, item_ptr, parent), rule_tensor(tensors, r)
        of_left, of_right = states_of(inside, item_ptr, left), states_of(inside, item_ptr, right)
        factor = np.float32(math.exp(exponent) * weight)
        out = counts[rule_ptr[r] : rule_ptr[r + 1]]
        add_counts(tensor, above, of_left, of_right, factor, pair, out)
