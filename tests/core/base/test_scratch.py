"""A temporary folder is ours, and goes; another's stays."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eigentext.base.files import writing
from eigentext.base.files.opening import atomic_write
from eigentext.errors import StorageError


def test_a_folder_goes_whatever_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def half_done() -> None:
        with writing.scratch_folder() as folder:
            (folder / "half").write_text("done")
            assert folder.parent == tmp_path
            assert folder.stat().st_mode & 0o777 == 0o700
            raise SystemExit(143)

    with pytest.raises(SystemExit):
        half_done()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_goes_when_the_end_comes_while_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made_and_ended(self: Path, mode: int) -> None:
        mkdir(self, mode)
        raise SystemExit(143)  # as the handler of a signal does, at the worst moment

    mkdir = Path.mkdir
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(Path, "mkdir", made_and_ended)
    with pytest.raises(SystemExit), writing.scratch_folder():
        pytest.fail("the block must not begin")
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_ours_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(writing.secrets, "token_hex", lambda n: "taken")
    (tmp_path / "eigentext-taken").mkdir()
    (tmp_path / "eigentext-taken" / "letter").write_text("mine")
    with pytest.raises(StorageError, match="exists"), writing.scratch_folder():
        pytest.fail("the block must not begin")
    assert (tmp_path / "eigentext-taken" / "letter").read_text() == "mine"


@pytest.fixture
def leftovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place for temporary files, with a folder in it that a killed process left behind."""
    pytest.importorskip("fcntl")
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    _left(place / "eigentext-left").touch()
    return place


def _left(folder: Path) -> Path:
    """A folder with something in it; where its marker would be."""
    folder.mkdir()
    (folder / "letter").write_text("mine")
    return folder / writing.MARKER


def _names_after_the_next_run(place: Path) -> list[str]:
    with writing.scratch_folder() as folder:
        return sorted(path.name for path in place.iterdir() if path != folder)


def test_what_a_killed_process_left_is_removed_and_nothing_else(
    leftovers: Path, tmp_path: Path
) -> None:
    _left(leftovers / "eigentext-unmarked")
    _left(leftovers / "another").touch()
    (tmp_path / "marker").touch()
    _left(leftovers / "eigentext-link-as-marker").symlink_to(tmp_path / "marker")
    _left(leftovers / "eigentext-folder-as-marker").mkdir()
    _left(tmp_path / "elsewhere").touch()
    (leftovers / "eigentext-link").symlink_to(tmp_path / "elsewhere")
    expected = sorted(path.name for path in leftovers.iterdir() if path.name != "eigentext-left")
    assert _names_after_the_next_run(leftovers) == expected
    letters = [*leftovers.glob("*/letter"), tmp_path / "elsewhere" / "letter"]
    assert [letter.read_text() for letter in letters] == ["mine"] * 6


def test_a_folder_in_use_is_not_removed(leftovers: Path) -> None:
    with open(leftovers / "eigentext-left" / writing.MARKER, "rb") as lock:
        assert writing.take_lock(lock)
        assert _names_after_the_next_run(leftovers) == ["eigentext-left"]
    assert _names_after_the_next_run(leftovers) == []


def test_a_folder_of_another_user_is_not_removed(
    leftovers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as another:
        another.setattr(writing.os, "getuid", lambda: leftovers.stat().st_uid + 1)
        assert _names_after_the_next_run(leftovers) == ["eigentext-left"]
    assert _names_after_the_next_run(leftovers) == []


_WRITER = """
import sys
from eigentext.base.files.opening import atomic_write
with atomic_write(sys.argv[1]) as out:
    out.write(b"whole")
    print(flush=True)
    sys.stdin.readline()
"""
_NAME = ".eigentext-0123456789abcdef.tmp"


@contextmanager
def _writer(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process in the middle of writing."""
    line = [sys.executable, "-c", _WRITER, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(line, **pipes) as process:  # type: ignore[call-overload]
        process.stdout.readline()
        yield process


def _write(path: Path) -> None:
    with atomic_write(path) as out:
        out.write(b"new")


def test_what_a_killed_writer_left_goes(tmp_path: Path) -> None:
    with _writer(tmp_path / "a") as process:
        process.kill()
    (left,) = tmp_path.iterdir()
    assert writing._FILE.fullmatch(left.name)
    _write(tmp_path / "b")
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_a_living_writer_is_left_alone(tmp_path: Path) -> None:
    with _writer(tmp_path / "a") as process:
        _write(tmp_path / "b")
        assert len(list(tmp_path.iterdir())) == 2
        process.communicate(b"\n")
    assert process.returncode == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "a": b"whole",
        "b": b"new",
    }


def test_until_it_is_renamed_no_one_else_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def replace_later(source: str, target: str) -> None:
        if target.endswith("a"):
            _write(tmp_path / "b")
        replace(source, target)

    monkeypatch.setattr(os, "replace", replace_later)
    _write(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == b"new"


def test_a_file_that_was_taken_before_it_was_locked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = writing.take_lock

    def too_late(file: object, *, wait: bool = False) -> bool:
        monkeypatch.setattr(writing, "take_lock", lock)
        for path in tmp_path.iterdir():
            path.unlink()
        return lock(file, wait=wait)  # type: ignore[arg-type]

    monkeypatch.setattr(writing, "take_lock", too_late)
    _write(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_only_abandoned_files_of_ours_go(tmp_path: Path) -> None:
    names = [_NAME.upper(), f"{_NAME}.old", "x" + _NAME, ".eigentext-notes.tmp", "letter"]
    for name in names:
        (tmp_path / name).write_text("mine")
    (tmp_path / _NAME).symlink_to("letter")
    (tmp_path / _NAME.replace("0", "1")).mkdir()
    before = {path.name for path in tmp_path.iterdir()}
    _write(tmp_path / "a")
    assert {path.name for path in tmp_path.iterdir()} == before | {"a"}
    assert {(tmp_path / name).read_text() for name in names} == {"mine"}


@pytest.mark.parametrize("user", [None, os.getuid() + 1])
def test_where_it_cannot_be_told_nothing_goes(
    user: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / _NAME).write_text("half")
    with monkeypatch.context() as patch:
        if user is None:
            patch.delattr(os, "getuid")
        else:
            patch.setattr(os, "getuid", lambda: user)
        _write(tmp_path / "a")
    assert (tmp_path / _NAME).exists()
    _write(tmp_path / "a")
    assert not (tmp_path / _NAME).exists()
