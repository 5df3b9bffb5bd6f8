"""Compiled recursion of observable operators over sequences."""

from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Float64s, Numbers


class OperatorArrays(NamedTuple):
    """Operators as the recursion takes them; see spectral/operators.py."""

    start: Float64s  # (k,) b_1
    usual: Float64s  # (k,) the mean state
    rows: Numbers  # (V, k) b_inf' B_x of every symbol
    matrices: Numbers  # (V, k, k) B_x, or (k, k, k) with y
    y: Float64s  # (V, k), or (0, k)


@njit
def operator_states(ids, first, operators, weak, signs_matter, states, raw):
    """State before each token, and p(token | state) as the operators have it.

    Where that p is not above ``weak[x]`` and signs matter, the state begins anew from the mean
    state and the symbol; where that gives nothing either, from the mean state.
    """
    start, usual, rows, matrices, y = operators
    k = start.shape[0]
    reduced = y.shape[0] > 0
    state, following = np.empty(k), np.empty(k)
    # b_t+1 = B_x b_t / p,  p = b_inf' B_x b_t.  Time O(k^2) a token, O(k^3) of a reduced model,
    # where B_x = sum over j of y[x, j] matrices[j] is never made.
    for s in range(first.shape[0] - 1):
        state[:] = start
        for t in range(first[s], first[s + 1]):
            x = ids[t]
            p = 0.0
            for i in range(k):
                states[t, i] = state[i]
                p += rows[x, i] * state[i]  # p = b_inf' B_x b_t
            raw[t] = p
            if signs_matter and not p > weak[x]:
                state[:] = usual
                p = 0.0
                for i in range(k):
                    p += rows[x, i] * state[i]
                if not p > weak[x]:
                    continue
            elif p == 0:
                state[:] = usual
                continue
            for i in range(k):
                total = 0.0
                if reduced:
                    for j in range(k):
                        part = 0.0
                        for m in range(k):
                            part += matrices[j, i, m] * state[m]
                        total += y[x, j] * part
                else:
                    for m in range(k):
                        total += matrices[x, i, m] * state[m]
                following[i] = total / p
            state[:] = following
