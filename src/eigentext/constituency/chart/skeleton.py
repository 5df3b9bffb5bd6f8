"""A binarised tree in the numbers of a grammar: what decoders find and probabilities are of.

A chart gives the numbers at once (``decode``); :func:`skeleton_of` finds those of a tree from
elsewhere, and :meth:`Skeleton.tree` writes the names out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.language.trees.constituent import Tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.types import Int64s
    from eigentext.constituency.grammar import RuleNumbers


class Skeleton(NamedTuple):
    """A binarised tree in preorder without its words: labels, rules (-1 over a word), children."""

    label: Int64s
    rule: Int64s
    left: Int64s
    right: Int64s

    @classmethod
    def of(cls, label: Sequence[int], rule: Sequence[int]) -> Skeleton:
        """From labels and rules in preorder.

        >>> Skeleton.of([0, 1, 2], [7, -1, -1]).right.tolist()
        [2, -1, -1]
        """
        left, right = _children([number < 0 for number in rule])
        columns = (np.array(column, dtype=np.int64) for column in (label, rule, left, right))
        return cls(*columns)

    def tree(self, labels: Sequence[str], words: Sequence[str]) -> Tree:
        """The tree with the names of its labels, over these words.

        >>> print(Skeleton.of([0, 1, 2], [7, -1, -1]).tree(["S", "A", "B"], ["x", "y"]))
        (S (A x) (B y))
        """
        children = list(zip(self.left.tolist(), self.right.tolist(), strict=True))
        size = [2] * len(children)
        for node in range(len(children) - 1, -1, -1):
            left, right = children[node]
            if left >= 0:
                size[node] = 1 + size[left] + size[right]
        names: list[str] = []
        sizes: list[int] = []
        rest = iter(words)
        for number, n_nodes, (left, _) in zip(self.label.tolist(), size, children, strict=True):
            names.append(labels[number])
            sizes.append(n_nodes)
            if left < 0:
                names.append(next(rest))
                sizes.append(1)
        return Tree.unchecked(names, sizes)


def skeleton_of(tree: Tree, numbers: RuleNumbers) -> Skeleton | None:
    """The numbers of a binarised tree; None if the grammar lacks a label or a rule of it."""
    label: list[int] = []
    over_word: list[bool] = []
    for name, size in zip(tree.labels, tree.sizes.tolist(), strict=True):
        if size == 1:
            continue
        number = numbers.labels.get(name)
        if number is None:
            return None
        label.append(number)
        over_word.append(size == 2)
    rule = [-1] * len(label)
    for node, (left, right) in enumerate(zip(*_children(over_word), strict=True)):
        if left >= 0:
            rule_id = numbers.rules.get((label[node], label[left], label[right]))
            if rule_id is None:
                return None
            rule[node] = rule_id
    return Skeleton.of(label, rule)


def _children(over_word: Sequence[bool]) -> tuple[list[int], list[int]]:
    """Left and right child of every node in preorder, -1 over a word."""
    left, right = [-1] * len(over_word), [-1] * len(over_word)
    finished: list[int] = []  # subtrees to the right, nearest last
    for node in range(len(over_word) - 1, -1, -1):
        if not over_word[node]:
            left[node], right[node] = finished.pop(), finished.pop()
        finished.append(node)
    return left, right
