"""Where sentences end: what is told of tokens and of places behind them, and each decision."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.base.hashing import mixed
from eigentext.tagging.segmentation.characters import squeezed
from eigentext.tagging.segmentation.kernels import sentence_ends as kernel
from eigentext.tagging.segmentation.kernels.tables import bucket
from eigentext.tagging.segmentation.sentence_ends import _codes, _habits
from helpers.partitions import check_partitions, pair

TEXTS = [
    'Ann said ( "go on ) . Bob ran off .\n\nThen « Eve » sat , a b c d e f g h i j k l . Ann 12 .',
    "ab ab . ab , Ab AB a1 . ) ab ' ( ( ab ab . ) a\x0bab . Ab ab , Ab\n\nx y\n\nab . ab ab . ab",
    "Ann ran . Bob ran . Eve ran ! ' Ann ' ran .\nAb ab ran off \" . Ann sat .\n\nab . off ran ab",
]
MARKS = {"(": 1, "«": 1, ")": -1, "»": -1, '"': 2}
BITS = 10


def described(text: str, seed: int = 0):
    """A text of tokens between spaces; what is known of them is by chance."""
    plain = squeezed(text, line_breaks=True)
    chars = "".join(map(chr, plain.chars))
    begins = [at for at in range(8, len(chars) - 8) if not chars[at].isspace()]
    starts = [at for at in begins if chars[at - 1].isspace()]
    ends = [at + 1 for at in begins if chars[at + 1].isspace()]
    of_word = np.random.default_rng(seed)
    known = {word: int(of_word.integers(0, 1 << 15)) for word in sorted(set(chars.split()))}
    habits = np.array([known[chars[a:b]] for a, b in zip(starts, ends, strict=True)], np.uint16)
    arrays = np.array(starts, np.int64), np.array(ends, np.int64)
    tokens = kernel.describe(plain.chars, plain.classes, *arrays, habits, 11)
    return plain, chars, starts, ends, habits.tolist(), tokens


def runs(classes) -> tuple[int, ...]:
    return tuple(c for n, c in enumerate(classes) if n == 0 or classes[n - 1] != c)


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_are_described_by_their_letters(text) -> None:
    plain, chars, starts, ends, habits, tokens = described(text)
    found = defaultdict(list)
    kinds = plain.classes.tolist()
    for t, (start, end) in enumerate(zip(starts, ends, strict=True)):
        word, first = chars[start:end], kinds[start]
        assert tokens.hashes[t] == mixed(0x51A7, map(ord, word))
        assert (tokens.firsts[t], tokens.lengths[t]) == (first, len(word))
        gap = {" ": 1, "\x0b": 2, "\n": 3}[chars[end]]
        assert tokens.gaps[t] == gap
        assert tokens.opens[t] == (MARKS.get(word, 0))
        habit = habits[t]
        found["shape"].append((tokens.shapes[t], runs(kinds[start:end])))
        found["last"].append((tokens.lasts[t], (len(word) > 1, word[-1], kinds[end - 2])))
        found["case"].append((tokens.cases[t], habit % 32 ^ first))
        found["begin"].append((tokens.begins[t], habit // 32 % 32 ^ first))
        found["final"].append((tokens.finals[t], habit // 1024 ^ first))
        found["ending"].append((tokens.endings[t], (word[-3:], first)))
        for k in range(3):
            found["tail", k].append((tokens.tails[t, k], word[-2 - k :]))
            found["head", k].append((tokens.heads[t, k], word[: 2 + k]))
    check_partitions(found)
    lasts = [t for t, gap in enumerate(tokens.gaps) if gap == 3]
    assert np.flatnonzero(tokens.gaps == 3).tolist() == lasts


def place_keys(tokens, first, last, t, b, depth, quotes) -> list[int]:
    out = np.empty(kernel.N_KEYS, np.uint64)
    return out[: kernel.keys_at(tokens, first, last, t, b, depth, quotes, out)].tolist()


def features(text: str, tokens, first, last, t, b, depth, quotes) -> list[object]:
    """What each feature of the place behind token t is made of."""
    nothing = None
    w = [int(key) for key in tokens.hashes]
    shape = [int(key) for key in tokens.shapes]

    def at(column, k: int) -> object:
        return int(column[k]) if first <= k <= last else nothing

    m2, m1, c0, p1, p2 = (at(w, t + k) for k in (-2, -1, 0, 1, 2))
    sm1, s0, s1, s2 = (at(shape, t + k) for k in (-1, 0, 1, 2))
    gap, after = int(tokens.gaps[t]), int(tokens.gaps[t + 1])
    case, begin, final = int(tokens.cases[t + 1]), int(tokens.begins[t + 1]), int(tokens.finals[t])
    kind, length = int(tokens.firsts[t + 1]), t + 1 - b
    size = int(bucket(length)) if length < 9 else 8 + min(length // 10, 5)
    left, state = min(last - t, 6), (min(max(depth, 0), 2), quotes)
    ending = int(tokens.lasts[t]), min(int(tokens.lengths[t]), 6)
    made: list[object] = [c0, (c0, gap), (c0, p1), (p1, kind), (s0, s1), (c0, s1, gap)]
    made += [(c0, s1, s2), (s0, p1, kind), (m1, c0), (m1, c0, s1), (m1, c0, p1), (c0, p1, p2)]
    made += [(c0, s1, case), (s0, s1, case), (sm1, c0, case, s2), (size, c0), (size, pair(s0, s1))]
    made += [(left, c0), (state, c0), (state, c0, p1), (state, c0, case), (w[b], c0)]
    made += [(shape[b], s0, s1), (*ending, s1), (ending[0], gap, case), (p1, p2)]
    made += [(sm1, s0, pair(s1, s2)), (m2, m1, c0), (gap, after, pair(s0, s1)), (gap, case, size)]
    made += [(gap, left, pair(s0, s1)), gap, (p1, kind, gap)]
    made += [(s0, begin), (c0, begin), (final, begin), (final, case), (final, s1)]
    made += [(final, case, begin), (s0, case, begin), (int(tokens.endings[t]), begin)]
    made.append((gap, case, begin))
    for k in range(3):
        before = at(tokens.tails[:, k], t - 1)
        made += [(c0, before), (int(tokens.tails[t, k]), gap)]
        made += [(int(tokens.heads[t + 1, k]), s0), (int(tokens.heads[t + 1, k]), c0)]
    return made


def test_features_of_a_place_are_of_what_they_say() -> None:
    found = defaultdict(list)
    for text in TEXTS:
        *_, tokens = described(text)
        lasts = np.flatnonzero(tokens.gaps == 3).tolist()
        for first, last in zip([0, *(t + 1 for t in lasts)], lasts, strict=False):
            for t in range(first, last):
                for b in {first, t, max(first, t - 3), max(first, t - 10)}:
                    for depth, quotes in ((0, 0), (1, 1), (2, 0), (4, 1), (0, 1)):
                        given_place = first, last, t, b, depth, quotes
                        keys = place_keys(tokens, *given_place)
                        expected = features(text, tokens, *given_place)
                        for n, (key, thing) in enumerate(zip(keys, expected, strict=True)):
                            found[n].append((key, thing))
    check_partitions(found)


def ends_of(tokens, weights, shift, threshold, decided) -> tuple[list[bool], dict[int, float]]:
    """Each place decided before the next: a sentence that ends begins another one."""
    lasts = np.flatnonzero(tokens.gaps == 3).tolist()
    ends, odds = [], {}
    for first, last in zip([0, *(t + 1 for t in lasts)], lasts, strict=False):
        b, depth, quotes = first, 0, 0
        for t in range(first, last):
            mark = int(tokens.opens[t])
            depth, quotes = (depth, 1 - quotes) if mark == 2 else (max(depth + mark, 0), quotes)
            score = float(decided[t])
            if not score:
                keys = place_keys(tokens, first, last, t, b, depth, quotes)
                score = sum(float(weights[key >> shift]) for key in keys) - threshold
                odds[t] = score
            ends.append(score > 0)
            if score > 0:
                b, depth, quotes = t + 1, 0, 0
        ends.append(True)
    return ends, odds


@settings(max_examples=60)
@given(st.sampled_from(TEXTS), st.integers(0, 99), st.integers(-60, 60), st.booleans())
def test_each_place_is_decided_by_the_sum_of_its_weights(text, seed, threshold, some) -> None:
    *_, tokens = described(text, seed)
    chance = np.random.default_rng(seed)
    weights = chance.integers(-20, 21, 1 << BITS).astype(np.int8)
    decided = chance.choice([-1, 0, 0, 0, 1], len(tokens.hashes)).astype(np.int8) * some
    odds = np.full(len(decided), np.nan)
    lasts = np.flatnonzero(tokens.gaps == 3)
    given_arrays = tokens, lasts, weights, 64 - BITS, threshold
    is_end = kernel.answer(*given_arrays, decided.astype(np.int8), odds)
    ends, scores = ends_of(tokens, weights, 64 - BITS, threshold, decided.tolist())
    assert is_end.tolist() == ends
    assert {t: odds[t] for t in np.flatnonzero(~np.isnan(odds)).tolist()} == scores
    nothing = np.empty(0, np.int8), np.empty(0)
    if not some:
        assert kernel.answer(*given_arrays, *nothing).tolist() == ends


@settings(max_examples=40)
@given(st.sampled_from(TEXTS), st.integers(0, 99))
def test_training_steps_are_those_of_adagrad_one_place_after_the_other(text, seed) -> None:
    *_, tokens = described(text, seed)
    chance = np.random.default_rng(seed)
    lasts = np.flatnonzero(tokens.gaps == 3).tolist()
    n = len(tokens.hashes)
    ends = sorted({*lasts, *np.flatnonzero(chance.random(n) < 0.3).tolist()})
    order = chance.permutation(len(ends))
    w, q = Counter(), defaultdict(lambda: 1.0)
    total = 0.0
    gaps = tokens.gaps.copy()
    for sentence in order.tolist():
        b = ends[sentence - 1] + 1 if sentence else 0
        first = max([t + 1 for t in lasts if t < b], default=0)
        last = min(t for t in lasts if t >= b)
        depth = quotes = 0
        for t in range(b, ends[sentence] + 1):
            mark = int(tokens.opens[t])
            depth, quotes = (depth, 1 - quotes) if mark == 2 else (max(depth + mark, 0), quotes)
            keys = []
            if t < last:
                keys = place_keys(tokens, first, last, t, b, depth, quotes)
            elif t + 1 < n and tokens.firsts[t] > 13:
                tokens.gaps[t] = 1  # a mark at the end of a paragraph: as if a space followed
                beyond = min(u for u in lasts if u > t)
                keys = place_keys(tokens, first, beyond, t, b, depth, quotes)
                tokens.gaps[t] = 3
            if not keys:
                continue
            p = 1 / (1 + math.exp(-sum(w[key >> 46] for key in keys)))
            gold = t == ends[sentence]
            if abs(p - gold) < 0.005:
                continue
            total -= math.log(p if gold else 1 - p)
            for key in keys:
                q[key >> 46] += (p - gold) ** 2
                w[key >> 46] -= 0.2 * (p - gold) / math.sqrt(q[key >> 46])
    weights, squares = np.zeros(1 << 18, np.float32), np.ones(1 << 18, np.float32)
    arrays = np.array(lasts), np.array(ends), order, weights, squares
    loss = kernel.train(tokens, *arrays, 46, 0.2)
    assert np.array_equal(tokens.gaps, gaps)
    assert loss == pytest.approx(total, rel=1e-3)
    assert {at: weights[at] for at in np.flatnonzero(weights).tolist()} == pytest.approx(
        {at: value for at, value in w.items() if value}, abs=1e-3
    )


# ---------------------------------------------------------------- habits


def share(part: int, whole: int) -> int:
    return sum(part / max(whole, 1) >= bound for bound in (0.001, 0.3, 0.7, 0.999))


def habit(words: list[tuple[str, bool, bool]], form: str, without: int | None) -> int:
    """What is known of a word by the tokens but one: (form, is first, is the last word)."""
    low = high = first = final = every = 0
    for n, (word, is_first, is_final) in enumerate(words):
        if word.lower() == form.lower() and n != without:
            every += 1
            first += is_first
            final += is_final
            low += word[0].islower()
            high += word[0].isupper() and not is_first
    steps = [sum(count >= step for step in (1, 2, 4, 8)) for count in (low, first)]
    case = steps[0] + 5 * share(high, low + high)
    begin = steps[1] + 5 * share(first, first + high)
    often = sum(every >= step for step in (1, 2, 4, 16))
    ends = sum(final / every >= bound for bound in (0.001, 0.05, 0.2, 0.5)) if every else 0
    return case + 32 * begin + 1024 * (often + 5 * ends)


@settings(max_examples=60)
@given(st.lists(st.lists(st.sampled_from(["ab", "Ab", "c", ".", "C1"]), min_size=1, max_size=5),
                min_size=1, max_size=8))  # fmt: skip
def test_habits_of_words_are_counted_without_the_token_itself(sentences) -> None:
    tokens = [word for words in sentences for word in words]
    plain = squeezed(" ".join(tokens))
    lengths = np.array(list(map(len, tokens)))
    starts = 8 + np.concatenate([[0], np.cumsum(lengths + 1)[:-1]])
    ends = np.cumsum(list(map(len, sentences))) - 1
    found, of_tokens = _habits(plain, starts, starts + lengths, ends)
    words = []
    for sentence in sentences:
        letters = [n for n, word in enumerate(sentence) if word != "."]
        last = letters[-1] if letters else None
        words += [(word, n == 0, n == last) for n, word in enumerate(sentence)]
    assert of_tokens.tolist() == [habit(words, w, n) for n, (w, *_) in enumerate(words)]
    asked = kernel.habits_of(plain.chars, starts, starts + lengths, *found.table)
    assert asked.tolist() == [habit(words, word, None) for word, *_ in words]


def test_the_parts_of_a_habit_do_not_run_into_each_other() -> None:
    most = np.array([[99], [99], [99], [99], [99]])
    case, begin, final = (int(_codes(most)[0]) >> k & 31 for k in (0, 5, 10))
    assert (case, begin, final) == (4 + 5 * 2, 4 + 5 * 2, 4 + 5 * 4)
    none = np.zeros((5, 1), np.int64)
    assert _codes(none).tolist() == [0]
