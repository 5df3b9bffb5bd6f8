"""Exchange: mutual information equals a brute-force count, never falls, and each move is best."""

from __future__ import annotations

from collections import Counter
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from eigentext.base.cores import using_cores
from eigentext.errors import SettingsError
from eigentext.words.clusters import exchange
from eigentext.words.clusters.exchange import (
    ExchangeState,
    NeighbourLists,
    find_targets,
    frequency_start,
    refine,
)


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
    pairs = csr_array(random_pairs(8, 30))
    labels = np.arange(30) % 4
    state = ExchangeState.of(pairs, labels, 4)
    found = refine(pairs, labels, 4, np.arange(30), passes=2, state=state)
    assert found.moves[0] > 0
    anew = ExchangeState.of(pairs, found.labels, 4)
    for updated, fresh in zip(state, anew, strict=True):
        np.testing.assert_allclose(updated, fresh, rtol=1e-12, atol=1e-9)


@given(cases)
def test_targets_are_those_of_brute_force_while_all_others_stay(case):
    """The words stand in their clusters and in the counts, and are not taken out."""
    seed, n, m = case
    pairs, m = random_pairs(seed, n), min(case[2], n)
    np.fill_diagonal(pairs, np.random.default_rng(seed).poisson(1, n))
    labels = np.random.default_rng(seed).integers(0, m, n)
    labels[:m] = np.arange(m)
    sizes = np.bincount(labels, minlength=m)
    state = ExchangeState.of(csr_array(pairs), labels, m)
    before = [array.copy() for array in state]
    lists = NeighbourLists.of(csr_array(pairs))
    targets = find_targets(np.arange(n), lists, labels, state)
    for word in range(n):
        values = []
        for target in range(m):
            moved = labels.copy()
            moved[word] = target
            values.append(brute_force(pairs, moved))
        beside = pairs[word].sum() + pairs[:, word].sum()
        if sizes[labels[word]] == 1 or beside == 0:
            assert targets[word] == labels[word]
        else:
            assert values[targets[word]] == pytest.approx(max(values), abs=1e-6)
    for array, old in zip(state, before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_the_number_of_cores_changes_nothing():
    pairs = csr_array(random_pairs(5, 900, density=0.05))
    order = np.arange(900)
    results = []
    for cores in (1, 2, 3):
        with using_cores(cores):
            results.append(refine(pairs, frequency_start(order, 40), 40, order, passes=3))
    for other in results[1:]:
        assert np.array_equal(other.labels, results[0].labels)
        assert (other.information, other.moves) == (results[0].information, results[0].moves)


def test_words_at_a_time_end_near_words_one_by_one(monkeypatch):
    pairs = csr_array(random_pairs(6, 1500, density=0.02))
    order = np.arange(1500)

    def information():
        return refine(pairs, frequency_start(order, 60), 60, order, passes=5).information[-1]

    together = information()
    monkeypatch.setattr(exchange, "_MOST_AT_ONCE", 1)
    assert together == pytest.approx(information(), rel=0.01)


def test_counts_beyond_four_bytes_are_whole():
    pairs = random_pairs(4, 12).astype(np.int64)
    labels = np.arange(12) % 3
    small = refine(csr_array(pairs), labels, 3, np.arange(12), passes=3)
    large = refine(csr_array(pairs * 2**31), labels, 3, np.arange(12), passes=3)
    assert np.array_equal(small.labels, large.labels)
    assert large.information == pytest.approx(small.information, rel=1e-9)


def test_words_outside_the_order_stay_out():
    pairs = random_pairs(3, 9)
    inside = np.array([0, 2, 3, 5, 6, 8])
    rest = refine(csr_array(pairs), frequency_start(inside, 2, 9), 2, inside, passes=3)
    assert (rest.labels[[1, 4, 7]] == -1).all()
    alone = pairs[np.ix_(inside, inside)]
    fewer = refine(csr_array(alone), frequency_start(np.arange(6), 2), 2, np.arange(6), passes=3)
    assert np.array_equal(rest.labels[inside], fewer.labels)


def test_a_word_without_neighbours_joins_the_largest_cluster():
    pairs = np.zeros((5, 5), dtype=np.int64)
    pairs[0, 1] = pairs[1, 2] = pairs[2, 0] = 3
    found = refine(csr_array(pairs), np.array([0, 1, 1, -1, -1]), 2, np.arange(5), passes=0)
    assert found.labels.tolist() == [0, 1, 1, 1, 1]


def test_an_empty_cluster_at_the_start_is_refused():
    with pytest.raises(SettingsError, match="empty"):
        refine(csr_array(np.ones((3, 3))), np.array([0, 0, 2]), 3, np.arange(3))
