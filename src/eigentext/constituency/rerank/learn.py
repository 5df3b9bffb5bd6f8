"""Weights of features from lists of trees whose brackets were held against gold trees.

p(t) = exp s(t) / sum over the list, with s(t) the decoder's score and the weights of the tree's
features.  The weights maximise, with an L2 penalty, the expected number of right brackets:

    sum over lists of (gold brackets) * sum over trees of p(t) F1(t)   -   l2 / 2 |weights|^2

1. Lists come in blocks (:func:`_block`); within a block features become numbers.
2. A feature stays that tells trees of enough different lists apart (:func:`_kept`).
3. L-BFGS, from weights of zero (:func:`learn_weights`).
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.base.ragged import pointers
from eigentext.linalg.determinism import single_threaded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

    from eigentext.constituency.kernels.rerank import Instances
    from eigentext.constituency.rerank.features import ListFeatures

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]
    Keys = npt.NDArray[np.uint64]

__all__ = ["LearningList", "Weights", "learn_weights", "objective", "to_instances"]

_BLOCK = 1000  # lists whose features are numbered at once


class LearningList(NamedTuple):
    """A list to learn from: its features, and of each tree the decoder's score and the gain."""

    features: ListFeatures
    scores: Floats
    gains: Floats


class Weights(NamedTuple):
    """Features, rising, and the weight of each."""

    keys: Keys
    values: npt.NDArray[np.float32]


class _Block(NamedTuple):
    """Lists end to end; ``features`` are places in ``keys``, ``n_lists`` counts lists of each."""

    keys: Keys
    n_lists: Ints
    features: npt.NDArray[np.int32]
    feature_ptr: Ints
    groups: Ints
    n_nodes: Ints
    n_trees: Ints
    scores: Floats
    gains: Floats


def _block(lists: Sequence[LearningList]) -> _Block:
    from eigentext.constituency.kernels.rerank import count_lists

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
        np.array([len(item.scores) for item in lists]),
        np.concatenate([item.scores for item in lists]),
        np.concatenate([item.gains for item in lists]),
    )


def _kept(blocks: Sequence[_Block], least: int) -> Keys:
    """Features that vary in at least so many lists."""
    keys, number = np.unique(np.concatenate([b.keys for b in blocks]), return_inverse=True)
    counts = np.bincount(number, weights=np.concatenate([b.n_lists for b in blocks]))
    return keys[counts >= least]


def to_instances(
    lists: Iterable[LearningList], least: int
) -> tuple[Instances, Floats, Keys] | None:
    """All lists in numbers, the gains of their trees, and the features; None without any list."""
    from eigentext.constituency.kernels.rerank import Instances, keep_features

    telling = (item for item in lists if len(item.scores) > 1)
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
        np.concatenate([b.scores for b in blocks]),
    )
    return instances, np.concatenate([b.gains for b in blocks]), kept


def places(keys: Keys, wanted: Keys) -> npt.NDArray[np.int32]:
    """Where each of ``wanted`` stands among the rising ``keys``; -1 for one that is not there.

    >>> places(np.array([3, 5], np.uint64), np.array([5, 4, 9], np.uint64)).tolist()
    [1, -1, -1]
    """
    if not len(keys):
        return np.full(len(wanted), -1, np.int32)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1).astype(np.int32)


def objective(
    instances: Instances, gains: Floats, n_features: int, l2: float
) -> Callable[[Floats], tuple[float, Floats]]:
    """The function to be made small, with its gradient."""
    from eigentext.constituency.kernels.rerank import loss_and_gradient

    scores = np.empty(len(instances.node_ptr) - 1)
    of_group = np.empty(len(instances.feature_ptr) - 1)
    gradient = np.empty(n_features)

    def loss(weights: Floats) -> tuple[float, Floats]:
        value = loss_and_gradient(instances, gains, weights, scores, of_group, gradient)
        return value + l2 / 2 * float(weights @ weights), gradient + l2 * weights

    return loss


def learn_weights(
    lists: Iterable[LearningList], *, l2: float = 10.0, least: int = 5, n_iter: int = 40
) -> Weights:
    """The weights; ``least``: lists that a feature must vary in."""
    from scipy.optimize import minimize

    numbered = to_instances(lists, least)
    if numbered is None or not len(numbered[2]):
        return Weights(np.empty(0, np.uint64), np.empty(0, np.float32))
    instances, gains, keys = numbered
    with single_threaded():
        found = minimize(
            objective(instances, gains, len(keys), l2),
            np.zeros(len(keys)),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": n_iter, "maxcor": 6},
        )
    return Weights(keys, found.x.astype(np.float32))
