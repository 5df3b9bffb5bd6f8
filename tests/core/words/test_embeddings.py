"""CCA embeddings: the formulas against dense linear algebra, files, estimators, bad input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

from eigentext.base.files.opening import write_lines
from eigentext.counting.counting import count, count_sentences
from eigentext.counting.counts import Counts
from eigentext.errors import DataError, ModelFileError, RankError, RankWarning, SettingsError
from eigentext.language.formats.word2vec import load_vectors
from eigentext.words.embeddings import cca as embeddings
from eigentext.words.embeddings.cca import (
    CCAEmbedding,
    cca_embeddings,
    context_counts,
    contexts_to_count,
    fold_contexts,
    scaled_contexts,
)
from eigentext.words.embeddings.lrmvl import LRMVL
from eigentext.words.settings import CCASettings

SENTENCES = [
    f"{d} {a} {n} {v} {d2} {n2}".split()
    for d, a, n, v, d2, n2 in np.array(
        np.meshgrid(
            ["the", "a"], ["old", "red"], ["cat", "dog"], ["saw", "bit"], ["the"], ["hen", "fox"]
        )
    )
    .reshape(6, -1)
    .T
]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("embed") / "text.txt"
    write_lines(path, [" ".join(sentence) for sentence in SENTENCES])
    return str(path)


def vectors_of(counts, n_components, **settings):
    return cca_embeddings(counts, CCASettings(n_components, **settings))


tables = arrays(np.int64, (5, 4), elements=st.just(0) | st.integers(0, 40))


@settings(max_examples=60, deadline=None)
@given(
    tables,
    st.sampled_from(["sqrt", "log", "ppmi", "none"]),
    st.sampled_from([0.0, 3.0]),
    st.sampled_from([1.0, 0.75]),
    st.sampled_from([1.0, 5.0]),
)
def test_omega_by_the_formula(table, transform, kappa, smoothing, shift):
    chosen = CCASettings(scaling=transform, kappa=kappa, smoothing=smoothing, shift=shift)
    found = scaled_contexts(sp.csr_array(table), chosen).toarray()
    u, v = table.sum(axis=1).astype(float), table.sum(axis=0).astype(float)
    if v.sum():
        smooth = np.where(v > 0, np.maximum(v, 1) ** smoothing, 0)
        v = smooth * v.sum() / smooth.sum()
    u, v = u + kappa, v + kappa
    f = {"sqrt": np.sqrt, "log": np.log1p}.get(transform, lambda x: x)
    expected = np.zeros(table.shape)
    for (i, j), c in np.ndenumerate(table):
        if c and transform == "ppmi":
            expected[i, j] = max(0.0, np.log(c * u.sum() / (u[i] * v[j])) - np.log(shift))
        elif c:
            expected[i, j] = f(c) / np.sqrt(f(u[i]) * f(v[j]))
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)


@settings(max_examples=30, deadline=None)
@given(tables, st.sampled_from([0.0, 3.0]), st.sampled_from([1.0, 5.0]))
def test_the_compiled_ppmi_is_the_plain_one(table, kappa, shift):
    chosen = CCASettings(kappa=kappa, shift=shift)
    plain = scaled_contexts(sp.csr_array(table), chosen)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embeddings, "_KERNEL_NONZEROS", 0)
        compiled = scaled_contexts(sp.csr_array(table), chosen)
    assert compiled.dtype == plain.dtype
    np.testing.assert_allclose(compiled.toarray(), plain.toarray(), rtol=1e-6, atol=1e-6)
    # an entry that is zero but for rounding may be stored by one and not by the other
    assert (compiled.data > 0).all()
    assert abs(compiled.nnz - plain.nnz) <= (plain.toarray() < 1e-6).sum()


def test_vectors_are_singular_vectors_with_an_exponent(text):
    counts = count([text], contexts="lr2")
    chosen = CCASettings(4, scaling="sqrt", exponent=0.7, kappa=1.0, fold_case=False)
    found = cca_embeddings(counts, chosen)
    Omega = scaled_contexts(counts.context_matrix(), chosen).toarray()[: len(found.words)]
    U, s, _ = np.linalg.svd(Omega.astype(np.float64))
    rows = U[:, :4] * s[:4] ** 0.7
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(found.vectors @ found.vectors.T, rows @ rows.T, atol=1e-4)
    np.testing.assert_allclose(found.singular_values, s[:4], rtol=1e-5)
    assert found.words == counts.words[:-1]  # nothing is unknown, so <unk> has no vector
    assert "<unk>" in vectors_of(count([text], contexts="lr2", vocab_size=5), 2).words


@pytest.mark.parametrize("weighting", ["flat", "linear", "harmonic"])
def test_a_weighted_bag_by_hand(text, weighting):
    counts = count([text], contexts="lr4")
    found = context_counts(counts, "bag3", weighting).toarray()
    ids = counts.vocabulary.ids
    expected = np.zeros(found.shape)
    weight = {"flat": [1, 1, 1], "linear": [1, 2 / 3, 1 / 3], "harmonic": [1, 1 / 2, 1 / 3]}
    for sentence in SENTENCES:
        for i, word in enumerate(sentence):
            for j, other in enumerate(sentence):
                if 1 <= abs(i - j) <= 3:
                    expected[ids[word], ids[other]] += weight[weighting][abs(i - j) - 1]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    if weighting == "flat":
        bag = count([text], contexts="bag3")
        np.testing.assert_array_equal(context_counts(bag).toarray(), expected)


def test_case_is_folded_in_contexts_only(tmp_path):
    lines = ["The cat sat", "the Cat sat", "the dog sat", "The dog ran", "a cat ran"] * 3
    write_lines(tmp_path / "t", lines)
    counts = count([str(tmp_path / "t")], contexts="lr1")
    matrix = counts.context_matrix()
    folded = fold_contexts(matrix, counts.words).toarray()
    forms = sorted({word.lower() for word in counts.words})
    assert folded.shape == (len(counts.words), 2 * len(forms))
    dense, n = matrix.toarray(), len(counts.words)
    for position in (0, 1):
        seen = {
            form: dense[:, position * n :][
                :, [w.lower() == form for w in counts.words] + [False] * (2 * n - position * n - n)
            ].sum(axis=1)
            for form in forms
        }
        half = folded[:, position * len(forms) : (position + 1) * len(forms)]
        assert sorted(map(tuple, half.T)) == sorted(tuple(column) for column in seen.values())
    kept = vectors_of(counts, 3, fold_case=False)
    lower = vectors_of(counts, 3)
    assert {"The", "the"} <= set(lower.words)  # words keep their case
    assert not np.allclose(kept.singular_values, lower.singular_values)


def test_contexts_that_were_not_counted(text):
    counts = count([text], contexts="lr2")
    with pytest.raises(SettingsError, match=r"bag3 .*count with contexts bag3"):
        context_counts(counts, "bag3")
    bag = count([text], contexts="bag2")
    with pytest.raises(SettingsError, match=r"linear weighting.*-2,-1,\+1,\+2"):
        context_counts(bag, "bag2", "linear")
    with pytest.raises(SettingsError, match="unigrams"):
        contexts_to_count("unigrams", "flat")
    given_way = vectors_of(bag, 2)  # the default, linear, cannot be had
    flat = vectors_of(bag, 2, weighting="flat")
    np.testing.assert_array_equal(given_way.vectors, flat.vectors)


def test_counts_of_a_new_shard_add(tmp_path, text):
    half = len(SENTENCES) // 2
    shards = []
    for number, part in enumerate((SENTENCES[:half], SENTENCES[half:])):
        write_lines(tmp_path / f"{number}.txt", [" ".join(s) for s in part])
        shards.append(count([str(tmp_path / f"{number}.txt")], contexts="lr2"))
    whole = vectors_of(count([text], contexts="lr2"), 4)
    added = vectors_of(shards[0] + shards[1], 4)
    assert added.words == whole.words
    np.testing.assert_array_equal(added.vectors, whole.vectors)
    first = CCAEmbedding(4, contexts="lr2").fit(SENTENCES[:half])
    refitted = first.fit(first.counts_ + shards[1])
    np.testing.assert_array_equal(refitted.embeddings_.vectors, whole.vectors)


def test_saved_loaded_exported(tmp_path, text):
    model = CCAEmbedding(3, seed=5).fit(count([text], contexts="lr2"))
    found = model.embeddings_
    header = model.save(tmp_path / "m.vec", data={"name": "sample"})
    assert header.settings == model.get_params()
    assert header.facts == {"n_tokens": 6 * len(SENTENCES)}
    loaded = CCAEmbedding.load(tmp_path / "m.vec")
    assert loaded.get_params() == model.get_params()
    back = loaded.embeddings_
    assert back.words == found.words
    np.testing.assert_array_equal(back.vectors, found.vectors)
    for name, size in (("v.txt", None), ("v.bin", 4), ("v.bin.gz", None)):
        back.export(tmp_path / name)
        words, vectors = load_vectors(tmp_path / name)
        assert tuple(words) == found.words
        np.testing.assert_array_equal(vectors, found.vectors)
        if size:  # binary: four bytes a number
            letters = sum(len(word.encode()) + 2 for word in words)
            head = len(f"{len(words)} 3\n")
            assert (tmp_path / name).stat().st_size == head + letters + 12 * len(words)
    Counts.save(count([text]), tmp_path / "c")
    with pytest.raises(ModelFileError, match="holds counts of words"):
        CCAEmbedding.load(tmp_path / "c")


def test_the_same_for_any_number_of_jobs(text):
    one, two = (vectors_of(count([text], contexts="lr2", jobs=j), 4) for j in (1, 2))
    np.testing.assert_array_equal(one.vectors, two.vectors)


def test_rank_and_types(tmp_path, text):
    counts = count([text], contexts="lr2")
    with pytest.raises(RankError, match="rank 100 was asked for"):
        cca_embeddings(counts, CCASettings(100))
    with pytest.warns(RankWarning):
        assert cca_embeddings(counts, CCASettings(100), on_rank="warn").vectors.shape[1] < 20
    write_lines(tmp_path / "one", ["a a a a"])
    with pytest.raises(SettingsError, match="one word type"):
        vectors_of(count([str(tmp_path / "one")]), 1)


@pytest.mark.parametrize(
    "bad",
    [
        {"n_components": 0},
        {"n_components": 2.5},
        {"scaling": "cube"},
        {"weighting": "x"},
        {"kappa": -1},
        {"smoothing": float("nan")},
        {"shift": 0},
        {"exponent": float("inf")},
        {"overlap": 1.0},
    ],
)
def test_bad_settings(bad):
    with pytest.raises(SettingsError, match=next(iter(bad))):
        CCAEmbedding(**bad).fit(SENTENCES)


def test_estimators_as_in_scikit_learn(tmp_path):
    model = CCAEmbedding(4, contexts="lr1", seed=2)
    assert clone(model).get_params() == model.get_params()
    rows = model.fit_transform(SENTENCES)
    assert rows.shape == (len(SENTENCES), 4)
    vectors, row_of = model.embeddings_.vectors, model.embeddings_.row_of
    mean = vectors[[row_of[word] for word in SENTENCES[0]]].mean(axis=0)
    np.testing.assert_allclose(rows[0], mean, rtol=1e-6)
    assert not model.transform([[], ["unheard", "of"]]).any()
    assert model.neighbours("cat", 1)[0][0] == "dog"
    model.save(tmp_path / "m")
    back = CCAEmbedding.load(tmp_path / "m")
    np.testing.assert_array_equal(back.transform(SENTENCES), rows)
    assert back.get_params()["seed"] == 2
    tokens = LRMVL(4, kappa=0.5, n_iter=2).fit(SENTENCES)
    tokens.save(tmp_path / "l")
    first = LRMVL.load(tmp_path / "l")
    assert first.get_params() == tokens.get_params()
    np.testing.assert_array_equal(first.transform(SENTENCES)[3], tokens.transform(SENTENCES)[3])
    for estimator in (CCAEmbedding(), LRMVL()):
        with pytest.raises(ValueError, match="has learned nothing yet"):
            estimator.transform(SENTENCES)
        with pytest.raises(SettingsError, match="a list of tokens, not the string 'a cat sat'"):
            estimator.fit(["a cat sat"])
        with pytest.raises(SettingsError, match="list of sentences, not one string"):
            estimator.fit("a cat sat")
        with pytest.raises(SettingsError, match="a token is a string, not int 1"):
            estimator.fit([[1, 2]])
        with pytest.raises(DataError, match="sentences: no tokens"):
            estimator.fit([[]])
    unigrams = count_sentences(SENTENCES, contexts="unigrams")
    with pytest.raises(SettingsError, match="not counts"):
        LRMVL().fit(unigrams)
    with pytest.raises(SettingsError, match="unigrams only"):
        CCAEmbedding().fit(unigrams)
