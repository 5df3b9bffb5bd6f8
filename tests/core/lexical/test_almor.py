"""The ALMOR reader, engine and analyzer on a tiny database; its readings are worked out by hand."""

# ruff: noqa: E501 - lines of a database are long

from __future__ import annotations

import itertools
import pickle
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.errors import DataError, SettingsError
from eigentext.lexical.analyzers import open_analyzer
from eigentext.lexical.analyzers.almor import AlmorAnalyzer
from eigentext.lexical.analyzers.almor_database import read_database
from eigentext.lexical.analyzers.almor_engine import AlmorEngine
from eigentext.lexical.analyzers.arabic_spelling import (
    bare,
    join_stem,
    join_suffix,
    marks_agree,
    matching_key,
    plain,
    spelling_cost,
)

NOUN = "prc2:0 prc1:0 prc0:0 asp:na mod:na vox:na per:na stt:i cas:u enc0:0 gen:- num:-"
VERB = "prc2:0 prc1:0 prc0:0 per:3 asp:{} vox:a mod:u stt:na cas:na enc0:0 gen:- num:-"
TINY = f"""###DEFINES###
DEFINE pos pos:noun pos:verb
DEFINE lex lex:*open*
###DEFAULTS###
DEFAULT pos:noun pos:noun form_gen:m form_num:s rat:i lex:*
DEFAULT pos:verb pos:verb form_gen:m form_num:s rat:n lex:*
###ORDER###
ORDER diac lex pos prc2 prc1 prc0 cas stt
###STEMBACKOFF###
STEMBACKOFF ALL N V
STEMBACKOFF PROP N
###PREFIXES###
\tPref-0\t
و\tPref-0\tdiac:وَ bw:وَ/CONJ gloss:and prc2:wa_conj
ال\tPref-Al\tdiac:ال bw:ال/DET gloss:the prc0:Al_det stt:d
لل\tPref-Al\tdiac:لِل bw:لِ/PREP+ال/DET gloss:for_+_the prc1:li_prep prc0:Al_det stt:d
ي\tIV-ya\tdiac:يَ bw:يَ/IV3MS gloss:he pos:verb per:3 asp:i form_gen:m
لي\tIV-ya\tdiac:لِيَ bw:لِ/PREP+يَ/IV3MS gloss:for_+_him pos:verb prc1:li_prep per:3 asp:i
سي\tIV-ya\tdiac:سَيَ bw:سَ/FUT_PART+يَ/IV3MS gloss:will_+_he pos:verb prc1:sa_fut per:3 asp:i mod:i
###SUFFIXES###
\tSuff-0\t
\tN-u\tdiac:ُ bw:ُ/CASE_DEF_NOM gloss:[def.nom.] stt:c cas:n
ه\tN-ap\tdiac:َة bw:َة/NSUFF_FEM_SG gloss:[fem.sg.] form_gen:f form_num:s
ه\tN-h\tdiac:ُهُ bw:ُ/CASE_DEF_NOM+هُ/POSS_PRON_3MS gloss:his stt:c cas:n enc0:3ms_poss
وا\tIV-w\tdiac:ُوا bw:ُوا/IVSUFF_SUBJ:MP_MOOD:SJ gloss:[masc.pl.] pos:verb asp:i form_num:p
###STEMS###
NOAN\tN\tdiac:NOAN lex:NOAN_0 bw:NOAN/NOUN_PROP gloss:? pos:noun {NOUN} form_gen:- form_num:- source:backoff
كتاب\tN\tdiac:كِتاب lex:كِتاب_1 bw:كِتاب/NOUN gloss:book;letter pos:noun {NOUN} pos_lex_freq:-3.5 root:ك.ت.ب
شمس\tN\tdiac:شَمْس lex:شَمْس_1 bw:شَمْس/NOUN gloss:sun pos:noun {NOUN} gen:f pos_lex_freq:-99
امير\tN\tdiac:أَمِير lex:أَمِير_1 bw:أَمِير/NOUN gloss:prince pos:noun {NOUN}
كتب\tV\tdiac:كْتُب lex:كَتَب-u_1 bw:كْتُب/IV gloss:write pos:verb {VERB.format("i")} pos_lex_freq:-3.6
###TABLE AB###
Pref-0 N
Pref-Al N
IV-ya V
###TABLE BC###
N Suff-0
N N-u
N N-ap
N N-h
V Suff-0
V IV-w
###TABLE AC###
Pref-0 Suff-0
Pref-0 N-u
Pref-0 N-ap
Pref-0 N-h
Pref-Al Suff-0
Pref-Al N-u
Pref-Al N-ap
IV-ya Suff-0
IV-ya IV-w
"""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("almor") / "tiny.db"
    path.write_text(TINY, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def analyzer(tiny) -> AlmorAnalyzer:
    return AlmorAnalyzer(tiny)


def shown(readings):
    """Vocalised form, case and state; the order of signs on one letter does not matter."""
    return sorted((nfc(r.vocalised), r.features["cas"], r.features["stt"]) for r in readings)


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def test_after_a_long_vowel_no_short_one_is_heard():
    assert join_suffix("قَضايا", "ُ") == "قَضايا"
    assert join_suffix("مُسْتَوى", "ِ") == "مُسْتَوى"
    assert join_suffix("أَراضِي", "ِ") == "أَراضِي"
    assert join_suffix("أَراضِي", "َ") == "أَراضِيَ"
    assert join_suffix("سَعْي", "ِ") == "سَعْيِ"


def test_a_noun_with_and_without_case(analyzer):
    readings = analyzer.analyse("كتاب")
    assert shown(readings) == [("كِتاب", "u", "i"), ("كِتابُ", "n", "c")]
    first = readings[0]
    assert first.lemma == "كِتاب_1"
    assert first.gloss == "book/letter"
    assert first.root == "ك.ت.ب"
    assert first.prior == -3.5
    assert first.source == "analyzer"
    assert first.features["rat"] == "i"  # the default of its part of speech
    assert first.features["gen"] == "m"  # left to the form
    assert list(first.features)[:2] == ["pos", "prc2"]  # the database's order


def test_the_article_makes_definite_and_doubles_a_sun_letter(analyzer):
    readings = analyzer.analyse("الشمس")
    assert shown(readings) == [(nfc("الشَّمْس"), "u", "d"), (nfc("الشَّمْسُ"), "n", "d")]
    assert {r.features["gen"] for r in readings} == {"f"}  # the stem's, not the form's
    assert {r.prior for r in readings} == {-6.5}  # -99 says: not seen
    assert readings[0].segments[0] == ("ال", "DET")
    assert readings[0].gloss == "the + sun"
    assert shown(analyzer.analyse("للشمس"))[0][0].startswith("لِلش")
    assert shown(analyzer.analyse("الكتاب"))[0][0] == "الْكِتاب"


def test_suffixes_and_conjunction(analyzer):
    found = {(r.vocalised, r.tag) for r in analyzer.analyse("وكتابه")}
    assert found == {
        ("وَكِتابَة", "CONJ+NOUN+NSUFF_FEM_SG"),
        ("وَكِتابُهُ", "CONJ+NOUN+CASE_DEF_NOM+POSS_PRON_3MS"),
    }
    # what was typed decides: ta marbuta is no pronoun
    assert [r.tag for r in analyzer.analyse("كتابة")] == ["NOUN+NSUFF_FEM_SG"]
    assert not [r for r in analyzer.analyse("الكتابه") if r.features["enc0"] != "0"]


def test_every_open_mood_is_a_reading_with_its_vowel(analyzer):
    moods = {r.features["mod"]: r.vocalised for r in analyzer.analyse("يكتب")}
    assert moods == {"i": "يَكْتُبُ", "s": "يَكْتُبَ", "j": "يَكْتُبْ"}
    assert [r.features["mod"] for r in analyzer.analyse("ليكتب")] == ["s"]
    plural = analyzer.analyse("يكتبوا")
    assert {r.features["mod"] for r in plural} == {"s", "j"}
    assert {r.vocalised for r in plural} == {"يَكْتُبُوا"}
    assert {r.features["num"] for r in plural} == {"p"}


def test_typed_vowel_signs_choose(analyzer):
    assert [r.features["mod"] for r in analyzer.analyse("يكتبُ")] == ["i"]
    assert [r.features["mod"] for r in analyzer.analyse("يكتبْ")] == ["j"]
    assert len(analyzer.analyse("يَكتب")) == 3
    ignored = analyzer.analyse("يُكتب")  # no reading has this: better all than none
    assert len(ignored) == 3
    assert {r.features["signs"] for r in ignored} == {"ignored"}
    assert "signs" not in analyzer.analyse("يكتب")[0].features


def test_spelling_is_matched_loosely_and_marked(tiny):
    tolerant = AlmorAnalyzer(tiny, spelling="tolerant")
    for typed, cost in (("أمير", "0"), ("امير", "1"), ("إمير", "3")):
        assert {r.features["spelling"] for r in tolerant.analyse(typed)} == {cost}
        assert {r.lemma for r in tolerant.analyse(typed)} == {"أَمِير_1"}
    both = tolerant.analyse("كتابه")
    assert [r.features["spelling"] for r in both] == ["0", "1"]
    assert len(AlmorAnalyzer(tiny, spelling="strict").analyse("كتابه")) == 1
    assert len(AlmorAnalyzer(tiny, spelling="careful").analyse("كتابه")) == 2
    assert len(AlmorAnalyzer(tiny, spelling="careful").analyse("كتابة")) == 1
    assert len(tolerant.analyse("كتابة")) == 2


def test_a_mood_that_a_prefix_sets_is_heard_too(analyzer):
    """The future is indicative: its vowel is as certain as that of a mood that is left open."""
    assert {(nfc(r.vocalised), r.features["mod"]) for r in analyzer.analyse("سيكتب")} == {
        (nfc("سَيَكْتُبُ"), "i")
    }


@pytest.mark.parametrize("typed", ["كتـــاب", "ﻛﺘﺎﺏ", "كت\u200dاب", "\u200fكتاب", "كِتاب"])
def test_what_only_serves_display_changes_nothing(analyzer, typed):
    assert {r.lemma for r in analyzer.analyse(typed)} == {"كِتاب_1"}
    assert {r.source for r in analyzer.analyse(typed)} == {"analyzer"}


def test_a_typed_ta_marbuta_is_no_pronoun(analyzer):
    guesses = analyzer.analyse("طبارة")
    assert {r.source for r in guesses} == {"backoff"}
    assert {r.features["spelling"] for r in guesses} == {"0"}
    assert not any("PRON" in r.tag for r in guesses)
    assert any("NSUFF_FEM_SG" in r.tag for r in guesses)
    # and a typed ha is no ta marbuta
    assert not any("NSUFF_FEM_SG" in r.tag for r in analyzer.analyse("موشه"))


def test_unknown_words_are_guessed_and_say_so(analyzer, tiny):
    guesses = analyzer.analyse("والبرق")
    assert {r.source for r in guesses} == {"backoff"}
    assert all(r.is_guess for r in guesses)
    lemmas = {r.lemma for r in guesses}
    assert {"والبرق_0", "البرق_0"} == lemmas  # the article does not follow "and" in this database
    assert {r.features["gen"] for r in guesses} == {"m"}
    [only] = AlmorAnalyzer(tiny, backoff="none").analyse("برق")
    assert (only.lemma, only.source) == ("برق", "backoff")
    assert {r.source for r in analyzer.analyse("قثضص" * 2500)} == {"backoff"}


@pytest.mark.parametrize(
    ("word", "source"),
    [
        ("٢٠١٠", "digit"),
        ("3.5", "digit"),
        ("؟", "punctuation"),
        ("Wien", "foreign"),
        ("日本", "foreign"),
    ],
)
def test_other_tokens_are_their_own_lemma(analyzer, word, source):
    [only] = analyzer.analyse(word)
    assert (only.lemma, only.vocalised, only.source) == (word, word, source)


def brute_force(database, key):
    """All prefix + stem + suffix of the tables that spell the key and may stand together."""
    found = []
    for prefix in itertools.chain(*database.prefixes.values()):
        for stem in itertools.chain(*database.stems.values()):
            for suffix in itertools.chain(*database.suffixes.values()):
                if (
                    prefix.form + stem.form + suffix.form == key
                    and stem.category in database.stem_after.get(prefix.category, ())
                    and suffix.category in database.suffix_after.get(stem.category, ())
                    and (prefix.category, suffix.category) in database.around
                ):
                    tags = (prefix.features.get("bw", ""), suffix.features.get("bw", ""))
                    found.append((stem.form, *tags))
    return sorted(found)


def by_engine(engine, key):
    found = set()
    for reading in engine.readings(key):
        place = next(i for i, (_, tag) in enumerate(reading.segments) if tag in ("NOUN", "IV"))
        pieces = [
            "+".join(f"{s}/{t}" for s, t in part)
            for part in (reading.segments[:place], reading.segments[place + 1 :])
        ]
        found.add((matching_key(bare(reading.segments[place][0])), *pieces))
    return sorted(found)


def test_the_engine_finds_exactly_what_brute_force_finds(tiny):
    database = read_database(tiny)
    engine = AlmorEngine(database)
    pieces = ["", "و", "ال", "لل", "ي", "لي", "ه", "وا"]
    stems = ["كتاب", "شمس", "امير", "كتب", "برق"]
    keys = {a + s + b for a in pieces for s in stems for b in pieces}
    found = 0
    for key in sorted(keys):
        expected = brute_force(database, key)
        assert by_engine(engine, key) == expected, key
        found += len(expected)
    assert found > 30


BAD = {
    "unknown section": (TINY.replace("###ORDER###", "###ORDURE###"), 7, "unknown section"),
    "two columns": (TINY.replace("\tN-u\tdiac:ُ", "\tN-u diac:ُ"), None, "3 columns, found 2"),
    "no colon": (TINY.replace("prc2:wa_conj", "prc2"), None, "feature:value"),
    "no category": (TINY.replace("شمس\tN\t", "شمس\t\t"), None, "category"),
    "stem without letters": (TINY.replace("شمس\tN\t", "\tN\t"), None, "a stem with letters"),
    "three categories": (TINY.replace("IV-ya V", "IV-ya V V"), None, "two categories"),
    "bad default": (TINY.replace("DEFAULT pos:verb", "DEFAULT verb"), 6, "DEFAULT pos:"),
    "no section": ("hello\n" + TINY, 1, "expected a section"),
    "missing table": (TINY.split("###TABLE AC###")[0], None, "TABLE AC"),
    "empty": ("", None, "expected a section"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_malformed_database_names_file_and_line(tmp_path, case):
    text, line, why = BAD[case]
    path = tmp_path / "bad.db"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=why) as caught:
        AlmorAnalyzer(path)
    assert caught.value.path == str(path)
    if line:
        assert caught.value.line == line
    elif case not in ("missing table", "empty"):
        changed = [
            n
            for n, (a, b) in enumerate(zip(TINY.split("\n"), text.split("\n"), strict=False), 1)
            if a != b
        ]
        assert caught.value.line == changed[0]


def test_a_fault_inside_a_stem_is_reported_when_it_is_used(tmp_path):
    path = tmp_path / "bad.db"
    path.write_text(TINY.replace("diac:شَمْس", "d:شَمْس"), encoding="utf-8")
    analyzer = AlmorAnalyzer(path)
    assert analyzer.analyse("كتاب")
    with pytest.raises(DataError, match="pos: and diac:") as caught:
        analyzer.analyse("شمس")
    assert TINY.split("\n")[caught.value.line - 1].startswith("شمس")


def test_settings_and_files_that_are_not_there(tiny, tmp_path):
    with pytest.raises(SettingsError, match="backoff"):
        AlmorAnalyzer(tiny, backoff="some")
    with pytest.raises(SettingsError, match="spelling"):
        AlmorAnalyzer(tiny, spelling="any")
    with pytest.raises(DataError):
        AlmorAnalyzer(tmp_path / "none.db")
    with pytest.raises(TypeError, match="one word"):
        AlmorAnalyzer(tiny).analyse(["كتاب"])


def test_cache_and_copies(tiny, analyzer):
    first = analyzer.analyse("كتاب")
    first.clear()
    assert len(analyzer.analyse("كتاب")) == 2
    small = AlmorAnalyzer(tiny)
    small._remembered.answers.most = 1
    assert [small.analyse(w) for w in ("كتاب", "شمس", "كتاب")][2] == analyzer.analyse("كتاب")
    copy = pickle.loads(pickle.dumps(analyzer))
    assert copy.analyse("يكتب") == analyzer.analyse("يكتب")


LETTERS = "ابتثكشمسيولهةىأإآءؤئ٣7aZ-.\u0640\u064e\u0651\u0652\u0670\u200d\u200fﻛﷲﻻ"


@settings(max_examples=400)
@given(st.text(alphabet=LETTERS, min_size=1, max_size=12) | st.text(min_size=1, max_size=8))
def test_every_token_gets_an_answer_and_stays_as_typed(analyzer, word):
    before = str(word)
    readings = analyzer.analyse(word)
    assert readings
    assert word == before
    assert all(reading.source for reading in readings)
    assert all("spelling" in reading.features for reading in readings)
    assert analyzer.normalise(analyzer.normalise(word)) == analyzer.normalise(word)
    if readings[0].source in ("digit", "punctuation", "foreign"):
        assert readings[0].vocalised == word


def test_a_token_of_ten_thousand_letters(analyzer):
    for letter in ("ا", "و", "كتاب", "a", "1", "\u0640", "\u064e"):
        assert 1 <= len(analyzer.analyse(letter * 10_000)) < 50


def test_an_empty_word_has_no_reading(analyzer):
    assert analyzer.analyse("") == []


def test_joining_rules():
    assert join_suffix("كَتَبْ", "َت") == "كَتَبَت"
    assert join_suffix("مَدْرَسَة", "هُ") == "مَدْرَسَتهُ"
    assert join_suffix("مَدْرَسَة", "ُ") == "مَدْرَسَةُ"
    assert join_suffix("", "ُ") == "ُ"
    assert join_stem("وَ", "كِتاب", article=False) == "وَكِتاب"
    assert join_stem("ال", "اِسْم", article=True) == "الاِسْم"  # no vowel sign on l before a wasl
    assert marks_agree("كِتَاب", "كِتاب")  # a vowel before its long letter
    assert not marks_agree("كتّب", "كتب")
    assert marks_agree("كتابًا", "كِتاباً")
    assert spelling_cost("كتاب", "كتب") == 3
    assert plain("ﻻ") == "لا"


@pytest.mark.requires("almor")
def test_the_real_database_reads_real_words():
    analyzer = open_analyzer("almor")
    found = {(r.lemma, r.tag) for r in analyzer.analyse("وسيكتبونها")}
    assert ("كَتَب-u_1", "CONJ+FUT_PART+IV3MP+IV+IVSUFF_SUBJ:MP_MOOD:I+IVSUFF_DO:3FS") in found
    assert nfc("لِلُّغَةِ") in {nfc(r.vocalised) for r in analyzer.analyse("للغة")}
    assert not any(r.is_guess for r in analyzer.analyse("الولايات"))
    assert analyzer.analyse("قثضصط")[0].is_guess
