"""Files of every format as Docs, Docs put together, and what takes a file or a Doc as it is."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import eigentext
from eigentext import Doc, read, read_docs
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats.conllu import parse_sentences
from eigentext.language.reading import READABLE

SENTENCE = "1\tDu\tdu\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\tgehst\tgehen\tVERB\t_\t_\t0\troot\t_\t_\n\n"
CONLLU = f"# newdoc id = a\n{SENTENCE}{SENTENCE}# newdoc id = b\n{SENTENCE}"
FILES = {
    "ptb": "(S (PRON Du) (VERB gehst))\n",
    "conllu": SENTENCE,
    "conllx": SENTENCE,
    "columns": "-DOCSTART- O\n\nDu O\ngehst B-X\n\n",
    "tokens": "Du gehst\n",
}


@pytest.mark.parametrize("name", FILES)
def test_every_format_with_sentences_has_the_same_words(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file"
    path.write_text(FILES[name])
    doc = read(path, file_format=name)
    assert doc.text.split() == ["Du", "gehst"]
    (sentence,) = doc.sentences
    assert list(sentence.forms) == ["Du", "gehst"]
    assert [doc.text[token.start : token.end] for token in sentence.tokens] == ["Du", "gehst"]


def test_a_name_says_the_format_and_packing_does_not_hide_it(tmp_path: Path) -> None:
    path = tmp_path / "birds.conllu.gz"
    path.write_bytes(gzip.compress(SENTENCE.encode()))
    assert read(path).sentences[0].columns.heads == (2, 0)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (SENTENCE, ("upos", ("PRON", "VERB"))),
        ("# sent_id = 1\n" + SENTENCE, ("upos", ("PRON", "VERB"))),
        (FILES["ptb"], ("xpos", ("PRON", "VERB"))),
        ("Du\tO\ngehst\tB-X\n", ("entities", ("O", "B-X"))),
        ("Du\tP\ngehst\tV\n", ("xpos", ("P", "V"))),
    ],
)
def test_content_says_the_format_where_the_name_does_not(
    tmp_path: Path, content: str, expected: tuple[str, tuple[str, ...]]
) -> None:
    path = tmp_path / "unnamed"
    path.write_text(content)
    (sentence,) = read(path).sentences
    assert tuple(getattr(sentence.columns, expected[0])) == expected[1]


def test_text_and_records_are_text_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("It rains.\n\nIt pours.")
    assert read(tmp_path / "a.txt") == Doc("It rains.\n\nIt pours.\n", ())
    (tmp_path / "b").write_text("Nothing but text.\n")
    assert read(tmp_path / "b").text == "Nothing but text.\n"
    (tmp_path / "c.jsonl").write_text('{"body": "Hi."}\n{"body": "Go."}\n')
    docs = list(read_docs(tmp_path / "c.jsonl", field="body"))
    assert [(doc.id, doc.text) for doc in docs] == [("c.jsonl:1", "Hi."), ("c.jsonl:2", "Go.")]
    assert read(tmp_path / "c.jsonl", field="body").text == "Hi.\n\nGo."


def test_documents_of_a_treebank_one_by_one_and_together(tmp_path: Path) -> None:
    path = tmp_path / "two.conllu"
    path.write_text(CONLLU)
    docs = list(read_docs(path))
    assert [(doc.id, len(doc)) for doc in docs] == [("a", 2), ("b", 1)]
    whole = read(path)
    assert len(whole) == 3
    for sentence in whole.sentences:
        forms = [whole.text[token.start : token.end] for token in sentence.tokens]
        assert forms == list(sentence.forms)
    again = [block.rows for block in parse_sentences(whole.to_conllu())]
    assert again == [block.rows for block in parse_sentences(CONLLU)]


def test_pieces_of_one_text_are_joined_as_they_were_cut(tmp_path: Path) -> None:
    first = Doc.from_tokens([["Hi"]])
    second = Doc(" Go", Doc.from_tokens([["Go"]]).sentences, start=2)
    assert Doc.joined([first, second]).text == "Hi Go"
    assert Doc.joined([]) == Doc("", ())
    path = tmp_path / "docs.jsonl"
    path.write_text(f"{first.to_json()}\n{first.to_json()}\n")
    assert [doc.text for doc in read_docs(path)] == ["Hi", "Hi"]
    assert [token.start for sentence in read(path) for token in sentence.tokens] == [0, 4]


def test_faults_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.conllu"
    path.write_text(SENTENCE + "1\tx\n\n")
    with pytest.raises(DataError, match=r"bad\.conllu:4: found 2 columns"):
        read(path)
    faults: list[DataError] = []
    assert len(read(path, on_error=faults.append)) == 1
    assert [fault.line for fault in faults] == [4]
    path = tmp_path / "bad.jsonl"
    path.write_text(f'{Doc("a", ()).to_json()}\n{{"sentences": 1}}\n')
    with pytest.raises(DataError, match=r"bad\.jsonl:2: not a document of ours"):
        read(path)
    with pytest.raises(SettingsError, match="a field is for files of records"):
        read("x.conllu", field="text")
    with pytest.raises(SettingsError, match="standard input: say its format"):
        read("-")
    with pytest.raises(SettingsError, match="unknown format 'word'; known: ptb, conllu"):
        read("x", file_format="word")
    with pytest.raises(DataError, match="nowhere"):
        read(tmp_path / "nowhere.conllu")
    assert "docbin" not in READABLE


def test_a_doc_in_one_line_and_as_a_picture() -> None:
    doc = Doc.from_conllu(SENTENCE * 25)
    assert repr(doc) == "<Doc: 25 sentences, 50 words, 'Du gehst Du gehst Du gehst Du gehst D...'>"
    shown = doc._repr_html_()
    assert shown.count("<svg") == 20
    assert "and 5 more sentences" in shown
    assert "nsubj" in shown
    assert "<pre>a &lt; b</pre>" in Doc("a < b", ())._repr_html_()
    tree = Doc.from_tokens([["Du", "gehst"]])
    assert "<p>Du gehst</p>" in tree._repr_html_()


# ---------------------------------------------------------------- files and Docs as sentences


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    path = tmp_path / "treebank.conllu"
    path.write_text(SENTENCE * 12)
    return path


def test_models_take_a_file_a_doc_or_docs(treebank: Path, tmp_path: Path) -> None:
    doc = read(treebank)
    for model in (
        eigentext.MorphTagger(bits=10, epochs=2),
        eigentext.DependencyParser(bits=10, epochs=2),
        eigentext.Segmenter(bits=10, epochs=2),
    ):
        by_file = model.fit(treebank).to_bytes()
        assert model.fit(str(treebank)).to_bytes() == by_file
        assert model.fit(doc).to_bytes() == by_file
        assert model.fit([Doc.from_conllu(SENTENCE * 6)] * 2).to_bytes() == by_file
        with pytest.raises(DataError, match="nowhere"):
            model.fit(tmp_path / "nowhere.conllu")
        with pytest.raises(SettingsError, match="not one string"):
            model.fit("A text.\nAnother.\n")
    (tmp_path / "empty.conllu").write_text("")
    with pytest.raises(DataError, match=r"empty\.conllu: nothing in this file"):
        eigentext.Segmenter().fit(tmp_path / "empty.conllu")


def test_a_pipeline_is_trained_of_a_file(treebank: Path) -> None:
    nlp = eigentext.Pipeline(folds=0, without=("reranker",))
    answer = nlp.fit(str(treebank), dev=treebank)("Du gehst")
    assert nlp.dev_scores_["LAS"] == 100
    assert answer.sentences[0].columns.upos == ("PRON", "VERB")
    assert nlp(read(treebank)).n_words == 24


def test_a_tagger_and_a_grammar_take_files(tmp_path: Path) -> None:
    path = tmp_path / "names.bio"
    path.write_text("Ada B-PER\nmet O\nBob B-PER\n\n" * 8)
    tagger = eigentext.SequenceTagger(epochs=3).fit(path)
    assert tagger.tag(["Bob", "met", "Ada"]) == ["B-PER", "O", "B-PER"]
    assert eigentext.SequenceTagger(epochs=3).fit(read(path)).to_bytes() == tagger.to_bytes()
    with pytest.raises(SettingsError, match="expected tags for the sentences"):
        tagger.fit([["Ada"]])
    trees = tmp_path / "trees.mrg"
    trees.write_text("(S (NP (PRP We)) (VP (VBP sing)))\n" * 8)
    grammar = eigentext.LPCFG(n_states=1).fit(trees)
    assert eigentext.LPCFG(n_states=1).fit(read(trees)).to_bytes() == grammar.to_bytes()


def test_scorers_take_files_and_docs(treebank: Path, tmp_path: Path) -> None:
    gold = read(treebank)
    wrong = Doc("", tuple(s.with_columns(upos=("X", "VERB")) for s in gold.sentences))
    scores = eigentext.evaluate.conll18.evaluate(treebank, wrong)
    assert (scores["UPOS"].f1, scores["LAS"].f1) == (50.0, 100.0)
    assert eigentext.evaluate.attachment.evaluate([gold], str(treebank)).las == 100
    trees = tmp_path / "trees.mrg"
    trees.write_text("(S (NP (PRP We)) (VP (VBP sing)))\n" * 2)
    assert eigentext.evaluate.parseval.evaluate(trees, read(trees)).all.f1 == 100
    assert eigentext.evaluate.parseval.evaluate(trees, trees).all.f1 == 100
    names = tmp_path / "names.bio"
    names.write_text("Ada B-PER\nran O\n\n")
    assert eigentext.evaluate.ner.evaluate(names, read(names)).f1 == 100
    assert eigentext.evaluate.ner.evaluate([["B-PER", "O"]], str(names)).f1 == 100
    with pytest.raises(DataError, match=r"treebank\.conllu: a sentence without tags of entities"):
        eigentext.evaluate.ner.evaluate(names, treebank)


def test_what_is_read_is_what_json_holds(treebank: Path) -> None:
    doc = read(treebank)
    assert Doc.from_json(json.loads(doc.to_json())).to_conllu() == doc.to_conllu()
