"""One or several grammars from one treebank.

1. An ensemble's members see noised features, so that they differ; a model alone sees them clean.
2. ``mixed`` ensembles take turns: the even members are learned by clustering, the odd ones by
   moments.  The two make different mistakes, so their product is better than either's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from eigentext.constituency.choose_states import AUTO_MOST
from eigentext.constituency.estimators import Estimator, EstimatorSettings, fit_params
from eigentext.constituency.features import INSIDE_GROUPS, OUTSIDE_GROUPS
from eigentext.constituency.learn_clusters import SpectralSettings
from eigentext.constituency.params import MomentSmoothing, Smoothing
from eigentext.linalg.determinism import single_threaded

if TYPE_CHECKING:
    from collections.abc import Callable

    from eigentext.constituency.choose_states import States
    from eigentext.constituency.learn_moments import Scheme
    from eigentext.constituency.params import LatentParams
    from eigentext.constituency.treebank import Language, Treebank

    Progress = Callable[[int, int, str], None]

__all__ = ["RECIPES", "Recipe", "TrainingSettings", "learn_models"]

Recipe = Literal["clustering", "em", "moments", "mixed"]
RECIPES: tuple[Recipe, ...] = get_args(Recipe)


@dataclass(frozen=True)
class TrainingSettings:
    """What ``LPCFG`` was told about learning; its docstring says what each means."""

    estimator: Recipe | None = None
    states: States = 16
    ensemble: int = 1
    em: int | None = None
    per_state: int = 10
    kappa: float = 50.0
    dropout: float = 0.3
    noise: float = 0.3
    plain: bool = False
    scheme: Scheme = "all"
    smoothing: Smoothing = field(default_factory=Smoothing)
    language: Language = "english"
    seed: int = 0
    moment_smoothing: MomentSmoothing | None = None
    inside: tuple[str, ...] = INSIDE_GROUPS
    outside: tuple[str, ...] = OUTSIDE_GROUPS

    @property
    def recipe(self) -> Recipe:
        """The estimator; unless told, clustering for one model and mixed for several."""
        return self.estimator or ("clustering" if self.ensemble == 1 else "mixed")

    def of_member(self, number: int) -> EstimatorSettings:
        """Settings of one model of the ensemble."""
        estimator: Estimator
        if self.recipe == "mixed":
            estimator = "moments" if number % 2 else "clustering"
        else:
            estimator = self.recipe
        alone = self.ensemble == 1
        spectral = SpectralSettings(
            states=AUTO_MOST if self.states == "auto" else self.states,
            auto=self.states == "auto",
            per_state=self.per_state,
            kappa=self.kappa,
            dropout=0.0 if alone else self.dropout,
            noise=0.0 if alone else self.noise,
            inside=self.inside,
            outside=self.outside,
        )
        return EstimatorSettings(
            estimator,
            spectral,
            self.em,
            self.smoothing,
            self.language,
            self.plain,
            self.scheme,
            self.moment_smoothing,
        )


def learn_models(
    bank: Treebank, settings: TrainingSettings, *, progress: Progress | None = None
) -> list[LatentParams]:
    """Estimate every model of the ensemble."""
    import sklearn.cluster  # noqa: F401  its OpenMP obeys the limit of threads only once loaded

    with single_threaded():
        return [
            fit_params(
                bank, settings.of_member(number), seed=settings.seed + number, progress=progress
            )
            for number in range(settings.ensemble)
        ]
