"""The array work of an SVD behind one door: tall blocks of vectors, small matrices between them.

Block Lanczos and Rayleigh-Ritz ask little of arrays: ``X' Y`` and ``X h`` of tall blocks (a row
per word, a column per vector), a few scalings, and the eigenvectors of a small matrix.
:class:`Backend` does that with numpy on threads: rows are cut into fixed blocks, and sums over
blocks are made in their order, so that the bytes do not depend on the number of cores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.cores import each, row_blocks
from eigentext.base.device import DEVICES, device_in_use
from eigentext.base.registry import part
from eigentext.errors import SettingsError
from eigentext.linalg.column_file import ColumnFile
from eigentext.linalg.ties import leading_entries

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray

_BLOCK_ROWS = 2048  # rows of a block at least: enough for BLAS to be quick
_MOST_BLOCKS = 64  # each holds a small matrix until all are added
_GRAM_ROWS = 8192  # rows whose squares are added in the blocks' own precision
_GRAM_BLOCKS = 16


def tall_blocks(n_rows: int, *, least: int | None = None, most: int = _MOST_BLOCKS) -> list[slice]:
    """Blocks of at least ``least`` rows, ``most`` in all: they hang on the number of rows alone.

    >>> tall_blocks(5000)
    [slice(0, 2048, None), slice(2048, 4096, None), slice(4096, 5000, None)]
    """
    return row_blocks(n_rows, max(least or _BLOCK_ROWS, -(-n_rows // most)))


class Backend:
    """Arrays of numpy, on as many threads as :func:`~eigentext.base.cores.using_cores` says.

    >>> backend = Backend()
    >>> backend.inner(np.ones((3, 1)), np.ones((3, 2))).tolist()
    [[3.0, 3.0]]
    """

    name = "cpu"

    def empty_columns(
        self, n_rows: int, n_columns: int, dtype: DTypeLike, folder: Path | None = None
    ) -> Any:
        """A tall array in column order: its leading columns are one piece of memory.

        With a folder it is a file there.
        """
        if folder is not None:
            return ColumnFile.empty(folder, n_rows, n_columns, dtype)
        return np.empty((n_columns, n_rows), dtype=dtype).T

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        """Zeros."""
        return np.zeros(shape, dtype=dtype)

    def asarray(self, x: Any, dtype: DTypeLike | None = None) -> Any:
        """The array, in this backend's memory."""
        return np.asarray(x, dtype=dtype)

    def to_host(self, x: Any) -> NDArray[Any]:
        """The array as numpy's."""
        return np.asarray(x)

    def inner(self, X: Any, Y: Any) -> Any:
        """``X' Y`` of two tall blocks: the blocks' products, added in order."""
        parts = each(lambda rows: X[rows].T @ Y[rows], tall_blocks(X.shape[0]))
        return _sum_in_order(parts, (X.shape[1], Y.shape[1]), X.dtype)

    def times(self, X: Any, h: Any) -> Any:
        """``X h``: a tall block times a small matrix."""
        product = np.empty((X.shape[0], h.shape[1]), dtype=X.dtype)

        def fill(rows: slice) -> None:
            np.matmul(X[rows], h, out=product[rows])

        each(fill, tall_blocks(X.shape[0]))
        return product

    def turned(self, X: Any, h: Any) -> Any:
        """``X h``, in the place of ``X``; h has no more columns than rows."""

        def turn(rows: slice) -> None:
            X[rows, : h.shape[1]] = X[rows] @ h

        each(turn, tall_blocks(X.shape[0]))
        return X if h.shape[1] == X.shape[1] else X[:, : h.shape[1]].copy()

    def subtract(self, y: Any, X: Any, h: Any) -> Any:
        """``y - X h``, in the place of ``y``."""

        def take_off(rows: slice) -> None:
            y[rows] -= X[rows] @ h

        each(take_off, tall_blocks(X.shape[0]))
        return y

    def put(self, target: Any, x: Any) -> None:
        """Copy a tall block into its place in another array."""

        def copy(rows: slice) -> None:
            target[rows] = x[rows]

        each(copy, tall_blocks(x.shape[0]))

    def row_order(self, x: Any) -> Any:
        """A copy with each row in one piece, as products with sparse matrices want it."""
        copied = np.empty(x.shape, dtype=x.dtype)
        self.put(copied, x)
        return copied

    def scale_columns(self, x: Any, scales: NDArray[Any]) -> Any:
        """``x diag(scales)``, in the place of ``x``."""
        scales = scales.astype(x.dtype)

        def scale(rows: slice) -> None:
            x[rows] *= scales

        each(scale, tall_blocks(x.shape[0]))
        return x

    def columns(self, x: Any, chosen: NDArray[np.intp]) -> Any:
        """Some columns of a tall block; the block itself when all are wanted in their order."""
        return x if _all_in_order(chosen, x.shape[1]) else x[:, chosen]

    def concatenate(self, parts: list[Any]) -> Any:
        """One above the other."""
        return np.concatenate(parts)

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        """``x`` where the condition holds, ``y`` elsewhere."""
        return np.where(condition, x, y)

    def sparse(self, matrix: Any) -> Any:
        """Products with a CSR matrix, from the left and from the right."""
        transpose = matrix.T.tocsr()
        return matrix.__matmul__, transpose.__matmul__

    def gram(self, W: Any) -> NDArray[np.float64]:
        """``W' W``, summed in float64 over fixed row blocks."""

        def of_block(outer: slice) -> NDArray[np.float64]:
            total = np.zeros((W.shape[1], W.shape[1]))
            for first in range(outer.start, outer.stop, _GRAM_ROWS):
                rows = W[first : min(first + _GRAM_ROWS, outer.stop)]
                total += rows.T @ rows
            return total

        parts = each(of_block, tall_blocks(W.shape[0], least=_GRAM_ROWS, most=_GRAM_BLOCKS))
        return np.asarray(_sum_in_order(parts, (W.shape[1], W.shape[1]), np.float64))

    def leading_eigh(self, T: Any, rank: int) -> tuple[NDArray[np.float64], Any]:
        """The ``rank`` largest eigenvalues of a small symmetric matrix, and their vectors."""
        from scipy.linalg import eigh

        # the divide-and-conquer driver: all vectors at once are quicker than some
        values, vectors = eigh(T, driver="evd", check_finite=False)
        leading = np.ascontiguousarray(vectors[:, ::-1][:, :rank])
        return values[::-1][:rank].astype(np.float64), leading

    def sum_of_squares(self, x: Any) -> float:
        """Of all entries."""
        return float(np.square(x, dtype=np.float64).sum())

    def residual_norms(self, X: Any, Y: Any, scales: NDArray[Any]) -> NDArray[np.float64]:
        """(k,) lengths of the columns of ``X - Y diag(scales)``."""
        scales = scales.astype(X.dtype)

        def squares(rows: slice) -> NDArray[np.float64]:
            rest = X[rows] - Y[rows] * scales
            return np.asarray(np.einsum("ij,ij->j", rest, rest), dtype=np.float64)

        parts = each(squares, tall_blocks(X.shape[0]))
        return np.asarray(np.sqrt(_sum_in_order(parts, (X.shape[1],), np.float64)))

    def leading_entries(self, x: Any) -> NDArray[Any]:
        """(k,) of each column the first entry of those that are largest, to rounding."""
        return leading_entries(x)


def _sum_in_order(parts: list[Any], shape: tuple[int, ...], dtype: DTypeLike) -> Any:
    if not parts:
        return np.zeros(shape, dtype=dtype)
    total = parts[0]
    for block in parts[1:]:
        total += block
    return total


def _all_in_order(chosen: NDArray[np.intp], n: int) -> bool:
    return chosen.shape[0] == n and bool((chosen == np.arange(n)).all())


CPU = Backend()


def backend_for(device: str | Backend | None = None) -> Backend:
    """The backend of ``cpu``, ``cuda`` or ``auto``; None is what ``using_device`` says.

    >>> backend_for("cpu").name
    'cpu'
    """
    if isinstance(device, Backend):
        return device
    device = device_in_use() if device is None else device
    if device not in DEVICES:
        raise SettingsError(f"device is {device!r}, expected cpu, cuda or auto")
    if device == "cpu":
        return CPU
    card: Backend | str = part("card")()
    if isinstance(card, Backend):
        return card
    if device == "cuda":
        raise SettingsError(f"device is cuda, but no graphics card was found: {card}")
    return CPU


def backend_of(matrix: Any) -> Backend | None:
    """The backend of a matrix that lives on a card already."""
    on_card = type(matrix).__module__.startswith(("cupyx.", "cupy."))
    return part("card backend of CuPy")() if on_card else None
