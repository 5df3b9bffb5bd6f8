"""Valid parameters (pi, T, O) from moments: a model by itself, and the start of EM.

``clusters``, for text:

1. CCA of neighbours (:func:`moments.dictionary`): symbols with the same
   states before and behind them have the same direction, ``[S U_x, S R_x]`` with unit length.
2. k-means, every symbol weighted by its count: a cluster is a state.
3. Counts of symbols and pairs by cluster, smoothed, are O and T; first symbols are pi.  Nothing
   can be negative.

``diagonalise``, for data that follow the model (exact at exact moments, but for the order of
states):

1. Reduced operators (operators.py, ``fru``) have ``C(y) = G T diag(G'y) inv(G)``, and for the sum
   over all symbols, ``C(y_1 + .. + y_V) = G T inv(G)``.
2. So ``inv(G T inv(G)) C(y) = G diag(G'y) inv(G)`` for any y has the columns of G as
   eigenvectors; ``b_inf' G = 1'`` gives their length.
3. ``O = Y G``, ``T = inv(G) (G T inv(G)) G``, ``pi = inv(G) b_1``; what sampling has made negative
   is cut off, and rows are divided by their sums.

``tensor``, as exact, and steadier on samples: the tensor power method (lab/tensor).  Where
sampling has made something negative, pairs of states are then the likeliest for O.

:func:`spectral_start` is ``clusters``, softened, and a pass of EM in small steps.
"""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
import numpy.typing as npt

from eigentext.base.registry import part
from eigentext.base.types import Bools, Float64s, Int64s
from eigentext.errors import RankError, SettingsError
from eigentext.linalg.ties import number_alike, single_threaded, unit_rows
from eigentext.sequences.hmm.parameters import Parameters, distributions
from eigentext.sequences.observations import Encoded
from eigentext.sequences.spectral.moments import Moments, dictionary
from eigentext.sequences.spectral.operators import make_operators

Method = Literal["clusters", "diagonalise", "tensor"]

_TRIES = 20  # random directions, of which the one with the best separated eigenvalues is taken


def recover_parameters(
    moments: Moments,
    k: int,
    *,
    method: Method = "clusters",
    kappa: float = 200.0,
    smoothing: float = 0.1,
    seed: int = 0,
) -> Parameters:
    """Valid parameters of k states.

    ``smoothing``  this share of every row of O is the unigram and of T and pi the frequency of
                   states (``clusters``), so that no symbol is impossible; ``diagonalise``: of the
                   even distribution, ``tensor``: of the unigram, and only where something had to
                   be cut off
    ``kappa``      see :func:`~eigentext.sequences.spectral.moments.dictionary`; for ``clusters``

    >>> text = Encoded.of([[0, 2, 1, 3, 0, 3], [1, 2, 0, 2, 1, 3]] * 9)
    >>> hmm = recover_parameters(Moments.of(text, 4), 2, smoothing=0.0)
    >>> sorted(hmm.emission.round(6).tolist()), hmm.transition.round(6).tolist()
    ([[0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 0.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]])
    """
    if not 0 <= smoothing < 1:
        raise SettingsError(f"smoothing {smoothing!r}: expected from 0 to below 1")
    if method == "clusters":
        return _from_clusters(
            moments, cluster_symbols(moments, k, kappa=kappa, seed=seed), k, smoothing
        )
    if method == "diagonalise":
        return _from_eigenvectors(moments, k, smoothing, seed)
    if method == "tensor":
        recovered: Parameters = part("HMM from third moments")(moments, k, smoothing, seed)
        return recovered
    raise SettingsError(f"method {method!r}: expected 'clusters', 'diagonalise' or 'tensor'")


def spectral_start(
    moments: Moments, k: int, *, data: Encoded | None = None, passes: int = 1, seed: int = 0
) -> Parameters:
    """The start of EM for a text: clusters, softened by nine tenths.

    A hard start stays near its clusters for long; with a tenth of them in each row EM finds its
    way at once, and better (docs/guide/sequences.md).

    With the ``data`` of the moments, so many ``passes`` of EM in small steps follow; one of them
    is worth ten iterations of Baum-Welch.

    >>> text = Encoded.of([[0, 1, 0, 1, 2]] * 9)
    >>> spectral_start(Moments.of(text, 3), 2, data=text).n_states
    2
    """
    start = recover_parameters(moments, k, smoothing=0.9, seed=seed)
    if data is None:
        return start
    from eigentext.sequences.hmm.em import stepwise_em

    return stepwise_em(start, data, passes=passes, smoothing=1e-3, seed=seed).params


# ---------------------------------------------------------------- clusters


def cluster_symbols(moments: Moments, k: int, *, kappa: float = 200.0, seed: int = 0) -> Int64s:
    """(V,) the cluster of every symbol."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    words = dictionary(moments, k, "cca", kappa=kappa, seed=seed)
    both = np.concatenate([words.U * words.S, words.R * words.S], axis=1)
    rows = unit_rows(both).astype(np.float32)
    alike = number_alike(rows, k)
    if alike is not None:
        raise RankError("the vectors of symbols", rank=k, got=int(alike.max()) + 1)
    weights = moments.counts + 1e-3  # symbols that do not occur have no say
    # with few clusters one unlucky start of k-means costs most
    means = KMeans(k, n_init=max(1, 50 // k), max_iter=10, random_state=seed)
    with single_threaded(), warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            means.fit(rows, sample_weight=weights)
        except ConvergenceWarning as error:  # too near each other for float32
            raise RankError("the vectors of symbols", rank=k, got=k - 1) from error
    return np.asarray(means.labels_, np.int64)


def _from_clusters(moments: Moments, cluster: Int64s, k: int, smoothing: float) -> Parameters:
    from scipy.sparse import csr_array

    V = moments.n_symbols
    counts = moments.counts + 0.1 * moments.counts.sum() / max(moments.counts.sum(), V)
    unigram = counts / counts.sum()
    emission = np.zeros((k, V))
    emission[cluster, np.arange(V)] = unigram
    usual = emission.sum(axis=1)
    emission /= usual[:, None]
    member = csr_array((np.ones(V), cluster, np.arange(V + 1)), shape=(V, k))
    moved = (member.T @ (moments.pairs.T @ member)).toarray()
    first = np.asarray(member.T @ moments.first)
    soft = min(smoothing, 0.01)
    return Parameters(
        _mixed(first[None], usual, soft)[0],
        _mixed(moved, usual, soft),
        _mixed(emission, unigram, smoothing),
    )


def _mixed(rows: Float64s, other: Float64s, share: float) -> Float64s:
    return np.asarray((1 - share) * distributions(rows, other) + share * other)


# ---------------------------------------------------------------- eigenvectors


def _from_eigenvectors(moments: Moments, k: int, smoothing: float, seed: int) -> Parameters:
    words = dictionary(moments, k, "cca", seed=seed)
    ops = make_operators(moments, words, "fru")
    if ops.y is None:
        raise RuntimeError("reduced operators without y")
    rng = np.random.default_rng(seed)
    with single_threaded():
        whole = np.tensordot(ops.y.sum(axis=0), ops.matrices, axes=1)  # G T inv(G)
        best, G = -1.0, np.eye(k, dtype=complex)
        for _ in range(_TRIES):
            mixed = np.tensordot(rng.standard_normal(k) / words.S, ops.matrices, axes=1)
            values, vectors = np.linalg.eig(np.linalg.solve(whole, mixed))
            apart = _separation(values)
            if apart > best:
                best, G = apart, vectors
        size = ops.stop @ G
        G = np.real(G / np.where(np.abs(size) > 0, size, 1.0))
        inverse = np.linalg.pinv(G)
        emission = (ops.y @ G).T
        transition = (inverse @ whole @ G).T
        initial = inverse @ ops.start
    even = np.full(moments.n_symbols, 1 / moments.n_symbols)
    states = np.full(k, 1 / k)
    return Parameters(
        valid_rows(initial[None], states, smoothing)[0],
        valid_rows(transition, states, smoothing),
        valid_rows(emission, even, smoothing),
    )


def _separation(values: npt.NDArray[np.complexfloating]) -> float:
    """Least distance of two eigenvalues, over the largest; complex ones count as double."""
    if len(values) == 1:
        return 1.0
    real = np.sort(values.real)
    return float(np.diff(real).min() / max(np.abs(values).max(), 1e-300))


def valid_rows(rows: Float64s, other: Float64s, share: float) -> Float64s:
    """Cut off what is negative; a row that lost something gets some of ``other``."""
    mixed = np.where(negative_rows(rows)[:, None], share, 0.0)
    kept = distributions(np.maximum(rows, 0.0), other)
    return np.asarray((1 - mixed) * kept + mixed * other)


def negative_rows(rows: Float64s) -> Bools:
    """(n,) which rows have more than rounding below 0."""
    positive = np.maximum(rows, 0.0)
    lost = (positive - rows).sum(axis=1) > 1e-6 * positive.sum(axis=1)
    return np.asarray(lost)
