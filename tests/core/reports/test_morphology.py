"""Labels in plain words, and words cut where their segments meet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.datasets import load_arabic
from eigentext.lexical.analyzers.sample import SampleAnalyzer
from eigentext.lexical.schemes.labels import load_scheme
from eigentext.reports.morphology import cut, in_plain_words, kinds, segment_words


def sample_readings():
    analyzer = SampleAnalyzer()
    forms = {word["form"] for sentence in load_arabic() for word in sentence["words"]}
    return [reading for form in sorted(forms) for reading in analyzer.analyse(form)]


def test_the_clitics_that_the_label_names_are_segments():
    for reading in sample_readings():
        named = sum(reading.features.get(n, "0") != "0" for n in ("prc2", "prc1", "prc0", "enc0"))
        assert len(reading.segments) == named + 1, reading
        assert "".join(text for text, _ in reading.segments) == reading.vocalised
        pieces = cut(reading.vocalised, reading.segments)
        assert [p.text for p in pieces] == [text for text, _ in reading.segments]
        assert sum(p.kind == "stem" for p in pieces) == 1


def test_every_value_of_the_sample_has_words():
    scheme = load_scheme("arabic14")
    for reading in sample_readings():
        for label in scheme.project(reading):
            said = in_plain_words(scheme.as_mapping(label))
            assert said
            assert not any(f"{name} " in said.split(", ") for name in scheme.elements)
            assert "-" not in said.split(", ")


@pytest.mark.parametrize(
    ("label", "said"),
    [
        (
            {"pos": "V", "asp": "i", "mood": "j", "vox": "p", "per": "3", "gen": "f", "num": "d"},
            "verb, imperfect, jussive, passive, 3rd person, feminine, dual",
        ),
        (
            {"pos": "N", "pre2": "و", "pre1": "ك", "det": "1", "cas": "g"},
            "noun, with “and” before it, with “like” before it, with the article, genitive",
        ),
        ({"pos": "N", "pron": "1ms"}, "noun, with the pronoun 1st person singular"),
        (
            {"pos": "V", "dpos": "i.a.-", "perpos": "3", "persuf": "-"},
            "verb, 3rd person, imperfect, active",
        ),
        (
            {"upos": "NOUN", "Case": "Loc", "Number": "Plur", "more": "X=Y"},
            "noun, plural, locative, more X=Y",
        ),
        (
            {"pos": "subst", "num": "sg", "cas": "inst", "gen": "m3"},
            "noun, masculine inanimate, singular, instrumental",
        ),
        ({"lemma": "x"}, "no more is known"),
    ],
)
def test_plain_words(label, said):
    assert in_plain_words(label) == said


def test_endings_that_are_vowel_signs_stay_with_their_letter():
    assert [
        p.text
        for p in cut("كِتابِهِ", [("كِتاب", "NOUN"), ("ِ", "CASE_DEF_GEN"), ("هُ", "POSS_PRON_3MS")])
    ] == ["كِتابِ", "هِ"]
    li = cut("لِلْبَيْتِ", [("لِ", "PREP"), ("ال", "DET"), ("بَيْت", "NOUN"), ("ِ", "CASE_DEF_GEN")])
    assert [p.text for p in li] == ["لِ", "لْ", "بَيْتِ"]
    assert [p.text for p in cut("abc", [("x", "NOUN"), ("y", "SUFFIX")])] == ["abc"]


LETTERS = st.text("كتبال\u064e\u0650\u0651aة ", max_size=6)


@given(LETTERS, st.lists(st.tuples(LETTERS, st.sampled_from(["DET", "NOUN", "PRON", "?"]))))
def test_pieces_are_the_word(word, segments):
    pieces = cut(word, segments)
    assert "".join(piece.text for piece in pieces) == word
    found = kinds([tag for _, tag in segments])
    assert len(found) == len(segments)
    assert found.count("stem") == min(1, len(segments))
    assert found == sorted(found, key=["before", "stem", "after"].index)


@given(st.text(max_size=12))
def test_any_tag_has_words(tag):
    assert segment_words(tag) or not tag
    assert segment_words("IV3MP") == "subject, 3rd person masculine plural"
