"""From the user's trees to skeletal rules, and back to the user's labels.

1. Traces, function tags and the wrapper on top (TOP, ROOT, or the empty label) are taken off.
2. Unary chains become one composite label; wide nodes are binarised head-outward (Markov order h).
3. :func:`restore` undoes 2 and puts the wrapper back, for any tree over such labels.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from eigentext.constituency.treebank import Language, Treebank, build_treebank
from eigentext.errors import SettingsError
from eigentext.trees.binarise import binarise, binarised_heads, is_intermediate, unbinarise
from eigentext.trees.clean import WRAPPERS, clean
from eigentext.trees.constituent import Tree
from eigentext.trees.heads import HeadRules
from eigentext.trees.unary import collapse, expand

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "GrammarSettings",
    "prepare_tree",
    "read_treebank",
    "restore",
    "user_labels",
    "with_wrapper",
]


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
    language: Language = "english"
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
            hint = "; see eigentext.integrations.nltk_trees" if _is_nltk(tree) else ""
            raise TypeError(f"expected eigentext Trees, found {type(tree).__name__}{hint}")
        if not np.all(tree.sizes[np.flatnonzero(tree.is_leaf) - 1] == 2):
            raise SettingsError("every word of a training tree must stand alone under its tag")
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


def _is_nltk(tree: object) -> bool:
    return type(tree).__module__.partition(".")[0] == "nltk"


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
