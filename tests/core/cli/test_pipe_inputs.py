"""``eigentext pipe`` with files that are not what they should be: one line, and exit code 2."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from helpers.commands import eigentext
from helpers.sample_pipeline import pipeline, treebank

BAD = {
    "empty.txt": b"",
    "latin.txt": "café noir\n".encode("latin-1"),
    "random.txt": random.Random(0).randbytes(3000),
    "english.pipe": b"",  # made below
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("inputs")
    for name, content in BAD.items():
        (made / name).write_bytes(content)
    pipeline().save(made / "english.pipe")
    text = "".join(sentence.verbatim for sentence in treebank("treebank-dev"))
    (made / "dev.conllu").write_text(text)
    (made / "text.txt").write_text("Anna slept.")
    return made


def refused(folder: Path, line: str) -> str:
    result = eigentext(*line.split(), cwd=folder)
    assert result.returncode == 2, (line, result.stdout, result.stderr)
    told = result.stderr.decode()
    assert told.startswith("eigentext: ")
    assert told.count("\n") == 1, told
    assert not (folder / "out").exists()
    assert not list(folder.glob("out.*"))
    return told


@pytest.mark.parametrize("bad", [*BAD, "nowhere.txt"])
@pytest.mark.parametrize(
    "line",
    [
        "pipe apply english.pipe {} -o out",
        "pipe apply english.pipe {} --input conllu -o out",
        "pipe apply english.pipe {} --input vertical -o out",
        "pipe train {} -o out",
        "pipe eval dev.conllu {}",
    ],
)
def test_data_that_is_none(folder: Path, line: str, bad: str) -> None:
    assert f"eigentext: {bad}:" in refused(folder, line.format(bad))


@pytest.mark.parametrize("bad", ["empty.txt", "latin.txt", "random.txt", "text.txt"])
@pytest.mark.parametrize(
    "line",
    [
        "pipe apply {} text.txt -o out",
        "pipe inspect {}",
        "pipe train dev.conllu --parser {} -o out",
        "pipe train dev.conllu --with ner={} -o out",
    ],
)
def test_models_that_are_none(folder: Path, line: str, bad: str) -> None:
    assert "eigentext model" in refused(folder, line.format(bad))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("pipe train dev.conllu -o out --with words=x", "expected const=FILE or ner=FILE"),
        ("pipe train dev.conllu -o out --without nothing", "without"),
        ("pipe train dev.conllu -o out --parser english.pipe", "this needs a dependency parser"),
        ("pipe apply english.pipe text.txt --given tags", "is for CoNLL-U"),
        ("pipe apply english.pipe dev.conllu --input lines --given tags", "is for CoNLL-U"),
        ("pipe apply english.pipe text.txt dev.conllu", "expected one format"),
        ("pipe apply english.pipe text.txt --top 3", "--top is for"),
        ("pipe apply english.pipe text.txt --format jsonl --offsets", "--offsets is for"),
        ("pipe apply english.pipe text.txt --resume", "--resume needs --output"),
        ("pipe apply english.pipe text.txt -o out --format docbin --resume", "--resume is for"),
        ("pipe apply english.pipe text.txt -o nowhere/out", "nowhere"),
        ("pipe eval english.pipe", "Missing argument"),
        ("pipe eval text.txt dev.conllu", "text.txt:1: found 1 column"),
        ("pipe eval dev.conllu dev.conllu --given words", "--given is for a model"),
        ("pipe eval english.pipe dev.conllu dev.conllu", "unexpected extra argument"),
    ],
)
def test_flags_that_make_no_sense(folder: Path, line: str, why: str) -> None:
    assert why in refused(folder, line)


def test_bad_lines_can_be_left_out(folder: Path) -> None:
    (folder / "mixed.txt").write_bytes(b"Anna slept.\ncaf\xe9\nWe sang.\n")
    line = "pipe apply english.pipe mixed.txt -o mixed.conllu --on-error skip --json"
    result = eigentext(*line.split(), cwd=folder)
    assert result.returncode == 0
    assert b'"skipped": 1' in result.stdout
    assert "# text = We sang." in (folder / "mixed.conllu").read_text()


def test_figures_and_tables(folder: Path) -> None:
    result = eigentext("pipe", "eval", "english.pipe", "dev.conllu", cwd=folder)
    assert result.returncode == 0
    assert "aligned accuracy" in result.stdout.decode()
    perfect = eigentext("pipe", "eval", "dev.conllu", "dev.conllu", cwd=folder)
    assert perfect.stdout.decode().count(" 100.00     100.00  100.00") == 13
    shown = eigentext("pipe", "inspect", "english.pipe", cwd=folder).stdout.decode()
    assert "morph-tagger" in shown
    assert "PROPN" in shown


@pytest.mark.parametrize("flags", [[], ["--counts"]])
def test_columns_that_a_treebank_lacks_have_no_figure(folder: Path, flags: list[str]) -> None:
    lines = (folder / "dev.conllu").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    bare = "\n".join(
        "\t".join([*row[:4], "_", "_", *row[6:]]) if len(row) == 10 else row[0] for row in rows
    )
    (folder / "bare.conllu").write_text(bare + "\n\n", encoding="utf-8")
    shown = eigentext("pipe", "eval", "dev.conllu", "bare.conllu", *flags, cwd=folder)
    cells = {
        row[0]: row[1:] for line in shown.stdout.decode().splitlines() if (row := line.split())
    }
    assert cells["XPOS"] == cells["UFeats"] == ["-"] * 4
    assert "-" not in cells["UPOS"] + cells["Lemmas"] + cells["MLAS"]


def test_sizes_are_those_in_the_file_and_nothing_is_packed_for_them(folder, monkeypatch):
    sizes = {name: len(stage.to_bytes()) for name, stage in pipeline().stages().items()}
    monkeypatch.setattr("eigentext.base.model.Model.to_bytes", None)
    shown = eigentext("pipe", "inspect", "english.pipe", "--json", cwd=folder)
    assert shown.returncode == 0, shown.stderr
    stages = json.loads(shown.stdout)["stages"]
    assert {stage["stage"]: stage["bytes"] for stage in stages} == sizes
