"""Similarity and analogies: against scipy, by brute force, and what bad files get."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from eigentext.base.files.opening import write_lines
from eigentext.errors import DataError
from eigentext.evaluate.similarity import (
    read_analogies,
    read_pairs,
    score_analogies,
    score_similarity,
    spearman,
)
from eigentext.features.symbols import looked_up

few = st.integers(0, 4).map(float)  # few values: many ties


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(few, st.integers(-9, 9).map(float)), min_size=2, max_size=30))
def test_spearman_equals_scipy_with_ties(pairs):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    found = spearman(first, second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(spearmanr(first, second).statistic, abs=1e-12)
        assert spearman([-a for a in first], second) == pytest.approx(-found, abs=1e-12)
        # only the order counts
        assert spearman([a**3 + 5 for a in first], second) == pytest.approx(found, abs=1e-12)


def test_spearman_known_answers():
    # without ties: 1 - 6 sum d^2 / (n (n^2 - 1)), ranks 1 2 3 4 5 against 2 1 4 3 5
    assert spearman([1, 2, 3, 4, 5], [20, 10, 40, 30, 50]) == pytest.approx(1 - 6 * 4 / (5 * 24))
    assert math.isnan(spearman([], []))
    assert math.isnan(spearman([1.0], [1.0]))
    with pytest.raises(ValueError, match="as many"):
        spearman([1.0], [1.0, 2.0])


def test_similarity_looks_words_up_and_counts_what_is_covered():
    places = {"cat": 0, "Rome": 1, "dog": 2, "nothing": 3}
    vectors = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [0.0, 0.0]])
    pairs = [
        ("cat", "dog", 9.0),
        ("Cat", "rome", 1.0),
        ("dog", "ROME", 4.0),
        ("cat", "sea", 5.0),
        ("sea", "cat", 5.0),
        ("nothing", "cat", 0.0),
    ]
    score = score_similarity(places, vectors, pairs)
    assert (score.covered, score.total) == (4, 6)
    assert score.coverage == pytest.approx(4 / 6)
    cosines = [3 / math.sqrt(10), 0.0, 1 / math.sqrt(10), 0.0]
    assert score.rho == pytest.approx(spearmanr(cosines, [9, 1, 4, 0]).statistic)
    none = score_similarity({}, np.zeros((0, 2)), pairs)
    assert none.covered == 0
    assert math.isnan(none.rho)
    assert looked_up(places, "ROME") == 1
    assert looked_up(places, "sea") is None


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_analogies_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    n = 12
    vectors = rng.standard_normal((n, 3))
    words = [f"w{i}" for i in range(n)]
    questions = [tuple(f"w{i}" for i in rng.integers(0, n + 2, 4)) for _ in range(20)]
    score = score_analogies({word: i for i, word in enumerate(words)}, vectors, questions)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    right = covered = 0
    for question in questions:
        a, b, c, d = (int(word[1:]) for word in question)
        if max(a, b, c, d) >= n:
            continue
        covered += 1
        aim = unit[b] - unit[a] + unit[c]
        best = max((w for w in range(n) if w not in (a, b, c)), key=lambda w: unit[w] @ aim)
        right += best == d
    assert (score.right, score.covered, score.total) == (right, covered, 20)
    assert math.isnan(score_analogies({}, vectors, questions).accuracy)


def test_files_of_pairs(tmp_path):
    file = tmp_path / "pairs.txt"
    lines = ["\ufeff# scores\r", "tiger\tcat\t7.35\r", "\r", "new york\tcity\t3\r"]
    file.write_bytes("\n".join([*lines, "cup mug 9e-1", "sea,cup,0"]).encode())
    assert read_pairs(file) == [
        ("tiger", "cat", 7.35),
        ("new york", "city", 3.0),
        ("cup", "mug", 0.9),
        ("sea", "cup", 0.0),
    ]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("cup mug", "2 columns"),
        ("cup mug 3 4", "4 columns"),
        ("cup\t\t3", "columns, expected 3"),
        ("cup mug high", "score 'high'"),
        ("cup mug nan", "score 'nan'"),
        ("cup mug 1_0", "score '1_0'"),
    ],
)
def test_a_bad_pair_names_file_and_line(tmp_path, line, why):
    file = tmp_path / "pairs.txt"
    write_lines(file, ["tiger cat 7", line, "cup sea 1"])
    with pytest.raises(DataError, match=why) as found:
        read_pairs(file)
    assert found.value.line == 2
    skipped: list[DataError] = []
    assert len(read_pairs(file, on_error=skipped.append)) == 2
    assert [error.line for error in skipped] == [2]


def test_bad_files(tmp_path):
    write_lines(tmp_path / "empty", ["# nothing", ""])
    with pytest.raises(DataError, match="no word pairs"):
        read_pairs(tmp_path / "empty")
    (tmp_path / "latin").write_bytes(b"caf\xe9 tea 3\n")
    with pytest.raises(DataError, match="UTF-8"):
        read_pairs(tmp_path / "latin")
    write_lines(tmp_path / "q", [": one", "a b c d", ": two", "a b c"])
    with pytest.raises(DataError, match="3 words, expected 4") as found:
        read_analogies(tmp_path / "q")
    assert found.value.line == 4
    skipped: list[DataError] = []
    assert read_analogies(tmp_path / "q", on_error=skipped.append) == {
        "one": [("a", "b", "c", "d")]
    }
    assert len(skipped) == 1
    write_lines(tmp_path / "none", [": only"])
    with pytest.raises(DataError, match="no analogies"):
        read_analogies(tmp_path / "none")
