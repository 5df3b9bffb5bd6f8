"""The leading eigenvectors of ``A A'`` by block Lanczos with full orthogonalisation.

1. A seeded random block starts the basis ``Q``.
2. Each step multiplies the newest block by ``A A'``, takes off what lies in ``Q`` (first the last
   two blocks, where nearly all of it is, then all) and makes the rest orthonormal: the next
   block.  Directions that vanish are replaced by random ones, so that an invariant subspace is
   no dead end.
3. Now and then the projected matrix ``T = Q' A A' Q`` is diagonalised.  Its eigenpairs
   ``(theta, y)`` give Ritz vectors ``Q y``, whose residuals cost nothing: ``A A' Q y - theta Q y``
   is the part of the last block that was not in ``Q``.
4. Done when the wanted residuals are small.  A Krylov space sees no more copies of a tied value
   than its block has columns, so before it is believed a few random columns join the block and
   the answer has to stay.  Or, on demand, done when the wanted subspace has settled.
5. A basis that grows too large is restarted from its leading Ritz vectors (thick restart).

A block Krylov space needs about three matrix-vector products per wanted vector on text, where
subspace iteration needs tens (Musco and Musco 2015 give the theory).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.linalg.determinism import random_block

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["KrylovResult", "leading_eigenvectors"]

# random columns that join the block to look for copies of tied values
_PROBE_COLUMNS = 16


@dataclass(frozen=True)
class KrylovResult:
    """Ritz vectors of ``A A'`` and how they came about.

    ``vectors`` (n, rank) orthonormal; ``values`` (rank,) descending; ``residuals`` (rank,) are
    ``|A A' u - theta u|`` by the Lanczos relation; ``overlap`` is the
    estimated mean squared cosine between this subspace and the true one (nan when unknown).
    """

    vectors: NDArray[Any]
    values: NDArray[np.float64]
    residuals: NDArray[np.float64]
    converged: bool
    steps: int
    products: int
    restarts: int
    basis_size: int
    overlap: float


def leading_eigenvectors(
    gram: Callable[[NDArray[Any]], NDArray[Any]],
    support: NDArray[np.bool_],
    rank: int,
    *,
    dtype: Any,
    tol: float,
    overlap: float | None,
    block: int,
    max_products: int,
    max_basis: int,
    seed: int,
) -> KrylovResult:
    """The ``rank`` leading eigenvectors of the symmetric, positive semidefinite ``gram``.

    ``support`` tells the rows that are not empty: all vectors are exactly zero elsewhere.
    A vector is converged when ``|A A' u - theta u| <= tol * sqrt(theta * theta_1)``, which makes
    the residual of its singular triplet ``tol * s_1``.
    """
    lanczos = _BlockLanczos(gram, support, dtype=dtype, block=block, capacity=max_basis, seed=seed)
    probed = False
    restarts = 0
    pace = _Pace(rank, block)
    values_before = np.zeros(rank)
    previous: NDArray[Any] | None = None  # coefficients of the wanted vectors at the last check
    while True:
        lanczos.step()
        whole = lanczos.is_whole
        spent = lanczos.products >= max_products
        full = lanczos.is_full
        if not (whole or spent or full) and lanczos.size < pace.next_check:
            continue
        theta, y, residuals = lanczos.ritz(rank)
        n_wanted = theta.shape[0]
        level = np.sqrt(np.maximum(theta, 0) * max(float(theta[0]), 0.0))
        slack = residuals / np.maximum(tol * level, lanczos.noise)
        worst = float(slack.max()) if n_wanted == rank else np.inf
        settled = _settled(previous, y)
        previous = y
        lost = pace.record(lanczos.size, worst, settled)
        if overlap is not None:
            done = n_wanted == rank and (1 - lost >= overlap or worst <= 1)
            pace.aim(lanczos.size, (1 - overlap) / max(lost, 1e-12), lost_not_worst=True)
        else:
            done = worst <= 1 and probed
            if worst <= 1 and not probed:
                probed = True
                values_before = theta
                lanczos.probe(_PROBE_COLUMNS)
                pace.next_check = lanczos.size + 2 * (block + _PROBE_COLUMNS)
            elif done:
                moved = np.abs(theta - values_before).max() / max(float(theta[0]), 1e-300)
                probed = done = bool(moved <= max(tol * tol, 50 * np.finfo(dtype).eps))
                pace.aim(lanczos.size, 1.0)
            else:
                pace.aim(lanczos.size, 1.0 / max(worst, 1e-12))
        if done or whole or spent:
            vectors = lanczos.basis @ y
            return KrylovResult(
                vectors=vectors,
                values=theta,
                residuals=residuals,
                converged=bool(done or whole),
                steps=lanczos.steps,
                products=lanczos.products,
                restarts=restarts,
                basis_size=lanczos.size,
                overlap=1.0 if whole else 1 - lost,
            )
        if full:
            restarts += 1
            lanczos.restart(min(rank + max(rank // 4, block), max_basis - 2 * block))
            previous = np.eye(lanczos.size, rank, dtype=dtype)
            pace.restarted(lanczos.size)


def _settled(previous: NDArray[Any] | None, y: NDArray[Any]) -> float:
    """Mean squared cosine between the wanted subspaces of two checks (nan at the first).

    The basis only grows, so the older coefficients are the newer ones' leading rows.
    """
    if previous is None or previous.shape[1] != y.shape[1]:
        return float("nan")
    cosines = previous.T @ y[: previous.shape[0]]
    return float(np.square(cosines, dtype=np.float64).sum() / y.shape[1])


class _Pace:
    """Decides when to diagonalise next: a check of a large basis costs as much as some steps."""

    def __init__(self, rank: int, block: int) -> None:
        self.block = block
        self.stride = max(block, -(-rank // 8))
        self.next_check = max(2 * block, int(1.8 * rank))
        self.size = self.step = 0
        self.worst = np.inf
        self.change = float("nan")
        self.rate = float("nan")  # natural log of the error's change per basis column
        self.change_rate = float("nan")

    def record(self, size: int, worst: float, settled: float) -> float:
        """Take in a check; gives the estimated loss of overlap that remains."""
        step, step_before = size - self.size, self.step
        if np.isfinite(worst) and np.isfinite(self.worst) and worst > 0 and step > 0:
            self.rate = float(np.log(worst / self.worst)) / step
        change, change_before = 1 - settled, self.change
        self.size, self.step, self.worst, self.change = size, step, worst, change
        if change <= 1e-7:
            return max(change, 0.0)
        decay = _decay(change_before, step_before, change, step)
        self.change_rate = -decay
        if not np.isfinite(decay):
            return 1.0
        left = float(np.exp(-decay * step))
        # convergence gets faster as it goes, so that this errs on the safe side
        return change * max(left / (1 - left), 0.25)

    def aim(self, size: int, factor: float, *, lost_not_worst: bool = False) -> None:
        """Next check where the error is expected to have shrunk by ``factor``."""
        rate = self.change_rate if lost_not_worst else self.rate
        ahead = self.stride
        if np.isfinite(rate) and rate < 0 and factor < 1:
            ahead = int(np.clip(np.log(factor) / rate, self.block, 2 * self.stride))
        self.next_check = size + ahead

    def restarted(self, size: int) -> None:
        """A restart changes sizes: rates start anew."""
        self.size, self.worst = size, np.inf
        self.change = self.rate = self.change_rate = float("nan")
        self.next_check = size + self.stride


def _decay(change_1: float, step_1: int, change_2: float, step_2: int) -> float:
    """The rate of an error that falls as ``exp(-rate * size)``, from two changes in a row.

    ``change_1 = e (exp(rate step_1) - 1)`` led to the error ``e``, and
    ``change_2 = e (1 - exp(-rate step_2))`` away from it; nan when nothing decays.
    """
    if not (change_1 > 0 and step_1 > 0 and step_2 > 0):
        return float("nan")
    ratio = change_2 / change_1
    low, high = 0.0, 20.0 / min(step_1, step_2)
    if ratio >= step_2 / step_1:
        return float("nan")
    for _ in range(50):
        middle = (low + high) / 2
        if -np.expm1(-middle * step_2) / np.expm1(middle * step_1) > ratio:
            low = middle
        else:
            high = middle
    return low


class _BlockLanczos:
    """The basis Q, the projected matrix T and the block that comes next."""

    def __init__(
        self,
        gram: Callable[[NDArray[Any]], NDArray[Any]],
        support: NDArray[np.bool_],
        *,
        dtype: Any,
        block: int,
        capacity: int,
        seed: int,
    ) -> None:
        self.gram, self.support, self.dtype, self.seed = gram, support, np.dtype(dtype), seed
        self.dimension = int(support.sum())
        self.block = self.first_block = min(block, self.dimension)
        self.capacity = max(capacity, 2 * block + _PROBE_COLUMNS)
        room = min(self.capacity + 2 * (block + _PROBE_COLUMNS), self.dimension)
        # column-major, so that the leading columns are one piece of memory
        self.Q = np.empty((support.shape[0], room), dtype=dtype, order="F")
        self.T = np.zeros((room, room), dtype=np.float64)
        self.size = 0  # columns of Q that have been multiplied
        self.ready = 0  # columns of Q in all: the newest block waits for its product
        self.previous = 0  # where the block before the newest starts
        self.products = self.steps = self.draws = 0
        self.largest = 0.0  # largest eigenvalue seen
        self.last_gram = np.zeros((0, 0))
        self.last_start = 0
        self.unsettled = True  # the next product may have parts anywhere in Q
        self._append(self._random(self.block))
        self._fill()

    @property
    def basis(self) -> NDArray[Any]:
        """The columns that T speaks about."""
        return self.Q[:, : self.size]

    @property
    def noise(self) -> float:
        """Residuals below this are rounding."""
        return float(8 * np.finfo(self.dtype).eps * max(self.largest, np.finfo(self.dtype).tiny))

    @property
    def is_whole(self) -> bool:
        """Whether the basis spans all there is."""
        return self.size >= self.dimension

    @property
    def is_full(self) -> bool:
        """Whether the next block would pass the capacity."""
        return self.size + self.block > self.capacity and not self.is_whole

    def step(self) -> None:
        """Multiply the newest block, project, and make the next one."""
        start, end = self.size, self.ready
        y = self.gram(np.ascontiguousarray(self.Q[:, start:end]))
        self.products += end - start
        self.steps += 1
        near = 0 if self.unsettled else self.previous
        Q = self.Q[:, :end]
        local = Q[:, near:].T @ y
        y = y - Q[:, near:] @ local
        h = Q.T @ y
        y -= Q @ h
        h[near:] += local
        self.T[:end, start:end] = h
        self.T[start:end, :end] = h.T
        corner = self.T[start:end, start:end]
        self.T[start:end, start:end] = (corner + corner.T) / 2
        self.largest = max(self.largest, float(np.abs(np.diagonal(corner)).max()))
        self.last_gram = (y.T @ y).astype(np.float64)
        self.last_start = start
        self.previous, self.size = start, end
        self.unsettled = False
        if not self.is_whole:
            self._append(y, projected=True)
            self._fill()

    def ritz(self, rank: int) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.float64]]:
        """Leading eigenvalues of T, their vectors and the residual norms in ``A A'``."""
        from scipy.linalg import eigh

        k = self.size
        # the divide-and-conquer driver in the basis' own precision: T is no better than that
        theta, y = eigh(self.T[:k, :k].astype(self.dtype), driver="evd", check_finite=False)
        theta, y = theta[::-1][:rank].astype(np.float64), y[:, ::-1][:, :rank]
        last = y[self.last_start :].astype(np.float64)
        squares = np.einsum("ij,ij->j", last, self.last_gram @ last)
        return theta, y, np.sqrt(np.maximum(squares, 0))

    def probe(self, n_columns: int) -> None:
        """Let random columns join the waiting block, in search of what the start missed."""
        self._append(self._random(min(n_columns, self.Q.shape[1] - self.ready)))
        self.block = min(self.ready - self.size, 2 * self.first_block)
        self.unsettled = True

    def restart(self, keep: int) -> None:
        """Keep the leading Ritz vectors and the waiting block; forget the rest."""
        keep = min(keep, self.size)
        theta, y, _ = self.ritz(keep)
        waiting = self.Q[:, self.size : self.ready].copy()
        self.Q[:, :keep] = self.basis @ y
        self.ready = keep + waiting.shape[1]
        self.Q[:, keep : self.ready] = waiting
        self.T[:] = 0
        self.T[np.arange(keep), np.arange(keep)] = theta
        self.size = keep
        self.unsettled = True

    def _random(self, n_columns: int) -> NDArray[Any]:
        self.draws += 1
        n = self.support.shape[0]
        z = random_block(n, n_columns, seed=self.seed, stream=self.draws, dtype=self.dtype)
        z[~self.support] = 0
        # of the operator's own size, so that the test for vanishing columns means the same
        size = max(self.largest, 1.0) / np.sqrt(max(self.dimension, 1))
        return np.asarray(z * self.dtype.type(size))

    def _fill(self) -> None:
        """Top up the waiting block with random directions until it has its full width."""
        for _ in range(8):
            missing = min(self.block, self.dimension - self.size) - (self.ready - self.size)
            if missing <= 0:
                return
            self._append(self._random(missing))
            self.unsettled = True

    def _append(self, z: NDArray[Any], *, projected: bool = False) -> None:
        """Orthonormalise ``z`` against Q and itself; what vanishes is left out.

        Normalising by the eigenvectors of the Gram matrix, in rounds: well-separated directions
        are taken, the others are projected once more on their own, where they are accurate.
        """
        eps = float(np.finfo(self.dtype).eps)
        smallest = 4 * eps * max(self.largest, eps)
        for turn in range(4):
            if z.shape[1] == 0:
                return
            if turn or not projected:
                Q = self.Q[:, : self.ready]
                z = z - Q @ (Q.T @ z)
            g = (z.T @ z).astype(np.float64)
            norms = np.sqrt(np.diagonal(g))
            alive = norms > smallest
            z, norms, g = z[:, alive], norms[alive], g[np.ix_(alive, alive)]
            if z.shape[1] == 0:
                return
            w, v = np.linalg.eigh(g / np.outer(norms, norms))
            good = w > 1e-3
            room = self.Q.shape[1] - self.ready
            chosen = np.flatnonzero(good)[::-1][:room]
            turned = (v / norms[:, None]).astype(self.dtype)
            self._take(z @ (turned[:, chosen] / np.sqrt(w[chosen]).astype(self.dtype)))
            # the rest keep their true lengths: back to the scale of z
            z = z @ (v[:, ~good] * norms.mean() / norms[:, None]).astype(self.dtype)

    def _take(self, q: NDArray[Any]) -> None:
        """Add nearly orthonormal columns, after a second round of Cholesky QR."""
        from scipy.linalg import solve_triangular

        if q.shape[1] == 0:
            return
        Q = self.Q[:, : self.ready]
        if self.unsettled or self.dtype == np.float64:
            q = q - Q @ (Q.T @ q)
        r = np.linalg.cholesky((q.T @ q).astype(np.float64)).T
        inverse = solve_triangular(r, np.eye(r.shape[0]))
        self.Q[:, self.ready : self.ready + q.shape[1]] = q @ inverse.astype(self.dtype)
        self.ready += q.shape[1]
