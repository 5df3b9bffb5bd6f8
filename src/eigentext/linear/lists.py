"""Weights of features from lists of trees that were held against gold trees.

p(t) = exp s(t) / sum over the list, where s(t) = v . dense(t) + the weights w of the tree's
features.  With an L2 penalty, which is small for v, the weights maximise one of

    risk:  sum over lists of  sum over trees of p(t) gain(t)
    best:  sum over lists of  log p(trees with the largest gain)

    less  l2 / 2 |w|^2 + l2 / 200 |v|^2, a column's unit being its spread within lists.

gain(t) says what the tree is worth, such as its right words.

1. Lists come in blocks (:func:`_block`); within a block features become numbers.
2. A feature stays that tells trees of enough different lists apart (:func:`_kept`).
3. L-BFGS, from features without weight, and dense columns by ``start`` (:func:`learn_weights`).
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from eigentext.base.ragged import pointers
from eigentext.linalg.ties import single_threaded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

    from eigentext.base.types import Float32s, Float64s, Int32s, Int64s, UInt64s
    from eigentext.linear.kernels.lists import Instances

    Keys = UInt64s

Target = Literal["risk", "best"]

_SOFT = 0.01  # the penalty of a dense column beside that of a feature
_BLOCK = 1000  # lists whose features are numbered at once


class ListFeatures(NamedTuple):
    """Groups of the nodes of a list and their features; a group in every tree is left out."""

    node_ptr: Int64s  # (k + 1,) where the groups of each tree begin in ``groups``
    groups: Int32s  # numbers of groups
    feature_ptr: Int64s  # (groups + 1,) where the features of each group begin in ``features``
    features: Keys  # 64-bit numbers


class LearningList(NamedTuple):
    """A list to learn from: its features, and of each tree the dense columns and the gain."""

    features: ListFeatures
    dense: Float64s
    gains: Float64s


class ListWeights(NamedTuple):
    """Features, rising, the weight of each, and the weights (D,) of the dense columns."""

    keys: Keys
    values: Float32s
    dense: Float64s


class _Block(NamedTuple):
    """Lists end to end; ``features`` are places in ``keys``, ``n_lists`` counts lists of each."""

    keys: Keys
    n_lists: Int64s
    features: Int32s
    feature_ptr: Int64s
    groups: Int64s
    n_nodes: Int64s
    n_trees: Int64s
    dense: Float64s
    gains: Float64s


def _block(lists: Sequence[LearningList]) -> _Block:
    from eigentext.linear.kernels.lists import count_lists

    parts = [item.features for item in lists]
    keys, places = np.unique(np.concatenate([p.features for p in parts]), return_inverse=True)
    numbers = places.astype(np.int32)
    counts = np.zeros(len(keys), np.int64)
    of_list = pointers(len(p.features) for p in parts)
    count_lists(of_list, numbers, np.full(len(keys), -1), counts)
    n_groups = pointers(len(p.feature_ptr) - 1 for p in parts)
    return _Block(
        keys,
        counts,
        numbers,
        pointers(np.concatenate([np.diff(p.feature_ptr) for p in parts])),
        np.concatenate([p.groups + first for p, first in zip(parts, n_groups, strict=False)]),
        np.concatenate([np.diff(p.node_ptr) for p in parts]),
        np.array([len(item.gains) for item in lists]),
        np.concatenate([item.dense for item in lists]),
        np.concatenate([item.gains for item in lists]),
    )


def _kept(blocks: Sequence[_Block], least: int) -> Keys:
    """Features that vary in at least so many lists."""
    keys, number = np.unique(np.concatenate([b.keys for b in blocks]), return_inverse=True)
    counts = np.bincount(number, weights=np.concatenate([b.n_lists for b in blocks]))
    return keys[counts >= least]


def to_instances(
    lists: Iterable[LearningList], least: int
) -> tuple[Instances, Float64s, Keys] | None:
    """All lists in numbers, the gains of their trees, and the features; None without any list."""
    from eigentext.linear.kernels.lists import Instances, keep_features

    telling = (item for item in lists if len(item.gains) > 1)
    blocks = []
    while batch := list(islice(telling, _BLOCK)):
        blocks.append(_block(batch))
    if not blocks:
        return None
    kept = _kept(blocks, least)
    features, lengths, groups, first = [], [], [], 0
    for block in blocks:
        number_of = places(kept, block.keys)
        ptr, out = np.empty_like(block.feature_ptr), np.empty_like(block.features)
        used = keep_features(block.feature_ptr, block.features, number_of, ptr, out)
        features.append(out[:used].copy())
        lengths.append(np.diff(ptr))
        groups.append((block.groups + first).astype(np.int32))
        first += len(block.feature_ptr) - 1
    instances = Instances(
        pointers(np.concatenate([b.n_trees for b in blocks])),
        pointers(np.concatenate([b.n_nodes for b in blocks])),
        np.concatenate(groups),
        pointers(np.concatenate(lengths)),
        np.concatenate(features),
        np.concatenate([b.dense for b in blocks]),
    )
    return instances, np.concatenate([b.gains for b in blocks]), kept


def places(keys: Keys, sought: Keys) -> Int32s:
    """Where each of ``sought`` stands among the rising ``keys``; -1 for one that is not there.

    >>> places(np.array([3, 5], np.uint64), np.array([5, 4, 9], np.uint64)).tolist()
    [1, -1, -1]
    """
    if not len(keys):
        return np.full(len(sought), -1, np.int32)
    at = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
    return np.where(keys[at] == sought, at, -1).astype(np.int32)


def objective(
    instances: Instances,
    gains: Float64s,
    n_features: int,
    l2: float,
    target: Target = "risk",
    fixed: Float64s | None = None,
) -> Callable[[Float64s], tuple[float, Float64s]]:
    """The function to be made small, with its gradient: of v, then w; ``fixed``: of w alone."""
    from eigentext.linear.kernels.lists import loss_and_gradient

    scores = np.empty(len(instances.node_ptr) - 1)
    of_group = np.empty(len(instances.feature_ptr) - 1)
    n_dense = 0 if fixed is not None else instances.dense.shape[1]
    slopes, gradient = np.empty(instances.dense.shape[1]), np.empty(n_features)

    def loss(x: Float64s) -> tuple[float, Float64s]:
        dense = x[:n_dense] if fixed is None else fixed
        weights = x[n_dense:]
        value = loss_and_gradient(
            *(instances, gains, target == "best", dense, weights),
            *(scores, of_group, slopes, gradient),
        )
        free = x[:n_dense]
        all_slopes = np.concatenate(
            [slopes[:n_dense] + _SOFT * l2 * free, gradient + l2 * weights]
        )
        penalty = l2 / 2 * float(weights @ weights + _SOFT * free @ free)
        return value + penalty, all_slopes

    return loss


def learn_weights(
    lists: Iterable[LearningList],
    start: Sequence[float],
    *,
    target: Target = "risk",
    fixed: bool = False,  # it may not
    l2: float = 10.0,
    least: int = 5,  # lists that a feature must vary in
    n_iter: int = 40,
) -> ListWeights:
    """The weights; ``start`` are those of the dense columns, which learning may change."""
    from scipy.optimize import minimize

    first = np.array(start, np.float64)
    numbered = to_instances(lists, least)
    if numbered is None or (fixed and not len(numbered[2])):
        return ListWeights(np.empty(0, np.uint64), np.empty(0, np.float32), first)
    instances, gains, keys = numbered
    # a column's unit is its spread within lists, so that one step means the same for each
    unit = spread(instances.dense, instances.tree_ptr)
    instances = instances._replace(dense=instances.dense / unit)
    free = np.empty(0) if fixed else first * unit
    with single_threaded():
        solution = minimize(
            objective(instances, gains, len(keys), l2, target, first * unit if fixed else None),
            np.concatenate([free, np.zeros(len(keys))]),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": n_iter, "maxcor": 6},
        )
    values = solution.x[len(free) :].astype(np.float32)
    return ListWeights(keys, values, first if fixed else solution.x[: len(free)] / unit)


def spread(dense: npt.NDArray[np.floating], tree_ptr: Int64s) -> Float64s:
    """(D,) root mean square distance of each dense column from its list's mean; 1 for none."""
    # Only differences within a list matter: a column that is high for a whole list says nothing.
    dense, sizes = dense.astype(np.float64), np.diff(tree_ptr)
    means = np.add.reduceat(dense, tree_ptr[:-1], axis=0) / sizes[:, None]
    rms = np.sqrt(np.mean((dense - np.repeat(means, sizes, axis=0)) ** 2, axis=0))
    return np.asarray(np.where(rms > 1e-12, rms, 1.0))


def list_scores(features: ListFeatures, dense: Float64s, weights: ListWeights) -> Float64s:
    """The score of each tree of a list."""
    from eigentext.linear.kernels.lists import ListTrees, sum_groups, sum_trees

    at = places(weights.keys, features.features)
    values = np.zeros(len(at))
    values[at >= 0] = weights.values[at[at >= 0]]
    of_group = np.empty(len(features.feature_ptr) - 1)
    sum_groups(features.feature_ptr, np.arange(len(at), dtype=np.int32), values, of_group)
    total = np.empty(len(dense))
    trees = ListTrees(features.node_ptr, features.groups, np.asarray(dense, np.float64))
    sum_trees(trees, weights.dense, of_group, total)
    return total
