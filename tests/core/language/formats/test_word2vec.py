from __future__ import annotations

import contextlib
import struct
import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigentext.base.files.opening import SkipLog, write_lines
from eigentext.errors import DataError
from eigentext.language.formats.word2vec import load_vectors, read_vectors, write_vectors

if TYPE_CHECKING:
    from pathlib import Path

shared_folder = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
words_in_use = st.text(
    st.characters(codec="utf-8", exclude_characters=" \n"), min_size=1, max_size=6
)
finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], np.ndarray]:
    words = draw(st.lists(words_in_use, max_size=6))
    dim = draw(st.integers(1, 4))
    return words, draw(hnp.arrays(np.float32, (len(words), dim), elements=finite))


@shared_folder
@given(table=tables(), binary=st.booleans())
def test_round_trip_is_exact(
    table: tuple[list[str], np.ndarray], binary: bool, tmp_path: Path
) -> None:
    words, matrix = table
    file = tmp_path / "v"
    write_vectors(words, matrix, file, binary=binary)
    got_words, got = load_vectors(file, binary=binary)
    assert got_words == words
    assert got.dtype == np.float32
    assert (got.shape, got.tobytes()) == (matrix.shape, matrix.tobytes())


def test_text_of_random_bit_patterns_is_exact(tmp_path: Path) -> None:
    bits = np.random.default_rng(1).integers(0, 2**32, size=20_000, dtype=np.uint32)
    values = bits.view(np.float32)
    matrix = values[np.isfinite(values)][:19_000].reshape(190, 100)
    words = [f"w{i}" for i in range(190)]
    write_vectors(words, matrix, tmp_path / "v")
    assert load_vectors(tmp_path / "v")[1].tobytes() == matrix.tobytes()
    write_vectors(["x"], np.array([[0.1, 1, 1e-8]]), tmp_path / "v")
    assert (tmp_path / "v").read_bytes() == b"1 3\nx 0.1 1.0 1e-08\n"


@pytest.mark.parametrize("binary", [False, True])
def test_the_kind_is_found_out(binary: bool, tmp_path: Path) -> None:
    matrix = np.random.default_rng(0).normal(size=(50, 20)).astype(np.float32)
    words = [f"ż{i}" for i in range(50)]
    write_vectors(words, matrix, tmp_path / "v.gz", binary=binary)
    with read_vectors(tmp_path / "v.gz") as vectors:
        assert (vectors.size, vectors.dim, vectors.binary) == (50, 20, binary)
        pairs = list(vectors)
    assert [word for word, _ in pairs] == words
    assert np.array_equal(np.stack([vector for _, vector in pairs]), matrix)


def test_layouts_of_other_tools(tmp_path: Path) -> None:
    file = tmp_path / "v"
    numbers = struct.pack("<2f", 1.5, -2)
    for raw in (
        b"2 2\na " + numbers + b"\nb " + numbers + b"\n",  # word2vec.c, binary
        b"2 2\na " + numbers + b"b " + numbers,  # gensim, binary
        b"2 2\na 1.500000 -2.000000 \nb 1.500000 -2.000000 \n",  # word2vec.c, text
        b"2 2\r\na 1.5 -2\r\nb 15e-1 -2.\r\n",
        b"\xef\xbb\xbf2 2\na 1.5 -2\nb 1.5 -2\n\n\n",
    ):
        file.write_bytes(raw)
        words, matrix = load_vectors(file)
        assert words == ["a", "b"]
        assert matrix.tolist() == [[1.5, -2], [1.5, -2]]


def test_vectors_of_zeros_with_spaces_in_their_bytes(tmp_path: Path) -> None:
    space = struct.unpack("<f", b"  \n ")[0]
    matrix = np.array([[0, space], [space, 0]], dtype=np.float32)
    write_vectors(["a", "b"], matrix, tmp_path / "v", binary=True)
    assert load_vectors(tmp_path / "v")[1].tobytes() == matrix.tobytes()


def test_records_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.random.default_rng(0).normal(size=(30, 7)).astype(np.float32)
    words = ["w" * (1 + i) for i in range(30)]
    write_vectors(words, matrix, tmp_path / "v", binary=True)
    for block in (1, 5, 33):
        monkeypatch.setattr("eigentext.language.formats.word2vec._BLOCK", block)
        got_words, got = load_vectors(tmp_path / "v")
        monkeypatch.undo()
        assert got_words == words
        assert np.array_equal(got, matrix)


@pytest.mark.parametrize(
    ("raw", "line", "why"),
    [
        (b"", 1, "expected 'number-of-words dimension'"),
        (b"hello\n", 1, "expected 'number-of-words dimension'"),
        (b"the 0.1 0.2 0.3\nof 1 2\n", 2, "2 numbers, expected 3"),
        (b"the 0.1 0.2 0.3\nof 1 2 3 4\n", 2, "4 numbers, expected 3"),
        (b"the 0.1 0.2 0.3\nof 1 2 x\n", 2, "'x', expected a number"),
        (b"the 0.1 0.2 0.3\n\xff 1 2 3\n", 2, "is not UTF-8"),
        (b"the 0.1\nof 1\n", 1, "expected 'number-of-words dimension'"),
        (b"2 0\n", 1, "dimension 0"),
        (b"2 99999999999\n", 1, "dimension 99999999999, expected 1 to"),
        (b"-2 3\n", 1, "expected 'number-of-words"),
        (b"2 2\na 1 2\n", 2, "ends after 1 vectors, expected 2"),
        (b"2 2\na 1 2\nb 1\n", 3, "1 numbers, expected 2"),
        (b"2 2\na 1 2\nb 1 2 3\n", 3, "3 numbers, expected 2"),
        (b"2 2\na 1 2\nb c 1 2\n", 3, "3 numbers, expected 2"),
        (b"1 2\na 1 x\n", 2, "'x', expected a number"),
        (b"1 2\na 1 1_0\n", 2, "'1_0', expected a number"),
        (b"1 2\na 1 nan\n", 2, "b'nan', expected a finite"),
        (b"1 2\na -inf 1\n", 2, "b'-inf', expected a finite"),
        (b"1 2\na 1e39 1\n", 2, "b'1e39', expected a finite float32"),
        (b"1 2\n 1 2\n", 2, "expected a word"),
        (b"1 2\n\na 1 2\n", 2, "0 numbers, expected 2"),
        (b"1 2\na 1 2\nb 1 2\n", 3, "more vectors than the 1"),
        (b"1 1\n\xff 1\n", 2, "not UTF-8"),
        ("1 1\na ١\n".encode(), 2, "expected a number"),
    ],
)
def test_bad_text(raw: bytes, line: int, why: str, tmp_path: Path) -> None:
    file = tmp_path / "v.txt"
    file.write_bytes(raw)
    with pytest.raises(DataError, match=why) as caught:
        load_vectors(file, binary=False)
    assert caught.value.line == line


GOOD = b"2 2\na " + struct.pack("<2f", 1, 2) + b"\nb " + struct.pack("<2f", 3, 4) + b"\n"


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (GOOD[:-2], "record 2: the file ends inside it, after 1 of 2"),
        (GOOD[:10], "record 1: the file ends inside it"),
        (GOOD + b"x", "more bytes after the 2 vectors"),
        (GOOD.replace(b"b ", b"\xff "), "record 2: the word .* is not UTF-8"),
        (GOOD.replace(b"b ", b" "), "record 2: word ''"),
        (GOOD.replace(b"b ", b"b\nc "), "record 2: word"),
        (GOOD.replace(struct.pack("<f", 4), struct.pack("<f", np.nan)), "record 2: .* NaN"),
        (GOOD.replace(struct.pack("<f", 1), struct.pack("<f", np.inf)), "record 1: .* infinity"),
        (b"2 2\n" + b"x" * 200_000, "record 1: no space in 100000 bytes"),
    ],
)
def test_bad_binary(raw: bytes, why: str, tmp_path: Path) -> None:
    file = tmp_path / "v.bin"
    file.write_bytes(raw)
    with pytest.raises(DataError, match=why):
        load_vectors(file, binary=True)


@pytest.mark.parametrize("binary", [False, True])
def test_a_claim_is_not_allocated(binary: bool, tmp_path: Path) -> None:
    file = tmp_path / "v"
    write_vectors(["a"], np.ones((1, 3)), file, binary=binary)
    file.write_bytes(file.read_bytes().replace(b"1 3", b"999999999999 3", 1))
    tracemalloc.start()
    with pytest.raises(DataError, match="999999999999"):
        load_vectors(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


def test_bad_lines_are_skipped_when_asked(tmp_path: Path) -> None:
    file = tmp_path / "v.txt"
    file.write_bytes(b"3 2\na 1 2\nb 1 x\nc 3 4\n")
    log = SkipLog()
    words, matrix = load_vectors(file, on_error=log)
    assert (words, matrix.tolist()) == (["a", "c"], [[1, 2], [3, 4]])
    assert log.messages == [f"{file}:3: 'x', expected a number"]


def test_a_broken_archive_names_the_line(tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(30_000)]
    file = tmp_path / "v.gz"
    write_vectors(words, np.random.default_rng(0).normal(size=(30_000, 2)), file)
    file.write_bytes(file.read_bytes()[:200_000])
    seen = 0
    with pytest.raises(DataError, match="truncated gz") as caught:
        for seen, _ in enumerate(read_vectors(file), start=1):  # noqa: B007
            pass
    assert seen > 100
    assert caught.value.line == seen + 2


def test_a_reader_goes_through_once(tmp_path: Path) -> None:
    write_vectors(["a"], np.ones((1, 1)), tmp_path / "v")
    vectors = read_vectors(tmp_path / "v")
    assert len(list(vectors)) == 1
    with pytest.raises(ValueError, match="gone through already"):
        list(vectors)


@pytest.mark.parametrize(
    ("words", "vectors", "error", "why"),
    [
        (["a b"], [[1.0]], DataError, "separates by spaces"),
        (["a\n"], [[1.0]], DataError, "separates by spaces"),
        ([""], [[1.0]], DataError, "may not be empty"),
        (["\ud800"], [[1.0]], DataError, "lone surrogate"),
        (["a"], [[np.nan]], DataError, "not finite"),
        (["a"], [[1e39]], DataError, "not finite"),
        (["a", "b"], [[1.0]], ValueError, r"shape \(1, 1\), expected \(2"),
        (["a"], [1.0], ValueError, "shape"),
        (["a"], [[]], ValueError, "d >= 1"),
        ("a", [[1.0]], TypeError, "not one string"),
    ],
)
@pytest.mark.parametrize("binary", [False, True])
def test_what_cannot_be_written(
    words: Any, vectors: Any, error: type[Exception], why: str, binary: bool, tmp_path: Path
) -> None:
    with pytest.raises(error, match=why):
        write_vectors(words, np.array(vectors), tmp_path / "v", binary=binary)
    assert list(tmp_path.iterdir()) == []


@shared_folder
@given(
    raw=st.binary(max_size=80)
    | st.tuples(
        st.sampled_from([b"1 1\n", b"2 2\n", b"0 3\n", b"999999999999999 1000000\n"]),
        st.binary(max_size=60) | st.text("a 1.-e\n\r_é", max_size=40).map(str.encode),
    ).map(b"".join),
    binary=st.sampled_from([None, True, False]),
)
def test_fuzz(raw: bytes, binary: bool | None, tmp_path: Path) -> None:
    file = tmp_path / "v"
    file.write_bytes(raw)
    with contextlib.suppress(DataError):
        words, matrix = load_vectors(file, binary=binary)
        write_vectors(words, matrix, tmp_path / "copy", binary=True)
        got_words, got = load_vectors(tmp_path / "copy", binary=True)
        assert (got_words, got.tobytes()) == (words, matrix.tobytes())


@shared_folder
@given(
    table=tables(),
    binary=st.booleans(),
    at=st.floats(0, 1),
    insert=st.binary(max_size=2),
    cut=st.integers(0, 2),
)
def test_fuzz_mutated(
    table: tuple[list[str], np.ndarray],
    binary: bool,
    at: float,
    insert: bytes,
    cut: int,
    tmp_path: Path,
) -> None:
    file = tmp_path / "v"
    write_vectors(*table, file, binary=binary)
    raw = file.read_bytes()
    place = int(at * len(raw))
    file.write_bytes(raw[:place] + insert + raw[place + cut :])
    with contextlib.suppress(DataError):
        load_vectors(file)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_file_of_glove_has_no_first_line(tmp_path, suffix):
    words, matrix = ["the", "of", "1", "new york", ". . ."], np.arange(15).reshape(5, 3) / 4
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(words, matrix, strict=True)]
    file = tmp_path / f"glove.txt{suffix}"
    write_lines(file, lines)
    with read_vectors(file) as vectors:
        assert (vectors.size, vectors.dim, vectors.binary) == (None, 3, False)
        assert [word for word, _ in vectors] == words
    known, loaded = load_vectors(file)
    assert known == words
    np.testing.assert_array_equal(loaded, matrix)
    write_lines(file, [*lines[:2], "bad 1 2", *lines[2:]])
    met: list[DataError] = []
    known, loaded = load_vectors(file, on_error=met.append)
    assert known == words
    assert [error.line for error in met] == [3]
    np.testing.assert_array_equal(loaded, matrix)
