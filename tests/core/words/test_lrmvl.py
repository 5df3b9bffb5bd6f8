"""LR-MVL: the streamed moments against every token written out, and what it finds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import fractional_matrix_power, svd

from eigentext.base.files.opening import write_lines
from eigentext.counting.encoding import EncodedText, encode_files, encode_sentences
from eigentext.counting.vocabulary import Vocabulary
from eigentext.errors import ModelFileError, RankError, SettingsError
from eigentext.words.embeddings import lrmvl
from eigentext.words.embeddings.cca import CCAEmbedding
from eigentext.words.embeddings.lrmvl import LRMVL


def encoded(ids, names):
    return EncodedText(Vocabulary.from_words(names), np.array(ids, dtype=np.int32))


def random_text(seed: int, n_words: int = 14, n_sentences: int = 120):
    """Sentences from a chain with two states, so that sides agree on something."""
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(n_sentences):
        state, sentence = rng.integers(3), []
        for _ in range(rng.integers(1, 12)):
            state = state if rng.random() < 0.8 else rng.integers(3)
            sentence.append(int((state * 5 + rng.integers(6)) % n_words))
        sentences.append(sentence)
    ids = np.concatenate([[*sentence, -1] for sentence in sentences]).astype(np.int32)
    return sentences, ids


def smoothed(sentences, U, rates):
    """All contexts, token by token, straight from the definition as a sum over distances."""
    left, right, words = [], [], []
    for sentence in sentences:
        for t, word in enumerate(sentence):
            words.append(word)
            before = [
                sum((a * (1 - a) ** (t - 1 - s) * U[sentence[s]] for s in range(t)), 0 * U[0])
                for a in rates
            ]
            after = [
                sum(
                    (
                        a * (1 - a) ** (s - t - 1) * U[sentence[s]]
                        for s in range(t + 1, len(sentence))
                    ),
                    0 * U[0],
                )
                for a in rates
            ]
            left.append(np.concatenate(before))
            right.append(np.concatenate(after))
    return np.array(words), np.array(left), np.array(right)


def dense_cca(X, Y, rank, ridge_x, ridge_y):
    """CCA by dense roots; the projections of both views."""
    roots = [
        fractional_matrix_power(Z.T @ Z + ridge * np.eye(Z.shape[1]), -0.5).real
        for Z, ridge in ((X, ridge_x), (Y, ridge_y))
    ]
    U, s, Vt = svd(roots[0] @ X.T @ Y @ roots[1])
    return roots[0] @ U[:, :rank], roots[1] @ Vt[:rank].T, s[:rank]


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def dense_lrmvl(sentences, n_words, start, rates, iterations, size, kappa):
    U, correlations = start, np.zeros(0)
    for round_ in range(iterations + 1):
        words, L, R = smoothed(sentences, U, rates)
        A, B, _ = dense_cca(L, R, size // 2, kappa, kappa)
        S = np.concatenate([L @ A, R @ B], axis=1)
        if round_ == iterations:
            return U, S, correlations, words
        W = np.eye(n_words)[words]
        S = S * np.sqrt(len(words) / np.square(S).sum(axis=0).mean())
        projection, _, correlations = dense_cca(W, S, size, kappa, kappa)
        U = unit(projection)
    raise AssertionError


@pytest.mark.parametrize("iterations", [1, 3])
def test_equals_the_dense_reference(iterations):
    sentences, ids = random_text(1)
    n_words, size, kappa, rates = 14, 4, 0.5, (0.3, 0.8)
    names = [f"w{i}" for i in range(n_words)]
    settings = {"rates": rates, "n_iter": iterations, "kappa": kappa, "covariance_tokens": None}
    model = LRMVL(size, seed=3, **settings).fit(encoded(ids, names))
    # <unk> has a row too, but no tokens
    start = lrmvl.random_block(n_words + 1, size, seed=3, stream=11, dtype=np.float32)[:-1]
    U, S, correlations, words = dense_lrmvl(
        sentences, n_words, unit(start.astype(np.float64)), rates, iterations, size, kappa
    )
    found = model.embeddings_.vectors.astype(np.float64)
    # a turn of the axes is no difference: it goes through every later CCA
    np.testing.assert_allclose(found @ found.T, U @ U.T, atol=2e-3)
    np.testing.assert_allclose(model.embeddings_.singular_values, correlations, atol=1e-3)
    tokens = np.concatenate(
        [model.token_vectors([names[w] for w in sentence]) for sentence in sentences]
    ).astype(np.float64)
    np.testing.assert_allclose(tokens[:, :size], found[words], atol=1e-6)
    sides = tokens[:, size:]
    np.testing.assert_allclose(sides @ sides.T, S @ S.T, atol=2e-3 * np.abs(S @ S.T).max())


def test_blocks_do_not_matter(monkeypatch):
    _, ids = random_text(2)
    names = [f"w{i}" for i in range(14)]
    text, settings = encoded(ids, names), {"n_iter": 2, "covariance_tokens": None}
    whole = LRMVL(4, **settings).fit(text)
    monkeypatch.setattr(lrmvl, "_BLOCK_TOKENS", 7)
    pieces = LRMVL(4, **settings).fit(text)
    np.testing.assert_allclose(
        pieces.embeddings_.vectors @ pieces.embeddings_.vectors.T,
        whole.embeddings_.vectors @ whole.embeddings_.vectors.T,
        atol=1e-4,
    )
    assert len(list(lrmvl._blocks(ids))) > 20


def test_blocks_cover_the_text_once_and_break_at_sentences(monkeypatch):
    _, ids = random_text(3)
    monkeypatch.setattr(lrmvl, "_BLOCK_TOKENS", 10)
    blocks = list(lrmvl._blocks(ids))
    assert [begin for begin, _ in blocks] == [0, *(end for _, end in blocks[:-1])]
    assert blocks[-1][1] == len(ids)
    assert all(ids[end - 1] == -1 for _, end in blocks)
    monkeypatch.setattr(lrmvl, "_LONGEST_SENTENCE", 16)
    long = np.zeros(100, dtype=np.int32)
    blocks = list(lrmvl._blocks(long))
    assert max(end - begin for begin, end in blocks) <= 16
    assert sum(end - begin for begin, end in blocks) == 100


def test_the_same_every_time_and_saved_whole(tmp_path):
    _, ids = random_text(4)
    names = [f"w{i}" for i in range(14)]
    settings = {"n_iter": 2, "covariance_tokens": 300, "seed": 1}
    first, second = (LRMVL(4, **settings).fit(encoded(ids, names)) for _ in range(2))
    np.testing.assert_array_equal(first.embeddings_.vectors, second.embeddings_.vectors)
    np.testing.assert_array_equal(first.left_, second.left_)
    first.save(tmp_path / "m.lrmvl")
    back = LRMVL.load(tmp_path / "m.lrmvl")
    assert back.embeddings_.words == tuple(names)
    assert back.get_params() == first.get_params()
    sentence = ["w1", "w9", "never seen", "w2"]
    np.testing.assert_array_equal(first.token_vectors(sentence), back.token_vectors(sentence))
    assert not back.token_vectors(sentence)[2, :4].any()
    with pytest.raises(ModelFileError, match="holds word vectors"):
        CCAEmbedding.load(tmp_path / "m.lrmvl")


def test_words_of_one_class_come_together():
    """Sentences alternate between classes of words: a word's class is all its sides can tell."""
    rng = np.random.default_rng(0)
    n_classes, n_each = 4, 6
    follows = 0.8 * np.eye(n_classes)[[1, 2, 3, 0]] + 0.05
    ids: list[int] = []
    for _ in range(3000):
        state = rng.integers(n_classes)
        for _ in range(8):
            ids.append(int(state * n_each + rng.integers(n_each)))
            state = rng.choice(n_classes, p=follows[state])
        ids.append(-1)
    names = [f"w{i}" for i in range(n_classes * n_each)]
    model = LRMVL(8, exponent=1.0).fit(encoded(ids, names))
    cosines = model.embeddings_.vectors @ model.embeddings_.vectors.T
    np.fill_diagonal(cosines, -1)
    assert (cosines.argmax(axis=1) // n_each == np.arange(len(names)) // n_each).all()


def test_ids_of_files(tmp_path):
    write_lines(tmp_path / "a.txt", ["a cat", "", "a dog a"])
    write_lines(tmp_path / "b.txt", ["cat"])
    files = [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    vocabulary, ids = encode_files(files, vocab_size=2)
    assert vocabulary.words == ("a", "cat", "<unk>")
    assert ids.tolist() == [0, 1, -1, 0, 2, 0, -1, 1, -1]
    sentences = [["a", "cat"], [], ["a", "dog", "a"], ["cat"]]
    in_memory = encode_sentences(sentences, vocab_size=2)
    assert in_memory.vocabulary == vocabulary
    np.testing.assert_array_equal(in_memory.ids, ids)
    with pytest.raises(SettingsError, match="standard input"):
        encode_files(["-"])


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"n_components": 3}, "even"),
        ({"n_components": 0}, "n_components is 0"),
        ({"rates": ()}, "rates"),
        ({"rates": (0.5, 0.0)}, "rates"),
        ({"n_iter": 0}, "n_iter"),
        ({"kappa": -1.0}, "kappa"),
        ({"covariance_tokens": 0}, "covariance_tokens"),
    ],
)
def test_bad_settings(settings, why):
    with pytest.raises(SettingsError, match=why):
        LRMVL(**settings).fit([["a", "b"]])


def test_bad_texts():
    for n_components, ids, why in (
        (2, [-1], "no tokens"),
        (2, [0, 0, -1], "one word type"),
        (4, [0, 1, 0, -1], "above the rank"),
    ):
        with pytest.raises(SettingsError, match=why):
            LRMVL(n_components).fit(encoded(ids, ["a", "b"]))
    # after the first round words before and after do not correlate: what is left is rounding
    square = [line.split() for line in ("a cat ran", "a dog ran", "the cat sat", "the dog sat")]
    with pytest.raises(RankError):
        LRMVL(2, kappa=0.1).fit(square)
    with pytest.raises(RankError):  # no token has words on both sides
        LRMVL(2).fit(encoded([0, 1, -1, 1, 0, -1], ["a", "b"]))
