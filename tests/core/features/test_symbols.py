"""Words to symbols: what is frequent, what stands for the rest, other spellings."""

from __future__ import annotations

import pytest

from eigentext.features.signatures import signatures
from eigentext.features.symbols import UNKNOWN, first_known, frequent_words, looked_up


def test_frequent_words_are_those_seen_so_often():
    text = ["b", "a", "b", "B", "c", "c", "b"]
    assert frequent_words(text, 1) == {"a", "b", "B", "c"}
    assert frequent_words(text, 2) == {"b", "c"}
    assert frequent_words(text, 4) == frozenset()


def test_a_rare_word_takes_its_finest_known_signature():
    levels = signatures("overthinking")
    assert levels[0] == "<lower-ing>"
    assert first_known(levels, {"<lower-ing>", "<lower>"}) == "<lower-ing>"
    assert first_known(levels, {"<lower>", UNKNOWN}) == "<lower>"
    assert first_known(levels, set()) == UNKNOWN


@pytest.mark.parametrize(
    ("word", "with_capital", "without"),
    [("cat", 1, 1), ("CAT", 1, 1), ("rome", 2, None), ("ROME", 2, None), ("dog", None, None)],
)
def test_other_spellings_are_looked_up_in_order(word, with_capital, without):
    table = {"cat": 1, "Rome": 2, "ROMA": 3}
    assert looked_up(table, word) == with_capital
    assert looked_up(table, word, capital=False) == without


def test_a_capital_whose_small_letter_is_two_characters_stays_one():
    assert looked_up({"İzmir": 1}, "İZMIR") == 1


def test_an_entry_that_is_empty_is_an_entry():
    assert looked_up({"a": "", "A": "1"}, "a") == ""
