"""Nearest words: against a full sort, from every kind of file, and unknown words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.base import modelfile
from eigentext.errors import DataError, ModelFileError, SettingsError
from eigentext.language.formats.word2vec import write_vectors
from eigentext.words.embeddings import vectors as module
from eigentext.words.embeddings.cca import CCAEmbedding
from eigentext.words.embeddings.lrmvl import LRMVL
from eigentext.words.embeddings.vectors import WordSpace, load_words, near_spellings


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.booleans())
def test_equals_a_full_sort(seed, k, coarse):
    rng = np.random.default_rng(seed)
    n = 9
    vectors = rng.integers(-1, 2, (n, 2)) if coarse else rng.standard_normal((n, 3))
    words = [f"w{i}" for i in range(n)]
    queries = ["w3", "w0:w1::w2", "w8", "w4:w4::w5"]
    rows = [[3], [0, 1, 2], [8], [4, 4, 5]]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    for found, asked in zip(WordSpace(words, vectors).nearest(queries, k), rows, strict=True):
        aim = (
            unit[asked[0]] if len(asked) == 1 else unit[asked[1]] - unit[asked[0]] + unit[asked[2]]
        )
        length = np.linalg.norm(aim)
        cosine = unit @ (aim / length if length else aim)
        expected = sorted((i for i in range(n) if i not in asked), key=lambda i: -cosine[i])[:k]
        assert len(found) == len(expected)
        got = [int(word[1:]) for word, _ in found]
        assert not set(got) & set(asked)
        np.testing.assert_allclose([c for _, c in found], cosine[expected], atol=1e-5)
        np.testing.assert_allclose(cosine[got], cosine[expected], atol=1e-5)


def test_blocks_do_not_matter(monkeypatch):
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((50, 4))
    words = [f"w{i}" for i in range(50)]
    whole = WordSpace(words, vectors).nearest(words, 5)
    monkeypatch.setattr(module, "_CELLS_AT_ONCE", 120)
    for one, other in zip(WordSpace(words, vectors).nearest(words, 5), whole, strict=True):
        assert [word for word, _ in one] == [word for word, _ in other]


def test_ties_go_by_the_order_of_words():
    vectors = np.array([[1.0, 0.0]] * 5)
    assert [w for w, _ in WordSpace(list("abcde"), vectors).nearest(["c"], 3)[0]] == [
        "a",
        "b",
        "d",
    ]


def test_every_kind_of_file(tmp_path):
    words, vectors = ("a", "b", "c"), np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
    write_vectors(words, vectors, tmp_path / "v.txt")
    write_vectors(words, vectors, tmp_path / "v.bin", binary=True)
    write_vectors(words, vectors, tmp_path / "v.txt.gz")
    for name in ("v.txt", "v.bin", "v.txt.gz"):
        found = load_words(tmp_path / name)
        assert found[0] == words
        np.testing.assert_array_equal(found[1], vectors)
    text = [["a", "b", "c"], ["c", "b", "a"], ["b", "a", "c"]]
    for model in (LRMVL(2, kappa=0.1), CCAEmbedding(2, contexts="lr1")):
        model.fit(text).save(tmp_path / "m.vec")
        known, vectors = load_words(tmp_path / "m.vec")
        assert known == words
        np.testing.assert_array_equal(vectors, model.embeddings_.vectors)
    modelfile.save(tmp_path / "other", "counts", {}, settings={}, format_version=1)
    with pytest.raises(ModelFileError, match="holds counts of words"):
        load_words(tmp_path / "other")
    (tmp_path / "text").write_text("just words here\n")
    with pytest.raises(DataError, match="number-of-words"):
        load_words(tmp_path / "text")


def test_unknown_words_get_near_spellings():
    words = ["receive", "Rome", "cat"]
    vectors = np.eye(3)
    with pytest.raises(SettingsError, match=r"'recieve' is not in.*near spellings: receive"):
        WordSpace(words, vectors).nearest(["recieve"])
    with pytest.raises(SettingsError, match="near spellings: Rome"):
        WordSpace(words, vectors).nearest(["cat:receive::ROME"])
    with pytest.raises(SettingsError, match=r"'xyzzy' is not in the vocabulary$"):
        WordSpace(words, vectors).nearest(["xyzzy"])
    assert near_spellings("Cat", words) == ["cat"]


def test_bad_calls():
    with pytest.raises(TypeError, match="list of queries"):
        WordSpace(["a"], np.eye(1)).nearest("a")
    with pytest.raises(SettingsError, match="k is 0"):
        WordSpace(["a"], np.eye(1)).nearest(["a"], 0)
    assert WordSpace(["a"], np.eye(1)).nearest(["a"], 3) == [[]]
    assert WordSpace(["a:b::c", "d"], np.eye(2)).nearest(["a:b::c"], 1)[0][0][0] == "d"
