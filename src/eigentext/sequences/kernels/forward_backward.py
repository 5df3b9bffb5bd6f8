"""Compiled forward and backward passes over batches of sequences.

A batch is a run of sequences, the longest first, so that those still going at time t are its first
``active`` ones: one step of the recursions for all of them is one product of matrices (active, k)
x (k, k).  Rows of ``alpha`` and ``W`` are ordered by time, then sequence; row ``rows[t] + b``
belongs to time t of sequence b::

    alpha_t    = p(h_t | x_1..t)                     scale_t = p(x_t | x_1..t-1)
    W_t        = O[., x_t+1] beta_t+1 / scale_t+1    beta_t  = T W_t
    p(h_t | x) = alpha_t beta_t                      p(h_t, h_t+1 | x) = alpha_t T W_t

``E`` is the emission turned over (V, k).  A symbol that no state can show has scale 0 and is
passed over as if it had not been seen.  A long sequence goes segment by segment: forward once to
keep alpha at the borders, then once more from the last segment to the first.  ``alpha``, ``W``,
``beta``, ``T`` and ``E`` may be float64 or float32; sums over the text are float64.
"""

import numpy as np
from numba import njit

# sums may be reordered (for SIMD); infinities and NaN keep their meaning
FAST = {"reassoc", "contract", "nsz", "arcp"}


@njit(cache=True, fastmath=FAST)
def forward(ids, starts, lengths, prior, T, E, alpha, scale, rows):
    """Fill ``alpha``, ``scale`` and ``rows``; how many steps, and how many tokens had scale 0.

    ``prior`` (B, k) holds p(h_1) of each sequence.
    """
    k = T.shape[0]
    active, t, n_impossible = starts.shape[0], 0, 0
    rows[0] = 0
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
        while active > 0 and lengths[active - 1] <= t:
            active -= 1
    return t, n_impossible


@njit(cache=True, fastmath=FAST)
def _future(x, scale, E, beta, W, r, b, cap):
    """Row r of ``W`` from row b of ``beta``, the symbol x and its scale."""
    if scale > 0:
        share = 1 / scale
        for j in range(E.shape[1]):
            value = E[x, j] * beta[b, j] * share
            W[r, j] = value if value < cap else cap
    else:
        for j in range(E.shape[1]):
            W[r, j] = beta[b, j] if beta[b, j] < cap else cap


@njit(cache=True, fastmath=FAST)
def backward(ids, starts, T_turned, E, scale, rows, n_steps, beta, W, t, follows, cap):
    """One step back: ``W`` at time t and ``beta`` (B, k) from those of time t + 1.

    ``follows``: the one sequence goes on behind this batch, and ``W`` of the last step is there.
    """
    begin, count = rows[t], rows[t + 1] - rows[t]
    going = 0
    if t + 1 < n_steps:
        after = rows[t + 1]
        going = rows[t + 2] - after
        for b in range(going):
            _future(ids[starts[b] + t + 1], scale[after + b], E, beta, W, begin + b, b, cap)
    elif follows:
        going = count
    W[begin + going : begin + count] = 0
    beta[going:count] = 1
    if going > 0:
        np.dot(W[begin : begin + going], T_turned, beta[:going])


@njit(cache=True, fastmath=FAST)
def _collect(ids, starts, rows, t, alpha, beta, emitted, smoothed, best):
    """Put p(h_t | x) where it is wanted: counts (V, k), or tables by token; (0, k) is unwanted."""
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
                smoothed[at, j] = alpha[r, j] * beta[b, j]
                total += smoothed[at, j]
            for j in range(k):
                smoothed[at, j] /= total
        if best.shape[0] > 0:
            most, top = -1.0, 0
            for j in range(k):
                if alpha[r, j] * beta[b, j] > most:
                    most, top = alpha[r, j] * beta[b, j], j
            best[at] = top


@njit(cache=True, fastmath=FAST)
def _add_pairs(alpha, W, n_rows, pairs, moved):
    np.dot(alpha[:n_rows].T, W[:n_rows], pairs)
    for a in range(pairs.shape[0]):
        for j in range(pairs.shape[1]):
            moved[a, j] += pairs[a, j]


@njit(cache=True)
def _sum_of_logs(scale, n_rows):
    total = 0.0
    for r in range(n_rows):
        total += np.log(np.float64(scale[r]))
    return total


@njit(cache=True, fastmath=FAST)
def expect_batches(
    ids,
    starts,
    lengths,
    bounds,
    pi,
    T,
    T_turned,
    E,
    alpha,
    W,
    beta,
    scale,
    rows,
    cap,
    initial,
    moved,
    emitted,
    smoothed,
    best,
):
    """Both passes over all batches: expected counts, or posteriors, whichever have room.

    ``bounds``: batch i is ``starts[bounds[i] : bounds[i + 1]]``.  ``moved`` still has to be
    multiplied by T.  Returns the log likelihood and the number of impossible tokens.
    """
    k = T.shape[0]
    prior = np.empty((beta.shape[0], k), T.dtype)
    prior[:] = pi
    pairs = np.empty((k, k), T.dtype)
    log_likelihood, n_impossible = 0.0, 0
    for i in range(bounds.shape[0] - 1):
        begun, lasting = starts[bounds[i] : bounds[i + 1]], lengths[bounds[i] : bounds[i + 1]]
        n_steps, missed = forward(ids, begun, lasting, prior, T, E, alpha, scale, rows)
        n_impossible += missed
        log_likelihood += _sum_of_logs(scale, rows[n_steps])
        for t in range(n_steps - 1, -1, -1):
            backward(ids, begun, T_turned, E, scale, rows, n_steps, beta, W, t, False, cap)
            _collect(ids, begun, rows, t, alpha, beta, emitted, smoothed, best)
        if emitted.shape[0] > 0:
            for b in range(begun.shape[0]):
                for j in range(k):
                    initial[j] += alpha[b, j] * beta[b, j]
            _add_pairs(alpha, W, rows[n_steps], pairs, moved)
    return log_likelihood, n_impossible


@njit(cache=True, fastmath=FAST)
def expect_long(
    ids,
    start,
    length,
    segment,
    pi,
    T,
    T_turned,
    E,
    alpha,
    W,
    beta,
    scale,
    rows,
    cap,
    initial,
    moved,
    emitted,
    smoothed,
    best,
):
    """The same for one long sequence, in segments; ``alpha`` and ``W`` have ``segment`` rows."""
    k = T.shape[0]
    n_segments = (length + segment - 1) // segment
    borders = np.empty((n_segments, 1, k), T.dtype)  # p(h) at the first token of each segment
    borders[0, 0] = pi
    pairs = np.empty((k, k), T.dtype)
    where, lasting = np.empty(1, np.int64), np.empty(1, np.int64)
    log_likelihood, n_impossible = 0.0, 0
    for s in range(n_segments):
        where[0] = start + s * segment
        lasting[0] = min(segment, length - s * segment)
        n, missed = forward(ids, where, lasting, borders[s], T, E, alpha, scale, rows)
        n_impossible += missed
        log_likelihood += _sum_of_logs(scale, n)
        if s + 1 < n_segments:
            np.dot(alpha[n - 1 : n], T, borders[s + 1])
    future = np.zeros((1, k), T.dtype)
    for s in range(n_segments - 1, -1, -1):
        where[0] = start + s * segment
        lasting[0] = min(segment, length - s * segment)
        n, missed = forward(ids, where, lasting, borders[s], T, E, alpha, scale, rows)
        follows = s + 1 < n_segments
        if follows:
            W[n - 1] = future[0]
        for t in range(n - 1, -1, -1):
            backward(ids, where, T_turned, E, scale, rows, n, beta, W, t, follows, cap)
            _collect(ids, where, rows, t, alpha, beta, emitted, smoothed, best)
        if emitted.shape[0] > 0:
            _add_pairs(alpha, W, n, pairs, moved)
        _future(ids[where[0]], scale[0], E, beta, future, 0, 0, cap)
    if emitted.shape[0] > 0:
        for j in range(k):
            initial[j] += alpha[0, j] * beta[0, j]
    return log_likelihood, n_impossible


@njit(cache=True, fastmath=FAST)
def _keep(begun, lasting, rows, n_steps, alpha, scale, surprisal, filtered, last, owners):
    """Copy what is wanted of a forward pass to its place; (0, k) is unwanted."""
    for t in range(n_steps):
        for b in range(rows[t + 1] - rows[t]):
            at, r = begun[b] + t, rows[t] + b
            surprisal[at] = -np.log(np.float64(scale[r]))
            if filtered.shape[0] > 0:
                filtered[at] = alpha[r]
    if last.shape[0] > 0:
        for b in range(begun.shape[0]):
            last[owners[b]] = alpha[rows[lasting[b] - 1] + b]


@njit(cache=True, fastmath=FAST)
def forward_batches(
    ids,
    starts,
    lengths,
    owners,
    bounds,
    pi,
    T,
    E,
    alpha,
    scale,
    rows,
    widest,
    surprisal,
    filtered,
    last,
):
    """-log p(x_t | x_1..t-1), filtered states, and those after the last token (S, k)."""
    prior = np.empty((widest, T.shape[0]), T.dtype)
    prior[:] = pi
    for i in range(bounds.shape[0] - 1):
        lo, hi = bounds[i], bounds[i + 1]
        n_steps, _ = forward(ids, starts[lo:hi], lengths[lo:hi], prior, T, E, alpha, scale, rows)
        _keep(
            starts[lo:hi],
            lengths[lo:hi],
            rows,
            n_steps,
            alpha,
            scale,
            surprisal,
            filtered,
            last,
            owners[lo:hi],
        )


@njit(cache=True, fastmath=FAST)
def forward_long(
    ids, start, length, owner, segment, pi, T, E, alpha, scale, rows, surprisal, filtered, last
):
    """The same for one long sequence, in segments."""
    prior = np.empty((1, T.shape[0]), T.dtype)
    prior[0] = pi
    where, lasting = np.empty(1, np.int64), np.empty(1, np.int64)
    owners = np.full(1, owner, np.int64)
    for begin in range(0, length, segment):
        where[0], lasting[0] = start + begin, min(segment, length - begin)
        n, _ = forward(ids, where, lasting, prior, T, E, alpha, scale, rows)
        _keep(where, lasting, rows, n, alpha, scale, surprisal, filtered, last, owners)
        np.dot(alpha[n - 1 : n], T, prior)
