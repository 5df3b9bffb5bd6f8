"""Work outside the server's own process and loop: processes with a deadline, and a few threads.

The flow of a job: `WorkerPool.run` -> a queue of bounded length -> the thread that keeps one
worker -> that worker's process -> back.  What a job is the pool does not know: a function that is
called in each process gives jobs by name, and facts about them that the server may ask for; while
it works it may tell how far it is.

1. A full queue refuses at once (`BusyError`), and so does one in which a job waited too long.
2. A job past the deadline has its process killed and a new one built (`DeadlineError`).
3. A job whose caller has gone before it began is not begun.  One that takes long may tell how far
   it is, by the function that its builder was given; who cares gives `WorkerPool.run` a ``tell``.
4. While the first worker is being built in the background, jobs are refused (`StartingError`).
5. A worker has a lower priority than the server, which answers while all workers are busy.
6. A worker ends when the server does, however that ended: its line to the server is then closed.
7. What all workers have to do, those too that are built later, is a lesson (`WorkerPool.teach`):
   each does it before its next job.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import subprocess
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, Pipe
from typing import Any, NamedTuple, TypeVar

from eigentext.errors import EigentextError

Tell = Callable[[Any], object]
Build = Callable[[Tell], tuple[Mapping[str, Callable[..., Any]], Any]]
T = TypeVar("T")

_START = "import sys; sys.path[:] = sys.argv[2:]; from {} import work; work(int(sys.argv[1]))"
_RETRY_AFTER = 5
_BEHIND = 5  # steps of priority: where processors are few, health and pages come before models
_log = logging.getLogger(__name__)


def _untold(_: object) -> None:
    """Nobody wants to know how far it is."""


class BusyError(EigentextError):
    """There is too much to do now; asking again after ``retry_after`` seconds may help."""

    retry_after = _RETRY_AFTER


class StartingError(BusyError):
    """It cannot be done yet: the first worker is still being built, or a model being trained."""


class DeadlineError(EigentextError):
    """A job took longer than any may, and was stopped."""


class WorkerFault(Exception):
    """A job failed in a way that it should not, or its process died."""


class _Job(NamedTuple):
    name: str
    arguments: tuple[object, ...]
    latest_start: float
    answer: Future[Any]
    tell: Tell


class _Worker:
    """A process, and the line to it."""

    n_lessons = 0  # so many were taught to it

    def __init__(self, build: Build) -> None:
        self._line, theirs = Pipe()
        with theirs:
            call = [sys.executable, "-P", "-c", _START.format(__name__), str(theirs.fileno())]
            self._process = subprocess.Popen(  # noqa: S603  (ourselves)
                [*call, *sys.path],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                # Ctrl C is for the server, which ends its workers; no session of its own, since
                # Linux would give that as large a share of the processors as the server's
                process_group=0,
            )
        self._build = build

    def ready(self, tell: Tell) -> Any:
        """Wait until the worker is built; its facts, or the error of building it."""
        return self.ask(None, tell, self._build)

    def ask(self, seconds: float | None, tell: Tell, question: object) -> Any:
        """The answer of the process, which may be an error that it raises here.

        How far it is goes to ``tell``.
        """
        try:
            self._line.send(question)
            latest = None if seconds is None else time.monotonic() + seconds
            fine = None
            while fine is None:
                left = None if latest is None else max(0.0, latest - time.monotonic())
                if not self._line.poll(left):
                    self.kill()
                    raise DeadlineError
                fine, answer = self._line.recv()
                if fine is None:
                    tell(answer)
        except (EOFError, OSError):  # it is dead
            self.kill()
            why = f"a worker died with exit code {self._process.returncode}"
            raise WorkerFault(why) from None
        if not fine:
            raise answer
        return answer

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        self._line.close()
        self.kill()


class WorkerPool:
    """Some processes that do jobs, each within a deadline."""

    def __init__(
        self,
        build: Build,  # called in each process, so it is pickled: jobs by name, and facts
        *,
        size: int,
        waiting: int,  # most jobs in the queue
        patience: float,  # seconds that a job may wait there; may be changed
        seconds: float,  # that it may then work; may be changed
        expected: object = None,  # the facts as far as they are known before a worker is built
    ) -> None:
        self._build = build
        self.size = size
        self._most_waiting = waiting
        self.patience = patience
        self.seconds = seconds
        self._queue: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._starting = threading.Lock()
        self.closed = False  # the workers were ended for good
        self.known: Any = expected  # the facts, or what is expected of them until they are told
        self.progress: Any = None  # what the first worker told last, while it is being built
        self.failure: Exception | None = None  # why there is none
        self._beginning: threading.Thread | None = None
        self._workers: set[_Worker] = set()
        self._keepers: list[threading.Thread] = []
        self._lessons: list[_Job | None] = []  # None: it failed, and nobody has to do it

    def begin(self, then: Callable[[Exception | None], object] = lambda _: None) -> None:
        """Start the workers in the background, unless that was done.

        ``then`` is called in the end, with the error if it failed.
        """
        if self._beginning is None and not self._keepers:
            self._beginning = threading.Thread(target=self._begin, args=(then,), daemon=True)
            self._beginning.start()

    def _begin(self, then: Callable[[Exception | None], object]) -> None:
        try:
            self.start()
        except Exception as error:
            if not self.closed:
                self.failure = error
                _log.error("the workers cannot be started: %s", error)
            then(error)
        else:
            then(None)

    @property
    def starting(self) -> bool:
        """Whether the first worker is being built in the background, or could not be."""
        return self._beginning is not None and not self._keepers

    def start(self) -> Any:
        """Start the workers unless they run; an error of building them is raised here.

        The facts of the first worker come back when it is ready; the others may take longer.
        """
        with self._starting:
            if not self._keepers:
                first, self.known = self._new(partial(setattr, self, "progress"))
                for k in range(self.size):
                    worker = first if k == 0 else None
                    keeper = threading.Thread(target=self._keep, args=(worker,), daemon=True)
                    self._keepers.append(keeper)
                    keeper.start()
            return self.known

    @property
    def waiting(self) -> int:
        """How many jobs wait for a worker."""
        return len(self._queue)

    async def facts(self) -> Any:
        """What ``build`` told about the jobs."""
        return self.known if self._keepers else await asyncio.to_thread(self.start)

    async def run(self, name: str, *arguments: object, tell: Tell = _untold) -> Any:
        """Let a worker do the job; its answer, or the error that it raised.

        ``tell`` is called with what the job tells while it works, in another thread.
        """
        if self.starting:
            why = f"the service is starting; try again in {_RETRY_AFTER} seconds"
            if self.failure is not None:
                why = f"the service cannot work: {self.failure}"
            raise StartingError(why)
        await self.facts()
        return await asyncio.wrap_future(self.submit(name, *arguments, tell=tell))

    def submit(self, name: str, *arguments: object, tell: Tell = _untold) -> Future[Any]:
        """The same for callers without a loop; the pool has to be started."""
        job = _Job(name, arguments, time.monotonic() + self.patience, Future(), tell)
        with self._changed:
            if self.closed:
                raise BusyError("the service is being stopped")
            if len(self._queue) >= self._most_waiting:
                raise BusyError(
                    f"the service is busy: {len(self._queue)} requests are waiting already, "
                    f"the most that may; try again in {_RETRY_AFTER} seconds"
                )
            self._queue.append(job)
            self._changed.notify()
        job.answer.add_done_callback(lambda _: self._forget(job))
        return job.answer

    def teach(self, name: str, *arguments: object) -> Future[Any]:
        """Have every worker do this job, which gives new facts, before any other.

        What comes back is ready when the first has done it and the facts are known.  If that one
        fails, it has the error, and no other worker does it.
        """
        lesson = _Job(name, arguments, 0.0, Future(), _untold)
        with self._changed:
            if self.closed:
                raise BusyError("the service is being stopped")
            self._lessons.append(lesson)
            self._changed.notify_all()
        return lesson.answer

    def close(self) -> None:
        """End all workers; what they were doing is lost."""
        with self._changed:
            self.closed = True
            left = [*self._queue, *(x for x in self._lessons if x and not x.answer.done())]
            self._queue = deque()
            workers = list(self._workers)
            self._changed.notify_all()
        for job in left:
            if job.answer.set_running_or_notify_cancel():
                job.answer.set_exception(BusyError("the service is being stopped"))
        for worker in workers:
            worker.kill()
        if self._beginning is not None:
            self._beginning.join()
        for keeper in self._keepers:
            keeper.join()

    # ---- in the thread of one worker

    def _keep(self, worker: _Worker | None) -> None:
        """Do one job after the other; whenever the worker is gone there is a new one."""
        while not self.closed:
            if worker is None or not worker.alive:
                self._drop(worker)
                worker = None
                with suppress(EigentextError, WorkerFault):  # the next job tries again, and tells
                    worker, _ = self._new()
            if worker is not None and self._behind(worker):
                self._learn(worker)
                continue
            job = self._take(worker)
            if job is None:
                continue
            if not job.answer.set_running_or_notify_cancel():
                continue
            try:
                if worker is None:
                    worker, _ = self._new()
                    self._learn(worker)
                job.answer.set_result(self._done(worker, job))
            except Exception as error:
                job.answer.set_exception(error)
        self._drop(worker)

    def _behind(self, worker: _Worker | None) -> bool:
        """Whether there is a lesson that this worker has not done."""
        return worker is not None and worker.n_lessons < len(self._lessons)

    def _learn(self, worker: _Worker) -> None:
        """Have the worker do the lessons that it has not done."""
        while worker.alive and self._behind(worker):
            number = worker.n_lessons
            worker.n_lessons += 1
            lesson = self._lessons[number]
            if lesson is None:
                continue
            try:
                facts = worker.ask(None, _untold, (lesson.name, lesson.arguments))
            except (EigentextError, WorkerFault) as error:
                self._lessons[number] = None
                with suppress(InvalidStateError):  # another worker has done it, or it is too late
                    lesson.answer.set_exception(error)
                continue
            with self._changed, suppress(InvalidStateError):
                lesson.answer.set_result(facts)
                self.known = facts

    def _done(self, worker: _Worker, job: _Job) -> Any:
        if time.monotonic() > job.latest_start:
            raise BusyError(
                f"the service is busy: the request waited {self.patience:g} seconds for its "
                "turn; try again later"
            )
        try:
            return worker.ask(self.seconds, job.tell, (job.name, job.arguments))
        except DeadlineError:
            _log.warning("%s took longer than %g seconds: stopped", job.name, self.seconds)
            raise DeadlineError(
                f"this took longer than {self.seconds:g} seconds, the most that a request may; "
                "ask for less at once"
            ) from None

    def _new(self, tell: Tell = _untold) -> tuple[_Worker, Any]:
        with self._changed:
            if self.closed:
                raise BusyError("the service is being stopped")
            worker = _Worker(self._build)
            self._workers.add(worker)
        try:
            return worker, worker.ready(tell)
        except BaseException:
            self._drop(worker)
            raise

    def _drop(self, worker: _Worker | None) -> None:
        if worker is not None:
            worker.close()
            with self._changed:
                self._workers.discard(worker)

    def _take(self, worker: _Worker | None) -> _Job | None:
        """The next job; None when the pool is closed, or the worker has a lesson to do first."""
        with self._changed:
            while not (self._queue or self.closed or self._behind(worker)):
                self._changed.wait()
            return None if self.closed or self._behind(worker) else self._queue.popleft()

    def _forget(self, job: _Job) -> None:
        """A job whose caller has gone does not wait any longer."""
        with self._changed:
            if job in self._queue:
                self._queue.remove(job)


class FewThreads:
    """A few threads for calls that wait for files; they refuse more than they can hold."""

    def __init__(self, size: int, waiting: int) -> None:
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="files")
        self._most = size + waiting
        self._asked = 0

    async def run(self, function: Callable[..., T], *arguments: object) -> T:
        """The answer of the function."""
        if self._asked >= self._most:
            raise BusyError(
                f"the service is busy: {self._asked} requests are at its files already, the most "
                f"that may; try again in {_RETRY_AFTER} seconds"
            )
        self._asked += 1
        try:
            call = self._threads.submit(function, *arguments)
            return await asyncio.wrap_future(call)
        finally:
            self._asked -= 1


def work(line_number: int) -> None:
    """Be a worker: build, then do jobs until the server closes the line."""
    with suppress(OSError):
        os.nice(_BEHIND)
    threading.Thread(target=_end_with_line, args=(line_number,), daemon=True).start()
    with Connection(line_number) as line:
        try:
            build = line.recv()
            fine, built = _attempt(lambda: build(lambda progress: line.send((None, progress))))
            jobs, facts = built if fine else ({}, built)
            _send(line, fine, facts)
            while fine:
                name, arguments = line.recv()
                _send(line, *_attempt(lambda: jobs[name](*arguments)))  # noqa: B023
        except (EOFError, OSError):
            return  # the server has gone


def _end_with_line(line_number: int) -> None:
    """End this process when the server has gone, whatever it is doing."""
    line = select.poll()
    line.register(line_number, 0)
    line.poll()
    os._exit(1)


def _attempt(function: Callable[[], object]) -> tuple[bool, Any]:
    try:
        return True, function()
    except EigentextError as error:
        return False, error
    except Exception:
        return False, WorkerFault(traceback.format_exc())


def _send(line: Connection, fine: bool, answer: object) -> None:
    try:
        line.send((fine, answer))
    except OSError:
        raise
    except Exception:  # the answer cannot be pickled
        line.send((False, WorkerFault(traceback.format_exc())))
