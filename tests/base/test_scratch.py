"""A temporary folder is ours, and goes; another's stays."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from eigentext.base.files import scratch
from eigentext.errors import StorageError


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
    with pytest.raises(StorageError, match="exists"), scratch.scratch_folder():
        pytest.fail("the block must not begin")
    assert (tmp_path / "eigentext-taken" / "letter").read_text() == "mine"
