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
   than its block has columns, so before it is believed a short run from other random columns
   looks for what is missing; what it finds joins the block.  Or, on demand, done when the wanted
   subspace has settled.
5. A basis that grows too large is restarted from its leading Ritz vectors (thick restart).

A block Krylov space needs about three matrix-vector products per wanted vector on text, where
subspace iteration needs tens (Musco and Musco 2015 give the theory).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from eigentext.base.progress import Progress
from eigentext.base.types import AnyArray, Bools, Float64s
from eigentext.linalg.backend import CPU, Backend
from eigentext.linalg.ties import random_block

# the run that looks for missed copies of tied values: columns, and steps
_HUNT_COLUMNS = 16
_HUNT_STEPS = 6


@dataclass(frozen=True)
class KrylovResult:
    """Ritz vectors of ``A A'`` and how they came about.

    ``vectors`` (n, rank) orthonormal, where the backend keeps its arrays; ``values`` (rank,)
    descending; ``residuals`` (rank,) are ``|A A' u - theta u|`` by the Lanczos relation;
    ``overlap`` is the estimated mean squared cosine between this subspace and the true one (nan
    when unknown).
    """

    vectors: AnyArray
    values: Float64s
    residuals: Float64s
    converged: bool
    steps: int
    products: int
    restarts: int
    basis_size: int
    overlap: float


@dataclass(frozen=True)
class KrylovSettings:
    """How long to go on, and with what."""

    # a vector is converged when ``|A A' u - theta u| <= tol sqrt(theta theta_1)``, which makes the
    # residual of its singular triplet ``tol * s_1``
    tol: float
    # where not None, it is enough that the subspace is estimated to be so near
    overlap: float | None
    block: int  # columns multiplied at a time
    max_products: int  # with ``A A'``: the end even if nothing has converged
    max_basis: int  # columns of Q at most; then it is restarted
    seed: int
    folder: Path | None = None  # where not None, Q is in a file there


def basis_columns(capacity: int, block: int) -> int:
    """The columns of Q in all: what waits for its product, and what may join it, comes on top."""
    return capacity + 2 * (block + _HUNT_COLUMNS)


def leading_eigenvectors(
    gram: Callable[[AnyArray], AnyArray],
    support: Bools,  # tells the rows that are not empty: all vectors are exactly zero elsewhere.
    rank: int,
    settings: KrylovSettings,
    *,
    dtype: DTypeLike,
    backend: Backend = CPU,
    progress: Progress | None = None,
) -> KrylovResult:
    """The ``rank`` leading eigenvectors of the symmetric, positive semidefinite ``gram``."""
    tol, overlap, block = settings.tol, settings.overlap, settings.block
    lanczos = _BlockLanczos(
        gram,
        support,
        dtype=dtype,
        block=block,
        capacity=settings.max_basis,
        seed=settings.seed,
        backend=backend,
        folder=settings.folder,
    )
    hunts = restarts = extra_products = 0
    pace = Pace(rank, block)
    previous: AnyArray = None  # coefficients of the wanted vectors at the last check
    while True:
        if progress is not None:  # the next check is the best guess of the end
            progress(lanczos.size, max(int(pace.next_check), lanczos.size + block), "svd")
        lanczos.step()
        whole = lanczos.is_whole
        spent = lanczos.products + extra_products >= settings.max_products
        full = lanczos.size + lanczos.block > lanczos.capacity and not whole
        if not (whole or spent or full) and lanczos.size < pace.next_check:
            continue
        theta, y, residuals = lanczos.ritz(rank)
        n_wanted = theta.shape[0]
        # slack 1 is converged; residuals below rounding count as rounding
        level = np.sqrt(np.maximum(theta, 0) * max(float(theta[0]), 0.0))
        slack = residuals / np.maximum(tol * level, lanczos.noise)
        worst = float(slack.max()) if n_wanted == rank else np.inf
        lost = pace.record(lanczos.size, worst, settled(previous, y, backend))
        previous = y
        vectors = None
        if overlap is not None:
            done = n_wanted == rank and (1 - lost >= overlap or worst <= 1)
            pace.aim(lanczos.size, (1 - overlap) / max(lost, 1e-12), lost_not_worst=True)
        else:
            done = worst <= 1
            pace.aim(lanczos.size, 1.0 / max(worst, 1e-12))
            if done and not whole:  # are there further copies of a tied value?
                hunts += 1
                vectors = backend.times(lanczos.basis, y)
                missed, n_products = _hunt(lanczos, vectors, theta[-1], tol=tol, hunt=hunts)
                extra_products += n_products
                done = missed.shape[1] == 0
                lanczos.join(missed)
                pace.next_check = lanczos.size + 2 * block
        if done or whole or spent:
            return KrylovResult(
                vectors=backend.times(lanczos.basis, y) if vectors is None else vectors,
                values=theta,
                residuals=residuals,
                converged=bool(done or whole),
                steps=lanczos.steps,
                products=lanczos.products + extra_products,
                restarts=restarts,
                basis_size=lanczos.size,
                overlap=1.0 if whole else 1 - lost,
            )
        if full:
            restarts += 1
            lanczos.restart(min(rank + max(rank // 4, block), settings.max_basis - 2 * block))
            previous = backend.asarray(np.eye(lanczos.size, rank, dtype=dtype))
            pace.restarted(lanczos.size)


def _hunt(
    lanczos: _BlockLanczos, vectors: AnyArray, least: float, *, tol: float, hunt: int
) -> tuple[AnyArray, int]:
    """Directions outside ``vectors`` that have a larger value than the ``least`` of them."""
    # A short Lanczos run from a new start, in the complement of what was found.
    backend = lanczos.backend
    room = int(lanczos.dimension - vectors.shape[1])
    columns = min(_HUNT_COLUMNS, room)
    if columns <= 0:
        return vectors[:, :0], 0

    def outside(x: AnyArray) -> AnyArray:
        """What is left of x beside the vectors, in its place."""
        return backend.subtract(x, vectors, backend.inner(vectors, x))

    other = _BlockLanczos(
        lambda x: outside(lanczos.gram(outside(x))),
        lanczos.support,
        dtype=lanczos.dtype,
        block=columns,
        capacity=_HUNT_STEPS * columns,
        seed=lanczos.seed,
        stream=1_000_000 * hunt,
        backend=backend,
        folder=lanczos.folder,
    )
    for _ in range(_HUNT_STEPS):
        other.step()
        if other.is_whole:
            break
    theta, y, _ = other.ritz(columns)
    margin = max(tol * tol, 50 * float(np.finfo(lanczos.dtype).eps)) * lanczos.largest
    above = backend.columns(y, np.flatnonzero(theta > least + margin))
    return outside(backend.times(other.basis, above)), other.products


class _BlockLanczos:
    """The basis Q, the projected matrix T and the block that comes next."""

    def __init__(
        self,
        gram: Callable[[AnyArray], AnyArray],
        support: Bools,
        *,
        dtype: DTypeLike,
        block: int,
        capacity: int,
        seed: int,
        backend: Backend,
        folder: Path | None,
        stream: int = 0,
    ) -> None:
        self.gram, self.support, self.dtype, self.seed = gram, support, np.dtype(dtype), seed
        self.backend, self.folder = backend, folder
        self.dimension = int(support.sum())
        self.block = min(block, self.dimension)
        self.capacity = max(capacity, 2 * block + _HUNT_COLUMNS)
        room = min(basis_columns(self.capacity, block), self.dimension)
        # column-major, so that the leading columns are one piece of memory
        self.Q = backend.empty_columns(support.shape[0], room, self.dtype, folder)
        # in the basis' own precision: T is no better than that
        self.T = backend.zeros((room, room), self.dtype)
        self.size = 0  # columns of Q that have been multiplied
        self.ready = 0  # columns of Q in all: the newest block waits for its product
        self.previous = 0  # where the block before the newest starts
        self.products = self.steps = 0
        self.draws = stream
        self.largest = 0.0  # largest eigenvalue seen
        self.last_gram = np.zeros((0, 0))
        self.last_start = 0
        self.unsettled = True  # the next product may have parts anywhere in Q
        self._append(self._random(self.block))
        self._fill()

    @property
    def basis(self) -> AnyArray:
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

    def step(self) -> None:
        """Multiply the newest block, project, and make the next one."""
        backend = self.backend
        start, end = self.size, self.ready
        y = self.gram(backend.row_order(self.Q[:, start:end]))
        self.products += end - start
        self.steps += 1
        # y = A A' q of the newest block q.  In exact arithmetic A A' q lies in the last two blocks
        # and the next one (the Lanczos recurrence): taken off first, they leave little to take
        # off of all, and what was taken off is the new column block h = Q' A A' q of T.  Two
        # projections in all, which is what keeps Q orthonormal to rounding.
        near = 0 if self.unsettled else self.previous
        Q = self.Q[:, :end]
        local = backend.inner(Q[:, near:], y)
        y = backend.subtract(y, Q[:, near:], local)
        h = backend.inner(Q, y)
        y = backend.subtract(y, Q, h)
        h[near:] += local
        h[start:] = (h[start:] + h[start:].T) / 2
        self.T[:end, start:end] = h
        self.T[start:end, :end] = h.T
        corner = np.diagonal(backend.to_host(h[start:]))
        self.largest = max(self.largest, float(np.abs(corner).max()))
        self.last_gram = backend.to_host(backend.inner(y, y)).astype(np.float64)
        self.last_start = start
        self.previous, self.size = start, end
        self.unsettled = False
        if not self.is_whole:
            self._append(y, projected=True)
            self._fill()

    def ritz(self, rank: int) -> tuple[Float64s, AnyArray, Float64s]:
        """Leading eigenvalues of T, their vectors and the residual norms in ``A A'``."""
        theta, y = self.backend.leading_eigh(self.T[: self.size, : self.size], rank)
        # A A' Q = Q T + (what is left of the last block) e': the residual of Q y is that rest
        # times the last entries of y
        last = self.backend.to_host(y[self.last_start :]).astype(np.float64)
        squares = np.einsum("ij,ij->j", last, self.last_gram @ last)
        return theta, y, np.sqrt(np.maximum(squares, 0))

    def join(self, z: AnyArray) -> None:
        """Let more directions wait for the next product."""
        room = self.Q.shape[1] - self.ready
        if z.shape[1] and room > 0:
            self.unsettled = True
            self._append(z[:, :room] * max(self.largest, 1.0))

    def restart(self, keep: int) -> None:
        """Keep the leading Ritz vectors and the waiting block; forget the rest."""
        keep = min(keep, self.size)
        theta, y, _ = self.ritz(keep)
        # In the basis of Ritz vectors T is diagonal.  The waiting block touches all of them, so
        # the next product is projected on the whole of Q.
        waiting = self.backend.row_order(self.Q[:, self.size : self.ready])
        kept = self.backend.times(self.basis, y)
        self.backend.put(self.Q[:, :keep], kept)
        self.ready = keep + waiting.shape[1]
        self.backend.put(self.Q[:, keep : self.ready], waiting)
        self.T[:] = 0
        self.T[:keep, :keep] = self.backend.asarray(np.diag(theta), self.dtype)
        self.size = keep
        self.unsettled = True

    def _random(self, n_columns: int) -> AnyArray:
        self.draws += 1
        n = self.support.shape[0]
        z = random_block(n, n_columns, seed=self.seed, stream=self.draws, dtype=self.dtype)
        z[~self.support] = 0
        # of the operator's own size, so that the test for vanishing columns means the same
        size = max(self.largest, 1.0) / np.sqrt(max(self.dimension, 1))
        return self.backend.asarray(z * self.dtype.type(size))

    def _fill(self) -> None:
        """Top up the waiting block with random directions until it has its full width."""
        for _ in range(8):
            missing = min(self.block, self.dimension - self.size) - (self.ready - self.size)
            if missing <= 0:
                return
            self._append(self._random(missing))
            self.unsettled = True

    def _append(self, z: AnyArray, *, projected: bool = False) -> None:
        """Orthonormalise ``z`` against Q and itself; what vanishes is left out."""
        # Normalising by the eigenvectors of the Gram matrix, in rounds: well-separated directions
        # are taken, the others are projected once more on their own, where they are accurate.
        # ``z`` is written over.
        backend = self.backend
        eps = float(np.finfo(self.dtype).eps)
        smallest = 4 * eps * max(self.largest, eps)
        for turn in range(4):
            if z.shape[1] == 0:
                return
            if turn or not projected:
                Q = self.Q[:, : self.ready]
                z = backend.subtract(z, Q, backend.inner(Q, z))
            g = backend.to_host(backend.inner(z, z)).astype(np.float64)
            norms = np.sqrt(np.diagonal(g))
            alive = np.flatnonzero(norms > smallest)
            z, norms, g = backend.columns(z, alive), norms[alive], g[np.ix_(alive, alive)]
            if z.shape[1] == 0:
                return
            # columns of length 1 first: then small eigenvalues mean dependence, not size
            w, v = np.linalg.eigh(g / np.outer(norms, norms))
            good = w > 1e-3
            room = self.Q.shape[1] - self.ready
            chosen = np.flatnonzero(good)[::-1][:room]
            turned = v[:, chosen] / norms[:, None] / np.sqrt(w[chosen])
            self._take(backend.times(z, backend.asarray(turned, self.dtype)))
            # the rest keep their true lengths: back to the scale of z
            rest = v[:, ~good] * norms.mean() / norms[:, None]
            z = backend.times(z, backend.asarray(rest, self.dtype))

    def _take(self, q: AnyArray) -> None:
        """Add nearly orthonormal columns, after a second round of Cholesky QR."""
        from scipy.linalg import solve_triangular

        if q.shape[1] == 0:
            return
        backend = self.backend
        Q = self.Q[:, : self.ready]
        if self.unsettled or self.dtype == np.float64:
            q = backend.subtract(q, Q, backend.inner(Q, q))
        r = np.linalg.cholesky(backend.to_host(backend.inner(q, q)).astype(np.float64)).T
        inverse = solve_triangular(r, np.eye(r.shape[0]))
        end = self.ready + q.shape[1]
        q = backend.times(q, backend.asarray(inverse, self.dtype))
        backend.put(self.Q[:, self.ready : end], q)
        self.ready = end


def settled(previous: AnyArray, y: AnyArray, backend: Backend) -> float:
    """Mean squared cosine between the wanted subspaces of two checks (nan at the first)."""
    # The basis only grows, so the older coefficients are the newer ones' leading rows.
    if previous is None or previous.shape[1] != y.shape[1]:
        return float("nan")
    cosines = backend.inner(previous, y[: previous.shape[0]])
    return backend.sum_of_squares(cosines) / int(y.shape[1])


class Pace:
    """When to look at the growing basis: a check of a large one costs as much as some steps.

    Two changes in a row give the rate at which the error falls, and so the error that is left.
    """

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
        left = float(np.exp(-decay * step))  # share of the error that one more such step leaves
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
    """The rate of an error that falls as ``exp(-rate * size)``, from two changes in a row."""
    # ``change_1 = e (exp(rate step_1) - 1)`` led to the error ``e``, and
    # ``change_2 = e (1 - exp(-rate step_2))`` away from it; nan when nothing decays.
    if not (change_1 > 0 and step_1 > 0 and step_2 > 0):
        return float("nan")
    ratio = change_2 / change_1
    low, high = 0.0, 20.0 / min(step_1, step_2)  # the ratio falls as the rate rises: by bisection
    if ratio >= step_2 / step_1:
        return float("nan")
    for _ in range(50):
        middle = (low + high) / 2
        if -np.expm1(-middle * step_2) / np.expm1(middle * step_1) > ratio:
            low = middle
        else:
            high = middle
    return low
