"""Rows of different lengths in one array: values, and where each row begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy.typing as npt

__all__ = ["Ragged", "pointers"]


def pointers(lengths: Iterable[int] | npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Where each row begins, and after the last one where it ends.

    >>> pointers([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    if not isinstance(lengths, np.ndarray):
        lengths = np.fromiter(lengths, np.int64)
    ptr = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=ptr[1:])
    return ptr


class Ragged(NamedTuple):
    """Row ``i`` is ``values[ptr[i]:ptr[i + 1]]``; compiled loops take it as it is.

    >>> [row.tolist() for row in Ragged.of([[1, 2], [], [3]]).rows()]
    [[1, 2], [], [3]]
    """

    values: npt.NDArray[Any]
    ptr: npt.NDArray[np.int64]

    @classmethod
    def of(cls, rows: Sequence[Sequence[Any]], dtype: Any = np.int64) -> Ragged:
        """From a list of rows."""
        flat = [value for row in rows for value in row]
        return cls(np.array(flat, dtype), pointers(map(len, rows)))

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.ptr) - 1

    def row(self, number: int) -> npt.NDArray[Any]:
        """One of them."""
        return self.values[self.ptr[number] : self.ptr[number + 1]]

    def rows(self) -> Iterator[npt.NDArray[Any]]:
        """Row by row."""
        return (self.row(number) for number in range(self.n_rows))
