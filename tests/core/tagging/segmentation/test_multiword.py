"""Tokens that are several words: rules that are tried, what chooses, what is remembered."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.tagging.segmentation.kernels import multiword as kernel
from eigentext.tagging.segmentation.multiword import (
    _NOBODY,
    MultiwordStage,
    SplitRule,
    _base,
    _codes,
    _sides,
)
from eigentext.tagging.settings import SegmenterSettings
from helpers.partitions import check_partitions

STEMS = ["dar", "ver", "ser", "ter", "por", "cor", "mar"]
FORMS = [*(f"{stem}lo" for stem in STEMS), *STEMS, "polo", "solo", "da", "do", "nas", "nos", "as"]
WORDS = {
    **{f"{stem}lo": (stem, "lo") for stem in STEMS},
    "da": ("de", "a"), "do": ("de", "o"), "nas": ("em", "as"), "nos": ("em", "os"),
}  # fmt: skip


def learned(forms: list[str], ends: list[int] | None = None, *, epochs: int = 6, words=None):
    parts = [(words or WORDS).get(form.lower(), ()) for form in forms]
    lemmas = [found or (form,) for form, found in zip(forms, parts, strict=True)]
    return MultiwordStage.learn(
        forms,
        parts,
        lemmas,
        ends or [len(forms)],
        SegmenterSettings(epochs=epochs, bits=14, seed=0),
    )


@pytest.fixture(scope="module")
def stage() -> MultiwordStage:
    return learned(FORMS * 3)


@settings(max_examples=150)
@given(st.text("danoslreui", max_size=7) | st.sampled_from(FORMS))
def test_the_rules_of_a_new_form_are_all_that_fit(stage, small) -> None:
    rules = range(1, stage.general + 1)
    assert stage._general_rules(small) == [n for n in rules if stage.rules[n].fits(small)]
    assert 0 < stage.general < len(stage.rules)
    assert all(stage.rules[n].has_stem for n in rules)


def test_a_rule_of_both_ends_asks_for_a_letter_between_them() -> None:
    rules = [
        SplitRule("", (), "", "", (), "", False),
        SplitRule("n", ("em",), "", "", ("lo",), "lo", True),
    ]
    by_hand = MultiwordStage(rules, 1, {}, {}, np.zeros(8, np.int8))
    assert [by_hand._general_rules(small) for small in ("nlo", "nalo", "lo")] == [[], [1], []]


def test_rules_of_two_forms_or_more_are_general_and_the_most_frequent_is_first() -> None:
    """`nas` has a rule of its own unless `nos` shares it."""
    found = learned([*(f"{stem}lo" for stem in STEMS[:3]), "nas", "nos", "da"])
    assert found.rules[1].apply("xlo") == ("x", "lo")
    assert found.rules[2].apply("nxs") == ("em", "xs")
    assert found.general == 2
    alone = learned([*(f"{stem}lo" for stem in STEMS[:3]), "nas", "da"])
    assert alone.general == 1
    assert alone.answer(["nes", "nas"], ()) == [(), ("em", "as")]


def test_what_is_always_alike_is_a_matter_of_memory(stage) -> None:
    weights, stage.weights = stage.weights, np.zeros_like(stage.weights)
    stage._memory = type(stage._memory)(10)
    try:
        answers = stage.answer(FORMS, ())
    finally:
        stage.weights = weights
        stage._memory = type(stage._memory)(10)
    assert answers == [WORDS.get(form, ()) for form in FORMS]


def test_new_forms_are_chosen_by_what_is_known_of_their_stems(stage) -> None:
    assert stage.answer(["Marlo", "PORLO", "NAS", "Da"], ()) == [
        ("Mar", "lo"), ("POR", "LO"), ("EM", "AS"), ("De", "a"),
    ]  # fmt: skip
    assert stage.answer(["sarelo"], ()) == stage.answer(["sarelo"] * 2, ())[:1]


def test_neighbours_decide_and_not_those_of_another_sentence() -> None:
    """`nos` is two words before a noun, and one at the end of a sentence or before `foram`."""
    forms = ["nos", "mares", "nos", "foram", "nos"] * 12
    parts = [("em", "os"), (), (), (), ()] * 12
    ends = [n for at in range(12) for n in (5 * at + 2, 5 * at + 4, 5 * at + 5)]
    lemmas = [found or (form,) for form, found in zip(forms, parts, strict=True)]
    found = MultiwordStage.learn(
        forms, parts, lemmas, ends, SegmenterSettings(epochs=8, bits=14, seed=0)
    )
    two = ("em", "os")
    assert found.answer(["nos", "mares"], ()) == [two, ()]
    assert found.answer(["nos", "foram"], ()) == [(), ()]
    assert found.answer(["nos", "mares"], [1]) == [*found.answer(["nos"], ()), ()] == [(), ()]
    assert found.answer(["nos"] * 2 + ["mares"], [1])[1:] == [two, ()]


def test_a_treebank_without_multiword_tokens_has_none() -> None:
    found = learned(["a", "b"], words={"z": ()})
    assert found.answer(["a", "blo"], ()) == [(), ()]
    assert (len(found.rules), len(found.weights), found.forms) == (1, 8, {})


def test_a_hash_that_is_that_of_another_form_splits_nothing(stage) -> None:
    code = crc32(b"xyz")
    stage.forms[code] = stage.forms[crc32(b"nas")]
    try:
        assert stage.answer(["xyz"], ()) == [()]
    finally:
        del stage.forms[code]


def test_counts_of_stems_leave_out_the_form_itself() -> None:
    """`dar` is a word by `darlo` alone, so nothing is known of the stem of `darlo`."""
    found = learned([*(f"{stem}lo" for stem in STEMS), "dar", "dar"])
    own = Counter({crc32(b"ver"): 1, crc32(b"\nver"): 1, crc32(b"lo"): 1, crc32(b"\nlo"): 1})
    rule = next(n for n in range(1, len(found.rules)) if found.rules[n].back == "lo")
    assert found._counts("verlo", (0, rule), own)[1] == (5, 0, 0, 3, 0)
    assert found._counts("verlo", (0, rule), {})[1] == (5, 1, 0, 3, 1)
    keep, split = found._counts("darlo", (0, rule), {})
    assert split == (5, 2, 0, 3, 2)  # three times a word, and a lemma: two bits
    assert keep == (1, 2, 0, 0, 2)
    assert found._counts("lodar", (rule,), {})[0][1] == 0  # its stem is `lo`-less: `lod`


# ---------------------------------------------------------------- features


def test_features_of_a_form_are_its_beginnings_and_endings() -> None:
    def codes(*pieces: str) -> list[int]:
        return [crc32(piece.encode()) if piece else 0 for piece in pieces]

    assert _base("Nas", "nas", False) == codes(
        "*", "sAaTrue", "l3", "<n", "<na", "<nas", "", ">s", ">as", ">nas", "", ""
    )
    assert _base("N.S", "n.s", False)[1] == codes("sAFalse")[0]
    assert _base("a", "a", False)[1:3] == codes("saTrue", "l1")
    assert _base("Nas", "nas", True) == codes("=nas", "=nas\tTrue", *[""] * 10)
    one = _codes("abcd")
    assert list(one) == codes("abcd", "abc", "bcd", "cd")
    assert _sides((1, 2, 3, 4), (5, 6, 7, 8)) == (1, 5, 3, 6, 7, 8)
    assert _NOBODY == (1, 1, 1, 1)


def test_sides_are_joined_with_a_known_form() -> None:
    found = defaultdict(list)
    rng = np.random.default_rng(0)
    base = rng.choice([0, 5, 6], (300, 2)).astype(np.uint64)
    sides, forms = rng.integers(1, 9, (300, 3)), rng.integers(0, 3, 300)
    out = kernel.with_sides(base, sides.astype(np.uint64), forms.astype(np.uint64))
    assert out.shape == (300, 7)
    for row, own, beside, form in zip(out.tolist(), base, sides, forms, strict=True):
        for f in range(2):
            assert (row[f] == 0) == (own[f] == 0)
            found["base", f].append((row[f], int(own[f])))
            # what is beside a known form counts by itself, too
            found["alone", f].append((row[5 + f], int(beside[f]) if form else None))
            assert (row[5 + f] == 0) == (form == 0)
        for f in range(3):
            found["side", f].append((row[2 + f], (int(beside[f]), int(form))))
    check_partitions(found)


def test_features_of_counts_are_of_what_they_say() -> None:
    found = defaultdict(list)
    out = np.empty(kernel.MOST_OWN, np.uint64)
    for counts in np.ndindex(3, 4, 4, 3, 3):
        kind, stem, form, length, lemma = counts
        for key in (77 << 40, 99 << 41):
            n = kernel.own_keys(np.array(counts), np.uint64(key), out)
            if not kind:
                made: list[object] = []
            elif not length:
                made = [form, (form, stem), lemma]
            else:
                made = [(key, stem), (key, stem, form), (kind, stem, form), (key, length)]
                made += [(kind, stem, length), (key, stem, length), (key, lemma)]
                made.append((kind, stem, lemma))
            for f, (value, thing) in enumerate(zip(out[:n].tolist(), made, strict=True)):
                found[bool(length), f].append((value, thing))
    check_partitions(found)


# ---------------------------------------------------------------- the choice


@st.composite
def choices(draw):
    """Tokens with candidates, and weights by chance."""
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    base = rng.integers(0, 4, (len(sizes), 3)).astype(np.uint64)
    own = np.stack([rng.integers(0, 3, starts[-1]) for _ in range(5)], axis=1)
    keys = rng.integers(1, 1 << 60, starts[-1]).astype(np.uint64)
    return base, starts, keys, own, np.array([rng.integers(size) for size in sizes]), rng


def keys_of(choice, token: int) -> list[list[int]]:
    base, starts, keys, own, *_ = choice
    found, room = [], np.empty(kernel.MOST_OWN, np.uint64)
    for c in range(starts[token], starts[token + 1]):
        parts = [one for one in base[token].tolist() if one]
        mixed_in = [_mix(one, int(keys[c])) for one in parts]
        n = kernel.own_keys(own[c], keys[c], room)
        found.append([*mixed_in, *room[:n].tolist()])
    return found


def _mix(key: int, part: int) -> int:
    value = ((key ^ part) * 0x9E3779B97F4A7C15) % 2**64
    return value ^ value >> 29


@settings(max_examples=80)
@given(choices())
def test_the_candidate_of_the_highest_score_is_chosen_the_first_of_equals(choice) -> None:
    base, starts, keys, own, _, rng = choice
    weights = rng.integers(-2, 3, 1 << 6).astype(np.int8)
    expected = []
    for token in range(len(base)):
        scores = [sum(int(weights[k >> 58]) for k in one) for one in keys_of(choice, token)]
        expected.append(scores.index(max(scores)))
    assert kernel.choose(base, starts, keys, own, weights, 58).tolist() == expected


@settings(max_examples=60)
@given(choices())
def test_training_steps_are_those_of_adagrad_on_the_softmax(choice) -> None:
    base, starts, keys, own, gold, rng = choice
    order = rng.permutation(len(base))
    w, q, total = Counter(), defaultdict(lambda: 1.0), 0.0
    for token in [*order.tolist()] * 2:
        candidates = keys_of(choice, token)
        weight = [math.exp(sum(w[k >> 46] for k in one)) for one in candidates]
        shares = [one / sum(weight) for one in weight]
        total -= math.log(shares[gold[token]])
        for c, one in enumerate(candidates):
            slope = shares[c] - (c == gold[token])
            if abs(slope) >= 0.002:
                for key in one:
                    q[key >> 46] += slope**2
                    w[key >> 46] -= 0.2 * slope / math.sqrt(q[key >> 46])
    weights, squares = np.zeros(1 << 18, np.float32), np.ones(1 << 18, np.float32)
    given_arrays = base, starts, keys, own, gold, order, weights, squares, 46, 0.2
    loss = kernel.train(*given_arrays) + kernel.train(*given_arrays)
    assert loss == pytest.approx(total, rel=1e-4, abs=1e-5)
    assert {at: weights[at] for at in np.flatnonzero(weights).tolist()} == pytest.approx(
        {at: value for at, value in w.items() if abs(value) > 0}, abs=1e-4
    )
