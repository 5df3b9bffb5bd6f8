"""For Brown's merges and the exchange: the pairs of a word with clusters around it, and x log x.

x log x and log x go without a call, so that loops over them become vector code: y = 2^e t with
1 <= t < 2, log t = log sqrt 2 + 2 atanh s, s = (t - sqrt 2) / (t + sqrt 2).  The bits of a double
give e and t; the series of atanh is cut where it is exact enough.
"""

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from eigentext.base.compiling import njit
from eigentext.base.types import Float64s, Int64s

_HALF_LOG_2 = 0.5 * np.log(2.0)
_LOG_2 = np.log(2.0)
_ROOT_2 = np.sqrt(2.0)


@intrinsic
def _bits_of(typingctx, x):
    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), codegen


@intrinsic
def _float_of(typingctx, x):
    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), codegen


@njit(inline="always", error_model="numpy")
def quick_log(y):
    """log y to 1e-9 for normal y > 0."""
    bits = _bits_of(y)  # sign, 11 bits of the exponent (plus 1023), 52 of the fraction
    exponent = (bits >> 52) - 1023
    t = _float_of((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000)  # the same with exponent 0
    s = (t - _ROOT_2) / (t + _ROOT_2)  # at most 0.172 either way
    q = s * s
    series = 2.0 + q * (2 / 3 + q * (2 / 5 + q * (2 / 7 + q * (2 / 9))))
    return exponent * _LOG_2 + (_HALF_LOG_2 + s * series)


@njit(inline="always", error_model="numpy")
def x_log_x(y):
    """y log y to full precision, 0 at 0."""
    bits = _bits_of(y)
    exponent = (bits >> 52) - 1023
    t = _float_of((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000)
    s = (t - _ROOT_2) / (t + _ROOT_2)
    q = s * s
    series = 2 / 11 + q * (2 / 13 + q * (2 / 15 + q * (2 / 17 + q * (2 / 19))))
    series = 2.0 + q * (2 / 3 + q * (2 / 5 + q * (2 / 7 + q * (2 / 9 + q * series))))
    return y * (exponent * _LOG_2 + (_HALF_LOG_2 + s * series))


class Side(NamedTuple):
    """One side of a word: ``sums[c]`` pairs with each of its ``clusters``, and 0 with others."""

    sums: Float64s
    clusters: Int64s


class WordPairs(NamedTuple):
    """The pairs of a word with the clusters after and before it."""

    with_itself: float  # pairs of the word with itself, which are in no side
    after: Side
    before: Side
    n_left: float  # pairs in which it is the left word, its own included
    n_right: float  # or the right word


@njit
def empty_sides(n_clusters):
    """Room for the two sides of a word."""
    return (
        Side(np.zeros(n_clusters), np.empty(n_clusters, dtype=np.int64)),
        Side(np.zeros(n_clusters), np.empty(n_clusters, dtype=np.int64)),
    )


@njit(error_model="numpy", fastmath={"contract"})
def _gather(neighbours, word, cluster, room):
    """Sum a word's neighbours by their clusters; gives (the side, its own count)."""
    starts, words, counts = neighbours
    sums, clusters = room
    # sums is all zero between words: a zero sum says that the cluster is new to this word
    used = 0
    with_itself = 0.0
    for p in range(starts[word], starts[word + 1]):
        x = words[p]
        if x == word:
            with_itself = counts[p]
            continue
        c = cluster[x]
        if c < 0:
            continue
        if sums[c] == 0.0:
            clusters[used] = c
            used += 1  # clusters[:used] are beside the word
        sums[c] += counts[p]
    return Side(sums, clusters[:used]), with_itself


@njit(error_model="numpy", fastmath={"contract"})
def pairs_of(word, lists, cluster, room):
    """The pairs of a word; words whose ``cluster`` is negative are not in and do not count.

    The sums stand in ``room`` and must be given back by :func:`clear`.
    """
    after, with_itself = _gather(lists.after, word, cluster, room[0])
    before, _ = _gather(lists.before, word, cluster, room[1])
    n_left = with_itself
    for c in after.clusters:
        n_left += after.sums[c]
    n_right = with_itself
    for c in before.clusters:
        n_right += before.sums[c]
    return WordPairs(with_itself, after, before, n_left, n_right)


@njit
def clear(word):
    """Make the sums of a word zero again, in time of its neighbouring clusters."""
    for c in word.after.clusters:
        word.after.sums[c] = 0.0
    for c in word.before.clusters:
        word.before.sums[c] = 0.0
