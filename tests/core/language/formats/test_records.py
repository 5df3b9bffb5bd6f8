"""Files of records: the text that was put in, or an error that says where; never anything else."""

from __future__ import annotations

import gzip
import io
import json

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from eigentext.base.files.opening import SkipLog
from eigentext.errors import DataError, EigentextError, SettingsError
from eigentext.language.formats import records
from eigentext.language.formats.records import documents, kind_of
from eigentext.language.formats.text import read_sentences, text_lines

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import pyarrow as pa
import pyarrow.parquet as pq

from helpers import zstd
from helpers.record_files import jsonl, parquet, warc_record, wet, write

quick = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
texts = st.lists(st.text(st.characters(codec="utf-8"), max_size=30), max_size=6)
MAKERS = {"a.jsonl": jsonl, "a.parquet": parquet, "a.wet": wet}


def _without_mark(text: str) -> str:
    return text.removeprefix("\ufeff")


@pytest.mark.parametrize("name", MAKERS)
@quick
@given(texts=texts)
@example(texts=["two\nlines\r\nof a text\n", "", "\ufeffmark", "\u2028 \x00 \x85"])
def test_what_was_put_in_comes_out(name, texts, tmp_path):
    path = write(tmp_path / name, MAKERS[name](texts))
    found = list(documents(path))
    assert [text for _, text in found] == list(map(_without_mark, texts))
    first = 2 if name == "a.wet" else 1  # record 1 tells of the file
    assert [number for number, _ in found] == list(range(first, first + len(texts)))


@pytest.mark.parametrize("name", MAKERS)
@quick
@given(
    content=st.binary(max_size=200)
    | st.builds(
        lambda name, cut, changes: (name, cut, changes),
        st.just(None),
        st.integers(0, 2000),
        st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=4),
    )
)
def test_any_bytes_give_texts_or_a_data_error(name, content, tmp_path):
    if isinstance(content, tuple):
        whole = bytearray(MAKERS[name](["some text", "and\nmore", "of it"] * 3))
        for place, value in content[2]:
            whole[place % len(whole)] = value
        content = bytes(whole[: content[1]] if content[1] < len(whole) else whole)
    path = write(tmp_path / name, content)
    for on_error in (None, SkipLog()):
        try:
            for _, text in documents(path, on_error=on_error):
                text.encode()
        except DataError as error:
            named = error.path
        else:
            named = path
        assert named == path


@pytest.mark.parametrize("name", ["a.parquet", "a.wet"])
def test_a_file_cut_short_is_an_error_wherever_it_is_cut(name, tmp_path):
    whole = MAKERS[name](["some text", "more of it"])
    sound = [["some text", "more of it"], ["some text"], []]
    for cut in range(1, len(whole)):
        path = write(tmp_path / name, whole[:cut])
        try:
            found = [text for _, text in documents(path)]
        except DataError:
            continue
        # a WET file may end between records, and be a smaller one; or lack the last line ends
        assert name == "a.wet"
        assert found in sound


def test_cut_archives_are_errors(tmp_path):
    for suffix, packed in (
        (".gz", gzip.compress(jsonl(["some text"] * 1000))),
        (".zst", zstd.compress(jsonl(["some text"] * 1000))),
    ):
        path = write(tmp_path / f"a.jsonl{suffix}", packed)
        assert sum(1 for _ in documents(path)) == 1000
        path = write(tmp_path / f"a.jsonl{suffix}", packed[:-5])
        with pytest.raises(DataError, match="truncated"):
            list(documents(path))
    path = write(tmp_path / "a.parquet.gz", gzip.compress(parquet(["text"])))
    with pytest.raises(DataError, match="unpack it"):
        list(documents(path))


BAD_LINES = {
    b'{"text": null}': "null in the field 'text', expected a string",
    b'{"text": 3}': "a number in the field 'text', expected a string",
    b'{"text": ["a"]}': "a list in the field 'text', expected a string",
    b'{"text": {"a": 1}}': "an object in the field 'text', expected a string",
    b'{"text": true}': "true or false in the field 'text', expected a string",
    b'{"content": "a", "id": 1}': "no field 'text', found: content, id (--field chooses one)",
    b'["text"]': "a list, expected a JSON object",
    b'"text"': "a string, expected a JSON object",
    b"text": "expected a JSON object: Expecting value: line 1 column 1 (char 0)",
    b'{"text": "a"': "expected a JSON object: ",
    b'{"text": "\\ud800"}': "a lone surrogate, which UTF-8 cannot hold: '\\ud800'",
    b'{"text": "\xff"}': "not UTF-8: byte 0xff at position 11 of the line",
    b"[" * 100_000: "expected a JSON object: ",
}


@pytest.mark.parametrize("line", BAD_LINES, ids=lambda line: line[:20].decode("latin1"))
def test_a_line_without_text_is_named_or_skipped(line, tmp_path):
    path = write(tmp_path / "a.jsonl", b'{"text": "one"}\n\n' + line + b'\n{"text": "two"}\n')
    with pytest.raises(DataError) as caught:
        list(documents(path))
    assert caught.value.line == 3
    assert caught.value.why.startswith(BAD_LINES[line])
    log = SkipLog()
    assert [text for _, text in documents(path, on_error=log)] == ["one", "two"]
    assert log.count == 1


def test_a_row_without_text_is_named_or_skipped(tmp_path):
    path = write(tmp_path / "a.parquet", parquet(["one", None, "two"], rows=1))
    with pytest.raises(DataError, match=r"a\.parquet: row 2: nothing in the column 'text'"):
        list(documents(path))
    log = SkipLog()
    assert list(documents(path, on_error=log)) == [(1, "one"), (3, "two")]
    assert log.messages == [f"{path}: row 2: nothing in the column 'text', expected a string"]


def test_columns_of_other_types(tmp_path):
    path = str(tmp_path / "a.parquet")
    texts = ["one", "two", "one"]
    for kind in (pa.large_string(), pa.binary(), pa.string_view()):
        pq.write_table(pa.table({"text": pa.array(texts, type=kind)}), path)
        assert [text for _, text in documents(path)] == texts
    pq.write_table(pa.table({"text": pa.array(texts).dictionary_encode()}), path)
    assert [text for _, text in documents(path)] == texts
    pq.write_table(pa.table({"text": pa.array([b"one", b"\xff"], type=pa.binary())}), path)
    with pytest.raises(DataError, match="row 2: not UTF-8: byte 0xff at position 1"):
        list(documents(path))
    pq.write_table(pa.table({"text": [[1], [2]], "n": [1, 2]}), path)
    with pytest.raises(DataError, match=r"column 'text' holds list<.*>, expected strings"):
        list(documents(path))
    with pytest.raises(DataError, match="no column 'body', found: text, n"):
        list(documents(path, "body"))


def test_pages_as_they_were_sent_are_no_text(tmp_path):
    page = warc_record("response", b"HTTP/1.1 200 OK\r\n\r\n<html>")
    path = write(tmp_path / "a.warc", wet(["one"]) + page + warc_record("metadata", b"x: y"))
    with pytest.raises(DataError, match="record 3: a record of type response, a page as it was"):
        list(documents(path))
    log = SkipLog()
    assert list(documents(path, on_error=log)) == [(2, "one")]
    assert log.count == 1


@pytest.mark.filterwarnings("ignore")  # of files that warcio leaves open
def test_texts_of_warcio(tmp_path):
    writer_of = pytest.importorskip("warcio.warcwriter", reason="warcio is not installed")
    out = io.BytesIO()
    writer = writer_of.WARCWriter(out, gzip=True)
    texts = ["Es regnet.\nWir bleiben.", "日本語", ""]
    for text in texts:
        content = io.BytesIO(text.encode())
        record = writer.create_warc_record(
            "https://example.org/", "conversion", payload=content, warc_content_type="text/plain"
        )
        writer.write_record(record)
    path = write(tmp_path / "a.warc.wet.gz", out.getvalue())
    assert [text for _, text in documents(path)] == texts


def test_the_limits(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "LONGEST_LINE", 100)
    path = write(tmp_path / "a.parquet", parquet(["x" * 101, "short"]))
    with pytest.raises(DataError, match="row 1: a text of more than 100 bytes"):
        list(documents(path))
    assert list(documents(path, on_error=SkipLog())) == [(2, "short")]
    head = b"WARC/1.0\r\n" + b"a: b\r\n" * 100_000
    path = write(tmp_path / "a.wet", head)
    with pytest.raises(DataError, match="record 1: its headers have no end"):
        list(documents(path))


def test_kinds_by_name_and_field():
    names = ["a.JSONL", "a.ndjson.gz", "c4.json.gz", "https://host/a.parquet?x=1", "a.warc.wet.gz"]
    kinds = ["jsonl", "jsonl", "jsonl", "parquet", "warc"]
    assert list(map(kind_of, names)) == kinds
    assert [kind_of(name) for name in ("a.txt", "-", "jsonl", "a.jsonl.txt")] == [""] * 4
    assert kind_of("a.txt", "body") == kind_of("-", "body") == "jsonl"
    with pytest.raises(SettingsError, match=r"a\.wet has none"):
        kind_of("a.wet", "body")


def test_lines_of_texts_and_gaps_between_them(tmp_path):
    path = write(tmp_path / "a.jsonl", jsonl(["one two\r\nthree\n", "", "four"]))
    assert list(text_lines(path)) == [(1, "one two"), (1, "three"), (2, ""), (3, "four")]
    assert [line for _, line in text_lines(path, apart=True)] == [
        *("one two", "three", ""),
        *("", ""),
        *("four", ""),
    ]
    assert list(read_sentences(path)) == [["one", "two"], ["three"], [], ["four"]]
    # a field was named, so whatever is in it is text: a page of code, say
    code = write(tmp_path / "b.jsonl", jsonl(['{"a": 1}', "(S (NP (NN rain)) (VP (VBZ falls)))"]))
    assert sum(1 for _ in text_lines(code)) == 2


@quick
@given(
    values=st.lists(st.none() | st.booleans() | st.integers() | st.text(max_size=5), max_size=5)
)
def test_each_value_of_json_is_text_or_skipped(values, tmp_path):
    lines = [json.dumps({"text": value}) for value in values]
    path = write(tmp_path / "a.jsonl", "\n".join(lines).encode())
    log = SkipLog()
    found = [text for _, text in documents(path, on_error=log)]
    assert found == [_without_mark(v) for v in values if isinstance(v, str)]
    assert log.count == len(values) - len(found)


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    path = write(tmp_path / "a.parquet", b"")
    with pytest.raises(EigentextError, match="Parquet files need pyarrow: pip install pyarrow"):
        list(documents(path))
