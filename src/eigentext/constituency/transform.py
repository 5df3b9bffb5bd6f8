"""From the user's trees to skeletal rules, and back to the user's labels.

Traces, function tags of phrases and the wrapper on top (TOP, ROOT, or none) are taken off; unary
chains become one composite label; wide nodes are binarised head-outward (Markov order h).
:func:`prepare_tree` does so with one tree, :func:`prepare_trees` with the preorder arrays of all
trees end to end: what follows from a label, a unary chain or a production is found once for all
of its kind.  :func:`restore` undoes it and puts the wrapper back, for any tree over such labels.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from eigentext.base.types import Bools, Int64s
from eigentext.constituency.settings import LPCFGSettings
from eigentext.constituency.treebank import FlatTrees, Numbering, Treebank, assemble, depths
from eigentext.errors import SettingsError
from eigentext.language.formats.ptb import each_tree
from eigentext.language.trees.binarise import (
    SEPARATOR,
    binarise,
    check_settings,
    collapse,
    escape_chain,
    escape_label,
    expand,
    intermediates,
    is_intermediate,
    unbinarise,
)
from eigentext.language.trees.clean import TRACE, WRAPPERS, base_label, clean
from eigentext.language.trees.constituent import Tree
from eigentext.language.trees.heads import HeadRules

Direction = Literal["head", "right", "left"]


def head_rules(settings: LPCFGSettings) -> HeadRules:
    """The head rules that the settings name."""
    return HeadRules.english() if settings.heads == "english" else HeadRules.neutral()


def unwrap(tree: Tree) -> tuple[Tree, str | None]:
    """The tree without the wrapper on top, and the wrapper's label (None if there was none)."""
    if tree.labels[0] in WRAPPERS and int(tree.sizes[1]) == tree.n_nodes - 1 and tree.n_nodes > 2:
        return tree.root.children[0].subtree(), tree.labels[0]
    return tree, None


def prepare_tree(tree: Tree, settings: LPCFGSettings, rules: HeadRules) -> Tree | None:
    """One tree, cleaned, collapsed and binarised; None if nothing but traces is in it."""
    cleaned = clean(tree, tag_functions=settings.cut_tags)
    if cleaned is None:
        return None
    bare, _ = unwrap(cleaned)
    return binarise(
        collapse(bare), direction=settings.direction, h=settings.markov_order, heads=rules
    )


def read_treebank(
    trees: Iterable[Tree], settings: LPCFGSettings, *, rare: int = 1
) -> tuple[Treebank, str | None]:
    """All nodes of the prepared trees, and the wrapper label that most trees had."""
    # A word seen at most ``rare`` times shares the features of its signature.
    flat, wrapper = prepare_trees(
        trees,
        head_rules(settings),
        direction=settings.direction,
        h=settings.markov_order,
        cut_tags=settings.cut_tags,
    )
    return assemble(flat, rare=rare, language=settings.language), wrapper


@lru_cache(maxsize=1 << 16)
def user_labels(label: str) -> tuple[str, ...]:
    """The user's labels in a label of the grammar, top first; none in an intermediate one.

    >>> user_labels("S>VP"), user_labels("@>NP|PP"), user_labels(r"ADVP\\|PRT>RB")
    (('S', 'VP'), (), ('ADVP|PRT', 'RB'))
    """
    if is_intermediate(label):
        return ()
    return expand(unbinarise(Tree.unchecked((label, ""), (2, 1)))).labels[:-1]


def restore(tree: Tree, wrapper: str | None) -> Tree:
    """The user's tree from a tree over collapsed and binarised labels."""
    return with_wrapper(expand(unbinarise(tree)), wrapper)


def with_wrapper(tree: Tree, wrapper: str | None) -> Tree:
    """The tree with that label on top, unless it is there already or None."""
    if wrapper is None or tree.labels[0] == wrapper:
        return tree
    sizes = np.concatenate(([tree.n_nodes + 1], tree.sizes))
    return Tree.unchecked((wrapper, *tree.labels), sizes)


class _Nodes(NamedTuple):
    """Constituents and tags of all trees in preorder, and their words."""

    sizes: Int64s  # nodes of the subtree without words: 1 for a tag
    label: Int64s  # places in ``names``
    word: Int64s
    names: list[str]


def prepare_trees(
    trees: Iterable[Tree],
    rules: HeadRules,
    *,
    direction: Direction = "head",
    h: int | None = 1,
    cut_tags: bool = False,
) -> tuple[FlatTrees, str | None]:
    """All trees binarised, without those of traces only; and the wrapper that most had.

    >>> tree = Tree.from_brackets("(TOP (S (NP-SBJ (PRP I)) (MD can) (VP (VB go)) (. .)))")
    >>> flat, wrapper = prepare_trees([tree], HeadRules.english())
    >>> [flat.label_names[label] for label in flat.label]
    ['S', 'NP>PRP', '@<S|MD', 'MD', '@>S|.', 'VP>VB', '.']
    >>> flat.sizes.tolist(), flat.head.tolist(), wrapper
    ([7, 1, 5, 1, 3, 1, 1], [2, 0, 2, 1, 2, 2, 3], 'TOP')
    """
    check_settings(direction, h)
    nodes, wrapper = _cleaned(_collect(trees), cut_tags)
    collapsed = _collapsed(nodes)
    return _binarised(collapsed, rules, direction, h), wrapper


def _collect(trees: Iterable[Tree]) -> _Nodes:
    """Lay the trees end to end; labels and words become numbers."""
    numbers = Numbering[str]()
    number = numbers.__getitem__
    collected = array("q")
    all_sizes = []
    for tree in each_tree(trees):
        collected.extend(map(number, tree.labels))
        all_sizes.append(tree.sizes)
    if not all_sizes:
        raise _no_tree()
    label = np.frombuffer(collected, dtype=np.int64)
    sizes = np.concatenate(all_sizes).astype(np.int64)
    leaf = sizes == 1
    if not np.all(sizes[np.flatnonzero(leaf) - 1] == 2):
        raise SettingsError("every word of a training tree must stand alone under its tag")
    return _Nodes(_sizes_of_kept(sizes, ~leaf), label[~leaf], label[leaf], list(numbers))


def _no_tree() -> SettingsError:
    return SettingsError("a grammar needs at least one tree with words")


def _sizes_of_kept(sizes: Int64s, mask: Bools) -> Int64s:
    """Sizes of the subtrees of the nodes kept, in nodes kept."""
    before = np.concatenate(([0], np.cumsum(mask)))
    nodes = np.flatnonzero(mask)
    new_sizes: Int64s = before[nodes + sizes[nodes]] - before[nodes]
    return new_sizes


def _cleaned(nodes: _Nodes, cut_tags: bool) -> tuple[_Nodes, str | None]:
    """Without traces and function tags; and the wrapper that most trees had."""
    # A tag such as ``v-fin`` is one label: it is cut like ``NP-SBJ`` only with ``cut_tags``.
    sizes, label, word, names = nodes
    roots = np.flatnonzero(depths(sizes) == 0)
    if TRACE in names:
        tag = sizes == 1
        spoken = tag & (label != names.index(TRACE))
        before = np.concatenate(([0], np.cumsum(spoken)))
        covers = before[np.arange(len(sizes)) + sizes] > before[:-1]
        roots = roots[covers[roots]]
        word = word[spoken[tag]]
        wrapper_of = label[roots]
        sizes, label = _sizes_of_kept(sizes, covers), label[covers]
    else:
        wrapper_of = label[roots]
    if not len(roots):
        raise _no_tree()
    wrappers = Counter[str | None]()
    for number in wrapper_of.tolist():
        wrappers[names[number] if names[number] in WRAPPERS else None] += 1
    wrapper = max(wrappers, key=lambda name: (wrappers[name], name or ""))

    cut = (sizes > 1) | cut_tags
    plain = np.arange(len(names))
    for number in np.flatnonzero(np.bincount(label[cut], minlength=len(names))).tolist():
        base = base_label(names[number])
        if base != names[number]:
            plain[number] = len(names)
            names.append(base)
    # two labels may have become one
    numbers = Numbering[str]()
    merged = np.array([numbers[name] for name in names])
    label = merged[np.where(cut, plain[label], label)]
    return _Nodes(sizes, label, merged[word], list(numbers)), wrapper


class _Collapsed(NamedTuple):
    """Nodes with two children and more, and tags; unary chains are one node each."""

    sizes: Int64s
    top: Int64s  # the first label of the chain, a place in ``names``
    bottom: Int64s  # the last
    label: Int64s  # the whole chain's, a place in ``grammar_names``
    word: Int64s
    names: list[str]
    grammar_names: Numbering[str]


def _collapsed(nodes: _Nodes) -> _Collapsed:
    """Take the wrapper off and make one node of every unary chain."""
    sizes, label, word, names = nodes
    only_child = np.zeros(len(sizes), dtype=bool)
    only_child[:-1] = (sizes[:-1] > 1) & (sizes[:-1] == sizes[1:] + 1)
    ends = np.flatnonzero(~only_child)
    first = np.concatenate(([0], ends[:-1] + 1))  # of the chain that ends with the node kept
    wraps = np.array([name in WRAPPERS for name in names])
    first += (depths(sizes)[first] == 0) & only_child[first] & wraps[label[first]]

    grammar_names = Numbering[str]()
    number = np.full(len(names), -1)
    bottom = label[ends]
    for plain in np.flatnonzero(np.bincount(bottom, minlength=len(names))).tolist():
        number[plain] = grammar_names[escape_label(escape_chain(names[plain]))]
    composite = number[bottom]
    longer = np.flatnonzero(ends > first)
    chain_of, chains = _distinct(label, first[longer], ends[longer] + 1)
    of_chain = [
        grammar_names[escape_label(SEPARATOR.join(escape_chain(names[plain]) for plain in chain))]
        for chain in chains
    ]
    composite[longer] = np.array(of_chain, dtype=np.int64)[chain_of]
    new_sizes = _sizes_of_kept(sizes, ~only_child)
    return _Collapsed(new_sizes, label[first], bottom, composite, word, names, grammar_names)


def _distinct(values: Int64s, start: Int64s, end: Int64s) -> tuple[Int64s, list[list[int]]]:
    """For each of the runs values[start:end] a number, and the distinct runs by number."""
    packed = values.astype(np.int32).tobytes()
    numbers = Numbering[bytes]()
    ends = zip((4 * start).tolist(), (4 * end).tolist(), strict=True)
    run_of = np.fromiter((numbers[packed[a:b]] for a, b in ends), dtype=np.int64, count=len(start))
    return run_of, [np.frombuffer(run, dtype=np.int32).tolist() for run in numbers]


def _resolved(
    productions: list[list[int]],
    names: Sequence[str],
    rules: HeadRules,
    direction: Direction,
    h: int | None,
    grammar_names: Numbering[str],
) -> tuple[Int64s, Int64s, Int64s]:
    """Head child of each production, where its intermediate labels begin, and those end to end."""
    # A node with two children has its head by the rules whatever the direction.
    number = grammar_names.__getitem__
    heads, begin, labels = array("q"), array("q"), array("q")
    for parent, *children in productions:
        below = tuple([names[child] for child in children])
        n = len(below)
        if direction == "head" or n == 2:
            head = rules.head_child(names[parent], below)
        else:
            head = n - 1 if direction == "right" else 0
        heads.append(head)
        begin.append(len(labels))
        if n > 2:
            above = escape_label(escape_chain(names[parent]))
            to_left, to_right = intermediates(above, below, head, h)
            labels.extend(map(number, to_left))
            labels.extend(map(number, to_right))
    return np.array(heads), np.array(begin), np.array(labels)


def _binarised(
    nodes: _Collapsed, rules: HeadRules, direction: Direction, h: int | None
) -> FlatTrees:
    """Put the intermediate nodes in; find the head word of every node."""
    sizes = nodes.sizes
    n = len(sizes)
    depth = depths(sizes)
    narrow = depth.astype(np.uint16) if depth.max() < 1 << 16 else depth  # sorted by radix
    order = np.argsort(narrow, kind="stable")  # siblings side by side, families as their parents
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    parent = order[sizes[order] > 1]
    eldest = rank[parent + 1]  # place in ``order`` of the first child
    n_children = np.diff(np.append(eldest, n))

    # each parent's label, then its children's
    n_roots = n - int(n_children.sum())
    begin = eldest - n_roots + np.arange(len(parent))
    runs = np.empty(n - n_roots + len(parent), dtype=np.int64)
    of_child = np.ones(len(runs), dtype=bool)
    of_child[begin] = False
    runs[begin] = nodes.bottom[parent]
    runs[of_child] = nodes.top[order[n_roots:]]
    production, distinct = _distinct(runs, begin, begin + n_children + 1)
    head_of, labels_at, labels = _resolved(
        distinct, nodes.names, rules, direction, h, nodes.grammar_names
    )

    head_child = head_of[production]
    head = np.arange(n)  # a tag is its own head
    head[parent] = order[eldest + head_child]
    while True:  # each turn doubles the steps down
        further = head[head]
        if np.array_equal(further, head):
            break
        head = further
    tag = sizes == 1
    head_word = (np.cumsum(tag) - 1)[head]

    # One entry per new node: ``turn`` counts those of one parent, outside in.  First come those
    # that span children [turn + 1, n), then those that span [head, n - 1), [head, n - 2), ...
    n_new = np.maximum(n_children - 2, 0)
    family = np.repeat(np.arange(len(parent)), n_new)
    turn = np.arange(len(family)) - np.repeat(np.cumsum(n_new) - n_new, n_new)
    head_index, first, width = head_child[family], eldest[family], n_children[family]
    n_to_left = np.minimum(head_index, width - 2)
    to_left = turn < n_to_left
    of_head = turn - n_to_left
    child = order[first + np.where(to_left, turn + 1, head_index)]  # the new node stands before it
    last = order[first + np.where(to_left, width - 1, width - 2 - of_head)]

    n_before = np.bincount(child, minlength=n)
    now_at = np.arange(n) + np.cumsum(n_before)
    end = now_at[np.arange(n) + sizes - 1] + 1
    new_at = (now_at - n_before)[child] + np.where(to_left, 0, of_head + (head_index > 0))
    n_all = n + len(family)
    new_sizes, label, heads = (np.empty(n_all, dtype=np.int64) for _ in range(3))
    new_sizes[now_at] = end - now_at
    new_sizes[new_at] = end[last] - new_at
    label[now_at] = nodes.label
    label[new_at] = labels[labels_at[production[family]] + turn]
    heads[now_at] = head_word
    heads[new_at] = head_word[parent[family]]
    return FlatTrees(new_sizes, label, list(nodes.grammar_names), heads, nodes.word, nodes.names)
