"""How far raw operators can be trusted on a treebank: conditions, smallest element, bound (7).

1. ``examine`` takes the moments of a treebank (moments.py), each entry of the dictionary
   scaled to at most 1 in absolute value, as the theorem asks;
2. it reports the condition of each matrix that is inverted, sigma_k (the smallest singular value
   of Sigma and Omega), Lambda (the smallest absolute value in mu, Sigma, Omega, their inverses and
   K), and the number of independent triples that bound (7) of Dhillon et al. 2012 asks for::

       N >= 128 k^2 s^2 / (eps^2 Lambda^2 sigma_k^4) log(2k / delta)
            * (eps^2 / s^2) / ((1 + eps)^(1/s) - 1)^2         with s = 12 m + 2 L

   for a tree of m words and L levels, so that its score is within 1 +- eps of p with
   probability 1 - delta; the second factor is about 1;
3. ``negative_rate`` scores trees and says how many scores are not positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eigentext.dependency.latent.moments import TreeMoments
    from eigentext.dependency.latent.operators import SpectralTreeOperators
    from eigentext.language.trees.dependency import DependencyTree


@dataclass(frozen=True)
class Examination:
    """What the moments of a treebank are like.

    ``conditions``       largest over smallest singular value of Sigma_L, Sigma_R, Omega, E_L, E_R
    ``singular_values``  of the same, falling
    ``smallest``         Lambda of definition 1; ``sigma_k`` of definition 2
    ``n_triples``        events that the moments were taken over
    ``triples_needed``   by bound (7), for ``words`` in ``levels`` levels, ``eps`` and ``delta``
    """

    k: int
    conditions: dict[str, float]
    singular_values: dict[str, tuple[float, ...]]
    smallest: float
    sigma_k: float
    n_triples: int
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
    """The number of triples of bound (7); infinite where Lambda or sigma_k is 0.

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
    """Conditions of the moments; ``largest`` is the largest absolute value in the dictionary."""
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
