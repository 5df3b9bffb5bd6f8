"""Hashes, tables of known strings, and steps of a linear model, against plain twins."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.base.hashing import mixed
from eigentext.tagging.segmentation.kernels import tables as kernel
from eigentext.tagging.segmentation.tables import HashedCounts, quantised, shortened

KEYS = st.integers(0, 2**64 - 1)
_STEP = 0x9E3779B1  # of the table
_INVERSE = pow(_STEP, -1, 2**32)


@settings(max_examples=60)
@given(st.text("abcé𝄞", max_size=9), st.integers(0, 4), st.integers(0, 9))
def test_the_hash_of_a_string_is_that_of_its_letters_in_order(text, start, end) -> None:
    start, end = min(start, len(text)), min(max(end, start), len(text))
    codes = np.array(list(map(ord, text)), np.uint32)
    expected = mixed(0x51A7, map(ord, text[start:end]))
    assert int(kernel.string_key(codes, start, end)) == expected


@settings(max_examples=60)
@given(st.lists(KEYS, max_size=8))
def test_a_key_is_kept_by_its_upper_half_which_is_never_none(keys) -> None:
    keys = [*keys, 7, 2**32 - 1, 2**32]
    found = shortened(np.array(keys, np.uint64)).tolist()
    assert found == [(key >> 32) or 1 for key in keys]
    assert found == [int(kernel.short(np.uint64(key))) for key in keys]


@settings(max_examples=100)
@given(st.sets(st.integers(0, 40), max_size=20), st.data())
def test_a_table_answers_as_a_dictionary_does(places, data) -> None:
    """Keys that all want the same few cells, so that most are found behind others."""
    keys = sorted(1 + (place % 3 + place * 1024) * _INVERSE % (2**32 - 1) for place in places)
    keys = sorted(set(keys))
    values = [data.draw(st.integers(1, 255)) for _ in keys]
    counts = HashedCounts.of(np.array(keys, np.uint32), np.array(values, np.uint8))
    assert len(counts.table_keys) >= max(2 * len(keys), 2)
    expected = dict(zip(keys, values, strict=True))
    for key in [*keys, *(key + 1 for key in keys), 1, 5]:
        found = kernel.value_of(np.uint64((key << 32) % 2**64), *counts.table)
        assert found == expected.get(key % 2**32, 0)


def test_a_table_that_wraps_around() -> None:
    """Both keys want the last cell: the second is in the first one."""
    keys = sorted((cell * _INVERSE) % 2**32 for cell in (3, 7, 11))
    counts = HashedCounts.of(np.array(keys, np.uint32), np.array([5, 6, 7], np.uint16))
    assert len(counts.table_keys) == 8
    found = [int(kernel.value_of(np.uint64(key << 32), *counts.table)) for key in keys]
    assert found == [5, 6, 7]


def test_buckets_of_counts() -> None:
    found = [int(kernel.bucket(count)) for count in range(300)]
    ends = [0, 2, 6, 14, 30, 62, 126]  # each holds twice as many as the one before
    assert found == [sum(count > end for end in ends) for count in range(300)]


@settings(max_examples=100)
@given(
    st.lists(KEYS, min_size=1, max_size=6), st.floats(-40, 40), st.booleans(), st.integers(1, 5)
)
def test_a_step_is_one_of_adagrad_on_the_logistic_loss(keys, score, gold, n) -> None:
    n, shift = min(n, len(keys)), 62
    weights = np.array([0.5, -1.0, 2.0, 0.0], np.float32)
    squares = np.array([1.0, 2.0, 4.0, 1.5], np.float32)
    w, q = weights.astype(float), squares.astype(float)
    given_keys = np.array(keys, np.uint64)
    own = float(kernel.total(weights, given_keys, n, shift))
    assert own == pytest.approx(sum(w[key >> shift] for key in keys[:n]))
    loss = kernel.step(weights, squares, given_keys, n, shift, score, float(gold), 0.2)
    chance = 1 / (1 + math.exp(-min(max(score, -30), 30)))
    slope = chance - gold
    if abs(slope) < 0.005:
        assert loss == 0.0
    else:
        assert loss == pytest.approx(-math.log(chance if gold else 1 - chance))
        for key in keys[:n]:
            q[key >> shift] += slope**2
            w[key >> shift] -= 0.2 * slope / math.sqrt(q[key >> shift])
    assert weights == pytest.approx(w, abs=1e-5)
    assert squares == pytest.approx(q, rel=1e-5)


@settings(max_examples=80)
@given(st.lists(st.floats(-50, 50, width=32), max_size=12))
def test_weights_as_small_numbers_are_the_nearest_ones(weights) -> None:
    steps, unit = quantised(np.array(weights))
    largest = max(map(abs, weights), default=0.0)
    assert unit == (pytest.approx(largest / 127) if largest else 1.0)
    assert steps.dtype == np.int8
    assert max(map(abs, steps.tolist()), default=0) == (127 if largest else 0)
    assert steps * unit == pytest.approx(np.array(weights), abs=unit * 0.5001)
