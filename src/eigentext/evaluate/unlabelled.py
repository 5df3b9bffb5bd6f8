"""Unlabelled F1 of brackets, by the conventions of parsing without a treebank.

1. Words that ``leave_out`` names, such as punctuation, are taken out of both trees.
2. Of what is left, the spans of brackets count, each once: labels and unary chains do not.  Spans
   of one word and of the whole sentence are in every tree, and are left out.
3. F1 = 2 matched / (gold + predicted), over all sentences together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from eigentext.language.trees.constituent import Tree

Span = tuple[int, int]


def spans_of(tree: Tree, leave_out: Callable[[str], bool] | None = None) -> set[Span]:
    """The spans of a tree that count.

    >>> from eigentext.language.trees.constituent import Tree
    >>> spans_of(Tree.from_brackets("(S (NP (D a) (N dog)) (VP (V runs) (. .)))"), ".".__eq__)
    {(0, 2)}
    """
    kept = [leave_out is None or not leave_out(word) for word in tree.words]
    before = np.concatenate(([0], np.cumsum(kept))).tolist()
    spans = {(before[start], before[end]) for _, start, end in tree.constituents()}
    return {(start, end) for start, end in spans if 1 < end - start < before[-1]}


def spans_f1(gold: Iterable[set[Span]], predicted: Iterable[set[Span]]) -> float:
    """F1 from 0 to 1 of sets of spans, sentence by sentence; 1 where there are none at all.

    >>> spans_f1([{(0, 2), (2, 4)}], [{(0, 2), (1, 3)}])
    0.5
    """
    matched = total = 0
    for true, found in zip(gold, predicted, strict=True):
        matched += len(true & found)
        total += len(true) + len(found)
    return 2 * matched / total if total else 1.0


def unlabelled_f1(
    gold: Iterable[Tree],
    predicted: Iterable[Tree],
    *,
    leave_out: Callable[[str], bool] | None = None,
) -> float:
    """Unlabelled F1 of trees, from 0 to 1."""
    return spans_f1(
        (spans_of(tree, leave_out) for tree in gold),
        (spans_of(tree, leave_out) for tree in predicted),
    )
