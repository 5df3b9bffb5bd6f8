"""The pivot estimator: states from features that stand with one state alone, then convex EM.

After Cohen and Collins 2014.  A nonterminal a has states h with shares gamma[h]; the inside and
the outside of a node know nothing of each other once its state is known.  A **pivot** is an inside
feature that occurs with one state alone, and every state is taken to have one.

1. **Decomposition** (:func:`decompose`).  What is outside of the nodes with inside feature i is,
   in the mean, a mixture over states:

       E[psi | i]  =  sum over h of P(h | i) E[psi | h]            P(h | pivot of h) = 1

   So the means of all features lie between those of the pivots, which are corners: the mean that
   is farthest from all, then the one farthest from what lies between those found (successive
   projection).  P(h | i) are the weights of corners that make up E[psi | i]: least squares with
   weights that are not negative and sum to one.  The same for outside features follows from
   E[P(h | inside) psi'] by least squares without negative numbers.
2. **Convex EM** (:func:`mixture_weights`).  With P(features | h) known and fixed, the nodes of a
   rule a -> b c are a mixture of known components, and their log-likelihood

       sum over nodes of log sum over h1, h2, h3 of theta[h1, h2, h3]
                              P(outside | h1) P(inside of b | h2) P(inside of c | h3)

   is concave in theta = P(h1, h2, h3 | rule): EM finds its one maximum from any start.  Roots
   likewise; words have the posteriors of their states.

Counts of rules with states are n(rule) theta: probabilities, smoothed as those of clustering are.

A node has several features (F on its inside), which the paper does not; they are far from
independent, so that each counts with the power F^-1/2.  With one feature a side, and without
smoothing, all is exact: population moments of a grammar with pivots give its parameters back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eigentext.base.cores import each, largest_first
from eigentext.base.progress import Progress
from eigentext.base.ragged import pointers
from eigentext.base.types import Float32s, Float64s, Int64s
from eigentext.constituency.features import inside_features, outside_features
from eigentext.constituency.learn.models import noised
from eigentext.constituency.params import LatentCounts, tensor_layout
from eigentext.constituency.settings import LPCFGSettings
from eigentext.constituency.treebank import Treebank
from eigentext.features.spectrum import (
    FeatureRows,
    Spectra,
    noise_level,
    omega_svd,
    scaled_rows,
    significant,
)
from eigentext.linalg.hull import convex_weights, corners

Matrix = npt.NDArray[np.floating]


_SHARE = 0.03  # of the nodes of a state, were all alike, that a pivot must have
_STEPS = 100  # of each least squares problem
_NO_CORNER = 1e-5  # relative distance that is rounding: coordinates are of single precision
_ROUNDS = 10  # of EM for the rules of a treebank
_ROWS_AT_ONCE = 4096
_POWER = 0.5  # each of a node's F features counts with the power F ** -_POWER
_FAINT = 1e-6  # P(h | feature) is taken for no less


class Decomposition(NamedTuple):
    """One nonterminal with m states."""

    gamma: Float64s  # (m,) P(h)
    inside: Float64s  # (d, m) P(h | inside feature)
    outside: Float64s  # (d', m) P(h | outside feature)
    pivots: Int64s  # (m,) inside features that stand with one state alone


class PivotCounts(NamedTuple):
    """Expected counts, the states of all preterminals end to end, states, singular values."""

    counts: LatentCounts
    words: Float64s
    m: Int64s
    spectra: Spectra


def decompose(
    inside: FeatureRows,  # inside, outside: features of the nodes; their values are not looked at
    outside: FeatureRows,
    coordinates: Matrix,
    most: int,
    *,
    weights: Float64s | None = None,  # (n,) how much each node counts; by default all alike
    drawn: float = 0.0,  # P(h | feature) is drawn towards gamma as by so many nodes
    least: float = 0.0,  # the least weight that a pivot has
) -> Decomposition:
    """Step 1 for the nodes of one nonterminal.

    ``coordinates``      (n, k) a linear map of the outside features, by which means are compared
    """
    w = np.ones(len(coordinates)) if weights is None else weights
    # (n, d) the node's weight at each of its features
    below, above = (X.sparse(np.repeat(w, X.columns.shape[1])) for X in (inside, outside))
    n_in, n_out = (np.asarray(X.sum(axis=0)).ravel() for X in (below, above))
    means = (below.T @ coordinates.astype(np.float64)) / np.maximum(n_in, 1e-300)[:, None]
    enough = np.flatnonzero(n_in >= min(least, float(n_in.max())))
    pivots = enough[corners(means[enough], most, nothing=_NO_CORNER)]
    if len(pivots) < 2:
        single = np.ones(1)
        return Decomposition(single, np.ones((len(n_in), 1)), np.ones((len(n_out), 1)), pivots)
    W = convex_weights(means, means[pivots], _STEPS)
    gamma = n_in @ W / n_in.sum()
    # E[x psi'] = M J' with x the mean of P(h | i) over a node's inside features
    M = (W * n_in[:, None]).T @ W / n_in.sum()
    x = _mean_rows(inside, W)
    J = _without_negatives(M, (above.T @ x).T / w.sum())  # (m, d') P(outside feature | h)
    V = (J * gamma[:, None]).T
    V /= np.maximum(V.sum(axis=1, keepdims=True), 1e-300)
    W = (n_in[:, None] * W + drawn * gamma) / (n_in[:, None] + drawn)
    V = (n_out[:, None] * V + drawn * gamma) / (n_out[:, None] + drawn)
    return Decomposition(gamma, W, V, pivots)


def _mean_rows(rows: FeatureRows, W: Float64s) -> Float64s:
    """(n, m) the mean of the rows of W that a node's features have."""
    total = W[rows.columns[:, 0]]
    for t in range(1, rows.columns.shape[1]):
        total = total + W[rows.columns[:, t]]
    return np.asarray(total / rows.columns.shape[1])


def _without_negatives(M: Float64s, target: Float64s, n_iter: int = _STEPS) -> Float64s:
    """X (m, d) without negative numbers for which M X is near to the target."""
    # The least squares answer where it has none; else EM's steps for the divergence of M X from
    # the target, which is convex in X.
    X = np.linalg.lstsq(M, target, rcond=None)[0]
    if X.min() >= -1e-9 * np.abs(X).max():
        return np.asarray(np.maximum(X, 0.0))
    X = np.maximum(X, 0.05 * target.sum(axis=0) / M.sum())
    columns = M.sum(axis=0)[:, None]
    for _ in range(n_iter):
        X = X * (M.T @ (target / np.maximum(M @ X, 1e-300))) / columns
    return np.asarray(X)


def mixture_weights(
    views: tuple[Matrix, Matrix, Matrix],
    start: Matrix,
    *,
    weights: Float64s | None = None,
    n_iter: int = _ROUNDS,
    tol: float = 0.0,
) -> Matrix:
    """Step 2: theta (m1, m2, m3), summing to one, of the greatest likelihood.

    ``views``    P(what is seen | state) of each row, (n, m1), (n, m2) and (n, m3)
    ``start``    (m1, m2, m3) positive; ``weights`` (n,) of the rows
    ``tol``      no more steps once none of theta changes by more

    >>> views = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), np.ones((3, 1)), np.ones((3, 1))
    >>> mixture_weights(views, np.ones((2, 1, 1))).ravel().round(6).tolist()
    [0.333333, 0.666667]
    """
    first, second, third = views
    theta = start.reshape(len(start), -1) / start.sum()
    total = float(len(first)) if weights is None else float(weights.sum())
    blocks = [slice(at, at + _ROWS_AT_ONCE) for at in range(0, len(first), _ROWS_AT_ONCE)]
    tiny = np.finfo(theta.dtype).tiny
    for _ in range(n_iter):
        sums = np.zeros_like(theta)
        for rows in blocks:
            above = first[rows]
            pairs = (second[rows][:, :, None] * third[rows][:, None, :]).reshape(len(above), -1)
            p = np.einsum("np,np->n", above @ theta, pairs)
            share = 1 / np.maximum(p, tiny)
            share = share if weights is None else share * weights[rows]
            sums += (above * share[:, None]).T @ pairs
        before = theta
        theta = theta * (sums / total).astype(theta.dtype)
        theta /= theta.sum()
        if tol and float(np.abs(theta - before).max()) <= tol:
            break
    return np.asarray(theta.reshape(start.shape))


class _LabelStates(NamedTuple):
    """One nonterminal: its nodes, gamma, and P(inside | h), P(outside | h) up to a factor."""

    rows: Int64s
    gamma: Float32s
    inside: Float32s
    outside: Float32s
    s: npt.NDArray[np.floating]


def pivot_counts(
    bank: Treebank, settings: LPCFGSettings, *, progress: Progress | None = None
) -> PivotCounts:
    """Both steps for a treebank."""
    labels = _decomposed(bank, settings, progress)
    m = np.array([len(label.gamma) for label in labels])
    row_of = np.empty(len(bank.label), np.int64)
    for label in labels:
        row_of[label.rows] = np.arange(len(label.rows))
    label_ptr = pointers(m)
    tensor, states = _of_rules(bank, labels, row_of, m)
    roots = np.zeros(int(m.sum()))
    for a in np.unique(bank.label[bank.roots]).tolist():
        nodes = bank.roots[bank.label[bank.roots] == a]
        ones = np.ones((len(nodes), 1), np.float32)
        views = labels[a].inside[row_of[nodes]], ones, ones
        theta = mixture_weights(views, labels[a].gamma[:, None, None])
        roots[label_ptr[a] : label_ptr[a + 1]] = len(nodes) * theta.ravel()
    word_nodes = np.flatnonzero(bank.token >= 0)
    word_ptr = pointers(m[bank.label[word_nodes]])
    words = np.empty(int(word_ptr[-1]))
    for a in np.unique(bank.label[word_nodes]).tolist():
        of_label = np.flatnonzero(bank.label[word_nodes] == a)
        at = row_of[word_nodes[of_label]]
        posterior = (labels[a].gamma * labels[a].inside[at] * labels[a].outside[at]).astype(float)
        posterior /= posterior.sum(axis=1, keepdims=True)
        words[word_ptr[of_label][:, None] + np.arange(m[a])] = posterior
        states[label_ptr[a] : label_ptr[a + 1]] += posterior.sum(axis=0)
    return PivotCounts(
        LatentCounts(tensor, states, roots), words, m, Spectra.of([label.s for label in labels])
    )


def _decomposed(
    bank: Treebank, settings: LPCFGSettings, progress: Progress | None
) -> list[_LabelStates]:
    """Step 1 for every nonterminal; the cores in use share them out."""
    inside = inside_features(bank, settings.inside)
    outside = outside_features(bank, settings.outside)
    order = np.argsort(bank.label, kind="stable")
    bounds = np.searchsorted(bank.label[order], np.arange(len(bank.labels) + 1))
    labels: list[_LabelStates | None] = [None] * len(bank.labels)

    def of_label(a: int) -> None:
        rows = order[bounds[a] : bounds[a + 1]]
        alone = np.ones((len(rows), 1), np.float32)
        labels[a] = _LabelStates(rows, np.ones(1, np.float32), alone, alone, np.empty(0))
        n_states = min(settings.most_states, len(rows) // settings.per_state)
        if n_states < 2:
            return
        rng = np.random.default_rng([settings.seed, a])
        Phi, Psi = (
            noised(scaled_rows(x[rows], settings.kappa), settings, rng) for x in (inside, outside)
        )
        spectrum = omega_svd(Phi, Psi, n_states, rng)
        if settings.n_states == "auto":
            n_states = min(n_states, significant(spectrum.s, noise_level(Phi, Psi, rng)))
        if n_states < 2 or len(spectrum.s) < 2:
            return
        parts = decompose(
            Phi,
            Psi,
            spectrum.Z,
            n_states,
            drawn=settings.smoothing.C_mean,
            least=max(settings.per_state, _SHARE * len(rows) / n_states),
        )
        if len(parts.gamma) < 2:
            return
        below, above = _likelihood(Phi, parts.inside), _likelihood(Psi, parts.outside)
        labels[a] = _LabelStates(rows, parts.gamma.astype(np.float32), below, above, spectrum.s)

    def report(done: int) -> None:
        if progress is not None:
            progress(done, len(order), "latent states")

    largest_first(of_label, np.diff(bounds).tolist(), report)
    return [label for label in labels if label is not None]


def _likelihood(rows: FeatureRows, shares: Float64s) -> Float32s:
    """(n, m) P(features | h) up to a factor of each node, whose largest is 1."""
    # P(feature | h) is P(h | feature) / P(h) times P(feature); P(h) is that of the template.
    n, width = rows.columns.shape
    logs = np.zeros((n, shares.shape[1]))
    for t in range(width):
        of_template = shares[rows.columns[:, t]]
        logs += np.log(np.maximum(of_template, _FAINT))
        logs -= np.log(np.maximum(of_template.mean(axis=0), _FAINT))
    logs /= width**_POWER
    logs -= logs.max(axis=1, keepdims=True)
    return np.asarray(np.exp(logs), np.float32)


def _of_rules(
    bank: Treebank, labels: list[_LabelStates], row_of: Int64s, m: Int64s
) -> tuple[Float64s, Float64s]:
    """Step 2 for every rule: counts with states, and those of the states of their parents."""
    rule_ptr, label_ptr = tensor_layout(bank.rules, m), pointers(m)
    tensor, states = np.zeros(int(rule_ptr[-1])), np.zeros(int(label_ptr[-1]))
    nodes = np.flatnonzero(bank.rule >= 0)
    nodes = nodes[np.argsort(bank.rule[nodes], kind="stable")]
    ends = np.searchsorted(bank.rule[nodes], np.arange(len(bank.rules) + 1))

    def work(r: int) -> None:
        of_rule = nodes[ends[r] : ends[r + 1]]
        a, b, c = (labels[label] for label in bank.rules[r].tolist())
        views = (
            a.outside[row_of[of_rule]],
            b.inside[row_of[bank.left[of_rule]]],
            c.inside[row_of[bank.right[of_rule]]],
        )
        start = np.einsum("x,y,z->xyz", a.gamma, b.gamma, c.gamma)
        theta = mixture_weights(views, start)
        tensor[rule_ptr[r] : rule_ptr[r + 1]] = len(of_rule) * theta.ravel().astype(float)

    each(work, range(len(bank.rules)))
    for r, (a, _, _) in enumerate(bank.rules.tolist()):  # in one order, whatever the threads
        of_parent = tensor[rule_ptr[r] : rule_ptr[r + 1]].reshape(m[a], -1).sum(axis=1)
        states[label_ptr[a] : label_ptr[a + 1]] += of_parent
    return tensor, states
