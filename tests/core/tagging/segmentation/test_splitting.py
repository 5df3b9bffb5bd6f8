"""Rules that make words of a token: by enumeration of every rule that makes them."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.tagging.segmentation.multiword import SplitRule, small_letters

LETTERS = st.text("abc", min_size=1, max_size=5)
WORDS = st.lists(LETTERS, min_size=1, max_size=3).map(tuple)


def every_rule(form: str, words: tuple[str, ...]):
    """All rules that make these words of the form, with what they spell out."""
    yield SplitRule(form, words, "", "", (), "", False), 2 * len(form) + sum(map(len, words))
    for number, word in enumerate(words):
        places = product(range(len(form)), range(1, len(form) + 1), range(len(word)))
        for start, end, at in places:
            middle = form[start:end]
            if middle and word[at : at + len(middle)] == middle:
                ends = word[:at], word[at + len(middle) :]
                outside = form[:start], *ends, form[end:]
                rule = SplitRule(
                    form[:start], words[:number], *ends, words[number + 1 :], form[end:], True
                )
                yield rule, sum(map(len, outside))


@settings(max_examples=300)
@given(LETTERS, WORDS)
def test_the_rule_spells_out_as_few_letters_as_any(form, words) -> None:
    rule = SplitRule.of(form, words)
    assert rule.fits(form)
    assert rule.apply(form) == words
    costs = dict(every_rule(form, words))
    assert costs[rule] == min(costs.values())


@settings(max_examples=100)
@given(LETTERS, LETTERS, st.text("xy", max_size=3))
def test_a_rule_holds_for_other_forms(stem, other, ending) -> None:
    """Words that follow the stem as they stand are cut off of any stem."""
    rule = SplitRule.of(stem * 2 + "xy", (stem * 2, "xy"))
    assert rule == ("", (), "", "", ("xy",), "xy", True)
    assert rule.apply(other + "xy") == (other, "xy")
    assert rule.stem(other + "xy") == other
    assert rule.apply(other + ending + "z") is None
    assert rule.apply("xy") is None  # nothing would be left of a stem


@pytest.mark.parametrize(
    ("form", "words", "asked", "expected"),
    [
        ("da", ("de", "a"), "do", ("de", "o")),
        ("da", ("de", "a"), "dax", ("de", "ax")),
        ("nas", ("em", "as"), "NAS", ("EM", "AS")),
        ("nas", ("em", "as"), "Nas", ("Em", "as")),
        ("decirlo", ("decir", "lo"), "DARLO", ("DAR", "LO")),
        ("decirlo", ("decir", "lo"), "Darlo", ("Dar", "lo")),
        ("au", ("à", "le"), "Au", ("À", "le")),
        ("au", ("à", "le"), "aux", None),
        ("cannot", ("can", "not"), "CanNot", ("Can", "not")),
        ("im", ("in", "dem"), "IM", ("IN", "DEM")),
        ("abba", ("x", "y"), "Abba", ("X", "y")),
        ("abba", ("x", "y"), "abbaa", None),
        ("وكتب", ("و", "كتب"), "وقال", ("و", "قال")),
        ("it's", ("it", "'s"), "I's", ("I", "'s")),
        ("xab", ("ab", "c"), "Xqr", ("Qr", "c")),
    ],
)
def test_rules_and_capitals(form, words, asked, expected) -> None:
    assert SplitRule.of(form, words).apply(asked) == expected


@settings(max_examples=100)
@given(LETTERS, WORDS, st.sampled_from([str.title, str.upper, str.lower]))
def test_any_case_has_the_words_of_small_letters(form, words, change) -> None:
    rule = SplitRule.of(form, words)
    found = rule.apply(change(form))
    assert found is not None
    assert tuple(map(str.lower, found)) == words
    if change is not str.lower:
        assert found[0][0].isupper()
    if change is str.upper and len(form) > 1:
        assert all(map(str.isupper, found))


@settings(max_examples=100)
@given(st.text(st.sampled_from("aAİIıßẞÀǅ1.\U0001041e"), max_size=6))
def test_small_letters_stand_where_the_letters_did(text) -> None:
    small = small_letters(text)
    assert len(small) == len(text)
    for char, letter in zip(text, small, strict=True):
        assert letter == (char if len(char.lower()) > 1 else char.lower())
