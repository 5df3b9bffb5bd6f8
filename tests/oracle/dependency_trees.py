"""All dependency trees of a few words, listed to the last one, and their scores by the definition.

Knows nothing of the package.  A tree is the tuple of the heads of words 1..n; 0 is the root.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product

import numpy as np


@cache
def all_trees(n):
    """Every tree over n words in which exactly one word hangs from the root: n^(n-1) of them."""
    choices = [[h for h in range(n + 1) if h != d] for d in range(1, n + 1)]
    return [heads for heads in product(*choices) if heads.count(0) == 1 and _ends_at_root(heads)]


def _ends_at_root(heads):
    for word in range(1, len(heads) + 1):
        steps = 0
        while word and steps <= len(heads):
            word, steps = heads[word - 1], steps + 1
        if word:
            return False
    return True


def is_projective(heads):
    """No two arcs cross, where the arc of the root starts left of the first word."""
    arcs = [(min(h, d), max(h, d)) for d, h in enumerate(heads, 1)]
    # one child of the root, so that its arc from 0 crosses what spans over that child
    return not any(a < c < b < e for a, b in arcs for c, e in arcs)


@cache
def projective_trees(n):
    return [heads for heads in all_trees(n) if is_projective(heads)]


def siblings(heads):
    """(h, s, d): modifier d of h comes next after s going outward; s = h for the first."""
    n = len(heads)
    for h in range(n + 1):
        for side in (range(h - 1, 0, -1), range(h + 1, n + 1)):
            mine = [d for d in side if heads[d - 1] == h]
            yield from ((h, s, d) for s, d in pairwise([h, *mine]))


def crossing_arcs(heads):
    """How many arcs span a word from which heads do not lead to the arc's head."""

    def above(word):
        while word:
            word = heads[word - 1]
            yield word

    return sum(
        any(h not in above(w) for w in range(min(h, d) + 1, max(h, d)))
        for d, h in enumerate(heads, 1)
    )


def score(heads, arc, sib=None, grand=None, charge=0.0):
    """``grand[g, h, d]``: word d below h below g, g a word or the root, h a word."""
    total = sum(arc[h, d] for d, h in enumerate(heads, 1))
    if sib is not None:
        total += sum(sib[part] for part in siblings(heads))
    if grand is not None:
        total += sum(grand[heads[h - 1], h, d] for d, h in enumerate(heads, 1) if h)
    return total - charge * crossing_arcs(heads)


def ranked(trees, arc, sib=None):
    """(score, tree) of all trees with a finite score, best first."""
    scored = [(score(heads, arc, sib), heads) for heads in trees]
    return sorted((pair for pair in scored if pair[0] > -np.inf), reverse=True)


def marginals(trees, arc, sib=None):
    """Arc probabilities and log Z, or (None, -inf) if no tree has a finite score."""
    scored = ranked(trees, arc, sib)
    if not scored:
        return None, -np.inf
    top = scored[0][0]
    weights = [np.exp(value - top) for value, _ in scored]
    z = sum(weights)
    result = np.zeros(np.shape(arc))
    for weight, (_, heads) in zip(weights, scored, strict=True):
        for d, h in enumerate(heads, 1):
            result[h, d] += weight / z
    return result, top + np.log(z)


def meets(heads, required, forbidden):
    arcs = {(h, d) for d, h in enumerate(heads, 1)}
    return arcs.issuperset(required) and arcs.isdisjoint(forbidden)
