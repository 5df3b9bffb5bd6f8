"""One or several grammars from one treebank.

* ``clustering``  k-means on spectral projections of the inside and outside features of nodes
                  (``features.states``), smoothed counts: a proper latent-variable PCFG; then EM
* ``em``          EM from a random start
* ``pivot``       features that stand with one state alone, then convex EM (Cohen and Collins
                  2014); EM iterations after that where they are asked for
* ``moments``     the spectral algorithm of Cohen et al. 2012; its numbers are signed scores
* ``mixed``       clustering and moments in turn: the two make different mistakes, so the product
                  of such models is better than either's

Several models see noised features, so that they differ; a model alone sees them clean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from eigentext.base.progress import Progress
from eigentext.base.registry import part
from eigentext.base.types import Int64s
from eigentext.constituency.features import inside_features, outside_features
from eigentext.constituency.learn.em import last_estimate, random_start, run_em
from eigentext.constituency.lexicon import build_lexicon
from eigentext.constituency.params import LatentParams, count_states, estimate
from eigentext.constituency.settings import Estimator, LPCFGSettings
from eigentext.constituency.treebank import Treebank
from eigentext.features.spectrum import FeatureRows, scaled_rows
from eigentext.features.states import StateClustering, kmeans_states, states_by_label
from eigentext.linalg.ties import single_threaded

_EM_ITERATIONS = 50  # from a random start, unless told otherwise
_EM_AFTER_CLUSTERING = 1  # hard states become soft ones; more did not help on dev


def learn_models(
    bank: Treebank, settings: LPCFGSettings, *, progress: Progress | None = None
) -> Iterator[LatentParams]:
    """Estimate ``n_models`` grammars, each with a seed of its own."""
    # One comes after the other, so that the caller can make it small before the next is learned.
    import sklearn.cluster  # noqa: F401  its OpenMP obeys the limit of threads only once loaded

    estimator = settings.usual_estimator
    in_turn: tuple[Estimator, ...] = (
        ("clustering", "moments") if estimator == "mixed" else (estimator,)
    )
    for number in range(settings.n_models):
        settings_of_model = replace(
            settings, estimator=in_turn[number % len(in_turn)], seed=settings.seed + number
        )
        with single_threaded():
            params = _learn(bank, settings_of_model, progress)
        yield params
        del params  # it is the caller's alone


def _learn(bank: Treebank, settings: LPCFGSettings, progress: Progress | None) -> LatentParams:
    """Estimate one grammar."""
    if settings.estimator == "moments":
        from eigentext.constituency.learn.moments import fit_moments

        return fit_moments(bank, settings, progress=progress)
    if settings.estimator == "clustering":
        state, m, spectra = cluster_states(bank, settings, progress=progress)  # one state a node
        lexicon = build_lexicon(bank, m, state[bank.token >= 0], settings.smoothing)
        counts = count_states(bank, state, m)
        params = estimate(bank, m, counts, lexicon, settings.smoothing, least=0.0)
        n_iter = _EM_AFTER_CLUSTERING if settings.n_iter is None else settings.n_iter
    elif settings.estimator == "pivot":
        counts, words, m, spectra = part("pivot counts")(bank, settings, progress=progress)
        lexicon = build_lexicon(bank, m, words, settings.smoothing)
        params = last_estimate(bank, m, counts, lexicon, settings.smoothing)
        n_iter = settings.n_iter or 0
    else:
        if settings.n_states == "auto":
            m = cluster_states(bank, settings, progress=progress).m
        else:
            n_nodes = np.bincount(bank.label, minlength=len(bank.labels))
            m = np.clip(n_nodes // settings.per_state, 1, settings.n_states)
        params, spectra = random_start(bank, m, settings), None
        n_iter = _EM_ITERATIONS if settings.n_iter is None else settings.n_iter
    if n_iter:
        params = run_em(bank, params, n_iter, settings, progress=progress).params
    return replace(params, spectra=spectra)


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
) -> StateClustering:
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
