"""The score that a graph parser gives to any tree of a sentence, its own or another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.dependency.graph.training import Grandparents
from eigentext.dependency.long_sentences import check_length

if TYPE_CHECKING:
    from eigentext.dependency.graph.parser import DependencyParser
    from eigentext.formats.conllu import Sentence
    from eigentext.trees.dependency import DependencyTree

__all__ = ["tree_score"]


def tree_score(parser: DependencyParser, sentence: Sentence, tree: DependencyTree) -> float:
    """Sum over the parts of the tree, with arcs that the parser's own search would not look at.

    Parts are arcs, for order 2 also neighbouring siblings outward from each head, and with
    grandparents each arc beside the arc above it.
    """
    check_length(len(sentence), "scores are")
    batch = parser.encoder_.batch([parser.tagged_conllu(sentence)])
    arc, sibling = parser.arcs_.scores(batch, 0, pruned=False)
    total = sum(float(arc[head, word]) for head, word, _ in tree.arcs)
    if sibling is not None:
        for head, children in enumerate(tree.children):
            left = [word for word in reversed(children) if word < head]
            right = [word for word in children if word > head]
            for side in (left, right):
                # the first child on a side has the head itself as the one before it
                for before, word in zip([head, *side], side, strict=False):
                    total += float(sibling[head, before, word])
    if parser.arcs_.settings.grandparents:
        total += Grandparents(parser.arcs_, batch, 0).total(tree.heads)
    return total
