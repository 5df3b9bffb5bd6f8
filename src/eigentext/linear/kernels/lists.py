"""Scores of the trees of lists, and the gradient of what their weights are learned by."""

from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Float64s, Int32s, Int64s


class Instances(NamedTuple):
    """Lists of trees in numbers."""

    tree_ptr: Int64s  # (lists + 1,) where the trees of each list begin
    node_ptr: Int64s  # (trees + 1,) where the groups of each tree begin in ``groups``
    groups: Int32s  # of nodes in each tree, those of every tree of a list left out
    feature_ptr: Int64s  # (groups + 1,) where the features of each group begin in ``features``
    features: Int32s  # numbers of features
    dense: Float64s  # (trees, D) scores of other models


class ListTrees(NamedTuple):
    """The trees of one list, as :func:`sum_trees` takes them; names as in :class:`Instances`."""

    node_ptr: Int64s
    groups: Int32s
    dense: Float64s


@njit
def sum_groups(feature_ptr, features, weights, out):
    """The sum of the weights of each group's features."""
    for g in range(len(feature_ptr) - 1):
        total = 0.0
        for f in range(feature_ptr[g], feature_ptr[g + 1]):
            total += weights[features[f]]
        out[g] = total


@njit
def sum_trees(lists, of_dense, of_group, out):
    """Score of every tree: its dense columns by their weights, and those of its groups."""
    for t in range(len(lists.node_ptr) - 1):
        total = 0.0
        for column in range(len(of_dense)):
            total += lists.dense[t, column] * of_dense[column]
        for at in range(lists.node_ptr[t], lists.node_ptr[t + 1]):
            total += of_group[lists.groups[at]]
        out[t] = total


@njit
def loss_and_gradient(lists, gains, best, of_dense, weights, scores, of_group, slopes, gradient):
    """Minus what is to be large, over all lists; fills ``slopes`` of the dense columns and
    ``gradient`` of the features; ``scores`` and ``of_group`` are room to work in.

    With p(t) = exp s(t) / sum over the list it is, and its slope by s(t),

        the expected gain  sum p gain:                p(t) (gain(t) - sum p gain)
        ``best``: log p(trees with the largest gain): p(t | those) - p(t)
    """
    sum_groups(lists.feature_ptr, lists.features, weights, of_group)
    sum_trees(lists, of_dense, of_group, scores)
    of_group[:] = 0.0
    slopes[:] = 0.0
    gradient[:] = 0.0
    loss = 0.0
    for sentence in range(len(lists.tree_ptr) - 1):
        a, b = lists.tree_ptr[sentence], lists.tree_ptr[sentence + 1]
        most = gains[a:b].max()
        high = scores[a:b].max()
        of_best = -np.inf
        for t in range(a, b):
            if gains[t] == most:
                of_best = max(of_best, scores[t])
        total = expected = total_best = 0.0
        for t in range(a, b):
            if gains[t] == most:
                total_best += np.exp(scores[t] - of_best)
            total += np.exp(scores[t] - high)
        log_total, log_best = np.log(total) + high, np.log(total_best) + of_best
        for t in range(a, b):
            expected += np.exp(scores[t] - log_total) * gains[t]
        loss -= log_best - log_total if best else expected
        for t in range(a, b):
            step = np.exp(scores[t] - log_total)
            if not best:
                step *= expected - gains[t]
            elif gains[t] == most:
                step -= np.exp(scores[t] - log_best)
            for column in range(len(of_dense)):
                slopes[column] += step * lists.dense[t, column]
            for at in range(lists.node_ptr[t], lists.node_ptr[t + 1]):
                of_group[lists.groups[at]] += step
    for g in range(len(of_group)):
        step = of_group[g]
        if step != 0.0:
            for f in range(lists.feature_ptr[g], lists.feature_ptr[g + 1]):
                gradient[lists.features[f]] += step
    return loss


@njit
def count_lists(list_ptr, numbers, last, counts):
    """In how many lists each number comes; ``last`` is filled with -1."""
    for sentence in range(len(list_ptr) - 1):
        for at in range(list_ptr[sentence], list_ptr[sentence + 1]):
            number = numbers[at]
            if last[number] != sentence:
                last[number] = sentence
                counts[number] += 1


@njit
def keep_features(feature_ptr, features, number_of, out_ptr, out):
    """Features by their new numbers, without those of number -1; how many stay."""
    used = 0
    out_ptr[0] = 0
    for g in range(len(feature_ptr) - 1):
        for f in range(feature_ptr[g], feature_ptr[g + 1]):
            number = number_of[features[f]]
            if number >= 0:
                out[used] = number
                used += 1
        out_ptr[g + 1] = used
    return used
