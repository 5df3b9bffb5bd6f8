"""Moments and contexts of infinitely many sequences of a known hidden Markov model."""

from __future__ import annotations

import numpy as np

from eigentext.errors import SettingsError
from eigentext.sequences.hmm.parameters import Parameters
from eigentext.sequences.spectral.anchors import NeighbourCounts
from eigentext.sequences.spectral.moments import Moments


def exact_moments(parameters: Parameters, length: int) -> Moments:
    """The moments of infinitely many sequences of this length; for small V.

    >>> from eigentext.sequences import Parameters
    >>> exact = exact_moments(Parameters.random(2, 4), 5)
    >>> round(float(exact.weights.sum()), 9), exact.n_triples
    (1.0, 64)
    """
    if length < 3:
        raise SettingsError(f"length {length}: triples need at least 3")
    pi, T, O = parameters.initial, parameters.transition, parameters.emission  # noqa: E741
    V = parameters.n_symbols
    # the distribution of the state at each token; a triple may begin at all but the last two
    states = [pi]
    for _ in range(length - 1):
        states.append(states[-1] @ T)
    pooled = np.mean(states[: length - 2], axis=0)
    # p(left a, middle x, right c) = sum over their states i, j, l
    table = np.einsum("i,ia,ij,jx,jl,lc->xac", pooled, O, T, O, T, O, optimize=True)
    middle, left, right = (axis.ravel().astype(np.int32) for axis in np.indices((V, V, V)))
    counts = np.sum(states, axis=0) @ O
    return Moments(pi @ O, left, middle, right, counts, table.ravel())


def exact_contexts(parameters: Parameters, length: int) -> NeighbourCounts:
    """The expected counts of a sequence of this length.

    >>> exact = exact_contexts(Parameters.random(2, 4), 5)
    >>> round(float(exact.counts.sum()), 9), round(float(exact.pairs.sum()), 9)
    (5.0, 4.0)
    """
    from scipy.sparse import csr_array

    T, O = parameters.transition, parameters.emission  # noqa: E741
    states = [parameters.initial]  # the distribution of the state at each token
    for _ in range(length - 1):
        states.append(states[-1] @ T)
    M = np.sum(states[:-1], axis=0)[:, None] * T
    counts = np.sum(states, axis=0) @ O
    return NeighbourCounts.from_pairs(
        states[0] @ O, states[-1] @ O, counts, csr_array(O.T @ M @ O)
    )
