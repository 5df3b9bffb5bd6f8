"""Many items through one object, in order, by one or several processes, or by a cluster.

How processes begin decides what they cost.  One that is forked has all that this process has in
memory, modules, model and compiled loops, within milliseconds; but it has the locks of this
process too, in the state of that moment, and none of the threads that would open them again.  So
we fork on Linux as long as no thread is alive but this one and the idle ones of
:mod:`eigentext.base.cores`; otherwise processes begin anew, which takes a second or two.
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import chain, islice
from mmap import ACCESS_COPY, mmap
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from eigentext.base import cores
from eigentext.base.engines import Engine, cluster_in_use, using_cluster
from eigentext.errors import SettingsError

if TYPE_CHECKING:  # workers take milliseconds to import, and most commands have none
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing.synchronize import Event

Item = TypeVar("Item")
Answer = TypeVar("Answer")
State = TypeVar("State")

_LARGE = 1 << 16  # bytes of an array that processes share
_ALIGNED = 64  # where arrays begin in the file

_held: Any = None  # of a worker process: the state that every chunk needs
_given_up: Any = None  # of a worker process: an event, set when nobody waits for answers any more
_one_at_a_time = threading.Lock()  # of a worker of a cluster, which may have several threads


class _Packed(NamedTuple):
    """A state for processes to share: a pickle, and the file that holds its large arrays."""

    pickled: bytes
    path: str
    spans: list[tuple[int, int]]


@contextmanager
def _packed(state: object) -> Iterator[_Packed]:
    """The state with its large arrays in a file that every process maps into its memory.

    So they are in memory once, however many processes there are, and nobody copies them: pages
    are shared until one is written to, and what is written there the others do not see.
    """
    buffers: list[pickle.PickleBuffer] = []

    def small(buffer: pickle.PickleBuffer) -> bool:
        """Small ones stay in the pickle."""
        if buffer.raw().nbytes < _LARGE:
            return True
        buffers.append(buffer)
        return False

    pickled = pickle.dumps(state, protocol=5, buffer_callback=small)
    handle, path = tempfile.mkstemp(prefix="eigentext-", suffix=".shared")
    try:
        spans = []
        with open(handle, "wb") as out:
            for buffer in buffers:
                raw = buffer.raw()
                out.write(bytes(-out.tell() % _ALIGNED))
                spans.append((out.tell(), raw.nbytes))
                out.write(raw)
        yield _Packed(pickled, path, spans)
    finally:
        with suppress(OSError):  # a worker that outlived its parent was first
            os.unlink(path)


def _unpacked(packed: _Packed) -> Any:
    if not packed.spans:
        return pickle.loads(packed.pickled)  # noqa: S301 - our own, of a moment ago
    with open(packed.path, "rb") as file:
        mapped = memoryview(mmap(file.fileno(), 0, access=ACCESS_COPY))
    parts = [mapped[begin : begin + size] for begin, size in packed.spans]
    return pickle.loads(packed.pickled, buffers=parts)  # noqa: S301


def _hold(state: object, given_up: Event) -> None:
    global _held, _given_up
    cores.alone()  # the threads of the parent are not here
    if isinstance(state, _Packed):
        end_with_parent(state.path)
        state = _unpacked(state)
    else:
        end_with_parent()
    _held, _given_up = state, given_up


def _may_fork() -> bool:
    """Are there no threads but this one, and those that wait for work of ours?"""
    others = set(threading.enumerate()) - {threading.current_thread()}
    return sys.platform == "linux" and all(map(cores.is_idle, others))


@contextmanager
def _pool(jobs: int, state: object) -> Iterator[tuple[ProcessPoolExecutor, Event]]:
    """Processes that hold the state, and what to set when they may leave the rest undone.

    The pool hands out some chunks before a process is free, and those it cannot take back.
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    forked = _may_fork()
    context = get_context("fork" if forked else "spawn")
    given_up = context.Event()
    with (
        nullcontext(state) if forked else _packed(state) as held,
        ProcessPoolExecutor(jobs, context, _hold, (held, given_up)) as pool,
    ):
        yield pool, given_up


def end_with_parent(path: str | None = None) -> None:
    """Have this worker end when the process that started it was killed.

    It waits for work at a pipe that it holds open itself, and would wait for ever.  ``path``: a
    file of the parent's that nobody else would remove then.
    """
    from multiprocessing import parent_process
    from threading import Thread

    parent = parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            if path is not None:
                with suppress(OSError):
                    os.unlink(path)
            os._exit(1)

        Thread(target=watch, daemon=True).start()


def _work_held(work: Callable[[Any, list[Any]], list[Any]], items: list[Any]) -> list[Any]:
    return [] if _given_up.is_set() else work(_held, items)


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
    runs in so many processes, which share the state's large arrays; work and state must be
    picklable.  At most ``2 jobs + 1`` chunks are under way, so memory does not grow.  Inside
    :func:`~eigentext.base.engines.using_cluster` the workers of the cluster do it, whatever
    ``jobs`` is.

    >>> list(in_order(lambda power, numbers: [n**power for n in numbers], [1, 2, 3], state=2))
    [(1, 1), (2, 4), (3, 9)]
    """
    if jobs < 1:
        raise SettingsError(f"jobs is {jobs}, expected a whole number of at least 1")
    source = iter(items)
    chunks = iter(lambda: list(islice(source, chunk)), [])
    cluster = cluster_in_use()
    if cluster is not None:
        yield from _by_cluster(cluster, work, chunks, state)
        return
    if jobs == 1:
        for part in chunks:
            yield from zip(part, work(state, part), strict=True)
        return
    # the first is read before the processes begin: to open its source may start a thread
    first = next(chunks, [])
    window: deque[tuple[list[Item], Future[list[Answer]]]] = deque()
    with _pool(jobs, state) as (pool, given_up):
        try:
            for part in chain([first] if first else [], chunks):
                window.append((part, pool.submit(_work_held, work, part)))
                if len(window) > 2 * jobs:
                    done, future = window.popleft()
                    yield from zip(done, future.result(), strict=True)
            while window:
                done, future = window.popleft()
                yield from zip(done, future.result(), strict=True)
        finally:  # after an error nobody waits for the rest
            given_up.set()
            for _, future in window:
                future.cancel()


def _by_cluster(
    cluster: Engine,
    work: Callable[[State, list[Item]], list[Answer]],
    chunks: Iterable[list[Item]],
    state: State,
) -> Iterator[tuple[Item, Answer]]:
    """The state goes to the workers once, each chunk to one of them."""
    shared = cluster.share(state)
    sent: deque[list[Item]] = deque()

    def tasks() -> Iterator[tuple[Any, ...]]:
        for part in chunks:
            sent.append(part)
            yield work, shared, part

    for answers in cluster.map(_work_shared, tasks()):
        yield from zip(sent.popleft(), answers, strict=True)


def _work_shared(task: tuple[Callable[[Any, list[Any]], list[Any]], Any, list[Any]]) -> list[Any]:
    """Threads of one worker have the same state, which need not be safe to share."""
    work, state, items = task
    # an engine of this process runs tasks where the cluster is still in use
    with _one_at_a_time, using_cluster(None):
        return work(state, items)


def side_by_side(works: Sequence[Callable[[], Answer]]) -> Iterator[Answer]:
    """The answers of works that need nothing of each other, in their order.

    As many processes as there are cores in use (:func:`~eigentext.base.cores.using_cores`), or the
    workers of a cluster, take them in turn: for trainings that are mostly Python.  Works and
    answers must be picklable, as partials of functions of a module are.  After an error no further
    one begins; those that run are waited for.

    >>> from functools import partial
    >>> list(side_by_side([partial(sum, [1, 2]), partial(len, "abc"), partial(max, 1, 5)]))
    [3, 3, 5]
    """
    jobs = min(cores.cores_in_use(), max(len(works), 1))
    answers = in_order(_each_of, range(len(works)), state=list(works), jobs=jobs, chunk=1)
    return (answer for _, answer in answers)


def _each_of(works: list[Callable[[], Any]], numbers: list[int]) -> list[Any]:
    return [works[number]() for number in numbers]
