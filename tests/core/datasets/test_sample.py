"""The sample written out, and the lazy front door of the package."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import eigentext.datasets as datasets
from eigentext.datasets import check, detokenise, load_english, locate, sample_files, write_sample
from eigentext.errors import DataError


def test_every_public_name_loads():
    for name in datasets.__all__:
        assert getattr(datasets, name) is not None
    assert dir(datasets) == sorted(datasets.__all__)
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = datasets.no_such_thing


def test_importing_reads_and_loads_nothing():
    code = (
        "import sys, eigentext.datasets; "
        "print([m for m in sys.modules if m.startswith('eigentext.datasets.') or m == 'pydantic'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_sample_is_written_and_checks_out(tmp_path):
    assert locate("sample", tmp_path) is None
    folder = write_sample(tmp_path)
    assert folder == tmp_path / "sample" == locate("sample", tmp_path)
    written = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert written == set(sample_files())
    assert {"train.mrg", "dev.mrg", "test.mrg", "traces.mrg", "text.txt", "raw.txt"} <= written
    assert {"arabic.jsonl", "arabic/stems.tsv", "arabic/prefixes.tsv"} <= written
    assert check("sample", tmp_path) == []
    assert (folder / "dev.mrg").read_text(encoding="utf-8").splitlines() == load_english("dev")
    (folder / "dev.mrg").write_text("spoilt", encoding="utf-8")
    assert [problem.kind for problem in check("sample", tmp_path)] == ["size"]
    (folder / "test.mrg").unlink()
    with pytest.raises(DataError, match=r"dev\.mrg: not the file of the sample: move it away"):
        write_sample(tmp_path)
    assert (folder / "dev.mrg").read_text(encoding="utf-8") == "spoilt"
    (folder / "dev.mrg").unlink()
    write_sample(tmp_path)
    assert check("sample", tmp_path) == []


def test_the_sample_needs_a_folder(tmp_path):
    (tmp_path / "sample").write_text("a file in the way", encoding="utf-8")
    with pytest.raises(DataError, match="cannot be written"):
        write_sample(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["sample"]


def test_texts_have_the_sentences_of_the_trees():
    files = {name: content.decode() for name, content in sample_files().items()}
    text, raw = files["text.txt"].splitlines(), files["raw.txt"].splitlines()
    assert len(text) == len(raw) == len(load_english("all"))
    assert text[0] == "The old teacher opened the window in the kitchen ."
    assert raw[0] == "The old teacher opened the window in the kitchen."
    for tokens, typed in zip(text, raw, strict=True):
        marks = ("-LRB-", "("), ("-RRB-", ")"), ("``", '"'), ("''", '"'), ("--", "—")
        for token, mark in marks:
            tokens = tokens.replace(token, mark)
        assert tokens.replace(" ", "") == typed.replace(" ", "")
        assert not any(bit in typed for bit in (" .", " ,", " n't", " 's", "( ", " )", "$ ", " ?"))
    assert sum('"' in line for line in raw) >= 8
    assert all(json.loads(line)["words"] for line in files["arabic.jsonl"].splitlines())


@pytest.mark.parametrize(
    ("tokens", "typed"),
    [
        ("The students ' questions cost $ 20 .", "The students' questions cost $20."),
        ("`` Who ? '' asked Peter .", '"Who?" asked Peter.'),
        ("It rose by 5 % .", "It rose by 5%."),
        ("The word `` milk '' is short .", 'The word "milk" is short.'),
        ("He said , `` No . ''", 'He said, "No."'),
        ("We do n't -LRB- yet -RRB- .", "We don't (yet)."),
        ("It was the sun 's end .", "It was the sun's end."),
    ],
)
def test_detokenise(tokens, typed):
    assert detokenise(tokens.split()) == typed


def test_detokenise_takes_tokens():
    with pytest.raises(TypeError, match="list of tokens"):
        detokenise("not a list")
