"""Writes tests/golden: files that every later version must still read, one of each kind of model.

Run by hand when a format is changed on purpose, and never again for a version that is out::

    PYTHONPATH=src:tests python tests/helpers/golden_model.py tests/golden [KIND or NAME ...]

``model-v1.eig`` has every type of content; its test imports the values from here.  The others are
the models of ``foreign_models``, with their fingerprints in ``fingerprints.json``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from eigentext.base import modelfile
from eigentext.base.layout import pack_csr

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
    return made | pack_csr("pairs", csr_array(np.array(MATRIX, dtype=np.int64)))


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


def file_of(name: str) -> str:
    """The file of a model of ``foreign_models``."""
    return name.replace(" ", "-") + ".xz"


def write_models(folder: Path, wanted: list[str]) -> None:
    """A file of each model, or of those of some kinds or names, and the fingerprints of all."""
    from eigentext.base.model import load
    from helpers import foreign_models

    known = folder / "fingerprints.json"
    fingerprints = json.loads(known.read_text()) if known.exists() else {}
    for name, (make, _) in foreign_models.MODELS.items():
        if not wanted or {name, name.partition(" ")[0]} & set(wanted):
            make(folder / file_of(name))
            fingerprints[name] = load(folder / file_of(name)).fingerprint()
    known.write_text(json.dumps(dict(sorted(fingerprints.items())), indent=1) + "\n")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    if not sys.argv[2:]:
        write(str(target / "model-v1.eig"))
    write_models(target, sys.argv[2:])
