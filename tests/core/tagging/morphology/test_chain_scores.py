"""Scores, shares and steps of the chain, against features and sequences that are enumerated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.features.attributes import MORPHOLOGY
from eigentext.features.kernels.templates import WordFeatures
from eigentext.tagging.morphology.kernels import chain as kernel
from eigentext.tagging.morphology.kernels.training import tag_shares, tag_text, train
from eigentext.tagging.morphology.kernels.words import Lists
from eigentext.tagging.morphology.learn import TEMPLATES, compiled
from eigentext.tagging.morphology.tags import MorphTagSet
from oracle.tag_chains import Chain

TRIPLES = [
    ("NOUN", "_", "Case=Nom|Number=Sing"), ("NOUN", "_", "Case=Acc|Number=Sing"),
    ("NOUN", "NN", "Number=Plur"), ("ADJ", "_", "Number=Sing"), ("VERB", "VB", "_"),
    ("VERB", "_", "Number=Plur"), ("DET", "DET", "_"),
]  # fmt: skip
TAGS = MorphTagSet(TRIPLES).arrays
MOST = 12
SLOT_PARTS = np.array(
    [
        [(0, 0), (-1, -1)],
        [(1, -1), (0, 0)],
        [(1, 1), (-1, -1)],
        [(0, 2), (1, -2)],
        [(2, 0), (-1, -1)],
    ]
)


@st.composite
def chains(draw, longest: int = 4):
    """A sentence of words with up to three candidates; some slots of words are empty."""
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    n_rows = 6
    keys = rng.choice([0, 3, 5, 1 << 40, 7 << 50], (n_rows, 3)).astype(np.uint64)
    keys[:2] = [[11], [13]]  # before and behind the sentence
    lists = Lists(
        np.array([1, 1, *rng.integers(1, 4, n_rows - 2)]),
        np.zeros((n_rows, MOST), np.int32),
        np.zeros((n_rows, MOST), np.float32),
        rng.integers(1, 4, (n_rows, MOST)).astype(np.uint64) << np.uint64(30),
    )
    for row in range(2, n_rows):
        lists.tags[row] = rng.permutation(np.arange(MOST) % len(TRIPLES))
        lists.tags[row, :3] = rng.choice(len(TRIPLES), 3, replace=False)
        lists.shares[row] = -np.sort(rng.exponential(1, MOST))
    rows = rng.integers(2, n_rows, draw(st.integers(1, longest))).tolist()
    slots = WordFeatures(keys, SLOT_PARTS, np.array([21, 22, 23, 24, 25], np.uint64))
    width = draw(st.sampled_from([0.5, 2.0, 50.0]))
    return Chain(rows, slots, lists, TAGS, 1 << 12, 0.5, width), rng


def arrays(chain: Chain, table, scale: float = 1.0, before: int = 0):
    """What the kernels take; ``before``: words of another sentence that stands in front."""
    rows = [chain.rows[0]] * before + chain.rows
    text = kernel.Text(np.array([0, before, len(rows)]), np.array(rows))
    weights = kernel.Weights(table, np.float32(scale), 0.5)
    return text, kernel.Chain(chain.slots, chain.lists, chain.tags, weights, chain.width)


def side_by_side(table):
    """Weights and their squares, in memory as training has them."""
    both = np.ones((len(table), 2), np.float32)
    both[:, 0] = table
    return both.T


@settings(max_examples=100)
@given(chains(), st.integers(0, 2), st.sampled_from([1.0, 2.0]))
def test_the_best_tags_and_their_shares_are_those_of_all_sequences(made, before, heat) -> None:
    chain, rng = made
    table = rng.integers(-60, 61, chain.size).astype(np.int8)
    weights = table * 0.01
    given_arrays = arrays(chain, table, 0.01, before)
    n = len(chain.rows)
    tags, others = np.zeros(before + n, np.int64), np.zeros(before + n, np.int64)
    chances = np.zeros((before + n, 2))
    tag_text(*given_arrays, heat, tags, others, chances)
    shares = np.full((before + n, MOST), 9.0)
    tag_shares(*given_arrays, heat, shares)
    expected = chain.shares(weights, heat)
    assert shares[before:] == pytest.approx(np.array(expected), abs=1e-5)
    every = chain.sequences(weights)
    best = max(score for _, score, _ in every)
    score_of = {
        tuple(chain.candidates(i)[c] for i, c in enumerate(path)): score
        for path, score, _ in every
    }
    found = tuple(tags[before:].tolist())
    assert score_of[found] == pytest.approx(best, abs=1e-4)
    upos = chain.tags.upos
    for i, tag in enumerate(found):
        of_upos: dict[int, float] = {}
        for c, name in enumerate(chain.candidates(i)):
            of_upos[int(upos[name])] = of_upos.get(int(upos[name]), 0.0) + expected[i][c]
        own = of_upos.pop(int(upos[tag]))
        assert chances[before + i] == pytest.approx(
            [own, max(of_upos.values(), default=0)], abs=1e-5
        )
        second = others[before + i]
        assert (second < 0) == (not any(one > 0 for one in of_upos.values()))
        if second >= 0:
            assert of_upos[int(upos[second])] == pytest.approx(max(of_upos.values()), abs=1e-5)


@settings(max_examples=80)
@given(chains(3), st.booleans())
def test_one_step_goes_up_the_gradient_of_the_log_probability(made, begun) -> None:
    """Each weight that one feature owns takes the step of AdaGrad along it."""
    chain, rng = made
    gold = [int(rng.integers(len(chain.candidates(i)))) for i in range(len(chain.rows))]
    table = (rng.normal(0, 0.3, chain.size) if begun else np.zeros(chain.size)).astype(np.float32)
    weights, squares = side_by_side(table)
    text, scored_by = arrays(chain, weights)
    slopes, log = chain.gradient(table.astype(float), gold)
    gained = train(np.array([1]), text, np.array(gold), scored_by, squares, 0.1)
    assert gained == pytest.approx(log, abs=1e-4)
    times = [0] * chain.size  # how many features keep their weight there
    for i in range(len(chain.rows)):
        for c in range(len(chain.candidates(i))):
            for at in chain.word_places(i, c):
                times[at] += 1
    all_tags = [*range(len(TRIPLES)), len(TRIPLES)]
    pairs = {at for a in all_tags for b in all_tags[:-1] for at in chain.pair_places(a, b)}
    alone = [at for at, n in enumerate(times) if n == 1 and at not in pairs]
    for at in alone:
        slope = slopes.get(at, 0.0)
        step = 0.1 * slope / math.sqrt(1 + slope**2)
        assert weights[at] - table[at] == pytest.approx(step, abs=0.0025)
    moved = set(np.flatnonzero(weights != table).tolist())
    assert moved <= set(slopes)
    for at in moved:
        assert squares[at] > 1
    big = [at for at, slope in slopes.items() if abs(slope) > 0.25 and at in pairs]
    for at in big:  # a pair's weight is met from several candidates: its direction is sure
        assert (weights[at] - table[at]) * slopes[at] > 0 or times[at]


def test_a_word_whose_tag_is_no_candidate_teaches_nothing() -> None:
    made = Chain([2, 3], None, None, TAGS, 1 << 12, 0.5, 50.0)
    lists = Lists(
        np.array([1, 1, 2, 2]), np.array([[0, 0], [0, 0], [0, 3], [3, 4]], np.int32),
        np.zeros((4, 2), np.float32), np.full((4, 2), 9, np.uint64),
    )  # fmt: skip
    keys = np.full((4, 3), 5, np.uint64)
    slots = WordFeatures(keys, SLOT_PARTS, np.array([21, 22, 23, 24, 25], np.uint64))
    chain = made._replace(slots=slots, lists=lists)
    table, squares = side_by_side(np.zeros(chain.size))
    text, scored_by = arrays(chain, table)
    assert train(np.array([0, 1]), text, np.array([-1, -1]), scored_by, squares, 0.1) == 0.0
    assert not table.any()
    log = train(np.array([1]), text, np.array([1, -1]), scored_by, squares, 0.1)
    assert log == pytest.approx(math.log(0.5), abs=1e-6)
    assert table.any()


@settings(max_examples=60)
@given(chains(), st.integers(-1, 2))
def test_candidates_that_are_too_unlikely_are_left_out(made, right) -> None:
    chain, rng = made
    n = len(chain.rows)
    text, scored_by = arrays(chain, np.zeros(chain.size))
    room = kernel.room_for(text, scored_by, False)
    scores, kept, counts = room.scores, room.kept, room.counts
    scores[:] = rng.normal(0, 2, scores.shape)
    plain = scores.copy()
    gold = np.full(n, right) if right > -1 else np.empty(0, np.int64)
    kernel.keep_likely(0, n, text, scored_by, gold, room)
    for i in range(n):
        own = plain[i, : len(chain.candidates(i))].tolist()
        left = [c for c, s in enumerate(own) if s >= max(own) - chain.width or c == right]
        assert kept[i, : counts[i]].tolist() == left
        assert scores[i, : counts[i]].tolist() == [own[c] for c in left]


def test_equal_paths_are_decided_for_those_that_stand_first() -> None:
    counts, path = np.array([3, 2, 3]), np.full(3, 9)
    scores, pairs = np.zeros((3, 3)), np.zeros((3, 3, 3))
    kernel.best_path(counts, scores, pairs, path)
    assert path.tolist() == [0, 0, 0]
    scores[1, 1] = pairs[2, 1, 2] = pairs[2, 1, 1] = 1.0
    kernel.best_path(counts, scores, pairs, path)
    assert path.tolist() == [0, 1, 1]


@settings(max_examples=60)
@given(st.lists(st.integers(0, len(TRIPLES) - 1), min_size=1, max_size=5, unique=True))
def test_telling_parts_are_those_that_not_all_have(candidates) -> None:
    seen = np.zeros(len(TAGS.part_keys), np.int64)
    out = np.zeros(40, np.int64)
    n = kernel.telling_parts(np.array(candidates, np.int32), len(candidates), TAGS, seen, out)
    parts = [set(TAGS.parts[TAGS.ptr[t] : TAGS.ptr[t + 1]].tolist()) for t in candidates]
    expected = set.union(*parts) - set.intersection(*parts)
    assert sorted(out[:n].tolist()) == sorted(expected)
    assert not seen.any()


# ---------------------------------------------------------------- templates


def test_templates_name_slots_that_there_are() -> None:
    parts, seeds = compiled()
    assert len(set(seeds.tolist())) == len(TEMPLATES) == len(set(TEMPLATES))
    for name, row in zip(TEMPLATES, parts.tolist(), strict=True):
        pieces = [(MORPHOLOGY.names[slot], place) for slot, place in row if slot >= 0]
        texts = {0: "0", 1: "+1", 2: "+2", -1: "-1", -2: "-2"}
        assert "&".join(f"{slot}[{texts[place]}]" for slot, place in pieces) == name
        assert [slot for slot, _ in row] == sorted((s for s, _ in row), key=lambda s: s < 0)
    assert {"lower[-2]", "best[-1]&best[0]&best[+1]", "near20[+1]", "ending6[0]"} <= set(TEMPLATES)
    assert len(TEMPLATES) == 74


@settings(max_examples=80)
@given(chains(5), st.integers(0, 2))
def test_features_are_of_the_templates_that_are_filled(made, before) -> None:
    chain, _ = made
    rows = np.array([chain.rows[0]] * before + chain.rows)
    out = np.zeros(5, np.uint64)
    for i in range(len(chain.rows)):
        n = kernel.features_at(before + i, before, len(rows), rows, chain.slots, out)
        assert out[:n].tolist() == chain.features(i)
