"""Proportions of topics of documents, and what the words of documents say of topics."""

import numpy as np

from eigentext.base.compiling import njit


@njit(nogil=True)
def proportions(starts, words, counts, phi, alpha, n_iter, tol, theta, sums):
    """Fixed points of ``theta_i <- (a_i + sum_v c_v theta_i phi_iv / p_v) / (a_0 + L)``, with
    ``p_v = sum_i theta_i phi_iv``; returns ``sum_v c_v log p_v + sum_i a_i log theta_i``.

    Arguments: documents as csr (``starts``, ``words``, ``counts``); ``phi`` (V, k); ``alpha``
    (k,), positive; at most ``n_iter`` rounds, fewer where no proportion moves by ``tol``;
    ``theta`` (n, k), begins and comes back; ``sums`` (V, k) gets ``c_v theta_i phi_iv / p_v``
    added, or has no rows.
    """
    k = phi.shape[1]
    share = np.empty(k)
    a0 = alpha.sum()
    total = 0.0
    for d in range(len(starts) - 1):
        begin, end = starts[d], starts[d + 1]
        row = theta[d]
        length = 0.0
        for at in range(begin, end):
            length += counts[at]
        for _ in range(n_iter):
            share[:] = 0.0
            for at in range(begin, end):
                of_word = phi[words[at]]
                p = 0.0
                for i in range(k):
                    p += row[i] * of_word[i]  # p_v = sum over i of theta_i phi_iv
                ratio = counts[at] / p  # c_v / p_v
                for i in range(k):
                    share[i] += ratio * of_word[i]
            moved = 0.0
            for i in range(k):
                now = (alpha[i] + row[i] * share[i]) / (a0 + length)  # the fixed point
                moved = max(moved, abs(now - row[i]))
                row[i] = now
            if moved < tol:
                break
        for at in range(begin, end):
            of_word = phi[words[at]]
            p = 0.0
            for i in range(k):
                p += row[i] * of_word[i]
            total += counts[at] * np.log(p)  # log likelihood of the words
            if len(sums):
                ratio = counts[at] / p
                of_sums = sums[words[at]]
                for i in range(k):
                    of_sums[i] += ratio * row[i] * of_word[i]
        for i in range(k):
            total += alpha[i] * np.log(row[i])
    return total
