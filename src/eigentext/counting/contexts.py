"""Which neighbours of a word are its context.

A setting (``lr2``, ``-2,-1,+1``, ``bag5``, ``unigrams``) becomes a :class:`Contexts` record.  A
word at position i has the context word i + p for each relative position p, within its line.
Only pairs to the left are ever counted: the matrix of position -p is the transpose of that of +p.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from eigentext.errors import SettingsError

FARTHEST = 1000


@dataclass(frozen=True)
class Contexts:
    """The relative positions of the context words, or the half-width of a bag.

    >>> Contexts((-1, 1)).names
    ('-1', '+1')
    >>> Contexts((), bag=5).names
    ('bag5',)
    """

    positions: tuple[int, ...] = ()  # distinct, not 0, in the order of the columns; none of a bag
    bag: int = 0  # or w for one bag of all words at distance 1 to w on both sides

    @property
    def names(self) -> tuple[str, ...]:
        """One name per context matrix."""
        return (f"bag{self.bag}",) if self.bag else tuple(f"{p:+d}" for p in self.positions)

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The (nearest, farthest) distances of the matrices that have to be counted.

        >>> Contexts((-2, -1, 1)).spans, Contexts((), bag=5).spans
        (((1, 1), (2, 2)), ((1, 5),))
        """
        if self.bag:
            return ((1, self.bag),)
        return tuple((d, d) for d in sorted({abs(p) for p in self.positions}))

    @property
    def farthest(self) -> int:
        """The largest distance, 0 without contexts."""
        return max((far for _, far in self.spans), default=0)

    def __str__(self) -> str:
        return ",".join(self.names) or "unigrams"


def parse_contexts(setting: str | Contexts | Iterable[int]) -> Contexts:
    """Read a context setting: ``r1``, ``l2``, ``lr2``, ``bag5``, ``-2,-1,+1``, ``unigrams``.

    ``lN`` is the N words before, ``rN`` the N words after, ``lrN`` both; ``bigrams`` is ``r1``.

    >>> parse_contexts("lr2").positions
    (-2, -1, 1, 2)
    >>> parse_contexts([-1, 3]).names
    ('-1', '+3')
    """
    if isinstance(setting, Contexts):
        bag, positions = setting.bag, setting.positions
        if bag and positions:
            raise SettingsError("contexts are either positions or a bag, not both")
    elif isinstance(setting, str):
        bag, positions = _parse_text(setting)
    else:
        bag, positions = 0, tuple(setting)
        if not positions:
            raise SettingsError("contexts: an empty list of positions, expected such as [-1, 1]")
        if not all(isinstance(p, int) for p in positions):
            raise SettingsError(f"contexts: positions must be whole numbers, found {positions}")
    if 0 in positions:
        raise SettingsError("contexts: position 0 is the word itself")
    if len(set(positions)) < len(positions):
        raise SettingsError(f"contexts: a position occurs twice in {positions}")
    if max(bag, *map(abs, positions), 0) > FARTHEST:
        raise SettingsError(f"contexts: the farthest position allowed is {FARTHEST}")
    return Contexts(positions, bag)


def _parse_text(setting: str) -> tuple[int, tuple[int, ...]]:
    text = setting.strip().lower()
    if text in ("unigrams", "none"):
        return 0, ()
    if text == "bigrams":
        text = "r1"
    if match := re.fullmatch(r"bag([1-9]\d{0,3})", text, flags=re.ASCII):
        return int(match[1]), ()
    if match := re.fullmatch(r"(l?)(r?)([1-9]\d{0,3})", text, flags=re.ASCII):
        left, right, width = match[1], match[2], int(match[3])
        if left or right:
            before = range(-width, 0) if left else ()
            after = range(1, width + 1) if right else ()
            return 0, (*before, *after)
    if re.fullmatch(r"\s*[+-]?\d{1,4}\s*(,\s*[+-]?\d{1,4}\s*)*", text, flags=re.ASCII):
        return 0, tuple(int(p) for p in text.split(","))
    raise SettingsError(
        f"contexts {setting!r}: expected such as r1, lr2, bag5, unigrams, or positions -2,-1,+1"
    )
