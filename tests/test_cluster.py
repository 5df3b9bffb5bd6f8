"""A Dask cluster gives what this machine gives, byte for byte, also when a worker is killed."""

from __future__ import annotations

import builtins
import itertools
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from eigentext.base import engines
from eigentext.base.engines import DaskEngine, using_cluster
from eigentext.base.parallel import in_order
from eigentext.counting.counting import count
from eigentext.counting.memory import Budget
from eigentext.datasets.sample import write_sample
from eigentext.errors import DataError, MissingExtraError, ResourceError, SettingsError
from eigentext.linalg import matrices, svd
from eigentext.words import SpectralClusters
from eigentext.words.clusters import exchange, exchange_workers
from helpers.commands import eigentext
from helpers.sample_pipeline import pipeline, treebank

SHARDS = Budget(shard_bytes=10_000, segment_tokens=3000, batch_pairs=4000, run_bytes=20_000)


@pytest.fixture(scope="module")
def cluster():
    """Two processes; one that is killed is started again."""
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    settings = {
        # how long to look for a dead worker; the workers inherit it
        "distributed.comm.timeouts.connect": "5s",
        "distributed.comm.retry.count": 0,
        # how long one may take to start again, on a busy machine
        "distributed.deploy.lost-worker-timeout": "600s",
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",  # a port that is free
            silence_logs=50,
        ) as cluster,
    ):
        yield cluster


@pytest.fixture
def engine(cluster):
    """Joins when all are there: a worker that is killed while it starts stays dead."""
    cluster.wait_for_workers(2, timeout=300)
    while any(nanny.status.name != "running" for nanny in cluster.workers.values()):
        time.sleep(0.05)
    with DaskEngine(cluster.scheduler_address) as engine:
        yield engine


class Killer:
    """Kills one worker when it is told for the first time that a stage has begun."""

    def __init__(self, engine: DaskEngine, stage: str, after: int = 0) -> None:
        self.engine, self.stage, self.after = engine, stage, after
        self.killed: int | None = None

    def __call__(self, done: int, total: int, stage: str) -> None:
        if stage == self.stage and done > self.after and self.killed is None:
            self.killed = self.engine.run_everywhere(os.getpid)[0]
            assert self.killed != os.getpid()
            os.kill(self.killed, signal.SIGKILL)


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("cluster") / "text.txt"
    lines = [" ".join(f"w{i * j % 97}" for j in range(1, 12)) for i in range(4000)]
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def expected(text):
    return count([text], contexts="lr2", vocab_size=50)


# ---------------------------------------------------------------- counting


def test_counting_loses_a_worker(engine, text, expected, tmp_path):
    others = threading.active_count()
    kill = Killer(engine, "pairs", after=50_000)
    found = count(
        [text], contexts="lr2", vocab_size=50, engine=engine, memory=SHARDS, progress=kill
    )
    assert kill.killed
    assert found == expected

    # any storage that fsspec knows, here by URL
    with using_cluster(engine):
        assert count([f"file://{text}"], contexts="lr2", vocab_size=50) == expected
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"one\ntwo \xff\n")
    with pytest.raises(DataError) as caught:
        count([str(bad)], engine=engine)
    assert (caught.value.path, caught.value.line) == (str(bad), 2)
    assert threading.active_count() - others < 50


# ---------------------------------------------------------------- items in order


def test_items_in_order(engine):
    def work(state: dict[str, list[int]], items: list[int]) -> list[tuple[int, int]]:
        state["seen"].append(len(items))
        return [(sum(state["power"]) ** item, os.getpid()) for item in items]

    read: list[int] = []
    items = (read.append(item) or item for item in range(200))
    state = {"power": [1, 1], "seen": []}
    with using_cluster(engine):
        answers = in_order(work, items, state=state, chunk=4)
        found = [next(answers)]
        assert len(read) < 100  # a window that does not grow
        found += answers
    assert [item for item, _ in found] == list(range(200))
    assert [answer for _, (answer, _) in found] == [2**item for item in range(200)]
    assert os.getpid() not in {pid for _, (_, pid) in found}
    assert state["seen"] == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The sample, and models to be asked."""
    folder = tmp_path_factory.mktemp("models")
    write_sample(folder)
    pipeline().save(folder / "english.pipe")
    return folder


def over_text(command: str, model: str, folder: Path, cluster) -> None:
    """Train, and ask here and there."""
    done(model, folder)
    for output, more in (("here", ""), ("there", f" --scheduler {cluster.scheduler_address}")):
        done(f"{command} -o {output}{more}", folder)
    assert (folder / "here").read_bytes() == (folder / "there").read_bytes()
    assert (folder / "here").stat().st_size > 1000


def done(line: str, folder: Path) -> None:
    if line:
        result = eigentext(*line.split(), cwd=folder)
        assert result.returncode == 0, result.stderr.decode()


def test_commands_over_text_write_the_same(folder, cluster):
    over_text("pipe apply english.pipe sample/raw.txt", "", folder, cluster)
    over_text("lex apply sample sample/arabic.txt", "", folder, cluster)
    over_text(
        "tag apply english.tagger sample/entities.bio",
        "tag train sample/entities.bio -o english.tagger --epochs 1 --beam 1 --entity-margin 0",
        folder,
        cluster,
    )
    # a cluster of its own, which ends with the command
    done("tag apply english.tagger sample/entities.bio -o own --engine dask --jobs 1", folder)
    assert (folder / "own").read_bytes() == (folder / "here").read_bytes()


@pytest.mark.long
def test_parsers_write_the_same(folder, cluster):
    over_text(
        "const apply english.lpcfg sample/text.txt",
        "const train sample/train.mrg -o english.lpcfg --n-states 2 --no-rerank",
        folder,
        cluster,
    )
    over_text(
        "dep apply english.parser sample/treebank-dev.conllu",
        "dep train sample/treebank.conllu -o english.parser --order 1 --epochs 1",
        folder,
        cluster,
    )
    over_text("dep score english.parser sample/treebank.conllu", "", folder, cluster)
    over_text(
        "hmm apply english.hmm sample/entities.bio",
        "hmm train-tagger sample/entities.bio -k 2 -o english.hmm",
        folder,
        cluster,
    )


def test_parsing_loses_a_worker(engine):
    texts = [sentence.text for sentence in treebank()] * 2
    expected = [doc.to_conllu() for doc in pipeline().pipe(texts)]
    with using_cluster(engine):
        docs = pipeline().pipe(texts)
        found = [next(docs).to_conllu()]
        Killer(engine, "here")(1, 1, "here")
        found += [doc.to_conllu() for doc in docs]
    assert found == expected


# ---------------------------------------------------------------- words


@pytest.fixture(scope="module")
def zipf(tmp_path_factory) -> Path:
    """Text of 600 words by Zipf's law, in which neighbours hang on each other."""
    random = np.random.default_rng(1)
    words = np.minimum(random.zipf(1.3, 30_000), 600)
    words[1::2] = (words[1::2] + 7 * words[:-1:2]) % 600
    path = tmp_path_factory.mktemp("words") / "zipf.txt"
    path.write_text("\n".join(" ".join(f"w{w}" for w in line) for line in words.reshape(-1, 20)))
    return path


@pytest.fixture
def small_is_large(monkeypatch):
    """What is left to this process below some size goes to the workers here."""
    monkeypatch.setattr(svd, "_DENSE_SIDE", 50)
    monkeypatch.setattr(matrices, "_KERNEL_NONZEROS", 1000)
    monkeypatch.setattr(exchange, "_SHARE", 4)
    monkeypatch.setattr(exchange, "_FEWEST_AT_ONCE", 4)
    monkeypatch.setattr(exchange_workers, "_LEAST_WORK", 100)


@pytest.mark.parametrize("stage", ["svd", "exchange"])
def test_clusters_lose_a_worker(stage, engine, zipf, small_is_large, tmp_path):
    counts = count([zipf], contexts="lr1")
    settings = {"n_clusters": 20, "passes": 2}
    SpectralClusters(**settings).fit(counts).save(tmp_path / "here")
    kill = Killer(engine, stage, after=20)
    with using_cluster(engine):
        SpectralClusters(**settings).fit(counts, progress=kill).save(tmp_path / "there")
    assert kill.killed
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()


@pytest.mark.parametrize(
    "command", ["words count", "words cluster -m 20 --passes 2", "words embed --n-components 30"]
)
def test_models_of_words_are_the_same(command, cluster, zipf, small_is_large, tmp_path):
    for number, more in enumerate(
        ["--jobs 1", "--jobs 2", f"--scheduler {cluster.scheduler_address}"]
    ):
        done(f"{command} {zipf} -o {number} {more}", tmp_path)
    one, two, there = ((tmp_path / str(number)).read_bytes() for number in range(3))
    assert one == two == there


# ---------------------------------------------------------------- what goes wrong


def test_without_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **options):
        if name == "distributed":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"pip install dask distributed .*\.\[cluster\]"):
        DaskEngine("tcp://127.0.0.1:1")


def test_a_task_that_kills_its_worker(cluster, engine, monkeypatch):
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    with pytest.raises(ResourceError, match="killed one after another by the same task"):
        list(engine.map(os._exit, [1]))


def test_no_scheduler_there(tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(SettingsError, match="no Dask scheduler"):
        DaskEngine("nonsense://")
    done = eigentext(
        "tag", "apply", "x", "y", "--engine", "local", "--scheduler", "tcp://", cwd=tmp_path
    )
    assert done.returncode == 2
    assert b"--engine local and --scheduler: expected one of them" in done.stderr


def test_loggers_speak_again_after_the_last_engine(cluster):
    logger = logging.getLogger("distributed.client")
    before = logger.level
    first = DaskEngine(cluster.scheduler_address)
    with DaskEngine(cluster.scheduler_address):
        first.close()
        first.close()  # twice is once
        assert logger.level == logging.CRITICAL
    assert logger.level == before != logging.CRITICAL


def test_workers_of_another_version(cluster, monkeypatch):
    here, really = os.getpid(), engines._versions_of

    def claim(package: str, version: str | None, *, ours: bool) -> None:
        """Let this process, or the workers, say that they have this version."""

        def versions_of(*packages):
            look = really(*packages)
            return lambda: look() | ({package: version} if (os.getpid() == here) == ours else {})

        monkeypatch.setattr(engines, "_versions_of", versions_of)

    claim("eigentext", "0.0", ours=True)
    with pytest.raises(SettingsError, match=r"worker at tcp.* has eigentext .* instead of 0\.0"):
        DaskEngine(cluster.scheduler_address)
    claim("eigentext", None, ours=False)
    with pytest.raises(SettingsError, match=r"worker at tcp.* cannot import eigentext"):
        DaskEngine(cluster.scheduler_address)
    claim("numba", "9", ours=False)
    with pytest.warns(UserWarning, match=r"has numba 9 instead of .*: last digits may differ"):
        DaskEngine(cluster.scheduler_address).close()


SCHEDULER = """
import distributed, time
with distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as cluster:
    print(cluster.scheduler_address, flush=True)
    time.sleep(600)
"""
WORKER = ("-m", "distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", "--no-dashboard")


@pytest.fixture
def elsewhere():
    """Start a scheduler and so many workers, each a process of its own that may be killed."""
    pytest.importorskip("distributed")
    started = []

    def start(n_workers: int):
        pipe = {"stdout": subprocess.PIPE, "text": True}
        scheduler = subprocess.Popen([sys.executable, "-c", SCHEDULER], **pipe)
        started.append(scheduler)
        address = scheduler.stdout.readline().strip()
        command = [sys.executable, *WORKER, address]
        workers = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(n_workers)]
        started.extend(workers)
        return scheduler, workers, address

    yield start
    for process in started:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def test_a_scheduler_without_workers(elsewhere):
    *_, address = elsewhere(0)
    with pytest.raises(ResourceError, match="has no workers"):
        DaskEngine(address, wait=0.2)


def test_a_scheduler_that_dies_is_one_error_and_the_work_is_kept(
    elsewhere, text, expected, tmp_path, capfd
):
    scheduler, _, address = elsewhere(1)
    work = {"contexts": "lr2", "vocab_size": 50, "memory": SHARDS, "work_dir": tmp_path / "work"}

    def kill(done: int, total: int, stage: str) -> None:
        if stage == "pairs":
            scheduler.kill()
            scheduler.wait()

    with (
        DaskEngine(address) as engine,
        pytest.raises(ResourceError, match=f"the Dask cluster at {address} was lost"),
    ):
        count([text], engine=engine, progress=kill, **work)
    assert "Traceback" not in capfd.readouterr().err
    assert (tmp_path / "work" / "pairs").is_dir()
    assert count([text], **work) == expected


def test_all_workers_are_lost(elsewhere):
    _, (worker,), address = elsewhere(1)
    # the time to wait is for the start too, and a busy machine starts a worker slowly
    with DaskEngine(address, wait=60) as engine:
        engine._wait = 0.5
        results = engine.map(abs, itertools.count())
        assert next(results) == 0
        worker.kill()
        with pytest.raises(ResourceError, match=r"all workers of the Dask cluster at .* are gone"):
            list(results)


def test_a_scheduler_that_does_not_answer_is_lost():
    """Every question has a limit: Dask itself would wait for ever."""

    def never(*_: object, callback_timeout: float | None = None) -> object:
        assert callback_timeout is not None, "it would wait forever"
        raise TimeoutError

    engine = DaskEngine.__new__(DaskEngine)
    engine._client = SimpleNamespace(sync=never, run=never, scheduler=SimpleNamespace(ncores=dict))
    engine._wait, engine._place = 0.0, "here"
    for ask in (
        lambda: engine.jobs,
        lambda: list(engine.map(abs, [-1])),
        lambda: engine.run_everywhere(os.getpid),
    ):
        with pytest.raises(ResourceError, match="the Dask cluster at here was lost"):
            ask()


def test_a_result_that_died_with_its_worker_is_not_waited_for():
    """The future is done, then its worker is gone before the result was fetched."""

    class Done:
        def done(self) -> bool:
            return True

        def result(self, timeout: float | None = None) -> object:
            assert timeout is not None, "it would wait forever"
            raise TimeoutError

    engine = DaskEngine.__new__(DaskEngine)
    engine._client = SimpleNamespace(
        sync=lambda ask, callback_timeout: ask(), scheduler=SimpleNamespace(ncores=dict)
    )
    engine._wait, engine._place = 0.0, "here"
    with pytest.raises(ResourceError, match="all workers of the Dask cluster at here are gone"):
        engine._result(Done())
