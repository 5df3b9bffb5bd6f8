"""Compiled Viterbi decoding and sampling.

A cell of Viterbi is a state of a token: ``score[j]`` is the log probability of the best path that
ends there, less a constant of the token.  Costs O(N k^2) for N tokens and k states::

    score_t[j] = max over i of score_t-1[i] + log T[i, j] + log O[j, x_t]
"""

import numpy as np

from eigentext.base.compiling import njit


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
