"""Compiled loops of Brown clustering: arrays and scalars in, preallocated arrays out.

``loss[v, w]`` is what merging the clusters in slots v and w takes from

    Q = sum over a, b of f(n(a, b)) - sum over a of s(a) log n(a),      f(x) = x log x,

with s(a) the number of pairs that cluster a is in, on either side, and n(a) its tokens.  It is
kept for all pairs.  A new word and a merge change it by terms that vanish unless one of the two
clusters is beside the smaller part, so an update costs O(m times the neighbouring clusters), not
O(m^2).  ``pairs[a, b]`` is how often a stands before b, ``mirror`` its transpose.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from eigentext.words.kernels.exchange import _bits_of, _float_of, _gather

_HALF_LOG_2 = 0.5 * np.log(2.0)
_LOG_2 = np.log(2.0)
_ROOT_2 = np.sqrt(2.0)
_TIE = 1e-6  # losses are about N times mutual information: far above rounding, far below a token


@njit(inline="always", error_model="numpy")
def _f(y):
    """y log y to full precision, 0 at 0, without a call (see kernels/exchange.py)."""
    bits = _bits_of(y)
    exponent = (bits >> 52) - 1023
    t = _float_of((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000)
    s = (t - _ROOT_2) / (t + _ROOT_2)
    q = s * s
    series = 2 / 11 + q * (2 / 13 + q * (2 / 15 + q * (2 / 17 + q * (2 / 19))))
    series = 2.0 + q * (2 / 3 + q * (2 / 5 + q * (2 / 7 + q * (2 / 9 + q * series))))
    return y * (exponent * _LOG_2 + (_HALF_LOG_2 + s * series))


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _add_joint(d, row, out):
    """``out[v] += f(d) + f(row[v]) - f(d + row[v])`` for every slot v."""
    f_d = _f(d)
    for v in range(row.shape[0]):
        x = row[v]
        out[v] += (f_d + _f(x)) - _f(d + x)


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _add_growth(old, new, row, out):
    """What ``_add_joint`` gives for ``new``, less what it gives for ``old``."""
    change = _f(new) - _f(old)
    for v in range(row.shape[0]):
        x = row[v]
        out[v] += (change + _f(old + x)) - _f(new + x)


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _add_union(x_v, y_v, xs, ys, growth, out):
    """The change of the pair (v, w), for every w, when columns xs and ys become their sum."""
    here = _f(x_v + y_v) - _f(x_v) - _f(y_v)
    for w in range(xs.shape[0]):
        x, y = xs[w], ys[w]
        out[w] += ((here + growth[w]) + _f(x_v + x)) + (_f(y_v + y) - _f((x_v + x) + (y_v + y)))


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _corner(v, w, pairs):
    a, b, c, d = pairs[v, v], pairs[v, w], pairs[w, v], pairs[w, w]
    return (_f(a) + _f(b)) + (_f(c) + _f(d)) - _f((a + b) + (c + d))


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _mirror_row(v, active, loss):
    """Make column v of the losses equal to row v; a slot that is free or v itself is infinite."""
    for w in range(active.shape[0]):
        if w == v or not active[w]:
            loss[v, w] = np.inf
        loss[w, v] = loss[v, w]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _totals_part(u, active, shares, tokens, loss):
    """Add the part of the loss that comes from the totals to row u."""
    for v in range(active.shape[0]):
        if active[v] and v != u:
            both = np.log(tokens[u] + tokens[v])
            loss[u, v] += shares[u] * (both - np.log(tokens[u]))
            loss[u, v] += shares[v] * (both - np.log(tokens[v]))


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def add_word(
    w,
    slot,
    n_tokens,
    after_starts,
    after,
    after_n,
    before_starts,
    before,
    before_n,
    slot_of,
    active,
    tokens,
    shares,
    pairs,
    mirror,
    loss,
    sums_a,
    sums_b,
    touched_a,
    touched_b,
):
    """Put a word into a free slot as a cluster of its own and bring all losses up to date."""
    slots = active.shape[0]
    n_a, own = _gather(after_starts, after, after_n, w, slot_of, sums_a, touched_a)
    n_b, _ = _gather(before_starts, before, before_n, w, slot_of, sums_b, touched_b)
    # old pairs: a third cluster beside both of them makes their union dearer
    for i in range(n_a):
        v = touched_a[i]
        for j in range(i):
            o = touched_a[j]
            x, y = sums_a[v], sums_a[o]
            e = _f(x) + _f(y) - _f(x + y)
            loss[v, o] += e
            loss[o, v] += e
    for i in range(n_b):
        v = touched_b[i]
        for j in range(i):
            o = touched_b[j]
            x, y = sums_b[v], sums_b[o]
            e = _f(x) + _f(y) - _f(x + y)
            loss[v, o] += e
            loss[o, v] += e
    share = 2.0 * own
    for v in range(slots):
        more = sums_a[v] + sums_b[v]
        if more > 0.0:
            share += more
            shares[v] += more
            log_v = np.log(tokens[v])
            for o in range(slots):
                if active[o] and o != v:
                    e = more * (np.log(tokens[v] + tokens[o]) - log_v)
                    loss[v, o] += e
                    loss[o, v] += e
    # the new cluster against all others
    row = loss[slot]
    for v in range(slots):
        row[v] = 0.0
    for i in range(n_a):
        k = touched_a[i]
        _add_joint(sums_a[k], mirror[k], row)
    for i in range(n_b):
        k = touched_b[i]
        _add_joint(sums_b[k], pairs[k], row)
    # where the third cluster is one of the two, all four cells become one
    for i in range(n_a):
        k = touched_a[i]
        d, x = sums_a[k], pairs[k, k]
        row[k] -= _f(d) + _f(x) - _f(d + x)
    for i in range(n_b):
        k = touched_b[i]
        d, x = sums_b[k], pairs[k, k]
        row[k] -= _f(d) + _f(x) - _f(d + x)
    pairs[slot, slot] = own
    mirror[slot, slot] = own
    for v in range(slots):
        if v != slot:
            pairs[slot, v] = sums_a[v]
            mirror[v, slot] = sums_a[v]
            pairs[v, slot] = sums_b[v]
            mirror[slot, v] = sums_b[v]
    active[slot] = True
    tokens[slot] = n_tokens
    shares[slot] = share
    for v in range(slots):
        if active[v] and v != slot and (sums_a[v] + sums_b[v] + own > 0.0):
            row[v] += _corner(slot, v, pairs)
    _totals_part(slot, active, shares, tokens, loss)
    _mirror_row(slot, active, loss)
    slot_of[w] = slot
    for i in range(n_a):
        sums_a[touched_a[i]] = 0.0
    for i in range(n_b):
        sums_b[touched_b[i]] = 0.0


@njit(cache=True, error_model="numpy", fastmath={"nnan", "nsz", "contract"})
def _row_least(row, start):
    least = np.inf
    for w in range(start, row.shape[0]):
        least = min(least, row[w])
    return least


@njit(cache=True)
def cheapest(loss):
    """The pair with the least loss; of those that are equal to rounding the first."""
    best = np.inf
    at = 0
    for v in range(loss.shape[0] - 1):
        least = _row_least(loss[v], v + 1)
        if least < best - _TIE:
            best = least
            at = v
    other = at + 1
    while loss[at, other] > best + _TIE:
        other += 1
    return at, other, loss[at, other]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def merge(s, t, active, tokens, shares, pairs, mirror, loss, growth, xs, ys):
    """Join slot t to slot s and free t.  The work grows with the number of t's neighbours."""
    slots = active.shape[0]
    # pairs of other clusters: columns s and t (then rows s and t) become one
    for side in range(2):
        table = mirror if side == 0 else pairs  # table[s, v] = n(v, s), then n(s, v)
        for v in range(slots):
            xs[v], ys[v] = table[s, v], table[t, v]
        xs[s] = xs[t] = ys[s] = ys[t] = 0.0
        for v in range(slots):
            growth[v] = _f(xs[v] + ys[v]) - _f(xs[v]) - _f(ys[v]) if ys[v] > 0.0 else 0.0
        for v in range(slots):
            if ys[v] > 0.0:
                _add_union(xs[v], ys[v], xs, ys, growth, loss[v])
        for v in range(slots):
            if ys[v] > 0.0:
                for w in range(slots):
                    if ys[w] == 0.0:
                        loss[w, v] = loss[v, w]
                loss[v, v] = np.inf
    # the union against all others, from what s had
    row = loss[s]
    for v in range(slots):
        if active[v] and v != s and v != t:
            log_both = np.log(tokens[s] + tokens[v])
            row[v] -= shares[s] * (log_both - np.log(tokens[s]))
            row[v] -= shares[v] * (log_both - np.log(tokens[v]))
            row[v] -= _corner(s, v, pairs)
            x, y = pairs[s, t], pairs[v, t]
            row[v] -= _f(x) + _f(y) - _f(x + y)
            x, y = pairs[t, s], pairs[t, v]
            row[v] -= _f(x) + _f(y) - _f(x + y)
        else:
            row[v] = 0.0
    for k in range(slots):
        if k in (s, t):
            continue
        if pairs[t, k] > 0.0:
            old, new = pairs[s, k], pairs[s, k] + pairs[t, k]
            kept = row[k]
            _add_growth(old, new, mirror[k], row)
            row[k] = kept
        if pairs[k, t] > 0.0:
            old, new = pairs[k, s], pairs[k, s] + pairs[k, t]
            kept = row[k]
            _add_growth(old, new, pairs[k], row)
            row[k] = kept
    inside = (pairs[s, s] + pairs[t, t]) + (pairs[s, t] + pairs[t, s])
    for v in range(slots):
        if v != s and v != t:
            x = pairs[s, v] + pairs[t, v]
            pairs[s, v] = x
            mirror[v, s] = x
            x = pairs[v, s] + pairs[v, t]
            pairs[v, s] = x
            mirror[s, v] = x
        pairs[t, v] = pairs[v, t] = 0.0
        mirror[t, v] = mirror[v, t] = 0.0
    pairs[s, s] = inside
    mirror[s, s] = inside
    active[t] = False
    tokens[s] += tokens[t]
    shares[s] += shares[t]
    for v in range(slots):
        if active[v] and v != s:
            row[v] += _corner(s, v, pairs)
    _totals_part(s, active, shares, tokens, loss)
    _mirror_row(s, active, loss)
    for v in range(slots):
        loss[t, v] = loss[v, t] = np.inf


@njit(cache=True)
def smaller(i, j, pairs, mirror):
    """(kept, freed) for the pair: the one with fewer neighbouring clusters is freed."""
    n_i = n_j = 0
    for k in range(pairs.shape[0]):
        n_i += (pairs[i, k] > 0.0) + (mirror[i, k] > 0.0)
        n_j += (pairs[j, k] > 0.0) + (mirror[j, k] > 0.0)
    if n_i < n_j:
        return j, i
    return i, j


@njit(cache=True)
def brown(
    order,
    n_active,
    tokens_of,
    after_starts,
    after,
    after_n,
    before_starts,
    before,
    before_n,
    slot_of,
    merges,
    losses,
):
    """Figure 1: words come in by frequency, each beyond the first m followed by one merge.

    ``slot_of`` (n,) ends as the slot of each word when all are in; ``merges`` (m - 1, 2) and
    ``losses`` as the merges of those down to one, as (kept, freed) slots.
    """
    n, m = order.shape[0], n_active
    slots = m + 1
    active = np.zeros(slots, dtype=np.bool_)
    tokens, shares = np.ones(slots), np.zeros(slots)
    pairs, mirror = np.zeros((slots, slots)), np.zeros((slots, slots))
    loss = np.full((slots, slots), np.inf)
    sums_a, sums_b = np.zeros(slots), np.zeros(slots)
    touched_a, touched_b = np.empty(slots, dtype=np.int64), np.empty(slots, dtype=np.int64)
    growth, xs, ys = np.zeros(slots), np.zeros(slots), np.zeros(slots)
    first, last = np.full(slots, -1, dtype=np.int64), np.full(slots, -1, dtype=np.int64)
    following = np.full(slot_of.shape[0], -1, dtype=np.int64)
    for i in range(n):
        w = order[i]
        slot = 0
        while active[slot]:
            slot += 1
        add_word(
            w,
            slot,
            tokens_of[w],
            after_starts,
            after,
            after_n,
            before_starts,
            before,
            before_n,
            slot_of,
            active,
            tokens,
            shares,
            pairs,
            mirror,
            loss,
            sums_a,
            sums_b,
            touched_a,
            touched_b,
        )
        first[slot] = last[slot] = w
        if i >= m:
            a, b, _ = cheapest(loss)
            s, t = smaller(a, b, pairs, mirror)
            merge(s, t, active, tokens, shares, pairs, mirror, loss, growth, xs, ys)
            x = first[t]
            while x >= 0:
                slot_of[x] = s
                x = following[x]
            following[last[s]] = first[t]
            last[s] = last[t]
    for k in range(merges.shape[0]):
        a, b, price = cheapest(loss)
        s, t = smaller(a, b, pairs, mirror)
        merge(s, t, active, tokens, shares, pairs, mirror, loss, growth, xs, ys)
        merges[k, 0] = s
        merges[k, 1] = t
        losses[k] = price
