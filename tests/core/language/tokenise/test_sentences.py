"""Sentence spans cover the text, and stops are told from abbreviations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.errors import SettingsError
from eigentext.language.formats import conllu
from eigentext.language.tokenise.sentences import LANGUAGES, split_sentences

if TYPE_CHECKING:
    from pathlib import Path

PIECES = [
    *(
        "a",
        "B",
        "The",
        "Mr",
        "U.S",
        "no",
        "1",
        ".",
        "..",
        "…",
        "!",
        "?",
        '"',
        "'",
        ")",
        "]",
        "(",
        "[1]",
    ),
    *(
        " ",
        "  ",
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        "\xa0",
        "\u2029",
        "。",
        "؟",
        "د",
        "👍",
        "\u0301",
        ":)",
        "-",
    ),
]
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
)


def split(raw: str, language: str = "en", **options: bool) -> list[str]:
    return [raw[start:end] for start, end in split_sentences(raw, language, **options)]


@pytest.mark.parametrize("language", LANGUAGES)
@given(raw=texts, one_per_line=st.booleans())
@settings(max_examples=300, deadline=None)
def test_spans_cover_the_text(language: str, raw: str, one_per_line: bool) -> None:
    position = 0
    for start, end in split_sentences(raw, language, one_per_line=one_per_line):
        assert position <= start < end <= len(raw)
        assert not raw[position:start].strip()
        assert raw[start:end] == raw[start:end].strip()
        if one_per_line:
            assert "\n" not in raw[start:end]
        else:
            assert "\n\n" not in raw[start:end]
        position = end
    assert not raw[position:].strip()


@pytest.mark.parametrize(
    "sentences",
    [
        ["Mr. Smith went to Dr. Jones.", "He was ill."],
        ["J. K. Rowling and T. S. Eliot met.", "It rained."],
        ["It costs $3.50 now.", "Version 2.0 is out."],
        ['"Really?" he asked.', '"Yes!"', "She left."],
        ["He left (at last.)", "She stayed."],
        ["Wait... what?", "I see …", "Then it stopped."],
        ["He lives in the U.S. capital.", "We moved to the U.S.", "The end."],
        ["Apples, etc. are good.", "They are."],
        ["See fig. 3 and p. 12, i.e. the end.", "No. 5 is alive."],
        ["I said no.", "Then I left."],
        ["1. First do this.", "2. Then that."],
        ["He was born in 1990.", "In 2010 he died."],
        ["So it was. [12] [13]", "Then it was not."],
        ["Good! :)", "Thanks."],
        ["We like this place.", "they do too."],
        ["Ask J. Doe.", "“Why?”", "Because."],
    ],
)
def test_english(sentences: list[str]) -> None:
    assert split(" ".join(sentences)) == sentences
    assert split("\n".join(sentences)) == sentences


def test_blank_lines_and_lines() -> None:
    assert split("A title\n\nThe text goes\non.\n \t\nMr.\n\nSmith") == [
        "A title",
        "The text goes\non.",
        "Mr.",
        "Smith",
    ]
    assert split("One. Two\r\nThree\n", one_per_line=True) == ["One. Two", "Three"]
    assert split("") == []
    assert split(" \n \n") == []


def test_other_scripts() -> None:
    assert split("هل جاء؟ نعم. قال د. أحمد ذلك!", "ar") == ["هل جاء؟", "نعم.", "قال د. أحمد ذلك!"]
    assert split("你好。再见！好", "generic") == ["你好。", "再见！", "好"]
    assert split("यह है। वह है।", "generic") == ["यह है।", "वह है।"]
    assert split("Das ist z.B. gut. Ja.", "generic") == ["Das ist z.B. gut.", "Ja."]


def test_bad_arguments() -> None:
    with pytest.raises(SettingsError, match="language 'tlh'"):
        split_sentences("a", "tlh")
    with pytest.raises(TypeError):
        split_sentences(["a"], "en")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "unit",
    [".", ". ", "!'", "?!x", "\n", "\n ", " ", "x. [1]. ", "x. [1]", "x. :) ", "A. ", ". -"],
)
def test_time_is_linear_on_hostile_text(unit: str) -> None:
    raw = (unit * 300_000)[:300_000] + "x"
    assert split_sentences(raw)[-1][1] == len(raw)


def documents(path: Path) -> list[tuple[str, list[tuple[int, int]]]]:
    """Raw text and gold spans of each document; paragraphs are parted by a blank line."""
    found: list[tuple[str, list[tuple[int, int]]]] = []
    raw, spans = "", []
    for sentence in conllu.read_sentences(path):
        keys = {comment[1:].split("=")[0].split()[0] for comment in sentence.comments}
        if "newdoc" in keys and spans:
            found.append((raw, spans))
            raw, spans = "", []
        if raw:
            raw += "\n\n" if "newpar" in keys else " "
        spans.append((len(raw), len(raw) + len(sentence.text)))
        raw += sentence.text
    return [*found, (raw, spans)]


@pytest.mark.requires("data")
@pytest.mark.parametrize(("treebank", "floor"), [("gum", 95.4), ("ewt", 83.2)])
def test_real_documents(data: Path, treebank: str, floor: float) -> None:
    correct = total = 0
    for raw, gold in documents(data / "dependency" / treebank / "dev.conllu"):
        found = split_sentences(raw, "en")
        correct += len(set(found).intersection(gold))
        total += len(found) + len(gold)
    assert 200 * correct / total > floor
