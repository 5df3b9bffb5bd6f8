"""Brown clustering against the naive algorithm: likelihood of every possible merge, anew."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from eigentext.errors import SettingsError
from eigentext.words.clusters.merging import brown


def f(x):
    return np.where(x > 0, x * np.log(np.where(x > 0, x, 1.0)), 0.0).sum()


def naive(pairs, tokens, m, order):
    """Figure 1, by trying every merge."""

    def quality(clusters):
        table = np.array([[pairs[np.ix_(a, b)].sum() for b in clusters] for a in clusters])
        totals = np.array([tokens[c].sum() for c in clusters], dtype=float)
        return f(table) - ((table.sum(0) + table.sum(1)) * np.log(totals)).sum()

    def merge(clusters):
        now, best = quality(clusters), (np.inf, clusters)
        for i, j in combinations(range(len(clusters)), 2):
            rest = [c for k, c in enumerate(clusters) if k not in (i, j)]
            tried = [*rest, clusters[i] + clusters[j]]
            best = min(best, (now - quality(tried), tried), key=lambda pair: pair[0])
        return best

    clusters = [[w] for w in order[:m]]
    for w in order[m:]:
        _, clusters = merge([*clusters, [w]])
    found = {frozenset(c) for c in clusters}
    losses = []
    while len(clusters) > 1:
        loss, clusters = merge(clusters)
        losses.append(loss)
    return found, losses


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(4, 13), st.integers(1, 6), st.floats(0.3, 1.0))
def test_equals_the_naive_algorithm(seed, n, m, density):
    rng = np.random.default_rng(seed)
    # real-valued weights: no ties that rounding could decide either way
    pairs = rng.gamma(1.0, 5.0, size=(n, n)) * (rng.random((n, n)) < density)
    tokens = pairs.sum(axis=0) + pairs.sum(axis=1) + rng.random(n) + 1
    order, m = np.argsort(-tokens), min(m, n)
    found = brown(csr_array(pairs), tokens, m, order)
    groups, losses = naive(pairs, np.maximum(tokens, 1), m, order.tolist())
    assert {frozenset(np.flatnonzero(found.labels == c).tolist()) for c in range(m)} == groups
    np.testing.assert_allclose(found.costs, losses, rtol=1e-7, atol=1e-7)


def test_clusters_are_numbered_by_their_most_frequent_word():
    rng = np.random.default_rng(1)
    pairs = rng.poisson(2, size=(30, 30))
    order = rng.permutation(30)
    labels = brown(csr_array(pairs), pairs.sum(axis=0), 6, order).labels[order]
    firsts = [int(np.argmax(labels == c)) for c in range(6)]
    assert firsts == sorted(firsts)


def test_merges_of_given_clusters_lose_least_information():
    table = np.array([[0, 50, 1], [40, 0, 45], [1, 52, 0]])
    merges = brown(csr_array(table), table.sum(axis=0), 3, np.arange(3)).merges
    assert merges[0].tolist() == [0, 2]


def test_impossible_number_of_clusters():
    with pytest.raises(SettingsError, match="4 clusters of 3 words"):
        brown(csr_array(np.ones((3, 3))), np.ones(3), 4, np.arange(3))
