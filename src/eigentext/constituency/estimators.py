"""One way in to all estimators: from a treebank to the parameters of one grammar.

* ``clustering``  spectral projections, k-means, smoothed counts; EM iterations after that if asked
* ``em``          EM from a random start
* ``moments``     the spectral algorithm of Cohen et al. 2012; its numbers are signed scores
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from eigentext.constituency.learn_clusters import SpectralSettings, cluster_states
from eigentext.constituency.learn_em import random_start, run_em
from eigentext.constituency.lexicon import build_lexicon
from eigentext.constituency.params import (
    LatentParams,
    MomentSmoothing,
    Smoothing,
    count_states,
    estimate,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from eigentext.constituency.learn_moments import Scheme
    from eigentext.constituency.treebank import Language, Treebank

    Progress = Callable[[int, int, str], None]

__all__ = ["ESTIMATORS", "Estimator", "EstimatorSettings", "fit_params"]

Estimator = Literal["clustering", "em", "moments"]
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)

_EM_ITERATIONS = 50  # from a random start, unless told otherwise
_EM_AFTER_CLUSTERING = 1  # hard states become soft ones; more did not help on dev


@dataclass(frozen=True)
class EstimatorSettings:
    """What the estimators need to know.

    ``em``             iterations; None: 50 for em, one after clustering
    ``plain, scheme``  of moments: figure 4 as it is; all nodes of each tree or one
    """

    estimator: Estimator
    spectral: SpectralSettings
    em: int | None
    smoothing: Smoothing
    language: Language
    plain: bool = False
    scheme: Scheme = "all"
    moment_smoothing: MomentSmoothing | None = None


def fit_params(
    bank: Treebank, settings: EstimatorSettings, *, seed: int, progress: Progress | None = None
) -> LatentParams:
    """Estimate one grammar."""
    if settings.estimator == "moments":
        from eigentext.constituency.learn_moments import fit_moments

        return fit_moments(
            bank,
            settings.spectral,
            seed=seed,
            scheme=settings.scheme,
            plain=settings.plain,
            smoothing=settings.moment_smoothing,
            language=settings.language,
            progress=progress,
        )
    if settings.estimator == "clustering":
        params = _clustered(bank, settings, seed, progress)
        iterations = _EM_AFTER_CLUSTERING if settings.em is None else settings.em
    else:
        n_nodes = np.bincount(bank.label, minlength=len(bank.labels))
        m = np.clip(n_nodes // settings.spectral.per_state, 1, settings.spectral.states)
        if settings.spectral.auto:
            m = cluster_states(bank, settings.spectral, seed=seed, progress=progress).m
        params = random_start(
            bank, m, seed=seed, smoothing=settings.smoothing, language=settings.language
        )
        iterations = _EM_ITERATIONS if settings.em is None else settings.em
    if not iterations:
        return params
    spectra = params.spectra
    params = run_em(
        bank, params, iterations, settings.smoothing, settings.language, progress=progress
    ).params
    return replace(params, spectra=spectra)


def _clustered(
    bank: Treebank, settings: EstimatorSettings, seed: int, progress: Progress | None
) -> LatentParams:
    smoothing = settings.smoothing
    state, m, spectra = cluster_states(bank, settings.spectral, seed=seed, progress=progress)
    lexicon = build_lexicon(
        bank,
        m,
        state[bank.token >= 0],
        None,
        language=settings.language,
        k_sig=smoothing.k_sig,
        k_base=smoothing.k_base,
        k_state=smoothing.k_state,
    )
    params = estimate(bank, m, count_states(bank, state, m), lexicon, smoothing)
    return replace(params, spectra=spectra)
