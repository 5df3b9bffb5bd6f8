"""Features and tag schemes: the kernel against its plain twin, BILOU against BIO2."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.errors import SettingsError
from eigentext.features.attributes import TAGGING, KeyedWord
from eigentext.language.formats.columns import find_tag_fault
from eigentext.tagging.sequence import features
from eigentext.tagging.sequence.features import (
    KeyNumbers,
    TagTemplates,
    WordRows,
    default_templates,
    parse_template,
)
from eigentext.tagging.sequence.schemes import TagSet, repaired, to_bilou, to_bio2
from oracle.tagger_keys import plain_keys

words = st.text(min_size=1, max_size=8) | st.sampled_from(["Ada", "ada", "@x", "http://a.b", "İ1"])
sentences = st.lists(words, min_size=1, max_size=6)


@given(st.lists(sentences, min_size=1, max_size=4), st.booleans())
def test_the_kernel_forms_the_keys_of_the_plain_twin(given_sentences, clustered):
    clusters = {word: format(n, "07b") for n, word in enumerate(["Ada", "ada", "a", "b"])}
    table = WordRows(clusters if clustered else None)
    templates = TagTemplates(default_templates(clusters=clustered))
    found = table.feature_keys(table.batch(given_sentences), templates).tolist()
    expected = [row for tokens in given_sentences for row in plain_keys(table, tokens, templates)]
    assert found == expected


def test_templates_do_not_share_keys():
    table = WordRows({"a": "0101"})
    templates = TagTemplates(default_templates(clusters=True))
    row = [key for key in plain_keys(table, ["a", "a", "a"], templates)[1] if key]
    assert len(set(row)) == len(row)


def test_a_word_without_cluster_has_no_cluster_feature():
    table = WordRows({"Cat": "0101", "dog": "11"})
    assert table.cluster_of("CAT") == "0101"
    assert table.cluster_of("Dog") == "11"
    assert table.cluster_of("cow") is None
    templates = TagTemplates(["bits4[0]", "bits4[-1]&lower[0]"])
    known, unknown = plain_keys(table, ["dog", "cow"], templates)
    assert all(known)
    assert unknown[0] == 0
    assert unknown[1] != 0  # the dog before it has a cluster


def test_more_words_than_the_table_began_with():
    table = WordRows()
    tokens = [f"w{n}" for n in range(3000)]
    templates = TagTemplates(["word[0]", "suf2[-1]"])
    assert table.feature_keys(table.batch([tokens]), templates).tolist() == plain_keys(
        table, tokens, templates
    )


@given(st.text(min_size=1))
def test_looks_take_any_word(word):
    assert set(TAGGING.texts(KeyedWord(word, bits="01"))) <= set(TAGGING.names)


@pytest.mark.parametrize(
    ("word", "case", "kind"),
    [
        ("iPhone", "mixed", ""),
        ("USA", "upper", ""),
        ("A", "single", ""),
        ("Ada", "title", ""),
        ("1984", "digits", "digit"),
        ("...", "sign", "dot"),
        ("@ada", "lower", "@"),
        ("www.x.org/y", "lower", "url"),
        ("well-known", "lower", "dash"),
        ("كتب", "lower", ""),
    ],
)
def test_case_and_kind(word, case, kind):
    found = TAGGING.texts(KeyedWord(word))
    assert found["case"] == case
    assert found["kind"].strip("+") == kind


@given(st.lists(st.integers(0, 40), max_size=60), st.integers(1, 3))
def test_numbers_of_keys_are_those_of_a_dict(values, min_count):
    keys = np.array(values, np.uint64).reshape(-1, 1)
    table = KeyNumbers.counted(keys, min_count)
    kept = sorted(v for v in set(values) if v and values.count(v) >= min_count)
    numbers = {value: n for n, value in enumerate(kept)}
    assert table.numbers(keys).ravel().tolist() == [numbers.get(v, -1) for v in values]


@pytest.mark.parametrize("name", ["", "lower", "lower[9]", "color[0]", "tag[-2]", "tag[0]"])
def test_bad_templates(name):
    with pytest.raises(SettingsError, match="template"):
        parse_template(name)


any_tags = st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y-Z", "I-Y-Z"]), max_size=8)


@given(any_tags)
def test_bilou_and_back(tags):
    good = repaired(tags)
    assert find_tag_fault(good, "bio2") is None
    if find_tag_fault(tags, "bio2") is None:
        assert good == tags
    assert to_bio2(to_bilou(good)) == good


@given(any_tags.filter(bool))
def test_what_is_legal_is_what_bio2_can_say(tags):
    """Every good sequence is legal inside; a random legal walk is good BIO2 outside."""
    tag_set = TagSet.of([["B-X", "B-Y-Z"]], "bio2")
    legal, may_end = tag_set.legal(), tag_set.may_end()
    inside = tag_set.encode([repaired(tags)])
    assert legal[[len(tag_set.inside), *inside[:-1]], inside].all()
    assert may_end[inside[-1]]
    rng = np.random.default_rng(len(tags))
    walk = [len(tag_set.inside)]
    while len(walk) < 30 or not may_end[walk[-1]]:
        walk.append(int(rng.choice(np.flatnonzero(legal[walk[-1]]))))
    outside = tag_set.decode(walk[1:])
    assert find_tag_fault(outside, "bio2") is None
    assert to_bilou(outside) == [tag_set.inside[n] for n in walk[1:]]


def test_a_word_is_looked_at_once_however_many_taggers_learn(monkeypatch):
    """Ten folds of two columns are twenty taggers of the same words."""
    seen = []

    def spy(word, bits):
        seen.append(word)
        return attribute_keys(word, bits)

    attribute_keys = features.attribute_keys
    monkeypatch.setattr(features, "attribute_keys", spy)
    features._row_of_keys.cache_clear()
    first, second = WordRows(), WordRows()
    batches = [table.batch([["Ants", "run"], ["Ants"]]) for table in (first, second)]
    assert sorted(word for word in seen if word.isalpha()) == ["Ants", "run"]
    assert np.array_equal(first.keys[batches[0].types], second.keys[batches[1].types])
    assert first.keys[batches[0].types].all(axis=0).any()
    other = WordRows({"Ants": "0110"})
    assert not np.array_equal(other.keys[other.batch([["Ants"]]).types[0]], first.keys[2])
