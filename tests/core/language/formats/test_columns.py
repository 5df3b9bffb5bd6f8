"""BIO columns: rows and tags as they stand, document lines kept, faults named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.errors import DataError, SettingsError
from eigentext.language.formats import blocks
from eigentext.language.formats.columns import (
    SCHEMES,
    find_tag_fault,
    make_columns,
    read_columns,
    write_columns,
)

if TYPE_CHECKING:
    from pathlib import Path

FOUR = """\
-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O

Nice\u00a0one  UH\tO O \x20

-DOCSTART- -X- O O

Hm UH O O
"""
TWO = "-DOCSTART-\nAda\tB-PER\nde Lovelace\tI-PER\n\n.\tO\n\n"


def put(folder: Path, content: str | bytes) -> str:
    file = folder / "case.bio"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(file)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("columns")


def test_spaces(tmp_path: Path) -> None:
    first, second, third = read_columns(put(tmp_path, FOUR))
    assert first.rows == (("EU", "NNP", "I-NP", "I-ORG"), ("rejects", "VBZ", "I-VP", "O"))
    assert (first.line, first.starts_document, len(first)) == (3, True, 2)
    assert second.rows == (("Nice\u00a0one", "UH", "O", "O"),)
    assert (second.line, second.starts_document) == (6, False)
    assert (third.line, third.starts_document) == (10, True)
    assert (first.column(1), first.tokens, first.tags) == (
        ("NNP", "VBZ"),
        ("EU", "rejects"),
        ("I-ORG", "O"),
    )


def test_tabs_and_a_document_line_right_above(tmp_path: Path) -> None:
    first, second = read_columns(put(tmp_path, TWO), scheme="bio2")
    assert first.tokens == ("Ada", "de Lovelace")
    assert (first.line, first.starts_document) == (2, True)
    assert not second.starts_document


@pytest.mark.parametrize(
    "content",
    [FOUR, TWO, TWO.rstrip(), TWO * 2, FOUR.replace("\n", "\r\n"), "\n\n" + TWO + "\n" + TWO, ""],
)
def test_same_bytes_back(tmp_path: Path, content: str) -> None:
    target = tmp_path / "again.bio"
    write_columns(read_columns(put(tmp_path, content)), str(target))
    assert target.read_bytes() == content.encode()


BAD = {
    "one column": ("a\n", 1, "found 1 column"),
    "three columns": ("a\tO\nb\tc\tO\n", 2, "found 3 columns"),
    "spaces for TAB": ("a O\n", 1, "separated by TAB"),
    "empty token": ("a\tO\n\tO\n", 2, "empty column"),
    "white space": ("a\tO\n \nb\tO\n", 2, "found 1 column"),
    "document in a sentence": ("a\tO\n-DOCSTART-\tO\n", 2, "inside a sentence"),
    "wrong order": ("a\tO\nb\tI-X\n", 2, "must follow B-X or I-X"),
    "no tag": ("a\tO\nb\tX\n", 2, "expected O, B-TYPE, I-TYPE"),
    "no type": ("a\tB-\n", 1, "found tag 'B-'"),
    "not UTF-8": (b"a\tO\n\xe9\tO\n", 2, "0xe9"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_sentence_is_named_and_can_be_skipped(tmp_path: Path, name: str) -> None:
    content, line, why = BAD[name]
    raw = content if isinstance(content, bytes) else content.encode()
    source = put(tmp_path, TWO.encode() + raw + b"\n" + TWO.encode())
    with pytest.raises(DataError) as caught:
        list(read_columns(source, scheme="bio2"))
    assert (caught.value.path, caught.value.line) == (source, line + 6)
    assert why in caught.value.why
    met: list[DataError] = []
    good = list(read_columns(source, scheme="bio2", on_error=met.append))
    assert [len(sentence) for sentence in good] == [2, 1, 2, 1]
    assert [str(error) for error in met] == [str(caught.value)]


@pytest.mark.parametrize(
    ("middle", "line", "why"),
    [
        ("x" * 200 + " O\n", 3, "a line of more than"),
        ("x" * 200, 3, "a line of more than"),
        ("w O\n" * 200, 103, "more than 400 bytes without an empty line"),
    ],
)
def test_endless_sentences(tmp_path: Path, monkeypatch, middle: str, line: int, why: str) -> None:
    monkeypatch.setattr(blocks, "LONGEST_LINE", 100)
    monkeypatch.setattr(blocks, "MOST_BYTES", 400)
    file = tmp_path / "a.bio"
    file.write_text(f"a O\n\n{middle}\nb O\n" if middle.endswith("\n") else f"a O\n\n{middle}")
    with pytest.raises(DataError, match=why) as caught:
        list(read_columns(file))
    assert caught.value.line == line
    errors: list[DataError] = []
    found = list(read_columns(file, on_error=errors.append))
    assert len(found) == 1 + middle.endswith("\n")
    assert len(errors) == 1


def test_bad_first_line_does_not_settle_the_columns(tmp_path: Path) -> None:
    met: list[DataError] = []
    good = list(read_columns(put(tmp_path, "oops\n\n" + TWO), on_error=met.append))
    assert [len(sentence) for sentence in good] == [2, 1]
    assert "at least 2" in met[0].why


def test_document_line_outlives_a_bad_sentence(tmp_path: Path) -> None:
    met: list[DataError] = []
    source = put(tmp_path, "a\tO\n\n-DOCSTART-\tO\n\nbad\n\nb\tI-X\n\nc\tO\n")
    good = list(read_columns(source, scheme="bio2", on_error=met.append))
    assert [(s.tokens, s.starts_document) for s in good] == [(("a",), False), (("c",), True)]
    assert len(met) == 2


@pytest.mark.parametrize("end", ["-DOCSTART-\n\n", "-DOCSTART-", "-DOCSTART- O\n\n\n-DOCSTART-\n"])
def test_a_document_line_may_end_the_file(tmp_path: Path, end: str) -> None:
    source, target = put(tmp_path, TWO + end), tmp_path / "again.bio"
    read = list(read_columns(source, scheme="bio2"))
    assert [one.tokens for one in read] == [("Ada", "de Lovelace"), (".",)]
    assert [one.starts_document for one in read] == [True, False]
    write_columns(read, target)
    assert target.read_text().rstrip("\n") == (TWO + end).rstrip("\n")
    assert list(read_columns(put(tmp_path, end))) == []


def test_unknown_scheme_is_said_at_once() -> None:
    with pytest.raises(SettingsError, match="iob1, bio2, bioes"):
        read_columns("nothing.bio", scheme="bilou")


# -- tags ----------------------------------------------------------------------------------------


def _tags(segments: list[tuple[str, int] | None], scheme: str) -> list[str]:
    """Tags of a list of segments (type, length) and outside tokens (None): the oracle."""
    tags: list[str] = []
    before: str | None = None
    for segment in segments:
        if segment is None:
            tags.append("O")
            before = None
            continue
        kind, length = segment
        marks = ["B"] + ["I"] * (length - 1)
        if scheme == "iob1" and before != kind:
            marks[0] = "I"
        if scheme == "bioes":
            marks[-1] = "S" if length == 1 else "E"
        tags += [f"{mark}-{kind}" for mark in marks]
        before = kind
    return tags


segments = st.lists(st.none() | st.tuples(st.sampled_from("XY"), st.integers(1, 3)), max_size=4)
tag = st.sampled_from(["O", *(f"{mark}-{kind}" for mark in "BIES" for kind in "XY")])


@pytest.mark.parametrize("scheme", SCHEMES)
@given(found=segments)
def test_tags_of_segments_keep_to_the_scheme(
    scheme: str, found: list[tuple[str, int] | None]
) -> None:
    assert find_tag_fault(_tags(found, scheme), scheme) is None


@pytest.mark.parametrize("scheme", SCHEMES)
def test_tags_that_keep_to_the_scheme_are_those_of_segments(scheme: str) -> None:
    """All sequences of up to 3 tags: accepted exactly if some list of segments gives them."""
    options: list[tuple[str, int] | None] = [None, *((k, n) for k in "XY" for n in (1, 2, 3))]
    reachable = {()}
    frontier: list[list[tuple[str, int] | None]] = [[]]
    for _ in range(3):
        frontier = [[*old, new] for old in frontier for new in options]
        reachable |= {tuple(_tags(found, scheme)) for found in frontier}
    names = ["O", *(f"{mark}-{kind}" for mark in "BIES" for kind in "XY")]
    sequences = [()]
    for _ in range(3):
        sequences = [*sequences, *((*old, new) for old in sequences for new in names)]
    for sequence in set(sequences):
        accepted = find_tag_fault(sequence, scheme) is None
        assert accepted == (sequence in reachable), sequence


def test_make_columns(tmp_path: Path) -> None:
    made = [
        make_columns(["a b", "c"], ["X", "Y"], ["O", "B-Z"], starts_document=True),
        make_columns(["d"], ["X"], ["O"]),
    ]
    target = tmp_path / "made.bio"
    assert write_columns(made, str(target)) == 2
    assert list(read_columns(str(target))) == made
    with pytest.raises(TypeError, match="one str"):
        make_columns("ab", ["O", "O"])
    for columns in ([["a"]], [["a"], ["O", "O"]], [[], []], []):
        with pytest.raises(ValueError, match="two or more columns"):
            make_columns(*columns)
    for bad in ("", "a\tb", "a\n", "-DOCSTART-"):
        with pytest.raises(ValueError, match=r"found|cannot be"):
            make_columns([bad], ["O"])


# -- fuzz and real data --------------------------------------------------------------------------

pieces = st.sampled_from(
    ["a", "O", "B-X", "-DOCSTART-", "\t", " ", "\n", "\n\n", "\r\n", "é", "\x85"]
)


@given(st.binary() | st.lists(pieces).map(lambda found: "".join(found).encode()))
def test_fuzz(scratch: Path, raw: bytes) -> None:
    source, target = put(scratch, raw), scratch / "again.bio"
    met: list[DataError] = []
    good = list(read_columns(source, on_error=met.append))
    assert all(error.path == source and error.line for error in met)
    assert len({len(row) for sentence in good for row in sentence.rows}) <= 1
    if met:
        with pytest.raises(DataError) as caught:
            list(read_columns(source))
        assert str(caught.value) == str(met[0])
    elif good:
        write_columns(good, str(target))
        assert target.read_bytes() == raw.removeprefix(b"\xef\xbb\xbf")


@pytest.mark.requires("data")
def test_real_files_come_back_to_the_byte(data: Path, tmp_path: Path) -> None:
    files = sorted(data.glob("ner/*/*.bio"))
    assert len(files) == 6
    for file in files:
        target = tmp_path / "again.bio"
        sentences = list(read_columns(str(file), scheme="bio2"))
        assert write_columns(sentences, str(target)) > 500
        assert target.read_bytes() == file.read_bytes()
        assert {len(row) for sentence in sentences for row in sentence.rows} == {2}
