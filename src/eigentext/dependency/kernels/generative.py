"""Loops of the generative parser: inside and outside over projective trees, Viterbi.

States are numbered through all tags; word i has m[i] of them, from ``first[i]`` on, and h and g
below are numbers of states within a word's own.  Sides: 0 left, 1 right.  q is the sibling class:
0 as long as a side has no child, then the class of its last child's tag.  The length class is that
of the number of words which the half covers so far.

A *half* [i, end] is head i with its children on the side of ``end``, over all words from i to end.
The right half has the word itself, so that p(word i | h) counts once.  Halves of one word only are
the same on either side but for that, and are kept apart (``alone``).

Values are kept in range by a binary exponent for each cell: what a cell holds is times
2**exponent.  Powers of two change no digit.
"""

import math
from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Float64s, Int64s

FAR = 900  # a part smaller than 2**-FAR beside the largest is dropped


class Words(NamedTuple):
    """A sentence of n words."""

    emit: Float64s  # (n, M) p(word i | its own h-th state); 0 beyond m[i]
    first: Int64s  # (n,) number of its first state
    m: Int64s  # (n,) how many it has
    kind: Int64s  # (n,) sibling class of its tag, 1 and up
    length: Int64s  # (n + 1,) length class of every number of words


class Automaton(NamedTuple):
    """What a head does: S states, Q sibling classes, L length classes."""

    T: Float64s  # (2, Q, S, S) T[side, q, h, h'] = p(child state h' | head state h, side, q)
    go: Float64s  # (2, Q, L, S) p(one more child | ...)
    stop: Float64s  # = 1 - go
    root: Float64s  # (S,) p(state of the root)


class Chart(NamedTuple):
    """Inside values, p(words that a cell covers | states of its heads)."""

    alone: Float64s  # (2, n, M) [side, i, h]: the half of word i alone, stopped
    growing: Float64s  # (n, n, Q, M) [i, end, q, h]: a half that may take more children
    growing_exp: Int64s  # (n, n) binary exponents
    closed: Float64s  # (n, n, M) [i, end, h]: the same, stopped; it has those exponents, too
    # (n, n, M, M) [i, j, h, g]: head i with its newest child j, which has its inner half, but not
    # its outer one
    linked: Float64s
    linked_exp: Int64s


class Outside(NamedTuple):
    """Outside values in the shapes of :class:`Chart`."""

    alone: Float64s
    growing: Float64s
    closed: Float64s
    linked: Float64s


@njit
def _power(exponent):
    """2**exponent, 0 where it is hopelessly small."""
    return 0.0 if exponent < -FAR else math.ldexp(1.0, exponent)


@njit
def _half(chart, side, i, end):
    """(M,) the stopped half [i, end], which is on this side of i."""
    return chart.alone[side, i] if i == end else chart.closed[i, end]


@njit
def _normalise(cell):
    """Divide by a power of two so that the largest value is below 1; its exponent."""
    peak = 0.0
    for row in range(cell.shape[0]):
        for h in range(cell.shape[1]):
            peak = max(peak, cell[row, h])
    if peak == 0.0:
        return 0
    exponent = math.frexp(peak)[1]
    back = math.ldexp(1.0, -exponent)
    for row in range(cell.shape[0]):
        for h in range(cell.shape[1]):
            cell[row, h] *= back
    return exponent


@njit
def _link(words, automaton, chart, i, j, pair):
    """Fill linked[i, j]: head i takes child j, whose inner half begins where i's half ends.

    ::

        linked[i, j, h, g] = sum over r from i towards j, and q, of
            growing[i, r, q, h] go(h, side, q, |r - i|) T[side, q, h, g] half[j, r + step, g]

    ``pair`` (Q, M, M) is scratch: the sum over r for each q, so that T is multiplied in once.
    """
    first, m, go, T = words.first, words.m, automaton.go, automaton.T
    growing, exponents = chart.growing, chart.growing_exp
    Q = T.shape[1]
    side = 1 if j > i else 0
    step = 2 * side - 1
    mi, mj, si, sj = m[i], m[j], first[i], first[j]
    # all terms are brought to the largest exponent among them before they are added
    top = -(1 << 30)
    for r in range(i, j, step):
        top = max(top, exponents[i, r] + exponents[j, r + step])
    pair[:, :mi, :mj] = 0.0
    for r in range(i, j, step):
        factor = _power(exponents[i, r] + exponents[j, r + step] - top)
        if factor == 0.0:
            continue
        inner = _half(chart, 1 - side, j, r + step)  # of j, on the side of i
        if r == i:  # the first child on this side
            for h in range(mi):
                x = factor * go[side, 0, 0, si + h]
                if side == 1:
                    x *= words.emit[i, h]
                for g in range(mj):
                    pair[0, h, g] += x * inner[g]
        else:
            length = words.length[abs(r - i)]
            for q in range(1, Q):
                for h in range(mi):
                    x = factor * growing[i, r, q, h]
                    if x != 0.0:
                        x *= go[side, q, length, si + h]
                        for g in range(mj):
                            pair[q, h, g] += x * inner[g]
    linked = chart.linked[i, j]
    for h in range(mi):
        for g in range(mj):
            total = 0.0
            for q in range(Q):
                total += pair[q, h, g] * T[side, q, si + h, sj + g]
            linked[h, g] = total
    chart.linked_exp[i, j] = top + _normalise(linked)


@njit
def _grow(words, automaton, chart, i, end):
    """Fill growing[i, end] and closed[i, end]: the newest child j gets its outer half.

    ::

        growing[i, end, q, h] = sum over j of class q, and g, of linked[i, j, h, g] half[j, end, g]
        closed[i, end, h]     = sum over q of growing[i, end, q, h] stop(h, side, q, |end - i|)
    """
    stop, linked, exponents = automaton.stop, chart.linked, chart.growing_exp
    side = 1 if end > i else 0
    step = 2 * side - 1
    mi, si = words.m[i], words.first[i]
    growing = chart.growing[i, end]
    top = -(1 << 30)
    for j in range(i + step, end + step, step):
        top = max(top, chart.linked_exp[i, j] + exponents[j, end])
    for j in range(i + step, end + step, step):
        factor = _power(chart.linked_exp[i, j] + exponents[j, end] - top)
        if factor == 0.0:
            continue
        outer = _half(chart, side, j, end)  # of j, away from i
        q = words.kind[j]  # j is now the last child of i
        for h in range(mi):
            total = 0.0
            for g in range(words.m[j]):
                total += linked[i, j, h, g] * outer[g]
            growing[q, h] += factor * total
    exponents[i, end] = top + _normalise(growing)
    # stopped: the sibling class is forgotten, which makes the halves of j above small
    length = words.length[abs(end - i)]
    for h in range(mi):
        total = 0.0
        for q in range(1, len(growing)):
            total += growing[q, h] * stop[side, q, length, si + h]
        chart.closed[i, end, h] = total


@njit
def inside(words, automaton):
    """The chart, and log p(words) summed over all projective trees and their states."""
    # Cells are filled from narrow spans to wide ones (:func:`_link`, then :func:`_grow`), and
    #     p(words) = sum over i, h of root(h) half[i, 0, h] half[i, n - 1, h]
    # O(n^3 Q M^2) time, O(n^2 (Q M + M^2)) memory.
    (n, M), Q = words.emit.shape, automaton.T.shape[1]
    chart = Chart(
        np.zeros((2, n, M)),
        np.zeros((n, n, Q, M)),
        np.zeros((n, n), np.int64),
        np.zeros((n, n, M)),
        np.zeros((n, n, M, M)),
        np.zeros((n, n), np.int64),
    )
    pair = np.zeros((Q, M, M))
    for i in range(n):
        for h in range(words.m[i]):
            s = words.first[i] + h
            chart.alone[0, i, h] = automaton.stop[0, 0, 0, s]
            chart.alone[1, i, h] = automaton.stop[1, 0, 0, s] * words.emit[i, h]
    for width in range(1, n):
        for side in range(2):
            away = width if side else -width
            # a cell needs narrower ones only, but for linked[i, end], which growing[i, end] needs
            for i in range(n):
                if 0 <= i + away < n:
                    _link(words, automaton, chart, i, i + away, pair)
            for i in range(n):
                if 0 <= i + away < n:
                    _grow(words, automaton, chart, i, i + away)
    # the root of the sentence is word i, with both its halves
    exponents = chart.growing_exp
    top = -(1 << 30)
    for i in range(n):
        top = max(top, exponents[i, 0] + exponents[i, n - 1])
    total = 0.0
    for i in range(n):
        left, right = _half(chart, 0, i, 0), _half(chart, 1, i, n - 1)
        part = 0.0
        for h in range(words.m[i]):
            part += automaton.root[words.first[i] + h] * left[h] * right[h]
        total += part * _power(exponents[i, 0] + exponents[i, n - 1] - top)
    return chart, math.log(total) + top * math.log(2.0) if total > 0.0 else -np.inf


@njit
def _grow_outside(words, automaton, chart, out, i, end):
    """What :func:`_grow` summed, backwards: from [i, end] to its newest children j."""
    stop, linked = automaton.stop, chart.linked
    side = 1 if end > i else 0
    step = 2 * side - 1
    mi, si, length = words.m[i], words.first[i], words.length[abs(end - i)]
    growing = out.growing[i, end]
    # what the half is worth stopped, and what it was worth as the beginning of longer ones
    some = False
    for q in range(1, len(growing)):
        for h in range(mi):
            growing[q, h] += out.closed[i, end, h] * stop[side, q, length, si + h]
            some = some or growing[q, h] != 0.0
    if not some:
        return
    for j in range(i + step, end + step, step):
        exponent = chart.linked_exp[i, j] + chart.growing_exp[j, end]
        factor = _power(exponent - chart.growing_exp[i, end])
        if factor == 0.0:
            continue
        outer, out_outer = _half(chart, side, j, end), _half(out, side, j, end)
        q = words.kind[j]
        for h in range(mi):
            x = factor * growing[q, h]
            if x != 0.0:
                for g in range(words.m[j]):
                    out.linked[i, j, h, g] += x * outer[g]
                    out_outer[g] += x * linked[i, j, h, g]


@njit
def _link_outside(words, automaton, chart, out, i, j, pair):
    """What :func:`_link` summed, backwards: from arc i -> j to both halves; its posterior."""
    first, m, go, T = words.first, words.m, automaton.go, automaton.T
    Q = T.shape[1]
    side = 1 if j > i else 0
    step = 2 * side - 1
    mi, mj, si, sj = m[i], m[j], first[i], first[j]
    posterior = 0.0
    for h in range(mi):
        for g in range(mj):
            posterior += out.linked[i, j, h, g] * chart.linked[i, j, h, g]
    if posterior < 1e-14:  # nothing below this arc can matter
        return posterior
    for h in range(mi):
        for g in range(mj):
            for q in range(Q):
                pair[q, h, g] = out.linked[i, j, h, g] * T[side, q, si + h, sj + g]
    for r in range(i, j, step):
        exponent = chart.growing_exp[i, r] + chart.growing_exp[j, r + step]
        factor = _power(exponent - chart.linked_exp[i, j])
        if factor == 0.0:
            continue
        inner, out_inner = _half(chart, 1 - side, j, r + step), _half(out, 1 - side, j, r + step)
        if r == i:
            for h in range(mi):
                x = factor * go[side, 0, 0, si + h]
                if side == 1:
                    x *= words.emit[i, h]
                for g in range(mj):
                    out_inner[g] += x * pair[0, h, g]
            continue
        length = words.length[abs(r - i)]
        for q in range(1, Q):
            for h in range(mi):
                x = factor * go[side, q, length, si + h]
                u = x * chart.growing[i, r, q, h]
                total = 0.0
                for g in range(mj):
                    total += pair[q, h, g] * inner[g]
                    out_inner[g] += u * pair[q, h, g]
                out.growing[i, r, q, h] += x * total
    return posterior


@njit
def outside(words, automaton, chart, log_z):
    """Posterior of every arc, marginals[head, dependent], 0 = root; outside values of all cells.

    From wide spans to narrow ones, each cell hands what it is worth to the cells that it was
    summed from.  Outside values are times 2**exponent of their cell and divided by p(words): so
    inside times outside is a posterior at once, and nothing leaves the range of numbers.

    Time and memory as for :func:`inside`.
    """
    (n, M), Q = words.emit.shape, automaton.T.shape[1]
    marginals = np.zeros((n + 1, n + 1))
    out = Outside(
        np.zeros((2, n, M)), np.zeros((n, n, Q, M)), np.zeros((n, n, M)), np.zeros((n, n, M, M))
    )
    pair = np.zeros((Q, M, M))
    shift = math.floor(log_z / math.log(2.0))
    rest = math.exp(log_z - shift * math.log(2.0))  # p(words) = rest * 2**shift
    for i in range(n):
        factor = _power(chart.growing_exp[i, 0] + chart.growing_exp[i, n - 1] - shift) / rest
        left, right = _half(chart, 0, i, 0), _half(chart, 1, i, n - 1)
        out_left, out_right = _half(out, 0, i, 0), _half(out, 1, i, n - 1)
        for h in range(words.m[i]):
            x = factor * automaton.root[words.first[i] + h]
            marginals[0, i + 1] += x * left[h] * right[h]
            out_left[h] += x * right[h]
            out_right[h] += x * left[h]
    # the other way round: linked[i, j] has its worth from halves [i, end] of its width or more
    for width in range(n - 1, 0, -1):
        for side in range(2):
            away = width if side else -width
            for i in range(n):
                if 0 <= i + away < n:
                    _grow_outside(words, automaton, chart, out, i, i + away)
        for side in range(2):
            away = width if side else -width
            for i in range(n):
                j = i + away
                if 0 <= j < n:
                    posterior = _link_outside(words, automaton, chart, out, i, j, pair)
                    marginals[i + 1, j + 1] = posterior
    return marginals, out


@njit
def viterbi(words, automaton, heads):
    """The best tree with its states; all parameters are logs here; returns its log probability."""
    # The recurrences of :func:`inside` with maxima for sums, on logs, which need no exponents.
    # Here cells have an axis for the side, so that [i, i] needs no chart of its own.
    # Backpointers: ``child_of[i, end, q, h]`` = (newest child, its state), ``joint_of[i, j, h,
    # g]`` = (where the half of i ended before, its class q), ``class_of[i, end, h]`` the q with
    # which a half stopped.
    first, m, kind, emit = words.first, words.m, words.kind, words.emit
    T, go, stop = automaton.T, automaton.go, automaton.stop
    (n, M), Q = emit.shape, T.shape[1]
    growing = np.full((n, n, 2, Q, M), -np.inf)
    closed = np.full((n, n, 2, M), -np.inf)
    linked = np.full((n, n, M, M), -np.inf)
    child_of = np.zeros((n, n, Q, M, 2), np.int32)
    joint_of = np.zeros((n, n, M, M, 2), np.int32)
    class_of = np.zeros((n, n, M), np.int64)
    for i in range(n):
        for h in range(m[i]):
            growing[i, i, 0, 0, h] = 0.0
            growing[i, i, 1, 0, h] = emit[i, h]
            for side in range(2):
                value = growing[i, i, side, 0, h] + stop[side, 0, 0, first[i] + h]
                closed[i, i, side, h] = value
    for width in range(1, n):
        length_here = words.length[width]
        for side in range(2):
            step = 2 * side - 1
            for i in range(n):  # head i takes child j
                j = i + step * width
                if j < 0 or j >= n:
                    continue
                si, sj = first[i], first[j]
                for r in range(i, j, step):
                    length = words.length[abs(r - i)]
                    for q in range(Q):
                        for h in range(m[i]):
                            x = growing[i, r, side, q, h]
                            if x == -np.inf:
                                continue
                            x += go[side, q, length, si + h]
                            for g in range(m[j]):
                                y = closed[j, r + step, 1 - side, g] + x
                                if y <= linked[i, j, h, g]:  # log T is at most 0
                                    continue
                                y += T[side, q, si + h, sj + g]
                                if y > linked[i, j, h, g]:
                                    linked[i, j, h, g] = y
                                    joint_of[i, j, h, g, 0] = r
                                    joint_of[i, j, h, g, 1] = q
            for i in range(n):  # the newest child of i gets its outer half
                end = i + step * width
                if end < 0 or end >= n:
                    continue
                for j in range(i + step, end + step, step):
                    q = kind[j]
                    for h in range(m[i]):
                        for g in range(m[j]):
                            x = linked[i, j, h, g] + closed[j, end, side, g]
                            if x > growing[i, end, side, q, h]:
                                growing[i, end, side, q, h] = x
                                child_of[i, end, q, h, 0] = j
                                child_of[i, end, q, h, 1] = g
                for q in range(1, Q):
                    for h in range(m[i]):
                        x = growing[i, end, side, q, h] + stop[side, q, length_here, first[i] + h]
                        if x > closed[i, end, side, h]:
                            closed[i, end, side, h] = x
                            class_of[i, end, h] = q
    best, top, state = -np.inf, -1, 0
    for i in range(n):
        for h in range(m[i]):
            x = closed[i, 0, 0, h] + closed[i, n - 1, 1, h] + automaton.root[first[i] + h]
            if x > best:
                best, top, state = x, i, h
    if top < 0:
        return best
    heads[top] = 0
    stack = [(top, 0, state), (top, n - 1, state)]  # stopped halves still to be opened
    while len(stack) > 0:
        i, end, h = stack.pop()
        q = class_of[i, end, h]
        while end != i:  # the children of i on this side, from the last inward
            j, g = child_of[i, end, q, h, 0], child_of[i, end, q, h, 1]
            heads[j] = i + 1
            stack.append((j, end, g))
            r, q = joint_of[i, j, h, g, 0], joint_of[i, j, h, g, 1]
            stack.append((j, r + 1 if j > i else r - 1, g))
            end = r
    return best
