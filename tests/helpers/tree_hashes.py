"""Plain twins of what the features of both rerankers are made with."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from eigentext.base.hashing import MASK, MIXER

if TYPE_CHECKING:
    from eigentext.linear.lists import ListFeatures

EDGE = 1  # beyond the sentence, or beyond the children of a node


def start_of(template: int) -> int:
    """The hash of a template before its first value."""
    return MIXER * (template + 1) & MASK


def more(state: int, value: int) -> int:
    """A hash with one more value in it."""
    state = (state ^ (value + MIXER & MASK)) * 0xFF51AFD7ED558CCD & MASK
    return state ^ state >> 29


def hash_of(template: int, *values: int) -> int:
    """The hash of a template and the keys of what it looks at."""
    state = start_of(template)
    for value in values:
        state = more(state, value)
    return state


def bucket(n: int) -> int:
    """Lengths 0 to 5 as they are, then 6-7, 8-10, 11-15, 16-20, 21-30, 31 and more."""
    return n if n <= 5 else 6 + sum(n > bound for bound in (7, 10, 15, 20, 30))


def features_of_trees(found: ListFeatures) -> list[Counter[int]]:
    """The features of each tree of a list."""
    trees = []
    for a, b in pairwise(found.node_ptr.tolist()):
        of_tree: Counter[int] = Counter()
        for group in found.groups[a:b].tolist():
            begin, end = found.feature_ptr[group], found.feature_ptr[group + 1]
            of_tree.update(found.features[begin:end].tolist())
        trees.append(of_tree)
    return trees
