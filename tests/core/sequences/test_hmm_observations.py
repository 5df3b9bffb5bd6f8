"""Symbols, encoded sequences, parameters: what is accepted, and what is refused."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from eigentext.errors import DataError, SettingsError
from eigentext.features.signatures import signatures
from eigentext.sequences import Encoded, Parameters, Symbols
from eigentext.sequences.observations import UNKNOWN, NumberedText

TOKENS = st.lists(st.lists(st.text("abA-1 .é", max_size=4), max_size=6), max_size=8)


@given(sequences=TOKENS, most=st.integers(1, 6), rarer=st.integers(1, 3))
def test_every_token_has_a_number_and_counts_are_those_of_the_data(sequences, most, rarer):
    if not any(sequences):
        with pytest.raises(DataError, match="no tokens"):
            Symbols.fit(sequences)
        return
    for unknown in ("one", "signature"):
        symbols = Symbols.fit(sequences, vocab_size=most, min_count=rarer, unknown=unknown)
        data = symbols.encode(sequences)
        assert data.lengths.tolist() == [len(one) for one in sequences]
        assert (np.bincount(data.ids, minlength=len(symbols)) == symbols.counts).all()
        assert UNKNOWN in symbols.names
        assert (symbols.counts[[name != UNKNOWN for name in symbols.names]] > 0).all()
        assert (np.diff(symbols.counts) <= 0).all()
        assert (symbols.unigram() > 0).all()
        assert symbols.unigram().sum() == pytest.approx(1)


def test_the_most_frequent_words_are_kept_and_equals_go_by_name():
    text = ["b a c a b d".split()]
    assert Symbols.fit(text, vocab_size=3, unknown="one").names == ("a", "b", UNKNOWN, "c")
    assert Symbols.fit(text, min_count=2, unknown="one").names == (UNKNOWN, "a", "b")
    assert Symbols.fit(text).names == ("a", "b", "c", "d", UNKNOWN)


def test_rare_words_go_to_the_finest_class_that_is_common():
    rare = [f"{stem}ing" for stem in "walk talk jump play kick push pull lift work turn".split()]
    text = [["the", word] for word in rare] + [["the", "Kyoto"]]
    symbols = Symbols.fit(text, min_count=2)
    assert set(symbols.names) == {"the", "<lower-ing>", UNKNOWN}
    assert symbols.class_of("running") == "<lower-ing>" == signatures("running")[0]
    assert symbols.class_of("Oslo") == UNKNOWN  # one such word is no class
    assert symbols.class_of("") == UNKNOWN
    assert symbols.decode(symbols.encode([["the", "singing", "Oslo"]])) == [
        ["the", "<lower-ing>", UNKNOWN]
    ]


def test_a_word_that_is_spelt_like_a_class_is_that_class():
    symbols = Symbols.fit([[UNKNOWN, UNKNOWN, "a"]], min_count=2, unknown="one")
    assert symbols.names == (UNKNOWN,)
    assert symbols.counts.tolist() == [3]


@pytest.mark.parametrize(
    "wrong", ["to be", ["to be"], [["to"], "be"], 7, [7], None, b"to", [None]]
)
def test_a_string_is_no_sequence_of_tokens(wrong):
    symbols = Symbols.fit([["a"]])
    for use in (Symbols.fit, symbols.encode):
        with pytest.raises(SettingsError, match="list"):
            use(wrong)


def test_tokens_are_strings():
    with pytest.raises(SettingsError, match="a token is a string, not int"):
        Symbols.fit([["a", 1]])
    with pytest.raises(SettingsError, match="a token is a string, not int"):
        Symbols.fit([["a"]]).encode([[1]])


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"vocab_size": 0}, "vocab_size is 0"),
        ({"vocab_size": float("nan")}, "vocab_size is nan"),
        ({"min_count": 0}, "min_count is 0"),
        ({"min_count": float("nan")}, "min_count is nan"),
        ({"unknown": "none"}, "unknown is 'none'"),
        ({"language": "klingon"}, "language is 'klingon'"),
    ],
)
def test_bad_settings_of_symbols(settings, why):
    with pytest.raises(SettingsError, match=why):
        Symbols.fit([["a"]], **settings)


def test_encoded():
    data = Encoded.of([[1, 2], [], [3]])
    assert data[0].tolist() == [1, 2]
    assert data[-1].tolist() == [3]
    assert len(data[1]) == 0
    assert data.ids.dtype == np.int32
    assert data.first.dtype == np.int64
    with pytest.raises(IndexError):
        data[3]
    assert data.without_empty().first.tolist() == [0, 2, 3]
    assert data.part(1, 3).first.tolist() == [0, 0, 1]
    assert Encoded.of([]).n_tokens == 0
    for ids, first in (
        ([1, 2], [0, 1]),
        ([1, 2], [1, 2]),
        ([1, 2], []),
        ([-1], [0, 1]),
        ([1, 2], [0, 2, 1, 2]),
        ([0.5], [0, 1]),
        ([2**40], [0, 1]),
        ([[1]], [0, 1]),
    ):
        with pytest.raises(ValueError, match="expected"):
            Encoded(np.array(ids), np.array(first, np.int64))


@pytest.mark.parametrize(
    ("tables", "why"),
    [
        (([1.0], [[1.0]], [[0.5, 0.4]]), "emission: expected rows that sum to 1"),
        (([0.5, 0.4], np.eye(2), np.eye(2)), "initial: expected rows that sum to 1"),
        (([1.0, 0.0], [[1.5, -0.5], [0, 1]], np.eye(2)), "transition: expected finite"),
        (([1.0], [[float("nan")]], [[1.0]]), "transition: expected finite"),
        (([1.0], np.eye(2), np.eye(2)), "transition: expected shape"),
        (([1.0, 0.0], np.eye(2), [[1.0]]), "emission: expected shape"),
        (([[1.0]], [[1.0]], [[1.0]]), "initial: expected 1 dimensions"),
        (([1.0], [[1.0]], np.zeros((1, 0))), "emission: expected shape"),
        ((["a"], [[1.0]], [[1.0]]), "initial: expected an array of numbers"),
    ],
)
def test_parameters_are_checked(tables, why):
    with pytest.raises(SettingsError, match=why):
        Parameters(*tables)


def test_parameters_cannot_be_changed_and_do_not_follow_the_array_they_came_from():
    table = np.eye(2)
    parameters = Parameters([0.5, 0.5], table, table)
    table[0, 0] = 7
    assert parameters.transition[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        parameters.transition[0, 0] = 7


def test_random_parameters():
    one, two, other = (Parameters.random(3, 7, seed=s) for s in (1, 1, 2))
    assert_allclose(one.emission, two.emission)
    assert (one.emission != other.emission).any()
    for bad in ((0, 3), (3, 0)):
        with pytest.raises(SettingsError, match="at least 1"):
            Parameters.random(*bad)
    with pytest.raises(SettingsError, match="seed -1"):
        Parameters.random(2, 2, seed=-1)


def test_the_text_itself_is_encoded_as_any_other():
    """Classes of rare words are remembered from the choice of the symbols."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdeXY1-"))
    words = ["".join(rng.choice(letters, rng.integers(1, 6))) for _ in range(400)] + ["", "<unk>"]
    text = [words, words[::2], words[::5]]
    for chosen in ({"min_count": 3}, {"vocab_size": 20}, {"min_count": 2, "unknown": "one"}):
        symbols = Symbols.fit(text, **chosen)
        fresh = Symbols(symbols.names, symbols.counts, symbols.unknown, symbols.language)
        assert symbols.encode(text).ids.tolist() == fresh.encode(text).ids.tolist()


@given(
    st.lists(st.lists(st.sampled_from(["a", "B", "c d", "<unk>", "1990", "running", "é"]))),
    st.integers(1, 3),
    st.sampled_from([None, 1, 2]),
    st.sampled_from(["signature", "one"]),
)
@settings(max_examples=60, deadline=None)
def test_numbered_text_is_the_text(sequences, min_count, vocab_size, unknown):
    text = NumberedText.of(iter(sequences))
    words = [text.words[i] for i in text.encoded.ids]
    assert [words[a:b] for a, b in pairwise(text.encoded.first)] == sequences
    if not any(sequences):
        return
    chosen = {"min_count": min_count, "vocab_size": vocab_size, "unknown": unknown}
    plain, numbered = Symbols.fit(sequences, **chosen), Symbols.fit(text, **chosen)
    assert plain.names == numbered.names
    assert plain.counts.tolist() == numbered.counts.tolist()
    expected, found = plain.encode(sequences), text.as_symbols(numbered)
    assert found.ids.tolist() == expected.ids.tolist()
    assert found.first.tolist() == expected.first.tolist()
