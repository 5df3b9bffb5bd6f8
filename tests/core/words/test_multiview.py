"""Vectors from several views: exact latents, a dense twin, unknown words, files and commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.base.files.opening import write_lines
from eigentext.counting.encoding import encode_sentences
from eigentext.counting.vocabulary import UNKNOWN
from eigentext.errors import DataError, RankError, SettingsError
from eigentext.linalg.cca import cca_from_moments
from eigentext.words import MultiviewEmbedding
from eigentext.words.embeddings import multiview as tables
from eigentext.words.embeddings.characters import (
    common_features,
    feature_matrix,
    features_of,
    fit_character_map,
    ridge_regression,
)
from eigentext.words.embeddings.multiview import ReducedView, consensus
from eigentext.words.embeddings.vectors import load_space
from helpers.commands import eigentext

NOUNS = ["cat", "dog", "cow", "fox", "hen"]
TEXT = [
    line.split()
    for noun in NOUNS
    for line in (f"the {noun} ran away", f"a {noun}s sat down", f"{noun}s ran home", f"my {noun}")
]


@pytest.fixture(scope="module")
def model() -> MultiviewEmbedding:
    return MultiviewEmbedding(6, views=("left", "right", "characters")).fit(TEXT)


def reduced(X: np.ndarray) -> ReducedView:
    U, S, _ = np.linalg.svd(X, full_matrices=False)
    return ReducedView(U, S, np.ones(len(X), bool))


def projector(X: np.ndarray) -> np.ndarray:
    Q = np.linalg.qr(X)[0]
    return Q @ Q.T


# ---------------------------------------------------------------- the consensus


def test_a_latent_that_all_views_share_is_found() -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((50, 3))
    views = [reduced(np.hstack([Z, rng.standard_normal((50, d))])) for d in (2, 3, 4)]
    G, values = consensus(views, 3)
    assert np.allclose(values, 1, atol=1e-5)  # single precision
    assert np.linalg.norm(projector(G) - projector(Z), 2) < 1e-4


def test_two_views_are_the_cca_that_there_is() -> None:
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((60, 2))
    X, Y = (Z @ rng.standard_normal((2, 4)) + rng.standard_normal((60, 4)) for _ in range(2))
    G, values = consensus([reduced(X), reduced(Y)], 3)
    pair = cca_from_moments(X.T @ Y, X.T @ X, Y.T @ Y, 3)
    np.testing.assert_allclose(values, (1 + pair.correlations) / 2, rtol=1e-4)
    ours = X @ pair.projections[0] + Y @ pair.projections[1]
    assert np.linalg.norm(projector(G) - projector(ours), 2) < 1e-3


def test_words_without_a_view_are_judged_by_the_others() -> None:
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((60, 3))
    every = np.ones(60, bool)
    half = every & (np.arange(60) % 2 == 0)
    views = []
    for present, extra in ((every, 2), (every, 3), (half, 2)):
        X = np.hstack([Z, rng.standard_normal((60, extra))]) * present[:, None]
        U, S, _ = np.linalg.svd(X, full_matrices=False)
        views.append(ReducedView(U, S, present))
    G, values = consensus(views, 3)
    assert np.allclose(values, 1, atol=1e-5)  # all views agree on the words that they have
    assert np.linalg.norm(projector(G) - projector(Z), 2) < 1e-4


def test_a_ridge_means_the_same_for_every_view() -> None:
    rng = np.random.default_rng(4)
    X, Y = rng.standard_normal((40, 5)), rng.standard_normal((40, 6))
    assert np.square(reduced(7 * X).scaled()).sum() / 40 / 5 == pytest.approx(1)
    _, values = consensus([reduced(X), reduced(Y)], 3, ridge=0.5)
    _, again = consensus([reduced(7 * X), reduced(Y)], 3, ridge=0.5)
    np.testing.assert_allclose(values, again, rtol=1e-5)


# ---------------------------------------------------------------- views, against plain counting


def plain_neighbours(
    text: list[list[str]], window: int, side: str
) -> dict[tuple[str, str], float]:
    counts: dict[tuple[str, str], float] = {}
    for sentence in text:
        for i, word in enumerate(sentence):
            for j, other in enumerate(sentence):
                near = 0 < abs(i - j) <= window
                if near and (side == "bag" or (j < i) == (side == "left")):
                    weight = (window - abs(i - j) + 1) / window
                    key = (word, other.lower())
                    counts[key] = counts.get(key, 0.0) + weight
    return counts


@pytest.mark.parametrize("side", ["left", "right", "bag"])
def test_neighbours_are_counted_as_they_stand(side: str) -> None:
    text = [["The", "cat", "saw", "the", "cat"], ["cat", "the"]]
    encoded = encode_sentences(text)
    words = encoded.vocabulary.words
    matrix = tables.neighbour_view(tables.words_after(encoded, 3), side, words).toarray()
    forms = list(dict.fromkeys(word.lower() for word in words))
    found = {(words[i], forms[j]): matrix[i, j] for i, j in zip(*np.nonzero(matrix), strict=True)}
    assert found == pytest.approx(plain_neighbours(text, 3, side))


def test_documents_and_pairs_are_counted() -> None:
    encoded = encode_sentences([["a", "b"], ["a"], ["b", "b"]])
    row_of = {word: row for row, word in enumerate(encoded.vocabulary.words[:-1])}
    documents = tables.document_view(encoded, 2).toarray()
    assert documents[[row_of["a"], row_of["b"]]].tolist() == [[2, 0], [1, 2]]
    rare = encode_sentences([["a", "b"], ["a"]], vocab_size=1)  # b is <unk>, which has no row
    assert tables.document_view(rare, 1).toarray().tolist() == [[1, 1]]
    pairs = [("a", "x", 2.0), ("c", "x", 1.0), ("b", "y", 3.0)]
    assert tables.pair_view(pairs, row_of).toarray()[row_of["b"]].tolist() == [0, 3]


def test_all_views_at_once_and_words_that_lack_some() -> None:
    pairs = [(noun, f"x{number % 3}", 1.0 + number) for number, noun in enumerate(NOUNS)]
    every = ("left", "right", "bag", "document", "translations", "characters")
    model = MultiviewEmbedding(4, views=every, document_sentences=2)
    vectors = model.fit(TEXT, pairs=pairs).embeddings_
    assert np.isfinite(vectors.vectors).all()
    assert np.allclose(np.linalg.norm(vectors.vectors, axis=1), 1, atol=1e-5)
    assert (vectors.singular_values <= 1 + 1e-5).all()
    assert UNKNOWN not in vectors.words


def test_what_a_setting_does() -> None:
    """Weights, ridge, exponent and rank reach the consensus, each as it is defined."""
    views = ("left", "right", "characters")
    usual = MultiviewEmbedding(4, views=views).fit(TEXT).embeddings_
    for other in ({"view_weights": (1.0, 1.0, 9.0)}, {"ridge": 1.0}, {"view_rank": 5}):
        made = MultiviewEmbedding(4, views=views, **other).fit(TEXT).embeddings_
        assert not np.allclose(made.singular_values, usual.singular_values, atol=1e-3), other
    flat = MultiviewEmbedding(4, views=views, exponent=0.0).fit(TEXT).embeddings_
    weighed = flat.vectors * usual.singular_values
    weighed /= np.linalg.norm(weighed, axis=1, keepdims=True)
    np.testing.assert_allclose(weighed, usual.vectors, atol=1e-5)
    far = MultiviewEmbedding(4, views=views, window=1).fit(TEXT).embeddings_
    assert not np.allclose(far.singular_values, usual.singular_values, atol=1e-3)


def test_translations_bring_words_together_and_leave_the_others() -> None:
    """Two words that no text tells apart from others are near by one common translation."""
    rng = np.random.default_rng(3)
    words = [f"w{number}" for number in range(30)]
    text = [[str(word) for word in rng.choice(words, 6)] for _ in range(300)]
    pairs = [(word, f"x{number // 2}", 1.0) for number, word in enumerate(words[:20])]
    with_pairs = MultiviewEmbedding(12, views=("left", "right", "translations"), view_rank=12)
    made = with_pairs.fit(text, pairs=pairs)
    without = MultiviewEmbedding(12, views=("left", "right"), view_rank=12).fit(text)

    def cosines(model: MultiviewEmbedding) -> np.ndarray:
        rows = model.vectors(words)
        return np.array([rows[at] @ rows[at + 1] for at in range(0, 30, 2)])

    assert cosines(made)[:10].mean() > cosines(without)[:10].mean() + 0.3
    lonely = made.vectors(words[20:])  # judged by their other views, not taken for nothing
    assert np.allclose(np.linalg.norm(lonely, axis=1), 1, atol=1e-5)


# ---------------------------------------------------------------- characters


def test_ridge_regression_is_the_closed_form() -> None:
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((20, 8)), rng.standard_normal((20, 3))
    direct = np.linalg.solve(X.T @ X + 0.7 * np.eye(8), X.T @ Y)
    np.testing.assert_allclose(ridge_regression(X, Y, 0.7, n_iter=30), direct, atol=1e-10)


@settings(max_examples=40, deadline=None)
@given(st.text(min_size=1, max_size=80))
def test_every_word_has_features_in_order(word: str) -> None:
    features = features_of(word)
    assert features == sorted(set(features))
    assert any(feature.startswith("shape=") for feature in features)


def test_a_map_that_is_there_is_found() -> None:
    """Vectors that are a linear function of characters: unknown words get theirs."""
    rng = np.random.default_rng(6)
    stems = ["".join(rng.choice(list("abcdefghij"), 4)) for _ in range(60)]
    words = sorted({stem + end for stem in stems for end in ("", "ing", "ed", "s")})
    features = common_features(words)
    column_of = {feature: column for column, feature in enumerate(features)}
    rows = feature_matrix(words, column_of).toarray()
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    vectors = rows @ rng.standard_normal((len(features), 5))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    new = np.arange(len(words)) % 7 == 0
    kept = [word for word, out in zip(words, new, strict=True) if not out]
    learned, ridge = fit_character_map(kept, vectors[~new].astype(np.float32))
    noise = rng.standard_normal((len(kept), 5)).astype(np.float32)
    noisy = vectors[~new].astype(np.float32) + noise
    assert fit_character_map(kept, noisy)[1] > ridge  # held-out words ask for more of it
    told = learned.vectors([word for word, out in zip(words, new, strict=True) if out])
    assert np.einsum("ij,ij->i", told, vectors[new]).mean() > 0.8
    assert not learned.vectors(["@"])[0].any()


def test_unknown_words_have_neighbours(model: MultiviewEmbedding, tmp_path: Path) -> None:
    known = model.embeddings_.words
    assert "catss" not in known
    near = model.neighbours("catss", 3)
    assert {word for word, _ in near} & {"cat", "cats"}
    assert model.vectors(["cat", "catss", "@"]).any(axis=1).tolist() == [True, True, False]
    with pytest.raises(SettingsError, match="'@' is not in the vocabulary"):
        model.neighbours("@")
    file = tmp_path / "text.views"
    model.save(file)
    again = MultiviewEmbedding.load(file)
    assert again.neighbours("catss", 3) == near
    assert load_space(file).missing("cat:catss::@") == ["@"]
    assert again.fingerprint() == model.fingerprint()


def test_without_characters_unknown_words_stay_unknown() -> None:
    model = MultiviewEmbedding(4, views=("left", "right")).fit(TEXT)
    again = MultiviewEmbedding.from_bytes(model.to_bytes())
    assert again.characters_ is None
    with pytest.raises(SettingsError, match="not in the vocabulary"):
        again.neighbours("catss")
    assert again.transform([["catss"], ["cat", "catss"]])[0].tolist() == [0.0] * 4


def test_the_same_answer_every_time(model: MultiviewEmbedding) -> None:
    again = MultiviewEmbedding(6, views=("left", "right", "characters")).fit(TEXT)
    assert again.fingerprint() == model.fingerprint()


# ---------------------------------------------------------------- errors and commands


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"views": ("left",)}, "two or more"),
        ({"views": ("left", "left")}, "two or more"),
        ({"views": ("left", "up")}, "expected 'left'"),
        ({"view_weights": (1.0,)}, "1 numbers for 4 views"),
        ({"views": ("left", "translations")}, "translations and pairs of words .--pairs. go"),
        ({"views": ("left", "dependencies")}, "expected 'left'"),
    ],
)
def test_bad_settings(settings_: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        MultiviewEmbedding(3, **settings_).fit(TEXT)


def test_more_dimensions_than_the_views_have(tmp_path: Path) -> None:
    with pytest.raises(RankError):
        MultiviewEmbedding(90, views=("left", "right")).fit(TEXT)
    write_lines(str(tmp_path / "text.txt"), [" ".join(sentence) for sentence in TEXT])
    line = "words embed text.txt -o x --views left,right --n-components 90"
    done = eigentext(*line.split(), cwd=tmp_path)
    assert done.returncode == 2
    assert b"take fewer --n-components" in done.stderr


@pytest.mark.parametrize("n", range(3, 20))
def test_one_document_tells_no_word_from_another(n: int) -> None:
    """Every ratio is 1; that rounding makes it more for some words is no view."""
    rng = np.random.default_rng(n)
    one = [[f"w{int(x)}" for x in rng.zipf(1.5, 9) % 40] for _ in range(n)]
    with pytest.raises(DataError, match="tells no word from another"):
        MultiviewEmbedding(1, views=("left", "document"), document_sentences=99).fit(one)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("c\td\t-2", "2: count '-2', expected a number above 0"),
        ("c\td\tnan", "2: count 'nan'"),
        ("c\td\t1\t1", "2: 4 columns, expected word, foreign word and a count"),
        ("c d", "2: 1 columns"),
        ("c\t\t1", "2: column 2 is empty"),
    ],
)
def test_bad_pairs_are_named_by_line(line: str, message: str) -> None:
    write_lines("memory://views/bad.tsv", ["a\tb\t1", line])
    with pytest.raises(DataError, match=message):
        tables.read_word_pairs("memory://views/bad.tsv")


def test_pairs_on_the_command_line(tmp_path: Path) -> None:
    write_lines(tmp_path / "text.txt", [" ".join(sentence) for sentence in TEXT])
    files = {
        "good.tsv": "cat\tchat\ncow\tvache\t2\n",
        "bad.tsv": "cat\tchat\ncow\tvache\tmany\n",
        "other.tsv": "mouse\tsouris\n",
    }
    for name, lines in files.items():
        write_lines(tmp_path / name, lines.split("\n"))

    def embed(pairs: str) -> tuple[int, str]:
        views = ("--views", "left,right,translations", "--pairs", pairs)
        flags = ("-o", "out.views", "--n-components", "3", *views)
        done = eigentext("words", "embed", "text.txt", *flags, cwd=tmp_path)
        return done.returncode, done.stderr.decode()

    assert embed("good.tsv")[0] == 0
    assert MultiviewEmbedding.load(tmp_path / "out.views").vectors(["cow"]).any()
    for file, message in (
        ("none.tsv", "none.tsv: no such file"),
        ("bad.tsv", "bad.tsv:2: count 'many'"),
        ("other.tsv", "it has no word of the vocabulary"),
    ):
        code, told = embed(file)
        assert (code, message in told) == (2, True), told


def test_commands(tmp_path: Path) -> None:
    text, out, vectors = (str(tmp_path / name) for name in ("text.txt", "text.views", "out.txt"))
    write_lines(text, [" ".join(sentence) for sentence in TEXT])
    chosen = ("--views", "left,right,characters", "--n-components", "6")
    assert eigentext("words", "embed", text, "-o", out, *chosen, cwd=tmp_path).returncode == 0
    done = eigentext("words", "inspect", out, "catss", "--top", "2", cwd=tmp_path)
    assert done.returncode == 0
    assert b"cat" in done.stdout
    write_lines(tmp_path / "new.txt", ["catss @"])
    line = ("words", "apply", out, "new.txt", "-o", vectors)
    assert eigentext(*line, cwd=tmp_path).returncode == 0
    assert Path(vectors).read_text().splitlines()[0] == "1 6"
    pairs = str(tmp_path / "pairs.txt")
    write_lines(pairs, ["cat dog 9", "cat catss 8", "ran home 2", "cow sat 1"])
    scored = eigentext("words", "eval", out, pairs, "--json", cwd=tmp_path).stdout
    assert b'"covered": 3' in scored
    assert b'"covered_all": 4' in scored
    for wrong in (
        ("words", "embed", text, "-o", out, "--pairs", "x.tsv"),
        ("words", "embed", text, "-o", out, "--views", "left,translations"),
        ("words", "embed", "--counts", text, "-o", out, "--views", "left,right"),
        ("words", "inspect", out),
    ):
        assert eigentext(*wrong, cwd=tmp_path).returncode == 2, wrong


@pytest.mark.requires("data")
def test_characters_tell_of_unknown_words_in_real_text(data: Path) -> None:
    """Portuguese: words left out are nearer to their own vector than to that of another word."""
    from eigentext.language.formats.conllu import read_sentences

    text = [
        [form.replace(" ", "_") for form in sentence.forms]
        for sentence in read_sentences(data / "dependency" / "pt-bosque" / "train.conllu")
    ][:3000]
    model = MultiviewEmbedding(50, vocab_size=3000).fit(text)
    words = model.embeddings_.words
    out = np.arange(len(words)) % 5 == 4
    kept = [word for word, held in zip(words, out, strict=True) if not held]
    learned, _ = fit_character_map(kept, model.embeddings_.vectors[~out])
    told = learned.vectors([word for word, held in zip(words, out, strict=True) if held])
    cosines = told @ model.embeddings_.vectors[out].T
    own = float(np.diag(cosines).mean())
    assert own > 0.35
    assert own > float(cosines.mean()) + 0.25
