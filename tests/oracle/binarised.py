"""The head word of each node of a binarised tree, read off its labels: the twin of ``prepare``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigentext.language.trees.binarise import _base, _children, is_intermediate, split_chain
from eigentext.language.trees.heads import WORD, HeadRules

if TYPE_CHECKING:
    from eigentext.base.types import Int32s
    from eigentext.language.trees.constituent import Tree


def binarised_heads(tree: Tree, heads: HeadRules | None = None) -> Int32s:
    """(n_nodes,): the head word of each node of a tree binarised head-outward.

    An intermediate label says on which side the last sibling joined: the head is on the other.
    """
    rules = heads or HeadRules.english()
    labels, sizes = tree.labels, tree.sizes.tolist()
    children = _children(sizes)
    head_of = [0] * len(sizes)
    word = len(tree.words)
    for node in range(len(sizes) - 1, -1, -1):
        below = children[node]
        if not below:
            word -= sizes[node] == 1
            head_of[node] = word
            continue
        chosen = 0
        if len(below) > 1:
            grown = [
                k
                for k, child in enumerate(below)
                if sizes[child] > 2 and is_intermediate(labels[child])
            ]
            if len(grown) == 1:
                chosen = grown[0]
            elif is_intermediate(labels[node]) and len(below) == 2:
                chosen = int(labels[node][1:2] == "<")
            else:
                names = [
                    split_chain(_base(labels[child]))[0] if sizes[child] > 1 else WORD
                    for child in below
                ]
                chosen = rules.head_child(split_chain(_base(labels[node]))[-1], names)
        head_of[node] = head_of[below[chosen]]
    return np.array(head_of, dtype=np.int32)
