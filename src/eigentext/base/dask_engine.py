"""The workers of a Dask cluster as an engine (:mod:`eigentext.base.engines`).

1. :class:`DaskEngine` joins the cluster of a scheduler's address; :meth:`DaskEngine.here` starts
   one of processes on this machine.
2. Workers must have the same eigentext as we have: asked before the first task.
3. What many tasks need is the result of a task itself (``share``), so that the scheduler can make
   it anew when the worker that kept it has died.
4. While we wait for a result we look whether there still are workers.
"""

from __future__ import annotations

import contextlib
import logging
import pickle
import re
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any, Self, TypeVar

from eigentext.base.engines import windowed
from eigentext.errors import MissingExtraError, ResourceError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

Task = TypeVar("Task")
Result = TypeVar("Result")

_OF_DASK = re.compile(r"distributed(\.|$)")
_LOOK = 2.0  # seconds between two looks whether there still are workers


class DaskEngine:
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
            self._client.wait_for_workers(1, timeout=wait)
            with self._cluster_errors():
                self._check_versions()
        except TimeoutError as error:
            self.close()
            why = f"the Dask scheduler at {self._place} has no workers (waited {wait:g} s for one)"
            raise ResourceError(why) from error
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

    def run_everywhere(self, function: Callable[[], Result]) -> list[Result]:
        """Call a function on every worker, whatever else it is doing."""
        return list(self._client.run(function).values())

    def _check_versions(self) -> None:
        """Refuse workers without eigentext, or with another one; warn of other libraries."""
        look = _versions_of("eigentext", "numpy", "scipy", "numba")
        ours = look()
        for worker, theirs in sorted(self._client.run(look).items()):
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
        with self._cluster_errors(), _large_tasks():
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
            if self._client.nthreads():
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

        found: dict[str, str | None] = {}
        for package in packages:
            try:
                # ours may be a source tree that is not installed
                ours = package == "eigentext"
                found[package] = __import__(package).__version__ if ours else version(package)
            except (ImportError, PackageNotFoundError):
                found[package] = None
        return found | {"python": platform.python_version()}

    return look


@contextlib.contextmanager
def _large_tasks() -> Iterator[None]:
    """Dask warns of tasks with much in them; these have it once, for others to use."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        yield


def _unpacked(pickled: bytes, prepare: Callable[[Any], Any] | None) -> Any:
    value = pickle.loads(pickled)  # noqa: S301 - our own, of a moment ago
    return value if prepare is None else prepare(value)


def _spread(function: Callable[[Any], Any], *parts: Any) -> Any:
    return function(parts)
