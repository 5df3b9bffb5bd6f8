"""Training sentences and their tags in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eigentext.base.tokens import checked_tagged
from eigentext.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Tagged(NamedTuple):
    """Sentences without empty ones, the numbers of their tags, and the tags in order."""

    names: tuple[str, ...]
    sentences: list[list[str]]
    tags: list[list[int]]


def numbered(X: Iterable[Sequence[str]], y: Iterable[Sequence[str]]) -> Tagged:
    """Training sentences and their tags in numbers; empty ones are left out.

    >>> numbered([["a", "b"], [], ["b"]], [["X", "Y"], [], ["X"]])
    Tagged(names=('X', 'Y'), sentences=[['a', 'b'], ['b']], tags=[[0, 1], [0]])
    """
    sentences, names = checked_tagged(X, y)
    spoken = [words for words in sentences if words]
    if not spoken:
        raise DataError("<training sentences>", None, "no tokens, expected some to learn from")
    order = sorted({tag for row in names for tag in row})
    number_of = {tag: number for number, tag in enumerate(order)}
    return Tagged(tuple(order), spoken, [[number_of[tag] for tag in row] for row in names if row])
