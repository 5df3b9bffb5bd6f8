"""`lex train`, `rank` and `eval` from outside: what the library says, the command says."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from eigentext.cli.main import app
from eigentext.datasets import write_sample
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats.conllu import read_sentences
from eigentext.lexical.ranker.model import LexicalRanker
from eigentext.lexical.schemes.labels import load_scheme

call = CliRunner().invoke


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("lex")
    write_sample(place)
    gold, model = f"{place}/sample/arabic.jsonl", f"{place}/a.ranker"
    made = call(app, ["lex", "train", gold, "-o", model, "--bits", "12"])
    assert made.exit_code == 0, made.output
    return place


def test_the_command_ranks_as_the_library(folder):
    out = folder / "ranked.jsonl"
    text = folder / "sample" / "arabic.txt"
    model = f"{folder}/a.ranker"
    done = call(app, ["lex", "apply", model, str(text), "-o", str(out), "--top", "9"])
    assert done.exit_code == 0, done.output
    shown = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    lines = [line.split() for line in text.read_text("utf-8").splitlines()]
    ranker = LexicalRanker.load(folder / "a.ranker")
    assert [[w["form"] for w in s["words"]] for s in shown] == lines
    for place in (0, 7, 20):
        around = lines[:place] + lines[place + 1 :]
        ranked = ranker.rank(lines[place], document=around)
        for word, record in zip(ranked, shown[place]["words"], strict=True):
            labels = [ranker.scheme_.as_mapping(c.label) for c in word.candidates[:9]]
            assert [c["label"] for c in record["candidates"]] == labels
            assert record["guessed"] == word.guessed


def test_conllu_and_vocalised_text(folder):
    text = str(folder / "sample" / "arabic.txt")
    out = folder / "ranked.conllu"
    done = call(
        app, ["lex", "apply", f"{folder}/a.ranker", text, "--format", "conllu", "-o", str(out)]
    )
    assert done.exit_code == 0, done.output
    sentences = list(read_sentences(out))
    assert len(sentences) == 64
    assert all(token.lemma for sentence in sentences for token in sentence.words)
    spoken = call(app, ["lex", "apply", f"{folder}/a.ranker", text, "--format", "vocalised"])
    assert len(spoken.stdout.splitlines()) == 64


def test_forms_of_raw_text_are_what_was_typed(folder, tmp_path):
    raw = tmp_path / "raw.txt"
    raw.write_text("\u200fكتب الولد .\n", "utf-8")  # a mark of direction, which no analyzer knows
    asked = ["lex", "apply", f"{folder}/a.ranker", str(raw)]
    words = json.loads(call(app, [*asked, "--raw"]).stdout)["words"]
    assert [word["form"] for word in words] == ["\u200fكتب", "الولد", "."]
    assert not words[0]["guessed"]
    shown = call(app, [*asked, "--raw", "--format", "conllu"]).stdout
    assert "\t\u200fكتب\t" in shown


def test_an_empty_text_gives_nothing(folder, tmp_path):
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    done = call(app, ["lex", "apply", f"{folder}/a.ranker", str(empty)])
    assert done.exit_code == 0, done.output
    assert done.stdout == ""


def test_figures_as_json(folder):
    gold = f"{folder}/sample/arabic.jsonl"
    done = call(app, ["lex", "eval", f"{folder}/a.ranker", gold, "--json"])
    figures = json.loads(done.stdout)
    assert figures["words"] > 200
    assert figures["a2"] >= figures["a1"] > 50
    assert set(figures["elements"]) == set(load_scheme("arabic14").elements)


@pytest.mark.parametrize("folds", [[], ["--folds", "2"]])
def test_an_element_that_the_scheme_has_not_cannot_be_left_out(folder, monkeypatch, folds):
    monkeypatch.chdir(folder)
    line = ["lex", "eval", "a.ranker", "sample/arabic.jsonl", *folds, "--without", "cas,foo"]
    done = call(app, line)
    assert isinstance(done.exception, SettingsError)  # which main() makes exit code 2
    assert "--without foo: the scheme has no such element; it has lemma," in str(done.exception)


def test_an_empty_treebank_is_named(tmp_path):
    empty = tmp_path / "empty.conllu"
    empty.write_text("")
    done = call(app, ["lex", "train-analyzer", str(empty), "-o", str(tmp_path / "rules.eig")])
    assert isinstance(done.exception, DataError)  # which main() makes exit code 2
    assert str(done.exception).startswith(f"{empty}: no sentences")
    assert not (tmp_path / "rules.eig").exists()
