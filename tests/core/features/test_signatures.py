"""Signatures: facts about shapes, and a list that never fails."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.errors import SettingsError
from eigentext.features.signatures import signatures


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("running", "<lower-ing>"),
        ("ing", "<lower>"),
        ("cats", "<lower-s>"),
        ("glass", "<lower>"),
        ("virus", "<lower>"),
        ("nation", "<lower-ation>"),
        ("Quickly", "<Capital-ly>"),
        ("NATO", "<upper>"),
        ("A", "<Capital>"),
        ("McDonald", "<Mixed>"),
        ("iPhone", "<mixed>"),
        ("1984", "<none-digit>"),
        ("3.14", "<none-digit-sign>"),
        ("1984-85", "<none-digit-dash>"),
        ("B2B", "<upper-digit>"),
        ("well–known", "<lower-dash>"),
        ("...", "<none-sign>"),
        ("", "<none>"),
        ("北京", "<uncased>"),
        ("x\u00a0y", "<lower>"),
    ],
)
def test_english(word: str, expected: str) -> None:
    assert signatures(word)[0] == expected


def test_the_first_word_of_a_sentence() -> None:
    assert signatures("Running", first=True)[0] == "<First-ing>"
    assert signatures("Running", first=True, vocabulary={"running"})[0] == "<First+-ing>"
    assert signatures("running", first=True, vocabulary={"running"})[0] == "<lower-ing>"
    assert signatures("NATO", first=True)[0] == "<upper>"


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Hestanna", ("<Capital-nna>", "<Capital-na>", "<Capital-a>", "<Capital>", "<unk>")),
        ("كتاب", ("<uncased-تاب>", "<uncased-اب>", "<uncased-ب>", "<uncased>", "<unk>")),
        ("ab", ("<lower-ab>", "<lower-b>", "<lower>", "<unk>")),
        ("x2b", ("<lower-digit-b>", "<lower-digit>", "<lower>", "<unk>")),
        ("42", ("<none-digit>", "<none>", "<unk>")),
    ],
)
def test_generic(word: str, expected: tuple[str, ...]) -> None:
    assert signatures(word, language="generic") == expected


@given(st.text(max_size=12), st.booleans(), st.sampled_from(["english", "generic"]))
def test_any_string_from_fine_to_coarse(
    word: str, first: bool, language: Literal["english", "generic"]
) -> None:
    levels = signatures(word, first=first, language=language)
    assert levels[-1] == "<unk>"
    assert len(set(levels)) == len(levels)
    assert all(len(level) <= 40 and level[0] + level[-1] == "<>" for level in levels)
    assert not any(
        character.isspace() or character in "()" for level in levels for character in level
    )


LOOKS = st.text(alphabet="aAbsSdyZßǅⓐªⅷⅧ1-–'\u0301İıكـ漢٣", max_size=7) | st.text(max_size=4)


@given(LOOKS)
def test_words_seen_at_a_glance(word: str) -> None:
    """Ordinary words take shortcuts: the same must come out letter by letter."""
    letters = [c for c in word if unicodedata.category(c)[0] == "L"]
    small = [c for c in letters if c.islower()]
    capitals = [c for c in letters if c.isupper() or c.istitle()]
    case, *rest = signatures(word)[0][1:-1].split("-")
    assert (case == "none") == (not letters)
    assert (case == "lower") == (bool(small) and not capitals)
    kinds = {unicodedata.category(c) for c in word}
    marks = [
        *(["digit"] if kinds & {"Nd", "Nl", "No"} else []),
        *(["dash"] if "Pd" in kinds else []),
        *(["sign"] if any(kind[0] in "PSC" for kind in kinds - {"Pd"}) else []),
    ]
    assert rest[: len(marks)] == marks
    assert not {"digit", "dash", "sign"} & set(rest[len(marks) :])
    last = re.search(
        r"\w{0,3}\Z",
        "".join("w" if unicodedata.category(c)[0] in "LM" else " " for c in word.casefold()),
    )
    ending = word.casefold()[len(word.casefold()) - len(last[0]) :]
    finest = signatures(word, language="generic")[0]
    assert finest == f"<{'-'.join([case, *marks, *([ending] if ending else [])])}>"
    assert finest == signatures(word, language="generic")[0]


def test_unknown_language() -> None:
    with pytest.raises(SettingsError, match="language"):
        signatures("w", language="klingon")  # type: ignore[arg-type]
