"""Inside, outside and expected counts of a latent-variable PCFG over rule applications."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from eigentext.constituency.kernels.tensors import add_counts, contract_in, contract_out


@njit(cache=True)
def fine_inside(applications, tensors, item_span, item_ptr, span_items, inside, scale):
    """Bottom-up over groups of applications with the same parent span.

    ``inside[item_ptr[item] + x]`` is p(words of the span | label of the item, state x), divided by
    exp(scale) of its span; those over words are filled in.  The sum over applications of
    tensor[x, y, z] inside[left][y] inside[right][z] costs m^3 for each of them.
    """
    app_rule, app_parent, app_left, app_right, group_ptr, group_span = applications
    rules, m, rule_ptr, tensor = tensors
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
def fine_outside(applications, tensors, item_span, item_ptr, inside, scale, outside, posterior):
    """Top-down over the same groups; ``posterior`` gets the rule posterior of each application.

    ``outside[item_ptr[item] + x]`` is p(all but the span, label of the item, state x) / Z, times
    exp(scale) of its span; those of the roots are filled in.
    """
    app_rule, app_parent, app_left, app_right, group_ptr, group_span = applications
    rules, m, rule_ptr, tensor = tensors
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
def chart_counts(
    applications,
    posterior,
    tensors,
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
    app_rule, app_parent, app_left, app_right, _, _ = applications
    rules, m, rule_ptr, tensor = tensors
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
