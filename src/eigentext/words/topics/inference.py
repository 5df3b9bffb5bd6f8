"""Proportions of topics in documents, and EM that begins with topics of moments.

With several topics a document (``a_0 > 0``) its proportions are the maximum of

    sum_v c_v log(sum_i theta_i phi_iv) + sum_i a_i log theta_i

which has no local optima: EM for theta climbs it.  EM for the topics adds up the same
responsibilities over all documents, with ``eta`` more for every word of every topic.  With one
topic a document (``a_0 = 0``) proportions are the posterior of the topic, and EM is that of a
mixture of multinomials.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.em import EMResult, iterate
from eigentext.linalg.determinism import single_threaded

if TYPE_CHECKING:
    from eigentext.base.progress import Progress
    from eigentext.base.types import Float64s

_ETA = 0.03  # added to the count of every word in every topic, in EM
_TOL = 1e-3  # proportions that move less are there, in EM
_LEAST_ALPHA = 0.1  # of a topic's a_i, as a share of the mean


@dataclass(frozen=True, eq=False)
class Topics:
    """``phi`` (k, V), rows positive with sum 1; ``weights`` (k,), sum 1; ``alpha0`` a_0."""

    phi: Float64s
    weights: Float64s
    alpha0: float

    @property
    def alpha(self) -> Float64s:
        """(k,) a_i, none of them next to 0."""
        return np.asarray(self.alpha0 * np.maximum(self.weights, _LEAST_ALPHA / len(self.weights)))

    def usual(self, n: int) -> Float64s:
        """(n, k) the proportions that a document has before it is looked at."""
        return np.tile(self.alpha / (self.alpha.sum() or 1.0), (n, 1))


def proportions_of(
    topics: Topics, counts: Any, *, n_iter: int = 200, tol: float = 1e-6
) -> Float64s:
    """(n, k) of documents (n, V) csr; a document without words has those of all documents."""
    if topics.alpha0 == 0:
        with single_threaded():
            return _posteriors(topics, counts)[0]
    theta = topics.usual(counts.shape[0])
    _climb(topics, counts, theta, np.empty((0, len(topics.weights))), n_iter, tol)
    return theta


def refined(
    topics: Topics,
    counts: Any,
    *,
    n_iter: int,
    eta: float = _ETA,
    theta: Float64s | None = None,
    progress: Progress | None = None,
) -> EMResult[Topics]:
    """Better topics by so many iterations of EM; alpha_0 stays, and the shares follow the text.

    ``theta`` (n, k), proportions to begin with, is written over: with it another call goes on.
    """
    k, V = topics.phi.shape
    if theta is None:
        theta = topics.usual(counts.shape[0])

    def step(now: Topics) -> tuple[Topics, float]:
        if now.alpha0 == 0:
            posteriors, log = _posteriors(now, counts)
            sums = counts.T @ posteriors
            weights = posteriors.mean(axis=0)
        else:
            sums = np.zeros((V, k))
            # proportions go on from the last iteration: a few rounds are enough
            log = _climb(now, counts, theta, sums, 5, _TOL)
            weights = sums.sum(axis=0) / sums.sum()
        phi = np.asarray(sums).T + eta
        return Topics(phi / phi.sum(axis=1, keepdims=True), weights, now.alpha0), log

    with single_threaded():
        return iterate(topics, step, n_iter=n_iter, progress=progress)


def _posteriors(topics: Topics, counts: Any) -> tuple[Float64s, float]:
    """(n, k) p(topic | document), and the log likelihood."""
    weights = np.maximum(topics.weights, 1e-300)
    logs = np.asarray(counts @ np.log(topics.phi).T) + np.log(weights)
    top = logs.max(axis=1, keepdims=True)
    shares = np.exp(logs - top)
    total = shares.sum(axis=1, keepdims=True)
    return shares / total, float((top + np.log(total)).sum())


def _climb(
    topics: Topics, counts: Any, theta: Float64s, sums: Float64s, n_iter: int, tol: float
) -> float:
    from eigentext.words.kernels import topics as kernels

    phi = np.ascontiguousarray(topics.phi.T)
    starts, words = counts.indptr.astype(np.int64), counts.indices.astype(np.int32)
    data = counts.data.astype(np.float64)
    return float(
        kernels.proportions(starts, words, data, phi, topics.alpha, n_iter, tol, theta, sums)
    )
