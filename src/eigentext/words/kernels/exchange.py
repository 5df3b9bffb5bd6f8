"""Compiled loops of the exchange refinement: arrays and scalars in, preallocated arrays out.

``f(x) = x log x`` throughout, with ``f(0) = 0``.  Cluster pairs are kept in both directions,
``ahead[a, b]`` and ``back[b, a]`` = how often cluster a stands before cluster b, and their values
of f beside them, so that the loop over all target clusters reads memory in order.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

_HALF_LOG_2 = 0.5 * np.log(2.0)
_LOG_2 = np.log(2.0)
_ROOT_2 = np.sqrt(2.0)


@intrinsic
def _bits_of(typingctx, x):
    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), codegen


@intrinsic
def _float_of(typingctx, x):
    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), codegen


@njit(inline="always", error_model="numpy")
def _quick_log(y):
    """log y to 1e-9 for normal y > 0, without a call, so that loops over it become vector code.

    y = 2^e t with 1 <= t < 2, and log t = log sqrt 2 + 2 atanh s, s = (t - sqrt 2)/(t + sqrt 2).
    """
    bits = _bits_of(y)
    exponent = (bits >> 52) - 1023
    t = _float_of((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000)
    s = (t - _ROOT_2) / (t + _ROOT_2)
    q = s * s
    series = 2.0 + q * (2 / 3 + q * (2 / 5 + q * (2 / 7 + q * (2 / 9))))
    return exponent * _LOG_2 + (_HALF_LOG_2 + s * series)


@njit(inline="always", error_model="numpy")
def _f(x):
    return x * np.log(x) if x > 0 else 0.0


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _gather(starts, neighbours, weights, word, cluster, sums, touched):
    """Sum a word's neighbours by their clusters; gives (how many clusters, its own count)."""
    used = 0
    own = 0.0
    for p in range(starts[word], starts[word + 1]):
        x = neighbours[p]
        if x == word:
            own = weights[p]
            continue
        c = cluster[x]
        if c < 0:
            continue
        if sums[c] == 0.0:
            touched[used] = c
            used += 1
        sums[c] += weights[p]
    return used, own


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _put(
    b,
    sign,
    own,
    sums_a,
    touched_a,
    n_a,
    sums_b,
    touched_b,
    n_b,
    ahead,
    back,
    f_ahead,
    f_back,
    left,
    right,
):
    """Add (sign 1) or take away (sign -1) a word's pairs to or from cluster b.

    The totals of the neighbours' clusters stay: the pairs are theirs wherever the word goes.
    """
    n_left = own
    n_right = own
    for i in range(n_a):
        c = touched_a[i]
        n_left += sums_a[c]
        x = ahead[b, c] + sign * sums_a[c]
        ahead[b, c] = x
        back[c, b] = x
    for i in range(n_b):
        c = touched_b[i]
        n_right += sums_b[c]
        x = ahead[c, b] + sign * sums_b[c]
        ahead[c, b] = x
        back[b, c] = x
    if own > 0.0:
        x = ahead[b, b] + sign * own
        ahead[b, b] = x
        back[b, b] = x
        value = _f(x)
        f_ahead[b, b] = value
        f_back[b, b] = value
    left[b] += sign * n_left
    right[b] += sign * n_right
    for i in range(n_a):
        c = touched_a[i]
        value = _f(ahead[b, c])
        f_ahead[b, c] = value
        f_back[c, b] = value
    for i in range(n_b):
        c = touched_b[i]
        value = _f(ahead[c, b])
        f_ahead[c, b] = value
        f_back[b, c] = value


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _add_gains(sums, touched, used, table, f_table, gains):
    """``gains[b] += sum over c of f(table[c, b] + sums[c]) - f(table[c, b])`` for every b."""
    m = gains.shape[0]
    i = 0
    while i + 2 <= used:
        c0, c1 = touched[i], touched[i + 1]
        d0, d1 = sums[c0], sums[c1]
        x0, x1 = table[c0], table[c1]
        f0, f1 = f_table[c0], f_table[c1]
        for b in range(m):
            y0 = x0[b] + d0
            y1 = x1[b] + d1
            gains[b] += (y0 * _quick_log(y0) - f0[b]) + (y1 * _quick_log(y1) - f1[b])
        i += 2
    if i < used:
        c0 = touched[i]
        d0 = sums[c0]
        x0 = table[c0]
        f0 = f_table[c0]
        for b in range(m):
            y0 = x0[b] + d0
            gains[b] += y0 * _quick_log(y0) - f0[b]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _exact_gain(
    b, own, sums_a, touched_a, n_a, sums_b, touched_b, n_b, n_left, n_right, ahead, left, right
):
    """What joining cluster b adds to N times the mutual information, in full precision."""
    gain = 0.0
    for i in range(n_a):
        c = touched_a[i]
        if c != b:
            x = ahead[b, c]
            gain += _f(x + sums_a[c]) - _f(x)
    for i in range(n_b):
        c = touched_b[i]
        if c != b:
            x = ahead[c, b]
            gain += _f(x + sums_b[c]) - _f(x)
    x = ahead[b, b]
    gain += _f(x + sums_a[b] + sums_b[b] + own) - _f(x)
    gain -= _f(left[b] + n_left) - _f(left[b])
    gain -= _f(right[b] + n_right) - _f(right[b])
    return gain


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def exchange_pass(
    order,
    after_starts,
    after,
    after_n,
    before_starts,
    before,
    before_n,
    cluster,
    sizes,
    ahead,
    back,
    f_ahead,
    f_back,
    left,
    right,
    least,
):
    """Visit the words in order and move each to its best cluster; gives (moves, gain).

    A word whose cluster is negative is put into its best cluster.  A word that is its cluster's
    only one stays: clusters never become empty.  A word moves when N times the mutual
    information grows by more than ``least``, in full precision; of targets that
    are equal, or apart by less than ``least``, the first wins.
    """
    m = sizes.shape[0]
    sums_a, sums_b = np.zeros(m), np.zeros(m)
    touched_a, touched_b = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    gains = np.empty(m)
    moves = 0
    total = 0.0
    for w in order:
        a = cluster[w]
        if a >= 0 and sizes[a] == 1:
            continue
        n_a, own = _gather(after_starts, after, after_n, w, cluster, sums_a, touched_a)
        n_b, _ = _gather(before_starts, before, before_n, w, cluster, sums_b, touched_b)
        if a >= 0:
            _put(
                a,
                -1.0,
                own,
                sums_a,
                touched_a,
                n_a,
                sums_b,
                touched_b,
                n_b,
                ahead,
                back,
                f_ahead,
                f_back,
                left,
                right,
            )
        n_left = own
        n_right = own
        for i in range(n_a):
            c = touched_a[i]
            n_left += sums_a[c]
            if a < 0:  # these pairs are new to the neighbours' totals too
                right[c] += sums_a[c]
        for i in range(n_b):
            c = touched_b[i]
            n_right += sums_b[c]
            if a < 0:
                left[c] += sums_b[c]
        if n_left + n_right == 0.0:  # never beside another word: any cluster is as good
            if a < 0:
                best = np.argmax(sizes)
                sizes[best] += 1
                cluster[w] = best
                moves += 1
            continue
        for b in range(m):
            y, z = left[b] + n_left + 1e-300, right[b] + n_right + 1e-300
            x, v = left[b] + 1e-300, right[b] + 1e-300
            gains[b] = (x * _quick_log(x) - y * _quick_log(y)) + (
                v * _quick_log(v) - z * _quick_log(z)
            )
        _add_gains(sums_a, touched_a, n_a, back, f_back, gains)
        _add_gains(sums_b, touched_b, n_b, ahead, f_ahead, gains)
        for i in range(n_a):  # the cell (b, b) takes pairs of both sides at once
            b = touched_a[i]
            x, d = ahead[b, b], sums_a[b]
            e = sums_b[b]
            gains[b] += _f(x + d + e + own) - _f(x + d)
            if e > 0.0:
                gains[b] += _f(x) - _f(x + e)
        for i in range(n_b):
            b = touched_b[i]
            if sums_a[b] == 0.0 and own > 0.0:
                x, e = ahead[b, b], sums_b[b]
                gains[b] += _f(x + e + own) - _f(x + e)
        if own > 0.0:
            for b in range(m):
                if sums_a[b] == 0.0 and sums_b[b] == 0.0:
                    x = ahead[b, b]
                    gains[b] += _f(x + own) - _f(x)
        best = 0
        for b in range(1, m):
            if gains[b] > gains[best] + least:
                best = b
        if a >= 0 and best != a:
            there = _exact_gain(
                best,
                own,
                sums_a,
                touched_a,
                n_a,
                sums_b,
                touched_b,
                n_b,
                n_left,
                n_right,
                ahead,
                left,
                right,
            )
            here = _exact_gain(
                a,
                own,
                sums_a,
                touched_a,
                n_a,
                sums_b,
                touched_b,
                n_b,
                n_left,
                n_right,
                ahead,
                left,
                right,
            )
            if there - here > least:
                total += there - here
            else:
                best = a
        if best != a:
            moves += 1
            if a >= 0:
                sizes[a] -= 1
            sizes[best] += 1
            cluster[w] = best
        _put(
            best,
            1.0,
            own,
            sums_a,
            touched_a,
            n_a,
            sums_b,
            touched_b,
            n_b,
            ahead,
            back,
            f_ahead,
            f_back,
            left,
            right,
        )
        for i in range(n_a):
            sums_a[touched_a[i]] = 0.0
        for i in range(n_b):
            sums_b[touched_b[i]] = 0.0
    return moves, total


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def sibling_pass(
    order,
    after_starts,
    after,
    after_n,
    before_starts,
    before,
    before_n,
    cluster,
    sibling,
    sizes,
    ahead,
    back,
    f_ahead,
    f_back,
    left,
    right,
    least,
):
    """Visit the items in order; each may go to the sibling of its cluster, if that is better.

    ``sibling[a]`` is the other half of the same split, or -1; gives the number of moves.
    """
    m = sizes.shape[0]
    sums_a, sums_b = np.zeros(m), np.zeros(m)
    touched_a, touched_b = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    moves = 0
    for w in order:
        a = cluster[w]
        if sizes[a] == 1 or sibling[a] < 0:
            continue
        n_a, own = _gather(after_starts, after, after_n, w, cluster, sums_a, touched_a)
        n_b, _ = _gather(before_starts, before, before_n, w, cluster, sums_b, touched_b)
        _put(
            a,
            -1.0,
            own,
            sums_a,
            touched_a,
            n_a,
            sums_b,
            touched_b,
            n_b,
            ahead,
            back,
            f_ahead,
            f_back,
            left,
            right,
        )
        n_left = own
        n_right = own
        for i in range(n_a):
            n_left += sums_a[touched_a[i]]
        for i in range(n_b):
            n_right += sums_b[touched_b[i]]
        b = sibling[a]
        there = _exact_gain(
            b,
            own,
            sums_a,
            touched_a,
            n_a,
            sums_b,
            touched_b,
            n_b,
            n_left,
            n_right,
            ahead,
            left,
            right,
        )
        here = _exact_gain(
            a,
            own,
            sums_a,
            touched_a,
            n_a,
            sums_b,
            touched_b,
            n_b,
            n_left,
            n_right,
            ahead,
            left,
            right,
        )
        if there - here > least:
            moves += 1
            sizes[a] -= 1
            sizes[b] += 1
            cluster[w] = b
            a = b
        _put(
            a,
            1.0,
            own,
            sums_a,
            touched_a,
            n_a,
            sums_b,
            touched_b,
            n_b,
            ahead,
            back,
            f_ahead,
            f_back,
            left,
            right,
        )
        for i in range(n_a):
            sums_a[touched_a[i]] = 0.0
        for i in range(n_b):
            sums_b[touched_b[i]] = 0.0
    return moves
