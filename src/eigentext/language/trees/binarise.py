r"""Unary chains become one node and wide nodes chains of binary ones; both come back exactly.

``collapse`` merges a node with its only child, all the way down: ``(S (VP (VB Go)))`` becomes
``(S>VP>VB Go)``.  ``binarise`` grows a node from its head: first the siblings to the right of the
head join one by one, then those to the left.  With ``direction="right"`` the last child takes the
head's part, with ``"left"`` the first::

    (X L2 L1 H R1 R2)   ->   (X L2 (@<X|L1 L1 (@>X|R2 (@>X|R1 H R1) R2)))

An intermediate label gives the side where the last sibling joined, the parent, and the last ``h``
of those joined so far, newest first, the head being the first (Markov order h; None: all of them).
With ``v`` = 2 each constituent also carries its parent's label (``NP^S``), with 3 the
grandparent's.  Signs that a label has of its own are escaped by ``\``, so that both come back.
Labels made by ``collapse`` are seen through: ``S>VP`` has the head rule and the intermediate
labels of ``VP``, and among siblings it is an ``S``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import accumulate
from typing import Literal

import numpy as np

from eigentext.errors import SettingsError
from eigentext.language.trees.constituent import Tree
from eigentext.language.trees.heads import WORD, HeadRules

SEPARATOR = ">"
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_IN_CHAIN = re.compile(r"[\\>]")
# a piece: characters other than > and \, or \ with what it escapes (a last lone \ is itself)
_PIECE = re.compile(r"(?:[^\\>]|\\.|\\\Z)*", re.DOTALL)


def escape_chain(label: str) -> str:
    r"""Return a plain label as it is written in a composite one.

    >>> escape_chain("a>b")
    'a\\>b'
    """
    return _IN_CHAIN.sub(r"\\\g<0>", label)


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


_SPECIAL = re.compile(r"[\\@^|]")
# the label itself: up to the first bare ^ or |
_BASE = re.compile(r"(?:[^\\^|]|\\.|\\\Z)*", re.DOTALL)


@lru_cache(maxsize=1 << 16)
def escape_label(label: str) -> str:
    r"""Return a label as it is written by :func:`binarise`.

    >>> escape_label("ADVP|PRT")
    'ADVP\\|PRT'
    """
    return _SPECIAL.sub(r"\\\g<0>", label)


def is_intermediate(label: str) -> bool:
    """Was this label made by :func:`binarise` for a node that the tree did not have?

    >>> is_intermediate("@>NP|PP"), is_intermediate("NP^S")
    (True, False)
    """
    return label.startswith("@")


@lru_cache(maxsize=1 << 16)
def _base(label: str) -> str:
    """Return the label as it was before: without ``@``, Markov context, ancestors and escapes."""
    start = 0
    if is_intermediate(label):
        start = 2 if label[1:2] in ("<", ">") else 1  # a parser may have made up the label
    match = _BASE.match(label, start)
    return _ESCAPED.sub(r"\1", match.group() if match else "")


@lru_cache(maxsize=1 << 16)
def intermediates(
    label: str, siblings: tuple[str, ...], head: int, h: int | None, name_head: bool = False
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Labels of the new nodes under one parent, ``label``, whose children are ``siblings``.

    The first tuple is for the nodes that span children [j, n) with j = 1, ..., head; the second
    for those that span [head, m) with m = n - 1, ..., head + 2: outside in, and so in preorder.

    >>> intermediates("S", ("NP", "MD", "VP", "."), 2, 1)
    (('@<S|MD', '@>S|.'), ())
    """
    n = len(siblings)
    named = [escape_label(sibling) for sibling in siblings]
    start = f"{label}|{named[head]}" if name_head else label
    joined = [*named[head:], *named[:head][::-1]]  # in the order of joining

    def name(side: str, n_joined: int) -> str:
        first = 0 if h is None else max(0, n_joined - h)
        return "|".join((f"@{side}{start}", *joined[first:n_joined][::-1]))

    to_left = tuple(
        name("<" if j < head else ">", n - j) for j in range(1, head + 1) if n - j >= 2
    )
    to_right = tuple(name(">", m - head) for m in range(n - 1, head + 1, -1))
    return to_left, to_right


def check_settings(direction: str, h: int | None, v: int = 1) -> None:
    """Raise a SettingsError if :func:`binarise` cannot go by these."""
    if direction not in ("head", "right", "left"):
        raise SettingsError(f"direction must be 'head', 'right' or 'left', not {direction!r}")
    if h is not None and (not isinstance(h, int) or h < 0):
        raise SettingsError(f"h must be 0, 1, 2, ... or None for all siblings, not {h!r}")
    if not isinstance(v, int) or v < 1:
        raise SettingsError(f"v must be 1, 2, ..., not {v!r}")


@lru_cache(maxsize=1)
def _english() -> HeadRules:
    return HeadRules.english()


def binarise(
    tree: Tree,
    *,
    direction: Literal["head", "right", "left"] = "head",
    h: int | None = 1,
    v: int = 1,
    heads: HeadRules | None = None,
    name_head: bool = False,
) -> Tree:
    """Make every node with more than two children binary.

    ``direction``  where growth starts: at the head child, at the last (right) or first (left) one
    ``h``          how many siblings an intermediate label remembers; None: all of them
    ``v``          1: labels as they are; 2: constituents carry their parent's label; ...
    ``heads``      head rules, English ones by default; used with ``direction="head"`` only
    ``name_head``  do intermediate labels name the head child as well?

    >>> tree = Tree.from_brackets("(S (NP I) (MD can) (VP go) (. .))")
    >>> print(binarise(tree))
    (S (NP I) (@<S|MD (MD can) (@>S|. (VP go) (. .))))
    >>> print(binarise(tree, direction="right", h=2))
    (S (NP I) (@<S|MD|VP (MD can) (@<S|VP|. (VP go) (. .))))
    >>> unbinarise(binarise(tree, h=None, v=2)) == tree
    True
    """
    check_settings(direction, h, v)
    rules = heads if heads is not None else _english()
    labels, sizes = tree.labels, tree.sizes.tolist()
    children = _children(sizes)
    extra = [len(below) - 2 if len(below) > 2 else 0 for below in children]
    added = [0, *accumulate(extra)]  # new nodes under nodes before i

    out_labels: list[str] = []
    out_sizes: list[int] = []
    before: dict[int, list[tuple[str, int]]] = {}  # new nodes that come right before a node
    above: dict[int, tuple[str, ...]] = {}  # with v > 1: escaped labels of the ancestors
    for node, size in enumerate(sizes):
        if node in before:
            for label, new_size in before.pop(node):
                out_labels.append(label)
                out_sizes.append(new_size)
        end = node + size
        out_sizes.append(size + added[end] - added[node])
        if size == 1:
            out_labels.append(labels[node])
            continue
        label = escape_label(labels[node])
        context: tuple[str, ...] = ()
        if v > 1:
            context = above.pop(node, ())
            passed_on = (label, *context)[: v - 1]
            for child in children[node]:
                if sizes[child] > 2:  # tags stay as they are
                    above[child] = passed_on
            label = "^".join((label, *context))
        out_labels.append(label)
        below = children[node]
        n = len(below)
        if n <= 2:
            continue
        names = [split_chain(labels[child])[0] if sizes[child] > 1 else WORD for child in below]
        bottom = split_chain(labels[node])[-1]
        if direction == "head":
            head = rules.head_child(bottom, names)
        else:
            head = n - 1 if direction == "right" else 0
        parent = "^".join((escape_label(escape_chain(bottom)), *context))
        to_left, to_right = intermediates(parent, tuple(names), head, h, name_head)
        for j, name in enumerate(to_left, start=1):
            start = below[j]
            before[start] = [(name, end - start + added[end] - added[start] + n - j - 1)]
        start = below[head]
        for m, name in zip(range(n - 1, head + 1, -1), to_right, strict=True):
            stop = below[m]
            new_size = stop - start + added[stop] - added[start] + m - head - 1
            before.setdefault(start, []).append((name, new_size))
    return Tree.unchecked(out_labels, out_sizes)


def _children(sizes: list[int]) -> list[list[int]]:
    """For each node its children, left to right; none for preterminals, whose word comes next."""
    none: list[int] = []
    children = [none] * len(sizes)
    for node, size in enumerate(sizes):
        if size > 2:
            child, end, below = node + 1, node + size, []
            while child < end:
                below.append(child)
                child += sizes[child]
            children[node] = below
    return children


def unbinarise(tree: Tree) -> Tree:
    """Undo :func:`binarise`, for any tree over its labels.

    An intermediate node that is the root, or that stands right over a word, cannot be spliced out;
    it gets the label of the constituent that it was made for.

    >>> print(unbinarise(Tree.from_brackets("(S (NP I) (@<S|MD (MD can) (VP^S go)))")))
    (S (NP I) (MD can) (VP go))
    >>> print(unbinarise(Tree.from_brackets("(@>S|. (VP go) (@<NP|DT .))")))
    (S (VP go) (NP .))
    """
    labels = list(tree.labels)
    keep = np.ones(tree.n_nodes, dtype=bool)
    for node, (label, size) in enumerate(zip(tree.labels, tree.sizes.tolist(), strict=True)):
        if size > 2 and node and label.startswith("@"):
            keep[node] = False
        elif size > 1:
            labels[node] = _base(label)
    return tree.keep(keep, labels)
