"""Compile all kernels for processors that nearly everybody has, to be put into a wheel.

usage: python .ci/kernels.py FOLDER [--jobs N]

FOLDER gets a file for each kernel and list of types, and ``made-for.json``; it is what
``src/eigentext/compiled`` is in a wheel with compiled kernels (``make dist`` puts it there).  What
is in FOLDER already and still fits its source is not compiled again.  A wheel with it serves one
Python, one numba and one kind of processor; on others, kernels are compiled when they are needed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Compile in a process that is told for which processor."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()

    from eigentext.base.compiling import PORTABLE, manifest

    if platform.machine() not in PORTABLE:
        print(
            f"no processor is known that all {platform.machine()} machines have", file=sys.stderr
        )
        return 2
    name, features = PORTABLE[platform.machine()]
    given.folder.mkdir(parents=True, exist_ok=True)
    (given.folder / "made-for.json").unlink(missing_ok=True)
    environment = os.environ | {
        "EIGENTEXT_KERNELS_TO": str(given.folder.absolute()),
        "NUMBA_CPU_NAME": name,
        "NUMBA_CPU_FEATURES": ",".join(f"+{one}" for one in features),
    }
    command = [sys.executable, "-m", "eigentext.cli", "warm", "--jobs", str(given.jobs)]
    code = subprocess.run(command, env=environment, check=False).returncode
    (given.folder / ".compiling.lock").unlink(missing_ok=True)
    if code == 0:  # last: a folder that was left half-made serves nobody
        text = json.dumps(manifest(), indent=1, sort_keys=True)
        (given.folder / "made-for.json").write_text(text + "\n", encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
