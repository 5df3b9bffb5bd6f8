"""Tags that a person decided: the search under them, against all sequences there are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.errors import SettingsError
from eigentext.evaluate.ner import entities
from eigentext.tagging.sequence import SequenceTagger

WORDS = ["a", "b", "c", "a"]
PLAIN = ("X", "Y", "Z")
BIO = ("O", "B-P", "I-P", "B-Q", "I-Q")
ALL = 2_000  # more than there are sequences: the beam holds every one


@pytest.fixture(scope="module")
def plain():
    text = [["a", "b"], ["b", "c", "a"], ["c", "a", "b", "b"]] * 3
    tags = [["X", "Y"], ["Y", "Z", "X"], ["Z", "Y", "Y", "X"]] * 3
    return SequenceTagger(epochs=3).fit(text, tags)


@pytest.fixture(scope="module")
def bio():
    text = [["a", "b"], ["b", "c", "a"], ["c", "a", "b", "b"]] * 3
    tags = [["B-P", "O"], ["O", "B-Q", "I-Q"], ["B-Q", "O", "B-P", "I-P"]] * 3
    return SequenceTagger(epochs=3, entity_margin=0.0, beam=1).fit(text, tags)


def sets(tags):
    some = st.lists(st.sampled_from(tags), unique=True, max_size=len(tags))
    return st.dictionaries(st.integers(0, len(WORDS) - 1), some, max_size=len(WORDS))


def filtered(tagger, allowed):
    """All sequences in their order, less those that are not allowed."""
    every = tagger.kbest(WORDS, ALL)
    assert len(every) < ALL
    return [
        answer
        for answer in every
        if all(answer.tags[token] in tags for token, tags in allowed.items())
    ]


@settings(max_examples=60, deadline=None)
@given(sets(PLAIN))
def test_the_list_is_that_of_all_sequences_less_the_others(plain, allowed):
    expected = filtered(plain, allowed)
    found = plain.kbest(WORDS, ALL, allowed=allowed)
    assert [(one.tags, one.score) for one in found] == [(e.tags, e.score) for e in expected]


@settings(max_examples=120, deadline=None)
@given(sets(BIO))
def test_entities_likewise_and_a_narrow_search_finds_one_if_there_is_one(bio, allowed):
    expected = filtered(bio, allowed)
    found = bio.kbest(WORDS, ALL, allowed=allowed)
    assert sorted((one.tags, one.score) for one in found) == sorted(
        (one.tags, one.score) for one in expected
    )
    greedy = bio.kbest(WORDS, 1, allowed=allowed)
    assert bool(greedy) == bool(expected)
    for one in greedy:
        assert all(one.tags[token] in tags for token, tags in allowed.items())


def test_a_decided_span_is_an_entity_of_its_own(bio):
    allowed = {0: ["O"], 1: ["B-P"], 2: ["I-P"], 3: ["O", "B-P", "B-Q"]}
    (best, *_) = bio.kbest(WORDS, allowed=allowed)
    assert ("P", 1, 3) in entities(best.tags)


def test_no_such_sequence_and_no_such_token(bio):
    assert bio.kbest(WORDS, allowed={0: ["I-P"]}) == []
    assert bio.kbest(WORDS, allowed={2: ["nonsense"]}) == []
    with pytest.raises(SettingsError, match="no token 9 among 4"):
        bio.kbest(WORDS, allowed={9: ["O"]})
