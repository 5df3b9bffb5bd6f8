"""Spectral operators of a latent tree: observables -> score of a tree; the reference estimator.

1. The observables ``c_1, c_inf, E_L, E_R, D``, and ``y_x`` of each observation: moments.py.
2. **Score**, leaves to root.  The D's commute only at exact moments, so their order is fixed: left
   children, the nearest first, then right children, the nearest first, then what is observed::

       r_i' = c_inf' [ prod_j D(E_dj' r_j) ] [ prod over emissions D(y_x) ]
       score = r_root' c_1

3. At exact moments the score is p(words | tree).  From a sample it can be negative or zero
   (docs/reference/latent-trees.md); ``negatives`` says what becomes of those, and how many
   there were is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import numpy.typing as npt

from eigentext.base.model import Model
from eigentext.base.tokens import checked_item
from eigentext.base.types import Float64s, Int8s
from eigentext.base.values import Packed
from eigentext.dependency.latent.moments import (
    InstrumentMoments,
    TreeDictionary,
    TreeMoments,
    link_moments,
    treebank_dictionary,
)
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

Kind = Literal["svd", "cca"]
_LARGEST = 1e12  # of a matrix that is inverted
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
            uz / n, symbol="E[u z']", need_rank=moments.k, max_condition=_LARGEST, on_rank=on_rank
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
            by = cast("Kind", self.dictionary)
            self.dictionary_ = treebank_dictionary(
                forest, sizes[0], self.n_states, kind=by, kappa=_KAPPA, seed=self.seed
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


# ---------------------------------------------------------------- how far they can be trusted


@dataclass(frozen=True)
class Examination:
    """What the moments of a treebank are like."""

    k: int
    # largest over smallest singular value of Sigma_L, Sigma_R, Omega, E_L, E_R
    conditions: dict[str, float]
    singular_values: dict[str, tuple[float, ...]]  # of the same, falling
    smallest: float  # Lambda of definition 1
    sigma_k: float  # of definition 2
    n_triples: int  # events that the moments were taken over
    # by bound (7), for ``words`` in ``levels`` levels, ``eps`` and ``delta``
    triples_needed: float
    words: int
    levels: int
    eps: float
    delta: float


def bound_7(
    k: int,
    smallest: float,
    sigma_k: float,
    *,
    words: int,
    levels: int,
    eps: float = 0.5,
    delta: float = 0.1,
) -> float:
    """The number of independent triples that bound (7) of Dhillon et al. 2012 asks for::

        N >= 128 k^2 s^2 / (eps^2 Lambda^2 sigma_k^4) log(2k / delta)
             * (eps^2 / s^2) / ((1 + eps)^(1/s) - 1)^2         with s = 12 m + 2 L

    for a tree of m words and L levels, so that its score is within 1 +- eps of p with probability
    1 - delta; the second factor is about 1.  Infinite where Lambda or sigma_k is 0.

    >>> f"{bound_7(2, 0.1, 0.5, words=3, levels=2):.2g}"
    '2.9e+10'
    """
    if not (eps > 0 and 0 < delta < 1 and words >= 1 and levels >= 1):
        raise SettingsError("bound (7) needs eps > 0, 0 < delta < 1, and a word and a level")
    if not (smallest > 0 and sigma_k > 0):
        return float("inf")
    # near_one: the bound's first-order eps / s against the exact (1 + eps)^(1/s) - 1
    s = 12 * words + 2 * levels
    near_one = (eps / s) ** 2 / np.expm1(np.log1p(eps) / s) ** 2
    with np.errstate(over="ignore", divide="ignore"):
        first = 128.0 * k**2 * s**2 / np.float64(eps * smallest) ** 2 / np.float64(sigma_k) ** 4
    return float(first * np.log(2 * k / delta) * near_one)


def examine(
    moments: TreeMoments,
    *,
    largest: float = 1.0,
    words: int = 16,
    levels: int = 5,
    eps: float = 0.5,
    delta: float = 0.1,
) -> Examination:
    """Conditions of what is inverted, sigma_k, Lambda (the smallest absolute value in mu, Sigma,
    Omega, their inverses and K), and the triples that bound (7) asks for.

    ``largest`` is the largest absolute value in the dictionary: each entry is scaled to at most 1,
    as the theorem asks.
    """
    if not moments.n:
        raise SettingsError("no event: the trees have not once a node with children on both sides")
    # the bound is for vectors in the unit cube, so each moment is scaled by its degree
    mu = moments.root / max(moments.n_roots, 1.0) / largest
    Sigma_L, Sigma_R, Omega = (
        x / moments.n / largest**2 for x in (moments.Sigma_L, moments.Sigma_R, moments.Omega)
    )
    K = moments.K / moments.n / largest**3
    named = {"Sigma_L": Sigma_L, "Sigma_R": Sigma_R, "Omega": Omega}
    inverses = {name: np.linalg.pinv(x, rcond=1e-14) for name, x in named.items()}
    matrices = {**named, "E_L": Omega @ inverses["Sigma_R"], "E_R": Omega.T @ inverses["Sigma_L"]}
    values = {name: np.linalg.svd(x, compute_uv=False) for name, x in matrices.items()}
    # Lambda: the smallest absolute entry of all that the operators are made of
    entries = [mu, K, *named.values(), *inverses.values()]
    smallest = min(float(np.abs(x).min()) for x in entries)
    sigma_k = min(float(values[name][-1]) for name in named)
    with np.errstate(divide="ignore"):
        conditions = {name: float(s[0] / s[-1]) for name, s in values.items()}
    return Examination(
        moments.k,
        conditions,
        {name: tuple(map(float, s)) for name, s in values.items()},
        smallest,
        sigma_k,
        int(moments.n),
        bound_7(moments.k, smallest, sigma_k, words=words, levels=levels, eps=eps, delta=delta),
        words,
        levels,
        eps,
        delta,
    )


def negative_rate(model: SpectralTreeOperators, trees: Iterable[DependencyTree]) -> float:
    """The share of the trees whose raw score is 0 or less."""
    n = bad = 0
    for tree in trees:
        signs, _ = model.signed_scores(tree.forms, tree.tags, tree.heads[None])
        n += 1
        bad += int(signs[0] <= 0)
    return bad / n if n else 0.0
