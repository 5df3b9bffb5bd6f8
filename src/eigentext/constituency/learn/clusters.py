"""The clustering estimator: latent states by k-means on the spectral projections, then counts.

1. For each nonterminal a: Phi_a (inside) and Psi_a (outside) features of its M_a nodes, and the
   top singular directions of Omega_a = Phi_a' Psi_a / M_a.
2. Every node gets the coordinates [Y diag(s), Z diag(s)], each half brought to length 1, so that
   what a node is like decides and not how unusual it is, and by k-means one of m_a states,
   m_a = min(m, M_a / per_state), or as many as the spectrum says (``spectrum``).
3. Counting states in rules gives a proper latent-variable PCFG: no negative numbers.

Noise on the features (dropout, Gaussian) gives a different model for each seed: an ensemble.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.constituency.features import inside_features, outside_features, scaled_rows
from eigentext.constituency.spectrum import (
    FeatureRows,
    Spectra,
    noise_level,
    omega_svd,
    significant,
)
from eigentext.linalg.ties import number_alike, unit_rows

if TYPE_CHECKING:
    import numpy.typing as npt

    from eigentext.base.progress import Progress
    from eigentext.constituency.settings import LPCFGSettings
    from eigentext.constituency.treebank import Treebank

    Ints = npt.NDArray[np.int64]

__all__ = ["Clustering", "cluster_states"]

_SEED_ROWS = 1500  # k-means++ seeds are drawn from so many nodes
_FIT_ROWS = 12_000  # and the centres are fitted on so many; the rest are assigned


class Clustering(NamedTuple):
    """(N,) the state of every node, (labels,) states of every nonterminal, singular values."""

    state: Ints
    m: Ints
    spectra: Spectra


def _noised(X: FeatureRows, settings: LPCFGSettings, rng: np.random.Generator) -> FeatureRows:
    values = X.values
    if not settings.noised:
        return X
    if settings.dropout:
        values = values * (rng.random(values.shape, dtype=np.float32) >= settings.dropout)
    if settings.noise:
        values = values * (1 + settings.noise * rng.standard_normal(values.shape, np.float32))
    return X._replace(values=values)


def _kmeans(X: npt.NDArray[np.float32], m: int, rng: np.random.Generator) -> Ints:
    """A state for each row."""
    from sklearn.cluster import KMeans, kmeans_plusplus
    from sklearn.exceptions import ConvergenceWarning

    alike = number_alike(X, m)
    if alike is not None:  # fewer different nodes than states
        return alike
    n = len(X)
    rows = X if n <= _FIT_ROWS else X[rng.choice(n, _FIT_ROWS, replace=False)]
    few = (
        rows if len(rows) <= _SEED_ROWS else rows[rng.choice(len(rows), _SEED_ROWS, replace=False)]
    )
    seeds, _ = kmeans_plusplus(few, m, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        # Many nodes may be alike; a state that none of them takes does no harm.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = KMeans(m, init=seeds, n_init=1, max_iter=30, tol=1e-3).fit(rows)
    return np.asarray(fitted.labels_ if len(rows) == n else fitted.predict(X), dtype=np.int64)


def cluster_states(
    bank: Treebank, settings: LPCFGSettings, *, progress: Progress | None = None
) -> Clustering:
    """States for the nodes of every nonterminal."""
    inside = inside_features(bank, settings.inside)
    outside = outside_features(bank, settings.outside)
    n_labels = len(bank.labels)
    order = np.argsort(bank.label, kind="stable")
    bounds = np.searchsorted(bank.label[order], np.arange(n_labels + 1))
    state = np.zeros(len(bank.label), dtype=np.int64)
    m = np.ones(n_labels, dtype=np.int64)
    spectra: list[npt.NDArray[np.float32]] = [np.empty(0, np.float32)] * n_labels
    for a in range(n_labels):
        rows = order[bounds[a] : bounds[a + 1]]
        wanted = min(settings.most_states, len(rows) // settings.per_state)
        if progress is not None:
            progress(int(bounds[a]), len(bank.label), "latent states")
        if wanted < 2:
            continue
        rng = np.random.default_rng([settings.seed, a])
        Phi = _noised(scaled_rows(inside[rows], settings.kappa), settings, rng)
        Psi = _noised(scaled_rows(outside[rows], settings.kappa), settings, rng)
        found = omega_svd(Phi, Psi, wanted, rng)
        spectra[a] = found.s
        if settings.n_states == "auto":
            wanted = min(wanted, significant(found.s, noise_level(Phi, Psi, rng)))
        if not len(found.s) or wanted < 2:
            continue
        s = found.s[:wanted]
        halves = [unit_rows(X[:, :wanted] * s) for X in (found.Y, found.Z)]
        state[rows] = _kmeans(np.hstack(halves), wanted, rng)
        m[a] = wanted
    return Clustering(state, m, Spectra.of(spectra))
