"""CoNLL-X: the ten columns without the extras, and the way to CoNLL-U and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.errors import DataError
from eigentext.language.formats import conllu, conllx

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = (
    "1\tBirds\tbird\tN\tNNS\tnum=pl\t2\tSBJ\t2\tSBJ\n"
    "2\tsing\tsing\tV\tVBP\t_\t0\tROOT\t0\tROOT\n"
    "3\t#hash\t_\tX\tX\t_\t2\tDEP\t_\t_\n\n"
)


def put(folder: Path, content: str | bytes) -> str:
    file = folder / "case.conllx"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(file)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("conllx")


def test_columns_are_those_of_conllu() -> None:
    sentence = conllx.parse_sentence(SAMPLE)
    first = sentence.words[0]
    assert (first.id, first.form, first.upos, first.xpos) == (1, "Birds", "N", "NNS")
    assert (first.head, first.deps, first.misc) == (2, "_", "_")
    assert sentence.heads == (2, 0, 2)
    assert sentence.ranges == sentence.comments == sentence.empty_nodes == ()
    new = sentence.with_columns(head=[0, 1, 1], xpos=["a", "b", "c"])
    assert new.cells[1][4:8] == ["b", "_", 1, "ROOT"]
    bare = sentence.with_columns(head=[None] * 3)
    assert (bare.heads, bare.cells[0][6]) == (None, None)


def test_there_and_back(tmp_path: Path) -> None:
    (sentence,) = conllx.read_sentences(put(tmp_path, SAMPLE))
    assert conllu.parse_sentence(sentence.verbatim) == sentence
    assert conllx.parse_sentence(conllx.text_of(sentence)) == sentence
    plain = SAMPLE.replace("2\tSBJ\n", "_\t_\n").replace("0\tROOT\n", "_\t_\n")
    assert conllx.text_of(sentence) == plain
    assert conllx.text_of(conllx.parse_sentence(plain.replace("\n", "\r\n"))) == plain.replace(
        "\n", "\r\n"
    )


def test_extras_of_conllu_are_dropped() -> None:
    rest = "\t_" * 4
    text = (
        f"# sent_id = 1\r\n1-2\tdu{rest}\t_\t_\t_\t_\r\n1\tde{rest}\t0\troot\t0:root\tX=1\r\n"
        f"1.1\te{rest}\t_\t_\t1:dep\t_\r\n2\tle{rest}\t1\tdet\t_\tY=1\r\n\r\n"
    )
    plain = conllx.text_of(conllu.parse_sentence(text))
    assert plain == f"1\tde{rest}\t0\troot\t_\t_\n2\tle{rest}\t1\tdet\t_\t_\n\n"
    without_columns = text.replace("0:root", "_").replace("X=1", "_").replace("Y=1", "_")
    assert conllx.text_of(conllu.parse_sentence(without_columns)) == plain


@pytest.mark.parametrize(
    ("extra", "why"),
    [
        ("# comment\n", "found 1 column"),
        ("3-4\tx" + "\t_" * 8 + "\n", "found id '3-4'; expected 4"),
        ("3.1\tx" + "\t_" * 8 + "\n", "found id '3.1'; expected 4"),
        ("4\tx\t_\t_\t_\t_\t9\t_\t_\t_\n", "from 0 to 4"),
        ("4\tx\t_\t_\t_\t_\t4\t_\t_\t_\n", "cycle 4 -> 4"),
    ],
)
def test_bad_lines(tmp_path: Path, extra: str, why: str) -> None:
    source = put(tmp_path, SAMPLE + SAMPLE[:-1] + extra + "\n" + SAMPLE)
    with pytest.raises(DataError) as caught:
        list(conllx.read_sentences(source))
    assert caught.value.line == 8
    assert why in caught.value.why
    met: list[DataError] = []
    good = list(conllx.read_sentences(source, on_error=met.append))
    assert [sentence.first_line for sentence in good] == [1, 10]
    assert len(met) == 1


pieces = st.sampled_from(["1", "2", "1-2", "0", "_", "\t", "\n", "\r\n", "#", " ", "é"])


@given(
    st.binary()
    | st.lists(st.tuples(st.integers(0, 130), st.integers(0, 5), pieces), max_size=3).map(
        lambda cuts: _mutated(SAMPLE, cuts)
    )
)
def test_fuzz(scratch: Path, raw: bytes) -> None:
    source, target = put(scratch, raw), scratch / "again.conllx"
    met: list[DataError] = []
    good = list(conllx.read_sentences(source, on_error=met.append))
    assert all(error.path == source and error.line for error in met)
    for sentence in good:
        assert conllx.parse_sentence(conllx.text_of(sentence)) == sentence
    if good and not met:
        conllx.write_sentences(good, str(target))
        written = target.read_bytes().splitlines()
        for line, as_read in zip(written, _lines_of(raw), strict=True):
            assert line.split(b"\t")[:8] == as_read.split(b"\t")[:8]


def _lines_of(raw: bytes) -> list[bytes]:
    return raw.removeprefix(b"\xef\xbb\xbf").splitlines()


def _mutated(text: str, cuts: list[tuple[int, int, str]]) -> bytes:
    for place, length, new in cuts:
        text = text[:place] + new + text[place + length :]
    return text.encode()


@pytest.mark.requires("data")
def test_parser_output_comes_back_to_the_byte(data: Path, tmp_path: Path) -> None:
    files = sorted(data.glob("peers/maltparser-*.conllx"))
    assert len(files) == 3
    for file in files:
        target = tmp_path / "again.conllx"
        n_written = conllx.write_sentences(conllx.read_sentences(str(file)), str(target))
        assert n_written > 1000
        assert target.read_bytes() == file.read_bytes()


@pytest.mark.requires("data")
def test_parser_output_has_the_words_of_its_treebank(data: Path) -> None:
    ours = conllx.read_sentences(str(data / "peers" / "maltparser-ewt-dev.conllx"))
    gold = conllu.read_sentences(str(data / "dependency" / "ewt" / "dev.conllu"))
    for parsed, sentence in zip(ours, gold, strict=True):
        assert parsed.forms == sentence.forms
