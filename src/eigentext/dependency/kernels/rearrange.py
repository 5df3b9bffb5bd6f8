"""A better tree by changing one head at a time, arcs free to cross: arrays and scalars only.

``arc[h, d]`` and ``sib[h, s, d]`` are those of ``kernels.eisner``.  Grandparents score a modifier
d with its head h and the head's head g: ``grand[index[g, h], h, d]``; ``grand`` of no rows means
that there are no such scores.  Arcs of -inf are never looked at, so ``index`` need not know them.
``charge`` is taken off for each crossing arc.
"""

import numpy as np

from eigentext.base.compiling import njit
from eigentext.dependency.kernels.eisner import siblings_score
from eigentext.dependency.kernels.mst import subtrees


@njit
def crossing_arcs(heads):
    """How many arcs span a word that is not below their head."""
    number, below = subtrees(heads)
    count = 0
    for d in range(1, len(heads) + 1):
        h = heads[d - 1]
        if h > 0:
            for w in range(min(h, d) + 1, max(h, d)):
                if not 0 <= number[w] - number[h] < below[h]:
                    count += 1
                    break
    return count


@njit
def whole_score(arc, sib, grand, index, charge, heads):
    """Arcs, siblings and grandparents of a tree, less the charge for its crossing arcs."""
    score = siblings_score(arc, sib, heads)
    if charge > 0.0:
        score -= charge * crossing_arcs(heads)
    if len(grand):
        for d in range(1, len(heads) + 1):
            h = heads[d - 1]
            if h > 0:
                score += grand[index[heads[h - 1], h], h, d]
    return score


@njit
def _beside(h, d, arc, sib, heads):
    """Arc and siblings that d as a modifier of h adds, whether it is one now or not (h not 0)."""
    n = len(heads)
    # the modifiers of h next to d: s towards the head (h itself for none), after beyond d
    step = 1 if d > h else -1
    s = d - step
    while s != h and heads[s - 1] != h:
        s -= step
    after = d + step
    while 1 <= after <= n and heads[after - 1] != h:
        after += step
    # d comes between the two: one pair of siblings goes, two come
    value = arc[h, d] + sib[h, s, d]
    if 1 <= after <= n:
        value += sib[h, d, after] - sib[h, s, after]
    return value


@njit
def _below(h, d, grand, index, heads, without):
    """What grandparents add for the modifiers of d, all but one, if h is the head of d."""
    value = 0.0
    if len(grand):
        for c in range(1, len(heads) + 1):
            if heads[c - 1] == d and c != without:
                value += grand[index[h, d], d, c]
    return value


@njit
def _above(g, h, d, grand, index):
    """What grandparents add for d itself."""
    return grand[index[g, h], h, d] if len(grand) else 0.0


@njit
def _worth(h, d, arc, sib, grand, index, heads):
    """All that h as the head of d adds to the score (h not 0 and not below d)."""
    value = _beside(h, d, arc, sib, heads) + _above(heads[h - 1], h, d, grand, index)
    return value + _below(h, d, grand, index, heads, 0)


@njit
def _change(heads, d, h, root, under):
    """Head h for d; or, with h under d, the root for d and h for the old word of the root."""
    if under:
        heads[root - 1] = h
        heads[d - 1] = 0
    else:
        heads[d - 1] = h


@njit
def rearrange_kernel(arc, sib, grand, index, charge, heads):
    """Changes heads in place as long as one change raises the score; returns the score."""
    # One change is another head for a word, not below it; or another word for the root, whose old
    # word then goes below the new one.  The best change is made first.  The result is a tree from
    # which no change leads up, not always the best tree (McDonald and Pereira 2006).
    # A round looks at n^2 changes and takes O(n) for each, with a charge O(n^2) for those that
    # might win: what a change adds and takes away is scored, not the whole tree.
    n = len(heads)
    least = 1e-12 * np.abs(whole_score(arc, sib, grand, index, charge, heads))
    for _ in range(10 * n + 10):  # far more than are ever made; rounding cannot hold us here
        number, below = subtrees(heads)
        crossing = crossing_arcs(heads) if charge > 0.0 else 0
        root = np.argmin(heads) + 1
        best, word, head, new_root = least, 0, 0, False
        for d in range(1, n + 1):
            if d == root:
                continue
            old = heads[d - 1]
            # what goes when d leaves its head; and what comes when d takes the root's place
            loss = _worth(old, d, arc, sib, grand, index, heads)
            rooted = arc[0, d] + sib[0, 0, d] - arc[0, root] - sib[0, 0, root]
            if rooted > -np.inf:
                rooted += _below(0, d, grand, index, heads, 0)
                rooted -= _below(0, root, grand, index, heads, d)
            for h in range(1, n + 1):
                # h below d cannot become its head: d goes to the root, the old root below h
                under = 0 <= number[h] - number[d] < below[d]
                if h == old or arc[h, root if under else d] == -np.inf:
                    continue
                if not under:
                    gain = _worth(h, d, arc, sib, grand, index, heads) - loss
                elif rooted > -np.inf:
                    gain = rooted + _beside(h, root, arc, sib, heads) - loss
                    gain += _above(0 if h == d else heads[h - 1], h, root, grand, index)
                    gain += _below(h, root, grand, index, heads, d)
                else:
                    continue
                # crossing arcs are counted only where a change could win without any of them
                if charge > 0.0 and gain + charge * crossing > best:
                    _change(heads, d, h, root, under)
                    gain -= charge * (crossing_arcs(heads) - crossing)
                    heads[root - 1] = 0
                    heads[d - 1] = old
                if gain > best:
                    best, word, head, new_root = gain, d, h, under
        if word == 0:
            break
        _change(heads, word, head, root, new_root)
    return whole_score(arc, sib, grand, index, charge, heads)
