"""What safetensors has no type for, as plain arrays: lists of strings, and sparse matrices.

1. :func:`pack_strings` / :func:`unpack_strings`: a uint8 blob of UTF-8 and int64 offsets;
2. :func:`pack_csr` / :func:`unpack_csr`: data, indices, indptr and shape.

Unpacking checks that the parts fit together, since a file can be wrong and still have a good sum.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.heap import is_mapped
from eigentext.errors import DataError, ModelFileError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scipy.sparse import csr_array


def pack_strings(path: str, name: str, items: Sequence[str]) -> dict[str, np.ndarray]:
    """Strings as ``strings/NAME/bytes`` and ``strings/NAME/offsets``.

    >>> pack_strings("m.eig", "words", ["a", "bc"])["strings/words/offsets"].tolist()
    [0, 1, 3]
    """
    if isinstance(items, (str, bytes)):
        raise TypeError(f"strings[{name!r}] must be a list of strings, not one string")
    try:
        encoded = [item.encode() for item in items]
    except UnicodeEncodeError as error:
        why = f"a string of {name!r} holds a lone surrogate, which UTF-8 cannot: {error.object!r}"
        raise DataError(path, None, why) from error
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
    blob = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return {f"strings/{name}/bytes": blob, f"strings/{name}/offsets": offsets}


def unpack_strings(
    path: str, name: str, blob: np.ndarray, offsets: np.ndarray | None
) -> list[str]:
    """The list that :func:`pack_strings` took apart.

    >>> unpack_strings("m.eig", "words", np.frombuffer(b"abc", np.uint8), np.array([0, 1, 3]))
    ['a', 'bc']
    """
    good = (
        offsets is not None
        and offsets.dtype.name == "int64"
        and blob.dtype.name == "uint8"
        and offsets.ndim == blob.ndim == 1
        and len(offsets) > 0
        and offsets[0] == 0
        and offsets[-1] == len(blob)
        and bool(np.all(offsets[1:] >= offsets[:-1]))
    )
    if not good or offsets is None:
        raise ModelFileError(path, why=f"damaged strings {name!r}: offsets do not fit the bytes")
    whole = blob.tobytes()
    ends = offsets.tolist()
    try:
        return [whole[a:b].decode() for a, b in pairwise(ends)]
    except UnicodeDecodeError as error:
        raise ModelFileError(path, why=f"damaged strings {name!r}: {error}") from error


def pack_csr(name: str, matrix: Any) -> dict[str, np.ndarray]:
    """A sparse matrix as arrays for :func:`save`, in canonical form (sorted, no duplicates).

    >>> from scipy.sparse import csr_array
    >>> sorted(pack_csr("pairs", csr_array([[0, 2], [1, 0]])))
    ['pairs/data', 'pairs/indices', 'pairs/indptr', 'pairs/shape']
    """
    from scipy.sparse import csr_array

    # one that is in a file is not made anew, which would read it
    csr = matrix if isinstance(matrix, csr_array) else csr_array(matrix)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return {
        f"{name}/data": csr.data,
        f"{name}/indices": csr.indices,
        f"{name}/indptr": csr.indptr,
        f"{name}/shape": np.array(csr.shape, dtype=np.int64),
    }


def unpack_csr(
    name: str, arrays: Mapping[str, np.ndarray], *, path: str = "model file"
) -> csr_array:
    """The sparse matrix that :func:`pack_csr` took apart.

    >>> from scipy.sparse import csr_array
    >>> unpack_csr("pairs", pack_csr("pairs", csr_array([[0, 2], [1, 0]]))).toarray().tolist()
    [[0, 2], [1, 0]]
    """
    from scipy.sparse import csr_array

    try:
        data, indices, indptr, shape = (
            arrays[f"{name}/{part}"] for part in ("data", "indices", "indptr", "shape")
        )
    except KeyError as error:
        names = ", ".join(sorted(arrays)) or "no arrays"
        needed = f"the array {error.args[0]!r}"
        raise ModelFileError(path, found=names, supported=needed) from error
    if is_mapped(data):
        # looked through before, some at a time (``fields.Sparse``); the constructor would read all
        matrix = csr_array(tuple(shape.tolist()), dtype=data.dtype)
        matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
        matrix.has_canonical_format = True
        return matrix
    try:
        matrix = csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise ModelFileError(path, why=f"damaged sparse matrix {name!r}: {error}") from error
    return matrix
