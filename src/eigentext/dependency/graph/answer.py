"""What the parser learns from and what comes out: sentences with trees, trees with scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eigentext.errors import DataError

if TYPE_CHECKING:
    from eigentext.formats.conllu import Sentence
    from eigentext.trees.dependency import DependencyTree

__all__ = ["Parse", "with_heads"]


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
        """The arcs as a notebook shows them."""
        from eigentext.drawing.arcs import arcs_svg

        tree = self.tree
        return arcs_svg(tree.forms, tree.heads.tolist(), tree.relations, tags=tree.tags)


def with_heads(sentence: Sentence) -> Sentence:
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
