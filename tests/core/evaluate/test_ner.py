"""Entities read from tags, against a declarative twin, and hand-computed scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.errors import DataError, SettingsError
from eigentext.evaluate.ner import Entity, entities, evaluate

if TYPE_CHECKING:
    from pathlib import Path

TAGS = ["O", *(f"{prefix}-{kind}" for prefix in "BIES" for kind in ("P", "L"))]
sequences = st.lists(st.sampled_from(TAGS), max_size=9)


def brute(tags: list[str]) -> set[Entity]:
    """Every span whose borders are borders and whose inside is not, by the scorer's definition."""

    def begins(place: int) -> bool:
        if tags[place] == "O":
            return False
        before = tags[place - 1] if place else "O"
        return before[0] in "OES" or tags[place][0] in "BS" or before[2:] != tags[place][2:]

    found = set()
    for start in range(len(tags)):
        for end in range(start + 1, len(tags) + 1):
            inside = range(start + 1, end)
            if (
                begins(start)
                and all(tags[k] != "O" and not begins(k) for k in inside)
                and (end == len(tags) or tags[end] == "O" or begins(end))
            ):
                found.add(Entity(tags[start][2:], start, end))
    return found


@given(tags=sequences)
@settings(max_examples=500, deadline=None)
def test_loose_reading_agrees_with_brute_force(tags: list[str]) -> None:
    found = entities(tags)
    assert len(found) == len(set(found))
    assert set(found) == brute(tags)


@given(tags=sequences)
@settings(max_examples=300, deadline=None)
def test_strict_reading_is_the_matching_pattern(tags: list[str]) -> None:
    text = " ".join(tags)
    for scheme in ("IOB2", "BIOES"):
        for kind, start, end in entities(tags, mode="strict", scheme=scheme):
            prefixes = "".join(tag[0] for tag in tags[start:end])
            assert {tag[2:] for tag in tags[start:end]} == {kind}
            if scheme == "IOB2":
                assert prefixes == "B" + "I" * (end - start - 1)
                assert end == len(tags) or tags[end] != f"I-{kind}"
            else:
                assert prefixes == "S" or prefixes == "B" + "I" * (end - start - 2) + "E"
    n_begin = text.count("B-")
    assert len(entities(tags, mode="strict")) == n_begin


@given(
    spans=st.lists(
        st.tuples(st.sampled_from("PL"), st.integers(1, 3), st.integers(0, 2)), max_size=5
    )
)
def test_well_formed_tags_read_the_same_either_way(spans: list[tuple[str, int, int]]) -> None:
    iob2: list[str] = []
    bioes: list[str] = []
    expected = []
    for kind, length, gap in spans:
        expected.append(Entity(kind, len(iob2), len(iob2) + length))
        iob2 += [f"B-{kind}"] + [f"I-{kind}"] * (length - 1) + ["O"] * gap
        inner = [f"I-{kind}"] * (length - 2)
        bioes += [f"S-{kind}"] if length == 1 else [f"B-{kind}", *inner, f"E-{kind}"]
        bioes += ["O"] * gap
    assert entities(iob2) == entities(iob2, mode="strict") == expected
    assert entities(bioes) == entities(bioes, mode="strict", scheme="BIOES") == expected


def test_iob1() -> None:
    assert entities(["I-P", "I-P", "B-P", "O", "I-L", "I-P"]) == [
        ("P", 0, 2),
        ("P", 2, 3),
        ("L", 4, 5),
        ("P", 5, 6),
    ]


def test_scores_by_hand() -> None:
    gold = [["B-P", "I-P", "O", "B-L"], ["B-P", "O"], ["O"]]
    found = [["B-P", "I-P", "O", "B-P"], ["B-P", "I-P"], ["O"]]
    result = evaluate(gold, found)
    assert [tuple(score) for score in result.types] == [("L", 0, 1, 0), ("P", 1, 2, 3)]
    assert tuple(result.micro) == ("all", 1, 3, 3)
    assert result.f1 == pytest.approx(100 / 3, rel=1e-12)
    assert result.macro_f1 == pytest.approx((0 + 200 / 5) / 2, rel=1e-12)
    assert result.token_accuracy == pytest.approx(100 * 5 / 7, rel=1e-12)
    assert result.sentence_counts == ((1, 2, 2), (0, 1, 1), (0, 0, 0))


def test_modes_differ_on_ill_formed_tags() -> None:
    gold, found = [["B-P", "I-P"]], [["I-P", "I-P"]]
    assert evaluate(gold, found).f1 == 100.0
    assert evaluate(gold, found, mode="strict").f1 == 0.0


def test_odd_tags_and_bad_input() -> None:
    assert entities(["B", "I", "-", "X-P", "B-work-of-art"]) == [
        ("_", 0, 2),
        ("work-of-art", 4, 5),
    ]
    with pytest.raises(TypeError, match="one str"):
        entities("B-P")
    with pytest.raises(SettingsError, match="mode 'lax'"):
        entities(["O"], mode="lax")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="1 tags where the gold sentence has 2"):
        evaluate([["O", "O"]], [["O"]])
    with pytest.raises(DataError, match="no sentence where the gold"):
        evaluate([["O"], ["O"]], [["O"]])
    with pytest.raises(DataError, match="predicted tags go on"):
        evaluate([["O"]], [["O"], ["O"]])
    empty = evaluate([], [])
    assert (empty.f1, empty.macro_f1, empty.token_accuracy) == (0.0, 0.0, 0.0)
    with pytest.raises(DataError, match="0 tags where the gold"):
        evaluate([["O"]], [()])


@pytest.mark.requires("data")
def test_real_tags_are_well_formed(data: Path) -> None:
    sentences: list[list[str]] = [[]]
    path = next((data / "ner" / "wnut17").glob("dev*"))
    for line in path.read_text(encoding="utf8").split("\n"):
        if line.strip():
            sentences[-1].append(line.split("\t")[1].strip())
        elif sentences[-1]:
            sentences.append([])
    result = evaluate(sentences, sentences)
    assert result.f1 == result.token_accuracy == 100.0
    assert result.micro.gold > 500
    for tags in sentences:
        assert entities(tags) == entities(tags, mode="strict")
