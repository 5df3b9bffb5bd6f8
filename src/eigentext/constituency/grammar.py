"""From the user's trees to skeletal rules, and back to the user's labels.

1. Traces, function tags and the wrapper on top (TOP, ROOT, or the empty label) are taken off.
2. Unary chains become one composite label; wide nodes are binarised head-outward (Markov order h).
3. :func:`restore` undoes 2 and puts the wrapper back, for any tree over such labels.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from eigentext.constituency.treebank import Treebank, build_treebank
from eigentext.errors import SettingsError
from eigentext.trees.binarise import binarise, binarised_heads, unbinarise
from eigentext.trees.clean import WRAPPERS, clean
from eigentext.trees.constituent import Tree
from eigentext.trees.heads import HeadRules
from eigentext.trees.unary import collapse, expand

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["GrammarSettings", "prepare_tree", "read_treebank", "restore"]


@dataclass(frozen=True)
class GrammarSettings:
    """How trees become rules.

    ``direction``  head, right or left: where a wide node starts to grow
    ``h``          how many siblings an intermediate label remembers
    ``heads``      english or neutral head rules
    ``language``   english or generic signatures of unknown words
    ``rare``       a word seen at most so often shares the features of its signature
    """

    direction: Literal["head", "right", "left"] = "head"
    h: int = 1
    heads: Literal["english", "neutral"] = "english"
    language: Literal["english", "generic"] = "english"
    rare: int = 1

    def head_rules(self) -> HeadRules:
        """The head rules that these settings name."""
        return HeadRules.english() if self.heads == "english" else HeadRules.neutral()


def unwrap(tree: Tree) -> tuple[Tree, str | None]:
    """The tree without the wrapper on top, and the wrapper's label (None if there was none)."""
    if tree.labels[0] in WRAPPERS and int(tree.sizes[1]) == tree.n_nodes - 1 and tree.n_nodes > 2:
        return tree.root.children[0].subtree(), tree.labels[0]
    return tree, None


def prepare_tree(tree: Tree, settings: GrammarSettings, rules: HeadRules) -> Tree | None:
    """One tree, cleaned, collapsed and binarised; None if nothing but traces is in it."""
    cleaned = clean(tree)
    if cleaned is None:
        return None
    bare, _ = unwrap(cleaned)
    return binarise(collapse(bare), direction=settings.direction, h=settings.h, heads=rules)


def read_treebank(trees: Iterable[Tree], settings: GrammarSettings) -> tuple[Treebank, str | None]:
    """All nodes of the prepared trees, and the wrapper label that most trees had."""
    rules = settings.head_rules()
    prepared, heads, wrappers = [], [], Counter[str | None]()
    for tree in trees:
        if not isinstance(tree, Tree):
            raise TypeError(f"expected eigentext Trees, found {type(tree).__name__}")
        binary = prepare_tree(tree, settings, rules)
        if binary is None:
            continue
        wrappers[tree.labels[0] if tree.labels[0] in WRAPPERS else None] += 1
        prepared.append(binary)
        heads.append(binarised_heads(binary, rules)[~binary.is_leaf].tolist())
    if not prepared:
        raise SettingsError("a grammar needs at least one tree with words")
    bank = build_treebank(prepared, heads, rare=settings.rare, language=settings.language)
    return bank, max(wrappers, key=lambda label: (wrappers[label], label or ""))


def restore(tree: Tree, wrapper: str | None) -> Tree:
    """The user's tree from a tree over collapsed and binarised labels."""
    bare = expand(unbinarise(tree))
    if wrapper is None or bare.labels[0] == wrapper:
        return bare
    sizes = np.concatenate(([bare.n_nodes + 1], bare.sizes))
    return Tree.unchecked((wrapper, *bare.labels), sizes)
