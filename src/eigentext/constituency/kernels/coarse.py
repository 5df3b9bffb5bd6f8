"""Inside and outside of the plain PCFG, which prunes.

Scaling.  The inside values of a span are kept divided by ``exp(scale[span])``, so their maximum
is 1, and the outside values multiplied by ``exp(scale[span]) / Z``: then inside * outside is a
posterior, and every product carries one factor ``exp(scale_left + scale_right - scale_parent)``.
No sentence is too long for that.

Order.  Spans are visited by their end j, then by their start i downwards, so that only the cells
that end at j need a dense row (label -> value); all cells keep a short list of labels.  Memory is
the number of entries plus n dense rows, not the square of n times the labels.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Float32s, Float64s, Int32s, Int64s

PER_LABEL = 2  # to look up a pair of labels takes as long as to try so many rules
_FAINT = -60.0  # splits whose factor is exp(-60) or less add nothing to single precision


class WordTags(NamedTuple):
    """The tags of word i stand at ``ptr[i]`` to ``ptr[i + 1]``, with p(word | tag) / p(word)."""

    ptr: Int64s
    label: Int64s
    score: Float64s


class Cells(NamedTuple):
    """The cells of a sentence: short lists of entries (label, inside), laid end to end."""

    ptr: Int64s  # (spans, 2) first entry of each span and the one after its last
    scale: Float64s  # (spans,) log of what the inside values of a span were divided by
    label: Int32s  # label, value: of each entry
    value: Float32s


class Survivors(NamedTuple):
    """Rule applications that are not pruned."""

    rule: Int32s  # rule, posterior: of each
    cut: Int64s  # (., 3) start, split and end of its span
    posterior: Float64s


@njit(inline="always")
def span_id(i, j, n):
    """Number of the span of words i..j-1 of an n-word sentence, row by row."""
    return i * n - (i * (i - 1)) // 2 + (j - i - 1)


@njit(nogil=True)
def coarse_inside(n, rules, prior, tags, masks, beam, cells):
    """Inside lists of all cells with a beam in each; returns entries used, or -1 if full."""
    # ``rules``  by left child; ``masks`` the labels that each span may have, and the log weight of
    # its bracket; ``cells`` is filled
    left_ptr, right_of, parent_of, rule_p = rules.ptr, rules.right, rules.parent, rules.p
    pair = rules.pair
    list_ptr, scale, list_label, list_value = cells
    n_labels = len(prior)
    acc = np.zeros(n_labels)  # label -> inside of the present span, not yet scaled
    touched = np.empty(n_labels, np.int32)  # the labels whose acc is not zero
    dense = np.zeros((n + 1, n_labels), np.float32)  # row k: cell (k, j) of the current j
    capacity = len(list_label)
    used = 0
    # CKY.  inside[i, j, a] = p(words i..j-1 | a)
    #   = sum over splits k and rules a -> b c of p(a -> b c | a) inside[i, k, b] inside[k, j, c]
    # Time: spans (n^2) x splits (n) x entries of the left cell x rules with that left child, or
    # entries of the right cell where these are fewer.
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            s = span_id(i, j, n)
            n_touched = 0
            ref = -np.inf
            mask = masks.labels[masks.of_span[s]]
            list_ptr[s, 0] = used
            list_ptr[s, 1] = used
            scale[s] = -np.inf
            if (
                masks.of_span[s] == 1 or masks.marginal[s] < masks.threshold
            ):  # mask 1 admits nothing
                continue
            if j == i + 1:
                ref = 0.0
                for t in range(tags.ptr[i], tags.ptr[i + 1]):
                    a = tags.label[t]
                    if acc[a] == 0.0:
                        touched[n_touched] = a
                        n_touched += 1
                    acc[a] += tags.score[t]
            else:
                # The heaviest split sets the unit in which the splits of this span are summed.
                for k in range(i + 1, j):
                    both = scale[span_id(i, k, n)] + scale[span_id(k, j, n)]
                    if both > ref:
                        ref = both
                if ref == -np.inf:
                    continue
                for k in range(i + 1, j):
                    sl = span_id(i, k, n)
                    exponent = scale[sl] + scale[span_id(k, j, n)] - ref
                    if exponent < _FAINT:
                        continue
                    factor = math.exp(exponent)
                    right = dense[k]
                    sr = span_id(k, j, n)
                    n_right = list_ptr[sr, 1] - list_ptr[sr, 0]
                    for e in range(list_ptr[sl, 0], list_ptr[sl, 1]):
                        b = list_label[e]
                        value = list_value[e] * factor
                        n_rules = left_ptr[b + 1] - left_ptr[b]
                        if len(pair) > 0 and n_rules > PER_LABEL * n_right:
                            # many rules, few labels on the right: ask by the labels
                            for f in range(list_ptr[sr, 0], list_ptr[sr, 1]):
                                c = list_label[f]
                                first, last = pair[b, c], pair[b, c + 1]
                                if first == last:
                                    continue
                                product = value * list_value[f]
                                for r in range(first, last):
                                    a = parent_of[r]
                                    if acc[a] == 0.0:
                                        touched[n_touched] = a
                                        n_touched += 1
                                    acc[a] += product * rule_p[r]
                            continue
                        for r in range(left_ptr[b], left_ptr[b + 1]):
                            other = right[right_of[r]]
                            if other > 0.0:
                                a = parent_of[r]
                                if acc[a] == 0.0:
                                    touched[n_touched] = a
                                    n_touched += 1
                                acc[a] += value * other * rule_p[r]
            # The beam: what is below ``beam`` of the best by inside * prior goes.  The prior
            # stands for the outside, which is not known yet: rare labels with a high inside do
            # not crowd out the others.
            best, top = 0.0, 0.0
            for t in range(n_touched):
                a = touched[t]
                if mask[a]:
                    if acc[a] * prior[a] > best:
                        best = acc[a] * prior[a]
                    if acc[a] > top:
                        top = acc[a]
            if used + n_touched > capacity:
                return -1
            for t in range(n_touched):
                a = touched[t]
                if mask[a] and acc[a] > 0.0 and acc[a] * prior[a] >= beam * best:
                    # divided before it is stored: single precision ends at 1e-45, and what is 0
                    # there must not be listed, since a sum of 0 passes for a label not met
                    share = np.float32(acc[a] / top)
                    if share > 0.0:
                        list_label[used] = a
                        list_value[used] = share
                        dense[i, a] = share
                        used += 1
                acc[a] = 0.0
            list_ptr[s, 1] = used
            if top > 0.0:
                scale[s] = ref + math.log(top) + masks.weight[s]
        # no later span has a right child that ends at j
        for k in range(j):
            s = span_id(k, j, n)
            for e in range(list_ptr[s, 0], list_ptr[s, 1]):
                dense[k, list_label[e]] = 0.0
    return used


@njit(nogil=True)
def coarse_outside(n, rules, root_p, brackets, cells, threshold, outside, survivors):
    """Outside values of all entries, and the rule applications above the threshold, top-down."""
    # ``brackets``  (spans,) log weight of each bracket, which is part of ``cells.scale``
    # Returns (number of applications, or -1 if there is no room; Z relative to the root's scale).
    left_ptr, _, right_of, parent_of, rule_p, number_of = rules
    list_ptr, scale, list_label, list_value = cells
    n_labels = len(root_p)
    capacity = len(survivors.rule)
    root = span_id(0, n, n)
    z = 0.0
    for e in range(list_ptr[root, 0], list_ptr[root, 1]):
        z += list_value[e] * root_p[list_label[e]]
    if z <= 0.0:
        return 0, 0.0
    for e in range(list_ptr[root, 0], list_ptr[root, 1]):
        outside[e] = root_p[list_label[e]] / z
    entry_of = np.full((n + 1, n_labels), -1, np.int32)  # row k: entries of cell (k, j), or -1
    parent_out = np.zeros(n_labels)
    n_apps = 0
    # outside[i, j, a] = p(all words but i..j-1, with a over them) / Z.  Every application gives
    #   outside[i, k, b] += outside[i, j, a] p(a -> b c | a) inside[k, j, c], and c likewise,
    # and its posterior is outside[i, j, a] p(a -> b c | a) inside[i, k, b] inside[k, j, c].
    # By falling end and rising start every parent is finished before its children are reached.
    for j in range(n, 0, -1):
        for k in range(j):
            s = span_id(k, j, n)
            for e in range(list_ptr[s, 0], list_ptr[s, 1]):
                entry_of[k, list_label[e]] = e
        for i in range(j - 1):
            s = span_id(i, j, n)
            # An entry at or below the threshold has no application above it.
            alive = False
            for e in range(list_ptr[s, 0], list_ptr[s, 1]):
                if list_value[e] * outside[e] > threshold:
                    parent_out[list_label[e]] = outside[e]
                    alive = True
            if not alive:
                continue
            for k in range(i + 1, j):
                sl = span_id(i, k, n)
                exponent = scale[sl] + scale[span_id(k, j, n)] + brackets[s] - scale[s]
                if exponent < _FAINT:
                    continue
                factor = math.exp(exponent)
                row = entry_of[k]
                for e in range(list_ptr[sl, 0], list_ptr[sl, 1]):
                    b = list_label[e]
                    value = list_value[e]
                    for r in range(left_ptr[b], left_ptr[b + 1]):
                        out = parent_out[parent_of[r]]
                        if out > 0.0:
                            f = row[right_of[r]]
                            if f >= 0:
                                weight = out * rule_p[r] * factor
                                other = list_value[f]
                                outside[e] += weight * other
                                outside[f] += weight * value
                                posterior = weight * value * other
                                if posterior > threshold:
                                    if n_apps == capacity:
                                        return -1, z
                                    survivors.rule[n_apps] = number_of[r]
                                    survivors.cut[n_apps, 0] = i
                                    survivors.cut[n_apps, 1] = k
                                    survivors.cut[n_apps, 2] = j
                                    survivors.posterior[n_apps] = posterior
                                    n_apps += 1
            for e in range(list_ptr[s, 0], list_ptr[s, 1]):
                parent_out[list_label[e]] = 0.0
        for k in range(j):
            s = span_id(k, j, n)
            for e in range(list_ptr[s, 0], list_ptr[s, 1]):
                entry_of[k, list_label[e]] = -1
    return n_apps, z
