"""Ratios of counts by numpy, column by column: the twin of ``kernels.counting.ratios``."""

from __future__ import annotations

import numpy as np

from eigentext.lexical.ranker.counts import shares


def ratios_of_counts(stats, encoded, strength=1.0):
    """z [U, A + 1], the value's own log share last, and the bucket of its weight [n, A + 1]."""
    n, n_atoms = stats.alone.shape
    per_unit = np.repeat(np.arange(n), np.diff(encoded.unit_first))
    z = np.zeros((len(stats.base), n_atoms + 1), np.float32)
    bucket = np.zeros((n, n_atoms + 1), np.int8)
    z[:, -1] = shares(stats, encoded)
    share = np.exp(z[:, -1])
    for a in range(n_atoms):
        alone = stats.alone[per_unit, a].astype(np.float32)
        ratio = (stats.together[:, a] / share + strength) / (alone + strength)
        z[:, a] = np.where(alone > 0, np.log(ratio), 0.0)
    bucket[:, :-1] = np.digitize(stats.alone, (2, 4, 16))  # seen up to 1, 3, 15 times, or oftener
    return z, bucket
