"""Counting against the brute-force count: any text, any contexts, any way of doing it."""

from __future__ import annotations

import io
import lzma
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eigentext.base.engines import LocalEngine
from eigentext.base.files.opening import SkipLog
from eigentext.counting import segments, shards
from eigentext.counting.contexts import Contexts
from eigentext.counting.counting import count, count_sentences
from eigentext.counting.memory import Budget
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats.text import write_sentences

WORDS = [
    b"a",
    b"b",
    b"ab",
    b"a\x00",
    b"a\x00\x00",
    b"\x00",
    b"a\x1fb",
    b"seven77",
    b"eight888",
    b"nine99999",
    b"eight888\x00",
    b"sixteen-letters!",
    b"sixteen-letters!x",
    b"<unk>",
    "a\u00a0b".encode(),
    "é".encode(),
    "\u2028".encode(),
    "日本語のことば".encode(),
    b"exactly-24-bytes-long-wd",
    b"exactly-24-bytes-long-wx",
    b"\x85".decode("latin1").encode(),
]
GAPS = [b" ", b" ", b" ", b"\t", b"\r", b"\x0b", b"\x0c", b"  ", b"\n", b"\n", b"\r\n", b"\n\n"]

words = st.sampled_from(WORDS) | st.text(
    st.characters(codec="utf-8", exclude_characters=" \t\n\r\v\f"), min_size=1, max_size=12
).map(str.encode)
texts = st.builds(
    lambda mark, pieces: mark + b"".join(pieces),
    st.sampled_from([b"", b"", b"\xef\xbb\xbf"]),
    st.lists(st.tuples(words, st.sampled_from(GAPS)).map(b"".join) | st.sampled_from(GAPS)),
)
few = st.sampled_from([1, 5, 40])
budgets = st.builds(
    Budget,
    shard_bytes=st.sampled_from([9, 60, 1000]),
    block_bytes=st.sampled_from([1, 33]),
    segment_types=few,
    segment_tokens=few,
    kept_bytes=st.sampled_from([0, 300, 1 << 20]),
    table_bytes=st.sampled_from([4000, 1 << 20]),
    batch_pairs=st.sampled_from([1, 30, 1000]),
    run_bytes=st.sampled_from([1, 500, 1 << 20]),
)
positions = st.lists(st.integers(-4, 4).filter(bool), min_size=1, unique=True).map(
    lambda p: Contexts(tuple(p))
)
contexts = positions | st.integers(1, 4).map(lambda w: Contexts((), bag=w)) | st.just(Contexts())


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    corpus=st.lists(texts, min_size=1, max_size=3),
    contexts=contexts,
    budget=budgets,
    jobs=st.integers(1, 3),
    vocab_size=st.none() | st.integers(1, 6),
    min_count=st.integers(1, 3),
    resumable=st.booleans(),
    packed=st.booleans(),
)
def test_any_text_and_any_way(
    tmp_path_factory,
    brute_force,
    check_counts,
    corpus,
    contexts,
    budget,
    jobs,
    vocab_size,
    min_count,
    resumable,
    packed,
):
    folder = tmp_path_factory.mktemp("corpus")
    names = [folder / f"{i}.txt" for i in range(len(corpus))]
    for name, text in zip(names, corpus, strict=True):
        name.write_bytes(text)
    if packed:
        names[0] = folder / "0.txt.xz"
        names[0].write_bytes(lzma.compress(corpus[0]))
    expected = brute_force(
        corpus, contexts.positions, contexts.bag, vocab_size=vocab_size, min_count=min_count
    )
    options = {
        "contexts": contexts,
        "vocab_size": vocab_size,
        "min_count": min_count,
        "jobs": jobs,
        "memory": budget,
        "work_dir": folder / "work" if resumable else None,
    }
    if expected.n_tokens == 0:
        with pytest.raises(DataError, match="no tokens"):
            count(names, **options)
        return
    check_counts(count(names, **options), expected)
    if resumable:
        assert not (folder / "work").exists()


@pytest.fixture
def write(tmp_path):
    def write(text: bytes, name: str = "text.txt") -> str:
        (tmp_path / name).write_bytes(text)
        return str(tmp_path / name)

    return write


def _random_text(n_lines: int, seed: int = 1) -> bytes:
    rng = np.random.default_rng(seed)
    lines = []
    for length in rng.integers(0, 30, n_lines):
        ids = np.minimum(rng.zipf(1.3, length), 5000)
        lines.append(" ".join(f"w{i * i * i}" for i in ids.tolist()))
    return "\n".join(lines).encode()


def _is_mapped(array: np.ndarray) -> bool:
    while array is not None and not isinstance(array, np.memmap):
        array = array.base
    return array is not None


def test_memory_setting_jobs_and_contexts_do_not_change_the_counts(
    write, brute_force, check_counts
):
    text = _random_text(8000)
    path = write(text)
    expected = brute_force([text], (-2, -1, 1, 2), vocab_size=500)
    reference = count([path], vocab_size=500)
    check_counts(reference, expected)
    for memory in ("32MB", "2GB"):
        for jobs in (1, 2):
            assert count([path], vocab_size=500, memory=memory, jobs=jobs) == reference
    tiny = Budget(
        segment_types=200,
        segment_tokens=9000,
        kept_bytes=0,
        table_bytes=50_000,
        batch_pairs=7000,
        run_bytes=40_000,
        shard_bytes=100_000,
    )
    spilled = count([path], vocab_size=500, memory=tiny, jobs=2)
    assert _is_mapped(spilled.halves[0].data)
    assert not _is_mapped(reference.halves[0].data)
    assert spilled == reference
    assert count([path], vocab_size=500, engine=LocalEngine(2)) == reference


@pytest.mark.parametrize(
    "text",
    [
        b"no line end at the end",
        b"\n\n \n\t\nword\n\n",
        b"\xef\xbb\xbfmarked at the start\nand \xef\xbb\xbfnot here",
        b"nul \x00 and nul\x00inside \x00\n\x00",
        b"x" * 1_000_000 + b" short " + b"y" * 1_000_000 + b" " + b"x" * 1_000_000,
        b"one line of many words " * 20_000,
        b"a\r\nb\r\n",
        b"literal <unk> here\n",
    ],
    ids=[
        "no-final-newline",
        "blank-lines",
        "bom",
        "nul",
        "long-words",
        "long-line",
        "crlf",
        "unk",
    ],
)
@pytest.mark.parametrize("jobs", [1, 2])
def test_odd_texts(write, brute_force, check_counts, text, jobs):
    small_blocks = Budget(block_bytes=1 << 16, segment_tokens=50_000, shard_bytes=1 << 19)
    for budget in ("1GB", small_blocks):
        counts = count([write(text)], contexts="lr2", jobs=jobs, memory=budget)
        check_counts(counts, brute_force([text], (-2, -1, 1, 2)))


@pytest.mark.parametrize("text", [b"", b"\n\n", b" \t\r\n", b"\xef\xbb\xbf"])
def test_a_text_without_tokens(write, text):
    path = write(text)
    with pytest.raises(DataError, match="no tokens") as caught:
        count([path])
    assert caught.value.path == path


@pytest.mark.parametrize("shard_bytes", [7, 50, 1 << 20])
@pytest.mark.parametrize(
    "bad", [b"\xff", b"abc\xe6\x97", b"\x80tail", b"\xed\xa0\x80", b"\xc0\xaf"]
)
def test_bad_bytes_name_the_line(write, bad, shard_bytes):
    text = b"first line\n\nthird w" + bad + b" end\nlast " + bad + b"\n"
    budget = Budget(shard_bytes=shard_bytes, block_bytes=8)
    with pytest.raises(DataError) as caught:
        count([write(text)], memory=budget, jobs=2)
    assert caught.value.line == 3
    assert caught.value.why.startswith("not UTF-8: byte 0x")


def test_a_model_is_no_text(tmp_path):
    from eigentext.sequences import HMM

    model = tmp_path / "h.model"
    HMM(2, n_iter=1).fit([["a", "b", "a", "b"]] * 3).save(model)
    with pytest.raises(DataError, match=r"h\.model:1: a model that eigentext wrote") as caught:
        count([str(model)])
    assert caught.value.line == 1


def test_two_halves_of_a_character_are_not_one(write):
    with pytest.raises(DataError) as caught:
        count([write(b"ok\nb\xc3 \xa9d\n")])
    assert caught.value.line == 2


@pytest.mark.parametrize("shard_bytes", [9, 1 << 20])
def test_bad_lines_are_left_out_on_request(write, brute_force, check_counts, shard_bytes):
    lines = [b"one two", b"bad \xff line", b"", b"two one", b"\xfe", b"one one"]
    log = SkipLog()
    path = write(b"\n".join(lines))
    budget = Budget(shard_bytes=shard_bytes, block_bytes=4)
    counts = count([path], contexts="r1", memory=budget, on_error=log)
    check_counts(counts, brute_force([b"one two\n\n\ntwo one\n\none one"], (1,)))
    assert counts.n_skipped == log.count == 2
    assert [message.split(": ")[0] for message in log.messages] == [f"{path}:2", f"{path}:5"]


def test_many_sources_urls_and_packed_files(tmp_path, brute_force, check_counts):
    import fsspec

    parts = [b"a b c\nd", b"a a\n", b"c b a\n" * 50]
    (tmp_path / "0.txt").write_bytes(parts[0])
    (tmp_path / "1.txt.xz").write_bytes(lzma.compress(parts[1]))
    with fsspec.open("memory://counting/many/2.txt", "wb") as out:
        out.write(parts[2])
    sources = [str(tmp_path / "*.txt"), str(tmp_path / "1.txt.xz"), "memory://counting/many/*.txt"]
    expected = brute_force(parts, (-1, 1))
    for budget in (Budget(), Budget(shard_bytes=16, block_bytes=3)):
        check_counts(count(sources, contexts="lr1", jobs=2, memory=budget), expected)


def test_ranges_of_one_file_in_memory_at_the_same_time():
    import fsspec

    # memory:// hands out one object with one place to read at; threads must not share it
    with fsspec.open("memory://counting/shared.txt", "wb") as out:
        out.write(_random_text(2000))
    source = ["memory://counting/shared.txt"]
    expected = count(source, contexts="r1")
    for _ in range(5):
        budget = Budget(shard_bytes=5000, block_bytes=500)
        assert count(source, contexts="r1", jobs=3, memory=budget) == expected


def test_standard_input(monkeypatch, tmp_path, brute_force, check_counts):
    text = b"from a pipe\nfrom a pipe"
    for work_dir in (None, tmp_path / "work"):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
        check_counts(count(["-"], contexts="r1", work_dir=work_dir), brute_force([text], (1,)))
    with pytest.raises(SettingsError, match="once"):
        count(["-", "-"])


def test_a_fixed_vocabulary(write, brute_force, check_counts):
    text = b"the cat sat\nthe dog sat <unk>\n"
    given = ["sat", "the", "bird"]
    counts = count([write(text)], contexts="lr1", vocabulary=given)
    check_counts(counts, brute_force([text], (-1, 1), words=given))
    again = count([write(text)], contexts="lr1", vocabulary=counts)
    assert again == counts
    assert count([write(text)], contexts="lr1", vocabulary=counts.vocabulary) == counts


def test_progress_reaches_the_total(write):
    path = write(_random_text(3000))
    for jobs in (1, 2):
        calls: list[tuple[int, int, str]] = []
        budget = Budget(block_bytes=1 << 12, batch_pairs=5000)
        count(
            [path],
            jobs=jobs,
            memory=budget,
            progress=lambda *call, calls=calls: calls.append(call),
        )
        for stage in ("reading", "pairs"):
            done = [call[0] for call in calls if call[2] == stage]
            assert len(done) > 3
            assert done == sorted(done)
            assert done[-1] == calls[0][1]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"vocab_size": 0}, "vocab_size"),
        ({"min_count": 0}, "min_count"),
        ({"jobs": 0}, "jobs"),
        ({"memory": "plenty"}, "2GB"),
        ({"memory": "1KB"}, "at least"),
        ({"contexts": "left"}, "lr2"),
        ({"vocabulary": ["a"], "vocab_size": 3}, "vocab_size"),
        ({"vocabulary": ["a", "a"]}, "twice"),
        ({"vocabulary": ["a b"]}, "never"),
    ],
)
def test_settings_that_make_no_sense(write, options, says):
    with pytest.raises(SettingsError, match=says):
        count([write(b"a b")], **options)


def test_no_sources_and_one_str(write):
    with pytest.raises(TypeError, match="list"):
        count(write(b"a"))
    with pytest.raises(TypeError, match="not one str"):
        count([write(b"a")], vocabulary="a b")
    with pytest.raises(SettingsError, match="no sources"):
        count([])
    with pytest.raises(DataError, match="no such file"):
        count(["/nowhere/at/all.txt"])


@pytest.mark.requires("data")
def test_openstax(data, brute_force, check_counts):
    path = data / "text" / "openstax_by.txt.xz"
    with lzma.open(path) as stream:
        text = stream.read()
    lines = text.split(b"\n")
    part = b"\n".join(lines[: len(lines) // 3])
    expected = brute_force([part], (1,), vocab_size=5000)
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        plain, packed = Path(folder) / "part.txt", Path(folder) / "part.txt.xz"
        plain.write_bytes(part)
        packed.write_bytes(lzma.compress(part, preset=0))
        counts = count([plain], contexts="r1", vocab_size=5000, jobs=2)
        check_counts(counts, expected)
        spilled = count([packed], contexts="r1", vocab_size=5000, memory="32MB")
        assert spilled == counts


@pytest.mark.parametrize("shard_bytes", [20, 1 << 20])
def test_an_endless_word_is_refused_and_an_endless_line_is_not(write, monkeypatch, shard_bytes):
    monkeypatch.setattr(shards, "LONGEST_WORD", 100)
    budget = Budget(shard_bytes=shard_bytes, block_bytes=16)
    path = write(b"a b\n" + b"c " * 300 + b"\nd " + b"e" * 150 + b"\nf\n")
    with pytest.raises(DataError, match="a word of more than 100 bytes") as caught:
        count([path], memory=budget)
    assert caught.value.line == 3
    assert count([write(b"a b\n" + b"c " * 300)], memory=budget).n_tokens == 302


@pytest.mark.parametrize("shard_bytes", [20, 64, 1 << 20])
def test_a_line_that_is_too_long_can_be_skipped(write, monkeypatch, shard_bytes):
    monkeypatch.setattr(shards, "LONGEST_LINE", 100)
    log = SkipLog()
    path = write(b"a b\n" + b"c " * 300 + b"\nd\n\xff\n" + b"e" * 200)
    budget = Budget(shard_bytes=shard_bytes, block_bytes=16)
    counts = count([path], memory=budget, on_error=log)
    assert (counts.n_tokens, counts.n_skipped) == (3, 3)
    assert [message.split(":")[1] for message in log.messages] == ["2", "4", "5"]


def test_long_words_close_a_segment(write):
    path = write(b" ".join(bytes([97 + i]) * 50 for i in range(20)))
    budget = Budget(block_bytes=64, segment_bytes=200)
    whole = shards.plan_shards([path], 1, 1 << 20)[0]
    assert len(list(shards.read_segments(whole, budget))) > 3
    assert count([path], memory=budget) == count([path])


@settings(max_examples=60, deadline=None)
@given(
    sentences=st.lists(st.lists(words.map(bytes.decode), max_size=8), max_size=12),
    contexts=contexts,
    vocab_size=st.none() | st.integers(1, 6),
    min_count=st.integers(1, 3),
    block=st.sampled_from([1, 40, 1 << 20]),
)
def test_sentences_in_memory_are_counted_as_lines_of_a_file(
    sentences, contexts, vocab_size, min_count, block
):
    text = [["first"], *sentences]  # a file's first line is looked at: no tree, no JSON, no mark
    write_sentences(text, "memory://test/sentences.txt")
    chosen = {"contexts": contexts, "vocab_size": vocab_size, "min_count": min_count}
    by_file = count(["memory://test/sentences.txt"], **chosen)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "_BLOCK_BYTES", block)
        in_memory = count_sentences(iter(text), **chosen)
    assert in_memory == by_file
    assert in_memory.fingerprint() == by_file.fingerprint()


@pytest.mark.parametrize(
    ("sentences", "error", "message"),
    [
        ([], DataError, "sentences: no tokens, expected text"),
        ([[], []], DataError, "sentences: no tokens, expected text"),
        ([["a"], ["b c"]], DataError, "sentences:2: token 'b c': expected at least one"),
        ([["a", ""]], DataError, "sentences:1: token ''"),
        ([["a\ud800"]], DataError, "sentences:1: a lone surrogate"),
        ("a b", SettingsError, "expected a list of sentences, not one string"),
        (["a b"], SettingsError, "a sentence is a list of tokens, not the string 'a b'"),
        ([["a", 1]], SettingsError, "a token is a string, not int 1"),
        (7, SettingsError, "expected a list of sentences, not int"),
    ],
)
def test_sentences_that_cannot_be_counted(sentences, error, message):
    with pytest.raises(error) as caught:
        count_sentences(sentences)
    assert str(caught.value).startswith(message)
