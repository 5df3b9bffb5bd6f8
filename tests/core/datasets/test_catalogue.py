"""The catalogue: complete facts, found by name, and a check that notices every difference."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

from eigentext.datasets import check, entries, find, locate
from eigentext.errors import DataError, SettingsError

CONTENT = {"set/a.txt": b"first file\n", "set/deep/b.txt": b"second file\n"}


def describe(files, **more):
    listed = [
        {"path": path, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for path, content in files.items()
    ]
    words = dict.fromkeys(("title", "what", "licence", "terms", "home"), "x")
    return {"name": "toy", **words, "files": listed, **more}


@pytest.fixture
def catalogue(tmp_path):
    """Writes a catalogue of these entries and returns its path."""

    def write(*listed):
        path = tmp_path / "catalogue.json"
        path.write_text(json.dumps(listed), encoding="utf-8")
        return path

    return write


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "data"
    for path, content in CONTENT.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def test_our_catalogue_says_what_a_user_must_know():
    names = [entry.name for entry in entries()]
    assert len(names) == len(set(names))
    expected = "sample gum-trees craft icepahc ewt gum fr-sequoia tr-imst wnut17 litbank ar-padt"
    assert set(names) == {*expected.split(), "pl-pdb", "almor", "wiki", "elife", "eltec"} | {
        "openstax",
        "wordsim",
        "hu-szeged",
        "pt-bosque",
    }
    paths = [file.path for entry in entries() for file in entry.files]
    assert len(paths) == len(set(paths))
    for entry in entries():
        assert all((entry.title, entry.what, entry.licence, entry.terms))
        assert entry.home.startswith("https://")
        assert entry.bytes > 0
        for file in entry.files:
            assert file.url is None or file.url.startswith("https://")
        # what cannot be downloaded whole says how it is obtained
        if entry.kind == "files" and any(file.url is None for file in entry.files):
            assert "https://" in entry.manual


def test_addresses_never_move():
    """A pinned commit, not a branch: otherwise the checksum would break one day."""
    for entry in entries():
        for file in entry.files:
            if file.url and "raw.githubusercontent.com" in file.url:
                commit = file.url.split("/")[5]
                assert re.fullmatch("[0-9a-f]{40}", commit)


def test_names_are_found_or_suggested():
    assert find("ewt").path == "dependency/ewt"
    assert find("almor").path.endswith(".db")
    with pytest.raises(SettingsError, match="did you mean litbank"):
        find("litbnak")
    with pytest.raises(SettingsError, match="there are sample, "):
        find("zzzzzzzz")


def test_locate_wants_all_files(root, catalogue, monkeypatch):
    path = catalogue(describe(CONTENT))
    assert locate("toy", root, catalogue=path) == root / "set"
    monkeypatch.setenv("EIGENTEXT_DATA", str(root))
    assert locate("toy", catalogue=path) == root / "set"
    (root / "set/a.txt").unlink()
    assert locate("toy", catalogue=path) is None
    monkeypatch.delenv("EIGENTEXT_DATA")
    assert locate("toy", catalogue=path) is None


def test_one_file_is_its_own_place(root, catalogue):
    path = catalogue(describe({"set/a.txt": CONTENT["set/a.txt"]}))
    assert locate("toy", root, catalogue=path) == root / "set/a.txt"


def test_check_notices_every_difference(root, catalogue, monkeypatch):
    path = catalogue(describe(CONTENT))
    assert check("toy", root, catalogue=path) == []
    (root / "set/a.txt").write_bytes(b"First file\n")
    (root / "set/deep/b.txt").write_bytes(b"second fil\n")
    problems = check("toy", root, catalogue=path)
    assert [(p.kind, p.path.name) for p in problems] == [("checksum", "a.txt"), ("size", "b.txt")]
    assert "has 11 bytes, expected 12" in problems[1].why
    (root / "set/a.txt").unlink()
    (root / "set/a.txt").mkdir()  # a folder is not the file
    assert check("toy", root, catalogue=path)[0].kind == "missing"
    monkeypatch.delenv("EIGENTEXT_DATA", raising=False)
    with pytest.raises(SettingsError, match="EIGENTEXT_DATA"):
        check("toy", catalogue=path)


@pytest.mark.parametrize(
    ("listed", "why"),
    [
        ([describe(CONTENT), describe(CONTENT)], "toy again"),
        ([describe({})], "at least one file"),
        ([describe({"../a": b""})], "below the data folder"),
        ([describe({"/etc/a": b""})], "below the data folder"),
        ([describe({"a/../../b": b""})], "below the data folder"),
        ([describe({"c:/b": b""})], "below the data folder"),
        ([describe({"a\\b": b""})], "below the data folder"),
        ([describe(CONTENT, kind="torrent")], "'files', 'pip-wheel' or 'sample'"),
        ([describe(CONTENT, sise=3)], "Extra inputs are not permitted"),
        ([describe(CONTENT, kind="pip-wheel")], "needs a requirement"),
        ([{"name": "toy"}], "Field required"),
        ({"name": "toy"}, "valid tuple"),
    ],
)
def test_a_bad_catalogue_is_refused(tmp_path, listed, why):
    path = tmp_path / "catalogue.json"
    path.write_text(json.dumps(listed), encoding="utf-8")
    with pytest.raises(DataError, match=why) as caught:
        entries(path)
    assert caught.value.path == str(path)


@pytest.mark.parametrize("content", [b"", b"[", b"\xff\xfe", b"[1, 2"])
def test_a_catalogue_must_be_json(tmp_path, content):
    path = tmp_path / "catalogue.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match="expected JSON"):
        entries(path)


def test_a_missing_catalogue_is_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.json: cannot be read"):
        entries(tmp_path / "none.json")


@pytest.mark.requires("data")
@pytest.mark.parametrize("name", [entry.name for entry in entries() if entry.kind == "files"])
def test_the_data_at_hand_are_those_of_the_catalogue(name, data):
    assert check(name, data) == []
    assert locate(name, data) == data / find(name).path
