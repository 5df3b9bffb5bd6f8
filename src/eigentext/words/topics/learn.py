"""Topics from the first three moments of words in documents.

In LDA a document has proportions of topics drawn from Dirichlet(a_1 .. a_k), sum a_0; every word
is drawn from the topic phi_i with these proportions.  With x_1, x_2, x_3 three words of a document
and m = E[x_1] (Anandkumar, Ge, Hsu, Kakade and Telgarsky 2014, theorem 3.5)::

    M_2 = E[x_1 x_2'] - a_0/(a_0+1) m m'
        = sum_i w_i phi_i phi_i'                         w_i = a_i / (a_0 (a_0+1))
    M_3 = E[x_1 (x) x_2 (x) x_3] - a_0/(a_0+2) (E[x_1 (x) x_2 (x) m] and the two other orders)
          + 2 a_0^2/((a_0+1)(a_0+2)) m (x) m (x) m
        = 2/(a_0+2) sum_i w_i phi_i (x) phi_i (x) phi_i

``a_0 = 0`` is the mixture in which a document has one topic (theorem 3.1).

1. :class:`DocumentMoments` holds sparse counts.  Two different words of a document are a pair:
   ``(c c' - diag(c)) / (L (L - 1))`` with counts c and length L, and likewise for triples.  A
   document weighs as many words as it has: the triples of a short one are nearly all noise.
2. :func:`topics_of` whitens: the leading eigenvectors and values of ``M_2 ~ U diag(s) U'`` give
   ``W = U diag(s)^(-1/2)`` (V, k) with ``W' M_2 W = I``.  The tensor ``M_3(W, W, W)`` (k, k, k) is
   summed in whitened words; nothing of size V x V x V, nor V x V, is ever made.
3. The power method finds its pairs (l_i, v_i); ``M_2 W v_i = w_i^(1/2) phi_i``, whose sum is
   w_i^(1/2), since phi_i sums to 1.
4. :func:`proportions_of` documents: with several topics a document (``a_0 > 0``) they are the
   maximum of ``sum_v c_v log(sum_i theta_i phi_iv) + sum_i a_i log theta_i``, which has no local
   optima: EM for theta climbs it.  With one topic they are the posterior of the topic.
5. :func:`refined`: EM for the topics adds up the same responsibilities over all documents, with
   ``_ETA`` more for every word of every topic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eigentext.base.em import EMResult, iterate
from eigentext.base.progress import Progress
from eigentext.base.types import Float64s, Sparse
from eigentext.errors import DataError, RankError
from eigentext.linalg.tensors import TensorPairs, tensor_power, third_moment
from eigentext.linalg.ties import fix_signs, random_block, single_threaded

_DENSE_SIDE = 400  # up to so many words M_2 is written out
_RANK_TOL = 1e-10


@dataclass(frozen=True, eq=False)
class DocumentMoments:
    """Moments of documents with at least three words, each with the weight of its length.

    >>> from scipy.sparse import csr_array
    >>> seen = DocumentMoments.of(csr_array(np.array([[2, 1], [0, 3], [1, 0]])))
    >>> seen.pairs(np.eye(2)).round(9).tolist()  # the last document has one word
    [[0.166666667, 0.166666667], [0.166666667, 0.5]]
    """

    counts: Sparse  # (n, V) csr: how often each word stands in each document
    lengths: Float64s  # (n,) L, the words of each
    mean: Float64s  # (V,) m

    @classmethod
    def of(cls, counts: Sparse) -> DocumentMoments:
        """Of a sparse matrix of documents and words."""
        lengths = np.asarray(counts.sum(axis=1)).ravel()
        long = counts.tocsr()[np.flatnonzero(lengths >= 3)].astype(np.float64)
        if not long.shape[0]:
            why = "no document has three words of the vocabulary, and a triple needs them"
            raise DataError("documents", None, why)
        L = np.asarray(long.sum(axis=1)).ravel()
        return cls(long, L, np.asarray(long.sum(axis=0)).ravel() / L.sum())

    def pairs(self, X: Float64s) -> Float64s:
        """``E[x_1 x_2'] X`` for X (V, n)."""
        C, L = self.counts, self.lengths
        a = 1 / ((L - 1) * L.sum())  # the weight L / sum(L), over L (L - 1)
        both = C.T @ (a[:, None] * (C @ X))
        return np.asarray(both - (C.T @ a)[:, None] * X)  # no word is a pair with itself

    def triples(self, W: Float64s) -> Float64s:
        """``E[W'x_1 (x) W'x_2 (x) W'x_3]`` (k, k, k) for W (V, k)."""
        C, L = self.counts, self.lengths
        b = 1 / ((L - 1) * (L - 2) * L.sum())
        Y = np.asarray(C @ W)  # documents, whitened
        every = third_moment(Y, Y, Y, b)
        # a word taken twice, and another: sum over words of W_v (x) W_v (x) Q_v, in three orders
        Q = np.asarray(C.T @ (b[:, None] * Y))
        twice = third_moment(W, W, Q, np.ones(len(W)))
        thrice = third_moment(W, W, W, np.asarray(C.T @ b))
        orders = twice + twice.transpose(0, 2, 1) + twice.transpose(2, 0, 1)
        return np.asarray(every - orders + 2 * thrice)


class RawTopics(NamedTuple):
    """Topics as moments give them: entries may be negative."""

    topics: Float64s  # (k, V), rows sum to 1
    weights: Float64s  # (k,) shares of topics, positive, sum 1: a_i / a_0
    spectrum: Float64s  # (k,) eigenvalues of M_2
    tensor: TensorPairs  # what the power method found, and its residuals


def topics_of(moments: DocumentMoments, k: int, alpha0: float, *, seed: int = 0) -> RawTopics:
    """k topics; moments of a smaller rank are a RankError."""
    with single_threaded():
        U, s = _leading(lambda X: _second(moments, alpha0, X), len(moments.mean), k, seed)
        W = U / np.sqrt(s)
        pairs = tensor_power(_third(moments, W, alpha0), seed=seed)
        rows = (U * np.sqrt(s)) @ pairs.vectors  # M_2 W v_i, (V, k)
        sizes = rows.sum(axis=0)
        sizes = np.where(np.abs(sizes) > 1e-12, sizes, 1e-12)
        weights = sizes**2 / (sizes**2).sum()
        order = np.argsort(-np.round(weights, 12), kind="stable")
    return RawTopics((rows / sizes).T[order], weights[order], s, pairs)


def _second(moments: DocumentMoments, alpha0: float, X: Float64s) -> Float64s:
    """``M_2 X``."""
    m = moments.mean
    return np.asarray(moments.pairs(X) - (alpha0 / (alpha0 + 1) * m)[:, None] * (m @ X))


def _leading(
    product: Callable[[Float64s], Float64s], V: int, k: int, seed: int
) -> tuple[Float64s, Float64s]:
    """The k largest eigenvalues and their vectors (V, k) of a symmetric matrix."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    if V <= _DENSE_SIDE or k >= V - 1:
        dense = product(np.eye(V))
        values, vectors = np.linalg.eigh((dense + dense.T) / 2)
        values, vectors = values[-min(k, V) :], vectors[:, -min(k, V) :]
    else:
        matrix = LinearOperator(
            (V, V), matvec=lambda x: product(x.reshape(V, 1)).ravel(), matmat=product, dtype=float
        )
        begin = random_block(V, 1, seed=seed).ravel()
        values, vectors = eigsh(matrix, k, which="LA", v0=begin, tol=1e-9)
    order = np.argsort(-values)
    s = values[order]
    rank = int((s > _RANK_TOL * max(float(s[0]), 0.0)).sum()) if s[0] > 0 else 0
    if rank < k:
        raise RankError("the matrix of pairs of words, M_2,", rank=k, got=rank)
    return fix_signs(np.ascontiguousarray(vectors[:, order]))[0], s


def _third(moments: DocumentMoments, W: Float64s, alpha0: float) -> Float64s:
    """``M_3(W, W, W)``, scaled so that ``l_i = w_i^(-1/2)``."""
    T = moments.triples(W)
    if alpha0 == 0:
        return T
    u = W.T @ moments.mean
    P = W.T @ moments.pairs(W)
    off = (
        P[:, :, None] * u[None, None, :]
        + P[:, None, :] * u[None, :, None]
        + P[None, :, :] * u[:, None, None]
    )
    cube = u[:, None, None] * u[None, :, None] * u[None, None, :]
    T = T - alpha0 / (alpha0 + 2) * off
    T += 2 * alpha0**2 / ((alpha0 + 1) * (alpha0 + 2)) * cube
    return np.asarray(T * (alpha0 + 2) / 2)


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
    topics: Topics, counts: Sparse, *, n_iter: int = 200, tol: float = 1e-6
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
    counts: Sparse,
    *,
    n_iter: int,
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
        phi = np.asarray(sums).T + _ETA
        return Topics(phi / phi.sum(axis=1, keepdims=True), weights, now.alpha0), log

    with single_threaded():
        return iterate(topics, step, n_iter=n_iter, progress=progress)


def _posteriors(topics: Topics, counts: Sparse) -> tuple[Float64s, float]:
    """(n, k) p(topic | document), and the log likelihood."""
    weights = np.maximum(topics.weights, 1e-300)
    logs = np.asarray(counts @ np.log(topics.phi).T) + np.log(weights)
    top = logs.max(axis=1, keepdims=True)
    shares = np.exp(logs - top)
    total = shares.sum(axis=1, keepdims=True)
    return shares / total, float((top + np.log(total)).sum())


def _climb(
    topics: Topics, counts: Sparse, theta: Float64s, sums: Float64s, n_iter: int, tol: float
) -> float:
    from eigentext.words.kernels import topics as kernels

    phi = np.ascontiguousarray(topics.phi.T)
    starts, words = counts.indptr.astype(np.int64), counts.indices.astype(np.int32)
    data = counts.data.astype(np.float64)
    return float(
        kernels.proportions(starts, words, data, phi, topics.alpha, n_iter, tol, theta, sums)
    )
