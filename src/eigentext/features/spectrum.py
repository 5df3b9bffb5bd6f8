"""The singular directions of Omega_a, the heart of the spectral estimators.

For a nonterminal a with M nodes, feature matrices Phi (M, d) and Psi (M, d'):

    Omega = Phi' Psi / M            never formed: products with Phi and Psi only
    Omega ~ U diag(s) V'            block power iteration, orthogonalised through Gram matrices

The coordinates of the nodes are Y = Phi U and Z = Psi V.

How many directions are real (``n_states="auto"``): a singular value counts when it is larger than
chance would make it.  What chance makes is seen when the outside features are dealt out anew among
the nodes of a, so that inside and outside know nothing of each other (parallel analysis):

    m_a = number of k with  s_k(Phi' Psi / M)  >  s_2(Phi' P Psi / M),    P a random permutation

The first direction of the shuffled Omega is that of the two means, which no shuffling removes; the
second is the largest one made by chance.  Where features are centred (``moments``) it is the
first, and the constant coordinate makes one state more.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from eigentext.base.hashing import MIXER, SPREAD
from eigentext.base.ragged import pointers
from eigentext.base.types import Float32s, Float64s, Int32s, Int64s, UInt64s
from eigentext.errors import RankWarning
from eigentext.linalg.svd import truncated_svd
from eigentext.linalg.ties import fix_signs

_SPARE = 6  # directions beyond those asked for: they make the last ones converge


class Spectrum(NamedTuple):
    """Coordinates Y (M, k), Z (M, k) and singular values s (k,) of one nonterminal."""

    Y: Float32s
    Z: Float32s
    s: Float32s


class Spectra(NamedTuple):
    """Singular values of Omega_a of every nonterminal, as they are kept with a model.

    >>> Spectra.of([np.array([3.0, 1.0]), np.empty(0)]).at(0).tolist()
    [3.0, 1.0]
    """

    values: Float64s  # flat; those of nonterminal a stand at ``ptr[a]`` to ``ptr[a + 1]``, falling
    ptr: Int64s
    # (labels,) Lambda_a, see ``learn.moments``; None where there are no moments
    smallest: Float64s | None = None

    @classmethod
    def of(
        cls, values: Sequence[npt.NDArray[np.floating]], smallest: Float64s | None = None
    ) -> Spectra:
        """From one vector for each nonterminal; an empty one where none was computed."""
        ptr = pointers(map(len, values))
        return cls(np.concatenate([*values, np.empty(0)]).astype(np.float64), ptr, smallest)

    def at(self, a: int) -> Float64s:
        """The singular values of nonterminal a."""
        return self.values[self.ptr[a] : self.ptr[a + 1]]


def orthonormal(W: Float32s, times: int) -> Float32s:
    """Columns that span those of W, through W'W; once loses half the digits, twice does not."""
    for _ in range(times):
        values, vectors = np.linalg.eigh((W.T @ W).astype(np.float64))
        good = values > 1e-10 * values[-1]
        if not good.any():
            return W[:, :0]
        W = W @ (vectors[:, good] / np.sqrt(values[good])).astype(np.float32)
    return W


def omega_svd(
    Phi: FeatureRows, Psi: FeatureRows, rank: int, rng: np.random.Generator, n_iter: int = 3
) -> Spectrum:
    """Top singular directions of Phi' Psi / M as coordinates of the M nodes.

    >>> one = FeatureRows(np.array([[0], [1]], np.int32), np.ones((2, 1), np.float32), 2)
    >>> omega_svd(one, one, 1, np.random.default_rng(0)).s.round(4).tolist()
    [0.5]
    """
    M = len(Phi.columns)
    block = min(rank + _SPARE, M, Phi.width, Psi.width)
    V = rng.standard_normal((Psi.width, block)).astype(np.float32)
    for step in range(n_iter):
        # On the way the columns need only stay apart; the last ones must be orthonormal.
        times = 2 if step == n_iter - 1 else 1
        U = orthonormal(Phi.transposed_times(Psi, V), times)
        if not U.shape[1]:
            empty = np.zeros((M, 0), np.float32)
            return Spectrum(empty, empty, np.zeros(0, np.float32))
        V = orthonormal(Psi.transposed_times(Phi, U), times)
    Y, Z = Phi.times(U), Psi.times(V)
    left, s, right = np.linalg.svd((Y.T @ Z).astype(np.float64) / M)
    k = int(min(rank, (s > 1e-6 * max(s[0], 1e-30)).sum()))
    turned, _ = fix_signs(np.vstack([left[:, :k], right[:k].T]))
    left, right = turned[: len(left)].astype(np.float32), turned[len(left) :].astype(np.float32)
    return Spectrum(Y @ left, Z @ right, s[:k].astype(np.float32))


def noise_level(Phi: FeatureRows, Psi: FeatureRows, rng: np.random.Generator) -> float:
    """The largest singular value that chance alone gives Omega = Phi' Psi / M.

    >>> same = FeatureRows(np.zeros((9, 1), np.int32), np.ones((9, 1), np.float32), 1)
    >>> noise_level(same, same, np.random.default_rng(0))
    0.0
    """
    dealt = rng.permutation(len(Psi.columns))
    shuffled = Psi._replace(columns=Psi.columns[dealt], values=Psi.values[dealt])
    s = omega_svd(Phi, shuffled, 2, rng).s
    return float(s[1]) if len(s) > 1 else 0.0


def significant(s: npt.NDArray[np.floating], noise: float) -> int:
    """How many of the singular values s, falling, are above the noise.

    >>> significant(np.array([9.0, 2.0, 0.6, 0.5]), 0.55)
    3
    """
    return int((s > noise).sum())


def converged_coordinates(
    Phi: FeatureRows, Psi: FeatureRows, weights: Float64s, rank: int
) -> tuple[Float64s, Float64s, Float64s]:
    """Y = Phi U, Z = Psi V and s of Omega = Phi' diag(w) Psi, converged and in 64 bits.

    ``weights`` are scaled to sum to 1.
    """
    w = weights / weights.sum()
    left, right = (X.sparse(X.values.astype(np.float64)) for X in (Phi, Psi))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)  # a smaller rank is an answer
        svd = truncated_svd(
            left.T @ right.multiply(w[:, None]).tocsr(),
            rank,
            tol=1e-10,
            on_rank="warn",
            symbol="Omega",
        )
    keep = int((1e-5 * max(float(svd.S[0]), 1e-30) < svd.S).sum()) if len(svd.S) else 0
    keep = keep if keep and svd.S[0] > 1e-5 else 0
    return left @ svd.U[:, :keep], right @ svd.Vt[:keep].T, svd.S[:keep]


class FeatureRows(NamedTuple):
    """A sparse matrix with F entries in each of its M rows: places and values, both (M, F)."""

    columns: Int32s
    values: Float32s
    width: int

    def sparse(self, values: npt.NDArray[np.floating]) -> Any:
        """The same with these values in the same places, as a matrix of scipy."""
        from scipy.sparse import csr_array

        n, width = self.columns.shape
        first = np.arange(n + 1) * width
        return csr_array((values.ravel(), self.columns.ravel(), first), (n, self.width))

    def times(self, W: Float32s) -> Float32s:
        """X W, dense (M, k)."""
        from eigentext.features.kernels.feature_rows import project

        out = np.empty((len(self.columns), W.shape[1]), np.float32)
        project(self.columns, self.values, W, out)
        return out

    def transposed_times(self, other: FeatureRows, W: Float32s) -> Float32s:
        """X' (Y W), dense (d, k), where Y is the other matrix over the same rows."""
        from eigentext.features.kernels.feature_rows import cross

        out = np.empty((self.width, W.shape[1]), np.float32)
        cross(self.columns, self.values, other.columns, other.values, W, out)
        return out


def feature_numbers(template: int, *values: npt.NDArray[np.integer]) -> UInt64s:
    """One 64-bit number per row from a template number and columns of values (FNV-like mix).

    >>> one, two = feature_numbers(1, np.array([3, 3]), np.array([4, 5])).tolist()
    >>> one == two
    False
    """
    state = np.full(values[0].shape, MIXER * (template + 1) % 2**64, dtype=np.uint64)
    for value in values:
        state ^= value.astype(np.uint64) + np.uint64(MIXER)
        state *= np.uint64(SPREAD)
        state ^= state >> np.uint64(29)
    return state


def scaled_rows(features: UInt64s, kappa: float) -> FeatureRows:
    """Sparse (M, d) matrix of one label's nodes, entries sqrt(M / (count + kappa)).

    >>> features = np.array([[1, 6], [1, 7], [1, 8], [1, 9]], dtype=np.uint64)
    >>> rows = scaled_rows(features, kappa=0.0)
    >>> rows.columns.tolist(), rows.values.tolist()[0], rows.width
    ([[0, 1], [0, 2], [0, 3], [0, 4]], [1.0, 2.0], 5)
    """
    from eigentext.features.kernels.feature_rows import number_features

    columns = np.empty(features.shape, np.int32)
    counts = np.empty(features.size, np.int64)
    width = number_features(features, columns, counts)
    scale = np.sqrt(len(features) / (counts[:width] + kappa)).astype(np.float32)
    return FeatureRows(columns, scale[columns], width)
