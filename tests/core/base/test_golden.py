"""A file of every kind, written once: it loads, it answers, and nothing in it has changed."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from hashlib import sha256
from pathlib import Path
from shutil import copy

import numpy as np
import pytest

from eigentext.base.model import load
from eigentext.base.modelfile import read_header
from eigentext.base.registry import KINDS, class_of
from eigentext.errors import SettingsError
from eigentext.language.trees.dependency import DependencyTree
from helpers import foreign_models
from helpers.golden_model import file_of

GOLDEN = Path(__file__).parents[2] / "golden"
RELEASED = json.loads((GOLDEN / "released.json").read_text())
PROMISES = GOLDEN.parents[1] / "docs" / "reference" / "promises.md"
FINGERPRINTS = json.loads((GOLDEN / "fingerprints.json").read_text())


def test_every_kind_is_there() -> None:
    assert {name.partition(" ")[0] for name in FINGERPRINTS} == set(KINDS)
    assert set(FINGERPRINTS) == set(foreign_models.MODELS)


def test_what_a_release_wrote_is_what_is_read() -> None:
    """Nobody makes a golden file anew so that a changed reader passes."""
    sums = {
        path.name: sha256(path.read_bytes()).hexdigest()
        for path in sorted(GOLDEN.iterdir())
        if path.suffix in (".xz", ".eig")
    }
    assert {name: sum_ for files in RELEASED.values() for name, sum_ in files.items()} == sums
    for version, files in RELEASED.items():
        for name in files:
            if ".db" not in name:
                assert read_header(GOLDEN / name).package_version == version, name


def test_the_promise_names_the_formats_that_are_read() -> None:
    rows = re.findall(
        r"^\| `([\w-]+)` \| ([\d, ]+) \|$", PROMISES.read_text(encoding="utf-8"), re.M
    )
    promised = {kind: set(map(int, formats.split(","))) for kind, formats in rows}
    assert set(promised) == set(KINDS)
    written: dict[str, set[int]] = {}
    for name in FINGERPRINTS:
        header = read_header(GOLDEN / file_of(name))
        written.setdefault(header.kind, set()).add(header.format_version)
    assert promised == written, "a golden file for every format that is promised"
    assert all(class_of(kind).VERSION in promised[kind] for kind in KINDS)


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_a_file_of_before_has_the_same_content(name: str, tmp_path: Path) -> None:
    path = copy(GOLDEN / file_of(name), tmp_path)  # trying it writes other files beside it
    model = load(path)
    assert name.partition(" ")[0] == model.KIND
    assert model.fingerprint() == FINGERPRINTS[name]
    assert type(model).from_bytes(model.to_bytes()).fingerprint() == FINGERPRINTS[name]
    assert foreign_models.try_one(foreign_models.MODELS[name][1], Path(path)) == "answered"


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_the_version_that_reads_it_is_no_part_of_its_content(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eigentext.version.VERSION", "99.0")
    assert load(GOLDEN / file_of(name)).fingerprint() == FINGERPRINTS[name]


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("class-bigram", "perplexity"),
        ("clusters", "assign"),
        ("embeddings", "transform"),
        ("graph-parser with taggers", "parse_many"),
        ("hmm", "predict"),
        ("latent-tagger", "predict"),
        ("lpcfg", "parse_many"),
        ("lrmvl", "transform"),
        ("morph-tagger", "tag"),
        ("multiview", "transform"),
        ("spectral-hmm", "score"),
        ("tagger", "predict"),
        ("topics", "transform"),
    ],
)
def test_one_string_is_no_list_of_sentences(name: str, method: str) -> None:
    ask = getattr(load(GOLDEN / file_of(name)), method)
    with pytest.raises(SettingsError, match="expected a list of sentences, not one string"):
        list(ask("the dog"))
    with pytest.raises(SettingsError, match="is a list of tokens, not the string 'the dog'"):
        list(ask(["the dog"]))


@pytest.mark.parametrize("name", ["hmm", "latent-tree", "spectral-hmm"])
def test_a_setting_set_anew_changes_nothing_that_was_learned(name: str) -> None:
    model = load(GOLDEN / file_of(name))
    before = model._summary()
    assert before in repr(model.set_params(n_states=1))
    if name == "latent-tree":
        tree = DependencyTree(("a", "dog"), np.array([2, 0]), tags=("DET", "NOUN"))
        assert model.posteriors(tree).shape == (2, 6)


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_it_is_looked_at_without_packages_of_the_extras(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    extras = ("cupy", "torch", "matplotlib", "fastapi", "nltk", "spacy")

    class Blocked:  # None in sys.modules is not enough: scipy asks a module that is there
        @staticmethod
        def find_spec(module: str, *_: object) -> None:
            if module.partition(".")[0] in extras:
                raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    for module in [module for module in sys.modules if module.partition(".")[0] in extras]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "meta_path", [Blocked, *sys.meta_path])
    importlib.import_module("sklearn.base")  # whose estimators ask for every attribute they have
    model = load(GOLDEN / file_of(name))
    assert {"fit", "save"} & set(dir(model))
    assert dict(inspect.getmembers(model))["__class__"] is type(model)
    assert repr(model)
    assert str(model)
    for form in ("_repr_html_", "_repr_mimebundle_", "_repr_svg_"):
        if hasattr(model, form):
            assert getattr(model, form)()


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_it_shows_itself_in_a_line(name: str) -> None:
    model = load(GOLDEN / file_of(name))
    assert repr(model).startswith((f"<{type(model).__name__}(", f"<{type(model).__name__}: "))
    assert " object at 0x" not in repr(model)
