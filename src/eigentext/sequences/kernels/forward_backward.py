"""Compiled passes of a hidden Markov model: forward, backward, Viterbi, sampling.

A batch is a run of sequences, the longest first, so that those still going at time t are its first
``active`` ones: one step of the recursions for all of them is one product of matrices (active, k)
x (k, k).  Rows of ``alpha`` and ``W`` are ordered by time, then sequence; row ``rows[t] + b``
belongs to time t of sequence b::

    alpha_t    = p(h_t | x_1..t)                     scale_t = p(x_t | x_1..t-1)
    W_t        = O[., x_t+1] beta_t+1 / scale_t+1    beta_t  = T W_t
    p(h_t | x) = alpha_t beta_t                      p(h_t, h_t+1 | x) = alpha_t T W_t

A time step of all batches together costs O(k^2) a token, and room is that of the longest batch.
The records that the passes take (the chain, the room, what is tables) are those of
hmm/batches.py.  A symbol that no state can show has scale 0 and is
passed over as if it had not been seen.  A long sequence goes segment by segment: forward once to
keep alpha at the borders, then once more from the last segment to the first.  Chain and room may
be float64 or float32; sums over the text are float64.

A cell of Viterbi is a state of a token: ``score[j]`` is the log probability of the best path that
ends there, less a constant of the token.  Costs O(N k^2) for N tokens and k states::

    score_t[j] = max over i of score_t-1[i] + log T[i, j] + log O[j, x_t]
"""

from __future__ import annotations

import numpy as np

from eigentext.base.compiling import njit

# sums may be reordered (for SIMD); infinities and NaN keep their meaning
FAST = {"reassoc", "contract", "nsz", "arcp"}


@njit(fastmath=FAST)
def forward(ids, starts, lengths, prior, chain, room):
    """Fill ``alpha``, ``scale`` and ``rows``; how many steps, and how many tokens had scale 0.

    ``prior`` (B, k) holds p(h_1) of each sequence.
    """
    T, E = chain.T, chain.E
    alpha, scale, rows = room.alpha, room.scale, room.rows
    k = T.shape[0]
    active, t, n_impossible = starts.shape[0], 0, 0
    rows[0] = 0
    # alpha_t[j] = (sum over i of alpha_t-1[i] T[i, j]) E[x_t, j] / scale_t
    while active > 0:
        begin = rows[t]
        if t == 0:
            alpha[:active] = prior[:active]
        else:
            before = rows[t - 1]
            np.dot(alpha[before : before + active], T, alpha[begin : begin + active])
        for b in range(active):
            x, r = ids[starts[b] + t], begin + b
            total = alpha[r, 0] * E[x, 0]
            for j in range(1, k):
                total += alpha[r, j] * E[x, j]
            if total > 0:
                share = 1 / total
                for j in range(k):
                    alpha[r, j] *= E[x, j] * share
                scale[r] = total
            else:
                n_impossible += 1
                scale[r] = 0
        t += 1
        rows[t] = begin + active
        # the shortest are last: those that have ended leave the batch at its end
        while active > 0 and lengths[active - 1] <= t:
            active -= 1
    return t, n_impossible


@njit(fastmath=FAST)
def _future(x, scale, chain, beta, b, W, r):
    """Row r of ``W`` from row b of ``beta``, the symbol x and its scale.

    No number passes ``cap``: a tiny scale may make infinities, and those NaN where alpha is 0.
    """
    E, cap = chain.E, chain.cap
    if scale > 0:
        share = 1 / scale
        for j in range(E.shape[1]):
            value = E[x, j] * beta[b, j] * share  # O[j, x] beta_t+1[j] / scale
            W[r, j] = value if value < cap else cap
    else:
        for j in range(E.shape[1]):
            W[r, j] = beta[b, j] if beta[b, j] < cap else cap


@njit(fastmath=FAST)
def backward(ids, starts, chain, room, n_steps, t, follows):
    """One step back: ``W`` at time t and ``beta`` (B, k) from those of time t + 1.

    ``follows``: the one sequence goes on behind this batch, and ``W`` of the last step is there.
    """
    W, beta, rows = room.W, room.beta, room.rows
    begin, count = rows[t], rows[t + 1] - rows[t]
    going = 0  # so many sequences of time t have a token at time t + 1
    if t + 1 < n_steps:
        after = rows[t + 1]
        going = rows[t + 2] - after
        for b in range(going):
            x = ids[starts[b] + t + 1]
            _future(x, room.scale[after + b], chain, beta, b, W, begin + b)
    elif follows:
        going = count
    # after the last token comes nothing: beta is 1, and no pair of states has a weight
    W[begin + going : begin + count] = 0
    beta[going:count] = 1
    if going > 0:
        np.dot(W[begin : begin + going], chain.T_turned, beta[:going])


@njit(fastmath=FAST)
def _collect(ids, starts, room, t, tables):
    """Put p(h_t | x) where it is wanted: counts (V, k), or tables by token; (0, k) is unwanted."""
    alpha, beta, rows = room.alpha, room.beta, room.rows
    emitted, smoothed, best = tables.emitted, tables.smoothed, tables.best
    # p(h_t = j | x) = alpha_t[j] beta_t[j]
    k = alpha.shape[1]
    begin = rows[t]
    for b in range(rows[t + 1] - begin):
        at, r = starts[b] + t, begin + b
        if emitted.shape[0] > 0:
            x = ids[at]
            for j in range(k):
                emitted[x, j] += alpha[r, j] * beta[b, j]
        if smoothed.shape[0] > 0:
            total = 0.0
            for j in range(k):
                smoothed[at, j] = alpha[r, j] * beta[b, j]  # p(h_t = j | x)
                total += smoothed[at, j]
            for j in range(k):
                smoothed[at, j] /= total
        if best.shape[0] > 0:
            most, top = -1.0, 0
            for j in range(k):
                if alpha[r, j] * beta[b, j] > most:
                    most, top = alpha[r, j] * beta[b, j], j
            best[at] = top


@njit(fastmath=FAST)
def _add_pairs(room, n_rows, pairs, moved):
    """moved[i, j] += sum over rows of alpha_t[i] W_t[j]: one product for a whole batch."""
    np.dot(room.alpha[:n_rows].T, room.W[:n_rows], pairs)
    for i in range(pairs.shape[0]):
        for j in range(pairs.shape[1]):
            moved[i, j] += pairs[i, j]


@njit
def _sum_of_logs(scale, n_rows):
    total = 0.0
    for r in range(n_rows):
        total += np.log(np.float64(scale[r]))
    return total


@njit(nogil=True, fastmath=FAST)
def expect_batches(ids, batches, chain, room, tables):
    """Both passes over all batches: expected counts, or posteriors, whichever have room.

    ``moved`` still has to be multiplied by T.  Returns the log likelihood and the number of
    impossible tokens.
    """
    k = chain.T.shape[0]
    prior = np.empty((room.beta.shape[0], k), chain.T.dtype)
    prior[:] = chain.pi
    pairs = np.empty((k, k), chain.T.dtype)
    log_likelihood, n_impossible = 0.0, 0
    for i in range(batches.bounds.shape[0] - 1):
        first, last = batches.bounds[i], batches.bounds[i + 1]
        starts, lengths = batches.starts[first:last], batches.lengths[first:last]
        n_steps, missed = forward(ids, starts, lengths, prior, chain, room)
        n_impossible += missed
        n_rows = room.rows[n_steps]
        log_likelihood += _sum_of_logs(room.scale, n_rows)
        for t in range(n_steps - 1, -1, -1):
            backward(ids, starts, chain, room, n_steps, t, False)
            _collect(ids, starts, room, t, tables)
        if tables.emitted.shape[0] > 0:
            # beta is that of time 0 now, whose rows are the first of alpha
            for b in range(starts.shape[0]):
                for j in range(k):
                    tables.initial[j] += room.alpha[b, j] * room.beta[b, j]
            _add_pairs(room, n_rows, pairs, tables.moved)
    return log_likelihood, n_impossible


@njit(nogil=True, fastmath=FAST)
def expect_long(ids, batches, chain, room, tables):
    """The same for one long sequence, in segments of as many tokens as the room has rows.

    Time is that of one and a half times both passes; only p(h) at the borders is kept.
    """
    start, length = batches.starts[batches.bounds[0]], batches.lengths[batches.bounds[0]]
    T, alpha = chain.T, room.alpha
    k, segment = T.shape[0], alpha.shape[0]
    n_segments = (length + segment - 1) // segment
    borders = np.empty((n_segments, 1, k), T.dtype)  # p(h) at the first token of each segment
    borders[0, 0] = chain.pi
    pairs = np.empty((k, k), T.dtype)
    starts, lengths = np.empty(1, np.int64), np.empty(1, np.int64)
    log_likelihood, n_impossible = 0.0, 0
    for s in range(n_segments):
        starts[0] = start + s * segment
        lengths[0] = min(segment, length - s * segment)
        n, missed = forward(ids, starts, lengths, borders[s], chain, room)
        n_impossible += missed
        log_likelihood += _sum_of_logs(room.scale, n)
        if s + 1 < n_segments:
            np.dot(alpha[n - 1 : n], T, borders[s + 1])
    future = np.zeros((1, k), T.dtype)  # W of the last token of a segment, from the one behind
    for s in range(n_segments - 1, -1, -1):
        starts[0] = start + s * segment
        lengths[0] = min(segment, length - s * segment)
        n, missed = forward(ids, starts, lengths, borders[s], chain, room)
        follows = s + 1 < n_segments
        if follows:
            room.W[n - 1] = future[0]
        for t in range(n - 1, -1, -1):
            backward(ids, starts, chain, room, n, t, follows)
            _collect(ids, starts, room, t, tables)
        if tables.emitted.shape[0] > 0:
            _add_pairs(room, n, pairs, tables.moved)
        _future(ids[starts[0]], room.scale[0], chain, room.beta, 0, future, 0)
    if tables.emitted.shape[0] > 0:
        for j in range(k):
            tables.initial[j] += alpha[0, j] * room.beta[0, j]
    return log_likelihood, n_impossible


@njit(fastmath=FAST)
def _copy_out(starts, lengths, owners, n_steps, room, tables):
    """Copy what is wanted of a forward pass into its tables; (0, k) is unwanted."""
    alpha, rows = room.alpha, room.rows
    surprisal, filtered, last = tables
    for t in range(n_steps):
        for b in range(rows[t + 1] - rows[t]):
            at, r = starts[b] + t, rows[t] + b
            surprisal[at] = -np.log(np.float64(room.scale[r]))
            if filtered.shape[0] > 0:
                filtered[at] = alpha[r]
    if last.shape[0] > 0:
        for b in range(starts.shape[0]):
            last[owners[b]] = alpha[rows[lengths[b] - 1] + b]


@njit(nogil=True, fastmath=FAST)
def forward_batches(ids, batches, chain, room, tables):
    """-log p(x_t | x_1..t-1), filtered states, and those after the last token (S, k)."""
    prior = np.empty((room.beta.shape[0], chain.T.shape[0]), chain.T.dtype)
    prior[:] = chain.pi
    for i in range(batches.bounds.shape[0] - 1):
        first, last = batches.bounds[i], batches.bounds[i + 1]
        starts, lengths = batches.starts[first:last], batches.lengths[first:last]
        n_steps, _ = forward(ids, starts, lengths, prior, chain, room)
        _copy_out(starts, lengths, batches.owners[first:last], n_steps, room, tables)


@njit(nogil=True, fastmath=FAST)
def forward_long(ids, batches, chain, room, tables):
    """The same for one long sequence, in segments."""
    at = batches.bounds[0]
    start, length, owners = batches.starts[at], batches.lengths[at], batches.owners[at : at + 1]
    T, segment = chain.T, room.alpha.shape[0]
    prior = np.empty((1, T.shape[0]), T.dtype)
    prior[0] = chain.pi
    starts, lengths = np.empty(1, np.int64), np.empty(1, np.int64)
    for begin in range(0, length, segment):
        starts[0], lengths[0] = start + begin, min(segment, length - begin)
        n, _ = forward(ids, starts, lengths, prior, chain, room)
        _copy_out(starts, lengths, owners, n, room, tables)
        np.dot(room.alpha[n - 1 : n], T, prior)


@njit
def _viterbi_segment(ids, begin, n, log_T, log_E, score, back, new):
    """Go over tokens begin .. begin + n - 1; ``score`` (k,) is that of the token before.

    ``back[t, j]``: the best state before state j.  A symbol that no state can show is passed over.
    """
    k = score.shape[0]
    for t in range(n):
        new[:] = -np.inf
        back[t] = 0
        # no branches in the inner loop, so that it runs in vectors
        for i in range(k):
            for j in range(k):
                value = score[i] + log_T[i, j]
                better = value > new[j]
                new[j] = value if better else new[j]
                back[t, j] = i if better else back[t, j]
        # the best score of every token is 0: sums of logs neither grow nor vanish
        x = ids[begin + t]
        most = -np.inf
        for j in range(k):
            most = max(most, new[j] + log_E[x, j])
        if most > -np.inf:
            for j in range(k):
                score[j] = new[j] + log_E[x, j] - most
        else:
            score[:] = new
            top = score.max()
            for j in range(k):
                score[j] -= top


@njit
def viterbi(ids, first, segment, log_pi, log_T, log_E, path):
    """The most probable states of each sequence; equal ones go to the state of lower number.

    Back pointers are kept for ``segment`` tokens at a time, and found anew for earlier ones.
    """
    k = log_pi.shape[0]
    back = np.empty((segment, k), np.int32)
    score, new = np.empty(k), np.empty(k)
    for s in range(first.shape[0] - 1):
        length = first[s + 1] - first[s]
        if length == 0:
            continue
        most = -np.inf
        for j in range(k):
            most = max(most, log_pi[j] + log_E[ids[first[s]], j])
        for j in range(k):
            score[j] = log_pi[j]
            if most > -np.inf:
                score[j] += log_E[ids[first[s]], j] - most
        begin = first[s] + 1  # the first token has no back pointers
        n_segments = (length - 1 + segment - 1) // segment
        # Forward once, keeping the scores at the borders of segments alone; then segment by
        # segment from the last: its back pointers are found anew and followed.
        borders = np.empty((n_segments + 1, k))
        borders[0] = score
        for g in range(n_segments):
            n = min(segment, first[s + 1] - begin - g * segment)
            _viterbi_segment(ids, begin + g * segment, n, log_T, log_E, score, back, new)
            borders[g + 1] = score
        state = np.argmax(score)
        path[first[s + 1] - 1] = state
        for g in range(n_segments - 1, -1, -1):
            start = begin + g * segment
            n = min(segment, first[s + 1] - start)
            if g + 1 < n_segments:  # the pointers of the last segment are still there
                score[:] = borders[g]
                _viterbi_segment(ids, start, n, log_T, log_E, score, back, new)
            for t in range(n - 1, -1, -1):
                state = back[t, state]
                path[start + t - 1] = state


@njit
def _drawn(cumulative, u):
    """The first place where the cumulative weights pass u of their sum."""
    return np.searchsorted(cumulative, u * cumulative[-1], side="right")


@njit
def draw(chances, cum_pi, cum_T, cum_O, ids, states):
    """Fill (n, length) ``ids`` and ``states`` from even chances (n, length, 2)."""
    for s in range(ids.shape[0]):
        state = 0
        for t in range(ids.shape[1]):
            from_where = cum_pi if t == 0 else cum_T[state]
            state = min(_drawn(from_where, chances[s, t, 0]), from_where.shape[0] - 1)
            states[s, t] = state
            ids[s, t] = min(_drawn(cum_O[state], chances[s, t, 1]), cum_O.shape[1] - 1)
