"""The k best trees, lazily: arrays and scalars only, nothing is checked.

Projective lists (Huang and Chiang 2005, algorithm 3).  The charts of
:mod:`~eigentext.dependency.kernels.eisner` are read as a graph: nodes are complete[h, e],
incomplete[h, d], between[a, b] and the goal; each way to build a node joins two nodes below.
The j-th best way of a node is asked for only when some list above has used the (j-1)-th.

From the parts (i, j) of a way, the i-th best way of one node and the j-th best of the other, the
next candidates are (i, j + 1), and (i + 1, 0) if j = 0: each pair comes once, after one that is no
worse.  Ways and trees correspond one to one, so no tree comes twice.
"""

from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Bools, Float64s, Int32s
from eigentext.dependency.kernels.eisner import fill_charts

_NODE, _LEFT, _RIGHT, _NEXT, _CHILD, _SIBLING = range(6)  # columns of ``link``


class Scores(NamedTuple):
    """``arc``, ``sib`` (read if ``second``), and ``best``: the score of each node's best way.

    Node block * size^2 + i * size + j: blocks 0 complete, 1 incomplete, 2 between, 3 the goal.
    Node 0 stands for nothing: the second part of a way that has only one.
    """

    arc: Float64s
    sib: Float64s
    second: bool
    best: Float64s


class Pool(NamedTuple):
    """All ways, by number x."""

    score: Float64s  # of the part of the tree that a way builds
    weight: Float64s  # what it adds to its two parts
    # its node; its two parts (a way, or -1 - node for the best way of a node that nobody opened
    # yet); the next best way of the same node; first child and next sibling in the pairing heap
    # of the node's candidates
    link: Int32s


class Lists(NamedTuple):
    """The list of the best ways of each node, as far as it was asked for."""

    first: Int32s  # its best way, -1 if it was not opened
    last: Int32s  # the last one known
    heap: Int32s  # the top of the candidates for the next one, -1 for none
    grown: Bools  # are those that follow from ``last`` among the candidates?
    ended: Bools  # is there no way after ``last``?


@njit
def _meld(x, y, pool):
    """Two pairing heaps made one; of equal ways the older is on top."""
    score, link = pool.score, pool.link
    if x < 0:
        return y
    if y < 0:
        return x
    if score[y] > score[x] or (score[y] == score[x] and y < x):
        x, y = y, x
    link[y, _SIBLING] = link[x, _CHILD]
    link[x, _CHILD] = y
    return x


@njit
def _without_top(top, pool):
    """The heap that is left without its top: melded in pairs, then from the back."""
    # This way taking the top costs O(log size) in the long run, and adding a way O(1).
    link = pool.link
    child = link[top, _CHILD]
    pairs = -1
    while child >= 0:
        x = child
        y = link[x, _SIBLING]
        child = -1
        if y >= 0:
            child = link[y, _SIBLING]
            link[y, _SIBLING] = -1
        link[x, _SIBLING] = -1
        x = _meld(x, y, pool)
        link[x, _SIBLING] = pairs
        pairs = x
    heap = -1
    while pairs >= 0:
        rest = link[pairs, _SIBLING]
        link[pairs, _SIBLING] = -1
        heap = _meld(heap, pairs, pool)
        pairs = rest
    return heap


@njit
def _add(x, node, left, right, value, added, pool):
    pool.score[x] = value
    pool.weight[x] = added
    for side in range(6):
        pool.link[x, side] = -1
    pool.link[x, _NODE] = node
    pool.link[x, _LEFT] = left
    pool.link[x, _RIGHT] = right


@njit
def _parts(block, i, j, k, scores):
    """Choice k for cell [i, j] of a block: its two nodes and what is added; node -1: no choice."""
    # These are the terms of the recurrences in ``kernels.eisner``, in the order of its loops.
    arc, sib = scores.arc, scores.sib
    size = arc.shape[0]
    area = size * size
    left, right, added = -1, 0, 0.0
    if block == 0:  # k: the outermost modifier
        if k != i:
            left, right = area + i * size + k, k * size + j
        elif i == j:
            left = 0  # the word itself: one way and no more
    elif block == 1:
        if not scores.second:
            if k == i:
                left, added = 2 * area + min(i, j) * size + max(i, j), arc[i, j]
        elif k == i:  # no modifier before this one
            left = j * size + (i + 1 if i < j else i - 1)
            added = arc[i, j] + sib[i, i, j]
        elif k != j:  # k: the modifier before
            left = area + i * size + k
            right = 2 * area + min(k, j) * size + max(k, j)
            added = arc[i, j] + sib[i, k, j]
    elif block == 2:  # k: where the two halves meet
        if k != j:
            left, right = i * size + k, j * size + k + 1
    else:  # k: the child of the root
        left, right = k * size + 1, k * size + size - 1
        added = arc[0, k] + (sib[0, 0, k] if scores.second else 0.0)
    return left, right, added


@njit
def _open(node, scores, pool, lists, used):
    """All ways of a node with best parts become candidates, the best one the first of its list."""
    # ``used`` ways are in the pool before; the answer is how many are now.
    size = scores.arc.shape[0]
    area = size * size
    block, i, j = node // area, node % area // size, node % size
    top = -1
    start, stop = min(i, j), max(i, j) + 1
    if block == 3:
        start, stop = 1, size
    for k in range(start, stop):
        left, right, added = _parts(block, i, j, k, scores)
        if left < 0:
            continue
        value = added + scores.best[left] + scores.best[right]
        if value > -np.inf:
            _add(used, node, -1 - left, -1 - right, value, added, pool)
            top = _meld(top, used, pool)
            used += 1
    lists.first[node] = lists.last[node] = top
    lists.heap[node] = _without_top(top, pool) if top >= 0 else -1
    lists.grown[node] = block == 0 and i == j  # no way can follow
    return used


@njit
def _open_parts(x, scores, pool, lists, used):
    """Both parts of a way become ways, if they were only the names of nodes so far."""
    for side in range(_LEFT, _RIGHT + 1):
        if pool.link[x, side] < 0:
            node = -1 - pool.link[x, side]
            if lists.first[node] < 0:
                used = _open(node, scores, pool, lists, used)
            pool.link[x, side] = lists.first[node]
    return used


@njit
def _empty_pool(room):
    return Pool(np.empty(room), np.empty(room), np.empty((room, 6), np.int32))


@njit
def _with_room(pool, size):
    """The pool itself if it has room for so many ways, else one twice as large."""
    room = len(pool.score)
    if size <= room:
        return pool
    more = _empty_pool(2 * room)
    for x in range(room):
        more.score[x] = pool.score[x]
        more.weight[x] = pool.weight[x]
        for side in range(6):
            more.link[x, side] = pool.link[x, side]
    return more


@njit
def _follow(x, left, right, pool, lists, used):
    """The way of x's node with other parts, ``left`` and ``right``, becomes a candidate."""
    node, weight = pool.link[x, _NODE], pool.weight[x]
    _add(used, node, left, right, weight + pool.score[left] + pool.score[right], weight, pool)
    lists.heap[node] = _meld(lists.heap[node], used, pool)
    return used + 1


@njit
def kbest_kernel(arc, sib, second, k, trees):
    """Fills ``trees`` (k, n) with the best projective trees, best first; returns how many."""
    # The charts take O(n^3); after them a tree costs O(n) steps, each with O(log) work in a heap,
    # and as many new ways as the nodes that it opens for the first time have.
    size = arc.shape[0]
    area = size * size
    charts = np.empty((3, size, size))
    charts[0, 0, 0] = 0.0  # node 0
    choices = np.empty((size, size), np.int32)  # nobody asks for the best ones alone
    fill_charts(arc, sib, second, charts[0], charts[1], charts[2], choices, choices, choices)
    scores = Scores(arc, sib, second, charts.ravel())
    goal = 3 * area
    lists = Lists(
        np.full(goal + 1, -1, np.int32),
        np.empty(goal + 1, np.int32),
        np.empty(goal + 1, np.int32),
        np.zeros(goal + 1, np.bool_),
        np.zeros(goal + 1, np.bool_),
    )
    waiting = np.empty(4 * size + 4, np.int32)
    pool = _empty_pool(64 * size)
    # way 0 is above all others, only to open the goal
    _add(0, goal, -1 - goal, -1, 0.0, 0.0, pool)
    used = _open_parts(0, scores, pool, lists, 1)
    way = lists.first[goal]
    n_trees = 0
    while way >= 0:
        # the tree of this way, from the top
        waiting[0] = way
        depth = 1
        while depth:
            pool = _with_room(pool, used + 2 * size)
            depth -= 1
            x = waiting[depth]
            node = pool.link[x, _NODE]
            if node < area and node // size == node % size:
                continue  # a single word
            if area <= node < 2 * area:
                trees[n_trees, node % size - 1] = node % area // size
            used = _open_parts(x, scores, pool, lists, used)
            left, right = pool.link[x, _LEFT], pool.link[x, _RIGHT]
            waiting[depth], waiting[depth + 1] = left, right
            depth += 2
            if node == goal:
                trees[n_trees, pool.link[left, _NODE] // size - 1] = 0
        n_trees += 1
        if n_trees == k:
            return n_trees
        # the next way of the goal, and before it of all nodes that it waits for
        waiting[0] = goal
        depth = 1
        while depth:
            pool = _with_room(pool, used + 2 * size + 2)
            link = pool.link
            node = waiting[depth - 1]
            x = lists.last[node]
            if not lists.grown[node]:
                used = _open_parts(x, scores, pool, lists, used)
                left, right = link[x, _LEFT], link[x, _RIGHT]
                left_node, right_node = link[left, _NODE], link[right, _NODE]
                if link[right, _NEXT] < 0 and not lists.ended[right_node]:
                    waiting[depth] = right_node
                    depth += 1
                    continue
                turn = lists.first[right_node] == right  # (i, 0): (i + 1, 0) follows too
                if turn and link[left, _NEXT] < 0 and not lists.ended[left_node]:
                    waiting[depth] = left_node
                    depth += 1
                    continue
                lists.grown[node] = True
                if link[right, _NEXT] >= 0:
                    used = _follow(x, left, link[right, _NEXT], pool, lists, used)
                if turn and link[left, _NEXT] >= 0:
                    used = _follow(x, link[left, _NEXT], right, pool, lists, used)
            depth -= 1
            top = lists.heap[node]
            if top < 0:
                lists.ended[node] = True
                continue
            lists.heap[node] = _without_top(top, pool)
            link[x, _NEXT] = top
            lists.last[node] = top
            lists.grown[node] = False
        way = pool.link[way, _NEXT]
    return n_trees
