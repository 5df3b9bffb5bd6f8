"""Scores to try decoders on."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="session")
def draw_scores():
    """(n, seed, kind) -> arc and sibling scores of that kind."""

    def draw(n, seed, kind="plain"):
        rng = np.random.default_rng([n, seed])
        arc, sib = rng.normal(size=(n + 1,) * 2), rng.normal(size=(n + 1,) * 3)
        if kind == "tied":
            arc, sib = np.round(arc), np.round(sib)
        elif kind == "equal":
            arc[:], sib[:] = 0.5, 0.25
        elif kind == "holes":
            arc[rng.random(arc.shape) < 0.3] = -np.inf
            sib[rng.random(sib.shape) < 0.1] = -np.inf
        elif kind == "large":
            arc, sib = arc * 1e6, sib * 1e6
        elif kind == "small":
            arc, sib = arc * 1e-6, sib * 1e-6
        elif kind == "mixed":
            arc, sib = arc * 10.0 ** rng.integers(-6, 7, arc.shape), sib * 1e-3
        # what means nothing may hold anything
        np.fill_diagonal(arc, np.nan)
        arc[:, 0] = np.inf
        return arc, sib

    return draw
