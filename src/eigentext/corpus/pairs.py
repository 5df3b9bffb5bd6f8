"""Ids to pair counts: the second pass.

1. :func:`row_parts` cuts the vocabulary into row ranges with about the same number of tokens;
2. :func:`count_part` counts the pairs whose left word is in one range: they are put into buckets
   by their right word, each bucket is summed in a dense array, and the sums are transposed into
   rows, which so come out sorted.

Parts are independent of each other, so they can be counted at the same time.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from eigentext.corpus.spill import Run

__all__ = ["count_part", "row_parts"]

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


def row_parts(unigrams: Int64s, n_parts: int) -> list[tuple[int, int]]:
    """Cut the ids into at most ``n_parts`` ranges of about the same number of tokens.

    >>> row_parts(np.array([5, 1, 2, 2]), 2)
    [(0, 1), (1, 4)]
    """
    below = np.cumsum(unigrams)
    goals = [below[-1] * i / n_parts for i in range(1, n_parts)]
    inner = [int(np.searchsorted(below, goal)) + 1 for goal in goals]
    cuts = sorted({0, len(unigrams), *inner})
    return list(itertools.pairwise(cuts))


def count_part(
    ids: Int32s, begin: int, span: tuple[int, int], rows: tuple[int, int], n_words: int
) -> Run:
    """Counts of (ids[i - d], ids[i]) for i >= begin, distances d in the span, left id in the rows.

    Row r of the run is the left word ``rows[0] + r``, its columns are the right words.

    >>> count_part(np.array([0, 1, 0, 1, -1, 0], dtype=np.int32), 0, (1, 1), (0, 2), 2).rows(0, 2)
    (array([0, 1, 2]), array([1, 0], dtype=int32), array([2, 1]))
    """
    from eigentext.corpus import kernels

    nearest, farthest = span
    row_begin, row_end = rows
    n_rows = row_end - row_begin
    starts = np.zeros(n_words + 1, dtype=np.int64)
    kernels.bucket_sizes(ids, begin, nearest, farthest, row_begin, row_end, starts)
    np.cumsum(starts, out=starts)
    bucket = np.empty(int(starts[-1]), dtype=np.int32)
    kernels.fill_buckets(
        ids, begin, nearest, farthest, row_begin, row_end, starts[:-1].copy(), bucket
    )
    sums = np.empty(len(bucket), dtype=np.int32)
    ends = np.empty(n_words, dtype=np.int64)
    row_starts = np.zeros(n_rows + 1, dtype=np.int64)
    dense = np.zeros(n_rows, dtype=np.int32)
    used = kernels.sum_buckets(bucket, starts, dense, sums, ends, row_starts)
    np.cumsum(row_starts, out=row_starts)
    columns = np.empty(used, dtype=np.int32)
    data = np.empty(used, dtype=np.int64)
    kernels.buckets_to_rows(bucket, sums, ends, row_starts[:-1].copy(), columns, data)
    return Run(row_starts, columns, data)
