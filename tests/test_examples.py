"""Every example runs from start to end and prints something; those of counts count right."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from eigentext.counting.counting import count_sentences
from eigentext.counting.counts import Counts

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
NEEDED = {"counts_by_duckdb": ("duckdb", "pyarrow"), "counts_by_spark": ("pyspark", "pyarrow")}
LONG = {"counts_by_spark": pytest.mark.long}  # beside DuckDB's; it starts a Java machine

TEXT = "the cat sat\nthe cat \t ran  away\n\nthe <unk> dog ran\r\n" + "a b c d e f g\n" * 3


def _parameters() -> list:
    return [pytest.param(p, id=p.stem, marks=LONG.get(p.stem, ())) for p in EXAMPLES]


def _load(name: str) -> dict:
    """The functions of an example, if what it needs is there."""
    for module in NEEDED.get(name, ()):
        pytest.importorskip(module, reason=f"{module} is not installed")
    return runpy.run_path(str(FOLDER / f"{name}.py"), run_name="example")


def test_there_are_examples():
    assert len(EXAMPLES) >= 9


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:pyspark")
@pytest.mark.parametrize("script", _parameters())
def test_example(script: Path, tmp_path, monkeypatch, capsys):
    _load(script.stem)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script)])  # not what pytest was told
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out.strip()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("contexts", ["lr2", "r1", "bag3", "unigrams"])
def test_the_plain_reader_of_counts_reads_all_of_them(contexts, tmp_path):
    lines = [line.split() for line in TEXT.split("\n")]
    counts = count_sentences(lines, contexts=contexts, vocab_size=6)
    counts.save(tmp_path / "a.counts")
    held = Counts.load(tmp_path / "a.counts")
    words, unigrams, pairs, about = _load("read_counts")["read_counts"](tmp_path / "a.counts")
    assert tuple(words) == held.words
    assert np.array_equal(unigrams, held.unigrams)
    assert list(pairs) == [f"{near}-{far}" for near, far in held.contexts.spans]
    for (left, right, number), half in zip(pairs.values(), held.halves, strict=True):
        entries = half.tocoo()
        assert np.array_equal(left, entries.row)
        assert np.array_equal(right, entries.col)
        assert np.array_equal(number, entries.data)
    told = {"contexts": str(held.contexts), "complete": held.complete, "n_skipped": 0}
    told |= {"n_tokens": held.n_tokens, "n_sentences": held.n_sentences}
    assert about == told


def test_the_plain_reader_is_short():
    source = (FOLDER / "read_counts.py").read_text(encoding="utf-8")
    body = source.partition("def read_counts")[2].partition("if __name__")[0]
    assert len(body.strip().split("\n")) <= 30


@pytest.mark.parametrize(
    "name", ["counts_by_duckdb", pytest.param("counts_by_spark", marks=pytest.mark.long)]
)
@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:pyspark")
def test_a_database_counts_what_we_count(name, tmp_path):
    example = _load(name)
    lines = [line.split() for line in TEXT.split("\n")]
    for function in example.values():  # the example's own functions see the smaller vocabulary
        if getattr(function, "__module__", "") == "example":
            function.__globals__["VOCABULARY"] = 6
    found = example["main"](str(tmp_path), TEXT)
    assert found == count_sentences(lines, contexts="lr2", vocab_size=6)
    found.save(tmp_path / "a.counts")
    assert Counts.load(tmp_path / "a.counts") == found
