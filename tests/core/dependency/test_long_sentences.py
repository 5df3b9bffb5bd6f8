"""Where sentences that are too long are cut, and which are left whole."""

from __future__ import annotations

import pytest

from eigentext.dependency.long_sentences import parsed_in_pieces, pieces_of
from eigentext.language.formats.conllu import make_sentence


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("a b c d", [(0, 4)]),
        ("a b c d e", [(0, 4), (4, 5)]),
        ("a b . d e", [(0, 3), (3, 5)]),
        ("a . c d e", [(0, 4), (4, 5)]),  # too early: pieces would be short
        ("a b , . e f", [(0, 4), (4, 6)]),
        ("a b . , e f", [(0, 3), (3, 6)]),  # a full stop before a comma
        ("a b c d . f", [(0, 4), (4, 6)]),
        ("a b c . e f . h i", [(0, 4), (4, 7), (7, 9)]),
    ],
)
def test_cuts(text: str, spans: list[tuple[int, int]]) -> None:
    assert pieces_of(text.split(), 4) == spans


def test_what_is_just_short_enough_stays_whole() -> None:
    lengths = [4, 5, 3]
    bank = [make_sentence(list("abcde"[:n])) for n in lengths]
    asked = []

    def parse(sentences):
        for one in sentences:
            asked.append(len(one))
            yield one.with_columns(head=range(len(one)), deprel=["root"] + ["x"] * (len(one) - 1))

    found = list(parsed_in_pieces(bank, parse, most=4))
    assert asked == [4, 4, 1, 3]
    assert [one.metadata.get("split") for one in found] == [None, "2", None]
    assert [one.heads for one in found] == [(0, 1, 2, 3), (0, 1, 2, 3, 1), (0, 1, 2)]
