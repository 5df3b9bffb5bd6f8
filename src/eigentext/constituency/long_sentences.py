"""Sentences too long for one chart, whose time grows with the cube of their length.

1. :func:`pieces` cuts behind full stops and the like; what is still too long behind the last
   comma, colon or dash that leaves a piece of the permitted length, or, without one, anywhere.
2. :func:`put_together` puts the trees of the pieces, without their wrappers, under one node ``X``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.constituency.answer import Candidate, Parse
from eigentext.constituency.transform import unwrap, with_wrapper
from eigentext.trees.constituent import Tree

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["pieces", "put_together"]

_STOPS = frozenset((".", "!", "?", "…", "...", "؟", "۔", "。", "！", "？", "।"))
_PAUSES = frozenset((",", ";", ":", "--", "-", "–", "—", "،", "؛", "、", "，", "；", "："))


def pieces(tokens: Sequence[str], longest: int) -> list[tuple[int, int]]:
    """(start, end) of the pieces, none of them longer than ``longest``.

    >>> pieces("a b . c , d e f g".split(), 4)
    [(0, 3), (3, 5), (5, 9)]
    """
    found = []
    start, pause = 0, 0  # where the piece began, and behind its last pause
    for place, token in enumerate(tokens, start=1):
        if token in _PAUSES:
            pause = place
        if token in _STOPS or place == len(tokens):
            found.append((start, place))
            start = pause = place
        elif place - start == longest:
            end = pause if pause > start else place
            found.append((start, end))
            start = end
    return found


def put_together(
    parses: Sequence[Parse], starts: Sequence[int], wrapper: str | None, *, kbest: int
) -> Parse:
    """One answer from those of the pieces; its flags are theirs and ``split``."""
    trees = [unwrap(one.tree)[0] for one in parses]
    labels = ["X", *(label for tree in trees for label in tree.labels)]
    sizes = [len(labels), *(size for tree in trees for size in tree.sizes.tolist())]
    tree = with_wrapper(Tree.unchecked(labels, sizes), wrapper)
    score = sum(one.log_score for one in parses)
    marginals = {
        (begin + start, begin + end, label): p
        for one, begin in zip(parses, starts, strict=True)
        for (start, end, label), p in one.marginals.items()
    }
    flags = frozenset({"split"}.union(*(one.flags for one in parses)) - {"negative"})
    only = (Candidate(score, tree, float("-inf")),) if kbest > 1 else ()
    return Parse(tree, score, float("-inf"), only, marginals, flags)
