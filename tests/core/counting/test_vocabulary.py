"""Order and choice of words."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.base.engines import LocalEngine
from eigentext.counting.interning import Types
from eigentext.counting.vocabulary import Vocabulary, merge_types, select
from eigentext.errors import SettingsError

# few letters and shared beginnings, so that words tie after 8, 16 and 24 bytes
pieces = st.sampled_from([b"a", b"b", b"\x00", b"abcdefgh", "é".encode(), b"\xff"])
words = st.lists(pieces, min_size=1, max_size=5).map(b"".join) | st.just(b"<unk>")
tables = st.dictionaries(words, st.integers(1, 3), max_size=30)


def _types(counts: dict[bytes, int]) -> Types:
    types = Types.from_words(list(counts))
    return Types(types.blob, types.offsets, np.array(list(counts.values()), dtype=np.int64))


@settings(deadline=None)
@given(tables, st.none() | st.integers(1, 10), st.integers(1, 3))
def test_by_count_then_by_bytes(counts, size, least):
    types = _types(counts)
    order, among = select(types, size, least)
    kept = types.take(order)
    counts.pop(b"<unk>", None)
    allowed = [word for word in counts if counts[word] >= least]
    expected = sorted(allowed, key=lambda word: (-counts[word], word))[:size]
    assert [kept.word(i) for i in range(len(kept))] == expected
    assert kept.counts.tolist() == [counts[word] for word in expected]
    assert among == len(counts)


@settings(deadline=None)
@given(
    st.lists(tables, min_size=1, max_size=4),
    st.sampled_from([30, 500, 10**6]),
    st.none() | st.integers(1, 5),
    st.sampled_from([None, 1, 2, 3]),
)
def test_merging_in_parts(parts, table_bytes, size, jobs):
    total = sum((Counter(part) for part in parts), Counter())
    merged, among, mappings = merge_types(
        [lambda part=part: _types(part) for part in parts],
        sum(_types(part).nbytes for part in parts),
        table_bytes,
        lambda types: select(types, size),
        None if jobs is None else LocalEngine(jobs),
    )
    types = _types(total)
    order, expected_among = select(types, size)
    expected = types.take(order)
    assert among == expected_among
    assert [merged.word(i) for i in range(len(merged))] == [
        expected.word(i) for i in range(len(expected))
    ]
    assert merged.counts.tolist() == expected.counts.tolist()
    place = {expected.word(i): i for i in range(len(expected))}
    for part, mapping in zip(parts, mappings or [], strict=mappings is not None):
        assert mapping.tolist() == [place.get(word, len(expected)) for word in part]


def test_words_and_ids():
    vocabulary = Vocabulary.from_words(["b", "<unk>", "a\u00a0b", "日本"])
    assert vocabulary.words == ("b", "a\u00a0b", "日本", "<unk>")
    assert vocabulary.ids["<unk>"] == vocabulary.unknown_id == 3
    assert len(vocabulary) == 4
    assert vocabulary.encode(["日本", "?", "<unk>", "b"]).tolist() == [2, 3, 3, 0]
    assert vocabulary.encode([]).tolist() == []
    assert vocabulary == Vocabulary.from_words(["b", "a\u00a0b", "日本"])
    assert hash(vocabulary) == hash(Vocabulary.from_words(["b", "a\u00a0b", "日本"]))
    assert vocabulary != Vocabulary.from_words(["ba", "\u00a0b", "日本"])  # same bytes, other cuts
    assert vocabulary != "b"
    assert Vocabulary.from_words([]).words == ("<unk>",)


@pytest.mark.parametrize("words", [["a", "a"], [""], ["a b"], ["a\n"], ["\ud800"]])
def test_impossible_words(words):
    with pytest.raises(SettingsError, match="vocabulary"):
        Vocabulary.from_words(words)


def test_a_str_is_not_a_list_of_words():
    with pytest.raises(TypeError, match="list of tokens"):
        Vocabulary.from_words(["a"]).encode("a b")
    with pytest.raises(TypeError, match="not one str"):
        Vocabulary.from_words("ab")
