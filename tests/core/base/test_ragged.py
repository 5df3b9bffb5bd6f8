"""Rows of different lengths in one array."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eigentext.base.ragged import pointers


@given(st.lists(st.lists(st.integers(-9, 9), max_size=5), max_size=8))
def test_rows_lie_between_pointers(rows: list[list[int]]) -> None:
    values = [value for row in rows for value in row]
    ptr = pointers(map(len, rows))
    assert [values[begin:end] for begin, end in pairwise(ptr.tolist())] == rows
    assert ptr.tolist() == pointers(np.array([len(row) for row in rows], int)).tolist()
    assert ptr.dtype == np.int64
