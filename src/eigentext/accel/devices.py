"""The same array work on a graphics card, by CuPy or torch; :func:`card` picks.

Arrays live on the card from the first product to the last; what is decided (norms, eigenvalues,
which columns vanish) is decided on the processor by the same code, and results come back as
numpy's arrays.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.errors import MissingExtraError
from eigentext.linalg.backend import Backend
from eigentext.linalg.ties import TIE

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray

_GRAM_ROWS = 65_536  # rows whose squares are added in their own precision


class _Card(Backend):
    """What CuPy and torch have in common: operators do the work."""

    def inner(self, X: Any, Y: Any) -> Any:
        """``X' Y``."""
        return X.T @ Y

    def times(self, X: Any, h: Any) -> Any:
        """``X h``."""
        return X @ h

    def turned(self, X: Any, h: Any) -> Any:
        """``X h``."""
        return X @ h

    def subtract(self, y: Any, X: Any, h: Any) -> Any:
        """``y - X h``, in the place of ``y``."""
        y -= X @ h
        return y

    def put(self, target: Any, x: Any) -> None:
        """Copy a tall block into its place in another array."""
        target[:] = x

    def scale_columns(self, x: Any, scales: NDArray[Any]) -> Any:
        """``x diag(scales)``, in the place of ``x``."""
        x *= self.asarray(scales, _numpy_dtype(x))
        return x

    def gram(self, W: Any) -> NDArray[np.float64]:
        """``W' W``, summed in float64 over fixed row blocks."""
        total = self.zeros((W.shape[1], W.shape[1]), np.float64)
        for first in range(0, W.shape[0], _GRAM_ROWS):
            rows = W[first : first + _GRAM_ROWS]
            total += rows.T @ rows
        return self.to_host(total)

    def sum_of_squares(self, x: Any) -> float:
        """Of all entries."""
        wide = self.asarray(x, np.float64)
        return float((wide * wide).sum())

    def residual_norms(self, X: Any, Y: Any, scales: NDArray[Any]) -> NDArray[np.float64]:
        """(k,) lengths of the columns of ``X - Y diag(scales)``."""
        row = self.asarray(scales, _numpy_dtype(X))
        squares = self.zeros((X.shape[1],), np.float64)
        for first in range(0, X.shape[0], _GRAM_ROWS):
            rest = X[first : first + _GRAM_ROWS] - Y[first : first + _GRAM_ROWS] * row
            squares += (rest * rest).sum(0)
        return np.asarray(np.sqrt(self.to_host(squares)))

    def leading_entries(self, x: Any) -> NDArray[Any]:
        """(k,) of each column the first entry of those that are largest, to rounding."""
        size = abs(x)
        least = self._column_maxima(size) * (1 - 10 * TIE[_numpy_dtype(x).char])
        places = self._first_true(size >= least)
        return self.to_host(x[places, self.asarray(np.arange(x.shape[1]))])

    def _column_maxima(self, x: Any) -> Any:
        raise NotImplementedError

    def _first_true(self, x: Any) -> Any:
        raise NotImplementedError


class CupyBackend(_Card):
    """Arrays of CuPy."""

    name = "cuda"

    def empty_columns(
        self, n_rows: int, n_columns: int, dtype: DTypeLike, folder: Path | None = None
    ) -> Any:
        """A tall array in column order, on the card whatever the folder."""
        import cupy

        return cupy.empty((n_columns, n_rows), dtype=dtype).T

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        """Zeros."""
        import cupy

        return cupy.zeros(shape, dtype=dtype)

    def asarray(self, x: Any, dtype: DTypeLike | None = None) -> Any:
        """The array, on the card."""
        import cupy

        return cupy.asarray(x, dtype=dtype)

    def to_host(self, x: Any) -> NDArray[Any]:
        """The array as numpy's."""
        import cupy

        return np.asarray(cupy.asnumpy(x))

    def row_order(self, x: Any) -> Any:
        """A copy with each row in one piece."""
        return x.copy(order="C")

    def columns(self, x: Any, chosen: NDArray[np.intp]) -> Any:
        """Some columns of a tall block; the block itself when all are wanted in their order."""
        if _is_range(chosen, x.shape[1]):
            return x
        return self.row_order(x[:, self.asarray(chosen)])

    def concatenate(self, parts: list[Any]) -> Any:
        """One above the other."""
        import cupy

        return cupy.concatenate(parts)

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        """``x`` where the condition holds, ``y`` elsewhere."""
        import cupy

        return cupy.where(condition, x, y)

    def leading_eigh(self, T: Any, rank: int) -> tuple[NDArray[np.float64], Any]:
        """The ``rank`` largest eigenvalues of a small symmetric matrix, and their vectors."""
        import cupy

        values, vectors = cupy.linalg.eigh(cupy.ascontiguousarray(T))
        leading = self.to_host(values)[::-1][:rank].astype(np.float64)
        return leading, cupy.ascontiguousarray(vectors[:, ::-1][:, :rank])

    def sparse(self, matrix: Any) -> Any:
        """Products with a CSR matrix of scipy or CuPy, from the left and from the right."""
        import cupy

        from eigentext.accel.rows import CardRows

        indptr, indices = cupy.asarray(matrix.indptr), cupy.asarray(matrix.indices)
        values = cupy.asarray(matrix.data)
        m, n = int(matrix.shape[0]), int(matrix.shape[1])
        by_row = CardRows(indptr, indices, values, (m, n))
        # the transpose: entries in the order of their columns, and of their rows within one
        rows = cupy.searchsorted(indptr, cupy.arange(values.shape[0]), side="right") - 1
        order = cupy.argsort(indices.astype(cupy.int64) * m + rows)
        starts = cupy.zeros(n + 1, dtype=cupy.int64)
        starts[1:] = cupy.cumsum(cupy.bincount(indices, minlength=n))
        by_column = CardRows(starts, rows[order], values[order], (n, m))
        return by_row.times, by_column.times

    def _column_maxima(self, x: Any) -> Any:
        return x.max(axis=0)

    def _first_true(self, x: Any) -> Any:
        return x.argmax(axis=0)


class TorchBackend(_Card):
    """Tensors of torch, on a card or on the processor."""

    def __init__(self, device: str = "cuda") -> None:
        self.name = device

    def empty_columns(
        self, n_rows: int, n_columns: int, dtype: DTypeLike, folder: Path | None = None
    ) -> Any:
        """A tall array in column order, on the card whatever the folder."""
        import torch

        return torch.empty((n_columns, n_rows), dtype=_torch_dtype(dtype), device=self.name).T

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        """Zeros."""
        import torch

        return torch.zeros(shape, dtype=_torch_dtype(dtype), device=self.name)

    def asarray(self, x: Any, dtype: DTypeLike | None = None) -> Any:
        """The array as a tensor on this device."""
        import torch

        kind = None if dtype is None else _torch_dtype(dtype)
        if not isinstance(x, torch.Tensor):
            x = torch.as_tensor(np.ascontiguousarray(x))
        return x.to(device=self.name, dtype=kind)

    def to_host(self, x: Any) -> NDArray[Any]:
        """The tensor as numpy's."""
        return np.asarray(x.detach().cpu().numpy())

    def row_order(self, x: Any) -> Any:
        """A copy with each row in one piece."""
        import torch

        return x.clone(memory_format=torch.contiguous_format)

    def columns(self, x: Any, chosen: NDArray[np.intp]) -> Any:
        """Some columns of a tall block; the block itself when all are wanted in their order."""
        if _is_range(chosen, x.shape[1]):
            return x
        return self.row_order(x[:, self.asarray(chosen)])

    def concatenate(self, parts: list[Any]) -> Any:
        """One above the other."""
        import torch

        return torch.cat(parts)

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        """``x`` where the condition holds, ``y`` elsewhere."""
        import torch

        return torch.where(condition, x, y)

    def leading_eigh(self, T: Any, rank: int) -> tuple[NDArray[np.float64], Any]:
        """The ``rank`` largest eigenvalues of a small symmetric matrix, and their vectors."""
        import torch

        # In single precision torch takes a Jacobi method on cards that stops at 1e-4.
        values, vectors = torch.linalg.eigh(T.double())
        leading = self.to_host(values)[::-1][:rank].astype(np.float64)
        return leading, torch.flip(vectors, (1,))[:, :rank].to(T.dtype).contiguous()

    def sparse(self, matrix: Any) -> Any:
        """Products with a CSR matrix of scipy, from the left and from the right."""
        import warnings

        import torch

        products = []
        for one in (matrix, matrix.T.tocsr()):
            with warnings.catch_warnings():  # "sparse CSR support is in beta state"
                warnings.simplefilter("ignore", UserWarning)
                tensor = torch.sparse_csr_tensor(
                    torch.as_tensor(one.indptr.astype(np.int64)),
                    torch.as_tensor(one.indices.astype(np.int64)),
                    torch.as_tensor(one.data),
                    size=one.shape,
                    device=self.name,
                )
            products.append(tensor.matmul)
        return tuple(products)

    def _column_maxima(self, x: Any) -> Any:
        return x.amax(dim=0)

    def _first_true(self, x: Any) -> Any:
        return x.int().argmax(dim=0)


def _is_range(chosen: NDArray[np.intp], n: int) -> bool:
    return chosen.shape[0] == n and bool((chosen == np.arange(n)).all())


def _torch_dtype(dtype: DTypeLike) -> Any:
    import torch

    return getattr(torch, np.dtype(dtype).name)


def _numpy_dtype(x: Any) -> np.dtype[Any]:
    """The numpy dtype of an array of any library."""
    return np.dtype(str(x.dtype).removeprefix("torch."))


@lru_cache(maxsize=1)
def why_no_cupy() -> str | None:
    """Why CuPy cannot calculate on a graphics card here; None where it can."""
    try:
        import cupy
    except ImportError:
        return str(MissingExtraError("GPUs", extra="gpu", modules=["cupy-cuda12x"]))
    try:
        return None if cupy.cuda.runtime.getDeviceCount() > 0 else "CuPy sees none"
    except Exception as error:
        # CuPy raises errors of its own where the driver is missing or too old
        return f"CuPy says: {error}"


@lru_cache(maxsize=1)
def card() -> Backend | str:
    """The backend of the card, or the reason why there is none."""
    reason = why_no_cupy()
    if reason is None:
        return CupyBackend()
    try:
        import torch
    except ImportError:
        return f"{reason}; torch is not installed"
    return TorchBackend("cuda") if torch.cuda.is_available() else f"{reason}; torch sees none"
