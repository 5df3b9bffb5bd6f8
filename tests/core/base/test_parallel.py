"""Items in order, over processes, with a window that does not grow."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigentext.base import parallel
from eigentext.base.engines import LocalEngine, using_cluster
from eigentext.base.parallel import in_order
from eigentext.errors import SettingsError


def powers(power: int, numbers: list[int]) -> list[tuple[int, int]]:
    return [(number**power, os.getpid()) for number in numbers]


def failing(_: None, numbers: list[int]) -> list[int]:
    if 7 in numbers:
        raise SettingsError("seven")
    return numbers


def test_answers_come_in_order_from_other_processes() -> None:
    found = list(in_order(powers, range(50), state=2, jobs=2, chunk=3))
    assert [item for item, _ in found] == list(range(50))
    assert [answer for _, (answer, _) in found] == [number**2 for number in range(50)]
    assert os.getpid() not in {pid for _, (_, pid) in found}


def test_one_job_stays_in_this_process_and_reads_no_further_than_it_must() -> None:
    read: list[int] = []

    def source() -> Iterator[int]:
        for number in range(100):
            read.append(number)
            yield number

    answers = in_order(powers, source(), state=1, chunk=4)
    assert next(answers) == (0, (0, os.getpid()))
    assert read == [0, 1, 2, 3]


def test_an_error_of_a_worker_is_raised_here() -> None:
    with pytest.raises(SettingsError, match="seven"):
        list(in_order(failing, range(10), state=None, jobs=2, chunk=2))


def begun(folder: str, numbers: list[int]) -> list[int]:
    """The first fails as soon as another has begun, which goes on until all is given up."""
    (number,) = numbers
    Path(folder, str(number)).touch()
    if number == 0:
        while not Path(folder, "1").exists():
            time.sleep(0.01)
        raise SettingsError("first")
    while not Path(folder, "given up").exists():
        time.sleep(0.01)
    return [number]


@pytest.mark.parametrize("forks", [True, False])
def test_after_an_error_nothing_more_begins(forks: bool, tmp_path: Path, monkeypatch) -> None:
    """The pool has given out more than its processes work at; those are not begun any more."""
    monkeypatch.setattr(parallel, "_may_fork", lambda: forks)
    real = parallel._pool

    @contextmanager
    def pool(jobs: int, state: Any) -> Iterator[Any]:
        with real(jobs, state) as (started, given_up):
            yield started, Told(given_up, tmp_path / "given up")

    monkeypatch.setattr(parallel, "_pool", pool)
    with pytest.raises(SettingsError, match="first"):
        list(in_order(begun, range(20), state=str(tmp_path), jobs=2, chunk=1))
    # one is under way when the first fails, and the next that is free may take one more
    assert len(list(tmp_path.iterdir())) <= 1 + 3


class Told:
    """An event that leaves a file where it was set."""

    def __init__(self, event: Any, path: Path) -> None:
        self.event, self.path = event, path

    def set(self) -> None:
        self.event.set()
        self.path.touch()


def test_no_jobs_is_refused() -> None:
    with pytest.raises(SettingsError, match="jobs is 0, expected a whole number of at least 1"):
        list(in_order(powers, [1], state=1, jobs=0))


def changed(state: dict[str, Any], numbers: list[int]) -> list[tuple[float, bool, bool]]:
    """What is in the state before the work changes it."""
    answers = []
    for number in numbers:
        big, small = state["big"], state["small"]
        right = bool(np.array_equal(big[1:], np.arange(1, len(big)))) and small.tolist() == [1, 2]
        answers.append((float(big[0]), right, bool(big.flags.aligned and big.flags.writeable)))
        big[0] = 100 + number
    return answers


def test_processes_share_arrays_and_see_no_changes_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(parallel, "_may_fork", lambda: False)
    big = np.arange(100_000, dtype=np.float64)
    state = {
        "big": big,
        "small": np.array([1, 2]),
        "twice": big,
        "other": np.ones(99_999, np.int8),
    }
    seen = 0
    for _, (first, right, usable) in in_order(changed, range(8), state=state, jobs=2, chunk=4):
        seen += len(list(tmp_path.iterdir()))
        assert right
        assert usable
        assert first == 0 or first >= 100  # its own change, of the same chunk
    assert seen
    assert big[0] == 0
    assert list(tmp_path.iterdir()) == []


_KILLED = """
import os, sys, threading, time
from pathlib import Path
import numpy as np
from eigentext.base.parallel import in_order

def slow(state, numbers):
    Path(sys.argv[1], f"at-work-{os.getpid()}").touch()
    time.sleep(600)
    return numbers

if __name__ == "__main__":
    if sys.argv[2] == "threads":  # a fork could inherit their locks
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    list(in_order(slow, range(4), state=np.zeros(100_000), jobs=2, chunk=1))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("threads", ["threads", "no threads"])
def test_a_killed_run_leaves_no_file_and_no_worker(tmp_path: Path, threads: str) -> None:
    (script := tmp_path / "script.py").write_text(_KILLED)
    (shared := tmp_path / "shared").mkdir()
    environment = {**os.environ, "TMPDIR": str(shared)}
    with subprocess.Popen([sys.executable, script, shared, threads], env=environment) as run:
        _wait_for(lambda: len(list(shared.glob("at-work-*"))) == 2)
        forked = threads == "no threads" and sys.platform == "linux"
        assert forked or list(shared.glob("*.shared"))  # a forked process needs no such file
        run.send_signal(signal.SIGKILL)
    _wait_for(lambda: not list(shared.glob("*.shared")))
    workers = [int(path.name.rpartition("-")[2]) for path in shared.glob("at-work-*")]
    _wait_for(lambda: not any(map(_lives, workers)))


def _lives(pid: int) -> bool:
    """Does the process run?  One that ended may still be listed, as a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    listed = Path(f"/proc/{pid}/stat")
    return not (listed.exists() and listed.read_text().rpartition(") ")[2].startswith("Z"))


_FORKED = """
import os, sys, threading
import numpy as np
from eigentext.base.cores import cores_in_use, each, using_cores
from eigentext.base.parallel import in_order

def look(state, numbers):
    here = [each(lambda _: threading.get_ident(), range(2)) == [threading.get_ident()] * 2]
    return [(number * state, os.getpid(), cores_in_use(), *here) for number in numbers]

with using_cores(2):  # no "if __name__": a process that begins anew would come here again
    each(abs, range(4))  # threads are there, and wait
    found = list(in_order(look, range(20), state=Unpicklable(3), jobs=2, chunk=2))
assert [number for number, _ in found] == list(range(20))
assert [answer[0] for _, answer in found] == [3 * number for number in range(20)]
assert os.getpid() not in {answer[1] for _, answer in found}
assert {answer[2:] for _, answer in found} == {(1, True)}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")
def test_idle_threads_of_ours_do_not_keep_us_from_forking(tmp_path: Path) -> None:
    unpicklable = "class Unpicklable(int):\n    __reduce_ex__ = None\n"
    (script := tmp_path / "script.py").write_text(unpicklable + _FORKED)
    subprocess.run([sys.executable, script], check=True, timeout=120)


def _wait_for(there: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not there():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_the_first_item_is_read_before_it_is_decided_how_processes_begin(monkeypatch) -> None:
    """To open a source may start a thread, beside which one must not fork."""
    seen: list[str] = []
    may_fork = parallel._may_fork

    def items():
        seen.append("read")
        yield 3

    def asked() -> bool:
        seen.append("asked")
        return may_fork()

    monkeypatch.setattr(parallel, "_may_fork", asked)
    assert list(parallel.in_order(_powers, items(), state=2, jobs=2)) == [(3, 9)]
    assert seen == ["read", "asked"]


def test_work_on_a_cluster_may_ask_for_more_in_order() -> None:
    def nested(power: int, numbers: list[int]) -> list[int]:
        return [sum(n for _, n in parallel.in_order(_powers, numbers, state=power))]

    with using_cluster(LocalEngine(1)):
        assert list(parallel.in_order(nested, [1, 2], state=2, chunk=1)) == [(1, 1), (2, 4)]


def _powers(power: int, numbers: list[int]) -> list[int]:
    return [n**power for n in numbers]
