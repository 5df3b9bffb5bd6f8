"""Loops of tree induction: the shortest binary tree over words in their order, from distances.

Leaves are the words 0 to n - 1.  A binary tree without a root in which every edge cuts off a
stretch of words is drawn from its last leaf: all its other nodes are then stretches [i, j) of the
first n - 1 words, and the chart is that of CKY.
"""

from __future__ import annotations

import numpy as np

from eigentext.base.compiling import njit


@njit
def _sums(D):
    """(n + 1, n + 1): sums[i, j] is the sum of D[:i, :j]."""
    n = len(D)
    sums = np.zeros((n + 1, n + 1))
    for i in range(n):
        row = 0.0
        for j in range(n):
            row += D[i, j]
            sums[i + 1, j + 1] = sums[i, j + 1] + row
    return sums


@njit
def _between(sums, a, b, c, d):
    """The sum of the distances of [a, b) and [c, d)."""
    return sums[b, d] - sums[a, d] - sums[b, c] + sums[a, c]


@njit
def _edge(sums, i, k, j, s, e):
    """Length of the edge above node [i, j), by least squares, from means of distances."""
    # The node has the children A = [i, k) and B = [k, j), its sibling is S = [s, e), and R are all
    # the other words.  With D(X, Y) the mean distance of their words, and sizes a, b, s, r:
    #     2 length = w (D(A, S) + D(B, R)) + (1 - w) (D(A, R) + D(B, S)) - D(A, B) - D(S, R)
    #     w        = (a r + b s) / ((a + b) (s + r))
    # and for a word A alone, which has no children, D(A, S) + D(A, R) - D(S, R).
    n = len(sums) - 1
    size, n_s = j - i, e - s
    n_r = n - size - n_s
    to_s = _between(sums, i, j, s, e)
    s_r = _between(sums, s, e, 0, n) - to_s - _between(sums, s, e, s, e)
    between = s_r / (n_s * n_r)
    if size == 1:
        to_r = _between(sums, i, j, 0, n) - to_s - _between(sums, i, j, i, j)
        return 0.5 * (to_s / n_s + to_r / n_r - between)
    n_a, n_b = k - i, j - k
    a_b, a_s = _between(sums, i, k, k, j), _between(sums, i, k, s, e)
    b_s = to_s - a_s
    a_r = _between(sums, i, k, 0, n) - a_s - a_b - _between(sums, i, k, i, k)
    b_r = _between(sums, k, j, 0, n) - b_s - a_b - _between(sums, k, j, k, j)
    w = (n_a * n_r + n_b * n_s) / (size * (n_s + n_r))
    same = a_s / (n_a * n_s) + b_r / (n_b * n_r)
    other = a_r / (n_a * n_r) + b_s / (n_b * n_s)
    return 0.5 * (w * same + (1.0 - w) * other - a_b / (n_a * n_b) - between)


@njit
def _best_split(sums, lengths, i, j, s, e, tolerance):
    """The split k of node [i, j) with sibling [s, e), and the least length from its edge down."""
    if j - i == 1:
        return 0, _edge(sums, i, 0, j, s, e)
    best, split = np.inf, 0
    for k in range(i + 1, j):
        if lengths[i, j, k] < np.inf:
            length = lengths[i, j, k] + _edge(sums, i, k, j, s, e)
            if length < best - tolerance:  # of equal ones the first, whatever the rounding
                best, split = length, k
    return split, best


@njit
def shortest_tree(D, cut, tolerance):
    """(n - 2, 3) nodes [start, split, end) over the first n - 1 words, and the tree's length."""
    # The tree has an edge between the first ``cut`` words and the others (0: any tree); n >= 3. :
    #     lengths[i, p, j] = best(i, j; sibling [j, p)) + best(j, p; sibling [i, j))
    #     best(i, j; S)    = min over k of lengths[i, j, k] + edge(i, k, j; S)
    # where lengths[i, p, j] is the length of all edges below node [i, p) that is split at j.  The
    # last word is where the tree is drawn from: sibling of nothing, it is the other words of the
    # topmost node.  O(n^4) time, O(n^3) memory.
    n = len(D)
    sums, top = _sums(D), n - 1
    lengths = np.full((n, n, n), np.inf)
    split_of = np.zeros((n, n, n, 2), np.int32)  # splits of both children
    for width in range(2, n):
        for i in range(n - width):
            p = i + width
            if 0 < i < cut < p:  # crosses the cut
                continue
            for j in range(i + 1, p):
                left, length = _best_split(sums, lengths, i, j, j, p, tolerance)
                right, more = _best_split(sums, lengths, j, p, i, j, tolerance)
                lengths[i, p, j] = length + more
                split_of[i, p, j, 0], split_of[i, p, j, 1] = left, right
    best, split = np.inf, 0
    for k in range(1, top):  # the edge of the last word, between the children of the top node
        if lengths[0, top, k] < np.inf:
            length = lengths[0, top, k] + _edge(sums, top, 0, n, 0, k)
            if length < best - tolerance:
                best, split = length, k
    nodes = np.zeros((n - 2, 3), np.int64)
    stack = [(0, split, top)]
    filled = 0
    while len(stack) > 0:
        i, j, p = stack.pop()
        nodes[filled, 0], nodes[filled, 1], nodes[filled, 2] = i, j, p
        filled += 1
        if j - i > 1:
            stack.append((i, int(split_of[i, p, j, 0]), j))
        if p - j > 1:
            stack.append((j, int(split_of[i, p, j, 1]), p))
    return nodes, best


@njit
def add_products(groups, first, second, X, Y, sums):
    """Add X[first[r]] Y[second[r]]' to sums[groups[r]], for every r with a group (0 and up)."""
    for r in range(len(groups)):
        group = groups[r]
        if group >= 0:
            for a in range(X.shape[1]):
                x = X[first[r], a]
                for b in range(Y.shape[1]):
                    sums[group, a, b] += x * Y[second[r], b]
