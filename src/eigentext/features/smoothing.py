"""P(tag, state | word) from counts of the word, its signature and its base tags.

With ts = (tag, state), B = the base tag of t:

1. P(ts | sig) from rare words with the same signature, smoothed towards all rare words
   (:func:`of_signature`).
2. P(B | w) = (c(w, B) + k_sig P(B | sig)) / (c(w) + k_sig); a word seen ``trust`` times or more
   trusts its counts alone.
3. P(ts | w) = (c(w, ts) + k_base P(B | w) P(ts | B)) / (c(w) + k_base), where P(ts | B) goes from
   that of the signature to that of all words, as the word is seen more often.
4. P(s | t, w) = (c(w, t, s) + k_state P(s | t)) / (c(w, t) + k_state), with P(s | t) of step 3's
   P(ts | B).

:func:`smoothed` takes any number of words at once: one with all its tags, as parsing wants it, or
all words of a treebank, each with the tag that it has there, as EM does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eigentext.base.types import Float64s, Int64s

_RARE = 2.0  # words' weight of all rare words in P(ts | sig)
_TEXT = 0.1  # of P(ts) of all words, beside that of the signature
_OFTEN = 10.0  # a word seen so often no longer behaves like its signature
_NONE = 1e-30  # no sum of probabilities is smaller: 0 / 0 is 0


class Strengths(NamedTuple):
    """Weights of the steps, in words; ``trust`` is a number of words."""

    k_sig: float
    k_base: float
    k_state: float
    trust: float


class Evidence(NamedTuple):
    """What is known.  An entry is a (word, tag, state), a cell a (word, base tag)."""

    cell: Int64s  # (E,) that of each entry
    group: Int64s  # (E,) the number of its (word, tag)
    counts: Float64s  # (E,) c(w, ts)
    n: Float64s  # (C,) c(w)
    n_base: Float64s  # (C,) c(w, B)
    p_shape: Float64s  # (E,) P(ts | sig)
    p_shape_base: Float64s  # (C,) P(B | sig)
    p_text: Float64s  # (E,) P(ts) of all words
    p_text_base: Float64s  # (C,) P(B)
    given_base: Float64s  # (E,) P(ts | B) of all words


def of_signature(n: Float64s, p_rare: Float64s, total: float | Float64s) -> Float64s:
    """P(. | sig) from counts ``n`` under the signature, ``total`` in all, and P(.) of rare words.

    >>> of_signature(np.array([2.0, 0.0]), np.array([0.5, 0.5]), 2.0).tolist()
    [0.75, 0.25]
    """
    return np.asarray((_RARE * p_rare + n) / (_RARE + total))


def smoothed(evidence: Evidence, k: Strengths) -> Float64s:
    """(E,) P(ts | w)."""
    cell, n = evidence.cell, evidence.n
    unseen = n == 0
    # a word never seen has no counts: any weight of the prior gives the prior itself
    k_sig = np.where(unseen, 1.0, np.where(n < k.trust, k.k_sig, 0.0))
    k_base = np.where(unseen, 1.0, k.k_base)
    p_base = (evidence.n_base + k_sig * evidence.p_shape_base) / (n + k_sig)
    within = evidence.p_shape + _TEXT * evidence.p_text
    within /= np.maximum(evidence.p_shape_base + _TEXT * evidence.p_text_base, _NONE)[cell]
    weight = np.minimum(1.0, n / _OFTEN)[cell]
    within = (1 - weight) * within + weight * evidence.given_base
    p = (evidence.counts + (k_base * p_base)[cell] * within) / (n + k_base)[cell]
    if not k.k_state:
        return np.asarray(p)

    def in_group(values: Float64s) -> Float64s:
        return np.asarray(np.bincount(evidence.group, weights=values)[evidence.group], dtype=float)

    prior = within / np.maximum(in_group(within), _NONE)
    drawn = (evidence.counts + k.k_state * prior) / (in_group(evidence.counts) + k.k_state)
    return np.where(unseen[cell], p, in_group(p) * drawn)
