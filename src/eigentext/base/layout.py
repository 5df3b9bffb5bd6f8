"""The layout of safetensors, for arrays that should not be copied on their way.

1. :func:`lay_out` puts arrays into safetensors' order (by type, then by name) and writes the
   header, byte for byte as the library does;
2. :func:`pieces` gives the bytes of an array, some at a time;
3. :func:`map_arrays` leaves the large arrays of a file where they are, and :func:`extremes` looks
   through one without keeping it.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.heap import is_mapped, read_mapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    found = [(part.min(), part.max()) for part in parts]
    return np.min([low for low, _ in found]), np.max([high for _, high in found])
