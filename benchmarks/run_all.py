"""Run every benchmark on the data in $EIGENTEXT_DATA, one after the other.

usage: python benchmarks/run_all.py [NAME ...]
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    """Run the benchmarks that are named, or all; return the number that failed."""
    if not os.environ.get("EIGENTEXT_DATA"):
        print("set EIGENTEXT_DATA to the folder of open data sets", file=sys.stderr)
        return 2
    wanted = set(sys.argv[1:])
    failed = 0
    for script in sorted(HERE.glob("*.py")):
        if script.name == "run_all.py" or (wanted and script.stem not in wanted):
            continue
        print(f"== {script.stem}", flush=True)
        failed += subprocess.run([sys.executable, str(script)], check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
