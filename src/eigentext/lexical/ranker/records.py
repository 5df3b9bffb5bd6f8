"""What compiled loops are given: arrays that belong together, under their names.

Shapes: n words, R candidates of all words (rows), U units, A features of a word, T targets, K
numbers of a row, C columns.  A unit is a value of a target (``label``, an element, ...) on which
the candidates of a word differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from eigentext.lexical.ranker.features import Hashes

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

__all__ = ["BUCKETS", "CandidateRows", "CountColumns", "Counted", "FeatureTable", "Weights"]

BUCKETS = 4
"""Weights differ by how often the feature was seen: once, 2 to 3, 4 to 15, more."""


class FeatureTable(NamedTuple):
    """Words with their features and units."""

    atoms: Hashes  # [n, A] hashes of features; 0: none
    used: npt.NDArray[np.bool_]  # [A, T] which (feature, target) pairs count
    unit_first: Ints  # [n + 1] where the units of each word begin
    unit_hash: Hashes  # [U]
    unit_target: npt.NDArray[np.int32]  # [U]


class Counted(NamedTuple):
    """Counts of features, of values and of both together, as kernels/hash_table.py holds them."""

    slots: Hashes
    own: Hashes  # counts to take off, those of the words' own document; of length 1: none
    n_words: int  # of all counts, without the own


class CandidateRows(NamedTuple):
    """The candidates of words."""

    first: Ints  # [n + 1] where the rows of each word begin
    row_units: npt.NDArray[np.int32]  # [R, T] -1: the word's candidates agree
    numeric: npt.NDArray[np.float32]  # [R, K]


class CountColumns(NamedTuple):
    """What is made of counts."""

    z: npt.NDArray[np.float32]  # [U, C]
    bucket: npt.NDArray[np.int8]  # [n, C] which of the weights counts


class Weights(NamedTuple):
    """Weights of columns, of numbers and of (feature, value) pairs."""

    dense: Floats  # [BUCKETS, C, T]
    numeric: Floats  # [K]
    sparse: npt.NDArray[np.float32]  # [2^bits]
    bits: int

    @classmethod
    def full(
        cls, value: float, n_columns: int, n_targets: int, n_numbers: int, bits: int = 0
    ) -> Weights:
        """All of them this value."""
        return cls(
            np.full((BUCKETS, n_columns, n_targets), value, order="F"),  # by target, as it is read
            np.full(n_numbers, value),
            np.full(1 << bits, value, np.float32),
            bits,
        )
