"""The k best trees, lazily: arrays and scalars only, nothing is checked.

Projective lists (Huang and Chiang 2005, algorithm 3).  The charts of
:mod:`~eigentext.dependency.kernels.eisner` are read as a graph: nodes are complete[h, e],
incomplete[h, d], between[a, b] and the goal; each way to build a node joins two nodes below.
The j-th best way of a node is asked for only when some list above has used the (j-1)-th.

Way number x of the pool: ``score[x]``, the ``weight[x]`` it adds to its two parts, and
``link[x]``: its node, its two parts (a way; or -1 - node for the best way of a node that nobody
has opened yet), the next best way of the same node, and two links of the pairing heap that holds
the candidates of the node.  From the parts (i, j) of a way the next candidates are (i, j + 1), and
(i + 1, 0) if j = 0: each pair comes once, after one that is no worse.  Ways and trees correspond
one to one, so no tree comes twice.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from eigentext.dependency.kernels.eisner import fill_eisner, fill_siblings

_NODE, _ONE, _TWO, _NEXT, _CHILD, _SIBLING = range(6)


@njit(cache=True)
def _meld(x, y, score, link):
    """Two pairing heaps made one; of equal ways the older is on top."""
    if x < 0:
        return y
    if y < 0:
        return x
    if score[y] > score[x] or (score[y] == score[x] and y < x):
        x, y = y, x
    link[y, _SIBLING] = link[x, _CHILD]
    link[x, _CHILD] = y
    return x


@njit(cache=True)
def _without_top(top, score, link):
    """The heap that is left without its top: melded in pairs, then from the back."""
    child = link[top, _CHILD]
    pairs = -1
    while child >= 0:
        one = child
        two = link[one, _SIBLING]
        child = -1
        if two >= 0:
            child = link[two, _SIBLING]
            link[two, _SIBLING] = -1
        link[one, _SIBLING] = -1
        one = _meld(one, two, score, link)
        link[one, _SIBLING] = pairs
        pairs = one
    heap = -1
    while pairs >= 0:
        rest = link[pairs, _SIBLING]
        link[pairs, _SIBLING] = -1
        heap = _meld(heap, pairs, score, link)
        pairs = rest
    return heap


@njit(cache=True)
def _add(x, node, one, two, value, added, score, weight, link):
    """Writes a way at place x of the pool."""
    score[x] = value
    weight[x] = added
    for side in range(6):
        link[x, side] = -1
    link[x, _NODE] = node
    link[x, _ONE] = one
    link[x, _TWO] = two


@njit(cache=True)
def _open(node, arc, sib, second, best, used, score, weight, link, first, last, heap, grown):
    """All ways of a node with best parts become candidates, the best one the first of its list.

    Nodes: block * size^2 + i * size + j; blocks 0 complete, 1 incomplete, 2 between, 3 the goal.
    Node 0 stands for nothing: the second part of a way that has only one.
    """
    size = arc.shape[0]
    area = size * size
    block, i, j = node // area, node % area // size, node % size
    top = -1
    low, high = min(i, j), max(i, j)
    start, stop = low, high + 1
    if block == 3:
        start, stop = 1, size
    for k in range(start, stop):
        one, two, added = -1, 0, 0.0
        if block == 0:  # k: the outermost modifier
            if k != i:
                one, two = area + i * size + k, k * size + j
            elif i == j:
                one = 0  # the word itself: one way and no more
        elif block == 1:
            if not second:
                if k == i:
                    one, added = 2 * area + low * size + high, arc[i, j]
            elif k == i:  # no modifier before this one
                one = j * size + (i + 1 if i < j else i - 1)
                added = arc[i, j] + sib[i, i, j]
            elif k != j:  # k: the modifier before
                one = area + i * size + k
                two = 2 * area + min(k, j) * size + max(k, j)
                added = arc[i, j] + sib[i, k, j]
        elif block == 2:  # k: where the two halves meet
            if k != j:
                one, two = i * size + k, j * size + k + 1
        else:  # k: the child of the root
            one, two = k * size + 1, k * size + size - 1
            added = arc[0, k] + (sib[0, 0, k] if second else 0.0)
        if one < 0:
            continue
        value = added + best[one] + best[two]
        if value > -np.inf:
            _add(used, node, -1 - one, -1 - two, value, added, score, weight, link)
            top = _meld(top, used, score, link)
            used += 1
    first[node] = last[node] = top
    heap[node] = _without_top(top, score, link) if top >= 0 else -1
    grown[node] = block == 0 and i == j  # no way can follow
    return used


@njit(cache=True)
def _open_parts(x, arc, sib, second, best, used, score, weight, link, first, last, heap, grown):
    """Both parts of a way become ways, if they were only the names of nodes so far."""
    for side in range(_ONE, _TWO + 1):
        if link[x, side] < 0:
            node = -1 - link[x, side]
            if first[node] < 0:
                used = _open(
                    node,
                    arc,
                    sib,
                    second,
                    best,
                    used,
                    score,
                    weight,
                    link,
                    first,
                    last,
                    heap,
                    grown,
                )
            link[x, side] = first[node]
    return used


@njit(cache=True)
def _more_room(score, weight, link):
    """The pool, twice as large."""
    room = len(score)
    more_score = np.empty(2 * room)
    more_weight = np.empty(2 * room)
    more_link = np.empty((2 * room, 6), np.int32)
    for x in range(room):
        more_score[x] = score[x]
        more_weight[x] = weight[x]
        for side in range(6):
            more_link[x, side] = link[x, side]
    return more_score, more_weight, more_link


@njit(cache=True)
def kbest_kernel(arc, sib, second, k, trees):
    """Fills ``trees`` (k, n) with the best projective trees, best first; returns how many."""
    size = arc.shape[0]
    area = size * size
    charts = np.empty((3, size, size))
    charts[0, 0, 0] = 0.0
    complete, incomplete, between = charts[0], charts[1], charts[2]
    best = charts.ravel()
    places = np.empty((3, size, size), np.int32)
    if second:
        fill_siblings(arc, sib, complete, incomplete, between, places[0], places[1], places[2])
    else:
        fill_eisner(arc, complete, incomplete, between, places[0], places[1])
    goal = 3 * area
    first = np.full(goal + 1, -1, np.int32)
    last = np.empty(goal + 1, np.int32)
    heap = np.empty(goal + 1, np.int32)
    grown = np.zeros(goal + 1, np.bool_)  # the ways that follow the last one are candidates
    ended = np.zeros(goal + 1, np.bool_)
    waiting = np.empty(4 * size + 4, np.int32)
    room = 64 * size
    score = np.empty(room)
    weight = np.empty(room)
    link = np.empty((room, 6), np.int32)
    # way 0 is above all others, only to open the goal
    _add(0, goal, -1 - goal, -1, 0.0, 0.0, score, weight, link)
    used = _open_parts(0, arc, sib, second, best, 1, score, weight, link, first, last, heap, grown)
    way = first[goal]
    found = 0
    while way >= 0:
        # the tree of this way, from the top
        waiting[0] = way
        depth = 1
        while depth:
            if used + 2 * size > room:
                score, weight, link = _more_room(score, weight, link)
                room = len(score)
            depth -= 1
            x = waiting[depth]
            node = link[x, _NODE]
            if node < area and node // size == node % size:
                continue  # a single word
            if area <= node < 2 * area:
                trees[found, node % size - 1] = node % area // size
            used = _open_parts(
                x, arc, sib, second, best, used, score, weight, link, first, last, heap, grown
            )
            waiting[depth], waiting[depth + 1] = link[x, _ONE], link[x, _TWO]
            depth += 2
            if node == goal:
                trees[found, link[link[x, _ONE], _NODE] // size - 1] = 0
        found += 1
        if found == k:
            return found
        # the next way of the goal, and before it of all nodes that it waits for
        waiting[0] = goal
        depth = 1
        while depth:
            if used + 2 * size + 2 > room:
                score, weight, link = _more_room(score, weight, link)
                room = len(score)
            node = waiting[depth - 1]
            x = last[node]
            if not grown[node]:
                used = _open_parts(
                    x, arc, sib, second, best, used, score, weight, link, first, last, heap, grown
                )
                one, two = link[x, _ONE], link[x, _TWO]
                node_one, node_two = link[one, _NODE], link[two, _NODE]
                if link[two, _NEXT] < 0 and not ended[node_two]:
                    waiting[depth] = node_two
                    depth += 1
                    continue
                turn = first[node_two] == two
                if turn and link[one, _NEXT] < 0 and not ended[node_one]:
                    waiting[depth] = node_one
                    depth += 1
                    continue
                grown[node] = True
                if link[two, _NEXT] >= 0:
                    after = link[two, _NEXT]
                    value = weight[x] + score[one] + score[after]
                    _add(used, node, one, after, value, weight[x], score, weight, link)
                    heap[node] = _meld(heap[node], used, score, link)
                    used += 1
                if turn and link[one, _NEXT] >= 0:
                    after = link[one, _NEXT]
                    value = weight[x] + score[after] + score[two]
                    _add(used, node, after, two, value, weight[x], score, weight, link)
                    heap[node] = _meld(heap[node], used, score, link)
                    used += 1
            depth -= 1
            if heap[node] < 0:
                ended[node] = True
                continue
            top = heap[node]
            heap[node] = _without_top(top, score, link)
            link[x, _NEXT] = top
            last[node] = top
            grown[node] = False
        way = link[way, _NEXT]
    return found
