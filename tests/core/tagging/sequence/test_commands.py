"""``tag train|apply|eval`` from the outside: formats in and out, and errors with file and line."""

from __future__ import annotations

import json
import os

import pytest

from eigentext.cli.main import run
from eigentext.errors import DataError
from eigentext.language.formats.columns import read_columns
from eigentext.language.formats.conllu import make_sentence, read_sentences, write_sentences
from eigentext.tagging.sequence.reading import read_items, read_tagged

BIO = (
    "-DOCSTART- x O\r\n\r\nAda  NNP  B-PER \r\nmet VBD O\r\n\r\n"
    "he PRP O\r\nmet VBD O\r\nAda NNP B-PER\r\n"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.bio").write_bytes(BIO.encode())
    sentences = [
        make_sentence(["Dogs", "bark"], upos=["NOUN", "VERB"], xpos=["NNS", "VBP"], head=[2, 0]),
        make_sentence(["Dogs", "!"], upos=["NOUN", "PUNCT"], xpos=["NNS", "."], head=[0, 1]),
    ]
    write_sentences(sentences, tmp_path / "a.conllu")
    (tmp_path / "a.txt").write_text("Ada met him\n\nAda\n")
    return tmp_path


def cli(*arguments: str) -> int:
    return run(list(arguments))


def test_columns_come_back_with_nothing_but_the_tags_changed(folder):
    assert cli("tag", "train", "a.bio", "-o", "m", "--epochs", "3", "-q") == 0
    assert cli("tag", "apply", "m", "a.bio", "-o", "out.bio", "-q") == 0
    assert (folder / "out.bio").read_bytes() == BIO.encode()
    blank = BIO.replace("B-PER", "O")
    (folder / "blank.bio").write_bytes(blank.encode())
    assert cli("tag", "apply", "m", "blank.bio", "-o", "out2.bio", "-q") == 0
    assert (folder / "out2.bio").read_bytes() == BIO.encode()


def test_conllu_by_either_column(folder, capsys):
    for column, expected in (("upos", ("NOUN", "VERB")), ("xpos", ("NNS", "VBP"))):
        train = ["tag", "train", "a.conllu", "-o", "m", "--column", column, "-q"]
        assert cli(*train) == 0
        assert cli("tag", "apply", "m", "a.conllu", "-o", "o.conllu", "--column", column) == 0
        first, _ = read_sentences(folder / "o.conllu")
        assert first.column(column) == expected
        assert first.heads == (2, 0)
    capsys.readouterr()
    assert cli("tag", "eval", "o.conllu", "a.conllu", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"tokens": 4, "accuracy": 100.0}


def test_text_in_columns_or_json_out(folder, capsys):
    assert cli("tag", "train", "a.bio", "-o", "m", "-q", "--dev", "a.bio") == 0
    capsys.readouterr()
    assert cli("tag", "apply", "m", "a.txt") == 0
    assert capsys.readouterr().out == "Ada\tB-PER\nmet\tO\nhim\tO\n\nAda\tB-PER\n\n"
    assert cli("tag", "apply", "m", "a.txt", "--kbest", "3", "-o", "o.jsonl") == 0
    first, empty, last = map(json.loads, (folder / "o.jsonl").read_text().splitlines())
    assert first["entities"] == [{"type": "PER", "start": 0, "end": 1}]
    assert [answer["score"] for answer in first["kbest"]] == sorted(
        (answer["score"] for answer in first["kbest"]), reverse=True
    )
    assert len(first["kbest"]) == 3
    assert empty == {"tokens": [], "tags": [], "entities": []}
    assert last["tags"] == ["B-PER"]


def test_clusters_and_vectors_from_files(folder):
    (folder / "c.paths").write_text("0101\tAda\t5\n011\tmet\t9\n")
    (folder / "v.txt").write_text("2 3\nAda 1 0 0\nmet 0 1 .5\n")
    options = ["--clusters", "c.paths", "--vectors", "v.txt", "--compact"]
    assert cli("tag", "train", "a.bio", "-o", "m", "-q", *options) == 0
    assert cli("tag", "apply", "m", "a.bio", "-o", "o.bio") == 0
    gold, found = (list(read_columns(name)) for name in ("a.bio", "o.bio"))
    assert [one.tags for one in gold] == [one.tags for one in found]


FILES = {
    "empty.bio": "",
    "ragged.bio": "a\tO\nb\tx\tO\n\n",
    "one.bio": "a\nb\n\n",
    "tags.bio": "a\tB-X\nb\tO\n\nc\tO\nd\tI-X\n\n",
    "shape.bio": "a\tB-X\nb\tO\nc\tBX\n\n",
    "untagged.conllu": "1\ta" + "\t_" * 8 + "\n\n",
    "bad.paths": "0101\tAda\t5\n01x1\tmet\t9\n",
    "none.paths": "",
    "bad.vec": "2 3\nAda 1 0 0\nmet 0 1\n",
    "zero.vec": "1 2\nAda 0 0\n",
}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["empty.bio"], "empty.bio: no sentences"),
        (["ragged.bio"], "ragged.bio:2: found 3 columns"),
        (["one.bio"], "one.bio:1: found 1 column"),
        (["tags.bio"], "tags.bio:5: found tag 'I-X' after 'O'"),
        (["shape.bio"], "shape.bio:3: found tag 'BX'"),
        (["untagged.conllu"], "untagged.conllu:1: found no tag"),
        (["a.txt"], "a.txt: text without tags"),
        (["missing.bio"], "missing.bio"),
        (["a.bio", "--dev", "empty.bio"], "empty.bio: no sentences"),
        (["a.bio", "--clusters", "bad.paths"], "bad.paths:2: bits '01x1'"),
        (["a.bio", "--clusters", "none.paths"], "none.paths: no clusters"),
        (["a.bio", "--vectors", "bad.vec"], "bad.vec:3: 2 numbers, expected 3"),
        (["a.bio", "--vectors", "zero.vec"], "zero.vec: all vectors are zero"),
        (["a.bio", "--beam", "wide"], "beam is 'wide', expected a whole number, or 'auto'"),
        (
            ["a.bio", "--beam", "0"],
            "beam is 0, expected a whole number from 1 to 10000, or 'auto'",
        ),
        (
            ["a.bio", "--entity-margin", "-1"],
            "entity_margin is -1, expected a number of at least 0, or 'auto'",
        ),
    ],
)
def test_bad_input_names_file_and_line(folder, capsys, arguments, message):
    for name, text in FILES.items():
        (folder / name).write_text(text)
    assert cli("tag", "train", *arguments, "-o", "m", "-q") == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not os.path.exists("m")


def test_repair_and_skip(folder, capsys):
    (folder / "tags.bio").write_text(FILES["tags.bio"])
    assert cli("tag", "train", "tags.bio", "-o", "m", "-q", "--repair") == 0
    assert read_tagged(["tags.bio"], repair=True)[1][1] == ["O", "B-X"]
    assert cli("tag", "train", "tags.bio", "-o", "m", "--on-error", "skip", "--json") == 0
    assert json.loads(capsys.readouterr().out)["skipped"] == 1
    with pytest.raises(DataError):
        read_tagged(["tags.bio"])


def test_a_model_of_another_kind(folder, capsys):
    (folder / "x").write_bytes(b"nonsense")
    assert cli("tag", "apply", "x", "a.bio") == 2
    assert "x: " in capsys.readouterr().err
    assert [item.tags for item in read_items("a.bio")][1] == ("O", "O", "B-PER")


def test_raw_text_is_tokenised_inside_and_comes_out_as_typed(folder, capsys):
    (folder / "raw.txt").write_text('Ada met "him". Ada!\n')
    assert cli("tag", "train", "a.bio", "-o", "m", "--epochs", "3", "-q") == 0
    arguments = ["tag", "apply", "m", "raw.txt", "--raw", "--tokeniser", "ptb"]
    assert cli(*arguments, "-o", "out", "-q") == 0
    rows = [line.split("\t") for line in (folder / "out").read_text().splitlines()]
    assert [row[0] for row in rows] == ["Ada", "met", '"', "him", '"', ".", "", "Ada", "!", ""]
    assert rows[0] == ["Ada", "B-PER"]
    assert cli(*arguments, "--format", "jsonl", "-q") == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first["tokens"] == ["Ada", "met", '"', "him", '"', "."]
    assert cli(*arguments, "--from", "columns") == 2
    assert "--raw and --from columns: expected one of them" in capsys.readouterr().err


def test_scores_of_other_sentences_name_the_file_and_the_sentence(folder, capsys):
    (folder / "short.bio").write_text("Ada NNP B-PER\nmet VBD O\n")
    (folder / "none.bio").write_text("")
    assert cli("tag", "eval", "short.bio", "a.conllu") == 2
    assert "short.bio: sentence 2: no sentence where the gold" in capsys.readouterr().err
    assert cli("tag", "eval", "a.conllu", "short.bio") == 2
    assert "short.bio: no sentence 2, where the predicted tags go on" in capsys.readouterr().err
    assert cli("tag", "eval", "none.bio", "none.bio") == 2
    assert "none.bio: no tokens, expected tags" in capsys.readouterr().err
