"""Loops of the generative parser: inside and outside over projective trees, Viterbi, one tree.

States are numbered through all tags; word i has m[i] states from ``first[i]`` on.
Sides: 0 left, 1 right.  Parameters (S states, Q sibling classes, L length classes):

    T     (2, Q, S, S)   T[side, q, h, h'] = p(child state h' | head state h, side, class q)
    go    (2, Q, L, S)   p(one more child | ...), stop = 1 - go
    root  (S,)           emit (n, M): p(word i | its own h-th state)

q = 0: no child yet on this side; otherwise the class of the last child's tag.  The length class is
that of the number of words which the head's half covers so far.

A half cell [i, r]: head i with its children on the side of r, covering i..r; r = i on either side
is kept apart (``own``).  Cells carry a binary exponent, so that nothing underflows.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

FAR = 900  # a part smaller than 2**-FAR beside the largest is dropped


@njit(cache=True)
def _power(exponent):
    """2**exponent, 0 where it is hopelessly small."""
    return 0.0 if exponent < -FAR else math.ldexp(1.0, exponent)


@njit(cache=True)
def inside(emit, first, m, kind, length, T, go, stop, root, own, U, F, eU, I, eI):  # noqa: E741
    """Fill the chart; returns log p(words) summed over all projective trees.

    own (2, n, M): stopped halves [i, i]; U (n, n, Q, M) halves that may go on, [i, i] is never
    used; F (n, n, M) the same stopped; I (n, n, M, M) head i with its newest child j, whose far
    side is still open.  eU, eI (n, n): exponents.
    """
    n, Q = len(first), T.shape[1]
    M = emit.shape[1]
    pair = np.zeros((Q, M, M))
    for i in range(n):
        for h in range(m[i]):
            own[0, i, h] = stop[0, 0, 0, first[i] + h]
            own[1, i, h] = stop[1, 0, 0, first[i] + h] * emit[i, h]
    for width in range(1, n):
        for side in range(2):
            step = 2 * side - 1
            for i in range(n):
                j = i + step * width
                if j < 0 or j >= n:
                    continue
                mi, mj, si, sj = m[i], m[j], first[i], first[j]
                # head i takes child j: the inner half of j begins where the half of i ends
                top = -(1 << 30)
                for r in range(i, j, step):
                    e = (eU[i, r] if r != i else 0) + (eU[j, r + step] if r + step != j else 0)
                    top = max(top, e)
                pair[:, :mi, :mj] = 0.0
                for r in range(i, j, step):
                    e = (eU[i, r] if r != i else 0) + (eU[j, r + step] if r + step != j else 0)
                    factor = _power(e - top)
                    if factor == 0.0:
                        continue
                    inner = own[1 - side, j] if r + step == j else F[j, r + step]
                    if r == i:
                        for h in range(mi):
                            x = factor * go[side, 0, 0, si + h]
                            if side == 1:
                                x *= emit[i, h]
                            for g in range(mj):
                                pair[0, h, g] += x * inner[g]
                    else:
                        lc = length[abs(r - i)]
                        for q in range(1, Q):
                            for h in range(mi):
                                x = factor * U[i, r, q, h]
                                if x != 0.0:
                                    x *= go[side, q, lc, si + h]
                                    for g in range(mj):
                                        pair[q, h, g] += x * inner[g]
                peak = 0.0
                for h in range(mi):
                    for g in range(mj):
                        total = 0.0
                        for q in range(Q):
                            total += pair[q, h, g] * T[side, q, si + h, sj + g]
                        I[i, j, h, g] = total
                        peak = max(peak, total)
                scale = 0
                if peak > 0.0:
                    scale = math.frexp(peak)[1]
                    back = math.ldexp(1.0, -scale)
                    for h in range(mi):
                        for g in range(mj):
                            I[i, j, h, g] *= back
                eI[i, j] = top + scale
            for i in range(n):
                end = i + step * width
                if end < 0 or end >= n:
                    continue
                mi, si = m[i], first[i]
                # the outer half of the newest child j closes: the half of i now ends at ``end``
                top = -(1 << 30)
                for j in range(i + step, end + step, step):
                    top = max(top, eI[i, j] + (eU[j, end] if j != end else 0))
                U[i, end, :, :mi] = 0.0
                for j in range(i + step, end + step, step):
                    factor = _power(eI[i, j] + (eU[j, end] if j != end else 0) - top)
                    if factor == 0.0:
                        continue
                    outer = own[side, j] if j == end else F[j, end]
                    q = kind[j]
                    for h in range(mi):
                        total = 0.0
                        for g in range(m[j]):
                            total += I[i, j, h, g] * outer[g]
                        U[i, end, q, h] += factor * total
                peak = 0.0
                for q in range(1, Q):
                    for h in range(mi):
                        peak = max(peak, U[i, end, q, h])
                scale = 0
                if peak > 0.0:
                    scale = math.frexp(peak)[1]
                    back = math.ldexp(1.0, -scale)
                    for q in range(1, Q):
                        for h in range(mi):
                            U[i, end, q, h] *= back
                eU[i, end] = top + scale
                lc = length[width]
                for h in range(mi):
                    total = 0.0
                    for q in range(1, Q):
                        total += U[i, end, q, h] * stop[side, q, lc, si + h]
                    F[i, end, h] = total
    top = -(1 << 30)
    for i in range(n):
        top = max(top, (eU[i, 0] if i else 0) + (eU[i, n - 1] if i < n - 1 else 0))
    total = 0.0
    for i in range(n):
        e = (eU[i, 0] if i else 0) + (eU[i, n - 1] if i < n - 1 else 0)
        left = F[i, 0] if i else own[0, i]
        right = F[i, n - 1] if i < n - 1 else own[1, i]
        part = 0.0
        for h in range(m[i]):
            part += root[first[i] + h] * left[h] * right[h]
        total += part * _power(e - top)
    return math.log(total) + top * math.log(2.0) if total > 0.0 else -np.inf


@njit(cache=True)
def outside(
    emit,
    first,
    m,
    kind,
    length,
    T,
    go,
    stop,
    root,
    log_z,
    own,
    U,
    F,
    eU,
    I,  # noqa: E741
    eI,
    oown,
    oU,
    oF,
    marginals,
):
    """Posterior of every arc, marginals[head, dependent], 0 = root; charts as in ``inside``.

    o... (zeros on entry) are outside values times 2**exponent of their cell, divided by p(words):
    inside times outside is a posterior at once.
    """
    n, Q = len(first), T.shape[1]
    M = emit.shape[1]
    oI = np.zeros((n, n, M, M))
    shift = math.floor(log_z / math.log(2.0))
    rest = math.exp(log_z - shift * math.log(2.0))  # p(words) = rest * 2**shift
    for i in range(n):
        e = (eU[i, 0] if i else 0) + (eU[i, n - 1] if i < n - 1 else 0)
        factor = _power(e - shift) / rest
        left = F[i, 0] if i else own[0, i]
        right = F[i, n - 1] if i < n - 1 else own[1, i]
        oleft = oF[i, 0] if i else oown[0, i]
        oright = oF[i, n - 1] if i < n - 1 else oown[1, i]
        for h in range(m[i]):
            x = factor * root[first[i] + h]
            marginals[0, i + 1] += x * left[h] * right[h]
            oleft[h] += x * right[h]
            oright[h] += x * left[h]
    pair = np.zeros((Q, M, M))
    for width in range(n - 1, 0, -1):
        for side in range(2):
            step = 2 * side - 1
            for i in range(n):
                end = i + step * width
                if end < 0 or end >= n:
                    continue
                mi, si, lc = m[i], first[i], length[width]
                some = False
                for q in range(1, Q):
                    for h in range(mi):
                        oU[i, end, q, h] += oF[i, end, h] * stop[side, q, lc, si + h]
                        some = some or oU[i, end, q, h] != 0.0
                if not some:
                    continue
                for j in range(i + step, end + step, step):
                    factor = _power(eI[i, j] + (eU[j, end] if j != end else 0) - eU[i, end])
                    if factor == 0.0:
                        continue
                    outer = own[side, j] if j == end else F[j, end]
                    oouter = oown[side, j] if j == end else oF[j, end]
                    q = kind[j]
                    for h in range(mi):
                        x = factor * oU[i, end, q, h]
                        if x != 0.0:
                            for g in range(m[j]):
                                oI[i, j, h, g] += x * outer[g]
                                oouter[g] += x * I[i, j, h, g]
        for side in range(2):
            step = 2 * side - 1
            for i in range(n):
                j = i + step * width
                if j < 0 or j >= n:
                    continue
                mi, mj, si, sj = m[i], m[j], first[i], first[j]
                posterior = 0.0
                for h in range(mi):
                    for g in range(mj):
                        posterior += oI[i, j, h, g] * I[i, j, h, g]
                        for q in range(Q):
                            pair[q, h, g] = oI[i, j, h, g] * T[side, q, si + h, sj + g]
                marginals[i + 1, j + 1] = posterior
                if posterior < 1e-14:
                    continue
                for r in range(i, j, step):
                    e = (eU[i, r] if r != i else 0) + (eU[j, r + step] if r + step != j else 0)
                    factor = _power(e - eI[i, j])
                    if factor == 0.0:
                        continue
                    inner = own[1 - side, j] if r + step == j else F[j, r + step]
                    oinner = oown[1 - side, j] if r + step == j else oF[j, r + step]
                    lc = length[abs(r - i)]
                    for q in range(1 if r == i else Q):
                        if r != i and q == 0:
                            continue
                        for h in range(mi):
                            if r == i:
                                x = factor * go[side, 0, 0, si + h]
                                if side == 1:
                                    x *= emit[i, h]
                                for g in range(mj):
                                    oinner[g] += x * pair[0, h, g]
                            else:
                                x = factor * go[side, q, lc, si + h]
                                u = x * U[i, r, q, h]
                                total = 0.0
                                for g in range(mj):
                                    total += pair[q, h, g] * inner[g]
                                    oinner[g] += u * pair[q, h, g]
                                oU[i, r, q, h] += x * total


@njit(cache=True)
def viterbi(emit, first, m, kind, length, T, go, stop, root, U, I, backU, backI, heads):  # noqa: E741
    """The best tree with its states; parameters are logs here; returns its log probability.

    U (n, n, 2, Q, M): the second axis pair [i, r, side] knows [i, i] on both sides.  backU[i, end,
    q, h] = (child, its state); backI[i, j, h, g] = (where the half of i ended, its q).
    """
    n, Q = len(first), T.shape[1]
    M = emit.shape[1]
    F = np.full((n, n, 2, M), -np.inf)
    backF = np.zeros((n, n, M), np.int64)
    U[:] = -np.inf
    I[:] = -np.inf
    for i in range(n):
        for h in range(m[i]):
            U[i, i, 0, 0, h] = 0.0
            U[i, i, 1, 0, h] = emit[i, h]
            for side in range(2):
                F[i, i, side, h] = U[i, i, side, 0, h] + stop[side, 0, 0, first[i] + h]
    for width in range(1, n):
        for side in range(2):
            step = 2 * side - 1
            for i in range(n):
                j = i + step * width
                if j < 0 or j >= n:
                    continue
                si, sj = first[i], first[j]
                for r in range(i, j, step):
                    lc = length[abs(r - i)]
                    for q in range(Q):
                        for h in range(m[i]):
                            x = U[i, r, side, q, h]
                            if x == -np.inf:
                                continue
                            x += go[side, q, lc, si + h]
                            for g in range(m[j]):
                                y = F[j, r + step, 1 - side, g] + x
                                if y <= I[i, j, h, g]:  # T takes at most 1
                                    continue
                                y += T[side, q, si + h, sj + g]
                                if y > I[i, j, h, g]:
                                    I[i, j, h, g] = y
                                    backI[i, j, h, g, 0] = r
                                    backI[i, j, h, g, 1] = q
            for i in range(n):
                end = i + step * width
                if end < 0 or end >= n:
                    continue
                for j in range(i + step, end + step, step):
                    q = kind[j]
                    for h in range(m[i]):
                        for g in range(m[j]):
                            x = I[i, j, h, g] + F[j, end, side, g]
                            if x > U[i, end, side, q, h]:
                                U[i, end, side, q, h] = x
                                backU[i, end, q, h, 0] = j
                                backU[i, end, q, h, 1] = g
                lc = length[width]
                for q in range(1, Q):
                    for h in range(m[i]):
                        x = U[i, end, side, q, h] + stop[side, q, lc, first[i] + h]
                        if x > F[i, end, side, h]:
                            F[i, end, side, h] = x
                            backF[i, end, h] = q
    best, top, state = -np.inf, -1, 0
    for i in range(n):
        for h in range(m[i]):
            x = F[i, 0, 0, h] + F[i, n - 1, 1, h] + root[first[i] + h]
            if x > best:
                best, top, state = x, i, h
    if top < 0:
        return best
    heads[top] = 0
    stack = [(top, 0, state), (top, n - 1, state)]
    while len(stack) > 0:
        i, end, h = stack.pop()
        q = backF[i, end, h]
        while end != i:
            j, g = backU[i, end, q, h, 0], backU[i, end, q, h, 1]
            heads[j] = i + 1
            stack.append((j, end, g))
            r, q = backI[i, j, h, g, 0], backI[i, j, h, g, 1]
            stack.append((j, r + 1 if j > i else r - 1, g))
            end = r
    return best
