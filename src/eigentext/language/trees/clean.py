"""From trees as annotators wrote them to trees as parsers learn and are scored on them.

Traces go: words under ``-NONE-``, and every constituent that covers nothing else.  Function tags
and indices of phrases go (``NP-SBJ-1``, ``NP=2``); part-of-speech tags stay whole (``v-fin``)
unless asked.  If asked, ``X`` over nothing but ``X`` becomes one ``X``, and the root is made
uniform: ``( (S ...))``, ``(ROOT (S ...))`` and ``(S ...)`` all become ``(TOP (S ...))``.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np

from eigentext.language.trees.constituent import Tree

WRAPPERS = frozenset({"", "TOP", "ROOT", "S1", "VROOT"})
"""Labels that stand for "the whole sentence" and say nothing about its category."""

TRACE = "-NONE-"
"""The tag of a word that is not said."""

_SUFFIX = re.compile(r"(?<=[^-=])[-=].*", re.DOTALL)


def base_label(label: str) -> str:
    """The category without function tags and indices; ``-LRB-`` and ``=`` are labels of their own.

    >>> [base_label(label) for label in ("NP-SBJ-1", "NP=2", "ADVP|PRT", "-LRB-", "--")]
    ['NP', 'NP', 'ADVP|PRT', '-LRB-', '--']
    """
    return label if label[:1] in ("-", "=") else _SUFFIX.sub("", label)


def strip_traces(tree: Tree, trace_labels: Collection[str] = (TRACE,)) -> Tree | None:
    """Drop the words under trace labels and what covers only such; None if nothing is left.

    >>> tree = Tree.from_brackets("(S (NP-SBJ (-NONE- *)) (VP (TO to) (VP (VB go))))")
    >>> print(strip_traces(tree))
    (S (VP (TO to) (VP (VB go))))
    """
    if not any(label in trace_labels for label in tree.labels):
        return tree
    labels, parents = tree.labels, tree.parents.tolist()
    spoken = np.array(
        [
            leaf and (parent < 0 or labels[parent] not in trace_labels)
            for leaf, parent in zip(tree.is_leaf.tolist(), parents, strict=True)
        ]
    )
    before = np.concatenate(([0], np.cumsum(spoken)))
    covers = before[np.arange(tree.n_nodes) + tree.sizes] > before[:-1]
    return tree.keep(covers) if covers[0] else None


def with_root(tree: Tree, label: str = "TOP") -> Tree:
    """Give the tree exactly one root node ``label`` in place of any wrappers it has.

    >>> print(with_root(Tree.from_brackets("( (ROOT (INTJ (UH Oh))))")))
    (TOP (INTJ (UH Oh)))
    >>> print(with_root(Tree.from_brackets("(INTJ (UH Oh))")))
    (TOP (INTJ (UH Oh)))
    """
    labels, sizes = tree.labels, tree.sizes
    tops = {*WRAPPERS, label}
    n_wrappers, top = 0, int(sizes[0])
    # a wrapper over a bare word is its tag: it stays
    while labels[n_wrappers] in tops and sizes[n_wrappers] > 2:
        n_wrappers += 1
        if int(sizes[n_wrappers]) != top - n_wrappers:
            break
    rest = slice(n_wrappers, None)
    new_sizes = np.concatenate(([top - n_wrappers + 1], sizes[rest]))
    return Tree.unchecked((label, *labels[rest]), new_sizes)


def clean(
    tree: Tree,
    *,
    traces: bool = True,
    functions: bool = True,
    tag_functions: bool = False,
    repeats: bool = False,
    root: str | None = None,
) -> Tree | None:
    """Strip what a parser does not learn; None if the tree holds nothing but traces.

    ``traces``         drop words under ``-NONE-`` and constituents emptied by that
    ``functions``      cut function tags and indices off the labels of phrases
    ``tag_functions``  do so on the labels right above words, too
    ``repeats``        merge X over nothing but X
    ``root``           the label that every tree is to have on top, or None: leave roots alone

    >>> tree = Tree.from_brackets("( (S (NP-SBJ (NNP Ann)) (VP (VBZ is) (NP (-NONE- *T*-1)))))")
    >>> print(clean(tree, root="TOP"))
    (TOP (S (NP (NNP Ann)) (VP (VBZ is))))
    """
    stripped = strip_traces(tree) if traces else tree
    if stripped is None:
        return None
    if functions and tag_functions:
        stripped = stripped.relabel(base_label)
    elif functions:
        plain = stripped.relabel(base_label)
        of_node = zip(stripped.labels, plain.labels, plain.sizes.tolist(), strict=True)
        labels = [old if size == 2 else new for old, new, size in of_node]
        stripped = Tree.unchecked(labels, plain.sizes)
    if repeats:
        names, sizes = stripped.labels, stripped.sizes
        only_child = (sizes[:-1] == sizes[1:] + 1) & (sizes[1:] > 1)
        keep = np.ones(stripped.n_nodes, dtype=bool)
        for node in np.flatnonzero(only_child).tolist():
            keep[node + 1] = names[node] != names[node + 1]
        stripped = stripped.keep(keep)
    return stripped if root is None else with_root(stripped, root)
