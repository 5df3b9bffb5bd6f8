"""The class bigram: probabilities sum to 1, sentences by enumeration, Kneser-Ney by hand."""

from __future__ import annotations

from itertools import product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from eigentext.base.model import NotFittedError
from eigentext.errors import DataError, ModelFileError, SettingsError
from eigentext.words.lm.class_bigram import ClassBigram
from eigentext.words.lm.kneser_ney import KneserNeyBigram

CLUSTERS = {"a": "00", "b": "00", "c": "01", "d": "1"}
texts = st.lists(st.lists(st.sampled_from("abcdx"), max_size=6), min_size=1, max_size=12).filter(
    any
)


@given(texts, st.floats(0, 1))
def test_every_row_sums_to_one_and_is_positive(text, mix):
    model = ClassBigram(CLUSTERS, mix=mix).fit(text)
    for before in [None, *"abcdx"]:
        row = model.distribution(before)
        assert sum(row.values()) == pytest.approx(1, abs=1e-12)
        assert min(row.values()) > 0


@given(texts, st.floats(0, 1))
def test_a_sentence_is_the_product_of_its_steps(text, mix):
    model = ClassBigram(CLUSTERS, mix=mix).fit(text)
    total = (
        model.distribution()["a"] * model.distribution("a")["d"] * model.distribution("d")["</s>"]
    )
    assert model.log_prob(["a", "d"]) == pytest.approx(log(total))


def test_sentences_of_a_length_and_what_goes_on_sum_to_one():
    model = ClassBigram(CLUSTERS, mix=0.7).fit([["a", "c"], ["b", "d", "x"], ["a"]])
    words = [w for w in model.words_ if w != "</s>"]
    ended = sum(exp(model.log_prob(s)) for n in range(4) for s in product(words, repeat=n))
    going_on = 0.0
    for s in product(words, repeat=4):
        chance, before = 1.0, None
        for word in s:
            chance *= model.distribution(before)[word]
            before = word
        going_on += chance
    assert ended + going_on == pytest.approx(1, abs=1e-9)


def test_the_formula_of_section_4():
    text = [["a", "c", "d"], ["b", "c"], ["b", "d", "d"]]
    model = ClassBigram(CLUSTERS, mix=1.0).fit(text)
    C = dict(zip(model.words_, model.class_of_.tolist(), strict=True))
    o = dict(zip(model.words_, model.emission_.tolist(), strict=True))
    t, pi = model.transition_, model.initial_
    x = ["b", "c", "d"]
    expected = pi[C["b"]] * t[C["b"], C["c"]] * t[C["c"], C["d"]] * t[C["d"], C["</s>"]]
    for word in (*x, "</s>"):
        expected *= o[word]
    assert model.log_prob(x) == pytest.approx(log(expected))
    np.testing.assert_allclose(t.sum(axis=1), 1)
    for c in range(len(model.names_)):
        assert model.emission_[model.class_of_ == c].sum() == pytest.approx(1)


def test_kneser_ney_by_hand():
    pairs = np.array([[0, 3, 1], [2, 0, 0], [1, 1, 0]])
    d = 3 / 5  # three pairs once, one twice
    model = KneserNeyBigram(csr_array(pairs))
    kinds_before = (pairs > 0).sum(axis=0)
    lower = np.maximum(kinds_before - d, 0) / kinds_before.sum()
    lower = lower + (1 - lower.sum()) / 3
    for x, y in product(range(3), repeat=2):
        total, kinds = pairs[x].sum(), (pairs[x] > 0).sum()
        expected = max(pairs[x, y] - d, 0) / total + d * kinds / total * lower[y]
        assert model.probabilities(np.array([x]), np.array([y]))[0] == pytest.approx(expected)
        assert model.row(x)[y] == pytest.approx(expected)


def test_classes_help_with_few_words_and_perplexity_is_that_of_the_mean():
    rng = np.random.default_rng(0)
    nouns, verbs = [f"n{i}" for i in range(40)], [f"v{i}" for i in range(40)]
    text = [[str(rng.choice(nouns)), str(rng.choice(verbs))] for _ in range(400)]
    model = ClassBigram({w: w[0] for w in nouns + verbs}).fit(text[:200])
    held_out = text[200:]
    assert model.perplexity(held_out, mix=1.0) < model.perplexity(held_out, mix=0.0)
    mean = sum(model.log_prob(s) for s in held_out) / (3 * 200)
    assert model.perplexity(held_out) == pytest.approx(exp(-mean))


def test_samples_follow_the_model_and_the_seed():
    model = ClassBigram(CLUSTERS, mix=0.5).fit([["a", "c"], ["b", "c", "d"], ["x"]])
    drawn = model.sample(4000, seed=3)
    assert drawn == model.sample(4000, seed=3)
    share = sum(s[:1] == ["a"] for s in drawn) / 4000
    assert share == pytest.approx(model.distribution()["a"], abs=0.03)


def test_model_file_round_trip(tmp_path):
    model = ClassBigram(CLUSTERS, mix=0.3).fit([["a", "c"], ["b", "zz"]])
    model.save(tmp_path / "lm")
    back = ClassBigram.load(tmp_path / "lm")
    for s in (["a", "c"], ["zz", "d"], []):
        assert back.log_prob(s) == model.log_prob(s)
    with pytest.raises(ModelFileError):
        ClassBigram.load(__file__)


def test_the_end_mark_in_text_is_an_unknown_word():
    model = ClassBigram(CLUSTERS).fit([["a", "</s>", "b"]])
    assert model.log_prob(["</s>"]) == model.log_prob(["<unk>"])


def test_the_discount_is_estimated_and_one_half_where_nothing_is_seen_once():
    assert KneserNeyBigram(csr_array(np.array([[1, 1], [2, 1]]))).discount == 3 / 5
    assert KneserNeyBigram(csr_array(np.array([[2, 3], [2, 0]]))).discount == 0.5


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: ClassBigram({}).fit([["a"]]), DataError),
        (lambda: ClassBigram(CLUSTERS, mix=2).fit([["a"]]), SettingsError),
        (lambda: ClassBigram(CLUSTERS, smooth=0).fit([["a"]]), SettingsError),
        (lambda: ClassBigram(CLUSTERS).fit([]), DataError),
        (lambda: ClassBigram(CLUSTERS).fit([[]]), DataError),
        (lambda: ClassBigram(CLUSTERS).fit(["a string"]), SettingsError),
        (lambda: ClassBigram(CLUSTERS).fit([["a"]]).perplexity([]), DataError),
        (lambda: ClassBigram(CLUSTERS).log_prob(["a"]), NotFittedError),
        (lambda: ClassBigram(CLUSTERS).sample(1), NotFittedError),
    ],
)
def test_what_is_refused(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("mix", [-0.1, 3.0, float("nan")])
def test_a_weight_beyond_0_and_1_is_refused(mix: float) -> None:
    model = ClassBigram({"a": "0", "b": "1"}).fit([["a", "b"]])
    with pytest.raises(SettingsError, match="expected a number from 0 to 1"):
        model.log_prob(["a"], mix=mix)
    with pytest.raises(SettingsError, match="expected a number from 0 to 1"):
        model.perplexity([["a"]], mix=mix)


def test_clusters_given_to_load_are_for_the_next_fit() -> None:
    model = ClassBigram({"a": "0", "b": "1"}).fit([["a", "b"]])
    back = ClassBigram.from_bytes(model.to_bytes(), clusters={"c": "0", "a": "1", "d": "1"})
    assert back.clusters == {"c": "0", "a": "1", "d": "1"}
    assert back.log_prob(["a", "b"]) == model.log_prob(["a", "b"])
    assert back.to_bytes() == model.to_bytes()
    assert back.fit([["c", "d"]]).words_[:3] == ("c", "a", "d")
