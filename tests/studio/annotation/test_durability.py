"""What a store has confirmed stays: many writers, killed writers, databases that come and go."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from eigentext.studio.store.problems import ConflictError, StoreBusyError, StoreError
from eigentext.studio.store.records import Change
from eigentext.studio.store.store import AnnotationStore
from helpers.postgres import Server
from helpers.small_store import SENTENCE, add_document
from helpers.waiting import until

_ENV = os.environ | {
    "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
}


def _layer(store: AnnotationStore) -> int:
    project = store.create_project("one", "lexical").id
    document = add_document(store, project, "a", [SENTENCE]).id
    return store.layer(document, kind="adjudication").id


def _writer(where: str, layer: int, name: str, seed: int = 0) -> subprocess.Popen[bytes]:
    program = [sys.executable, "-m", "helpers.writer_program", where, str(layer), name, str(seed)]
    return subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_ENV, bufsize=0
    )


def _told(lines: bytes) -> list[dict]:
    whole = lines.split(b"\n")[:-1]  # behind the last line end nothing is, or a line cut short
    return [json.loads(line) for line in whole]


def _check(store: AnnotationStore, layer: int, told: list[dict]) -> None:
    """All that was confirmed is there, and every version is one change."""
    history = store.history(layer)
    by_item = {one.item: one for one in history}
    undone = {one.id for one in history if one.undone is not None}
    for line in told:
        for item in line.get("items", ()):
            assert by_item[item].version == line["version"]
        assert undone.issuperset(line.get("undone", ()))
    versions = {one.version for one in history} | {one.undone_version for one in history} - {None}
    assert versions == set(range(1, store.layer_numbered(layer).version + 1))
    for one in history:  # what was decided together is there together
        name, number, _ = one.item.rsplit("-", 2)
        same = [other for other in history if other.item.startswith(f"{name}-{number}-")]
        assert {other.version for other in same} == {one.version}
        assert {other.undone_version for other in same} == {one.undone_version}


def test_writers_in_several_processes_lose_nothing(place):
    store = AnnotationStore(place)
    layer = _layer(store)
    writers = [_writer(place, layer, f"w{n}", n) for n in range(4)]
    started = [writer.stdout.readline() for writer in writers]  # all are at work now
    mine: list[dict] = []
    deadline = time.monotonic() + 60
    # four others write all the time: a turn may be long in coming
    while not mine and time.monotonic() < deadline:
        with contextlib.suppress(StoreBusyError):  # then nothing was saved
            mine = [{"items": ["me-1-0"], "version": store.decide(layer, Change(0, "me-1-0", 1))}]
    assert mine
    deadline = time.monotonic() + 60
    while store.layer_numbered(layer).version < 40 and time.monotonic() < deadline:
        time.sleep(0.05)
    told = []
    for writer in writers:
        out, _ = writer.communicate()
        assert writer.returncode == 0
        told += _told(out)
    told += mine + [json.loads(line) for line in started]
    # on a machine with too much to do it may be nobody's turn for long: then nothing was saved
    assert all("nothing was saved" in line["error"] for line in told if "error" in line)
    _check(store, layer, told)
    confirmed = sum("version" in line or bool(line.get("undone")) for line in told)
    assert store.layer_numbered(layer).version == confirmed  # nothing that nobody knows of
    store.close()


# benchmarks/studio_load.py --kills 50 kills a whole service, under load
def test_a_writer_that_is_killed_loses_nothing_it_confirmed(place):
    store = AnnotationStore(place)
    layer = _layer(store)
    chance = random.Random(20)
    told: list[dict] = []
    for number in range(12):
        writer = _writer(place, layer, f"k{number}", number)
        lines = [writer.stdout.readline()]  # so that it is at work when it is killed
        time.sleep(chance.random() * 0.2)
        writer.send_signal(signal.SIGKILL)
        out, _ = writer.communicate()
        confirmed = _told(b"".join(lines) + out)
        assert confirmed
        assert not [line for line in confirmed if "error" in line]
        told += confirmed
        # reopened as after a restart
        again = AnnotationStore(place, create=False)
        _check(again, layer, told)
        assert again.decide(layer, Change(0, f"after-{number}-0", None))
        again.close()
    store.close()


def test_threads_share_a_store(store):
    layer = _layer(store)
    conflicts = []

    def work(name: str) -> None:
        for number in range(15):
            seen = store.layer_numbered(layer).version
            try:
                store.decide(layer, Change(0, "w0", f"{name}{number}"), base_version=seen)
            except ConflictError as error:
                conflicts.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcdef"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    history = store.history(layer)
    assert len(history) + len(conflicts) == 90
    assert [one.version for one in history] == list(range(1, len(history) + 1))


def test_a_fork_makes_connections_of_its_own(store):
    layer = _layer(store)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for number in range(5):
                store.decide(layer, Change(0, f"c-{number}-0", number))
            code = 0
        finally:
            os._exit(code)
    for number in range(5):
        store.decide(layer, Change(0, f"p-{number}-0", number))
    assert os.waitpid(child, 0)[1] == 0
    assert len(store.history(layer)) == 10
    _check(store, layer, [])


def test_a_store_that_several_make_at_a_time_is_made_once(place):
    gate = threading.Barrier(4)
    stores, errors = [], []

    def make():
        gate.wait()
        try:
            stores.append(AnnotationStore(place))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    number = stores[0].create_project("one", "tags").id
    assert [store.project(number).name for store in stores] == ["one"] * 4
    for store in stores:
        store.close()


# ---- SQLite files that go


def test_a_file_that_is_moved_is_missed_and_welcome_back(tmp_path):
    path, elsewhere = tmp_path / "a.db", tmp_path / "b.db"
    store = AnnotationStore(path)
    layer = _layer(store)
    store.decide(layer, Change(0, "w0", 1))
    store.close()  # so that nothing is left in the log beside it
    path.rename(elsewhere)
    for call in (store.projects, lambda: store.decide(layer, Change(0, "w0", 2))):
        with pytest.raises(StoreError, match="are not there: put the file back"):
            call()
    assert not path.exists()
    elsewhere.rename(path)
    assert store.decide(layer, Change(0, "w0", 3), base_version=1) == 2
    store.close()


def test_a_file_that_is_moved_while_connections_are_open_is_not_written_to(tmp_path):
    path = tmp_path / "a.db"
    store = AnnotationStore(path)
    layer = _layer(store)
    shutil.copytree(tmp_path, tmp_path / "moved", ignore=shutil.ignore_patterns("moved"))
    for file in tmp_path.glob("a.db*"):
        file.unlink()
    with pytest.raises(StoreError, match="are not there"):
        store.decide(layer, Change(0, "w0", 1))
    for file in (tmp_path / "moved").iterdir():
        shutil.copy(file, tmp_path / file.name)
    assert store.decide(layer, Change(0, "w0", 2)) == 1
    store.close()
    again = AnnotationStore(path, create=False)
    assert [one.value for one in again.history(layer)] == [2]
    again.close()


def test_another_file_in_its_place_is_refused(tmp_path):
    path = tmp_path / "a.db"
    store = AnnotationStore(path)
    store.close()
    path.unlink()
    path.write_bytes(b"")
    with pytest.raises(StoreError):
        store.projects()
    path.write_text("It rains. " * 100)
    with pytest.raises(StoreError):
        store.projects()
    assert path.read_text() == "It rains. " * 100
    store.close()


def test_a_file_that_another_has_to_itself_is_busy(tmp_path, monkeypatch):
    import sqlite3

    from eigentext.studio.store import database

    monkeypatch.setattr(database, "_WAIT", 0.1)
    path = tmp_path / "a.db"
    store = AnnotationStore(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusyError, match="nothing was saved: try again later"):
        store.create_project("one", "tags")
    assert store.projects() == []  # readers need not wait
    other.execute("ROLLBACK")
    other.close()
    store.create_project("one", "tags")
    store.close()


# ---- a server that goes


@pytest.fixture
def own_server():
    made = Server()
    try:
        yield made.start()
    finally:
        made.remove()


@pytest.mark.requires("postgres")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT, signal.SIGKILL])
def test_a_server_that_is_restarted_in_mid_work(own_server, how):
    place = own_server.new_database()
    store = AnnotationStore(place)
    layer = _layer(store)
    writers = [_writer(place, layer, f"r{n}", n) for n in range(2)]
    told = [json.loads(writer.stdout.readline()) for writer in writers]
    own_server.stop(how)
    with pytest.raises(StoreError, match="the annotations postgresql") as caught:
        store.decide(layer, Change(0, "me-1-0", 1))
    assert "\n" not in str(caught.value)
    with pytest.raises(StoreError):
        store.projects()
    with pytest.raises(StoreError):
        AnnotationStore(place, create=False)
    # the writers see the failure, too
    for writer in writers:
        while "error" not in (line := json.loads(writer.stdout.readline())):
            told.append(line)
    own_server.start()
    version = store.decide(layer, Change(0, "me-2-0", 2))  # the same store, without more ado
    told.append({"items": ["me-2-0"], "version": version})
    for writer in writers:
        while "error" in (line := json.loads(writer.stdout.readline())):
            pass
        told.append(line)
        out, _ = writer.communicate()
        assert writer.returncode == 0
        told += _told(out)
    _check(store, layer, told)
    assert "me-1-0" not in {one.item for one in store.history(layer)}
    store.close()


@pytest.mark.requires("postgres")
def test_a_process_of_the_server_that_is_killed_loses_nothing_confirmed(own_server):
    """The server ends all connections then, and recovers from its log."""
    place = own_server.new_database()
    store = AnnotationStore(place)
    layer = _layer(store)
    told: list[dict] = []
    for number in range(4):
        writer = _writer(place, layer, f"b{number}", number)
        told.append(json.loads(writer.stdout.readline()))
        own_server.kill_one()
        lines = []
        while "error" not in (line := json.loads(writer.stdout.readline())):
            lines.append(line)
        told += lines
        writer.kill()
        out, _ = writer.communicate()
        told += [line for line in _told(out) if "error" not in line]
        until(own_server.answers)
        store.close()
        _check(store, layer, told)
    store.close()


@pytest.mark.requires("postgres")
def test_deadlocks_are_tried_again(server):
    from sqlalchemy import update

    from eigentext.studio.store.schema import projects

    store = AnnotationStore(server.new_database())
    numbers = [store.create_project(name, "tags").id for name in "ab"]
    gate = threading.Barrier(2)
    calls = []

    def touch(order):
        first = True

        def work(c):
            nonlocal first
            calls.append(order)
            c.execute(update(projects).where(projects.c.id == order[0]).values(language="x"))
            if first:  # both have their first row now, and want the other's
                first = False
                gate.wait()
            c.execute(update(projects).where(projects.c.id == order[1]).values(model="y"))

        store.writing(work)

    threads = [threading.Thread(target=touch, args=(order,)) for order in (numbers, numbers[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 3  # one of them was chosen to begin again
    assert [(one.language, one.model) for one in store.projects()] == [("x", "y")] * 2
    store.close()
