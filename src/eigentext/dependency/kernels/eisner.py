"""Best trees under arc and sibling scores: arrays and scalars only, nothing is checked.

Words are 1..n and 0 is the root.  ``arc[h, d]`` scores head h of dependent d, ``sib[h, s, d]`` the
modifier d of h that follows modifier s outward on the same side (s == h: d is the first one); it
is read if ``second``.  ``-inf`` forbids.  Exactly one word hangs from the root.

Charts are indexed [head, other end]: ``complete[h, e]`` is the best half-tree of h over all words
from h to e, on whichever side e lies; ``incomplete[h, d]`` ends with the arc h -> d, the inner
half of d is there and its outer half is missing.  Each tree has one derivation only.

Cells are filled from narrow spans to wide ones: O(n^2) cells with O(n) choices each, so O(n^3)
time and O(n^2) memory beside the scores.  Of equal choices the first one is kept, so that answers
never depend on the run.
"""

import numpy as np

from eigentext.base.compiling import njit
from eigentext.dependency.kernels.mst import tree_score


@njit
def fill_charts(arc, sib, second, complete, incomplete, between, split, last, before):
    """The chart over words 1..n; ``step`` leads from d towards h.

    ::

        between[a, b]    = max over a <= m < b of complete[a, m] + complete[b, m + 1]
        incomplete[h, d] = arc[h, d] + between[min(h, d), max(h, d)]               of arcs alone
                         = arc[h, d] + max( sib[h, h, d] + complete[d, h - step],
                           max over s between of incomplete[h, s] + sib[h, s, d] + between[s, d] )
        complete[h, e]   = max over d after h up to e of incomplete[h, d] + complete[d, e]

    ``split[a, b]`` keeps the best m, ``before[h, d]`` the best s (h itself if d is the first
    modifier), and ``last[h, e]`` the best d.
    """
    n = arc.shape[0] - 1
    for w in range(1, n + 1):
        complete[w, w] = 0.0
    for width in range(1, n):
        for a in range(1, n + 1 - width):
            b = a + width
            # what joins a and b does not ask which of them is the head
            join(a, b, complete, between, split)
            attach(a, b, arc, sib, second, complete, incomplete, between, before)
            attach(b, a, arc, sib, second, complete, incomplete, between, before)
            close(a, b, complete, incomplete, last)
            close(b, a, complete, incomplete, last)


@njit(inline="always")
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


@njit(inline="always")
def attach(h, d, arc, sib, second, complete, incomplete, between, before):
    """h takes d: with siblings as its first modifier on that side, or after modifier s."""
    a, b = min(h, d), max(h, d)
    if second:
        best = complete[d, h + 1 if h < d else h - 1] + sib[h, h, d]
        where = h
        for s in range(a + 1, b):
            value = incomplete[h, s] + sib[h, s, d] + between[min(s, d), max(s, d)]
            if value > best:
                best = value
                where = s
        before[h, d] = where
    else:
        best = between[a, b]
    incomplete[h, d] = best + arc[h, d]


@njit(inline="always")
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


@njit
def eisner_kernel(arc, sib, second, heads):
    """Best projective tree, O(n^3): its score, and ``heads`` (n,), that of word i + 1 at i."""
    # ``-inf``, and heads that are all -1: no tree is left.
    n = arc.shape[0] - 1
    complete = np.empty((n + 1, n + 1))
    incomplete = np.empty((n + 1, n + 1))
    between = np.empty((n + 1, n + 1))
    split = np.empty((n + 1, n + 1), np.int32)
    last = np.empty((n + 1, n + 1), np.int32)
    before = np.empty((n + 1, n + 1), np.int32)
    fill_charts(arc, sib, second, complete, incomplete, between, split, last, before)
    heads[:] = -1
    # the root is no column of the chart: it takes one word r, whose halves cover all the others
    score = -np.inf
    root = 0
    for r in range(1, n + 1):
        top = arc[0, r] + sib[0, 0, r] if second else arc[0, r]
        value = top + complete[r, 1] + complete[r, n]
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
        while True:  # the modifiers on this side from the last inward; of arcs alone only this one
            heads[d - 1] = h
            s = before[h, d] if second else h
            if second and s == h:
                head_of[waiting], end_of[waiting] = d, h + 1 if d > h else h - 1
                waiting += 1
                break
            a, b = min(s, d), max(s, d)
            m = split[a, b]
            head_of[waiting], end_of[waiting] = a, m
            head_of[waiting + 1], end_of[waiting + 1] = b, m + 1
            waiting += 2
            if s == h:
                break
            d = s
    return score


@njit
def siblings_score(arc, sib, heads):
    """Arcs and siblings of a tree."""
    n = len(heads)
    score = tree_score(arc, heads)
    for h in range(n + 1):
        for step in (-1, 1):  # outward on either side; s is the modifier before, h for none
            s = h
            d = h + step
            while 1 <= d <= n:
                if heads[d - 1] == h:
                    score += sib[h, s, d]
                    s = d
                d += step
    return score
