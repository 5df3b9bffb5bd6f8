"""All cores, one answer: threads work on fixed blocks, and results are put together in order.

1. :func:`using_cores` says how many threads the work inside it may use: 1 unless told.
2. The work is cut into blocks whose size hangs on the data alone (:func:`row_blocks`), never on
   the number of threads.
3. :func:`each` runs a function over the blocks and gives the results in the order of the blocks
   (:func:`in_turn` one by one, where they are large);
   sums over blocks are made in that order, so that the last digit is the same on any machine
   of one kind, with one core or sixteen.

Threads help where the interpreter lock is let go: in kernels compiled with ``nogil=True``, in
products of large arrays, in reading and unpacking.  Loops in Python need processes
(:mod:`eigentext.base.parallel`).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from itertools import count
from threading import Thread
from typing import Any, Literal, TypeVar, get_args
from weakref import WeakSet

from eigentext.errors import SettingsError

Item = TypeVar("Item")
Result = TypeVar("Result")

_NAME = "eigentext-core"  # of the threads

_under_way: WeakSet[Future[Any]] = WeakSet()  # begun by :func:`beside` or :func:`in_turn`
_cores: ContextVar[int] = ContextVar("cores", default=1)
_pool: ContextVar[ThreadPoolExecutor | None] = ContextVar("pool", default=None)


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux: containers and taskset may give fewer
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cores_in_use() -> int:
    """How many threads the work of this thread may use.

    >>> cores_in_use()
    1
    """
    return _cores.get()


@contextmanager
def using_cores(cores: int) -> Iterator[None]:
    """Let the work inside use so many threads; the result does not depend on it.

    >>> with using_cores(2):
    ...     each(abs, [-1, -2, 3])
    [1, 2, 3]
    """
    if cores < 1:
        raise SettingsError(f"jobs is {cores}, expected a whole number of at least 1")
    if cores == 1:
        with _in_use():
            yield
        return
    with ThreadPoolExecutor(cores, _NAME, alone) as pool, _in_use(cores, pool):
        yield


def alone() -> None:
    """In a worker: what it calls runs in that thread, or all could wait for each other."""
    _cores.set(1)
    _pool.set(None)


@contextmanager
def _in_use(cores: int = 1, pool: ThreadPoolExecutor | None = None) -> Iterator[None]:
    """For the time being, let what this thread calls use the pool, or run in this thread."""
    held = (_cores.set(cores), _pool.set(pool))
    try:
        yield
    finally:
        _cores.reset(held[0])
        _pool.reset(held[1])


def is_idle(thread: Thread) -> bool:
    """Is it a thread of :func:`using_cores` that waits for work?

    Of work by :func:`each` we wait for the end; so only that of others may be under way.
    """
    return thread.name.startswith(_NAME) and all(future.done() for future in _under_way)


def beside(function: Callable[[], Result]) -> Callable[[], Result]:
    """Have one long work done beside what follows; call the answer to wait for it.

    With one core it is done when it is asked for.

    >>> with using_cores(2):
    ...     total = beside(lambda: sum(range(10)))
    ...     total() + sum(each(abs, [-1, -2]))
    48
    """
    pool = _pool.get()
    if pool is None:
        return function
    return _begun(pool, function).result


def _begun(
    pool: ThreadPoolExecutor, function: Callable[..., Result], *arguments: object
) -> Future[Result]:
    """Have a thread of the pool do it, with the device and so on that are in use here."""

    def work() -> Result:
        with _in_use():
            return function(*arguments)

    future = pool.submit(copy_context().run, work)
    _under_way.add(future)
    return future


def each(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """The results in the order of the items; of several errors the first in that order is raised.

    All items are handed out at once: they are blocks of something that is in memory already.

    >>> each(str, range(3))
    ['0', '1', '2']
    """
    pool = _pool.get()
    if pool is None:
        return [function(item) for item in items]
    blocks = list(items)
    results: list[Any] = [None] * len(blocks)
    errors: dict[int, BaseException] = {}
    turns = count()

    def work() -> None:
        """Take the next item until there is none; one that fails ends it all."""
        while not errors and (turn := next(turns)) < len(blocks):
            try:
                results[turn] = function(blocks[turn])
            except BaseException as error:
                errors[turn] = error

    # This thread works too, and begins at once: to wake another takes as long as a small item.
    others = [_begun(pool, work) for _ in range(min(_cores.get(), len(blocks)) - 1)]
    with _in_use():
        work()
    for other in others:
        if not other.cancel():  # it may wait behind a longer work, and nothing is left to do
            other.result()
    if errors:
        raise errors[min(errors)]
    return results


def in_turn(
    function: Callable[[Item], Result], items: Iterable[Item], *, ahead: int = 2
) -> Iterator[Result]:
    """The same one by one, for results that are large and soon added to a sum.

    At most ``ahead`` results for each core are in memory; with one core, one.

    >>> sum(in_turn(abs, [-1, -2, 3]))
    6
    """
    pool = _pool.get()
    if pool is None:
        yield from map(function, items)
        return
    waiting: deque[Future[Result]] = deque()
    try:
        for item in items:
            if len(waiting) == ahead * _cores.get():
                yield waiting.popleft().result()
            waiting.append(_begun(pool, function, item))
        while waiting:
            yield waiting.popleft().result()
    finally:  # after an error nobody wants the rest
        for future in waiting:
            future.cancel()


def largest_first(
    function: Callable[[int], Result],
    sizes: Iterable[int],
    on_done: Callable[[int], None] | None = None,
) -> list[Result]:
    """``function(n)`` for every number of an item, in the order of the items.

    Items differ in size, and the largest is begun first, so that no thread is left alone with it
    in the end.  ``on_done`` hears how much of the sum of sizes is done.

    >>> largest_first("abc".__getitem__, [1, 3, 2], on_done=print)
    3
    5
    6
    ['a', 'b', 'c']
    """
    size = list(sizes)
    order = sorted(range(len(size)), key=lambda n: -size[n])
    results: dict[int, Result] = {}
    done = 0
    for n, result in zip(order, in_turn(function, order), strict=True):
        results[n] = result
        done += size[n]
        if on_done is not None:
            on_done(done)
    return [results[n] for n in range(len(size))]


def row_blocks(n_rows: int, size: int) -> list[slice]:
    """Neighbouring rows, ``size`` at a time; the last block may have fewer.

    >>> row_blocks(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]


Device = Literal["cpu", "cuda", "auto"]
DEVICES: tuple[Device, ...] = get_args(Device)

_device: ContextVar[str] = ContextVar("device", default="cpu")


def device_in_use() -> str:
    """``cpu`` unless told: ``cuda`` is a graphics card, ``auto`` the card where there is one.

    >>> device_in_use()
    'cpu'
    """
    return _device.get()


@contextmanager
def using_device(device: str) -> Iterator[None]:
    """Let the work inside use this device.

    >>> with using_device("auto"):
    ...     device_in_use()
    'auto'
    """
    if device not in DEVICES:
        raise SettingsError(f"device is {device!r}, expected cpu, cuda or auto")
    held = _device.set(device)
    try:
        yield
    finally:
        _device.reset(held)
