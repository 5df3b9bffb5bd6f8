"""Where benchmarks find their data and keep their rows."""

from __future__ import annotations

import lzma
import os
import shutil
import sys
from pathlib import Path

KEPT = Path(os.environ.get("EIGENTEXT_BENCH", Path(__file__).parent.parent / ".bench"))
"""Folder of rows that are made once and of what is unpacked; git does not see it."""


def data() -> Path:
    """The folder of open data sets, named by ``$EIGENTEXT_DATA``."""
    folder = os.environ.get("EIGENTEXT_DATA")
    if not folder:
        sys.exit("set EIGENTEXT_DATA to the folder of open data sets")
    return Path(folder)


def kept(script: str) -> Path:
    """The folder in which this script keeps its rows."""
    folder = KEPT / Path(script).stem
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def plain_text(name: str = "wiki") -> str:
    """``text/NAME.txt.xz`` of the data, unpacked once (tools other than ours read no xz)."""
    target = KEPT / f"{name}.txt"
    if not target.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(".part")
        with lzma.open(data() / "text" / f"{name}.txt.xz") as packed, part.open("wb") as out:
            shutil.copyfileobj(packed, out)
        part.replace(target)
    return str(target)
