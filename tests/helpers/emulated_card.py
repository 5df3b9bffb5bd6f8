"""The kernels of a graphics card on the processor: numpy's arrays, and threads if wanted."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np

from eigentext.accel.constituency.engine import DEFINES, SOURCE

HERE = Path(__file__).parent


class EmulatedCard:
    """``parse.cu`` compiled for the processor, with so many lanes and warps."""

    def __init__(self, folder: Path, lanes: int = 1, warps: int = 1) -> None:
        self.warps = warps
        library = folder / f"parse-{lanes}-{warps}.so"
        if not library.exists():
            sizes = f"-DLANES={lanes}", f"-DWARPS={warps}"
            flags = *DEFINES, *sizes, "-std=c++20", "-O2", "-shared", "-fPIC", "-pthread"
            command = ["g++", "-x", "c++", *flags, f"-I{HERE}", str(SOURCE), "-o", str(library)]
            subprocess.run(command, check=True)
        self.library = ctypes.CDLL(str(library))

    def put(self, array):
        return np.array(array)

    def zeros(self, n, dtype):
        return np.zeros(n, dtype)

    def offsets(self, counts):
        ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        return ends, int(ends[-1])

    def get(self, array):
        return array

    def launch(self, kernel, n_blocks, job, *, warps, shared):
        table = job.table(lambda array: array.ctypes.data)
        self.library.launch(
            ctypes.cast(getattr(self.library, kernel), ctypes.c_void_p),
            ctypes.c_void_p(table.ctypes.data),
            n_blocks,
        )
