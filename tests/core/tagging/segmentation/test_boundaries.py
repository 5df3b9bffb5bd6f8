"""Where tokens end: chunks, the dictionary, every feature of a place, and each decision.

A feature is compared by what it tells apart: its keys of two places are equal where the things
that it is made of are, and nowhere else.  So no twin repeats how they are hashed.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.base.hashing import mixed
from eigentext.tagging.segmentation.characters import squeezed
from eigentext.tagging.segmentation.kernels import boundaries as kernel
from eigentext.tagging.segmentation.kernels.tables import bucket
from eigentext.tagging.segmentation.tables import HashedCounts, shortened
from eigentext.tagging.segmentation.tokens import TokenStage, _counted
from eigentext.tagging.settings import SegmenterSettings
from helpers.partitions import check_partitions, pair

SEED = 0x51A7
SIGNS = [*"aabB.-1我 ", " ", "e\u0301", "\n\n"]
TEXTS = st.lists(st.sampled_from(SIGNS), min_size=1, max_size=22).map("".join)


def key_of(piece: str) -> int:
    return mixed(SEED, map(ord, piece))


class Case(NamedTuple):
    """A squeezed text with a dictionary, for kernels and in plain Python."""

    text: kernel.Text
    known: kernel.Known
    chars: str
    counts: Counter[str]
    ended: list[int]

    def times(self, start: int, end: int) -> int:
        """How often a stretch is a token elsewhere."""
        count = self.counts[self.chars[start:end]]
        return count - (count > 0 and self.ended[start] == end)

    def longest(self, start: int, *, spaces: bool) -> int:
        found = 0
        for length in range(1, 15):
            piece = self.chars[start : start + length]
            if "\n" in piece or (" " in piece and not spaces):
                break
            if piece[-1] != " " and self.times(start, start + length):
                found = length
        return found


def case_of(text: str, words: list[str], *, spaces: bool, ended: dict[int, int] | None = None):
    given_text = squeezed(text)
    chars = "".join(map(chr, given_text.chars))
    counts = Counter(words)
    keys = np.array([key_of(word) for word in words], np.uint64)
    table = kernel.Known(*_counted(keys).table)
    of_place = np.zeros(len(chars), np.int64)
    for start, end in (ended or {}).items():
        of_place[start] = end
    longest = kernel.longest_known(given_text.chars, given_text.classes, of_place, table, spaces)
    chunks = kernel.chunks_of(given_text.chars, given_text.classes)
    made = kernel.Text(*given_text[:3], *chunks, longest, of_place)
    return Case(made, table, chars, counts, of_place.tolist())


words = st.lists(st.text("ab. 1", min_size=1, max_size=4).map(str.strip), max_size=8)
words = words.map(lambda found: [word for word in found if word])


@settings(max_examples=150)
@given(TEXTS, words, st.booleans(), st.integers(1, 4))
def test_chunks_and_the_longest_known_tokens(text, known, spaces, length) -> None:
    place = 8
    case = case_of(text, known, spaces=spaces, ended={place: place + length})
    starts, ends, hashes = case.text.starts, case.text.ends, case.text.hashes
    pieces = [case.chars[a:b] for a, b in zip(starts, ends, strict=True)]
    assert pieces == case.chars.split()
    assert hashes.tolist() == list(map(key_of, pieces))
    for at, char in enumerate(case.chars):
        expected = 0 if char.isspace() else case.longest(at, spaces=spaces)
        assert case.text.longest[at] == expected


def test_a_long_chunk_is_known_by_its_end() -> None:
    one, other, short = (
        case_of(text, [], spaces=False).text.hashes[0]
        for text in ("x" * 30 + "ab" * 24, "y" * 9 + "ab" * 24, "x" * 30 + "ab" * 23)
    )
    assert one == other == key_of("ab" * 24) != short


def chain(seed: int, parts) -> tuple[int, ...]:
    """Letters or classes from a place on, as they are told apart: the first with its side."""
    first, *others = parts
    return (first ^ seed, *others)


def features(case: Case, chunk: int, j: int, s: int, *, spaces: bool) -> list[object]:
    """What each feature of a place inside a chunk is made of, by its letters and classes."""
    c, k = case.chars, case.text.classes.tolist()
    start, end = int(case.text.starts[chunk]), int(case.text.ends[chunk])
    a = {n: chain(1, map(ord, c[j - n : j][::-1])) for n in range(1, 6)}
    b = {n: chain(2, map(ord, c[j : j + n])) for n in range(1, 6)}
    x = {n: chain(3, k[j - n : j][::-1]) for n in range(1, 5)}
    y = {n: chain(4, k[j : j + n]) for n in range(1, 5)}
    made: list[object] = [(one,) for one in (*a.values(), *b.values())]
    for n, m in ((1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (1, 3), (3, 2), (2, 3), (3, 3), (4, 4)):
        made.append(pair(a[n], b[m]))
    made += [pair(x[n], y[m]) for n, m in ((1, 1), (2, 2), (3, 3), (4, 1), (1, 4), (4, 4))]
    made += [pair(a[1], y[2]), pair(x[2], b[1]), pair(a[1], y[3]), pair(x[3], b[1])]
    kinds, before, behind = pair(x[1], y[1]), min(j - start, 8), min(end - j, 8)
    made += [(before, x[1], b[1]), (behind, y[1], a[1]), (before, behind, kinds)]
    following, front, back, token = k[end + 1], c[start:j], c[j:end], c[s:j]
    if end - start <= 48:
        made += [(front, back), (front,), (back,), (front, b[1]), (back, a[1])]
        made.append((front, following))
    made.append((behind, a[1], pair(b[1], following)))
    made += [(token, b[1]), (token, b[2]), (token, y[1]), (min(j - s, 12), kinds)]
    ours = int(bucket(case.times(s, j)))
    there, here = case.longest(s, spaces=spaces), case.longest(j, spaces=spaces)
    relation = 0 if not there else 2 + (there > j - s) - (there < j - s)
    made += [(ours, kinds), (ours, relation, min(here, 8))]
    made += [(relation, min(there, 8), min(here, 8)), (ours, relation, min(here, 4), kinds)]
    rest = 0 if not here else 2 + (j + here > end) - (j + here < end)
    made.append((ours > 0, relation, rest, kinds))
    if end - j <= 2:
        made += [(x[1], b[2], following), (a[3], b[2], following)]
        made.append((x[3], min(j - start, 6), b[2], following))
        if k[end] == 2:
            after = c.split()[chunk + 1]
            made += [(after, b[2]), (after, b[2], x[1])]
    return made


def inside_keys(case: Case, chunk: int, j: int, s: int) -> list[int]:
    start, end = int(case.text.starts[chunk]), int(case.text.ends[chunk])
    token, front = key_of(case.chars[s:j]), key_of(case.chars[start : min(j, start + 48)])
    back = key_of(case.chars[j : min(end, start + 48)][::-1])
    out = np.empty(kernel.N_KEYS, np.uint64)
    given_keys = np.uint64(token), np.uint64(front), np.uint64(back)
    n = kernel.inside_keys(case.text, case.known, chunk, j, s, *given_keys, out)
    return out[:n].tolist()


FEATURE_TEXTS = [
    ("aab.b-1aB ab. a1 ab.aab aab. b", ["ab", "ab", "ab", "a", "aab", "b", ".", "b ab", "ab."]),
    ("a" * 47 + ".bab a" + "ab" * 24 + " bb" + "a" * 50 + ". b", ["b", "a"] * 2),
    ("我a我。b aa我 1a-b 1.1 ba.\n\nab.ab ba. Ab", ["我", "1.1", "a", "ba", "ba."]),
    ("abababababababab.ab abab abbbbb.b bbbbbbbbbbbbbbb", ["ab", "abab", "ababababab", "bb"]),
]


@pytest.mark.parametrize("spaces", [False, True])
def test_features_inside_of_a_chunk_are_of_what_they_say(spaces) -> None:
    found = defaultdict(list)
    for text, known in FEATURE_TEXTS:
        case = case_of(text, known, spaces=spaces, ended={8: 10, 10: 11})
        for chunk, (start, end) in enumerate(zip(case.text.starts, case.text.ends, strict=True)):
            for j in range(int(start) + 1, int(end)):
                for s in {int(start), max(int(start), j - 1), max(int(start), j - 3)}:
                    expected = features(case, chunk, j, s, spaces=spaces)
                    keys = inside_keys(case, chunk, j, s)
                    long = end - start > 48
                    for n, (key, thing) in enumerate(zip(keys, expected, strict=True)):
                        found[long, n].append((key, thing))
    check_partitions(found)


def gap_features(case: Case, chunk: int, s: int) -> list[object]:
    """The same of the white space before a chunk."""
    c, k, pieces = case.chars, case.text.classes.tolist(), case.chars.split()
    start, end = int(case.text.starts[chunk]), int(case.text.ends[chunk])
    j, left, right = start - 1, pieces[chunk - 1], pieces[chunk]
    more = pieces[chunk + 1] if k[end] == 2 else None
    less = pieces[chunk - 2] if k[case.text.starts[chunk - 1] - 1] == 2 else None
    x = {n: chain(33, k[j - n : j][::-1]) for n in range(1, 4)}
    y = {n: chain(34, k[start : start + n]) for n in range(1, 5)}
    size, kinds, token = min(end - start, 8), pair(x[1], y[1]), c[s:j]
    made = [(left,), (right,), (left, right), (token,), (token, right), (right, more)]
    made += [(less, left), (less, left, right), (left, right, more), kinds, pair(x[3], y[3])]
    made += [(pair(x[3], y[4]), size), (min(j - s, 8), size, kinds), (left, y[2]), (right, x[2])]
    ours, both = int(bucket(case.times(s, j))), int(bucket(case.times(s, end)))
    there, here = case.longest(s, spaces=True), case.longest(start, spaces=True)
    relation = 0 if not there else 2 + (there > j - s) - (there < j - s)
    wider = here > end - start
    made += [(ours, both, relation), (ours, both, wider), (both, relation, kinds)]
    return [*made, (both, relation, wider)]


def gap_keys(case: Case, chunk: int, s: int) -> list[int]:
    out = np.empty(kernel.N_KEYS, np.uint64)
    token = np.uint64(key_of(case.chars[s : int(case.text.starts[chunk]) - 1]))
    n = kernel.gap_keys(case.text, case.known, chunk, s, token, out)
    return out[:n].tolist()


def gaps_of(case: Case) -> list[int]:
    """Chunks with white space before them that does not end a paragraph."""
    starts = case.text.starts.tolist()
    return [n for n, start in enumerate(starts) if n and case.text.classes[start - 1] == 2]


def test_features_of_white_space_are_of_what_they_say() -> None:
    found = defaultdict(list)
    texts = [*FEATURE_TEXTS, ("1 000 000 a b a b. b a 1 00", ["1 000", "1 000", "000", "b a b"])]
    texts.append(("a b1 a b. a ba. a bB a b1. x b1 .1 b1 1. b1 a. a", ["a", "b1", "a b1"]))
    texts.append(("ab a a ab a. a b\n\na b 1 b a 1 a b ab", ["a ab", "a", "a b", "b a"]))
    for text, known in texts:
        case = case_of(text, known, spaces=True, ended={8: 11, 13: 18})
        for chunk in gaps_of(case):
            for s in {int(case.text.starts[chunk - 1]), int(case.text.ends[chunk - 1]) - 1}:
                keys, expected = gap_keys(case, chunk, s), gap_features(case, chunk, s)
                for n, (key, thing) in enumerate(zip(keys, expected, strict=True)):
                    found[n].append((key, thing))
    check_partitions(found)


# ---------------------------------------------------------------- decisions


def cut(case: Case, weights, shift: int, *, spaces: bool) -> tuple[list, dict[int, float]]:
    """The tokens and the scores of all places, each decided before the next one is looked at."""

    def score(keys: list[int]) -> float:
        return sum(float(weights[key >> shift]) for key in keys)

    glue, scores, cuts = case.text.glue.tolist(), {}, []
    gaps = set(gaps_of(case))
    for chunk, (start, end) in enumerate(zip(case.text.starts, case.text.ends, strict=True)):
        begins = True
        if chunk in gaps and glue[start] in (kernel.CUT, kernel.JOINED):
            begins = glue[start] == kernel.CUT
        elif chunk in gaps and spaces:
            scores[int(start)] = score(gap_keys(case, chunk, cuts[-1]))
            begins = scores[int(start)] >= 0
        cuts += [int(start)] if begins else []
        for j in range(int(start) + 1, int(end)):
            if glue[j] == 0:
                scores[j] = score(inside_keys(case, chunk, j, cuts[-1]))
            if glue[j] == kernel.CUT or scores.get(j, 0.0) > 0:
                cuts.append(j)
    ends = [*cuts[1:], len(case.chars) - 8] if cuts else []
    for n, end in enumerate(ends):
        while case.chars[end - 1].isspace():
            end -= 1
        ends[n] = end
    return list(zip(cuts, ends, strict=True)), scores


@settings(max_examples=120)
@given(TEXTS, words, st.booleans(), st.integers(0, 5), st.data())
def test_each_place_is_decided_by_the_sum_of_its_weights(text, known, spaces, seed, data) -> None:
    case = case_of(text, known, spaces=spaces)
    decided = data.draw(st.lists(st.sampled_from([0, 0, 0, 1, 2, 3]), max_size=len(case.chars)))
    glue = case.text.glue.copy()
    for at, value in enumerate(decided):
        glue[at] = value
    case = case._replace(text=case.text._replace(glue=glue))
    weights = np.random.default_rng(seed).integers(-20, 20, 1 << 8).astype(np.int8)
    odds = np.full(len(case.chars), np.nan)
    starts, ends = kernel.answer(case.text, case.known, weights, 64 - 8, spaces, odds)
    tokens, scores = cut(case, weights, 64 - 8, spaces=spaces)
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == tokens
    asked = {at: odds[at] for at in range(len(odds)) if not np.isnan(odds[at])}
    assert asked == scores


@settings(max_examples=60)
@given(TEXTS, st.booleans(), st.integers(0, 99))
def test_training_steps_are_those_of_adagrad_one_place_after_the_other(text, spaces, seed) -> None:
    """Gold tokens by chance, and weights in a dictionary."""
    chance = np.random.default_rng(seed)
    case = case_of(text, [], spaces=spaces)
    gaps = set(gaps_of(case))
    begins = []
    for chunk, (start, end) in enumerate(zip(case.text.starts, case.text.ends, strict=True)):
        for j in range(int(start), int(end)):
            free = j > start or (chunk in gaps and spaces)
            if not free or (chance.random() < 0.4 and not case.text.glue[j]):
                begins.append(j)
    ends = []
    for end in [*begins[1:], len(case.chars) - 8][: len(begins)]:
        while case.chars[end - 1].isspace():
            end -= 1
        ends.append(end)
    case = case_of(text, [case.chars[a:b] for a, b in zip(begins, ends, strict=True)],
                   spaces=spaces, ended=dict(zip(begins, ends, strict=True)))  # fmt: skip
    token_starts = np.zeros(len(case.chars), np.int64)
    token_starts[begins] = begins
    token_starts = np.maximum.accumulate(token_starts)
    order = chance.permutation(len(case.text.starts))
    w, q = Counter(), defaultdict(lambda: 1.0)
    total = 0.0

    def step(keys: list[int], gold: bool) -> None:
        nonlocal total
        score = sum(w[key >> 46] for key in keys)
        p = 1 / (1 + math.exp(-score))
        if abs(p - gold) < 0.005:
            return
        total -= math.log(p if gold else 1 - p)
        for key in keys:
            q[key >> 46] += (p - gold) ** 2
            w[key >> 46] -= 0.2 * (p - gold) / math.sqrt(q[key >> 46])

    for chunk in order.tolist():
        start, end = int(case.text.starts[chunk]), int(case.text.ends[chunk])
        if spaces and chunk in gaps:
            before = max(b for b in begins if b < start)
            step(gap_keys(case, chunk, before), start in begins)
        for j in range(start + 1, end):
            if not case.text.glue[j]:
                s = max(b for b in begins if b < j)
                step(inside_keys(case, chunk, j, s), j in begins)
    weights, squares = np.zeros(1 << 18, np.float32), np.ones(1 << 18, np.float32)
    given_arrays = token_starts, order, weights, squares
    loss = kernel.train(case.text, case.known, *given_arrays, 46, 0.2, spaces)
    assert loss == pytest.approx(total, rel=1e-3, abs=1e-3)
    assert {at: weights[at] for at in np.flatnonzero(weights).tolist()} == pytest.approx(
        {at: value for at, value in w.items() if value}, abs=1e-3
    )


def test_a_stage_holds_each_token_out_of_its_own_dictionary() -> None:
    """Trained on tokens that are never seen twice, only what surrounds them can tell."""
    text = squeezed("ab ab ab")
    starts = np.array([8, 11, 14])
    stage = TokenStage.learn(
        text, starts, starts + 2, SegmenterSettings(epochs=1, bits=10, seed=0), lambda _: None
    )
    assert stage.vocabulary.values.tolist() == [3]
    assert (
        stage.vocabulary.keys.tolist() == shortened(np.array([key_of("ab")], np.uint64)).tolist()
    )
    case = case_of("ab ab", ["ab"], spaces=False, ended={8: 10})
    assert [case.text.longest[at] for at in (8, 11)] == [0, 2]
    assert not stage.spaces
    spaced = TokenStage.learn(
        text,
        starts[:2],
        np.array([10, 16]),
        SegmenterSettings(epochs=1, bits=10, seed=0),
        lambda _: None,
    )
    assert spaced.spaces


def test_counts_of_a_dictionary_stop_at_a_byte() -> None:
    counts = _counted(np.array([key_of("a")] * 300 + [key_of("b")], np.uint64))
    assert isinstance(counts, HashedCounts)
    assert sorted(counts.values.tolist()) == [1, 255]
