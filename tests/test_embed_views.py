"""What the benchmark of several views reads and compares by itself."""

from __future__ import annotations

import gzip
import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "benchmarks"))
    return importlib.import_module("embed_views")


def test_a_dictionary_of_dictd(script: Any, tmp_path: Path) -> None:
    entries = {
        "00-database-info": "00-database-info\nA dictionary\n",
        "dog": "dog /dɒg/\n1. chien <masc>, clébard [fam.]\n   Note: an animal\n see: {cat}\n",
        "paris": "Paris /paris/\nParis (ville)\n",
        "hot dog": "hot dog\nsaucisse\n",
        "walk": "walk\naller à pied; marcher\nSynonym: {go}\n",
    }
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    body, index = b"", []
    for word, entry in entries.items():
        packed = entry.encode()
        start, length = (digits[n // 64] + digits[n % 64] for n in (len(body), len(packed)))
        index.append(f"{word}\t{start}\t{length}\n")
        body += packed
    (tmp_path / "a.index").write_text("".join(index), encoding="utf-8")
    (tmp_path / "a.dict.dz").write_bytes(gzip.compress(body))
    assert script.dictionary_pairs(tmp_path / "a.index") == [
        ("dog", "chien", 1.0),
        ("dog", "clébard", 1.0),
        ("Paris", "Paris", 1.0),
        ("walk", "aller à pied", 1.0),
        ("walk", "marcher", 1.0),
    ]


def test_a_difference_of_ranks_is_that_of_spearman(script: Any) -> None:
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 5, 80).astype(float)  # ties
    near, far = gold + rng.normal(0, 1, 80), rng.normal(0, 1, 80)
    found, low, high = script.ranks_differ(near, far, gold, 500)
    plain = [spearmanr(one, gold).statistic for one in (near, far)]
    assert found == pytest.approx(100 * (plain[0] - plain[1]))
    assert 0 < low < found < high
    assert script.ranks_differ(near, near, gold, 50) == (0, 0, 0)
