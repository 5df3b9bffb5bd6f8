"""New words in old clusters: they land with their like, and the old ones stay."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from eigentext.counting.counting import count_sentences
from eigentext.errors import SettingsError
from eigentext.evaluate.clustering import cluster_pairs
from eigentext.words.clusters.assign import WAYS, _nearest
from eigentext.words.clusters.model import SpectralClusters

GROUPS = ["I you we".split(), "see like want".split(), "tea soup rice".split()]


def sentences(groups, n, seed=0):
    """Two clauses a line, so that every word has neighbours on both sides."""
    rng = np.random.default_rng(seed)
    return [
        [w for _ in "12" for w in (*(str(rng.choice(group)) for group in groups), ".")]
        for _ in range(n)
    ]


@pytest.fixture(scope="module")
def model():
    return SpectralClusters(4).fit(sentences(GROUPS, 300))


@pytest.mark.parametrize("by", WAYS)
def test_new_words_join_their_like(model, by):
    grown = [[*GROUPS[0], "he"], [*GROUPS[1], "sell"], [*GROUPS[2], "bread"]]
    new = sentences(grown, 200, seed=1)
    more = model.assign(new, by=by)
    for old, word in (("you", "he"), ("see", "sell"), ("rice", "bread")):
        assert more.transform([word]) == more.transform([old])
    assert more.predict(model.words_).tolist() == model.labels_.tolist()
    assert set(more.words_) == {word for group in grown for word in group} | {"."}
    assert more.counts_.sum() == model.counts_.sum() + 8 * 200
    assert len(model.words_) == 10  # the old model is as it was


@pytest.mark.parametrize("by", WAYS)
def test_counts_of_cluster_pairs_grow_by_the_pairs_of_new_words(model, by):
    grown = [[*GROUPS[0], "he"], GROUPS[1], [*GROUPS[2], "bread"]]
    new = sentences(grown, 100, seed=2)
    more = model.assign(new, by=by)
    counts = count_sentences(new, contexts="r1")
    labels = np.array([more.predict([w])[0] for w in counts.words])
    fresh = np.isin(counts.words, ["he", "bread"])
    pairs = counts.matrix(1).toarray() * (fresh[:, None] | fresh[None, :])
    expected = model.clustering_.pairs + cluster_pairs(csr_array(pairs), np.maximum(labels, 0), 4)
    assert np.array_equal(more.clustering_.pairs, expected)


def test_unk_is_left_out_where_there_was_none(model):
    more = model.assign(count_sentences(sentences(GROUPS, 20), contexts="r1", vocab_size=5))
    assert "<unk>" not in more.words_


def test_a_word_beside_unknown_words_only_still_gets_a_cluster(model):
    for by in WAYS:
        assert model.assign([["xyz", "zyx"], ["alone"]], by=by).predict(["alone"])[0] >= 0


def test_unknown_way(model):
    with pytest.raises(SettingsError, match="information, centroid"):
        model.assign([["a"]], by="nonsense")


@pytest.mark.parametrize("group", GROUPS)
def test_a_word_beside_no_known_word_joins_the_cluster_of_most_words(model, group):
    few = [other[0] for other in GROUPS if other != group]
    new = [[word] for word in (*group, *few)] + [["alone"]]
    more = model.assign(new, by="centroid")
    assert more.transform(["alone"]) == more.transform([group[0]])


def test_the_nearest_cluster_is_that_of_the_definition():
    rng = np.random.default_rng(3)
    chosen = []
    for _ in range(20):
        m, n = 4, 12
        # clusters that follow something often need not precede anything often
        table = (
            rng.integers(0, 30, (m, m)) * np.array([1, 1, 8, 1]) * np.array([[1], [9], [1], [1]])
        )
        pairs = csr_array(rng.integers(0, 3, (n, n)))
        labels = np.array([*rng.integers(0, m, n - 3), -1, -1, -1])
        fresh = np.arange(n - 3, n)

        def seen(right, left, table=table):
            """What stands to the right and to the left, by clusters, each less by its size."""
            scale = [1 / np.sqrt(table.sum(axis=axis) + 1) for axis in (0, 1)]
            return np.concatenate([right * scale[0], left * scale[1]])

        clusters = [seen(table[c], table[:, c]) for c in range(m)]
        for word, found in zip(fresh, _nearest(table, pairs, labels, fresh), strict=True):
            sides = np.zeros((2, m))
            for other in range(n - 3):
                sides[0, labels[other]] += pairs[word, other]
                sides[1, labels[other]] += pairs[other, word]
            mine = seen(*sides)
            cosines = [mine @ c / np.linalg.norm(c) for c in clusters]
            assert cosines[found] == pytest.approx(max(cosines), rel=1e-9)
            chosen.append(found)
    assert set(chosen) == set(range(4))


def test_unk_grows_where_there_was_one():
    def counted(n):
        return count_sentences(sentences(GROUPS, n), contexts="r1", vocab_size=5)

    model = SpectralClusters(3).fit(counted(100))
    before = dict(zip(model.words_, model.counts_.tolist(), strict=True))
    new = counted(40)
    more = model.assign(new)
    after = dict(zip(more.words_, more.counts_.tolist(), strict=True))
    own = dict(zip(new.words, new.unigrams.tolist(), strict=True))
    assert own["<unk>"] > 0
    assert after["<unk>"] == before["<unk>"] + own["<unk>"]
