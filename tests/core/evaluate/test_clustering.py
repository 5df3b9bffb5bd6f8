"""Mutual information of clusterings against a count over the text itself."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from eigentext.base.files.opening import write_lines
from eigentext.counting.counting import count
from eigentext.errors import DataError
from eigentext.evaluate.clustering import (
    cluster_pairs,
    contingency,
    information_of_pairs,
    many_to_one,
    mutual_information,
    paths_information,
    v_measure,
)

sentences = st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8), min_size=1)


def by_hand(lines, cluster):
    pairs = Counter((cluster(a), cluster(b)) for s in lines for a, b in pairwise(s))
    left, right = Counter(), Counter()
    for (a, b), n in pairs.items():
        left[a] += n
        right[b] += n
    total = sum(pairs.values())
    return sum(n / total * log(n * total / left[a] / right[b]) for (a, b), n in pairs.items())


@given(sentences, st.lists(st.sampled_from(["000", "001", "01", "10", "11"]), min_size=5))
def test_text_and_counts_and_prefixes_agree_with_a_count_by_hand(lines, bits):
    clusters = dict(zip("abcde", bits, strict=False))  # f is outside the clustering
    write_lines("memory://test/mi.txt", [" ".join(s) for s in lines])
    counts = count(["memory://test/mi.txt"], contexts="r1")
    for text in (["memory://test/mi.txt"], counts):
        found = paths_information(clusters, text, [1, 2, None])
        for length, value in found.items():
            expected = by_hand(
                lines, lambda w, n=length: clusters.get(w, "none")[:n] if w in clusters else "none"
            )
            assert value == pytest.approx(expected, abs=1e-12)


def test_words_outside_share_the_cluster_of_unk_if_there_is_one():
    write_lines("memory://test/unk.txt", ["a z b y", "b y a z a"])
    with_unk = paths_information({"a": "0", "b": "0", "<unk>": "1"}, ["memory://test/unk.txt"])
    named = paths_information({"a": "0", "b": "0", "y": "1", "z": "1"}, ["memory://test/unk.txt"])
    assert with_unk[None] == pytest.approx(named[None])
    counts = count(["memory://test/unk.txt"], contexts="r1")  # with words of their own
    shared = paths_information({"a": "0", "b": "1", "<unk>": "1"}, counts)
    named = paths_information({"a": "0", "b": "1", "y": "1", "z": "1"}, counts)
    assert shared[None] == pytest.approx(named[None])  # not a cluster of their own beside b's


def test_edges():
    assert information_of_pairs(np.zeros((3, 3))) == 0
    assert mutual_information(csr_array(np.ones((4, 4))), np.zeros(4, dtype=int)) == 0
    pairs = csr_array(np.array([[1, 2], [3, 4]]))
    assert cluster_pairs(pairs, np.array([0, 1]), 3).sum() == 10
    with pytest.raises(DataError, match="no words"):
        paths_information({}, ["x"])


@pytest.mark.requires("data")
def test_an_independent_scorer_agrees(data, tmp_path):
    """The stored paths of wcluster on the first lines of the text they were made from."""
    from itertools import islice

    from eigentext.base.files.opening import numbered_lines
    from eigentext.language.formats.brown_paths import read_paths

    paths = data / "peers" / "wcluster-wiki50k-200.paths.xz"
    clusters = {entry.word: entry.bits for entry in read_paths(str(paths))}
    lines = [
        text.split() for _, text in islice(numbered_lines(str(data / "text/wiki.txt.xz")), 3000)
    ]
    write_lines(str(tmp_path / "text"), [" ".join(s) for s in lines])
    found = paths_information(clusters, [str(tmp_path / "text")], [4, None])
    unknown = clusters["<unk>"]
    assert found[None] == pytest.approx(by_hand(lines, lambda w: clusters.get(w, unknown)))
    assert found[4] == pytest.approx(by_hand(lines, lambda w: clusters.get(w, unknown)[:4]))


# ---------------------------------------------------------------- against tags


def test_many_to_one_of_a_known_table():
    # clusters stand for b (4), a (3) and a (1): 8 of 10 tokens
    table = [[1, 4, 0], [3, 0, 0], [1, 0, 1]]
    assert many_to_one(np.array(table)) == pytest.approx(0.8)


def test_v_measure_of_a_known_table():
    # 2 clusters of 2, tags a a b c: H(c) = log 2, H(t) = 1.5 log 2, I = log 2
    table = contingency(np.array([0, 0, 1, 1]), ["a", "a", "b", "c"])
    assert table.tolist() == [[2, 0, 0], [0, 1, 1]]
    assert v_measure(table) == pytest.approx(2 / 2.5)
    assert v_measure(np.array([[5]])) == 1.0
    assert v_measure(np.array([[2, 2]])) == pytest.approx(0.0)


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abc")), min_size=1))
def test_v_measure_is_that_of_scikit_learn(tokens):
    from sklearn.metrics import v_measure_score

    clusters, tags = [c for c, _ in tokens], [t for _, t in tokens]
    ours = v_measure(contingency(np.array(clusters), tags))
    assert ours == pytest.approx(v_measure_score(tags, clusters), abs=1e-9)


def test_as_many_clusters_as_tags_are_needed():
    with pytest.raises(DataError, match="2 clusters and 1 tags"):
        contingency(np.array([0, 1]), ["a"])
    with pytest.raises(DataError, match="at least one"):
        contingency(np.zeros(0, int), [])
