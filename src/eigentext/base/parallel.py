"""Many items through one object, in order, by one or several processes."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

__all__ = ["available_cores", "end_with_parent", "in_order"]

Item = TypeVar("Item")
Answer = TypeVar("Answer")
State = TypeVar("State")

_held: Any = None  # of a worker process: the state that every chunk needs


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux: containers and taskset may give fewer
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _hold(state: Any) -> None:
    global _held
    _held = state
    end_with_parent()


def end_with_parent() -> None:
    """Have this worker end when the process that started it was killed.

    It waits for work at a pipe that it holds open itself, and would wait for ever.
    """
    from multiprocessing import parent_process
    from threading import Thread

    parent = parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os._exit(1)

        Thread(target=watch, daemon=True).start()


def _work_held(work: Callable[[Any, list[Any]], list[Any]], items: list[Any]) -> list[Any]:
    return work(_held, items)


def in_order(
    work: Callable[[State, list[Item]], list[Answer]],
    items: Iterable[Item],
    *,
    state: State,
    jobs: int = 1,
    chunk: int = 32,
) -> Iterator[tuple[Item, Answer]]:
    """Each item with its answer, in the order of the items.

    ``work(state, items)`` answers for a list of at most ``chunk`` items.  With ``jobs`` above 1 it
    runs in so many processes: each is sent the state once, and chunk after chunk; work and state
    must be picklable.  At most ``2 jobs + 1`` chunks are under way, so memory does not grow.

    >>> list(in_order(lambda power, numbers: [n**power for n in numbers], [1, 2, 3], state=2))
    [(1, 1), (2, 4), (3, 9)]
    """
    if jobs < 1:
        raise SettingsError(f"jobs is {jobs}, expected a whole number of at least 1")
    source = iter(items)
    chunks = iter(lambda: list(islice(source, chunk)), [])
    if jobs == 1:
        for part in chunks:
            yield from zip(part, work(state, part), strict=True)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # fresh processes: a fork would inherit locks that threads of this process may hold
    with ProcessPoolExecutor(jobs, get_context("spawn"), _hold, (state,)) as pool:
        window: list[tuple[list[Item], Future[list[Answer]]]] = []
        for part in chunks:
            window.append((part, pool.submit(_work_held, work, part)))
            if len(window) > 2 * jobs:
                done, future = window.pop(0)
                yield from zip(done, future.result(), strict=True)
        for done, future in window:
            yield from zip(done, future.result(), strict=True)
