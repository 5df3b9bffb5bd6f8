"""Generated text: it hangs on the seed alone, grows by going on, and keeps words apart."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from eigentext.base.files.opening import open_binary


@pytest.fixture
def zipf(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "benchmarks"))
    return importlib.import_module("zipf_text")


def content(paths):
    parts = []
    for path in paths:
        with open_binary(str(path)) as file:
            parts.append(file.read())
    return b"".join(parts)


def test_a_text_hangs_on_its_seed_alone(zipf, tmp_path):
    size = zipf.BLOCK
    plain = zipf.write_shards(tmp_path / "a", 2 * size, shard_tokens=size)
    other = zipf.write_shards(tmp_path / "b", 2 * size, packed=True, jobs=2)
    assert [path.name for path in plain] == ["00000.txt", "00001.txt"]
    assert [path.name for path in other] == ["00000.txt.zst"]
    whole = content(plain)
    assert content(other) == whole
    assert len(whole.split()) == 2 * size
    assert content(plain[:1]) == zipf.block_text(0, zipf.Law(), 0)  # a shorter text is its start
    assert zipf.block_text(0, zipf.Law(), 1) != zipf.block_text(0, zipf.Law(), 0)


def test_words_are_ranks(zipf):
    ids = zipf.block_ids(0, zipf.Law(), 3)
    lines = zipf.block_text(0, zipf.Law(), 3).decode().splitlines()
    ends = np.flatnonzero(ids < 0)
    assert len(lines) == len(ends)
    spelled = {}
    tokens = " ".join(lines).split()
    for rank, word in zip(ids[ids >= 0].tolist(), tokens, strict=True):
        assert spelled.setdefault(rank, word) == word
    assert len(set(spelled.values())) == len(spelled)


def test_growth_is_counted_exactly(zipf):
    ids = np.array([0, 1, 0, 1, -1, 0, 2, -1, 1, 0, -1])
    first, second = zipf.growth(ids, (3, 8))
    assert first == {"tokens": 3, "types": 2, "types_once": 1, "pairs": 2, "pairs_once": 2}
    assert second == {"tokens": 8, "types": 3, "types_once": 1, "pairs": 3, "pairs_once": 1}
