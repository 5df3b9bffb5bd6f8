"""Counting files of records: as if their texts were lines of a text file, however it is cut."""

from __future__ import annotations

import gzip
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from eigentext.base.engines import LocalEngine
from eigentext.base.files.opening import SkipLog
from eigentext.counting import passes, record_text
from eigentext.counting.contexts import parse_contexts
from eigentext.counting.counting import count
from eigentext.counting.encoding import encode_files
from eigentext.counting.memory import Budget
from eigentext.counting.shards import plan_shards
from eigentext.errors import DataError, StorageError
from eigentext.language.formats.text import read_sentences

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import fsspec
import pyarrow.parquet as pq

from helpers.record_files import jsonl, parquet, wet, write

words = st.sampled_from(["a", "b", "ab", "é", "\ufeff", "日本", "\u2028", "<unk>"])
gaps = st.sampled_from([" ", " ", "\n", "\r\n", "\t", "\n\n"])
texts = st.lists(
    st.lists(st.tuples(words, gaps).map("".join), max_size=8).map("".join), max_size=12
)
budgets = st.builds(
    Budget,
    shard_bytes=st.sampled_from([1, 30, 1000]),
    block_bytes=st.sampled_from([1, 33, 1000]),
    segment_tokens=st.sampled_from([1, 5, 40]),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=texts, budget=budgets, jobs=st.sampled_from([1, 3]), rows=st.integers(1, 5))
@example(texts=["\ufeff\ufeffa b", "\ufeffa"], budget=Budget(), jobs=1, rows=1)
def test_counts_of_records_are_those_of_their_lines(
    texts, budget, jobs, rows, tmp_path, brute_force, check_counts
):
    contents = {
        "a.jsonl": jsonl(texts),
        "b.jsonl.gz": gzip.compress(jsonl(texts)),
        "c.parquet": parquet(texts, rows),
        "d.wet": wet(texts),
    }
    # a byte-order mark at the start of a text is none of its words
    lines = [text.removeprefix("\ufeff").encode() for text in texts]
    expected = brute_force([b"\n" + b"\n".join(lines)], positions=(-1, 1, 2))
    for name, content in contents.items():
        path = write(tmp_path / name, content)
        if not expected.n_tokens:
            with pytest.raises(DataError, match="no tokens"):
                count([path], memory=budget)
            continue
        engine = LocalEngine(jobs)
        found = count([path], contexts=[-1, 1, 2], memory=budget, engine=engine)
        check_counts(found, expected)


MAKERS = {"a.jsonl": jsonl, "a.parquet": parquet, "a.wet": wet}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("skip", [False, True])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), max_size=3),
    cut=st.none() | st.integers(1, 3000),
)
def test_any_bytes_are_counted_as_other_readers_read_them(name, skip, changes, cut, tmp_path):
    content = bytearray(MAKERS[name](["some text", "and\nmore", "of it"] * 3))
    for place, value in changes:
        content[place % len(content)] = value
    path = write(tmp_path / name, bytes(content[:cut]))
    budget = Budget(shard_bytes=50, block_bytes=10)
    outcomes: list[object] = []
    for read in (
        lambda log: sum(map(len, read_sentences(path, on_error=log))),
        lambda log: count([path], memory=budget, on_error=log).n_tokens,
    ):
        log = SkipLog() if skip else None
        try:
            outcomes.append((read(log), log and log.count))
        except DataError as error:
            outcomes.append("no tokens" if "no tokens" in error.why else str(error))
    if outcomes[0] == (0, log and log.count):
        outcomes[0] = "no tokens"
    assert outcomes[0] == outcomes[1]


def test_row_groups_and_byte_ranges_are_shared_out(tmp_path):
    texts = [f"word{number} and some more of the text" for number in range(5000)]
    table = write(tmp_path / "a.parquet", parquet(texts, rows=500))
    lines = write(tmp_path / "a.jsonl", jsonl(texts))
    packed = write(tmp_path / "a.jsonl.gz", gzip.compress(jsonl(texts)))
    ranges = [(s.start, s.stop) for s in plan_shards([table], 1, 20_000)]
    assert len(ranges) > 3
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 10  # row groups
    assert all(a[1] == b[0] for a, b in itertools.pairwise(ranges))
    assert len(plan_shards([lines], 1, 70_000)) > 3
    assert len(plan_shards([packed], 4, 70_000)) == 1
    for sources in ([table], [lines], [packed]):
        assert sum(s.size for s in plan_shards(sources, 3, 70_000)) <= 2**20


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_faults_are_named_by_their_place_in_the_file(kind, tmp_path):
    good = ["some text"] * 40
    if kind == "jsonl":
        lines = jsonl(good).splitlines(keepends=True)
        lines[17], lines[33] = b'{"text": null}\n', b"\xff\n"
        path = write(tmp_path / "a.jsonl", b"".join(lines))
        places = [f"{path}:18: null", f"{path}:34: not UTF-8"]
    else:
        rows = [None if number in (17, 33) else text for number, text in enumerate(good)]
        path = write(tmp_path / "a.parquet", parquet(rows, rows=3))
        places = [f"{path}: row 18: nothing", f"{path}: row 34: nothing"]
    budget = Budget(shard_bytes=100, block_bytes=10)
    assert len(plan_shards([path], 1, budget.shard_bytes)) > 2
    with pytest.raises(DataError) as caught:
        count([path], memory=budget)
    assert str(caught.value).startswith(places[0])
    log = SkipLog()
    counts = count([path], memory=budget, on_error=log, jobs=2)
    assert counts.n_tokens == 2 * 38
    assert counts.n_skipped == 2
    assert [m.startswith(p) for m, p in zip(log.messages, places, strict=True)] == [True, True]


@pytest.mark.parametrize("stage", ["reading", "pairs"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_a_job_that_was_stopped_goes_on(name, stage, tmp_path, monkeypatch):
    lines = [" ".join(f"w{i * j % 97}" for j in range(1, 12)) for i in range(2500)]
    content = jsonl(lines) if name == "a.jsonl" else parquet(lines, rows=100)
    path = write(tmp_path / name, content)
    budget = Budget(shard_bytes=20_000, segment_tokens=2000, batch_pairs=3000)
    expected = count([path], memory=budget)
    read, reads = passes.read_segments, []
    monkeypatch.setattr(passes, "read_segments", lambda *a, **k: reads.append(1) or read(*a, **k))
    count([path], memory=budget)
    whole = len(reads)
    reads.clear()

    def stop(done: int, total: int, at: str) -> None:
        if at == stage and done > 0.6 * total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count([path], memory=budget, work_dir=tmp_path / "work", progress=stop)
    before = len(reads)
    assert count([path], memory=budget, work_dir=tmp_path / "work") == expected
    assert len(reads) - before < whole
    assert (len(reads) == before) == (stage == "pairs")


def test_workers_elsewhere_read_the_same(tmp_path):
    """What a Dask worker is sent, and what it does with it."""
    path = write(tmp_path / "a.parquet", parquet(["a b", "b a b", "a"], rows=1))
    (shard,) = pickle.loads(pickle.dumps(plan_shards([path], 1, 10**6)))
    tables, _ = passes.read_types((shard, Budget(), False))
    assert [(read.n_tokens, read.n_sentences) for read in tables] == [(6, 3)]
    task = (tables[0].types, shard, Budget(), False, parse_contexts("r1"))
    ((starts, columns, data),) = passes.count_shard(task)
    assert starts.tolist() == [0, 1, 2, 2]
    assert columns.tolist() == [1, 0]
    assert data.tolist() == [2, 1]


def test_another_field_is_another_job(tmp_path):
    path = write(tmp_path / "a.jsonl", b'{"text": "a b", "title": "c"}\n')
    assert count([path], field="title", work_dir=tmp_path / "w", keep_work=True).words[0] == "c"
    assert count([path], work_dir=tmp_path / "w", keep_work=True).words == ("a", "b", "<unk>")
    raw = {"tokeniser": "ptb", "work_dir": tmp_path / "w", "keep_work": True}
    assert count([path], **raw).words == ("a", "b", "<unk>")
    assert count([path], field="title", **raw).words == ("c", "<unk>")


def test_raw_records_end_paragraphs(tmp_path):
    texts = ["It rains. We\nstay", "in the house.", "Good!"]
    path = write(tmp_path / "a.parquet", parquet(texts))
    vocabulary, ids = encode_files([path], tokeniser="ptb", newlines="join")
    words = [vocabulary.words[i] if i >= 0 else "|" for i in ids]
    assert " ".join(words) == "It rains . | We stay | in the house . | Good ! |"


def test_a_word_without_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(record_text, "LONGEST_WORD", 100)
    path = write(tmp_path / "a.jsonl", jsonl(["fine words", "x" * 101, "more words"]))
    with pytest.raises(DataError, match=r"a\.jsonl:2: a word of more than"):
        count([path])
    log = SkipLog()
    assert count([path], on_error=log).n_tokens == 4
    assert log.count == 1


def test_many_files_and_formats_together(tmp_path):
    paths = [
        write(tmp_path / "a.jsonl", jsonl(["a b"])),
        write(tmp_path / "b.parquet", parquet(["b c"])),
        write(tmp_path / "c.wet", wet(["c d"])),
        write(tmp_path / "d.txt", b"d e\n"),
    ]
    counts = count(paths, contexts="r1", jobs=2)
    assert np.array_equal(counts.unigrams, [2, 2, 2, 1, 1, 0])
    assert counts.words == ("b", "c", "d", "a", "e", "<unk>")


@pytest.mark.parametrize("failure", [ConnectionError("gone"), RuntimeError("of the driver")])
def test_a_store_that_fails_keeps_the_work(failure, tmp_path, monkeypatch):
    lines = [" ".join(f"w{i * j % 97}" for j in range(1, 12)) for i in range(1000)]
    address = "memory://records-failing/a.parquet"
    with fsspec.open(address, "wb") as out:
        out.write(parquet(lines, rows=100))
    budget, work = Budget(shard_bytes=9000), tmp_path / "work"
    expected = count([address], memory=budget)
    iterate, calls = pq.ParquetFile.iter_batches, []

    def failing(self, *arguments, **options):
        calls.append(1)
        if len(calls) == 2:
            raise failure
        return iterate(self, *arguments, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", failing)
    with pytest.raises(StorageError, match=r"cannot read: .*(gone|of the driver)"):
        count([address], memory=budget, work_dir=work)
    n_shards = len(plan_shards([address], 1, 9000))
    calls[:] = [1, 1]  # all goes well from now on
    assert count([address], memory=budget, work_dir=work) == expected
    assert len(calls) - 2 == n_shards - 1  # the first shard was done
