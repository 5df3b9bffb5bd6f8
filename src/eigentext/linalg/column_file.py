"""A tall block of vectors in a file, for a basis that memory has no room for.

The rows are cut as :func:`~eigentext.linalg.backend.tall_blocks` cuts them, and each block of rows
lies in the file by itself, column after column.  So the leading columns of a block are one piece,
and what is read is laid out as the same rows of an array in column order are: products with it
have the same bits.
"""

from __future__ import annotations

import os
import tempfile
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.errors import StorageError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray


class ColumnFile:
    """What :class:`~eigentext.linalg.backend.Backend` asks of a tall array: ``x[rows]``, of one
    block, to read and to set, and ``x[:, columns]``, which shares the file.

    What a thread has read is good until it reads again: it is put into the same memory.

    >>> from eigentext.base.files.scratch import scratch_folder
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
        dtype: Any,
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
                file.seek(self._place(key))
                rest = content.view(np.uint8).data
                while rest and (n_bytes := file.readinto(rest)):
                    rest = rest[n_bytes:]
        except OSError as error:
            raise _fault(self._path.parent, "read", error) from error
        return content.reshape(self.shape[1], height).T

    def __setitem__(self, rows: slice, x: NDArray[Any]) -> None:
        content = np.ascontiguousarray(x.T, dtype=self.dtype)
        try:
            with open(self._path, "r+b", buffering=0) as file:
                file.seek(self._place(rows))
                rest = content.data.cast("B")
                while rest:  # a disk that fills up takes a part
                    rest = rest[file.write(rest) :]
        except OSError as error:
            raise _fault(self._path.parent, "write", error) from error

    def _place(self, rows: slice) -> int:
        """Where the columns of a block of rows begin."""
        before = rows.start * self._whole[1] + (rows.stop - rows.start) * self._columns.start
        return int(before * self.dtype.itemsize)


def _fault(folder: Path, what: str, error: OSError) -> StorageError:
    why = f"cannot {what} intermediate results here: {error.strerror or error}"
    return StorageError(str(folder), None, why)
