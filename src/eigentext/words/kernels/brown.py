"""Compiled loops of Brown clustering: arrays and scalars in, preallocated arrays out.

``loss[v, w]`` is what merging the clusters in slots v and w takes from

    Q = sum over a, b of f(n(a, b)) - sum over a of s(a) log n(a),      f(x) = x log x,

with s(a) the number of pairs that cluster a is in, on either side, and n(a) its tokens.  It is
kept for all pairs.  A new word and a merge change it by terms that vanish unless one of the two
clusters is beside the smaller part, so an update costs O(m times the neighbouring clusters), not
O(m^2).  By the formula, with x_k = n(v, k), y_k = n(w, k) and k every third cluster:

    loss[v, w] = sum over k of f(x_k) + f(y_k) - f(x_k + y_k), the same of columns,
                 + the four cells of v and w among themselves (``_corner``)
                 + s(v) log(n(v + w) / n(v)) + s(w) log(n(v + w) / n(w))  (``_totals_part``)
"""

from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Bools, Float64s
from eigentext.words.kernels.neighbours import clear, empty_sides, pairs_of, x_log_x

_TIE = 1e-6  # losses are about N times mutual information: far above rounding, far below a token


class MergeTable(NamedTuple):
    """The clusters in slots, of which the free ones are not ``active``."""

    active: Bools
    tokens: Float64s  # (slots,) n(a) of the formula above
    shares: Float64s  # (slots,) s(a)
    pairs: Float64s  # (slots, slots) how often a stands before b
    mirror: Float64s  # and the transpose
    loss: Float64s  # (slots, slots), symmetric; infinite on the diagonal and in free slots


@njit(error_model="numpy", fastmath={"contract"})
def _add_joint(d, row, out):
    """``out[v] += f(d) + f(row[v]) - f(d + row[v])`` for every slot v."""
    f_d = x_log_x(d)
    for v in range(row.shape[0]):
        x = row[v]
        out[v] += (f_d + x_log_x(x)) - x_log_x(d + x)


@njit(error_model="numpy", fastmath={"contract"})
def _add_growth(old, new, row, out):
    """What ``_add_joint`` gives for ``new``, less what it gives for ``old``."""
    change = x_log_x(new) - x_log_x(old)
    for v in range(row.shape[0]):
        x = row[v]
        out[v] += (change + x_log_x(old + x)) - x_log_x(new + x)


@njit(error_model="numpy", fastmath={"contract"})
def _add_union(x_v, y_v, xs, ys, growth, out):
    """The change of the pair (v, w), for every w, when columns xs and ys become their sum."""
    here = x_log_x(x_v + y_v) - x_log_x(x_v) - x_log_x(y_v)
    for w in range(xs.shape[0]):
        x, y = xs[w], ys[w]
        out[w] += ((here + growth[w]) + x_log_x(x_v + x)) + (
            x_log_x(y_v + y) - x_log_x((x_v + x) + (y_v + y))
        )


@njit(error_model="numpy", fastmath={"contract"})
def _corner(v, w, pairs):
    """The four cells of v and w among themselves, which a merge makes one."""
    a, b, c, d = pairs[v, v], pairs[v, w], pairs[w, v], pairs[w, w]
    return (x_log_x(a) + x_log_x(b)) + (x_log_x(c) + x_log_x(d)) - x_log_x((a + b) + (c + d))


@njit(error_model="numpy", fastmath={"contract"})
def _mirror_row(v, active, loss):
    """Make column v of the losses equal to row v; a slot that is free or v itself is infinite."""
    for w in range(active.shape[0]):
        if w == v or not active[w]:
            loss[v, w] = np.inf
        loss[w, v] = loss[v, w]


@njit(error_model="numpy", fastmath={"contract"})
def _totals_part(u, table):
    """Add the part of the loss that comes from the totals to row u."""
    active, tokens, shares, loss = table.active, table.tokens, table.shares, table.loss
    for v in range(active.shape[0]):
        if active[v] and v != u:
            both = np.log(tokens[u] + tokens[v])
            loss[u, v] += shares[u] * (both - np.log(tokens[u]))
            loss[u, v] += shares[v] * (both - np.log(tokens[v]))


@njit(error_model="numpy", fastmath={"contract"})
def _add_third(side, loss):
    """A third cluster (the new one) beside both v and o makes their union dearer."""
    sums, clusters = side
    for i in range(len(clusters)):
        v = clusters[i]
        for j in range(i):
            o = clusters[j]
            x, y = sums[v], sums[o]
            e = x_log_x(x) + x_log_x(y) - x_log_x(x + y)
            loss[v, o] += e
            loss[o, v] += e


@njit(error_model="numpy", fastmath={"contract"})
def _take_own(side, pairs, row):
    """Where the third cluster k is one of the two it is none: take its term out of row[k]."""
    for k in side.clusters:
        d, x = side.sums[k], pairs[k, k]
        row[k] -= x_log_x(d) + x_log_x(x) - x_log_x(d + x)


@njit(error_model="numpy", fastmath={"contract"})
def add_word(w, slot, n_tokens, lists, slot_of, table, room):
    """Put a word into a free slot as a cluster of its own and bring all losses up to date.

    Time O(m times the clusters beside the word).
    """
    active, tokens, shares, pairs, mirror, loss = table
    slots = active.shape[0]
    word = pairs_of(w, lists, slot_of, room)
    with_itself, after, before = word.with_itself, word.after, word.before
    sums_a, sums_b = after.sums, before.sums
    # old clusters: the new one is a third for every pair of those beside it ...
    _add_third(after, loss)
    _add_third(before, loss)
    # ... and the pairs with it are new to their totals
    share = 2.0 * with_itself
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
    # the new cluster against all others: the sum over every third cluster k, first with k = v
    row = loss[slot]
    for v in range(slots):
        row[v] = 0.0
    for k in after.clusters:
        _add_joint(sums_a[k], mirror[k], row)
    for k in before.clusters:
        _add_joint(sums_b[k], pairs[k], row)
    _take_own(after, pairs, row)
    _take_own(before, pairs, row)
    pairs[slot, slot] = with_itself
    mirror[slot, slot] = with_itself
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
        if active[v] and v != slot and (sums_a[v] + sums_b[v] + with_itself > 0.0):
            row[v] += _corner(slot, v, pairs)
    _totals_part(slot, table)
    _mirror_row(slot, active, loss)
    slot_of[w] = slot
    clear(word)


@njit(error_model="numpy", fastmath={"nnan", "nsz", "contract"})
def _row_least(row, start):
    least = np.inf
    for w in range(start, row.shape[0]):
        least = min(least, row[w])
    return least


@njit
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


@njit(error_model="numpy", fastmath={"contract"})
def merge(s, t, table):
    """Join slot t to slot s and free t.  The work grows with the number of t's neighbours."""
    active, tokens, shares, pairs, mirror, loss = table
    slots = active.shape[0]
    growth, xs, ys = np.zeros(slots), np.zeros(slots), np.zeros(slots)
    # pairs of other clusters: columns s and t (then rows s and t) become one
    for side in range(2):
        counts = mirror if side == 0 else pairs  # counts[s, v] = n(v, s), then n(s, v)
        for v in range(slots):
            xs[v], ys[v] = counts[s, v], counts[t, v]
        xs[s] = xs[t] = ys[s] = ys[t] = 0.0
        for v in range(slots):
            growth[v] = (
                x_log_x(xs[v] + ys[v]) - x_log_x(xs[v]) - x_log_x(ys[v]) if ys[v] > 0.0 else 0.0
            )
        for v in range(slots):
            if ys[v] > 0.0:
                _add_union(xs[v], ys[v], xs, ys, growth, loss[v])
        # rows of t's neighbours have changed; the others take the change from their columns
        for v in range(slots):
            if ys[v] > 0.0:
                for w in range(slots):
                    if ys[w] == 0.0:
                        loss[w, v] = loss[v, w]
                loss[v, v] = np.inf
    # the union against all others, from what s had: its totals, its corner and t as a third
    # cluster go first
    row = loss[s]
    for v in range(slots):
        if active[v] and v != s and v != t:
            log_both = np.log(tokens[s] + tokens[v])
            row[v] -= shares[s] * (log_both - np.log(tokens[s]))
            row[v] -= shares[v] * (log_both - np.log(tokens[v]))
            row[v] -= _corner(s, v, pairs)
            x, y = pairs[s, t], pairs[v, t]
            row[v] -= x_log_x(x) + x_log_x(y) - x_log_x(x + y)
            x, y = pairs[t, s], pairs[t, v]
            row[v] -= x_log_x(x) + x_log_x(y) - x_log_x(x + y)
        else:
            row[v] = 0.0
    # then every third cluster k beside t grows in the eyes of the union (k = v has no such term)
    for k in range(slots):
        if k in (s, t):
            continue
        if pairs[t, k] > 0.0:
            old, new = pairs[s, k], pairs[s, k] + pairs[t, k]
            own_term = row[k]
            _add_growth(old, new, mirror[k], row)
            row[k] = own_term
        if pairs[k, t] > 0.0:
            old, new = pairs[k, s], pairs[k, s] + pairs[k, t]
            own_term = row[k]
            _add_growth(old, new, pairs[k], row)
            row[k] = own_term
    # the counts of the union, and its corner and totals anew
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
    _totals_part(s, table)
    _mirror_row(s, active, loss)
    for v in range(slots):
        loss[t, v] = loss[v, t] = np.inf


@njit
def smaller(i, j, pairs, mirror):
    """(kept, freed) for the pair: the one with fewer neighbouring clusters is freed."""
    n_i = n_j = 0
    for k in range(pairs.shape[0]):
        n_i += (pairs[i, k] > 0.0) + (mirror[i, k] > 0.0)
        n_j += (pairs[j, k] > 0.0) + (mirror[j, k] > 0.0)
    if n_i < n_j:
        return j, i
    return i, j


@njit
def _merge_cheapest(table):
    """Merge the pair with the least loss; gives (kept slot, freed slot, loss)."""
    a, b, price = cheapest(table.loss)
    s, t = smaller(a, b, table.pairs, table.mirror)
    merge(s, t, table)
    return s, t, price


@njit
def brown(order, n_active, tokens_of, lists, slot_of, merges, losses):
    """Figure 1: words come in by frequency, each beyond the first m followed by one merge.

    ``slot_of`` (n,) ends as the slot of each word when all are in; ``merges`` (m - 1, 2) and
    ``losses`` as the merges of those down to one, as (kept, freed) slots.
    """
    m = n_active
    slots = m + 1
    table = MergeTable(
        np.zeros(slots, dtype=np.bool_),
        np.ones(slots),
        np.zeros(slots),
        np.zeros((slots, slots)),
        np.zeros((slots, slots)),
        np.full((slots, slots), np.inf),
    )
    room = empty_sides(slots)
    # the words of a slot are a chain: first, following, ..., last
    first, last = np.full(slots, -1, dtype=np.int64), np.full(slots, -1, dtype=np.int64)
    following = np.full(slot_of.shape[0], -1, dtype=np.int64)
    for i in range(order.shape[0]):
        w = order[i]
        slot = 0
        while table.active[slot]:
            slot += 1
        add_word(w, slot, tokens_of[w], lists, slot_of, table, room)
        first[slot] = last[slot] = w
        if i >= m:
            s, t, _ = _merge_cheapest(table)
            x = first[t]
            while x >= 0:
                slot_of[x] = s
                x = following[x]
            following[last[s]] = first[t]
            last[s] = last[t]
    for k in range(merges.shape[0]):
        merges[k, 0], merges[k, 1], losses[k] = _merge_cheapest(table)
