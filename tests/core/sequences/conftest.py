"""Models to try."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="session")
def sparse_parameters():
    """(k, V, seed) -> parameters with zeros in every table."""
    from eigentext.sequences import Parameters

    def draw(k, n_symbols, seed):
        rng = np.random.default_rng(seed)
        tables = [rng.random(shape) for shape in ((1, k), (k, k), (k, n_symbols))]
        for table in tables:
            table[rng.random(table.shape) < 0.3] = 0.0
            table[:, -1] += 0.05
            table /= table.sum(axis=1, keepdims=True)
        return Parameters(tables[0][0], tables[1], tables[2])

    return draw
