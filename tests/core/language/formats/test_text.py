from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eigentext.base.files.opening import SkipLog
from eigentext.counting.counting import count
from eigentext.counting.raw_text import read_tokenised
from eigentext.errors import DataError, DataWarning
from eigentext.language.formats.text import (
    WHITE_SPACE,
    read_sentences,
    split_tokens,
    write_sentences,
)

if TYPE_CHECKING:
    from pathlib import Path

shared_folder = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
# all that str.split() takes for white space, and what looks like it
SPACES = [chr(c) for c in range(0x3001) if chr(c).isspace()] + ["\u200b", "\ufeff", "\0"]


@given(st.text(st.sampled_from([*SPACES, "a", "é", "𝄞"]).filter(lambda c: c != "\n")))
def test_splits_at_ascii_white_space_only(line: str) -> None:
    expected, token = [], ""
    for character in line + " ":
        if character in WHITE_SPACE:
            expected += [token] if token else []
            token = ""
        else:
            token += character
    assert split_tokens(line) == expected


def test_each_other_space_stays_in_its_token() -> None:
    for space in set(SPACES) - set(WHITE_SPACE + "\n"):
        assert split_tokens(f" 10{space}000 x") == [f"10{space}000", "x"], hex(ord(space))


def test_empty_lines_keep_their_place_or_go(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"a b\r\n\n \t\nc\n")
    assert list(read_sentences(file)) == [["a", "b"], [], [], ["c"]]
    assert list(read_sentences(file, drop_empty=True)) == [["a", "b"], ["c"]]


tokens = st.text(
    st.characters(codec="utf-8", exclude_characters=WHITE_SPACE + "\n"), min_size=1, max_size=6
)


@shared_folder
@given(sentences=st.lists(st.lists(tokens, max_size=5), max_size=8))
def test_round_trip(sentences: list[list[str]], tmp_path: Path) -> None:
    file = tmp_path / "a.txt.zst"
    if sentences and sentences[0] and sentences[0][0].startswith("\ufeff"):
        with pytest.raises(DataError, match="byte-order mark"):
            write_sentences(sentences, file)
        return
    assert write_sentences(sentences, file) == len(sentences)
    assert list(read_sentences(file)) == sentences


@pytest.mark.parametrize("token", ["", "a b", "a\n", "\t", "a\rb", "\v", "\f"])
def test_tokens_that_would_not_come_back(token: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no white space") as caught:
        write_sentences([["fine"], ["x", token]], tmp_path / "a.txt")
    assert caught.value.line == 2
    assert list(tmp_path.iterdir()) == []


def test_a_sentence_is_a_list(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="list of tokens"):
        write_sentences(["one string"], tmp_path / "a.txt")


def test_bad_lines_are_skipped_when_asked(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"a\n\xff\nb\n")
    log = SkipLog()
    assert list(read_sentences(file, on_error=log)) == [["a"], ["b"]]
    assert log.messages == [f"{file}:2: not UTF-8: byte 0xff at position 1 of the line"]
    with pytest.raises(DataError):
        list(read_sentences(file))


@shared_folder
@given(raw=st.binary(max_size=200))
def test_fuzz(raw: bytes, tmp_path: Path) -> None:
    file, copy = tmp_path / "a.txt", tmp_path / "b.txt"
    file.write_bytes(raw)
    with contextlib.suppress(DataError):
        sentences = list(read_sentences(file))
        write_sentences(sentences, copy)
        assert list(read_sentences(copy)) == sentences


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("(S (NP (NN rain)) (VP (VBZ falls)))", "a bracketed tree"),
        ("( (S (NP (NN rain)) (VP (VBZ falls))))", "a bracketed tree"),
        ('{"text": "It rains."}', "a JSON object"),
        ("# sent_id = weather-1", "CoNLL-U"),
        ("# newdoc id = weather", "CoNLL-U"),
        ("1\tIt\tit\tPRON\t_\t_\t2\tnsubj\t_\t_", "CoNLL-U"),
        ("1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_", "CoNLL-U"),
    ],
)
@pytest.mark.parametrize(
    "read",
    [
        lambda path: list(read_sentences(path)),
        lambda path: list(read_tokenised(path)),
        lambda path: count([path]),
        lambda path: count([path], on_error=SkipLog()),
    ],
    ids=["tokens", "raw", "count", "count, skipping"],
)
def test_trees_and_json_are_not_text(line, kind, read, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(f"\n{line}\n{line}\n")
    with pytest.raises(DataError, match=f"{kind}, expected text") as caught:
        read(str(path))
    assert caught.value.line == 2


@pytest.mark.parametrize("line", ["(S", "( (S (NP (DT the)", "(ROOT (S"])
def test_where_a_tree_may_begin_there_is_a_warning(line, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(f"{line}\n")
    with pytest.warns(DataWarning, match="looks like the beginning of a tree"):
        list(read_sentences(path))


@pytest.mark.parametrize(
    "line",
    [
        "# texts of mine",
        "#text",
        "1 2 3 4 5 6 7 8 9 10",
        "( see ( a ) and ( b ) )",
        "(1) First",
        '{" quoted',
        "{}",
        "( I )",
        "(",
        "( He left )",
    ],
)
def test_brackets_in_text_are_text(line, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(f"{line}\n")
    assert list(read_sentences(path)) == [line.split()]
    assert count([str(path)]).n_tokens == len(line.split())
