"""Best trees under arc and sibling scores: arrays and scalars only, nothing is checked.

Words are 1..n and 0 is the root.  ``arc[h, d]`` scores head h of dependent d, ``sib[h, s, d]`` the
modifier d of h that follows modifier s outward on the same side (s == h: d is the first one).
``-inf`` forbids.  Every kernel fills ``heads`` (n,), the head of word i + 1 at place i, and
returns the score of the tree; ``-inf`` means that no tree is left, and then heads are all -1.
Exactly one word hangs from the root.

Charts are indexed [head, other end]: ``complete[h, e]`` is the best half-tree of h over all words
from h to e, on whichever side e lies; ``incomplete[h, d]`` ends with the arc h -> d, the inner
half of d is there and its outer half is missing.  Each tree has one derivation only.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def fill_eisner(arc, complete, incomplete, between, split, last):
    """First-order chart over words 1..n.

    ::

        between[a, b]    = max over a <= m < b of complete[a, m] + complete[b, m + 1]
        incomplete[h, d] = arc[h, d] + between[min(h, d), max(h, d)]
        complete[h, e]   = max over d after h up to e of incomplete[h, d] + complete[d, e]

    ``split[a, b]`` keeps the best m and ``last[h, e]`` the best d.
    """
    n = arc.shape[0] - 1
    for w in range(1, n + 1):
        complete[w, w] = 0.0
    for width in range(1, n):
        for a in range(1, n + 1 - width):
            b = a + width
            join(a, b, complete, between, split)
            incomplete[a, b] = between[a, b] + arc[a, b]
            incomplete[b, a] = between[a, b] + arc[b, a]
            close(a, b, complete, incomplete, last)
            close(b, a, complete, incomplete, last)


@njit(cache=True, inline="always")
def join(a, b, complete, between, split):
    """The facing halves of two words a < b."""
    best = -np.inf
    where = a
    for m in range(a, b):
        value = complete[a, m] + complete[b, m + 1]
        if value > best:
            best = value
            where = m
    between[a, b] = best
    split[a, b] = where


@njit(cache=True, inline="always")
def close(h, e, complete, incomplete, last):
    """The outermost modifier d of h gets its outer half, which reaches to e."""
    best = -np.inf
    where = e
    for d in range(min(h + 1, e), max(h, e + 1)):
        value = incomplete[h, d] + complete[d, e]
        if value > best:
            best = value
            where = d
    complete[h, e] = best
    last[h, e] = where


@njit(cache=True)
def eisner_kernel(arc, heads):
    """Best projective tree, O(n^3): max over r of arc[0, r] + complete[r, 1] + complete[r, n]."""
    n = arc.shape[0] - 1
    complete = np.empty((n + 1, n + 1))
    incomplete = np.empty((n + 1, n + 1))
    between = np.empty((n + 1, n + 1))
    split = np.empty((n + 1, n + 1), np.int32)
    last = np.empty((n + 1, n + 1), np.int32)
    fill_eisner(arc, complete, incomplete, between, split, last)
    heads[:] = -1
    score = -np.inf
    root = 0
    for r in range(1, n + 1):
        value = arc[0, r] + complete[r, 1] + complete[r, n]
        if value > score:
            score = value
            root = r
    if root == 0:
        return score
    heads[root - 1] = 0
    head_of = np.empty(2 * n + 2, np.int32)  # complete spans still to be opened
    end_of = np.empty(2 * n + 2, np.int32)
    head_of[0], end_of[0] = root, 1
    head_of[1], end_of[1] = root, n
    waiting = 2
    while waiting:
        waiting -= 1
        h, e = head_of[waiting], end_of[waiting]
        if h == e:
            continue
        d = last[h, e]
        heads[d - 1] = h
        head_of[waiting], end_of[waiting] = d, e
        a, b = min(h, d), max(h, d)
        m = split[a, b]
        head_of[waiting + 1], end_of[waiting + 1] = a, m
        head_of[waiting + 2], end_of[waiting + 2] = b, m + 1
        waiting += 3
    return score


@njit(cache=True)
def fill_siblings(arc, sib, complete, incomplete, between, split, last, before):
    """Second-order chart over words 1..n; ``step`` leads from d towards h.

    ::

        between[a, b]    = max over a <= m < b of complete[a, m] + complete[b, m + 1]
        incomplete[h, d] = arc[h, d] + max( sib[h, h, d] + complete[d, h - step],
                           max over s between of incomplete[h, s] + sib[h, s, d] + between[s, d] )
        complete[h, e]   = max over d after h up to e of incomplete[h, d] + complete[d, e]

    ``before[h, d]`` keeps the best s (h itself if d is the first modifier).
    """
    n = arc.shape[0] - 1
    for w in range(1, n + 1):
        complete[w, w] = 0.0
    for width in range(1, n):
        for a in range(1, n + 1 - width):
            b = a + width
            join(a, b, complete, between, split)
            best = complete[b, a + 1] + sib[a, a, b]
            where = a
            for s in range(a + 1, b):
                value = incomplete[a, s] + sib[a, s, b] + between[s, b]
                if value > best:
                    best = value
                    where = s
            incomplete[a, b] = best + arc[a, b]
            before[a, b] = where
            best = complete[a, b - 1] + sib[b, b, a]
            where = b
            for s in range(a + 1, b):
                value = incomplete[b, s] + sib[b, s, a] + between[a, s]
                if value > best:
                    best = value
                    where = s
            incomplete[b, a] = best + arc[b, a]
            before[b, a] = where
            close(a, b, complete, incomplete, last)
            close(b, a, complete, incomplete, last)


@njit(cache=True)
def eisner_siblings_kernel(arc, sib, heads):
    """Best projective tree with sibling scores, O(n^3); the root's child r has sib[0, 0, r]."""
    n = arc.shape[0] - 1
    complete = np.empty((n + 1, n + 1))
    incomplete = np.empty((n + 1, n + 1))
    between = np.empty((n + 1, n + 1))
    split = np.empty((n + 1, n + 1), np.int32)
    last = np.empty((n + 1, n + 1), np.int32)
    before = np.empty((n + 1, n + 1), np.int32)
    fill_siblings(arc, sib, complete, incomplete, between, split, last, before)
    heads[:] = -1
    score = -np.inf
    root = 0
    for r in range(1, n + 1):
        value = arc[0, r] + sib[0, 0, r] + complete[r, 1] + complete[r, n]
        if value > score:
            score = value
            root = r
    if root == 0:
        return score
    heads[root - 1] = 0
    head_of = np.empty(3 * n + 3, np.int32)  # complete spans still to be opened
    end_of = np.empty(3 * n + 3, np.int32)
    head_of[0], end_of[0] = root, 1
    head_of[1], end_of[1] = root, n
    waiting = 2
    while waiting:
        waiting -= 1
        h, e = head_of[waiting], end_of[waiting]
        if h == e:
            continue
        d = last[h, e]
        head_of[waiting], end_of[waiting] = d, e
        waiting += 1
        while True:  # the modifiers on this side, from the last inward
            heads[d - 1] = h
            s = before[h, d]
            if s == h:
                head_of[waiting] = d
                end_of[waiting] = h + 1 if d > h else h - 1
                waiting += 1
                break
            a, b = min(s, d), max(s, d)
            m = split[a, b]
            head_of[waiting], end_of[waiting] = a, m
            head_of[waiting + 1], end_of[waiting + 1] = b, m + 1
            waiting += 2
            d = s
    return score


@njit(cache=True)
def tree_score(arc, heads):
    """Sum of the arcs of a tree, words in order."""
    score = 0.0
    for i in range(len(heads)):
        score += arc[heads[i], i + 1]
    return score


@njit(cache=True)
def contract(arc, heads, into, chosen_tail, chosen_tip, chosen_score, settled):
    """Best tree with one child of the root, projective or not: Chu-Liu/Edmonds in O(n^2).

    Trees are ordered by (few root arcs, high score), so a root arc loses against every other arc
    that enters the same node.  The root has no head and thus lies on no cycle, so no contraction
    ever moves a score between the two parts of that order, and the rule stays as simple as that:
    take the best arc from another word, and an arc from the root only if there is none.  If a
    second node has to take it, every tree that is left has two roots.

    From any word, best heads are followed until a word that has its way to the root (all on the
    path are done) or one on the path (a cycle: it becomes one node, kept in the slot of that
    word, with the scores of entering arcs less what the arc they replace had).  The node number
    of a slot, and for each node the node it went into, lead back to the arcs.

    Returns the number of nodes (words first, then cycles), 0 if there is no tree.  For each node:
    ``into`` the cycle it went into or -1, its best entering arc ``chosen_tail -> chosen_tip`` and
    what that scored at this node's level, and whether the arc was ``settled`` away by another.
    """
    n = arc.shape[0] - 1
    size = n + 1
    enter = np.empty((size, size))  # [dependent slot, head slot], as all below
    tail = np.empty((size, size), np.int32)
    tip = np.empty((size, size), np.int32)
    for d in range(size):
        for h in range(size):
            enter[d, h] = arc[h, d]
            tail[d, h] = h
            tip[d, h] = d
    state = np.zeros(size, np.int8)  # 0 new, 1 on the path, 2 done, 3 swallowed by another slot
    node_of = np.arange(size)
    path = np.empty(size, np.int32)
    n_nodes = size
    n_roots = 0
    heads[:] = -1
    into[:] = -1
    settled[:] = False
    state[0] = 2
    for start in range(1, size):
        if state[start] != 0:
            continue
        path[0] = start
        state[start] = 1
        length = 1
        while True:
            v = path[length - 1]
            best = -np.inf
            u = 0
            for h in range(1, size):
                if h != v and state[h] != 3 and enter[v, h] > best:
                    best = enter[v, h]
                    u = h
            if u == 0:
                n_roots += 1
                best = enter[v, 0]
                if n_roots > 1 or best == -np.inf:
                    return 0
            node = node_of[v]
            chosen_tail[node] = tail[v, u]
            chosen_tip[node] = tip[v, u]
            chosen_score[node] = best
            if state[u] == 2:
                for p in range(length):
                    state[path[p]] = 2
                break
            if state[u] == 0:
                state[u] = 1
                path[length] = u
                length += 1
                continue
            # a cycle: from v back along the path to u; all of it goes into slot u
            for p in range(length - 1, -1, -1):
                c = path[p]
                into[node_of[c]] = n_nodes
                if c == u:
                    break
                state[c] = 3
            first = chosen_score[node_of[u]]
            for x in range(size):
                if state[x] != 3 and x != u and enter[u, x] != -np.inf:
                    enter[u, x] -= first
            while path[length - 1] != u:
                length -= 1
                c = path[length]
                less = chosen_score[node_of[c]]
                for x in range(size):
                    if state[x] == 3 or x == u:
                        continue
                    if enter[c, x] != -np.inf and enter[c, x] - less > enter[u, x]:
                        enter[u, x] = enter[c, x] - less
                        tail[u, x] = tail[c, x]
                        tip[u, x] = tip[c, x]
                    if enter[x, c] > enter[x, u]:
                        enter[x, u] = enter[x, c]
                        tail[x, u] = tail[x, c]
                        tip[x, u] = tip[x, c]
            node_of[u] = n_nodes
            n_nodes += 1
    # the arc into a node breaks all cycles between that node and the word it enters
    for node in range(n_nodes - 1, 0, -1):
        if settled[node]:
            continue
        word = chosen_tip[node]
        heads[word - 1] = chosen_tail[node]
        inner = word
        while inner != node:
            settled[inner] = True
            inner = into[inner]
    return n_nodes


@njit(cache=True)
def mst_kernel(arc, heads):
    """Best tree with one child of the root, projective or not: Chu-Liu/Edmonds in O(n^2)."""
    room = 2 * arc.shape[0]
    into = np.empty(room, np.int32)
    tails = np.empty(room, np.int32)
    tips = np.empty(room, np.int32)
    if contract(arc, heads, into, tails, tips, np.empty(room), np.empty(room, np.bool_)) == 0:
        return -np.inf
    return tree_score(arc, heads)
