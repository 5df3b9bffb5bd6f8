"""StringAutomaton: answers, policy, storage, bad input, and words of a treebank."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigentext import load
from eigentext.errors import DataError, ModelFileError, SettingsError
from eigentext.lab import ClassAutomata, StringAutomaton

WORDS = ["walk", "walked", "walking", "talk", "talked", "talking", "wall", "tall", "taller"] * 6


@pytest.fixture(scope="module")
def model() -> StringAutomaton:
    return StringAutomaton(basis=60).fit(WORDS)


def test_every_place_has_a_distribution(model: StringAutomaton) -> None:
    shares = model.next_symbols(["", "wal", "zz", "talking"])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-9)
    assert (shares > 0).all()


def test_the_probability_of_a_string_is_the_product_of_its_symbols(model: StringAutomaton) -> None:
    word, log = "talked", 0.0
    names = list(model.symbols_.names)
    for at in range(len(word) + 1):
        after = names.index(word[at]) if at < len(word) else names.index("</s>")
        log += float(np.log(model.next_symbols([word[:at]])[0, after]))
    assert model.log_prob([word])[0] == pytest.approx(log)


def test_it_knows_what_it_has_seen(model: StringAutomaton) -> None:
    likely, unlikely = model.log_prob(["walking", "gnklawi"])
    assert likely > unlikely + 5
    assert model.perplexity(WORDS) < 4
    assert 0 <= model.negative_rate_ < 0.2


def test_lists_of_symbols_are_strings_too() -> None:
    model = StringAutomaton(3, basis=40).fit([["DET", "ADJ"], ["DET"], []] * 20)
    assert model.log_prob([["DET"]])[0] > model.log_prob([["ADJ"]])[0]
    assert model.weights([[]])[0] == pytest.approx(1 / 3, abs=0.05)


def test_classes_have_one_set_of_symbols() -> None:
    """Strings are turned into numbers once for all automata."""
    model = ClassAutomata(2, min_strings=1).fit(["ab", "ba", "aa"], ["X", "Y", "Y"])
    assert model.log_probs([]).shape == (0, 2)
    asked = ["abab", "", "?"]
    for at, name in enumerate(model.classes_):
        own = model.models_[model.model_of_[at]].log_prob(asked)
        assert model.log_probs(asked)[:, at] == pytest.approx(own, rel=1e-12), name
    model.models_[1] = StringAutomaton(2).fit(["abc"])
    with pytest.raises(ModelFileError, match="different symbols"):
        ClassAutomata.from_bytes(model.to_bytes())


def test_samples_are_strings(model: StringAutomaton) -> None:
    drawn = model.sample(20, longest=9, seed=3)
    assert drawn == model.sample(20, longest=9, seed=3)
    assert all(len(string) <= 9 and "</s>" not in string for string in drawn)


def test_storage(model: StringAutomaton, tmp_path: Path) -> None:
    model.save(tmp_path / "m.eig")
    back = load(tmp_path / "m.eig")
    np.testing.assert_array_equal(back.log_prob(WORDS[:9]), model.log_prob(WORDS[:9]))
    np.testing.assert_allclose(back.weights(["walk"]), model.weights(["walk"]), atol=1e-12)
    assert back.fingerprint() == model.fingerprint()
    assert back.figures() == model.figures()


@pytest.mark.parametrize(
    ("strings", "error"),
    [
        ("one string", SettingsError),
        ([3], SettingsError),
        ([], DataError),
        ([["a", "</s>"]], DataError),
    ],
)
def test_what_cannot_be_learned_from(strings: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        StringAutomaton().fit(strings)


@pytest.mark.parametrize("bad", [{"n_states": 0}, {"basis": "all"}, {"statistic": "words"}])
def test_settings(bad: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        StringAutomaton(**bad).fit(WORDS)


def test_errors_where_negatives_are_asked_to_be() -> None:
    strict = StringAutomaton(3, basis=60, negatives="error").fit(WORDS)
    with pytest.raises(DataError, match="0 or less"):
        strict.log_prob(["walk", "é"])


@pytest.mark.parametrize("few", [["a"], ["", ""], ["ab", "b"]])
def test_few_strings_are_enough(few: list[str]) -> None:
    model = StringAutomaton().fit(few)
    assert np.isfinite(model.log_prob([*few, "c"])).all()


@pytest.mark.requires("data")
def test_words_of_a_treebank() -> None:
    """Better than symbols one by one, and a larger rank is better."""
    from eigentext.language.formats.conllu import read_sentences

    path = Path(os.environ["EIGENTEXT_DATA"]) / "dependency" / "hu-szeged" / "dev.conllu"
    words = sorted({form for one in read_sentences(str(path)) for form in one.forms})
    train, rest = [w for at, w in enumerate(words) if at % 5], words[::5]
    plain, more = (
        StringAutomaton(k, basis=300, unigram_weight=0.1).fit(train).perplexity(rest)
        for k in (1, 60)
    )
    assert more < 0.75 * plain
