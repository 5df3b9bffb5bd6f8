"""Compiled loops of linalg: arrays and scalars in, preallocated arrays out, no validation."""

from __future__ import annotations

from eigentext.base.compiling import njit


@njit(nogil=True, fastmath={"contract"})
def add_csr_times_block(starts, indices, values, x, first, y):  # type: ignore[no-untyped-def]
    """``y[i] += sum over j of A[first + i, j] * x[j]`` for a tiled CSR matrix and a narrow block.

    ``starts[t, i]`` is where row i begins among the entries of tile t, which has the matrix's
    t-th stretch of columns.  The product waits for memory, not for arithmetic: rows of ``x`` are
    gathered in the order of the column ids, and those of a tile stay in the cache.  Four rows are
    taken per turn, so that their loads are under way together and the sum is read and written
    once instead of four times.  ``indices`` are unsigned: numba tests signed ones for negative
    values.
    """
    width = x.shape[1]
    for t in range(starts.shape[0]):
        for i in range(y.shape[0]):
            p = starts[t, first + i]
            end = starts[t, first + i + 1]
            while p + 4 <= end:
                a0, a1, a2, a3 = values[p], values[p + 1], values[p + 2], values[p + 3]
                j0, j1, j2, j3 = indices[p], indices[p + 1], indices[p + 2], indices[p + 3]
                for c in range(width):
                    y[i, c] += (a0 * x[j0, c] + a1 * x[j1, c]) + (a2 * x[j2, c] + a3 * x[j3, c])
                p += 4
            while p < end:
                a0 = values[p]
                j0 = indices[p]
                for c in range(width):
                    y[i, c] += a0 * x[j0, c]
                p += 1
