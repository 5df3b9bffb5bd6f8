"""The same counts from threads and from processes (of a cluster: tests/test_cluster.py)."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from eigentext.base.engines import LocalEngine
from eigentext.base.files.opening import SkipLog
from eigentext.counting.counting import count
from eigentext.counting.memory import Budget
from eigentext.errors import DataError, ResourceError, SettingsError

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


def test_a_worker_process_that_is_killed():
    with (
        LocalEngine(1, processes=True) as engine,
        pytest.raises(ResourceError, match="a worker process was killed"),
    ):
        list(engine.map(os._exit, [1]))
