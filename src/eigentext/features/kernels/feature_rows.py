"""Loops over feature rows: numbering them, and products with them.

A feature matrix X (M nodes, d features) has one entry per node and template, so it is kept as
``columns`` and ``values``, both (M, F), without row pointers.
"""

import numpy as np

from eigentext.base.compiling import njit


@njit(nogil=True)
def number_features(features, columns, counts):
    """Number the different features by first appearance and count them; returns how many."""
    # Open addressing in a table at least twice as long as the entries: several times faster than
    # sorting, and sorting was a sixth of the training time.
    n, width = features.shape
    size = 16
    while size < 2 * n * width:
        size *= 2
    table = np.empty(size, np.uint64)
    number = np.full(size, -1, np.int32)
    mask = np.uint64(size - 1)
    n_numbers = 0
    for i in range(n):
        for f in range(width):
            key = features[i, f]
            slot = (key ^ (key >> np.uint64(32))) & mask
            while number[slot] >= 0 and table[slot] != key:
                slot = (slot + np.uint64(1)) & mask
            if number[slot] < 0:
                table[slot] = key
                number[slot] = n_numbers
                counts[n_numbers] = 0
                n_numbers += 1
            columns[i, f] = number[slot]
            counts[number[slot]] += 1
    return n_numbers


@njit(fastmath=True, inline="always")
def project_row(columns, values, W, row):
    """row = x W, for one row x of X: the sum of the rows of W that its entries name."""
    for j in range(len(row)):
        row[j] = 0.0
    for f in range(len(columns)):
        v = values[f]
        source = W[columns[f]]
        for j in range(len(row)):
            row[j] += v * source[j]


@njit(nogil=True, fastmath=True)
def project(columns, values, W, out):
    """out = X W."""
    for i in range(len(columns)):
        project_row(columns[i], values[i], W, out[i])


@njit(nogil=True, fastmath=True)
def cross(columns, values, other_columns, other_values, W, out):
    """out = X' (Y W) in one sweep over the nodes; Y is the other matrix."""
    n, width = columns.shape
    k = W.shape[1]
    row = np.empty(k, np.float32)
    out[:] = 0.0
    for i in range(n):
        project_row(other_columns[i], other_values[i], W, row)
        for f in range(width):
            v = values[i, f]
            target = out[columns[i, f]]
            for x in range(k):
                target[x] += v * row[x]
