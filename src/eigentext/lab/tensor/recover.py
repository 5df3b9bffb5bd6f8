"""Parameters of a hidden Markov model from the third moment, by the tensor power method.

Given the state h of the middle symbol, left, middle and right symbol of a triple are independent:
three views of h (Anandkumar, Ge, Hsu, Kakade and Telgarsky 2014, section 3.3).  With w the
distribution of the middle state and ``mu_v`` (k, k) the mean of the reduced view z_v by state::

    C_uv = E[z_u z_v'] = mu_u diag(w) mu_v'       E[z_1 (x) z_2 (x) z_3] = sum_h w_h mu_1h (x) ...

1. Each view is reduced to k numbers by the CCA of its symbol and the middle one (moments.py).
2. ``z_1 -> C_23 inv(C_13) z_1`` and ``z_3 -> C_21 inv(C_31) z_3`` have the means mu_2 of the
   middle view: M_2 = mu_2 diag(w) mu_2' and the tensor M_3 = sum_h w_h mu_2h^(x3) are symmetric.
3. ``W' M_2 W = I`` whitens; the tensor power method takes ``M_3(W, W, W)`` apart into pairs
   (l_h, v_h), and ``w_h = 1 / l_h^2``, ``mu_2h = l_h inv(W') v_h``.
4. O diag(w) is the regression of the middle symbol on both neighbours, whose means by state are
   known now.  Pairs of states behind pairs of symbols, and the first state, follow from O.

Nothing of size V x V x V is made: the tensor is summed in reduced views.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eigentext.base.em import iterate
from eigentext.base.types import Float64s
from eigentext.errors import RankError
from eigentext.linalg.tensors import TensorPairs, change_basis, symmetric_part, tensor_power
from eigentext.linalg.ties import single_threaded
from eigentext.sequences.hmm.parameters import Parameters
from eigentext.sequences.spectral.moments import Moments, dictionary
from eigentext.sequences.spectral.operators import tensor_of_triples
from eigentext.sequences.spectral.recover import negative_rows, valid_rows

_NOISE = 3.0  # a singular value counts for as much as it is above so many standard errors
_LEAST = 0.2  # the most that an eigenvalue of M_2, as a share of the largest, is raised to
_ZERO = 1e-12  # of the largest singular value: none at all


class RecoveredStates(NamedTuple):
    """Tables as the moments give them: entries may be negative."""

    emission: Float64s  # (k, V) p(x | h)
    pairs: Float64s  # (k, k) p(h, h') of neighbours
    initial: Float64s  # (k,) p(h) of the first symbol
    tensor: TensorPairs  # what the power method found, and its residuals


def states_from_tensor(moments: Moments, k: int, *, seed: int = 0) -> RecoveredStates:
    """Emissions, pairs of states and first states: exact at exact moments, up to their order."""
    # the same triples, read from the right
    turned = Moments(
        moments.first, moments.right, moments.middle, moments.left, moments.counts, moments.weights
    )
    before = dictionary(moments, k, "cca", seed=seed)
    behind = dictionary(turned, k, "cca", seed=seed)
    z1, z2, z3 = before.R, before.U, behind.R  # (V, k) each, a row for every symbol
    # weights are probabilities: there is no noise of counting
    error = 0.0 if moments.weights is not None else _NOISE / np.sqrt(moments.n_triples)
    with single_threaded():
        middle_left, middle_right = moments.pairs, turned.pairs
        C21, C23 = z2.T @ (middle_left @ z1), z2.T @ (middle_right @ z3)
        C13 = z1.T @ (_left_right(moments) @ z3)
        inverse, least = _steady_inverse(C13, error)
        A1, A3 = C23 @ inverse, C21 @ inverse.T  # to the middle view, from left and right
        M2 = A1 @ C13 @ A3.T
        W, unwhiten = _whitening((M2 + M2.T) / 2, min(_LEAST, error / least))
        third = change_basis(tensor_of_triples(moments, z2, z3, z1), W.T, W.T @ A3, W.T @ A1)
        pairs_of_tensor = tensor_power(symmetric_part(third), seed=seed)
        mu2 = unwhiten @ pairs_of_tensor.vectors * pairs_of_tensor.values
        # C_u2 = mu_u diag(w) mu_2' gives the means of the neighbours, and these O diag(w)
        behind_mu2 = np.linalg.pinv((mu2 * pairs_of_tensor.values**-2.0).T)
        neighbours = np.concatenate([C21.T @ behind_mu2, C23.T @ behind_mu2])  # (2 k, k)
        around = np.concatenate(
            [middle_left @ z1, middle_right @ z3], axis=1
        )  # E[x_2 (z_1, z_3)']
        joint = around @ np.linalg.pinv(neighbours.T)
        size = joint.sum(axis=0)
        emission = (joint / np.where(np.abs(size) > 0, size, 1.0)).T
        back = np.linalg.pinv(emission)  # (V, k): x back to h
        pairs = back.T @ (middle_left.T @ back) / middle_left.sum()
        return RecoveredStates(emission, pairs, moments.first @ back, pairs_of_tensor)


def likely_pairs(
    pairs: Float64s, emission: Float64s, moments: Moments, *, n_iter: int = 100
) -> Float64s:
    """p(h, h') >= 0 under which the pairs of symbols are likely, for valid emissions."""
    # The likelihood has no local optima in it: ``sum n_xy log(sum O[h, x] J[h, h'] O[h', y])``.
    from scipy.sparse import csr_array

    counted = moments.pairs.T.tocsr()  # [left, middle]
    counted.sort_indices()
    rows = np.repeat(np.arange(counted.shape[0]), np.diff(counted.indptr))
    O = emission.T  # noqa: E741  (V, k)
    share = counted.data / counted.data.sum()
    keep = np.einsum("xh,xh->x", O, O) > 0  # symbols that some state shows

    def step(J: Float64s) -> tuple[Float64s, float]:
        likely = np.einsum("nh,nh->n", (O @ J)[rows], O[counted.indices])
        possible = (likely > 0) & keep[rows]
        ratio = np.where(possible, share / np.where(possible, likely, 1.0), 0.0)
        fits = csr_array((ratio, counted.indices, counted.indptr), shape=counted.shape)
        better = J * (O.T @ (fits @ O))
        log = float(share[possible] @ np.log(likely[possible]))
        return better / better.sum(), log

    start = np.maximum(pairs, 0.0)
    # nothing that is zero would ever come back
    start = 0.9 * start / max(float(start.sum()), 1e-300) + 0.1 / start.size
    with single_threaded():
        return iterate(start, step, n_iter=n_iter, tol=1e-9).params


def _left_right(moments: Moments) -> Any:
    """(V, V) csr, [left, right] of the triples, in counts."""
    from scipy.sparse import coo_array

    V = moments.n_symbols
    weights = np.ones(moments.n_triples) if moments.weights is None else moments.weights
    return coo_array((weights, (moments.left, moments.right)), shape=(V, V)).tocsr()


def _steady_inverse(matrix: Float64s, error: float) -> tuple[Float64s, float]:
    """The inverse with ``s / (s^2 + error^2)`` for 1 / s, and the least s; s_1 is 1."""
    # Directions that drown in the noise of counting come to nothing instead of filling the tensor.
    U, s, Vt = np.linalg.svd(matrix)
    rank = int((s > _ZERO * s[0]).sum())
    if rank < len(s):
        raise RankError("C_13, the symbols around a symbol", rank=len(s), got=rank)
    share = s / s[0]
    steady = share / (share**2 + error**2) / s[0]
    return Vt.T @ (steady[:, None] * U.T), float(share[-1])


def _whitening(M2: Float64s, least: float) -> tuple[Float64s, Float64s]:
    """W with ``W' M_2 W = I``, and inv(W'); eigenvalues are raised to a share of the first."""
    values, vectors = np.linalg.eigh(M2)
    if not values[-1] > 0:
        raise RankError("M_2, the middle symbol by its neighbours", rank=len(M2), got=0)
    roots = np.sqrt(np.maximum(values, max(least, _ZERO) * values[-1]))
    return vectors / roots, vectors * roots


def parameters_from_tensor(moments: Moments, k: int, smoothing: float, seed: int) -> Parameters:
    """Valid parameters: what sampling has made negative is cut off and smoothed."""
    recovered = states_from_tensor(moments, k, seed=seed)
    unigram = (moments.counts + 1e-3) / (moments.counts + 1e-3).sum()
    states = np.full(k, 1 / k)
    emission = valid_rows(recovered.emission, unigram, smoothing)
    pairs = recovered.pairs
    if negative_rows(pairs.reshape(1, -1)).any() or negative_rows(recovered.emission).any():
        # of emissions that are next to what was found: those that are softened would bias pairs
        hardly = valid_rows(recovered.emission, unigram, min(smoothing, 1e-3))
        pairs = likely_pairs(pairs, hardly, moments)
    return Parameters(
        valid_rows(recovered.initial[None], states, min(smoothing, 0.01))[0],
        valid_rows(pairs, states, min(smoothing, 0.01)),
        emission,
    )
