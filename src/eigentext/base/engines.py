"""Who does the work: threads of this process, other processes, or a Dask cluster.

An engine has one verb, ``map``: a function and tasks in, results out, in the order of the tasks.
The answer is the same whichever engine is used.

* :class:`LocalEngine` uses threads: reading, unpacking and the compiled loops all run without the
  interpreter lock, so two threads are twice as fast, and there is no start-up and no copying.
  With ``processes=True`` it uses fresh processes instead.
* :class:`~eigentext.base.dask_engine.DaskEngine` hands the tasks to the workers of a cluster.
  They need the package and the sources (any fsspec URL), but no common disk: only arrays travel.
  When a worker dies, the scheduler gives its tasks to another.

:func:`using_cluster` says that the work inside it may go to such an engine, as
:func:`~eigentext.base.cores.using_cores` says it of threads: counting, products of large sparse
matrices, exchange and whatever goes through :func:`~eigentext.base.parallel.in_order` look for it
by :func:`cluster_in_use`, so no function has to hand it on.
"""

from __future__ import annotations

import collections
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from eigentext.errors import ResourceError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

Task = TypeVar("Task")
Result = TypeVar("Result")


class Engine(Protocol):
    """What work needs of an engine."""

    @property
    def jobs(self) -> int:
        """How many tasks run at the same time."""

    @property
    def shares_memory(self) -> bool:
        """Whether tasks see the objects of the caller, and may write into its arrays."""

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """The results in the order of the tasks; the first error in that order is raised."""

    def share(self, value: Any, prepare: Callable[[Any], Any] | None = None) -> Any:
        """Something large that many tasks need: it goes to the workers once.

        What comes back is a part of a task that is a tuple, and is the value again inside it, or
        ``prepare(value)``, which is done once where the value is kept.
        """


_cluster: ContextVar[Engine | None] = ContextVar("cluster", default=None)


def cluster_in_use() -> Engine | None:
    """The engine that the work of this thread may use beside the cores; None unless told.

    >>> cluster_in_use()
    """
    return _cluster.get()


@contextmanager
def using_cluster(engine: Engine | None) -> Iterator[None]:
    """Let the work inside use the workers of this engine; the result does not depend on it.

    >>> with using_cluster(LocalEngine(2)):
    ...     cluster_in_use().jobs
    2
    """
    held = _cluster.set(engine)
    try:
        yield
    finally:
        _cluster.reset(held)


class LocalEngine:
    """Workers on this machine.

    >>> list(LocalEngine(jobs=2).map(abs, [-1, -2, 3]))
    [1, 2, 3]
    """

    def __init__(self, jobs: int = 1, *, processes: bool = False) -> None:
        if jobs < 1:
            raise SettingsError(f"jobs must be 1 or more, found {jobs}")
        self.jobs = jobs
        self.shares_memory = not processes
        self._pool: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the worker processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def share(self, value: Any, prepare: Callable[[Any], Any] | None = None) -> Any:
        """Threads need nothing; to processes it is sent along with each task."""
        return value if prepare is None else prepare(value)

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """The results in order; at most ``jobs`` tasks are ahead of the one awaited."""
        from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

        if not self.shares_memory:
            if self._pool is None:
                from multiprocessing import get_context

                from eigentext.base.parallel import end_with_parent

                self._pool = ProcessPoolExecutor(
                    self.jobs, get_context("spawn"), initializer=end_with_parent
                )
            from concurrent.futures.process import BrokenProcessPool

            try:
                yield from windowed(self._pool.submit, function, tasks, self.jobs)
            except BrokenProcessPool as error:
                why = "a worker process was killed, perhaps for want of memory"
                raise ResourceError(why) from error
        elif self.jobs == 1:
            yield from map(function, tasks)
        else:
            with ThreadPoolExecutor(self.jobs) as pool:
                yield from windowed(pool.submit, function, tasks, self.jobs)


def _result(future: Any) -> Any:
    return future.result()


def windowed(
    submit: Callable[..., Any],
    function: Callable[[Any], Any],
    tasks: Iterable[Any],
    ahead: int,
    result: Callable[[Any], Any] = _result,
) -> Iterator[Any]:
    """Submit tasks a few at a time, so that finished results do not pile up."""
    waiting: collections.deque[Any] = collections.deque()
    try:
        for task in tasks:
            waiting.append(submit(function, task))
            while len(waiting) > ahead:
                yield result(waiting.popleft())
        while waiting:
            yield result(waiting.popleft())
    finally:
        for future in waiting:
            future.cancel()
