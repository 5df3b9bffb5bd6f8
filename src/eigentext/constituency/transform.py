"""From the user's trees to skeletal rules, and back to the user's labels.

1. Traces, function tags of phrases and the wrapper on top (TOP, ROOT, or none) are taken off.
2. Unary chains become one composite label; wide nodes are binarised head-outward (Markov order h).
3. :func:`restore` undoes 2 and puts the wrapper back, for any tree over such labels.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from eigentext.constituency.prepare import prepare_trees
from eigentext.constituency.treebank import Treebank, assemble
from eigentext.language.trees.binarise import (
    binarise,
    collapse,
    expand,
    is_intermediate,
    unbinarise,
)
from eigentext.language.trees.clean import WRAPPERS, clean
from eigentext.language.trees.constituent import Tree
from eigentext.language.trees.heads import HeadRules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eigentext.constituency.settings import LPCFGSettings


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
    """All nodes of the prepared trees, and the wrapper label that most trees had.

    A word seen at most ``rare`` times shares the features of its signature.
    """
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
