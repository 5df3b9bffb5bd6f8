"""Exponential smoothing of contexts along the text, and its sums by word."""

from eigentext.base.compiling import njit


@njit(nogil=True, fastmath={"contract"})
def smooth(ids, begin, end, U, rates, words, left, right):
    """Contexts of the tokens in ``ids[begin:end]``; returns how many tokens there are.

    Token t of a sentence (-1 ends one) with word w_t gets, for the j-th rate a,

        left[t, j]  = (1 - a) left[t - 1, j]  + a U[w_{t-1}]      (0 at the first token)
        right[t, j] = (1 - a) right[t + 1, j] + a U[w_{t+1}]      (0 at the last token)

    Arguments: ``U`` (n, k); ``rates`` (r,); outputs ``words`` (m,), ``left``, ``right`` (m, r, k)
    with room for ``end - begin`` tokens.  The stretch begins and ends with a sentence.
    """
    n_rates, k = len(rates), U.shape[1]
    m = 0
    first = 0
    for i in range(begin, end + 1):
        if i < end and ids[i] >= 0:  # the left contexts as the tokens come
            words[m] = ids[i]
            for j in range(n_rates):
                if m == first:
                    for d in range(k):
                        left[m, j, d] = 0
                else:
                    a = rates[j]
                    keep = 1 - a
                    before = words[m - 1]
                    for d in range(k):
                        left[m, j, d] = keep * left[m - 1, j, d] + a * U[before, d]
            m += 1
            continue
        # the sentence has ended: the same from its last token back
        for t in range(m - 1, first - 1, -1):
            for j in range(n_rates):
                if t == m - 1:
                    for d in range(k):
                        right[t, j, d] = 0
                else:
                    a = rates[j]
                    keep = 1 - a
                    after = words[t + 1]
                    for d in range(k):
                        right[t, j, d] = keep * right[t + 1, j, d] + a * U[after, d]
        first = m
    return m


@njit(nogil=True)
def add_by_word(words, m, rows, sums):
    """``sums[words[t]] += rows[t]`` for t < m; ``rows`` (m, c), ``sums`` (n, c) float64."""
    for t in range(m):
        w = words[t]
        for d in range(rows.shape[1]):
            sums[w, d] += rows[t, d]
