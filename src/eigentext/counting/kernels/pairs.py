"""Compiled loops over ids: pair counts as sorted CSR rows.  Nothing is validated here.

1. ``count_ids``        how large the bucket of each right word must be
2. ``fill_buckets``     the left word of every pair into the bucket of its right word
3. ``sum_buckets``      each bucket to its distinct left words and their counts
4. ``buckets_to_rows``  those columns turned into rows: one counting sort, no comparison
5. ``merge_rows``       two blocks of rows -> their sum

Time is that of reading each pair a few times; memory is one id and one count a pair.
"""

import numpy as np

from eigentext.base.compiling import njit


@njit(nogil=True)
def count_ids(ids, begin, end, sizes):
    """How often each id occurs from ``begin`` to ``end``: added to ``sizes``."""
    for i in range(begin, end):
        if ids[i] >= 0:
            sizes[ids[i]] += 1


@njit(nogil=True)
def fill_buckets(ids, begin, end, nearest, farthest, ends, bucket):
    """Put the left word of each pair into the bucket of its right word.

    A pair is (ids[i - d], ids[i]) with begin <= i < end, nearest <= d <= farthest, and no sentence
    end between them.  ``ends[c]`` is where bucket c begins; it moves to where the bucket ends.
    """
    for i in range(begin, end):
        if ids[i] >= 0:
            for distance in range(1, min(farthest, i) + 1):
                left = ids[i - distance]  # the word so many before
                if left < 0:
                    break
                if distance >= nearest:
                    at = ends[ids[i]]  # the next free place of the bucket
                    bucket[at] = left
                    ends[ids[i]] = at + 1


@njit(nogil=True)
def sum_buckets(bucket, starts, ends, dense, sums, row_sizes):
    """Reduce each bucket to its distinct rows, in place, with how often each occurs in ``sums``.

    The buckets are closed up: afterwards ``ends[c]`` is where column c ends, and column c + 1
    begins.  ``row_sizes[r + 1]`` is the number of distinct columns of row r.  ``dense`` is all
    zero before and after.
    """
    used = 0
    for column in range(starts.shape[0]):
        begin = used
        # dense[row]: how often the row came in this bucket; zero again behind it
        for at in range(starts[column], ends[column]):
            row = bucket[at]
            bucket[used] = row  # used <= at, so nothing unread is overwritten
            used += dense[row] == 0
            dense[row] += 1
        for at in range(begin, used):
            row = bucket[at]
            sums[at] = dense[row]
            dense[row] = 0
            row_sizes[row + 1] += 1
        ends[column] = used
    return used


@njit(nogil=True)
def buckets_to_rows(rows, sums, ends, cursor, indices, data):
    """Transpose columns of (row, sum) into rows whose columns come out in ascending order."""
    begin = 0
    for column in range(ends.shape[0]):
        for at in range(begin, ends[column]):
            entry = cursor[rows[at]]
            indices[entry] = column  # columns come in order
            data[entry] = sums[at]
            cursor[rows[at]] = entry + 1
        begin = ends[column]


@njit(nogil=True)
def merge_rows(a, b, total):
    """Sum of two blocks of sorted CSR rows (starts, columns, data); returns the entries written.

    Row by row, as sorted lists are merged: the smaller column first, equal ones together.
    """
    starts_a, columns_a, data_a = a
    starts_b, columns_b, data_b = b
    starts, columns, data = total
    used = 0
    starts[0] = 0
    for row in range(starts_a.shape[0] - 1):
        at_a = starts_a[row] - starts_a[0]
        at_b = starts_b[row] - starts_b[0]
        end_a = starts_a[row + 1] - starts_a[0]
        end_b = starts_b[row + 1] - starts_b[0]
        while at_a < end_a or at_b < end_b:
            from_a = at_b == end_b or (at_a < end_a and columns_a[at_a] <= columns_b[at_b])
            from_b = at_a == end_a or (at_b < end_b and columns_b[at_b] <= columns_a[at_a])
            columns[used] = columns_a[at_a] if from_a else columns_b[at_b]
            value = np.int64(0)
            if from_a:
                value += data_a[at_a]
                at_a += 1
            if from_b:
                value += data_b[at_b]
                at_b += 1
            data[used] = value
            used += 1
        starts[row + 1] = used
    return used
