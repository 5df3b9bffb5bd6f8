"""How arrays, strings and sparse matrices lie in a file of safetensors.

Lists of strings, for which it has no type, are a uint8 blob of UTF-8 and int64 offsets.  What is
unpacked is checked: its parts fit together, since a file can be wrong and still have a good sum.
Arrays are in safetensors' order (by type, then by name), the header is byte for byte as the
library has it, and nothing large is copied on its way.
"""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.heap import is_mapped, read_mapped
from eigentext.errors import DataError, ModelFileError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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


def pack_csr(name: str, matrix: object) -> dict[str, np.ndarray]:
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
        raise ModelFileError(path, content=names, supported=needed) from error
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


_TYPES = {  # in the order that they have in a file
    "U64": "uint64",
    "I64": "int64",
    "F64": "float64",
    "F32": "float32",
    "U32": "uint32",
    "I32": "int32",
    "F16": "float16",
    "U16": "uint16",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}
_NAMES = {numpy: name for name, numpy in _TYPES.items()}
_RANKS = {numpy: rank for rank, numpy in enumerate(_TYPES.values())}
_PIECE = 1 << 22  # bytes
_SMALL = 1 << 20  # bytes of an array that need not be mapped


def lay_out(
    arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]
) -> tuple[bytes, list[np.ndarray]]:
    """The bytes before the arrays, and the arrays in their order."""
    table: dict[str, Any] = {"__metadata__": dict(metadata)}
    ordered, begin = [], 0
    for name in sorted(arrays, key=lambda name: (_RANKS[arrays[name].dtype.name], name)):
        array = arrays[name]
        end = begin + array.nbytes
        table[name] = {
            "dtype": _NAMES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
        ordered.append(array)
        begin = end
    text = json.dumps(table, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text, ordered


def pieces(array: np.ndarray) -> Iterator[memoryview]:
    """The bytes of an array in C order; of a map, pages are given back behind them."""
    flat = array.reshape(-1).view(np.uint8) if array.size else np.zeros(0, np.uint8)
    for begin in range(0, len(flat), _PIECE):
        yield read_mapped(flat, begin, min(begin + _PIECE, len(flat))).data


def map_arrays(path: str, table: Mapping[str, Any], begin: int) -> dict[str, np.ndarray]:
    """The arrays of a file whose data begin there; large ones are maps (what is written to them
    stays in memory).

    ``ValueError`` where the table does not fit the file.
    """
    arrays: dict[str, np.ndarray] = {}
    for name, entry in sorted(table.items()):
        dtype = np.dtype(_TYPES[entry["dtype"]])
        shape = tuple(int(n) for n in entry["shape"])
        first, last = (int(offset) for offset in entry["data_offsets"])
        size = math.prod(shape)
        if first < 0 or last - first != size * dtype.itemsize:
            raise ValueError(f"array {name!r} does not have the size that the header tells")
        if last - first >= _SMALL:
            arrays[name] = np.memmap(path, dtype, mode="c", offset=begin + first, shape=shape)
        else:
            arrays[name] = np.fromfile(path, dtype, size, offset=begin + first).reshape(shape)
    return arrays


def extremes(array: np.ndarray) -> tuple[Any, Any]:
    """The least and the largest number of an array that is not empty.

    >>> extremes(np.array([3, 1, 2]))
    (np.int64(1), np.int64(3))
    """
    if not is_mapped(array):
        return array.min(), array.max()
    flat = array.reshape(-1)
    step = _PIECE // flat.itemsize
    parts = (read_mapped(flat, begin, begin + step) for begin in range(0, len(flat), step))
    ranges = [(part.min(), part.max()) for part in parts]
    return np.min([low for low, _ in ranges]), np.max([high for _, high in ranges])
