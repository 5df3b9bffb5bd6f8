"""Folds: parts of the data that are held out in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

__all__ = ["held_out"]


def held_out(
    n_items: int, folds: int
) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """(numbers of the others, numbers of the fold) for each fold.

    A fold is a stretch: neighbours of one text stay together.

    >>> [(others.tolist(), fold.tolist()) for others, fold in held_out(5, 2)]
    [([3, 4], [0, 1, 2]), ([0, 1, 2], [3, 4])]
    """
    if not 2 <= folds <= n_items:
        raise SettingsError(f"folds is {folds}, expected 2 to {n_items}, the number of items")
    numbers = np.arange(n_items)
    for fold in np.array_split(numbers, folds):
        yield np.concatenate([numbers[: fold[0]], numbers[fold[-1] + 1 :]]), fold
