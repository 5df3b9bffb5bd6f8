"""Pieces: nothing is lost, and how the text comes makes no difference."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.errors import DataError
from eigentext.pipeline.pieces import TextPiece, cut, document_pieces

_TEXTS = st.text(st.sampled_from("ab. \n\t\ré"), max_size=120)


@given(_TEXTS, st.lists(st.integers(1, 9), min_size=1), st.integers(1, 20), st.integers(0, 20))
def test_the_pieces_are_the_text_however_it_comes(
    text: str, sizes: list[int], size: int, more: int
) -> None:
    blocks, at = [], 0
    while at < len(text):
        step = sizes[len(blocks) % len(sizes)]
        blocks.append(text[at : at + step])
        at += step
    pieces = list(cut(iter(blocks), size=size, most=size + more))
    assert pieces == list(cut(iter([text] if text else []), size=size, most=size + more))
    assert "".join(piece.text for piece in pieces) == text
    at = 0
    for piece in pieces:
        assert piece.start == at
        assert piece.text
        at += len(piece.text)
    assert [piece.last for piece in pieces] == [False] * (len(pieces) - 1) + [True] * bool(pieces)


def test_where_it_is_cut() -> None:
    def texts(text: str, size: int, most: int) -> list[str]:
        return [piece.text for piece in cut(iter([text]), size=size, most=most)]

    assert texts("One.\n\nTwo.\n\nThree.", 3, 100) == ["One.\n\n", "Two.\n\n", "Three."]
    assert texts("aaaa bb.\ncccc\ndddd", 4, 15) == ["aaaa bb.\n", "cccc\ndddd"]
    assert texts("aaaa bbb cccc\ndddd", 4, 16) == ["aaaa bbb cccc\n", "dddd"]
    assert texts("aaaa bb. cccc dddd", 4, 16) == ["aaaa bb. ", "cccc dddd"]
    assert texts("a" * 10, 4, 6) == ["a" * 6, "a" * 4]
    whole = list(cut(iter(["aaaa. bbbb.\n\ncccc"]), size=2, most=8))
    assert whole[0] == TextPiece(0, "aaaa. ", True, False)
    assert [piece.new_paragraph for piece in whole] == [True, False, True]


@pytest.mark.parametrize("lines", [1, 40_000])
def test_bytes_that_are_no_text_are_told_with_their_line(tmp_path: Path, lines: int) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(b"good line\n" * lines + b"caf\xe9 noir\nend\n")
    with pytest.raises(DataError, match=rf":{lines + 1}: not UTF-8: byte 0xe9 at position 4"):
        [piece for _, piece in document_pieces(str(path))]
    told: list[DataError] = []
    text = "".join(piece.text for _, piece in document_pieces(str(path), on_error=told.append))
    assert text == "good line\n" * lines + "end\n"
    assert [error.line for error in told] == [lines + 1]


def test_any_number_of_bad_lines_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(b"\xe9\n" * 5000 + b"end\n")
    told: list[DataError] = []
    assert [piece.text for _, piece in document_pieces(str(path), on_error=told.append)] == [
        "end\n"
    ]
    assert [error.line for error in told] == list(range(1, 5001))


def test_a_line_without_end_is_read_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    text = "é 😀 " * 500_000
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    pieces = [piece for _, piece in document_pieces(str(path))]
    assert "".join(piece.text for piece in pieces) == text
    assert max(len(piece.text) for piece in pieces) <= 1 << 17
    path.write_bytes(text.encode() + b"\xff")
    with pytest.raises(DataError, match=f":1: .* position {len(text.encode()) + 1} of"):
        [piece for _, piece in document_pieces(str(path))]
