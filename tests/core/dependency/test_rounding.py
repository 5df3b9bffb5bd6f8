"""Weights as whole numbers: what a file gives back, what it refuses, what rounding may change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eigentext.dependency.graph.storage import packed, unpacked
from eigentext.dependency.graph.training import rounded


@given(arrays(np.int16, st.integers(0, 300)))
def test_a_table_comes_back_from_its_bytes(table):
    back = unpacked(packed(table), len(table))
    assert back.dtype == np.int16
    assert np.array_equal(back, table)


@given(
    arrays(np.float32, st.integers(0, 50), elements=st.floats(-5, 5, width=32)),
    st.floats(1e-3, 1.0),
)
def test_a_weight_is_off_by_half_a_unit_at_most(weights, scale):
    assert np.all(np.abs(rounded(weights, scale) * scale - weights) <= scale / 2 + 1e-5)


def test_what_is_too_large_for_a_cell_is_cut():
    assert rounded(np.array([1e9, -1e9]), 0.01).tolist() == [32767, -32767]


def test_zeros_cost_next_to_nothing():
    assert len(packed(np.zeros(1 << 20, np.int16))) < 1 << 12


def test_bytes_of_another_table_are_refused():
    raw = packed(np.arange(100, dtype=np.int16))
    for size in (99, 101, 0):
        with pytest.raises(ValueError, match=f"not {size}"):
            unpacked(raw, size)
    for bad in (raw[:-1], np.append(raw, np.uint8(0))):
        with pytest.raises(ValueError, match="not 100"):
            unpacked(bad, 100)
    with pytest.raises(ValueError, match="cannot be unpacked"):
        unpacked(np.arange(20, dtype=np.uint8), 100)
