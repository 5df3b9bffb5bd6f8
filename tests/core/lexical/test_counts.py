"""Stage 1 against counting by hand, with and without a word's own document."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.lexical.ranker.counts import (
    CountTable,
    LikeDocuments,
    columns,
    ratio_columns,
    shares,
    statistics,
)
from eigentext.lexical.ranker.features import Forms, table
from eigentext.lexical.ranker.kernels import hash_table
from eigentext.lexical.ranker.second_pass import counted_pairs
from eigentext.lexical.ranker.templates import WIDE, parse
from oracle.ranker_columns import ratios_of_counts

TEMPLATES = ("form@0", "form@0 form@-1", "form@1", "start2@0 end1@0")


@pytest.fixture(scope="module")
def toy(language):
    encoder, encoded = language.encoded(language.documents(12))
    atoms = table(TEMPLATES, encoded.typed, encoded.sentence_of)
    return encoder, encoded, atoms


def by_hand(encoded, atoms, words):
    """Counts of (feature, value), features and values, as plain Python counts them."""
    pairs, alone, base = Counter(), Counter(), Counter()
    for word in words:
        for value in encoded.gold_hash[word].tolist():
            base[value] += 1
        for atom in atoms[word].tolist():
            alone[atom] += 1
            for value in encoded.gold_hash[word].tolist():
                pairs[atom, value] += 1
    return pairs, alone, base


def check(encoded, atoms, found, word, expected):
    pairs, alone, base = expected
    assert found.alone[word].tolist() == [alone[a] for a in atoms[word].tolist()]
    for unit in range(encoded.unit_first[word], encoded.unit_first[word + 1]):
        value = int(encoded.unit_hash[unit])
        assert found.base[unit] == base[value]
        assert found.together[unit].tolist() == [pairs[a, value] for a in atoms[word].tolist()]


def counted(encoded, atoms, words):
    counts = CountTable(np.ones((atoms.shape[1], encoded.gold_hash.shape[1]), np.bool_))
    for start in range(0, len(words), 7):  # in pieces, so that the table grows
        counts.add(atoms, encoded.gold_hash, words[start : start + 7])
    return counts


def test_counts_equal_counting_by_hand(toy):
    _, encoded, atoms = toy
    words = encoded.countable
    found = statistics(counted(encoded, atoms, words), encoded, atoms)
    expected = by_hand(encoded, atoms, words)
    for word in range(len(encoded.words)):
        check(encoded, atoms, found, word, expected)


def test_no_word_sees_its_own_document(toy):
    _, encoded, atoms = toy
    words = encoded.countable
    own = [words[encoded.document_of[words] == d] for d in range(12)]
    found = statistics(counted(encoded, atoms, words), encoded, atoms, leave_out=own)
    for word in range(0, len(encoded.words), 5):
        others = words[encoded.document_of[words] != encoded.document_of[word]]
        check(encoded, atoms, found, word, by_hand(encoded, atoms, others))
        assert found.words[word] == len(others)


def test_items_come_back(toy):
    _, encoded, atoms = toy
    counts = counted(encoded, atoms, encoded.countable)
    keys, values = counts.sorted_items()
    again = CountTable.unpacked(counts.used, counts.packed(), counts.filled, counts.n_words)
    assert len(keys) == counts.filled == again.filled
    assert np.array_equal(again.sorted_items()[0], keys)
    assert np.array_equal(again.sorted_items()[1], values)


@given(st.dictionaries(st.integers(0, (1 << 40) - 1), st.integers(1, (1 << 24) - 1), max_size=60))
def test_any_counts_come_back_and_cut_ones_are_told(counts):
    used = np.ones((1, 1), np.bool_)
    made = CountTable(used)
    for key, value in counts.items():
        made.filled += hash_table.add(made.slots, np.uint64(40 - 16), np.uint64(key), value)
    packed = made.packed()
    again = CountTable.unpacked(used, packed, made.filled, 5)
    keys, values = again.sorted_items()
    assert dict(zip(keys.tolist(), values.tolist(), strict=True)) == counts
    if counts:
        with pytest.raises(ValueError, match="counts"):
            CountTable.unpacked(used, packed[:-1], made.filled, 5)
    with pytest.raises(ValueError, match="counts"):
        CountTable.unpacked(used, np.append(packed, np.uint8(0)), made.filled, 5)


def test_ratio_is_the_equation(toy):
    _, encoded, atoms = toy
    found = statistics(counted(encoded, atoms, encoded.countable), encoded, atoms)
    z, bucket = ratios_of_counts(found, encoded, 2.0)
    word = int(encoded.learnable[3])
    for unit in range(encoded.unit_first[word], encoded.unit_first[word + 1]):
        share = (found.base[unit] + 0.5) / (found.words[word] + 1)
        for a in range(atoms.shape[1]):
            n, c = found.alone[word, a], found.together[unit, a]
            expected = np.log((c + 2 * share) / (n + 2)) - np.log(share) if n else 0.0
            assert z[unit, a] == pytest.approx(expected, abs=1e-4)
        assert z[unit, -1] == pytest.approx(np.log(share), abs=1e-4)
    assert bucket.max() <= 3


@pytest.mark.parametrize("leave_out", [False, True])
@pytest.mark.parametrize("strength", [1.0, 2.5])
def test_ratios_at_once_are_those_of_the_counts(toy, leave_out, strength):
    """The fast way against look-ups and numpy, with columns of others before it."""
    _, encoded, atoms = toy
    atoms = atoms.copy()
    atoms[::7, 1] = 0  # no feature
    words = encoded.countable
    used = np.ones((atoms.shape[1], encoded.gold_hash.shape[1]), np.bool_)
    used[2, ::2] = False
    table = CountTable(used)
    table.add(atoms, encoded.gold_hash, words)
    own = [words[encoded.document_of[words] == d] for d in range(11)] if leave_out else []
    found = statistics(table, encoded, atoms, leave_out=own)
    expected, expected_bucket = ratios_of_counts(found, encoded, strength)
    n_units, n = len(encoded.unit_hash), len(encoded.words)
    z = np.full((n_units, 9), 7.0, np.float32)
    bucket = np.full((n, 9), 7, np.int8)
    share = ratio_columns(table, encoded, atoms, z, bucket, 3, leave_out=own, strength=strength)
    assert np.allclose(z[:, 3:7], expected[:, :-1], atol=2e-5)
    assert np.allclose(share, expected[:, -1], atol=1e-6)
    several = np.diff(encoded.unit_first) > 0
    assert np.array_equal(bucket[several, 3:7], expected_bucket[several, :-1])
    assert (z[:, :3] == 7).all()
    assert (z[:, 7:] == 7).all()
    assert (bucket[:, 7:] == 7).all()


def test_rare_features_are_left_out_and_no_others(toy):
    _, encoded, atoms = toy
    words = encoded.countable
    used = np.ones((atoms.shape[1], encoded.gold_hash.shape[1]), np.bool_)
    all_of_them, some = CountTable(used), CountTable(used, least=3)
    for counts in (all_of_them, some):
        counts.add(atoms, encoded.gold_hash, words)
    full, pruned = (statistics(t, encoded, atoms) for t in (all_of_them, some))
    rare = full.alone < 3
    assert rare.any()
    assert (full.alone >= 3).any()
    assert np.array_equal(pruned.alone, np.where(rare, 0, full.alone))
    of_unit = np.repeat(np.arange(len(encoded.words)), np.diff(encoded.unit_first))
    assert np.array_equal(pruned.together, np.where(rare[of_unit], 0, full.together))
    assert np.array_equal(pruned.base, full.base)
    assert some.filled == len(some.sorted_items()[0]) < all_of_them.filled


def test_a_table_of_slots_is_a_dictionary():
    """Counts of 40-bit keys against a Counter; keys that meet at the end go round."""
    chance = np.random.default_rng(0)
    keys = np.concatenate(
        [chance.integers(0, 1 << 40, 300), (1 << 40) - 1 - np.arange(60), np.arange(60)]
    ).astype(np.uint64)
    slots = np.zeros(512, np.uint64)
    shift = np.uint64(40 - 9)
    expected = Counter()
    for key in chance.choice(keys, 2000):
        amount = int(chance.integers(1, 5))
        new = hash_table.add(slots, shift, key, amount)
        assert new == (int(key) not in expected)
        expected[int(key)] += amount
    for key in keys:
        assert hash_table.get(slots, shift, key) == expected[int(key)]
    larger = np.zeros(2048, np.uint64)
    hash_table.moved(slots, larger)
    assert np.array_equal(np.sort(larger[larger > 0]), np.sort(slots[slots > 0]))
    hash_table.add(slots, shift, keys[0], 1 << 25)
    assert hash_table.get(slots, shift, keys[0]) == (1 << 24) - 1


def test_plain_counts_and_counts_over_variance(toy):
    _, encoded, atoms = toy
    found = statistics(counted(encoded, atoms, encoded.countable), encoded, atoms)
    plain = columns(found, encoded, "count")
    assert np.array_equal(plain[:, :-1], found.together)
    scaled = columns(found, encoded, "variance")
    per_unit = np.repeat(np.arange(len(encoded.words)), np.diff(encoded.unit_first))
    share = found.alone[per_unit] / encoded.countable.size
    expected = found.together / np.maximum(encoded.countable.size * share * (1 - share), 1e-3)
    assert np.allclose(scaled[:, :-1], expected, rtol=1e-3)


def test_like_documents_count_more(toy):
    _, encoded, atoms = toy
    counts = LikeDocuments()
    words = encoded.countable
    for d in range(12):
        here = [w for w, o in zip(encoded.words, encoded.document_of, strict=True) if o == d]
        counts.add(here, encoded.gold_hash[words[encoded.document_of[words] == d]])
    counts.finish()
    found = statistics(counted(encoded, atoms, words), encoded, atoms)
    column = counts.column(encoded, shares(found, encoded), [-1] * 12)
    without = counts.column(encoded, shares(found, encoded), list(range(12)))
    assert np.isfinite(column).all()
    assert not np.allclose(column, without)
    similar = (counts.matrix @ counts.matrix.T).toarray()
    unit = int(encoded.unit_first[encoded.learnable[0]])
    document = int(encoded.document_of[encoded.learnable[0]])
    value = encoded.unit_hash[unit]
    per_document = np.array(
        [
            (encoded.gold_hash[words[encoded.document_of[words] == d]] == value).sum()
            for d in range(12)
        ]
    )
    sizes = np.bincount(encoded.document_of[words], minlength=12)
    for chosen, leave in ((column, False), (without, True)):
        weights = similar[document].copy()
        if leave:
            weights[document] = 0.0
        share = (found.base[unit] + 0.5) / (found.words[0] + 1)
        expected = np.log(((weights @ per_document) / share + 1.0) / (weights @ sizes + 1.0))
        assert chosen[unit] == pytest.approx(expected, abs=1e-4)


def test_features_stay_inside_the_sentence():
    typed = Forms(str.lower)(["a", "b", "a", "b"])
    apart = table(["form@-1", "form@1"], typed, np.array([0, 0, 1, 1]))
    assert np.array_equal(apart[0], apart[2])
    assert np.array_equal(apart[1], apart[3])
    together = table(["form@-1", "form@1"], typed, np.zeros(4, np.int64))
    assert not np.array_equal(together[1], together[3])


def test_templates_are_different_features():
    typed = Forms(str.lower)(["abc", "def", "ghi"])
    open_values = {"class": np.array([3, 5, 7], np.uint64)}
    found = table(WIDE, typed, np.zeros(3, np.int64), open_values)
    assert len(set(found[1].tolist())) == len(WIDE)
    assert counted_pairs(WIDE, ["label"]).shape == (len(WIDE), 1)
    assert all(parse(template) for template in WIDE)
