"""From constituents to dependencies: head rules say which word each constituent answers to.

1. Every node gets its head word (``HeadRules.lexical_heads``).
2. A child whose head word is not that of its parent depends on the parent's: the child's head word
   becomes a dependent of the parent's head word.
3. The relation is written ``child<parent`` in constituent labels: ``NP-SBJ<S`` is the highest
   constituent that the dependent heads, under the one that joins it to its head.  The root's
   relation is ``root``.

A constituent covers a gapless stretch of words, so the result is always projective, and it has one
root.  Strip traces first (``clean``): they count as words here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.language.trees.dependency import DependencyTree
from eigentext.language.trees.heads import HeadRules

if TYPE_CHECKING:
    from eigentext.language.trees.constituent import Tree


def to_dependencies(tree: Tree, heads: HeadRules | None = None) -> DependencyTree:
    """Convert one tree; ``heads`` are English rules by default.

    >>> from eigentext.language.trees.constituent import Tree
    >>> tree = Tree.from_brackets("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> to_dependencies(tree).arcs
    [(2, 1, 'DT<NP'), (3, 2, 'NP<S'), (0, 3, 'root')]
    """
    rules = heads if heads is not None else HeadRules.english()
    labels, sizes = tree.labels, tree.sizes.tolist()
    head_words = rules.lexical_heads(tree).tolist()
    governors = [0] * len(tree.words)
    relations = ["root"] * len(tree.words)
    for node, parent in enumerate(tree.parents.tolist()):
        if parent >= 0 and head_words[node] != head_words[parent]:
            word = head_words[node]
            governors[word] = head_words[parent] + 1
            child = labels[node] if sizes[node] > 1 else "_"  # a word beside constituents
            relations[word] = f"{child}<{labels[parent]}"
    return DependencyTree(tree.words, governors, relations, tree.tags)
