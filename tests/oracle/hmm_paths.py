"""Hidden Markov models by listing every path of states, and Baum-Welch in plain numpy.

Written from the definitions: no scaling, no recursion over time in what is enumerated.
"""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np


def paths(pi, T, O, xs):  # noqa: E741
    """Each path of states with its p(path, xs)."""
    found = []
    for path in product(range(len(pi)), repeat=len(xs)):
        p = 1.0
        for t, (h, x) in enumerate(zip(path, xs, strict=True)):
            p *= (pi[h] if t == 0 else T[path[t - 1], h]) * O[h, x]
        found.append((path, p))
    return found


def probability(pi, T, O, xs):  # noqa: E741
    """p(xs), the sum over paths."""
    return sum(p for _, p in paths(pi, T, O, xs))


def filtered(pi, T, O, xs):  # noqa: E741
    """(n, k) p(h_t | x_1..t)."""
    found = np.zeros((len(xs), len(pi)))
    for t in range(len(xs)):
        for path, p in paths(pi, T, O, xs[: t + 1]):
            found[t, path[-1]] += p
    return found / found.sum(axis=1, keepdims=True)


def smoothed(pi, T, O, xs):  # noqa: E741
    """(n, k) p(h_t | x_1..n)."""
    found = np.zeros((len(xs), len(pi)))
    for path, p in paths(pi, T, O, xs):
        for t, h in enumerate(path):
            found[t, h] += p
    return found / found.sum(axis=1, keepdims=True)


def next_symbols(pi, T, O, xs):  # noqa: E741
    """(V,) p(next symbol | xs) = p(xs x) / p(xs)."""
    row = np.array([probability(pi, T, O, [*xs, x]) for x in range(O.shape[1])])
    return row / row.sum()


def expected_counts(pi, T, O, xs):  # noqa: E741
    """Expected counts of the first state, of pairs of states and of symbols, by enumeration."""
    first, moved, shown = np.zeros_like(pi), np.zeros_like(T), np.zeros_like(O)
    total = probability(pi, T, O, xs)
    for path, p in paths(pi, T, O, xs):
        first[path[0]] += p / total
        for a, b in pairwise(path):
            moved[a, b] += p / total
        for h, x in zip(path, xs, strict=True):
            shown[h, x] += p / total
    return first, moved, shown


def em_step(pi, T, O, sequences):  # noqa: E741
    """One iteration of Baum-Welch, sequence by sequence, scaled; log likelihood before it."""
    first, moved, shown = np.zeros_like(pi), np.zeros_like(T), np.zeros_like(O)
    log_likelihood = 0.0
    for xs in sequences:
        n = len(xs)
        if n == 0:
            continue
        alpha, beta, scale = np.zeros((n, len(pi))), np.ones((n, len(pi))), np.zeros(n)
        for t in range(n):
            row = (pi if t == 0 else alpha[t - 1] @ T) * O[:, xs[t]]
            scale[t] = row.sum()
            alpha[t] = row / scale[t]
        for t in range(n - 2, -1, -1):
            beta[t] = T @ (O[:, xs[t + 1]] * beta[t + 1]) / scale[t + 1]
        log_likelihood += np.log(scale).sum()
        gamma = alpha * beta
        first += gamma[0]
        for t in range(n):
            shown[:, xs[t]] += gamma[t]
        for t in range(n - 1):
            future = O[:, xs[t + 1]] * beta[t + 1] / scale[t + 1]
            moved += alpha[t][:, None] * T * future
    rows = (one / one.sum(axis=-1, keepdims=True) for one in (first, moved, shown))
    return (*rows, log_likelihood)
