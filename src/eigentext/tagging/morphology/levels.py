"""Counts of outcomes (tags, lemma rules) by nodes from coarse to fine, and their likeliest ones.

A word has a node at each level, found by a key: its case, its last letter, its last two letters,
and so on.  ``kernels/words.py`` has the equation by which a finer level refines a coarser one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.base.hashing import MIXER
from eigentext.base.ragged import pointers
from eigentext.features.attributes import N_BEGINNINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.types import Bools, Float32s, Float64s, Int32s, Int64s, UInt64s
    from eigentext.tagging.morphology.kernels.words import Lists

    Keys = UInt64s

LONGEST_ENDING = 7


class Edges(NamedTuple):
    """Keys of texts: of their last 1, 2, ... characters, and of their first ones; 0 for none.

    A key one character longer than the text stands for all of it.

    >>> both = Edges.of(["cats", "hats"])
    >>> (both.endings[0] == both.endings[1]).tolist()
    [True, True, True, False, False, True, True, True]
    """

    endings: Keys
    beginnings: Keys

    @classmethod
    def of(cls, texts: Sequence[str]) -> Edges:
        """The keys of these texts."""
        from eigentext.tagging.morphology.kernels.words import edge_keys

        codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
        endings = np.zeros((len(texts), LONGEST_ENDING + 1), np.uint64)
        beginnings = np.zeros((len(texts), N_BEGINNINGS), np.uint64)
        edge_keys(codes, pointers(map(len, texts)), endings, beginnings)
        return cls(endings, beginnings)


def mixed_keys(keys: Keys, more: Keys) -> Keys:
    """(n, m) keys with one more in each, as ``mix_some`` of kernels; 0, for none, stays 0."""
    mixed = (keys ^ more) * np.uint64(MIXER)
    mixed ^= mixed >> np.uint64(29)
    return np.where(keys != 0, np.maximum(mixed, np.uint64(1)), np.uint64(0))


def empty_lists(n: int, most: int) -> Lists:
    """Room for the candidates of n words."""
    from eigentext.tagging.morphology.kernels.words import Lists

    kinds = (np.int32, np.float32, np.uint64)
    return Lists(np.zeros(n, np.int64), *(np.zeros((n, most), kind) for kind in kinds))


@dataclass(frozen=True, eq=False)
class Levels:
    """Counts of outcomes by node."""

    keys: Keys  # (nodes,) sorted
    ptr: Int64s  # those of node v: tags[ptr[v] : ptr[v + 1]], and their counts
    tags: Int32s
    counts: Float32s
    n_tags: int  # how many outcomes there are

    @classmethod
    def counted(cls, keys: Keys, tags: Int64s, counts: Float64s, n_tags: int) -> Levels:
        """Sums of ``counts`` (rows, levels) by key and tag (rows,); key 0 counts for nothing."""
        distinct, node = np.unique(keys, return_inverse=True)
        cell = node.reshape(keys.shape) * n_tags + tags[:, None]  # of a table (nodes, tags)
        cells, at = np.unique(cell, return_inverse=True)
        total = np.bincount(at.ravel(), counts.ravel(), len(cells))  # c(node, tag)
        n_before = int(distinct[0] == 0)  # the key 0, if it is there, is the first
        keep = cells >= n_before * n_tags
        cells, total = cells[keep] - n_before * n_tags, total[keep]
        sizes = np.bincount(cells // n_tags, minlength=len(distinct) - n_before)
        return cls(
            distinct[n_before:],
            pointers(sizes),
            (cells % n_tags).astype(np.int32),
            total.astype(np.float32),
            n_tags,
        )

    def nodes(self, keys: Keys) -> Int64s:
        """The node of each key, -1 for none."""
        if not len(self.keys):
            return np.full(keys.shape, -1, np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)  # keys are sorted
        return np.where(self.keys[at] == keys, at, -1)

    def lists(
        self,
        keys: Keys,
        most: int,
        *,
        least: float,
        held: Int64s | None = None,
        own_last: Bools | None = None,
        n_types: int = 0,
    ) -> Lists:
        """The likeliest outcomes of rows by their keys (rows, levels): ``candidate_lists``."""
        from eigentext.tagging.morphology.kernels.words import Counts, candidate_lists

        n = len(keys)
        lists = empty_lists(n, most)
        candidate_lists(
            self.nodes(keys),
            n_types,
            np.full(n, -1) if held is None else held,
            np.zeros(n, np.bool_) if own_last is None else own_last,
            Counts(self.ptr, self.tags, self.counts),
            self.n_tags,
            least,
            lists,
        )
        return lists
