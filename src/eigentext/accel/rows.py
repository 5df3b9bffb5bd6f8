"""CSR matrix times a dense block on a graphics card, as a CUDA kernel that CuPy compiles.

1. Rows are cut into pieces of at most 1,024 nonzeros: a frequent word's row is not left to one
   warp while the others wait.
2. A warp makes one piece of one row.  Its lanes lie along the columns of the dense block, whose
   rows are in one piece of memory: each nonzero gathers whole lines.  With 64 columns two
   nonzeros are under way side by side, and the loop is unrolled, so that many loads are.
3. Rows of several pieces are added up by a second kernel, piece by piece.

Nothing is added by atomics: the order of the sums is fixed, and the bytes are the same every time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from eigentext.base.types import AnyArray, Int32s, Int64s

_PIECE = 1024  # nonzeros of a warp at most

_SOURCE = r"""
extern "C" __global__ void pieces_times_block(
    const long long* __restrict__ begins, const long long* __restrict__ ends,
    const int* __restrict__ targets, const int n_pieces,
    const int* __restrict__ indices, const REAL* __restrict__ values,
    const REAL* __restrict__ x, const int width, const int n_rows,
    REAL* __restrict__ y, REAL* __restrict__ parts)
{
    const int piece = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    if (piece >= n_pieces) return;
    const int lane = threadIdx.x & 31;
    const int group = lane / LANES;                 // which of the nonzeros that go side by side
    const int column = (blockIdx.y * LANES + lane % LANES) * WIDE;
    const bool active = column < width;
    const REAL* mine = x + (active ? column : 0);
    REAL sum[WIDE];
    #pragma unroll
    for (int c = 0; c < WIDE; ++c) sum[c] = 0;
    const long long end = ends[piece];
    for (long long p = begins[piece]; p < end; p += 32) {
        const int here = (int) (end - p < 32 ? end - p : 32);
        int id = 0;
        REAL value = 0;                             // past the end: nothing times the first row
        if (lane < here) { id = indices[p + lane]; value = values[p + lane]; }
        if (here == 32) {
            #pragma unroll UNROLLED
            for (int k = 0; k < 32; k += 32 / LANES) {
                const long long j = __shfl_sync(0xffffffffu, id, k + group);
                const REAL a = __shfl_sync(0xffffffffu, value, k + group);
                const VECTOR v = *reinterpret_cast<const VECTOR*>(mine + j * width);
                const REAL* each = reinterpret_cast<const REAL*>(&v);
                #pragma unroll
                for (int c = 0; c < WIDE; ++c) sum[c] += a * each[c];
            }
        } else {
            #pragma unroll 4
            for (int k = 0; k < here; k += 32 / LANES) {
                const long long j = __shfl_sync(0xffffffffu, id, k + group);
                const REAL a = __shfl_sync(0xffffffffu, value, k + group);
                const VECTOR v = *reinterpret_cast<const VECTOR*>(mine + j * width);
                const REAL* each = reinterpret_cast<const REAL*>(&v);
                #pragma unroll
                for (int c = 0; c < WIDE; ++c) sum[c] += a * each[c];
            }
        }
    }
    #pragma unroll
    for (int far = LANES; far < 32; far <<= 1) {
        #pragma unroll
        for (int c = 0; c < WIDE; ++c) sum[c] += __shfl_xor_sync(0xffffffffu, sum[c], far);
    }
    if (group == 0 && active) {
        const long long target = targets[piece];
        REAL* out = target < n_rows ? y + target * width : parts + (target - n_rows) * width;
        #pragma unroll
        for (int c = 0; c < WIDE; ++c) out[column + c] = sum[c];
    }
}

extern "C" __global__ void add_parts(
    const int* __restrict__ rows, const int* __restrict__ firsts, const int n_long,
    const REAL* __restrict__ parts, const int width, REAL* __restrict__ y)
{
    const int which = blockIdx.x;
    for (int column = threadIdx.x; column < width; column += blockDim.x) {
        REAL sum = 0;
        #pragma unroll 8
        for (long long p = firsts[which]; p < firsts[which + 1]; ++p)
            sum += parts[p * width + column];
        y[(long long) rows[which] * width + column] = sum;
    }
}
"""


@lru_cache(maxsize=8)
def _kernels(char: str, lanes: int) -> tuple[Any, Any]:
    """The two kernels for float32 or float64, with so many lanes along the columns."""
    import cupy

    real, vector, wide = ("float", "float4", 4) if char == "f" else ("double", "double2", 2)
    options = (
        f"-DREAL={real}",
        f"-DVECTOR={vector}",
        f"-DWIDE={wide}",
        f"-DLANES={lanes}",
        f"-DUNROLLED={8 * lanes // 16}",
    )
    module = cupy.RawModule(code=_SOURCE, options=options)
    return module.get_function("pieces_times_block"), module.get_function("add_parts")


class CardRows:
    """A CSR matrix on the card, with its rows cut into pieces."""

    def __init__(
        self, indptr: AnyArray, indices: AnyArray, values: AnyArray, shape: tuple[int, int]
    ) -> None:
        import cupy

        self.indices = indices.astype(cupy.int32, copy=False)
        self.values, self.shape = values, shape
        self.indptr = indptr
        starts = cupy.asnumpy(indptr).astype(np.int64)
        begins, ends, targets, rows, firsts = _pieces(starts)
        self.n_parts = int(firsts[-1])
        self.n_long = int(rows.shape[0])
        self.n_pieces = int(begins.shape[0])
        self.begins, self.ends = cupy.asarray(begins), cupy.asarray(ends)
        self.targets = cupy.asarray(targets)
        self.long_rows, self.firsts = cupy.asarray(rows), cupy.asarray(firsts)

    def times(self, x: AnyArray) -> AnyArray:
        """The product with a dense block in row order."""
        import cupy

        wide = 4 if self.values.dtype.char == "f" else 2
        width = -(-x.shape[1] // wide) * wide
        if width != x.shape[1]:  # rows begin where a whole vector can be read
            padded = cupy.zeros((x.shape[0], width), dtype=x.dtype)
            padded[:, : x.shape[1]] = x
            return cupy.ascontiguousarray(self.times(padded)[:, : x.shape[1]])
        x = cupy.ascontiguousarray(x)
        lanes = 32 if width >= 32 * wide else 16
        multiply, add = _kernels(self.values.dtype.char, lanes)
        y = cupy.empty((self.shape[0], width), dtype=x.dtype)
        parts = cupy.empty((max(self.n_parts, 1), width), dtype=x.dtype)
        warps = 4  # of a block
        grid = (-(-self.n_pieces // warps), -(-width // (lanes * wide)))
        n_pieces, n_rows = np.int32(self.n_pieces), np.int32(self.shape[0])
        if self.n_pieces:
            pieces = self.begins, self.ends, self.targets, n_pieces, self.indices, self.values
            multiply(grid, (32 * warps,), (*pieces, x, np.int32(width), n_rows, y, parts))
        if self.n_long:
            add(
                (self.n_long,),
                (min(-(-width // 32) * 32, 256),),
                (self.long_rows, self.firsts, np.int32(self.n_long), parts, np.int32(width), y),
            )
        return y


def _pieces(starts: Int64s) -> tuple[Int64s, Int64s, Int32s, Int32s, Int32s]:
    """Where pieces begin and end, and where they go; the rows of several, and their first parts.

    A row of one piece is its own target; the others' pieces go to part ``target - rows``.

    >>> begins, ends, targets, rows, firsts = _pieces(np.array([0, 2, 2, 2000]))
    >>> begins.tolist(), ends.tolist(), targets.tolist(), rows.tolist(), firsts.tolist()
    ([0, 2, 2, 1026], [2, 2, 1026, 2000], [0, 1, 3, 4], [2], [0, 2])
    """
    n_rows = starts.shape[0] - 1
    lengths = np.diff(starts)
    counts = np.maximum(-(-lengths // _PIECE), 1)  # an empty row is a piece too: it writes zeros
    row = np.repeat(np.arange(n_rows, dtype=np.int32), counts)
    number = np.arange(row.shape[0]) - np.repeat(np.cumsum(counts) - counts, counts)
    begins = starts[row] + number * _PIECE
    ends = np.minimum(begins + _PIECE, starts[row + 1])
    split = counts[row] > 1
    targets = row.copy()
    targets[split] = n_rows + np.arange(int(split.sum()), dtype=np.int32)
    rows = np.flatnonzero(counts > 1).astype(np.int32)
    firsts = np.concatenate([[0], np.cumsum(counts[rows])]).astype(np.int32)
    return begins, ends, targets, rows, firsts
