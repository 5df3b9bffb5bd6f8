"""The singular directions of Omega_a, the heart of the spectral estimators.

For a nonterminal a with M nodes, feature matrices Phi (M, d) and Psi (M, d'):

    Omega = Phi' Psi / M            never formed: products with Phi and Psi only
    Omega ~ U diag(s) V'            block power iteration, orthogonalised through Gram matrices

The coordinates of the nodes are Y = Phi U and Z = Psi V.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    from scipy.sparse import csr_matrix

    Floats = npt.NDArray[np.float32]

__all__ = ["Spectrum", "omega_svd"]


class Spectrum(NamedTuple):
    """Coordinates Y (M, k), Z (M, k) and singular values s (k,) of one nonterminal."""

    Y: Floats
    Z: Floats
    s: Floats


def _orthonormal(W: Floats) -> Floats:
    """Columns that span those of W; through W'W, twice, since once loses half the digits."""
    for _ in range(2):
        values, vectors = np.linalg.eigh((W.T @ W).astype(np.float64))
        good = values > 1e-10 * values[-1]
        if not good.any():
            return W[:, :0]
        W = W @ (vectors[:, good] / np.sqrt(values[good])).astype(np.float32)
    return W


def omega_svd(
    Phi: csr_matrix, Psi: csr_matrix, rank: int, rng: np.random.Generator, n_iter: int = 3
) -> Spectrum:
    """Top singular directions of Phi' Psi / M as coordinates of the M nodes."""
    M = Phi.shape[0]
    # Both sides stay as M-row blocks (Phi U, Psi V); the d-row blocks are made on the way only.
    block = min(rank + 6, M)
    Z = rng.standard_normal((M, block)).astype(np.float32)
    PhiT, PsiT = Phi.T.tocsr(), Psi.T.tocsr()
    V = _orthonormal(PsiT @ Z)
    for _ in range(n_iter):
        U = _orthonormal(PhiT @ (Psi @ V))
        if not U.shape[1]:
            empty = np.zeros((M, 0), np.float32)
            return Spectrum(empty, empty, np.zeros(0, np.float32))
        V = _orthonormal(PsiT @ (Phi @ U))
    Y, Z = Phi @ U, Psi @ V
    left, s, right = np.linalg.svd((Y.T @ Z).astype(np.float64) / M)
    k = int(min(rank, (s > 1e-6 * max(s[0], 1e-30)).sum()))
    left, right = left[:, :k], right[:k].T
    # Fix signs: the largest coordinate of each left direction is positive.
    flip = np.sign(left[np.abs(left).argmax(axis=0), np.arange(k)])
    return Spectrum(
        (Y @ (left * flip)).astype(np.float32),
        (Z @ (right * flip)).astype(np.float32),
        s[:k].astype(np.float32),
    )
