"""Features of nodes, as numbers and as sparse rows.

1. A feature is a template with its values; :func:`feature_numbers` mixes them into 64 bits, one
   column per template, so a node's sparse vector has one entry per template.
2. :func:`scaled_rows` turns the features of the nodes of one label into a sparse matrix
   (:class:`FeatureRows`), whose entries whiten the features one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.base.hashing import MIXER, SPREAD

if TYPE_CHECKING:
    import numpy.typing as npt

    from eigentext.base.types import Float32s, Int32s, UInt64s


class FeatureRows(NamedTuple):
    """A sparse matrix with F entries in each of its M rows: places and values, both (M, F)."""

    columns: Int32s
    values: Float32s
    width: int

    def times(self, W: Float32s) -> Float32s:
        """X W, dense (M, k)."""
        from eigentext.features.kernels.feature_rows import project

        out = np.empty((len(self.columns), W.shape[1]), np.float32)
        project(self.columns, self.values, W, out)
        return out

    def transposed_times(self, other: FeatureRows, W: Float32s) -> Float32s:
        """X' (Y W), dense (d, k), where Y is the other matrix over the same rows."""
        from eigentext.features.kernels.feature_rows import cross

        out = np.empty((self.width, W.shape[1]), np.float32)
        cross(self.columns, self.values, other.columns, other.values, W, out)
        return out


def feature_numbers(template: int, *values: npt.NDArray[np.integer]) -> UInt64s:
    """One 64-bit number per row from a template number and columns of values (FNV-like mix).

    >>> one, two = feature_numbers(1, np.array([3, 3]), np.array([4, 5])).tolist()
    >>> one == two
    False
    """
    state = np.full(values[0].shape, MIXER * (template + 1) % 2**64, dtype=np.uint64)
    for value in values:
        state ^= value.astype(np.uint64) + np.uint64(MIXER)
        state *= np.uint64(SPREAD)
        state ^= state >> np.uint64(29)
    return state


def scaled_rows(features: UInt64s, kappa: float) -> FeatureRows:
    """Sparse (M, d) matrix of one label's nodes, entries sqrt(M / (count + kappa)).

    >>> import numpy as np
    >>> features = np.array([[1, 6], [1, 7], [1, 8], [1, 9]], dtype=np.uint64)
    >>> rows = scaled_rows(features, kappa=0.0)
    >>> rows.columns.tolist(), rows.values.tolist()[0], rows.width
    ([[0, 1], [0, 2], [0, 3], [0, 4]], [1.0, 2.0], 5)
    """
    from eigentext.features.kernels.feature_rows import number_features

    columns = np.empty(features.shape, np.int32)
    counts = np.empty(features.size, np.int64)
    width = number_features(features, columns, counts)
    scale = np.sqrt(len(features) / (counts[:width] + kappa)).astype(np.float32)
    return FeatureRows(columns, scale[columns], width)
