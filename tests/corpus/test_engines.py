"""The same counts from threads, from processes, and from a Dask cluster that loses a worker."""

from __future__ import annotations

import builtins
import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from eigentext.base.files.opening import SkipLog
from eigentext.corpus.counting import count
from eigentext.corpus.engines import DaskEngine, LocalEngine
from eigentext.corpus.memory import Budget
from eigentext.errors import DataError, MissingExtraError, ResourceError, SettingsError

if TYPE_CHECKING:
    from pathlib import Path

SHARDS = Budget(shard_bytes=10_000, segment_tokens=3000, batch_pairs=4000, run_bytes=20_000)


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("engines") / "text.txt"
    lines = [" ".join(f"w{i * j % 97}" for j in range(1, 12)) for i in range(4000)]
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def expected(text):
    return count([text], contexts="lr2", vocab_size=50)


def test_order_and_first_error():
    def slow_first(number: int) -> int:
        time.sleep(0.02 if number == 0 else 0)
        if number in (3, 5):
            raise ValueError(str(number))
        return number

    results = LocalEngine(3).map(slow_first, range(9))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="3"):
        next(results)


def test_few_tasks_are_ahead():
    taken: list[int] = []  # tasks are taken when there is room for them, whoever is quick or slow
    tasks = (taken.append(number) or number for number in range(100))
    results = LocalEngine(2).map(str, tasks)
    assert next(results) == "0"
    assert 1 <= len(taken) < 10
    results.close()


def test_processes(text, expected, tmp_path):
    with LocalEngine(2, processes=True) as engine:
        found = count([text], contexts="lr2", vocab_size=50, engine=engine, memory=SHARDS)
        assert found == expected
        bad = tmp_path / "bad.txt"
        bad.write_bytes(b"good line\nb\xffd\n" * 2000)
        with pytest.raises(DataError) as caught:
            count([bad], engine=engine, memory=SHARDS)
        assert caught.value.line == 2
        log = SkipLog()
        counts = count([bad], engine=engine, memory=SHARDS, on_error=log)
        assert (counts.n_sentences, counts.n_skipped, log.count) == (2000, 2000, 2000)
        with pytest.raises(SettingsError, match="standard input"):
            count(["-"], engine=engine)


def test_resuming_with_processes(text, expected, tmp_path):
    options = {"contexts": "lr2", "memory": SHARDS, "work_dir": tmp_path, "vocab_size": 50}
    with LocalEngine(1, processes=True) as engine:
        first = count([text], engine=engine, keep_work=True, **options)
        stages: set[str] = set()
        again = count(
            [text], engine=engine, progress=lambda done, total, stage: stages.add(stage), **options
        )
    assert first == again == expected
    assert stages == {"reading", "pairs"}


def test_jobs():
    with pytest.raises(SettingsError, match="jobs"):
        LocalEngine(0)


def test_without_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **options):
        if name == "distributed":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"pip install dask distributed .*\.\[cluster\]"):
        DaskEngine("tcp://127.0.0.1:1")


@pytest.fixture
def cluster():
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    quick = {"distributed.comm.timeouts.connect": "2s", "distributed.comm.retry.count": 0}
    with (
        dask.config.set(quick),  # how long to look for a dead worker; the workers inherit it
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=50,
        ) as cluster,
    ):
        yield cluster


def test_a_cluster_that_loses_a_worker(cluster, text, expected, tmp_path):
    with DaskEngine(cluster.scheduler_address) as engine:
        assert engine.jobs == 2
        killed: list[int] = []

        def kill_one(done: int, total: int, stage: str) -> None:
            if stage == "pairs" and done > total // 4 and not killed:
                pids = engine.run_everywhere(os.getpid)
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)

        found = count(
            [text], contexts="lr2", vocab_size=50, engine=engine, memory=SHARDS, progress=kill_one
        )
        assert killed
        assert killed[0] != os.getpid()
        assert found == expected

        # any storage that fsspec knows, here by URL
        assert count([f"file://{text}"], contexts="lr2", vocab_size=50, engine=engine) == expected
        bad = tmp_path / "bad.txt"
        bad.write_bytes(b"one\ntwo \xff\n")
        with pytest.raises(DataError) as caught:
            count([str(bad)], engine=engine)
        assert (caught.value.path, caught.value.line) == (str(bad), 2)
    assert threading.active_count() < 50


def test_no_scheduler_there():
    pytest.importorskip("distributed")
    with pytest.raises(SettingsError, match="no Dask scheduler"):
        DaskEngine("nonsense://")


SCHEDULER = """
import distributed, sys, time
with distributed.LocalCluster(
    n_workers=int(sys.argv[1]), threads_per_worker=1, processes=False, protocol="tcp",
    dashboard_address=None, silence_logs=50,
) as cluster:
    print(cluster.scheduler_address, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def elsewhere():
    """Start a cluster of so many workers in a process of its own."""
    pytest.importorskip("distributed")
    started = []

    def start(n_workers: int):
        command = [sys.executable, "-c", SCHEDULER, str(n_workers)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_scheduler_without_workers(elsewhere):
    _, address = elsewhere(0)
    with pytest.raises(ResourceError, match="has no workers"):
        DaskEngine(address, wait=0.2)


def test_a_scheduler_that_dies_is_one_error_and_the_work_is_kept(
    elsewhere, text, expected, tmp_path, capfd
):
    process, address = elsewhere(1)
    work = {"contexts": "lr2", "vocab_size": 50, "memory": SHARDS, "work_dir": tmp_path / "work"}

    def kill(done: int, total: int, stage: str) -> None:
        if stage == "pairs":
            process.kill()
            process.wait()

    with (
        DaskEngine(address) as engine,
        pytest.raises(ResourceError, match=f"the Dask cluster at {address} was lost"),
    ):
        count([text], engine=engine, progress=kill, **work)
    assert "Traceback" not in capfd.readouterr().err
    assert (tmp_path / "work" / "pairs").is_dir()
    assert count([text], **work) == expected


def test_a_worker_process_that_is_killed():
    with (
        LocalEngine(1, processes=True) as engine,
        pytest.raises(ResourceError, match="a worker process was killed"),
    ):
        list(engine.map(os._exit, [1]))
