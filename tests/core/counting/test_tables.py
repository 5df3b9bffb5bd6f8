"""Counts as tables: the same counts come back, and what no text could give is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eigentext.base.heap import is_mapped
from eigentext.counting import tables
from eigentext.counting.counting import count_sentences
from eigentext.counting.counts import Counts
from eigentext.counting.memory import Budget
from eigentext.errors import DataError, EigentextError, SettingsError

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import pyarrow as pa
import pyarrow.parquet as pq

from helpers.commands import eigentext

words = st.sampled_from(["a", "b", "ab", "é", "日本", '"', ",", "<unk>", "\u2028"])
sentences = st.lists(st.lists(words, min_size=1, max_size=6), min_size=1, max_size=8)
quick = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
LINES = [["the", "cat", "sat"], ["the", "cat", "ran", "away"], ["dog"]]


def _written(folder, counts: Counts) -> tuple[list[str], list[str]]:
    files = str(folder / "words.parquet"), str(folder / "pairs.parquet")
    counts.to_tables(*files)
    return [files[0]], [files[1]]


@quick
@given(lines=sentences, size=st.none() | st.integers(1, 4), rows=st.sampled_from([1, 3, 1000]))
@pytest.mark.parametrize("contexts", ["r1", "lr2", "-3,+1,2"])
def test_counts_come_back_to_the_byte(contexts, lines, size, rows, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "_ROWS", rows)
    monkeypatch.setattr(tables, "_TABLE_ROWS", rows)
    counts = count_sentences(lines, contexts=contexts, vocab_size=size)
    back = Counts.from_tables(*_written(tmp_path, counts), contexts=contexts)
    assert back.complete == (not counts.unigrams[-1])
    same = Counts(**{**vars(counts), "complete": back.complete})
    assert back == same
    assert back.to_bytes() == same.to_bytes()


@quick
@given(lines=sentences, run_bytes=st.sampled_from([0, 100, 400]))
def test_memory_does_not_change_the_counts(lines, run_bytes, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "_TABLE_ROWS", 2)
    monkeypatch.setattr(tables, "_ENTRIES", 3)
    counts = count_sentences(lines, contexts="lr2")
    files = _written(tmp_path, counts)
    little = Budget(batch_pairs=1, run_bytes=run_bytes)
    spilled = tables.counts_from_tables(*files, contexts="lr2", memory=little)
    assert spilled.to_bytes() == Counts.from_tables(*files, contexts="lr2").to_bytes()
    if run_bytes == 0 and spilled.n_stored:
        assert any(is_mapped(half.data) for half in spilled.halves)


def test_bags_and_unigrams(tmp_path):
    counts = count_sentences(LINES, contexts="bag2")
    near = count_sentences(LINES, contexts="lr2")  # the table has each distance by itself
    files = _written(tmp_path, near)
    assert Counts.from_tables(*files, contexts="bag2", n_sentences=3) == counts
    with pytest.raises(SettingsError, match="the number of sentences is not in these tables"):
        Counts.from_tables(*files, contexts="bag2")
    with pytest.raises(SettingsError, match="pairs of bag2 are of no one distance"):
        counts.to_tables(str(tmp_path / "w.parquet"), str(tmp_path / "p.parquet"))
    alone = Counts.from_tables(files[0], contexts="unigrams", n_sentences=3)
    assert alone == count_sentences(LINES, contexts="unigrams")


def _table(path, **columns) -> str:
    pq.write_table(pa.table(columns), path)
    return str(path)


PAIRS = {"left": ["a", "b"], "right": ["b", "a"], "count": [2, 1]}
BAD = {
    "a word twice": ({"word": ["a", "a"]}, {}, r"w\.parquet: row 2: word 'a' occurs twice"),
    "white space": ({"word": ["a", "b c"]}, {}, "row 2: word 'b c' can never be a token"),
    "an empty word": ({"word": ["", "b"]}, {}, "row 1: word '' can never be a token"),
    "no word": ({"word": [None, "b"]}, {}, "row 1: nothing in a column"),
    "no count": ({"count": [3, None]}, {}, "row 2: nothing in a column"),
    "a count below 0": ({"count": [3, -2]}, {}, "row 2: -2, expected a number from 0"),
    "a count of part": ({"count": [3.5, 2.0]}, {}, "column 'count' holds double, expected int"),
    "counts as text": ({"count": ["3", "2"]}, {}, "column 'count' holds string, expected int"),
    "words as numbers": ({"word": [1, 2]}, {}, "column 'word' holds int64, expected strings"),
    "no tokens": ({"count": [0, 0]}, {"count": [0, 0]}, "no tokens, expected counts of words"),
    "no right": ({}, {"right": None}, r"p\.parquet: no column 'right', found: left, count"),
    "a strange word": ({}, {"left": ["a", "x"]}, "row 2: word 'x' is not in the table of words"),
    "a null in pairs": ({}, {"left": ["a", None]}, "row 2: nothing in a column"),
    "a distance of 2": ({}, {"distance": [1, 2]}, "row 2: distance 2, expected one of the con"),
    "too many lefts": ({}, {"count": [9, 1]}, "word 'a' is the left of 9 pairs, but occurs 3"),
    "too many rights": ({}, {"right": ["b", "b"]}, "word 'b' is the right of 3 pairs, but occ"),
    "no line": ({"count": [2, 2]}, {"count": [2, 2]}, "0 lines, expected tokens"),
}


@pytest.mark.parametrize("case", BAD)
def test_tables_that_no_text_could_give_are_refused(case, tmp_path):
    changed_words, changed_pairs, message = BAD[case]
    listed = {"word": ["a", "b"], "count": [3, 2]} | changed_words
    pairs = {k: v for k, v in (PAIRS | changed_pairs).items() if v is not None}
    files = [_table(tmp_path / "w.parquet", **listed)], [_table(tmp_path / "p.parquet", **pairs)]
    with pytest.raises(DataError, match=message):
        Counts.from_tables(*files, contexts="r1")
    command = ["words", "count", "--words", "w.parquet", "--pairs", "p.parquet"]
    done = eigentext(*command, "--contexts", "r1", "-o", "out", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert not (tmp_path / "out").exists()


def test_pairs_that_are_too_few_and_lines_that_are_others(tmp_path):
    files = _written(tmp_path, count_sentences(LINES, contexts="lr2"))
    with pytest.raises(DataError, match="pairs and words are those of 3 lines, not of 4"):
        Counts.from_tables(*files, contexts="lr2", n_sentences=4)
    near = pq.read_table(files[1][0])
    pq.write_table(near.filter(pa.compute.equal(near["distance"], 1)), files[1][0])
    with pytest.raises(DataError, match="0 pairs of distance 2 to 2, but 3 lines of 8 tokens"):
        Counts.from_tables(*files, contexts="lr2")


def test_parts_of_a_table_add_up(tmp_path):
    pairs = [
        _table(tmp_path / f"p{number}.parquet", **(PAIRS | {"count": [1, number]}))
        for number in range(2)
    ]
    listed = [_table(tmp_path / "w.parquet", word=["a", "b"], count=np.array([3, 2], np.uint32))]
    whole = [_table(tmp_path / "whole.parquet", **PAIRS)]
    assert Counts.from_tables(listed, pairs) == Counts.from_tables(listed, whole)


@quick
@given(
    content=st.binary(max_size=60)
    | st.tuples(st.integers(0, 3000), st.integers(0, 255), st.integers(0, 3000))
)
def test_any_bytes_are_counts_or_an_error(content, tmp_path):
    files = _written(tmp_path, count_sentences(LINES, contexts="lr1"))
    if isinstance(content, tuple):
        place, value, cut = content
        whole = bytearray((tmp_path / "pairs.parquet").read_bytes())
        whole[place % len(whole)] = value
        content = bytes(whole[:cut] if cut % 3 == 0 else whole)
    (tmp_path / "pairs.parquet").write_bytes(content)
    try:
        counts = Counts.from_tables(*files, contexts="lr1")
    except EigentextError:
        return
    assert counts.n_tokens == 8


def test_commands_there_and_back(tmp_path):
    (tmp_path / "a.txt").write_text("\n".join(map(" ".join, LINES)))
    for line in (
        "words count a.txt -o a.counts --contexts lr1 -q",
        "convert a.counts -o w.parquet --pairs p.parquet",
        "words count --words w.parquet --pairs p.parquet -o b.counts --json",
        "words cluster --counts b.counts -o clusters -m 2 -q",
    ):
        done = eigentext(*line.split(), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        if "--json" in line:
            figures = json.loads(done.stdout)
    assert figures == {"tokens": 8, "sentences": 3, "vocabulary": 7, "pairs_stored": 4}
    assert Counts.load(tmp_path / "a.counts") == Counts.load(tmp_path / "b.counts")
