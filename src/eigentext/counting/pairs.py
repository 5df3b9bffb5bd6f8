"""Ids to pair counts: the second pass.

:func:`count_pairs` takes a stretch of ids.  Its pairs are put into buckets by their right word,
each bucket is summed in a dense array, and the sums are transposed into rows, which so come out
sorted.  Stretches are independent of each other: they can be counted at the same time, and their
runs add up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigentext.counting.spill import PairRun

if TYPE_CHECKING:
    from eigentext.base.types import Int32s


def count_pairs(ids: Int32s, begin: int, end: int, span: tuple[int, int], n_words: int) -> PairRun:
    """Counts of (ids[i - d], ids[i]) for begin <= i < end and distances d in the span.

    Rows are left words, columns are right words; -1 in the ids ends a sentence.

    >>> ids = np.array([0, 1, 0, 1, -1, 0], dtype=np.int32)
    >>> count_pairs(ids, 0, 6, (1, 1), 2).rows(0, 2)
    (array([0, 1, 2]), array([1, 0], dtype=int32), array([2, 1]))
    """
    from eigentext.counting.kernels import pairs as kernels

    nearest, farthest = span
    # int32: a batch has fewer than 2**31 pairs, and these arrays have to stay in the cache
    sizes = np.zeros(n_words, dtype=np.int32)
    kernels.count_ids(ids, begin, end, sizes)  # no word is the right one of more pairs
    closes = np.cumsum(sizes * np.int32(farthest - nearest + 1), dtype=np.int32)
    starts = np.zeros_like(closes)
    starts[1:] = closes[:-1]
    ends = starts.copy()
    bucket = np.empty(int(closes[-1]), dtype=np.int32)
    kernels.fill_buckets(ids, begin, end, nearest, farthest, ends, bucket)
    sums = np.empty(len(bucket), dtype=np.int32)
    row_starts = np.zeros(n_words + 1, dtype=np.int64)
    dense = np.zeros(n_words, dtype=np.int32)
    used = kernels.sum_buckets(bucket, starts, ends, dense, sums, row_starts)
    np.cumsum(row_starts, out=row_starts)
    columns = np.empty(used, dtype=np.int32)
    data = np.empty(used, dtype=np.int64)
    kernels.buckets_to_rows(bucket, sums, ends, row_starts[:-1].copy(), columns, data)
    return PairRun.of(row_starts, columns, data)
