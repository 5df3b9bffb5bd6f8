"""The best tree of a chart: by additive scores, or by the best derivation with states."""

from __future__ import annotations

import math

import numpy as np

from eigentext.base.compiling import njit


@njit(nogil=True)
def best_by_score(app_parent, app_left, app_right, app_score, item_is_tag, item_score, best_app):
    """Viterbi over applications (bottom-up order) with additive scores."""
    # item_score[item] = max over its applications of app_score + item_score of both children;
    # best_app[item] is the first application that reaches it, -1 for tags.  Time O(applications).
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


@njit(nogil=True)
def viterbi_up(
    applications, tensors, span_items, word_of_item, item_ptr, best, application, scaled, top
):
    """Best log weight of every item and state, bottom-up, and the application that gave it.

    ``scaled`` is exp(best - top of the item): products of three of them cannot overflow.
    """
    app_rule, app_parent, app_left, app_right, group_ptr, group_span = applications
    rules, m, rule_ptr, tensor, _ = tensors
    for item in range(len(top)):
        if word_of_item[item] >= 0:
            _scale_item(item, item_ptr, best, scaled, top)
    # best[item][h1] = max over applications, h2, h3 of the logs of
    #   tensor[r][h1, h2, h3] best[left][h2] best[right][h3]
    # The maximum of the products is found first, so that a log is taken once for each h1.
    # Time O(m^3) for an application.
    for g in range(len(group_ptr) - 1):
        for p in range(group_ptr[g], group_ptr[g + 1]):
            left, right, parent = app_left[p], app_right[p], app_parent[p]
            both = top[left] + top[right]
            if both == -np.inf:
                continue
            r = app_rule[p]
            mb, mc = m[rules[r, 1]], m[rules[r, 2]]
            for x in range(m[rules[r, 0]]):
                heaviest = 0.0
                for y in range(mb):
                    weight = scaled[item_ptr[left] + y]
                    at = rule_ptr[r] + (x * mb + y) * mc
                    for z in range(mc):
                        v = weight * tensor[at + z] * scaled[item_ptr[right] + z]
                        if v > heaviest:
                            heaviest = v
                if heaviest > 0.0:
                    v = math.log(heaviest) + both
                    if v > best[item_ptr[parent] + x]:
                        best[item_ptr[parent] + x] = v
                        application[item_ptr[parent] + x] = p
        s = group_span[g]
        for item in range(span_items[s], span_items[s + 1]):
            _scale_item(item, item_ptr, best, scaled, top)


@njit
def _scale_item(item, item_ptr, best, scaled, top):
    high = -np.inf
    for h in range(item_ptr[item], item_ptr[item + 1]):
        high = max(high, best[h])
    top[item] = high
    if high > -np.inf:
        for h in range(item_ptr[item], item_ptr[item + 1]):
            scaled[h] = math.exp(best[h] - high)


@njit(nogil=True)
def viterbi_down(applications, tensors, item_ptr, application, scaled, root, state, chosen):
    """Follow the best derivation from the root; ``chosen`` gets the application of each item."""
    app_rule, _, app_left, app_right, _, _ = applications
    rules, m, rule_ptr, tensor, _ = tensors
    pending = np.empty((len(chosen) + 1, 2), np.int64)
    pending[0, 0], pending[0, 1] = root, state
    n_pending = 1
    # Only applications were remembered: the two states below each are found again by the same
    # products, which costs one tensor for each node of the tree.
    while n_pending > 0:
        n_pending -= 1
        item, x = pending[n_pending, 0], pending[n_pending, 1]
        p = application[item_ptr[item] + x]
        if p < 0:
            continue
        chosen[item] = p
        left, right, r = app_left[p], app_right[p], app_rule[p]
        mb, mc = m[rules[r, 1]], m[rules[r, 2]]
        heaviest, best_y, best_z = -1.0, 0, 0
        for y in range(mb):
            for z in range(mc):
                v = (
                    scaled[item_ptr[left] + y]
                    * tensor[rule_ptr[r] + (x * mb + y) * mc + z]
                    * scaled[item_ptr[right] + z]
                )
                if v > heaviest:
                    heaviest, best_y, best_z = v, y, z
        pending[n_pending, 0], pending[n_pending, 1] = left, best_y
        pending[n_pending + 1, 0], pending[n_pending + 1, 1] = right, best_z
        n_pending += 2
