"""The pool of workers: deadlines, a full queue, workers that die, callers that leave."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eigentext.errors import DataError
from eigentext.studio.service.workers import (
    BusyError,
    DeadlineError,
    FewThreads,
    StartingError,
    WorkerFault,
    WorkerPool,
)
from helpers.jobs_on_hold import MODELS, build
from helpers.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG = 600.0


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[WorkerPool]:
    pool = WorkerPool(
        partial(build, str(tmp_path)), size=1, waiting=2, patience=LONG, seconds=LONG
    )
    pool.start()
    yield pool
    pool.close()


def ask(pool: WorkerPool, name: str, *arguments: object) -> Any:
    return pool.submit(name, *arguments).result()


def test_a_job_tells_how_far_it_is(pool: WorkerPool) -> None:
    told: list[object] = []
    assert pool.submit("tell", 1, (2, "two"), tell=told.append).result() == "told"
    assert told == [1, (2, "two")]
    assert ask(pool, "tell", 3) == "told"  # nobody has to listen
    assert ask(pool, "echo", 4) == 4


def test_answers_and_errors_come_back_and_the_worker_stays(pool: WorkerPool) -> None:
    first = ask(pool, "pid")
    assert first != os.getpid()
    assert ask(pool, "echo", {"a": [1]}) == {"a": [1]}
    with pytest.raises(DataError) as caught:
        ask(pool, "refuse")
    assert (caught.value.path, caught.value.line, caught.value.why) == ("input", 2, "no")
    with pytest.raises(WorkerFault, match="ZeroDivisionError"):
        ask(pool, "fault")
    with pytest.raises(WorkerFault, match="pickle"):
        ask(pool, "odd")
    with pytest.raises(WorkerFault, match="KeyError"):
        ask(pool, "no such job")
    assert ask(pool, "pid") == first
    assert asyncio.run(pool.run("echo", 3)) == 3
    assert asyncio.run(pool.facts()).models == MODELS


def test_a_job_past_its_deadline_is_stopped_and_the_worker_replaced(
    pool: WorkerPool, tmp_path: Path
) -> None:
    first = ask(pool, "pid")
    pool.seconds = 0.2
    with pytest.raises(DeadlineError, match=r"longer than 0\.2 seconds"):
        ask(pool, "hold", "for ever")
    pool.seconds = LONG
    second = ask(pool, "pid")
    assert second != first
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_a_full_queue_refuses_at_once_and_keeps_what_it_took(
    pool: WorkerPool, tmp_path: Path
) -> None:
    held = pool.submit("hold", "a")
    until((tmp_path / "began-a").exists)
    queued = [pool.submit("echo", k) for k in range(2)]
    with pytest.raises(BusyError, match="2 requests are waiting"):
        pool.submit("echo", 2)
    assert not held.done()
    assert pool.waiting == 2
    (tmp_path / "end-a").touch()
    assert [one.result() for one in (held, *queued)] == ["a held", 0, 1]
    assert pool.waiting == 0


def test_a_caller_that_leaves_frees_its_place(pool: WorkerPool, tmp_path: Path) -> None:
    held = pool.submit("hold", "a")
    until((tmp_path / "began-a").exists)
    gone = pool.submit("hold", "b")
    pool.submit("echo", 1)
    gone.cancel()
    last = pool.submit("echo", 2)  # there is room again
    (tmp_path / "end-a").touch()
    assert held.result() == "a held"
    assert last.result() == 2
    assert not (tmp_path / "began-b").exists()


def test_a_job_that_waited_too_long_is_not_begun(pool: WorkerPool, tmp_path: Path) -> None:
    held = pool.submit("hold", "a")
    until((tmp_path / "began-a").exists)
    pool.patience = 1e-9
    late = pool.submit("echo", 1)
    (tmp_path / "end-a").touch()
    assert held.result() == "a held"
    with pytest.raises(BusyError, match="waited"):
        late.result()


def test_a_worker_that_dies_is_replaced_when_it_can_be(pool: WorkerPool, tmp_path: Path) -> None:
    with pytest.raises(WorkerFault, match="exit code 7"):
        ask(pool, "die")
    assert ask(pool, "echo", 1) == 1
    (tmp_path / "broken").touch()
    with pytest.raises(WorkerFault):
        ask(pool, "die")
    with pytest.raises(DataError, match="is broken"):
        ask(pool, "echo", 1)
    (tmp_path / "broken").unlink()
    assert ask(pool, "echo", 1) == 1


def test_what_cannot_be_built_is_told_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "broken").touch()
    pool = WorkerPool(
        partial(build, str(tmp_path)), size=1, waiting=1, patience=LONG, seconds=LONG
    )
    with pytest.raises(DataError, match=r"some\.model:3: is broken"):
        pool.start()
    pool.close()


def test_closing_ends_the_work(pool: WorkerPool, tmp_path: Path) -> None:
    worker = ask(pool, "pid")
    held, queued = pool.submit("hold", "a"), pool.submit("echo", 1)
    until((tmp_path / "began-a").exists)
    pool.close()
    with pytest.raises(WorkerFault):
        held.result()
    with pytest.raises(BusyError):
        queued.result()
    with pytest.raises(BusyError):
        pool.submit("echo", 1)
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


SERVER = """
import sys, time
from functools import partial
from helpers.jobs_on_hold import build
from eigentext.studio.service.workers import WorkerPool
pool = WorkerPool(partial(build, sys.argv[1]), size=1, waiting=2, patience=600, seconds=600)
pool.start()
print(pool.submit("pid").result(), flush=True)
for name in sys.argv[2:]:
    pool.submit("hold", name)
time.sleep(600)
"""


@pytest.mark.parametrize("busy", [False, True])
def test_workers_end_with_a_server_that_was_killed(tmp_path: Path, busy: bool) -> None:
    paths = os.pathsep.join(sys.path)
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tmp_path), *["for ever"] * busy],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert server.stdout is not None
    worker = int(server.stdout.readline())
    os.kill(worker, 0)  # it is there
    if busy:
        until((tmp_path / "began-for ever").exists)
    server.send_signal(signal.SIGKILL)
    server.wait()
    server.stdout.close()
    until(lambda: not _runs(worker))


def _runs(process: int) -> bool:
    """Whether the process is there and not a zombie whose new parent does not look."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_few_threads_take_no_more_than_they_can_hold() -> None:
    threads = FewThreads(size=1, waiting=1)
    gate = threading.Event()

    async def ask_three() -> list[Any]:
        asked = [asyncio.ensure_future(threads.run(gate.wait)) for _ in range(3)]
        done, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        (refused,) = done
        gate.set()
        found = await asyncio.gather(*asked, return_exceptions=True)
        return [refused.exception(), *found]

    refused, *found = asyncio.run(ask_three())
    assert isinstance(refused, BusyError)
    assert found[:2] == [True, True]
    assert found[2] is refused


def test_while_workers_start_jobs_are_refused_and_it_is_told_how_far_that_is(
    tmp_path: Path,
) -> None:
    (tmp_path / "slow").touch()
    pool = WorkerPool(
        partial(build, str(tmp_path)),
        size=1,
        waiting=2,
        patience=LONG,
        seconds=LONG,
        expected="what there will be",
    )
    ended: list[Exception | None] = []
    pool.begin(ended.append)
    until(lambda: pool.progress is not None)
    assert pool.progress == (1, 3, "some")
    assert pool.starting
    assert pool.known == "what there will be"
    with pytest.raises(StartingError, match="is starting"):
        asyncio.run(pool.run("echo", 3))
    (tmp_path / "slow").unlink()
    until(lambda: ended)
    assert ended == [None]
    assert not pool.starting
    assert asyncio.run(pool.run("echo", 3)) == 3
    assert pool.known.models == MODELS
    pool.close()


def test_workers_that_cannot_start_in_the_background_say_so_to_everybody(tmp_path: Path) -> None:
    (tmp_path / "broken").touch()
    pool = WorkerPool(
        partial(build, str(tmp_path)), size=1, waiting=2, patience=LONG, seconds=LONG
    )
    ended: list[Exception | None] = []
    pool.begin(ended.append)
    until(lambda: ended)
    assert isinstance(ended[0], DataError)
    with pytest.raises(StartingError, match="is broken"):
        asyncio.run(pool.run("echo", 3))
    pool.close()


def test_a_pool_that_is_closed_while_it_starts_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "slow").touch()
    pool = WorkerPool(
        partial(build, str(tmp_path)), size=1, waiting=2, patience=LONG, seconds=LONG
    )
    pool.begin()
    until(lambda: pool.progress is not None)
    pool.close()
    assert pool.failure is None


def test_what_is_taught_every_worker_does_before_its_next_job(tmp_path: Path) -> None:
    pool = WorkerPool(
        partial(build, str(tmp_path)), size=2, waiting=9, patience=LONG, seconds=LONG
    )
    pool.start()
    until(lambda: len({ask(pool, "pid") for _ in range(4)}) == 2)
    held = pool.submit("hold", "a")
    until((tmp_path / "began-a").exists)
    assert pool.teach("learn", "one").result() == ["one"]
    assert pool.known == ["one"]  # while a worker is still at its job
    with pytest.raises(WorkerFault, match="ZeroDivisionError"):
        pool.teach("fault").result()
    with pytest.raises(WorkerFault, match="exit code 7"):
        pool.teach("die").result()
    assert pool.teach("learn", "two").result() == ["one", "two"]  # the new one learned both
    (tmp_path / "end-a").touch()
    assert held.result() == "a held"
    for _ in range(20):
        assert ask(pool, "learned") == ["one", "two"]
    with pytest.raises(WorkerFault, match="exit code 7"):
        ask(pool, "die")
    for _ in range(20):
        assert ask(pool, "learned") == ["one", "two"]
    assert pool.known == ["one", "two"]
    pool.close()
    with pytest.raises(BusyError):
        pool.teach("learn", "three")


def test_what_is_taught_while_the_pool_is_closed_is_told_to_nobody(tmp_path: Path) -> None:
    pool = WorkerPool(
        partial(build, str(tmp_path)), size=1, waiting=2, patience=LONG, seconds=LONG
    )
    pool.start()
    lesson = pool.teach("hold", "b")
    until((tmp_path / "began-b").exists)
    later = pool.teach("learn", "one")
    pool.close()
    for waiting in (lesson, later):
        with pytest.raises(BusyError):
            waiting.result()
