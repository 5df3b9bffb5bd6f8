"""Spectral operators of a latent tree: observables -> score of a tree; the reference estimator.

1. Trees become moments and these observables ``c_1, c_inf, E_L, E_R, D`` (moments.py);
   a dictionary gives ``y_x`` for each observation (dictionaries.py).
2. **Score**, leaves to root.  The D's commute only at exact moments, so their order is fixed: left
   children, the nearest first, then right children, the nearest first, then what is observed::

       r_i' = c_inf' [ prod_j D(E_dj' r_j) ] [ prod over emissions D(y_x) ]
       score = r_root' c_1

3. At exact moments the score is p(words | tree).  From a sample it can be negative or zero
   (docs/reference/latent-trees.md); ``negatives`` says what becomes of those, and how many
   there were is reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from eigentext.base.model import Model
from eigentext.base.tokens import checked_item
from eigentext.dependency.latent.dictionaries import TreeDictionary, treebank_dictionary
from eigentext.dependency.latent.moments import InstrumentMoments, TreeMoments, link_moments
from eigentext.dependency.latent.observations import (
    Observations,
    WordForest,
    channels_of,
    check_heads,
    each_tree,
)
from eigentext.dependency.settings import SpectralTreeSettings
from eigentext.errors import DataError, SettingsError
from eigentext.language.trees.dependency import DependencyTree
from eigentext.linalg.conditioning import ConditionReport, OnRank, guarded_pinv

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from eigentext.base.types import Float64s, Int8s
    from eigentext.base.values import Packed

Kind = Literal["svd", "cca"]
_MAX_CONDITION = 1e12  # of a matrix that is inverted
_FLOOR = 1e-8  # the least score, per word
# added to counts in the scaling of a CCA dictionary; with 0, words that occur with each other
# alone are the leading directions
_KAPPA = 5.0


@dataclass(frozen=True, eq=False)
class TreeOperators:
    """The observables of one model; ``kernels.latent.operator_scores`` scores trees with them."""

    c_1: Float64s  # (k,)
    c_inf: Float64s  # (k,)
    E: Float64s  # (2, k, k) for L and R
    D: Float64s  # (k, k, k) with D(y) = sum_j y_j D[:, j, :]
    y: tuple[Float64s, ...]  # for each channel (n_c, k), row x is y_x


def make_operators(
    moments: TreeMoments | InstrumentMoments,
    dictionary: TreeDictionary,
    *,
    links: tuple[Sequence[Float64s], Float64s] | None = None,
    on_rank: OnRank = "error",
) -> tuple[TreeOperators, tuple[ConditionReport, ...]]:
    """Observables from moments; ``links`` (:func:`link_moments`) give y where U does not.

    The first channel takes its y from an SVD or CCA dictionary; further channels, and
    dictionaries of another kind, need ``links``.
    """
    E_L, E_R, D, reports = moments.observables(on_rank=on_rank)
    first = dictionary.y()
    y = [] if first is None else [first]
    if links is not None:
        sums, uz = links
        n = max(float(np.abs(uz).max()), 1e-300)  # a scale; it cancels
        inverse, report = guarded_pinv(
            uz / n,
            symbol="E[u z']",
            need_rank=moments.k,
            max_condition=_MAX_CONDITION,
            on_rank=on_rank,
        )
        reports = (*reports, report)
        y += [(total / n) @ inverse for total in sums[len(y) :]]
    elif first is None:
        raise SettingsError("a dictionary of this kind needs the moments of tree neighbours")
    if not moments.n_roots:
        raise SettingsError("no root to take c_1 from")
    c_1 = moments.root / moments.n_roots
    operators = TreeOperators(c_1, y[0].sum(axis=0), np.stack([E_L, E_R]), D, tuple(y))
    return operators, reports


@dataclass(eq=False, repr=False)
class SpectralTreeOperators(Model, SpectralTreeSettings):
    """The corrected operator form of Dhillon et al. (2012), learned from trees.

    After ``fit``: ``operators_``, ``reports_`` on the inverses, ``moments_``; after scoring,
    ``negative_rate`` of the trees scored so far.

    >>> from eigentext.language.trees.dependency import DependencyTree
    >>> words = [("a", "b", "a"), ("b", "a", "a"), ("a", "a", "b"), ("b", "b", "b")]
    >>> trees = [DependencyTree(one, [2, 0, 2]) for one in words]
    >>> model = SpectralTreeOperators(1, observations="word", min_count=1).fit(trees)
    >>> round(float(np.exp(model.log_score(trees[0]))), 3)  # one state: the words are independent
    0.125
    """

    def check(self) -> None:
        """Raise SettingsError for settings that no such model can have."""
        super().check()
        channels_of(self.observations)
        if not isinstance(self.dictionary, TreeDictionary) and self.dictionary not in (
            "svd",
            "cca",
        ):
            raise SettingsError(f"dictionary {self.dictionary!r}: expected svd or cca, or one")

    def fit(self, trees: Iterable[DependencyTree]) -> SpectralTreeOperators:
        """Learn observations, dictionary, moments and observables from trees."""
        self.check()
        bank = list(each_tree(trees))
        self.observations_ = Observations.learn(bank, self.observations, min_count=self.min_count)
        self.n_scored_ = self.n_negative_ = 0
        forest, sizes = WordForest.of(bank, self.observations_), self.observations_.sizes
        if isinstance(self.dictionary, TreeDictionary):
            self.dictionary_ = self.dictionary
        else:
            self.dictionary_ = treebank_dictionary(
                forest,
                sizes[0],
                self.n_states,
                kind=cast("Kind", self.dictionary),
                kappa=_KAPPA,
                seed=self.seed,
            )
        if self.dictionary_.U.shape != (sizes[0], self.n_states):
            shape, expected = self.dictionary_.U.shape, (sizes[0], self.n_states)
            raise SettingsError(f"the dictionary is {shape}: expected {expected}")
        U = self.dictionary_.U
        kind = TreeMoments if self.events == "triples" else InstrumentMoments
        self.moments_ = kind.of(forest, U, directed=self.directed)
        needs_links = len(sizes) > 1 or self.dictionary_.kind == "other"
        links = link_moments(forest, U, sizes) if needs_links else None
        self.operators_, self.reports_ = make_operators(
            self.moments_, self.dictionary_, links=links, on_rank=cast("OnRank", self.on_rank)
        )
        return self

    def _pack(self) -> Packed:
        self.check_fitted()
        raise SettingsError("the raw operators are a reference and are not stored")

    @property
    def negative_rate(self) -> float:
        """Share of the trees scored so far whose score was 0 or less."""
        self.check_fitted()
        return self.n_negative_ / self.n_scored_ if self.n_scored_ else 0.0

    def log_score(self, tree: DependencyTree) -> float:
        """The log of the tree's score, by the policy for negative ones."""
        self.check_fitted()
        tree = checked_item(DependencyTree, tree, "a dependency tree")
        return float(self.log_scores(tree.forms, tree.tags, tree.heads[None])[0])

    def log_scores(
        self, forms: Sequence[str], tags: Sequence[str] | None, heads: npt.ArrayLike
    ) -> Float64s:
        """Log scores of several trees (trees, n) over one sentence."""
        signs, logs = self.signed_scores(forms, tags, heads)
        return self.by_policy(signs, logs, len(forms))

    def signed_scores(
        self, forms: Sequence[str], tags: Sequence[str] | None, heads: npt.ArrayLike
    ) -> tuple[Int8s, Float64s]:
        """Sign (-1, 0, 1) and log of the absolute score of several trees over one sentence."""
        from eigentext.dependency.kernels.latent import Observables, operator_scores

        self.check_fitted()
        observed = self.observations_.encode(forms, tags)
        array = check_heads(heads, len(forms))
        ops = self.operators_
        rows = np.concatenate(ops.y)
        starts = np.cumsum([0, *(len(table) for table in ops.y[:-1])])
        ids = np.where(observed >= 0, observed + starts[:, None], -1).astype(np.int64)
        signs, logs = np.zeros(len(array), np.int8), np.zeros(len(array))
        turned = np.ascontiguousarray(ops.E.transpose(0, 2, 1))
        observables = Observables(ops.c_1, ops.c_inf, turned, ops.D, rows)
        if not operator_scores(ids, array, observables, signs, logs):
            raise ValueError("heads form a cycle")
        return signs, logs

    def by_policy(self, signs: Int8s, logs: Float64s, n_words: int) -> Float64s:
        """Log scores, with what is not positive treated as ``negatives`` says, and counted."""
        self.check_fitted()
        bad = signs <= 0
        self.n_scored_ += len(signs)
        self.n_negative_ += int(bad.sum())
        if self.negatives == "error" and bad.any():
            raise DataError(
                "tree", None, f"{int(bad.sum())} of {len(bad)} scores are not positive"
            )
        least = n_words * np.log(_FLOOR)
        if self.negatives == "abs":
            bad = signs == 0
        return np.asarray(np.where(bad, least, np.maximum(logs, least)))
