"""Scores of the trees of lists, and the gradient of what their weights are learned by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

Ints = npt.NDArray[np.int64]


class Instances(NamedTuple):
    """Lists of trees in numbers.

    ``tree_ptr``      (lists + 1,) where the trees of each list begin
    ``node_ptr``      (trees + 1,) where the groups of each tree begin in ``groups``
    ``groups``        the groups of nodes in each tree, those of every tree of a list left out
    ``feature_ptr``   (groups + 1,) where the features of each group begin in ``features``
    ``features``      numbers of features
    ``decoder``       (trees,) the decoder's score
    """

    tree_ptr: Ints
    node_ptr: Ints
    groups: npt.NDArray[np.int32]
    feature_ptr: Ints
    features: npt.NDArray[np.int32]
    decoder: npt.NDArray[np.float64]


@njit(cache=True)
def sum_groups(feature_ptr, features, weights, out):
    """The sum of the weights of each group's features."""
    for g in range(len(feature_ptr) - 1):
        total = 0.0
        for f in range(feature_ptr[g], feature_ptr[g + 1]):
            total += weights[features[f]]
        out[g] = total


@njit(cache=True)
def sum_trees(lists, of_group, out):
    """Score of every tree: the decoder's, and those of its groups."""
    for t in range(len(lists.node_ptr) - 1):
        total = lists.decoder[t]
        for at in range(lists.node_ptr[t], lists.node_ptr[t + 1]):
            total += of_group[lists.groups[at]]
        out[t] = total


@njit(cache=True)
def loss_and_gradient(lists, gains, weights, scores, of_group, gradient):
    """Minus the expected gain of all lists; fills ``gradient``, the others are room to work in.

    p(t) = exp s(t) / sum over the list, and the slope by s(t) of  sum p gain  is
    p(t) (gain(t) - sum p gain).
    """
    sum_groups(lists.feature_ptr, lists.features, weights, of_group)
    sum_trees(lists, of_group, scores)
    of_group[:] = 0.0
    gradient[:] = 0.0
    loss = 0.0
    for sentence in range(len(lists.tree_ptr) - 1):
        a, b = lists.tree_ptr[sentence], lists.tree_ptr[sentence + 1]
        high = scores[a:b].max()
        total = expected = 0.0
        for t in range(a, b):
            scores[t] = np.exp(scores[t] - high)
            total += scores[t]
        for t in range(a, b):
            scores[t] /= total
            expected += scores[t] * gains[t]
        loss -= expected
        for t in range(a, b):
            step = scores[t] * (expected - gains[t])
            for at in range(lists.node_ptr[t], lists.node_ptr[t + 1]):
                of_group[lists.groups[at]] += step
    for g in range(len(of_group)):
        step = of_group[g]
        if step != 0.0:
            for f in range(lists.feature_ptr[g], lists.feature_ptr[g + 1]):
                gradient[lists.features[f]] += step
    return loss


@njit(cache=True)
def count_lists(list_ptr, numbers, seen, counts):
    """In how many lists each number comes; ``seen`` is filled with -1."""
    for sentence in range(len(list_ptr) - 1):
        for at in range(list_ptr[sentence], list_ptr[sentence + 1]):
            number = numbers[at]
            if seen[number] != sentence:
                seen[number] = sentence
                counts[number] += 1


@njit(cache=True)
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
