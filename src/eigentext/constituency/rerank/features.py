"""Features of the trees of a list.

1. :class:`WordKeys` gives a sentence's words as 64-bit keys: a word that training saw often is
   itself, another its signature.
2. :func:`list_features` puts nodes with the same context together, over all trees of the list, and
   makes the features of each group of nodes once.  The score of a tree is the sum over its
   groups; groups that stand in every tree tell nothing and are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from eigentext.base.hashing import text_key
from eigentext.features.signatures import signatures
from eigentext.linear.lists import ListFeatures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.types import Int32s, UInt64s
    from eigentext.constituency.kernels.flat_trees import FlatTrees
    from eigentext.constituency.rerank.lists import LabelTable
    from eigentext.features.signatures import Language

    Keys = UInt64s

GROUPS = ("rule", "heads", "siblings", "words", "heavy", "edges", "parallel", "shape", "split")


ALL = (1 << len(GROUPS)) - 1


def bits_of(groups: Sequence[str]) -> int:
    """The groups as the compiled loops take them.

    >>> bits_of(("rule", "siblings"))
    5
    """
    return sum(1 << GROUPS.index(group) for group in groups)


def _shape(word: str) -> str:
    """What a span's shape is made of: punctuation is itself.

    >>> [_shape(word) for word in ("cat", "Cat", "3.5", ",")]
    ['x', 'X', '9', ',']
    """
    for character in word:
        if character.isalpha():
            return "X" if word[0].isupper() else "x"
        if character.isdigit():
            return "9"
    return word


@dataclass(frozen=True, eq=False)
class WordKeys:
    """Keys of words: those in ``frequent`` are themselves, others their signatures."""

    frequent: frozenset[str]
    language: Language
    remembered: dict[tuple[str, bool], tuple[int, int]] = field(default_factory=dict)

    def of(self, words: Sequence[str]) -> tuple[Keys, Keys]:
        """(n,) keys of the words, and of their shapes."""
        pairs = [self._pair(word, first=at == 0) for at, word in enumerate(words)]
        keys = np.array(pairs, np.uint64).reshape(-1, 2)
        return keys[:, 0].copy(), keys[:, 1].copy()

    def _pair(self, word: str, *, first: bool) -> tuple[int, int]:
        pair = self.remembered.get((word, first))
        if pair is None:
            name = word
            if word not in self.frequent:
                name = "\0" + signatures(word, first=first, language=self.language)[0]
            pair = text_key(name), text_key(_shape(word))
            if len(self.remembered) >= 1 << 17:  # long runs stay in bounds
                self.remembered.clear()
            self.remembered[word, first] = pair
        return pair


def list_features(
    trees: FlatTrees, table: LabelTable, words: tuple[Keys, Keys], groups: int = ALL
) -> ListFeatures:
    """The features of the trees of a list; ``words`` are keys of words and of shapes."""
    from eigentext.constituency.kernels.tree_features import (
        PER_CHILD,
        PER_NODE,
        Names,
        group_nodes,
        make_features,
    )

    names = Names(table.whole, table.top, table.bottom, *words)
    n_nodes, k = len(trees.label), len(trees.ptr) - 1
    group = np.empty(n_nodes, np.int32)
    slots = np.full(1 << (2 * n_nodes - 1).bit_length(), -1, np.int32)
    n_groups = group_nodes(trees, names, group, np.empty(n_nodes, np.uint64), slots)
    varies = np.bincount(group, minlength=n_groups) < k
    ptr = np.empty(n_groups + 1, np.int64)
    room = n_groups * PER_NODE + _n_children(trees, group, n_groups) * PER_CHILD
    out = np.empty(room, np.uint64)
    used = make_features(trees, names, group, n_groups, ~varies, groups, ptr, out)
    # the groups that vary are numbered anew
    stays = varies[group]
    before = np.concatenate(([0], np.cumsum(stays)))
    return ListFeatures(
        before[trees.ptr],
        (np.cumsum(varies) - 1)[group[stays]].astype(np.int32),
        np.concatenate(([0], ptr[1:][varies])),
        out[:used].copy(),
    )


def _n_children(trees: FlatTrees, group: Int32s, n_groups: int) -> int:
    """How many children the first node of every group has, all together."""
    first = np.full(n_groups, -1, np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]  # of several, the last assigned holds
    begin = np.repeat(trees.ptr[:-1], np.diff(trees.ptr))
    below = np.flatnonzero(trees.parent >= 0)
    n = np.bincount(begin[below] + trees.parent[below], minlength=len(group))
    return int(n[first].sum())
