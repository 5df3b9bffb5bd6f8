"""Writes tests/golden/model-v1.eig, the model file that every later version must still read.

Run by hand, once per container or format version, and never again for a version that is out:
``python tests/helpers/golden_model.py tests/golden/model-v1.eig``.  The test imports the values.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from eigentext.base import modelfile

KIND = "golden"
SETTINGS: dict[str, Any] = {"rank": 3, "kappa": 0.5, "contexts": ["-1", "+1"], "note": "zażółć"}
DATA = {"name": "made up", "licence": "CC0-1.0"}
SEED = 7
WORDS = ["", "the", "كتاب", "𝄞", "a b", "line\nend", "é"]
MATRIX = [[0, 2, 0], [0, 0, 0], [5, 0, -1]]


def arrays() -> dict[str, np.ndarray]:
    grid = np.arange(12).reshape(3, 4)
    made: dict[str, np.ndarray] = {
        f"grid.{name}": grid.astype(name)
        for name in ("bool", "int8", "uint16", "int32", "int64", "uint64", "float32", "float64")
    }
    made["third"] = np.array(1 / 3)
    made["half"] = np.array([0.5, -2.0], dtype=np.float16)
    made["empty"] = np.zeros((0, 5), dtype=np.float32)
    made["odd"] = np.array([np.nan, np.inf, -0.0, 5e-324])
    return made | modelfile.pack_csr("pairs", csr_array(np.array(MATRIX, dtype=np.int64)))


def write(path: str) -> None:
    modelfile.save(
        path,
        KIND,
        arrays(),
        settings=SETTINGS,
        format_version=1,
        strings={"words": WORDS, "none": []},
        seed=SEED,
        data=DATA,
    )


if __name__ == "__main__":
    write(sys.argv[1])
