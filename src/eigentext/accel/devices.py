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
from eigentext.linalg.backend import Backend, all_in_order
from eigentext.linalg.ties import TIE

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray

    from eigentext.base.types import AnyArray, Float64s, Numbers, Sparse
    from eigentext.linalg.backend import Products

_GRAM_ROWS = 65_536  # rows whose squares are added in their own precision


class _Card(Backend):
    """What CuPy and torch have in common: operators, and functions of one name in ``xp``."""

    @property
    def xp(self) -> Any:
        """The library."""
        raise NotImplementedError

    def empty_columns(
        self, n_rows: int, n_columns: int, dtype: DTypeLike, folder: Path | None = None
    ) -> AnyArray:
        return self.zeros((n_columns, n_rows), dtype).T  # on the card whatever the folder

    def inner(self, X: AnyArray, Y: AnyArray) -> AnyArray:
        return X.T @ Y

    def times(self, X: AnyArray, h: AnyArray) -> AnyArray:
        return X @ h

    def turned(self, X: AnyArray, h: AnyArray) -> AnyArray:
        return X @ h

    def subtract(self, y: AnyArray, X: AnyArray, h: AnyArray) -> AnyArray:
        y -= X @ h
        return y

    def put(self, target: AnyArray, x: AnyArray) -> None:
        target[:] = x

    def columns(self, x: AnyArray, chosen: NDArray[np.intp]) -> AnyArray:
        if all_in_order(chosen, x.shape[1]):
            return x
        return self.row_order(x[:, self.asarray(chosen)])

    def concatenate(self, parts: list[AnyArray]) -> AnyArray:
        return self.xp.concatenate(parts)

    def where(self, condition: AnyArray, x: AnyArray, y: AnyArray) -> AnyArray:
        return self.xp.where(condition, x, y)

    def scale_columns(self, x: AnyArray, scales: Numbers) -> AnyArray:
        x *= self.asarray(scales, _numpy_dtype(x))
        return x

    def gram(self, W: AnyArray) -> Float64s:
        total = self.zeros((W.shape[1], W.shape[1]), np.float64)
        for first in range(0, W.shape[0], _GRAM_ROWS):
            rows = W[first : first + _GRAM_ROWS]
            total += rows.T @ rows
        return self.to_host(total)

    def sum_of_squares(self, x: AnyArray) -> float:
        wide = self.asarray(x, np.float64)
        return float((wide * wide).sum())

    def residual_norms(self, X: AnyArray, Y: AnyArray, scales: Numbers) -> Float64s:
        row = self.asarray(scales, _numpy_dtype(X))
        squares = self.zeros((X.shape[1],), np.float64)
        for first in range(0, X.shape[0], _GRAM_ROWS):
            rest = X[first : first + _GRAM_ROWS] - Y[first : first + _GRAM_ROWS] * row
            squares += (rest * rest).sum(0)
        return np.asarray(np.sqrt(self.to_host(squares)))

    def leading_entries(self, x: AnyArray) -> Numbers:
        size = abs(x)
        least = self.xp.amax(size, 0) * (1 - 10 * TIE[_numpy_dtype(x).char])
        # 0 and 1, of which the first largest is the first that is large enough
        rows = self.xp.argmax((size >= least) + 0, 0)
        return self.to_host(x[rows, self.asarray(np.arange(x.shape[1]))])


class CupyBackend(_Card):
    """Arrays of CuPy."""

    name = "cuda"

    @property
    def xp(self) -> Any:
        import cupy

        return cupy

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike) -> AnyArray:
        return self.xp.zeros(shape, dtype=dtype)

    def asarray(self, x: AnyArray, dtype: DTypeLike | None = None) -> AnyArray:
        return self.xp.asarray(x, dtype=dtype)

    def to_host(self, x: AnyArray) -> Numbers:
        return np.asarray(self.xp.asnumpy(x))

    def row_order(self, x: AnyArray) -> AnyArray:
        return x.copy(order="C")

    def leading_eigh(self, T: AnyArray, rank: int) -> tuple[Float64s, AnyArray]:
        values, vectors = self.xp.linalg.eigh(self.xp.ascontiguousarray(T))
        leading = self.to_host(values)[::-1][:rank].astype(np.float64)
        return leading, self.xp.ascontiguousarray(vectors[:, ::-1][:, :rank])

    def sparse(self, matrix: Sparse) -> Products:
        from eigentext.accel.rows import CardRows

        xp = self.xp
        indptr, indices = xp.asarray(matrix.indptr), xp.asarray(matrix.indices)
        values = xp.asarray(matrix.data)
        m, n = int(matrix.shape[0]), int(matrix.shape[1])
        by_row = CardRows(indptr, indices, values, (m, n))
        # the transpose: entries in the order of their columns, and of their rows within one
        rows = xp.searchsorted(indptr, xp.arange(values.shape[0]), side="right") - 1
        order = xp.argsort(indices.astype(xp.int64) * m + rows)
        starts = xp.zeros(n + 1, dtype=xp.int64)
        starts[1:] = xp.cumsum(xp.bincount(indices, minlength=n))
        by_column = CardRows(starts, rows[order], values[order], (n, m))
        return by_row.times, by_column.times


class TorchBackend(_Card):
    """Tensors of torch, on a card or on the processor."""

    def __init__(self, device: str = "cuda") -> None:
        self.name = device

    @property
    def xp(self) -> Any:
        import torch

        return torch

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike) -> AnyArray:
        return self.xp.zeros(shape, dtype=_torch_dtype(dtype), device=self.name)

    def asarray(self, x: AnyArray, dtype: DTypeLike | None = None) -> AnyArray:
        kind = None if dtype is None else _torch_dtype(dtype)
        if not isinstance(x, self.xp.Tensor):
            x = self.xp.as_tensor(np.ascontiguousarray(x))
        return x.to(device=self.name, dtype=kind)

    def to_host(self, x: AnyArray) -> Numbers:
        return np.asarray(x.detach().cpu().numpy())

    def row_order(self, x: AnyArray) -> AnyArray:
        return x.clone(memory_format=self.xp.contiguous_format)

    def leading_eigh(self, T: AnyArray, rank: int) -> tuple[Float64s, AnyArray]:
        # In single precision torch takes a Jacobi method on cards that stops at 1e-4.
        values, vectors = self.xp.linalg.eigh(T.double())
        leading = self.to_host(values)[::-1][:rank].astype(np.float64)
        return leading, self.xp.flip(vectors, (1,))[:, :rank].to(T.dtype).contiguous()

    def sparse(self, matrix: Sparse) -> Products:
        import warnings

        products = []
        for side in (matrix, matrix.T.tocsr()):
            with warnings.catch_warnings():  # "sparse CSR support is in beta state"
                warnings.simplefilter("ignore", UserWarning)
                tensor = self.xp.sparse_csr_tensor(
                    self.xp.as_tensor(side.indptr.astype(np.int64)),
                    self.xp.as_tensor(side.indices.astype(np.int64)),
                    self.xp.as_tensor(side.data),
                    size=side.shape,
                    device=self.name,
                )
            products.append(tensor.matmul)
        return products[0], products[1]


def _torch_dtype(dtype: DTypeLike) -> Any:
    import torch

    return getattr(torch, np.dtype(dtype).name)


def _numpy_dtype(x: AnyArray) -> np.dtype[Any]:
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
