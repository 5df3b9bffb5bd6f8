"""Ready models: from anywhere, whole and with the right checksum, or not at all."""

from __future__ import annotations

import hashlib
import json
import lzma

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import eigentext
from eigentext.base.files.opening import atomic_write
from eigentext.cli.main import run
from eigentext.errors import DataError, EigentextError, MissingExtraError, SettingsError
from eigentext.recipes import get_ready, remove
from eigentext.tagging.sequence import SequenceTagger


@pytest.fixture(scope="module")
def content() -> bytes:
    tagger = SequenceTagger(epochs=1).fit([["a", "dog"]] * 3, [["DET", "NOUN"]] * 3)
    tagger.save("memory://ready/made.tagger", data={"name": "dogs", "licence": "CC0"})
    with fsspec.open("memory://ready/made.tagger", "rb") as stream:
        return stream.read()


@pytest.fixture(autouse=True)
def models(tmp_path, monkeypatch):
    folder = tmp_path / "models"
    monkeypatch.setenv("EIGENTEXT_MODELS", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def tags(name):
    return eigentext.load(name).tag(["a", "dog"])


def test_from_a_path_a_file_url_and_memory(content, tmp_path, models):
    (tmp_path / "dogs.tagger").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    assert get_ready("dogs.tagger", sha256=digest) == models / "dogs.model"
    assert get_ready(f"file://{tmp_path}/dogs.tagger", name="two").name == "two.model"
    assert get_ready("memory://ready/made.tagger", sha256=digest.upper()).name == "made.model"
    assert get_ready(tmp_path / "dogs.tagger", name="path").read_bytes() == content
    for name in ("dogs", "two", "made", "path"):
        assert tags(name) == ["DET", "NOUN"]
    card = (models / "two.model.md").read_text()
    assert "Trained on: dogs. Licence: CC0." in card


def test_a_packed_file_is_unpacked_and_its_own_sum_is_checked(content, tmp_path, models):
    packed = lzma.compress(content)
    (tmp_path / "small.tagger.xz").write_bytes(packed)
    place = get_ready("small.tagger.xz", sha256=hashlib.sha256(packed).hexdigest())
    assert place == models / "small.model"
    assert place.read_bytes() == content
    (tmp_path / "cut.tagger.xz").write_bytes(packed[:-20])
    with pytest.raises(EigentextError):
        get_ready("cut.tagger.xz")
    assert not (models / "cut.model").exists()


def test_a_hub_is_a_file_system_like_others(content, monkeypatch):
    class Hub(MemoryFileSystem):
        protocol = "hf"
        store: dict = {}  # noqa: RUF012
        pseudo_dirs: list = [""]  # noqa: RUF012

        @classmethod
        def _strip_protocol(cls, path):
            return "/" + path.removeprefix("hf://").lstrip("/")

    import sys

    with monkeypatch.context() as without:
        without.setitem(sys.modules, "huggingface_hub", None)  # as where it is not installed
        with pytest.raises(MissingExtraError, match=r"huggingface_hub.*'\.\[hub\]'"):
            get_ready("hf://owner/models/dogs.tagger")
    # what fsspec.register_implementation writes to, and what is not undone by itself
    monkeypatch.setitem(sys.modules["fsspec.registry"]._registry, "hf", Hub)
    Hub().pipe("/owner/models/dogs.tagger", content)
    assert get_ready("hf://owner/models/dogs.tagger").name == "dogs.model"
    assert tags("dogs") == ["DET", "NOUN"]


def test_over_http(content, tmp_path, models):
    import threading
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    (tmp_path / "dogs.tagger").write_bytes(content)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        home = f"http://127.0.0.1:{server.server_port}"
        assert get_ready(f"{home}/dogs.tagger?download=true").name == "dogs.model"
        with pytest.raises(DataError, match="404"):
            get_ready(f"{home}/none.tagger")
        server.shutdown()
    assert tags("dogs") == ["DET", "NOUN"]


def test_what_is_wrong_is_not_installed(content, tmp_path, models):
    get_ready("memory://ready/made.tagger", name="kept")
    before = (models / "kept.model").read_bytes()
    wrong = {
        "text": b"just a text",
        "cut": content[:-7],
        "flipped": content[:-3] + bytes([content[-3] ^ 1]) + content[-2:],
        "empty": b"",
    }
    for name, bad in wrong.items():
        (tmp_path / name).write_bytes(bad)
        with pytest.raises(EigentextError, match=name):
            get_ready(name, name="kept")
    with pytest.raises(DataError, match="expected 0000"):
        get_ready("memory://ready/made.tagger", name="kept", sha256="0" * 64)
    assert (models / "kept.model").read_bytes() == before
    assert sorted(path.name for path in models.iterdir()) == ["kept.model", "kept.model.md"]


def test_messages(tmp_path, models):
    for source, error, why in [
        ("english", SettingsError, "cannot be had ready: `eigentext model make english`"),
        ("englisch", SettingsError, "no recipe 'englisch': did you mean english"),
        ("none.tagger", DataError, "no such file"),
        ("memory://none/x.tagger", DataError, "no such file"),
        ("nowhere://x.tagger", DataError, "nowhere"),
        (".", SettingsError, "no name for a model"),
        ("memory://ready/...", SettingsError, "no name for a model"),
    ]:
        with pytest.raises(error, match=why):
            get_ready(source)
    with pytest.raises(DataError, match="a folder"):
        get_ready(tmp_path, name="x")
    with pytest.raises(SettingsError, match="64 digits"):
        get_ready("memory://ready/made.tagger", sha256="abc")
    with pytest.raises(SettingsError, match="is no name"):
        get_ready("memory://ready/made.tagger", name="../up")
    assert not models.exists() or not list(models.iterdir())


def test_a_kind_from_the_future_is_refused(models):
    from eigentext.base import modelfile

    modelfile.save("memory://ready/new.x", "dream", {}, settings={}, format_version=1)
    with pytest.raises(EigentextError, match="'dream', which is not known"):
        get_ready("memory://ready/new.x")


def test_a_recipe_may_tell_of_a_ready_file(content, monkeypatch):
    from eigentext.recipes import ready
    from eigentext.recipes.recipe import Ready, find_recipe

    there = Ready(url="memory://ready/made.tagger", sha256=hashlib.sha256(content).hexdigest())
    recipe = find_recipe("sample").model_copy(update={"ready": there})
    monkeypatch.setattr(ready, "find_recipe", lambda _: recipe)
    assert get_ready("sample").name == "sample.model"
    with pytest.raises(DataError, match="expected 0000"):
        get_ready("sample", sha256="0" * 64)


def test_commands(content, models, capsys, tmp_path):
    with atomic_write("memory://ready/dogs.tagger") as out:
        out.write(content)
    assert run(["model", "get", "memory://ready/dogs.tagger"]) == 0
    shown = capsys.readouterr()
    assert shown.out.strip() == str(models / "dogs.model")
    assert "licence of the data: CC0" in shown.err
    assert run(["info", "dogs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == str(models / "dogs.model")
    assert run(["model", "list", "--json"]) == 0
    listed = {row["name"]: row for row in json.loads(capsys.readouterr().out)["models"]}
    assert listed["dogs"]["bytes"] == len(content)
    assert not listed["dogs"]["recipe"]
    assert listed["dogs"]["licence"] == "CC0"
    assert listed["turkish"]["non_commercial"]
    assert listed["turkish"]["place"] is None
    assert run(["model", "list"]) == 0
    assert "(NC)" in capsys.readouterr().out
    assert run(["info", "dogs"]) == 0
    assert run(["model", "remove", "dogs"]) == 0
    assert not list(models.iterdir())
    capsys.readouterr()
    for command in (["remove", "dogs"], ["remove", "../dogs"]):
        assert run(["model", *command]) == 2
        message = capsys.readouterr().err
        assert message.startswith("eigentext: ")
        assert message.count("\n") == 1


def test_a_damaged_file_in_the_folder_does_not_stop_the_list(models, capsys):
    models.mkdir()
    (models / "bad.model").write_bytes(b"no model")
    assert run(["model", "list"]) == 0
    assert "bad" in capsys.readouterr().out
    remove("bad")
