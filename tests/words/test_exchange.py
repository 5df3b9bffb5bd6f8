"""Exchange: mutual information equals a brute-force count, never falls, and each move is best."""

from __future__ import annotations

from collections import Counter
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from eigentext.errors import SettingsError
from eigentext.words.clusters.exchange import ExchangeState, frequency_start, refine


def brute_force(pairs, labels):
    """Eq. 3 by counting, pair by pair."""
    joint, left, right = Counter(), Counter(), Counter()
    for (i, j), n in np.ndenumerate(pairs):
        joint[labels[i], labels[j]] += int(n)
        left[labels[i]] += int(n)
        right[labels[j]] += int(n)
    total = sum(joint.values())
    return sum(
        n / total * log(n * total / (left[a] * right[b])) for (a, b), n in joint.items() if n
    )


def random_pairs(seed, n, density=0.4):
    rng = np.random.default_rng(seed)
    return rng.poisson(4, size=(n, n)) * (rng.random((n, n)) < density)


cases = st.tuples(st.integers(0, 10_000), st.integers(3, 15), st.integers(1, 5))


@given(cases)
def test_information_never_falls_and_equals_a_brute_force_count(case):
    seed, n, m = case
    pairs, m = random_pairs(seed, n), min(case[2], n)
    labels = np.random.default_rng(seed).integers(0, m, n)
    labels[:m] = np.arange(m)
    if not pairs.any():
        return
    found = refine(csr_array(pairs), labels, m, np.arange(n), passes=20, tol=0)
    before = brute_force(pairs, labels)
    assert found.information[-1] == pytest.approx(brute_force(pairs, found.labels), abs=1e-12)
    for value in found.information:
        assert value >= before - 1e-12
        before = value
    assert set(found.labels.tolist()) == set(range(m))


@given(cases)
def test_one_word_goes_where_brute_force_puts_it(case):
    seed, n, m = case
    pairs, m = random_pairs(seed, n), min(case[2], n - 1)
    labels = np.random.default_rng(seed).integers(0, m, n)
    labels[1 : m + 1] = np.arange(m)
    start = brute_force(pairs, labels)
    found = refine(csr_array(pairs), labels, m, np.array([0]), passes=1)
    moved = labels.copy()
    values = []
    for target in range(m):
        moved[0] = target
        values.append(brute_force(pairs, moved))
    assert brute_force(pairs, found.labels) == pytest.approx(max(*values, start), abs=1e-9)
    assert np.array_equal(found.labels[1:], labels[1:])


@given(cases)
def test_words_without_cluster_go_where_the_pairs_that_are_in_say(case):
    seed, n, m = case
    pairs, m = random_pairs(seed, n, 0.7), min(case[2], n - 1)
    order = np.arange(n)
    found = refine(csr_array(pairs), frequency_start(order, m), m, order, passes=0)
    labels = frequency_start(order, m)
    for w in range(m, n):
        inside = np.append(np.flatnonzero(labels >= 0), w)
        seen = pairs[np.ix_(inside, inside)]
        values = []
        for target in range(m):
            labels[w] = target
            values.append(brute_force(seen, labels[inside]) if seen.any() else 0.0)
        labels[w] = found.labels[w]
        assert values[found.labels[w]] == pytest.approx(max(values), abs=1e-9)


def test_large_counts_keep_their_precision():
    pairs = random_pairs(5, 12).astype(np.int64) * 1_000_003
    labels = np.arange(12) % 3
    found = refine(csr_array(pairs), labels, 3, np.arange(12), passes=30, tol=0)
    state = ExchangeState.of(csr_array(pairs), found.labels, 3)
    assert state.information == pytest.approx(brute_force(pairs, found.labels), abs=1e-12)
    assert found.moves[-1] == 0


def test_kept_counts_equal_counts_made_anew():
    from eigentext.words.clusters.exchange import NeighbourLists
    from eigentext.words.kernels import exchange as kernels

    pairs = csr_array(random_pairs(8, 30))
    labels = np.arange(30) % 4
    lists, state = NeighbourLists.of(pairs), ExchangeState.of(pairs, labels, 4)
    order = np.arange(30)
    kernels.exchange_pass(order, lists, labels, state, 1e-6)
    anew = ExchangeState.of(pairs, labels, 4)
    for updated, fresh in zip(state, anew, strict=True):
        np.testing.assert_allclose(updated, fresh, rtol=1e-12, atol=1e-9)


def test_a_word_without_neighbours_joins_the_largest_cluster():
    pairs = np.zeros((5, 5), dtype=np.int64)
    pairs[0, 1] = pairs[1, 2] = pairs[2, 0] = 3
    found = refine(csr_array(pairs), np.array([0, 1, 1, -1, -1]), 2, np.arange(5), passes=0)
    assert found.labels.tolist() == [0, 1, 1, 1, 1]


def test_an_empty_cluster_at_the_start_is_refused():
    with pytest.raises(SettingsError, match="empty"):
        refine(csr_array(np.ones((3, 3))), np.array([0, 0, 2]), 3, np.arange(3))
