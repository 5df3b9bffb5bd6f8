"""A job that is killed goes on where it was; one that changed starts anew; a full disk is told."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from eigentext.base.files.writing import scratch_folder
from eigentext.counting import passes, raw_text, spill, workfolder
from eigentext.counting.counting import count
from eigentext.counting.memory import Budget
from eigentext.errors import DataError, SettingsError, StorageError

if TYPE_CHECKING:
    from pathlib import Path

BUDGET = Budget(
    shard_bytes=20_000, block_bytes=1000, segment_tokens=2000, batch_pairs=3000, run_bytes=10_000
)
JOB = """
import json, sys
from eigentext.counting.counting import count
from eigentext.counting.memory import Budget
def progress(done, total, stage):
    print(stage, done, total, flush=True)
    if sys.stdin.readline() == "":
        sys.exit(1)
text, work, budget = json.loads(sys.argv[1])
count([text], work_dir=work, memory=Budget(**budget), progress=progress)
"""


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("resume") / "text.txt"
    lines = [" ".join(f"w{i * j % 97}" for j in range(1, 12)) for i in range(2500)]
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def expected(text):
    return count([text])


def _killed(text: Path, work: Path, stage: str, share: float) -> None:
    """Run the job in a process of its own and kill it at that point."""
    budget = {name: getattr(BUDGET, name) for name in Budget.__dataclass_fields__}
    process = subprocess.Popen(
        [sys.executable, "-c", JOB, json.dumps([str(text), str(work), budget])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    with process:
        for line in process.stdout:
            at, done, total = line.split()
            if at == stage and int(done) >= share * int(total):
                os.kill(process.pid, signal.SIGKILL)
                break
            process.stdin.write("go on\n")
            process.stdin.flush()
        assert process.wait() == -signal.SIGKILL


@pytest.fixture
def watched(monkeypatch):
    """How many shards are read and how many runs are counted."""
    seen = {"read": 0, "runs": 0}
    read, runs = passes.read_segments, passes.count_pairs

    def watched_read(*args, **options):
        seen["read"] += 1
        return read(*args, **options)

    def watched_runs(*args):
        seen["runs"] += 1
        return runs(*args)

    monkeypatch.setattr(passes, "read_segments", watched_read)
    monkeypatch.setattr(passes, "count_pairs", watched_runs)
    return seen


def _whole_job(text, seen) -> dict[str, int]:
    count([text], memory=BUDGET)
    whole = dict(seen)
    seen.update(read=0, runs=0)
    return whole


def test_killed_while_reading(text, expected, tmp_path, watched):
    whole = _whole_job(text, watched)
    _killed(text, tmp_path / "work", "reading", 0.6)
    assert count([text], work_dir=tmp_path / "work", memory=BUDGET) == expected
    assert 0 < watched["read"] < whole["read"]
    assert not (tmp_path / "work").exists()


def test_killed_while_counting_pairs_twice(text, expected, tmp_path, watched):
    whole = _whole_job(text, watched)
    _killed(text, tmp_path / "work", "pairs", 0.3)
    _killed(text, tmp_path / "work", "pairs", 0.7)
    assert count([text], work_dir=tmp_path / "work", memory=BUDGET) == expected
    assert watched["read"] == 0
    assert 0 < watched["runs"] < 0.5 * whole["runs"]


def test_a_changed_text_starts_anew(text, tmp_path, watched):
    changed = tmp_path / "text.txt"
    changed.write_bytes(text.read_bytes())
    _killed(changed, tmp_path / "work", "pairs", 0.5)
    changed.write_bytes(text.read_bytes().replace(b"w13", b"x13"))  # the same size
    whole = _whole_job(changed, watched)
    fresh = count([changed], work_dir=tmp_path / "work", memory=BUDGET)
    assert watched == whole
    assert fresh == count([changed])


def test_another_vocabulary_keeps_the_first_pass(text, tmp_path, watched):
    _killed(text, tmp_path / "work", "pairs", 0.5)
    found = count([text], work_dir=tmp_path / "work", memory=BUDGET, vocab_size=20)
    assert watched["read"] == 0
    assert found == count([text], vocab_size=20)


def test_other_jobs_with_the_same_shards(text, expected, tmp_path):
    _killed(text, tmp_path / "work", "pairs", 0.5)
    assert count([text], work_dir=tmp_path / "work", memory=BUDGET, jobs=2) == expected


def test_damaged_leftovers_are_not_trusted(text, expected, tmp_path):
    work = tmp_path / "work"
    _killed(text, work, "pairs", 0.5)
    for damaged in (
        next((work / "segments").glob("*/ids")),
        next((work / "pairs").glob("*/data")),
    ):
        damaged.write_bytes(damaged.read_bytes()[:-8])
    (next((work / "segments").glob("*.json"))).write_text("{")
    assert count([text], work_dir=work, memory=BUDGET) == expected


def test_kept_work_is_used_again_and_strangers_files_stay(text, expected, tmp_path, watched):
    work = tmp_path / "work"
    assert count([text], work_dir=work, memory=BUDGET, keep_work=True) == expected
    (work / "mine.txt").write_text("keep me")
    watched.update(read=0, runs=0)
    assert count([text], work_dir=work, memory=BUDGET) == expected
    assert watched == {"read": 0, "runs": 0}
    assert [path.name for path in work.iterdir()] == ["mine.txt"]


def test_a_folder_of_the_users_is_never_a_work_folder(text, tmp_path):
    for name in ("result", "segments", "pairs", "spill", "raw"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.txt").write_text("years of work")
    with pytest.raises(SettingsError, match="no work folder of eigentext and is left as it is"):
        count([text], work_dir=tmp_path)
    workfolder.clear(tmp_path)
    assert len(list(tmp_path.glob("*/mine.txt"))) == 5


def test_a_folder_that_was_there_stays(text, tmp_path):
    (tmp_path / "given").mkdir()
    for name in ("given", "made"):
        count([text], work_dir=tmp_path / name, memory=BUDGET)
    assert [path.name for path in tmp_path.iterdir()] == ["given"]
    assert not list((tmp_path / "given").iterdir())


def test_one_job_at_a_time_and_the_second_removes_nothing(text, tmp_path):
    count([text], work_dir=tmp_path / "work", memory=BUDGET, keep_work=True)
    held = sorted((tmp_path / "work").rglob("*"))
    with workfolder.opened(tmp_path / "work", keep=True):
        with pytest.raises(SettingsError, match="in use"):
            count([text], work_dir=tmp_path / "work", memory=BUDGET)
        with pytest.raises(SettingsError, match="in use"):
            workfolder.clear(tmp_path / "work")
    assert sorted((tmp_path / "work").rglob("*")) == held


def test_no_folder_is_made_for_the_work_folder(text, tmp_path):
    with pytest.raises(StorageError, match="cannot write intermediate results"):
        count([text], work_dir=tmp_path / "no" / "such" / "work")
    assert not list(tmp_path.iterdir())


def test_an_edit_under_the_old_date_starts_anew(tmp_path):
    """Same name, size and time of the last change: only the content tells, or the change of it."""
    path = tmp_path / "text.txt"
    path.write_text("a b c a\n")
    count([path], work_dir=tmp_path / "work", keep_work=True)
    about = path.stat()
    path.write_text("x b c x\n")
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert "x" in count([path], work_dir=tmp_path / "work").words


def test_keys_are_hashes_of_everything(text, tmp_path, monkeypatch):
    def keys(**settings) -> tuple[str, ...]:
        count([text], work_dir=tmp_path / "work", memory=BUDGET, keep_work=True, **settings)
        return tuple(
            (tmp_path / "work" / f"{name}.key").read_text() for name in ("segments", "pairs")
        )

    first = keys()
    assert all(len(key) == 64 for key in first)
    assert keys() == first
    other_words, other_contexts = keys(vocab_size=20), keys(contexts="lr1")
    assert {other_words[0], other_contexts[0]} == {first[0]}
    assert len({first[1], other_words[1], other_contexts[1]}) == 3
    monkeypatch.setattr("eigentext.version.VERSION", "another")
    assert keys()[0] != first[0]
    assert keys()[1] != first[1]


def test_raw_text_is_tokenised_once(tmp_path, monkeypatch):
    raw = tmp_path / "raw.txt"
    raw.write_text("A cat sat. A dog ran.\n")
    tokenised = []
    read = raw_text.read_tokenised
    monkeypatch.setattr(
        raw_text, "read_tokenised", lambda *a, **o: tokenised.append(a[1]) or read(*a, **o)
    )
    work = tmp_path / "work"
    for scheme in ("ptb", "ptb", "whitespace"):
        counts = count([str(raw)], tokeniser=scheme, work_dir=work, keep_work=True)
    assert tokenised == ["ptb", "whitespace"]
    assert "sat." in counts.words
    assert count([str(raw)], tokeniser="ptb").n_sentences == 2


def test_a_killed_process_leaves_a_temporary_folder_only_until_the_next(tmp_path, monkeypatch):
    code = """
import os, signal
from eigentext.base.files.writing import scratch_folder
with scratch_folder() as folder:
    (folder / "text.txt").write_text("much")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    mine = tmp_path / "eigentext-notes"
    mine.mkdir()
    with scratch_folder() as one, scratch_folder() as two:
        assert not left.exists()
        assert sorted(tmp_path.iterdir()) == sorted([mine, one, two])
    assert list(tmp_path.iterdir()) == [mine]


@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("fails_at", [1, 5, 40, 65])
def test_disk_full(text, expected, tmp_path, monkeypatch, resumable, fails_at):
    work = tmp_path / "work" if resumable else None
    written = 0
    write = spill.write_array

    def full(path, array, mode="wb"):
        nonlocal written
        written += 1
        if written >= fails_at:
            path.write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, array, mode)

    budget = Budget(**{**BUDGET.__dict__, "kept_bytes": 0})
    with monkeypatch.context() as patch:
        patch.setattr(spill, "write_array", full)
        with pytest.raises(DataError, match="No space left on device"):
            count([text], work_dir=work, memory=budget, jobs=2)
    if work is not None:
        assert not list(work.rglob("*.unfinished"))
        assert all(spill.saved(path) is not None for path in work.glob("*/*") if path.is_dir())
        assert count([text], work_dir=work, memory=budget) == expected


def test_a_work_folder_that_cannot_be(text, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot write"):
        count([text], work_dir=tmp_path / "file" / "work")
