"""The best sequence of candidates and the share of each, against all sequences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.morphology.kernels.chain import best_path, shares_of

numbers = st.floats(-3, 3, allow_nan=False, width=32)


@st.composite
def chains(draw):
    """Counts of candidates, scores of candidates and of pairs."""
    counts = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    scores = draw(st.lists(numbers, min_size=3 * len(counts), max_size=3 * len(counts)))
    pairs = draw(st.lists(numbers, min_size=9 * len(counts), max_size=9 * len(counts)))
    shape = (len(counts), 3, 3)
    return np.array(counts), np.array(scores).reshape(shape[:2]), np.array(pairs).reshape(shape)


def _score(path, scores, pairs):
    before = (0, *path)  # one candidate stands before the sentence
    return sum(scores[i, here] + pairs[i, before[i], here] for i, here in enumerate(path))


def _paths(counts):
    return itertools.product(*map(range, counts.tolist()))


@settings(max_examples=60, deadline=None)
@given(chains())
def test_the_best_path_has_the_highest_score_of_all(chain) -> None:
    counts, scores, pairs = chain
    path = np.zeros(len(counts), np.int64)
    best_path(counts, scores, pairs, path)
    every = [_score(one, scores, pairs) for one in _paths(counts)]
    assert _score(tuple(path.tolist()), scores, pairs) == pytest.approx(max(every), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(chains(), st.sampled_from([0.5, 1.0, 2.0]))
def test_shares_are_those_of_all_paths(chain, heat) -> None:
    counts, scores, pairs = chain
    n = len(counts)
    single, double = np.zeros((n, 3)), np.zeros((n, 3, 3))
    whole = shares_of(counts, scores, pairs, single, double, heat)
    weight = {one: math.exp(_score(one, scores, pairs) / heat) for one in _paths(counts)}
    total = sum(weight.values())
    assert whole == pytest.approx(math.log(total), abs=1e-9)
    for i in range(n):
        for d in range(counts[i]):
            here = sum(w for path, w in weight.items() if path[i] == d)
            assert single[i, d] == pytest.approx(here / total, abs=1e-9)
            for c in range(counts[i - 1] if i else 1):
                both = sum(
                    w for path, w in weight.items() if path[i] == d and (not i or path[i - 1] == c)
                )
                assert double[i, c, d] == pytest.approx(both / total, abs=1e-9)
