r"""Unary chains become single nodes with composite labels, and come back exactly.

1. ``collapse``: a node whose only child is again a constituent is merged with it, all the way
   down: ``(S (VP (VB Go)))`` becomes ``(S>VP>VB Go)``.
2. A ``>`` or ``\`` that a label has of its own is escaped by ``\``, on every node, so that
3. ``expand`` can split every label at the bare ``>`` and rebuild the chain, whatever the labels
   were: ``expand(collapse(tree)) == tree``.  It accepts any tree, such as one a parser made up.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from eigentext.language.trees.constituent import Tree

SEPARATOR = ">"
_SPECIAL = re.compile(r"[\\>]")
# a piece: characters other than > and \, or \ with what it escapes (a last lone \ is itself)
_PIECE = re.compile(r"(?:[^\\>]|\\.|\\\Z)*", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def escape_chain(label: str) -> str:
    r"""Return a plain label as it is written in a composite one.

    >>> escape_chain("a>b")
    'a\\>b'
    """
    return _SPECIAL.sub(r"\\\g<0>", label)


@lru_cache(maxsize=1 << 16)
def split_chain(label: str) -> tuple[str, ...]:
    r"""Return the labels in a composite label, top first.

    >>> split_chain("S>VP"), split_chain(r"a\>b")
    (('S', 'VP'), ('a>b',))
    """
    if SEPARATOR not in label and "\\" not in label:
        return (label,)
    pieces = []
    at = 0
    while True:
        match = _PIECE.match(label, at)
        piece = match.group() if match else ""
        pieces.append(_ESCAPED.sub(r"\1", piece))
        at += len(piece) + 1  # past the separator
        if at > len(label):
            return tuple(pieces)


def collapse(tree: Tree, *, keep_root: bool = False, preterminals: bool = True) -> Tree:
    """Merge each unary chain into one node.

    ``keep_root``     the root node is never merged with its only child: ``(TOP (S>VP ...))``
    ``preterminals``  a chain takes in the tag below it: ``(NP>NN dog)``, else ``(NP (NN dog))``

    >>> tree = Tree.from_brackets("(TOP (S (VP (VB Go) (ADVP (RB home)))))")
    >>> print(collapse(tree, keep_root=True))
    (TOP (S>VP (VB Go) (ADVP>RB home)))
    >>> expand(collapse(tree)) == tree
    True
    """
    sizes = tree.sizes
    merges = np.zeros(tree.n_nodes, dtype=bool)  # is the node merged with its only child?
    lowest = 2 if preterminals else 3
    merges[:-1] = (sizes[:-1] == sizes[1:] + 1) & (sizes[1:] >= lowest)
    if keep_root:
        merges[0] = False
    labels = list(tree.labels)
    chain: list[str] = []
    nodes = zip(tree.is_leaf.tolist(), merges.tolist(), strict=True)
    for node, (is_leaf, merge) in enumerate(nodes):
        if is_leaf:
            continue
        label = labels[node]
        if SEPARATOR in label or "\\" in label:
            label = escape_chain(label)
        if merge:
            chain.append(label)
        elif chain:
            chain.append(label)
            labels[node] = SEPARATOR.join(chain)
            chain.clear()
        else:
            labels[node] = label
    return tree.keep(~merges, labels)


def expand(tree: Tree) -> Tree:
    """Undo :func:`collapse`: each composite label becomes its chain of nodes.

    >>> print(expand(Tree.from_brackets("(S>VP>VB Go)")))
    (S (VP (VB Go)))
    """
    pieces = [
        (label,) if leaf else split_chain(label)
        for label, leaf in zip(tree.labels, tree.is_leaf.tolist(), strict=True)
    ]
    before = np.concatenate(([0], np.cumsum([len(chain) for chain in pieces])))
    new_sizes = (before[np.arange(tree.n_nodes) + tree.sizes] - before[:-1]).tolist()
    labels: list[str] = []
    sizes: list[int] = []
    for chain, size in zip(pieces, new_sizes, strict=True):
        labels.extend(chain)
        if len(chain) == 1:
            sizes.append(size)
        else:
            sizes.extend(range(size, size - len(chain), -1))
    return Tree.unchecked(labels, sizes)
