"""The array work of an SVD behind one door: tall blocks of vectors, small matrices between them.

Block Lanczos and Rayleigh-Ritz ask little of arrays: ``X' Y`` and ``X h`` of tall blocks (a row
per word, a column per vector), a few scalings, and the eigenvectors of a small matrix.
:class:`Backend` does that with numpy on threads: rows are cut into fixed blocks, and sums over
blocks are made in their order, so that the bytes do not depend on the number of cores.

A basis that memory has no room for is a :class:`ColumnFile`.  Its rows are cut as
:func:`tall_blocks` cuts them, and each block of rows lies in the file by itself, column after
column: the leading columns of a block are one piece, laid out as the same rows of an array in
column order are, so that products have the same bits.
"""

from __future__ import annotations

import os
import tempfile
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.cores import DEVICES, device_in_use, each, row_blocks
from eigentext.base.registry import part
from eigentext.errors import SettingsError, StorageError
from eigentext.linalg.ties import leading_entries

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray

    from eigentext.base.types import AnyArray, Float64s, Numbers, Sparse

    Products = tuple[Callable[[AnyArray], AnyArray], Callable[[AnyArray], AnyArray]]


class ColumnFile:
    """What :class:`~eigentext.linalg.backend.Backend` asks of a tall array: ``x[rows]``, of one
    block, to read and to set, and ``x[:, columns]``, which shares the file.

    What a thread has read is good until it reads again: it is put into the same memory.

    >>> from eigentext.base.files.writing import scratch_folder
    >>> with scratch_folder() as folder:
    ...     x = ColumnFile.empty(folder, 3, 4, np.float32)
    ...     x[:, 1:3][0:3] = np.ones((3, 2))
    ...     x[:, 2:3].shape, x[:, 2:3][0:3].ravel().tolist()
    ((3, 1), [1.0, 1.0, 1.0])
    """

    def __init__(
        self,
        path: Path,
        shape: tuple[int, int],
        columns: slice,
        dtype: DTypeLike,
        buffers: threading.local,
    ) -> None:
        self._path, self._whole, self._columns, self._buffers = path, shape, columns, buffers
        self.dtype = np.dtype(dtype)
        self.shape = (shape[0], columns.stop - columns.start)

    @classmethod
    def empty(cls, folder: Path, n_rows: int, n_columns: int, dtype: DTypeLike) -> ColumnFile:
        """A new file in the folder; it takes disk as it is filled."""
        from pathlib import Path

        kind = np.dtype(dtype)
        try:
            handle, path = tempfile.mkstemp(prefix="columns-", dir=folder)
            os.truncate(handle, n_rows * n_columns * kind.itemsize)
            os.close(handle)
        except OSError as error:
            raise _fault(folder, "write", error) from error
        columns = slice(0, n_columns)
        return cls(Path(path), (n_rows, n_columns), columns, kind, threading.local())

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            begin, end, _ = key[1].indices(self.shape[1])
            first = self._columns.start
            columns = slice(first + begin, first + max(begin, end))
            return ColumnFile(self._path, self._whole, columns, self.dtype, self._buffers)
        height = key.stop - key.start
        size = height * self.shape[1]
        buffer = getattr(self._buffers, "read", None)
        if buffer is None or len(buffer) < size:
            # for all columns at once: new memory costs as much as reading does
            buffer = self._buffers.read = np.empty(height * self._whole[1], self.dtype)
        content = buffer[:size]
        try:
            with open(self._path, "rb", buffering=0) as file:
                file.seek(self._offset(key))
                rest = content.view(np.uint8).data
                while rest and (n_bytes := file.readinto(rest)):
                    rest = rest[n_bytes:]
        except OSError as error:
            raise _fault(self._path.parent, "read", error) from error
        return content.reshape(self.shape[1], height).T

    def __setitem__(self, rows: slice, x: Numbers) -> None:
        content = np.ascontiguousarray(x.T, dtype=self.dtype)
        try:
            with open(self._path, "r+b", buffering=0) as file:
                file.seek(self._offset(rows))
                rest = content.data.cast("B")
                while rest:  # a disk that fills up takes a part
                    rest = rest[file.write(rest) :]
        except OSError as error:
            raise _fault(self._path.parent, "write", error) from error

    def _offset(self, rows: slice) -> int:
        """Where the columns of a block of rows begin."""
        before = rows.start * self._whole[1] + (rows.stop - rows.start) * self._columns.start
        return int(before * self.dtype.itemsize)


def _fault(folder: Path, what: str, error: OSError) -> StorageError:
    why = f"cannot {what} intermediate results here: {error.strerror or error}"
    return StorageError(str(folder), None, why)


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
    ) -> AnyArray:
        """A tall array in column order: its leading columns are one piece of memory."""
        # With a folder it is a file there.
        if folder is not None:
            return ColumnFile.empty(folder, n_rows, n_columns, dtype)
        return np.empty((n_columns, n_rows), dtype=dtype).T

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike) -> AnyArray:
        """Zeros."""
        return np.zeros(shape, dtype=dtype)

    def asarray(self, x: AnyArray, dtype: DTypeLike | None = None) -> AnyArray:
        """The array, in this backend's memory."""
        return np.asarray(x, dtype=dtype)

    def to_host(self, x: AnyArray) -> Numbers:
        """The array as numpy's."""
        return np.asarray(x)

    def inner(self, X: AnyArray, Y: AnyArray) -> AnyArray:
        """``X' Y`` of two tall blocks: the blocks' products, added in order."""
        parts = each(lambda rows: X[rows].T @ Y[rows], tall_blocks(X.shape[0]))  # small matrices
        return _sum_in_order(parts, (X.shape[1], Y.shape[1]), X.dtype)

    def times(self, X: AnyArray, h: AnyArray) -> AnyArray:
        """``X h``: a tall block times a small matrix."""
        product = np.empty((X.shape[0], h.shape[1]), dtype=X.dtype)

        def fill(rows: slice) -> None:
            np.matmul(X[rows], h, out=product[rows])

        each(fill, tall_blocks(X.shape[0]))
        return product

    def turned(self, X: AnyArray, h: AnyArray) -> AnyArray:
        """``X h``, in the place of ``X``; h has no more columns than rows."""

        def turn(rows: slice) -> None:
            X[rows, : h.shape[1]] = X[rows] @ h

        each(turn, tall_blocks(X.shape[0]))
        return X if h.shape[1] == X.shape[1] else X[:, : h.shape[1]].copy()

    def subtract(self, y: AnyArray, X: AnyArray, h: AnyArray) -> AnyArray:
        """``y - X h``, in the place of ``y``."""

        def take_off(rows: slice) -> None:
            y[rows] -= X[rows] @ h

        each(take_off, tall_blocks(X.shape[0]))
        return y

    def put(self, target: AnyArray, x: AnyArray) -> None:
        """Copy a tall block into its place in another array."""

        def copy(rows: slice) -> None:
            target[rows] = x[rows]

        each(copy, tall_blocks(x.shape[0]))

    def row_order(self, x: AnyArray) -> AnyArray:
        """A copy with each row in one piece, as products with sparse matrices want it."""
        copied = np.empty(x.shape, dtype=x.dtype)
        self.put(copied, x)
        return copied

    def scale_columns(self, x: AnyArray, scales: Numbers) -> AnyArray:
        """``x diag(scales)``, in the place of ``x``."""
        scales = scales.astype(x.dtype)

        def scale(rows: slice) -> None:
            x[rows] *= scales

        each(scale, tall_blocks(x.shape[0]))
        return x

    def columns(self, x: AnyArray, chosen: NDArray[np.intp]) -> AnyArray:
        """Some columns of a tall block; the block itself when all are wanted in their order."""
        return x if all_in_order(chosen, x.shape[1]) else x[:, chosen]

    def concatenate(self, parts: list[AnyArray]) -> AnyArray:
        """One above the other."""
        return np.concatenate(parts)

    def where(self, condition: AnyArray, x: AnyArray, y: AnyArray) -> AnyArray:
        """``x`` where the condition holds, ``y`` elsewhere."""
        return np.where(condition, x, y)

    def sparse(self, matrix: Sparse) -> Products:
        """Products with a CSR matrix, from the left and from the right."""
        transpose = matrix.T.tocsr()  # by rows too: products gather, and never scatter
        return matrix.__matmul__, transpose.__matmul__

    def gram(self, W: AnyArray) -> Float64s:
        """``W' W``, summed in float64 over fixed row blocks."""

        def of_block(outer: slice) -> Float64s:
            total = np.zeros((W.shape[1], W.shape[1]))
            for first in range(outer.start, outer.stop, _GRAM_ROWS):
                rows = W[first : min(first + _GRAM_ROWS, outer.stop)]
                total += rows.T @ rows
            return total

        parts = each(of_block, tall_blocks(W.shape[0], least=_GRAM_ROWS, most=_GRAM_BLOCKS))
        return np.asarray(_sum_in_order(parts, (W.shape[1], W.shape[1]), np.float64))

    def leading_eigh(self, T: AnyArray, rank: int) -> tuple[Float64s, AnyArray]:
        """The ``rank`` largest eigenvalues of a small symmetric matrix, and their vectors."""
        from scipy.linalg import eigh

        # the divide-and-conquer driver: all vectors at once are quicker than some
        values, vectors = eigh(T, driver="evd", check_finite=False)
        leading = np.ascontiguousarray(vectors[:, ::-1][:, :rank])
        return values[::-1][:rank].astype(np.float64), leading

    def sum_of_squares(self, x: AnyArray) -> float:
        """Of all entries."""
        return float(np.square(x, dtype=np.float64).sum())

    def residual_norms(self, X: AnyArray, Y: AnyArray, scales: Numbers) -> Float64s:
        """(k,) lengths of the columns of ``X - Y diag(scales)``."""
        scales = scales.astype(X.dtype)

        def squares(rows: slice) -> Float64s:
            rest = X[rows] - Y[rows] * scales
            return np.asarray(np.einsum("ij,ij->j", rest, rest), dtype=np.float64)

        parts = each(squares, tall_blocks(X.shape[0]))
        return np.asarray(np.sqrt(_sum_in_order(parts, (X.shape[1],), np.float64)))

    def leading_entries(self, x: AnyArray) -> Numbers:
        """(k,) of each column the first entry of those that are largest, to rounding."""
        return leading_entries(x)


def _sum_in_order(parts: list[AnyArray], shape: tuple[int, ...], dtype: DTypeLike) -> AnyArray:
    if not parts:
        return np.zeros(shape, dtype=dtype)
    total = parts[0]
    for block in parts[1:]:
        total += block
    return total


def all_in_order(chosen: NDArray[np.intp], n: int) -> bool:
    """Are these all n columns in their order?"""
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


def backend_of(matrix: Sparse) -> Backend | None:
    """The backend of a matrix that lives on a card already."""
    on_card = type(matrix).__module__.startswith(("cupyx.", "cupy."))
    return part("card backend of CuPy")() if on_card else None
