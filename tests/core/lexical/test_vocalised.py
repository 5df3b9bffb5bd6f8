"""The reading that is shown agrees with its label: endings, lemmas, li- and la-."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from protocols.vocalisation import VocalisationScores, comparable, join_pieces

from eigentext.lexical.analysis import Analysis
from eigentext.lexical.analyzers.arabic_endings import inflected, with_lemma
from eigentext.lexical.candidates import LabelSource
from eigentext.lexical.output import as_conllu, as_record, as_vocalised, shown_reading
from eigentext.lexical.ranked import RankedCandidate, RankedWord
from eigentext.lexical.schemes.labels import load_scheme


def noun(vocalised, case="u", state="i", *, pieces=(), pos="noun", prior=-3.0, **more):
    features = {"pos": pos, "cas": case, "stt": state, "num": "s", "prc0": "0", **more}
    segments = (*((vocalised, "NOUN"),), *pieces)
    whole = "".join(text for text, _ in segments)
    tag = "+".join(name for _, name in segments)
    return Analysis(
        f"{vocalised}_1", whole, segments, tag, features, "gloss", "r", prior, "analyzer"
    )


class Almost:
    """As ALMOR databases are: a frequent reading without ending, and rarer ones with it."""

    name = "almost"

    def __init__(self, *readings):
        self.readings = readings

    def normalise(self, word):
        return word

    def analyse(self, word):
        return list(self.readings)

    def inflect(self, reading, wanted):
        return inflected(reading, wanted)


def ranked(analyzer, form="كتاب", observed=(), scheme="arabic14"):
    """The word as a ranker would give it, in no order of merit."""
    known = load_scheme(scheme)
    source = LabelSource(analyzer, known, {form: observed})
    given = [RankedCandidate(c.label, 0.1, 0.0, c.analyses, c.source) for c in source(form)]
    return RankedWord(form, given, 0.0, False), SimpleNamespace(scheme_=known, analyzer_=analyzer)


def shown(word, ranker, **wanted):
    """What is shown of the one candidate with these values."""
    (found,) = [
        c for c in word.candidates if wanted.items() <= ranker.scheme_.as_mapping(c.label).items()
    ]
    return shown_reading(word, found, ranker)


READINGS = (
    noun("كِتاب", prior=-2.0),
    noun("كِتاب", "g", "c", pieces=[("ِ", "CASE_DEF_GEN")]),
    noun("كِتاب", "n", "i", pieces=[("ٌ", "CASE_INDEF_NOM")]),
)


def test_the_reading_with_the_labels_ending_is_shown_not_the_most_frequent():
    word, ranker = ranked(Almost(*READINGS))
    assert shown(word, ranker, cas="g", stt="c").vocalised == "كِتابِ"
    assert shown(word, ranker, cas="n", stt="i").vocalised == "كِتابٌ"


def test_an_ending_that_no_reading_has_comes_from_the_analyzer():
    word, ranker = ranked(Almost(*READINGS))
    reading = shown(word, ranker, cas="a", stt="c")
    assert reading.vocalised == "كِتابَ"
    assert reading.segments[-1] == ("َ", "CASE_DEF_ACC")
    assert "".join(text for text, _ in reading.segments) == reading.vocalised


def test_factored_anew_the_label_still_says_its_case():
    word, ranker = ranked(Almost(READINGS[0]), scheme="arabic16")
    assert shown(word, ranker, case="g", dpos="-.-.c").vocalised == "كِتابِ"


def test_every_output_shows_the_same_reading():
    word, ranker = ranked(Almost(*READINGS))
    best = next(c for c in word.candidates if c.label[-3:-1] == ("g", "c"))
    word = word._replace(candidates=[best, *(c for c in word.candidates if c is not best)])
    assert as_vocalised([word], ranker) == "كِتابِ"
    assert as_record(word, ranker)["candidates"][0]["vocalised"] == "كِتابِ"
    assert "Vform=كِتابِ" in list(as_conllu(1, [word], ranker))[2]


def test_a_label_of_training_alone_is_vocalised_too():
    scheme = load_scheme("arabic14")
    (plain, *_) = scheme.project(READINGS[1])
    values = scheme.as_mapping(plain) | {"lemma": "كُتّاب", "cas": "a"}
    label = scheme.from_mapping(values)
    word, ranker = ranked(Almost(*READINGS), observed=(label,))
    reading = shown(word, ranker, lemma="كُتّاب")
    assert (reading.vocalised, reading.lemma, reading.gloss) == ("كُتّابَ", "كُتّاب", "")
    back = word._replace(candidates=word.candidates[::-1])
    assert shown(back, ranker, lemma="كُتّاب") == reading


def test_an_analyzer_that_does_not_inflect_shows_no_reading_for_such_a_label(language):
    label = language.label("x", "ADV")
    source = LabelSource(language.analyzer(), language.scheme, {"bara": (label,)})
    given = [RankedCandidate(c.label, 0.1, 0.0, c.analyses, c.source) for c in source("bara")]
    word = RankedWord("bara", given, 0.0, False)
    ranker = SimpleNamespace(scheme_=language.scheme, analyzer_=language.analyzer())
    (observed,) = [c for c in given if c.label == label]
    assert shown_reading(word, observed, ranker) is None


def test_li_and_la_are_two_labels():
    scheme = load_scheme("arabic14")
    to, indeed = (
        {scheme.as_mapping(label)["pre1"] for label in scheme.project(noun("x", prc1=clitic))}
        for clitic in ("li_prep", "la_emph")
    )
    assert len(to) == len(indeed) == 1
    assert to != indeed


@pytest.mark.parametrize(
    ("word", "wanted", "expected"),
    [
        (noun("بَغْداد", pos="noun_prop"), {"cas": "g", "stt": "i"}, "بَغْدادَ"),
        (noun("مايُو", pos="noun_prop"), {"cas": "g", "stt": "i"}, "مايُو"),
        (noun("مَشاكِل"), {"cas": "g", "stt": "i"}, "مَشاكِلَ"),
        (noun("مَشاكِل"), {"cas": "g", "stt": "d"}, "مَشاكِلِ"),
        (noun("خُبَراء"), {"cas": "a", "stt": "i", "num": "p"}, "خُبَراءَ"),
        (noun("أَعْضاء"), {"cas": "g", "stt": "i", "num": "p"}, "أَعْضاءٍ"),
        (noun("ٱِسْتِثْناء"), {"cas": "a", "stt": "i", "num": "s"}, "ٱِسْتِثْناءً"),
        (noun("حِسابات"), {"cas": "a", "stt": "d", "num": "p"}, "حِساباتِ"),
        (noun("ماضِي"), {"cas": "n", "stt": "d"}, "ماضِي"),
        (noun("ماضِي"), {"cas": "a", "stt": "d"}, "ماضِيَ"),
        (noun("قَضايا"), {"cas": "n", "stt": "c"}, "قَضايا"),
        (noun("رَئِيس", pieces=[("ها", "POSS_PRON_3FS")]), {"cas": "g", "stt": "c"}, "رَئِيسِها"),
        (noun("كِتاب", "n", "c", pieces=[("ُ", "CASE_DEF_NOM")]), {"cas": "g", "stt": "i"}, "كِتابَ"),
        (noun("كِتاب", "n", "i", pieces=[("انِ", "NSUFF_DU")]), {"cas": "g", "stt": "i"}, "كِتابانِ"),
        (noun("كِتاب"), {}, "كِتاب"),
    ],
)
def test_endings(word, wanted, expected):
    assert comparable(inflected(word, wanted).vocalised) == comparable(expected)


def test_the_vowels_of_another_lemma():
    assert comparable(with_lemma("الدَّوْلِيَّةِ", "دُوَليّ")) == comparable("الدُّوَلِيَّةِ")
    assert with_lemma("كِتابٌ", "") == "كِتابٌ"


def test_what_sounds_alike_is_right_and_what_does_not_is_wrong():
    scores = VocalisationScores()
    for ours, gold in [
        ("لِلْمَسْؤُولِ", join_pieces("لِ+اَلمَسؤُولِ")),
        ("زِيارَةٍ", "زِيَارَةٍ"),
        ("لِلٱِطِّلاعِ", join_pieces("لِ+اَلِاطِّلَاعِ")),
        ("سَبَبُها", join_pieces("سَبَبُ+هَا")),
        ("عِلْم", "عَلَم"),
        ("عاماً", "عَامٍ"),
        ("رَئِيس", "رَئِيسُ"),
    ]:
        scores.add(ours, gold)
    assert (scores.words, scores.right, scores.right_without_ending) == (7, 4, 5)
    assert scores.accuracy == pytest.approx(400 / 7)
    assert scores.accuracy_without_endings == pytest.approx(500 / 7)


def guess(vocalised, *pieces, pos="noun_prop", **more):
    features = {"pos": pos, "cas": "u", "stt": "i", "num": "s", "prc0": "0", "spelling": "0"}
    tag = "+".join(name for _, name in pieces)
    return Analysis(
        vocalised, vocalised, pieces, tag, {**features, **more}, "", "", -8.0, "backoff"
    )


def every_way(word, ranker):
    """What each output shows of the best reading: text, JSON, whether it is marked, CoNLL-U."""
    record = as_record(word, ranker)["candidates"][0]
    misc = list(as_conllu(1, [word], ranker))[2].split("\t")[-1].split("|")
    return as_vocalised([word], ranker), record["vocalised"], record["respelled"], misc


def test_a_name_that_nothing_tells_of_gets_no_ending():
    """Foreign names had case endings and tanwin, of the label that was guessed."""
    for reading in (
        guess("دِيانكُوف", ("ديانكوف", "NOUN_PROP")),
        guess("ديانكوفٍ", ("ديانكوف", "NOUN"), ("ٍ", "CASE_INDEF_GEN"), cas="g"),
    ):
        word, ranker = ranked(Almost(reading), "ديانكوف")
        for candidate in word.candidates:
            best = word._replace(candidates=[candidate])
            text, vocalised, respelled, misc = every_way(best, ranker)
            assert text == vocalised == "ديانكوف"
            assert not respelled
            assert "Vform=ديانكوف" in misc
            segments = shown_reading(best, candidate, ranker).segments
            assert "".join(piece for piece, _ in segments) == "ديانكوف"
    # pieces of a guess stay apart
    word, ranker = ranked(Almost(guess("وَووتشَ", ("وَ", "CONJ"), ("ووتش", "N"), ("َ", "C"))), "وووتش")
    assert shown_reading(word, word.best, ranker).segments[:2] == (("و", "CONJ"), ("ووتش", "N"))


def test_text_has_the_letters_that_were_typed_and_a_reading_with_others_is_marked():
    word, ranker = ranked(Almost(noun("أَمِير", "n", "i", spelling="1")), "امير")
    text, vocalised, respelled, misc = every_way(word, ranker)
    assert (text, vocalised, respelled) == ("اَمِير", "أَمِير", True)
    assert "Respelled=Yes" in misc
    word, ranker = ranked(Almost(noun("أَمِير", "n", "i", spelling="0")), "أمير")
    text, vocalised, respelled, misc = every_way(word, ranker)
    assert (text, vocalised, respelled) == ("أَمِير", "أَمِير", False)
    assert "Respelled=Yes" not in misc
    # where letters do not fit one to one, the word stays as typed
    word, ranker = ranked(Almost(noun("عُمَرُو", "n", "i", spelling="3")), "عمر")
    assert every_way(word, ranker)[:3] == ("عمر", "عُمَرُو", True)
    # the wasla of an alif is no letter that was typed
    word, ranker = ranked(Almost(noun("ٱِسْم", "n", "i", spelling="1")), "اسم")
    assert every_way(word, ranker)[0] == "اِسْم"


def test_of_a_label_of_training_alone_the_reading_in_the_typed_letters_is_shown():
    adjective = noun("أَوَّلِيّ", "n", "d", pos="adj", prior=-1.0, spelling="1", gen="m")
    noun_of_it = noun("أُولَى", "u", "d", prior=-4.0, spelling="0", gen="f")
    scheme = load_scheme("arabic14")
    label = tuple(
        "g" if name == "cas" else value
        for name, value in scheme.as_mapping(scheme.project(adjective)[0]).items()
    )
    word, ranker = ranked(Almost(adjective, noun_of_it), "أولى", observed=[label])
    (only,) = [c for c in word.candidates if c.label == label]
    assert shown_reading(word, only, ranker).features["spelling"] == "0"
