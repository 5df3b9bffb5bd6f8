"""The best tree of a chart: by additive scores, or by the best derivation with states; and the k
best trees, found lazily (Huang and Chiang 2005, algorithm 3).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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
    applications, tensors, item_ptr, application, scaled, span_items, word_of_item, best, top
):
    """Best log weight of every item and state, bottom-up, and the application that gave it."""
    # ``scaled`` is exp(best - top of the item): products of three of them cannot overflow.
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


_UNKNOWN, _NONE = -1, -2


class Derivations(NamedTuple):
    """Derivations of items, one row each; row i < I is the best derivation of item i."""

    score: npt.NDArray[np.float64]  # the sum of the scores of its applications and leaves
    item: npt.NDArray[np.int32]  # the item it is a derivation of
    app: npt.NDArray[np.int32]  # the application on top; -1 over a word
    left: npt.NDArray[np.int32]  # left, right: the derivations of both children
    right: npt.NDArray[np.int32]
    # 0 for the best of its item, 1 for the next; set when its turn comes
    rank: npt.NDArray[np.int32]
    # the next best of the same item; -1 not known yet, -2 there is none
    after: npt.NDArray[np.int32]
    # a hash of the constituents in it, the same for all binarisations of a tree
    key: npt.NDArray[np.uint64]
    heap: npt.NDArray[np.int32]  # (N, 2) children in a heap of derivations whose turn has not come


def room_for(n: int) -> Derivations:
    """An empty table of n rows."""

    def column() -> npt.NDArray[np.int32]:
        return np.empty(n, np.int32)

    columns = column(), column(), column(), column(), column(), column()
    return Derivations(np.empty(n), *columns, np.empty(n, np.uint64), np.empty((n, 2), np.int32))


@njit(nogil=True)
def first_derivations(app_left, app_right, item_score, best_app, item_key, table):
    """Fill in the best derivation of every item; children have smaller spans, but any number."""
    n_items = len(item_score)
    # keys are sums over the tree, so that children must come before parents
    done = np.zeros(n_items, np.bool_)
    pending = np.empty(2 * n_items + 2, np.int64)
    for i in range(n_items):
        table.score[i], table.item[i], table.app[i] = item_score[i], i, best_app[i]
        table.rank[i] = 0
        if best_app[i] < 0:
            table.left[i], table.right[i] = -1, -1
            table.key[i] = item_key[i]
            table.after[i] = _NONE  # a word, or an item without any derivation
            done[i] = True
        else:
            table.left[i], table.right[i] = app_left[best_app[i]], app_right[best_app[i]]
            table.after[i] = _UNKNOWN
    for i in range(n_items):
        if done[i]:
            continue
        pending[0], n_pending = i, 1
        while n_pending > 0:
            top = pending[n_pending - 1]
            left, right = table.left[top], table.right[top]
            if done[top]:
                n_pending -= 1
            elif not done[left]:
                pending[n_pending] = left
                n_pending += 1
            elif not done[right]:
                pending[n_pending] = right
                n_pending += 1
            else:
                table.key[top] = item_key[top] + table.key[left] + table.key[right]
                done[top] = True
                n_pending -= 1


@njit
def _comes_before(a, b, table):
    """By falling score, then in the order of the chart."""
    if table.score[a] != table.score[b]:
        return table.score[a] > table.score[b]
    if table.app[a] != table.app[b]:
        return table.app[a] < table.app[b]
    left_a, left_b = table.rank[table.left[a]], table.rank[table.left[b]]
    if left_a != left_b:
        return left_a < left_b
    return table.rank[table.right[a]] < table.rank[table.right[b]]


@njit
def _merged(a, b, table):
    """The top of two skew heaps made one; -1 is the empty heap."""
    if a < 0:
        return b
    if b < 0:
        return a
    if _comes_before(b, a, table):
        a, b = b, a
    top = a
    # On the way down every node's children change sides: what keeps a skew heap shallow.
    while True:
        below = table.heap[a, 1]
        table.heap[a, 1] = table.heap[a, 0]
        if below < 0:
            table.heap[a, 0] = b
            return top
        if _comes_before(b, below, table):
            below, b = b, below
        table.heap[a, 0] = below
        a = below


@njit
def _new(n, item, app, left, right, app_score, item_key, table):
    """Row n of the table."""
    table.score[n] = table.score[left] + table.score[right] + app_score[app]
    table.item[n], table.app[n], table.left[n], table.right[n] = item, app, left, right
    table.after[n] = _UNKNOWN
    table.key[n] = item_key[item] + table.key[left] + table.key[right]
    table.heap[n, 0] = table.heap[n, 1] = -1


@njit(nogil=True)
def kbest_roots(
    applications, by_item, app_score, item_key, roots, k, most, table, used, top, chosen
):
    """Rows of the k best derivations of the roots with different keys; how many there are."""
    # ``by_item`` are the applications of every item, ``top`` the top of its heap (-3: not built).
    # At most ``most`` derivations are looked at.  -1: the table is full.
    app_ptr, app_order = by_item
    _, _, app_left, app_right, _, _ = applications
    last = np.arange(len(top)).astype(np.int64)  # of every item the last derivation known
    pending = np.empty(len(top) + 1, np.int64)
    room = len(table.score)
    front = roots.copy()  # the derivation of each root whose turn is next; -1: none left
    for r in range(len(roots)):
        if table.score[roots[r]] == -np.inf:
            front[r] = -1
    n_chosen = 0
    for _ in range(most):
        # the best of all roots
        winner = -1
        for r in range(len(front)):
            if front[r] >= 0 and (
                winner < 0 or table.score[front[r]] > table.score[front[winner]]
            ):
                winner = r
        if winner < 0:
            break
        derivation = front[winner]
        is_double = False
        for c in range(n_chosen):
            is_double = is_double or table.key[chosen[c]] == table.key[derivation]
        if not is_double:
            chosen[n_chosen] = derivation
            n_chosen += 1
            if n_chosen == k:
                break
        # Ask its item for the next one.  To know what comes after the last derivation of an item,
        # what comes after its children must be known: they are asked first.
        pending[0], n_pending = table.item[derivation], 1
        while n_pending > 0:
            item = pending[n_pending - 1]
            d = last[item]
            if table.after[d] != _UNKNOWN:
                n_pending -= 1
                continue
            left, right = table.left[d], table.right[d]
            if table.after[right] == _UNKNOWN:
                pending[n_pending] = table.item[right]
                n_pending += 1
                continue
            # (left, right) is reached by one way only: first steps on the left, then on the right
            step_left = table.rank[right] == 0
            if step_left and table.after[left] == _UNKNOWN:
                pending[n_pending] = table.item[left]
                n_pending += 1
                continue
            n_apps = app_ptr[item + 1] - app_ptr[item]
            if used + n_apps + 2 > room:
                return -1
            if top[item] == -3:
                # every application but the best, each with the best derivations of its children
                top[item] = -1
                for at in range(app_ptr[item], app_ptr[item + 1]):
                    p = app_order[at]
                    if p == table.app[item]:
                        continue
                    if table.score[app_left[p]] + table.score[app_right[p]] == -np.inf:
                        continue
                    _new(used, item, p, app_left[p], app_right[p], app_score, item_key, table)
                    top[item] = _merged(top[item], used, table)
                    used += 1
            app = table.app[d]
            if table.after[right] >= 0:
                _new(used, item, app, left, table.after[right], app_score, item_key, table)
                top[item] = _merged(top[item], used, table)
                used += 1
            if step_left and table.after[left] >= 0:
                _new(used, item, app, table.after[left], right, app_score, item_key, table)
                top[item] = _merged(top[item], used, table)
                used += 1
            best = top[item]
            if best < 0:
                table.after[d] = _NONE
            else:
                top[item] = _merged(table.heap[best, 0], table.heap[best, 1], table)
                table.rank[best] = table.rank[d] + 1
                table.after[d] = best
                last[item] = best
            n_pending -= 1
        front[winner] = table.after[derivation]
        if front[winner] == _NONE:
            front[winner] = -1
    return n_chosen
