"""Rows of different lengths in one array."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eigentext.base.ragged import Ragged, pointers


@given(st.lists(st.lists(st.integers(-9, 9), max_size=5), max_size=8))
def test_rows_come_back(rows: list[list[int]]) -> None:
    ragged = Ragged.of(rows)
    assert ragged.n_rows == len(rows)
    assert [row.tolist() for row in ragged.rows()] == rows
    assert ragged.ptr.tolist() == pointers(np.array([len(row) for row in rows], int)).tolist()
    assert ragged.ptr.dtype == np.int64
