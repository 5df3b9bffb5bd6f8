"""Compiled step of EM in small steps."""

import numpy as np
from numba import njit


@njit(cache=True)
def blend_counts(running, new, keep, add, totals, emission):
    """``running = keep running + add new`` (V, k), its column sums, and rows over those sums.

    ``new`` is 0 again afterwards; ``emission`` (V, k) may be float32.
    """
    V, k = running.shape
    totals[:] = 0
    # one sweep over (V, k) for all three: the table is larger than the cache
    for x in range(V):
        for j in range(k):
            value = keep * running[x, j] + add * new[x, j]
            running[x, j] = value
            totals[j] += value
            new[x, j] = 0
    shares = np.empty(k)
    for j in range(k):
        shares[j] = 1 / totals[j] if totals[j] > 0 else 0.0
    for x in range(V):
        for j in range(k):
            emission[x, j] = running[x, j] * shares[j]
