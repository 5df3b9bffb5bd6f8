"""The Arabic sample: every marked analysis is found, and every analysis spells its word."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.datasets import analyse, load_arabic
from eigentext.datasets.arabic_lexicon import ELEMENTS, TABLES

VOWEL_SIGNS = re.compile("[\u064b-\u0652\u0670]")
VALUES = {
    "pos": set("NAVPCSFDG"),
    "pre2": set("-وف"),
    "pre1": set("-بلكس"),
    "det": set("01"),
    "asp": set("-pic"),
    "mood": set("-isj"),
    "vox": set("-ap"),
    "per": set("-123"),
    "gen": set("-mf"),
    "num": set("-sdp"),
    "cas": set("-nga"),
    "stt": set("-icd"),
    "pron": {"-", "1ms", "1mp", "2ms", "2fs", "3ms", "3fs", "3mp"},
}


def rows(table):
    text = files("eigentext.datasets").joinpath("arabic", table).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t"))


@pytest.fixture(scope="module")
def sentences():
    return load_arabic()


@pytest.fixture(scope="module")
def vocabulary(sentences):
    forms = sorted({word["form"] for sentence in sentences for word in sentence["words"]})
    return {form: analyse(form) for form in forms}


def test_sentences_are_typed_text(sentences):
    assert 60 <= len(sentences) <= 70
    assert (
        len({s["id"] for s in sentences}) == len({s["text"] for s in sentences}) == len(sentences)
    )
    for sentence in sentences:
        assert sentence["text"] == " ".join(word["form"] for word in sentence["words"])
        assert not VOWEL_SIGNS.search(sentence["text"])
        assert re.fullmatch(r"[\u0621-\u064a .؟!]+", sentence["text"]), sentence["text"]
        assert sentence["translation"][-1] in ".?!"


def test_the_marked_analysis_is_among_the_analyses_just_once(sentences, vocabulary):
    for sentence in sentences:
        for word in sentence["words"]:
            ids = [analysis["id"] for analysis in vocabulary[word["form"]]]
            assert ids.count(word["analysis"]) == 1, (sentence["id"], word)


def test_the_lexicon_leaves_something_to_choose(sentences, vocabulary):
    forms = [w["form"] for s in sentences for w in s["words"] if w["form"] not in ".؟!"]
    ambiguity = [len(vocabulary[form]) for form in forms]
    assert sum(ambiguity) / len(ambiguity) > 2
    lemmas = [len({a["lemma"] + a["pos"] for a in vocabulary[form]}) for form in forms]
    assert sum(n > 1 for n in lemmas) / len(lemmas) > 0.3
    marked = Counter()  # the same form is used with different readings
    for sentence in sentences:
        for word in sentence["words"]:
            marked[word["form"], word["analysis"].split("/")[0]] += 1
    readings = Counter(form for form, _ in marked)
    assert sum(n > 1 for n in readings.values()) >= 8


def test_an_analysis_spells_its_word_and_has_a_regular_label(vocabulary):
    for form, analyses in vocabulary.items():
        assert analyses == sorted(analyses, key=lambda a: (a["id"], a["vocalised"]))
        assert len({a["id"] for a in analyses}) == len(analyses), form
        for a in analyses:
            assert VOWEL_SIGNS.sub("", a["vocalised"]) == form
            assert set(a) == {"id", "vocalised", *ELEMENTS, "gloss", "root"}
            assert a["id"] == a["lemma"] + "/" + ".".join(a[e] for e in ELEMENTS[1:])
            for element, allowed in VALUES.items():
                assert a[element] in allowed, (form, element, a)
            verb, nominal = a["pos"] == "V", a["pos"] in "NA"
            assert (a["asp"] != "-") == (a["vox"] != "-") == (a["per"] != "-") == verb, a
            assert (a["mood"] != "-") == (a["asp"] == "i"), a
            assert (a["cas"] != "-") == (a["stt"] != "-") == nominal, a
            assert (a["gen"] != "-") == (verb or a["pos"] == "A"), a
            assert (a["num"] != "-") == (verb or nominal), a
            assert (a["det"] == "1") == (a["stt"] == "d"), a
            assert a["gloss"]


@pytest.mark.parametrize(
    ("word", "vocalised"),
    [
        ("كتب", {"كَتَبَ", "كُتِبَ", "كَتَّبَ", "كُتُبُ", "كُتُبٌ"}),
        ("علم", {"عِلْمٌ", "عَلَمٌ", "عَلَّمَ", "عَلِمَ", "عُلِمَ", "عُلِّمَ"}),
        ("المدرسة", {"الْمَدْرَسَةُ", "الْمُدَرِّسَةُ"}),
        ("قرأته", {"قَرَأَتْهُ", "قَرَأْتُهُ", "قَرَأْتَهُ"}),
        ("يكتب", {"يَكْتُبُ", "يُكْتَبُ", "يُكَتِّبُ", "يَكْتُبَ", "يَكْتُبْ"}),
        ("الشعر", {"الشِّعْرُ", "الشَّعْرُ"}),  # a sun letter is doubled
        ("للولد", {"لِلْوَلَدِ"}),
        ("أخي", {"أَخِي"}),
    ],
)
def test_known_ambiguities(word, vocalised):
    # Shadda and vowel may come in either order: compare without regard to it.
    def marks_sorted(text):
        return re.sub("[\u064b-\u0652]+", lambda m: "".join(sorted(m[0])), text)

    found = {marks_sorted(a["vocalised"]) for a in analyse(word)}
    assert {marks_sorted(v) for v in vocalised} <= found


def test_pieces_agree():
    assert {a["cas"] for a in analyse("بالعدل")} == {"g"}  # a preposition governs the genitive
    assert {a["cas"] for a in analyse("العدل")} == {"n", "g", "a"}
    assert {a["mood"] for a in analyse("سيكتب")} == {"i"}  # the future is indicative
    assert {a["pre1"] for a in analyse("سيكتب")} == {"س"}
    assert {a["mood"] for a in analyse("ليكتب")} == {"s"}
    assert {a["num"] for a in analyse("يكتبون")} == {"p"}
    assert analyse("سكتب") == []  # no future of a perfect
    assert analyse("الكتابه") == []  # no article with a pronoun
    assert analyse("كتبان") == []  # no dual of a broken plural
    assert {a["pron"] for a in analyse("كتابه")} == {"3ms"}


def test_vowel_signs_of_the_input_are_ignored():
    assert analyse("كَتَبَ") == analyse("كتب") != []


def test_a_list_is_not_a_word():
    with pytest.raises(TypeError, match="one word"):
        analyse(["كتب"])


@given(st.text(alphabet="ابتدرسلمكويفنهةأ", max_size=9))
def test_any_string_of_letters_gets_regular_analyses(word):
    for analysis in analyse(word):
        assert VOWEL_SIGNS.sub("", analysis["vocalised"]) == word
        assert all(analysis[element] in allowed for element, allowed in VALUES.items())


def test_the_tables_hang_together():
    prefixes, stems, suffixes, compatible = map(rows, TABLES)
    for table in (prefixes, stems, suffixes):
        for row in table:
            assert None not in row.values()
            assert VOWEL_SIGNS.sub("", row["vocalised"]) == row["form"], row
            assert row["class"]
    used = [set(), set(), set()]
    for row in compatible:
        used[0].add(row["prefix"])
        used[1].add(row["stem"])
        used[2].update(row["suffixes"].split(","))
    for table, classes in zip((prefixes, stems, suffixes), used, strict=True):
        assert {row["class"] for row in table} == classes
    assert all(row["lemma"] and row["pos"] and row["gloss"] for row in stems)


@pytest.mark.requires("data")
def test_labels_use_the_values_of_the_real_data(data):
    found = {element: set() for element in ELEMENTS}
    with open(data / "lexical/ar-padt/words.jsonl", encoding="utf-8") as stream:
        for line in stream:
            for word in json.loads(line)["words"]:
                for element, value in word["label"].items():
                    found[element].add(value)
    for element, values in VALUES.items():
        assert values - found[element] <= {"2fs"}, element  # too rare there to occur
