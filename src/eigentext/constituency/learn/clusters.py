"""The clustering estimator: latent states by k-means on the spectral projections, then counts.

1. Every node has inside features, phi of what is below it, and outside features, psi of the rest
   of the tree: the two views of ``features.states``, which finds the states of each nonterminal.
2. Counting states in rules gives a proper latent-variable PCFG: no negative numbers.

Noise on the features (dropout, Gaussian) gives a different model for each seed: an ensemble.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from eigentext.constituency.features import inside_features, outside_features
from eigentext.features.sparse_rows import FeatureRows, scaled_rows
from eigentext.features.states import Clustering, kmeans_states, states_by_label

if TYPE_CHECKING:
    from eigentext.base.progress import Progress
    from eigentext.base.types import Int64s
    from eigentext.constituency.settings import LPCFGSettings
    from eigentext.constituency.treebank import Treebank

_SEED_ROWS = 1500  # k-means++ seeds are drawn from so many nodes
_FIT_ROWS = 12_000  # and the centres are fitted on so many; the rest are assigned


def noised(X: FeatureRows, settings: LPCFGSettings, rng: np.random.Generator) -> FeatureRows:
    """The same features with noise, where several models are to differ."""
    values = X.values
    if not settings.noised:
        return X
    if settings.dropout:
        values = values * (rng.random(values.shape, dtype=np.float32) >= settings.dropout)
    if settings.noise:
        values = values * (1 + settings.noise * rng.standard_normal(values.shape, np.float32))
    return X._replace(values=values)


def cluster_states(
    bank: Treebank, settings: LPCFGSettings, *, progress: Progress | None = None
) -> Clustering:
    """States for the nodes of every nonterminal."""
    inside = inside_features(bank, settings.inside)
    outside = outside_features(bank, settings.outside)

    def views(nodes: Int64s, rng: np.random.Generator) -> tuple[FeatureRows, FeatureRows]:
        Phi = noised(scaled_rows(inside[nodes], settings.kappa), settings, rng)
        Psi = noised(scaled_rows(outside[nodes], settings.kappa), settings, rng)
        return Phi, Psi

    return states_by_label(
        bank.label,
        len(bank.labels),
        views,
        partial(kmeans_states, fit_rows=_FIT_ROWS, seed_rows=_SEED_ROWS),
        most_states=settings.most_states,
        per_state=settings.per_state,
        seed=settings.seed,
        auto=settings.n_states == "auto",
        progress=progress,
    )
