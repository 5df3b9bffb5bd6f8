"""A file of every kind, written once: it loads, it answers, and nothing in it has changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eigentext.base.model import load
from eigentext.base.registry import KINDS
from helpers import foreign_models
from helpers.golden_model import file_of

GOLDEN = Path(__file__).parents[1] / "golden"
FINGERPRINTS = json.loads((GOLDEN / "fingerprints.json").read_text())


def test_every_kind_is_there() -> None:
    assert {name.partition(" ")[0] for name in FINGERPRINTS} == set(KINDS)
    assert set(FINGERPRINTS) == set(foreign_models.MODELS)


@pytest.mark.parametrize("name", FINGERPRINTS)
def test_a_file_of_before_has_the_same_content(name: str) -> None:
    model = load(GOLDEN / file_of(name))
    assert name.partition(" ")[0] == model.KIND
    assert model.fingerprint() == FINGERPRINTS[name]
    assert type(model).from_bytes(model.to_bytes()).fingerprint() == FINGERPRINTS[name]
    assert foreign_models.try_one(foreign_models.MODELS[name][1], GOLDEN / file_of(name)) == (
        "answered"
    )
