"""The best projective tree under scores of arcs, siblings and grandparents, exactly.

``grand[i, h, d]`` scores modifier d of h when h hangs from ``governors.heads[h, i]``; the other
scores are those of ``kernels.eisner``.  Only the arcs that ``governors`` lists are looked at.
"""

import numpy as np

from eigentext.base.compiling import njit
from eigentext.dependency.kernels.features import Governors


@njit
def list_governors(keep):
    """The heads that each word may have by ``keep[h, d]``, in rising order, and the modifiers."""
    n = len(keep) - 1
    counts = np.zeros(n + 1, np.int64)
    heads = np.zeros((n + 1, n + 1), np.int64)
    index = np.full((n + 1, n + 1), -1, np.int64)
    many = np.zeros((n + 1, 2), np.int64)
    mods = np.empty((n + 1, 2, n + 1), np.int64)
    for h in range(n + 1):
        for d in range(1, n + 1):
            if keep[h, d] and h != d:
                index[h, d] = counts[d]
                heads[d, counts[d]] = h
                counts[d] += 1
                if d > h:
                    mods[h, 1, many[h, 1]] = d
                    many[h, 1] += 1
        for d in range(h - 1, 0, -1):
            if keep[h, d]:
                mods[h, 0, many[h, 0]] = d
                many[h, 0] += 1
    return Governors(counts, heads, index, many, mods)


@njit
def grand_kernel(arc, sib, grand, governors, heads):
    """Fill ``heads`` (n,) with the best tree; its score, -inf (and heads of -1) if none is left.

    The chart of ``eisner_kernel``, but every half-tree knows the head of its head (model
    1 of Koo and Collins 2010).  g is governor number i of h, and stands outside the span::

        between[h, a, b]    = max over a <= m < b of complete[.., a, m] + complete[.., b, m + 1]
                              the facing halves of neighbouring modifiers a < b, both below h,
                              which is here the number of h among the governors of a
        incomplete[i, h, d] = arc[h, d] + grand[i, h, d] + max(
                              sib[h, h, d] + complete[h among d's, d, the word next to h],
                              max over s of incomplete[i, h, s] + sib[h, s, d] + between[h, s, d])
        complete[i, h, e]   = max over d of incomplete[i, h, d] + complete[h among d's, d, e]

    With k governors and modifiers a word this is O(k^2 n^2) time and O(k n^2) memory: all loops
    but the one for the middle m go over the arcs kept.  No cell is read that was not written
    before.  Ties go to the choice seen first.
    """
    n = arc.shape[0] - 1
    counts, governor, index = governors.counts, governors.heads, governors.number_of
    many, mods = governors.many, governors.mods
    most = counts.max()
    complete = np.empty((most, n + 1, n + 1))
    incomplete = np.empty((most, n + 1, n + 1))
    between = np.empty((most, n + 1, n + 1))
    last = np.empty((most, n + 1, n + 1), np.int32)  # the s of the best incomplete, h for none
    split = np.empty((most, n + 1, n + 1), np.int32)  # the d of the best complete
    middle = np.empty((most, n + 1, n + 1), np.int32)  # the m of the best between
    for w in range(1, n + 1):
        complete[:, w, w] = 0.0
    for width in range(1, n):
        for a in range(1, n + 1 - width):
            b = a + width
            # a and b as neighbouring modifiers of a head h that both may have, outside of both
            for i in range(counts[a]):
                h = governor[a, i]
                j = index[h, b]
                if j < 0 or a <= h <= b or h == 0:
                    continue
                best = -np.inf
                where = a
                for m in range(a, b):
                    value = complete[i, a, m] + complete[j, b, m + 1]
                    if value > best:
                        best = value
                        where = m
                between[i, a, b] = best
                middle[i, a, b] = where
            for side in range(2):
                h, d = (a, b) if side == 1 else (b, a)
                step = 1 if side == 1 else -1
                among = index[h, d]  # which of the governors of d is h? -1: none
                n_mods = many[h, side]
                for i in range(counts[h]):
                    g = governor[h, i]
                    if a <= g <= b:  # the tree would not be projective
                        continue
                    if among >= 0:
                        best = sib[h, h, d] + complete[among, d, h + step]
                        where = h
                        for k in range(n_mods):
                            s = mods[h, side, k]
                            if s == d:
                                break
                            value = incomplete[i, h, s] + sib[h, s, d]
                            if side == 1:
                                value += between[index[h, s], s, d]
                            else:
                                value += between[among, d, s]
                            if value > best:
                                best = value
                                where = s
                        incomplete[i, h, d] = best + arc[h, d] + grand[i, h, d]
                        last[i, h, d] = where
                    # the outermost modifier e of h closes: its outer half reaches to d
                    best = -np.inf
                    where = d
                    for k in range(n_mods):
                        e = mods[h, side, k]
                        if (e - d) * step > 0:
                            break
                        value = incomplete[i, h, e] + complete[index[h, e], e, d]
                        if value > best:
                            best = value
                            where = e
                    complete[i, h, d] = best
                    split[i, h, d] = where
    heads[:] = -1
    score = -np.inf
    root = 0
    for r in range(1, n + 1):
        if index[0, r] >= 0:
            i = index[0, r]
            value = arc[0, r] + sib[0, 0, r] + complete[i, r, 1] + complete[i, r, n]
            if value > score:
                score = value
                root = r
    if root == 0:
        return score
    # back through the choices, with a stack of cells still to be opened
    heads[root - 1] = 0
    # kind 0: complete (i, h, e); 1: incomplete (i, h, d); 2: between (h, s, d)
    stack = np.empty((4 * n + 8, 4), np.int64)
    i = index[0, root]
    stack[0] = 0, i, root, 1
    stack[1] = 0, i, root, n
    top = 2
    while top:
        top -= 1
        kind, i, h, e = stack[top]
        if kind == 0:
            if h == e:
                continue
            d = np.int64(split[i, h, e])
            stack[top] = 1, i, h, d
            stack[top + 1] = 0, index[h, d], d, e
            top += 2
        elif kind == 1:
            heads[e - 1] = h
            s = np.int64(last[i, h, e])
            if s == h:
                stack[top] = 0, index[h, e], e, (h + 1 if e > h else h - 1)
                top += 1
            else:
                stack[top] = 1, i, h, s
                stack[top + 1] = 2, h, min(s, e), max(s, e)
                top += 2
        else:  # here i is the head of both, h and e are the two modifiers
            m = np.int64(middle[index[i, h], h, e])
            stack[top] = 0, index[i, h], h, m
            stack[top + 1] = 0, index[i, e], e, m + 1
            top += 2
    return score
