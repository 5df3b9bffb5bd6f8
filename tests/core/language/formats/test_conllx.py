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


def test_views_and_edits() -> None:
    sentence = conllx.parse_sentence(SAMPLE)
    first = dict(zip(sentence.COLUMNS, sentence.cells[0], strict=True))
    assert [first[name] for name in ("id", "form", "cpostag", "postag")] == [
        1,
        "Birds",
        "N",
        "NNS",
    ]
    assert [first[name] for name in ("head", "phead", "pdeprel")] == [2, "2", "SBJ"]
    assert sentence.heads == (2, 0, 2)
    new = sentence.with_columns(head=[0, 1, 1], postag=["a", "b", "c"])
    assert new.cells[1][4:8] == ["b", "_", 1, "ROOT"]
    assert new.with_columns(head=[2, 0, 2], postag=["NNS", "VBP", "X"]) == sentence
    bare = sentence.with_columns(head=[None] * 3)
    assert (bare.heads, bare.cells[0][6]) == (None, None)


@pytest.mark.parametrize("name", ["upos", "misc", "id", "colour"])
def test_a_column_that_is_not_there_is_not_given(name: str) -> None:
    sentence = conllx.parse_sentence(SAMPLE)
    with pytest.raises(TypeError, match=f"no column '{name}' to be given; expected form, lemma"):
        sentence.with_columns(**{name: ["1", "2", "3"]})


def test_both_formats_are_read_by_one_reader(tmp_path: Path) -> None:
    source = put(tmp_path, SAMPLE)
    for kind in (conllu.ConlluBlock, conllx.ConllxBlock):
        (sentence,) = kind.read(source)
        assert type(sentence) is kind
        assert sentence.with_columns(head=[0, 1, 1]).heads == (0, 1, 1)
        assert type(sentence.with_columns(lemma=["a", None, "c"])) is kind


def test_there_and_back() -> None:
    sentence = conllx.parse_sentence(SAMPLE)
    other = conllx.to_conllu(sentence)
    assert isinstance(other, conllu.ConlluBlock)
    assert conllu.parse_sentence(other.verbatim) == other
    assert other.column("upos") == sentence.column("cpostag")
    assert other.column("xpos") == sentence.column("postag")
    assert set(other.column("deps") + other.column("misc")) == {"_"}
    back = conllx.from_conllu(other)
    assert [row[:8] for row in back.rows] == [row[:8] for row in sentence.rows]


def test_extras_of_conllu_are_dropped() -> None:
    rest = "\t_" * 4
    text = (
        f"# sent_id = 1\r\n1-2\tdu{rest}\t_\t_\t_\t_\r\n1\tde{rest}\t0\troot\t0:root\tX=1\r\n"
        f"1.1\te{rest}\t_\t_\t1:dep\t_\r\n2\tle{rest}\t1\tdet\t_\tY=1\r\n\r\n"
    )
    plain = conllx.from_conllu(conllu.parse_sentence(text))
    expected = f"1\tde{rest}\t0\troot\t_\t_\n2\tle{rest}\t1\tdet\t_\t_\n\n"
    assert plain.verbatim == expected
    assert conllx.parse_sentence(expected) == plain


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
        assert conllx.parse_sentence(sentence.verbatim) == sentence
        assert conllx.from_conllu(conllx.to_conllu(sentence)).forms == sentence.forms
    if good and not met:
        conllx.write_sentences(good, str(target))
        assert target.read_bytes() == raw.removeprefix(b"\xef\xbb\xbf")


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
        assert conllx.to_conllu(parsed).forms == sentence.forms
