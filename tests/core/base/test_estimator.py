"""Models are estimators by their manners: scikit-learn is not imported for them, nor a base."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError as TheirNotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.utils.validation import check_is_fitted

from eigentext import HMM, LPCFG, CCAEmbedding, NotFittedError, SpectralClusters, TopicModel
from eigentext.base.model import Model
from eigentext.base.settings import declared
from eigentext.errors import MissingExtraError, SettingsError
from eigentext.words import ClusterFeatures
from helpers.commands import ENVIRONMENT
from helpers.small_models import SMALL

CLASSES = sorted({model.kind for model in SMALL.values()}, key=lambda kind: kind.__name__)
SENTENCES = [s.split() for s in ["a cat ran", "a dog ran", "the cat sat", "the dog sat"]] * 4


def run(code: str) -> None:
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, env=ENVIRONMENT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_nothing_of_scikit_learn_is_read_and_no_import_is_hooked() -> None:
    run("""
import sys
hooks = list(sys.meta_path)
import copy, pickle
from eigentext import HMM, CCAEmbedding, NotFittedError
model = HMM(2)
assert model.get_params()["n_states"] == 2
assert model.set_params(n_states=3) is model
assert repr(model) == "HMM(n_states=3)"
assert model._repr_html_() == "<pre>HMM(n_states=3)</pre>"
assert {"fit", "get_params", "n_states"} <= set(dir(model))
assert pickle.loads(pickle.dumps(model)).n_states == copy.deepcopy(model).n_states == 3
assert CCAEmbedding(2).set_output(transform="default").n_components == 2
try:
    model.to_bytes()
except NotFittedError as error:
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
assert "sklearn" not in sys.modules
import sklearn.base
assert sys.meta_path == hooks
assert HMM.__mro__[-1] is object and sklearn.base.BaseEstimator not in HMM.__mro__
""")


@pytest.mark.parametrize("kind", CLASSES)
def test_a_clone_has_the_settings_and_nothing_learned(kind: type[Model]) -> None:
    model = kind()
    assert not isinstance(model, BaseEstimator)
    assert clone(model).get_params() == model.get_params()
    assert sorted(model.get_params()) == sorted(declared(kind))
    assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()
    assert copy.copy(model).get_params() == model.get_params()
    if "seed" in model.get_params():
        assert model.set_params(seed=7).seed == 7  # type: ignore[attr-defined]
        assert repr(clone(model)) == f"{kind.__name__}(seed=7)"


@pytest.mark.parametrize("kind", CLASSES)
def test_whether_it_is_fitted_is_told_in_both_languages(kind: type[Model]) -> None:
    with pytest.raises(TheirNotFittedError, match=kind.__name__):
        check_is_fitted(kind())
    with pytest.raises(NotFittedError, match=kind.__name__) as error:
        kind().check_fitted()
    assert isinstance(error.value, ValueError)
    assert isinstance(error.value, AttributeError)


def test_a_fitted_model_and_its_clone() -> None:
    model = HMM(2, start="random", min_count=1).fit(SENTENCES)
    check_is_fitted(model)
    assert repr(model).startswith("<HMM(n_states=2, min_count=1, start='random'): ")
    with pytest.raises(TheirNotFittedError):
        check_is_fitted(clone(model))


def test_settings_of_an_estimator_in_a_setting() -> None:
    features = ClusterFeatures(SpectralClusters(3))
    assert features.get_params()["clusters__n_clusters"] == 3
    assert "clusters__n_clusters" not in features.get_params(deep=False)
    features.set_params(clusters=SpectralClusters(8), clusters__kappa=2.0)
    assert repr(features) == "ClusterFeatures(clusters=SpectralClusters(n_clusters=8, kappa=2.0))"
    copied = clone(features)
    assert copied.clusters is not features.clusters
    assert repr(copied) == repr(features)
    with pytest.raises(SettingsError, match="SpectralClusters has no setting 'n_cluster': use"):
        features.set_params(clusters__n_cluster=4)


def test_searches_scores_pipelines_and_unions() -> None:
    hmm = HMM(2, start="random", min_count=1, n_iter=3)
    scores = cross_val_score(hmm, SENTENCES, cv=2)
    search = GridSearchCV(hmm, {"n_states": [1, 2]}, cv=2, error_score="raise").fit(SENTENCES)
    assert search.cv_results_["mean_test_score"][1] == scores.mean()
    embedding = CCAEmbedding(2, contexts="lr1", kappa=1.0)
    union = FeatureUnion([("a", embedding), ("b", clone(embedding).set_params(scaling="sqrt"))])
    pipeline = make_pipeline(union).fit(SENTENCES)
    assert pipeline.transform(SENTENCES).shape == (len(SENTENCES), 4)
    assert union.get_feature_names_out().tolist() == ["a__cca0", "a__cca1", "b__cca0", "b__cca1"]
    np.testing.assert_array_equal(
        embedding.fit_transform(SENTENCES), pipeline.transform(SENTENCES)[:, :2]
    )
    for shown in (search, pipeline):
        assert type(search.estimator).__name__ in shown._repr_html_() or shown is pipeline
        assert repr(shown)
    clusters = SpectralClusters(3)
    assert clusters.fit_predict(SENTENCES).tolist() == clusters.labels_.tolist()


@pytest.mark.skipif(not hasattr(sklearn.utils, "Tags"), reason="tags are of scikit-learn 1.6")
def test_tags() -> None:
    from sklearn.utils import get_tags

    assert get_tags(HMM()).transformer_tags is None
    assert get_tags(TopicModel()).transformer_tags is not None
    assert get_tags(SpectralClusters()).estimator_type == "clusterer"


def test_what_an_output_may_be() -> None:
    model = CCAEmbedding(2, contexts="lr1").set_output(transform="polars").set_output()
    with pytest.raises(SettingsError, match="transform is 'numpy', expected one of 'default'"):
        model.set_output(transform="numpy")
    assert clone(model)._sklearn_output_config == {"transform": "polars"}


def test_a_table_of_a_package_that_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    model: Any = CCAEmbedding(2, contexts="lr1").fit(SENTENCES)
    with pytest.raises(MissingExtraError, match="pip install pandas"):
        model.set_output(transform="pandas").transform(SENTENCES)


def test_a_model_without_a_picture_shows_its_line() -> None:
    assert LPCFG()._repr_html_() == "<pre>LPCFG()</pre>"
    assert "clusters=&#x27;&lt;b&gt;" in ClusterFeatures("<b>")._repr_html_()
