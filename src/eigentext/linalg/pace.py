"""When a growing Krylov basis is worth a look, and how much of the answer is still missing.

1. :class:`Pace` takes in the size, the worst residual and the change since the last check;
2. two changes in a row give the rate at which the error falls, and so the error that is left;
3. the next check is put where the error is expected to be small enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from eigentext.base.types import AnyArray
    from eigentext.linalg.backend import Backend


def settled(previous: AnyArray, y: AnyArray, backend: Backend) -> float:
    """Mean squared cosine between the wanted subspaces of two checks (nan at the first).

    The basis only grows, so the older coefficients are the newer ones' leading rows.
    """
    if previous is None or previous.shape[1] != y.shape[1]:
        return float("nan")
    cosines = backend.inner(previous, y[: previous.shape[0]])
    return backend.sum_of_squares(cosines) / int(y.shape[1])


class Pace:
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
