"""The constituent tree: two flat arrays in preorder, and a nested view for those who like one.

``labels`` has one entry per node in preorder (a leaf's label is its word), ``sizes`` the number of
nodes of each subtree, itself included: a leaf has 1, an inner node at least 2, the next sibling of
node ``i`` is ``i + sizes[i]`` and its first child ``i + 1``.  All else is read off those arrays
without recursion: a tree 100,000 levels deep is as good as any other.

In brackets a label or word is any run of characters other than ASCII white space and parentheses;
a label follows its parenthesis at once, and is empty in ``( (S ...))``.  In memory labels are
arbitrary strings; ``str(tree)`` writes -LRB-, -RRB- and ``_`` for what brackets cannot hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from eigentext.base.foreign import TreeWords

Kind = TypeVar("Kind", bound=np.generic)
_PIECE = re.compile(r"\([^ \t\n\r\f\v()]*|\)|[^ \t\n\r\f\v()]+")
_UNHELD = re.compile(r"[ \t\n\r\f\v()]")
_ESCAPES = str.maketrans({"(": "-LRB-", ")": "-RRB-", **dict.fromkeys(" \t\n\r\f\v", "_")})


def _read_only(array: npt.NDArray[Kind]) -> npt.NDArray[Kind]:
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False, repr=False)
class Tree(TreeWords):
    """A constituent tree over words.

    ``labels``  one string per node in preorder; a leaf's label is its word
    ``sizes``   int32, (n_nodes,): nodes in the subtree, itself included; 1 exactly for leaves

    >>> tree = Tree.from_brackets("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> tree.words, tree.tags
    (('the', 'dog', 'barks'), ('DT', 'NN', 'VBZ'))
    >>> tree.sizes.tolist()
    [9, 5, 2, 1, 2, 1, 3, 2, 1]
    >>> [child.label for child in tree.root.children]
    ['NP', 'VP']
    >>> print(tree)
    (S (NP (DT the) (NN dog)) (VP (VBZ barks)))
    """

    labels: tuple[str, ...]
    sizes: npt.NDArray[np.int32]

    def __post_init__(self) -> None:
        labels = tuple(self.labels)
        if not all(isinstance(label, str) for label in labels):
            raise TypeError("every label must be a str")
        sizes = np.asarray(self.sizes)
        if sizes.shape != (len(labels),) or (len(sizes) and sizes.dtype.kind not in "iu"):
            raise ValueError(f"sizes must be {len(labels)} integers, one per label")
        _check_sizes(sizes.tolist())
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "sizes", _read_only(sizes.astype(np.int32)))

    @classmethod
    def unchecked(
        cls, labels: Sequence[str], sizes: Sequence[int] | npt.NDArray[np.integer]
    ) -> Tree:
        """Wrap arrays that are right by construction: for readers and transformations."""
        tree = object.__new__(cls)
        object.__setattr__(tree, "labels", tuple(labels))
        object.__setattr__(tree, "sizes", _read_only(np.array(sizes, dtype=np.int32)))
        return tree

    @classmethod
    def from_nested(cls, nested: Sequence[object]) -> Tree:
        """Build a tree from ``(label, child, ...)`` where a child is a word or again such a tuple.

        >>> print(Tree.from_nested(("NP", ("DT", "the"), ("NN", "dog"))))
        (NP (DT the) (NN dog))
        """
        if isinstance(nested, str):
            raise TypeError("a tree is (label, child, ...), not a str; brackets: from_brackets")
        labels: list[str] = []
        sizes: list[int] = []
        pending: list[Any] = [nested]
        while pending:
            item = pending.pop()
            if isinstance(item, int):  # the children of node `item` are done
                sizes[item] = len(labels) - item
                continue
            if isinstance(item, str):
                labels.append(item)
                sizes.append(1)
                continue
            if len(item) < 2 or not all(
                isinstance(part, str) or (k and isinstance(part, tuple | list))
                for k, part in enumerate(item)
            ):
                raise ValueError(
                    f"expected (label, child, ...), found {len(item)} parts of other types"
                )
            pending.append(len(labels))
            pending.extend(item[:0:-1])
            labels.append(item[0])
            sizes.append(0)
        return cls.unchecked(labels, sizes)

    @classmethod
    def from_brackets(cls, text: str) -> Tree:
        """Read one tree in Penn Treebank brackets; ``formats.ptb`` reads files and names lines.

        >>> Tree.from_brackets("( (INTJ (UH Oh)))").labels
        ('', 'INTJ', 'UH', 'Oh')
        """
        labels: list[str] = []
        sizes: list[int] = []
        still_open: list[int] = []
        for piece in _PIECE.findall(text):
            if not still_open and (labels or piece[0] != "("):
                raise ValueError(f"found {piece!r} outside the brackets of one tree")
            if piece[0] == "(":
                still_open.append(len(labels))
                labels.append(piece[1:])
                sizes.append(0)
            elif piece == ")":
                node = still_open.pop()
                sizes[node] = len(labels) - node
                if sizes[node] == 1:
                    raise ValueError(f"constituent {labels[node]!r} has no children")
            else:
                labels.append(piece)
                sizes.append(1)
        if still_open or not labels:
            raise ValueError(f"unbalanced brackets: {len(still_open)} not closed")
        return cls.unchecked(labels, sizes)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, words included."""
        return len(self.labels)

    def __len__(self) -> int:
        """Number of words."""
        return len(self.words)

    @cached_property
    def is_leaf(self) -> npt.NDArray[np.bool_]:
        """(n_nodes,): is the node a word?"""
        return _read_only(self.sizes == 1)

    @cached_property
    def is_preterminal(self) -> npt.NDArray[np.bool_]:
        """(n_nodes,): does the node stand over exactly one word and nothing else?"""
        return _read_only(self.sizes == 2)

    @cached_property
    def parents(self) -> npt.NDArray[np.int32]:
        """(n_nodes,): index of the parent; -1 for the root."""
        parents = [-1] * len(self.labels)
        sizes = self.sizes.tolist()
        stack = [(len(sizes), -1)]
        for node, size in enumerate(sizes):
            while stack[-1][0] <= node:
                stack.pop()
            parents[node] = stack[-1][1]
            if size > 1:
                stack.append((node + size, node))
        return _read_only(np.array(parents, dtype=np.int32))

    @cached_property
    def _closings(self) -> npt.NDArray[np.int64]:
        """(n_nodes + 1,): how many inner nodes end just before node i."""
        inner = np.flatnonzero(self.sizes > 1)
        return np.bincount(inner + self.sizes[inner], minlength=len(self.labels) + 1)

    @cached_property
    def depths(self) -> npt.NDArray[np.int32]:
        """(n_nodes,): number of ancestors; 0 for the root."""
        inner = self.sizes > 1
        opened: npt.NDArray[np.int64] = np.cumsum(inner) - inner
        return _read_only((opened - np.cumsum(self._closings[:-1])).astype(np.int32))

    @property
    def height(self) -> int:
        """Edges on the longest path from the root to a word."""
        return int(self.depths.max())

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The labels of the leaves, left to right."""
        return tuple(map(self.labels.__getitem__, np.flatnonzero(self.is_leaf).tolist()))

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """For each word the label right above it."""
        above = self.parents[self.is_leaf].tolist()
        return tuple("" if node < 0 else self.labels[node] for node in above)

    @cached_property
    def _words_before(self) -> npt.NDArray[np.int32]:
        """(n_nodes + 1,): number of words among the nodes before node i."""
        before = np.zeros(len(self.labels) + 1, dtype=np.int32)
        np.cumsum(self.is_leaf, out=before[1:])
        return before

    def spans(self) -> npt.NDArray[np.int32]:
        """(n_nodes, 2): first word and one past the last word of each node.

        >>> Tree.from_brackets("(S (NP (PRP I)) (VP (VBP am)))").spans().tolist()
        [[0, 2], [0, 1], [0, 1], [0, 1], [1, 2], [1, 2], [1, 2]]
        """
        before = self._words_before
        return np.stack([before[:-1], before[np.arange(self.n_nodes) + self.sizes]], axis=1)

    def constituents(self) -> list[tuple[str, int, int]]:
        """(label, start, end) of every inner node that is no preterminal, in preorder.

        >>> Tree.from_brackets("(S (NP (PRP I)) (VP (VBP am)))").constituents()
        [('S', 0, 2), ('NP', 0, 1), ('VP', 1, 2)]
        """
        nodes = np.flatnonzero(self.sizes > 2)
        spans = zip(nodes.tolist(), self.spans()[nodes].tolist(), strict=True)
        return [(self.labels[node], start, end) for node, (start, end) in spans]

    def children(self, node: int) -> list[int]:
        """Indices of the children of a node, left to right."""
        children = []
        # in preorder a child stands right behind the subtree of the child before it
        child, end = node + 1, node + int(self.sizes[node])
        while child < end:
            children.append(child)
            child += int(self.sizes[child])
        return children

    @property
    def root(self) -> Node:
        """The nested view, made as it is walked."""
        return Node(self, 0)

    def relabel(self, rename: Callable[[str], str]) -> Tree:
        """Apply ``rename`` to the label of every inner node; words stay.

        >>> print(Tree.from_brackets("(np (nn dog))").relabel(str.upper))
        (NP (NN dog))
        """
        leaf = self.is_leaf.tolist()
        renamed: dict[str, str] = {}
        labels = list(self.labels)
        for node, label in enumerate(self.labels):
            if not leaf[node]:
                if label not in renamed:
                    renamed[label] = rename(label)
                labels[node] = renamed[label]
        return Tree.unchecked(labels, self.sizes)

    def with_words(self, words: Sequence[str]) -> Tree:
        """Put other words, as many, in the places of the words.

        >>> print(Tree.from_brackets("(NP (DT the) (NN dog))").with_words(["a", "cat"]))
        (NP (DT a) (NN cat))
        """
        if isinstance(words, str):
            raise TypeError("words must be a sequence of words, not one str; did you mean [...]?")
        leaves = np.flatnonzero(self.is_leaf).tolist()
        if len(words) != len(leaves):
            raise ValueError(f"this tree has {len(leaves)} words, {len(words)} were given")
        labels = list(self.labels)
        for leaf, word in zip(leaves, words, strict=True):
            labels[leaf] = word
        return Tree.unchecked(labels, self.sizes)

    def keep(self, mask: npt.NDArray[np.bool_], labels: Sequence[str] | None = None) -> Tree:
        """Take out the nodes not kept; the children of one taken out move up to its parent.

        ``labels`` are new labels for all nodes before that.  The caller sees to it that the root
        stays and that every inner node kept has a word left.

        >>> tree = Tree.from_brackets("(S (NP (NN dogs)) (VP (VB bark)))")
        >>> print(tree.keep(np.array([label != "NP" for label in tree.labels])))
        (S (NN dogs) (VP (VB bark)))
        """
        # before[i] nodes stay of the first i: a subtree keeps the difference between its ends
        before = np.concatenate(([0], np.cumsum(mask)))
        nodes = np.flatnonzero(mask)
        sizes = before[nodes + self.sizes[nodes]] - before[nodes]
        names = self.labels if labels is None else labels
        return Tree.unchecked([names[node] for node in nodes.tolist()], sizes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.sizes, other.sizes)

    def __hash__(self) -> int:
        return hash((self.labels, self.sizes.tobytes()))

    def __str__(self) -> str:
        leaf, closings = self.is_leaf.tolist(), self._closings[1:].tolist()
        pieces, labels = [], self.labels
        if _UNHELD.search("".join(labels)):
            labels = tuple([label.translate(_ESCAPES) for label in labels])
        for label, is_leaf, n_closed in zip(labels, leaf, closings, strict=True):
            if not is_leaf:
                pieces.append(" (" + label)
            elif n_closed:
                pieces.append(" " + label + ")" * n_closed)
            else:
                pieces.append(" " + label)
        return "".join(pieces)[1:]

    def __repr__(self) -> str:
        text = str(self)
        return f"Tree.from_brackets({text if len(text) <= 60 else text[:60] + '...'!r})"


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a tree, seen as a nested object; nothing is copied.

    >>> node = Tree.from_brackets("(S (NP (PRP I)) (VP (VBP am)))").root.children[1]
    >>> node.label, node.span, node.is_leaf
    ('VP', (1, 2), False)
    """

    tree: Tree
    index: int

    @property
    def label(self) -> str:
        """The category; for a leaf the word."""
        return self.tree.labels[self.index]

    @property
    def is_leaf(self) -> bool:
        """Is this a word?"""
        return int(self.tree.sizes[self.index]) == 1

    @property
    def is_preterminal(self) -> bool:
        """Does this node stand over exactly one word and nothing else?"""
        return int(self.tree.sizes[self.index]) == 2

    @property
    def children(self) -> tuple[Node, ...]:
        """The children, left to right; none for a word."""
        return tuple(Node(self.tree, child) for child in self.tree.children(self.index))

    @property
    def span(self) -> tuple[int, int]:
        """First word and one past the last word."""
        before = self.tree._words_before
        end = self.index + int(self.tree.sizes[self.index])
        return int(before[self.index]), int(before[end])

    @property
    def words(self) -> tuple[str, ...]:
        """The words under this node."""
        start, end = self.span
        return self.tree.words[start:end]

    def subtree(self) -> Tree:
        """Copy of this node and all below it as a tree of its own."""
        end = self.index + int(self.tree.sizes[self.index])
        here = slice(self.index, end)
        return Tree.unchecked(self.tree.labels[here], self.tree.sizes[here])


def _check_sizes(sizes: list[int]) -> None:
    if len(sizes) < 2 or sizes[0] != len(sizes):
        raise ValueError("the root must be an inner node whose size is the number of all nodes")
    ends = [len(sizes)]
    for node, size in enumerate(sizes):
        while ends[-1] <= node:
            ends.pop()
        if size < 1 or node + size > ends[-1]:
            raise ValueError(
                f"node {node} has size {size}; it must be at least 1 and end within its parent"
            )
        if size > 1:
            ends.append(node + size)
