"""In the place of what trains sample models: a file in a folder says how each one ends."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from eigentext.errors import StorageError
from eigentext.studio.service.models import ModelFacts


def build(folder: str, _: Callable[[Any], object]) -> tuple[dict[str, Callable[..., Any]], None]:
    """The job that makes the models of a group; ``began-NAME`` in the folder has its process.

    ``NAME`` is the model, put there by the test when it may come; ``full-NAME`` and ``die-NAME``
    let the training fail.
    """
    return {"make": partial(_make, Path(folder))}, None


def _make(folder: Path, group: Sequence[ModelFacts]) -> None:
    for facts in group:
        target = Path(facts.source)
        (folder / "begins").write_text(str(os.getpid()))
        (folder / "begins").rename(folder / f"began-{target.name}")
        while not (folder / target.name).exists():
            if (folder / f"full-{target.name}").exists():
                raise StorageError(target.name, None, "disk full")
            if (folder / f"die-{target.name}").exists():
                os._exit(9)
            time.sleep(0.01)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / target.name, target)


def let(model: str, folder: Path, name: str) -> None:
    """Let a model be trained: this one, under this name."""
    shutil.copy(model, folder / f"copy-{name}")
    (folder / f"copy-{name}").rename(folder / name)  # it is there whole
