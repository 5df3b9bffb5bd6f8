"""The kernels of ``parse.cu`` on a graphics card, by CuPy.

1. :class:`Card` compiles the kernels, and runs each over the sentences of a batch.
2. :class:`Job` is the table of arrays and numbers that all kernels share: the fields of ``struct
   Job`` by their names, 8 bytes each.

Anything with the five methods of :class:`Engine` will do in place of the card: the tests run the
same kernels, compiled for the processor.
"""

from __future__ import annotations

import re
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from eigentext.base.hashing import MIXER

if TYPE_CHECKING:
    import numpy.typing as npt

    from eigentext.base.types import UInt64s

SOURCE = Path(__file__).with_name("parse.cu")
DEFINES = (f"-DMIXER={MIXER}ULL",)
_TYPES = {
    "int": np.int32,
    "float": np.float32,
    "double": np.float64,
    "u64": np.uint64,
    "unsigned char": np.uint8,
    "ll": np.int64,
}


class Engine(Protocol):
    """Where kernels run, and where their arrays are."""

    def put(self, array: npt.NDArray[Any]) -> Any:
        """The array, there."""

    def zeros(self, n: int, dtype: Any) -> Any:
        """An array of so many zeros, there."""

    def offsets(self, counts: Any) -> tuple[Any, int]:
        """(n + 1,) int32 where each of n groups of these sizes begins, and their sum."""

    def get(self, array: Any) -> npt.NDArray[Any]:
        """The array, here."""

    def launch(self, kernel: str, n_blocks: int, job: Job, *, warps: int, shared: int) -> None:
        """Run a kernel for every sentence; ``shared`` is the memory of a block in bytes."""


@cache
def fields() -> dict[str, tuple[Any, bool]]:
    """Fields of ``struct Job`` in their order: type, and whether it is an array.

    >>> fields()["first_word"], fields()["threshold"]
    ((<class 'numpy.int32'>, True), (<class 'numpy.float64'>, False))
    """
    text = re.sub(r"//[^\n]*", "", SOURCE.read_text(encoding="utf-8"))
    body = text.split("struct Job {")[1].split("};")[0]
    found = {}
    for line in filter(None, (part.strip() for part in body.split(";"))):
        kind, names = re.fullmatch(r"(?:const )?(unsigned char|\w+) (.*)", line, re.S).groups()  # type: ignore[union-attr]
        for name in names.split(","):
            found[name.strip(" *\n")] = _TYPES[kind], "*" in name
    return found


class Job:
    """Arrays and numbers by the names of ``struct Job``; a name that it lacks is an error."""

    def __init__(self, **values: Any) -> None:
        self.values: dict[str, Any] = {}
        self.add(**values)

    def add(self, **values: Any) -> None:
        """Fill in fields."""
        for name, value in values.items():
            dtype, is_array = fields()[name]
            if is_array and value.dtype != dtype:
                raise TypeError(f"{name} has type {value.dtype}, expected {np.dtype(dtype)}")
            self.values[name] = value

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def table(self, address: Any) -> UInt64s:
        """(fields,) addresses of arrays, by ``address``, and the bits of numbers."""
        bits = np.zeros(len(fields()), np.uint64)
        for at, (name, (dtype, is_array)) in enumerate(fields().items()):
            if name not in self.values:
                continue
            value = self.values[name]
            bits[at] = address(value) if is_array else np.array(value, dtype).view(np.uint64)
        return bits


class Card:
    """A graphics card, by CuPy."""

    def __init__(self) -> None:
        import cupy

        self.cupy = cupy

    @cached_property
    def _kernels(self) -> Any:
        code = SOURCE.read_text(encoding="utf-8")
        return self.cupy.RawModule(code=code, options=("-std=c++17", *DEFINES))

    def put(self, array: npt.NDArray[Any]) -> Any:
        """The array on the card."""
        return self.cupy.asarray(array)

    def zeros(self, n: int, dtype: Any) -> Any:
        """Zeros on the card."""
        return self.cupy.zeros(n, dtype)

    def offsets(self, counts: Any) -> tuple[Any, int]:
        """Where groups of these sizes begin, and their sum."""
        ends = self.cupy.zeros(len(counts) + 1, np.int32)
        ends[1:] = self.cupy.cumsum(counts)
        return ends, int(ends[-1])

    def get(self, array: Any) -> npt.NDArray[Any]:
        """The array, in the memory of the processor."""
        found: npt.NDArray[Any] = self.cupy.asnumpy(array)
        return found

    def launch(self, kernel: str, n_blocks: int, job: Job, *, warps: int, shared: int) -> None:
        """Run a kernel; it has not ended when this returns."""
        function = self._kernels.get_function(kernel)
        if shared > 48 << 10:
            function.max_dynamic_shared_size_bytes = shared
        table = self.put(job.table(lambda array: array.data.ptr))
        function((n_blocks,), (32 * warps,), (table,), shared_mem=shared)
