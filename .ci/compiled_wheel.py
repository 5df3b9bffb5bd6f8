"""A build hook: EIGENTEXT_KERNELS names a folder of `.ci/kernels.py`, and the wheel brings it.

Such a wheel is for one Python and one kind of machine; without the variable it is for all.
"""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledWheel(BuildHookInterface[Any]):
    """Adds ``eigentext/compiled`` to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a wheel is built."""
        folder = os.environ.get("EIGENTEXT_KERNELS")
        if not folder or version == "editable":
            return
        if not os.path.isfile(os.path.join(folder, "made-for.json")):
            raise FileNotFoundError(
                f"{folder}: no compiled kernels there: .ci/kernels.py makes them"
            )
        build_data["force_include"][folder] = "eigentext/compiled"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
