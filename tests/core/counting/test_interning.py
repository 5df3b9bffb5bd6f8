"""The word table: exact whatever the hash does, whatever the words are."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.counting.interning import PAD, Types, TypeTable

MASKS = [2**64 - 1, 0, 1, 0xFF << 56, 3 << 62]

words = st.binary(min_size=1, max_size=20).map(
    lambda word: bytes(b if b not in b" \t\n\r\v\f" else 0 for b in word)
)


def _intern(table: TypeTable, text: bytes) -> list[int]:
    buffer = np.zeros(len(text) + PAD, dtype=np.uint8)
    buffer[: len(text)] = np.frombuffer(text, dtype=np.uint8)
    buffer[len(text) :] = 0x41  # whatever stands after the end must not matter
    out = np.empty(len(text), dtype=np.int32)
    return out[: table.intern(buffer, 0, len(text), out)].tolist()


@settings(deadline=None)
@given(st.lists(words, min_size=1), st.sampled_from(MASKS))
def test_ids_are_those_of_a_dictionary(tokens, mask):
    table = TypeTable(capacity=2, hash_mask=mask)
    ids: dict[bytes, int] = {}
    expected = [ids.setdefault(token, len(ids)) for token in tokens]
    assert _intern(table, b" ".join(tokens) + b"\n") == [*expected, -1]
    types = table.types
    assert [types.word(i) for i in range(len(types))] == list(ids)
    assert types.counts.tolist() == [Counter(tokens)[word] for word in ids]


@settings(deadline=None)
@given(
    st.lists(words, unique=True),
    st.lists(words, unique=True),
    st.sampled_from(MASKS),
    st.integers(1, 3),
)
def test_merging_and_looking_up(first, second, mask, n_parts):
    tables = [Types.from_words(listed) for listed in (first, second)]
    tables = [Types(t.blob, t.offsets, np.arange(1, len(t) + 1)) for t in tables]
    total: Counter[bytes] = Counter()
    for table in tables:
        total.update({table.word(i): i + 1 for i in range(len(table))})
    found: Counter[bytes] = Counter()
    for part in range(n_parts):
        merged = TypeTable(capacity=2, hash_mask=mask)
        for table in tables:
            merged.intern_types(table, part, n_parts)
        types = merged.types
        here = {types.word(i): int(types.counts[i]) for i in range(len(types))}
        assert not here.keys() & found.keys()  # each word belongs to one part
        found.update(here)
    assert found == total

    whole = TypeTable(capacity=2, hash_mask=mask)
    whole.intern_types(tables[0])
    place = {word: number for number, word in enumerate(first)}
    assert whole.find(tables[1]).tolist() == [place.get(word, -1) for word in second]
    assert len(whole) == len(first)  # looking up adds nothing


@pytest.mark.parametrize("mask", MASKS[:2])
def test_the_table_grows(mask):
    n = 3000 if mask == 0 else 100_000  # with the worst hash every look-up goes through all words
    tokens = [f"{'long-prefix-' * (i % 3)}{i}".encode() for i in range(n)]
    table = TypeTable(capacity=2, hash_mask=mask)
    assert _intern(table, b" ".join(tokens) + b" ") == list(range(n))
    assert _intern(table, b" ".join(reversed(tokens)) + b" ") == list(reversed(range(n)))
    assert table.types.counts.tolist() == [2] * n


def test_lines_sentences_and_state_over_blocks():
    from eigentext.counting.kernels.interning import IN_LINE, LINE, N_SENTENCES, N_TOKENS

    table = TypeTable()
    assert _intern(table, b"a b\n\n\nc ") == [0, 1, -1, 2]
    assert _intern(table, b"d\n") == [3, -1]
    assert _intern(table, b"\n \n") == []
    assert [int(table.state[i]) for i in (LINE, IN_LINE, N_SENTENCES, N_TOKENS)] == [6, 0, 2, 4]
    assert table.first_lines.tolist() == [0, 0, 3, 3]
