"""New words into existing clusters, without learning anew.

1. The new text is counted; words that the clusters know stay where they are.
2. ``information``: each new word, by frequency, goes to the cluster where its pairs with words
   that have a cluster raise the mutual information most (the step of :mod:`.exchange`).
   ``centroid``: it goes to the cluster whose neighbouring clusters are most like its own, by the
   cosine between the vectors of figure 4 made of cluster pairs.
3. The counts of cluster pairs grow by what was put in, so that later words profit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eigentext.base.types import Int64s, Numbers, Sparse
from eigentext.counting.counts import Counts
from eigentext.counting.vocabulary import UNKNOWN
from eigentext.errors import SettingsError
from eigentext.evaluate.clustering import information_of_pairs
from eigentext.linalg.scaling import inverse_sqrt_totals
from eigentext.linalg.ties import TIE, single_threaded
from eigentext.words.clusters.exchange import ExchangeState, refine
from eigentext.words.clusters.methods import WordClustering, context_counts

WAYS = ("information", "centroid")


def assign(
    clustering: WordClustering, counts: Counts, *, by: str = "information"
) -> WordClustering:
    """The clustering with the words of other counts (with the context +1) put in.

    Words that were in keep their cluster; their number of tokens grows.  ``<unk>`` of the new
    counts is the old one's, or left out where there was none.

    >>> from eigentext.counting.counting import count_sentences
    >>> from eigentext.words.clusters.model import SpectralClusters
    >>> old = [s.split() for s in ["a cat ran", "a dog ran", "the cat sat", "the dog sat"]] * 3
    >>> new = [s.split() for s in ["the emu sat", "a emu ran", "the cat sat"]]
    >>> known = SpectralClusters(3).fit(old).clustering_
    >>> more = assign(known, count_sentences(new, contexts="r1"))
    >>> cluster_of = dict(zip(more.words, more.labels.tolist()))
    >>> cluster_of["emu"] == cluster_of["cat"]
    True
    """
    if by not in WAYS:
        raise SettingsError(f"assign by {by!r}: expected one of {', '.join(WAYS)}")
    m = len(clustering.paths)
    ids = dict(zip(clustering.words, clustering.labels.tolist(), strict=True))
    words = np.flatnonzero(counts.unigrams > 0)
    names = [counts.words[w] for w in words.tolist()]
    if UNKNOWN not in ids and names[-1] == UNKNOWN:
        words, names = words[:-1], names[:-1]
    tokens = counts.unigrams[words]
    labels = np.array([ids.get(name, -1) for name in names], dtype=np.int64)
    order = np.argsort(-tokens, kind="stable")
    pairs = context_counts(counts, (1,), words)[0]
    old_sizes = np.bincount(clustering.labels, minlength=m).astype(np.int64)
    with single_threaded():
        state = ExchangeState.of_table(clustering.pairs, old_sizes)
        fresh = order[labels[order] < 0]
        if by == "centroid" and fresh.size:
            labels[fresh] = _nearest(clustering.pairs, pairs, labels, fresh)
            table = clustering.pairs + _new_pairs(pairs, labels, fresh, m)
        else:
            labels = refine(pairs, labels, m, order, passes=0, state=state).labels
            table = state.ahead.astype(np.int64)
    return _joined(clustering, names, tokens, labels, table)


def _new_pairs(pairs: Sparse, labels: Int64s, fresh: npt.NDArray[np.intp], m: int) -> Int64s:
    """Counts of cluster pairs in which a new word takes part; (m, m)."""
    from eigentext.evaluate.clustering import cluster_pairs

    clustered = np.ones(labels.shape[0], dtype=bool)
    clustered[fresh] = False
    old = pairs.tocoo()
    between = clustered[old.row] & clustered[old.col]
    new_pairs = pairs.copy()
    new_pairs.data = np.where(between, 0, old.data)
    return cluster_pairs(new_pairs, labels, m)


def _nearest(table: Numbers, pairs: Sparse, labels: Int64s, fresh: npt.NDArray[np.intp]) -> Int64s:
    """The cluster nearest by cosine, seen through the clusters to the right and left."""
    m = table.shape[0]
    clustered = np.flatnonzero(labels >= 0)
    member = np.zeros((labels.shape[0], m))  # (n, m) one-hot
    member[clustered, labels[clustered]] = 1.0
    profiles = np.hstack([pairs[fresh] @ member, pairs.T.tocsr()[fresh] @ member])
    clusters = np.hstack([table, table.T]).astype(np.float64)
    weights = np.concatenate(
        [inverse_sqrt_totals(table.sum(axis=0), 1.0), inverse_sqrt_totals(table.sum(axis=1), 1.0)]
    )
    profiles, clusters = profiles * weights, clusters * weights
    clusters /= np.maximum(np.linalg.norm(clusters, axis=1, keepdims=True), 1e-300)
    nearness = profiles @ clusters.T  # cosines up to the length of the profile
    best = nearness.max(axis=1, keepdims=True)
    chosen = (nearness >= best * (1 - TIE["d"])).argmax(axis=1)  # of equal ones the first
    # a word beside no known word says nothing: it joins the cluster of most words
    silent = ~profiles.any(axis=1)
    chosen[silent] = int(np.bincount(labels[clustered], minlength=m).argmax())
    return np.asarray(chosen, dtype=np.int64)


def _joined(
    old: WordClustering, names: list[str], tokens: Int64s, labels: Int64s, table: Int64s
) -> WordClustering:
    index_of = {word: i for i, word in enumerate(old.words)}
    counts = old.counts.copy()
    fresh = []
    for i, name in enumerate(names):
        if name in index_of:
            counts[index_of[name]] += tokens[i]
        else:
            fresh.append(i)
    words = (*old.words, *(names[i] for i in fresh))
    all_counts = np.concatenate([counts, tokens[fresh]])
    all_labels = np.concatenate([old.labels, labels[fresh]])
    order = np.argsort(-all_counts, kind="stable")
    return WordClustering(
        tuple(words[i] for i in order.tolist()),
        all_counts[order],
        all_labels[order],
        list(old.paths),
        table,
        information_of_pairs(table),
        old.singular_values,
        old.gamma,
        list(old.history),
    )
