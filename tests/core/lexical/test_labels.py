"""Label schemes: projection by hand-worked cases, nothing lost, bad settings refused."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.datasets import analyse as sample_entries
from eigentext.datasets import load_arabic
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats.conllu import parse_sentence
from eigentext.lexical.analysis import Analysis
from eigentext.lexical.analyzers import open_analyzer
from eigentext.lexical.schemes.labels import LabelScheme, load_scheme, scheme_names

ARABIC = load_scheme("arabic14")


def reading(lemma, **features):
    return Analysis(lemma, "", (), "NOUN", features)


def projected(analysis, *names):
    return {
        tuple(ARABIC.as_mapping(label)[name] for name in names)
        for label in ARABIC.project(analysis)
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("مَجْمُوعَة_1", "مَجموعة"),
        ("كَتَب-u_1", "كَتَب"),
        ("ٱِت\u0650\u0651فاق_2", "ات\u0651\u0650فاق"),
        ("أَمِيرِكِيّ_1", "أميرِكيّ"),
        ("عَلَى_1", "عَلى"),
        ("أُمَّة_1", "أُمّة"),
        ("هٰذا_1", "هذا"),
        ("أَيْضاً_1", "أيضًا"),
    ],
)
def test_lemmas_are_normalised_as_the_gold_is(given, expected):
    [label] = ARABIC.project(reading(given, pos="conj"))
    assert label[0] == expected


def test_open_elements_give_every_value():
    noun = reading("كِتاب_1", pos="noun", num="s", cas="u", stt="u", prc0="0", enc0="0")
    assert projected(noun, "cas") == {("n",), ("g",), ("a",)}
    assert projected(noun, "stt") == {("i",), ("c",)}
    assert len(ARABIC.project(noun)) == 6
    verb = reading("كَتَب-u_1", pos="verb", asp="i", mod="u", vox="a", per="3", gen="m", num="s")
    assert projected(verb, "mood", "cas") == {("i", "-"), ("s", "-"), ("j", "-")}
    perfect = reading("كَتَب-u_1", pos="verb", asp="p", mod="u", vox="a", per="3", gen="m", num="s")
    assert projected(perfect, "mood") == {("-",)}


def test_article_and_pronoun_decide_the_state():
    noun = {"pos": "noun", "num": "s", "cas": "n", "stt": "i"}
    assert projected(reading("كِتاب_1", **noun, prc0="Al_det"), "det", "stt") == {("1", "d")}
    assert projected(reading("كِتاب_1", **noun, enc0="3ms_poss"), "pron", "stt") == {("3ms", "c")}
    assert projected(reading("كِتاب_1", **noun, enc0="1s_poss"), "pron") == {("1ms",)}
    assert projected(reading("في_1", pos="prep", prc0="Al_det"), "det", "stt") == {("0", "-")}


def test_proper_nouns_may_have_no_case():
    name = reading("بَغْداد_1", pos="noun_prop", num="s", cas="n", stt="i")
    assert projected(name, "cas", "stt") == {("n", "i"), ("-", "-")}


def test_other_readings_of_a_stem():
    quarter = reading("خَمْس_1", pos="adj", num="s", cas="n", stt="i", gen="m", form_gen="m")
    assert ("Q", "خَمسة", "-") in projected(quarter, "pos", "lemma", "num")
    between = reading("بَيْن_1", pos="noun", num="s", cas="a", stt="c", prc1="0")
    assert ("P", "-", "-", "-") in projected(between, "pos", "num", "cas", "stt")
    active = reading("كاتِب_1", pos="noun", pattern="1ا2ِ3", form_gen="f", num="s", cas="n", stt="i")
    assert projected(active, "pos", "gen") == {("N", "-"), ("A", "f")}
    house = reading("بَيْت_1", pos="noun", pattern="1َ2ْ3", form_gen="m", num="s", cas="n", stt="i")
    assert projected(house, "pos") == {("N",)}


def test_the_sample_lexicon_projects_onto_its_own_elements():
    analyzer = open_analyzer("sample")
    checked = 0
    for sentence in load_arabic():
        for word in sentence["words"]:
            entries = sample_entries(word["form"])
            for entry, analysis in zip(entries, analyzer.analyse(word["form"]), strict=False):
                if entry["asp"] == "c":  # the gold gives an imperative neither voice nor person
                    entry = {**entry, "vox": "-", "per": "-"}
                expected = tuple(entry[name] for name in ARABIC.elements)
                assert expected[1:] in {label[1:] for label in ARABIC.project(analysis)}
                checked += 1
    assert checked > 100


VALUES = st.text(min_size=0, max_size=5) | st.sampled_from(["-", "\\", "\x1f", "\\s", "\\\\s"])


@given(st.data(), st.sampled_from(scheme_names()))
def test_labels_and_elements_convert_without_loss(data, name):
    scheme = load_scheme(name)
    label = tuple(data.draw(VALUES) for _ in scheme.elements)
    assert scheme.decode(scheme.encode(label)) == label
    assert tuple(scheme.as_mapping(label).values()) == label
    if scheme.base is None:
        assert scheme.from_mapping(scheme.as_mapping(label)) == label


POSSIBLE = {
    "lemma": ["كتب", "علم"],
    "pos": ["N", "V"],
    "pre2": ["-", "و"],
    "pre1": ["-", "ب"],
    "det": ["0", "1"],
    "asp": ["-", "p"],
    "mood": ["-", "i"],
    "vox": ["-", "a"],
    "per": ["-", "3"],
    "gen": ["-", "f"],
    "num": ["-", "p"],
    "cas": ["-", "g"],
    "stt": ["-", "c"],
    "pron": ["-", "3ms", "3mp", "1ms"],
}
LABELS = st.tuples(*(st.sampled_from(POSSIBLE[name]) for name in ARABIC.elements))


@given(LABELS, LABELS)
def test_the_papers_elements_tell_apart_what_the_fourteen_do(one, other):
    scheme = load_scheme("arabic16")
    assert len(scheme.elements) == 16
    assert (scheme.refactor(one) == scheme.refactor(other)) == (one == other)


def test_the_papers_scheme_projects_through_the_fourteen():
    scheme = load_scheme("arabic16")
    noun = reading("كِتاب_1", pos="noun", num="s", cas="u", stt="i", enc0="3fs_poss")
    shown = [scheme.as_mapping(label) for label in scheme.project(noun)]
    assert {row["case"] for row in shown} == {"n", "g", "a"}
    assert {(row["persuf"], row["gensuf"], row["numsuf"]) for row in shown} == {("3", "f", "s")}
    assert scheme.from_mapping({"lemma": "x", "pos": "N"})[0] == "x"


def test_treebank_columns_go_through_the_same_rules():
    row = "1\tevlerinden\tev\tNOUN\tNoun\tCase=Abl|Number=Plur|Typo=Yes\t0\troot\t_\t_"
    [token] = parse_sentence(row).words
    shown = load_scheme("turkish").as_mapping(load_scheme("turkish").from_conllu(token))
    assert (shown["lemma"], shown["upos"], shown["Case"]) == ("ev", "NOUN", "Abl")
    assert (shown["Mood"], shown["more"]) == ("-", "Typo=Yes")
    polish = load_scheme("polish")
    label = polish.gold("domu", "dom:Sm3~u", "subst:sg:gen:m3", {})
    assert dict(zip(polish.elements, label, strict=True)) | {"lemma": "dom", "cas": "gen"} == dict(
        zip(polish.elements, label, strict=True)
    )
    assert polish.gold("12:30", "12:30", "dig", {})[0] == "12:30"
    assert polish.gold("gm", "gram", "brev:npun", {})[polish.elements.index("other")] == "npun"


def test_schemes_survive_json_and_pickle():
    for name in scheme_names():
        scheme = load_scheme(name)
        assert LabelScheme.from_json(scheme.to_json()) == scheme
        assert pickle.loads(pickle.dumps(scheme)) == scheme
    again = LabelScheme.from_json(ARABIC.to_json())
    noun = reading("كِتاب_1", pos="noun", num="s", cas="u", stt="u")
    assert again.project(noun) == ARABIC.project(noun)


SMALL = {"name": "s", "elements": [{"name": "lemma", "feature": "@lemma"}]}
BAD = {
    "not JSON": ("{", "expected JSON"),
    "a list": ("[]", "JSON object"),
    "no elements": ('{"name": "s", "elements": []}', "elements"),
    "unknown key": (json.dumps({**SMALL, "colour": "red"}), "colour"),
    "two sources": (
        json.dumps({"name": "s", "elements": [{"name": "a", "feature": "b", "rest": "tag"}]}),
        "expected one of",
    ),
    "bad pattern": (
        json.dumps(
            {"name": "s", "elements": [{"name": "a", "feature": "b", "steps": [{"pattern": "("}]}]}
        ),
        "regular expression",
    ),
    "join without base": (
        json.dumps({"name": "s", "elements": [{"name": "a", "join": ["b"]}]}),
        "base scheme",
    ),
    "empty rule": (json.dumps({**SMALL, "rules": [{"when": {}}]}), "either set or read_as"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_scheme_file_says_what_is_wrong(tmp_path, case):
    text, why = BAD[case]
    path = tmp_path / "scheme.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=why) as caught:
        load_scheme(path)
    assert caught.value.path == str(path)


def test_rules_about_elements_that_are_not_there():
    for part in (
        {"rules": [{"when": {"pos": "N"}, "set": {"lemma": "x"}}]},
        {"rules": [{"when": {}, "set": {"pos": "x"}}]},
        {"elements": [{"name": "a", "feature": "x", "when": {"b": "1"}}]},
        {"elements": [{"name": "a", "feature": "@colour"}]},
    ):
        with pytest.raises(SettingsError, match="element"):
            LabelScheme.from_json(json.dumps({**SMALL, **part}))
    with pytest.raises(SettingsError, match="each element once"):
        LabelScheme.from_json(json.dumps({**SMALL, "elements": SMALL["elements"] * 2}))
    with pytest.raises(SettingsError, match="no label scheme 'klingon'"):
        load_scheme("klingon")
    with pytest.raises(SettingsError, match="no element 'colour'"):
        ARABIC.from_mapping({"colour": "red"})
    with pytest.raises(SettingsError, match="expected 14 elements"):
        ARABIC.decode("a\x1fb")
