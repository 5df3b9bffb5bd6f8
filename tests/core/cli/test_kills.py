"""A command that is killed at the worst moment, and two that write the same file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from eigentext.counting.workfolder import opened
from eigentext.datasets import sample_files
from helpers.commands import ENVIRONMENT, eigentext

# at the last step before the model is there, the process tells so and waits
_WAITING = """
import os, sys
from eigentext.cli.main import run
def told(_):
    print("saving", flush=True)
    sys.stdin.readline()
os.fsync = told
sys.exit(run(sys.argv[1:]))
"""
TRAININGS = {
    "words count": "text.txt",
    "words cluster": "text.txt -m 5 --paths out.paths",
    "tag train": "entities.bio --epochs 1",
    "hmm train": "text.txt -k 2 --n-iter 1",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("text.txt", "entities.bio"):
        (tmp_path / name).write_bytes(sample_files()[name])
    return tmp_path


def _started(line: list[str], folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _WAITING, *line, "--quiet"],
        cwd=folder,
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.parametrize("name", TRAININGS)
def test_killed_while_it_saves_it_leaves_no_half_file_and_goes_next_time(
    name: str, folder: Path
) -> None:
    line = [*name.split(), *TRAININGS[name].split()]
    assert eigentext(*line, "-o", "whole", "-q", cwd=folder).returncode == 0
    before = {path.name for path in folder.iterdir()}
    (folder / "out").write_bytes(b"the old one")
    with _started([*line, "-o", "out"], folder) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"saving\n"
        process.kill()
    assert (folder / "out").read_bytes() == b"the old one"
    done = eigentext(*line, "-o", "out", "-q", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "out").read_bytes() == (folder / "whole").read_bytes()
    assert {path.name for path in folder.iterdir()} == before | {"out"}


def test_of_two_that_write_one_file_one_wins_whole(folder: Path) -> None:
    text = (folder / "text.txt").read_bytes()
    (folder / "other.txt").write_bytes(text[: len(text) // 2].rpartition(b"\n")[0] + b"\n")
    answers = set()
    for name in ("text.txt", "other.txt"):
        line = ["hmm", "train", name, "-k", "2", "--n-iter", "1", "-q"]
        assert eigentext(*line, "-o", "alone", cwd=folder).returncode == 0
        answers.add((folder / "alone").read_bytes())
    assert len(answers) == 2
    runs = [
        _started(["hmm", "train", name, "-k", "2", "--n-iter", "1", "-o", "out"], folder)
        for name in ("text.txt", "other.txt")
    ]
    for process in runs:  # both have all of it written, neither has renamed it
        assert process.stdout is not None
        assert process.stdout.readline() == b"saving\n"
    for process in runs:
        process.communicate(b"\n" * 9)
        assert process.returncode == 0
        assert (folder / "out").read_bytes() in answers
    assert not [path for path in os.listdir(folder) if path.startswith(".")]


def test_of_two_with_one_work_folder_the_second_is_refused(folder: Path) -> None:
    line = ["words", "count", "text.txt", "-o", "out", "-q"]
    with opened(folder / "out.work"):
        done = eigentext(*line, cwd=folder)
        assert done.returncode == 2
        assert b"work folder out.work is in use by another process" in done.stderr
    assert eigentext(*line, cwd=folder).returncode == 0
    assert sorted(os.listdir(folder)) == ["entities.bio", "out", "text.txt"]
