"""What models look at, by name: texts of attributes, their keys, and the language of templates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.base.hashing import mixed, text_key
from eigentext.errors import SettingsError
from eigentext.features.attributes import (
    CLUSTER_BITS,
    MORPHOLOGY,
    PARSED_BITS,
    PARSING,
    RANKING,
    TAGGED_BITS,
    TAGGING,
    UNKNOWN,
    Attribute,
    Attributes,
    KeyedWord,
)
from eigentext.features.kernels.hashing import mix, mix_some, slot_of_sum
from eigentext.features.templates import TemplateGrammar, TemplateItem, distinct, seeds_of

TABLES = (TAGGING, MORPHOLOGY, PARSING, RANKING)


def test_names_are_distinct_and_columns_are_their_places():
    for table in TABLES:
        assert len(set(table.names)) == len(table) == len(list(table))
        assert [table.column[name] for name in table.names] == list(range(len(table)))
    # kernels take the tags between two words from these columns
    assert PARSING.names[:2] == ("upos", "xpos")
    assert {*PARSED_BITS[0], *PARSED_BITS[1]} <= set(PARSING.names)
    assert {*CLUSTER_BITS[0], *CLUSTER_BITS[1]} <= set(MORPHOLOGY.names)
    assert set(TAGGED_BITS) <= set(TAGGING.names)


@pytest.mark.parametrize(
    ("table", "word", "expected"),
    [
        (TAGGING, KeyedWord("McCarthy-21", bits="0110100"), {
            "word": "McCarthy-21", "lower": "mccarthy-00", "shape": "XxXxxx-dd", "form": "XxXx-d",
            "case": "mixed", "suf3": "-00", "pre2": "mc", "bits6": "011010", "bits20": "0110100"}),
        (TAGGING, KeyedWord("at"), {"suf1": "t", "suf2": None, "bits4": None}),
        (PARSING, KeyedWord("Cats", "NOUN", feats="Case=Nom|Number=Plur|VerbForm=Fin"), {
            "lower": "cats", "form": "Cats", "morph": "Case=Nom|VerbForm=Fin", "end": "ats",
            "lemma": "cats", "bits4": "none", "near": "none", "other": "_", "either": "NOUN"}),
        (PARSING, KeyedWord("Cats", "NOUN", lemma="cat", other="1:VERB", bits="0101010"), {
            "lemma": "cat", "other": "VERB", "either": "NOUN 1:VERB", "bits4": "0101",
            "bits6": "010101", "bits": "0101010", "end2": "ts", "end4": "cats", "begin3": "cat"}),
        (PARSING, KeyedWord("Zyx", frequent=False), {
            "lower": UNKNOWN, "form": UNKNOWN, "end": "zyx"}),
        (MORPHOLOGY, KeyedWord("Cat-1", near="01011"), {
            "shape": "Xx-d", "near4": "0101", "near20": "01011", "cluster4": None, "best": None}),
        (RANKING, KeyedWord("abcd", bits="0101011", norm="n"), {
            "norm": "n", "first": "a", "last": "d", "start3": "abc", "end5": "abcd",
            "cluster": "0101011", "cluster6": "010101", "cluster3": "010"}),
    ],
)  # fmt: skip
def test_texts(table, word, expected):
    texts = table.texts(word)
    assert {name: texts.get(name) for name in expected} == expected


def test_keys_are_hashes_of_names_and_texts():
    word = KeyedWord("Cats", "NOUN", "NNS", bits="0110")
    keys = dict(zip(PARSING.names, PARSING.keys(word), strict=True))
    for name, text in PARSING.texts(word).items():
        assert keys[name] == text_key(f"{name}\t{text}")
    tagged = dict(zip(MORPHOLOGY.names, MORPHOLOGY.keys(word), strict=True))
    assert tagged["cluster4"] == text_key("bits\t0110")  # all depths of both share their keys
    assert tagged["near4"] == tagged["ambiguity"] == 0  # none, and what the model fills
    other = Attributes(Attribute("xpos", of=lambda w: w.xpos))  # another place, the same key
    assert other.keys(word) == [keys["xpos"]]


@given(st.text(max_size=6))
def test_any_word_has_texts(form):
    for table in TABLES:
        if form:
            assert set(table.texts(KeyedWord(form))) <= set(table.names)


AROUND = TemplateGrammar("attribute[offset]", ("lower", "case", "suf2"), most=2, reach=3)
ROLES = TemplateGrammar("role.attribute", ("upos", "end2"), "hds", ("~kinds",), most=2, reach=2)
OPEN = TemplateGrammar("attribute@offset")


def test_the_three_ways_to_write_a_template():
    assert AROUND.parse("lower[-1]&suf2[+3]").items == (
        TemplateItem("lower", -1),
        TemplateItem("suf2", 3),
    )
    template = ROLES.parse("h.upos d-1.end2 ~kinds")
    assert template.items == (TemplateItem("upos", 0, "h"), TemplateItem("end2", -1, "d"))
    assert (template.extra, template.roles) == ("~kinds", {"h", "d"})
    assert OPEN.parse("form@0 any kind@-12".replace(" k", "_k")).items[1] == TemplateItem(
        "any_kind", -12
    )


@pytest.mark.parametrize(
    ("grammar", "text", "why"),
    [
        (AROUND, "", "is not attribute"),
        (AROUND, "lower", "is not attribute"),
        (AROUND, "color[0]", "attributes: lower, case, suf2"),
        (AROUND, "lower[4]", "further than 3"),
        (AROUND, "lower[0]&lower[1]&lower[2]", "more than 2 items of a word"),
        (ROLES, "", "names no word"),
        (ROLES, "~kinds", "names no word"),
        (ROLES, "x.upos", "is not role.attribute"),
        (ROLES, "h.lower", "is not role.attribute"),
        (ROLES, "h+3.upos", "further than 2"),
        (ROLES, "h.upos ~rivals", "is not role.attribute"),
        (OPEN, "form@", "is not attribute@offset"),
        (OPEN, "@1", "is not attribute@offset"),
    ],
)
def test_what_is_no_template_is_told(grammar, text, why):
    with pytest.raises(SettingsError, match="template") as error:
        grammar.parse(text)
    assert why in str(error.value)


def test_places_by_role_and_seeds_by_text():
    templates = [ROLES.parse(text) for text in ("h.upos d.end2 h+1.end2", "d-2.upos")]
    assert ROLES.places(templates, "h").tolist() == [[[0, 0], [1, 1]], [[-1, -1], [-1, -1]]]
    assert ROLES.places(templates, "d").tolist() == [[[1, 0], [-1, -1]], [[0, -2], [-1, -1]]]
    assert seeds_of("h", templates).tolist() == [
        text_key("h\th.upos d.end2 h+1.end2"), text_key("h\td-2.upos"),
    ]  # fmt: skip


def test_a_list_of_templates_is_one_without_repetitions():
    with pytest.raises(TypeError):
        distinct("h.upos")
    with pytest.raises(SettingsError, match="twice"):
        distinct(["h.upos", "d.upos", "h.upos"])


KEYS = st.integers(0, 2**64 - 1)


@given(KEYS, st.lists(KEYS, min_size=1, max_size=3))
def test_kernels_mix_as_their_plain_twin(seed, parts):
    key = some = np.uint64(seed)
    for part in parts:
        key = np.uint64(mix(key, np.uint64(part)))  # numba gives an int, which may be negative
        some = np.uint64(mix_some(some, np.uint64(part)))
    assert int(key) == mixed(seed, parts)
    assert some != 0
    assert 0 <= slot_of_sum(key, np.uint64(44)) < 1 << 20
