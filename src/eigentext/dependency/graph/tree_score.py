"""The score that a graph parser gives to any tree of a sentence, its own or another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.dependency.long_sentences import check_length

if TYPE_CHECKING:
    from eigentext.dependency.graph.parser import DependencyParser
    from eigentext.formats.conllu import Sentence
    from eigentext.trees.dependency import DependencyTree

__all__ = ["tree_score"]


def tree_score(parser: DependencyParser, sentence: Sentence, tree: DependencyTree) -> float:
    """Sum over the parts of the tree, with arcs that the parser's own search would not look at.

    Parts are arcs, for order 2 also neighbouring siblings outward from each head, and with
    grandparents each arc beside the arc above it; where arcs may cross, less what crossing costs.
    """
    check_length(len(sentence), "scores are")
    batch = parser.encoder_.batch([parser.tagged_conllu(sentence)])
    return parser.arcs_.tree_score(batch, 0, tree.heads)
