"""The best sequence of candidates and the share of each, against all sequences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.tagging.morphology.kernels.chain import best_path, runners_up, shares_of

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


@settings(max_examples=60, deadline=None)
@given(chains(), st.lists(st.integers(0, 1), min_size=3, max_size=3))
def test_the_runner_up_is_the_other_part_of_speech_of_most_paths(chain, kinds) -> None:
    """Candidate c has tag 2 - c, whose part of speech is ``kinds[2 - c]``."""
    counts, scores, pairs = chain
    n = len(counts)
    single, nothing = np.zeros((n, 3)), np.zeros((0, 3, 3))
    shares_of(counts, scores, pairs, single, nothing, 1.0)
    path = np.zeros(n, np.int64)
    best_path(counts, scores, pairs, path)
    names = np.tile(np.array([2, 1, 0]), (n, 1))
    upos = np.array(kinds, np.uint64)
    others, chances = np.zeros(n, np.int64), np.full((n, 2), 9.0)
    runners_up(names, counts, single, path, upos, others, chances)
    weight = {one: math.exp(_score(one, scores, pairs)) for one in _paths(counts)}
    total = sum(weight.values())
    for i in range(n):
        own = kinds[2 - path[i]]
        same = sum(w for one, w in weight.items() if kinds[2 - one[i]] == own) / total
        assert chances[i] == pytest.approx([same, 1.0 - same], abs=1e-9)
        if all(kinds[2 - c] == own for c in range(counts[i])):
            assert others[i] == -1
        else:
            assert kinds[others[i]] != own
