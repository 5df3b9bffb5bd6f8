"""Who does the work: threads of this process, other processes, or a Dask cluster.

An engine has one verb, ``map``: a function and tasks in, results out, in the order of the tasks.
The counts are the same whichever engine is used.

* :class:`LocalEngine` uses threads: reading, unpacking and the compiled loops all run without the
  interpreter lock, so two threads are twice as fast, and there is no start-up and no copying.
  With ``processes=True`` it uses fresh processes instead.
* :class:`DaskEngine` hands the tasks to the workers of a cluster.  They need the package and the
  sources (any fsspec URL), but no common disk: only arrays travel.  When a worker dies, the
  scheduler gives its tasks to another.
"""

from __future__ import annotations

import collections
import contextlib
import logging
import re
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from eigentext.errors import MissingExtraError, ResourceError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

__all__ = ["DaskEngine", "Engine", "LocalEngine"]

Task = TypeVar("Task")
Result = TypeVar("Result")

_OF_DASK = re.compile(r"distributed(\.|$)")


class Engine(Protocol):
    """What counting needs of an engine."""

    @property
    def jobs(self) -> int:
        """How many tasks run at the same time."""

    @property
    def shares_memory(self) -> bool:
        """Whether tasks see the objects of the caller, and may write into its arrays."""

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """The results in the order of the tasks; the first error in that order is raised."""

    def share(self, value: Any) -> Any:
        """Something large that many tasks need; :func:`taken` gives it back inside a task."""


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

    def share(self, value: Any) -> Any:
        """Threads need nothing; to processes it is sent along with each task."""
        return value

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
                yield from _windowed(self._pool.submit, function, tasks, self.jobs)
            except BrokenProcessPool as error:
                why = "a worker process was killed, perhaps for want of memory"
                raise ResourceError(why) from error
        elif self.jobs == 1:
            yield from map(function, tasks)
        else:
            with ThreadPoolExecutor(self.jobs) as pool:
                yield from _windowed(pool.submit, function, tasks, self.jobs)


def _windowed(
    submit: Callable[..., Any], function: Callable[[Any], Any], tasks: Iterable[Any], ahead: int
) -> Iterator[Any]:
    """Submit tasks a few at a time, so that finished results do not pile up."""
    waiting: collections.deque[Any] = collections.deque()
    try:
        for task in tasks:
            waiting.append(submit(function, task))
            while len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


class DaskEngine:
    """The workers of a Dask cluster, given by the address of its scheduler (or a client).

    Needs the extra ``cluster``.  ``DaskEngine("tcp://scheduler:8786")`` as a context manager
    closes the connection at the end.  ``wait``: so many seconds for the first worker.

    A cluster that cannot be reached any more is a :class:`~eigentext.errors.ResourceError`.
    """

    shares_memory = False

    def __init__(self, address: Any, *, wait: float = 60) -> None:
        try:
            import distributed

            client_type: Any = distributed.Client
        except ImportError as error:
            raise MissingExtraError(
                "cluster engines", extra="cluster", modules=["dask", "distributed"]
            ) from error
        self._own = not isinstance(address, client_type)
        try:
            self._client = client_type(address, set_as_default=False) if self._own else address
        except (OSError, ValueError, TypeError) as error:
            raise SettingsError(f"no Dask scheduler at {address!r}: {error}") from error
        if self._own:  # the loss of the cluster is told once, by us
            for name in filter(_OF_DASK.match, list(logging.root.manager.loggerDict)):
                logging.getLogger(name).setLevel(logging.CRITICAL)
        self._place = str(address) if self._own else str(self._client.scheduler.address)
        try:
            self._client.wait_for_workers(1, timeout=wait)
        except TimeoutError as error:
            self.close()
            why = f"the Dask scheduler at {self._place} has no workers (waited {wait:g} s for one)"
            raise ResourceError(why) from error

    @property
    def jobs(self) -> int:
        """The number of worker threads in the cluster now."""
        with self._cluster_errors():
            return max(1, sum(map(int, self._client.nthreads().values())))

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
        """Leave the cluster, if this engine joined it."""
        if self._own:
            with contextlib.suppress(OSError, TimeoutError):  # a dead scheduler takes no leave
                self._client.close(timeout=5)

    @contextlib.contextmanager
    def _cluster_errors(self) -> Iterator[None]:
        """What the client raises when scheduler or workers are gone becomes one error of ours.

        Tasks raise errors of ours themselves, so what else comes is of the cluster.
        """
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        try:
            yield
        except (CancelledError, KilledWorker, OSError, TimeoutError) as error:
            first = str(error).partition("\n")[0]
            why = f"the Dask cluster at {self._place} was lost: {first or type(error).__name__}"
            raise ResourceError(why) from error

    def run_everywhere(self, function: Callable[[], Result]) -> list[Result]:
        """Call a function on every worker, whatever else it is doing."""
        return list(self._client.run(function).values())

    def share(self, value: Any) -> Any:
        """A task that gives the value: unlike scattered data it comes back when a worker dies."""
        with self._cluster_errors():
            return self._client.submit(_itself, value, pure=False)

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """The results in order; a task whose worker died is run again elsewhere."""
        with self._cluster_errors():
            yield from _windowed(self._submit, function, tasks, 2 * self.jobs)

    def _submit(self, function: Callable[[Any], Any], task: Any) -> Any:
        if isinstance(task, tuple):  # futures inside a task are found only among the arguments
            return self._client.submit(_spread, function, *task, pure=False, retries=2)
        return self._client.submit(function, task, pure=False, retries=2)


def _itself(value: Any) -> Any:
    return value


def _spread(function: Callable[[Any], Any], *parts: Any) -> Any:
    return function(parts)
