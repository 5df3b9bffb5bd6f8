"""Mutual information of neighbouring clusters (Eq. 3 of Stratos et al.), for any clustering.

    MI = sum over (c, c') of  n(c, c') / N  log( n(c, c') N / (n(c, .) n(., c')) )

n counts pairs of neighbours within a line, N is their number; natural logarithm.
:func:`mutual_information` takes pair counts of words and a cluster for each word;
:func:`paths_information` takes a ``paths`` file and text, or counts, and any length of prefix.
:func:`many_to_one` and :func:`v_measure` compare clusters, or the states of a model, with tags.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from eigentext.base.types import Float64s, Int64s
from eigentext.counting.counts import Counts
from eigentext.counting.vocabulary import UNKNOWN
from eigentext.errors import DataError

_ENTRIES_AT_ONCE = 4_000_000
Length = TypeVar("Length", int, int | None)  # of a prefix; None: whole paths


def information_of_pairs(pairs: npt.NDArray[np.number]) -> float:
    """The mutual information in a dense matrix of pair counts, in nats.

    >>> round(information_of_pairs(np.array([[0, 5], [5, 0]])), 4)
    0.6931
    """
    counts = np.asarray(pairs, dtype=np.float64)
    total = counts.sum()
    if total <= 0:
        return 0.0
    entropy = _x_log_x(counts) - _x_log_x(counts.sum(axis=1)) - _x_log_x(counts.sum(axis=0))
    return float(entropy / total + np.log(total))


def _x_log_x(x: Float64s) -> float:
    positive = x[x > 0]
    return float((positive * np.log(positive)).sum())


def cluster_pairs(pairs: Any, labels: npt.NDArray[np.integer], n_clusters: int) -> Int64s:
    """How often cluster a stands before cluster b: (m, m), from (n, n) CSR counts of words.

    >>> from scipy.sparse import csr_array
    >>> cluster_pairs(csr_array(np.array([[0, 2], [3, 0]])), np.array([1, 1]), 2).tolist()
    [[0, 0], [0, 5]]
    """
    labels = np.asarray(labels, dtype=np.int64)
    starts = pairs.indptr
    sums = np.zeros(n_clusters**2)
    # Rows with some million entries at a time: the whole may be as large as memory allows.
    cuts = np.searchsorted(starts, np.arange(0, max(int(starts[-1]), 1), _ENTRIES_AT_ONCE))
    for first, last in zip(cuts, [*cuts[1:], labels.shape[0]], strict=True):
        entries = slice(int(starts[first]), int(starts[last]))
        rows = np.repeat(labels[first:last], np.diff(starts[first : last + 1]))
        cells = rows * n_clusters + labels[pairs.indices[entries]]
        # float64 sums are exact below 2**53
        sums += np.bincount(cells, weights=pairs.data[entries], minlength=n_clusters**2)
    return sums.astype(np.int64).reshape(n_clusters, n_clusters)


def mutual_information(pairs: object, labels: npt.NDArray[np.integer]) -> float:
    """The mutual information of a clustering, given (n, n) CSR counts of neighbouring words.

    >>> from scipy.sparse import csr_array
    >>> pairs = csr_array(np.array([[0, 0, 2], [0, 0, 3], [4, 1, 0]]))
    >>> round(mutual_information(pairs, np.array([0, 0, 1])), 4)
    0.6931
    """
    labels = np.asarray(labels)
    return information_of_pairs(cluster_pairs(pairs, labels, int(labels.max(initial=0)) + 1))


def paths_information(
    clusters: Mapping[str, str],
    text: Counts | Iterable[str],
    prefixes: Sequence[int | None] = (None,),
) -> dict[int | None, float]:
    """The mutual information of a clustering given as bits by word, for each length of prefix.

    ``text`` is counts with the context +1, or files of tokenised text.  Words outside the
    clustering share one cluster of their own (or that of ``<unk>`` if it has one).

    >>> from eigentext.base.files.opening import atomic_write
    >>> with atomic_write("memory://mi-example.txt") as out:
    ...     _ = out.write(b"a x b y a y b x\\n")
    >>> bits = {"a": "00", "b": "01", "x": "1", "y": "1"}
    >>> {k: round(v, 4) for k, v in paths_information(bits, ["memory://mi-example.txt"],
    ...                                               [1, None]).items()}
    {1: 0.6829, None: 0.6829}
    """
    from eigentext.counting.counting import count
    from eigentext.counting.counts import Counts

    if not clusters:
        raise DataError("clusters", None, "no words in this clustering")
    counts = (
        text if isinstance(text, Counts) else count(text, contexts="r1", vocabulary=list(clusters))
    )
    unknown = clusters.get(UNKNOWN)
    paths = [clusters.get(word, unknown) for word in counts.words]
    return prefix_information(counts.matrix(+1), paths, prefixes)


def prefix_information(
    pairs: object, paths: Sequence[str | None], lengths: Sequence[Length]
) -> dict[Length, float]:
    """The mutual information of the clusterings that prefixes of the paths give.

    Words (or clusters) without a path share one cluster; pair counts are dense or CSR.

    >>> prefix_information(np.array([[0, 5], [5, 0]]), ["0", "1"], [0, 1])[0]
    0.0
    """
    from scipy.sparse import csr_array

    matrix = csr_array(pairs) if isinstance(pairs, np.ndarray) else pairs
    information = {}
    for length in lengths:
        numbers: dict[str | None, int] = {}
        prefixes = (None if path is None else path[:length] for path in paths)
        labels = [numbers.setdefault(prefix, len(numbers)) for prefix in prefixes]
        information[length] = mutual_information(matrix, np.array(labels))
    return information


# ---------------------------------------------------------------- against tags


def contingency(clusters: npt.NDArray[np.integer], tags: Sequence[str]) -> Int64s:
    """How often each cluster (a row) meets each tag (a column, by name).

    >>> contingency(np.array([0, 0, 2]), ["b", "a", "b"]).tolist()
    [[1, 1], [0, 0], [0, 1]]
    """
    names, columns = np.unique(np.asarray(tags, dtype=str), return_inverse=True)
    rows = np.asarray(clusters, np.int64)
    if len(rows) != len(columns) or not len(rows):
        why = f"{len(rows)} clusters and {len(columns)} tags: expected as many, at least one"
        raise DataError("tags", None, why)
    cells = np.bincount(rows * len(names) + columns, minlength=(rows.max() + 1) * len(names))
    return cells.astype(np.int64).reshape(-1, len(names))


def many_to_one(table: npt.NDArray[np.number]) -> float:
    """Share of tokens that are right when each cluster stands for its most frequent tag.

    >>> many_to_one(np.array([[3, 1], [0, 2], [1, 1]]))
    0.75
    """
    counts = np.asarray(table, dtype=np.float64)
    return float(counts.max(axis=1).sum() / counts.sum())


def v_measure(table: npt.NDArray[np.number]) -> float:
    """Harmonic mean of homogeneity and completeness (Rosenberg and Hirschberg 2007).

    With I the mutual information of clusters and tags and H their entropies,
    ``V = 2 I / (H(clusters) + H(tags))``; 1 where both have one value only.

    >>> v_measure(np.array([[2, 0], [0, 2]])), v_measure(np.array([[1, 1], [1, 1]]))
    (1.0, 0.0)
    """
    counts = np.asarray(table, dtype=np.float64)
    total = counts.sum()
    sums = sum(_x_log_x(counts.sum(axis=axis)) for axis in (0, 1))
    both = 2 * float(np.log(total)) - sums / float(total)  # both entropies
    if both <= 0:
        return 1.0
    return max(0.0, 2 * information_of_pairs(counts) / both)


# ---------------------------------------------------------------- topics


def npmi_coherence(topics: Sequence[Sequence[int]] | Int64s, counts: Any) -> Float64s:
    """(k,) the coherence of topics, each given as columns of ``counts`` (documents, words)::

        npmi(u, v) = log(p(u, v) / (p(u) p(v))) / -log p(u, v)

    with p the share of documents in which a word, or both words, stand: 1 where one never stands
    without the other, 0 where they are independent, -1 where they never meet (Bouma 2009; Lau,
    Newman and Baldwin 2014).  The coherence of a topic is the mean over all pairs of its words.

    A pair of which one word stands in no document says nothing and counts as 0.

    >>> from scipy.sparse import csr_array
    >>> documents = csr_array(np.array([[1, 2, 0], [3, 1, 0], [0, 0, 1], [0, 0, 0]]))
    >>> npmi_coherence([[0, 1], [0, 2]], documents).tolist()
    [1.0, -1.0]
    """
    n = counts.shape[0]
    values = []
    for words in topics:
        there = counts[:, list(words)].toarray() > 0
        joint = there.T.astype(np.float64) @ there / n
        alone = np.diag(joint)
        pairs = [
            _npmi(float(joint[i, j]), float(alone[i]), float(alone[j]))
            for i in range(len(alone))
            for j in range(i)
        ]
        values.append(float(np.mean(pairs)) if pairs else 0.0)
    return np.array(values)


def _npmi(both: float, first: float, second: float) -> float:
    if first == 0 or second == 0:
        return 0.0
    if both == 0:
        return -1.0
    if both == 1:
        return 1.0
    return float(np.log(both / (first * second)) / -np.log(both))
