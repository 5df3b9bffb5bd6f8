"""Ward's variant against a naive one that searches all pairs at every merge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.errors import SettingsError
from eigentext.words.clusters import merging
from eigentext.words.clusters.merging import ward


def naive(points, m):
    """Figure 5 without bounds: clusters as lists of points, Eq. 2 from their means."""

    def cost(a, b):
        gap = np.square(points[a].mean(axis=0) - points[b].mean(axis=0)).sum()
        return len(a) * len(b) / (len(a) + len(b)) * gap

    def merge(clusters):
        pairs = [(i, j) for i in range(len(clusters)) for j in range(i)]
        costs = [cost(clusters[i], clusters[j]) for i, j in pairs]
        i, j = pairs[int(np.argmin(costs))]
        rest = [c for k, c in enumerate(clusters) if k not in (i, j)]
        return [*rest, clusters[i] + clusters[j]], min(costs)

    clusters = [[i] for i in range(m)]
    for i in range(m, len(points)):
        clusters, _ = merge([*clusters, [i]])
    found = {frozenset(c) for c in clusters}
    costs, unions = [], set()
    while len(clusters) > 1:
        clusters, price = merge(clusters)
        costs.append(price)
        unions |= {frozenset(c) for c in clusters}
    return found, costs, unions | found


def partition(labels):
    return {frozenset(np.flatnonzero(labels == c).tolist()) for c in range(labels.max() + 1)}


@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(1, 10), st.integers(1, 4))
def test_lazy_bounds_give_the_merges_of_the_naive_algorithm(seed, n, m, d):
    rng = np.random.default_rng(seed)
    points, m = rng.normal(size=(n, d)), min(m, n)
    found = ward(points, m)
    groups, costs, unions = naive(points, m)
    assert partition(found.labels) == groups
    np.testing.assert_allclose(found.costs, costs, rtol=1e-9, atol=1e-12)
    members = {c: frozenset(np.flatnonzero(found.labels == c).tolist()) for c in range(m)}
    for kept, freed in found.merges.tolist():
        members[kept] |= members.pop(freed)
        assert members[kept] in unions


def test_batches_do_not_change_the_result(monkeypatch):
    points = np.random.default_rng(3).normal(size=(200, 5))
    whole = ward(points, 12)
    monkeypatch.setattr(merging, "_BATCH", 7)
    parts = ward(points, 12)
    assert np.array_equal(whole.labels, parts.labels)
    assert np.array_equal(whole.merges, parts.merges)


def test_full_ward_equals_scipy_when_all_words_are_active():
    from scipy.cluster.hierarchy import fcluster, linkage

    points = np.random.default_rng(0).normal(size=(40, 4))
    linked = linkage(points, "ward")
    found = ward(points, 40)
    # scipy's heights are sqrt(2 d) of Eq. 2
    np.testing.assert_allclose(np.sqrt(2 * found.costs), linked[:, 2], rtol=1e-9)
    labels = np.arange(40)
    for kept, freed in found.merges[:30].tolist():
        labels[labels == freed] = kept
    ours = {frozenset(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels)}
    theirs = fcluster(linked, 10, "maxclust")
    assert ours == {frozenset(np.flatnonzero(theirs == c).tolist()) for c in np.unique(theirs)}


def naive_gamma(points, m):
    """Row searches a merge: a bound is searched anew when it is loose and the least of all."""
    slots = {slot: [slot] for slot in range(m)}

    def nearest(slot):
        def cost(other):
            a, b = slots[slot], slots[other]
            gap = np.square(points[a].mean(axis=0) - points[b].mean(axis=0)).sum()
            return len(a) * len(b) / (len(a) + len(b)) * gap

        return min((cost(other), other) for other in slots if other != slot)

    bounds = {slot: (*nearest(slot), True) for slot in slots}
    n_searches = 0

    def merge():
        searched = 0
        while not bounds[best := min(slots, key=lambda slot: (bounds[slot][0], slot))][2]:
            bounds[best] = (*nearest(best), True)
            searched += 1
        price, other, _ = bounds[best]
        kept, freed = sorted((best, other))
        slots[kept] += slots.pop(freed)
        del bounds[freed]
        for slot, (bound, neighbour, _) in bounds.items():
            if neighbour in (kept, freed):
                bounds[slot] = (bound, neighbour, False)
        bounds[kept] = (price, None, False)
        return searched

    for word in range(m, len(points)):
        free = next(slot for slot in range(m + 1) if slot not in slots)
        slots[free] = [word]
        bounds[free] = (*nearest(free), True)  # the search of a new word is not counted
        n_searches += merge()
    while len(slots) > 1:
        n_searches += merge()
    return n_searches / (len(points) - 1)


def test_gamma_by_hand():
    # 0 and 10 go together; then both bounds that are left are loose: two searches, two merges
    assert ward(np.array([[0.0], [10.0], [21.0]]), 3).gamma == 1.0
    assert ward(np.array([[0.0], [10.0]]), 2).gamma == 0.0


@given(st.integers(0, 10_000), st.integers(3, 40), st.integers(2, 10), st.integers(1, 4))
def test_gamma_is_the_number_of_row_searches_per_merge(seed, n, m, d):
    points = np.random.default_rng(seed).normal(size=(n, d))
    assert ward(points, min(m, n)).gamma == pytest.approx(naive_gamma(points, min(m, n)))


def test_equal_vectors_are_no_trouble():
    found = ward(np.ones((50, 3)), 5)
    assert partition(found.labels)
    assert found.costs.max() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("m", [0, 6])
def test_impossible_numbers_of_clusters(m):
    with pytest.raises(SettingsError, match="5 words"):
        ward(np.eye(5), m)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_costs_are_decided_by_order_not_by_rounding(dtype):
    # a zero and five axes, some of them twice: every merge is a tie, in any turned basis
    points = np.vstack([np.zeros(5), np.eye(5)[[0, 1, 2, 1, 3, 4, 0, 3]]])
    found = []
    for seed in range(20):
        turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((5, 5)))[0]
        one = ward((points @ turn).astype(dtype), 4)
        found.append((one.labels.tolist(), one.merges.tolist()))
    assert all(one == found[0] for one in found)
