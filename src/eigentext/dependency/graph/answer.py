"""What the parser learns from and what comes out: sentences with trees, trees with scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from eigentext.dependency.long_sentences import check_length
from eigentext.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.types import Float64s
    from eigentext.dependency.graph.parser import DependencyParser
    from eigentext.language.formats.conllu import ConlluBlock
    from eigentext.language.trees.dependency import DependencyTree


@dataclass(frozen=True)
class Parse:
    """One tree of a sentence, its score, and whether the search for it was approximate.

    ``margins``: how sure the parser is of the relations, for a reranker
    """

    tree: DependencyTree
    score: float
    approximate: bool = False
    margins: tuple[float, float] = field(default=(0.0, 0.0), repr=False, compare=False)

    def _repr_svg_(self) -> str:
        from eigentext.drawing.arcs import arcs_svg

        tree = self.tree
        return arcs_svg(tree.forms, tree.heads.tolist(), tree.relations, tags=tree.tags)


def with_heads(sentence: ConlluBlock) -> ConlluBlock:
    """The sentence itself, if it has a tree with one root."""
    heads = sentence.heads
    if heads is None:
        why = "the sentence that begins here has no heads; expected a tree"
        raise DataError(sentence.source, sentence.first_line, why)
    if heads.count(0) > 1:
        first, second = [word for word, head in enumerate(heads, start=1) if head == 0][:2]
        why = (
            f"the sentence that begins here has {heads.count(0)} roots, words {first} and "
            f"{second} among them; expected a tree with one root"
        )
        raise DataError(sentence.source, sentence.first_line, why)
    return sentence


def in_conllu(
    sentence: ConlluBlock,
    parse: Parse,
    *,
    rank: int | None = None,
    marginals: Float64s | None = None,  # of the parser: ``Prob=`` of each arc in the last column
) -> ConlluBlock:
    """The sentence with this tree.

    ``rank``       its place in a list of trees, which comments then tell with its score
    """
    from eigentext.language.formats.conllu import ConlluBlock

    heads = parse.tree.heads.tolist()
    filled = sentence.with_columns(head=heads, deprel=parse.tree.relations)
    if marginals is not None:
        arcs = enumerate(heads, start=1)
        filled = with_probabilities(filled, [float(marginals[h, d]) for d, h in arcs])
    if rank is None:
        return filled
    comments = f"# kbest = {rank}\n# score = {parse.score:.6f}\n"
    if parse.approximate:
        comments += "# approximate = yes\n"
    return ConlluBlock(comments + filled.verbatim)


def with_probabilities(sentence: ConlluBlock, probabilities: Sequence[float]) -> ConlluBlock:
    """``Prob=`` after what else the last column holds, in the place of one that is there."""
    cells = []
    for cell, p in zip(sentence.column("misc"), probabilities, strict=True):
        kept = [item for item in cell.split("|") if item != "_" and not item.startswith("Prob=")]
        cells.append("|".join([*kept, f"Prob={min(1.0, max(0.0, p)):.4f}"]))
    return sentence.with_columns(misc=cells)


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
    score, labels = tree_score(parser, sentence, tree), parser.relations_
    if labels is None:
        return Parse(tree, score)
    number_of = {name: number for number, name in enumerate(labels.relations)}
    names = tree.relations or ("_",) * len(tree.forms)
    numbers = np.array([[number_of.get(name, -1) for name in names]], np.int32)
    keys = parser.encoder_.batch([parser.tagged_conllu(sentence)]).keys
    (margins,) = labels.label_list(keys, tree.heads[None], numbers).columns().tolist()
    return Parse(tree, score, margins=(margins[0], margins[1]))
