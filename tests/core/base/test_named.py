"""Models by name: which argument stands for what, and what is said where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

import eigentext
from eigentext.base.modelfile import read_header
from eigentext.base.registry import installed, located, models_folder, place_of
from eigentext.errors import DataError, SettingsError
from eigentext.tagging.sequence import SequenceTagger


@pytest.fixture
def models(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setenv("EIGENTEXT_MODELS", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def _tagger(tag: str) -> SequenceTagger:
    return SequenceTagger(epochs=1).fit([["a", "dog"]] * 3, [["DET", tag]] * 3)


def test_the_folder_is_the_variables_or_the_users(monkeypatch, tmp_path):
    monkeypatch.setenv("EIGENTEXT_MODELS", str(tmp_path))
    assert models_folder() == tmp_path
    monkeypatch.delenv("EIGENTEXT_MODELS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert models_folder() == tmp_path / "eigentext" / "models"
    monkeypatch.setenv("XDG_DATA_HOME", "not/absolute")  # which the rule says to pass over
    monkeypatch.setenv("HOME", str(tmp_path))
    assert models_folder() == tmp_path / ".local" / "share" / "eigentext" / "models"


def test_a_name_is_loaded_and_a_file_goes_before_it(models, tmp_path):
    _tagger("NOUN").save(place_of("dogs"))
    assert eigentext.load("dogs").tag(["a", "dog"]) == ["DET", "NOUN"]
    assert SequenceTagger.load("dogs").tag(["a", "dog"]) == ["DET", "NOUN"]
    assert read_header("dogs").kind == "tagger"
    assert located("dogs") == str(models / "dogs.model")
    _tagger("PET").save(tmp_path / "dogs")
    assert eigentext.load("dogs").tag(["a", "dog"]) == ["DET", "PET"]
    (tmp_path / "dogs").unlink()
    (tmp_path / "dogs").mkdir()  # a folder hides no model
    assert eigentext.load("dogs").tag(["a", "dog"]) == ["DET", "NOUN"]


def test_what_is_no_name_is_a_path(models):
    for source in ("-", "memory://a/english", "no/such/english", "english.pipe", "../english", ""):
        assert located(source) == source
    with pytest.raises(DataError, match="no such file"):
        eigentext.load("english.pipe")


def test_messages_say_what_would_help(models):
    with pytest.raises(DataError, match="english: not made yet: `eigentext model make english`"):
        eigentext.load("english")
    with pytest.raises(DataError, match="klingon: no such file, and no model of this name"):
        eigentext.load("klingon")
    for name in ("../evil", "a/b", "a.b", "", "-x", "ä"):
        with pytest.raises(SettingsError, match="is no name"):
            place_of(name)


def test_installed_models_are_listed(models):
    assert installed() == {}
    for name in ("b.model", "a.model", "not a name.model", "other.txt"):
        (models / name).write_bytes(b"x")
    (models / "folder.model").mkdir()
    assert list(installed()) == ["a", "b"]
    models.joinpath("a.model").unlink()
    assert list(installed()) == ["b"]


def test_no_folder_at_all_is_no_models(monkeypatch, tmp_path):
    monkeypatch.setenv("EIGENTEXT_MODELS", str(tmp_path / "none"))
    assert installed() == {}
