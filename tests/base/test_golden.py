"""A file of every kind, written once: it loads, it answers, and nothing in it has changed."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copy

import numpy as np
import pytest

from eigentext.base.model import load
from eigentext.base.registry import KINDS
from eigentext.errors import SettingsError
from eigentext.trees.dependency import DependencyTree
from helpers import foreign_models
from helpers.golden_model import file_of

GOLDEN = Path(__file__).parents[1] / "golden"
FINGERPRINTS = json.loads((GOLDEN / "fingerprints.json").read_text())


def test_every_kind_is_there() -> None:
    assert {name.partition(" ")[0] for name in FINGERPRINTS} == set(KINDS)
    assert set(FINGERPRINTS) == set(foreign_models.MODELS)


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_a_file_of_before_has_the_same_content(name: str, tmp_path: Path) -> None:
    path = copy(GOLDEN / file_of(name), tmp_path)  # trying it writes other files beside it
    model = load(path)
    assert name.partition(" ")[0] == model.KIND
    assert model.fingerprint() == FINGERPRINTS[name]
    assert type(model).from_bytes(model.to_bytes()).fingerprint() == FINGERPRINTS[name]
    assert foreign_models.try_one(foreign_models.MODELS[name][1], Path(path)) == "answered"


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
        ("spectral-hmm", "score"),
        ("tagger", "predict"),
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
def test_it_shows_itself_in_a_line(name: str) -> None:
    model = load(GOLDEN / file_of(name))
    assert repr(model).startswith((f"<{type(model).__name__}(", f"<{type(model).__name__}: "))
    assert " object at 0x" not in repr(model)
