"""A model of a few lines: what every estimator gets from its declaration."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from eigentext.base import modelfile, registry
from eigentext.base.fields import Reals, Strings
from eigentext.base.model import Model, NotFittedError, from_bytes, load
from eigentext.base.records import learned
from eigentext.base.settings import NOT_KEPT, declared, setting
from eigentext.base.values import Anything, Auto, Flag, Listed, Real, Text, Whole
from eigentext.errors import EigentextError, ModelFileError, SettingsError


@dataclass
class MeanSettings:
    """Settings of a mean."""

    power: int = setting(1, Whole(1, 5), "of each number", positional=True)
    weight: float = setting(0.5, Real(0, 1, open=True), "of the sum")
    way: str = setting("plain", Text(("plain", "other")), "which mean")
    rank: int | str = setting("auto", Auto(Whole(1)), "or auto")
    center: bool = setting(True, Flag(), "first")
    limit: int | None = setting(None, Whole(0), "None: no limit")
    groups: tuple[str, ...] = setting(("a", "b"), Listed(Text(("a", "b", "c"))), "of columns")
    digits: int = setting(3, Whole(0, 9), "of the answer", answering=True)
    callback: Any = setting(None, Anything(), "called with the mean")


@dataclass(eq=False, repr=False)
class Mean(Model, MeanSettings):
    """The mean of numbers."""

    KIND = "test-mean"

    mean_: np.ndarray = learned(Reals((1,)))
    names_: tuple[str, ...] = learned(Strings(2))
    seen_: int = learned(Whole(0))

    def fit(self, X: Any, y: object = None) -> Mean:
        self.check()
        self.mean_ = np.array([np.mean(np.asarray(X, float) ** self.power)])
        self.names_ = ("x", "y")
        self.seen_ = len(X)
        return self

    def _summary(self) -> str:
        return f"{self.seen_} numbers"


def test_settings_are_the_parameters_of_scikit_learn() -> None:
    model = Mean(3, weight=0.25, groups=("c",))
    assert list(model.get_params()) == list(declared(Mean))
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(power=2).power == 2
    assert repr(model) == "Mean(power=2, weight=0.25, groups=('c',))"
    with pytest.raises(TypeError):
        Mean(1, 0.5)  # only what was declared positional may go without its name


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"power": 0}, "power is 0, expected a whole number from 1 to 5"),
        ({"power": True}, "power is True, expected a whole number"),
        ({"power": 2.0}, "power is 2.0, expected a whole number"),
        ({"power": None}, "power is None, expected a whole number"),
        ({"weight": 0}, "weight is 0, expected a number between 0 and 1"),
        ({"weight": float("nan")}, "weight is nan, expected a number between 0 and 1"),
        ({"way": "third"}, "way is 'third', expected 'plain' or 'other'"),
        ({"rank": 0}, "rank is 0, expected a whole number of at least 1, or 'auto'"),
        ({"center": 1}, "center is 1, expected true or false"),
        ({"limit": -1}, "limit is -1, expected a whole number of at least 0"),
        ({"groups": ("d",)}, "groups[0] is 'd', expected 'a', 'b' or 'c'"),
    ],
)
def test_a_wrong_setting_is_said_in_one_wording(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as error:
        Mean(**wrong).fit([1.0])
    assert str(error.value) == message


def test_numbers_of_numpy_are_numbers() -> None:
    Mean(np.int64(2), weight=np.float32(0.5), rank=np.int32(3), limit=np.uint8(1)).check()


def test_what_is_not_fitted_says_so(tmp_path: Path) -> None:
    for act in (Mean().to_bytes, Mean().fingerprint, lambda: Mean().save(tmp_path / "m")):
        with pytest.raises(NotFittedError, match=r"Mean has learned nothing yet") as error:
            act()
        assert isinstance(error.value, EigentextError)
        assert isinstance(error.value, ValueError)
        assert isinstance(error.value, AttributeError)


def test_a_fit_that_was_broken_off_has_learned_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mean, "_picture", lambda self: f"<svg>{self.seen_}</svg>")
    model = Mean().fit([1.0, 3.0])
    with pytest.raises(TypeError):
        model.fit(1.0)  # one number has no length: there is a mean by then, but no count
    with pytest.raises(NotFittedError):
        model.to_bytes()
    assert repr(model) == "Mean()"
    assert "<svg>" not in model._repr_html_()
    assert model.fit([5.0]).mean_.tolist() == [5.0]
    assert list(inspect.signature(model.fit).parameters) == ["X", "y"]


def test_a_model_goes_to_a_file_and_comes_back(tmp_path: Path) -> None:
    model = Mean(2, limit=7, groups=("b",), callback=print).fit([1.0, 3.0])
    header = model.save(tmp_path / "m", data={"name": "two numbers"})
    assert header.settings == {
        "power": 2,
        "weight": 0.5,
        "way": "plain",
        "rank": "auto",
        "center": True,
        "limit": 7,
        "groups": ["b"],
        "digits": 3,
    }
    assert header.facts == {"seen": 2, "not_kept": ["callback"]}
    for back in (Mean.load(tmp_path / "m"), Mean.from_bytes(model.to_bytes())):
        assert back.get_params() == {**model.get_params(), "callback": NOT_KEPT}
        assert back.mean_.tolist() == [5.0]
        assert back.seen_ == 2
        assert back.fingerprint() == model.fingerprint()
        assert repr(back).endswith(": 2 numbers>")
    assert Mean.load(tmp_path / "m", callback=print).callback is print
    for wrong in ("power", "nonsense"):  # what the file keeps, and what there is not
        with pytest.raises(SettingsError, match=f"load was given '{wrong}', expected callback"):
            Mean.load(tmp_path / "m", **{wrong: 3})
    assert pickle.loads(pickle.dumps(model)).fingerprint() == model.fingerprint()


def test_the_fingerprint_knows_settings_and_content() -> None:
    prints = {
        Mean(2).fit([1.0]).fingerprint(),
        Mean(2, weight=0.1).fit([1.0]).fingerprint(),
        Mean(2).fit([2.0]).fingerprint(),
        Mean(2).fit([1.0, 1.0]).fingerprint(),
    }
    assert len(prints) == 4


def test_the_file_has_the_settings_of_fit_and_those_of_answers_as_they_are_now() -> None:
    model = Mean(2).fit([1.0, 3.0])
    model.power, model.digits = 9, 5
    back = Mean.from_bytes(model.to_bytes())
    assert (back.power, back.digits) == (2, 5)
    assert (model.settings_.power, model.power) == (2, 9)
    model.digits = 10
    with pytest.raises(SettingsError, match="digits is 10, expected a whole number from 0 to 9"):
        model.to_bytes()


@pytest.mark.parametrize("wrong", ["callback", 7, ["nonsense"], [3]])
def test_a_file_that_lacks_settings_that_there_are_not_is_refused(wrong: Any) -> None:
    model = Mean(callback=print).fit([1.0])
    parts = model._parts(None)
    facts = {**parts["facts"], "not_kept": wrong}
    with pytest.raises(ModelFileError, match="not_kept"):
        Mean.from_bytes(modelfile.dumps(**{**parts, "facts": facts}))


def test_a_header_with_settings_that_make_no_sense_is_refused(tmp_path: Path) -> None:
    parts = Mean().fit([1.0])._parts(None)
    settings = {**parts["settings"], "power": 9}
    modelfile.save(tmp_path / "wild", **{**parts, "settings": settings})
    with pytest.raises(ModelFileError, match="power is 9, expected a whole number from 1 to 5"):
        Mean.load(tmp_path / "wild")


def test_load_opens_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Mean().fit([4.0]).save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="'test-mean', which is not known"):
        load(tmp_path / "m")
    from eigentext.base import model as module

    monkeypatch.setattr(module, "Mean", Mean, raising=False)
    monkeypatch.setitem(
        registry.KINDS, "test-mean", registry.ModelKind("a mean", "", "base.model:Mean")
    )
    assert load(tmp_path / "m").mean_.tolist() == [4.0]
    assert from_bytes((tmp_path / "m").read_bytes()).mean_.tolist() == [4.0]


def test_a_notebook_sees_the_picture_once_there_is_something_learned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Mean, "_picture", lambda self: "<svg>picture</svg>")
    assert "picture" not in Mean()._repr_html_()
    shown = Mean().fit([1.0, 2.0])._repr_html_()
    assert "<svg>picture</svg>" in shown
    assert "&lt;Mean(): 2 numbers&gt;" in shown
