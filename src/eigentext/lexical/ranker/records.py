"""What compiled loops are given: arrays that belong together, under their names.

Shapes: n words, R candidates of all words (rows), U units, A features of a word, T targets, K
numbers of a row, C columns.  A unit is a value of a target (``label``, an element, ...) on which
the candidates of a word differ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eigentext.base.types import Bools, Float32s, Float64s, Int8s, Int32s, Int64s
from eigentext.lexical.ranker.features import Hashes

BUCKETS = 4
"""Weights differ by how often the feature was seen: once, 2 to 3, 4 to 15, more."""


class UnitTable(NamedTuple):
    """Words with their features and units."""

    atoms: Hashes  # [n, A] hashes of features; 0: none
    used: Bools  # [A, T] which (feature, target) pairs count
    unit_first: Int64s  # [n + 1] where the units of each word begin
    unit_hash: Hashes  # [U]
    unit_target: Int32s  # [U]


class Counted(NamedTuple):
    """Counts of features, of values and of both together, as kernels/hash_table.py holds them."""

    slots: Hashes
    left_out: Hashes  # counts to take off, those of the words' own document; of length 1: none
    n_words: int  # of all counts, without the own


class CandidateRows(NamedTuple):
    """The candidates of words."""

    first: Int64s  # [n + 1] where the rows of each word begin
    row_units: Int32s  # [R, T] -1: the word's candidates agree
    numeric: Float32s  # [R, K]


class CountColumns(NamedTuple):
    """What is made of counts."""

    z: Float32s  # [U, C]
    bucket: Int8s  # [n, C] which of the weights counts


class RankWeights(NamedTuple):
    """Weights of columns, of numbers and of (feature, value) pairs."""

    dense: Float64s  # [BUCKETS, C, T]
    numeric: Float64s  # [K]
    sparse: Float32s  # [2^bits]
    bits: int

    @classmethod
    def full(
        cls, value: float, n_columns: int, n_targets: int, n_numbers: int, bits: int = 0
    ) -> RankWeights:
        """All of them this value."""
        return cls(
            np.full((BUCKETS, n_columns, n_targets), value, order="F"),  # by target, as it is read
            np.full(n_numbers, value),
            np.full(1 << bits, value, np.float32),
            bits,
        )
