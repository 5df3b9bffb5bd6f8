"""Trees of a forest as flat arrays, binarisation undone; their brackets against a gold tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eigentext.base.compiling import njit

Ints32 = npt.NDArray[np.int32]


class FlatTrees(NamedTuple):
    """Trees laid end to end, nodes in preorder, chains of only children one node each.

    ``ptr``         (k + 1,) where each tree begins; what follows is of nodes
    ``label``       number of the label in the grammar
    ``start, end``  the words it covers
    ``size``        nodes in the subtree, 1 for a tag
    ``parent``      number of the parent within the tree, -1 for the root
    ``head``        the head word
    ``is_head``     is it the head child of its parent?
    """

    ptr: npt.NDArray[np.int64]
    label: Ints32
    start: Ints32
    end: Ints32
    size: Ints32
    parent: Ints32
    head: Ints32
    is_head: npt.NDArray[np.bool_]

    @classmethod
    def room(cls, k: int, n: int) -> FlatTrees:
        """Empty arrays for k trees of n nodes together."""

        def column() -> Ints32:
            return np.empty(n, np.int32)

        columns = column(), column(), column(), column(), column(), column()
        return cls(np.empty(k + 1, np.int64), *columns, np.empty(n, np.bool_))

    def cut(self, n: int) -> FlatTrees:
        """A copy of the first n nodes."""
        label, start, end, size, parent, head = (column[:n].copy() for column in self[1:7])
        return FlatTrees(self.ptr, label, start, end, size, parent, head, self.is_head[:n].copy())


@njit(nogil=True)
def flatten(roots, table, app_rule, item_label, item_span, spans, spliced, head_right, trees):
    """Lay the trees out; nodes with labels ``spliced`` are left out.

    ``head_right`` (rules,): is the head on the right?  Returns the nodes used.
    """
    _, row_item, row_app, row_left, row_right, _, _, _, _ = table
    at = 0
    # (row, parent, on the way from its parent to the head)
    pending = np.empty((2 * len(trees.label) + 2, 3), np.int64)
    for t in range(len(roots)):
        begin = at
        trees.ptr[t] = begin
        pending[0, 0], pending[0, 1], pending[0, 2] = roots[t], -1, 0
        n_pending = 1
        while n_pending > 0:
            n_pending -= 1
            row, parent, to_head = (
                pending[n_pending, 0],
                pending[n_pending, 1],
                pending[n_pending, 2],
            )
            item = row_item[row]
            # children of a node that is left out hang from its parent
            node = parent
            kept = not spliced[item_label[item]]
            if kept:
                node = at - begin
                trees.label[at] = item_label[item]
                trees.start[at] = spans[item_span[item], 0]
                trees.end[at] = spans[item_span[item], 1]
                trees.parent[at] = parent
                trees.is_head[at] = to_head == 1
                trees.size[at] = 1
                trees.head[at] = spans[item_span[item], 0]  # right for a word; others below
                at += 1
            app = row_app[row]
            if app >= 0:
                right = 1 if head_right[app_rule[app]] else 0
                # the head of a node that is left out is the head of the node above it
                on = 1 if kept or to_head == 1 else 0
                pending[n_pending, 0], pending[n_pending, 1] = row_right[row], node
                pending[n_pending, 2] = on * right
                pending[n_pending + 1, 0], pending[n_pending + 1, 1] = row_left[row], node
                pending[n_pending + 1, 2] = on * (1 - right)
                n_pending += 2
        # preorder backwards is bottom-up: sizes add up, and heads rise
        for node in range(at - 1, begin, -1):
            above = begin + trees.parent[node]
            trees.size[above] += trees.size[node]
            if trees.is_head[node]:
                trees.head[above] = trees.head[node]
    trees.ptr[len(roots)] = at
    return at


@njit(nogil=True)
def bracket_counts(trees, chain_ptr, chain, position, gold, used, counts):
    """(matched, brackets) of every tree, by EVALB's rules for deleted words.

    ``position`` (n + 1,): words that count before each word.  ``chain`` at ``chain_ptr`` has the
    bracket labels of a grammar label, 0 for one that does not count.  ``gold`` (G, 3): label,
    start, end in words that count.
    """
    for t in range(len(trees.ptr) - 1):
        used[:] = False
        matched = n = 0
        for node in range(trees.ptr[t], trees.ptr[t + 1]):
            start, end = position[trees.start[node]], position[trees.end[node]]
            if start == end:
                continue
            a = trees.label[node]
            for c in range(chain_ptr[a], chain_ptr[a + 1]):
                if chain[c] == 0 or (trees.size[node] == 1 and c == chain_ptr[a + 1] - 1):
                    continue  # a tag is no bracket
                n += 1
                for g in range(len(gold)):  # each gold bracket is matched once
                    if (
                        not used[g]
                        and gold[g, 0] == chain[c]
                        and gold[g, 1] == start
                        and gold[g, 2] == end
                    ):
                        used[g] = True
                        matched += 1
                        break
        counts[t, 0], counts[t, 1] = matched, n
