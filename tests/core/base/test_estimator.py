"""Models are estimators whether scikit-learn is imported before, after or not at all."""

from __future__ import annotations

import subprocess
import sys

import pytest

from helpers.commands import ENVIRONMENT

_MODELS = "from eigentext import HMM, LPCFG, CCAEmbedding, NotFittedError, SpectralClusters"
_SKLEARN = "import sklearn.base"
_MADE_BEFORE = f"{_MODELS}\nold = HMM(3)"
_CHECKS = """
import pickle, sys
import sklearn.exceptions
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

for kind in (HMM, LPCFG, CCAEmbedding, SpectralClusters):
    assert issubclass(kind, BaseEstimator)
    model = kind()
    assert isinstance(model, BaseEstimator)
    assert kind.get_params is BaseEstimator.get_params
    assert clone(model).get_params() == model.get_params() == pickle.loads(
        pickle.dumps(model)
    ).get_params()
    get_tags(model)
    try:
        model.check_fitted()
    except sklearn.exceptions.NotFittedError as error:
        assert type(error) is NotFittedError
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
    else:
        raise AssertionError
assert HMM(3).set_params(n_states=4).n_states == 4
assert issubclass(CCAEmbedding, TransformerMixin)
assert issubclass(SpectralClusters, ClusterMixin)
assert get_tags(SpectralClusters()).estimator_type == "clusterer"
assert repr(HMM(3)) == "HMM(n_states=3)"
# what scikit-learn sets up in each class: wrapped methods, requests of metadata
embedding = CCAEmbedding(2, contexts="lr1").set_output(transform="default")
assert hasattr(CCAEmbedding.transform, "__wrapped__")
assert hasattr(embedding, "set_fit_request")
assert HMM.fit.__wrapped__.__name__ == "fit"
assert not hasattr(HMM.fit.__wrapped__, "__wrapped__"), "fit is wrapped twice"
sentences = [s.split() for s in ["a cat ran", "a dog ran", "the cat sat", "the dog sat"]] * 4
make_pipeline(embedding).fit(sentences)
assert not [f for f in sys.meta_path if type(f).__module__.startswith("eigentext")]
assert type(sklearn.base.__loader__).__module__ != "eigentext.base.estimator"
assert sklearn.base.__spec__.loader is sklearn.base.__loader__
"""


def _run(code: str) -> None:
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, env=ENVIRONMENT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("before", [f"{_SKLEARN}\n{_MODELS}", f"{_MODELS}\n{_SKLEARN}"])
def test_models_are_estimators_in_either_order(before: str) -> None:
    _run(before + _CHECKS)


@pytest.mark.parametrize(
    "use",
    [
        "assert old.get_params()['n_states'] == 3",
        "assert old.set_params(n_states=4).n_states == 4",
        "assert repr(old) == 'HMM(n_states=3)'",
        "assert 'HMM' in old._repr_html_()",
        "assert CCAEmbedding(2).set_output(transform='default').n_components == 2",
        "import copy; assert isinstance(copy.deepcopy(old), HMM)\nimport sklearn",
    ],
)
def test_what_was_made_before_becomes_an_estimator_when_it_is_asked(use: str) -> None:
    absent = "import sys\nassert 'sklearn' not in sys.modules"
    then = "from sklearn.base import BaseEstimator, clone\nassert isinstance(old, BaseEstimator)"
    _run(f"{_MADE_BEFORE}\n{absent}\n{use}\n{then}\nassert clone(old).n_states == old.n_states")


def test_a_model_without_scikit_learn_goes_to_a_file_and_a_pickle() -> None:
    code = """
import pickle, sys
model = HMM(2)
assert pickle.loads(pickle.dumps(model)).n_states == 2
try:
    model.to_bytes()
except NotFittedError as error:
    assert isinstance(error, (ValueError, AttributeError))
assert "sklearn" not in sys.modules
"""
    _run(_MODELS + code)
