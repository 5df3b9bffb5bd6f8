"""Trees over clusters: well-formed for every method, and good at every depth for the default."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from eigentext.errors import SettingsError
from eigentext.evaluate.clustering import (
    information_of_pairs,
    mutual_information,
    prefix_information,
)
from eigentext.words.clusters import hierarchy as hierarchy_module
from eigentext.words.clusters.hierarchy import (
    _match,
    cluster_vectors,
    hierarchy,
    joining_losses,
    paths_of_merges,
)
from eigentext.words.settings import HIERARCHIES


def table(seed, m, density=0.8):
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.5, 20, size=(m, m))) * (rng.random((m, m)) < density)


@settings(max_examples=25)
@given(st.sampled_from(HIERARCHIES), st.integers(0, 1000), st.integers(1, 40))
def test_paths_are_the_leaves_of_a_full_binary_tree(method, seed, m):
    paths = hierarchy(table(seed, m), method)
    assert len(set(paths)) == m
    # Kraft's equality: every inner node has both children, no leaf is above another
    assert sum(2.0 ** -len(path) for path in paths) == 1.0
    inner = {path[:k] for path in paths for k in range(len(path))}
    assert not inner & set(paths)


@pytest.mark.parametrize("method", HIERARCHIES)
def test_longer_prefixes_tell_more_and_whole_paths_tell_all(method):
    counts = table(3, 50)
    lengths = list(range(max(map(len, hierarchy(counts, method))) + 1))
    told = list(prefix_information(counts, hierarchy(counts, method), lengths).values())
    assert all(b >= a - 1e-12 for a, b in pairwise(told))
    assert told[0] == 0
    assert told[-1] == pytest.approx(information_of_pairs(counts))


@pytest.mark.parametrize("seed", [0, 1])
def test_the_default_tells_most_where_prefixes_are_used_most(seed):
    # groups within groups: 4 of 4 of 8 clusters, whose pairs depend on the group at each level
    rng = np.random.default_rng(seed)
    a, b = np.divmod(np.arange(128), 32)[0], np.divmod(np.arange(128), 8)[0]
    mean = 4 * rng.gamma(0.3, 3, (4, 4))[a][:, a] * rng.gamma(0.5, 2, (16, 16))[b][:, b]
    counts = rng.poisson(mean * rng.gamma(2, 0.5, (128, 128)))
    told = {
        method: prefix_information(counts, hierarchy(counts, method), [4, 6, 8])
        for method in HIERARCHIES
    }
    best = {length: max(one[length] for one in told.values()) for length in (4, 6, 8)}
    assert told["bisect"][6] == best[6]
    for length in (4, 8):
        assert told["bisect"][length] > 0.85 * best[length]


@given(st.integers(0, 1000), st.integers(2, 7))
def test_losses_of_joining_by_brute_force(seed, g):
    counts = table(seed, g)
    total = counts.sum()
    if total == 0:
        return
    losses = joining_losses(counts)
    for i in range(g):
        for j in range(i):
            labels = np.arange(g)
            labels[i] = j
            lost = information_of_pairs(counts) - mutual_information(csr_array(counts), labels)
            assert losses[i, j] == pytest.approx(lost * total, abs=1e-6 * total)


def test_matching_swaps_partners_where_greed_is_dear():
    losses = np.full((4, 4), np.inf)
    for i, j, price in [(0, 1, 1), (2, 3, 100), (0, 2, 2), (1, 3, 2), (0, 3, 9), (1, 2, 9)]:
        losses[i, j] = losses[j, i] = price
    assert _match(losses) == [(0, 2), (1, 3)]


def test_merges_become_bits():
    assert paths_of_merges(np.array([[1, 2], [0, 3], [1, 0]]), 4) == ["10", "00", "01", "11"]


def test_unknown_method():
    with pytest.raises(SettingsError, match="bisect"):
        hierarchy(np.ones((2, 2)), "nonsense")


RING = np.kron(np.roll(np.eye(8), 1, axis=1), np.ones((2, 2))).astype(int) * 50
"""8 classes of two, each followed by the next: all distances, losses and directions are tied."""


@pytest.mark.parametrize("method", HIERARCHIES)
def test_ties_are_decided_by_order_not_by_rounding(method, monkeypatch):
    paths = hierarchy(RING, method)
    vectors = cluster_vectors(RING)
    for seed in range(5):
        # in another basis every number is rounded in another way
        normal = np.random.default_rng(seed).standard_normal((vectors.shape[1],) * 2)
        turned = vectors @ np.linalg.qr(normal)[0]
        monkeypatch.setattr(hierarchy_module, "cluster_vectors", lambda _, found=turned: found)
        assert hierarchy(RING, method) == paths


def test_the_direction_that_is_left_out_does_not_depend_on_rounding():
    vectors = cluster_vectors(RING)
    for seed in range(5):
        noise = np.random.default_rng(seed).standard_normal(RING.shape)
        other = cluster_vectors(RING * (1 + 1e-14 * noise))
        np.testing.assert_allclose(other @ other.T, vectors @ vectors.T, atol=1e-7)
