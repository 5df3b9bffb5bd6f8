"""Compiled loops of the exchange refinement: arrays and scalars in, preallocated arrays out.

``f(x) = x log x`` throughout, with ``f(0) = 0``.  What a word adds to

    N MI = sum over a, b of f(n(a, b)) - sum over a of f(n(a, .)) - sum over b of f(n(., b)) + f(N)

when it joins cluster b, with d(c) its pairs with cluster c after it, e(c) with c before it, and o
with itself (a word that has been taken out is in no count n):

    gain(b) =   sum over c != b of f(n(b, c) + d(c)) - f(n(b, c))
              + sum over c != b of f(n(c, b) + e(c)) - f(n(c, b))
              + f(n(b, b) + d(b) + e(b) + o) - f(n(b, b))
              - [f(n(b, .) + d + o) - f(n(b, .))] - [f(n(., b) + e + o) - f(n(., b))]

with d and e the sums over c.  Only clusters beside the word have terms in the first two lines.
"""

import numpy as np

from eigentext.base.compiling import njit
from eigentext.words.kernels.neighbours import clear, empty_sides, pairs_of, quick_log

_ABOVE_ZERO = 1e-300  # added to a total, so that the quick logarithm has a normal number


@njit(inline="always", error_model="numpy")
def _f(x):
    return x * np.log(x) if x > 0 else 0.0


@njit(error_model="numpy", fastmath={"contract"})
def _put(b, sign, word, state):
    """Add (sign 1) or take away (sign -1) a word's pairs to or from cluster b.

    The totals of the neighbours' clusters stay: the pairs are theirs wherever the word goes.
    """
    with_itself, after, before = word.with_itself, word.after, word.before
    _, ahead, back, f_ahead, f_back, left, right = state
    for c in after.clusters:
        x = ahead[b, c] + sign * after.sums[c]  # n(b, c) with or without the word
        ahead[b, c] = x
        back[c, b] = x
    for c in before.clusters:
        x = ahead[c, b] + sign * before.sums[c]
        ahead[c, b] = x
        back[b, c] = x
    if with_itself > 0.0:
        x = ahead[b, b] + sign * with_itself
        ahead[b, b] = x
        back[b, b] = x
        value = _f(x)
        f_ahead[b, b] = value
        f_back[b, b] = value
    left[b] += sign * word.n_left  # n(b, .)
    right[b] += sign * word.n_right  # n(., b)
    # f after all counts: the cell (b, b) may have changed on both sides
    for c in after.clusters:
        value = _f(ahead[b, c])
        f_ahead[b, c] = value
        f_back[c, b] = value
    for c in before.clusters:
        value = _f(ahead[c, b])
        f_ahead[c, b] = value
        f_back[b, c] = value


@njit(error_model="numpy", fastmath={"contract"})
def _add_gains(side, table, f_table, gains):
    """``gains[b] += sum over c of f(table[c, b] + sums[c]) - f(table[c, b])`` for every b.

    Two rows at a time: ``gains`` is read and written half as often.
    """
    sums, clusters = side
    m = gains.shape[0]
    used = len(clusters)
    i = 0
    while i + 2 <= used:
        c0, c1 = clusters[i], clusters[i + 1]
        d0, d1 = sums[c0], sums[c1]
        x0, x1 = table[c0], table[c1]
        f0, f1 = f_table[c0], f_table[c1]
        for b in range(m):
            y0 = x0[b] + d0  # n(b, c) + d(c)
            y1 = x1[b] + d1
            gains[b] += (y0 * quick_log(y0) - f0[b]) + (y1 * quick_log(y1) - f1[b])
        i += 2
    if i < used:
        c0 = clusters[i]
        d0 = sums[c0]
        x0 = table[c0]
        f0 = f_table[c0]
        for b in range(m):
            y0 = x0[b] + d0
            gains[b] += y0 * quick_log(y0) - f0[b]


@njit(error_model="numpy", fastmath={"contract"})
def _all_gains(word, state, gains):
    """gain(b) of every cluster b, by quick logarithms; time O(m times neighbouring clusters)."""
    with_itself, after, before = word.with_itself, word.after, word.before
    _, ahead, back, f_ahead, f_back, left, right = state
    m = gains.shape[0]
    # the last line of the formula: the totals
    for b in range(m):
        y, z = left[b] + word.n_left + _ABOVE_ZERO, right[b] + word.n_right + _ABOVE_ZERO
        x, v = left[b] + _ABOVE_ZERO, right[b] + _ABOVE_ZERO
        gains[b] = (x * quick_log(x) - y * quick_log(y)) + (v * quick_log(v) - z * quick_log(z))
    # the first two, as if the cell (b, b) were two cells
    _add_gains(after, back, f_back, gains)
    _add_gains(before, ahead, f_ahead, gains)
    # and the third in their stead: (b, b) takes the pairs of both sides at once
    for b in after.clusters:
        x, d = ahead[b, b], after.sums[b]
        e = before.sums[b]
        gains[b] += _f(x + d + e + with_itself) - _f(x + d)
        if e > 0.0:
            gains[b] += _f(x) - _f(x + e)
    for b in before.clusters:
        if after.sums[b] == 0.0 and with_itself > 0.0:
            x, e = ahead[b, b], before.sums[b]
            gains[b] += _f(x + e + with_itself) - _f(x + e)
    if with_itself > 0.0:
        for b in range(m):
            if after.sums[b] == 0.0 and before.sums[b] == 0.0:
                x = ahead[b, b]
                gains[b] += _f(x + with_itself) - _f(x)


@njit(error_model="numpy", fastmath={"contract"})
def _exact_gain(b, word, state):
    """gain(b) of one cluster in full precision."""
    with_itself, after, before = word.with_itself, word.after, word.before
    ahead, left, right = state.ahead, state.left, state.right
    gain = 0.0
    for c in after.clusters:
        if c != b:
            x = ahead[b, c]
            gain += _f(x + after.sums[c]) - _f(x)  # first line: clusters after the word
    for c in before.clusters:
        if c != b:
            x = ahead[c, b]
            gain += _f(x + before.sums[c]) - _f(x)  # second line: those before
    x = ahead[b, b]
    gain += _f(x + after.sums[b] + before.sums[b] + with_itself) - _f(x)  # third line
    gain -= _f(left[b] + word.n_left) - _f(left[b])
    gain -= _f(right[b] + word.n_right) - _f(right[b])
    return gain


@njit(error_model="numpy", fastmath={"contract"})
def _without_itself(a, word, state, gains):
    """Mend the gains of a word that stands in cluster a, and so in the counts.

    The formula above is of a word that has been taken out.  Taken out, it would lower the counts
    n(a, c) by d(c) and n(c, a) by e(c).  Other clusters b see that in one cell on each side only,
    n(b, a) and n(a, b); cluster a itself in all of its cells, and its gain is what it would lose.
    """
    with_itself, after, before = word.with_itself, word.after, word.before
    ahead, left, right = state.ahead, state.left, state.right
    d, e = after.sums[a], before.sums[a]
    if d > 0.0:
        for b in before.clusters:
            x = ahead[b, a]
            y = x - before.sums[b]
            gains[b] += (_f(y + d) - _f(y)) - (_f(x + d) - _f(x))  # the cell n(b, a) alone
    if e > 0.0:
        for b in after.clusters:
            x = ahead[a, b]
            y = x - after.sums[b]
            gains[b] += (_f(y + e) - _f(y)) - (_f(x + e) - _f(x))
    gain = 0.0
    for c in after.clusters:
        if c != a:
            x = ahead[a, c]
            gain += _f(x) - _f(x - after.sums[c])  # what a loses in its row
    for c in before.clusters:
        if c != a:
            x = ahead[c, a]
            gain += _f(x) - _f(x - before.sums[c])  # and in its column
    x = ahead[a, a]
    gain += _f(x) - _f(x - d - e - with_itself)
    gain -= _f(left[a]) - _f(left[a] - word.n_left)
    gain -= _f(right[a]) - _f(right[a] - word.n_right)
    gains[a] = gain


@njit(error_model="numpy", fastmath={"contract"})
def _with_its_pairs(word, state, gains):
    """Mend the gains of a word that is in no cluster yet, and whose pairs are in no count.

    Wherever it goes, its pairs belong to its neighbours' totals: n(b, .) grows by e(b) and
    n(., b) by d(b) before it joins b.
    """
    left, right = state.left, state.right
    for b in word.before.clusters:
        x, n = left[b], word.n_left
        y = x + word.before.sums[b]
        gains[b] += (_f(x + n) - _f(x)) - (_f(y + n) - _f(y))
    for b in word.after.clusters:
        x, n = right[b], word.n_right
        y = x + word.after.sums[b]
        gains[b] += (_f(x + n) - _f(x)) - (_f(y + n) - _f(y))


@njit(nogil=True, error_model="numpy", fastmath={"contract"})
def best_clusters(words, lists, cluster, state, least, targets):
    """``targets[i]`` is the best cluster of ``words[i]`` while all others stay where they are.

    Nothing but ``targets`` is written, so that several threads may look for targets at a time.
    Of clusters that are equal, or apart by less than ``least``, the first wins.  A word that is
    its cluster's only one stays; one that is never beside another has no target, -1.
    """
    m = state.sizes.shape[0]
    room = empty_sides(m)
    gains = np.empty(m)
    for i in range(words.shape[0]):
        w = words[i]
        a = cluster[w]
        if a >= 0 and state.sizes[a] == 1:
            targets[i] = a
            continue
        word = pairs_of(w, lists, cluster, room)
        best = a
        if word.n_left + word.n_right > 0.0:
            _all_gains(word, state, gains)
            if a >= 0:
                _without_itself(a, word, state, gains)
            else:
                _with_its_pairs(word, state, gains)
            best = 0
            for b in range(1, m):
                if gains[b] > gains[best] + least:
                    best = b
        targets[i] = best
        clear(word)


@njit(error_model="numpy", fastmath={"contract"})
def move_words(words, targets, lists, cluster, state, least):
    """Move the words to their targets, one after the other; gives (moves, gain).

    The state may have changed since a target was found.  A word moves when that raises N times
    the mutual information by more than ``least`` now, in full precision, and clusters
    never become empty.  A word whose cluster is negative is put in; without a target it joins the
    largest cluster.
    """
    sizes, left, right = state.sizes, state.left, state.right
    room = empty_sides(sizes.shape[0])
    moves = 0
    total = 0.0
    for i in range(words.shape[0]):
        w = words[i]
        a, b = cluster[w], targets[i]
        if a >= 0 and (b == a or sizes[a] == 1):
            continue
        word = pairs_of(w, lists, cluster, room)
        if a < 0:
            if b < 0:
                b = np.argmax(sizes)
            # these pairs are new to the neighbours' totals too
            for c in word.after.clusters:
                right[c] += word.after.sums[c]
            for c in word.before.clusters:
                left[c] += word.before.sums[c]
        else:
            _put(a, -1.0, word, state)
            change = _exact_gain(b, word, state) - _exact_gain(a, word, state)
            if change > least:
                total += change  # N times the mutual information
                sizes[a] -= 1
            else:
                b = a
        if b != a:
            moves += 1
            sizes[b] += 1
            cluster[w] = b
        _put(b, 1.0, word, state)
        clear(word)
    return moves, total


@njit(error_model="numpy", fastmath={"contract"})
def sibling_pass(order, lists, cluster, sibling, state, least):
    """Visit the items in order; each may go to the sibling of its cluster, if that is better.

    ``sibling[a]`` is the other half of the same split, or -1; gives the number of moves.
    """
    sizes = state.sizes
    room = empty_sides(sizes.shape[0])
    moves = 0
    for w in order:
        a = cluster[w]
        b = sibling[a]
        if sizes[a] == 1 or b < 0:
            continue
        word = pairs_of(w, lists, cluster, room)
        _put(a, -1.0, word, state)
        if _exact_gain(b, word, state) - _exact_gain(a, word, state) > least:
            moves += 1
            sizes[a] -= 1
            sizes[b] += 1
            cluster[w] = b
            a = b
        _put(a, 1.0, word, state)
        clear(word)
    return moves
