"""Positive pointwise mutual information of a sparse matrix in one go."""

from math import log

from eigentext.base.compiling import njit


@njit(nogil=True)
def ppmi_rows(indptr, indices, data, row_logs, column_logs, offset, starts, columns, values):
    """``max(0, log data + offset - row_logs - column_logs)`` without its zeros.

    Arguments: a CSR matrix; logarithms of the totals; outputs ``starts`` (rows + 1), and
    ``columns`` and ``values`` with room for all entries.  Returns how many are used.
    """
    used = 0
    starts[0] = 0
    for i in range(len(indptr) - 1):
        base = offset - row_logs[i]  # log N - log u
        for p in range(indptr[i], indptr[i + 1]):
            count = data[p]
            if count > 0:
                value = log(count) + base - column_logs[indices[p]]  # log(C N / (u v shift))
                if value > 0:
                    columns[used] = indices[p]
                    values[used] = value
                    used += 1
        starts[i + 1] = used
    return used
