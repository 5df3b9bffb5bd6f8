"""Documents of gold words, and the candidates among which the right label is sought."""

from __future__ import annotations

import json

import pytest

from eigentext.base.files.opening import SkipLog
from eigentext.datasets import get
from eigentext.errors import DataError, SettingsError
from eigentext.lexical.analysis import Analysis
from eigentext.lexical.analyzers import open_analyzer
from eigentext.lexical.candidates import NO_PRIOR, LabelSource, tie_order
from eigentext.lexical.documents import read_conllu_documents, read_documents, read_words_jsonl
from eigentext.lexical.schemes.labels import LabelScheme, load_scheme

SCHEME = LabelScheme.from_json(
    json.dumps(
        {
            "name": "toy",
            "elements": [
                {"name": "lemma", "feature": "@lemma"},
                {"name": "cas", "feature": "cas", "open": {"u": ["n", "g"]}},
            ],
        }
    )
)


class Toy:
    """Readings given in advance."""

    name = "toy"

    def __init__(self, readings):
        self.readings = readings
        self.asked = []

    def normalise(self, word):
        return word

    def analyse(self, word):
        self.asked.append(word)
        return list(self.readings)


def reading(lemma, cas, prior=None, source="analyzer", **features):
    return Analysis(lemma, lemma, (), "", {"cas": cas, **features}, "", "", prior, source)


def test_readings_with_one_label_are_one_candidate():
    toy = Toy([reading("a", "n", -3.0), reading("a", "u", -2.0), reading("b", "g", None)])
    found = LabelSource(toy, SCHEME)("x")
    assert [(c.label, c.prior, len(c.analyses)) for c in found if c.label[0] == "a"] in (
        [(("a", "n"), -2.0, 2), (("a", "g"), -2.0, 1)],
        [(("a", "g"), -2.0, 1), (("a", "n"), -2.0, 2)],
    )
    assert found[-1].label == ("b", "g")
    assert found[-1].prior == NO_PRIOR
    assert {c.source for c in found} == {"analyzer"}


def test_spelling_takes_from_the_prior():
    toy = Toy([reading("a", "n", -3.0, spelling="3"), reading("b", "n", -3.5, spelling="0")])
    found = LabelSource(toy, SCHEME)("x")
    assert [c.label[0] for c in found] == ["b", "a"]
    assert found[1].prior == pytest.approx(-4.5)


def test_observed_labels_join_the_candidates():
    toy = Toy([reading("a", "n", -3.0), reading("g", "n", None, "backoff")])
    observed = {"x": {("a", "n"), ("new", "g"), ("g", "n")}}
    source = LabelSource(toy, SCHEME, observed)
    found = {c.label: c.source for c in source("x")}
    assert found == {("a", "n"): "analyzer", ("new", "g"): "observed", ("g", "n"): "observed"}
    assert {c.label: c.is_guess for c in source("y")} == {("a", "n"): False, ("g", "n"): True}
    assert source("x") == source.candidates("x")


def test_equals_are_ordered_by_a_hash_of_the_label_alone():
    lemmas = [f"l{n}" for n in range(40)]
    forwards = LabelSource(Toy([reading(x, "n", -3.0) for x in lemmas]), SCHEME)("x")
    backwards = LabelSource(Toy([reading(x, "n", -3.0) for x in reversed(lemmas)]), SCHEME)("x")
    order = [c.label for c in forwards]
    assert order == [c.label for c in backwards]
    assert order == sorted(order, key=tie_order)
    assert order != sorted(order)
    assert tie_order(("a", "n")) == 3506715332  # the same on every machine


def test_words_are_remembered():
    toy = Toy([reading("a", "n", -3.0)])
    source = LabelSource(toy, SCHEME)
    source("x")
    source("x").clear()
    assert len(source("x")) == 1
    assert toy.asked == ["x"]


def test_every_sample_word_has_its_right_label_among_the_candidates():
    from eigentext.datasets import load_arabic

    source = LabelSource(open_analyzer("sample"), load_scheme("arabic14"))
    for sentence in load_arabic():
        for word in sentence["words"]:
            assert source(word["form"])


WORDS = [
    {"doc": "d1", "words": [{"form": "كتب", "label": {"pos": "V"}, "gloss": "write"}]},
    {"doc": "d2", "words": [{"form": "", "label": None, "scored": False}]},
    {"doc": "d1", "words": [{"form": ".", "label": {"pos": "G"}, "scored": False}]},
]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_words_of_one_document_are_gathered(tmp_path):
    first, second = read_words_jsonl(write(tmp_path / "w.jsonl", WORDS))
    assert (first.id, second.id) == ("d1", "d2")
    assert [word.form for word in first.words()] == ["كتب", "."]
    assert [word.scored for word in first.words()] == [True, False]
    assert first.sentences[0][0].label[1] == "V"
    assert second.sentences[0][0].label is None
    paper = read_words_jsonl(tmp_path / "w.jsonl", load_scheme("arabic16"))
    assert len(paper[0].sentences[0][0].label) == 16


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ({"words": "x"}, "list"),
        ({"words": [{"label": {}}]}, "form"),
        ({"words": [{"form": "a", "label": {"pos": 1}}]}, "strings"),
        ({"words": [{"form": "a", "label": {"colour": "x"}}]}, "no element 'colour'"),
        (["x"], "object"),
    ],
)
def test_a_bad_line_is_named_or_skipped(tmp_path, bad, why):
    path = write(tmp_path / "w.jsonl", [WORDS[0], bad, WORDS[1]])
    with pytest.raises(DataError, match=why) as caught:
        read_words_jsonl(path)
    assert caught.value.line == 2
    skipped = []
    assert len(read_words_jsonl(path, on_error=skipped.append)) == 2
    assert len(skipped) == 1


ROW = "1\t{}\t{}\t{}\t_\tCase=Nom\t0\troot\t_\t_\n\n"
NEWDOC = "# newdoc id = {}\n"


def test_documents_of_a_treebank(tmp_path):
    path = tmp_path / "t.conllu"
    turkish = load_scheme("turkish")
    source = "# orig_file_sentence {}#1\n"
    path.write_text(
        NEWDOC.format("a")
        + ROW.format("x", "x", "NOUN")
        + ROW.format(".", ".", "PUNCT")
        + NEWDOC.format("b")
        + source.format("q")
        + ROW.format("y", "y", "NOUN")
    )
    documents = read_conllu_documents(path, turkish)
    assert [(d.id, len(d.sentences)) for d in documents] == [("a", 2), ("b", 1)]
    assert [word.scored for word in documents[0].words()] == [True, False]
    assert documents[0].sentences[0][0].label[:3] == ("x", "NOUN", "Nom")
    each = read_conllu_documents(path, turkish, documents="sentence")
    assert [d.id for d in each] == ["sentence 1", "sentence 2", "sentence 3"]
    path.write_text(
        source.format("p")
        + ROW.format("x", "x", "NOUN")
        + source.format("q")
        + ROW.format("y", "y", "NOUN")
    )
    assert [d.id for d in read_conllu_documents(path, turkish)] == ["p", "q"]
    assert [d.id for d in read_conllu_documents(path, turkish, documents="newdoc")] == [
        "document 1"
    ]
    with pytest.raises(SettingsError, match="documents is one of"):
        read_conllu_documents(path, turkish, documents="page")


@pytest.mark.requires("data")
def test_the_arabic_gold_is_read_whole(data):
    documents = read_words_jsonl(data / "lexical/ar-padt/words.jsonl")
    words = [word for document in documents for word in document.words()]
    assert len(documents) == 153
    assert len(words) == 48_866
    assert sum(word.scored for word in words) == 39_472


def test_gold_that_says_it_has_no_analysis_is_no_label(tmp_path):
    words = [{"form": "x", "label": {"lemma": "x", "pos": pos}} for pos in ("U", "G")]
    line = {"doc": "d", "words": words}
    path = tmp_path / "w.jsonl"
    path.write_text(json.dumps(line), encoding="utf-8")
    unanalysed, punctuation = read_words_jsonl(path, load_scheme("arabic14"))[0].sentences[0]
    assert unanalysed.label is None
    assert punctuation.label is not None


def test_bad_lines_of_the_sample_are_skipped_where_that_is_asked_for(tmp_path):
    get("sample", tmp_path)
    lines = (tmp_path / "sample/arabic.jsonl").read_bytes().splitlines(keepends=True)[:3]
    path = tmp_path / "mine.jsonl"
    path.write_bytes(b"\xe9\n" + lines[0] + b'{"analysis": 1}\n' + lines[1] + lines[2])
    scheme = load_scheme("arabic14")
    with pytest.raises(DataError, match=r"mine\.jsonl:1: not UTF-8"):
        read_documents([str(path)], scheme)
    log = SkipLog()
    assert len(read_documents([str(path)], scheme, on_error=log)) == 3
    assert [message.split(": ")[0] for message in log.messages] == [f"{path}:1", f"{path}:3"]
