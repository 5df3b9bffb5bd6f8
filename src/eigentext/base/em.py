"""The loop of expectation maximisation; the steps are the model's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from eigentext.base.progress import Progress

Params = TypeVar("Params")


@dataclass(frozen=True)
class EMResult(Generic[Params]):
    """What EM came to."""

    params: Params  # after the last iteration
    log_likelihoods: tuple[float, ...]  # of the data, before each iteration


def iterate(
    params: Params,
    step: Callable[[Params], tuple[Params, float]],
    *,
    n_iter: int,
    tol: float = 0.0,
    progress: Progress | None = None,
    stage: str = "EM",
) -> EMResult[Params]:
    """Improve ``params`` by ``n_iter`` steps, or fewer if one gains less than ``tol``.

    ``step`` takes parameters and gives better ones, with the log likelihood of the data under
    those that it took; a ``tol`` of 0 never stops early.

    >>> half = lambda x: (x / 2, -x)
    >>> iterate(8.0, half, n_iter=3)
    EMResult(params=1.0, log_likelihoods=(-8.0, -4.0, -2.0))
    >>> iterate(8.0, half, n_iter=99, tol=1.5).log_likelihoods
    (-8.0, -4.0, -2.0, -1.0)
    """
    history: list[float] = []
    for done in range(1, n_iter + 1):
        params, log_likelihood = step(params)
        history.append(log_likelihood)
        if progress is not None:
            progress(done, n_iter, stage)
        if tol > 0 and len(history) > 1 and history[-1] - history[-2] < tol:
            break
    return EMResult(params, tuple(history))
