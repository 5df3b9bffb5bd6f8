"""Trees of NLTK in and out.

``from_nltk`` reads anything with NLTK's manners (a sequence of children with a ``label()``), so it
needs no NLTK; ``to_nltk`` builds ``nltk.Tree`` objects.  Neither recurses: depth costs nothing.

>>> from eigentext.language.trees.constituent import Tree
>>> tree = Tree.from_brackets("(S (NP (PRP I)) (VP (VBP am)))")
>>> from_nltk(to_nltk(tree)) == tree
True
"""

from __future__ import annotations

from typing import Any, Protocol

from eigentext.errors import MissingExtraError
from eigentext.language.trees.constituent import Tree

_END = object()  # the children of the last unfinished node are done


class _HasTree(Protocol):
    """Such as a ``constituency.Parse``."""

    @property
    def tree(self) -> Tree: ...


def from_nltk(tree: Any) -> Tree:
    """An eigentext Tree from an ``nltk.Tree`` whose leaves are strings.

    To train a parser: ``LPCFG().fit(map(from_nltk, corpus.parsed_sents()))``.
    """
    labels: list[str] = []
    sizes: list[int] = []
    pending: list[Any] = [tree]
    unfinished: list[int] = []
    while pending:
        item = pending.pop()
        if item is _END:
            node = unfinished.pop()
            sizes[node] = len(labels) - node
        elif isinstance(item, str):
            labels.append(item)
            sizes.append(1)
        elif callable(getattr(item, "label", None)):
            if not len(item):
                raise ValueError(f"constituent {item.label()!r} has no children")
            unfinished.append(len(labels))
            pending.append(_END)
            pending.extend(reversed(list(item)))
            labels.append(str(item.label()))
            sizes.append(0)
        else:
            raise TypeError(
                f"expected an nltk.Tree over strings, found a {type(item).__name__} in it"
            )
    if not sizes or sizes[0] == 1:
        raise TypeError("expected an nltk.Tree, found a str")
    return Tree.unchecked(labels, sizes)


def to_nltk(tree: Tree | _HasTree) -> Any:
    """An ``nltk.Tree`` from a tree, or from the tree of a parse."""
    try:
        from nltk import Tree as NltkTree  # type: ignore[import-untyped]
    except ImportError as missing:
        raise MissingExtraError("NLTK trees", modules=["nltk"]) from missing
    source = tree if isinstance(tree, Tree) else tree.tree
    built: list[Any] = [None] * source.n_nodes
    for node in range(source.n_nodes - 1, -1, -1):
        if source.sizes[node] == 1:
            built[node] = source.labels[node]
        else:
            below = [built[child] for child in source.children(node)]
            built[node] = NltkTree(source.labels[node], below)
    return built[0]
