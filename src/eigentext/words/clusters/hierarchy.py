"""A binary tree over finished clusters, whose prefixes are clusterings themselves.

``bisect`` (the default) starts in the middle of the tree, where prefixes are used most:

1. exchange sorts the clusters into 64 groups (fewer for few clusters): the prefixes of 6 bits;
2. upwards, groups are joined in pairs, those matchings that lose least mutual information;
3. downwards, every group is cut in two along its main direction, then clusters change sides
   between siblings for as long as that raises the mutual information at this depth.

``ward`` joins by distance between the clusters' vectors, from the leaves up (Stratos et al. 2014,
figure 5).  Vectors of clusters are those of figure 4 applied to
cluster pairs, times singular values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from eigentext.base.types import Bools, Float64s, Int64s, Numbers
from eigentext.errors import SettingsError
from eigentext.evaluate.clustering import cluster_pairs
from eigentext.linalg.scaling import inverse_sqrt_totals
from eigentext.linalg.ties import principal_axes, single_threaded
from eigentext.words.settings import HIERARCHIES

_MIDDLE = 6  # bits of the prefix that is made first
_ROUNDS = 10  # passes between siblings at each depth, at the most
_TIE = 1e-9  # nats, or shares of a length: what is nearer than this is equal


def hierarchy(pairs: Numbers, method: str = "bisect") -> list[str]:
    """The path of each cluster, as bits, given (m, m) counts of cluster pairs.

    >>> pairs = np.array([[0, 9, 8, 1], [9, 0, 1, 8], [8, 1, 0, 9], [1, 8, 9, 0]])
    >>> sorted(hierarchy(pairs))
    ['00', '01', '10', '11']
    """
    if method not in HIERARCHIES:
        raise SettingsError(f"hierarchy {method!r}: expected one of {', '.join(HIERARCHIES)}")
    counts = np.asarray(pairs)
    m = counts.shape[0]
    if m == 1:
        return [""]
    with single_threaded():
        vectors = cluster_vectors(counts)
        if method == "ward":
            from scipy.cluster.hierarchy import linkage
            from scipy.spatial.distance import pdist

            apart = pdist(vectors)
            step = _TIE * max(float(apart.max()), 1e-300)
            return paths_of_merges(
                _from_linkage(linkage(np.round(apart / step) * step, "ward")), m
            )
        weights = np.maximum(counts.sum(axis=0) + counts.sum(axis=1), 1).astype(np.float64)
        start, bits = _middle(counts, vectors, weights)
        return _downwards(counts, vectors, weights, start, bits)


def cluster_vectors(pairs: Numbers) -> Float64s:
    """Vectors of clusters, U S of the scaled pair counts to both sides; (m, m)."""
    counts = np.asarray(pairs, dtype=np.float64)
    left = inverse_sqrt_totals(counts.sum(axis=1), 1.0)
    right = inverse_sqrt_totals(counts.sum(axis=0), 1.0)
    scaled = left[:, None] * counts * right[None, :]
    both = np.hstack([scaled, scaled.T])  # clusters to the right and left
    values, turned = principal_axes(both @ both.T)
    vectors = turned * np.sqrt(values)
    # the first direction tells frequency alone
    return np.ascontiguousarray(vectors[:, 1:] if vectors.shape[1] > 1 else vectors)


def paths_of_merges(merges: npt.NDArray[np.integer[Any]], n_clusters: int) -> list[str]:
    """Bits from merges (kept, freed), in order; the union keeps the first one's number.

    >>> paths_of_merges(np.array([[0, 2], [0, 1]]), 3)
    ['00', '1', '01']
    """
    members = {k: [k] for k in range(n_clusters)}
    bits: list[list[str]] = [[] for _ in range(n_clusters)]
    for union, freed in merges.tolist():
        for k in members[union]:
            bits[k].append("0")
        for k in members[freed]:
            bits[k].append("1")
        members[union] += members.pop(freed)
    return ["".join(reversed(path)) for path in bits]


def _from_linkage(linked: Numbers) -> Int64s:
    """Merges by smallest member out of scipy's list of merges."""
    n = linked.shape[0] + 1
    smallest = list(range(n))
    merges = []
    for a, b in linked[:, :2].astype(np.int64).tolist():
        first, second = sorted((smallest[a], smallest[b]))
        merges.append((first, second))
        smallest.append(first)
    return np.array(merges, dtype=np.int64)


def _middle(counts: Numbers, vectors: Float64s, weights: Float64s) -> tuple[Int64s, list[str]]:
    """Groups of clusters by exchange, and their bits by pairing them up to the root.

    Exchange ends in a local optimum, so it is started twice, and the better end is taken.
    """
    from scipy.sparse import csr_array

    from eigentext.words.clusters.exchange import frequency_start, refine
    from eigentext.words.clusters.merging import ward

    m = counts.shape[0]
    depth = min(_MIDDLE, max(int(np.log2(m)) - 1, 0))
    pairs = csr_array(counts)
    order = np.argsort(-weights, kind="stable")
    n_groups = 2**depth
    by_vectors = np.empty(m, dtype=np.int64)
    by_vectors[order] = ward(vectors[order], n_groups).labels
    from_frequency, from_vectors = (
        refine(pairs, start, n_groups, order, passes=50)
        for start in (frequency_start(order, n_groups), by_vectors)
    )
    better = from_vectors.information[-1] > from_frequency.information[-1] + _TIE
    labels = from_vectors.labels if better else from_frequency.labels
    bits = [""] * n_groups
    members = [[g] for g in range(n_groups)]
    table = cluster_pairs(pairs, labels, n_groups)
    while len(members) > 1:
        above = np.zeros(len(members), dtype=np.int64)
        matched = _match(joining_losses(table))
        for number, (i, j) in enumerate(matched):
            for side, group in ((i, "0"), (j, "1")):
                above[side] = number
                for g in members[side]:
                    bits[g] = group + bits[g]
        members = [members[i] + members[j] for i, j in matched]
        table = cluster_pairs(csr_array(table), above, len(matched))
    return labels, bits


def joining_losses(table: Numbers) -> Float64s:
    """What joining each pair of groups takes from N times the mutual information; (g, g).

    >>> joining_losses(np.array([[0, 5], [5, 0]])).round(4).tolist()
    [[inf, 6.9315], [6.9315, inf]]
    """
    n = np.asarray(table, dtype=np.float64)
    g = n.shape[0]
    f_n = _f(n)
    rows, columns = n.sum(axis=1), n.sum(axis=0)
    losses = np.zeros((g, g))
    for i in range(g):
        beside = f_n[i] + f_n - _f(n[i] + n)  # (j, k): third group k to the right of i and j
        before = f_n[:, i] + f_n.T - _f(n[:, i] + n.T)
        for part in (beside, before):
            # the cells among i and j themselves become one: they are added below
            losses[i] += part.sum(axis=1) - part[:, i] - np.diagonal(part)
        four = n[i, i] + n[i] + n[:, i] + np.diagonal(n)
        losses[i] += f_n[i, i] + f_n[i] + f_n[:, i] + np.diagonal(f_n) - _f(four)
        for totals in (rows, columns):
            losses[i] -= _f(totals[i]) + _f(totals) - _f(totals[i] + totals)
    np.fill_diagonal(losses, np.inf)
    return (losses + losses.T) / 2


def _f(x: Float64s) -> Float64s:
    return np.asarray(x * np.log(np.where(x > 0, x, 1.0)))


def _match(losses: Float64s) -> list[tuple[int, int]]:
    """All groups in pairs: the cheapest first, then pairs swap partners while that is cheaper."""
    g = losses.shape[0]
    free = set(range(g))
    matched: list[tuple[int, int]] = []
    # equal losses may differ in the last digits, which must not decide
    steps = np.round(losses / (_TIE * max(float(np.abs(losses[losses < np.inf]).max()), 1e-300)))
    for cell in np.argsort(steps, axis=None, kind="stable").tolist():
        i, j = divmod(cell, g)
        if i < j and i in free and j in free:
            matched.append((i, j))
            free -= {i, j}
    better = True
    while better:
        better = False
        for a in range(len(matched)):
            for b in range(a):
                (i, j), (k, o) = matched[a], matched[b]
                now = losses[i, j] + losses[k, o]
                for first, second in (((i, k), (j, o)), ((i, o), (j, k))):
                    if losses[first] + losses[second] < now - 1e-9 * (1 + abs(now)):
                        matched[a], matched[b] = first, second
                        better = True
                        break
    return sorted((min(pair), max(pair)) for pair in matched)


def _downwards(
    counts: Numbers, vectors: Float64s, weights: Float64s, groups: Int64s, starts: list[str]
) -> list[str]:
    """Cut every group in two, depth by depth, until each cluster is alone."""
    m = counts.shape[0]
    bits = [starts[group] for group in groups.tolist()]
    while True:
        sizes = np.bincount(groups)
        open_groups = np.flatnonzero(sizes > 1)
        if not open_groups.size:
            return bits
        n_groups = sizes.shape[0]
        sibling = np.full(n_groups + open_groups.size, -1, dtype=np.int64)
        below = groups.copy()
        for new, group in enumerate(open_groups.tolist(), start=n_groups):
            members = np.flatnonzero(groups == group)
            sides = _two_means(vectors[members], weights[members])
            below[members[sides]] = new
            sibling[group], sibling[new] = new, group
        _change_sides(counts, below, sibling, weights)
        for item in range(m):
            if sizes[groups[item]] > 1:
                bits[item] += "1" if below[item] >= n_groups else "0"
        groups = below


def _two_means(vectors: Float64s, weights: Float64s) -> Bools:
    """A cut in two: at the median of the main direction, then Lloyd's steps; no side is empty."""
    share = weights / weights.sum()  # of the tokens
    centred = vectors - share @ vectors
    root = np.sqrt(share)[:, None] * centred
    axis = root.T @ principal_axes(root @ root.T)[1][:, 0]
    axis /= max(float(np.linalg.norm(axis)), 1e-300)
    step = _TIE * max(float(np.linalg.norm(vectors, axis=1).max()), 1e-300)
    ranks = np.argsort(np.round(centred @ axis / step), kind="stable")
    middle = int(np.searchsorted(np.cumsum(share[ranks]), 0.5 - _TIE)) + 1
    sides = np.zeros(vectors.shape[0], dtype=np.bool_)
    sides[ranks[min(max(middle, 1), vectors.shape[0] - 1) :]] = True
    for _ in range(20):
        means = [
            np.average(vectors[sides == side], axis=0, weights=weights[sides == side])
            for side in (False, True)
        ]
        apart = [np.square(vectors - mean).sum(axis=1) for mean in means]
        moved = apart[1] < apart[0] * (1 - _TIE)
        if moved.all() or not moved.any() or np.array_equal(moved, sides):
            break
        sides = moved
    if sides[0]:  # the heavier item of the first place stays on side 0: one fixed orientation
        sides = ~sides
    return sides


def _change_sides(counts: Numbers, groups: Int64s, sibling: Int64s, weights: Float64s) -> None:
    """Exchange between siblings, in place, until the mutual information rises no more."""
    from scipy.sparse import csr_array

    from eigentext.words.clusters.exchange import LEAST_GAIN, ExchangeState, NeighbourLists
    from eigentext.words.kernels import exchange as kernels

    pairs = csr_array(counts)
    lists = NeighbourLists.of(pairs)
    state = ExchangeState.of(pairs, groups, sibling.shape[0])
    order = np.argsort(-weights, kind="stable").astype(np.int64)
    for _ in range(_ROUNDS):
        moves = kernels.sibling_pass(order, lists, groups, sibling, state, LEAST_GAIN)
        if moves == 0:
            return
