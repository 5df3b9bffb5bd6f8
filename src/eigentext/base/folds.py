"""Folds: parts of the data that are held out in turn.

:func:`held_out` cuts a text into stretches, in which neighbours stay together; :func:`dealt` deals
things with names, such as documents, which are in the same fold in whatever order they come.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from eigentext.base.types import Int64s
from eigentext.errors import SettingsError


def held_out(n_items: int, folds: int) -> Iterator[tuple[Int64s, Int64s]]:
    """(numbers of the others, numbers of the fold) for each fold.

    A fold is a stretch: neighbours of one text stay together.

    >>> [(others.tolist(), fold.tolist()) for others, fold in held_out(5, 2)]
    [([3, 4], [0, 1, 2]), ([0, 1, 2], [3, 4])]
    """
    _check(n_items, folds)
    numbers = np.arange(n_items)
    for fold in np.array_split(numbers, folds):
        yield np.concatenate([numbers[: fold[0]], numbers[fold[-1] + 1 :]]), fold


def dealt(names: Sequence[str], folds: int) -> list[int]:
    """The fold of each thing by its name: dealt out in the order of the names' CRC-32.

    >>> dealt(["a", "b", "c"], 2) == dealt(["c", "b", "a"], 2)[::-1]
    True
    """
    _check(len(names), folds)
    order = sorted(range(len(names)), key=lambda at: (zlib.crc32(names[at].encode()), names[at]))
    fold = [0] * len(names)
    for turn, at in enumerate(order):
        fold[at] = turn % folds
    return fold


def _check(n_items: int, folds: int) -> None:
    if not 2 <= folds <= n_items:
        raise SettingsError(f"folds is {folds}, expected 2 to {n_items}, the number of items")
