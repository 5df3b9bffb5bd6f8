"""The ranker with vectors in place of clusters."""

from __future__ import annotations

import json

import numpy as np

from eigentext.cli.main import run
from eigentext.features.word_classes import means_bits, vectors_of
from eigentext.lexical import LexicalRanker


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
    assert ranker.clusters_ == means_bits(*vectors_of(tmp_path / "a.vec", 1.0))
    assert "cluster@0" in ranker.first_templates
    assert run([*common, "--vectors", "a.vec", "--clusters", "x.paths"]) == 2
    assert "expected one of them" in capsys.readouterr().err
