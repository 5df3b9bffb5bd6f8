"""Who does the work: threads of this process, other processes, or a Dask cluster.

An engine has one verb, ``map``: a function and tasks in, results out, in the order of the tasks.
The answer is the same whichever engine is used.

* :class:`LocalEngine` uses threads: reading, unpacking and the compiled loops all run without the
  interpreter lock, so two threads are twice as fast, and there is no start-up and no copying.
  With ``processes=True`` it uses fresh processes instead.
* :class:`DaskEngine` hands the tasks to the workers of a cluster.  They need the same eigentext
  and the sources (any fsspec URL), but no common disk: only arrays travel.

Inside :func:`using_cluster` counting, products of large sparse matrices, exchange and whatever
goes through :func:`~eigentext.base.parallel.in_order` look for such an engine: no function has to
hand it on.
"""

from __future__ import annotations

import collections
import contextlib
import logging
import pickle
import re
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from operator import methodcaller
from typing import Any, Protocol, TypeVar

from eigentext.errors import MissingExtraError, ResourceError, SettingsError

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

    def share(self, value: object, prepare: Callable[[Any], Any] | None = None) -> Any:
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


@contextlib.contextmanager
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


class LocalEngine(contextlib.AbstractContextManager[Any]):
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

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def share(self, value: object, prepare: Callable[[Any], Any] | None = None) -> Any:
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


def windowed(
    submit: Callable[..., object],
    function: Callable[[Any], Any],
    tasks: Iterable[object],
    ahead: int,
    result: Callable[[Any], Any] = methodcaller("result"),
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


_OF_DASK = re.compile(r"distributed(\.|$)")
_LOOK = 2.0  # seconds between two looks whether there still are workers
_ANSWER = 60.0  # seconds for the scheduler, or a worker that is busy, to say something


class DaskEngine(contextlib.AbstractContextManager[Any]):
    """The workers of a Dask cluster, given by the address of its scheduler (or a client).

    Needs the extra ``cluster``.  ``DaskEngine("tcp://scheduler:8786")`` as a context manager
    closes the connection at the end.  ``wait``: so many seconds for a worker, at the beginning
    and whenever all of them are gone.

    A cluster that cannot be reached any more, or has lost all its workers, is a
    :class:`~eigentext.errors.ResourceError`; one of another version a SettingsError.
    """

    shares_memory = False

    def __init__(self, address: Any, *, wait: float = 60) -> None:
        client_type = _distributed().Client
        self._wait = wait
        self._started: Any = None  # the cluster that we have to end
        self._own = not isinstance(address, client_type)
        try:
            self._client = client_type(address, set_as_default=False) if self._own else address
        except (OSError, ValueError, TypeError) as error:
            raise SettingsError(f"no Dask scheduler at {address!r}: {error}") from error
        self._quiet = contextlib.ExitStack()
        if self._own:  # the loss of the cluster is told once, by us
            self._quiet.enter_context(_quiet_loggers())
        self._place = str(self._client.scheduler.address)
        try:
            with self._cluster_errors():
                self._wait_for_worker()
                self._check_versions()
        except BaseException:
            self.close()
            raise

    @classmethod
    def here(cls, workers: int) -> DaskEngine:
        """A cluster of so many processes on this machine, which ends with the engine."""
        if workers < 1:
            raise SettingsError(f"jobs must be 1 or more, found {workers}")
        local_cluster = _distributed().LocalCluster
        import dask

        with contextlib.ExitStack() as started:
            # a worker that was killed may take its time to start again
            patient = {"distributed.deploy.lost-worker-timeout": "600s"}
            started.enter_context(dask.config.set(patient))
            cluster = started.enter_context(
                local_cluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=":0",  # a port that is free
                    silence_logs=logging.CRITICAL,
                )
            )
            engine = cls(cluster.scheduler_address)
            engine._started = started.pop_all()
        return engine

    @property
    def jobs(self) -> int:
        """The number of worker threads in the cluster now."""
        with self._cluster_errors():
            return max(1, sum(map(int, self._threads().values())))

    def _threads(self) -> dict[str, int]:
        """The threads of each worker; a scheduler that does not answer is one that is lost."""
        client = self._client
        return dict(client.sync(client.scheduler.ncores, callback_timeout=self._limit))

    @property
    def _limit(self) -> float:
        """So many seconds for an answer that takes none: Dask itself would wait for ever."""
        return max(self._wait, _ANSWER)

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the cluster, if this engine joined it; end it, if this engine started it."""
        if self._own:
            with contextlib.suppress(OSError, TimeoutError):  # a dead scheduler takes no leave
                self._client.close(timeout=5)
        if self._started is not None:
            self._started.close()
            self._started = None
        self._quiet.close()

    @contextlib.contextmanager
    def _cluster_errors(self) -> Iterator[None]:
        """What the client raises when scheduler or workers are gone becomes one error of ours.

        Tasks raise errors of ours themselves, so what else comes is of the cluster.
        """
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        try:
            yield
        except KilledWorker as error:
            why = (
                f"the workers of the Dask cluster at {self._place} were killed one after another "
                "by the same task, perhaps for want of memory"
            )
            raise ResourceError(why) from error
        except (CancelledError, OSError, TimeoutError) as error:
            first = str(error).partition("\n")[0]
            why = f"the Dask cluster at {self._place} was lost: {first or type(error).__name__}"
            raise ResourceError(why) from error

    def _wait_for_worker(self) -> None:
        until = time.monotonic() + self._wait
        while not self._threads():
            if time.monotonic() > until:
                why = f"the Dask scheduler at {self._place} has no workers"
                raise ResourceError(f"{why} (waited {self._wait:g} s for one)")
            time.sleep(0.05)

    def run_everywhere(self, function: Callable[[], Result]) -> list[Result]:
        """Call a function on every worker, whatever else it is doing."""
        with self._cluster_errors():
            return list(self._client.run(function, callback_timeout=self._limit).values())

    def _check_versions(self) -> None:
        """Refuse workers without eigentext, or with another one; warn of other libraries."""
        look = _versions_of("eigentext", "numpy", "scipy", "numba")
        ours = look()
        for worker, theirs in sorted(self._client.run(look, callback_timeout=self._limit).items()):
            if theirs["eigentext"] is None:
                raise SettingsError(f"the Dask worker at {worker} cannot import eigentext")
            other = [
                f"{name} {theirs[name]} instead of {version}"
                for name, version in ours.items()
                if theirs[name] != version
            ]
            if theirs["eigentext"] != ours["eigentext"]:
                raise SettingsError(f"the Dask worker at {worker} has {', '.join(other)}")
            if other:
                why = f"the Dask worker at {worker} has {', '.join(other)}: last digits may differ"
                warnings.warn(why, stacklevel=4)

    def share(self, value: Any, prepare: Callable[[Any], Any] | None = None) -> Any:
        """A task that gives the value: unlike scattered data it comes back when a worker dies.

        The scheduler keeps the pickled value for that.
        """
        with self._cluster_errors(), warnings.catch_warnings():
            # of tasks with much in them; these have it once, for others to use
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self._client.submit(
                _unpacked, pickle.dumps(value, protocol=5), prepare, pure=False
            )

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """The results in order; a task whose worker died is run again elsewhere."""
        with self._cluster_errors():
            yield from windowed(self._submit, function, tasks, 2 * self.jobs, self._result)

    def _submit(self, function: Callable[[Any], Any], task: Any) -> Any:
        if isinstance(task, tuple):  # futures inside a task are found only among the arguments
            return self._client.submit(_spread, function, *task, pure=False, retries=2)
        return self._client.submit(function, task, pure=False, retries=2)

    def _result(self, future: Any) -> Any:
        """The result, or an error when there has been nobody to make it for too long."""
        alone_since = None
        patience = _LOOK
        while True:  # never without a limit: the worker may die with a result that is done
            with contextlib.suppress(TimeoutError):
                return future.result(timeout=patience)
            if future.done():
                patience *= 2  # it is there, but large
            if self._threads():
                alone_since = None
                continue
            alone_since = alone_since or time.monotonic()
            if time.monotonic() - alone_since >= self._wait:
                why = f"all workers of the Dask cluster at {self._place} are gone"
                raise ResourceError(f"{why} (waited {self._wait:g} s for one)")


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise MissingExtraError(
            "cluster engines", extra="cluster", modules=["dask", "distributed"]
        ) from error
    return distributed


_levels: dict[str, int] = {}  # of Dask's loggers, before the first engine made them quiet
_quiet_engines = 0
_counting = threading.Lock()


@contextlib.contextmanager
def _quiet_loggers() -> Iterator[None]:
    """Dask's loggers are quiet; after the last engine they say again what they used to."""
    global _quiet_engines
    with _counting:
        _quiet_engines += 1
        for name in filter(_OF_DASK.match, list(logging.root.manager.loggerDict)):
            logger = logging.getLogger(name)
            _levels.setdefault(name, logger.level)
            logger.setLevel(logging.CRITICAL)
    # stays, since what it leaves out may come later: once, however often it is added
    logging.getLogger("asyncio").addFilter(_not_of_dask)
    try:
        yield
    finally:
        with _counting:
            _quiet_engines -= 1
            if not _quiet_engines:
                for name, level in _levels.items():
                    logging.getLogger(name).setLevel(level)
                _levels.clear()


def _not_of_dask(record: logging.LogRecord) -> bool:
    """Leave out what Dask's client raises for itself when a worker dies with a result."""
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or not _OF_DASK.match(kind.__module__)


def _versions_of(*packages: str) -> Callable[[], dict[str, str | None]]:
    """What a worker calls; it is sent as it is written, since the worker may lack this module."""

    def look() -> dict[str, str | None]:
        import platform
        from importlib.metadata import PackageNotFoundError, version

        versions: dict[str, str | None] = {}
        for package in packages:
            try:
                # ours may be a source tree that is not installed
                ours = package == "eigentext"
                versions[package] = __import__(package).__version__ if ours else version(package)
            except (ImportError, PackageNotFoundError):
                versions[package] = None
        return versions | {"python": platform.python_version()}

    return look


def _unpacked(pickled: bytes, prepare: Callable[[Any], Any] | None) -> Any:
    value = pickle.loads(pickled)  # noqa: S301 - our own, of a moment ago
    return value if prepare is None else prepare(value)


def _spread(function: Callable[[Any], Any], *parts: object) -> Any:
    return function(parts)
