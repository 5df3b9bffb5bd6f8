"""A temporary folder is ours, and goes; another's stays."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from eigentext.base.files import scratch


def test_a_folder_goes_whatever_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def half_done() -> None:
        with scratch.scratch_folder() as folder:
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
    with pytest.raises(SystemExit), scratch.scratch_folder():
        pytest.fail("the block must not begin")
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_ours_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(scratch.secrets, "token_hex", lambda n: "taken")
    (tmp_path / "eigentext-taken").mkdir()
    (tmp_path / "eigentext-taken" / "letter").write_text("mine")
    with pytest.raises(FileExistsError), scratch.scratch_folder():
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
    return folder / scratch.MARKER


def _names_after_the_next_run(place: Path) -> list[str]:
    with scratch.scratch_folder() as folder:
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
    with open(leftovers / "eigentext-left" / scratch.MARKER, "rb") as lock:
        assert scratch.take_lock(lock)
        assert _names_after_the_next_run(leftovers) == ["eigentext-left"]
    assert _names_after_the_next_run(leftovers) == []


def test_a_folder_of_another_user_is_not_removed(
    leftovers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as another:
        another.setattr(scratch.os, "getuid", lambda: leftovers.stat().st_uid + 1)
        assert _names_after_the_next_run(leftovers) == ["eigentext-left"]
    assert _names_after_the_next_run(leftovers) == []
