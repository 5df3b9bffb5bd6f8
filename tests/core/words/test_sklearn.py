"""scikit-learn's manners: its own checks where words allow them, and those checks with words."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from eigentext.base.model import NotFittedError
from eigentext.errors import MissingExtraError, SettingsError
from eigentext.words import (
    LRMVL,
    CCAEmbedding,
    ClassBigram,
    ClusterFeatures,
    Embeddings,
    SpectralClusters,
)

SENTENCES = [s.split() for s in ["a cat ran", "a dog ran", "the cat sat", "the dog sat"]] * 4
CLUSTERS = {"a": "00", "the": "00", "cat": "01", "dog": "01", "ran": "1"}
ESTIMATORS = {
    "clusters": SpectralClusters(3, kappa=1.0),
    "cca": CCAEmbedding(3, contexts="lr1"),
    "lrmvl": LRMVL(2, kappa=0.1, n_iter=2),
    "bigram": ClassBigram(CLUSTERS),
}

# sentences are lists of words, and clusters belong to words: what feeds numbers cannot pass
_NUMBERS = "takes sentences of words, not a table of numbers"
_WITH_NUMBERS = """
check_clustering check_complex_data check_dict_unchanged
check_do_not_raise_errors_in_init_or_set_param
check_dont_overwrite_attributes check_dont_overwrite_parameters
check_dtype_object check_estimator_sparse_array
check_estimator_sparse_matrix check_estimator_sparse_tag check_estimators_dtypes
check_estimators_empty_data_messages check_estimators_fit_returns_self
check_estimators_nan_inf check_estimators_overwrite_params check_estimators_pickle
check_f_contiguous_array_estimator check_fit1d check_fit2d_1feature check_fit2d_1sample
check_fit2d_predict1d check_fit_check_is_fitted check_fit_idempotent
check_fit_score_takes_y check_methods_sample_order_invariance check_methods_subset_invariance
check_n_features_in check_n_features_in_after_fitting check_pipeline_consistency
check_positive_only_tag_during_fit check_readonly_memmap_input check_transformer_data_not_an_array
check_transformer_general check_transformer_preserve_dtypes
""".split()


@pytest.mark.filterwarnings("ignore:Estimator .* does not inherit from `sklearn.base")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_check_estimator_where_the_input_type_allows(name):
    results = check_estimator(
        type(ESTIMATORS[name])(),
        on_fail=None,
        on_skip=None,
        expected_failed_checks={
            **dict.fromkeys(_WITH_NUMBERS, _NUMBERS),
            "check_estimators_unfitted": "the error before `fit` is eigentext's own",
        },
    )
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    passed = {r["check_name"] for r in results if r["status"] == "passed"}
    assert passed >= {
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_get_params_invariance",
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_set_params",
    }


def answers(model):
    """What a fitted estimator says of the sentences, as arrays."""
    if isinstance(model, SpectralClusters):
        return [model.predict(["a", "cat", "ran", "new"])]
    if isinstance(model, ClassBigram):
        return [[model.log_prob(tokens) for tokens in SENTENCES]]
    return list(model.transform(SENTENCES))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_same_checks_with_words(name):
    model = clone(ESTIMATORS[name])
    before = repr(model.get_params())
    assert model.fit(iter(SENTENCES), None) is model  # any iterable, and y is passed over
    assert repr(model.get_params()) == before
    added = set(vars(model)) - set(model.get_params())
    assert added
    assert all(one.endswith("_") or one.startswith("_") for one in added)
    first = answers(model)
    state = pickle.dumps(model)
    for other in (model.fit(SENTENCES), pickle.loads(state), clone(model).fit(SENTENCES)):
        for one, two in zip(first, answers(other), strict=True):
            np.testing.assert_array_equal(one, two)


def test_a_search_over_the_mix_takes_sentences():
    from sklearn.model_selection import GridSearchCV

    search = GridSearchCV(ClassBigram(CLUSTERS), {"mix": [0.1, 0.9]}, cv=2).fit(SENTENCES)
    assert search.best_params_["mix"] in (0.1, 0.9)
    model = ClassBigram(CLUSTERS).fit(SENTENCES)
    assert np.exp(-model.score(SENTENCES)) == pytest.approx(model.perplexity(SENTENCES))


# what a sentence is about is told by each of its words
KINDS = {
    "animal": ("a the", "cat dog hen fox emu", "ran ate"),
    "tool": ("my his", "saw axe pen", "broke cuts"),
}


def _texts(n_each):
    rng = np.random.default_rng(0)
    pairs = [
        (" ".join(str(rng.choice(words.split())) for words in KINDS[kind]), kind)
        for _ in range(n_each)
        for kind in KINDS
    ]
    return [text for text, _ in pairs], [kind for _, kind in pairs]


TEXTS, ABOUT = _texts(60)


def test_counts_of_cluster_paths_by_hand():
    paths = {"cat": "010", "dog": "0110", "ran": "1", "<unk>": "00"}
    features = ClusterFeatures(paths, prefixes=(2, 3)).fit([])
    assert features.get_feature_names_out().tolist() == [
        *("2:00", "2:01", "2:1"),
        *("3:00", "3:010", "3:011", "3:1"),
    ]
    found = features.transform(["cat dog ran", ["ran", "ran", "never"], ""])
    assert found.format == "csr"
    assert found.toarray().tolist() == [
        [0, 2, 1, 0, 1, 1, 1],
        [1, 0, 2, 1, 0, 0, 2],
        [0, 0, 0, 0, 0, 0, 0],
    ]
    known = {word: bits for word, bits in paths.items() if word != "<unk>"}
    assert not ClusterFeatures(known).fit([]).transform(["never heard"]).nnz


def test_cluster_features_come_from_files_and_estimators(tmp_path):
    model = SpectralClusters(4, kappa=1.0).fit([text.split() for text in TEXTS])
    model.save(tmp_path / "m")
    model.write_paths(tmp_path / "paths")
    expected = ClusterFeatures(model.word_paths()).fit(TEXTS).transform(TEXTS).toarray()
    for clusters in (tmp_path / "m", str(tmp_path / "paths"), SpectralClusters(4, kappa=1.0)):
        features = ClusterFeatures(clusters).fit(TEXTS)
        np.testing.assert_array_equal(features.transform(TEXTS).toarray(), expected)
        again = pickle.loads(pickle.dumps(features))
        np.testing.assert_array_equal(again.transform(TEXTS).toarray(), expected)


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda: ClusterFeatures({}).transform(["a"]), NotFittedError, "learned nothing yet"),
        (lambda: ClusterFeatures({}).fit([]).transform("a b"), SettingsError, "list of texts"),
        (lambda: ClusterFeatures({}).fit([]).transform([[1]]), SettingsError, "not int 1"),
        (lambda: ClusterFeatures({}, prefixes=()).fit([]), SettingsError, "prefixes"),
        (lambda: ClusterFeatures({}, prefixes=(4, 0)).fit([]), SettingsError, "prefixes"),
    ],
)
def test_what_cluster_features_refuse(ask, error, message):
    with pytest.raises(error, match=message):
        ask()


def test_a_pipeline_and_a_search_over_clusters():
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(
        ClusterFeatures(SpectralClusters(kappa=1.0), prefixes=(1, 2, 8)), LogisticRegression()
    )
    grid = {"clusterfeatures__clusters__n_clusters": [1, 6]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(TEXTS, ABOUT)
    scores = search.cv_results_["mean_test_score"]
    assert scores[1] > 0.9 > scores[0]  # one cluster tells nothing
    assert search.predict(["the fox ran", "my pen broke"]).tolist() == ["animal", "tool"]


def test_vectors_of_sentences_in_a_pipeline():
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    sentences = [text.split() for text in TEXTS]
    pipeline = make_pipeline(CCAEmbedding(6, contexts="lr1"), LogisticRegression())
    grid = {"ccaembedding__scaling": ["ppmi", "sqrt"]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(sentences, ABOUT)
    assert search.best_score_ > 0.9
    names = search.best_estimator_[:-1].get_feature_names_out()
    assert names.tolist() == [f"cca{i}" for i in range(6)]


def test_set_output_names_the_columns():
    pandas = pytest.importorskip("pandas", reason="set_output(transform='pandas') needs pandas")
    sentences = [text.split() for text in TEXTS]
    model = CCAEmbedding(3, contexts="lr1").set_output(transform="pandas")
    frame = model.fit_transform(sentences)
    assert isinstance(frame, pandas.DataFrame)
    assert frame.columns.tolist() == ["cca0", "cca1", "cca2"]
    np.testing.assert_array_equal(
        frame.to_numpy(), model.set_output(transform="default").transform(sentences)
    )


def test_vectors_go_to_gensim_and_come_back():
    keyed_vectors = pytest.importorskip("gensim.models", reason="gensim is not installed")
    vectors = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    embeddings = Embeddings(("cat", "dog", "ran", "sat"), vectors)
    keyed = embeddings.to_gensim()
    assert isinstance(keyed, keyed_vectors.KeyedVectors)
    ours = [word for word, _ in embeddings.neighbours("cat", 3)]
    assert [word for word, _ in keyed.most_similar("cat", topn=3)] == ours
    back = Embeddings.from_gensim(keyed)
    assert back.words == embeddings.words
    np.testing.assert_array_equal(back.vectors, embeddings.vectors)


def test_vectors_of_a_gensim_model_are_in_its_wv():
    class Keyed:
        index_to_key = ("a", "b")
        vectors = np.eye(2, dtype=np.float64)

    class Trained:
        wv = Keyed()

    found = Embeddings.from_gensim(Trained())
    assert found.words == ("a", "b")
    assert found.vectors.dtype == np.float32
    assert found.neighbours("a") == [("b", 0.0)]


def test_without_gensim_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(MissingExtraError, match="pip install gensim"):
        Embeddings(("a",), np.ones((1, 2), dtype=np.float32)).to_gensim()
