"""The score that a graph parser gives to any tree of a sentence, its own or another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigentext.dependency.graph.answer import Parse
from eigentext.dependency.long_sentences import check_length

if TYPE_CHECKING:
    from eigentext.dependency.graph.parser import DependencyParser
    from eigentext.language.formats.conllu import ConlluBlock
    from eigentext.language.trees.dependency import DependencyTree


def tree_score(parser: DependencyParser, sentence: ConlluBlock, tree: DependencyTree) -> float:
    """Sum over the parts of the tree, with arcs that the parser's own search would not look at.

    Parts are arcs, for order 2 also neighbouring siblings outward from each head, and with
    grandparents each arc beside the arc above it; where arcs may cross, less what crossing costs.
    """
    check_length(len(sentence), "scores are")
    batch = parser.encoder_.batch([parser.tagged_conllu(sentence)])
    return parser.arcs_.tree_score(batch, 0, tree.heads)


def judged(parser: DependencyParser, sentence: ConlluBlock, tree: DependencyTree) -> Parse:
    """The tree as one of the parser's own: with its score, and how sure the relations are."""
    score, known = tree_score(parser, sentence, tree), parser.relations_
    if known is None:
        return Parse(tree, score)
    number_of = {name: number for number, name in enumerate(known.relations)}
    names = tree.relations or ("_",) * len(tree.forms)
    given = np.array([[number_of.get(name, -1) for name in names]], np.int32)
    keys = parser.encoder_.batch([parser.tagged_conllu(sentence)]).keys
    (margins,) = known.label_list(keys, tree.heads[None], given).columns().tolist()
    return Parse(tree, score, margins=(margins[0], margins[1]))
