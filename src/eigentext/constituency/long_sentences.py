"""Sentences too long for one chart, whose time grows with the cube of their length.

1. :func:`pieces` cuts behind full stops and the like; what is still too long behind the last
   comma, colon or dash that leaves a piece of the permitted length, or, without one, anywhere.
2. :func:`put_together` puts the trees of the pieces, without their wrappers, under one node, whose
   label is the one that most trees have on top.  So it does with pieces of a sentence for which
   the grammar has no tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.constituency.answer import Parse
from eigentext.constituency.transform import unwrap, with_wrapper
from eigentext.language.trees.constituent import Tree

if TYPE_CHECKING:
    from collections.abc import Sequence

_STOPS = frozenset((".", "!", "?", "…", "...", "؟", "۔", "。", "！", "？", "।"))
_PAUSES = frozenset((",", ";", ":", "--", "-", "–", "—", "،", "؛", "、", "，", "；", "："))


def pieces(tokens: Sequence[str], longest: int) -> list[tuple[int, int]]:
    """(start, end) of the pieces, none of them longer than ``longest``.

    >>> pieces("a b . c , d e f g".split(), 4)
    [(0, 3), (3, 5), (5, 9)]
    """
    spans = []
    start, pause = 0, 0  # where the piece began, and behind its last pause
    for position, token in enumerate(tokens, start=1):
        if token in _PAUSES:
            pause = position
        if token in _STOPS or position == len(tokens):
            spans.append((start, position))
            start = pause = position
        elif position - start == longest:
            end = pause if pause > start else position
            spans.append((start, end))
            start = end
    return spans


def put_together(
    parses: Sequence[Parse], starts: Sequence[int], above: Sequence[str], wrapper: str | None
) -> Parse:
    """One answer from those of the pieces, with their flags; ``above`` is the chain over them."""
    trees = [unwrap(parse.tree)[0] for parse in parses]
    labels = [*above, *(label for tree in trees for label in tree.labels)]
    sizes = [
        *range(len(labels), len(labels) - len(above), -1),
        *(size for tree in trees for size in tree.sizes.tolist()),
    ]
    marginals = {
        (begin + start, begin + end, label): p
        for parse, begin in zip(parses, starts, strict=True)
        for (start, end, label), p in parse.marginals.items()
    }
    return Parse(
        with_wrapper(Tree.unchecked(labels, sizes), wrapper),
        sum(parse.log_score for parse in parses),
        sum(parse.log_prob for parse in parses),
        marginals=marginals,
        flags=frozenset().union(*(parse.flags for parse in parses)),
    )
