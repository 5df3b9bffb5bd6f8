"""Cuts that a person decided: they hold, and what follows from them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.tagging.segmentation import Segmenter, raw_text
from helpers.sample_pipeline import treebank

TEXT = "The farmer sold the horse. Mr. Hill's dog didn't bark, did it? We left."
PLACES = [at for at in range(1, len(TEXT)) if not TEXT[at].isspace()]


@pytest.fixture(scope="module")
def segmenter():
    return Segmenter(epochs=3, bits=14).fit(treebank())


def starts_of(sentences):
    tokens = {token.start for one in sentences for token in one.tokens}
    return tokens, {one.tokens[0].start for one in sentences}


def test_nothing_decided_is_the_plain_answer(segmenter):
    for text in (TEXT, raw_text(treebank()[:40]), "", " ", "a"):
        assert segmenter.segment_decided(text, {}).sentences == segmenter.segment(text)


@settings(max_examples=80, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(PLACES), st.sampled_from(["sentence", "word", "none"]), max_size=12
    )
)
def test_cuts_hold(segmenter, cuts):
    answer = segmenter.segment_decided(TEXT, cuts)
    assert answer.followed
    tokens, sentences = starts_of(answer.sentences)
    for at, cut in cuts.items():
        assert (at in tokens) == (cut != "none")
        assert (at in sentences) == (cut == "sentence")
    flat = [token for one in answer.sentences for token in one.tokens]
    assert [a.end <= b.start for a, b in pairwise(flat)] == [True] * (len(flat) - 1)
    joined = "".join(TEXT[token.start : token.end] for token in flat)
    assert joined.replace(" ", "") == TEXT.replace(" ", "")
    assert not set(answer.places) & set(cuts)


def test_to_confirm_the_answer_changes_nothing(segmenter):
    plain = segmenter.segment(TEXT)
    tokens, sentences = starts_of(plain)
    cuts = {
        at: "sentence" if at in sentences else "word" if at in tokens else "none" for at in PLACES
    }
    assert segmenter.segment_decided(TEXT, cuts).sentences == plain


def test_places_tell_what_the_answer_is(segmenter):
    answer = segmenter.segment_decided(TEXT, {})
    tokens, sentences = starts_of(answer.sentences)
    for at, place in answer.places.items():
        assert (place.token > 0.5) == (at in tokens)
        if place.sentence is not None:
            assert (place.sentence > 0.5) == (at in sentences)


def test_over_a_blank_line_no_token_goes_on(segmenter):
    assert not segmenter.segment_decided("One.\n\nTwo.", {6: "none"}).followed


def test_to_confirm_that_no_sentence_begins_leaves_the_others_as_they_were(segmenter):
    plain = segmenter.segment_decided(TEXT, {})
    _, sentences = starts_of(plain.sentences)
    inside = [
        at for at, p in plain.places.items() if p.sentence is not None and at not in sentences
    ]
    assert len(inside) > 5
    for at in inside:
        after = segmenter.segment_decided(TEXT, {at: "word"}).places
        assert after == {place: p for place, p in plain.places.items() if place != at}


def test_a_sentence_that_begins_tells_what_follows(segmenter):
    plain = segmenter.segment_decided(TEXT, {}).places
    after = segmenter.segment_decided(TEXT, {11: "sentence"}).places
    assert any(after[at] != plain[at] for at in after if at > 11)
