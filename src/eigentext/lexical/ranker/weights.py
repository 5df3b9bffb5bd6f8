"""Stage 2 as Shah et al. 2010 have it: one weight for each (feature, target).

The rows are the (word, candidate) pairs of the words that learn; the columns the statistics
z(a, t) of the candidate's value of target t with feature a, each divided by its spread; the answer
is 1 for the right candidate and 0 for others.

``james-stein``  w = (1 - E[Var(z)] / E[z^2])+ on z as it is; Var(z) is :func:`counts.noise`
``regression``   least squares with a little ridge
``svr``          support vector regression, linear
``svc``          support vector classification, linear
``softmax``      conditional softmax over each word's candidates, by L-BFGS
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from eigentext.base.ragged import pointers
from eigentext.base.types import Float64s, Int64s, Json
from eigentext.errors import SettingsError
from eigentext.lexical.ranker.records import BUCKETS, RankWeights
from eigentext.lexical.ranker.softmax import PassInputs, probabilities


def design(inputs: PassInputs, words: Int64s) -> tuple[Float64s, Float64s, Int64s]:
    """Rows [R, A * T] of these words, which of them are right, and where each word's begin."""
    e = inputs.encoded
    sizes = np.diff(e.first)[words]
    first = pointers(sizes)
    rows = np.concatenate([np.arange(e.first[w], e.first[w + 1]) for w in words.tolist()])
    n_columns, n_targets = inputs.z.shape[1], e.row_units.shape[1]
    x = np.zeros((len(rows), n_columns, n_targets))  # 0 where the word's candidates agree
    for t in range(n_targets):
        units = e.row_units[rows, t]
        there = units >= 0
        x[there, :, t] = inputs.z[units[there]]
    right = np.zeros(len(rows))  # 1 for the gold row of each word
    right[first[:-1] + (e.gold_row[words] - e.first[words])] = 1.0
    return x.reshape(len(rows), -1), right, first


def fit_weights(inputs: PassInputs, words: Int64s, method: str, *, seed: int = 0) -> RankWeights:
    """The weights that a method gives."""
    if method not in METHODS:
        raise SettingsError(f"weights: expected one of {', '.join(METHODS)}, found {method!r}")
    if method == "james-stein":
        return _weights(inputs, _james_stein(inputs, words))
    # learned on columns of unit variance, so that one penalty suits all; then scaled back
    x, right, first = design(inputs, words)
    spread = x.std(axis=0)
    spread[spread == 0] = np.inf
    return _weights(inputs, _FITTED[method](x / spread, right, first, seed) / spread)


def _weights(inputs: PassInputs, solution: Float64s) -> RankWeights:
    """One weight for each (column, target), whatever the frequency class."""
    e = inputs.encoded
    weights = RankWeights.full(0.0, inputs.z.shape[1], e.row_units.shape[1], e.numeric.shape[1])
    weights.dense[:] = solution.reshape(1, inputs.z.shape[1], -1).repeat(BUCKETS, axis=0)
    return weights


def _james_stein(inputs: PassInputs, words: Int64s) -> Float64s:
    """w of every (column, target): nothing is fitted, the right candidates are not looked at."""
    if inputs.noise is None:
        raise SettingsError("james-stein needs the variance of the columns")
    x, _, _ = design(inputs, words)
    variance, _, _ = design(replace(inputs, z=inputs.noise), words)
    # 1 - E[noise] / E[z^2]: the share of a column that is not chance, none below 0
    squares = (x**2).mean(axis=0)
    shrunk = 1.0 - variance.mean(axis=0) / np.maximum(squares, 1e-30)
    return np.where(squares > 0, np.maximum(shrunk, 0.0), 0.0)


def _regression(scaled: Float64s, right: Float64s, first: Int64s, seed: int) -> Float64s:
    # ridge regression with an intercept: centred columns and answers
    centred = scaled - scaled.mean(axis=0)
    gram = centred.T @ centred + 1e-3 * len(right) * np.eye(scaled.shape[1])
    solved: Float64s = np.linalg.solve(gram, centred.T @ (right - right.mean()))
    return solved


def _svm(
    kind: str, settings: Json, scaled: Float64s, right: Float64s, first: Int64s, seed: int
) -> Float64s:
    from sklearn import svm

    learner = getattr(svm, kind)(C=0.1, dual=False, random_state=seed, **settings)
    coefficients: Float64s = learner.fit(scaled, right).coef_.ravel()
    return coefficients


_TUBE = {"epsilon": 0.1, "loss": "squared_epsilon_insensitive"}


def _softmax(scaled: Float64s, right: Float64s, first: Int64s, seed: int) -> Float64s:
    from scipy.optimize import minimize

    gold = np.flatnonzero(right)
    strength = 1e-4 * len(gold)  # of the L2 penalty

    def loss(weights: Float64s) -> tuple[float, Float64s]:
        shares = probabilities(first, scaled @ weights)
        value = -np.log(np.maximum(shares[gold], 1e-300)).sum() + strength * weights @ weights
        # d/dw = sum over rows of (p - [right]) x
        slope = scaled.T @ (shares - right) + 2 * strength * weights
        return float(value) / len(gold), slope / len(gold)

    start = np.zeros(scaled.shape[1])
    solution: Float64s = minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 100}
    ).x
    return solution


_FITTED: dict[str, Callable[[Float64s, Float64s, Int64s, int], Float64s]] = {
    "regression": _regression,
    "svr": partial(_svm, "LinearSVR", _TUBE),
    "svc": partial(_svm, "LinearSVC", {}),
    "softmax": _softmax,
}
METHODS = ("james-stein", *_FITTED)
