"""States of nodes, label by label: a CCA of two views of every node, then k-means.

For each label a with M_a nodes:

1. The two views of its nodes (below and above, or inside and outside) as feature matrices Phi and
   Psi, and the top singular directions of Omega_a = Phi' Psi / M_a (``spectrum``).
2. Every node gets the coordinates [Y diag(s), Z diag(s)], each half brought to length 1, so that
   what a node is like decides and not how unusual it is.
3. k-means gives it one of m_a states, m_a = min(m, M_a / per_state), or as many as the spectrum
   says (``auto``).

What a node is, what is seen of it and how k-means begins are the model's own.  A label's random
numbers come from its own generator, seeded by (seed, a), in the order views, directions, k-means:
so one label's states do not depend on the others, and the cores in use share out the labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from eigentext.base.cores import largest_first
from eigentext.base.progress import Progress
from eigentext.base.types import Float32s, Int64s
from eigentext.features.spectrum import FeatureRows, Spectra, noise_level, omega_svd, significant
from eigentext.linalg.ties import number_alike, unit_rows

Views: TypeAlias = "Callable[[Int64s, np.random.Generator], tuple[FeatureRows, FeatureRows]]"
"""From the numbers of the nodes of one label to Phi and Psi."""

KMeans: TypeAlias = "Callable[[Float32s, int, np.random.Generator], Int64s]"
"""From coordinates (M, k) and a number of states to the state of each row."""


class StateClustering(NamedTuple):
    """(N,) the state of every node, (labels,) states of every label, singular values."""

    state: Int64s
    m: Int64s
    spectra: Spectra


def states_by_label(
    label: Int64s,
    n_labels: int,
    views: Views,
    kmeans: KMeans,
    *,
    most_states: int,
    per_state: int,  # a label has one state for so many nodes, at most ``most_states``
    seed: int,
    auto: bool = False,  # and no more than it has directions above the noise
    leave_out: int = 0,
    progress: Progress | None = None,
) -> StateClustering:
    """States for the nodes of every label; ``label`` (N,) is that of each node."""
    # ``leave_out``  so many leading directions say nothing: features that are counts have a
    #                constant one
    from sklearn.exceptions import ConvergenceWarning

    order = np.argsort(label, kind="stable")
    bounds = np.searchsorted(label[order], np.arange(n_labels + 1))
    state = np.zeros(len(label), dtype=np.int64)
    m = np.ones(n_labels, dtype=np.int64)
    spectra: list[Float32s] = [np.empty(0, np.float32)] * n_labels

    def of_label(a: int) -> None:
        nodes = order[bounds[a] : bounds[a + 1]]
        n_states = min(most_states, len(nodes) // per_state)
        if n_states < 2:
            return
        rng = np.random.default_rng([seed, a])
        Phi, Psi = views(nodes, rng)
        spectrum = omega_svd(Phi, Psi, n_states + leave_out, rng)
        spectra[a] = spectrum.s
        if auto:
            n_states = min(n_states, significant(spectrum.s, noise_level(Phi, Psi, rng)))
        used = slice(leave_out, leave_out + n_states)
        s = spectrum.s[used]
        if not len(s) or n_states < 2:
            return
        halves = [unit_rows(X[:, used] * s) for X in (spectrum.Y, spectrum.Z)]
        state[nodes] = kmeans(np.hstack(halves), n_states, rng)
        m[a] = n_states

    def told(done: int) -> None:
        if progress is not None:
            progress(done, len(label), "latent states")

    with warnings.catch_warnings():
        # Filters are those of all threads: what one of them ignores, the outer block ignores.
        warnings.simplefilter("ignore", ConvergenceWarning)
        largest_first(of_label, np.diff(bounds).tolist(), told)
    return StateClustering(state, m, Spectra.of(spectra))


def kmeans_states(
    X: Float32s, m: int, rng: np.random.Generator, *, fit_rows: int, seed_rows: int | None = None
) -> Int64s:
    """A state for each row; where fewer than m rows differ, each kind has a state of its own.

    ``fit_rows``   the centres are fitted on so many rows at most; the rest are assigned
    ``seed_rows``  k-means++ seeds are drawn from so many of those; None: from all of them
    """
    from sklearn.cluster import KMeans, kmeans_plusplus
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    alike = number_alike(X, m)
    if alike is not None:
        return alike
    rows = _sample(X, fit_rows, rng)
    how: dict[str, object]
    if seed_rows is None:
        how = {"random_state": int(rng.integers(2**31))}
    else:
        few = _sample(rows, seed_rows, rng)
        how = {"init": kmeans_plusplus(few, m, random_state=int(rng.integers(2**31)))[0]}
    # OpenMP counts threads for each thread anew: the limit of the process does not hold here.
    one_thread = threadpool_limits(limits=1, user_api="openmp")
    with one_thread, warnings.catch_warnings():
        # Many nodes may be alike; a state that none of them takes does no harm.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = KMeans(m, n_init=1, max_iter=30, tol=1e-3, **how).fit(rows)
        labels = fitted.labels_ if len(rows) == len(X) else fitted.predict(X)
    return np.asarray(labels, dtype=np.int64)


def _sample(X: Float32s, most: int, rng: np.random.Generator) -> Float32s:
    return X if len(X) <= most else X[rng.choice(len(X), most, replace=False)]
