"""Corners of a cloud of points, and every point as a mean of the corners.

Where each state, topic or class has a pure example, means of what stands beside things are means
of what stands beside the pure ones, which are therefore the corners of the cloud (anchor words of
HMMs, pivots of grammars).
"""

from __future__ import annotations

import numpy as np

from eigentext.base.types import Float64s, Int64s
from eigentext.linalg.ties import TIE


def corners(
    points: Float64s,
    most: int,
    *,
    centre: Float64s | None = None,
    mass: Float64s | None = None,
    nothing: float = 1e-9,
) -> Int64s:
    """Rows of ``points`` (n, d) that are corners of all of them, in the order they are found.

    The first is the farthest from ``centre`` (the mean, unless given), the next the farthest from
    the first, then each the farthest from the flat through those before.  With ``mass`` (n,) what
    is compared is the squared distance times the mass.  Of points that are as far, to rounding,
    the first.  There are fewer than ``most`` where the farthest point is nearer to the flat than
    ``nothing``, relative to the largest distance so far, or where no other point has any mass.

    >>> cloud = np.array([[0.0, 0.0], [4.0, 0.0], [1.0, 1.0], [0.0, 3.0]])
    >>> sorted(corners(cloud, 3).tolist()), len(corners(cloud, 4))
    ([0, 1, 3], 3)
    """
    far = points - (points.mean(axis=0) if centre is None else centre)
    rows: list[int] = []
    largest = 0.0
    for _ in range(most):
        length = np.einsum("ij,ij->i", far, far)
        score = length if mass is None else length * mass
        if rows and not score.max() > 0:
            break
        x = int(np.argmax(score >= score.max() * (1 - 10 * TIE["d"])))
        if rows:
            largest = max(largest, float(length[x]))
            if not length[x] > nothing**2 * largest:
                break
            along = far[x] / np.sqrt(length[x])
            far = far - np.outer(far @ along, along)  # what is left beside the new direction
        else:  # one point alone has no direction, and need not be far from anything
            largest = float(length[x])
            far = points - points[x]
        rows.append(x)
        far[rows] = 0.0
    return np.array(rows, np.int64)


def simplex_weights(points: Float64s, corners: Float64s) -> Float64s:
    """(n, k) weights, 0 or more and with sum 1, that bring the corners nearest to each point.

    The nearest point of a hull is nonnegative least squares with one more equation: for
    ``d = |sum_j q_j (a_j - v)|`` at weights q of sum 1, the least of ``s^2 d^2 + (s - 1)^2`` over
    the size s is ``d^2 / (1 + d^2)``, which grows with d; so the q of

        min |sum_j q_j (a_j - v)|^2 + (sum_j q_j - 1)^2,   q >= 0

    over its sum is the answer.

    >>> three = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> simplex_weights(np.array([[0.25, 0.25], [2.0, 0.0]]), three).round(6).tolist()
    [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]]
    """
    from scipy.optimize import nnls

    k = len(corners)
    target = np.zeros(corners.shape[1] + 1)
    target[-1] = 1.0
    system = np.ones((corners.shape[1] + 1, k))
    weights = np.empty((len(points), k))
    for x, point in enumerate(points):
        system[:-1] = (corners - point).T  # rows of (a_j - v), and a row of ones below
        weights[x] = nnls(system, target)[0]
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def convex_weights(points: Float64s, corners: Float64s, n_iter: int = 100) -> Float64s:
    """What :func:`simplex_weights` finds, nearly, for many points at once.

    The answer without bounds, brought into them, then projected gradients with momentum (Beck and
    Teboulle 2009).

    >>> convex_weights(np.array([[0.25, 0.75], [2.0, 0.0]]), np.eye(2)).round(6).tolist()
    [[0.25, 0.75], [1.0, 0.0]]
    """
    m = len(corners)
    G, target = corners @ corners.T, points @ corners.T
    bordered = np.block([[G, np.ones((m, 1))], [np.ones((1, m)), np.zeros((1, 1))]])
    sides = np.hstack([target, np.ones((len(points), 1))])
    X = _on_simplex(np.linalg.lstsq(bordered, sides.T, rcond=None)[0][:m].T)
    step = 1.0 / max(float(np.linalg.eigvalsh(G)[-1]), 1e-30)  # 1 / Lipschitz constant
    ahead, t = X, 1.0
    for _ in range(n_iter):
        new = _on_simplex(ahead - step * (ahead @ G - target))
        t_new = (1 + np.sqrt(1 + 4 * t * t)) / 2  # Nesterov's sequence
        ahead = new + (t - 1) / t_new * (new - X)
        X, t = new, t_new
    return X


def _on_simplex(X: Float64s) -> Float64s:
    """The nearest rows that are not negative and sum to one."""
    falling = -np.sort(-X, axis=1)  # the largest first
    over = np.cumsum(falling, axis=1) - 1
    used = (falling * np.arange(1, X.shape[1] + 1) > over).sum(axis=1)
    cut = np.take_along_axis(over, used[:, None] - 1, axis=1) / used[:, None]
    return np.asarray(np.maximum(X - cut, 0.0))
