"""Settings that are set anew after ``fit``: what was learned stays as it is, and so do answers."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from sklearn.base import clone

from eigentext.base.model import Model
from eigentext.base.registry import KINDS
from eigentext.base.settings import NOT_KEPT, Setting, declared
from eigentext.base.values import Anything, Auto, Flag, Listed, Named, Real, Text, Value, Whole
from eigentext.errors import EigentextError, SettingsError
from helpers.small_models import SMALL, Small

_TRAINED: dict[str, Any] = {}


def trained(name: str) -> Any:
    """A copy of the model, which is trained once."""
    if name not in _TRAINED:
        _TRAINED[name] = SMALL[name].trained()
    return copy.deepcopy(_TRAINED[name])


def _others(value: Value, now: Any) -> list[Any]:
    """Values that the declaration allows."""
    match value:
        case Auto():
            return ["auto", *_others(value.other, now)]
        case Flag():
            return [True, False]
        case Whole():
            return [n for n in (1, 2, 3, 7, 30, 64) if value.low <= n <= value.high]
        case Real():
            return [x for x in (0.0, 0.25, 0.75, 2.0) if value.low < x < value.high]
        case Text(choices):
            return list(choices) or ["tag", "valence", "lr2"]
        case Listed():
            return [(), tuple(_others(value.item, now)[:2])]
        case Named():
            return [{}]
        case Anything():
            return [None, {"dog": "0"}]
    raise AssertionError(f"no example of {value}")


def others(model: Any, name: str, declaration: Setting) -> list[Any]:
    """Values of a setting other than the one that it has."""
    now = getattr(model, name)
    values = [value for value in _others(declaration.value, now) if value != now]
    return values if len(values) < 3 else [values[0], values[-1]]  # fewest and most


def _settings(*, answering: bool) -> list[Any]:
    return [
        pytest.param(name, setting, id=f"{name}-{setting}")
        for name, small in SMALL.items()
        for setting, declaration in declared(small.kind).items()
        if declaration.answering is answering
    ]


def outcome(small: Small, model: Any) -> Any:
    """Answers, or what an error says: viterbi is not for several models."""
    try:
        return small.ask(model)
    except EigentextError as error:
        return str(error)


def test_every_model_is_tried() -> None:
    models = {name.partition(" ")[0] for name in SMALL}
    assert models == {
        kind
        for kind, known in KINDS.items()
        if kind not in ("counts", "kbest-lists", "learned-analyzer")  # these are no estimators
    }
    assert all(issubclass(small.kind, Model) for small in SMALL.values())


@pytest.mark.parametrize("name", SMALL)
def test_a_setting_for_fit_changes_neither_answer_nor_file(name: str) -> None:
    small, model = SMALL[name], trained(name)
    answers, raw = small.ask(model), model.to_bytes()
    for setting, declaration in declared(model).items():
        if declaration.answering:
            continue
        was = getattr(model, setting)
        for value in others(model, setting, declaration):
            model.set_params(**{setting: value})
            assert small.ask(model) == answers, (setting, value)
            assert model.to_bytes() == raw, (setting, value)
            assert getattr(model, setting) == value  # it is there for the next fit
        model.set_params(**{setting: was})


@pytest.mark.parametrize(("name", "setting"), _settings(answering=True))
def test_a_setting_for_answers_goes_with_the_file(name: str, setting: str) -> None:
    small, model = SMALL[name], trained(name)
    for value in others(model, setting, declared(model)[setting]):
        answer = outcome(small, model.set_params(**{setting: value}))
        if value == "viterbi" and model.n_models > 1:
            with pytest.raises(SettingsError, match="viterbi gives the best tree of one model"):
                model.to_bytes()  # no file that load would refuse
            continue
        back = small.kind.from_bytes(model.to_bytes())
        assert getattr(back, setting) == value
        assert outcome(small, back) == answer, (setting, value)


# ---------------------------------------------------------------- files, and learning again


@pytest.mark.parametrize("name", SMALL)
def test_what_a_file_gives_back_learns_the_same_again(name: str) -> None:
    small, model = SMALL[name], trained(name)
    positional, named = small.data()
    again = clone(small.kind.from_bytes(model.to_bytes())).fit(*positional, **named)
    assert small.changed(again).to_bytes() == model.to_bytes()


def _hmm_settings() -> dict[str, Any]:
    model = trained("hmm")
    return {"symbols": model.symbols_, "parameters": model.parameters_, "n_starts": 1}


def _latent_settings() -> dict[str, Any]:
    from eigentext.dependency.latent.learn import LatentSmoothing

    return {"smoothing": LatentSmoothing()}


@pytest.mark.parametrize(
    ("name", "given", "absent"),
    [
        ("hmm", _hmm_settings, ["symbols", "parameters"]),
        ("latent-tree", _latent_settings, ["smoothing"]),
        ("tagger", lambda: {"compact": True}, ["clusters", "vectors"]),
    ],
)
def test_what_a_file_does_not_give_back_is_said_before_it_learns_without(
    name: str, given: Any, absent: list[str]
) -> None:
    small = SMALL[name]
    positional, named = small.data()
    model = small.untrained().set_params(**given()).fit(*positional, **named)
    back = small.kind.from_bytes(model.to_bytes())
    assert small.ask(back) == small.ask(model)
    assert back.to_bytes() == model.to_bytes()
    assert [setting for setting in absent if getattr(back, setting) is NOT_KEPT] == absent
    assert f"{absent[0]}=<not kept in the file>" in repr(back)
    for other in (back, clone(back), pickle.loads(pickle.dumps(back))):
        with pytest.raises(
            SettingsError, match=f"{absent[0]} was given to the model of this file"
        ):
            other.fit(*positional, **named)
    settings = {setting: getattr(model, setting) for setting in absent}
    told = small.kind.from_bytes(model.to_bytes(), **settings)
    assert all(getattr(told, setting) is value for setting, value in settings.items())
    for other in (told, clone(back).set_params(**settings)):
        assert clone(other).fit(*positional, **named).to_bytes() == model.to_bytes()
    without = clone(back).set_params(**dict.fromkeys(absent)).fit(*positional, **named)
    assert all(getattr(without, setting) is None for setting in absent)


@pytest.mark.parametrize("name", SMALL)
def test_a_model_can_be_copied_and_sent(name: str) -> None:
    model = trained(name)
    raw = model.to_bytes()
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.to_bytes() == raw
        assert repr(other) == repr(model)
    untrained = clone(model)
    assert repr(untrained) == repr(SMALL[name].untrained())
    same = type(model)(**untrained.get_params(deep=False))
    assert repr(same) == repr(untrained)
