"""scikit-learn's manners: its own checks where words allow them, and those checks with words."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from eigentext.words import LRMVL, CCAEmbedding, ClassBigram, SpectralClusters

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


@pytest.mark.parametrize("name", ESTIMATORS)
def test_check_estimator_where_the_input_type_allows(name):
    results = check_estimator(
        type(ESTIMATORS[name])(),
        on_fail=None,
        on_skip=None,
        expected_failed_checks=dict.fromkeys(_WITH_NUMBERS, _NUMBERS),
    )
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    passed = {r["check_name"] for r in results if r["status"] == "passed"}
    assert passed >= {
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_estimators_unfitted",
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
        return [model.score_samples(SENTENCES)]
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
