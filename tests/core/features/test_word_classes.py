"""Words from elsewhere as classes and bits: nested, deterministic, the same for any length."""

from __future__ import annotations

from itertools import takewhile

import numpy as np
import pytest

from eigentext.errors import DataError, SettingsError
from eigentext.features.word_classes import halving_bits, means_bits, vectors_of


def test_means_near_vectors_share_their_first_bits():
    chance = np.random.default_rng(3)
    centres = np.eye(8)
    vectors = {
        f"{group}-{one}": centres[group] * 5 + chance.normal(0, 0.05, 8)
        for group in range(8)
        for one in range(20)
    }
    bits = means_bits(*vectors_of(vectors, 1.0))
    firsts = {word.split("-")[0]: set() for word in vectors}
    for word, path in bits.items():
        assert len(path) == 9
        assert set(path) <= {"0", "1"}
        firsts[word.split("-")[0]].add(path[:3])
    assert all(len(found) == 1 for found in firsts.values())
    assert len(set.union(*firsts.values())) == 8  # eight groups, eight classes of three bits
    assert bits == means_bits(*vectors_of(vectors, 1.0))
    longer = {word: 7.0 * np.asarray(vector) for word, vector in vectors.items()}
    assert means_bits(*vectors_of(longer, 1.0)) == bits  # length does not matter


def test_vectors_that_are_none_are_told(tmp_path):
    (tmp_path / "bad.vec").write_text("1 2\na 0 nan\n", encoding="utf-8")
    with pytest.raises(DataError):
        vectors_of(tmp_path / "bad.vec", 1.0)


def test_halving_puts_near_words_together():
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((4, 8)) * 5
    vectors = np.repeat(centres, 5, axis=0) + rng.standard_normal((20, 8)) * 0.1
    words = [f"w{k}" for k in range(20)]
    bits = halving_bits(words, vectors)

    def shared(a: int, b: int) -> int:
        pairs = zip(bits[f"w{a}"], bits[f"w{b}"], strict=False)
        return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))

    for a in range(20):
        inside = [shared(a, b) for b in range(20) if b // 5 == a // 5]
        outside = [shared(a, b) for b in range(20) if b // 5 != a // 5]
        assert min(inside) > max(outside)
    assert bits == halving_bits(words, vectors * 3.0)  # length does not matter
    with pytest.raises(SettingsError):
        halving_bits(words[1:], vectors)


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_vectors_that_were_scaled_stay_as_they_are(scale: float) -> None:
    rng = np.random.default_rng(0)
    given = {str(number): rng.normal(size=2) for number in range(2000)} | {"zero": np.zeros(2)}
    words, once = vectors_of(given, scale)
    again, twice = vectors_of(dict(zip(words, once, strict=True)), scale)
    assert again == words
    assert np.array_equal(once, twice)
    assert np.allclose(np.linalg.norm(once[:-1].astype(float), axis=1), scale, rtol=1e-6)
