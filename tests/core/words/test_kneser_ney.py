"""Kneser-Ney trigrams: a small example by hand, and every row sums to one."""

from __future__ import annotations

import numpy as np
import pytest

from eigentext.words.lm.kneser_ney import KneserNeyTrigram, _three_discounts


def _before(sentences: list[list[int]], n: int) -> tuple[np.ndarray, np.ndarray]:
    before, words = [], []
    for one in sentences:
        padded = [n, n, *one]
        before += [padded[i : i + 2] for i in range(len(one))]
        words += one
    return np.array(before), np.array(words)


def test_a_small_text_by_hand() -> None:
    """Sentences a b, a b, a c; no count of 3 or 4: D_1 by the formula, D_2 = 1, D_3 = 1.5."""
    a, b, c, start = 0, 1, 2, 3
    model = KneserNeyTrigram(*_before([[a, b], [a, b], [a, c]], 3), 3)
    # c(s s a) = 3, c(s a b) = 2, c(s a c) = 1: one of 1, one of 2; Y = 1/3
    d1, d2, d3 = 1 - 2 / 3, 2 / 2, 3 / 2
    # kinds: after s the counts themselves, m(s a) = 3; m(a b) = m(a c) = 1: n_1 = 2, n_2 = 0
    e1, e3 = 0.5, 1.5
    # different words before: a 1 (s), b 1 (a), c 1 (a): n_1 = 3, n_2 = 0
    f1 = 0.5
    alone = (1 - f1) / 3 + 3 * f1 / 3 / 3
    assert model.unigram == pytest.approx([alone] * 3)
    after_a = (1 - e1) / 2 + 2 * e1 / 2 * alone
    back = (d1 + d2) / 3
    for word, left in ((b, 2 - d2), (c, 1 - d1)):
        p = model.probabilities(np.array([[start, a]]), np.array([word]))
        assert p[0] == pytest.approx(left / 3 + back * after_a)
    first = (3 - d3) / 3 + d3 / 3 * ((3 - e3) / 3 + e3 / 3 * alone)
    assert model.row(start, start)[a] == pytest.approx(first)
    # never seen: a context of two words, then of one
    assert model.row(b, a)[b] == pytest.approx(after_a)
    assert model.row(b, c) == pytest.approx([alone] * 3)


def test_rows_sum_to_one() -> None:
    rng = np.random.default_rng(0)
    n = 7
    draw = rng.dirichlet(np.full(n, 0.3), size=(n + 1) ** 2)
    sentences = []
    for _ in range(60):
        one = [n, n]
        for _ in range(rng.integers(1, 9)):
            one.append(int(rng.choice(n, p=draw[one[-2] * (n + 1) + one[-1]])))
        sentences.append(one[2:])
    model = KneserNeyTrigram(*_before(sentences, n), n)
    for far in range(n + 1):
        for near in range(n + 1):
            row = model.row(far, near)
            assert row.min() > 0
            assert row.sum() == pytest.approx(1, abs=1e-12)


def test_discounts_are_those_of_chen_and_goodman() -> None:
    counts = np.repeat([1, 2, 3, 4, 5], [100, 40, 20, 12, 30])
    share = 100 / 180
    assert _three_discounts(counts) == pytest.approx(
        [0, 1 - 2 * share * 40 / 100, 2 - 3 * share * 20 / 40, 3 - 4 * share * 12 / 20]
    )
