"""Vectors as classes: nested, deterministic, and of use to a word that training never showed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from eigentext.cli.main import run
from eigentext.errors import DataError
from eigentext.lexical import LexicalRanker
from eigentext.lexical.ranker.vector_classes import bits_of_vectors


def test_near_vectors_share_their_first_bits():
    chance = np.random.default_rng(3)
    centres = np.eye(8)
    vectors = {
        f"{group}-{one}": centres[group] * 5 + chance.normal(0, 0.05, 8)
        for group in range(8)
        for one in range(20)
    }
    bits = bits_of_vectors(vectors)
    firsts = {word.split("-")[0]: set() for word in vectors}
    for word, path in bits.items():
        assert len(path) == 9
        assert set(path) <= {"0", "1"}
        firsts[word.split("-")[0]].add(path[:3])
    assert all(len(found) == 1 for found in firsts.values())
    assert len(set.union(*firsts.values())) == 8  # eight groups, eight classes of three bits
    assert bits == bits_of_vectors(vectors)
    longer = {word: 7.0 * np.asarray(vector) for word, vector in vectors.items()}
    assert bits_of_vectors(longer) == bits  # length does not matter


def test_vectors_that_are_none_are_told(tmp_path):
    (tmp_path / "bad.vec").write_text("1 2\na 0 nan\n", encoding="utf-8")
    with pytest.raises(DataError):
        bits_of_vectors(tmp_path / "bad.vec")


def test_the_command_takes_vectors_or_clusters(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["data", "get", "sample", "-o", ".", "--quiet"]) == 0
    words = {
        word["form"]
        for line in (tmp_path / "sample/arabic.jsonl").read_text(encoding="utf-8").splitlines()
        for word in json.loads(line)["words"]
    }
    chance = np.random.default_rng(0)
    rows = [
        " ".join([word, *(f"{x:.3f}" for x in chance.normal(size=4))]) for word in sorted(words)
    ]
    (tmp_path / "a.vec").write_text(f"{len(rows)} 4\n" + "\n".join(rows) + "\n", encoding="utf-8")
    common = ["lex", "train", "sample/arabic.jsonl", "-o", "a.ranker", "--bits", "12", "--quiet"]
    assert run([*common, "--passes", "1", "--vectors", "a.vec"]) == 0
    ranker = LexicalRanker.load(tmp_path / "a.ranker")
    assert ranker.clusters_ == bits_of_vectors(tmp_path / "a.vec")
    assert "cluster@0" in ranker.first_templates
    assert run([*common, "--vectors", "a.vec", "--clusters", "x.paths"]) == 2
    assert "expected one of them" in capsys.readouterr().err
